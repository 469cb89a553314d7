"""How the columns of the precision table look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.formats.msprobe.names import short_name
from npulse.core.table import Table
from npulse.core.text import Lang

from ...glyphs import Glyphs
from ...messages import tr
from ...widgets.table_view import ColumnSpec

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
    "reason": ("reason", "原因"),
    "n_different": ("differing", "不同元素"),
    "module": ("module", "模块"),
    "role": ("role", "角色"),
    "verdict": ("verdict", "结论"),
    "calls": ("calls", "调用数"),
    "rank": ("rank", "rank"),
    "step": ("step", "step"),
}

_ORDER = (
    "operator", "io", "state", "cosine", "max_abs_error", "rel_l2", "norm_ratio", "rel_l2_at_least",
    "pattern", "ratio_below_1e3", "shape_target", "dtype_target", "ulp_max", "passes_at", "reason",
    "rank", "step",
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
        _spec(name, place, glyphs, lang)
        for place, name in enumerate(ordered)
        if name not in hidden and _has_values(table, name)
    )


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def row_style(table: Table) -> Callable[[int], str | None]:
    """The component class of a whole row, from its state."""
    state = table.column("state")
    labels = list(state.labels or ())
    style = [_style_of(label) for label in labels]

    def of(row: int) -> str | None:
        return style[int(state.values[row])]

    return of


def _style_of(label: str) -> str | None:
    verdict, role = label.split(" ")
    if role == "origin":
        return "virtual-table--error"
    if role in ("inherited", "unknown", "unmatched"):
        return "virtual-table--muted"
    return {"error": "virtual-table--error", "warning": "virtual-table--warning"}.get(verdict)


def _has_values(table: Table, name: str) -> bool:
    column = table.column(name)
    return column.absent is None or not column.absent.all() or not len(column.absent)


def _spec(name: str, place: int, glyphs: Glyphs, lang: Lang) -> ColumnSpec:
    title = heading(name, lang)
    if name == "operator":
        return ColumnSpec(name, title, format=_short, min_width=20, max_width=56, priority=0, is_frozen=True)
    if name == "state":
        return ColumnSpec(name, title, format=_state_formatter(glyphs, lang), max_width=12, priority=1)
    if name == "cosine":
        return ColumnSpec(name, title, format="fixed", decimals=6, priority=2)
    if name == "ratio_below_1e3":
        return ColumnSpec(name, title, format="percent", decimals=1, priority=place)
    if name in _EXPONENT:
        return ColumnSpec(name, title, format="scientific", decimals=1, priority=place)
    return ColumnSpec(name, title, max_width=28, priority=1 if name == "io" else place)


def _short(value: object) -> str:
    return short_name(str(value))


def _state_formatter(glyphs: Glyphs, lang: Lang) -> Callable[[object], str]:
    role_text = role_formatter(glyphs, lang)

    def show(value: object) -> str:
        verdict, _, role = str(value).partition(" ")
        if role == "ok":
            return glyphs.severity("ok" if verdict == "pass" else verdict)
        return role_text(role)

    return show


def role_formatter(glyphs: Glyphs, lang: Lang) -> Callable[[object], str]:
    """A role as letter or shape, then the word."""

    def show(value: object) -> str:
        role = str(value)
        word = tr(f"role.{role}", lang)
        if role == "origin":
            return f"E {glyphs.error} {word}"
        return word if role == "ok" else f"{glyphs.shape(role)} {word}"

    return show


def module_style(table: Table) -> Callable[[int], str | None]:
    """The component class of a row of the module tree."""
    role, verdict = table.column("role"), table.column("verdict")

    def of(row: int) -> str | None:
        return _style_of(f"{verdict.value(row)} {role.value(row)}")

    return of
