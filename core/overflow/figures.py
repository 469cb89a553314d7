"""What is known of one tensor, as figures of the contract and as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npulse.core.figures import number
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.tensors import dtype_of

from .health import HIGH, LOW, MINUS, NAN, PLUS
from .places import Places, RowHits
from .ranks import RankOverflow

LEAST_SHARE = 1e-4
"""A smaller share is shown as less than this: float32 has room for 38 digits of nothing."""
AXES = {"batch": "batches", "head": "heads", "row": "rows", "column": "columns", "element": "elements"}
"""Names of figures: the indices of an axis on which abnormal elements lie."""


def kind_of(flags: int) -> str:
    """The contract's word for what is bad: NaN before Inf before saturated."""
    if flags & NAN:
        return "NaN"
    if flags & PLUS:
        return "Inf"
    return "-Inf" if flags & MINUS else "saturated"


def row_figures(rank: RankOverflow, row: int, places: Places | None = None) -> dict[str, Any]:
    """What is known of one tensor; None where it is not."""
    health, leaves = rank.health, rank.dump.leaves
    n_inf = [health.count(name, row) for name in ("plus_inf", "minus_inf")]
    share = health.headroom(row)
    figures: dict[str, Any] = {
        "absmax": float(health.absmax[row]) if health.is_known[row] else None,
        "headroom_ratio": share,
        "dtype": dtype_name(rank, row),
        "shape": list(leaves.shapes[int(leaves.shape[row])]) if leaves.shape[row] >= 0 else None,
        "n_elements": int(health.n_elements[row]) if health.n_elements[row] >= 0 else None,
        "max": float(health.high[row]) if health.is_known[row] else None,
        "min": float(health.low[row]) if health.is_known[row] else None,
        "nan_count": health.count("nan", row),
        "inf_count": None if None in n_inf else sum(n or 0 for n in n_inf),
        "plus_inf_count": n_inf[0],
        "minus_inf_count": n_inf[1],
        "saturated_count": health.count("saturated", row),
        "near_limit_count": health.count("near_limit", row),
        "subnormal_count": health.count("subnormal", row),
    }
    if places is not None and places.first:
        figures["first_index"] = list(places.first[0].index)
        for axis in places.axes:
            if axis.n_hit < axis.length:
                figures[AXES.get(axis.name, axis.name)] = list(axis.first)
        masked = masked_in(places)
        if masked.n:
            figures["n_masked_rows"] = masked.n
            figures["masked_rows"] = [index[0] if len(index) == 1 else list(index) for index in masked.first]
    return figures


def masked_in(places: Places) -> RowHits:
    """Rows that a mask closes as a whole, whatever it fills them with."""
    return places.rows_minus_inf if places.rows_minus_inf.n else places.rows_lowest


def rows_text(rows: RowHits) -> str:
    """The first of them by index."""
    return ", ".join(index_text(index) for index in rows.first[:4]) + (", ..." if rows.n > 4 else "")


def index_text(index: Sequence[int]) -> str:
    """(3,) is "3", (0, 5) is "[0,5]"."""
    return str(index[0]) if len(index) == 1 else str(list(index)).replace(" ", "")


def module_of(rank: RankOverflow, call: int) -> str:
    """The module entry around a call; the one around a module is not asked for."""
    name = rank.name(call)
    if rank.construct is None or parse_name(name).kind == "module":
        return ""
    return next((a for a in ancestors(rank.construct, name) if parse_name(a).kind == "module"), "")


def dtype_name(rank: RankOverflow, row: int) -> str:
    """The dtype's one name, as far as it is known, else as the tool wrote it."""
    leaves = rank.dump.leaves
    if leaves.dtype[row] < 0:
        return ""
    written = leaves.dtypes[int(leaves.dtype[row])]
    known = dtype_of(written)
    return known.name if known is not None else written


def percent(ratio: float) -> str:
    """A share as people read it: 92.5 %."""
    return f"{100 * ratio:.3g} %" if ratio >= LEAST_SHARE or not ratio else f"<{100 * LEAST_SHARE:g} %"


def shown_count(rank: RankOverflow, row: int, name: str) -> str:
    """A count; ">=1" where only presence is known, "?" where nothing is."""
    health = rank.health
    names = ("plus_inf", "minus_inf") if name == "inf" else (name,)
    counts = [health.count(n, row) for n in names]
    if None not in counts:
        return number(sum(n or 0 for n in counts))
    bits = {"nan": NAN, "inf": PLUS | MINUS, "plus_inf": PLUS, "minus_inf": MINUS, "saturated": HIGH | LOW}
    return ">=1" if int(health.flags[row]) & bits.get(name, 0) else "?"
