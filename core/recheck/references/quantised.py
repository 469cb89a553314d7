"""Quantising, dequantising, and products with quantised operands.

A quantised output may be the integer on either side where the value lies within its bound of the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, in_dtype
from ..registry import Variant, reference
from .elementwise import whole

INT8 = (-128.0, 127.0)


def _ends(dtype: Any) -> tuple[float, float]:
    """Of what an output is stored in; four bits are packed and cannot be followed."""
    known = dtype_of(dtype) if isinstance(dtype, str) else None
    name = known.name if known is not None else str(dtype).rpartition(".")[2]
    if name in ("quint4x2", "int4", "int32"):
        raise NotImplementedError("four-bit output, packed into int32")
    return (0.0, 255.0) if name in ("uint8", "quint8") else INT8


def _along(values: Number, like: Number, axis: int) -> Number:
    """One value a channel, shaped to meet the channels along an axis."""
    if values.value.size == 1:
        return values.reshape(*([1] * like.ndim))
    return values.reshape(*(-1 if i == axis % like.ndim else 1 for i in range(like.ndim)))


def _quantise_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    is_divided = arguments.get("div_mode", True)
    words = (
        ("multiplied by the scale", "乘以 scale") if is_divided else ("divided by the scale", "除以 scale")
    )
    yield Variant(words, {"div_mode": not is_divided})
    if arguments.get("zero_points") is not None:
        yield Variant(("without zero_points", "没有用 zero_points"), {"zero_points": None})
        minus = -arguments["zero_points"]
        yield Variant(("zero_points subtracted", "减去了 zero_points"), {"zero_points": minus})
    x, scales = arguments["input"], arguments["scales"]
    for axis in range(x.ndim):
        if axis != arguments.get("axis", 1) and x.shape[axis] == scales.value.size > 1:
            yield Variant((f"axis={axis}",) * 2, {"axis": axis})
    yield Variant(("cut instead of rounded", "截断而非舍入"), {"cuts": True}, is_call=False)


@reference("npu_quantize", variants=_quantise_variants)
def npu_quantize(
    input: Number,
    scales: Number,
    zero_points: Number | None = None,
    dtype: Any = None,
    axis: int = 1,
    div_mode: bool = True,
    cuts: bool = False,
    out_dtype: Any = None,
) -> Number:
    """round(input / scales) + zero_points, or round(input * scales) + zero_points; kept within int8."""
    low, high = _ends(dtype if isinstance(dtype, str) or out_dtype is None else out_dtype.name)
    scale = _along(scales, input, axis)
    made = input / scale if div_mode else input * scale
    if cuts:
        made = replace(whole(made, np.trunc), is_integer=True)
    if zero_points is not None:
        made = made + _along(zero_points, input, axis)
    return made.clamp(low, high)


def _dynamic_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    if arguments.get("smooth_scales") is not None:
        yield Variant(("without smooth_scales", "没有用 smooth_scales"), {"smooth_scales": None})
    yield Variant(("one scale for the whole tensor", "整个张量共用一个 scale"), {"is_per_tensor": True})
    yield Variant(("the scale by 128", "scale 按 128 计算"), {"steps": 128.0})


@reference("npu_dynamic_quant", variants=_dynamic_variants)
def npu_dynamic_quant(
    input: Number,
    smooth_scales: Number | None = None,
    group_index: Any = None,
    dst_type: Any = None,
    is_per_tensor: bool = False,
    steps: float = 127.0,
) -> tuple[Number, Number]:
    """Each token by its own largest value: int8 and the scales. A token of zeros is 0 whatever its scale."""
    if group_index is not None:
        raise NotImplementedError("group_index")
    _ends(dst_type if isinstance(dst_type, str) else "int8")
    x = input if smooth_scales is None else input * smooth_scales
    top = x.abs().extreme(True, None if is_per_tensor else -1, keepdims=True)
    scale = top / steps
    is_zero = top.value == 0
    safe = Number(np.where(is_zero, 1.0, scale.value), scale.inside, scale.error)
    shape = np.broadcast_shapes(scale.shape, (*x.shape[:-1], 1))  # the tensor's scale stands for each token
    scales = scale.view(lambda a: np.broadcast_to(a, shape)[..., 0])
    return (x / safe).clamp(*INT8), scales


@reference("npu_dynamic_quant_asymmetric")
def npu_dynamic_quant_asymmetric(
    input: Number, smooth_scales: Number | None = None, group_index: Any = None, dst_type: Any = None
) -> tuple[Number, Number, Number]:
    """Each token by its own ends: int8, the scales, the offsets."""
    if group_index is not None:
        raise NotImplementedError("group_index")
    x = input if smooth_scales is None else input * smooth_scales
    top, bottom = x.extreme(True, -1, keepdims=True), x.extreme(False, -1, keepdims=True)
    scale = (top - bottom) / 255.0
    offset = 127.0 - top / scale
    made = (x / scale + offset).clamp(*INT8)
    return made, scale.reshape(*x.shape[:-1]), offset.reshape(*x.shape[:-1])


def unpacked_scale(scale: Number) -> Number:
    """A scale in 64 bits (npu_trans_quant_param) holds a float32 in its lower half."""
    if scale.dtype not in ("int64", "uint64"):
        return scale
    bits = scale.indices() & 0xFFFFFFFF
    return scale.exactly(bits.astype(np.uint32).view(np.float32).astype(np.float64))


def _product_variants(arguments: dict[str, Any]) -> Iterator[Variant]:
    for name in ("pertoken_scale", "bias", "offset", "antiquant_offset"):
        if arguments.get(name) is not None:
            yield Variant((f"without {name}", f"没有用 {name}"), {name: None})
    for name in ("scale", "antiquant_scale"):
        if arguments.get(name) is not None:
            scale = arguments[name]
            if scale.dtype not in ("int64", "uint64"):
                ones = scale.exactly(np.ones(scale.shape))
                yield Variant((f"without {name}", f"没有用 {name}"), {name: ones})
                yield Variant((f"divided by {name}", f"除以 {name}"), {name: 1.0 / scale})
    name = "x2" if "x2" in arguments else "weight"
    weight = arguments[name]
    if weight.ndim > 1 and weight.shape[-1] == weight.shape[-2]:
        yield Variant(("the weight transposed", "权重被转置"), {name: weight.mT})


@reference("npu_quant_matmul", variants=_product_variants, accumulates=True)
def npu_quant_matmul(
    x1: Number,
    x2: Number,
    scale: Number,
    offset: Number | None = None,
    pertoken_scale: Number | None = None,
    bias: Number | None = None,
    output_dtype: Any = None,
    group_sizes: Any = None,
) -> Number:
    """Exact integer sums, an integer bias with them; then the scales, a floating bias, the offset."""
    if not (x1.is_integer and x2.is_integer):
        raise NotImplementedError("operands that are no integers")
    made = x1 @ x2
    if bias is not None and bias.is_integer:
        made = made + bias
    made = made * unpacked_scale(scale)
    if pertoken_scale is not None:
        made = made * pertoken_scale.reshape(*pertoken_scale.shape, 1)
    if bias is not None and not bias.is_integer:
        made = made + bias
    return made if offset is None else made + offset


@reference("npu_weight_quant_batchmatmul", variants=_product_variants, accumulates=True)
def npu_weight_quant_batchmatmul(
    x: Number,
    weight: Number,
    antiquant_scale: Number,
    antiquant_offset: Number | None = None,
    quant_scale: Any = None,
    quant_offset: Any = None,
    bias: Number | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
) -> Number:
    """The weight comes back to the activation's dtype first: that rounding is allowed."""
    if quant_scale is not None or weight.dtype == "int32":
        raise NotImplementedError("quantised output, or a packed four-bit weight")
    scale, offset = antiquant_scale, antiquant_offset
    if antiquant_group_size:
        n = antiquant_group_size
        scale = scale.view(lambda a: np.repeat(a, n, axis=-2))
        offset = offset if offset is None else offset.view(lambda a: np.repeat(a, n, axis=-2))
    w = weight if offset is None else weight + offset
    made = x @ in_dtype(w * scale, dtype_of(x.dtype))
    return made if bias is None else made + bias


@reference("npu_anti_quant")
def npu_anti_quant(
    x: Number, scale: Number, offset: Number | None = None, dst_dtype: Any = None, src_dtype: Any = None
) -> Number:
    return (x if offset is None else x + offset) * scale
