"""The guide's content: what to look at first, and for each symptom which tool, in which order, on what terms.

A step is added here and nowhere else. English is ASCII: it must show anywhere.
"""
# ruff: noqa: E501 - a text stands on one line in both languages

from __future__ import annotations

import difflib

from npulse.core.errors import UsageError

from .records import Step, Symptom

FIRST: tuple[Step, ...] = (
    Step(
        "environment",
        ("Do the versions fit together?", "各组件版本是否匹配？"),
        ("Driver, toolkit and torch_npu of different times give wrong results, missing operators and crashes that no tool explains.",
         "驱动、toolkit 与 torch_npu 版本不匹配会导致结果错误、缺算子与各种工具无法解释的崩溃。"),
        command="npulse doctor",
    ),
    Step(
        "card",
        ("Is the card well?", "卡是否健康？"),
        ("ECC errors corrupt results, a hot card is slow: what is measured on such a card means nothing.",
         "ECC 错误会破坏结果，过热的卡会变慢：在这样的卡上测得的数据没有意义。"),
        ("npu-smi on PATH; in a container /dev/davinci* and the driver must be mounted", "PATH 中有 npu-smi；容器内需挂载 /dev/davinci* 与驱动"),
        command="npulse device --now",
        pane="device",
    ),
)  # fmt: skip
"""Asked before any symptom: the answers of all tools rest on these."""

_MSPROBE = (
    "msprobe (pip install mindstudio-probe) in the program's Python",
    "程序所用 Python 中已安装 msprobe（pip install mindstudio-probe）",
)

WRONG = Symptom(
    "wrong",
    "precision",
    ("Wrong result, no warning", "结果不对，但没有告警"),
    ("Output, loss or accuracy differs from the GPU, the CPU or an earlier version. No error, no NaN.",
     "输出、loss 或精度与 GPU、CPU 或旧版本不同，没有报错，也没有 NaN。"),
    ("Same weights, input and seed on both sides, dropout off, the shortest prompt or smallest batch that still differs. "
     "One or two steps, one rank if it shows there. Turn fusion and quantisation off in turn: what makes it vanish is half of the answer.",
     "两侧使用相同权重、输入与种子，关闭 dropout，取仍能复现的最短 prompt 或最小 batch。只采一两步，单卡能复现就用单卡。"
     "依次关闭融合与量化：关掉哪个就消失，答案就有了一半。"),
    (
        Step(
            "statistics",
            ("Record statistics of every operator (target)", "采集全部算子的统计量（目标侧）"),
            ("Max, Min, Mean and Norm of each input and output: small, and enough to name the first operator that differs.",
             "每个输入输出的 Max、Min、Mean、Norm：数据量小，足以指出第一个有差异的算子。"),
            _MSPROBE,
            "precision",
            {"tool": "msprobe", "level": "L1", "step": "0", "rank": "{rank}", "small": "yes"},
        ),
        Step(
            "golden",
            ("Record the same on the golden side", "在标杆侧做同样的采集"),
            ("Without a side that is right nothing can be called wrong. GPU, CPU or the last version that was right.",
             "没有正确的一侧就谈不上谁错。可用 GPU、CPU 或最后一个正确的版本。"),
            ("same options, input, weights and seed as the target", "选项、输入、权重与种子均与目标侧一致"),
            "precision",
            {"tool": "msprobe", "level": "L1", "step": "0", "rank": "{rank}", "name": "golden"},
        ),
        Step(
            "compare",
            ("Compare both sides", "比较两侧"),
            ("Names the origin: inputs agree, output does not.", "指出源头：输入一致而输出不一致的算子。"),
            command="npulse precision {run} <GOLDEN>",
            pane="precision",
        ),
        Step(
            "tensors",
            ("Record the tensors of the suspect", "采集可疑算子的张量"),
            ("Statistics cannot tell an outlier from drift: elements show where it differs and by what pattern.",
             "统计量分不清离群点与整体漂移：逐元素数据才能看出差异的位置与模式。"),
            ("the operator's name from the Precision pane, room on the disk", "精度面板中的算子名；磁盘空间"),
            "precision",
            {"tool": "msprobe", "level": "L1", "step": "0", "rank": "{rank}", "list": "<OPERATOR>", "settings": "task=tensor"},
        ),
        Step(
            "graph",
            ("Graph mode or offline model: CANN's own dump", "图模式或离线模型：使用 CANN 自带的 dump"),
            ("msprobe sees Python calls only; in a compiled graph operators are fused and have other names.",
             "msprobe 只能看到 Python 调用；编译后的图中算子已融合，名字也不同。"),
            ("NPU, toolkit with set_env.sh sourced; names are those of the compiled graph", "NPU；toolkit 已 source set_env.sh；算子名以编译后的图为准"),
            "precision",
            {"tool": "acl-dump", "step": "0"},
        ),
    ),
)  # fmt: skip

NAN = Symptom(
    "nan",
    "overflow",
    ("NaN, Inf or an FP exception", "NaN、Inf 或浮点异常"),
    ("Loss is NaN, the loss scale falls without end, logits are Inf, or the device reports an overflow.",
     "loss 变为 NaN、loss scale 不断下降、logits 为 Inf，或设备上报溢出。"),
    ("Start from the last checkpoint before the NaN with the same data and seed, a few steps. Leave the loss scale as it is. "
     "Where it comes by chance: --repeat N. Bring the first operator into a script of its own with its dumped inputs.",
     "从 NaN 出现之前的最后一个 checkpoint 开始，数据与种子不变，只跑几步，loss scale 保持原值。"
     "偶发时用 --repeat N。再用 dump 出的输入把首个出错算子单独写成脚本。"),
    (
        Step(
            "first",
            ("Record until the first anomaly", "采集到首个异常为止"),
            ("Ends at the first operator with good inputs and a bad output and keeps the tensors before it.",
             "遇到首个“输入正常、输出异常”的算子即停止，并保留其之前的张量。"),
            _MSPROBE,
            "overflow",
            {"tool": "statistics", "rank": "{rank}", "stop-at-first": "yes", "retro": "10", "settings": "task=tensor"},
        ),
        Step(
            "look",
            ("Find where it begins", "找出起点"),
            ("Origin, what fed it, headroom of its inputs, and over several ranks the one on which it began.",
             "给出源头、其输入来源、输入离上限的余量；多卡时指出始于哪张卡。"),
            command="npulse overflow {run}",
            pane="overflow",
        ),
        Step(
            "device",
            ("Ask the device itself", "由设备上报"),
            ("In saturation mode nothing turns into Inf or NaN: only the device's status says that it overflowed.",
             "饱和模式下不会出现 Inf 或 NaN：只有设备状态能说明发生过溢出。"),
            ("NPU; dump_debug excludes dump_op_switch and exception scenes", "NPU；dump_debug 与 dump_op_switch、异常场景互斥"),
            "overflow",
            {"tool": "acl-overflow"},
        ),
        Step(
            "nan-check",
            ("msprobe's own check", "msprobe 自带检查"),
            ("Stops where msprobe itself sees the overflow; older releases call it overflow_check.",
             "在 msprobe 自身发现溢出处停止；旧版本称为 overflow_check。"),
            ("NPU, level L1, torch_npu", "NPU、级别 L1、torch_npu"),
            "overflow",
            {"tool": "nan-check", "level": "L1", "rank": "{rank}"},
        ),
    ),
)  # fmt: skip

CRASH = Symptom(
    "crash",
    "memory",
    ("Crash, hang, or values that change", "崩溃、卡住，或数值时对时错"),
    ("AI Core exception, 507015, 507035, segmentation fault, a collective that waits, out of memory, or results that differ from run to run.",
     "AI Core 异常、507015、507035、段错误、集合通信等待、内存耗尽，或每次运行结果不同。"),
    ("One operator, the smallest shape, one block (--set block-id=0 of msSanitizer). ASCEND_LAUNCH_BLOCKING=1 puts the error at its own "
     "Python line. A sanitizer makes the program many times slower: few steps, a long time-out.",
     "单个算子、最小 shape、单个 block（msSanitizer 的 --set block-id=0）。ASCEND_LAUNCH_BLOCKING=1 可让报错落在真正的 Python 行。"
     "检测工具会让程序慢很多倍：步数要少，超时要长。"),
    (
        Step(
            "look",
            ("Read the logs that are there", "先读已有日志"),
            ("The first error by time is the cause, later ones follow from it. plog lies in $HOME/ascend/log or ASCEND_PROCESS_LOG_PATH.",
             "时间最早的错误才是原因，其后的都是连带。plog 位于 $HOME/ascend/log 或 ASCEND_PROCESS_LOG_PATH。"),
            ("logs of all ranks, copied into the run folder", "收集所有 rank 的日志到运行目录"),
            command="npulse memory {run}",
            pane="memory",
        ),
        Step(
            "access",
            ("Illegal access: memcheck", "非法访问：memcheck"),
            ("Names kernel, source line, core and how far an access lies outside.", "给出 kernel、源码行、核号与越界距离。"),
            ("kernels built with -g --cce-enable-sanitizer (Triton: TRITON_ENABLE_SANITIZER=1); PYTORCH_NO_NPU_MEMORY_CACHING=1",
             "kernel 以 -g --cce-enable-sanitizer 编译（Triton：TRITON_ENABLE_SANITIZER=1）；PYTORCH_NO_NPU_MEMORY_CACHING=1"),
            "memory",
            {"tool": "mssanitizer", "settings": "checks=memcheck"},
        ),
        Step(
            "odd-values",
            ("Values that change: racecheck and initcheck", "数值时对时错：racecheck 与 initcheck"),
            ("Two accesses without an order, or memory that is read before it is written, give another result each time.",
             "无先后保证的两次访问，或未写先读的内存，会让每次结果都不同。"),
            ("kernels built as above; racecheck looks at block 0 alone", "kernel 编译方式同上；racecheck 只检查 block 0"),
            "memory",
            {"tool": "mssanitizer", "settings": "checks=racecheck,initcheck"},
        ),
        Step(
            "hang",
            ("It hangs: synccheck", "卡住：synccheck"),
            ("Flags that are set and never waited for, or waited for and never set.", "置位后无人等待，或等待却无人置位的 flag。"),
            ("where a collective hangs look at the rank that reports no time-out first", "若卡在集合通信，先看没有报超时的那个 rank"),
            "memory",
            {"tool": "mssanitizer", "settings": "checks=synccheck", "timeout": "1800"},
        ),
        Step(
            "host",
            ("The host program crashes: AddressSanitizer", "host 侧崩溃：AddressSanitizer"),
            ("Tiling code, custom operators and extensions run on the host: a kernel tool does not see them.",
             "Tiling、自定义算子与扩展在 host 上运行，kernel 检测工具看不到。"),
            ("built with -fsanitize=address -g", "以 -fsanitize=address -g 编译"),
            "memory",
            {"tool": "asan"},
        ),
        Step(
            "leak",
            ("Memory only grows: msMemScope", "内存只增不减：msMemScope"),
            ("Tells leaked blocks from the pool's own reserve, step by step.", "逐步区分泄漏块与内存池自身的预留。"),
            ("msmemscope (older: msleaks) and an NPU", "msmemscope（旧版为 msleaks）与 NPU"),
            "memory",
            {"tool": "msmemscope"},
        ),
    ),
)  # fmt: skip

SLOW = Symptom(
    "slow",
    "performance",
    ("Slow", "跑得慢"),
    ("A step, the first token or a kernel takes longer than it should, or longer than before.",
     "单步、首 token 或某个 kernel 的耗时超出预期，或比以前长。"),
    ("Leave the first step out (warm-up, compiling), five steps are enough. One rank first, then all. No dump, no sanitizer, no "
     "ASCEND_LAUNCH_BLOCKING=1 beside a profiler: such figures mean nothing. Right results come first.",
     "跳过第一步（预热、编译），采五步即可。先单卡，再全部。剖析时不要同时 dump、用检测工具或设 ASCEND_LAUNCH_BLOCKING=1，否则数据没有意义。先保证结果正确。"),
    (
        Step(
            "whole",
            ("Profile the whole program", "剖析整个程序"),
            ("Says whether the device idles, waits for its peers or computes, and which operators take the time.",
             "判断设备是空闲、等待其他卡还是在计算，以及哪些算子耗时。"),
            ("msprof on PATH (source set_env.sh), NPU", "PATH 中有 msprof（source set_env.sh）；NPU"),
            "performance",
            {"tool": "msprof", "level": "2"},
        ),
        Step(
            "steps",
            ("A few steps of training with Python stacks", "训练的若干步，带 Python 调用栈"),
            ("Joins kernels to the Python lines that start them; for idle time that the host causes.",
             "把 kernel 与发起它的 Python 行对应起来；适用于 host 造成的空闲。"),
            ("PyTorch with torch_npu", "PyTorch 与 torch_npu"),
            "performance",
            {"tool": "torch-profiler", "step": "5-9", "rank": "{rank}", "settings": "with-stack=yes"},
        ),
        Step(
            "look",
            ("See what to attack first", "看应先优化什么"),
            ("Idle, communication or compute first, then which operator, then why.", "先看空闲、通信还是计算，再看哪个算子，最后看原因。"),
            command="npulse performance {run}",
            pane="performance",
        ),
        Step(
            "service",
            ("A service that runs already", "已在运行的服务"),
            ("Recording is switched on and off while it runs.", "运行中随时开关采集。"),
            ("the service was started with PROFILING_MODE=dynamic", "服务启动时已设 PROFILING_MODE=dynamic"),
            "performance",
            {"tool": "msprof-dynamic", "pid": "<PID>"},
        ),
        Step(
            "kernel",
            ("One kernel in depth", "单个 kernel 深入分析"),
            ("Pipes, caches, conflicts and lines of one kernel, once it is known which one matters.",
             "确定关键 kernel 之后，查看其流水、缓存、冲突与热点行。"),
            ("msopprof on PATH; it runs the kernel again and again", "PATH 中有 msopprof；会反复执行该 kernel"),
            "performance",
            {"tool": "msopprof", "list": "<KERNEL>"},
        ),
        Step(
            "against",
            ("Against the round before", "与上一轮对比"),
            ("What a change bought and what it cost, beyond the noise of the steps.", "扣除步间噪声后，改动带来的收益与代价。"),
            command="npulse diff {run} --round {before} --round-b {newest}",
            pane="rounds",
        ),
    ),
)  # fmt: skip

SYMPTOMS: tuple[Symptom, ...] = (WRONG, NAN, CRASH, SLOW)


def symptom_of(word: str) -> Symptom:
    """The symptom of that id. UsageError names those that there are."""
    known = {one.id: one for one in SYMPTOMS}
    if word not in known:
        near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
        raise UsageError(f"no symptom '{word}'", hint="did you mean: " + ", ".join(near or known))
    return known[word]
