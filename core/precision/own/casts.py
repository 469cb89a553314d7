"""Casts to a narrower number format in one capture: what became infinite, zero or subnormal there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.calls.apis import CASTS
from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, TENSOR
from npulse.core.formats.tensors import Dtype, TensorError, dtype_of
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.progress import IsCancelled, check

from ..blocks.pair import pair_blocks
from .model import Captured, Seen

FLUSHED_SHARE = 0.01
"""Share of the numbers that were not zero and are behind the cast, from which on it is a warning."""


@dataclass(slots=True)
class _Lost:
    """What casts of one pair of formats lost. call, name: of the worst."""

    source: str
    result: str
    basis: str = "statistics"
    n_casts: int = 0
    n_elements: int = 0
    n_infinite: int = 0
    n_flushed: int = 0
    n_subnormal: int = 0
    share: float = 0.0
    call: int = -1


def check_casts(
    one: Captured, problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[Seen], int, bool]:
    """Casts in which numbers were lost, one finding for each pair of formats; how many casts there are; True.

    By elements where they were captured on both ends; statistics tell of infinities alone. Cancelled.
    """
    lost: dict[tuple[str, str], _Lost] = {}
    n = 0
    for call, a, b, source, result in _casts(one):
        check(is_cancelled)
        n += 1
        if source.max_finite <= result.max_finite and source.smallest_subnormal >= result.smallest_subnormal:
            continue  # bits are lost, no numbers
        here = lost.setdefault((source.name, result.name), _Lost(source.name, result.name))
        _look(one, call, a, b, result, here, problems, is_cancelled)
    return [_seen(one, each) for each in lost.values() if each.call >= 0], n, True


def _casts(one: Captured) -> Iterator[tuple[int, int, int, Dtype, Dtype]]:
    """(call, input leaf, output leaf, format before, format behind) of casts to a narrower format."""
    dump, leaves = one.dump, one.dump.leaves
    for call, name in enumerate(dump.calls.names):
        parts = name.rsplit(".", 3)
        if len(parts) != 4 or parts[1] not in CASTS:
            continue
        ends = []
        for side in (INPUT, OUTPUT):
            rows = [r for r in dump.leaf_range(call) if leaves.side[r] == side and leaves.kind[r] == TENSOR]
            ends.append(rows[0] if rows else -1)
        if min(ends) < 0 or leaves.shape[ends[0]] != leaves.shape[ends[1]]:
            continue
        formats = [
            dtype_of(leaves.dtypes[int(leaves.dtype[r])]) if leaves.dtype[r] >= 0 else None for r in ends
        ]
        source, result = formats
        if source is None or result is None or source.kind != "float" or result.kind != "float":
            continue
        if source.unit_roundoff < result.unit_roundoff or source.max_finite > result.max_finite:
            yield call, ends[0], ends[1], source, result


def _look(
    one: Captured,
    call: int,
    a: int,
    b: int,
    result: Dtype,
    lost: _Lost,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> None:
    places = one.place(a), one.place(b)
    if places[0] is not None and places[1] is not None:
        try:
            before, behind = open_place(places[0]), open_place(places[1])
            if before.shape != behind.shape:
                return
            infinite = flushed = subnormal = n_values = 0
            for _, x, y in pair_blocks(before, behind, is_cancelled=is_cancelled):
                u = np.abs(widen(x, before.dtype).astype(np.float64))
                v = np.abs(widen(y, behind.dtype).astype(np.float64))
                infinite += int((np.isfinite(u) & ~np.isfinite(v)).sum())
                flushed += int(((u > 0) & (v == 0)).sum())
                subnormal += int(((v > 0) & (v < result.min_normal)).sum())
                n_values += int((u > 0).sum())
        except TensorError as error:
            problems.append(problem_of(error, *(p for p in places if p is not None)))
            return
        lost.basis = "elements"
        _add(lost, call, n_values, infinite, flushed, subnormal)
        return
    x, y = one.dump.leaves.statistics[a, :2], one.dump.leaves.statistics[b, :2]
    if np.isfinite(x).all() and np.isinf(y).any():
        _add(lost, call, 0, 1, 0, 0)


def _add(lost: _Lost, call: int, n: int, infinite: int, flushed: int, subnormal: int) -> None:
    share = flushed / n if n else 0.0
    if not infinite and share < FLUSHED_SHARE:
        return
    if lost.call < 0 or infinite > 0 and lost.n_infinite == 0 or share > lost.share:
        lost.call, lost.share = call, max(share, lost.share)
    lost.n_casts += 1
    lost.n_elements += n
    lost.n_infinite += infinite
    lost.n_flushed += flushed
    lost.n_subnormal += subnormal


def _seen(one: Captured, lost: _Lost) -> Seen:
    figures: dict[str, object] = {
        "basis": lost.basis,
        "dtype_before": lost.source,
        "dtype_behind": lost.result,
        "n_casts": lost.n_casts,
    }
    if lost.basis == "elements":
        figures |= {
            "n_nonzero": lost.n_elements,
            "n_infinite": lost.n_infinite,
            "n_flushed": lost.n_flushed,
            "n_subnormal": lost.n_subnormal,
            "flushed_share": lost.n_flushed / lost.n_elements if lost.n_elements else 0.0,
        }
    return Seen(
        rule="cast",
        severity="warning",
        role="suspect",
        subject=one.dump.calls.names[lost.call],
        text="cast-infinite" if lost.n_infinite else "cast-flushed",
        next_step="next-cast-infinite" if lost.n_infinite else "next-cast-flushed",
        where=one,
        call=lost.call,
        values={
            "before": lost.source,
            "behind": lost.result,
            "n": lost.n_casts,
            "flushed": f"{lost.n_flushed:,}",
            "of": f"{lost.n_elements:,}",
            "subnormal": f"{lost.n_subnormal:,}",
        },
        figures=figures,
        calls=((one, lost.call),),
    )
