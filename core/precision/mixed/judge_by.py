"""Rows judged by the dtype that their operator computes in, where the user says which."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, CallName, Construct
from npulse.core.formats.tensors import dtype_of

from ..rows import Rows, TensorRows
from .dtype_map import PrecisionMap


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a map in one rank-step: rows judged by it, and globs of it that no call fitted."""

    n_rows: int
    unused: tuple[str, ...] = ()


def judge_by(told: PrecisionMap, rows: Rows, tensors: TensorRows, construct: Construct | None) -> Judged:
    """Set the rounding that the outputs of the map's calls are judged by, in `tensors`.

    It is that of the map's format, but no finer than the finer of the two declared dtypes: what is stored in
    bfloat16 on both sides is rounded to it, whatever it was computed in. Cost: O(calls x entries).
    """
    pairing = rows.pairing
    sides = rows.sides()[tensors.index]
    calls = pairing.row_call[tensors.index]
    places = {
        int(call): told.find(*_around(rows, construct, int(call)))
        for call in np.unique(calls[np.isin(sides, (OUTPUT, GRAD)) & ~tensors.is_exact])
    }
    finer = np.minimum(_roundoffs(rows, tensors, 0), _roundoffs(rows, tensors, 1))
    n = 0
    for i in np.flatnonzero(np.isin(sides, (OUTPUT, GRAD)) & ~tensors.is_exact).tolist():
        place = places[int(calls[i])]
        if place < 0:
            continue
        wanted = told.entries[place][1]
        tensors.unit_roundoff[i] = max(wanted.unit_roundoff, float(finer[i]))
        if finer[i] <= wanted.unit_roundoff:
            tensors.smallest[i] = wanted.smallest
        n += 1
    used = set(places.values())
    return Judged(n, tuple(glob for place, (glob, _) in enumerate(told.entries) if place not in used))


def _around(rows: Rows, construct: Construct | None, call: int) -> tuple[CallName, tuple[CallName, ...]]:
    name = rows.pairing.name(rows.target, rows.golden, call)
    around = () if construct is None else ancestors(construct, name)
    return parse_name(name), tuple(parse_name(parent) for parent in around)


def _roundoffs(rows: Rows, tensors: TensorRows, side: int) -> npt.NDArray[np.float64]:
    """Unit roundoff of the declared dtype of a side, 0 where none is known."""
    leaves = (rows.target.leaves, rows.golden.leaves)[side]
    formats = [dtype_of(name) for name in leaves.dtypes]
    table = np.array([*(d.unit_roundoff if d is not None else 0.0 for d in formats), 0.0])
    found: npt.NDArray[np.float64] = table[leaves.dtype[(tensors.target, tensors.golden)[side]]]
    return found
