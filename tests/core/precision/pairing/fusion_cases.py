"""A case for every form of the table of fusions: which fused operator, and its steps in arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..faulty_net import Fault, Leaf
from .step_net import Array, StepNet, erf

TOKENS, HIDDEN, HEADS, EXPERTS = 6, 8, 2, 3
Layer = Callable[[StepNet, str, Leaf], Leaf]

CASES: dict[tuple[str, int], tuple[str, Layer]] = {}
"""(row of the table, number of its form) -> the fused operator and a layer that calls it once."""

WITH_BACKWARD = (
    ("attention", 0), ("rms-norm", 0), ("layer-norm", 0), ("swiglu", 0), ("rotary", 0), ("rotary", 2),
    ("add-rms-norm", 1), ("add-layer-norm", 0), ("cross-entropy", 0), ("linear", 0),
)  # fmt: skip


def case(row: str, form: int, api: str) -> Callable[[Layer], Layer]:
    def put(layer: Layer) -> Layer:
        CASES[row, form] = (api, layer)
        return layer

    return put


def case_net(
    key: tuple[str, int], *, is_fused: bool, is_golden: bool, fault: Fault | None = None, **more: Any
) -> StepNet:
    """One side: two layers of a case that have run, and their backward where the case has one."""
    net = StepNet(fault or Fault(), ulp_noise=not is_golden, is_golden=is_golden, is_fused=is_fused)
    x = Leaf(np.random.default_rng(11).standard_normal((TOKENS, HIDDEN)).astype(np.float32))
    for number in range(2):
        # with a bias: behind a norm alone a gradient along the norm's output would be 0
        x = net.affine(
            x, net.parameter(f"{number}.in", HIDDEN, HIDDEN), net.parameter(f"{number}.bias", HIDDEN)
        )
        x = project(net, f"{number}.out", CASES[key][1](net, f"{number}", x))
    if key in WITH_BACKWARD:
        net.back_from(x)
    return net


def project(net: StepNet, path: str, x: Leaf, n: int = HIDDEN) -> Leaf:
    return net.affine(x, net.parameter(path, n, x.value.shape[-1]))


def fixed(path: str, *shape: int, dtype: str = "float32") -> Leaf:
    """Values that both sides are given: masks, what another rank holds, quantised weights."""
    rng = np.random.default_rng([7, len(path), *path.encode()])
    if dtype == "int8":
        return Leaf(rng.integers(-100, 100, shape).astype(dtype))
    return Leaf((0.5 + rng.random(shape)).astype(dtype))


# -- activations -----------------------------------------------------------------------------------


def gated(api: str, steps: Callable[[StepNet, Leaf], Leaf]) -> Layer:
    return lambda net, path, x: net.fused(api, steps, project(net, f"{path}.both", x, 2 * HIDDEN))


def swiglu(net: StepNet, x: Leaf) -> Leaf:
    gate, up = net.chunk(x)
    return net.mul(net.silu(gate), up)


def swiglu_by_sigmoid(net: StepNet, x: Leaf) -> Leaf:
    gate, up = net.chunk(x)
    return net.mul(net.mul(gate, net.sigmoid(gate)), up)


def geglu(net: StepNet, x: Leaf) -> Leaf:
    gate, up = net.chunk(x)
    return net.mul(net.gelu(gate), up)


case("swiglu", 0, "NPU.npu_swiglu")(gated("NPU.npu_swiglu", swiglu))
case("swiglu", 1, "NPU.npu_swiglu")(gated("NPU.npu_swiglu", swiglu_by_sigmoid))
case("geglu", 0, "NPU.npu_geglu")(gated("NPU.npu_geglu", geglu))


def alone(row: str, form: int, api: str, steps: Callable[[StepNet, Leaf], Leaf]) -> None:
    case(row, form, api)(lambda net, path, x: net.fused(api, steps, x))


alone("silu", 0, "Functional.silu", lambda net, x: net.mul(x, net.sigmoid(x)))
alone("silu", 1, "NPU.npu_silu", lambda net, x: net.div(x, net.add(net.exp(net.neg(x)), 1.0)))


def gelu_by_tanh(net: StepNet, x: Leaf) -> Leaf:
    half, cube = net.mul(x, 0.5), net.unary("Torch.pow", lambda a: a**3, x, 3.0)
    inner = net.mul(net.add(x, net.mul(cube, 0.044715)), 0.79788456)
    return net.mul(half, net.add(net.unary("Torch.tanh", np.tanh, inner), 1.0))


def gelu_by_erf(net: StepNet, x: Leaf) -> Leaf:
    half = net.mul(x, 0.5)
    return net.mul(half, net.add(net.unary("Torch.erf", erf, net.div(x, 1.41421356)), 1.0))


alone("gelu", 0, "NPU.npu_gelu", gelu_by_tanh)
alone("gelu", 1, "Functional.gelu", gelu_by_erf)
alone("gelu", 2, "NPU.npu_fast_gelu", lambda net, x: net.mul(x, net.sigmoid(net.mul(x, 1.702))))


# -- norms -----------------------------------------------------------------------------------------


def rms(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
    return net.mul(net.mul(x, net.rsqrt(net.add(net.mean(net.square(x)), 1e-6))), weight)


def rms_by_sqrt(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
    return net.mul(net.div(x, net.sqrt(net.add(net.mean(net.square(x)), 1e-6))), weight)


def called_rms(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
    return net.inside("NPU.npu_rms_norm", rms, x, weight)


for number, norm in enumerate((rms, rms_by_sqrt)):
    case("rms-norm", number, "NPU.npu_rms_norm")(
        lambda net, path, x, norm=norm: net.fused(
            "NPU.npu_rms_norm", norm, x, net.parameter(f"{path}.norm", HIDDEN)
        )
    )


def add_rms(norm: Callable[..., Leaf]) -> Layer:
    """y, 1 / root (of the fused one alone) and the sum, which the residual goes on with."""

    def steps(net: StepNet, x: Leaf, residual: Leaf, weight: Leaf) -> Any:
        total = net.add(x, residual)
        root = 1 / np.sqrt((total.value**2).mean(-1, keepdims=True) + 1e-6)
        return norm(net, total, weight), Leaf(root) if net.is_hidden else None, total

    def layer(net: StepNet, path: str, x: Leaf) -> Leaf:
        weight = net.parameter(f"{path}.norm", HIDDEN)
        y, _, total = net.fused("NPU.npu_add_rms_norm", steps, x, project(net, f"{path}.more", x), weight)
        return net.add(total, project(net, f"{path}.mlp", y))

    return layer


for number, norm in enumerate((called_rms, rms, rms_by_sqrt)):
    case("add-rms-norm", number, "NPU.npu_add_rms_norm")(add_rms(norm))


def layer_norm(net: StepNet, x: Leaf, weight: Leaf, bias: Leaf) -> Leaf:
    centred = net.sub(x, net.mean(x))
    scale = net.rsqrt(net.add(net.mean(net.square(centred)), 1e-5))
    return net.add(net.mul(net.mul(centred, scale), weight), bias)


def layer_norm_by_var(net: StepNet, x: Leaf, weight: Leaf, bias: Leaf) -> Leaf:
    mean, var = net.mean(x), net.reduced("Torch.var", np.var, x)
    scaled = net.div(net.sub(x, mean), net.sqrt(net.add(var, 1e-5)))
    return net.add(net.mul(scaled, weight), bias)


def normed(api: str, steps: Callable[..., Leaf], n_more: int) -> Layer:
    """steps: of x, n_more other projections, weight and bias."""

    def layer(net: StepNet, path: str, x: Leaf) -> Leaf:
        more = [project(net, f"{path}.{i}", x) for i in range(n_more)]
        return net.fused(
            api, steps, x, *more, net.parameter(f"{path}.norm", HIDDEN), net.parameter(f"{path}.bias", HIDDEN)
        )

    return layer


def called_norm(net: StepNet, x: Leaf, weight: Leaf, bias: Leaf) -> Leaf:
    return net.inside("Functional.layer_norm", layer_norm, x, weight, bias)


case("layer-norm", 0, "Functional.layer_norm")(normed("Functional.layer_norm", layer_norm, 0))
case("layer-norm", 1, "Functional.layer_norm")(normed("Functional.layer_norm", layer_norm_by_var, 0))
case("add-layer-norm", 0, "NPU.npu_add_layer_norm")(
    normed("NPU.npu_add_layer_norm", lambda net, x, y, w, b: called_norm(net, net.add(x, y), w, b), 1)
)
case("deep-norm", 0, "NPU.npu_deep_norm")(
    normed(
        "NPU.npu_deep_norm", lambda net, x, y, w, b: called_norm(net, net.add(net.mul(x, 0.3), y), w, b), 1
    )
)
case("dropout-add-layer-norm", 0, "NPU.npu_dropout_with_add_layer_norm")(
    normed(
        "NPU.npu_dropout_with_add_layer_norm",
        lambda net, x, y, w, b: called_norm(net, net.add(net.dropout(y), x), w, b),
        1,
    )
)
case("dropout-add-layer-norm", 1, "MindSpeed.dropout_add_layer_norm")(
    normed(
        "MindSpeed.dropout_add_layer_norm",
        lambda net, x, y, z, w, b: called_norm(net, net.add(net.dropout(net.add(y, z)), x), w, b),
        2,
    )
)


@case("bias-dropout-add", 0, "MindSpeed.npu_bias_dropout_add")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, bias: Leaf, residual: Leaf) -> Leaf:
        return net.add(net.dropout(net.add(x, bias)), residual)

    bias, residual = net.parameter(f"{path}.bias", HIDDEN), project(net, f"{path}.more", x)
    return net.fused("MindSpeed.npu_bias_dropout_add", steps, x, bias, residual)


@case("bias-gelu", 0, "MindSpeed.npu_bias_gelu")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    bias = net.parameter(f"{path}.bias", HIDDEN)
    return net.fused("MindSpeed.npu_bias_gelu", lambda net, x, b: net.gelu(net.add(x, b)), x, bias)


# -- shares, loss, attention -----------------------------------------------------------------------


def softmax_steps(net: StepNet, x: Leaf) -> Leaf:
    e = net.exp(net.sub(x, net.reduced("Torch.amax", np.max, x)))
    total = net.do("Tensor.sum", lambda a, *_: a.sum(-1, keepdims=True), e, -1, True)[0]
    return net.div(e, total)


alone("softmax", 0, "Functional.softmax", softmax_steps)


@case("cross-entropy", 0, "Functional.cross_entropy")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    labels = Leaf(np.arange(TOKENS) % 5)
    loss = net.fused(
        "Functional.cross_entropy", lambda net, x, t: net.nll_loss(net.log_softmax(x), t), x, labels
    )
    return net.mul(net.parameter(f"{path}.row", TOKENS, HIDDEN), loss)


@case("scaled-masked-softmax", 0, "NPU.npu_scaled_masked_softmax")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, mask: Leaf, scale: float) -> Leaf:
        scaled = net.mul(x, scale)
        hidden = net.do(
            "Tensor.masked_fill", lambda a, m, v: np.where(m, a.dtype.type(v), a), scaled, mask, -1e4
        )
        return net.softmax(hidden[0])

    mask = Leaf(np.triu(np.ones((TOKENS, HIDDEN), np.bool_), 4))
    return net.fused("NPU.npu_scaled_masked_softmax", steps, x, mask, 0.7)


def heads(net: StepNet, x: Leaf) -> Leaf:
    """(tokens, hidden) as (1, heads, tokens, size): a view that no record tells of, with its gradient."""

    def there(a: Array) -> Array:
        return np.ascontiguousarray(a.reshape(TOKENS, HEADS, -1).transpose(1, 0, 2)[None])

    return unseen(net, x, there, lambda g: np.ascontiguousarray(g[0].transpose(1, 0, 2).reshape(TOKENS, -1)))


def flat(net: StepNet, x: Leaf) -> Leaf:
    def back(g: Array) -> Array:
        return np.ascontiguousarray(g.reshape(TOKENS, HEADS, -1).transpose(1, 0, 2)[None])

    return unseen(net, x, lambda a: np.ascontiguousarray(a[0].transpose(1, 0, 2).reshape(TOKENS, -1)), back)


def unseen(net: StepNet, x: Leaf, there: Callable[[Array], Array], back: Callable[[Array], Array]) -> Leaf:
    made = Leaf(there(x.value))
    net.put_unseen(x, made, back)
    return made


@case("attention", 0, "NPU.npu_fusion_attention")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, q: Leaf, k: Leaf, v: Leaf, n: int, layout: str) -> Leaf:
        scores = net.mul(net.matmul(q, net.transpose(k)), 0.5)
        mask = np.triu(np.full((TOKENS, TOKENS), -1e4, np.float32), 1)[None, None]
        return net.matmul(net.softmax(net.add(scores, Leaf(mask))), v)

    q, k, v = (heads(net, project(net, f"{path}.{name}", x)) for name in "qkv")
    return flat(net, net.fused("NPU.npu_fusion_attention", steps, q, k, v, HEADS, "BNSD"))


def turned(net: StepNet, x: Leaf) -> Leaf:
    first, second = net.chunk(x)
    return net.cat(net.neg(second), first)


def rotary_first(net: StepNet, x: Leaf, cos: Leaf, sin: Leaf) -> Leaf:
    straight = net.mul(x, cos)
    return net.add(straight, net.mul(turned(net, x), sin))


def rotary_last(net: StepNet, x: Leaf, cos: Leaf, sin: Leaf) -> Leaf:
    across = turned(net, x)
    return net.add(net.mul(x, cos), net.mul(across, sin))


def rotary_by_halves(net: StepNet, x: Leaf, cos: Leaf, sin: Leaf) -> Leaf:
    first, second = net.chunk(x)
    low = net.sub(net.mul(first, cos), net.mul(second, sin))
    return net.cat(low, net.add(net.mul(second, cos), net.mul(first, sin)))


def rotary(steps: Callable[..., Leaf], n_times: int) -> Layer:
    def layer(net: StepNet, path: str, x: Leaf) -> Leaf:
        angle = np.arange(TOKENS)[:, None] * 0.3 ** np.arange(HIDDEN // 2)
        tables = [Leaf(np.tile(f(angle), n_times).astype(np.float32)) for f in (np.cos, np.sin)]
        return net.fused("NPU.npu_rotary_mul", steps, x, *tables)

    return layer


for number, (steps, times) in enumerate(((rotary_first, 2), (rotary_last, 2), (rotary_by_halves, 1))):
    case("rotary", number, "NPU.npu_rotary_mul")(rotary(steps, times))


# -- products, alone and with communication --------------------------------------------------------


@case("linear", 0, "Functional.linear")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf, bias: Leaf) -> Leaf:
        return net.add(net.matmul(x, net.transpose(weight)), bias)

    weight, bias = net.parameter(f"{path}.weight", 10, HIDDEN), net.parameter(f"{path}.bias", 10)
    return net.fused("Functional.linear", steps, net.silu(x), weight, bias)


@case("matmul-all-reduce", 0, "NPU.npu_mm_all_reduce_base")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
        part, other = net.matmul(x, weight), fixed(f"{path}.other", TOKENS, HIDDEN).value
        return net.do("Distributed.all_reduce", lambda a: a + other, part)[0]

    return net.fused("NPU.npu_mm_all_reduce_base", steps, x, net.parameter(f"{path}.weight", HIDDEN, HIDDEN))


@case("all-gather-matmul", 0, "NPU.npu_all_gather_base_mm")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
        other = fixed(f"{path}.other", TOKENS, HIDDEN).value
        both = net.do(
            "Distributed.all_gather_into_tensor", lambda _, a: np.concatenate([a, other]), None, x, n_masked=1
        )
        return net.matmul(both[0], weight)

    both = net.fused("NPU.npu_all_gather_base_mm", steps, x, net.parameter(f"{path}.weight", HIDDEN, HIDDEN))
    return net.do("Tensor.narrow", lambda a, *_: a[:TOKENS], both, 0, 0, TOKENS)[0]


@case("matmul-reduce-scatter", 0, "NPU.npu_mm_reduce_scatter_base")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf) -> Leaf:
        other = fixed(f"{path}.other", TOKENS, HIDDEN).value
        made = net.do(
            "Distributed.reduce_scatter_tensor",
            lambda _, a: (a + other)[: TOKENS // 2],
            None,
            net.matmul(x, weight),
            n_masked=1,
        )
        return made[0]

    half = net.fused(
        "NPU.npu_mm_reduce_scatter_base", steps, x, net.parameter(f"{path}.weight", HIDDEN, HIDDEN)
    )
    return net.cat(half, half, axis=0)


@case("grouped-matmul", 0, "NPU.npu_grouped_matmul")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    cuts = (1, 3)

    def steps(net: StepNet, x: Leaf, *weights: Leaf) -> Leaf:
        parts = [Leaf(part) for part in np.split(x.value, cuts)]
        return net.cat(*(net.matmul(p, w) for p, w in zip(parts, weights, strict=True)), axis=0)

    weights = [net.parameter(f"{path}.{i}", HIDDEN, HIDDEN) for i in range(EXPERTS)]
    return net.fused("NPU.npu_grouped_matmul", steps, x, *weights)


@case("feed-forward", 0, "NPU.npu_ffn")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, up: Leaf, down: Leaf) -> Leaf:
        return net.matmul(net.gelu(net.matmul(x, up)), down)

    up, down = (
        net.parameter(f"{path}.up", HIDDEN, 3 * HIDDEN),
        net.parameter(f"{path}.down", 3 * HIDDEN, HIDDEN),
    )
    return net.fused("NPU.npu_ffn", steps, x, up, down)


# -- quantised ------------------------------------------------------------------------------------


@case("quant-matmul", 0, "NPU.npu_quant_matmul")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf, scale: Leaf) -> Leaf:
        return net.mul(net.matmul(net.to(x, "float32"), net.to(weight, "float32")), scale)

    whole = net.do("NPU.npu_quantize", quantised, x, 0.05)[0]
    weight, scale = fixed(f"{path}.weight", HIDDEN, HIDDEN, dtype="int8"), fixed(f"{path}.scale", HIDDEN)
    scale = Leaf(scale.value * np.float32(1e-3))
    return net.fused("NPU.npu_quant_matmul", steps, whole, weight, scale)


def quantised(a: Array, scale: float) -> Array:
    return np.clip(np.rint(a / scale), -128, 127).astype(np.int8)


@case("weight-quant-matmul", 0, "NPU.npu_weight_quant_batchmatmul")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, weight: Leaf, scale: Leaf, offset: Leaf) -> Leaf:
        return net.matmul(x, net.mul(net.sub(net.to(weight, "float32"), offset), scale))

    weight = fixed(f"{path}.weight", HIDDEN, HIDDEN, dtype="int8")
    scale, offset = (
        Leaf(fixed(f"{path}.scale", HIDDEN).value * np.float32(0.01)),
        fixed(f"{path}.offset", HIDDEN),
    )
    return net.fused("NPU.npu_weight_quant_batchmatmul", steps, x, weight, scale, offset)


@case("dynamic-quant", 0, "NPU.npu_dynamic_quant")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf) -> Any:
        top = net.reduced("Torch.amax", np.max, net.unary("Torch.abs", np.abs, x))
        scale = net.div(top, 127.0)
        whole = net.unary("Torch.round", np.rint, net.div(x, scale))
        bounded = net.unary("Torch.clamp", lambda a: np.clip(a, -128, 127), whole, -128, 127)
        return net.to(bounded, "int8"), scale

    made, scale = net.fused("NPU.npu_dynamic_quant", steps, x)
    return net.do("Tensor.__mul__", lambda q, s: q * s, made, scale)[0]


@case("quantize", 0, "NPU.npu_quantize")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, scale: Leaf, zero: Leaf) -> Leaf:
        moved = net.add(net.unary("Torch.round", np.rint, net.div(x, scale)), zero)
        return net.to(net.unary("Torch.clamp", lambda a: np.clip(a, -128, 127), moved, -128, 127), "int8")

    scale = Leaf(fixed(f"{path}.scale", HIDDEN).value * np.float32(0.05))
    zero = Leaf(np.arange(HIDDEN, dtype=np.float32))
    made = net.fused("NPU.npu_quantize", steps, x, scale, zero)
    return net.do("Tensor.__mul__", lambda q, s: q * s, made, scale)[0]


@case("dequantize", 0, "NPU.npu_anti_quant")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, scale: Leaf, offset: Leaf) -> Leaf:
        return net.mul(net.add(net.to(x, "float32"), offset), scale)

    whole = net.do("NPU.npu_quantize", quantised, x, 0.05)[0]
    scale = Leaf(fixed(f"{path}.scale", HIDDEN).value * np.float32(0.05))
    return net.fused("NPU.npu_anti_quant", steps, whole, scale, fixed(f"{path}.offset", HIDDEN))


# -- experts --------------------------------------------------------------------------------------


def top_two(net: StepNet, x: Leaf) -> list[Leaf]:
    def forward(a: Array, *_: Any) -> tuple[Array, Array]:
        at = np.argsort(-a, -1, kind="stable")[:, :2]
        return np.take_along_axis(a, at, -1), at

    return net.do("Torch.topk", forward, x, 2, -1)


def gates(net: StepNet, x: Leaf) -> Any:
    best, at = top_two(net, net.softmax(x))
    return net.div(best, net.do("Tensor.sum", lambda a, *_: a.sum(-1, keepdims=True), best, -1, True)[0]), at


def gates_with_bias(net: StepNet, x: Leaf, bias: Leaf) -> Any:
    scores = net.sigmoid(x)
    _, at = top_two(net, net.add(scores, bias))
    kept = net.do("Tensor.gather", lambda a, _, i: np.take_along_axis(a, i, -1), scores, -1, at)[0]
    total = net.do("Tensor.sum", lambda a, *_: a.sum(-1, keepdims=True), kept, -1, True)[0]
    return net.mul(net.div(kept, total), 2.5), at


def gating(api: str, steps: Callable[..., Any], n_more: int) -> Layer:
    def layer(net: StepNet, path: str, x: Leaf) -> Leaf:
        more = [fixed(f"{path}.bias", HIDDEN) for _ in range(n_more)]
        weights, at = net.fused(api, steps, x, *more)
        rows = net.do(
            "Functional.embedding", lambda i, w: w[i], at, net.parameter(f"{path}.rows", HIDDEN, HIDDEN)
        )
        weighed = net.do("Tensor.__mul__", lambda w, r: w[..., None] * r, weights, rows[0])[0]
        return net.reduced("Torch.sum", lambda a, axis, keepdims: a.sum(axis), weighed, 1)

    return layer


case("moe-gating", 0, "NPU.npu_moe_gating_top_k_softmax")(
    gating("NPU.npu_moe_gating_top_k_softmax", gates, 0)
)
case("moe-gating", 1, "NPU.npu_moe_gating_top_k")(gating("NPU.npu_moe_gating_top_k", gates_with_bias, 1))

CHOSEN = np.array([[0, 2], [1, 0], [2, 1], [0, 1], [1, 2], [2, 0]])
"""Which experts each token goes to."""


@case("moe-permute", 0, "NPU.npu_moe_token_permute")
def _(net: StepNet, path: str, x: Leaf) -> Leaf:
    def steps(net: StepNet, x: Leaf, chosen: Leaf) -> Any:
        order = net.do("Torch.argsort", lambda a: np.argsort(a.reshape(-1), kind="stable"), chosen)[0]
        back = net.do("Torch.argsort", lambda a: np.argsort(a, kind="stable"), order)[0]
        rows = net.do("Tensor.__floordiv__", lambda a, n: a // n, order, 2)[0]
        return net.do("Tensor.index_select", lambda a, _, i: a[i], x, 0, rows)[0], back

    tokens, back = net.fused("NPU.npu_moe_token_permute", steps, x, Leaf(CHOSEN))
    mixed = project(net, f"{path}.expert", tokens)
    return net.do(
        "NPU.npu_moe_token_unpermute", lambda a, i: a[i].reshape(TOKENS, 2, -1).sum(1), mixed, back
    )[0]


def unpermuting(api: str, *, has_residual: bool) -> Layer:
    def steps(net: StepNet, x: Leaf, back: Leaf, shares: Leaf, *residual: Leaf) -> Leaf:
        rows = net.do("Tensor.index_select", lambda a, _, i: a[i].reshape(TOKENS, 2, -1), x, 0, back)[0]
        weighed = net.do("Tensor.__mul__", lambda a, s: a * s[..., None], rows, shares)[0]
        total = net.reduced("Torch.sum", lambda a, axis, keepdims: a.sum(axis), weighed, 1)
        return net.add(total, residual[0]) if residual else total

    def layer(net: StepNet, path: str, x: Leaf) -> Leaf:
        order = np.argsort(CHOSEN.reshape(-1), kind="stable")
        tokens = net.do("Tensor.index_select", lambda a, _, i: a[i], x, 0, Leaf(order // 2))[0]
        mixed, shares = project(net, f"{path}.expert", tokens), fixed(f"{path}.shares", TOKENS, 2)
        more = [project(net, f"{path}.more", x)] if has_residual else []
        return net.fused(api, steps, mixed, Leaf(np.argsort(order)), shares, *more)

    return layer


case("moe-unpermute", 0, "NPU.npu_moe_token_unpermute")(
    unpermuting("NPU.npu_moe_token_unpermute", has_residual=False)
)
case("moe-unpermute", 1, "NPU.npu_moe_finalize_routing")(
    unpermuting("NPU.npu_moe_finalize_routing", has_residual=True)
)
