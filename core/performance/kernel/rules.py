"""The rules about single kernels: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import OWN, criteria, rules_with

_TOOL = ("msOpProf's rule, computed again by npulse", "msOpProf 规则，由 npulse 重新计算")


_rule = rules_with(prefix="kernel-")


RULES: tuple[Rule, ...] = (
    _rule(
        "frequency",
        "warning",
        ("the card ran below its rated frequency", "运行频率低于额定频率"),
        (
            "The clock was low while the kernel was measured: power or heat limits, or a card that was idle before.",
            "采集时频率偏低：功耗或温度限制，或此前处于空闲状态。",
        ),
        (
            "current frequency at or below 95 % of the rated one (frequency_drop_percent 5)",
            "当前频率 ≤ 额定频率的 95%（frequency_drop_percent 5）",
        ),
        _TOOL,
        criteria("frequency_drop_percent=100"),
    ),
    _rule(
        "use",
        "note",
        ("compute units are hardly busy", "计算单元利用率低"),
        (
            "The cube or vector unit computes only a small part of the time in which its core is occupied.",
            "核被占用期间，Cube 或 Vector 单元只有很少时间在计算。",
        ),
        (
            "busy below kernel_use_percent (20) of the core's time on at least one core",
            "至少一个核的忙碌时间低于 kernel_use_percent（20%）",
        ),
        _TOOL,
        criteria("kernel_use_percent=0"),
    ),
    _rule(
        "pipe-slow",
        "warning",
        ("a pipe moves little while it is busy", "流水忙碌期间带宽利用率低"),
        (
            "Share of the peak bandwidth over the share of time in which the pipe is busy: small, unaligned or strided moves.",
            "带宽利用率与忙碌时间占比之商偏低：搬运块小、未对齐或有 stride。",
        ),
        (
            "mean below kernel_active_ratio (0.8), of pipes that are busy at least 10 % of the time",
            "均值低于 kernel_active_ratio（0.8），且流水忙碌时间不低于 10%",
        ),
        (
            "msOpProf's rule; that the pipe must be busy 10 % of the time is npulse's",
            "msOpProf 规则；忙碌时间不低于 10% 为 npulse 附加条件",
        ),
        criteria("kernel_active_ratio=0"),
    ),
    _rule(
        "uneven",
        "warning",
        ("cores have unequal work", "核间负载不均"),
        (
            "Some cores take more cycles, move more data or miss the cache more than the others of their kind.",
            "部分核的周期数、读写量明显更大，或缓存命中率明显更低。",
        ),
        (
            "sigmoid of the z-score at or above 0.6, and off the mean by kernel_spread_percent (10; points for hit rates)",
            "z-score 的 sigmoid ≥ 0.6，且偏离均值 kernel_spread_percent（10%；命中率为百分点）以上",
        ),
        (
            "msOpProf's score; the absolute spread is npulse's: by the score alone a third of all cores is flagged under any unequal load",
            "评分取自 msOpProf；绝对偏离条件为 npulse 所加：仅按评分，任何不等的负载都会标出约三分之一的核",
        ),
        criteria("kernel_spread_percent=1000"),
    ),
    _rule(
        "bound",
        "warning",
        ("what the kernel is bound by", "算子的 bound 类型"),
        (
            "The pipe that is busy nearly all the time, or none: then pipes wait for each other. A note where cube or vector is the busy one, or the kernel is shorter than unbound_us.",
            "几乎一直忙碌的流水；若没有，则各流水互相等待。Cube、Vector bound 或耗时短于 unbound_us 时仅为提示。",
        ),
        (
            "mean ratio over the cores above bound_ratio (0.8); vector kernels as msprof-analyze: one of vector, mte2, mte3 at 0.7 or the three at 0.9 together",
            "各核均值高于 bound_ratio（0.8）；Vector 算子按 msprof-analyze：vector、mte2、mte3 之一达 0.7，或三者合计达 0.9",
        ),
        ("msprof-analyze's thresholds, on msOpProf's tables", "msprof-analyze 门限，用于 msOpProf 结果表"),
    ),
    _rule(
        "roofline",
        "warning",
        ("where the kernel stands under its roof", "Roofline 瓶颈类型"),
        (
            "Compute or memory bound when a point comes near its roof; else latency bound, with the reason why.",
            "有点接近屋顶线时为 compute bound 或 memory bound；否则为 latency bound，并给出原因。",
        ),
        (
            "best point above 0.8 of its roof; below it the busiest pipe at bound_ratio (0.8) says why",
            "最佳点高于屋顶线的 0.8；低于时由是否有流水达到 bound_ratio（0.8）区分原因",
        ),
        _TOOL,
    ),
    _rule(
        "l2",
        "note",
        ("few accesses hit the L2 cache", "L2 Cache 命中率低"),
        (
            "Data comes from main memory again and again. Data that is used once cannot hit.",
            "数据反复从 GM 读取。只用一次的数据本来就无法命中。",
        ),
        ("hit rate below kernel_l2_hit_percent (60)", "命中率低于 kernel_l2_hit_percent（60%）"),
        OWN,
        criteria("kernel_l2_hit_percent=0"),
    ),
    _rule(
        "conflict",
        "warning",
        ("vector instructions wait for banks or resources", "Vector 指令存在 bank 或资源冲突"),
        (
            "Operands of one instruction meet in one bank or bank group of the unified buffer, or wait for other resources.",
            "同一指令的操作数落在 UB 的同一 bank 或 bank group，或等待其他资源。",
        ),
        (
            "mean share of the time at or above kernel_conflict_percent (5)",
            "时间占比均值 ≥ kernel_conflict_percent（5%）",
        ),
        OWN,
        criteria("kernel_conflict_percent=101"),
    ),
    _rule(
        "scalar",
        "warning",
        ("the scalar unit takes much of the time", "Scalar 占比高"),
        (
            "Addresses, loops and single elements are computed by the scalar unit while the others wait for its instructions.",
            "地址、循环和单元素计算占用 Scalar，其他流水在等待它下发指令。",
        ),
        (
            "mean ratio at or above kernel_scalar_percent (50), where the kernel is not bound by it already",
            "均值 ≥ kernel_scalar_percent（50%），且尚未判为 Scalar bound",
        ),
        OWN,
        criteria("kernel_scalar_percent=101"),
    ),
    _rule(
        "tail",
        "warning",
        ("one core works on while the others are done", "尾部单核拖长"),
        ("The kernel lasts as long as its slowest core.", "算子耗时取决于最慢的核。"),
        (
            "longest block minus the median at or above serial_tail_percent (5) of the kernel; 3 cores at least",
            "最长 block 与中位数之差 ≥ 算子耗时的 serial_tail_percent（5%）；至少 3 个核",
        ),
        OWN,
        criteria("serial_tail_percent=101"),
    ),
    _rule(
        "icache",
        "warning",
        ("instruction fetches miss the cache", "指令缓存缺失率高"),
        ("The code of the kernel does not fit into the instruction cache.", "算子代码超出指令缓存容量。"),
        ("mean miss rate at or above kernel_icache_percent (5)", "缺失率均值 ≥ kernel_icache_percent（5%）"),
        OWN,
        criteria("kernel_icache_percent=101"),
    ),
    _rule(
        "bandwidth",
        "note",
        ("a bandwidth is used up", "带宽已用满"),
        (
            "Main memory, or a way between memory and the core, moves nearly what it can.",
            "GM 或某条搬运通路已接近带宽峰值。",
        ),
        ("at or above kernel_bandwidth_percent (80) of the peak", "≥ 峰值的 kernel_bandwidth_percent（80%）"),
        OWN,
        criteria("kernel_bandwidth_percent=1000"),
    ),
    _rule(
        "outside",
        "warning",
        ("much of the kernel passes while no core works", "算子耗时中核空闲占比高"),
        (
            "The task lasts longer than its longest core: launching, starting the cores, ending. Core times and task time are taken in different replays. A note below half of the time.",
            "任务耗时超出最长核的部分：下发、启核、结束。核耗时与任务耗时来自不同的重放。低于一半时仅为提示。",
        ),
        (
            "at or above kernel_outside_percent (20) of the task and 5 us, where all blocks run at once",
            "≥ 任务耗时的 kernel_outside_percent（20%）且 ≥ 5 us，且所有 block 一轮跑完",
        ),
        OWN,
        criteria("kernel_outside_percent=101"),
    ),
    _rule(
        "few-cores",
        "warning",
        ("few of the cores are used", "使用的核数少"),
        (
            "The kernel has fewer blocks than the chip has cores, or a last round that is nearly empty.",
            "Block 数少于芯片核数，或最后一轮几乎为空。",
        ),
        (
            "used time of the cores below core_utilization_percent (50)",
            "核使用率低于 core_utilization_percent（50%）",
        ),
        OWN,
        criteria("core_utilization_percent=0"),
    ),
    _rule(
        "hot-line",
        "note",
        ("one line takes much of the kernel", "热点代码行"),
        ("The line of the source with the most cycles over all cores.", "各核累计周期最多的源码行。"),
        ("at or above kernel_line_percent (30) of all cycles", "≥ 总周期的 kernel_line_percent（30%）"),
        OWN,
        criteria("kernel_line_percent=101"),
    ),
    _rule(
        "sync",
        "warning",
        ("pipes wait for each other", "流水间等待多"),
        (
            "Cycles that the simulator counts for waiting on a flag or at a barrier, over the cycles of all instructions of all pipes.",
            "仿真中等待 flag 或 barrier 的周期，占所有流水全部指令周期的比例。",
        ),
        (
            "WAIT_FLAG and barriers at or above kernel_wait_percent (20) of all cycles",
            "WAIT_FLAG 与 barrier ≥ 总周期的 kernel_wait_percent（20%）",
        ),
        OWN,
        criteria("kernel_wait_percent=101"),
    ),
    _rule(
        "tool",
        "note",
        ("what msOpProf itself advises", "msOpProf 的建议"),
        ("Sentences of the tool, unchanged.", "工具原文，未作改动。"),
        ("as the tool has it", "以工具为准"),
        ("msOpProf", "msOpProf"),
    ),
    _rule(
        "collecting",
        "note",
        ("the collection is not finished", "采集未完成"),
        (
            "Only raw files are there; msOpProf makes its tables when the program has ended.",
            "仅有原始数据；程序结束后 msOpProf 才生成结果表。",
        ),
        ("no table and no visualize_data.bin", "没有结果表和 visualize_data.bin"),
    ),
    _rule(
        "not-judged",
        "note",
        ("parts of the kernel were not measured", "部分指标未采集"),
        (
            "Only the metrics that were asked for have a table; what the others would say is not known.",
            "只有指定的指标才有结果表；其余未知。",
        ),
        (
            "a table of metrics is missing, and visualize_data.bin does not stand for it",
            "缺少指标表，且 visualize_data.bin 中没有相应内容",
        ),
    ),
)
