"""Makes expected.json beside it, with torch in float64: `python make_expected.py`. Only who adds a reference
needs it; tests read the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

# ruff: noqa: E501 - a case a line
torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def x(*shape: int, scale: float = 1.0) -> torch.Tensor:
    # few digits: the file stays small and says exactly what was computed
    return (torch.randn(*shape) * scale * 64).round() / 64


def positive(*shape: int) -> torch.Tensor:
    return x(*shape).abs() + 0.25


def whole(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


Case = tuple[str, Any, tuple[Any, ...], dict[str, Any]]
MASK = torch.tensor([[True, False, True], [False, True, False]])
A, B, BATCH = x(3, 4), x(4, 5), x(2, 3, 4)
TARGET = torch.tensor([1, -100, 0, 2])

CASES: list[Case] = [
    ("linear", F.linear, (x(2, 3, 4), x(5, 4)), {}),
    ("linear", F.linear, (x(3, 4), x(5, 4), x(5)), {}),
    ("matmul", torch.matmul, (A, B), {}),
    ("matmul", torch.matmul, (BATCH, x(4, 2)), {}),
    ("matmul", torch.matmul, (x(4), x(4)), {}),
    ("bmm", torch.bmm, (BATCH, x(2, 4, 3)), {}),
    ("mm", torch.mm, (A,), {"mat2": B}),
    ("mv", torch.mv, (A, x(4)), {}),
    ("addmm", torch.addmm, (x(3, 5), A, B), {"beta": 0.5, "alpha": 2.0}),
    ("addmm", torch.addmm, (x(5), A, B), {}),
    ("baddbmm", torch.baddbmm, (x(2, 3, 3), BATCH, x(2, 4, 3)), {}),
    ("einsum", torch.einsum, ("bij,bkj->bik", BATCH, x(2, 2, 4)), {}),
    ("einsum", torch.einsum, ("ij,jk", A, B), {}),
    ("einsum", torch.einsum, ("ij->j", A), {}),
    ("outer", torch.outer, (x(3), x(4)), {}),
    ("add", torch.add, (A, x(4)), {"alpha": 3}),
    ("add", torch.add, (A, 0.1), {}),
    ("sub", torch.sub, (A, x(3, 1)), {"alpha": 0.5}),
    ("rsub", torch.rsub, (A, 2.0), {}),
    ("mul", torch.mul, (A, x(4)), {}),
    ("mul", torch.mul, (A, 0.3), {}),
    ("div", torch.div, (A, positive(4)), {}),
    ("div", torch.div, (A, positive(4)), {"rounding_mode": "floor"}),
    ("div", torch.div, (A, positive(4)), {"rounding_mode": "trunc"}),
    ("addcmul", torch.addcmul, (A, A, x(4)), {"value": 0.5}),
    ("addcdiv", torch.addcdiv, (A, A, positive(4)), {"value": 0.5}),
    ("lerp", torch.lerp, (A, x(3, 4), 0.25), {}),
    ("pow", torch.pow, (positive(3, 4), 2.5), {}),
    ("pow", torch.pow, (A, 3), {}),
    ("pow", torch.pow, (2.0, A), {}),
    *(
        (name, getattr(torch, name), (positive(3, 4),), {})
        for name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p")
    ),
    *(
        (name, getattr(torch, name), (x(3, 4),), {})
        for name in ("exp", "exp2", "expm1", "sin", "cos", "abs", "neg")
    ),
    *((name, getattr(torch, name), (x(3, 4),), {}) for name in ("sigmoid", "tanh", "erf", "square", "sign")),
    *(
        (name, getattr(torch, name), (x(3, 4, scale=3),), {})
        for name in ("floor", "ceil", "trunc", "round", "reciprocal")
    ),
    ("clamp", torch.clamp, (A, -0.5, 0.75), {}),
    ("clamp", torch.clamp, (A,), {"max": 0.1}),
    ("clamp_min", torch.clamp_min, (A, 0.1), {}),
    ("clamp_max", torch.clamp_max, (A, 0.1), {}),
    *((name, getattr(torch, name), (A, x(3, 4)), {}) for name in ("maximum", "minimum", "fmax", "fmin")),
    ("where", torch.where, (MASK, x(2, 3), x(2, 3)), {}),
    ("where", torch.where, (MASK, x(2, 3), -1.5), {}),
    ("masked_fill", torch.masked_fill, (x(2, 3), MASK, -10000.0), {}),
    (
        "nan_to_num",
        torch.nan_to_num,
        (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),),
        {"nan": 2.0, "posinf": 9.0, "neginf": -9.0},
    ),
    *(
        (name, getattr(torch, name), (whole(3, 6), whole(3, 6)), {})
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or")
    ),
    ("logical_not", torch.logical_not, (MASK,), {}),
    ("layer_norm", F.layer_norm, (BATCH, [4], x(4), x(4)), {"eps": 1e-3}),
    ("layer_norm", F.layer_norm, (BATCH, [3, 4]), {}),
    ("rms_norm", F.rms_norm, (BATCH, [4], x(4)), {"eps": 1e-3}),
    ("rms_norm", F.rms_norm, (BATCH, [4]), {}),
    ("relu", F.relu, (A,), {}),
    ("leaky_relu", F.leaky_relu, (A, 0.2), {}),
    ("softplus", F.softplus, (x(3, 4, scale=12),), {}),
    ("gelu", F.gelu, (x(3, 4, scale=2),), {}),
    ("gelu", F.gelu, (x(3, 4, scale=2),), {"approximate": "tanh"}),
    ("silu", F.silu, (x(3, 4, scale=2),), {}),
    ("softmax", F.softmax, (BATCH,), {"dim": 1}),
    ("softmax", F.softmax, (torch.tensor([[0.5, float("-inf"), 2.0]]), -1), {}),
    ("log_softmax", F.log_softmax, (BATCH,), {"dim": -1}),
    ("sum", torch.sum, (BATCH,), {}),
    ("sum", torch.sum, (BATCH, [0, 2]), {"keepdim": True}),
    ("mean", torch.mean, (BATCH, 1), {}),
    ("cumsum", torch.cumsum, (BATCH, 1), {}),
    ("max", torch.max, (BATCH, 1), {}),
    ("max", torch.max, (BATCH,), {}),
    ("min", torch.min, (BATCH, -1), {"keepdim": True}),
    ("max", torch.max, (A, x(3, 4)), {}),
    ("amax", torch.amax, (BATCH, [0, 1]), {}),
    ("amin", torch.amin, (BATCH, 2), {}),
    ("argmax", torch.argmax, (BATCH, 1), {}),
    ("argmin", torch.argmin, (BATCH, 1), {"keepdim": True}),
    ("var", torch.var, (BATCH, 1), {}),
    ("var", torch.var, (BATCH, [1, 2]), {"correction": 0}),
    ("std", torch.std, (BATCH, -1), {"unbiased": False}),
    ("norm", torch.norm, (BATCH,), {}),
    ("norm", torch.norm, (BATCH, 1), {"dim": 2}),
    ("norm", torch.norm, (BATCH, float("inf"), 1), {}),
    ("cross_entropy", F.cross_entropy, (x(4, 3), TARGET), {}),
    ("cross_entropy", F.cross_entropy, (x(4, 3), TARGET), {"reduction": "sum", "label_smoothing": 0.1}),
    ("cross_entropy", F.cross_entropy, (x(4, 3), TARGET, positive(3)), {"label_smoothing": 0.2}),
    ("cross_entropy", F.cross_entropy, (x(4, 3), whole(3, 4)), {"reduction": "none"}),
    ("cross_entropy", F.cross_entropy, (x(2, 3, 5), whole(3, 2, 5)), {"ignore_index": 1}),
    ("cross_entropy", F.cross_entropy, (x(3), torch.tensor(2)), {}),
    ("nll_loss", F.nll_loss, (x(4, 3), TARGET, positive(3)), {}),
    ("mse_loss", F.mse_loss, (A, x(3, 4)), {}),
    ("l1_loss", F.l1_loss, (A, x(3, 4)), {"reduction": "sum"}),
    ("view", torch.Tensor.view, (BATCH, 6, -1), {}),
    ("reshape", torch.reshape, (BATCH, [4, 6]), {}),
    ("transpose", torch.transpose, (BATCH, 0, -1), {}),
    ("permute", torch.Tensor.permute, (BATCH, 2, 0, 1), {}),
    ("t", torch.t, (A,), {}),
    ("squeeze", torch.squeeze, (x(1, 3, 1),), {}),
    ("squeeze", torch.squeeze, (x(1, 3, 1), 0), {}),
    ("unsqueeze", torch.unsqueeze, (A, 1), {}),
    ("flatten", torch.flatten, (BATCH, 1), {}),
    ("expand", torch.Tensor.expand, (x(3, 1), 2, -1, 4), {}),
    ("repeat", torch.Tensor.repeat, (A, 2, 1, 3), {}),
    ("repeat_interleave", torch.repeat_interleave, (A, 2), {"dim": 0}),
    ("cat", torch.cat, ([A, x(2, 4)],), {}),
    ("stack", torch.stack, ([A, x(3, 4)],), {"dim": 1}),
    ("split", torch.split, (x(5, 2), 2), {}),
    ("split", torch.split, (x(5, 2), [1, 4]), {"dim": 0}),
    ("chunk", torch.chunk, (x(2, 7), 3), {"dim": -1}),
    ("unbind", torch.unbind, (BATCH, 1), {}),
    ("narrow", torch.narrow, (BATCH, 1, 1, 2), {}),
    ("select", torch.select, (BATCH, 1, 2), {}),
    ("roll", torch.roll, (A, 1, 0), {}),
    ("flip", torch.flip, (A, [0]), {}),
    ("tril", torch.tril, (A, -1), {}),
    ("triu", torch.triu, (BATCH,), {"diagonal": 1}),
    ("embedding", F.embedding, (whole(5, 2, 3), x(5, 4)), {}),
    ("index_select", torch.index_select, (BATCH, 1, torch.tensor([2, 0])), {}),
    ("gather", torch.gather, (BATCH, 1, whole(3, 2, 2, 4)), {}),
    *(
        (
            "scaled_dot_product_attention",
            F.scaled_dot_product_attention,
            (x(2, 4, 3, 8), x(2, heads, 5, 8), x(2, heads, 5, 8)),
            named,
        )
        for heads, named in (
            (4, {}),
            (4, {"is_causal": True}),
            (4, {"scale": 0.5}),
            (2, {"enable_gqa": True}),
            (4, {"attn_mask": torch.tensor([[True, True, False, True, False]] * 3)}),
            (4, {"attn_mask": x(3, 5)}),
        )
    ),
    ("one_hot", F.one_hot, (whole(4, 5), 6), {}),
    ("bincount", torch.bincount, (whole(4, 9),), {"minlength": 6}),
]


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        numbers = value.tolist() if value.dtype == torch.float64 else value.to(torch.int64).tolist()
        return {
            "tensor": numbers,
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
        }
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def main() -> None:
    made = []
    for name, function, given, named in CASES:
        found = function(*given, **named)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        made.append({"name": name, "given": plain(given), "named": plain(named), "outputs": plain(outputs)})
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in made)
    Path(__file__).with_name("expected.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
