"""Which documented switch makes an operator give the same twice."""

from __future__ import annotations

from npulse.core.calls.apis import COMMUNICATION, RANDOM, plain_api
from npulse.core.formats.msprobe.records import CallName

MATMULS = frozenset(
    (
        "matmul",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "addbmm",
        "linear",
        "einsum",
        "npu_linear",
        "npu_bmmV2",
        "npu_quant_matmul",
    )
)
"""Products of matrices, whose k axis may be split over cores."""

ATOMIC = frozenset(
    (
        "index_add", "index_put", "index_copy", "scatter_add", "scatter", "scatter_reduce", "setitem",
        "put", "bincount", "histc", "embedding", "embedding_bag", "cumsum", "gather", "index_select",
        "repeat_interleave", "interpolate", "ctc_loss", "nll_loss", "max_pool3d", "avg_pool3d", "grid_sample",
    )
)  # fmt: skip
"""Operators that add up in no fixed order (those that torch.use_deterministic_algorithms names)."""


def switch_for(name: CallName) -> str:
    """Key of the text of `own.texts` that says what helps."""
    if name.prefix in COMMUNICATION:
        return "switch-collective"
    if name.api in RANDOM or "dropout" in (name.api + name.cls).lower():
        return "switch-random"
    api = plain_api(name.api)
    if api in MATMULS or "Linear" in name.cls:
        return "switch-matmul"
    if "attention" in api.lower():
        return "switch-attention"
    return "switch-atomic" if api in ATOMIC else "switch-operator"
