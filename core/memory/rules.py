"""The rules of the memory area: what each finding means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_TOOL = ("what the tool reports, grouped by npulse", "原工具的报告，由 npulse 归并")
_OWN = ("npulse's own", "npulse 自有规则")
_NONE = ("cannot be silenced", "不可关闭")
_ANY = ("every report of that kind", "该类报告每条都算")


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = _ANY,
    source: tuple[str, str] = _TOOL,
    silence: tuple[str, str] = _NONE,
) -> Rule:
    return Rule(f"memory.{id_}", severity, title, meaning, threshold, source, silence)


RULES: tuple[Rule, ...] = (
    _rule(
        "access",
        "error",
        ("access outside the memory that it may touch", "访问越界或非法内存"),
        (
            "A kernel or host code reads or writes outside every allocation, beyond an on-chip buffer, or memory that was freed. The distance to the nearest block and the line of the user's code are given where the log has them.",
            "kernel 或主机代码访问了任何分配之外、片上缓存之外或已释放的内存。日志中有的话给出到最近内存块的距离和用户代码行。",
        ),
    ),
    _rule(
        "overlap",
        "warning",
        ("two cores write the same bytes", "多核写入同一段内存"),
        (
            "'out of bounds' of msSanitizer: another core has already written these bytes of global memory. Block offsets or the tail of the last block overlap.",
            "msSanitizer 的 out of bounds：另一个核已写过这段 GM。各 block 的偏移或尾块有重叠。",
        ),
    ),
    _rule(
        "misaligned",
        "error",
        ("address not aligned for the move", "搬运地址未对齐"),
        (
            "On-chip moves need addresses that are multiples of 32 bytes. The remainder says by how much the offset is wrong.",
            "片上搬运要求地址为 32 字节的整数倍。余数说明偏移差多少。",
        ),
    ),
    _rule(
        "uninitialized",
        "error",
        ("memory is read before anything was written to it", "读取未初始化的内存"),
        (
            "A buffer is read before the copy or the memset that should fill it; what comes out depends on what lay there.",
            "在填充缓冲区的拷贝或 memset 之前读取；结果取决于内存中残留的内容。",
        ),
    ),
    _rule(
        "free",
        "error",
        ("memory is freed wrongly", "非法释放内存"),
        (
            "Freed twice, never allocated, or freed with the wrong function. msSanitizer calls a double free an illegal free as well.",
            "重复释放、从未分配，或用错了释放函数。msSanitizer 把重复释放也报告为 illegal free。",
        ),
    ),
    _rule(
        "race",
        "error",
        ("two accesses to the same memory without an order", "同一内存的两次访问没有先后约束"),
        (
            "RAW, WAR or WAW between pipes of a core or between cores: a flag, a queue step or a cross-core synchronisation is missing between the two lines. One missing flag gives a report for each address.",
            "核内流水或核间的 RAW、WAR、WAW：两行之间缺少 flag、队列步骤或核间同步。缺一个 flag 会按地址产生大量报告。",
        ),
    ),
    _rule(
        "sync",
        "warning",
        ("flags that do not pair", "flag 未成对"),
        (
            "A set_flag without its wait_flag, one too many, or threads that do not meet: the kernel works by chance or hangs later.",
            "set_flag 没有对应的 wait_flag、多出一个，或线程未能会合：kernel 侥幸可用，或随后卡死。",
        ),
    ),
    _rule(
        "lock-up",
        "error",
        ("a kernel hangs", "kernel 卡死"),
        (
            "Pipes wait for each other and none goes on. The instruction with the lowest serial number is where the wait began.",
            "各流水互相等待，均无法继续。序号最小的指令是等待的起点。",
        ),
    ),
    _rule(
        "leak",
        "error",
        ("memory is never freed", "内存泄漏"),
        (
            "Blocks that nobody freed, summed by the place that allocated them and checked against the tool's own total.",
            "没有释放的内存块，按分配位置汇总，并与工具自己的合计核对。",
        ),
    ),
    _rule(
        "workspace-leak",
        "error",
        ("every call leaks a block of the same size", "每次调用泄漏同样大小的内存"),
        (
            "Several blocks of one size from one place: a workspace that each call takes anew and none gives back. Memory grows by that size a call.",
            "同一位置泄漏多个同样大小的块：每次调用分配 workspace 却不释放，内存按该大小逐次增长。",
        ),
        (
            "at least repeated_leaks blocks (3) of one size, and more than half of the site's",
            "同一大小至少 repeated_leaks 块（3），且占该位置一半以上",
        ),
        _OWN,
        ("--criteria repeated_leaks=N", "--criteria repeated_leaks=N"),
    ),
    _rule(
        "unused",
        "warning",
        ("memory that was allocated and never used", "已分配但从未使用的内存"),
        (
            "Not wrong by itself; often a buffer of a path that was removed.",
            "本身不是错误；常见于已删除代码遗留的缓冲区。",
        ),
    ),
    _rule(
        "register",
        "warning",
        ("a register was not reset", "寄存器未复位"),
        (
            "A kernel leaves a mask or control register changed; the next kernel on that core computes with it.",
            "kernel 结束时未恢复 mask 或控制寄存器，同一核上的下一个 kernel 会受其影响。",
        ),
    ),
    _rule(
        "mask",
        "note",
        ("an instruction uses a non-default mask", "指令使用非默认 mask"),
        (
            "For information: asked for with --trace-non-default-spr-reg.",
            "仅供参考：由 --trace-non-default-spr-reg 打开。",
        ),
    ),
    _rule(
        "undefined",
        "error",
        ("undefined behaviour in host code", "主机代码的未定义行为"),
        (
            "UndefinedBehaviorSanitizer: overflow of a signed integer, shift too far, misaligned or null pointer. In tiling code the result is a wrong size or offset on the device.",
            "UndefinedBehaviorSanitizer：有符号整数溢出、移位过大、指针未对齐或为空。出现在 tiling 代码中会使设备上的长度或偏移出错。",
        ),
    ),
    _rule(
        "exception",
        "error",
        ("a task on the device failed", "设备任务异常"),
        (
            "The runtime's log of a failed task: the first one is the root, all cores of it are one. Device, stream and task id join it to the operator in profiles and dumps.",
            "运行时日志中的任务异常：最早的是根因，同一任务的多个核算一个。用 device、stream、task id 可与 profile 和 dump 中的算子对应。",
        ),
    ),
    _rule(
        "follows",
        "note",
        ("a consequence of an earlier event", "先前事件的后果"),
        (
            "Time-outs of other ranks, codes that pass an error on, and the Python line at which an asynchronous error surfaced: not where it began.",
            "其他 rank 的超时、转报的错误码、异步错误浮现处的 Python 行：都不是起点。",
        ),
        ("after a root event of the same log", "同一日志中位于根事件之后"),
        _OWN,
    ),
    _rule(
        "time-out",
        "warning",
        ("a collective waited in vain", "集合通信等待超时"),
        (
            "No root event is in the logs at hand: a peer failed, is late or never called. The log of the other rank is needed.",
            "现有日志中没有根事件：对端出错、过慢或未调用。需要另一个 rank 的日志。",
        ),
    ),
    _rule(
        "error-code",
        "warning",
        ("an error code", "错误码"),
        (
            "A code of CANN, HCCL or torch_npu without the event behind it.",
            "CANN、HCCL 或 torch_npu 的错误码，未见其背后的事件。",
        ),
    ),
    _rule(
        "python",
        "warning",
        ("a Python error", "Python 报错"),
        (
            "Where the error surfaced. With asynchronous launch it is not where it was caused: ASCEND_LAUNCH_BLOCKING=1 makes the line reliable.",
            "错误浮现之处。异步下发时并非起因：设置 ASCEND_LAUNCH_BLOCKING=1 后该行才可信。",
        ),
    ),
    _rule(
        "out-of-memory",
        "error",
        ("device memory ran out", "设备内存不足"),
        (
            "Three causes, told apart by the figures of the message: more is needed than the device has, the pool is fragmented, or another process holds the memory.",
            "根据信息中的数字区分三种原因：需求超过设备容量、内存池碎片、其他进程占用。",
        ),
    ),
    _rule(
        "compile-buffer",
        "error",
        ("a kernel does not fit into an on-chip buffer", "kernel 放不进片上缓存"),
        (
            "The compiler's message in bytes, with what would fit if the need grows with the block size.",
            "将编译器信息换算为字节，并给出按块大小线性估计可放下的值。",
        ),
    ),
    _rule(
        "pool",
        "warning",
        ("the memory pool is used wrongly", "内存池使用异常"),
        (
            "msMemScope: a block is allocated twice, released in vain or held for many steps.",
            "msMemScope：块被重复分配、无效释放或跨多步持有。",
        ),
    ),
    _rule(
        "debugger",
        "note",
        ("a debugger stopped", "调试器停下"),
        ("A stop of msDebug and why.", "msDebug 的停止位置及原因。"),
    ),
    _rule(
        "internal",
        "warning",
        ("the tool could not interpret a record", "工具无法解析记录"),
        (
            "Nothing is said of the program; what follows may be missing.",
            "不说明程序有无问题；其后内容可能缺失。",
        ),
    ),
    _rule(
        "other",
        "warning",
        ("a report of a kind that is not known", "未知类型的报告"),
        ("Kept as it is written.", "按原文保留。"),
    ),
    _rule(
        "incomplete",
        "warning",
        ("a log does not show all that there was", "日志不完整"),
        (
            "Records were dropped, the log is cut, a check did not run or did not end. 'No error' in such a log says nothing.",
            "有记录丢失、日志被截断，或检查未运行、未结束。此时“无错误”没有意义。",
        ),
        ("any sign of it in the log", "日志中有任何迹象"),
        _OWN,
    ),
    _rule(
        "summary-mismatch",
        "warning",
        ("the records do not add up to the tool's total", "记录合计与工具汇总不符"),
        (
            "Part of the report is missing, or runs were mixed in one file.",
            "报告缺失一部分，或一个文件混有多次运行。",
        ),
        ("count and bytes of leaks against the SUMMARY line", "泄漏的条数和字节数与 SUMMARY 行比较"),
        _OWN,
    ),
    _rule(
        "more",
        "error",
        ("further sites", "更多位置"),
        (
            "Sites behind those that are explained one by one; the table has all.",
            "未逐一说明的位置；表格中有全部。",
        ),
        ("more than 200 sites", "超过 200 个位置"),
        _OWN,
    ),
    _rule(
        "setting",
        "note",
        ("a setting that no tool reads", "没有工具读取的设置"),
        (
            "MSANITIZER_MODE and MSANITIZER_OUTPUT are named in guides; the real tool takes --tool and --log-file.",
            "MSANITIZER_MODE、MSANITIZER_OUTPUT 只见于指南；真实工具使用 --tool 和 --log-file。",
        ),
        ("found in an environment text or a script", "出现在环境文本或脚本中"),
        _OWN,
    ),
    _rule(
        "clean-up",
        "note",
        ("against the round before", "与上一轮相比"),
        (
            "What was fixed, what is new, what may have been hidden by an earlier fault, and what cannot be told because a log is incomplete.",
            "已修复的、新出现的、可能曾被先前错误掩盖的，以及因日志不完整而无法判断的。",
        ),
        ("two rounds or more", "两轮及以上"),
        _OWN,
    ),
)
