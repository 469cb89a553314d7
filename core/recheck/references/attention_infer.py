"""Attention of inference: keys from a cache, of which so many count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..number import Number
from ..registry import Variant, reference
from .attention import FAR, allowed_by, attend, back_from_heads, heads_of, scales_tried


def _infer_variants(scale: str) -> Callable[[dict[str, Any]], Iterator[Variant]]:
    def variants(arguments: dict[str, Any]) -> Iterator[Variant]:
        q, layout = arguments["query"], arguments.get("input_layout", "BSH")
        heads = max(int(arguments.get("num_heads", 1)), 1)
        yield from scales_tried(arguments, scale, 1.0, q.shape[-1] if "D" in layout else q.shape[-1] // heads)
        if arguments.get("atten_mask") is not None:
            yield Variant(("without the mask", "没有用 mask"), {"atten_mask": None})
        if arguments.get("actual_seq_lengths") is not None:
            words = ("actual_seq_lengths not heeded", "未考虑 actual_seq_lengths")
            yield Variant(words, {"actual_seq_lengths": None})

    return variants


def _inferred(
    query: Number,
    key: Any,
    value: Any,
    lengths: Any,
    mask: Number | None,
    n_heads: int,
    n_kv_heads: int,
    layout: str,
    scale: float,
    mode: int,
    band: tuple[int, int],
    added: Number | None,
) -> Number:
    """Attention of inference: keys may come as a list of one tensor, and only so many of them count."""
    key, value = (x[0] if isinstance(x, list) and len(x) == 1 else x for x in (key, value))
    if not isinstance(key, Number) or layout == "TND":
        raise NotImplementedError("several caches, or layout TND")
    q = heads_of(query, layout, n_heads)
    k, v = (heads_of(x, layout, n_kv_heads or n_heads) for x in (key, value))
    n_q, n_k = q.shape[-2], k.shape[-2]
    allowed = allowed_by(mode, mask, n_q, n_k, *band)
    if lengths is not None:
        counted = lengths.indices() if isinstance(lengths, Number) else np.asarray(lengths)
        valid = np.arange(n_k)[None, None, None, :] < counted.reshape(-1, 1, 1, 1)
        allowed = valid if allowed is None else allowed & valid
    return back_from_heads(attend(q, k, v, scale, allowed, added), layout)


@reference("npu_incre_flash_attention", variants=_infer_variants("scale_value"), accumulates=True)
def npu_incre_flash_attention(
    query: Number,
    key: Any,
    value: Any,
    padding_mask: Any = None,
    pse_shift: Number | None = None,
    atten_mask: Number | None = None,
    actual_seq_lengths: Any = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    inner_precise: int = 1,
) -> Number:
    lengths, heads, kv = actual_seq_lengths, num_heads, num_key_value_heads
    band = (FAR, FAR)
    return _inferred(
        query, key, value, lengths, atten_mask, heads, kv, input_layout, scale_value, 0, band, pse_shift
    )


@reference("npu_prompt_flash_attention", variants=_infer_variants("scale_value"), accumulates=True)
def npu_prompt_flash_attention(
    query: Number,
    key: Number,
    value: Number,
    padding_mask: Any = None,
    pse_shift: Number | None = None,
    atten_mask: Number | None = None,
    actual_seq_lengths: Any = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Any = None,
    sparse_mode: int = 0,
) -> Number:
    lengths, heads, kv = actual_seq_lengths_kv, num_heads, num_key_value_heads
    after = next_tokens if sparse_mode == 4 else FAR
    band = (pre_tokens, after)
    mode, layout = sparse_mode, input_layout
    return _inferred(
        query, key, value, lengths, atten_mask, heads, kv, layout, scale_value, mode, band, pse_shift
    )


@reference("npu_fused_infer_attention_score", variants=_infer_variants("scale"), accumulates=True)
def npu_fused_infer_attention_score(
    query: Number,
    key: Any,
    value: Any,
    pse_shift: Number | None = None,
    atten_mask: Number | None = None,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = FAR,
    next_tokens: int = FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[Number]:
    lengths, heads, kv = actual_seq_lengths_kv, num_heads, num_key_value_heads
    band, mode, layout = (pre_tokens, next_tokens), sparse_mode, input_layout
    return (
        _inferred(query, key, value, lengths, atten_mask, heads, kv, layout, scale, mode, band, pse_shift),
    )
