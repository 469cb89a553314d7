"""Rows and elements looked up by index: exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..number import Array, Number, check_size
from ..registry import Variant, reference


def _off_by_one(arguments: dict[str, Any]) -> Iterator[Variant]:
    index = arguments["input" if "weight" in arguments else "index"]
    for step in (-1, 1):
        words = (f"indices off by {step:+d}", f"索引偏移 {step:+d}")
        name = "input" if "weight" in arguments else "index"
        yield Variant(words, {name: index + step}, is_call=True)


def _rows(table: Number, index: npt.NDArray[np.int64]) -> Number:
    n = table.shape[0]
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError(f"an index outside of 0 ... {n - 1}")
    check_size(*index.shape, *table.shape[1:])
    return table[index]


@reference("embedding", variants=_off_by_one)
def embedding(
    input: Number,
    weight: Number,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Number:
    if max_norm is not None:
        raise NotImplementedError("embedding that renormalises its table")
    return _rows(weight, input.indices())


@reference(classes=("Embedding",), variants=_off_by_one)
def embedding_module(input: Number, weight: Number) -> Number:
    return _rows(weight, input.indices())


@reference("index_select", variants=_off_by_one)
def index_select(input: Number, dim: int, index: Number) -> Number:
    place = index.indices()
    return input.view(lambda a: np.take(a, place, axis=dim))


@reference("gather", variants=_off_by_one)
def gather(input: Number, dim: int, index: Number, sparse_grad: bool = False) -> Number:
    place = index.indices()
    check_size(*place.shape)

    def picked(a: Array) -> Array:
        grid: list[Any] = list(np.indices(place.shape, sparse=True))
        grid[dim] = place
        found: Array = a[tuple(grid)]
        return found

    return input.view(picked)


@reference("one_hot")
def one_hot(input: Number, num_classes: int = -1) -> Number:
    index = input.indices()
    n = num_classes if num_classes > 0 else int(index.max(initial=-1)) + 1
    check_size(*index.shape, n)
    return Number((index[..., None] == np.arange(n)).astype(np.float64), input.inside, is_integer=True)


@reference("bincount")
def bincount(input: Number, weights: Any = None, minlength: int = 0) -> Number:
    if weights is not None:
        raise NotImplementedError("bincount with weights")
    check_size(max(int(input.value.max(initial=0)), minlength))
    made = np.bincount(input.indices(), minlength=minlength)
    return Number(made.astype(np.float64), input.inside, is_integer=True)
