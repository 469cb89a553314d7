"""What one reading of a tensor pair adds up, and the figures of contract.md made from it."""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

from npulse.core.dataclass import dataclass


class PairMetrics(NamedTuple):
    """Every figure of a tensor pair that one reading gives (definitions: docs/contract.md).

    Counts are of elements; a complex element counts as two, its real and its imaginary part. compared:
    finite on both sides; only these enter errors, norms, minima, maxima and means. below counts: relative
    error under 0.001 and 0.005; an element that is 0 on both sides is below, a target that is not 0 at a
    golden 0 (`zero_reference`) is not; `_nonzero` leaves out every golden 0. Relative errors (max, mean)
    are over golden elements that are not 0. min, max and mean are NaN where nothing was compared.
    """

    n_elements: int
    n_compared: int
    n_different: int
    cosine: float
    max_abs_error: float
    max_rel_error: float
    mean_rel_error: float
    rel_l1: float
    rel_l2: float
    euclidean: float
    n_below_1e3: int
    n_below_5e3: int
    n_below_1e3_nonzero: int
    n_below_5e3_nonzero: int
    n_golden_zero: int
    zero_reference: int
    zero_reference_max_abs: float
    norm_ratio: float
    nan_target: int
    nan_golden: int
    inf_target: int
    inf_golden: int
    nonfinite_agreeing: int
    nonfinite_differing: int
    min_target: float
    max_target: float
    mean_target: float
    norm_target: float
    min_golden: float
    max_golden: float
    mean_golden: float
    norm_golden: float

    @property
    def is_equal(self) -> bool:
        """True if every element has the same value on both sides (NaN and NaN are the same)."""
        return self.n_different == 0


class Sum:
    """A running sum total * 2^exponent, so that squares of 1e300 neither overflow nor vanish."""

    __slots__ = ("exponent", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.exponent = 0

    def add(self, value: float, exponent: int = 0) -> None:
        if exponent == self.exponent:
            self.total += value
        elif value == 0:
            return
        elif self.total == 0:
            self.total, self.exponent = value, exponent
        elif exponent > self.exponent:
            self.total = math.ldexp(self.total, self.exponent - exponent) + value
            self.exponent = exponent
        else:
            self.total += math.ldexp(value, exponent - self.exponent)

    def mean(self, n: int) -> float:
        return _scaled(self.total / n, self.exponent) if n else math.nan

    def root(self) -> float:
        """Square root; exponents of sums of squares are even."""
        return _scaled(math.sqrt(self.total), self.exponent // 2)


@dataclass(slots=True)
class Totals:
    """Sums, counts and extremes of the blocks so far. Only the kernel writes into it."""

    n_elements: int = 0
    n_compared: int = 0
    n_different: int = 0
    squares_target: Sum = field(default_factory=Sum)
    squares_golden: Sum = field(default_factory=Sum)
    squares_error: Sum = field(default_factory=Sum)
    products: Sum = field(default_factory=Sum)
    sum_target: Sum = field(default_factory=Sum)
    sum_golden: Sum = field(default_factory=Sum)
    abs_golden: Sum = field(default_factory=Sum)
    abs_error: Sum = field(default_factory=Sum)
    rel_error: Sum = field(default_factory=Sum)
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    below_1e3: int = 0
    below_5e3: int = 0
    golden_zero: int = 0
    zero_reference: int = 0
    zero_reference_max_abs: float = 0.0
    nan_target: int = 0
    nan_golden: int = 0
    inf_target: int = 0
    inf_golden: int = 0
    nonfinite_agreeing: int = 0
    nonfinite_differing: int = 0
    min_target: float = math.inf
    max_target: float = -math.inf
    min_golden: float = math.inf
    max_golden: float = -math.inf

    def add_range(self, target: tuple[float, float], golden: tuple[float, float]) -> None:
        """Smallest and largest value of a block, each side."""
        self.min_target = min(self.min_target, target[0])
        self.max_target = max(self.max_target, target[1])
        self.min_golden = min(self.min_golden, golden[0])
        self.max_golden = max(self.max_golden, golden[1])

    def add_relative(self, largest: float, below_1e3: int, below_5e3: int) -> None:
        """Relative errors of a block, with 0 in the place of every golden 0."""
        self.max_rel_error = max(self.max_rel_error, largest)
        self.below_1e3 += below_1e3
        self.below_5e3 += below_5e3

    def add_zeros(self, n_zero: int, n_reference: int, largest: float) -> None:
        """Golden zeros of a block; those where the target is not 0, and the largest target there."""
        self.golden_zero += n_zero
        self.zero_reference += n_reference
        self.zero_reference_max_abs = max(self.zero_reference_max_abs, largest)


def metrics_of(totals: Totals) -> PairMetrics:
    """The figures of a pair whose blocks have all been added. An empty pair is equal."""
    n = totals.n_compared
    n_nonzero = n - totals.golden_zero
    norm_ratio = _root_ratio(totals.squares_target, totals.squares_golden, both_zero=1.0)
    rel_l2 = _root_ratio(totals.squares_error, totals.squares_golden, both_zero=0.0)
    return PairMetrics(
        n_elements=totals.n_elements,
        n_compared=n,
        n_different=totals.n_different,
        cosine=_cosine(totals, norm_ratio, rel_l2),
        max_abs_error=totals.max_abs_error,
        max_rel_error=totals.max_rel_error,
        mean_rel_error=totals.rel_error.mean(n_nonzero) if n_nonzero else 0.0,
        rel_l1=_ratio(totals.abs_error, totals.abs_golden),
        rel_l2=rel_l2,
        euclidean=totals.squares_error.root(),
        n_below_1e3=totals.below_1e3 - totals.zero_reference,
        n_below_5e3=totals.below_5e3 - totals.zero_reference,
        n_below_1e3_nonzero=totals.below_1e3 - totals.golden_zero,
        n_below_5e3_nonzero=totals.below_5e3 - totals.golden_zero,
        n_golden_zero=totals.golden_zero,
        zero_reference=totals.zero_reference,
        zero_reference_max_abs=totals.zero_reference_max_abs,
        norm_ratio=norm_ratio,
        nan_target=totals.nan_target,
        nan_golden=totals.nan_golden,
        inf_target=totals.inf_target,
        inf_golden=totals.inf_golden,
        nonfinite_agreeing=totals.nonfinite_agreeing,
        nonfinite_differing=totals.nonfinite_differing,
        min_target=totals.min_target if n else math.nan,
        max_target=totals.max_target if n else math.nan,
        mean_target=totals.sum_target.mean(n),
        norm_target=totals.squares_target.root(),
        min_golden=totals.min_golden if n else math.nan,
        max_golden=totals.max_golden if n else math.nan,
        mean_golden=totals.sum_golden.mean(n),
        norm_golden=totals.squares_golden.root(),
    )


def _cosine(totals: Totals, norm_ratio: float, rel_l2: float) -> float:
    if totals.n_compared == 0 and totals.n_different:
        return math.nan  # nothing was left to compare: neither alike nor unlike
    target, golden, products = totals.squares_target, totals.squares_golden, totals.products
    if target.total == 0 or golden.total == 0:
        return 1.0 if target.total == golden.total else 0.0
    if rel_l2 < 0.1:
        # law of cosines: from the error's own norm, so that 1 - cosine keeps its digits near 1
        cosine = 1 - (rel_l2 * rel_l2 - (norm_ratio - 1) ** 2) / (2 * norm_ratio)
    else:
        exponent = products.exponent - (target.exponent + golden.exponent) // 2
        cosine = _scaled(products.total / math.sqrt(target.total) / math.sqrt(golden.total), exponent)
    return max(-1.0, min(1.0, cosine))


def _root_ratio(over: Sum, under: Sum, *, both_zero: float) -> float:
    """sqrt(over / under); inf where only `under` is 0."""
    if under.total == 0:
        return both_zero if over.total == 0 else math.inf
    ratio = math.sqrt(over.total) / math.sqrt(under.total)
    return _scaled(ratio, (over.exponent - under.exponent) // 2)


def _ratio(over: Sum, under: Sum) -> float:
    if under.total == 0:
        return 0.0 if over.total == 0 else math.inf
    return _scaled(over.total / under.total, over.exponent - under.exponent)


def _scaled(value: float, exponent: int) -> float:
    """value * 2^exponent; inf where that is beyond float64."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)
