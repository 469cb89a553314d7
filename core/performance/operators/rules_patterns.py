# ruff: noqa: E501
"""The rules about patterns in the operator table: what each means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import OWN, rules_with

_VENDOR = ("msprof-analyze advisor", "msprof-analyze advisor")
_VENDOR_AND_OWN = (
    "msprof-analyze advisor; shares, groups and costs are npulse's",
    "msprof-analyze advisor；占比、归并与代价为 npulse 自有",
)


_rule = rules_with()


RULES: tuple[Rule, ...] = (
    _rule(
        "aicpu",
        "warning",
        ("operators run on the AI CPU", "算子在 AI CPU 上执行"),
        (
            "What no AI core implementation takes runs on the AI CPU, slower by orders of magnitude. The data types that are not in the allow lists are named, or the types that are to be written in another way. The cost is the time in which nothing else ran.",
            "没有 AI Core 实现可用的算子会落到 AI CPU，慢若干数量级。给出不在允许列表中的数据类型，或需要改写的算子类型。代价为设备上没有其他任务执行的时间。",
        ),
        (
            "any AI_CPU row; warning: one longer than aicpu_us (20) and together at least 3 % of the operator time",
            "存在 AI_CPU 行；有一次超过 aicpu_us（20）且合计不低于算子总耗时的 3 % 时为 warning",
        ),
        _VENDOR_AND_OWN,
        ("--criteria aicpu_us=...", "--criteria aicpu_us=..."),
    ),
    _rule(
        "dynamic-shape",
        "note",
        ("operators run with dynamic shapes", "算子以动态 shape 执行"),
        (
            "OP State tells dynamic from static shapes; N/A is neither. If all are dynamic, just-in-time compilation and private formats cost host time.",
            "OP State 区分动态与静态 shape；N/A 两者都不算。全部为动态时，在线编译与私有格式会增加 host 耗时。",
        ),
        (
            "all: a dynamic row and no static one (vendor); else how many",
            "全部动态：有 dynamic 行且没有 static 行（厂商规则）；否则给出数量",
        ),
        _VENDOR_AND_OWN,
    ),
    _rule(
        "block-dim",
        "note",
        ("block dim is no multiple of the core number", "block dim 不是核数的整数倍"),
        (
            "The last wave leaves cores idle. Idle share = 1 - blocks / (waves x cores); the cost is that share of the duration, an upper bound. Mixed operators pass if their other kind of core is full. Not judged where all shapes are dynamic. Core numbers come from the profile, or are inferred from the largest block dim and said to be.",
            "最后一轮有核空闲。空闲占比 = 1 − block 数 ÷（轮数 × 核数）；代价为耗时乘以该占比，是上限。混合算子只要另一类核占满即通过。全部动态 shape 时不评估。核数取自 profiling 数据，否则由最大 block dim 推断并注明。",
        ),
        (
            "block num % cores != 0 and the longest call of the same shapes above 20 us",
            "block num % 核数 ≠ 0，且相同 shape 中最长的一次超过 20 us",
        ),
        _VENDOR_AND_OWN,
    ),
    _rule(
        "conversion",
        "warning",
        ("format and type conversions take much time", "格式与类型转换耗时占比高"),
        (
            "TransData, Cast, Transpose and trans_* on AI cores: what they convert, what stands before and behind them on the stream. What only contains such a word (BroadcastTo) does not count.",
            "AI Core 上的 TransData、Cast、Transpose 及 trans_*：转换了什么，所在 stream 上前后是什么算子。仅名称包含这些词的（如 BroadcastTo）不算。",
        ),
        (
            "more than conversion_percent (5) of the kernel time",
            "超过 kernel 耗时的 conversion_percent（5）%",
        ),
        OWN,
        ("--criteria conversion_percent=100", "--criteria conversion_percent=100"),
    ),
    _rule(
        "conversion-back",
        "note",
        ("a conversion is undone at once", "转换随即被还原"),
        (
            "A Cast or TransData whose result is converted back by the next one of its kind: same stream, equal shape, type and format on both ends. What fed whom is concluded, not recorded. A warning above conversion_percent.",
            "Cast 或 TransData 的结果被同一 stream 上的下一个同类转换还原：两端 shape、类型、格式相同。数据依赖为推断，表中没有记录。超过 conversion_percent 时为 warning。",
        ),
        ("at most 4 operators between", "中间至多 4 个算子"),
    ),
    _rule(
        "kv-gather",
        "note",
        ("a gather reads the KV cache slowly", "Gather 低速读取 KV cache"),
        (
            "Gather, IndexSelect, AsStrided or StridedSlice on a tensor whose shape is that of a KV cache. Bandwidth = 2 x output bytes / duration; contiguous pieces follow from the shapes. The cost is what exceeds the time at that limit.",
            "Gather、IndexSelect、AsStrided、StridedSlice 的输入 shape 与 KV cache 一致。带宽 = 2 × 输出字节数 ÷ 耗时；连续片段由 shape 推得。代价为超出按该带宽下限所需时间的部分。",
        ),
        (
            "longest call above 20 us and below 575 GB/s (vendor's red mark for A2), or below half of bandwidth_gb_per_s where it is set; a warning from 5 % of the kernel time",
            "最长一次超过 20 us 且带宽低于 575 GB/s（厂商对 A2 的红色阈值），设置了 bandwidth_gb_per_s 时为其一半；占 kernel 耗时 5 % 起为 warning",
        ),
        _VENDOR_AND_OWN,
        ("--criteria bandwidth_gb_per_s=...", "--criteria bandwidth_gb_per_s=..."),
    ),
    _rule(
        "precision-mode",
        "note",
        ("precision mode of fp32 matmuls and convolutions", "fp32 matmul 与卷积的精度模式"),
        (
            "HF32 Eligible of fp32 matmuls and convolutions, modes in kernel names (high_precision, high_performance) and recorded settings. Without the column the mode is unknown.",
            "fp32 matmul 与卷积的 HF32 Eligible、kernel 名中的模式（high_precision、high_performance）以及记录到的设置。没有该列则模式未知。",
        ),
        ("always told", "总是给出"),
    ),
    _rule(
        "tiny",
        "warning",
        ("runs of tiny operators", "成串的小算子"),
        (
            "Runs of at least 3 kernels, each shorter than tiny_us: their time and the gaps between them in which the device does nothing. The cost is those gaps. A note where both together are not above tiny_percent of the wall time.",
            "连续至少 3 个短于 tiny_us 的 kernel：其耗时以及其间设备空闲的间隙，代价为这些间隙。两者合计不超过墙钟时间的 tiny_percent 时为 note。",
        ),
        (
            "calls in runs above tiny_percent (20) of all kernels, time with gaps at least 5 % of the wall time; tiny_us (10)",
            "成串调用超过 kernel 总数的 tiny_percent（20）%，耗时与间隙合计不低于墙钟时间的 5 %；tiny_us（10）",
        ),
        OWN,
        ("--criteria tiny_us=...,tiny_percent=...", "--criteria tiny_us=...,tiny_percent=..."),
    ),
    _rule(
        "fused-operator",
        "note",
        ("single kernels where a fused operator exists", "有融合算子却以小算子执行"),
        (
            "A known sequence of types (attention, RMSNorm, rotary embedding, SwiGLU, FFN, masked softmax, LayerNorm ...) on one stream. Kernels that the fused operator itself launched do not count. The cost is the time without the longest kernel of each sequence, an upper bound. A warning from 5 % of the kernel time.",
            "同一 stream 上已知的算子类型序列（attention、RMSNorm、旋转位置编码、SwiGLU、FFN、带掩码 softmax、LayerNorm 等）。由融合算子自身下发的 kernel 不算。代价为除去每个序列最长 kernel 之外的耗时，是上限。占 kernel 耗时 5 % 起为 warning。",
        ),
        ("at least 1 % of the kernel time", "不低于 kernel 耗时的 1 %"),
        _VENDOR_AND_OWN,
    ),
    _rule(
        "fusible-sequence",
        "note",
        ("a sequence that repeats and could be fused", "重复出现、可融合的算子序列"),
        (
            "2 to 10 operators that come more than 5 times: bound by the host (work below 0.4 of its wall time), or by moving data (mte2 with mte3 or fixpipe above 0.8 of the core time; not where a matmul or an attention is in it). Communication and AI CPU operators end a sequence. The cost is its gaps, or all of its work but one operator's part.",
            "2～10 个算子重复 5 次以上：受 host 限制（执行时间不足墙钟的 0.4），或受搬运限制（mte2 与 mte3 或 fixpipe 之和超过核耗时的 0.8；含 matmul、attention 的除外）。通信与 AI CPU 算子会截断序列。代价为其间隙，或除一个算子之外的执行时间。",
        ),
        (
            "more than 5 times and more than 1 % of the step; the 5 longest",
            "重复 5 次以上且超过 step 的 1 %；取最长的 5 个",
        ),
        _VENDOR_AND_OWN,
    ),
    _rule(
        "kernel-jitter",
        "note",
        ("a kernel takes different times for the same shapes", "同一 kernel 同一 shape 耗时波动"),
        (
            "Calls of the same name, shapes, types, formats and block dim, without the first one: (p99 - p50) / p50. The cost is what calls take above their median.",
            "名称、shape、类型、格式、block dim 均相同的调用（不含首次）：(p99 − p50) ÷ p50。代价为超出中位数的时间。",
        ),
        (
            "above kernel_jitter_percent (20), at least 10 calls, and at least 1 % of the kernel time",
            "超过 kernel_jitter_percent（20），至少 10 次调用，且不低于 kernel 耗时的 1 %",
        ),
        OWN,
        ("--criteria kernel_jitter_percent=...", "--criteria kernel_jitter_percent=..."),
    ),
    _rule(
        "kernel-warm-up",
        "note",
        ("only the first call of a kernel is slow", "仅首次调用慢"),
        (
            "The first call exceeds the median of the others by kernel_jitter_percent, the others do not vary: compilation, loading or a cold cache, no jitter.",
            "首次调用超出其余调用中位数 kernel_jitter_percent，而其余调用稳定：属于编译、加载或冷缓存，不是抖动。",
        ),
        ("at least 10 calls, at least 1 % of the kernel time", "至少 10 次调用，不低于 kernel 耗时的 1 %"),
        OWN,
        ("--criteria kernel_jitter_percent=...", "--criteria kernel_jitter_percent=..."),
    ),
    _rule(
        "pattern-unknown",
        "note",
        ("patterns that could not be judged", "未能评估的模式"),
        (
            "The table lacks a column, or has no value in it, that a pattern needs. Unknown is not clean.",
            "缺少某个模式所需的列，或该列没有任何值。未知不等于没有问题。",
        ),
        ("a needed column has no value", "所需的列没有值"),
    ),
)
