"""How the columns of the overflow table look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.formats.msprobe.names import short_name
from npulse.core.overflow.table import PRESENCE
from npulse.core.table import Table
from npulse.core.text import Lang

from ...glyphs import Glyphs
from ...roles import role_formatter
from ...widgets.bars import bar
from ...widgets.table_view import ColumnSpec
from ..columns import io_formatter

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

BAR_CELLS = 8

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
    "operator", "io", "role", "absmax", "headroom_ratio", "nan", "plus_inf", "minus_inf", "saturated",
    "growth_ratio", "rank", "step", "dtype", "subnormal", "near_limit", "shape", "first_index",
)  # fmt: skip
"""Display order; columns that are not named here follow in the table's own order."""

_SHORT_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def specs(table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order. Columns without a value are left out."""
    names = [c.name for c in table.columns]
    ordered = [n for n in _ORDER if n in names] + [n for n in names if n not in _ORDER]
    shown = [n for n in ordered if n not in hidden or n in ("rank", "step")]
    return tuple(
        _spec(table, name, place, glyphs, lang)
        for place, name in enumerate(shown)
        if _has_values(table, name) and (name not in ("rank", "step") or _has_several(table, name))
    )


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def _has_values(table: Table, name: str) -> bool:
    column = table.column(name)
    return name in PRESENCE or column.absent is None or not column.absent.all() or not len(column.absent)


def _has_several(table: Table, name: str) -> bool:
    values = table.column(name).values
    return len(values) > 0 and bool((values != values[0]).any())


def _spec(table: Table, name: str, place: int, glyphs: Glyphs, lang: Lang) -> ColumnSpec:
    title = heading(name, lang)
    if name == "operator":
        return ColumnSpec(name, title, format=_short, min_width=20, max_width=56, priority=0, is_frozen=True)
    if name == "io":
        return ColumnSpec(name, title, format=io_formatter(lang), max_width=28, priority=1)
    if name == "role":
        return ColumnSpec(name, title, format=role_formatter(glyphs, lang), max_width=14, priority=1)
    if name == "headroom_ratio":
        return ColumnSpec(name, title, format=_headroom(glyphs), align="left", priority=2)
    if name == "dtype":
        return ColumnSpec(name, title, format=_dtype, priority=place)
    if name == "growth_ratio":
        return ColumnSpec(name, title, format=_grown, align="right", priority=place)
    if name in PRESENCE:
        return ColumnSpec(name, title, priority=place, instead=_presence(table, name))
    if name in ("absmax", "max", "min"):
        return ColumnSpec(
            name, title, format="significant", decimals=4, priority=2 if name == "absmax" else place
        )
    return ColumnSpec(name, title, max_width=28, priority=place)


def _short(value: object) -> str:
    return short_name(str(value))


def _dtype(value: object) -> str:
    word = str(value).rpartition(".")[2].lower()
    return _SHORT_DTYPES.get(word, word)


def _headroom(glyphs: Glyphs) -> Callable[[object], str]:
    """Percent and a bar: how much of the dtype's range is used."""

    def show(value: object) -> str:
        share = float(str(value))
        return f"{100 * share:5.1f}% {bar(share, BAR_CELLS, glyphs):<{BAR_CELLS}}"

    return show


def _grown(value: object) -> str:
    return f"x{float(str(value)):.3g}"


def _presence(table: Table, name: str) -> Callable[[int], str | None]:
    """ ">=1" where statistics tell that there is some and not how many, "?" where nothing tells."""
    column, flags, bit = table.column(name), table.column("flags"), PRESENCE[name]

    def show(row: int) -> str | None:
        if column.absent is None or not column.absent[row]:
            return None
        return ">=1" if int(flags.values[row]) & bit else "?"

    return show
