"""Whether two leaves of captures hold the same (by elements, checksum, statistics), and where they do not."""

from __future__ import annotations

import math

import numpy as np

from npulse.core.calls.tensors import TensorPlace, open_place, problem_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.formats.tensors import TensorError, dtype_of
from npulse.core.formats.tensors.dtypes import coarser
from npulse.core.progress import IsCancelled, never_cancelled

from ..blocks.elements import examine
from ..blocks.pair import compare_files
from .model import Captured

SAME, OTHER, UNKNOWN = "same", "other", "unknown"

WHOLE_SHARE = 0.9
"""A block is one piece where at least this share of it differs: what is written can be what was there."""


FEW = 4
"""Unit roundoffs that a sum of other order, or another kernel, may be off."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How two tensors differ. basis: elements, checksum or statistics; only elements say where.

    is_rounding: within FEW unit roundoffs of the coarser declared dtype (relative L2; by statistics: Norm and
    the largest magnitude). first, last: flat numbers of elements, -1 where not known.
    """

    basis: str
    n_elements: int = 0
    n_different: int = 0
    first: int = -1
    last: int = -1
    is_contiguous: bool = False
    n_bytes: int = 0
    rel_l2: float = math.nan
    is_rounding: bool = False

    def figures(self) -> dict[str, object]:
        """Figures of a finding: where, in elements and bytes, as far as it is known."""
        found: dict[str, object] = {"basis": self.basis}
        if self.basis == "elements":
            found |= {
                "n_elements": self.n_elements,
                "different_elements": self.n_different,
                "first": self.first,
                "last": self.last,
                "contiguous": self.is_contiguous,
                "n_bytes": self.n_bytes,
                "equal_elements": self.n_elements - self.n_different,
            }
            if math.isfinite(self.rel_l2):
                found["rel_l2"] = self.rel_l2
        return found


def by_record(one: Captured, a: int, other: Captured, b: int) -> tuple[str, str]:
    """(same, other or unknown; basis) from checksum or statistics. Shapes and dtypes are not looked at.

    Equal statistics count as the same where all four were recorded or nothing else is possible (one element,
    a constant); equal Max and Min of integers prove nothing.
    """
    x, y = one.dump.leaves, other.dump.leaves
    if x.checksum[a] >= 0 and y.checksum[b] >= 0:
        equal = x.checksums[int(x.checksum[a])] == y.checksums[int(y.checksum[b])]
        return (SAME if equal else OTHER), "checksum"
    both = int(x.present[a] & y.present[b])
    if both & 3 != 3:
        return UNKNOWN, "nothing"
    picked = [k for k in range(4) if both >> k & 1]
    u, v = x.statistics[a][picked], y.statistics[b][picked]
    if not np.array_equal(u, v, equal_nan=True):
        return OTHER, "statistics"
    is_nan = bool(np.isnan(u).any())
    is_told = (both == 0b1111 or bool(u[0] == u[1])) and not is_nan
    return (SAME if is_told else UNKNOWN), "statistics"


def difference_by_record(one: Captured, a: int, other: Captured, b: int, basis: str) -> Difference:
    """What statistics tell of two leaves that differ."""
    x, y = one.dump.leaves, other.dump.leaves
    if x.present[a] & y.present[b] & 3 != 3:
        return Difference(basis)
    u, v = x.statistics[a], y.statistics[b]
    roundoff = unit_roundoff(one, a)
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs(np.append(u[:2], v[:2])))
        extremes = np.nanmax(np.abs(u[:2] - v[:2])) <= FEW * roundoff * scale
        norm = abs(u[3] - v[3]) <= FEW * roundoff * max(abs(u[3]), abs(v[3]))
    told = bool(x.present[a] & y.present[b] & 8)
    return Difference(basis, is_rounding=bool(extremes and (norm or not told)))


def unit_roundoff(one: Captured, leaf: int) -> float:
    """Of the declared dtype; 0 for integers and where none is known."""
    code = int(one.dump.leaves.dtype[leaf])
    dtype = dtype_of(one.dump.leaves.dtypes[code]) if code >= 0 else None
    return dtype.unit_roundoff if dtype is not None and dtype.kind in ("float", "complex") else 0.0


def is_tensor(one: Captured, leaf: int) -> bool:
    return bool(one.dump.leaves.kind[leaf] == TENSOR)


def shape_of(one: Captured, leaf: int) -> tuple[int, ...] | None:
    code = int(one.dump.leaves.shape[leaf])
    return one.dump.leaves.shapes[code] if code >= 0 else None


def dtype_name(one: Captured, leaf: int) -> str:
    code = int(one.dump.leaves.dtype[leaf])
    return one.dump.leaves.dtypes[code] if code >= 0 else ""


def by_elements(
    a: TensorPlace,
    b: TensorPlace,
    problems: list[Problem],
    is_cancelled: IsCancelled = never_cancelled,
) -> Difference | None:
    """How two captured tensors differ (n_different 0: they do not); None where that cannot be told.

    Each byte is read once, of those that differ twice. What cannot be read goes to `problems`. Cancelled.
    """
    files = []
    for place in (a, b):
        try:
            files.append(open_place(place))
        except TensorError as error:
            problems.append(problem_of(error, place))
            return None
    one, other = files
    if one.shape != other.shape or one.n_elements == 0:
        return None
    try:
        metrics = compare_files(one, other, is_cancelled=is_cancelled)
        n = metrics.n_elements
        if metrics.n_different == 0:
            return Difference("elements", n_elements=n)
        seen = examine(one, other, is_cancelled=is_cancelled)
    except TensorError as error:
        problems.append(problem_of(error, a, b))
        return None
    dtype = coarser(one.declared, other.declared)
    is_float = dtype.kind in ("float", "complex")
    rounding = is_float and metrics.rel_l2 <= FEW * dtype.unit_roundoff and not metrics.nonfinite_differing
    return Difference(
        "elements",
        n_elements=n,
        n_different=metrics.n_different,
        first=seen.first_different,
        last=seen.last_different,
        is_contiguous=seen.span_share >= WHOLE_SHARE,
        n_bytes=seen.span * one.declared.itemsize,
        rel_l2=metrics.rel_l2,
        is_rounding=bool(rounding),
    )


def compared(
    one: Captured,
    a: int,
    other: Captured,
    b: int,
    problems: list[Problem],
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[str, Difference]:
    """(same, other or unknown; how they differ), by elements where both have them, else by the records."""
    said, basis = by_record(one, a, other, b)
    if basis != "checksum" or said == OTHER:
        places = one.place(a), other.place(b)
        if places[0] is not None and places[1] is not None:
            found = by_elements(places[0], places[1], problems, is_cancelled)
            if found is not None:
                return (OTHER if found.n_different else SAME), found
    if said == OTHER:
        return OTHER, difference_by_record(one, a, other, b, basis)
    return said, Difference(basis)
