"""How the columns of the check-up look: the area with its pane's key, its state, what there is to say."""

from __future__ import annotations

from rich.cells import cell_len

from npulse.core.areas import area_title
from npulse.core.checkup.report import state_word
from npulse.core.checkup.texts import TEXTS
from npulse.core.checkup.view import SUBJECT, CheckUpView
from npulse.core.criteria import AreaState
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say

from ...actions import PANES
from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...roles import RowStyle
from ...widgets.table_view import ColumnSpec
from ..columns import has_values

_HEADINGS: dict[str, tuple[str, str]] = {
    SUBJECT: ("area", "检查项"),
    "state": ("state", "状态"),
    "told": ("what there is", "情况"),
    "origin": ("first finding", "首要问题"),
    "next": ("next", "下一步"),
    "round": ("round", "轮次"),
}
_SHOWN = (SUBJECT, "state", "told", "origin", "round", "next")
_PRIORITY = {name: place for place, name in enumerate((SUBJECT, "state", "told", "origin", "round", "next"))}
_TOLD_CELLS = (24, 72)  # at least, at most
_FRAME_CELLS, _GAP = 4, 2  # marker and rim of the table; between two columns
_STYLES = {
    "fail": "virtual-table--error",
    "warn": "virtual-table--warning",
    "aside": "virtual-table--muted",
}
_KEYS = {area: str(number) for number, (area, _, _) in enumerate(PANES, 1)}


def heading(name: str, lang: Lang) -> str:
    """The heading of a column."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def pane_key(area: str) -> str:
    """The digit that opens an area's pane; "" for the environment, which has none."""
    return _KEYS.get(area, "")


def specs(view: CheckUpView, hidden: frozenset[str], glyphs: Glyphs, width: int) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty ones are left out."""
    table = view.table
    shown = [name for name in _SHOWN if name not in hidden and has_values(table, name)]
    return tuple(_spec(view, name, glyphs, width) for name in shown)


def row_style(view: CheckUpView) -> RowStyle:
    """Failures and warnings stand out; what nobody recorded or asked yet stands back."""
    states = [
        "aside" if view.is_pending(row) or not area.is_counted else area.state
        for row, area in enumerate(view.found.areas)
    ]
    return lambda row: _STYLES.get(states[row])


def _spec(view: CheckUpView, name: str, glyphs: Glyphs, width: int) -> ColumnSpec:
    lang = view.lang
    texts = _texts(view, name, glyphs)
    cells = max(map(cell_len, texts), default=1)
    if name == "told":
        least, most = _TOLD_CELLS
        taken = sum(
            max(max(map(cell_len, _texts(view, one, glyphs)), default=1), cell_len(heading(one, lang))) + _GAP
            for one in (SUBJECT, "state")
        )
        cells = min(cells, max(least, min(most, width - taken - _FRAME_CELLS)))
    elif name not in (SUBJECT, "state"):
        cells = min(cells, 60)
        texts = [cut_middle(text, cells, glyphs) for text in texts]
    return ColumnSpec(
        name,
        heading(name, lang),
        instead=lambda row: texts[row],
        align="left",
        min_width=cells,
        max_width=cells,
        priority=_PRIORITY[name],
        is_frozen=name == SUBJECT,
    )


def _texts(view: CheckUpView, name: str, glyphs: Glyphs) -> list[str]:
    """What stands in each cell of a column."""
    areas, lang = view.found.areas, view.lang
    if name == SUBJECT:
        return [f"{pane_key(area.area) or ' '} {area_title(area.area, lang)}" for area in areas]
    if name == "state":
        return [_state_text(view, row, glyphs, lang) for row in range(len(areas))]
    if name == "told":
        return [_told_text(area, lang) for area in areas]
    return [_cell(view.table, name, row) for row in range(len(areas))]


def _state_text(view: CheckUpView, row: int, glyphs: Glyphs, lang: Lang) -> str:
    """Shape and word: colour is the third carrier."""
    area = view.found.areas[row]
    if view.is_pending(row):
        return glyphs.ellipsis
    if not area.is_counted:
        return f"{glyphs.nothing} {state_word(area, lang)}"
    return f"{glyphs.shape(area.state)} {state_word(area, lang)}"


def _told_text(area: AreaState, lang: Lang) -> str:
    """The headline; that its figures mean nothing stands in front of them."""
    front = "" if area.is_trusted else f"{say(TEXTS, 'distrust-short', lang)}: "
    return front + safe_text(area.headline, 400)


def _cell(table: Table, name: str, row: int) -> str:
    value = table.column(name).value(row)
    return "" if value is None else safe_text(str(value), 200)
