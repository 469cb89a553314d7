"""The rules about two rounds side by side."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import rules_with

_NOISE = (
    "beyond noise_sigmas (3) deviations of the mean over repeated steps, at least 1 %; without repeated steps over calls of one type and shape, at least 2 %",
    "超过重复 step 均值的 noise_sigmas（3）倍标准差且不低于 1 %；没有重复 step 时按同类型同 shape 的调用估计，不低于 2 %",
)
_SILENCE = ("--criteria noise_sigmas=5", "--criteria noise_sigmas=5")


_rule = rules_with(threshold=_NOISE, silence=_SILENCE)


RULES: tuple[Rule, ...] = (
    _rule(
        "round-total",
        "warning",
        ("the step became slower or faster", "整步变慢或变快"),
        (
            "The time of a step in both rounds, and of its parts. A note where it became faster or where the difference is within the noise, a warning where it became slower.",
            "两轮的单步耗时及其构成。变快或在噪声之内为提示，变慢为警告。",
        ),
    ),
    _rule(
        "operator-slower",
        "warning",
        ("an operator type became slower", "算子类型变慢"),
        (
            "All calls of the type together take longer in a step than before.",
            "该类型在一步内的总耗时比之前长。",
        ),
    ),
    _rule(
        "operator-faster",
        "note",
        ("an operator type became faster", "算子类型变快"),
        (
            "All calls of the type together take less time in a step than before; what its neighbours lost is told with it.",
            "该类型在一步内的总耗时比之前短；同时给出相邻算子的损失。",
        ),
    ),
    _rule(
        "cost-next-door",
        "warning",
        ("a gain that the neighbours pay for", "收益被相邻算子抵消"),
        (
            "An operator became faster while the calls right before and after it (often format conversions) became slower, or conversions were put in beside it.",
            "某算子变快，但其前后相邻的算子（常为格式转换）变慢，或旁边新增了转换算子。",
        ),
        ("neighbours lose more than a fifth of the gain", "相邻算子的损失超过收益的五分之一"),
    ),
    _rule(
        "operator-replaced",
        "note",
        ("operators were replaced, fused, added or removed", "算子被替换、融合、新增或移除"),
        (
            "Both rounds' typical steps are aligned call by call; what stands between two common calls was replaced. A warning where the new operators take longer.",
            "将两轮的典型 step 逐调用对齐；两个相同调用之间的内容即为被替换部分。新算子更慢时为警告。",
        ),
        ("the difference is above 0.1 % of the step", "差值超过单步的 0.1 %"),
    ),
)
