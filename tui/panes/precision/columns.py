"""How the columns of the precision table look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.texts import TEXTS
from npulse.core.table import Table
from npulse.core.text import Lang, say

from ...glyphs import Glyphs
from ...roles import state_formatter
from ...widgets.table_view import ColumnSpec
from ..columns import has_values, io_formatter

HIDDEN_AT_FIRST = frozenset(
    (
        "call", "target", "golden", "dtype_golden", "shape_golden", "mean_rel_error", "rel_l1", "euclidean",
        "ratio_below_5e3", "ratio_below_1e3_nonzero", "ratio_below_5e3_nonzero", "zero_reference_max_abs",
        "n_elements", "n_compared", "nan_golden", "inf_golden", "nonfinite_agreeing", "absmax_golden",
        "max_abs_error_index", "basis", "role", "verdict",
    )
)  # fmt: skip
"""Columns that `c` can bring in: one look must tell the origin, not everything."""

_HEADINGS: dict[str, tuple[str, str]] = {
    "operator": ("operator call", "算子调用"),
    "io": ("io", "io"),
    "state": ("result", "结果"),
    "cosine": ("cosine", "余弦"),
    "max_abs_error": ("maxabs", "最大绝对误差"),
    "rel_l2": ("rel.L2", "相对L2"),
    "rel_l2_at_least": ("rel.L2>=", "相对L2>="),
    "norm_ratio": ("norm ratio", "范数比"),
    "ratio_below_1e3": ("<1e-3", "<1e-3"),
    "shape_target": ("shape", "形状"),
    "dtype_target": ("dtype", "dtype"),
    "max_rel_error": ("max rel", "最大相对误差"),
    "ulp_max": ("ulp", "ulp"),
    "passes_at": ("passes at", "通过容差"),
    "pattern": ("pattern", "模式"),
    "layout": ("layout", "切分"),
    "reason": ("reason", "原因"),
    "n_different": ("differing", "不同元素"),
    "module": ("module", "模块"),
    "role": ("role", "角色"),
    "verdict": ("verdict", "结论"),
    "theirs": ("theirs", "原工具"),
    "message": ("its message", "原工具信息"),
    "line": ("line", "行"),
    "artifact": ("file", "文件"),
    "calls": ("calls", "调用数"),
    "rank": ("rank", "rank"),
    "step": ("step", "step"),
}

_ORDER = (
    "operator", "io", "state", "reason", "cosine", "max_abs_error", "rel_l2", "norm_ratio", "rel_l2_at_least",
    "pattern", "layout", "ratio_below_1e3", "shape_target", "dtype_target", "ulp_max", "passes_at", "rank",
    "step",
)  # fmt: skip
"""Display order; columns that are not named here follow in the table's own order."""

_EXPONENT = frozenset(
    (
        "max_abs_error",
        "rel_l2",
        "rel_l2_at_least",
        "rel_l1",
        "max_rel_error",
        "mean_rel_error",
        "passes_at",
        "euclidean",
    )
)


def specs(table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order. Columns in which nothing was computed are left out."""
    names = [c.name for c in table.columns]
    ordered = [n for n in _ORDER if n in names] + [n for n in names if n not in _ORDER]
    return tuple(
        _spec(table, name, place, glyphs, lang)
        for place, name in enumerate(ordered)
        if name not in hidden and has_values(table, name)
    )


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def _spec(table: Table, name: str, place: int, glyphs: Glyphs, lang: Lang) -> ColumnSpec:
    title = heading(name, lang)
    if name == "operator":
        return ColumnSpec(name, title, format=_short, min_width=20, max_width=56, priority=0, is_frozen=True)
    if name == "state":
        return ColumnSpec(name, title, format=state_formatter(glyphs, lang), max_width=12, priority=1)
    if name == "io":
        return ColumnSpec(name, title, format=io_formatter(lang), max_width=28, priority=1)
    if name == "cosine":
        instead = _nonfinite(table)
        return ColumnSpec(name, title, format="fixed", decimals=6, priority=2, instead=instead)
    if name == "reason":
        return ColumnSpec(name, title, format=_reason_formatter(lang), max_width=16, priority=3)
    if name == "ratio_below_1e3":
        return ColumnSpec(name, title, format="percent", decimals=1, priority=place)
    if name in _EXPONENT:
        return ColumnSpec(name, title, format="scientific", decimals=1, priority=place)
    return ColumnSpec(name, title, max_width=28, priority=place)


def _short(value: object) -> str:
    return short_name(str(value))


def _reason_formatter(lang: Lang) -> Callable[[object], str]:
    """The stable word, which is what a filter takes; in Chinese what it says."""

    def show(value: object) -> str:
        key = f"reason-{value}"
        return say(TEXTS, key, lang) if lang == "zh" and key in TEXTS else str(value)

    return show


def _nonfinite(table: Table) -> Callable[[int], str | None]:
    """What stands in place of a cosine that leaves NaN and Inf out, where these are what is wrong."""
    reason = table.column("reason")
    code = (reason.labels or ()).index("nonfinite")
    nan = table.column("nan_target"), table.column("nan_golden")

    def show(row: int) -> str | None:
        if int(reason.values[row]) != code:
            return None
        target, golden = nan[0].value(row), nan[1].value(row)
        if target is None and golden is None:
            return "NaN/Inf"
        return "NaN" if target != golden else "Inf"

    return show
