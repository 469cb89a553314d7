"""Operators whose dtype is another one on the other side, and how much of the error that alone explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import OUTPUT
from npulse.core.formats.tensors import Dtype, TensorError, dtype_of
from npulse.core.formats.tensors.dtypes import spacing_into, widen
from npulse.core.progress import IsCancelled

from ..blocks.pair import pair_blocks
from ..own.casts import FLUSHED_SHARE
from ..own.model import Captured, Seen

if TYPE_CHECKING:
    from ..comparison import RankComparison

READ = 16
"""Outputs of a pair of dtypes whose elements are read once more, those with the largest error first."""

Values = npt.NDArray[np.float64]


def rounded(values: Values, dtype: Dtype) -> Values:
    """Finite values as a number format has them: nearest, ties to even; beyond its largest one infinite."""
    spacing = spacing_into(np.empty_like(values), np.ascontiguousarray(values), dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.rint(values / spacing) * spacing
    return np.where(np.abs(found) > dtype.max_finite, np.copysign(np.inf, values), found)


@dataclass(slots=True)
class _Cast:
    """What rounding the finer side to the coarser dtype explains of a row. Squares are of finite elements."""

    row: int
    squared_error: float = 0.0
    squared_left: float = 0.0
    n_left: int = 0
    n_nonzero: int = 0
    n_infinite: int = 0
    n_flushed: int = 0

    @property
    def share(self) -> float:
        """Of the squared error; 1 where there is none at all."""
        return max(0.0, 1 - self.squared_left / self.squared_error) if self.squared_error else 1.0


def check_other_dtypes(
    rank: RankComparison,
    where: Captured,
    golden: Captured,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> list[Seen]:
    """One finding for each pair of unlike floating dtypes. Cost: a second read of `READ` tensors a pair."""
    rows = rank.rows
    groups: dict[tuple[str, str], list[int]] = {}
    for row in np.flatnonzero(rows.target_sides() == OUTPUT).tolist():
        t, g = rows.dtype_pair(row) if rows.golden_row(row) >= 0 else (None, None)
        if t is not None and g is not None and t.kind == g.kind == "float" and t.name != g.name:
            groups.setdefault((t.name, g.name), []).append(row)
    return [_seen(rank, where, golden, pair, found, problems, is_cancelled) for pair, found in groups.items()]


def _seen(
    rank: RankComparison,
    where: Captured,
    golden: Captured,
    pair: tuple[str, str],
    found: Sequence[int],
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> Seen:
    rows = rank.rows
    target_dtype, golden_dtype = (dtype_of(name) for name in pair)
    assert target_dtype is not None and golden_dtype is not None
    coarse = max(target_dtype, golden_dtype, key=lambda d: (d.unit_roundoff, -d.max_finite))
    error = {row: _error(rank, row) for row in found}
    order = sorted(found, key=lambda row: -error[row])
    casts = [
        cast
        for row in order[:READ]
        if (cast := _cast(rank, where, golden, row, coarse, coarse is target_dtype, problems, is_cancelled))
    ]
    worst = order[0]
    n_within = sum(e <= coarse.unit_roundoff for e in error.values())
    total, left = (sum(getattr(cast, name) for cast in casts) for name in ("squared_error", "squared_left"))
    figures: dict[str, object] = {
        "dtype_target": pair[0],
        "dtype_golden": pair[1],
        "n_tensors": len(found),
        "n_within_rounding": n_within,
        "worst_rel_l2": error[worst],
        "unit_roundoff": coarse.unit_roundoff,
    }
    lost = sum(cast.n_infinite for cast in casts)
    flushed, nonzero = sum(cast.n_flushed for cast in casts), sum(cast.n_nonzero for cast in casts)
    if casts:
        figures |= {
            "n_read": len(casts),
            "explained_share": max(0.0, 1 - left / total) if total else 1.0,
            "n_equal_after_cast": sum(cast.n_left == 0 for cast in casts),
            "n_infinite": lost,
            "n_flushed": flushed,
        }
    is_lost = bool(lost or nonzero and flushed / nonzero >= FLUSHED_SHARE)
    names = list(dict.fromkeys(_name(rank, row) for row in sorted(found)))
    text = "other-dtype-lost" if is_lost else "other-dtype-read" if casts else "other-dtype"
    return Seen(
        rule="cast",
        severity="warning" if is_lost else "note",
        role="suspect" if is_lost else "benign",
        subject=names[0],
        text=text,
        next_step="next-other-dtype",
        where=where,
        call=int(rows.pairing.target_call[rows.pairing.row_call[found[0]]]),
        values={
            "n": len(names),
            "coarse": coarse.name,
            "share": f"{100 * float(figures.get('explained_share', 0.0)):.3g}",  # type: ignore[arg-type]
            "within": n_within,
            "of": len(found),
            "worst": _name(rank, worst),
        },
        figures=figures,
        related=tuple(("suspect", name) for name in names[1:20]),
    )


def _name(rank: RankComparison, row: int) -> str:
    return rank.rows.pairing.name(rank.target, rank.golden, int(rank.rows.pairing.row_call[row]))


def _error(rank: RankComparison, row: int) -> float:
    for name in ("rel_l2", "rel_l2_at_least"):
        value = rank.rows.figure(name, row)
        if value is not None and np.isfinite(value):
            return float(value)
    return 0.0


def _cast(
    rank: RankComparison,
    where: Captured,
    golden: Captured,
    row: int,
    coarse: Dtype,
    is_target_coarse: bool,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> _Cast | None:
    places = where.place(rank.rows.target_row(row)), golden.place(rank.rows.golden_row(row))
    if places[0] is None or places[1] is None:
        return None
    found = _Cast(row)
    try:
        files = open_place(places[0]), open_place(places[1])
        if files[0].shape != files[1].shape:
            return None
        for _, t, g in pair_blocks(*files, is_cancelled=is_cancelled):
            one, other = (widen(x, f.dtype).astype(np.float64) for x, f in zip((t, g), files, strict=True))
            low, high = (one, other) if is_target_coarse else (other, one)
            finite = np.isfinite(high)
            high = np.where(finite, high, 0.0)
            cast = rounded(high, coarse)
            found.n_nonzero += int((high != 0).sum())
            found.n_infinite += int(np.isinf(cast).sum())
            found.n_flushed += int(((high != 0) & (cast == 0)).sum())
            both = finite & np.isfinite(low) & np.isfinite(cast)
            low, high, cast = (np.where(both, x, 0.0) for x in (low, high, cast))
            found.squared_error += float(np.square(low - high).sum())
            found.squared_left += float(np.square(low - cast).sum())
            found.n_left += int((low != cast).sum())
    except TensorError as error:
        problem = problem_of(error, *(p for p in places if p is not None))
        if problem not in problems:
            problems.append(problem)
        return None
    return found
