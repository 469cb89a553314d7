"""How the columns of the overflow table look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

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
from ..columns import has_values, short_io_formatter

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
    "capture": ("capture", "采集"),
    "step": ("step", "step"),
}

_WHERE = ("rank", "step", "capture")
"""Columns that come by themselves where there are several."""

_ORDER = (
    "operator", "io", "role", "absmax", "headroom_ratio", "rank", "step", "capture", "nan", "plus_inf",
    "minus_inf", "saturated", "growth_ratio", "dtype", "subnormal", "near_limit", "shape", "first_index",
)  # fmt: skip
"""Display order; columns that are not named here follow in the table's own order."""

_FIRST = {"operator": 0, "role": 1, "io": 2, "rank": 3, "step": 3, "absmax": 4, "headroom_ratio": 5}
"""Priority of the columns without which a row says little; the others follow by their place."""

_ROLE_CELLS: dict[Lang, int] = {"en": 11, "zh": 8}
_NAME_CELLS = (16, 56)  # of the operator: at least, at most
_GOOD_NAME_CELLS = 20  # with fewer the bar gives way


@dataclass(frozen=True, slots=True)
class _Room:
    """Cells for what can be cut: the operator, the place in its call, the bar."""

    name: int
    io: int
    bar: int


def specs(
    table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang, width: int
) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty columns are left out."""
    names = [c.name for c in table.columns]
    ordered = [n for n in _ORDER if n in names] + [n for n in names if n not in _ORDER]
    wanted = [n for n in ordered if n not in hidden or n in _WHERE]
    shown = [n for n in wanted if _has_values(table, n) and (n not in _WHERE or _differs(table, n))]
    room = _room(table, shown, lang, width)
    return tuple(
        _spec(table, name, _FIRST.get(name, len(_FIRST) + place), glyphs, lang, room)
        for place, name in enumerate(shown)
    )


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def _has_values(table: Table, name: str) -> bool:
    """Whether some row has something to show; of a count also whether there is any at all."""
    if has_values(table, name):
        return True
    return name in PRESENCE and bool((table.column("flags").values & PRESENCE[name]).any())


def _differs(table: Table, name: str) -> bool:
    column = table.column(name)
    if not len(column.values):
        return False
    has_gaps = column.absent is not None and bool((column.absent != column.absent[0]).any())
    return has_gaps or bool((column.values != column.values[0]).any())


def _room(table: Table, shown: list[str], lang: Lang, width: int) -> _Room:
    """The operator gets what the columns leave without which its row says little."""
    write = short_io_formatter(lang)
    io = max((cell_len(write(safe_text(label))) for label in table.column("io").labels or ()), default=1)
    io = min(io, 7 if width < 100 and "headroom_ratio" in shown else 16)
    cells = {"io": io, "role": _ROLE_CELLS[lang], "rank": 4, "step": 4, "absmax": 9, "headroom_ratio": 6}
    gap = 2 if width >= 90 + PREFIX_CELLS else 1
    beside = sum(max(cells[n], cell_len(heading(n, lang))) + gap for n in shown if n in cells)
    room = width - PREFIX_CELLS - beside
    bar_cells = next((n for n in ((8, 6) if width >= 100 else (6,)) if room - n - 1 >= _GOOD_NAME_CELLS), 0)
    least, most = _NAME_CELLS
    return _Room(max(least, min(most, room - (bar_cells and bar_cells + 1))), io, bar_cells)


def _spec(table: Table, name: str, priority: int, glyphs: Glyphs, lang: Lang, room: _Room) -> ColumnSpec:
    spec = ColumnSpec(name, heading(name, lang), max_width=28, priority=priority)
    if name == "operator":
        least = min(room.name, 20)
        return replace(
            spec, format=_name(room.name, glyphs), min_width=least, max_width=room.name, is_frozen=True
        )
    if name == "io":
        return replace(spec, format=short_io_formatter(lang), max_width=room.io)
    if name == "role":
        return replace(spec, format=role_formatter(glyphs, lang), max_width=14)
    if name == "headroom_ratio":
        return replace(spec, format=_headroom(room.bar, glyphs), align="left")
    if name == "dtype":
        return replace(spec, format=short_dtype)
    if name == "growth_ratio":
        return replace(spec, format=_grown, align="right")
    if name in SHOWN_COUNTS:
        return replace(spec, instead=_presence(table, name))
    if name in ("absmax", "max", "min"):
        return replace(spec, format="significant", decimals=4)
    return spec


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
