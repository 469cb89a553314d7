"""Operator tables as a profiler would write them, from a few facts a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npulse.core.formats.profiling.operators import OperatorReader, OperatorTable
from npulse.core.formats.profiling.records import ProfilerSettings
from npulse.core.performance.advice import Advice
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.calls import Calls, calls_of
from npulse.core.performance.operators.patterns import advice_of_patterns
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile

BASE_US = 1_736_408_883_688_177
COLUMNS = {
    "Stream ID": "2",
    "Op Name": "",
    "OP Type": "Add",
    "OP State": "static",
    "Task Type": "AI_VECTOR_CORE",
    "Task Start Time(us)": "",
    "Task Duration(us)": "10",
    "Block Num": "48",
    "Mix Block Num": "0",
    "HF32 Eligible": "NO",
    "Input Shapes": "16,128",
    "Input Data Types": "DT_BF16",
    "Input Formats": "ND",
    "Output Shapes": "16,128",
    "Output Data Types": "DT_BF16",
    "Output Formats": "ND",
}
WORDS = {
    "stream": "Stream ID",
    "name": "Op Name",
    "type": "OP Type",
    "state": "OP State",
    "core": "Task Type",
    "us": "Task Duration(us)",
    "block": "Block Num",
    "mix": "Mix Block Num",
    "hf32": "HF32 Eligible",
    "shapes": "Input Shapes",
    "dtypes": "Input Data Types",
    "formats": "Input Formats",
    "out": "Output Shapes",
    "out_dtypes": "Output Data Types",
    "out_formats": "Output Formats",
}
CUBE = {"core": "AI_CORE", "block": 24}

Row = dict[str, Any]


def cells_of(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and cells. A row says at (us from the start) or gap (us behind the row before, 1 by default);
    other words are those of WORDS, or whole headers."""
    header = list(COLUMNS)
    header += [key for key in dict.fromkeys(k for row in rows for k in row) if "(" in key or "ratio" in key]
    header = list(dict.fromkeys(header))
    lines, clock = [], 0.0
    for i, row in enumerate(rows):
        start = row["at"] if "at" in row else clock + row.get("gap", 1)
        cells = {**COLUMNS, **{WORDS.get(k, k): str(v) for k, v in row.items() if k not in ("at", "gap")}}
        cells["Op Name"] = cells["Op Name"] or f"{cells['OP Type']}{i}"
        cells["Task Start Time(us)"] = (
            f"{BASE_US + round(start * 1000) // 1000}.{round(start * 1000) % 1000:03d}"
        )
        clock = start + float(row.get("us", 10)) if row.get("us") != "N/A" else start
        lines.append([cells.get(column, "N/A") for column in header])
    return header, lines


def table_of(rows: Sequence[Row], *, without: Sequence[str] = (), cuts: Sequence[int] = ()) -> OperatorTable:
    """The rows as one file, or as several cut at these rows. without: headers that are left out."""
    header, lines = cells_of(rows)
    kept = [i for i, column in enumerate(header) if column not in without]
    reader = OperatorReader()
    bounds = [0, *sorted(cuts), len(lines)]
    for number, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        reader.begin(f"op_summary_slice_{number}_20260101000000.csv")
        text = ",".join(header[i] for i in kept) + "\n"
        text += "".join(",".join(f'"{line[i]}"' for i in kept) + "\n" for line in lines[start:stop])
        reader.feed(text.encode())
    table = reader.finish()
    assert table.n_rows == len(rows), table.problems
    return table


def profile_of(table: OperatorTable, **settings: Any) -> Profile:
    return Profile("rank0", rank=0, operators=table, settings=ProfilerSettings(**settings))


def calls_from(rows: Sequence[Row], *, without: Sequence[str] = (), **settings: Any) -> Calls:
    table = table_of(rows, without=without)
    return calls_of(profile_of(table, **settings), table, usable(table))


def advice_from(
    rows: Sequence[Row],
    criteria: Criteria | None = None,
    *,
    without: Sequence[str] = (),
    cuts: Sequence[int] = (),
    **settings: Any,
) -> dict[str, list[Advice]]:
    """All advice about such a table, by rule without the area's name."""
    table = table_of(rows, without=without, cuts=cuts)
    found: dict[str, list[Advice]] = {}
    for advice in advice_of_patterns(profile_of(table, **settings), usable(table), criteria or Criteria()):
        found.setdefault(advice.rule.removeprefix("performance."), []).append(advice)
    return found
