"""One pass over a tensor: how many elements are NaN, infinite, clipped, subnormal or near the end of range.

Elements are looked at as the integers that their bits are. Twice such an integer is its magnitude with the
sign shifted out, and the largest and the smallest of a block tell whether anything is to be counted in it.
Counting takes as long again, so tensors full of NaN are scanned at half the speed of clean ones, not less.
That is numpy's work, or a compiled loop's where there is much to scan (`compiled`).
"""

from __future__ import annotations

import math
import threading
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors import Dtype, TensorFile, widen
from npulse.core.progress import IsCancelled, check, never_cancelled

from .bits import BitLimits, bit_limits, component_of, limits_from, parts_of
from .blocks import MAPPED_BLOCK_BYTES, READ_BLOCK_BYTES, in_stored_order, is_mappable, open_elements
from .compiled import Kernel, kernel_for

Raw = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

NEAR_RATIO = 0.5
CHECK_EVERY_BLOCKS = 16

PAIRED_BYTES = 1 << 16
"""Blocks of one-byte formats from this size on are counted two bytes at a time."""

# the ufuncs' own reductions: ndarray.min and its like take a detour
_smallest, _largest = np.minimum.reduce, np.maximum.reduce


class Scan(NamedTuple):
    """What one pass tells of a tensor. A complex element counts as two, its real and its imaginary part.

    n_saturated_high, n_saturated_low: exactly the largest finite value of the declared format, and its
    negative. int8: 127, and -127 or -128 (symmetric quantisation clips at -127, casts at -128; both are in
    the one number). Integers have no other counts. n_subnormal: not 0, magnitude below the declared
    format's smallest normal number. n_near: finite, near_ratio x largest <= magnitude < largest. A finite
    value beyond the largest one (a file can store a wider format than is declared) is in none of the counts.
    absmax, max, min: of the finite values; 0, NaN, NaN if there are none. Whole numbers become the nearest
    float.
    """

    n_elements: int
    n_nan: int
    n_plus_inf: int
    n_minus_inf: int
    n_saturated_high: int
    n_saturated_low: int
    n_subnormal: int
    n_near: int
    absmax: float
    max: float
    min: float

    @property
    def n_nonfinite(self) -> int:
        return self.n_nan + self.n_plus_inf + self.n_minus_inf

    @property
    def n_saturated(self) -> int:
        return self.n_saturated_high + self.n_saturated_low


def scan(
    file: TensorFile,
    *,
    near_ratio: float = NEAR_RATIO,
    may_map: bool = True,
    block_bytes: int | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> Scan:
    """Count what is abnormal in a tensor file of any format. Each byte is read once.

    near_ratio: in (0, 1], see `Scan`. may_map: larger files may be mapped instead of copied: twice the speed,
    but if such a file is cut in that moment the process ends. block_bytes: None for what is quickest.
    Cost: O(bytes) time, memory fixed. Raises TensorError where the file has become shorter or was replaced,
    Cancelled, ValueError for a ratio that is none.
    """
    if not 0 < near_ratio <= 1:
        raise ValueError(f"near_ratio must be above 0 and at most 1, not {near_ratio}")
    file = in_stored_order(file)
    counter = _counter_for(file, near_ratio)
    is_large = isinstance(counter, _Bits) and may_map and is_mappable(file)
    usual = MAPPED_BLOCK_BYTES if is_large else READ_BLOCK_BYTES
    step = max(1, (block_bytes or usual) // file.dtype.itemsize)
    n = file.n_elements
    with open_elements(file, may_map=may_map) as read:
        for number, first in enumerate(range(0, n, step)):
            if number % CHECK_EVERY_BLOCKS == 0:
                check(is_cancelled)
            counter.add(read(first, min(step, n - first)))
    return counter.result(n * parts_of(file.dtype))


def _counter_for(file: TensorFile, near_ratio: float) -> _Bits | _Bytes | _Whole:
    if file.dtype.kind in ("int", "bool") and file.dtype.name != "int8":
        return _Whole(file.dtype)
    kernel = kernel_for(file.size_bytes)
    if file.dtype.name == "int8":
        return _Whole(file.dtype, kernel)
    if file.dtype.itemsize == 1:
        return _Bytes(file.dtype, limits_from(file), near_ratio, kernel)
    return _Bits(bit_limits(component_of(file.dtype), limits_from(file), near_ratio), kernel)


def _read_only(block: Raw) -> Raw:
    """Of what is mapped and of what was copied there would be two compiled loops otherwise."""
    view = block.view()
    view.flags.writeable = False
    return view


# ---- float16, bfloat16, float32, float64 -----------------------------------------------------------------


class _Scratch(threading.local):
    """Room of one thread for a block: one array of its size, one mask; grows for larger blocks."""

    def __init__(self) -> None:
        self.doubled, self.mask = np.empty(0, np.uint8), np.empty(0, np.bool_)

    def arrays(self, block: Raw) -> tuple[Raw, Mask]:
        if self.doubled.size < block.nbytes:
            self.doubled = np.empty(block.nbytes, np.uint8)
        if self.mask.size < block.size:
            self.mask = np.empty(block.size, np.bool_)
        return self.doubled[: block.nbytes].view(block.dtype), self.mask[: block.size]


_scratch = _Scratch()


@dataclass(slots=True)
class _Bits:
    """Counts of a float format wider than a byte.

    plus, minus: patterns of the largest positive and negative magnitude so far, -1 for none; least: of the
    smallest magnitude, `infinity` for none. kernel: compiled loops, or None for numpy's passes.
    """

    limits: BitLimits
    kernel: Kernel | None = None
    n_nan: int = 0
    n_plus_inf: int = 0
    n_minus_inf: int = 0
    n_high: int = 0
    n_low: int = 0
    n_subnormal: int = 0
    n_near: int = 0
    plus: int = -1
    minus: int = -1
    least: int = field(init=False)
    expects_nonfinite: bool = False
    expects_infinite: bool = False
    expects_counts: bool = False

    def __post_init__(self) -> None:
        self.least = self.limits.infinity

    def add(self, block: Raw) -> None:
        """Add a flat block of elements in their carrier."""
        bits = block.view(self.limits.unsigned)
        if self.kernel is None:
            self._add(bits)
        elif bits.size:
            self._add_compiled(bits, self.kernel)

    def _add_compiled(self, bits: Raw, kernel: Kernel) -> None:
        limits = self.limits
        of = limits.unsigned.type
        bits = _read_only(bits)
        if not self.expects_counts:
            ends = kernel.ends(bits, bits.view(limits.signed), of(limits.sign))
            least, least_but_zero, plus, minus = ends
        if self.expects_counts or least_but_zero < limits.normal or max(plus, minus) >= limits.near:
            edges = (limits.infinity, limits.normal, limits.near, limits.ceiling, limits.sign)
            counts = kernel.counts(bits, *map(of, edges)).tolist()
            n_nan, n_plus_inf, n_minus_inf, n_subnormal, n_near, plus, minus, least = counts
            self.n_nan += n_nan
            self.n_plus_inf += n_plus_inf
            self.n_minus_inf += n_minus_inf
            self.n_subnormal += n_subnormal
            self.n_near += n_near
            self.expects_counts = n_nan + n_plus_inf + n_minus_inf + n_subnormal + n_near > 0
        if limits.has_largest and max(plus, minus) >= limits.ceiling:
            self.n_high += kernel.occurrences(bits, of(limits.ceiling))
            self.n_low += kernel.occurrences(bits, of(limits.sign + limits.ceiling))
        self.plus = max(self.plus, plus)
        self.minus = max(self.minus, minus)
        self.least = min(self.least, least)

    def _add(self, bits: Raw) -> None:
        limits = self.limits
        doubled, mask = _scratch.arrays(bits)
        np.add(bits, bits, out=doubled)  # quicker than a shift, and the same: the sign bit falls out
        least = int(_smallest(doubled)) >> 1
        top = limits.near if self.expects_nonfinite else int(_largest(doubled)) >> 1
        added = 0
        if least < limits.normal:
            added = self._count_subnormal(doubled, mask, least)
        has_nonfinite = False
        if top >= limits.near:
            top, has_nonfinite = self._count_high(bits, doubled, mask, added)
            self.expects_nonfinite = has_nonfinite
        if top >= 0:
            self.least = min(self.least, least)
            if top > self.plus or top > self.minus:
                self._note_extremes(bits, doubled, top, has_nonfinite)

    def _count_subnormal(self, doubled: Raw, mask: Mask, least: int) -> int:
        """Count what lies between 0 and the normal numbers; returns what was added to `doubled` for that."""
        one = doubled.dtype.type(1)
        np.subtract(doubled, one, out=doubled)  # zeros become the largest number
        if least == 0:
            least = (int(_smallest(doubled)) + 1) >> 1
        if 0 < least < self.limits.normal:
            self.n_subnormal += _count(np.less, doubled, 2 * self.limits.normal - 1, mask)
        return -1

    def _count_high(self, bits: Raw, doubled: Raw, mask: Mask, added: int) -> tuple[int, bool]:
        """Count a block that may hold large, infinite or NaN elements.

        Returns the pattern of its largest finite magnitude (negative: none), and whether not all are finite.
        """
        limits = self.limits
        # beyond the largest number the integers begin again at 0: there the infinities go, NaN behind them
        shift = 2 * (limits.sign - limits.infinity)
        np.add(doubled, doubled.dtype.type(shift - added), out=doubled)
        top = (int(_largest(doubled)) - shift) >> 1
        low = 0 if self.expects_infinite else int(_smallest(doubled))
        n_infinite = n_nonfinite = 0
        if low == 0:
            n_infinite = doubled.size - int(np.count_nonzero(doubled))
            self.expects_infinite = n_infinite > 0
        if n_infinite:
            n_plus = self._count_positive(bits, limits.infinity, mask, self.n_plus_inf > 0)
            self.n_plus_inf += n_plus
            self.n_minus_inf += n_infinite - n_plus
        if low < shift:
            n_nonfinite = _count(np.less, doubled, shift, mask)
            self.n_nan += n_nonfinite - n_infinite
        if top >= limits.near:
            self._count_near(bits, doubled, mask, shift, top)
        return top, n_nonfinite > 0

    def _count_near(self, bits: Raw, doubled: Raw, mask: Mask, shift: int, top: int) -> None:
        limits = self.limits
        self.n_near += _count(np.greater_equal, doubled, 2 * limits.near + shift, mask)
        if top < limits.ceiling:
            return
        n_high = n_low = 0
        if limits.has_largest:
            n_high = self._count_positive(bits, limits.ceiling, mask, self.n_high > 0)
            n_low = _count(np.equal, bits, limits.sign + limits.ceiling, mask)
        self.n_high += n_high
        self.n_low += n_low
        if limits.has_largest and top == limits.ceiling:
            self.n_near -= n_high + n_low
        else:
            self.n_near -= _count(np.greater_equal, doubled, 2 * limits.ceiling + shift, mask)

    def _count_positive(self, bits: Raw, pattern: int, mask: Mask, is_expected: bool) -> int:
        """How many elements are the positive number of a pattern. Masks hold none: a look is cheaper."""
        if not is_expected and int(_largest(bits.view(self.limits.signed))) < pattern:
            return 0
        return _count(np.equal, bits, pattern, mask)

    def _note_extremes(self, bits: Raw, spare: Raw, top: int, has_nonfinite: bool) -> None:
        """Largest positive and negative magnitude of a block that exceeds one of those known so far.

        top: the larger of the two. Overwrites `spare`.
        """
        limits = self.limits
        shift = 0
        if has_nonfinite:
            # those of either sign become small numbers of the other one
            shift = limits.sign - limits.infinity
            bits = np.add(bits, bits.dtype.type(shift), out=spare)
        minus = int(_largest(bits)) - shift - limits.sign
        if minus < top:
            self.plus = max(self.plus, top)
        elif top > self.plus:
            self.plus = max(self.plus, int(_largest(bits.view(limits.signed))) - shift)
        if minus >= 0:
            self.minus = max(self.minus, minus)

    def result(self, n_elements: int) -> Scan:
        value = self.limits.value
        high = low = math.nan
        if self.plus >= 0 or self.minus >= 0:
            high = value(self.plus) if self.plus >= 0 else -value(self.least)
            low = -value(self.minus) if self.minus >= 0 else value(self.least)
        return Scan(
            n_elements,
            self.n_nan,
            self.n_plus_inf,
            self.n_minus_inf,
            self.n_high,
            self.n_low,
            self.n_subnormal,
            self.n_near,
            value(max(self.plus, self.minus, 0)),
            high + 0.0,  # no -0
            low + 0.0,
        )


def _count(compare: np.ufunc, block: Raw, limit: int, mask: Mask) -> int:
    return int(np.count_nonzero(compare(block, block.dtype.type(limit), out=mask)))


# ---- formats of one byte ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Bytes:
    """How often each of the 256 patterns of a float8 format occurs: all else follows from that."""

    dtype: Dtype
    declared: Dtype
    near_ratio: float
    kernel: Kernel | None = None
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, np.int64))
    pairs: npt.NDArray[np.int64] | None = None

    def add(self, block: Raw) -> None:
        if self.kernel is not None:
            self.counts += self.kernel.histogram(_read_only(block))
            return
        n_pairs = block.size // 2 if block.size >= PAIRED_BYTES else 0
        if n_pairs:
            pairs = np.bincount(block[: 2 * n_pairs].view(np.uint16), minlength=1 << 16)
            self.pairs = pairs if self.pairs is None else np.add(self.pairs, pairs, out=self.pairs)
        self.counts += np.bincount(block[2 * n_pairs :], minlength=256)

    def result(self, n_elements: int) -> Scan:
        if self.pairs is not None:
            pairs = self.pairs.reshape(256, 256)
            self.counts, self.pairs = self.counts + pairs.sum(axis=0) + pairs.sum(axis=1), None
        values = widen(np.arange(256, dtype=np.uint8), self.dtype).astype(np.float64)
        largest, magnitude = self.declared.max_finite, np.abs(values)
        met = values[(self.counts > 0) & np.isfinite(values)]

        def count(chosen: Mask) -> int:
            return int(self.counts[chosen].sum())

        return Scan(
            n_elements,
            count(np.isnan(values)),
            count(values == np.inf),
            count(values == -np.inf),
            count(values == largest),
            count(values == -largest),
            count((magnitude > 0) & (magnitude < self.declared.min_normal)),
            count((magnitude >= self.near_ratio * largest) & (magnitude < largest)),
            float(np.abs(met).max(initial=0.0)),
            float(met.max()) + 0.0 if met.size else math.nan,
            float(met.min()) + 0.0 if met.size else math.nan,
        )


# ---- whole numbers ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Whole:
    """Extremes of integers and bool; of int8 how many stand at the ends."""

    dtype: Dtype
    kernel: Kernel | None = None
    n_high: int = 0
    n_low: int = 0
    high: int | None = None
    low: int | None = None

    def add(self, block: Raw) -> None:
        if self.kernel is not None and block.size:
            high, low, n_high, n_low = self.kernel.small_ends(_read_only(block))
        else:
            high, low, n_high, n_low = self._ends(widen(block, self.dtype))
        self.high = high if self.high is None else max(high, self.high)
        self.low = low if self.low is None else min(low, self.low)
        self.n_high += n_high
        self.n_low += n_low

    def _ends(self, numbers: Raw) -> tuple[int, int, int, int]:
        high, low = int(_largest(numbers)), int(_smallest(numbers))
        n_high = n_low = 0
        if self.dtype.name == "int8":
            n_high = int(np.count_nonzero(numbers == 127)) if high == 127 else 0
            n_low = int(np.count_nonzero(numbers <= -127)) if low <= -127 else 0
        return high, low, n_high, n_low

    def result(self, n_elements: int) -> Scan:
        if self.high is None or self.low is None:
            return Scan(n_elements, 0, 0, 0, 0, 0, 0, 0, 0.0, math.nan, math.nan)
        absmax = float(max(abs(self.high), abs(self.low)))
        ends = float(self.high), float(self.low)
        return Scan(n_elements, 0, 0, 0, self.n_high, self.n_low, 0, 0, absmax, *ends)
