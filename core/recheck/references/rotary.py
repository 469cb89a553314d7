"""Rotary embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..number import Array, Number
from ..registry import Variant, reference


def _turned(x: Number, mode: str) -> Number:
    """Each pair (a, b) as (-b, a): halves, or neighbours."""
    if mode not in ("half", "interleave"):
        raise NotImplementedError(f"rotary_mode {mode!r}")

    def turn(sign: float) -> Callable[[Array], Array]:
        def turned(a: Array) -> Array:
            if mode == "half":
                first, second = np.split(a, 2, axis=-1)
                return np.concatenate([sign * second, first], axis=-1)
            pairs = a.reshape(*a.shape[:-1], -1, 2)
            found: Array = np.stack([sign * pairs[..., 1], pairs[..., 0]], axis=-1).reshape(a.shape)
            return found

        return turned

    error = x.error if isinstance(x.error, float) else turn(1.0)(x.error)
    return Number(turn(-1.0)(x.value), x.inside, error)


def _rotary_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    mode = arguments.get("rotary_mode", "half")
    other = "interleave" if mode == "half" else "half"
    yield Variant((f"rotary_mode={other!r}",) * 2, {"rotary_mode": other})
    cos, sin = ("r1", "r2") if "r1" in arguments else ("cos", "sin")
    yield Variant(("cos and sin exchanged", "cos 与 sin 互换"), {cos: arguments[sin], sin: arguments[cos]})
    yield Variant(("turned the other way", "旋转方向相反"), {sin: -arguments[sin]})


@reference("npu_rotary_mul", variants=_rotary_variants)
def npu_rotary_mul(input: Number, r1: Number, r2: Number, rotary_mode: str = "half") -> Number:
    return input * r1 + _turned(input, rotary_mode) * r2


@reference("npu_apply_rotary_pos_emb", variants=_rotary_variants)
def npu_apply_rotary_pos_emb(
    query: Number, key: Number, cos: Number, sin: Number, layout: str = "BSH", rotary_mode: str = "half"
) -> tuple[Number, Number]:
    return npu_rotary_mul(query, cos, sin, rotary_mode), npu_rotary_mul(key, cos, sin, rotary_mode)
