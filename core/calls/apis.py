"""What is known of single APIs by name: which hand out, overwrite or change nothing; where weights are."""

from __future__ import annotations

UNINITIALISED = frozenset(
    ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_with_format")
)
"""APIs whose output holds whatever was in memory: a difference there means nothing."""

HARMLESS = UNINITIALISED | {"view_as", "ones_like", "zeros_like", "detach", "contiguous", "requires_grad_"}
"""Unmatched calls of these change no value that a later call reads: never an origin."""

SHAPE_ONLY = frozenset(
    (
        "empty_like", "new_empty", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
        "new_full", "rand_like", "randn_like", "randint_like", "new_empty_strided", "size", "dim",
    )
)  # fmt: skip
"""APIs that read no more of their first argument than its shape and type."""

OVERWRITERS = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_")
)
"""APIs that replace all that their first argument held: what was in it does not matter."""

PARTIAL_WRITERS = frozenset(
    ("__setitem__", "index_put_", "index_copy_", "index_fill_", "scatter_", "masked_scatter_")
)
"""APIs that replace a part of their first argument: the rest stays what it was."""

RANDOM = frozenset(
    (
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli",
        "bernoulli_", "multinomial", "normal", "normal_", "uniform_", "random_", "exponential_", "cauchy_",
        "geometric_", "log_normal_", "poisson", "binomial", "dropout", "dropout_", "dropout1d", "dropout2d",
        "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout", "native_dropout", "rrelu",
        "rrelu_", "gumbel_softmax", "fractional_max_pool2d", "fractional_max_pool3d", "trunc_normal_",
        "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "_npu_dropout",
        "npu_dropout_with_add_softmax", "npu_random_choice_with_mask", "dropout_with_byte_mask",
    )
)  # fmt: skip
"""APIs that draw random numbers (torch.random and torch.nn.functional of the PyTorch documentation, and those
of torch_npu): the same input twice need not give the same output."""

_RANDOM_WORDS = frozenset(name.strip("_") for name in RANDOM) | {"npu_dropout", "exponential"}


def is_random(api: str) -> bool:
    """Whether an API draws random numbers, in place or not, whatever namespace or overload stands with it."""
    return any(part.strip("_") in _RANDOM_WORDS for part in api.split("."))


DROPOUT_POSITIONS = {"scaled_dot_product_attention": ("input 4", 0), "npu_fusion_attention": ("input 9", 1)}
"""Where an API is given by position how much it drops or keeps at random, and what means nothing is."""

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

LOGARITHMS = frozenset(("log", "log2", "log10"))
"""APIs that make -Inf of 0, which many models want."""

FILLERS = frozenset(
    (
        "masked_fill", "fill", "full", "full_like", "new_full", "where", "index_fill", "masked_scatter",
        "setitem", "index_put", "scatter", "scalar_tensor", "tensor", "as_tensor", "pad",
        "constant_pad_nd", "clamp", "clamp_min", "clamp_max", "clip", "nan_to_num", "triu", "tril",
    )
)  # fmt: skip
"""APIs that write a value they are given (names without the in-place underscore)."""

PURE_FILLERS = frozenset(("masked_fill", "fill", "full", "full_like", "new_full", "where", "index_fill"))
"""Of those the ones whose output is made of their arguments alone."""

VIEWS = frozenset(
    (
        "view", "view_as", "reshape", "transpose", "permute", "t", "squeeze", "unsqueeze", "flatten",
        "expand", "alias", "detach", "chunk", "split", "unbind", "getitem", "narrow", "select",
    )
)  # fmt: skip
"""APIs whose output is the memory that they are given, or a part of it."""

CASTS = frozenset(("to", "type", "type_as", "half", "bfloat16", "float", "double", "npu_dtype_cast"))
"""Hand on the same values in another dtype."""

CARRIERS = VIEWS | CASTS | {
    "dropout", "contiguous", "clone", "cat", "stack", "roll", "gather",
}  # fmt: skip
"""APIs that hand on the values they are given (those of dropout, outside of training)."""

MASK_TAKERS = frozenset(
    (
        "add", "sub", "where", "masked_fill", "softmax", "log_softmax", "minimum", "maximum", "min", "max",
        "baddbmm",
    )
)  # fmt: skip
"""APIs that an attention mask is given to (names without underscores)."""

MASK_CARRIERS = VIEWS | CASTS | {
    "contiguous", "clone", "cat", "stack", "repeat", "expand_as", "broadcast_to", "index_select",
    "repeat_interleave", "triu", "tril", "setitem",
}  # fmt: skip
"""APIs that a mask goes through on its way there."""

COMPARISONS = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "equal", "isclose", "allclose", "isinf", "isnan", "isfinite")
)
"""APIs that are given an infinite number to compare with."""

_DUNDERS = frozenset(("add", "sub", "mul", "truediv", "matmul", "pow", "div"))
_IN_PLACE_DUNDERS = _DUNDERS | {"floordiv", "mod", "and", "or", "xor", "lshift", "rshift"}
_SAME = {"truediv": "div", "true_divide": "div", "multiply": "mul", "subtract": "sub"}


def plain_api(api: str) -> str:
    """`__rmul__`, `mul_` and `__imul__` are all "mul"."""
    word = api.rstrip("_") if not api.startswith("__") else api.strip("_")
    if api.startswith("__") and word[:1] in ("r", "i") and word[1:] in _DUNDERS:
        word = word[1:]
    return _SAME.get(word, word)


def is_in_place(api: str) -> bool:
    """Whether an API writes into the memory of its first argument: `add_`, `__iadd__`, `__setitem__`."""
    if api.startswith("__"):
        return api == "__setitem__" or api[2:3] == "i" and api[3:].strip("_") in _IN_PLACE_DUNDERS
    return api.endswith("_")


def is_reversed(api: str) -> bool:
    """`__rsub__` and its like are given their right operand first."""
    return api.startswith("__r") and plain_api(api) in _DUNDERS


def takes_mask(api: str, io: str) -> bool:
    """Whether an argument (io as in `LeafColumns.io`) can be an attention mask."""
    word = plain_api(api)
    is_fused = "attention" in word or "softmax" in word
    return word in MASK_TAKERS or is_fused or "mask" in io or "attn_bias" in io
