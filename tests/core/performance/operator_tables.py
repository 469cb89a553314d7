"""Operator tables made of text, for the tests of analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npulse.core.formats.profiling.operators import OperatorReader, OperatorTable

BASE_US = 1_756_001_234_000_000
"""A start since 1970 that a float64 would round."""
HEADERS: Mapping[str, str] = {
    "name": "Op Name",
    "type": "OP Type",
    "core": "Task Type",
    "start": "Task Start Time(us)",
    "us": "Task Duration(us)",
    "task": "Task ID",
    "stream": "Stream ID",
    "blocks": "Block Num",
    "in_shapes": "Input Shapes",
    "in_dtypes": "Input Data Types",
    "in_formats": "Input Formats",
    "out_shapes": "Output Shapes",
    "out_dtypes": "Output Data Types",
    "utilization": "cube_utilization(%)",
}


def cell(value: object) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"\n') else text


def csv_text(rows: Sequence[Mapping[str, object]]) -> bytes:
    """A table as a file: columns of `HEADERS` by their short name, others by their header."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(HEADERS.get(name, name) for name in names)]
    lines += [",".join(cell(row.get(name, "N/A")) for name in names) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def table_of(*files: Sequence[Mapping[str, object]]) -> OperatorTable:
    """One table of one or several files."""
    reader = OperatorReader()
    for number, rows in enumerate(files):
        reader.begin(f"op_summary_slice_{number}.csv")
        reader.feed(csv_text(rows))
    return reader.finish()


def row(op_type: str, us: object, start_us: object | None = None, **more: object) -> dict[str, object]:
    """One call on stream 2."""
    start: object = "N/A" if start_us is None else start_us
    if isinstance(start_us, (int, float)):
        start = f"{BASE_US + start_us:.3f}"
    return {
        "name": f"aclnn{op_type}_{op_type}_{op_type}",
        "type": op_type,
        "core": "AI_CORE",
        "start": start,
        "us": us,
        "stream": 2,
        **more,
    }
