# ruff: noqa: E501 - one text a line
"""What is said of a quantised activation, English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "given": ("the call's own", "该调用所用"),
    "tensor": ("one for the tensor", "整个张量一个"),
    "token": ("one a token", "每 token 一个"),
    "channel": ("one a channel", "每通道一个"),
    "smooth": ("SmoothQuant, alpha 0.5", "SmoothQuant，alpha 0.5"),
    "asymmetric": ("{name}, asymmetric", "{name}，非对称"),
    "head": (
        "{name} {shape} in int8: absmax {absmax}, which needs a scale of {needed}",
        "{name} {shape} 的 int8 量化：绝对值最大 {absmax}，需要 scale {needed}",
    ),
    "clipped": (
        "the call's scale {given} clips {n} of {of} elements ({percent}); it is {ratio} times too small",
        "该调用的 scale {given} 截断了 {of} 个元素中的 {n} 个（{percent}），小了 {ratio} 倍",
    ),
    "not-clipped": ("the call's scale {given} clips nothing", "该调用的 scale {given} 没有截断"),
    "clipped-channels": (
        "the call's scales clip {n} of {of} elements ({percent})",
        "该调用的各 scale 截断了 {of} 个元素中的 {n} 个（{percent}）",
    ),
    "at-ends": (
        "{name} is int8 already: {percent} of it stands at either end; which part of that was clipped the tensor before it tells",
        "{name} 已是 int8：{percent} 位于两端；其中被截断的部分要看量化之前的张量",
    ),
    "column-scale": ("scale", "scale"),
    "column-size": ("its size", "大小"),
    "column-clipped": ("clipped", "截断"),
    "column-error": ("rel. L2 error", "相对 L2 误差"),
    "column-largest": ("largest error", "最大误差"),
    "column-product": ("of the product", "乘积的误差"),
    "products-of": ("products of {n} of {of} tokens", "乘积取自 {of} 个 token 中的 {n} 个"),
    "channels": ("channels that stand out: {places}", "突出的通道：{places}"),
    "tokens": ("tokens that stand out: {places}", "突出的 token：{places}"),
    "place": ("{place} ({absmax}, {ratio} times the median)", "{place}（{absmax}，中位数的 {ratio} 倍）"),
    "not-finite": ("{n} elements are not finite and left out", "{n} 个元素非有限，已略去"),
    "channel-note": (
        "a scale a channel cannot leave an int8 product; it shows what the channels cost",
        "int8 乘法无法使用按通道的 scale；此行说明各通道的代价",
    ),
    "message": (
        "{clipped}. With one scale that clips nothing the error is {better} in place of {own}",
        "{clipped}。用不截断的单一 scale，误差为 {better}，而非 {own}",
    ),
    "next": (
        "calibrate with inputs like these (scale {needed}), or take the best that the table shows: {best} leaves {error}",
        "用此类输入重新校准（scale {needed}），或采用表中最好的：{best}，误差 {error}",
    ),
}
