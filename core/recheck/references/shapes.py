"""Operators that move elements and change none, and casts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..number import Number, Random, check_size, joined, where
from ..registry import reference


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    listed = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list) else sizes
    return tuple(int(n) for n in listed)


@reference("view", "reshape")
def reshape(input: Number, *shape: Any, size: Any = None) -> Number:
    if shape and isinstance(shape[0], str):
        raise NotImplementedError("view as another dtype")
    return input.reshape(*_sizes(shape or (size,)))


@reference("view_as", "reshape_as")
def view_as(input: Number, other: Number) -> Number:
    return input.reshape(*other.shape)


@reference("transpose", "swapaxes", "swapdims")
def transpose(input: Number, dim0: int, dim1: int) -> Number:
    return input.swapaxes(dim0, dim1)


@reference("t")
def t(input: Number) -> Number:
    return input.mT


@reference("permute")
def permute(input: Number, *dims: Any) -> Number:
    return input.view(lambda a: a.transpose(_sizes(dims)))


@reference("squeeze")
def squeeze(input: Number, dim: Any = None) -> Number:
    listed = range(input.ndim) if dim is None else dim if isinstance(dim, list) else [dim]
    axes = tuple(d % max(input.ndim, 1) for d in listed if input.ndim and input.shape[d] == 1)
    return input.view(lambda a: a.squeeze(axes) if axes else a)


@reference("unsqueeze")
def unsqueeze(input: Number, dim: int) -> Number:
    return input.view(lambda a: np.expand_dims(a, dim))


@reference("flatten")
def flatten(input: Number, start_dim: int = 0, end_dim: int = -1) -> Number:
    first, last = start_dim % max(input.ndim, 1), end_dim % max(input.ndim, 1)
    return input.reshape(*input.shape[:first], -1, *input.shape[last + 1 :])


@reference("expand", "broadcast_to")
def expand(input: Number, *size: Any) -> Number:
    wanted = _sizes(size)
    own = (1,) * (len(wanted) - input.ndim) + input.shape
    shape = tuple(b if a == -1 else a for a, b in zip(wanted, own, strict=True))
    check_size(*shape)
    return input.view(lambda a: np.broadcast_to(a, shape))


@reference("repeat")
def repeat(input: Number, *sizes: Any) -> Number:
    check_size(input.value.size, *_sizes(sizes))
    return input.view(lambda a: np.tile(a, _sizes(sizes)))


@reference("repeat_interleave")
def repeat_interleave(input: Number, repeats: Any, dim: Any = None) -> Number:
    counts = repeats.indices() if isinstance(repeats, Number) else repeats
    check_size(input.value.size, int(np.max(counts, initial=0)))
    return input.view(lambda a: np.repeat(a, counts, axis=dim))


@reference("contiguous", "clone", "detach", "alias", "requires_grad_", "positive")
def same(input: Number, *rest: Any) -> Number:
    return input


@reference("dropout")
def dropout(input: Number, p: float = 0.5, training: bool = True) -> Number:
    if training and p:
        raise Random("dropout is random where it trains")
    return input


@reference("cat", "concat", "concatenate")
def cat(tensors: list[Number], dim: int = 0) -> Number:
    return joined(tensors, lambda parts: np.concatenate(parts, axis=dim))


@reference("stack")
def stack(tensors: list[Number], dim: int = 0) -> Number:
    return joined(tensors, lambda parts: np.stack(parts, axis=dim))


@reference("split")
def split(input: Number, split_size_or_sections: Any, dim: int = 0) -> tuple[Number, ...]:
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        ends = range(sizes, input.shape[dim], sizes)
    else:
        ends = np.cumsum(sizes)[:-1].tolist()
    return _parts(input, list(ends), dim)


@reference("chunk")
def chunk(input: Number, chunks: int, dim: int = 0) -> tuple[Number, ...]:
    size = -(-input.shape[dim] // chunks)
    return _parts(input, list(range(size, input.shape[dim], size)), dim)


def _parts(x: Number, ends: list[int], dim: int) -> tuple[Number, ...]:
    axis = dim % x.ndim
    starts = [0, *ends]
    places = [(slice(None),) * axis + (slice(a, b),) for a, b in zip(starts, [*ends, None], strict=True)]
    return tuple(x[place] for place in places)


@reference("unbind")
def unbind(input: Number, dim: int = 0) -> tuple[Number, ...]:
    return tuple(input.view(partial(np.take, indices=i, axis=dim)) for i in range(input.shape[dim]))


@reference("narrow")
def narrow(input: Number, dim: int, start: int, length: int) -> Number:
    return input.view(lambda a: a.take(np.arange(start, start + length), dim))


@reference("select")
def select(input: Number, dim: int, index: int) -> Number:
    return input.view(lambda a: a.take(index, dim))


@reference("roll")
def roll(input: Number, shifts: Any, dims: Any = None) -> Number:
    axes = tuple(dims) if isinstance(dims, list) else dims
    return input.view(lambda a: np.roll(a, tuple(shifts) if isinstance(shifts, list) else shifts, axes))


@reference("flip")
def flip(input: Number, *dims: Any) -> Number:
    return input.view(lambda a: np.flip(a, _sizes(dims)))


@reference("tril")
def tril(input: Number, diagonal: int = 0) -> Number:
    return _triangle(input, np.tril(np.ones(input.shape[-2:], bool), diagonal))


@reference("triu")
def triu(input: Number, diagonal: int = 0) -> Number:
    return _triangle(input, np.triu(np.ones(input.shape[-2:], bool), diagonal))


def _triangle(x: Number, kept: Any) -> Number:
    return where(kept, x, Number(np.zeros(()), x.inside, is_integer=x.is_integer))


@reference("getitem")
def getitem(input: Number, index: Any) -> Number:
    return input[_key(index)]


def _key(index: Any) -> Any:
    if isinstance(index, Number):
        return index.value != 0 if index.dtype == "bool" else index.indices()
    return tuple(_key(one) for one in index) if isinstance(index, list) else index


@reference(
    "to", "type", "type_as", "half", "float", "bfloat16", "double", "npu_dtype_cast", "int", "long", "bool"
)
def cast(input: Number, *rest: Any, out_dtype: Any = None, **named: Any) -> Number:
    """To the dtype that the output's record names; towards integers it cuts, to bool it asks for non-zero."""
    if out_dtype is not None and out_dtype.kind == "bool":
        return Number((input.value != 0).astype(np.float64), input.inside, is_integer=True)
    if out_dtype is not None and out_dtype.kind == "int":
        return Number(np.trunc(input.value.astype(np.float64)), input.inside, is_integer=True)
    return input
