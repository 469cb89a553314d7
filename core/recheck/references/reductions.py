"""Sums, means, extremes, deviations and losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, in_dtype
from ..registry import Variant, reference
from .activations import cast_first, log_softmax


def _axis(dim: Any) -> Any:
    return None if dim is None or dim == [] else tuple(dim) if isinstance(dim, list) else dim


def _other_axes(arguments: dict[str, Any]) -> Iterator[Variant]:
    x = arguments["input"]
    given = arguments.get("dim")
    for dim in range(x.ndim):
        if not isinstance(given, int) or dim != given % max(x.ndim, 1):
            yield Variant((f"dim={dim}",) * 2, {"dim": dim})
    if x.ndim > 1 and given is not None:
        yield Variant(("over all axes", "对所有轴"), {"dim": None})


def _sum_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _other_axes(arguments)
    yield Variant(("divided by the number of elements", "除以元素个数"), {}, mean)


def _mean_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _other_axes(arguments)
    yield Variant(("not divided by the number of elements", "没有除以元素个数"), {}, total)


@reference("sum", variants=_sum_variants, accumulates=True)
def total(input: Number, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Number:
    return cast_first(input, dtype).sum(_axis(dim), keepdim)


@reference("mean", variants=_mean_variants, accumulates=True)
def mean(input: Number, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Number:
    return cast_first(input, dtype).mean(_axis(dim), keepdim)


@reference("cumsum", accumulates=True)
def cumsum(input: Number, dim: int, dtype: Any = None) -> Number:
    n = input.shape[dim] if input.ndim else 1
    return cast_first(input, dtype).contracted([], lambda a: np.cumsum(a, axis=dim), n)


def _extreme(largest: bool) -> Any:
    def extreme(input: Number, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Number):  # torch.max(a, b)
            return input.greater_of(dim, np.maximum if largest else np.minimum)
        made = input.extreme(largest, _axis(dim), keepdim)
        return made if dim is None else (made, _place(input, dim, keepdim, largest))

    return extreme


def _place(x: Number, dim: int, keepdim: bool, largest: bool) -> Number:
    """The place of the extreme. Of equals a device may name another one than the first: then it is anywhere
    from the first to the last, the middle with half of that as its bound."""
    work, axis = (x.value.reshape(-1), 0) if dim is None else (x.value, dim)
    first = (np.argmax if largest else np.argmin)(work, axis=axis)
    top = (np.max if largest else np.min)(work, axis=axis, keepdims=True)
    from_behind = np.argmax(np.flip(work == top, axis), axis=axis)
    is_number = np.any(work == top, axis=axis)
    half = np.where(is_number, work.shape[axis] - 1 - from_behind - first, 0) / 2
    shape = np.max(x.value, axis=dim, keepdims=keepdim).shape
    made, error = (np.asarray(a, np.float64).reshape(shape) for a in (first + half, half))
    return Number(made, x.inside, error, is_integer=True)


reference("max", variants=_other_axes)(_extreme(True))
reference("min", variants=_other_axes)(_extreme(False))


@reference("amax", variants=_other_axes)
def amax(input: Number, dim: Any = None, keepdim: bool = False) -> Number:
    return input.extreme(True, _axis(dim), keepdim)


@reference("amin", variants=_other_axes)
def amin(input: Number, dim: Any = None, keepdim: bool = False) -> Number:
    return input.extreme(False, _axis(dim), keepdim)


@reference("argmax", variants=_other_axes)
def argmax(input: Number, dim: Any = None, keepdim: bool = False) -> Number:
    return _place(input, dim, keepdim, True)


@reference("argmin", variants=_other_axes)
def argmin(input: Number, dim: Any = None, keepdim: bool = False) -> Number:
    return _place(input, dim, keepdim, False)


def _corrections(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _other_axes(arguments)
    given = _correction(arguments.get("correction"), arguments.get("unbiased"))
    for other in (0, 1):
        if other != given:
            yield Variant((f"divided by n - {other}", f"除以 n - {other}"), {"correction": other})


def _correction(correction: Any, unbiased: Any) -> float:
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


@reference("var", variants=_corrections, accumulates=True)
def var(
    input: Number, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
) -> Number:
    if isinstance(dim, bool):  # torch.var(x, unbiased)
        dim, unbiased = None, dim
    axis = _axis(dim)
    centred = input - input.mean(axis, keepdims=True)
    squares = (centred * centred).sum(axis, keepdim)
    n = input.value.size // max(squares.value.size, 1)
    return squares / float(n - _correction(correction, unbiased))


@reference("std", variants=_corrections, accumulates=True)
def std(
    input: Number, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
) -> Number:
    return var(input, dim, unbiased, keepdim, correction).function("sqrt", np.sqrt)


@reference("norm", "vector_norm", "linalg_vector_norm", variants=_other_axes, accumulates=True)
def norm(input: Number, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Number:
    input, axis = cast_first(input, dtype), _axis(dim)
    if p in (2, 2.0, "fro"):
        return (input * input).sum(axis, keepdim).function("sqrt", np.sqrt)
    if p in (1, 1.0):
        return input.abs().sum(axis, keepdim)
    if p in (float("inf"), "inf"):
        return input.abs().extreme(True, axis, keepdim)
    raise NotImplementedError(f"norm of order {p!r}")


def _reduced(losses: Number, reduction: str, weight_sum: float | None = None) -> Number:
    if reduction == "none":
        return losses
    summed = losses.sum()
    if reduction == "sum":
        return summed
    return summed / (float(losses.value.size) if weight_sum is None else weight_sum)


def _reductions(arguments: dict[str, Any]) -> Iterator[Variant]:
    for other in ("mean", "sum"):
        if other != arguments.get("reduction", "mean"):
            yield Variant((f"reduction={other!r}",) * 2, {"reduction": other})


def _entropy_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    yield from _reductions(arguments)
    ignore = arguments.get("ignore_index", -100)
    yield Variant(
        ("ignore_index not heeded in the mean", "求平均时未考虑 ignore_index"), {"is_all_counted": True}
    )
    for other in {-100, 0, -1} - {ignore}:
        yield Variant((f"ignore_index={other}",) * 2, {"ignore_index": other})
    if arguments.get("label_smoothing", 0.0):
        yield Variant(("label_smoothing=0",) * 2, {"label_smoothing": 0.0})
    if arguments.get("weight") is not None:
        yield Variant(("without weight", "没有用 weight"), {"weight": None})


@reference("cross_entropy", "cross_entropy_loss", variants=_entropy_variants, accumulates=True)
def cross_entropy(
    input: Number,
    target: Number,
    weight: Number | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    is_all_counted: bool = False,
) -> Number:
    """Of class indices, classes along axis 1 (axis 0 of a single sample)."""
    if target.dtype.startswith(("float", "bfloat")):
        raise NotImplementedError("cross_entropy of class probabilities")
    logs = log_softmax(input, 0 if input.ndim == 1 else 1)
    coarse = dtype_of(input.dtype)
    if coarse is not None and coarse.mantissa_bits < 23:  # made of two operators, the first one rounds
        logs = logs.loosened(coarse.unit_roundoff)
    plain = nll_loss(logs, target, weight, None, ignore_index, None, reduction, is_all_counted)
    if not label_smoothing:
        return plain
    classes = 0 if input.ndim == 1 else 1
    spread = -logs if weight is None else -logs * _per_class(weight, logs, classes)
    smooth = in_dtype(spread.sum(classes), coarse)
    is_kept = target.value != ignore_index
    smooth = smooth * smooth.exactly(is_kept.astype(float))
    counted = _count(target, weight, ignore_index, is_all_counted)
    if reduction != "none":  # sums of their own operators: in half precision they round, and overflow
        smooth = in_dtype(smooth.sum(), coarse)
    if reduction == "mean":
        smooth = smooth / counted
    n = float(input.shape[classes])
    return in_dtype(plain, coarse) * (1.0 - label_smoothing) + in_dtype(
        smooth * (label_smoothing / n), coarse
    )


def _per_class(weight: Number, like: Number, axis: int) -> Number:
    return weight.reshape(*(-1 if i == axis else 1 for i in range(like.ndim)))


def _count(target: Number, weight: Number | None, ignore_index: int, is_all_counted: bool) -> float:
    """What a mean divides by: the weights of the targets that count."""
    index = target.indices()
    is_kept = np.ones(index.shape, bool) if is_all_counted else index != ignore_index
    if weight is None:
        return float(is_kept.sum())
    safe = np.where(index == ignore_index, 0, index)
    return float((weight.value[safe] * is_kept).sum(dtype=np.float64))


@reference("nll_loss", "nll_loss_nd", variants=_entropy_variants, accumulates=True)
def nll_loss(
    input: Number,
    target: Number,
    weight: Number | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    is_all_counted: bool = False,
) -> Number:
    index = target.indices()
    safe = np.where(index == ignore_index, 0, index)
    axis = 0 if input.ndim == 1 else 1
    n_classes = input.shape[axis]
    if safe.size and (safe.min() < 0 or safe.max() >= n_classes):
        raise IndexError(f"a target outside of 0 ... {n_classes - 1}")
    picked = input.view(lambda a: np.take_along_axis(a, np.expand_dims(safe, axis), axis).squeeze(axis))
    losses = -picked
    if weight is not None:
        losses = losses * weight.view(lambda a: a[safe])
    losses = losses * losses.exactly((index != ignore_index).astype(float))
    return _reduced(losses, reduction, _count(target, weight, ignore_index, is_all_counted))


@reference("mse_loss", variants=_reductions, accumulates=True)
def mse_loss(
    input: Number, target: Number, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Number:
    """Made of operators that round, where it is reduced: the squares are in the dtype."""
    dtype = dtype_of(input.dtype)
    gap = in_dtype(input - target, dtype)
    return _reduced(in_dtype(gap * gap, dtype), reduction)


@reference("l1_loss", variants=_reductions, accumulates=True)
def l1_loss(
    input: Number, target: Number, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Number:
    return _reduced(in_dtype((input - target).abs(), dtype_of(input.dtype)), reduction)
