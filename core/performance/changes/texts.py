"""Words about two rounds side by side, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "total": (
        "From {before} to {after} a step went from {old} to {new} ({percent}), {verdict}. {parts}",
        "从 {before} 到 {after}，单步 {old} → {new}（{percent}），{verdict}。{parts}",
    ),
    "part": ("{name} {old} -> {new}", "{name} {old} → {new}"),
    "name-step": ("step", "单步"),
    "name-busy": ("busy", "忙碌"),
    "name-idle": ("idle", "空闲"),
    "name-kernels": ("sum of kernels", "kernel 总和"),
    "name-communication": ("communication", "通信"),
    "better": ("faster beyond the noise of {noise} ({basis})", "变快，超出噪声 {noise}（{basis}）"),
    "worse": ("slower beyond the noise of {noise} ({basis})", "变慢，超出噪声 {noise}（{basis}）"),
    "noise": ("within the noise of {noise} ({basis}): no change", "在噪声 {noise} 之内（{basis}）：不算变化"),
    "unknown": (
        "too few repeated steps to tell this from noise",
        "是否超出噪声无法判断：重复的 step 太少",
    ),
    "basis-steps": ("from repeated steps", "由重复 step 得出"),
    "basis-calls": ("from repeated calls; steps were not repeated", "由重复调用得出；step 未重复"),
    "next-total-worse": (
        "Look at the operators below that became slower; npulse performance RUN on both rounds shows idle and communication.",
        "查看下列变慢的算子；分别对两轮运行 npulse performance RUN 比较空闲与通信。",
    ),
    "next-total-unknown": (
        "Profile at least three steps in both rounds (schedule active=3), then compare again.",
        "两轮都至少采集三个 step（schedule active=3）后再比较。",
    ),
    "slower": (
        "{name}: {old} -> {new} a step ({percent}), calls {n_old:g} -> {n_new:g}, {verdict}.",
        "{name}：每步 {old} → {new}（{percent}），调用 {n_old:g} → {n_new:g} 次，{verdict}。",
    ),
    "beside": (
        " The calls beside it: {list}.",
        "相邻算子：{list}。",
    ),
    "one-beside": ("{name} {delta} ({n} x)", "{name} {delta}（{n} 次）"),
    "next-slower": (
        "Compare its shapes, formats and block dim in both rounds; sort the calls by duration and look at the longest.",
        "比较两轮中它的 shape、format 与 block dim；按单次耗时排序查看最长的调用。",
    ),
    "next-faster": ("Keep it.", "保留该改动。"),
    "cost": (
        "{name} gained {gain} a step, its neighbours lost {loss} ({list}): net {net}.",
        "{name} 每步收益 {gain}，相邻算子损失 {loss}（{list}）：净变化 {net}。",
    ),
    "next-cost": (
        "Let producer and consumer use the format that {name} wants, so that no conversion is needed between (allow_internal_format, npu_format_cast once outside of the loop).",
        "让其上下游使用 {name} 需要的格式，避免中间转换（allow_internal_format，或在循环外一次性 npu_format_cast）。",
    ),
    "renamed": (
        "{before} is now {after}, {n} x a step: {old} -> {new}.",
        "{before} 变为 {after}，每步 {n} 次：{old} → {new}。",
    ),
    "fused": (
        "{before} are now one {after}, {n} x a step: {old} -> {new}.",
        "{before} 融合为 {after}，每步 {n} 次：{old} → {new}。",
    ),
    "split": (
        "{before} is now {after}, {n} x a step: {old} -> {new}.",
        "{before} 拆为 {after}，每步 {n} 次：{old} → {new}。",
    ),
    "new": ("{after} is new, {n} x a step: {new}.", "新增 {after}，每步 {n} 次：{new}。"),
    "gone": ("{before} is gone, {n} x a step: {old} saved.", "移除 {before}，每步 {n} 次：节省 {old}。"),
    "replaced": (
        "{before} (calls: {n_before}) gave way to {after} (calls: {n_after}), {n} x a step: {old} -> {new}.",
        "{n_before} 个调用（{before}）被 {n_after} 个（{after}）替换，每步 {n} 次：{old} → {new}。",
    ),
    "next-replaced-worse": (
        "See why this came in: a fusion pass that no longer matches, a changed dtype or format, another version of the operator package.",
        "查明来由：融合 pass 不再匹配、dtype 或 format 变化、算子包版本不同。",
    ),
}
