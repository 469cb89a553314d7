"""What is known of single APIs by name: which hand out, overwrite or change nothing; where weights are."""

from __future__ import annotations

UNINITIALISED = frozenset(
    ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_with_format")
)
"""APIs whose output holds whatever was in memory: a difference there means nothing."""

HARMLESS = UNINITIALISED | {"view_as", "ones_like", "zeros_like", "detach", "contiguous", "requires_grad_"}
"""Unmatched calls of these change no value that a later call reads: never an origin."""

OVERWRITERS = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_")
)
"""APIs that replace all that their first argument held: what was in it does not matter."""

PARTIAL_WRITERS = frozenset(
    ("__setitem__", "index_put_", "index_copy_", "index_fill_", "scatter_", "masked_scatter_")
)
"""APIs that replace a part of their first argument: the rest stays what it was."""

WEIGHT_POSITIONS = {
    "linear": (1, 2), "embedding": (1,), "conv1d": (1, 2), "conv2d": (1, 2), "conv3d": (1, 2),
    "layer_norm": (2, 3), "rms_norm": (2,), "batch_norm": (1, 2, 3, 4), "group_norm": (2, 3),
    "npu_rms_norm": (1,), "npu_add_rms_norm": (2,),
}  # fmt: skip
"""Input positions of functional APIs that hold parameters, which L1 captures do not mark."""

WEIGHT_KEYWORDS = frozenset(("weight", "bias", "gamma", "running_mean", "running_var"))
"""Keywords of the same APIs that hold parameters."""

COMMUNICATION = ("Distributed", "MintDistributed")
"""Prefixes of API calls in which ranks exchange tensors."""
