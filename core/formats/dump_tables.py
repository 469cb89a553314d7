"""Tables of statistics beside dumped tensors: those of ATB, MindSpore and msit, one row a tensor.

The three differ in the names of their columns alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import read_input, shown_path
from ..findings import Problem
from .tensors.dtypes import dtype_of

MAX_BYTES = 128 << 20
MAX_ROWS = 1_000_000

_SHAPE = re.compile(r"\d{1,18}(?:x\d{1,18}|, ?\d{1,18})*,?", re.ASCII)
_STATISTICS = {
    "Max": ("max", "max value"),
    "Min": ("min", "min value"),
    "Mean": ("mean", "avg", "avg value"),
    "Norm": ("norm", "l2norm"),
}
_NAMES = ("op name", "nodename")
_IDS = ("op id",)
_IO = ("input/output", "io", "inputoutput")
_INDEX = ("index", "slot")
_DTYPES = ("dtype", "data type", "datatype")


@dataclass(frozen=True, slots=True)
class DumpRow:
    """One tensor. op: its operator's name, op_id: "0_1" where the table has one. io: "input" or "output".

    index: a number, with a name behind it where the operator has one ("2_value"). dtype: by our name where
    it is known, else as it stands. statistics: Max, Min, Mean, Norm as far as they were recorded. md5: "" for
    none.
    """

    op: str
    op_id: str
    op_type: str
    io: str
    index: str
    dtype: str
    shape: tuple[int, ...] | None
    statistics: Mapping[str, float]
    md5: str
    time: int


def read_dump_table(path: Path, *, root: Path, problems: list[Problem]) -> tuple[DumpRow, ...]:
    """The rows of a table in its order. Rows that are none are counted in `problems`, with the first line.

    Raises InputError where it is no such table, or larger than 128 MB.
    """
    text = read_input(path, MAX_BYTES, "a table of statistics", root=root).decode("utf-8-sig", "replace")
    rows = csv.reader(text.split("\n"))
    where = shown_path(path, root)
    try:
        header = [cell.strip().lower() for cell in next(rows, [])]
    except csv.Error as error:
        raise InputError("is no table", path=path) from error
    if not any(name in header for name in _NAMES) or not any(name in header for name in _IO):
        raise InputError("is no table of dumped tensors", path=path, hint="statistic.csv of a dump")
    found: list[DumpRow] = []
    bad: list[int] = []
    for row in _rows(rows, header, bad):
        if len(found) >= MAX_ROWS:
            problems.append(Problem(where, "limit", f"only the first {MAX_ROWS:,} rows were read"))
            break
        found.append(row)
    if bad:
        message = f"{len(bad):,} rows are no tensors, the first is line {bad[0]}"
        problems.append(Problem(where, "bad-record", message, line=bad[0]))
    return tuple(found)


def _rows(rows: Iterator[list[str]], header: list[str], bad: list[int]) -> Iterator[DumpRow]:
    number = 1
    while True:
        number += 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error:
            bad.append(number)
            continue
        if not any(cell.strip() for cell in cells):
            continue
        row = _row(dict(zip(header, (cell.strip() for cell in cells), strict=False)))
        if row is None:
            bad.append(number)
        else:
            yield row


def _row(cells: Mapping[str, str]) -> DumpRow | None:
    io = _cell(cells, _IO).lower()
    op, index = _cell(cells, _NAMES), _cell(cells, _INDEX)
    if io not in ("input", "output") or not op or not index:
        return None
    said = _cell(cells, _DTYPES)
    dtype = dtype_of(said)
    time = _cell(cells, ("timestamp",))
    statistics = {
        name: value
        for name, keys in _STATISTICS.items()
        if (value := _number(_cell(cells, keys))) is not None
    }
    return DumpRow(
        op=op,
        op_id=_cell(cells, _IDS),
        op_type=_cell(cells, ("op type", "nodetype")),
        io=io,
        index=index,
        dtype=dtype.name if dtype is not None else said,
        shape=_shape(cells.get("shape", "")),
        statistics=statistics,
        md5=_cell(cells, ("md5",)),
        time=int(time) if time.isascii() and time.isdigit() and len(time) < 19 else 0,
    )


def _cell(cells: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((cells[name] for name in names if name in cells), "")


def _number(text: str) -> float | None:
    if text.lower() in ("", "n/a", "na", "none", "null"):
        return None
    try:
        return float(text[:64])
    except ValueError:
        return None


def _shape(text: str) -> tuple[int, ...] | None:
    plain = text.strip("[]() ")
    if not plain:
        return () if text else None
    if not _SHAPE.fullmatch(plain):
        return None
    return tuple(int(part) for part in re.split(r"[x,]", plain) if part.strip())
