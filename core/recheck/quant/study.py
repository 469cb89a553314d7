"""Quantise and come back, by every way to choose the scale; two passes over the activation.

Symmetric int8: scale = absmax / 127. Asymmetric: scale = (max - min) / 255, with 0 inside the range, and a
zero point. One scale for the tensor, for each token (row) or for each channel (the last axis); a scale for
each channel cannot leave an int8 product, but SmoothQuant moves it to the weight: that is computed too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.progress import IsCancelled, check, never_cancelled

from .model import Granularity, Outlier, Scheme, Study
from .rows import Floats, Rows

LOW, HIGH, STEPS = -128.0, 127.0, 255.0
OUTLIER_RATIO = 6.0
"""A channel or token stands out from so many times the median's largest magnitude on."""
MAX_OUTLIERS = 5
MAX_KEPT_ROWS = 1 << 22
MAX_PRODUCT_FLOPS = 2e9
"""Products are made of as many rows as fit; evenly spread over the tensor."""
SMOOTH_ALPHA = 0.5


@dataclass(slots=True)
class _Extremes:
    """The first pass: largest and smallest of each channel and of each token."""

    low: Floats
    high: Floats
    token_low: Floats
    token_high: Floats
    n_not_finite: int = 0


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to choose scales. scale, zero: [rows or 1, channels or 1]; None: by token, from each block."""

    granularity: Granularity
    is_symmetric: bool
    scale: Floats | None = None
    zero: Floats | None = None


@dataclass(slots=True)
class _Sums:
    error: float = 0.0
    largest: float = 0.0
    n_clipped: int = 0
    scale_min: float = np.inf
    scale_max: float = 0.0


def study(
    name: str,
    rows: Rows,
    *,
    scale: Floats | None = None,
    zero: Floats | None = None,
    weight: Floats | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> Study:
    """Every scheme of an activation. scale: the call's, one number or one a channel; zero: its zero points.

    weight: [channels, outputs] in floating point. Cost: two passes, memory of some blocks and the weight.
    """
    found = _extremes(rows, is_cancelled)
    ways = _ways(found, scale, zero)
    sums = [_Sums() for _ in ways]
    total = 0.0
    for _, block in rows.blocks():
        check(is_cancelled)
        block = _finite(block)
        total += float(np.square(block).sum())
        for way, one in zip(ways, sums, strict=True):
            _add(one, way, block)
    products: Sequence[float | None] = [None] * len(ways)
    smooth, n_used = None, 0
    if weight is not None and weight.shape[0] == rows.n_channels and rows.n_rows:
        products, smooth, n_used = _products(rows, ways, found, weight, is_cancelled)
    n = rows.n_rows * rows.n_channels
    schemes = [
        Scheme(
            way.granularity,
            way.is_symmetric,
            one.scale_min if np.isfinite(one.scale_min) else 0.0,
            one.scale_max,
            one.n_clipped,
            one.n_clipped / n if n else 0.0,
            float(np.sqrt(one.error / total)) if total else 0.0,
            one.largest,
            product,
        )
        for way, one, product in zip(ways, sums, products, strict=True)
    ]
    absmax = float(np.maximum(np.abs(found.low), np.abs(found.high)).max(initial=0.0))
    return Study(
        name=name,
        shape=rows.shape,
        absmax=absmax,
        needed=absmax / HIGH,
        given=None if scale is None or scale.size != 1 else float(scale.reshape(-1)[0]),
        schemes=(*schemes, *([smooth] if smooth is not None else [])),
        channels=_outliers(np.maximum(np.abs(found.low), np.abs(found.high))),
        tokens=_outliers(np.maximum(np.abs(found.token_low), np.abs(found.token_high))),
        n_rows_used=n_used,
        n_not_finite=found.n_not_finite,
    )


def _finite(block: Floats) -> Floats:
    return block if np.isfinite(block).all() else np.where(np.isfinite(block), block, 0.0)


def _extremes(rows: Rows, is_cancelled: IsCancelled) -> _Extremes:
    kept = rows.n_rows if rows.n_rows <= MAX_KEPT_ROWS else 0
    found = _Extremes(
        np.zeros(rows.n_channels), np.zeros(rows.n_channels), np.zeros(kept), np.zeros(kept)
    )  # 0 is always inside a range
    for first, block in rows.blocks():
        check(is_cancelled)
        found.n_not_finite += int(np.count_nonzero(~np.isfinite(block)))
        block = _finite(block)
        found.low = np.minimum(found.low, block.min(axis=0))
        found.high = np.maximum(found.high, block.max(axis=0))
        if kept:
            found.token_low[first : first + len(block)] = np.minimum(block.min(axis=1), 0)
            found.token_high[first : first + len(block)] = np.maximum(block.max(axis=1), 0)
    return found


def _ways(found: _Extremes, scale: Floats | None, zero: Floats | None) -> list[_Way]:
    ways = []
    if scale is not None:
        offset = np.zeros((1, 1)) if zero is None else np.atleast_2d(zero)
        ways.append(_Way("given", zero is None or not np.any(zero), np.atleast_2d(scale), offset))
    low, high = found.low.min(initial=0.0), found.high.max(initial=0.0)
    for is_symmetric in (True, False):
        ways.append(
            _Way("tensor", is_symmetric, *_range(np.atleast_2d(low), np.atleast_2d(high), is_symmetric))
        )
    ways += [_Way("token", is_symmetric) for is_symmetric in (True, False)]
    for is_symmetric in (True, False):
        ways.append(_Way("channel", is_symmetric, *_range(found.low[None], found.high[None], is_symmetric)))
    return ways


def _range(low: Floats, high: Floats, is_symmetric: bool) -> tuple[Floats, Floats]:
    """Scale and zero point of a range that holds 0."""
    if is_symmetric:
        return np.maximum(-low, high) / HIGH, np.zeros_like(low)
    scale = (high - low) / STEPS
    safe = np.where(scale > 0, scale, 1.0)
    return scale, np.rint(LOW - low / safe)


def _scales(way: _Way, block: Floats) -> tuple[Floats, Floats]:
    if way.scale is not None and way.zero is not None:
        return way.scale, way.zero
    low = np.minimum(block.min(axis=1, keepdims=True), 0.0)
    high = np.maximum(block.max(axis=1, keepdims=True), 0.0)
    return _range(low, high, way.is_symmetric)


def quantised(block: Floats, scale: Floats, zero: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What comes back of a block, and which elements were clipped. A scale of 0 stands for a range of 0."""
    safe = np.where(scale > 0, scale, 1.0)
    steps = np.rint(block / safe) + zero
    kept = np.clip(steps, LOW, HIGH)
    return (kept - zero) * safe, kept != steps


def _add(one: _Sums, way: _Way, block: Floats) -> None:
    scale, zero = _scales(way, block)
    back, is_clipped = quantised(block, scale, zero)
    distance = np.abs(back - block)
    one.error += float(np.square(distance).sum())
    one.largest = max(one.largest, float(distance.max(initial=0.0)))
    one.n_clipped += int(np.count_nonzero(is_clipped))
    one.scale_min = min(one.scale_min, float(scale.min(initial=np.inf)))
    one.scale_max = max(one.scale_max, float(scale.max(initial=0.0)))


def _products(
    rows: Rows, ways: Sequence[_Way], found: _Extremes, weight: Floats, is_cancelled: IsCancelled
) -> tuple[list[float | None], Scheme | None, int]:
    """Relative error of the product of each way, the smoothed one's scheme, and how many rows were used."""
    most = max(int(MAX_PRODUCT_FLOPS / max(weight.size * (len(ways) + 2), 1)), 1)
    wanted = None
    n_used = rows.n_rows
    if n_used > most:
        wanted = np.unique(np.linspace(0, rows.n_rows - 1, most).astype(np.int64))
        n_used = len(wanted)
    coarse = _by_output(weight)
    factor = _smoothing(found, weight)
    smooth_weight = _by_output(weight * factor[:, None])
    top = float(np.max(np.maximum(-found.low, found.high) / factor, initial=0.0))
    smooth_way = _Way("smooth", True, np.full((1, 1), top / HIGH), np.zeros((1, 1)))
    total, errors = 0.0, np.zeros(len(ways))
    smooth, smooth_sums, activation = 0.0, _Sums(), 0.0
    for _, block in rows.blocks(wanted):
        check(is_cancelled)
        block = _finite(block)
        truth = block @ weight
        total += float(np.square(truth).sum())
        for place, way in enumerate(ways):
            back, _ = quantised(block, *_scales(way, block))
            errors[place] += float(np.square(back @ coarse - truth).sum())
        moved = block / factor
        back, _ = quantised(moved, *_scales(smooth_way, moved))
        smooth += float(np.square(back @ smooth_weight - truth).sum())
        _add(smooth_sums, smooth_way, moved)
        activation += float(np.square(moved).sum())
    if not total:
        return [None] * len(ways), None, n_used
    scheme = Scheme(
        "smooth",
        True,
        smooth_sums.scale_min,
        smooth_sums.scale_max,
        smooth_sums.n_clipped,
        smooth_sums.n_clipped / max(n_used * rows.n_channels, 1),
        float(np.sqrt(smooth_sums.error / activation)) if activation else 0.0,
        smooth_sums.largest,
        float(np.sqrt(smooth / total)),
    )
    return [float(np.sqrt(error / total)) for error in errors], scheme, n_used


def _by_output(weight: Floats) -> Floats:
    """A weight [channels, outputs] through int8 and back, one symmetric scale an output."""
    scale = np.abs(weight).max(axis=0, keepdims=True, initial=0.0) / HIGH
    return quantised(weight, scale, np.zeros_like(scale))[0]


def _smoothing(found: _Extremes, weight: Floats) -> Floats:
    """SmoothQuant's factor of each channel: absmax(x)^a / absmax(w)^(1-a); 1 where a side is all zeros."""
    x = np.maximum(-found.low, found.high)
    w = np.abs(weight).max(axis=1, initial=0.0)
    is_known = (x > 0) & (w > 0)
    factor = np.ones(len(x))
    factor[is_known] = x[is_known] ** SMOOTH_ALPHA / w[is_known] ** (1 - SMOOTH_ALPHA)
    return factor


def _outliers(absmax: Floats) -> tuple[Outlier, ...]:
    if not len(absmax):
        return ()
    median = float(np.median(absmax))
    order = np.argsort(-absmax, kind="stable")[:MAX_OUTLIERS]
    found: list[Any] = [
        Outlier(int(place), float(absmax[place]), float(absmax[place]) / median)
        for place in order
        if median > 0 and absmax[place] >= OUTLIER_RATIO * median
    ]
    return tuple(found)
