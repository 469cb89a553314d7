"""What an operator is called whoever calls it: one word for the ways to write the same operator.

The words serve to find partners, not to judge: two calls of one word may still differ in every figure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from npulse.core.calls.apis import COMMUNICATION, plain_api
from npulse.core.formats.msprobe.records import CallName, Dump

SYNONYMS: dict[str, tuple[str, ...]] = {
    "matmul": ("mm", "bmm", "batch_matmul", "batchmatmul", "npu_bmmv2", "npu_batch_matmul", "matmulext"),
    "linear": ("npu_linear", "dense"),
    "addmm": ("addmmext",),
    "gelu": ("npu_gelu", "fast_gelu", "npu_fast_gelu"),
    "silu": ("npu_silu", "swish"),
    "softmax": ("softmaxext",),
    "layer_norm": ("npu_layer_norm", "layernorm", "layernormext"),
    "rms_norm": ("npu_rms_norm", "rmsnorm"),
    "group_norm": ("npu_group_norm", "groupnorm"),
    "add": ("addext", "tensoradd"),
    "sub": ("subext",),
    "neg": ("negative",),
    "abs": ("absolute",),
    "eq": ("equal_to",),
    "max": ("amax", "reducemax"),
    "min": ("amin", "reducemin"),
    "sum": ("reducesum", "sumext"),
    "mean": ("reducemean", "meanext"),
    "cat": ("concat", "concatenate"),
    "getitem": ("tensor_getitem",),
    "setitem": ("tensor_setitem",),
    "to": ("type", "type_as", "half", "bfloat16", "float", "double", "npu_dtype_cast", "cast", "astype"),
    "view": ("reshape", "npu_reshape"),
    "transpose": ("permute", "t", "swapaxes", "npu_transpose", "npu_confusion_transpose"),
    "expand": ("broadcast_to", "expand_as"),
    "dropout": ("npu_dropout", "dropoutext", "dropout2d"),
    "embedding": ("npu_embedding", "gather_embedding", "wordembedding"),
    "div": ("realdiv",),
    "floor_divide": ("floordiv", "floordivide"),
    "cross_entropy": ("npu_cross_entropy_loss", "cross_entropy_loss"),
    "scaled_dot_product_attention": ("npu_fusion_attention", "npu_fusion_attention_v2",
        "flash_attention_score", "flash_attn_func", "npu_prompt_flash_attention", "npu_incre_flash_attention",
        "npu_fused_infer_attention_score", "npu_fused_infer_attention_score_v2"),
    "rotary_mul": ("npu_rotary_mul", "apply_rotary_pos_emb", "npu_apply_rotary_pos_emb",
        "npu_rotary_position_embedding", "rotary_position_embedding"),
    "swiglu": ("npu_swiglu",),
    "geglu": ("npu_geglu",),
    "grouped_matmul": ("npu_grouped_matmul", "npu_gmm"),
    "scaled_masked_softmax": ("npu_scaled_masked_softmax", "scaled_masked_softmax"),
    "all_gather_into_tensor": ("_all_gather_base",),
    "reduce_scatter_tensor": ("_reduce_scatter_base",),
}  # fmt: skip
"""Word -> other words for it. torch 2.x, torch_npu 2.x, mindspore.mint and mindspore.ops 2.x documents."""

_VERSION = re.compile(r"(?:V\d+|Operation)+$")
_WORD = {other: word for word, others in SYNONYMS.items() for other in others}


@lru_cache(maxsize=4096)
def operator_of(prefix: str, api: str) -> str:
    """One word for an API of torch, torch_npu or MindSpore, whatever object it is called on.

    `Torch.matmul`, `Tensor.__matmul__`, `Mint.bmm` are "matmul"; `Functional.gelu` and `NPU.npu_gelu` are
    "gelu". Communication keeps its prefix: `Distributed.all_reduce` is no `Tensor.all_reduce`.
    """
    word = plain_api(api.rpartition(".")[2]).lower() or api
    word = _WORD.get(word, word)
    return f"distributed.{word.strip('_')}" if prefix in COMMUNICATION else word


def type_of(name: CallName, even: frozenset[str] = frozenset()) -> str:
    """What two entries must share to be partners: the operator, or a module's path, and the direction.

    even: spellings (`spelling_of`) that both sides have equally often; they stand for themselves alone.
    """
    if name.kind == "api":
        spelling = spelling_of(name)
        return spelling if spelling in even else f"{operator_of(name.prefix, name.api)} {name.direction}"
    if name.kind in ("module", "grad"):
        return f"module {name.path or name.cls} {name.direction}"
    return name.full


def type_said(said: str) -> str:
    """The same, of what another tool than msprobe says that a call runs: "MatMulV2", "module PATH"."""
    if said.startswith("module "):
        return f"{said} forward"
    word = _VERSION.sub("", said)
    return f"{operator_of('', word)} forward" if word else ""


def has_types(target: Dump, golden: Dump) -> bool:
    """Whether both sides tell what a call runs, and their names do not already say which belong together."""
    if target.operators is None and golden.operators is None:
        return False
    if any(dump.operators is None and dump.located is not None for dump in (target, golden)):
        return False  # plain files and golden tensors have names alone
    known = set(golden.calls.names)
    n_shared = sum(name in known for name in target.calls.names)
    return 2 * n_shared < min(len(target.calls.names), len(golden.calls.names))


def spelling_of(name: CallName) -> str:
    """An API as it was called, with its direction."""
    return f"{name.prefix}.{name.api} {name.direction}"


def even_spellings(target: Iterable[CallName], golden: Iterable[CallName]) -> frozenset[str]:
    """APIs that both sides call equally often under one name: no need to look for them under another."""
    counts = [Counter(spelling_of(name) for name in side if name.kind == "api") for side in (target, golden)]
    return frozenset(spelling for spelling, n in counts[0].items() if counts[1][spelling] == n)
