"""How the columns of the story look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from rich.cells import cell_len

from npulse.core.rounds.facts import Facts
from npulse.core.rounds.figures import BY_ID
from npulse.core.rounds.table import STATE, SUBJECT
from npulse.core.rounds.view import RoundsView
from npulse.core.rounds.words import against_text, changes_text, figure_text, heading_of, outcome_and_ending
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text

from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...roles import RowStyle
from ...widgets.table_view import ColumnSpec
from ..columns import has_values

_HEADINGS: dict[str, tuple[str, str]] = {
    SUBJECT: ("round", "轮次"),
    "kind": ("kind", "类别"),
    "tool": ("tool", "工具"),
    "started": ("started", "开始"),
    "duration_s": ("seconds", "秒"),
    "outcome": ("outcome", "结果"),
    "exit_status": ("exit", "退出"),
    "verdict": ("verdict", "结论"),
    "missed": ("missed", "未达标"),
    "against": ("against baseline", "相对基线"),
    "n_changes": ("changes", "改动数"),
    "changes": ("changed before it", "此前改动"),
}
_SHOWN = ("against", "changes", "outcome", "kind", "started", "duration_s", "tool")
_HIDDEN_FIGURES = frozenset(("worst_cosine", "n_precision_origins"))
HIDDEN_AT_FIRST = frozenset(
    ("exit_status", "n_changes", "missed", *_HIDDEN_FIGURES, *(f"{name}{STATE}" for name in BY_ID))
)
"""Columns that `c` can bring in."""
_PRIORITY = {"verdict": 18, "outcome": 20, "kind": 21, "started": 22, "duration_s": 23, "tool": 24}
_NAME_CELLS, _CHANGE_CELLS = (14, 34), (24, 60)  # at least, at most
_FRAME_CELLS, _GAP = 4, 2  # marker and rim of the table; between two columns
BASELINE = "B"
"""Before the name of the round that the others are compared with."""
_OF_VERDICT = {"pass": "better", "warn": "worse", "fail": "worse", "unknown": "unknown"}
_STYLES = {
    "better": "virtual-table--ok",
    "worse": "virtual-table--warning",
    "unknown": "virtual-table--muted",
}


def specs(view: RoundsView, hidden: frozenset[str], glyphs: Glyphs, width: int) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty figures are left out."""
    table, lang = view.table, view.lang
    figures = [name for name in BY_ID if _has_cells(view, name)]
    ordered = [SUBJECT, "verdict", *figures, *_SHOWN]
    ordered += [column.name for column in table.columns if column.name not in {*ordered, *BY_ID}]
    told = {*figures, *_SHOWN} - ({"against"} if not view.found.baseline else set())
    shown = [n for n in ordered if n not in hidden and (n in told or has_values(table, n))]
    front = {SUBJECT, "verdict", *figures}
    first = [_spec(view, name, glyphs, lang, width) for name in shown if name in front]
    taken = sum(max(one.min_width, cell_len(one.heading)) + _GAP for one in first) + _FRAME_CELLS
    return tuple(_spec(view, name, glyphs, lang, width, taken) for name in shown)


def _has_cells(view: RoundsView, name: str) -> bool:
    return any(name in row.cells for row in view.found.rows)


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    if name in BY_ID:
        return heading_of(name, lang)
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def style_by_outcome(view: RoundsView) -> RowStyle:
    """A round that recorded nothing stands back; one that was never closed warns."""

    def style(row: int) -> str | None:
        outcome = view.found.rows[row].facts.outcome
        if outcome == "nothing":
            return "virtual-table--muted"
        return "virtual-table--warning" if outcome in ("open", "incomplete") else None

    return style


def _spec(view: RoundsView, name: str, glyphs: Glyphs, lang: Lang, width: int, taken: int = 0) -> ColumnSpec:
    """taken: cells of the columns that come before what was changed."""
    spec = ColumnSpec(name, heading(name, lang), priority=_PRIORITY.get(name, 10))
    if name in BY_ID:
        return _figure_spec(view, name, spec, lang)
    if name == SUBJECT:
        room = _name_cells(view, width)
        baseline = view.found.baseline
        marks = [
            BASELINE if baseline and row.name == baseline else _mark(row.facts, glyphs)
            for row in view.found.rows
        ]
        front = 2 if any(marks) else 0
        cells = room + front
        return ColumnSpec(
            name,
            spec.heading,
            instead=lambda row: f"{marks[row]:<{front}}{cut_middle(_name(view.table, row), room, glyphs)}",
            min_width=cells,
            max_width=cells,
            is_frozen=True,
        )
    if name == "changes":
        arrow = "->" if glyphs.is_ascii else glyphs.arrow
        texts = [changes_text(row, lang, arrow) for row in view.found.rows]
        least, most = _CHANGE_CELLS  # the figures come first: the whole of it stands in the detail
        cells = min(max(map(cell_len, texts), default=least), max(least, min(most, width - taken)))
        return ColumnSpec(
            name,
            spec.heading,
            instead=lambda row: texts[row],
            min_width=cells,
            max_width=cells,
            priority=2,
        )
    if name == "verdict":
        verdicts = [(row.verdict or "-").upper() for row in view.found.rows]
        return ColumnSpec(
            name,
            spec.heading,
            instead=lambda row: verdicts[row],
            min_width=max(map(cell_len, verdicts), default=4),
            priority=_PRIORITY[name],
            style=lambda row: _STYLES.get(_OF_VERDICT.get(view.found.rows[row].verdict or "", "")),
        )
    if name == "against":
        against = [against_text(view.found, row, lang) for row in view.found.rows]
        cells = min(max(map(cell_len, against), default=8), 36)
        return ColumnSpec(
            name,
            spec.heading,
            instead=lambda row: against[row],
            min_width=min(cells, 16),
            max_width=cells,
            priority=2,
        )
    if name == "outcome":
        told = [outcome_and_ending(row, lang) for row in view.found.rows]
        cells = min(max(map(cell_len, told), default=8), 40)
        return ColumnSpec(
            name,
            spec.heading,
            instead=lambda row: told[row],
            min_width=cells,
            max_width=cells,
            priority=spec.priority,
        )
    if name == "duration_s":
        return ColumnSpec(name, spec.heading, format="fixed", decimals=1, priority=spec.priority)
    return spec


def _name_cells(view: RoundsView, width: int) -> int:
    least, most = _NAME_CELLS
    longest = max((cell_len(_name(view.table, row)) for row in range(view.table.n_rows)), default=least)
    return min(max(least, min(most, width // 3)), max(longest, 5))


def _mark(facts: Facts, glyphs: Glyphs) -> str:
    """A round whose figures are missing is told in its first cell, whatever columns there is room for."""
    if facts.is_running or facts.outcome in ("incomplete", "unknown"):
        return glyphs.unknown
    return glyphs.shape("warning") if facts.outcome in ("nothing", "open") else ""


def _name(table: Table, row: int) -> str:
    return safe_text(str(table.column(SUBJECT).value(row)))


def _figure_spec(view: RoundsView, name: str, spec: ColumnSpec, lang: Lang) -> ColumnSpec:
    """The figure with its word; colour is the third carrier."""
    texts = [figure_text(row, name, lang) for row in view.found.rows]
    order = list(BY_ID).index(name)
    return ColumnSpec(
        name,
        spec.heading,
        instead=lambda row: texts[row],
        align="left",
        min_width=max(map(cell_len, texts), default=1),
        priority=1 if not order else 3 + order,
        style=lambda row: _STYLES.get(view.found.rows[row].states.get(name, "")),
    )
