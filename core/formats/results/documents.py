"""Results that tools write as JSON: msprobe's first difference and its comparison, checkpoints compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import json_members
from .cells import ColumnCells
from .layouts import CHECKPOINT, DIFFERENCE, MSPROBE, TEXT_ROLES, Layout, roles_of
from .table import ResultTable

MAX_BYTES = 1 << 30
MAX_ROWS = 1_000_000
MAX_TEXT_CHARS = 4096

_HINT = "name a diff_analyze_*.json, compare_result_*.json or ckpt_similarity.json of msprobe"
_STATISTICS = ("NPU max", "NPU min", "NPU mean", "NPU l2norm")

Row = dict[str, Any]


def read_document(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> ResultTable:
    """A JSON result; `lines` counts its entries. Problems: what is cut off or no entry of such a file.

    Raises InputError where nothing of it can be read, and Cancelled.
    """
    problems: list[Problem] = []
    artifact = shown_path(path, root)
    rows: list[Row] = []
    layout: Layout | None = None
    members = json_members(
        path, problems, root=root, max_bytes=MAX_BYTES, progress=progress, is_cancelled=is_cancelled
    )
    for byte, _, key, value in members:
        found, entries = _entries(key, value)
        if found is None or (layout is not None and found is not layout):
            message = "this is no entry of such a result and was left out"
            problems.append(Problem(artifact, "bad-record", message, byte=byte))
            continue
        layout = found
        rows += entries
        if len(rows) >= MAX_ROWS:
            problems.append(Problem(artifact, "limit", f"only the first {MAX_ROWS:,} rows were read"))
            break
    if layout is None:
        raise InputError("this is no result of msprobe", path=path, hint=_HINT)
    return table_of(layout, rows[:MAX_ROWS], artifact, problems)


def table_of(
    layout: Layout, rows: Sequence[Mapping[str, Any]], artifact: str, problems: Sequence[Problem] = ()
) -> ResultTable:
    """A table of rows by header; a header that a row lacks is an empty cell."""
    headers = list(dict.fromkeys(header for row in rows for header in row))
    columns = []
    for header, role in zip(headers, roles_of(layout, headers), strict=True):
        column = ColumnCells(header, role, role in TEXT_ROLES)
        column.add([_text(row.get(header, "")) for row in rows])
        columns.append(column.column())
    lines = np.arange(1, len(rows) + 1, dtype=np.int64)
    return ResultTable(artifact, layout, tuple(columns), lines, problems=tuple(problems), counts="entry")


def _entries(key: str, value: Any) -> tuple[Layout | None, list[Row]]:
    if key.startswith("rank_") and isinstance(value, list):
        return DIFFERENCE, list(_differences(key, value))
    if isinstance(value, dict) and isinstance(value.get("op_items"), list):
        said = {True: "pass", False: "error"}.get(bool(value.get("is_same")), "")
        items = [item for item in value["op_items"] if isinstance(item, dict) and "NPU Name" in item]
        return MSPROBE, [_item(item, said) for item in items]
    if isinstance(value, dict) and {"cos", "l2"} <= value.keys():
        return CHECKPOINT, [{"param": key, **{str(name): figure for name, figure in value.items()}}]
    return None, []


def _item(item: Mapping[str, Any], said: str) -> Row:
    """A row of the comparison that is made for the first difference; its verdict is one of the whole call."""
    row = {str(name): figure for name, figure in item.items() if name not in ("state", "api_origin_name")}
    is_output = str(item.get("state", "")).startswith("output")
    return {**row, "Result": row.get("Result") or (said if is_output or said == "pass" else "")}


def _differences(rank: str, operators: Sequence[Any]) -> Iterator[Row]:
    """The calls that the tool names for a rank, a row a tensor."""
    for operator in operators:
        if not isinstance(operator, dict) or not isinstance(operator.get("data_info"), dict):
            continue
        stack = operator.get("stack_info")
        shown = "\n".join(map(str, stack)) if isinstance(stack, list) else ""
        for leaves in operator["data_info"].values():
            for name, figures in leaves.items() if isinstance(leaves, dict) else ():
                figures = figures if isinstance(figures, dict) else {}
                statistics = {word: figures.get(word, "") for word in _STATISTICS}
                yield {
                    "rank": rank.removeprefix("rank_"),
                    "NPU Name": name,
                    **statistics,
                    "NPU_Stack_Info": shown,
                }


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text[:MAX_TEXT_CHARS]


def file_compare_table(figures: Mapping[str, float | str], artifact: str) -> ResultTable:
    """What msaccucmp's file_compare wrote, as a table of one row."""
    from .layouts import FILES

    row = {"File": artifact, **figures}
    return replace(table_of(FILES, [row], artifact), counts="entry")
