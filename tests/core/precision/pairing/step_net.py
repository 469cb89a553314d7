"""A net whose fused operators are the same steps computed inside, in float64, and recorded as one call.

The steps of a fusion are written once (`StepNet.fused`): as recorded calls in float32, or hidden. The
backward of a fused operator is that of its hidden steps, so both sides compute the same with other roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..faulty_net import DAMAGE, Leaf, Net

Array = npt.NDArray[Any]
Grads = Sequence["Array | None"]
Steps = Callable[..., Any]


@dataclass
class Taped:
    """A call and how its gradients are computed from those of its outputs."""

    name: str
    inputs: list[Any]
    outputs: list[Leaf]
    back: Callable[[Grads], Grads] | None


@dataclass
class StepNet(Net):
    """is_fused: how this side computes. is_hidden: inside of a fused call. bodies: calls of each fusion."""

    is_fused: bool = False
    is_hidden: bool = False
    tape: list[Taped] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)

    def rounded(self, x: Array) -> Array:
        """What has been rounded to whole numbers stays so."""
        return x if x.dtype != np.float32 else np.where(x == np.rint(x), x, super().rounded(x))

    def do(
        self,
        api: str,
        forward: Callable[..., Any],
        *inputs: Any,
        back: Callable[[Grads], Grads] | None = None,
        n_masked: int = 0,
    ) -> list[Leaf]:
        """One call with all of its outputs."""
        made = forward(*[x.value if isinstance(x, Leaf) else x for x in inputs])
        made = made if isinstance(made, tuple) else (made,)
        if self.is_hidden:
            outputs = [Leaf(np.asarray(value)) for value in made]
            self.tape.append(Taped("", list(inputs), outputs, back))
            return outputs
        name = f"{api}.{self.calls[api]}.forward"
        self.calls[api] += 1
        values = [self.rounded(_narrow(np.asarray(value))) for value in made]
        if self.is_at("output", name):
            values[0] = np.asarray(DAMAGE[self.fault.how](values[0]))
        outputs = [Leaf(value, name) for value in values]
        given = [None if i < n_masked else self.record(f"{name}.input.{i}", x) for i, x in enumerate(inputs)]
        recorded = [self.record(f"{name}.output.{i}", leaf) for i, leaf in enumerate(outputs)]
        self.enter("api", name, input_args=given, output=recorded)
        self.tape.append(Taped(name, list(inputs), outputs, back))
        return outputs

    def fused(self, api: str, steps: Steps, *inputs: Any) -> Any:
        """What `steps` computes of the inputs: one call of `api`, or its steps.

        A result that only the fused one has is None in steps.
        """
        first = len(self.order)
        made = self.inside(api, steps, *inputs) if self.is_fused else steps(self, *inputs)
        self.bodies.append(self.order[first:])
        return made

    def inside(self, api: str, steps: Steps, *inputs: Any) -> Any:
        """The steps as one call, on both sides."""
        if self.is_hidden:
            return steps(self, *inputs)
        inner = StepNet(is_hidden=True)
        own = [Leaf(_wide(x.value)) if isinstance(x, Leaf) else x for x in inputs]
        result = steps(inner, *own)
        inside = list(result) if isinstance(result, tuple) else [result]

        def back(grads: Grads) -> Grads:
            inner.grads = {id(leaf): _wide(g) for leaf, g in zip(inside, grads, strict=True) if g is not None}
            inner.back()
            return [inner.grads.get(id(leaf)) for leaf in own]

        made = self.do(api, lambda *_: tuple(leaf.value for leaf in inside), *inputs, back=back)
        return tuple(made) if isinstance(result, tuple) else made[0]

    # -- the backward ---------------------------------------------------------------------------

    def back_from(self, output: Leaf) -> None:
        """Gradients of the mean of squares."""
        self.grads = {id(output): np.asarray(output.value * np.float32(2 / output.value.size))}
        self.back()

    def back(self) -> None:
        for step in reversed(self.tape):
            given = [self.grads.get(id(leaf)) for leaf in step.outputs]
            if step.back is None or all(g is None for g in given):
                continue
            made = [
                g if isinstance(x, Leaf) else None for x, g in zip(step.inputs, step.back(given), strict=True)
            ]
            name = step.name.replace(".forward", ".backward")
            if name:
                made = [None if g is None else self.rounded(_narrow(np.asarray(g))) for g in made]
                if self.is_at("output", name):
                    made = [None if g is None else np.asarray(DAMAGE[self.fault.how](g)) for g in made]
                before = [self.record(f"{name}.input.{i}", g) for i, g in enumerate(given)]
                after = [self.record(f"{name}.output.{i}", g) for i, g in enumerate(made)]
                self.enter("api", name, input=before, output=after)
            for x, g in zip(step.inputs, made, strict=True):
                if g is not None:
                    self.grads[id(x)] = self.grads[id(x)] + g if id(x) in self.grads else g

    def put_unseen(self, x: Leaf, made: Leaf, back: Callable[[Array], Array]) -> None:
        """A view that the tool does not record, forward or backward."""
        self.tape.append(Taped("", [x], [made], lambda g: [back(np.asarray(g[0]))]))

    # -- operators ------------------------------------------------------------------------------

    def add(self, x: Leaf, y: Any) -> Leaf:
        return self._two("Tensor.__add__", np.add, x, y, lambda g, a, b: (g, g))

    def sub(self, x: Leaf, y: Any) -> Leaf:
        return self._two("Tensor.__sub__", np.subtract, x, y, lambda g, a, b: (g, -g))

    def mul(self, x: Leaf, y: Any) -> Leaf:
        return self._two("Tensor.__mul__", np.multiply, x, y, lambda g, a, b: (g * b, g * a))

    def div(self, x: Leaf, y: Any) -> Leaf:
        return self._two("Tensor.__truediv__", np.divide, x, y, lambda g, a, b: (g / b, -g * a / (b * b)))

    def _two(self, api: str, forward: Callable[..., Any], x: Leaf, y: Any, rule: Callable[..., Any]) -> Leaf:
        a, b = (v.value if isinstance(v, Leaf) else np.asarray(v, x.value.dtype) for v in (x, y))

        def back(grads: Grads) -> Grads:
            return [
                _shrunk(np.asarray(g), v.shape) for g, v in zip(rule(grads[0], a, b), (a, b), strict=True)
            ]

        return self.do(api, lambda *_: forward(a, b), x, y, back=back)[0]

    def unary(
        self,
        api: str,
        forward: Callable[..., Any],
        x: Leaf,
        *values: Any,
        slope: Callable[[Array, Array], Array] | None = None,
    ) -> Leaf:
        """slope: the derivative, element by element, of input and output."""
        made: list[Leaf] = []

        def back(grads: Grads) -> Grads:
            assert grads[0] is not None and slope is not None
            return [grads[0] * slope(x.value, made[0].value), *(None for _ in values)]

        made += self.do(api, lambda a, *_: forward(a), x, *values, back=back if slope is not None else None)
        return made[0]

    def neg(self, x: Leaf) -> Leaf:
        return self.unary("Tensor.__neg__", np.negative, x, slope=lambda a, y: np.full_like(a, -1))

    def square(self, x: Leaf) -> Leaf:
        return self.unary("Tensor.pow", lambda a: a * a, x, 2, slope=lambda a, y: 2 * a)

    def exp(self, x: Leaf) -> Leaf:
        return self.unary("Torch.exp", np.exp, x)

    def sqrt(self, x: Leaf) -> Leaf:
        return self.unary("Torch.sqrt", np.sqrt, x, slope=lambda a, y: 0.5 / y)

    def rsqrt(self, x: Leaf) -> Leaf:
        return self.unary("Torch.rsqrt", lambda a: 1 / np.sqrt(a), x, slope=lambda a, y: -0.5 * y**3)

    def sigmoid(self, x: Leaf) -> Leaf:
        return self.unary("Torch.sigmoid", sigmoid, x, slope=lambda a, y: y * (1 - y))

    def silu(self, x: Leaf) -> Leaf:
        def slope(a: Array, y: Array) -> Array:
            return np.asarray(sigmoid(a) * (1 + a * (1 - sigmoid(a))))

        return self.unary("Functional.silu", lambda a: a * sigmoid(a), x, slope=slope)

    def gelu(self, x: Leaf) -> Leaf:
        return self.unary("Functional.gelu", lambda a: 0.5 * a * (1 + erf(a / np.sqrt(2.0))), x)

    def dropout(self, x: Leaf) -> Leaf:
        """As in evaluation: nothing is dropped."""
        return self.unary("Functional.dropout", np.array, x, 0.0, False, slope=lambda a, y: np.ones_like(a))

    def to(self, x: Leaf, dtype: str) -> Leaf:
        wide = dtype.startswith("float") and self.is_hidden
        return self.unary("Tensor.to", lambda a: a.astype("float64" if wide else dtype), x)

    def mean(self, x: Leaf) -> Leaf:
        n = x.value.shape[-1]
        return self.do(
            "Tensor.mean",
            lambda a, _: a.mean(-1, keepdims=True),
            x,
            -1,
            back=lambda g: [np.broadcast_to(np.asarray(g[0]) / n, x.value.shape), None],
        )[0]

    def reduced(self, api: str, forward: Callable[..., Array], x: Leaf, axis: int = -1) -> Leaf:
        """sum, amax, var over one axis; no gradients."""
        return self.do(api, lambda a, _: forward(a, axis=axis, keepdims=api != "Torch.sum"), x, axis)[0]

    def chunk(self, x: Leaf) -> list[Leaf]:
        def back(grads: Grads) -> Grads:
            halves = [
                np.zeros_like(h) if g is None else g
                for h, g in zip(np.split(x.value, 2, -1), grads, strict=True)
            ]
            return [np.concatenate(halves, -1), None, None]

        return self.do("Tensor.chunk", lambda a, *_: tuple(np.split(a, 2, -1)), x, 2, -1, back=back)

    def cat(self, *parts: Leaf, axis: int = -1) -> Leaf:
        cuts = np.cumsum([p.value.shape[axis] for p in parts])[:-1]
        return self.do(
            "Torch.cat",
            lambda *each: np.concatenate(each, axis),
            *parts,
            back=lambda g: np.split(np.asarray(g[0]), cuts, axis),
        )[0]

    def transpose(self, x: Leaf) -> Leaf:
        turned = lambda a, *_: np.ascontiguousarray(a.swapaxes(-1, -2))  # noqa: E731
        return self.do("Tensor.transpose", turned, x, -2, -1, back=lambda g: [turned(g[0]), None, None])[0]

    def matmul(self, x: Leaf, y: Leaf) -> Leaf:
        def back(grads: Grads) -> Grads:
            return [grads[0] @ y.value.swapaxes(-1, -2), x.value.swapaxes(-1, -2) @ grads[0]]

        return self.do("Torch.matmul", np.matmul, x, y, back=back)[0]

    def affine(self, x: Leaf, weight: Leaf, *bias: Leaf) -> Leaf:
        def back(grads: Grads) -> Grads:
            g = np.asarray(grads[0])
            rows = g.reshape(-1, g.shape[-1])
            return [g @ weight.value, rows.T @ x.value.reshape(len(rows), -1), *(rows.sum(0) for _ in bias)]

        return self.do(
            "Functional.linear", lambda a, w, *b: a @ w.T + (b[0] if b else 0), x, weight, *bias, back=back
        )[0]

    def softmax(self, x: Leaf) -> Leaf:
        made: list[Leaf] = []

        def back(grads: Grads) -> Grads:
            s = made[0].value
            return [s * (grads[0] - (grads[0] * s).sum(-1, keepdims=True)), None]

        made += self.do("Functional.softmax", lambda a, _: softmax(a), x, -1, back=back)
        return made[0]

    def log_softmax(self, x: Leaf) -> Leaf:
        made: list[Leaf] = []

        def back(grads: Grads) -> Grads:
            return [grads[0] - np.exp(made[0].value) * np.asarray(grads[0]).sum(-1, keepdims=True), None]

        made += self.do("Functional.log_softmax", lambda a, _: np.log(softmax(a)), x, -1, back=back)
        return made[0]

    def nll_loss(self, x: Leaf, labels: Leaf) -> Leaf:
        rows = np.arange(len(labels.value))

        def back(grads: Grads) -> Grads:
            made = np.zeros_like(x.value)
            made[rows, labels.value] = -np.asarray(grads[0]) / len(rows)
            return [made, None]

        return self.do("Functional.nll_loss", lambda a, t: -a[rows, t].mean(), x, labels, back=back)[0]


def sigmoid(a: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-a)))


def softmax(a: Array) -> Array:
    e = np.exp(a - a.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def erf(a: Array) -> Array:
    return np.vectorize(math.erf)(a).astype(a.dtype)


def _narrow(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype == np.float64 else a


def _wide(a: Array) -> Array:
    return a.astype(np.float64) if a.dtype == np.float32 else a


def _shrunk(g: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of what was broadcast: summed over the axes that it did not have."""
    g = g.sum(tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axes, keepdims=True))
