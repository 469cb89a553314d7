"""The rules about what takes the time on the device, and what bounds it."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import OWN, criteria, rules_with

_ADVISOR = ("msprof-analyze advisor's limits", "msprof-analyze advisor 的阈值")


_rule = rules_with()


RULES: tuple[Rule, ...] = (
    _rule(
        "top-operators",
        "note",
        ("what takes the time on the device", "设备侧耗时分布"),
        (
            "Operator types in the order of their time. Shares are of the sum of all usable durations (kernel time), not of the wall time: idle time is in another finding. With a few types that have most of it, those are worth tuning; where the time is scattered over many, fusing and the host are.",
            "按耗时排序的算子类型。占比相对于所有可用耗时之和（kernel 时间），而非墙钟时间：空闲另有发现。若少数类型占绝大部分，应优化这些算子；若分散在很多类型上，应考虑融合与主机侧下发。",
        ),
        (
            "the first 20 types: at least concentrated_percent (80) together, or at most scattered_percent (50)",
            "前 20 类合计不低于 concentrated_percent（80），或不高于 scattered_percent（50）",
        ),
    ),
    _rule(
        "time-by-class",
        "note",
        ("computing, moving, communicating", "计算、搬运、通信的耗时构成"),
        (
            "Kernel time by the class of the operators: by type, and where the type is not known by the busy pipes or the core. Where type and pipes say different things both are told: computing operators whose MTE pipes are busier than cube and vector are held up by memory.",
            "按算子类别统计 kernel 时间：先看算子类型，类型未知时看流水占比或执行核。两者不一致时都给出：计算类算子若 MTE 流水比 cube、vector 更忙，则受访存限制。",
        ),
        ("always, where there is a table", "有算子表时总是给出"),
    ),
    _rule(
        "no-duration",
        "note",
        ("rows without a duration", "没有耗时的行"),
        (
            "N/A or empty: the profiler could not measure the task (counters of very long tasks, a lost end). Those rows are in no sum; the real total is larger.",
            "值为 N/A 或空：profiler 未能测得该任务（任务过长导致计数器无效、丢失结束记录）。这些行不计入任何合计，真实总耗时更大。",
        ),
        ("every such row", "每一行都算"),
    ),
    _rule(
        "impossible-duration",
        "warning",
        ("durations that cannot be", "不可能的耗时"),
        (
            "Negative, or longer than the whole profile while other tasks of the stream go on: an overflow or a lost record, not time. They are in no sum.",
            "为负，或比整个采集还长而同一流上其他任务仍在执行：这是溢出或丢失记录，不是真实耗时。不计入任何合计。",
        ),
        (
            "below 0; above 1e12 us; above the wall time; more than an hour after the last start; more than twice all other work with a later task of the stream in its way",
            "小于 0；大于 1e12 us；大于墙钟时间；超出最后一个任务开始一小时；超过其余全部任务跨度两倍且同一流上有更晚的任务已开始",
        ),
    ),
    _rule(
        "repeated-rows",
        "note",
        ("the same task stands in two files", "同一任务出现在两个文件中"),
        (
            "Same start, duration, name, stream and task: files overlap (a slice exported twice). The first one counts. Rows that stand twice in one file are told and count, as in the tools' own sums.",
            "开始时间、耗时、名称、流、任务号都相同：文件有重叠（如分片重复导出）。只计第一次出现的行。同一文件内重复的行仅提示，仍计入合计，与工具自身的合计一致。",
        ),
        ("every such row", "每一行都算"),
    ),
    _rule(
        "stray-start",
        "note",
        ("starts outside the profile", "开始时间不在采集区间内"),
        (
            "A start at 0, or a day away from all others. The duration counts; the start is left out of everything that is measured on the time axis.",
            "开始时间为 0，或与其他任务相差一天以上。其耗时计入合计，但不参与任何时间轴上的统计。",
        ),
        ("0, or more than 24 h from all other starts", "为 0，或与其他任务相差超过 24 小时"),
    ),
    _rule(
        "unbound-operator",
        "warning",
        ("no pipe is busy: a candidate for tuning", "没有流水达到瓶颈：可优化的算子"),
        (
            "None of the pipes (cube, vector, scalar, MTE1, MTE2, MTE3, FixPipe) is busy nearly all the time: they wait for one another. Tiling, double buffering and the number of cores are where the time is. The cost is what would be gained if the busiest pipe came to its limit.",
            "各流水（cube、vector、scalar、MTE1、MTE2、MTE3、FixPipe）均未接近满载：流水之间互相等待。应从 tiling、double buffer 与使用核数入手。代价按最忙流水达到阈值时可节省的时间计算。",
        ),
        (
            "no ratio above bound_ratio (0.8), calls of unbound_us (20) and more",
            "所有占比不高于 bound_ratio（0.8），且单次耗时不小于 unbound_us（20）",
        ),
        _ADVISOR,
        criteria("unbound_us=50"),
    ),
    _rule(
        "bound-operator",
        "note",
        ("what bounds the operators that matter", "主要算子的瓶颈类型"),
        (
            "The pipe that is busy nearly all the time: the operator can't be faster unless that pipe has less to do. For 310P and 910A also the memory_bound column (MTE2 over the larger of cube and vector).",
            "接近满载的流水：除非减少该流水的工作量，否则算子无法更快。310P、910A 另看 memory_bound 列（MTE2 与 cube、vector 较大者之比）。",
        ),
        (
            "a ratio above bound_ratio (0.8), or memory_bound above 1; types with 5 % of the kernel time without communication",
            "某流水占比高于 bound_ratio（0.8），或 memory_bound 大于 1；占除通信外 kernel 时间 5 % 以上的类型",
        ),
        _ADVISOR,
        criteria("bound_ratio=0.9"),
    ),
    _rule(
        "cube-utilization",
        "warning",
        ("the cube cores are not used", "cube 核利用率低"),
        (
            "cube_utilization(%) is the share of all cycles of all cube cores in the duration of the operator. Low: few cores have work (block dim), or they wait at the start and the end. The cost is what would be gained at the criterion.",
            "cube_utilization(%) 是算子执行期间全部 cube 核周期中被使用的比例。偏低说明参与的核少（block dim），或启动、收尾等待多。代价按达到阈值时可节省的时间计算。",
        ),
        (
            "below core_utilization_percent (50), weighted by time; types with 1 % of the kernel time without communication",
            "按耗时加权低于 core_utilization_percent（50）；占除通信外 kernel 时间 1 % 以上的类型",
        ),
        OWN,
        criteria("core_utilization_percent=30"),
    ),
    _rule(
        "matmul-axis",
        "warning",
        ("last axis of a matrix is not a multiple of 256", "矩阵内轴不是 256 的倍数"),
        (
            "The cube unit takes blocks, memory comes in lines of 512 bytes: rows of another length are moved in more and smaller pieces.",
            "cube 单元按分块计算，访存按 512 字节行进行：内轴不对齐会使搬运变碎、变多。",
        ),
        (
            "matrix multiplication on cube cores, last axis % 256, tensors of all calls of a shape 100 MB together",
            "cube 核上的矩阵乘，内轴 % 256 ≠ 0，同一 shape 所有调用的张量合计不小于 100 MB",
        ),
        _ADVISOR,
    ),
    _rule(
        "attention-axis",
        "warning",
        ("head or sequence is not a multiple of 128", "head dim 或序列长度不是 128 的倍数"),
        (
            "FlashAttention works on tiles of 128: what is left over costs a whole tile.",
            "FlashAttention 按 128 分块：余下部分也要花一整块的时间。",
        ),
        (
            "FlashAttentionScore and its gradient, head dim % 128 or sequence % 128",
            "FlashAttentionScore 及其反向，head dim % 128 ≠ 0 或序列长度 % 128 ≠ 0",
        ),
        _ADVISOR,
    ),
    _rule(
        "memory-roof",
        "note",
        ("as fast as the memory: fuse, do not tune", "已达内存带宽上限：应融合而非调优"),
        (
            "Inputs and outputs over the duration are close to what the memory of the chip gives. A better kernel would gain little; less traffic (fusion with its neighbours, a smaller data type) would.",
            "输入输出字节数除以耗时已接近芯片内存带宽上限。改进 kernel 收益很小；应减少访存（与前后算子融合、使用更小的数据类型）。",
        ),
        (
            "80 % of the peak of the chip or of bandwidth_gb_per_s; types with 1 % of the kernel time without communication. The bytes are those of the shapes: a lower bound",
            "达到芯片峰值或 bandwidth_gb_per_s 的 80 %；占除通信外 kernel 时间 1 % 以上的类型。字节数按 shape 计算，为下限",
        ),
        OWN,
        criteria("bandwidth_gb_per_s=1600"),
    ),
    _rule(
        "low-throughput",
        "note",
        ("moves or adds far below the memory's speed", "向量或搬运算子吞吐低"),
        (
            "Vector and moving operators should run at the speed of the memory. The limits are those that the vendor's older tables colour by; they are made for A2 and are information, not a judgement, for others.",
            "向量与搬运类算子应能达到访存速度。阈值取自厂商早期表格的着色标准，针对 A2；对其他芯片仅供参考。",
        ),
        (
            "below 575 GB/s (575 to 1150: so-so), calls of more than 20 us on average; types with 1 % of the kernel time without communication",
            "低于 575 GB/s（575～1150 为一般），单次平均耗时大于 20 us；占除通信外 kernel 时间 1 % 以上的类型",
        ),
        ("the vendor's older colouring of tables", "厂商早期表格的着色标准"),
    ),
)
