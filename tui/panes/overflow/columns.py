"""How the columns of the overflow table look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.cells import cell_len

from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.table import PRESENCE, SHOWN_COUNTS
from npulse.core.overflow.view import short_dtype
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text

from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...roles import role_formatter
from ...widgets.bars import bar
from ...widgets.table_lines import PREFIX_CELLS
from ...widgets.table_view import ColumnSpec
from ..columns import short_io_formatter

HIDDEN_AT_FIRST = frozenset(
    (
        "tensor",
        "max",
        "min",
        "near_limit",
        "upstream",
        "basis",
        "first_index",
        "flags",
        "shape",
        "rank",
        "step",
    )
)
"""Columns that `c` can bring in; rank and step come by themselves where there are several."""

_HEADINGS: dict[str, tuple[str, str]] = {
    "operator": ("operator call", "算子调用"),
    "io": ("io", "io"),
    "role": ("seen", "判断"),
    "absmax": ("absmax", "最大绝对值"),
    "headroom_ratio": ("of max", "占最大"),
    "nan": ("nan", "nan"),
    "plus_inf": ("+inf", "+inf"),
    "minus_inf": ("-inf", "-inf"),
    "saturated": ("at max", "饱和"),
    "near_limit": ("near", "近极限"),
    "subnormal": ("sub", "次正规"),
    "growth_ratio": ("grown", "增长"),
    "dtype": ("dtype", "dtype"),
    "shape": ("shape", "形状"),
    "first_index": ("first at", "首个位置"),
    "upstream": ("upstream", "上游"),
    "rank": ("rank", "rank"),
    "step": ("step", "step"),
}

_ORDER = (
    "operator", "io", "role", "absmax", "headroom_ratio", "rank", "step", "nan", "plus_inf", "minus_inf",
    "saturated", "growth_ratio", "dtype", "subnormal", "near_limit", "shape", "first_index",
)  # fmt: skip
"""Display order; columns that are not named here follow in the table's own order."""

_FIRST = {"operator": 0, "role": 1, "io": 2, "rank": 3, "step": 3, "absmax": 4, "headroom_ratio": 5}
"""Priority of the columns without which a row says little; the others follow by their place."""

_IO_CELLS = 14
_ROLE_CELLS, _ABSMAX_CELLS, _SHARE_CELLS, _NUMBER_CELLS = 11, 9, 6, 4
_NAME_CELLS = (16, 56)  # of the operator: at least, at most


def specs(
    table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang, width: int
) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty columns are left out."""
    names = [c.name for c in table.columns]
    ordered = [n for n in _ORDER if n in names] + [n for n in names if n not in _ORDER]
    wanted = [n for n in ordered if n not in hidden or n in ("rank", "step")]
    shown = [n for n in wanted if _has_values(table, n) and (n not in ("rank", "step") or _differs(table, n))]
    room = _name_room(table, shown, lang, width)
    return tuple(
        _spec(table, name, place + len(_FIRST), glyphs, lang, width, room) for place, name in enumerate(shown)
    )


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def bar_cells(width: int) -> int:
    """Cells of the bar in a table of that width; 0 where the figure alone has to do."""
    return 0 if width < 72 else 6 if width < 100 else 8


def _has_values(table: Table, name: str) -> bool:
    """Whether some row has something to show; of a count also whether there is any at all."""
    column = table.column(name)
    if column.absent is None or not len(column.absent) or not column.absent.all():
        return True
    return name in PRESENCE and bool((table.column("flags").values & PRESENCE[name]).any())


def _differs(table: Table, name: str) -> bool:
    values = table.column(name).values
    return len(values) > 0 and bool((values != values[0]).any())


def _name_room(table: Table, shown: list[str], lang: Lang, width: int) -> int:
    """Cells for the operator beside the columns without which its row says little."""
    cells = {
        "io": _io_cells(table, lang),
        "role": _ROLE_CELLS,
        "rank": _NUMBER_CELLS,
        "step": _NUMBER_CELLS,
        "absmax": _ABSMAX_CELLS,
        "headroom_ratio": _SHARE_CELLS + (bar_cells(width) and bar_cells(width) + 1),
    }
    gap = 2 if width >= 90 + PREFIX_CELLS else 1
    beside = sum(max(cells[n], cell_len(heading(n, lang))) + gap for n in shown if n in cells)
    least, most = _NAME_CELLS
    return max(least, min(most, width - PREFIX_CELLS - beside))


def _io_cells(table: Table, lang: Lang) -> int:
    write = short_io_formatter(lang)
    texts = (cell_len(write(safe_text(label))) for label in table.column("io").labels or ())
    return min(max(texts, default=1), _IO_CELLS)


def _spec(
    table: Table, name: str, place: int, glyphs: Glyphs, lang: Lang, width: int, room: int
) -> ColumnSpec:
    title, priority = heading(name, lang), _FIRST.get(name, place)
    if name == "operator":
        least = min(room, 20)
        shown = _name(room, glyphs)
        return ColumnSpec(
            name, title, format=shown, min_width=least, max_width=room, priority=priority, is_frozen=True
        )
    if name == "io":
        return ColumnSpec(
            name, title, format=short_io_formatter(lang), max_width=_IO_CELLS, priority=priority
        )
    if name == "role":
        return ColumnSpec(name, title, format=role_formatter(glyphs, lang), max_width=14, priority=priority)
    if name == "headroom_ratio":
        show = _headroom(bar_cells(width), glyphs)
        return ColumnSpec(name, title, format=show, align="left", priority=priority)
    if name == "dtype":
        return ColumnSpec(name, title, format=short_dtype, priority=priority)
    if name == "growth_ratio":
        return ColumnSpec(name, title, format=_grown, align="right", priority=priority)
    if name in SHOWN_COUNTS:
        return ColumnSpec(name, title, priority=priority, instead=_presence(table, name))
    if name in ("absmax", "max", "min"):
        return ColumnSpec(name, title, format="significant", decimals=4, priority=priority)
    return ColumnSpec(name, title, max_width=28, priority=priority)


def _name(room: int, glyphs: Glyphs) -> Callable[[object], str]:
    """The short name; where it is too long its middle is left out, since its number stands at the end."""

    def show(value: object) -> str:
        return cut_middle(safe_text(short_name(str(value))), room, glyphs)

    return show


def _headroom(cells: int, glyphs: Glyphs) -> Callable[[object], str]:
    """Percent and a bar: how much of the dtype's range is used. No bar where it would be an empty cell."""

    def show(value: object) -> str:
        share = float(str(value))
        figure = " <0.1%" if 0 < share < 0.0005 else f"{100 * share:5.1f}%"
        if share * cells * len(glyphs.bar) < 0.5:
            return figure
        return f"{figure} {bar(share, cells, glyphs)}"

    return show


def _grown(value: object) -> str:
    ratio = float(str(value))
    return f"x{ratio:.3g}" if math.isfinite(ratio) else "inf"


def _presence(table: Table, name: str) -> Callable[[int], str | None]:
    """ ">=1" where statistics tell that there is some and not how many, "?" where nothing tells."""
    column, flags, bit = table.column(name), table.column("flags"), PRESENCE.get(name, 0)

    def show(row: int) -> str | None:
        if column.absent is None or not column.absent[row]:
            return None
        return ">=1" if int(flags.values[row]) & bit else "?"

    return show
