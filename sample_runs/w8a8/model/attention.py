"""One attention head in float16, as it is captured apart: q k, the scale, softmax, v.

Sums run in float32 inside an operator; whatever leaves one is float16, so that a product beyond 65504 is Inf.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .model import Array, exp, product, total

LOWEST_EXPONENT = -80.0
"""e ** -80 is far below what float16 can hold; -Inf has no place in integer arithmetic."""


class Operators(Protocol):
    """The framework's operators, by which a tool sees every call."""

    def linear(self, x: Array, weight: Array) -> Array: ...

    def mul(self, x: Array, factor: float) -> Array: ...

    def matmul(self, x: Array, y: Array) -> Array: ...

    def softmax(self, x: Array) -> Array: ...

    def add(self, x: Array, y: Array) -> Array: ...


class Attention:
    """weights: q_proj, k_proj, v_proj, o_proj, [width, hidden] or [hidden, width]."""

    def __init__(self, operators: Operators, weights: dict[str, Array], scale: float) -> None:
        self.ops, self.weights, self.scale = operators, weights, scale

    def project(self, x: Array) -> tuple[Array, Array, Array]:
        query = self.ops.linear(x, self.weights["q_proj"])
        key = self.ops.linear(x, self.weights["k_proj"])
        value = self.ops.linear(x, self.weights["v_proj"])
        return query, key, value

    def finish(self, x: Array, scores: Array, value: Array) -> Array:
        weights = self.ops.softmax(scores)
        mixed = self.ops.matmul(weights, value)
        out = self.ops.linear(mixed, self.weights["o_proj"])
        return self.ops.add(x, out)


class ScaledAfter(Attention):
    """Round 1: the scale is applied to the product."""

    def forward(self, x: Array) -> Array:
        query, key, value = self.project(x)
        scores = self.ops.matmul(query, key.T)
        scores = self.ops.mul(scores, self.scale)
        return self.finish(x, scores, value)


class ScaledBefore(Attention):
    """From round 2 on: the query is scaled, so that the product never grows beyond the scores."""

    def forward(self, x: Array) -> Array:
        query, key, value = self.project(x)
        query = self.ops.mul(query, self.scale)
        scores = self.ops.matmul(query, key.T)
        return self.finish(x, scores, value)


def fp16(x: Array) -> Array:
    """Values rounded to float16 (nearest, ties to even); beyond 65504 they are Inf."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.asarray(x, np.float64).astype(np.float16), dtype=np.float64)


def matmul(x: Array, y: Array) -> Array:
    """x @ y, summed first to last."""
    with np.errstate(invalid="ignore"):
        return product(x, y.T)


def softmax(x: Array) -> Array:
    """Over the last axis. The largest value is taken away first: in a row that holds Inf that is Inf - Inf,
    and with it the sum and every weight of the row is NaN."""
    largest = x.max(axis=-1, keepdims=True)
    good = np.isfinite(largest[..., 0])
    weights = np.full_like(x, np.nan)
    weights[good] = exp(np.maximum(x[good] - largest[good], LOWEST_EXPONENT))
    return np.asarray(weights / total(weights)[..., None])
