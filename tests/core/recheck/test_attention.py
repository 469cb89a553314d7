"""Attention in every layout and rotary embeddings, against loops over single rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.recheck.number import Inside, Number
from npulse.core.recheck.registry import reference_of_api

EXACT = Inside(2.0**-52, 2.0**-1022)
BATCH, HEADS, KV_HEADS, N_Q, N_K, WIDTH = 2, 4, 2, 3, 5, 6
RANDOM = np.random.default_rng(11)
Q = RANDOM.normal(size=(BATCH, HEADS, N_Q, WIDTH))
K, V = RANDOM.normal(size=(2, BATCH, KV_HEADS, N_K, WIDTH))
Floats = npt.NDArray[np.float64]


def number(array: Any, dtype: str = "") -> Number:
    return Number(np.asarray(array, np.float64), EXACT, 0.0, dtype in ("bool", "int64"), dtype)


def by_loops(q: Floats, k: Floats, v: Floats, scale: float, allows: Any = lambda b, i, j: True) -> Floats:
    made = np.zeros(q.shape)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            own = h // (q.shape[1] // k.shape[1])
            for i in range(q.shape[2]):
                keys = [j for j in range(k.shape[2]) if allows(b, i, j)]
                scores = [math.exp(scale * float(q[b, h, i] @ k[b, own, j])) for j in keys]
                for j, score in zip(keys, scores, strict=True):
                    made[b, h, i] += score / math.fsum(scores) * v[b, own, j]
    return made


def laid_out(x: Floats, layout: str) -> Floats:
    if layout == "BNSD":
        return x
    moved = x.transpose(0, 2, 1, 3)
    if layout == "BSND":
        return moved
    flat = moved.reshape(*moved.shape[:2], -1)
    return flat.transpose(1, 0, 2) if layout == "SBH" else flat


def of(name: str) -> Any:
    reference = reference_of_api(name)
    assert reference is not None
    return reference.function


MASK = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 0, 0]])


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_fusion_attention_in_each_layout(layout: str) -> None:
    q, k, v = (number(laid_out(x, layout)) for x in (Q, K, V))
    (made,) = of("npu_fusion_attention")(q, k, v, HEADS, layout, scale=0.4)
    np.testing.assert_allclose(made.value, laid_out(by_loops(Q, K, V, 0.4), layout), rtol=1e-12)


RULES = {
    "mask": ({"atten_mask": number(MASK, "bool")}, lambda b, i, j: MASK[i, j] == 0),
    "left-up": ({"sparse_mode": 2}, lambda b, i, j: j <= i),
    "right-down": ({"sparse_mode": 3}, lambda b, i, j: j <= i + N_K - N_Q),
    "band": (
        {"sparse_mode": 4, "pre_tockens": 1, "next_tockens": 0},
        lambda b, i, j: i + N_K - N_Q - 1 <= j <= i + N_K - N_Q,
    ),
    "mask and band": (
        {"atten_mask": number(MASK, "bool"), "pre_tockens": 2, "next_tockens": 2},
        lambda b, i, j: MASK[i, j] == 0 and i - 2 <= j <= i + 2,
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_takes_part(rule: str) -> None:
    named, allows = RULES[rule]
    (made,) = of("npu_fusion_attention")(
        number(Q), number(K), number(V), HEADS, "BNSD", scale=WIDTH**-0.5, **named
    )
    np.testing.assert_allclose(made.value, by_loops(Q, K, V, WIDTH**-0.5, allows), rtol=1e-12)


def test_a_row_that_nothing_is_allowed_of_is_zero() -> None:
    mask = number(np.ones((N_Q, N_K)), "bool")
    (made,) = of("npu_fusion_attention")(number(Q), number(K), number(V), HEADS, "BNSD", atten_mask=mask)
    assert not made.value.any()


def test_sequences_one_behind_the_other() -> None:
    """TND: two sequences of 2 and 1 queries, 3 and 2 keys."""
    q, k, v = Q[0].transpose(1, 0, 2), K[0].transpose(1, 0, 2), V[0].transpose(1, 0, 2)
    named = {"actual_seq_qlen": [2, 3], "actual_seq_kvlen": [3, 5], "scale": 0.7}
    (made,) = of("npu_fusion_attention")(number(q), number(k), number(v), HEADS, "TND", **named)
    first = by_loops(Q[:1, :, :2], K[:1, :, :3], V[:1, :, :3], 0.7)[0].transpose(1, 0, 2)
    second = by_loops(Q[:1, :, 2:], K[:1, :, 3:], V[:1, :, 3:], 0.7)[0].transpose(1, 0, 2)
    np.testing.assert_allclose(made.value, np.concatenate([first, second]), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "scale", "lengths"),
    [
        ("npu_incre_flash_attention", "scale_value", "actual_seq_lengths"),
        ("npu_prompt_flash_attention", "scale_value", "actual_seq_lengths_kv"),
        ("npu_fused_infer_attention_score", "scale", "actual_seq_lengths_kv"),
    ],
)
def test_attention_of_inference(name: str, scale: str, lengths: str) -> None:
    named = {"num_heads": HEADS, "num_key_value_heads": KV_HEADS, scale: 0.3, lengths: [4, 2]}
    q, k, v = (number(laid_out(x, "BSH")) for x in (Q, K, V))
    key, value = ([k], [v]) if "incre" in name else (k, v)
    found = of(name)(q, key, value, input_layout="BSH", **named)
    made = found[0] if isinstance(found, tuple) else found
    expected = by_loops(Q, K, V, 0.3, lambda b, i, j: j < (4, 2)[b])
    np.testing.assert_allclose(made.value, laid_out(expected, "BSH"), rtol=1e-12)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary(mode: str) -> None:
    x = Q[0]
    angles = RANDOM.normal(size=(1, N_Q, WIDTH))
    cos, sin = np.cos(angles), np.sin(angles)
    expected = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        *before, d = place
        half = WIDTH // 2
        if mode == "half":
            other = -x[(*before, d + half)] if d < half else x[(*before, d - half)]
        else:
            other = -x[(*before, d + 1)] if d % 2 == 0 else x[(*before, d - 1)]
        expected[place] = x[place] * cos[0, before[1], d] + other * sin[0, before[1], d]
    made = of("npu_rotary_mul")(number(x), number(cos), number(sin), mode)
    np.testing.assert_allclose(made.value, expected, rtol=1e-12)
    both = of("npu_apply_rotary_pos_emb")(
        number(x), number(2 * x), number(cos), number(sin), rotary_mode=mode
    )
    np.testing.assert_allclose(both[0].value, expected, rtol=1e-12)
    np.testing.assert_allclose(both[1].value, 2 * expected, rtol=1e-12)


def test_the_weights_may_be_rounded_to_the_dtype_of_the_values() -> None:
    inside = Inside(2.0**-24)
    q, k, v = (Number(x, inside, dtype="bfloat16") for x in (Q, K, V))
    (made,) = of("npu_fusion_attention")(q, k, v, HEADS, "BNSD", scale=0.4)
    scores = 0.4 * np.einsum("bhqd,bhkd->bhqk", Q, np.repeat(K, 2, axis=1))
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p = (p / p.sum(-1, keepdims=True)).astype(np.float32)
    bits = p.view(np.uint32)
    p = (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)
    rounded = p.astype(np.float64) @ np.repeat(V, 2, axis=1)
    distance = abs(rounded - made.value)
    assert distance.max() > 1e-4, "the rounding shows"
    assert np.all(distance <= made.error)


def test_head_by_head_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.recheck.references.attention.MAX_SCORES", 1)
    mask = number(MASK, "bool")
    pse = number(RANDOM.normal(size=(1, HEADS, N_Q, N_K)))
    arguments = (number(Q), number(K), number(V), HEADS, "BNSD")
    (parts,) = of("npu_fusion_attention")(*arguments, pse, atten_mask=mask, scale=0.4)
    monkeypatch.undo()
    (whole,) = of("npu_fusion_attention")(*arguments, pse, atten_mask=mask, scale=0.4)
    np.testing.assert_allclose(parts.value, whole.value, rtol=1e-13)
    np.testing.assert_allclose(parts.error, whole.error, rtol=1e-6)
