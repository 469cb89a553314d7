"""The backward of tensor-parallel layers in numpy, dumped as msprobe does, with a fault or none.

A norm, a column with a bias (fused gate and up), an activation, a row, a residual, a layer at a time; then
their gradients. A column's gradient of its input is a partial sum that an all_reduce adds up, that of its
weight is a part; a row's gradients of its input and weight are parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .faulty_net import DAMAGE, Fault, Leaf
from .split_net import FFN, HIDDEN, NO_FAULT, TOKENS, Job, column, row, weight

Array = npt.NDArray[Any]
Gradients = list[Array]
Backward = Callable[[int, Array], Gradients]


class TrainedJob(Job):
    """All ranks of one job; forward and backward."""

    def __init__(
        self, n: int, fault: Fault = NO_FAULT, at_rank: int = 0, *, is_golden: bool = False, layers: int = 2
    ) -> None:
        super().__init__(n, fault, at_rank, is_golden=is_golden, layers=layers)
        self.tape: list[Callable[[list[Array]], list[Array]]] = []

    def run(self) -> TrainedJob:
        value = np.random.default_rng(self.data).standard_normal((TOKENS, HIDDEN)).astype(np.float32)
        x = [Leaf(value) for _ in self.nets]
        for layer in range(self.layers):
            x = self.layer(f"layers.{layer}", x)
        grads = [np.asarray(leaf.value * np.float32(2 / leaf.value.size)) for leaf in x]
        for backward in reversed(self.tape):
            grads = backward(grads)
        return self

    def layer(self, path: str, x: list[Leaf]) -> list[Leaf]:
        n = self.n
        up, down = weight(f"{path}.up", 2 * FFN, HIDDEN), weight(f"{path}.down", HIDDEN, FFN)
        offset = weight(f"{path}.offset", 2 * FFN)
        gain = self.of_ranks(f"{path}.norm", lambda _: 1 + weight(f"{path}.norm", HIDDEN))
        w_up = self.of_ranks(f"{path}.up", lambda r: column(up, r, n, (FFN, FFN)))
        b_up = self.of_ranks(f"{path}.offset", lambda r: column(offset, r, n, (FFN, FFN)))
        w_down = self.of_ranks(f"{path}.down", lambda r: row(down, r, n))

        normed = self.call("Functional.rms_norm", _norm, x, gain)
        wide = self.call("Functional.linear", lambda a, w, b: a @ w.T + b, normed, w_up, b_up)
        act = self.call("Functional.glu", _glu, wide)
        part = self.call("Functional.linear", lambda a, w: a @ w.T, act, w_down)
        whole = self.reduced(part)
        made = self.call("Tensor.__add__", lambda a, b: a + b, x, whole)

        def backward(grads: list[Array]) -> list[Array]:
            beside = self.back(made, grads, lambda _, g: [g, g])
            g = self.back(
                part, [b[1] for b in beside], lambda r, g: [g @ w_down[r].value, g.T @ act[r].value]
            )
            g = self.back(act, [b[0] for b in g], lambda r, g: [_glu_backward(wide[r].value, g)])
            g = self.back(
                wide,
                [b[0] for b in g],
                lambda r, g: [g @ w_up[r].value, g.T @ normed[r].value, g.sum(axis=0)],
            )
            total = self.reduced([Leaf(b[0]) for b in g])
            g = self.back(
                normed, [t.value for t in total], lambda r, g: _norm_backward(x[r].value, gain[r].value, g)
            )
            return [b[0] + one[0] for b, one in zip(beside, g, strict=True)]

        self.tape.append(backward)
        return made

    def back(self, made: list[Leaf], grads: list[Array], backward: Backward) -> list[Gradients]:
        """The backward of one call on every rank: gradients of what it was given."""
        found = []
        for rank, (net, leaf, grad) in enumerate(zip(self.nets, made, grads, strict=True)):
            name = leaf.name.replace(".forward", ".backward")
            own = [np.asarray(g, np.float32) for g in backward(rank, grad)]
            for place, g in enumerate(own):
                if net.is_at("gradient", f"{name}.output.{place}"):
                    own[place] = DAMAGE[net.fault.how](g)
            given = [net.record(f"{name}.input.0", grad)]
            net.enter(
                "api",
                name,
                input=given,
                output=[net.record(f"{name}.output.{i}", g) for i, g in enumerate(own)],
            )
            found.append(own)
        return found


def _norm(x: Array, w: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * w)


def _norm_backward(x: Array, w: Array, g: Array) -> Gradients:
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6))
    y, gw = x * scale, g * w
    return [scale * (gw - y * (gw * y).mean(-1, keepdims=True)), (g * y).sum(axis=0)]


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _glu(x: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return np.asarray(a * _sigmoid(b))


def _glu_backward(x: Array, g: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    s = _sigmoid(b)
    return np.concatenate([g * s, g * a * s * (1 - s)], axis=-1)
