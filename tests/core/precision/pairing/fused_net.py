"""Layers of a transformer in numpy, with fused operators or in the steps that programs write for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..faulty_net import Fault, Leaf, Net

Array = npt.NDArray[Any]
BATCH, HEADS, TOKENS, SIZE = 2, 4, 6, 8
HIDDEN = HEADS * SIZE
HALF = SIZE // 2


class FusedNet(Net):
    """One side: `is_fused` says how it computes."""

    is_fused = True

    def do(self, api: str, forward: Callable[..., Any], *inputs: Any) -> Leaf:
        return self.call(api, lambda *given: np.asarray(forward(*given), np.float32), list(inputs))

    def times(self, x: Leaf, by: Any) -> Leaf:
        return self.do("Tensor.__mul__", lambda a, b: a * np.float32(b) if np.isscalar(b) else a * b, x, by)

    def plus(self, x: Leaf, by: Any) -> Leaf:
        return self.do("Tensor.__add__", lambda a, b: a + np.float32(b) if np.isscalar(b) else a + b, x, by)

    def project(self, name: str, x: Leaf, n: int = HIDDEN) -> Leaf:
        weight = self.parameter(name, n, x.value.shape[-1])
        return self.do("Functional.linear", lambda a, w: a @ w.T, x, weight)

    # -- what is fused, or not ------------------------------------------------------------------

    def rms(self, name: str, x: Leaf) -> Leaf:
        weight = self.parameter(f"{name}.norm", x.value.shape[-1])
        if self.is_fused:
            return self.do("NPU.npu_rms_norm", lambda a, w: a / _root(a) * w, x, weight)
        square = self.do("Tensor.pow", lambda a, _: a * a, x, 2)
        mean = self.do("Tensor.mean", lambda a, _: a.mean(-1, keepdims=True), square, -1)
        root = self.do("Torch.rsqrt", lambda a: 1 / np.sqrt(a), self.plus(mean, 1e-6))
        return self.times(weight, self.times(x, root))

    def sliced_swiglu(self, x: Leaf) -> Leaf:
        """By two slices of which the second is made behind the silu; as `chunk` that nobody recorded."""
        if self.is_fused:
            return self.do("NPU.npu_swiglu", lambda a: _silu(*np.split(a, 2, -1)), x)
        n = x.value.shape[-1] // 2
        gate = self.do("Tensor.__getitem__", lambda a, _: a[..., :n], x, 0)
        act = self.do("Functional.silu", lambda a: _silu(a, 1), gate)
        return self.times(act, self.do("Tensor.__getitem__", lambda a, _: a[..., n:], x, 1))

    def swiglu_of(self, gate: Leaf, up: Leaf) -> Leaf:
        if self.is_fused:
            both = self.do("Torch.cat", lambda a, b: np.concatenate([a, b], -1), gate, up)
            return self.do("NPU.npu_swiglu", lambda a: _silu(*np.split(a, 2, -1)), both)
        return self.times(self.do("Functional.silu", lambda a: _silu(a, 1), gate), up)

    def uncut_swiglu(self, x: Leaf) -> Leaf:
        """The halves are views that stand in no record."""
        if self.is_fused:
            return self.sliced_swiglu(x)
        gate, up = (Leaf(np.ascontiguousarray(half)) for half in np.split(x.value, 2, -1))
        return self.swiglu_of(gate, up)

    def gelu(self, x: Leaf) -> Leaf:
        """0.5 * x comes first, as Python evaluates 0.5 * x * (1 + tanh(...))."""
        if self.is_fused:
            return self.do("NPU.npu_gelu", _gelu, x)
        half = self.times(x, 0.5)
        cube = self.do("Torch.pow", lambda a, _: a**3, x, 3.0)
        inner = self.times(self.plus(x, self.times(cube, 0.044715)), 0.79788456)
        return self.times(half, self.plus(self.do("Torch.tanh", np.tanh, inner), 1.0))

    def rotary(self, x: Leaf) -> Leaf:
        angle = np.arange(TOKENS)[:, None] * 0.3 ** np.arange(HALF)
        cos, sin = (Leaf(f(np.tile(angle, 2)).astype(np.float32)[None, None]) for f in (np.cos, np.sin))
        if self.is_fused:
            return self.do("NPU.npu_rotary_mul", lambda a, c, s: a * c + _turned(a) * s, x, cos, sin)
        straight = self.times(x, cos)
        first = self.do("Tensor.__getitem__", lambda a, _: a[..., :HALF], x, 0)
        second = self.do("Tensor.__getitem__", lambda a, _: a[..., HALF:], x, 1)
        minus = self.do("Tensor.__neg__", lambda a: -a, second)
        turned = self.do("Torch.cat", lambda a, b: np.concatenate([a, b], -1), minus, first)
        return self.plus(straight, self.times(turned, sin))

    def attention(self, q: Leaf, k: Leaf, v: Leaf) -> Leaf:
        """Fused in the layout BSH, which no recorded view makes; in steps with K transposed unseen."""
        hides = np.triu(np.full((TOKENS, TOKENS), -1e4, np.float32), 1)[None, None]
        if self.is_fused:
            q, k, v = (Leaf(_flat(x.value)) for x in (q, k, v))

            def forward(*given: Array) -> Array:
                a, b, c = (_heads(x) for x in given[:3])
                return _flat(_softmax(a @ b.swapaxes(-1, -2) * np.float32(0.35) + hides) @ c)

            mask = Leaf(hides[0, 0] < 0)
            return self.call("NPU.npu_fusion_attention", forward, [q, k, v, mask, "BSH"])
        turned = Leaf(np.ascontiguousarray(k.value.swapaxes(-1, -2)))
        scores = self.times(self.do("Torch.matmul", np.matmul, q, turned), 0.35)
        shares = self.do("Functional.softmax", _softmax, self.plus(scores, Leaf(hides)))
        mixed = self.do("Torch.matmul", np.matmul, shares, v)
        view = self.do("Tensor.transpose", lambda a, *_: a.swapaxes(1, 2), mixed, 1, 2)
        return self.do("Tensor.reshape", lambda a, *_: a.reshape(BATCH, TOKENS, HIDDEN), view, HIDDEN)

    def square_linear(self, name: str, x: Leaf) -> Leaf:
        weight, bias = self.parameter(name, HIDDEN, HIDDEN), self.parameter(f"{name}.bias", HIDDEN)
        if self.is_fused:
            return self.do("Functional.linear", lambda a, w, b: a @ w.T + b, x, weight, bias)
        return self.plus(self.do("Torch.matmul", np.matmul, x, Leaf(weight.value.T.copy())), bias)

    def experts(self, name: str, x: Leaf) -> Leaf:
        flat, cut = Leaf(x.value.reshape(-1, HIDDEN)), (5, 8)
        weights = [self.parameter(f"{name}.{i}", HIDDEN, HIDDEN) for i in range(3)]

        def forward(a: Array, *each: Array) -> Array:
            return np.concatenate([part @ w for part, w in zip(np.split(a, cut), each, strict=True)])

        if self.is_fused:
            return self.do("NPU.npu_grouped_matmul", forward, flat, *weights)
        parts = [Leaf(part) for part in np.split(flat.value, cut)]
        made = [self.do("Torch.matmul", np.matmul, x, w) for x, w in zip(parts, weights, strict=True)]
        return self.do("Torch.cat", lambda *each: np.concatenate(each), *made)

    # -- layers ---------------------------------------------------------------------------------

    def layer(self, kind: str, path: str, x: Leaf) -> Leaf:
        if kind == "rotary-attention":
            q, k, v = (Leaf(_heads(self.project(f"{path}.{name}", x).value)) for name in "qkv")
            x = self.attention(self.rotary(q), self.rotary(k), v)
        elif kind == "swiglu-norm":
            x = self.rms(path, self.sliced_swiglu(self.project(path, x, 2 * HIDDEN)))
        elif kind == "uncut-swiglu":
            x = self.uncut_swiglu(self.project(path, x, 2 * HIDDEN))
        elif kind == "swiglu-of-two":
            x = self.swiglu_of(self.project(f"{path}.gate", x), self.project(f"{path}.up", x))
        elif kind == "gelu":
            x = self.gelu(self.project(path, x))
        elif kind == "experts":
            x = Leaf(self.experts(path, self.project(path, x)).value.reshape(BATCH, TOKENS, HIDDEN))
        else:
            x = self.do("Functional.relu", lambda a: np.maximum(a, 0), self.square_linear(path, x))
        return self.project(f"{path}.out", x)


def fused_net(kind: str, *, is_fused: bool, fault: Fault | None = None, n_layers: int = 2) -> FusedNet:
    """One side that has run; the fused one rounds as another device does."""
    net = FusedNet(fault or Fault(), ulp_noise=is_fused, is_golden=not is_fused)
    net.is_fused = is_fused
    x = Leaf(np.random.default_rng(3).standard_normal((BATCH, TOKENS, HIDDEN)).astype(np.float32))
    for number in range(n_layers):
        x = net.layer(kind, f"layers.{number}", x)
    return net


def _root(a: Array) -> Array:
    return np.asarray(np.sqrt((a * a).mean(-1, keepdims=True) + np.float32(1e-6)))


def _silu(gate: Array, up: Any) -> Array:
    return np.asarray(gate / (1 + np.exp(-gate)) * up)


def _gelu(a: Array) -> Array:
    return np.asarray(0.5 * a * (1 + np.tanh(0.79788456 * (a + 0.044715 * a**3))))


def _turned(a: Array) -> Array:
    return np.concatenate([-a[..., HALF:], a[..., :HALF]], -1)


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _heads(a: Array) -> Array:
    return np.ascontiguousarray(a.reshape(BATCH, TOKENS, HEADS, SIZE).transpose(0, 2, 1, 3))


def _flat(a: Array) -> Array:
    return np.ascontiguousarray(a.transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, HIDDEN))
