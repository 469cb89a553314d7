"""A decoder of the Llama-70B kind, cut small, in numpy: the model whose captures lie beside this file.

Every module's output is rounded to bfloat16. Linear layers multiply in bfloat16 (golden) or in int8 (W8A8).
Sums are float64 in a fixed order, without BLAS, and exp is made of additions and multiplications, so that
every machine gets the same bytes. Activations are [tokens, width].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Weights = Mapping[str, Array]
INT8_MAX = 127.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the model. Grouped-query attention: all query heads share the key-value heads."""

    n_layers: int
    hidden: int
    n_heads: int
    n_kv_heads: int
    head_width: int
    ffn: int
    vocabulary: int


def bf16(x: Array) -> Array:
    """Values rounded to bfloat16 (nearest, ties to even)."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) & 0xFFFF0000
    return np.asarray(rounded.astype(np.uint32).view(np.float32), dtype=np.float64)


def total(x: Array) -> Array:
    """Sum over the last axis, first to last."""
    result = np.zeros(x.shape[:-1])
    for k in range(x.shape[-1]):
        result = result + x[..., k]
    return result


def product(x: Array, weight: Array) -> Array:
    """x @ weight.T, [..., k] and [n, k] -> [..., n], summed over k first to last."""
    result = np.zeros((*x.shape[:-1], weight.shape[0]))
    for k in range(x.shape[-1]):
        result += x[..., k, None] * weight[:, k]
    return result


def exp(x: Array) -> Array:
    """e ** x from additions and multiplications alone: 2 ** n times a Taylor series on [-0.35, 0.35]."""
    n = np.rint(x / 0.6931471805599453)
    rest = x - n * 0.6931471805599453
    series = np.ones_like(x)
    for k in range(14, 0, -1):
        series = 1.0 + series * rest / k
    return np.asarray(np.ldexp(series, n.astype(np.int64)))


def int8_weight(weight: Array) -> tuple[Array, Array]:
    """Weight in int8 steps and its scale, one per output channel."""
    scale = np.abs(weight).max(axis=1) / INT8_MAX
    return np.asarray(np.rint(weight / scale[:, None])), np.asarray(scale)


def quantise(x: Array, scale: Array | float) -> Array:
    """Activation in int8 steps; what lies outside the range of the scale is clipped."""
    return np.clip(np.rint(x / scale), -128.0, INT8_MAX)


Multiply = Callable[[Array], Array]


def bf16_multiply(weight: Array) -> Multiply:
    """Golden: weight and activation in bfloat16."""
    return lambda x: product(x, weight)


def w8a8_static_multiply(weight: Array, input_absmax: float) -> Multiply:
    """W8A8, one activation scale for the whole tensor, fixed when the model was calibrated."""
    steps, weight_scale = int8_weight(weight)
    scale = input_absmax / INT8_MAX
    return lambda x: product(quantise(x, scale), steps) * (scale * weight_scale)


def w8a8_dynamic_multiply(weight: Array) -> Multiply:
    """W8A8, one activation scale per token, taken from the token itself when it passes."""
    steps, weight_scale = int8_weight(weight)

    def multiply(x: Array) -> Array:
        scale = np.abs(x).max(axis=-1, keepdims=True) / INT8_MAX
        return product(quantise(x, scale), steps) * (scale * weight_scale)

    return multiply


Store = Callable[[Array, Array], tuple[Array, Array]]
"""What becomes of keys and values [tokens, width] on their way through the cache."""


def int8_cache(key_absmax: Array, value_absmax: Array) -> Store:
    """Keys and values kept in int8, one static scale per channel. absmax: calibrated magnitudes [width]."""
    scales = key_absmax / INT8_MAX, value_absmax / INT8_MAX
    return lambda key, value: (quantise(key, scales[0]) * scales[0], quantise(value, scales[1]) * scales[1])


class Hook(Protocol):
    """Sees every module call, as a dumping tool does."""

    def enter(self, module: Module) -> None: ...

    def leave(self, module: Module, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None: ...


class Module:
    """Part of the model; calling it runs `forward` and shows inputs and outputs to the hook."""

    path = ""
    hook: Hook | None = None
    forward: Callable[..., Any]

    def __call__(self, *inputs: Any) -> Any:
        if self.hook is None:
            return self.forward(*inputs)
        self.hook.enter(self)
        result = self.forward(*inputs)
        self.hook.leave(self, inputs, result if isinstance(result, tuple) else (result,))
        return result

    def modules(self, path: str = "") -> Iterator[tuple[str, Module]]:
        """Dotted path and module of all parts below this one."""
        for name, value in vars(self).items():
            parts = enumerate(value) if isinstance(value, list) else [("", value)]
            for index, part in parts:
                if isinstance(part, Module):
                    child = f"{path}{name}" if index == "" else f"{path}{name}.{index}"
                    yield child, part
                    yield from part.modules(f"{child}.")


class Embedding(Module):
    def __init__(self, weight: Array) -> None:
        self.weight = weight

    def forward(self, token_ids: npt.NDArray[np.int64]) -> Array:
        return self.weight[token_ids]


class RMSNorm(Module):
    def __init__(self, weight: Array) -> None:
        self.weight = weight

    def forward(self, x: Array) -> Array:
        mean_square = total(x * x) / x.shape[-1]
        return bf16(x / np.sqrt(mean_square + 1e-6)[:, None] * self.weight)


class Linear(Module):
    def __init__(self, weight: Array) -> None:
        self.weight = weight
        self.multiply = bf16_multiply(weight)

    def forward(self, x: Array) -> Array:
        return bf16(self.multiply(x))


class RotaryEmbedding(Module):
    """Turns pairs of channels of queries and keys by an angle that grows with the token's position."""

    def __init__(self, head_width: int) -> None:
        self.head_width = head_width

    def turn(self, x: Array) -> Array:
        half = self.head_width // 2
        angle = np.arange(x.shape[0])[:, None] * 100.0 ** (-np.arange(half) / half)
        cos, sin = bf16(np.cos(angle))[:, None], bf16(np.sin(angle))[:, None]
        heads = x.reshape(x.shape[0], -1, self.head_width)
        left, right = heads[..., :half], heads[..., half:]
        turned = np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)
        return bf16(turned.reshape(x.shape))

    def forward(self, query: Array, key: Array) -> tuple[Array, Array]:
        return self.turn(query), self.turn(key)


class Attention(Module):
    """softmax(q k / sqrt(width)) v over the tokens up to the own one, keys and values out of the cache."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.store: Store = lambda key, value: (key, value)

    def head(self, query: Array, key: Array, value: Array) -> Array:
        scores = product(query, key) / np.sqrt(self.shape.head_width)
        scores = np.where(np.tri(len(query), dtype=bool), scores, -1e4)
        weights = exp(scores - scores.max(axis=-1, keepdims=True))
        return product(weights / total(weights)[:, None], value.T)

    def forward(self, query: Array, key: Array, value: Array) -> Array:
        width, group = self.shape.head_width, self.shape.n_heads // self.shape.n_kv_heads
        key, value = self.store(key, value)
        outputs = []
        for head in range(self.shape.n_heads):
            own = slice(head * width, (head + 1) * width)
            shared = slice(head // group * width, (head // group + 1) * width)
            outputs.append(self.head(query[:, own], key[:, shared], value[:, shared]))
        return bf16(np.concatenate(outputs, axis=-1))


class SelfAttention(Module):
    def __init__(self, shape: Shape, weights: Weights, prefix: str) -> None:
        self.split = [shape.n_heads * shape.head_width, (shape.n_heads + shape.n_kv_heads) * shape.head_width]
        self.qkv_proj = Linear(weights[f"{prefix}qkv_proj"])
        self.rotary_emb = RotaryEmbedding(shape.head_width)
        self.attn = Attention(shape)
        self.o_proj = Linear(weights[f"{prefix}o_proj"])

    def forward(self, x: Array) -> Any:
        query, key, value = np.split(self.qkv_proj(x), self.split, axis=-1)
        query, key = self.rotary_emb(query, key)
        mixed = self.attn(query, key, value)
        return self.o_proj(mixed)


class SiluAndMul(Module):
    def forward(self, x: Array) -> Array:
        gate, up = np.split(x, 2, axis=-1)
        return bf16(gate / (1.0 + exp(-gate)) * up)


class MLP(Module):
    def __init__(self, weights: Weights, prefix: str) -> None:
        self.gate_up_proj = Linear(weights[f"{prefix}gate_up_proj"])
        self.act_fn = SiluAndMul()
        self.down_proj = Linear(weights[f"{prefix}down_proj"])

    def forward(self, x: Array) -> Any:
        gate_up = self.gate_up_proj(x)
        activated = self.act_fn(gate_up)
        return self.down_proj(activated)


class DecoderLayer(Module):
    def __init__(self, shape: Shape, weights: Weights, prefix: str) -> None:
        self.input_layernorm = RMSNorm(weights[f"{prefix}input_layernorm"])
        self.self_attn = SelfAttention(shape, weights, f"{prefix}self_attn.")
        self.post_attention_layernorm = RMSNorm(weights[f"{prefix}post_attention_layernorm"])
        self.mlp = MLP(weights, f"{prefix}mlp.")

    def forward(self, x: Array) -> Array:
        normed = self.input_layernorm(x)
        x = bf16(x + self.self_attn(normed))
        normed = self.post_attention_layernorm(x)
        return bf16(x + self.mlp(normed))


class Decoder(Module):
    def __init__(self, shape: Shape, weights: Weights) -> None:
        self.embed_tokens = Embedding(weights["model.embed_tokens"])
        self.layers = [DecoderLayer(shape, weights, f"model.layers.{n}.") for n in range(shape.n_layers)]
        self.norm = RMSNorm(weights["model.norm"])

    def forward(self, token_ids: npt.NDArray[np.int64]) -> Any:
        x = self.embed_tokens(token_ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class CausalLM(Module):
    """The whole model: token ids in, logits out. Its parts know their dotted paths."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        self.model = Decoder(shape, weights)
        self.lm_head = Linear(weights["lm_head"])
        for path, module in self.modules():
            module.path = path

    def forward(self, token_ids: npt.NDArray[np.int64]) -> Any:
        hidden = self.model(token_ids)
        return self.lm_head(hidden)

    def attach(self, hook: Hook) -> None:
        for _, module in self.modules():
            module.hook = hook
