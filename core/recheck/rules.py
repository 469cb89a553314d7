# ruff: noqa: E501 - one text a line
"""The rules of recheck: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

Words = tuple[str, str]
_OWN: Words = (
    "npulse's own; bounds by running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 to 4)",
    "npulse 自有规则；误差界由运行误差分析得出（Higham，Accuracy and Stability of Numerical Algorithms，第 2 至 4 章）",
)
_NEVER: Words = ("cannot be silenced", "不可关闭")
_BOUND: Words = (
    "each element against its own bound: what rounding inside leaves (float32 inside for sums and for bfloat16, else the operator's dtype), and one rounding to the output's dtype; gamma(k)|A||B| for products of matrices",
    "逐元素与其误差界比较：内部舍入（求和与 bfloat16 以 float32 计算，其余以算子 dtype）加上一次舍入到输出 dtype；矩阵乘为 gamma(k)|A||B|",
)


def _rule(
    id_: str,
    severity: Severity,
    title: Words,
    meaning: Words,
    threshold: Words = _BOUND,
    source: Words = _OWN,
) -> Rule:
    return Rule(f"recheck.{id_}", severity, title, meaning, threshold, source, _NEVER)


RULES: tuple[Rule, ...] = (
    _rule(
        "implementation",
        "error",
        ("the output is not what its inputs give", "输出与其输入不符"),
        (
            "Computed again on the CPU in float64 from the dumped inputs, elements of the output are further from the truth than any correct implementation in this dtype can be. Other ways to call the operator were tried and do not fit, or the one that fits is the implementation's doing.",
            "用采集的输入在 CPU 上以 float64 重新计算，输出元素偏离真值超过该 dtype 下任何正确实现的误差。已尝试其他调用方式，均不符，或相符者属实现问题。",
        ),
    ),
    _rule(
        "call",
        "error",
        ("the output is that of another call", "输出是另一种调用的结果"),
        (
            "The output is wrong for the recorded arguments and right for others, which are named: another axis, epsilon, scale, a missing bias, halves exchanged.",
            "输出与记录的参数不符，与另一组参数（已指出）相符：轴、epsilon、缩放、缺少 bias、两半互换等。",
        ),
    ),
    _rule(
        "coarse",
        "error",
        ("accumulated in a coarser dtype", "以较低精度累加"),
        (
            "The output is off by more than float32 inside leaves and by no more than the operator's own dtype inside would: the sum was accumulated in half precision.",
            "偏差大于以 float32 累加所留，不大于以算子自身 dtype 累加所留：求和以半精度进行。",
        ),
        (
            "beyond 6 sqrt(k) roundoffs of float32 of sum|a|, within 6 sqrt(k) of the operator's dtype of what partial sums come to: sqrt(T^2 / 3 + sum(a^2) / 6) of a sum T, more where terms have one sign",
            "超过 float32 的 6 sqrt(k) 个舍入单位（相对 sum|a|），不超过算子 dtype 的 6 sqrt(k) 个（相对部分和：和为 T 时 sqrt(T^2 / 3 + sum(a^2) / 6)，各项同号时更大）",
        ),
        (
            "npulse's own; Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019",
            "npulse 自有规则；Higham 与 Mary，A New Approach to Probabilistic Rounding Error Analysis，2019",
        ),
    ),
    _rule(
        "unknown",
        "warning",
        ("cannot be computed again", "无法重新计算"),
        (
            "Tensors were not dumped, there is no reference for the operator, or its arguments are not in the dump. It says nothing of the operator.",
            "张量未采集、没有参考实现，或参数不在 dump 中。这不说明算子对错。",
        ),
        ("every call of that kind", "该类调用每个都算"),
        ("npulse's own", "npulse 自有规则"),
    ),
    _rule(
        "clipped",
        "warning",
        ("the activation's scale clips what matters", "激活值的 scale 截断了重要的值"),
        (
            "Quantised to int8 and back with the call's own scale, the activation loses at least twice as much as with the one scale that clips nothing. All errors are computed from the dumped elements: for the tensor, for each token and channel, symmetric and asymmetric, and through the weight where that was dumped.",
            "用该调用的 scale 做 int8 量化再还原，激活值的损失至少为不截断的单一 scale 的两倍。所有误差由采集的元素算出：按张量、token、通道，对称与非对称，有权重时还计算乘积。",
        ),
        (
            "some element clipped, and rel_l2 >= 2 x that of scale = absmax / 127",
            "有元素被截断，且 rel_l2 >= 2 x scale = absmax / 127 时的值",
        ),
        ("npulse's own", "npulse 自有规则"),
    ),
)
