"""Fused operators and what they do in single steps: the table of fusions.

One row a fusion. A form is a sequence of operator words (`operators.operator_of`) with "|" between
alternatives; "?" marks a step that may be missing, "+" one that may be there several times.
"""

from __future__ import annotations

from functools import lru_cache

from npulse.core.dataclass import dataclass

_RMS = ("to? pow|square|mul mean add rsqrt mul to? mul?", "to? pow|square|mul mean add sqrt div mul?")
_LAYER_NORM = (
    "mean sub pow|square|mul mean add rsqrt|sqrt mul|div mul? add?",
    "mean var sub add sqrt div mul? add?",
)
_ATTENTION = (
    "mul|div? transpose? matmul|baddbmm|einsum mul|div? add|masked_fill|where? max? "
    "softmax|scaled_masked_softmax to? dropout? matmul|einsum"
)
_SPLIT = "chunk|split|tensor_split|unbind|getitem"

_TABLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    # id, fused operators, forms. Sources: torch_npu API reference, MindSpeed documents of fused operators
    ("swiglu", ("swiglu",), (
        f"{_SPLIT}? {_SPLIT}? silu mul", f"{_SPLIT}? {_SPLIT}? sigmoid mul mul")),
    ("geglu", ("geglu", "npu_gelu_mul"), (f"{_SPLIT}? {_SPLIT}? gelu mul",)),
    ("silu", ("silu",), ("sigmoid mul", "neg exp add div")),
    ("gelu", ("gelu",), (
        "mul? pow mul add mul tanh mul? add mul mul?", "mul? div|mul erf mul? add mul mul?",
        "mul sigmoid mul")),
    ("rms-norm", ("rms_norm",), _RMS),
    ("add-rms-norm", ("npu_add_rms_norm", "npu_add_rms_norm_cast", "npu_add_rms_norm_quant"),
        ("add to? rms_norm", *(f"add {form}" for form in _RMS))),
    ("layer-norm", ("layer_norm",), _LAYER_NORM),
    ("add-layer-norm", ("npu_add_layer_norm",), ("add add? layer_norm",)),
    ("deep-norm", ("npu_deep_norm",), ("mul add layer_norm",)),
    ("dropout-add-layer-norm",
        ("npu_dropout_with_add_layer_norm", "npu_dropout_add_layer_norm", "dropout_add_layer_norm"),
        ("dropout add layer_norm", "add dropout add layer_norm")),
    ("bias-dropout-add", ("bias_dropout_add", "npu_bias_dropout_add"), ("add dropout add",)),
    ("bias-gelu", ("bias_gelu", "npu_bias_gelu"), ("add gelu",)),
    ("softmax", ("softmax",), ("max|amax? sub exp sum div",)),
    ("cross-entropy", ("cross_entropy",), ("log_softmax nll_loss",)),
    ("scaled-masked-softmax", ("scaled_masked_softmax",), ("mul|div? masked_fill|add|where softmax",)),
    ("attention", ("scaled_dot_product_attention",), (_ATTENTION,)),
    ("rotary", ("rotary_mul",), (
        f"mul {_SPLIT}? {_SPLIT}? neg cat|stack mul add",
        f"{_SPLIT}? {_SPLIT}? neg cat|stack mul mul add",
        f"{_SPLIT}? mul mul sub mul mul add cat|stack")),
    ("linear", ("linear", "addmm", "baddbmm"), ("transpose? matmul add",)),
    ("matmul-all-reduce", ("npu_mm_all_reduce_base", "npu_mm_all_reduce"),
        ("matmul|linear add? distributed.all_reduce",)),
    ("all-gather-matmul", ("npu_all_gather_base_mm",),
        ("distributed.all_gather_into_tensor|distributed.all_gather matmul|linear",)),
    ("matmul-reduce-scatter", ("npu_mm_reduce_scatter_base",),
        ("matmul|linear distributed.reduce_scatter_tensor|distributed.reduce_scatter",)),
    ("quant-matmul", ("npu_quant_matmul",), ("to? to? matmul|linear add? mul mul? add? to?",)),
    ("weight-quant-matmul", ("npu_weight_quant_batchmatmul",), ("to? sub|add? mul matmul|linear add?",)),
    ("dynamic-quant", ("npu_dynamic_quant",), ("abs max div|mul div|mul round clamp? to?",)),
    ("quantize", ("npu_quantize",), ("div|mul add? round add? clamp to?",)),
    ("dequantize", ("npu_anti_quant",), ("to sub|add? mul",)),
    ("moe-gating", ("npu_moe_gating_top_k_softmax", "npu_moe_gating_top_k"),
        ("to? softmax topk sum? div?", "sigmoid add? topk gather? sum? div? mul?")),
    ("moe-permute", ("npu_moe_token_permute", "npu_moe_init_routing", "npu_moe_init_routing_v2"),
        ("argsort|sort argsort? div|floor_divide? index_select|getitem|gather",)),
    ("moe-unpermute", ("npu_moe_token_unpermute", "npu_moe_finalize_routing"), (
        "index_copy|index_put|scatter|index_select|getitem mul? sum", "index_select|getitem mul? sum add?")),
    ("grouped-matmul", ("grouped_matmul",), ("matmul|linear+ cat",)),
    ("feed-forward", ("npu_ffn",), ("matmul|linear add? gelu|relu|silu|swiglu mul? matmul|linear add?",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a form."""

    words: frozenset[str]
    is_optional: bool = False
    is_repeated: bool = False


Form = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Fusion:
    """A row of the table: which operators are fused ones, and the forms in which others do the same."""

    name: str
    fused: tuple[str, ...]
    forms: tuple[Form, ...]


@lru_cache(maxsize=1)
def fusions() -> dict[str, Fusion]:
    """The row of each fused operator's word."""
    rows = (Fusion(name, fused, tuple(_form(text) for text in forms)) for name, fused, forms in _TABLE)
    return {word: row for row in rows for word in row.fused}


def table() -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """The rows as they are written: id, fused operators, forms."""
    return _TABLE


def _form(text: str) -> Form:
    steps = []
    for part in text.split():
        words = frozenset(part.rstrip("?+").split("|"))
        steps.append(Step(words, part.endswith("?"), part.endswith("+")))
    return tuple(steps)
