"""Results of other tools in the precision pane: columns and first lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.cells import cell_len

from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.theirs.texts import TEXTS
from npulse.core.table import Column, Table
from npulse.core.text import Lang, safe_text, say

from ...chrome import cut_middle
from ...roles import state_formatter
from ...widgets.table_view import ColumnSpec
from ..columns import has_values, io_formatter
from .columns import heading

if TYPE_CHECKING:
    from npulse.core.precision.theirs.view import TheirsView

    from ...glyphs import Glyphs

_ORDER = ("operator", "io", "state", "theirs")
_LATE = (
    "cell", "message", "shape_target", "dtype_target", "line", "sheet", "type", "rank", "artifact",
    "verdict", "target", "golden", "shape_golden", "dtype_golden",
)  # fmt: skip
_HIDDEN = frozenset(("target", "golden", "verdict", "shape_golden", "dtype_golden", "cell"))
_COUNTS = ("pass", "warning", "error", "unmatched", "unknown")
_LEAST_NAME = 24
_DECIMALS = ("cosine", "余弦")


def theirs_specs(table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang) -> tuple[ColumnSpec, ...]:
    """Our reading and the tool's verdict first, then its figures in its own order, words in cells."""
    names = [column.name for column in table.columns]
    figures = [name for name in names if name not in (*_ORDER, "reason", *_LATE)]
    ordered = [*_ORDER, *figures[:1], "reason", *figures[1:], *_LATE]
    left_out = _HIDDEN | (hidden - {*_ORDER, "reason"})
    words = table.column("cell") if "cell" in names else None
    first = next((name for name in figures if table.column(name).kind == "float"), None)
    return tuple(
        _spec(table, name, place, words if name == first else None, glyphs, lang)
        for place, name in enumerate(ordered)
        if name in names and name not in left_out and (has_values(table, name) or name == first)
    )


def _spec(
    table: Table, name: str, place: int, words: Column | None, glyphs: Glyphs, lang: Lang
) -> ColumnSpec:
    title = heading(name, lang)
    if name == "operator":
        return ColumnSpec(name, title, format=_short, min_width=20, max_width=56, priority=0, is_frozen=True)
    if name == "state":
        return ColumnSpec(name, title, format=state_formatter(glyphs, lang), max_width=12, priority=1)
    if name == "io":
        return ColumnSpec(name, title, format=io_formatter(lang), max_width=28, priority=1)
    if table.column(name).kind == "float":
        instead = (lambda row: words.value(row)) if words is not None else None
        decimals = 6 if name.lower().startswith(_DECIMALS) else None
        return ColumnSpec(
            name,
            title,
            format="fixed" if decimals else "auto",
            decimals=decimals,
            priority=place,
            instead=instead,
        )
    return ColumnSpec(name, title, max_width=40 if name == "message" else 28, priority=place)


def _short(value: object) -> str:
    return short_name(str(value))


def theirs_lines(view: TheirsView, tr: Callable[..., str], glyphs: Glyphs, width: int) -> list[str]:
    """Two lines: how the rows stand and whose verdict that is; the first finding and what fails."""
    report, summary = view.report, view.report.summary
    separator = ", " if glyphs.is_ascii else " · "
    found = [(name, report.counts.get(name, 0)) for name in _COUNTS]
    counts = [say(TEXTS, f"count-{name}", view.lang, n=n) for name, n in found if n]
    whose = tr(
        f"precision.by-{summary.get('counted_by', 'ours')}", tool=safe_text(str(summary["computed_by"]))
    )
    first = f"{report.verdict.upper()}  {separator.join(counts)}   {whose}"
    if not report.findings:
        return [first, tr("precision.nothing")]
    finding = report.findings[0]
    row = view.row_of(finding)
    said = finding.message if row is None else view.detail(row, view.lang).headline
    word = finding.role if finding.role == "origin" else finding.severity
    start = f"{glyphs.severity(word)} {tr('precision.' + word)}: "
    room = max(_LEAST_NAME, width - cell_len(start) - cell_len(said) - 2)
    return [first, f"{start}{cut_middle(safe_text(finding.subject), room, glyphs)}  {safe_text(said)}"]
