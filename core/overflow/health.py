"""How healthy each recorded tensor is: NaN, Inf, saturation, headroom - from its statistics or elements.

Max and Min tell whether a tensor holds NaN or Inf, never Norm or Mean: those of half types overflow by
themselves. What statistics cannot tell (how many, where, subnormals) is unknown until the elements are read.
"""

from __future__ import annotations

from dataclasses import field, fields

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import OUTPUT, TENSOR, Dump
from npulse.core.formats.tensors import dtype_of

from .scan import Scan

NAN, PLUS, MINUS, HIGH, LOW = 1, 2, 4, 8, 16
"""Bits of `Health.flags`: NaN, +Inf, -Inf, elements at exactly +largest and -largest of the dtype."""
NEGATIVE = MINUS | LOW
"""What masks leave behind: legal where nothing else stands beside it."""

BASES = ("none", "statistics", "tensor", "flag")
"""On what a tensor's health rests: nothing, recorded statistics, all elements, the tool's own NaN check."""
NO_BASIS, BY_STATISTICS, BY_TENSOR, BY_FLAG = range(4)

BEYOND = 1 + 1e-3
"""Recorded extremes that many times the largest value of the dtype cannot be of that dtype."""

AGREE_SHARE = 0.02
"""Recorded extremes agree with those of the elements up to this share: few digits, halves in between."""

COUNTS = ("nan", "plus_inf", "minus_inf", "saturated", "near_limit", "subnormal")
UNKNOWN = -1

Flags = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


@dataclass(slots=True)
class Health:
    """One entry a leaf row of a dump. Mutable while tensors are read: only a scan writes into it (`put`).

    flags: bits that are certain. is_known: whether Max and Min or the elements tell all of them.
    absmax: largest magnitude, infinite or NaN as the data is; NaN where `is_known` is False.
    largest: of the declared dtype, NaN where it is no float or integer. counts: by name, UNKNOWN where not
    counted. is_quantised: formats that reach their largest value by design (int8, float8).
    n_elements: UNKNOWN without a shape. contradictory: rows whose statistics cannot be true.
    """

    flags: Flags
    is_known: Bools
    absmax: Doubles
    high: Doubles
    low: Doubles
    largest: Doubles
    is_quantised: Bools
    is_float: Bools
    n_elements: npt.NDArray[np.int64]
    counts: dict[str, npt.NDArray[np.int64]]
    basis: npt.NDArray[np.int8]
    contradictory: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def headroom(self, row: int) -> float | None:
        """absmax as a share of the dtype's largest value; None where either is not known or not finite."""
        share = float(self.absmax[row]) / float(self.largest[row])
        return share if np.isfinite(share) and self.is_float[row] else None

    def count(self, name: str, row: int) -> int | None:
        """How many elements, None where nobody counted."""
        n = int(self.counts[name][row])
        return None if n == UNKNOWN else n

    def copy(self) -> Health:
        """As it is now, while tensors are read on."""
        arrays = {f.name: getattr(self, f.name).copy() for f in fields(self) if f.name != "counts"}
        return Health(**arrays, counts={name: values.copy() for name, values in self.counts.items()})

    def put(self, row: int, scan: Scan) -> None:
        """What the elements of a tensor say counts more than its statistics."""
        self.basis[row], self.is_known[row] = BY_TENSOR, True
        saturated = scan.n_saturated_high + scan.n_saturated_low
        values = (scan.n_nan, scan.n_plus_inf, scan.n_minus_inf, saturated, scan.n_near, scan.n_subnormal)
        for name, value in zip(COUNTS, values, strict=True):
            self.counts[name][row] = value
        bits = ((NAN, scan.n_nan), (PLUS, scan.n_plus_inf), (MINUS, scan.n_minus_inf))
        ends = ((HIGH, scan.n_saturated_high), (LOW, scan.n_saturated_low))
        is_open = bool(self.is_float[row] and not self.is_quantised[row])
        self.flags[row] = sum(bit for bit, n in (*bits, *(ends if is_open else ())) if n)
        self.n_elements[row] = scan.n_elements
        self.high[row], self.low[row] = scan.max, scan.min
        self.absmax[row] = scan.absmax
        if scan.n_plus_inf or scan.n_minus_inf:
            self.absmax[row] = np.inf
            self.high[row] = np.inf if scan.n_plus_inf else self.high[row]
            self.low[row] = -np.inf if scan.n_minus_inf else self.low[row]
        if scan.n_nan:
            self.absmax[row] = self.high[row] = self.low[row] = np.nan


def from_statistics(dump: Dump, near_ratio: float) -> Health:
    """The health of every leaf as its recorded Max and Min tell. Cost: a few passes over the columns."""
    leaves = dump.leaves
    tensors = leaves.kind == TENSOR
    formats = [dtype_of(name) for name in leaves.dtypes]
    real = [d if d is not None and d.kind in ("float", "int", "complex") else None for d in formats]
    largest = np.array([*(d.max_finite if d is not None else np.nan for d in real), np.nan])[leaves.dtype]
    is_float = _by_dtype([d is not None and d.kind in ("float", "complex") for d in formats], leaves.dtype)
    # reaching the end of their range is how these formats are used
    narrow = _by_dtype([d is not None and d.itemsize == 1 for d in real], leaves.dtype)
    sizes = [*(int(np.prod(shape, dtype=np.int64)) for shape in leaves.shapes), UNKNOWN]
    n_elements = np.array(sizes, np.int64)[leaves.shape]
    high, low = leaves.statistics[:, 0].copy(), leaves.statistics[:, 1].copy()
    is_empty = tensors & (n_elements == 0)
    is_told = tensors & (leaves.present & 3 == 3) & ~is_empty
    is_nan = is_told & (np.isnan(high) | np.isnan(low))
    one_sided = is_told & (np.isnan(high) != np.isnan(low))
    with np.errstate(invalid="ignore", divide="ignore"):
        reversed_ = is_told & (high < low)
        most = np.maximum(np.abs(high), np.abs(low))
        # recorded in few digits the largest value itself can look a little larger
        beyond = is_told & is_float & ~narrow & np.isfinite(most) & (most / largest > BEYOND)
    is_filled = is_told & ~reversed_ & ~beyond
    is_known = is_filled | is_empty
    flags = np.zeros(len(tensors), np.uint8)
    absmax = np.where(is_known, np.maximum(np.abs(high), np.abs(low)), np.nan)
    absmax[is_empty] = 0.0
    is_open = is_filled & is_float & ~narrow
    flags[is_nan] |= NAN
    flags[is_filled & (np.isposinf(high) | np.isposinf(low))] |= PLUS
    flags[is_filled & (np.isneginf(low) | np.isneginf(high))] |= MINUS
    flags[is_open & (high == largest)] |= HIGH
    flags[is_open & (low == -largest)] |= LOW
    health = Health(
        flags=flags,
        is_known=is_known,
        absmax=absmax,
        high=high,
        low=low,
        largest=largest,
        is_quantised=narrow,
        is_float=is_float,
        n_elements=n_elements,
        counts=_counts(flags, is_known, absmax, largest, near_ratio, is_float, narrow),
        basis=np.where(is_known, BY_STATISTICS, NO_BASIS).astype(np.int8),
        contradictory=np.flatnonzero(reversed_ | one_sided | beyond),
    )
    _take_flags(dump, health)
    return health


def _by_dtype(values: list[bool], codes: npt.NDArray[np.int16]) -> Bools:
    found: Bools = np.array([*values, False])[codes]
    return found


def _counts(
    flags: Flags,
    is_known: Bools,
    absmax: Doubles,
    largest: Doubles,
    near_ratio: float,
    is_float: Bools,
    narrow: Bools,
) -> dict[str, npt.NDArray[np.int64]]:
    """Zero where Max and Min prove that there is none, UNKNOWN elsewhere."""
    finite = is_known & (flags & (NAN | PLUS | MINUS) == 0)
    no_nan = is_known & (flags & NAN == 0)
    with np.errstate(invalid="ignore"):
        far = finite & (absmax < near_ratio * largest)
        short = finite & (absmax < largest)
    proven = {
        "nan": no_nan,
        "plus_inf": no_nan & (flags & PLUS == 0),
        "minus_inf": no_nan & (flags & MINUS == 0),
        "saturated": short,
        "near_limit": far,
        "subnormal": finite & ((absmax == 0) | ~is_float),
    }
    return {name: np.where(proven[name], 0, UNKNOWN).astype(np.int64) for name in COUNTS}


def _take_flags(dump: Dump, health: Health) -> None:
    """What the nan_check task found counts where no statistics tell; null is not known, never clean."""
    of_call = dump.calls.is_nan
    if of_call is None:
        return
    leaves = dump.leaves
    silent = (leaves.side == OUTPUT) & (leaves.kind == TENSOR) & ~health.is_known & (health.n_elements != 0)
    found = of_call[leaves.call]
    bad, clean = silent & (found == 1), silent & (found == 0)
    health.flags[bad] |= NAN
    health.absmax[bad] = np.nan
    health.basis[bad | clean] = BY_FLAG
    health.is_known[bad] = True
    for name in ("nan", "plus_inf", "minus_inf"):
        health.counts[name][clean] = 0


def disagreement(health: Health, row: int, scan: Scan) -> str:
    """What recorded Max and Min say that the elements do not; "" where they agree or nothing is recorded."""
    if health.basis[row] != BY_STATISTICS or not health.is_float[row] or not scan.n_elements:
        return ""
    told, n_inf = int(health.flags[row]), scan.n_plus_inf + scan.n_minus_inf
    if bool(told & NAN) != bool(scan.n_nan):
        return "NaN" if told & NAN else "no NaN"
    if told & NAN:
        return ""  # Max and Min are NaN: nothing else is recorded
    if bool(told & (PLUS | MINUS)) != bool(n_inf):
        return "Inf" if told & (PLUS | MINUS) else "no Inf"
    pairs = ((float(health.high[row]), scan.max), (float(health.low[row]), scan.min))
    scale = max(abs(value) for pair in pairs for value in pair)
    if not n_inf and any(abs(one - other) > AGREE_SHARE * scale for one, other in pairs):
        return f"Max {pairs[0][0]:g} and Min {pairs[1][0]:g}"
    return ""


def contradictions(dump: Dump, health: Health, artifact: str) -> list[Problem]:
    """One Problem for the first tensors whose statistics contradict themselves, and one for the rest."""
    rows = health.contradictory.tolist()
    found = []
    for row in rows[:20]:
        high, low = dump.leaves.statistics[row, :2].tolist()
        byte = int(dump.calls.byte[int(dump.leaves.call[row])])
        why = "cannot both be true"
        if low <= high and max(abs(high), abs(low)) > health.largest[row]:
            why = f"are beyond the largest {dump.leaves.dtypes[int(dump.leaves.dtype[row])]}"
        message = f"{dump.leaf_name(row)[:200]}: Max {high} and Min {low} {why}"
        found.append(Problem(artifact, "bad-record", message, byte=byte, hint="dump this operator again"))
    if len(rows) > 20:
        found.append(Problem(artifact, "limit", f"{len(rows) - 20:,} more tensors contradict themselves"))
    return found
