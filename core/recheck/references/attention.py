"""Attention.

Flash attention hands its weights to the second product in the dtype of the values: that rounding is allowed.
What is not fused may keep the scores in that dtype too, which is allowed of torch's own function alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import dtype_of

from ..number import Number, Random, check_size, in_dtype, joined, where
from ..registry import Variant, reference
from .activations import exponentials

Mask = npt.NDArray[np.bool_]
FAR = 2147483647
MAX_SCORES = 1 << 24
"""Of all heads at once."""
MAX_ALL_SCORES = 1 << 29
SPARSE_MODES = {0: "default", 1: "all", 2: "left-up causal", 3: "right-down causal", 4: "band"}


def attend(
    q: Number,
    k: Number,
    v: Number,
    scale: float,
    allowed: Mask | None = None,
    added: Number | None = None,
    *,
    is_added_first: bool = False,
    rounds_scores: bool = False,
) -> Number:
    """softmax(scale * q k^T + added, where allowed) v of [..., heads, tokens, width]; fewer key heads are
    shared. A row that nothing is allowed of is 0."""
    if q.ndim > 2 and math.prod(q.shape[:-1]) * k.shape[-2] > MAX_SCORES:
        return _by_heads(q, k, v, scale, allowed, added, is_added_first, rounds_scores)
    dtype = dtype_of(q.dtype)
    k, v = (_shared(x, q.shape[-3]) if q.ndim > 2 else x for x in (k, v))
    scores = q @ k.mT
    if is_added_first and added is not None:
        scores = scores + added
    scores = scores * float(scale)
    if not is_added_first and added is not None:
        scores = scores + added
    if rounds_scores:
        scores = in_dtype(scores, dtype)
    if allowed is not None:
        scores = where(np.broadcast_to(allowed, scores.shape), scores, scores.exactly(np.asarray(-np.inf)))
    top = np.max(scores.value, axis=-1, keepdims=True)
    is_empty = np.isneginf(top)
    e = exponentials(where(np.broadcast_to(is_empty, scores.shape), scores.exactly(np.zeros(())), scores), -1)
    weights = in_dtype(e / e.sum(-1, keepdims=True), dtype)
    made = weights @ v
    return where(np.broadcast_to(is_empty, made.shape), made.exactly(np.zeros(())), made)


def _by_heads(
    q: Number,
    k: Number,
    v: Number,
    scale: float,
    allowed: Mask | None,
    added: Number | None,
    is_added_first: bool,
    rounds_scores: bool,
) -> Number:
    """The same head by head: scores of all of them at once would not fit."""
    if math.prod(q.shape[:-1]) * k.shape[-2] > MAX_ALL_SCORES:
        raise NotImplementedError("attention of this many tokens")
    k, v = (_shared(x, q.shape[-3]) for x in (k, v))
    lead = q.shape[:-2]
    shape = (*lead, q.shape[-2], k.shape[-2])
    masks = None if allowed is None else np.broadcast_to(allowed, shape)
    more = None if added is None else added.view(lambda a: np.broadcast_to(a, shape))
    made = [
        attend(
            q[place],
            k[place],
            v[place],
            scale,
            None if masks is None else masks[place],
            None if more is None else more[place],
            is_added_first=is_added_first,
            rounds_scores=rounds_scores,
        )
        for place in np.ndindex(*lead)
    ]
    return joined(made, lambda parts: np.stack(parts)).reshape(*q.shape[:-1], v.shape[-1])


def _shared(x: Number, n_heads: int) -> Number:
    n = x.shape[-3]
    if n == n_heads:
        return x
    if n == 0 or n_heads % n:
        raise ValueError(f"{n_heads} query heads cannot share {n} key heads")
    return x.view(lambda a: np.repeat(a, n_heads // n, axis=-3))


def _causal(q: Number, k: Number, shift: int = 0) -> Mask:
    check_size(q.shape[-2], k.shape[-2])
    return np.tril(np.ones((q.shape[-2], k.shape[-2]), np.bool_), shift)


def _sdpa_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    q, k = arguments["query"], arguments["key"]
    yield from scales_tried(arguments, "scale", q.shape[-1] ** -0.5, q.shape[-1])
    is_causal = bool(arguments.get("is_causal"))
    yield Variant((f"is_causal={not is_causal}",) * 2, {"is_causal": not is_causal, "attn_mask": None})
    if arguments.get("attn_mask") is not None:
        yield Variant(("without the mask", "没有用 mask"), {"attn_mask": None})
        mask = arguments["attn_mask"]
        if mask.dtype == "bool":
            yield Variant(
                ("the mask the other way round", "mask 含义相反"),
                {"attn_mask": Number(1.0 - mask.value, mask.inside, 0.0, True, "bool")},
            )
    if q.shape[-2] != k.shape[-2] and is_causal:
        words = ("causal from the lower right corner", "从右下角对齐的因果 mask")
        mask = Number(_causal(q, k, k.shape[-2] - q.shape[-2]).astype(float), q.inside, 0.0, True, "bool")
        yield Variant(words, {"is_causal": False, "attn_mask": mask})
    yield Variant(("key and value exchanged", "key 与 value 互换"), {"key": arguments["value"], "value": k})


def scales_tried(arguments: dict[str, Any], name: str, default: float, width: int) -> Iterator[Variant]:
    """Other factors that scores are multiplied by."""
    given = default if arguments.get(name) is None else arguments[name]
    tried = {"1/sqrt(d)": width**-0.5, "1": 1.0, "1/d": 1.0 / width, "sqrt(d)": width**0.5}
    for label, value in tried.items():
        if abs(value - given) > 1e-6 * abs(value):
            yield Variant((f"{name}={label}",) * 2, {name: value})


@reference("scaled_dot_product_attention", variants=_sdpa_variants, accumulates=True)
def scaled_dot_product_attention(
    query: Number,
    key: Number,
    value: Number,
    attn_mask: Number | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Number:
    """A boolean mask says what takes part; another one is added to the scores."""
    if dropout_p:
        raise Random("dropout is random")
    allowed: Any = None
    added = None
    if attn_mask is not None and attn_mask.dtype == "bool":
        allowed = attn_mask.value != 0
    elif attn_mask is not None:
        added = attn_mask
    if is_causal:
        allowed = _causal(query, key) if allowed is None else allowed & _causal(query, key)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return attend(query, key, value, factor, allowed, added, rounds_scores=True)


LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "BNSD_BSND", "TND", "SH", "NSD")


def heads_of(x: Number, layout: str, n_heads: int) -> Number:
    """[batch, heads, tokens, width] of a tensor in one of LAYOUTS (without TND)."""
    if layout in ("BNSD", "BNSD_BSND"):
        return x
    if layout == "NSD":
        return x.reshape(1, *x.shape)
    if layout == "BSND":
        return x.view(lambda a: a.transpose(0, 2, 1, 3))
    if layout == "SH":
        x, layout = x.reshape(1, *x.shape), "BSH"
    if layout == "SBH":
        x, layout = x.view(lambda a: a.transpose(1, 0, 2)), "BSH"
    if layout != "BSH":
        raise NotImplementedError(f"layout {layout}")
    batch, tokens, hidden = x.shape
    return x.view(lambda a: a.reshape(batch, tokens, n_heads, hidden // n_heads).transpose(0, 2, 1, 3))


def back_from_heads(x: Number, layout: str) -> Number:
    """`heads_of` undone."""
    batch, heads, tokens, width = x.shape
    if layout == "BNSD":
        return x
    if layout == "NSD":
        return x.reshape(heads, tokens, width)
    if layout in ("BSND", "BNSD_BSND"):
        return x.view(lambda a: a.transpose(0, 2, 1, 3))
    flat = x.view(lambda a: a.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * width))
    if layout == "SBH":
        return flat.view(lambda a: a.transpose(1, 0, 2))
    return flat.reshape(tokens, heads * width) if layout == "SH" else flat


def allowed_by(
    mode: int, mask: Number | None, n_q: int, n_k: int, before: int, after: int, *, is_always: bool = False
) -> Mask | None:
    """What takes part by sparse mode; a mask's 1 takes out. before, after: tokens of the band.

    is_always: whether the band counts without a mask too.
    """
    if mode not in SPARSE_MODES:
        raise NotImplementedError(f"sparse_mode {mode}")
    check_size(n_q, n_k)
    rows, columns = np.arange(n_q)[:, None], np.arange(n_k)[None, :]
    if mode == 2:
        return np.asarray(columns <= rows)
    aligned = rows + (n_k - n_q)
    if mode == 3:
        return np.asarray(columns <= aligned)
    if mode == 4:
        return np.asarray((columns <= aligned + after) & (columns >= aligned - before))
    if mask is None:
        return np.asarray((columns <= rows + after) & (columns >= rows - before)) if is_always else None
    masked = mask.value != 0
    masked = masked[..., -n_q:, :n_k] if masked.shape[-2] > n_q or masked.shape[-1] > n_k else masked
    if mode == 1:
        return np.asarray(~masked)
    return np.asarray(~masked & (columns <= rows + after) & (columns >= rows - before))


def _fusion_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    q, layout = arguments["query"], arguments["input_layout"]
    width = q.shape[-1] if "D" in layout else q.shape[-1] // arguments["head_num"]
    yield from scales_tried(arguments, "scale", 1.0, width)
    mode = arguments.get("sparse_mode", 0)
    if arguments.get("atten_mask") is not None:
        yield Variant(("without the mask", "没有用 mask"), {"atten_mask": None, "sparse_mode": 0})
        mask = arguments["atten_mask"]
        inverted = Number(1.0 - mask.value, mask.inside, 0.0, True, mask.dtype)
        yield Variant(("the mask the other way round", "mask 含义相反"), {"atten_mask": inverted})
    for other in (0, 2, 3):
        if other != mode and (other or arguments.get("atten_mask") is None):
            yield Variant((f"sparse_mode={other}",) * 2, {"sparse_mode": other})
    for named in ("BSH", "SBH", "BSND", "BNSD"):
        if named != layout and len(named) == len(layout):
            yield Variant((f"input_layout={named!r}",) * 2, {"input_layout": named})
    if arguments.get("pse") is not None:
        yield Variant(("without pse", "没有用 pse"), {"pse": None})


@reference("npu_fusion_attention", "npu_fusion_attention_v2", variants=_fusion_variants, accumulates=True)
def npu_fusion_attention(
    query: Number,
    key: Number,
    value: Number,
    head_num: int,
    input_layout: str,
    pse: Number | None = None,
    padding_mask: Any = None,
    atten_mask: Number | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = FAR,
    next_tockens: int = FAR,
    inner_precise: int = 0,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
) -> tuple[Number]:
    """The first output; maxima and sums of the softmax are not compared."""
    if keep_prob < 1:
        raise Random("dropout is random")
    if prefix is not None:
        raise NotImplementedError("prefix")
    if input_layout == "TND":
        ends = [actual_seq_qlen, actual_seq_kvlen]
        return (_packed(query, key, value, ends, scale, atten_mask, sparse_mode, pre_tockens, next_tockens),)
    q = heads_of(query, input_layout, head_num)
    width = q.shape[-1]
    k, v = (
        heads_of(x, input_layout, x.shape[-1] // width if input_layout[-1] == "H" else head_num)
        for x in (key, value)
    )
    n_q, n_k = q.shape[-2], k.shape[-2]
    allowed = allowed_by(sparse_mode, atten_mask, n_q, n_k, pre_tockens, next_tockens)
    return (back_from_heads(attend(q, k, v, scale, allowed, pse, is_added_first=True), input_layout),)


def _packed(
    query: Number,
    key: Number,
    value: Number,
    ends: list[Any],
    scale: float,
    mask: Number | None,
    mode: int,
    before: int,
    after: int,
) -> Number:
    """[tokens of all sequences, heads, width]; ends: where each sequence ends, of queries and of keys."""
    listed = [x.indices().tolist() if isinstance(x, Number) else x for x in ends]
    if not all(isinstance(x, list) and x for x in listed):
        raise TypeError("TND without actual_seq_qlen and actual_seq_kvlen")
    starts = [[0, *x[:-1]] for x in listed]
    parts = []
    for q0, q1, k0, k1 in zip(starts[0], listed[0], starts[1], listed[1], strict=True):
        q, k, v = query[q0:q1], key[k0:k1], value[k0:k1]
        q, k, v = (x.swapaxes(0, 1) for x in (q, k, v))
        allowed = allowed_by(mode, mask, q1 - q0, k1 - k0, before, after)
        parts.append(attend(q, k, v, scale, allowed).swapaxes(0, 1))
    return joined(parts, lambda arrays: np.concatenate(arrays, axis=0))
