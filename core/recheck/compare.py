"""A dumped output against the truth and its bound, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype
from npulse.core.formats.tensors.dtypes import spacing_into

from .given import Tensor
from .number import Number
from .rounding import round_to

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output tensor. max_ratio: the largest error as a multiple of the element's bound (Inf: the bound
    is 0, or no number stands there).

    index, made, truth, bound: the worst place; the output, the truth in float64, how far the two may be
    apart. own: what a plain implementation in the operator's own dtype gives there. max_abs_error,
    own_max_abs_error: largest over all finite elements. n_beyond: elements further away than their bound.
    n_saturated: that stand at the dtype's largest value, where the truth is beyond it. shape_truth: of the
    truth where it is another one; then nothing else is told.
    n_left_out: elements that were not looked at: `n_elements` are a sample then. n_unbounded: finite truths
    that rounding inside may take anywhere: they say nothing.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    n_elements: int
    n_beyond: int
    max_ratio: float
    index: tuple[int, ...] = ()
    made: float = float("nan")
    truth: float = float("nan")
    own: float = float("nan")
    bound: float = float("nan")
    max_abs_error: float = float("nan")
    own_max_abs_error: float = float("nan")
    n_saturated: int = 0
    n_left_out: int = 0
    n_unbounded: int = 0
    shape_truth: tuple[int, ...] | None = None

    @property
    def is_within(self) -> bool:
        return self.n_beyond == 0 and self.shape_truth is None

    @property
    def says_nothing(self) -> bool:
        """Whether any output would be within."""
        return 0 < self.n_elements == self.n_unbounded


def bounds_of(truth: Number, dtype: Dtype) -> Floats:
    """How far an output element may be from the truth: what rounding inside leaves, and the last rounding.

    Integers that were computed exactly may be off by nothing, other numbers stored as integers by half of one
    and what was left inside. A value that the dtype holds and that needed no rounding is expected as it is.
    """
    error = np.broadcast_to(np.asarray(truth.error, np.float64), truth.value.shape)
    error = np.where(np.isnan(error), np.inf, error)  # 0 times a bound that says nothing
    if dtype.kind in ("int", "bool"):
        return error if truth.is_integer else error + 0.5
    if dtype.mantissa_bits >= 52:
        return error
    value = np.where(np.isfinite(truth.value), np.abs(truth.value), 0.0)
    reach = np.ascontiguousarray(value + np.where(np.isfinite(error), error, 0.0))
    spacing = spacing_into(np.empty_like(reach), reach, dtype)
    is_exact = (error == 0.0) & (round_to(value, dtype) == value)
    return np.where(is_exact, 0.0, error + 0.5 * spacing)


def compare(made: Tensor, truth: Number, own: Number | None = None) -> OutputCheck:
    """Every element of an output against the truth. own: the operator in its own dtype, rounded to it
    here."""
    shape = tuple(made.values.shape)
    same_size = made.values.size == truth.value.size and made.values.size <= 1
    if shape != truth.shape and not same_size:
        return OutputCheck(
            made.name,
            made.dtype.name,
            shape,
            made.values.size,
            made.values.size,
            np.inf,
            shape_truth=truth.shape,
        )
    value, got = truth.value.reshape(shape), made.values
    dtype = made.dtype
    bound = bounds_of(truth, dtype).reshape(shape)
    is_free, wrapped = np.zeros(shape, np.bool_), value
    if dtype.kind in ("int", "bool"):
        is_free = ~np.isfinite(value)  # no integer stands for NaN or Inf
        value, wrapped = _within_ends(np.where(is_free, 0.0, value), dtype)
    plain = None if own is None else round_to(own.value.astype(np.float64).reshape(shape), dtype)
    with np.errstate(all="ignore"):
        distance = np.abs(got - value)
        is_fine = (distance <= bound) | (np.abs(got - wrapped) <= bound) | is_free
        is_saturated = is_unbounded = np.zeros(shape, np.bool_)
        if dtype.kind == "float":
            is_fine |= (np.isnan(got) & np.isnan(value)) | (got == value)
            inside = np.broadcast_to(np.asarray(truth.error, np.float64), truth.shape).reshape(shape)
            beyond = dtype.max_finite * (1 + 0.5 * dtype.unit_roundoff)  # what lies below rounds to a number
            is_beyond_range = np.abs(value) + inside >= beyond
            is_same_sign = np.sign(got) == np.sign(value)
            is_fine |= is_beyond_range & np.isinf(got) & is_same_sign
            is_saturated = is_beyond_range & (np.abs(got) == dtype.max_finite) & is_same_sign & ~is_fine
            is_fine |= is_saturated
            if plain is not None:  # what overflows inside does so in every implementation of this dtype
                is_lost = ~np.isfinite(plain)
                is_fine |= is_lost & ((got == plain) | (np.isnan(got) & np.isnan(plain)))
                # NaN of two Infs: another order of the same sum may have met one of them alone
                is_fine |= np.isnan(plain) & np.isfinite(value) & np.isinf(got)
            is_unbounded = is_fine & np.isinf(bound) & np.isfinite(value)
        ratio = np.where(is_fine, np.minimum(np.nan_to_num(distance / bound, nan=0.0), 1.0), distance / bound)
        ratio = np.where(is_fine, ratio, np.where(np.isnan(ratio), np.inf, np.maximum(ratio, 1.0)))
    if not got.size:
        return OutputCheck(made.name, dtype.name, shape, 0, 0, 0.0, max_abs_error=0.0)
    worst = _worst(ratio, distance)
    return OutputCheck(
        name=made.name,
        dtype=dtype.name,
        shape=shape,
        n_elements=got.size,
        n_beyond=int(np.count_nonzero(~is_fine)),
        max_ratio=float(ratio[worst]),
        index=worst,
        made=float(got[worst]),
        truth=float(value[worst]),
        own=float("nan") if plain is None else float(plain[worst]),
        bound=float(bound[worst]),
        max_abs_error=_largest(distance),
        own_max_abs_error=float("nan") if plain is None else _largest(np.abs(plain - value)),
        n_saturated=int(np.count_nonzero(is_saturated)),
        n_unbounded=int(np.count_nonzero(is_unbounded)),
    )


def _ends(dtype: Dtype) -> tuple[float, float]:
    is_unsigned = dtype.name.startswith("u") or dtype.kind == "bool"
    return (0.0 if is_unsigned else -dtype.max_finite - 1), dtype.max_finite


def _within_ends(value: Floats, dtype: Dtype) -> tuple[Floats, Floats]:
    """Values at the ends of an integer dtype where they lie beyond, and wrapped around, as two's complement.

    Of eight bytes the second is the first: float64 does not hold what is left of them.
    """
    low, high = _ends(dtype)
    kept = np.clip(value, low, high)
    if dtype.kind == "bool" or dtype.itemsize >= 8:
        return kept, kept
    return kept, np.where(kept == value, kept, np.mod(value - low, high - low + 1) + low)


def _worst(ratio: Floats, distance: Floats) -> tuple[int, ...]:
    """The place of the largest ratio; of several with none, that of the largest distance."""
    flat = ratio.reshape(-1)
    places = np.flatnonzero(flat == flat.max())
    far = np.nan_to_num(distance.reshape(-1)[places], nan=np.inf, posinf=np.inf)
    return tuple(int(i) for i in np.unravel_index(int(places[int(np.argmax(far))]), ratio.shape))


def _largest(distance: Any) -> float:
    finite = distance[np.isfinite(distance)]
    return float(finite.max()) if finite.size else float("nan")
