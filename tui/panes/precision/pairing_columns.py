"""How the lines of the pairing view look: two sequences of equal width, the link between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.pages.pairing_rows import DOUBTFUL_LINK, FIRST, LAST, NO_GROUP
from npulse.core.precision.pages.texts import TEXTS
from npulse.core.text import Lang, safe_text, say

from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...messages import tr
from ...roles import RowStyle, state_formatter
from ...widgets.table_lines import PREFIX_CELLS
from ...widgets.virtual_table import ColumnSpec

if TYPE_CHECKING:
    from npulse.core.precision.pages.pairing_rows import PairingRows
    from npulse.core.precision.pairing import Ints

SIGNS = ("=", "~", "?", " ", " ")
"""Of each link; a call without a counterpart has none."""
_LINK_CELLS = 3
_STATE_CELLS = 12
_WHY_CELLS = 24
_LEAST_CELLS = 12
_WIDE = 100


def pairing_specs(
    rows: PairingRows, width: int, marks: tuple[frozenset[int], frozenset[int]], glyphs: Glyphs, lang: Lang
) -> tuple[ColumnSpec, ...]:
    """Target, link, golden, state, and where there is room why; marks: call rows of both sides."""
    gap = 2 if width - PREFIX_CELLS >= 90 else 1
    n_gaps = 4 if width >= _WIDE else 3
    others = _LINK_CELLS + _STATE_CELLS + (_WHY_CELLS if width >= _WIDE else 0)
    side = max((width - PREFIX_CELLS - others - n_gaps * gap) // 2, _LEAST_CELLS)
    table = rows.table

    def name_of(column: str, chosen: frozenset[int]) -> ColumnSpec:
        labels = table.column(column)

        def marked(line: int) -> str | None:
            name = labels.value(line)
            if name is None:  # within a group nothing is missing
                return " " if int(rows.bracket[line]) != NO_GROUP else None
            if int(labels.values[line]) not in chosen:
                return None
            return glyphs.mark + cut_middle(safe_text(short_name(name)), side - 1, glyphs)

        return ColumnSpec(
            column,
            say(TEXTS, column, lang),
            format=lambda value: cut_middle(safe_text(short_name(str(value))), side, glyphs),
            min_width=side,
            max_width=side,
            is_frozen=True,
            instead=marked,
        )

    specs = (
        name_of("target", marks[0]),
        ColumnSpec(
            "link", " ", min_width=_LINK_CELLS, max_width=_LINK_CELLS, is_frozen=True,
            instead=_link(rows, glyphs),
        ),
        name_of("golden", marks[1]),
        ColumnSpec(
            "state", tr("pairing.state", lang), format=state_formatter(glyphs, lang), max_width=_STATE_CELLS,
            is_frozen=True,
        ),
        ColumnSpec("why", tr("pairing.why", lang), format=_why(lang), max_width=_WHY_CELLS, priority=1),
    )  # fmt: skip
    return specs if width >= _WIDE else specs[:-1]


def _link(rows: PairingRows, glyphs: Glyphs) -> Callable[[int], str]:
    """The sign of the link on a call's last line, and on both sides of it the bracket of a group."""

    def show(line: int) -> str:
        bracket = int(rows.bracket[line])
        if bracket == NO_GROUP:
            return f" {SIGNS[int(rows.link[line])]} "
        sides = [_bracket(calls, bracket, line, glyphs) for calls in (rows.target, rows.golden)]
        return sides[0] + (SIGNS[int(rows.link[line])] if bracket == LAST else " ") + sides[1]

    return show


def _bracket(calls: Ints, bracket: int, line: int, glyphs: Glyphs) -> str:
    """The bracket beside one side of a group; none beside a call that is alone on its side."""
    has_above = bracket != FIRST and int(calls[line - 1]) >= 0
    has_below = bracket != LAST
    if int(calls[line]) < 0 or not (has_above or has_below):
        return " "
    if has_above and has_below:
        return glyphs.vertical
    return glyphs.top_left if has_below else glyphs.bottom_left


def _why(lang: Lang) -> Callable[[object], str]:
    """The stable words, which are what a filter takes; in Chinese what they say."""

    def show(value: object) -> str:
        words = str(value).split()
        if lang != "zh":
            return " ".join(words)
        return "、".join(say(TEXTS, f"evidence-{word}", lang) for word in words)

    return show


def pairing_style(rows: PairingRows) -> RowStyle:
    """What needs a look stands out: calls without a counterpart, and doubtful pairs."""
    state = rows.table.column("state")
    labels = state.labels or ()

    def style(line: int) -> str | None:
        if labels[int(state.values[line])].endswith(" origin"):
            return "virtual-table--error"
        return "virtual-table--warning" if int(rows.link[line]) >= DOUBTFUL_LINK else None

    return style
