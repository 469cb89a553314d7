"""Sums that the profilers made: op_statistic, communication_statistic, api_statistic."""

from __future__ import annotations

from pathlib import Path

from .records import ApiTotal, Read, TypeTotal
from .table_records import Rows, Spelled, integers, numbers, read_rows, records_of, texts, times

_TYPES: dict[str, Spelled] = {
    "device": integers("Device_id"),
    "op_type": texts("OP Type", "Type"),
    "core_type": texts("Core Type", "Task Type"),
    "count": integers("Count"),
    "total_ns": times("Total Time", "Time(us)"),
    "min_ns": times("Min Time", "Min"),
    "average_ns": times("Avg Time", "Avg"),
    "max_ns": times("Max Time", "Max"),
    "share_percent": numbers("Ratio", "Time(%)"),
}
_APIS: dict[str, Spelled] = {
    "device": integers("Device_id"),
    "level": texts("Level"),
    "name": texts("API Name", "Name"),
    "total_ns": times("Time(us)", "Total Time", "Time"),
    "count": integers("Count"),
    "average_ns": times("Avg", "Avg Time"),
    "min_ns": times("Min", "Min Time"),
    "max_ns": times("Max", "Max Time"),
    "variance": numbers("Variance"),
}
_LEVELS = {"hccl": "communication"}
"""What older versions call a level."""
_HINT = "name an op_statistic or communication_statistic table"
_API_HINT = "name an api_statistic table"


def read_type_totals(path: Path, *, root: Path | None = None) -> Read[TypeTotal]:
    """The rows of op_statistic or communication_statistic, which has no core types ("").

    `others` of a record has every column that is not the tool's own by now (Model Name of older versions,
    remarks of people), "" where it is empty. Problems: as `read_table`, rows without a type (left out and
    counted). Raises InputError.
    """
    rows = read_rows(path, _TYPES, root=root, needed=("op_type", "total_ns"), hint=_HINT)
    others = [column for column in rows.others if column.header]

    def make(rows: Rows) -> TypeTotal | None:
        if not (op_type := rows.text("op_type")):
            return None
        device = rows.integer("device")
        return TypeTotal(
            op_type=op_type,
            core_type=rows.text("core_type"),
            count=rows.integer("count"),
            total_ns=rows.duration("total_ns"),
            min_ns=rows.duration("min_ns"),
            average_ns=rows.duration("average_ns"),
            max_ns=rows.duration("max_ns"),
            share_percent=rows.number("share_percent"),
            device=device if device is not None else rows.device,
            line=rows.line,
            others={column.header: column.text(rows.row) for column in others},
        )

    return records_of(rows, make)


def read_api_totals(path: Path, *, root: Path | None = None) -> Read[ApiTotal]:
    """The rows of api_statistic. The level `hccl` of older versions is told as `communication`.

    Problems: as `read_table`, rows without a name (left out and counted). Raises InputError.
    """
    rows = read_rows(path, _APIS, root=root, needed=("level", "name", "total_ns"), hint=_API_HINT)

    def make(rows: Rows) -> ApiTotal | None:
        if not (name := rows.text("name")):
            return None
        level = rows.text("level")
        return ApiTotal(
            level=_LEVELS.get(level.lower(), level),
            name=name,
            count=rows.integer("count"),
            total_ns=rows.duration("total_ns"),
            average_ns=rows.duration("average_ns"),
            min_ns=rows.duration("min_ns"),
            max_ns=rows.duration("max_ns"),
            line=rows.line,
        )

    return records_of(rows, make)
