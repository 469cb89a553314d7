"""A block in float32 by compiled loops, where numba is installed (extra `compiled`) and there is much to do.

Loading the compiler costs a process 0.4 s and 130 MB (the first time on a machine some seconds more). So a
process loads it once it has compared `LOAD_AFTER_BYTES` without it, which takes numpy two seconds; what is
smaller keeps its memory. Counts, minima, maxima and largest errors are the same in both ways, bit for bit.
Sums are added up in another order: what is made of them (norms, means, cosine) agrees within 1e-6, as it does
between processors, for whose registers numpy and the compiler arrange their sums.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import numpy.typing as npt

from npulse.core.compiled_late import CompiledLate
from npulse.core.formats.tensors import Dtype

from .loading import Raw, Single, load_single
from .loops import (
    BELOW_1E3,
    BELOW_5E3,
    EQUAL,
    FIGURES,
    MAX_ERROR,
    MAX_G,
    MAX_REFERENCE,
    MAX_REL,
    MAX_T,
    MIN_G,
    MIN_T,
    REFERENCES,
    SIFTED,
    ZEROS,
    Loops,
    build,
)
from .single import BLOCK, GG, LARGE_QUOTIENT, REL, SUMS, TINY_SINGLE, TT, add_sums, is_easy, scratch
from .totals import Totals

LOAD_AFTER_BYTES = 8 << 30


_loaded: CompiledLate[Loops] = CompiledLate()


def loops_for(n_bytes: int) -> Loops | None:
    """The loops for a block of that many bytes; None while numpy is the better choice."""
    return _loaded.loops_for(n_bytes, LOAD_AFTER_BYTES, _compile)


def load() -> bool:
    """Load the compiler now. False without numba, or where it cannot be used on this machine."""
    return _loaded.load(_compile)


def _compile() -> Loops | None:
    """The loops, each compiled: none of them fails later."""
    try:
        loops = build()
        values, bits, halves = (_read_only(np.ones(1, kind)) for kind in (np.float32, np.uint32, np.uint16))
        loops.measure(values, values, False, np.empty(FIGURES))
        loops.sift(bits, bits, np.empty(1, np.uint32), np.empty(1, np.uint32), np.empty(SIFTED))
        loops.extremes(bits, bits)
        loops.widen_bfloat(halves, np.empty(1, np.uint32))
        if loops.widen_half is not None:
            loops.widen_half(halves, np.empty(1, np.float32))
    except Exception:  # an optional helper: no place for its code, no numba for this processor or numpy
        return None
    return loops


def _read_only(block: Raw) -> Raw:
    """Of what is mapped and of what was copied there would be two compiled loops otherwise."""
    view = block.view()
    view.flags.writeable = False
    return view


class _Room(threading.local):
    """What the loops of one thread write into."""

    def __init__(self) -> None:
        self.kept_target, self.kept_golden = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
        self.told = np.empty(FIGURES, np.float64)


_room = _Room()


def add_compiled(
    loops: Loops, target: Raw, golden: Raw, dtype_target: Dtype, dtype_golden: Dtype, totals: Totals
) -> bool:
    """Add a block of formats that fit float32. False, and nothing added, where the way by numpy has to."""
    t = _values(loops, target, dtype_target, scratch.target)
    g = _values(loops, golden, dtype_golden, scratch.golden)
    if t is None or g is None:
        return False
    expected = totals.nan_target or totals.nan_golden or totals.inf_target or totals.inf_golden
    if not expected:
        told = _measured(loops, t, g, totals.golden_zero > 0)
        if math.isfinite(told[TT]) and math.isfinite(told[GG]):
            return _add(told, t, g, 0, totals)
    n, kept_t, kept_g = t.size, _room.kept_target[: t.size], _room.kept_golden[: t.size]
    sifted = _room.told[:SIFTED]
    bits_t, bits_g = t.view(np.uint32), g.view(np.uint32)
    loops.sift(bits_t, bits_g, kept_t.view(np.uint32), kept_g.view(np.uint32), sifted)
    n_kept, nan_t, nan_g, inf_t, inf_g, agreeing = map(int, sifted.tolist())
    if n_kept:
        kept_t, kept_g = _read_only(kept_t), _read_only(kept_g)
        told = _measured(loops, kept_t, kept_g, n_kept < n or totals.golden_zero > 0)
        for bits, others, low, high in (
            (bits_t, bits_g, MIN_T, MAX_T),
            (bits_g, bits_t, MIN_G, MAX_G),
        ):
            if n_kept < n and not told[low] < 0 < told[high]:  # the 0 may stand for what is left out
                told[low], told[high] = loops.extremes(bits, others)
        if not _add(told, kept_t, kept_g, n - n_kept, totals):
            return False
    n_differing = n - n_kept - agreeing
    totals.nan_target += nan_t
    totals.nan_golden += nan_g
    totals.inf_target += inf_t
    totals.inf_golden += inf_g
    totals.nonfinite_agreeing += agreeing
    totals.nonfinite_differing += n_differing
    totals.n_different += n_differing
    return True


def _values(loops: Loops, raw: Raw, dtype: Dtype, buffer: Single) -> Single | None:
    """The values of a block as float32, infinities and NaN as they are; None where no loop can."""
    if not raw.flags.aligned:
        return None
    if dtype.name == "bfloat16":
        loops.widen_bfloat(_read_only(raw), buffer[: raw.size].view(np.uint32))
        return _read_only(buffer[: raw.size])
    if dtype.name == "float16":
        if loops.widen_half is None:
            return None
        loops.widen_half(_read_only(raw.view(np.uint16)), buffer[: raw.size])
        return _read_only(buffer[: raw.size])
    return _read_only(load_single(raw, dtype, buffer)[0])


def _measured(loops: Loops, t: Single, g: Single, beside_zeros: bool) -> list[float]:
    told: npt.NDArray[np.float64] = _room.told[:FIGURES]
    loops.measure(t, g, beside_zeros, told)
    if not beside_zeros and not math.isfinite(told[REL]):
        loops.measure(t, g, True, told)
    figures: list[float] = told.tolist()
    return figures


def _add(told: list[float], t: Single, g: Single, n_filled: int, totals: Totals) -> bool:
    """Add what was measured; False where float32 has not kept its precision. n_filled: zeros on both sides
    that stand for nothing."""
    ranges = (told[MIN_T], told[MAX_T]), (told[MIN_G], told[MAX_G])
    max_error, largest = told[MAX_ERROR], told[MAX_REL]
    if not all(is_easy(max(high, -low)) for low, high in ranges) or not is_easy(max_error):
        return False
    if not largest < LARGE_QUOTIENT or 0 < largest < TINY_SINGLE:
        return False
    n = t.size - n_filled
    totals.n_compared += n
    totals.n_different += t.size - int(told[EQUAL])
    totals.max_abs_error = max(totals.max_abs_error, max_error)
    totals.add_range(*ranges)
    below = int(told[BELOW_1E3]) - n_filled, int(told[BELOW_5E3]) - n_filled
    totals.add_relative(largest, *below)
    n_zero = int(told[ZEROS])
    if n_zero > n_filled:
        totals.add_zeros(n_zero - n_filled, int(told[REFERENCES]), told[MAX_REFERENCE])
    add_sums(told[:SUMS], 0, t, g, totals)
    return True
