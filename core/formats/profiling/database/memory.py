"""Memory tables of a database in columns, with the headers that the text files have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from ....errors import InputError
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..columns import header_key
from ..tables import ProfilerTable, TableColumn
from .database import Database
from .host import enum_of
from .open import open_database
from .strings import Coded, Strings, kept
from .values import Integers, read_rows

MemoryTable = Literal["MEMORY_RECORD", "OP_MEMORY", "NPU_MODULE_MEM", "NPU_MEM"]

_TEXT, _MODULE = "text", "module"
_TABLES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "MEMORY_RECORD": (
        ("component", "Component", _TEXT),
        ("timestamp", "Timestamp", "ns"),
        ("totalAllocated", "Total Allocated", "bytes"),
        ("totalReserved", "Total Reserved", "bytes"),
        ("totalActive", "Total Active", "bytes"),
        ("streamPtr", "Stream Ptr", ""),
        ("deviceId", "Device_id", ""),
    ),
    "OP_MEMORY": (
        ("name", "Name", _TEXT),
        ("size", "Size", "bytes"),
        ("allocationTime", "Allocation Time", "ns"),
        ("releaseTime", "Release Time", "ns"),
        ("activeReleaseTime", "Active Release Time", "ns"),
        ("duration", "Duration", "ns"),
        ("activeDuration", "Active Duration", "ns"),
        ("allocationTotalAllocated", "Allocation Total Allocated", "bytes"),
        ("allocationTotalReserved", "Allocation Total Reserved", "bytes"),
        ("allocationTotalActive", "Allocation Total Active", "bytes"),
        ("releaseTotalAllocated", "Release Total Allocated", "bytes"),
        ("releaseTotalReserved", "Release Total Reserved", "bytes"),
        ("releaseTotalActive", "Release Total Active", "bytes"),
        ("streamPtr", "Stream Ptr", ""),
        ("deviceId", "Device_id", ""),
    ),
    "NPU_MODULE_MEM": (
        ("moduleId", "Component", _MODULE),
        ("timestampNs", "Timestamp", "ns"),
        ("totalReserved", "Total Reserved", "bytes"),
        ("deviceId", "Device_id", ""),
    ),
    "NPU_MEM": (
        ("type", "Type", _TEXT),
        ("timestampNs", "Timestamp", "ns"),
        ("ddr", "DDR", "bytes"),
        ("hbm", "HBM", "bytes"),
        ("deviceId", "Device_id", ""),
    ),
}
"""Table -> (its column, header of the text file without a unit, unit or what its ids mean)."""


def read_database_memory(
    path: Path,
    table: MemoryTable,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> ProfilerTable:
    """One memory table: MEMORY_RECORD (memory_record.csv), OP_MEMORY (operator_memory.csv), NPU_MODULE_MEM or
    NPU_MEM. Sizes int64 bytes, times int64 ns, line: number of the row.

    Headers are those of the text files, with the unit of the values. Problems: cells that are no numbers
    (absent), ids without a text, damage. Raises InputError (no database, or without that table), Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        if not database.has(table):
            raise InputError(f"the database has no table {table}", path=path)
        layout = [column for column in _TABLES[table] if database.has(table, column[0])]
        rows = read_rows(database, table, [name for name, _, _ in layout])
        columns = tuple(
            _column(database, rows.integers(name), header, meaning) for name, header, meaning in layout
        )
        return ProfilerTable(
            artifact=database.artifact,
            columns=columns,
            line=rows.lines(),
            encoding="",
            n_unread=rows.n_unread,
            problems=database.problems(),
        )


def _column(database: Database, values: Integers, header: str, meaning: str) -> TableColumn:
    name = header_key(header)
    if meaning in (_TEXT, _MODULE):
        ids = kept(values)
        coded = Strings(database, [ids]).coded(ids) if meaning == _TEXT else _modules(database, values)
        return TableColumn(header, name, "text", "", coded.codes, coded.labels)
    return TableColumn(f"{header}({meaning})" if meaning else header, name, "int", meaning, values)


def _modules(database: Database, values: Integers) -> Coded:
    """Components of the driver by their number; unknown ones are shown as numbers."""
    known = enum_of(database, "ENUM_MODULE", {})
    numbers, places = np.unique(values, return_inverse=True)
    labels = [known.get(number, str(number)) for number in numbers.tolist()]
    texts = tuple(dict.fromkeys(label for label, n in zip(labels, numbers.tolist(), strict=True) if n >= 0))
    codes = [texts.index(label) if n >= 0 else -1 for label, n in zip(labels, numbers.tolist(), strict=True)]
    return Coded(np.array(codes, np.int32)[places.reshape(-1)], texts)
