"""What stands beside the tables for one row: pipes, figures, advice with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from npulse.core.figures import number, time_text
from npulse.core.formats.opprof.records import RooflinePoint
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Draw

from .advice import Advice
from .found import Analysed, Performance
from .kernel.case import case_of
from .kernel.drawing import draw_roofline, roofline_legend
from .operators.bound import PIPES, pipe_ratio, shown
from .table import SUBJECT, TableKind
from .texts import TEXTS

LONGEST = 12
"""Calls of a group that are listed one by one."""
MAX_PIPES = 5
LEAST_RATIO = 0.005
"""Pipes that were busy for less do not matter for any operator."""
_BAR_CELLS = 20
_WIDE_CELLS, _WIDE_COLUMNS, _WIDE_BAR_CELLS = 72, 3, 8
"""So wide the detail lies below the table, where lines are few: bars stand beside each other."""
_OF_THE_WHOLE = "performance.top-operators"
_OF_KERNELS = "performance.kernel-"
_OF_THE_TOOL = f"{_OF_KERNELS}tool"
_FACTS = (
    "calls", "total_us", "share_percent", "cumulative_percent", "share_of_wall_percent", "average_us",
    "median_us", "min_us", "max_us", "class", "class_basis", "bound", "bound_ratio", "utilization_percent",
    "core_type", "block_dim", "moved_bytes", "bandwidth_gb_per_s", "change_percent", "rank", "computing_us",
    "communication_not_overlapped_us", "communication_us", "free_us", "bubble_us", "steps", "basis",
    "before_us", "after_us", "change_us", "noise_us", "change", "neighbours_change_us", "net_change_us",
    "calls_before", "calls_after", "op_type", "roof", "roof_ratio", "cores", "frequency_mhz", "rated_mhz",
    "cycles_spread_percent", "l2_hit_percent", "folder",
)  # fmt: skip


def row_detail(found: Performance, kind: TableKind, table: Table, row: int, lang: Lang) -> Detail:
    """All that is known of one row, in the order in which it helps. Opens no file."""
    cells = table.row(row)
    name = str(cells.get(SUBJECT) or "?")
    said = advice_of_row(found, kind, cells)
    place = 1 if lang == "zh" else 0
    first = said[0] if said and said[0].rule != _OF_THE_WHOLE else None
    return Detail(
        name=safe_text(name),
        headline=first.message[place] if first is not None else _headline(cells, lang),
        facts=tuple(facts_of(cells)),
        next_step=first.next_step[place] if first is not None else "",
        draw=_drawing(found, kind, row, is_brief=True),
    )


def advice_of_row(found: Performance, kind: TableKind, cells: dict[str, object]) -> list[Advice]:
    """What is said of the subject of a row; of its operator type after that."""
    name = str(cells.get(SUBJECT) or "?")
    if kind == "kernels":
        folder = str(cells.get("folder") or "")
        mine = [one for one in found.advice if one.profile == folder and one.rule.startswith(_OF_KERNELS)]
        return sorted(mine, key=lambda one: one.rule == _OF_THE_TOOL)
    return advice_on(found, name, str(cells.get("op_type") or ""))


def advice_on(found: Performance, name: str, op_type: str = "") -> list[Advice]:
    """What is said of a subject, of its operator type after that; in the order of the report.

    What is said of all operators together comes last, and the words of the vendor's tool behind our own.
    """
    exact = [one for one in found.advice if one.subject == name]
    of_type = [one for one in found.advice if op_type and one.subject == op_type and op_type != name]
    return sorted([*exact, *of_type], key=lambda one: (one.rule == _OF_THE_WHOLE, one.rule == _OF_THE_TOOL))


def facts_of(cells: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Names of figures are the contract's in every language: they are what a filter takes."""
    for name in _FACTS:
        value = cells.get(name)
        if value is None:
            continue
        if isinstance(value, float):
            yield name, f"{value:,.2f}" if name.endswith(("_percent", "_us")) else number(value)
        elif isinstance(value, int):
            yield name, f"{value:,}"
        else:
            yield name, safe_text(str(value), 200)


def pipe_lines(found: Analysed, row: int, kind: TableKind, width: int, is_ascii: bool) -> list[str]:
    """A bar for each pipe that was busy, the busiest first and at most five; [] without counters.

    Of a group they are weighted by time.
    """
    ratios = [one for one in pipes_of(found, row, kind) if one[1] >= LEAST_RATIO]
    ratios = sorted(ratios, key=lambda one: -one[1])[:MAX_PIPES]
    if not ratios:
        return []
    label = max(len(name) for name, _ in ratios)
    is_wide = width >= _WIDE_CELLS
    room = _WIDE_BAR_CELLS if is_wide else max(_WIDE_BAR_CELLS, min(_BAR_CELLS, width - label - 9))
    full = "#" if is_ascii else "█"
    empty = "." if is_ascii else "░"
    lines = []
    for name, ratio in ratios:
        n = min(room, round(shown(ratio) * room))
        lines.append(f"{name:<{label}} {full * n}{empty * (room - n)} {100 * ratio:5.1f} %")
    if is_wide:
        n = _WIDE_COLUMNS
        lines = ["   ".join(lines[i : i + n]) for i in range(0, len(lines), n)]
    return [line[:width] for line in lines]


def pipes_of(found: Analysed, row: int, kind: TableKind) -> list[tuple[str, float]]:
    """Pipe -> busy share, of those that are recorded."""
    operators = found.operators
    if operators is None or operators.table is None or operators.usable is None:
        return []
    groups = operators.by(kind)  # type: ignore[arg-type]
    if kind == "call":
        call = operators.table.taken(groups.top.first_row[row : row + 1])
        found_ratios = [(pipe, pipe_ratio(call, pipe)) for pipe in PIPES]
        return [(p, float(v[0])) for p, v in found_ratios if v is not None and not np.isnan(v[0])]
    if groups.bounds is None:
        return []
    values = groups.bounds.ratios[row]
    return [(pipe, float(v)) for pipe, v in zip(PIPES, values, strict=True) if not np.isnan(v)]


def evidence(
    found: Performance, kind: TableKind, table: Table, row: int, lang: Lang, width: int, is_ascii: bool
) -> list[str]:
    """All that is known of a row, as lines to read: advice in full, pipes, its longest calls."""
    place = 1 if lang == "zh" else 0
    cells = table.row(row)
    said = advice_of_row(found, kind, cells)
    lines: list[str] = []
    for one in said:
        if one.rule != _OF_THE_TOOL:
            lines += _advice_lines(one, place, lang)
    shown_profile = found.shown
    draw = _drawing(found, kind, row)
    if draw is not None:
        lines += ["", *draw(width, is_ascii)]
    for one in said:
        if one.rule == _OF_THE_TOOL:
            lines += _advice_lines(one, place, lang)
    if kind in ("type", "call", "count", "average") and shown_profile is not None:
        lines += longest_calls(shown_profile, kind, row, lang)
    lines += ["", *(f"{key} {value}" for key, value in facts_of(cells))]
    return lines


def _advice_lines(one: Advice, place: int, lang: Lang) -> list[str]:
    lines = ["", f"[{one.rule}]", one.message[place], *(f"  {line}" for line in one.told)]
    if one.next_step[place]:
        lines.append(f"{say(TEXTS, 'label-next', lang)}: {one.next_step[place]}")
    return lines


def longest_calls(found: Analysed, kind: TableKind, row: int, lang: Lang) -> list[str]:
    """The longest calls of a group, or the one call: duration, shapes, line in the file."""
    operators = found.operators
    if operators is None or operators.table is None:
        return []
    table = operators.table
    groups = operators.by(kind)  # type: ignore[arg-type]
    rows = groups.top.rows_of(row)[:LONGEST].tolist()
    lines = ["", say(TEXTS, "label-longest", lang)]
    return lines + [_call_line(table, one) for one in rows]


def where_lines(found: Performance, kind: TableKind, table: Table, row: int, lang: Lang) -> list[str]:
    """Where the figures of a row come from."""
    shown_profile = found.shown
    lines = []
    if kind in ("type", "call", "count", "average") and shown_profile is not None:
        profile = shown_profile.profile
        source = profile.sources.get("operators") or profile.sources.get("types", "")
        line = table.column("line").value(row)
        lines.append(f"{say(TEXTS, 'label-file', lang)}: {safe_text(source)}" + (f":{line}" if line else ""))
        if shown_profile.wall.wall is not None:
            wall = shown_profile.wall.wall
            words = say(TEXTS, f"source-{wall.source}", lang)
            lines.append(f"{say(TEXTS, 'label-source', lang)}: {words}, {safe_text(wall.artifact)}")
        lines += longest_calls(shown_profile, kind, row, lang)
    elif "folder" in table.row(row):
        lines.append(f"{say(TEXTS, 'label-file', lang)}: {safe_text(str(table.column('folder').value(row)))}")
    return lines


def _headline(cells: dict[str, object], lang: Lang) -> str:
    if cells.get("share_percent") is not None and cells.get("total_us") is not None:
        return say(
            TEXTS,
            "row-headline",
            lang,
            total=f"{cells['total_us']:,.2f}",
            share=f"{cells['share_percent']:.2f}",
            calls=f"{cells['calls']:,}" if cells.get("calls") is not None else "?",
        )
    return ""


def _call_line(table: OperatorTable, row: int) -> str:
    duration = int(table.values("duration_ns")[row])
    shapes = table.text("input_shapes", row)
    line = int(table.line[row])
    where = f":{line}" if line > 0 else ""
    name = table.text("name", row) or table.text("op_type", row)
    return f"  {time_text(duration):>12}  {safe_text(name, 80)}  {safe_text(shapes, 80)}  {where}".rstrip()


def _drawing(found: Performance, kind: TableKind, row: int, *, is_brief: bool = False) -> Draw | None:
    """Pipe bars of operators, the roofline of a kernel; is_brief: not where that would hide what is said."""
    if kind == "kernels":
        kernel = found.kernels[row]
        points = case_of(kernel, found.settings.criteria).points
        return partial(_roofline, points, is_brief) if points else None
    shown_profile = found.shown
    if kind in ("ranks", "changes") or shown_profile is None or not pipes_of(shown_profile, row, kind):
        return None
    return lambda width, is_ascii: pipe_lines(shown_profile, row, kind, width, is_ascii)


def _roofline(points: Sequence[RooflinePoint], is_brief: bool, width: int, is_ascii: bool) -> Sequence[str]:
    if is_brief and width >= _WIDE_CELLS:
        return []
    legend = ["  ".join(filter(None, cells)) for cells in roofline_legend(points)]
    return [*draw_roofline(points, width, is_ascii), *(line[:width] for line in legend)]
