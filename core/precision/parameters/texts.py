"""Texts on checkpoints, (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "told": ("{n} parameter(s): {parts}", "{n} 个参数：{parts}"),
    "told-nothing": ("none could be compared", "均无法比较"),
    "told-equal": ("{n} equal in every bit", "{n} 个逐位相同"),
    "told-rounding": ("{n} equal within rounding", "{n} 个在舍入误差内相同"),
    "told-differing": ("{n} with other values", "{n} 个数值不同"),
    "told-transposed": ("{n} transposed", "{n} 个为转置"),
    "told-shapes": ("{n} of another shape", "{n} 个形状不同"),
    "told-only-target": ("{n} in the target alone", "{n} 个仅在目标侧"),
    "told-only-golden": ("{n} in the golden one alone", "{n} 个仅在标杆侧"),
    "told-converted": ("{n} in another dtype", "{n} 个 dtype 不同"),
    "told-absent": ("{n} in a file that is missing or unreadable", "{n} 个所在文件缺失或无法读取"),
    "differ": (
        "{n} of {of} parameters have other values; by relative L2 this one most{figures}. Parameters have no order of "
        "execution: where it began cannot be read from them.",
        "{of} 个参数中有 {n} 个数值不同；按相对 L2 此参数差异最大{figures}。参数没有执行顺序，无法据此判断起点。",
    ),
    "transposed": (
        "{n} parameter(s) (equals|equal) what the golden side has with both axes exchanged: the same weights in another layout.",
        "{n} 个参数是标杆侧参数的转置：权重相同，排布不同。",
    ),
    "shapes": (
        "{n} parameter(s) (has|have) another shape: {target} here, {golden} on the golden side.",
        "{n} 个参数形状不同：目标侧 {target}，标杆侧 {golden}。",
    ),
    "missing": (
        "{target} parameters are in the target alone, {golden} in the golden one alone.",
        "{target} 个参数仅在目标侧，{golden} 个参数仅在标杆侧。",
    ),
    "absent": (
        "{n} parameter(s) (lies|lie) in a shard that is missing or cannot be read ({files}), as the index says: nothing is known "
        "of them.",
        "按索引，{n} 个参数位于缺失或无法读取的分片（{files}）中：其内容未知。",
    ),
    "converted": (
        "{n} parameter(s) (is|are) stored in another dtype and (agrees|agree) within its rounding: {target} here, {golden} there.",
        "{n} 个参数以其他 dtype 存储，在其舍入误差内一致：目标侧 {target}，标杆侧 {golden}。",
    ),
    "values": (
        "{n} plain values differ: {target} here, {golden} on the golden side.",
        "{n} 个普通数值不同：目标侧 {target}，标杆侧 {golden}。",
    ),
    "next-differ": (
        "Ask which step, merge or conversion wrote the two; compare the gradients of the step in between.",
        "确认两份权重各由哪个 step、合并或转换写出；比较其间 step 的梯度。",
    ),
    "next-layout": (
        "Convert one side (transpose) or correct the converter; then compare again.",
        "转换其中一侧（转置）或修正转换脚本，再比较。",
    ),
    "next-missing": (
        "Compare the names in `related`: another prefix, another sharding, or a part that was not saved.",
        "对照 related 中的名称：前缀不同、切分不同，或有部分未保存。",
    ),
    "next-absent": (
        "Copy the missing shard beside the index, then compare again.",
        "把缺失的分片放到索引文件旁，再比较。",
    ),
    "next-note": ("Nothing to do unless it is not meant.", "如非有意则无需处理。"),
}
