"""The rules about wall, busy and idle time."""

from __future__ import annotations

from npulse.core.rules import Rule

from ..rule import OWN, rules_with

_ADVISOR = ("a rule of msprof-analyze's advisor", "msprof-analyze advisor 的规则")
_FACT = ("whenever it is so", "出现即报")


_rule = rules_with(threshold=_FACT)


RULES: tuple[Rule, ...] = (
    _rule(
        "idle",
        "warning",
        ("the device idles", "设备空闲"),
        (
            "Idle is the time between the first and the last task in which neither a kernel nor a collective runs on any stream; copies, events and waits are idle by the vendor's definition. With a timeline it is told apart who was late: the framework, the launch, or the device itself. While the device idles, faster kernels do not help.",
            "空闲指首尾任务之间所有流上都没有 kernel 与集合通信的时间；按厂商口径，拷贝、事件与等待也算空闲。有时间线时可区分是框架、下发还是设备自身的原因。设备空闲时，加快 kernel 没有意义。",
        ),
        (
            "idle share of the wall time from free_percent (10) on a note, from free_high_percent (20) on a warning",
            "空闲占总时长达到 free_percent（10）为提示，达到 free_high_percent（20）为警告",
        ),
        (
            "msprof-analyze: Free over 10 %, older advisor 20 %",
            "msprof-analyze：Free 超过 10 %，旧版 advisor 为 20 %",
        ),
        "free_percent",
    ),
    _rule(
        "launch-blocking",
        "warning",
        ("every launch waits for the device", "每次下发都等待设备"),
        (
            "Stream synchronisations stand beside most launches, or ASCEND_LAUNCH_BLOCKING is set: host and device take turns.",
            "多数下发伴随流同步，或设置了 ASCEND_LAUNCH_BLOCKING：主机与设备交替等待。",
        ),
        (
            "aclrtSynchronizeStream* calls above 50 % of the launches",
            "aclrtSynchronizeStream* 次数超过下发次数的 50 %",
        ),
        _ADVISOR,
    ),
    _rule(
        "online-compile",
        "warning",
        ("operators are compiled while the step runs", "运行中在线编译算子"),
        (
            "aclopCompileAndExecute compiles an operator for each new shape and holds up all launches behind it.",
            "aclopCompileAndExecute 对每个新 shape 编译算子，并阻塞其后的下发。",
        ),
        ("20 calls or more", "不少于 20 次"),
        _ADVISOR,
    ),
    _rule(
        "repeated-calls",
        "note",
        ("one operator is called many times", "同一算子调用次数过多"),
        (
            "Each call costs the host a launch; where the device waits for the host, fewer and larger calls help.",
            "每次调用都有主机下发开销；当设备在等主机时，减少调用次数有效。",
        ),
        ("an aclnn operator 20 times or more, and the device idles", "aclnn 算子不少于 20 次，且设备有空闲"),
        ("a rule of MindStudio Insight", "MindStudio Insight 的规则"),
        "free_percent",
    ),
    _rule(
        "garbage-collection",
        "warning",
        ("garbage collection stops the host", "Python GC 阻塞主机"),
        (
            "While Python collects garbage nothing is launched.",
            "Python GC 期间没有任何下发。",
        ),
        ("a collection of 1 ms or more", "单次不短于 1 ms"),
        _ADVISOR,
    ),
    _rule(
        "silent-host",
        "note",
        ("long idle times in which the host starts nothing", "主机长时间没有下发"),
        (
            "Long idle times with next to no launch: a garbage collection, a checkpoint, validation or data loading. A guess, as no collection is recorded.",
            "长时间空闲且几乎没有下发：可能是 GC、checkpoint、验证或数据加载。因未记录 GC，仅为推测。",
        ),
        (
            "idle longer than 200 ms with less than 0.0001 launches a us",
            "空闲超过 200 ms，且每 us 下发少于 0.0001 次",
        ),
        _ADVISOR,
    ),
    _rule(
        "data-loading",
        "warning",
        ("the step waits for its data", "step 等待数据"),
        ("The data loader holds up the script.", "dataloader 阻塞脚本。"),
        ("a dataloader call of 10 ms or more", "单次 dataloader 调用不短于 10 ms"),
        _ADVISOR,
    ),
    _rule(
        "memory-calls",
        "warning",
        ("device memory is taken and given back in the step", "运行中反复申请释放设备内存"),
        (
            "aclMallocMemInner, aclrtFreePhysical and aclrtFree are slow and wait for the device: fragmentation or empty_cache().",
            "aclMallocMemInner、aclrtFreePhysical、aclrtFree 很慢且会等待设备：内存碎片或 empty_cache()。",
        ),
        ("10 ms together", "合计达到 10 ms"),
        _ADVISOR,
    ),
    _rule(
        "exposed-communication",
        "warning",
        ("communication is not hidden by computing", "通信未被计算掩盖"),
        (
            "Time in which only collectives run. It is waiting for the slowest peer and moving data; which of the two only a comparison of ranks tells.",
            "只有集合通信在运行的时间，包含等待最慢的卡和传输数据两部分；二者的区分需要多卡对比。",
        ),
        (
            "its share of the wall time from exposed_communication_percent (10) on",
            "占总时长达到 exposed_communication_percent（10）",
        ),
        OWN,
        "exposed_communication_percent",
    ),
    _rule(
        "serial-tail",
        "warning",
        ("the end of a step runs in series", "step 末尾串行"),
        (
            "From the last instant at which two of the streams and the communication were busy to the end of the step. Not told where there is one stream and no communication: then all is in series.",
            "从最后一次有两路（计算流、通信）同时忙碌的时刻到 step 结束。只有单流且无通信时不报：此时全程都是串行。",
        ),
        (
            "share of the steps' time from serial_tail_percent (5) on",
            "占 step 时间达到 serial_tail_percent（5）",
        ),
        OWN,
        "serial_tail_percent",
    ),
    _rule(
        "step-jitter",
        "warning",
        ("steps take different times", "step 耗时抖动"),
        (
            "Standard deviation over mean of the step times, the first step left out where it is a warm-up; and the part that grew in the slowest one.",
            "step 耗时的标准差与均值之比（首个预热 step 不计），并给出最慢 step 中增长最多的部分。",
        ),
        (
            "from step_jitter_percent (5) on, three steps or more",
            "达到 step_jitter_percent（5），且不少于三个 step",
        ),
        OWN,
        "step_jitter_percent",
    ),
    _rule(
        "warm-up",
        "note",
        ("the first step is a warm-up", "首个 step 为预热"),
        (
            "It compiles and loads; figures of steps leave it out.",
            "首个 step 含编译与加载，step 统计不计入。",
        ),
        (
            "longer than every other step by step_jitter_percent (5), four steps or more",
            "比其余每个 step 都长 step_jitter_percent（5）以上，且不少于四个 step",
        ),
        OWN,
        "step_jitter_percent",
    ),
    _rule(
        "late-begin",
        "note",
        ("a step begins late on the device", "step 开始后设备迟迟没有任务"),
        (
            "Preparing: from the begin of the step to its first device task.",
            "Preparing：从 step 开始到首个设备任务。",
        ),
        ("from free_percent (10) of a step on", "达到 step 的 free_percent（10）"),
        ("step_trace_time of the profiler", "采集工具的 step_trace_time"),
        "free_percent",
    ),
    _rule(
        "input-bound",
        "warning",
        ("iterations wait for input", "迭代等待输入数据"),
        (
            "Data Aug Bound of step_trace: from the end of an iteration to the begin of the next one.",
            "step_trace 的 Data Aug Bound：上一迭代结束到本迭代开始的间隔。",
        ),
        ("from free_percent (10) of the iterations' time on", "达到迭代时间的 free_percent（10）"),
        ("step_trace of msprof", "msprof 的 step_trace"),
        "free_percent",
    ),
    _rule(
        "iteration-tail",
        "note",
        ("reduction and optimizer behind the backward pass", "反向之后的归约与优化器拖尾"),
        ("Iteration Refresh of step_trace.", "step_trace 的 Iteration Refresh。"),
        ("from free_percent (10) of the iterations' time on", "达到迭代时间的 free_percent（10）"),
        ("step_trace of msprof", "msprof 的 step_trace"),
        "free_percent",
    ),
    _rule(
        "low-frequency",
        "warning",
        ("the AI cores ran below their clock", "AI Core 降频"),
        (
            "Mean clock during each kernel against the rated one, or against the highest seen where the rated one is not recorded. 800 MHz of a chip rated at 1800 is its idle clock and no alarm.",
            "各 kernel 期间的平均频率与额定频率相比；未记录额定值时与采集到的最高值相比。额定 1800 MHz 的芯片出现 800 MHz 是空闲频率，不告警。",
        ),
        (
            "kernels with a mean drop of frequency_drop_percent (5)",
            "平均降幅达到 frequency_drop_percent（5）的 kernel",
        ),
        _ADVISOR,
        "frequency_drop_percent",
    ),
    _rule(
        "criterion-missed",
        "error",
        ("a criterion of yours is missed", "未达到设定的指标"),
        (
            "first_token_ms, tokens_per_s or step_ms were given, and what was recorded misses them.",
            "给定了 first_token_ms、tokens_per_s 或 step_ms，实测未达到。",
        ),
        ("the criterion that was given", "给定的指标"),
        OWN,
        "first_token_ms",
    ),
    _rule(
        "criterion-unknown",
        "warning",
        ("a criterion cannot be judged", "指标无法判断"),
        (
            "The figure that the criterion is about was not recorded. That is neither met nor missed.",
            "指标对应的数据未记录，既不算达到也不算未达到。",
        ),
    ),
    _rule(
        "serving",
        "note",
        ("first token and token rate", "首 token 时延与 token 速率"),
        (
            "From the round's record, from marked ranges, or from steps where each is a token.",
            "取自轮次记录、标记区间，或每步一个 token 的 step。",
        ),
    ),
    _rule(
        "impossible-times",
        "note",
        ("tasks at impossible times", "任务时间不可能"),
        (
            "A task at time 0 or hours away from all others would stretch the axis and make everything idle. It is named and counts nowhere.",
            "时间为 0 或与其他任务相差数小时的任务会拉长时间轴，使一切看起来都在空闲。此类任务会列出名字，但不计入统计。",
        ),
        (
            "begins or ends further from the median start than an hour and than 100 times the quartile distance",
            "开始或结束时间与中位开始时间之差超过一小时，且超过四分位距的 100 倍",
        ),
    ),
    _rule(
        "unplaced-rows",
        "note",
        ("rows without a time", "没有时间的行"),
        (
            "Rows without start or duration are in no figure of time.",
            "没有开始时间或耗时的行不计入时间统计。",
        ),
    ),
    _rule(
        "unknown-task-types",
        "note",
        ("task types that are not known", "未知的任务类型"),
        (
            "They count as kernels. If they are waits, the device idles more than is shown.",
            "按 kernel 计。如果它们其实是等待，实际空闲会更多。",
        ),
    ),
    _rule(
        "recorded-times-differ",
        "note",
        ("the tool's own sums say something else", "与工具自身汇总不一致"),
        (
            "Sums of the vendor's overlap analysis, or of step_trace_time, beside those computed here.",
            "厂商 Overlap Analysis 或 step_trace_time 的汇总与本工具计算值的对比。",
        ),
        ("a difference above 1 % of the wall time", "差异超过总时长的 1 %"),
    ),
    _rule(
        "partial-table",
        "warning",
        ("the operator table is only a part", "算子表不完整"),
        (
            "The rows hold much less computing than step_trace_time tells of the same profile: the table was cut, or holds some steps only. Wall, busy and idle are those of step_trace_time; shares of operators are of the part.",
            "表中各行的计算远少于同一 profile 的 step_trace_time：表被裁剪，或只含部分 step。总时长、忙碌与空闲取自 step_trace_time；算子占比只针对这一部分。",
        ),
        ("less than 0.8 of the recorded computing", "低于所记录计算时间的 0.8"),
    ),
    _rule(
        "unfinished-times",
        "note",
        ("times of a part only", "只含部分时间"),
        (
            "The table or timeline has no end, or was read up to a limit.",
            "表或时间线不完整，或只读取到上限。",
        ),
    ),
)
