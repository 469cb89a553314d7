"""The rules of a capture's preflight: what each line means, its threshold and how to silence it."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

from .rules_dump import DUMP_RULES
from .rules_tools import RULES as TOOL_RULES

_OWN = ("npulse's own", "npulse 自有规则")
_FORCE = (
    "--force starts in spite of errors; warnings hold nothing back",
    "--force 可忽略错误启动；警告不会阻止启动",
)

MIN_INODES, FEW_INODES = 100, 100_000
MANY_RANKS = 8

_GIB = (
    "where nobody can tell the need 1 GiB free, 10 and 200 GiB for dumps of many and of all tensors",
    "无法估计需求时为 1 GiB 可用空间，大量张量为 10 GiB，全部张量为 200 GiB",
)


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = ("-", "-"),
    source: tuple[str, str] = _OWN,
) -> Rule:
    return Rule(f"capture.{id_}", severity, title, meaning, threshold, source, _FORCE)


_PREFLIGHT: tuple[Rule, ...] = (
    _rule(
        "disk-space",
        "error",
        ("not enough disk space", "磁盘空间不足"),
        (
            "A dump or profile that meets a full disk is cut in the middle, and the program may fail with it (guides call this E1001). "
            "An error where even the least estimate does not fit, a warning where only the largest does not.",
            "转储或剖析遇到磁盘写满会中途截断，程序也可能随之失败（部分指南称为 E1001）。最小估计都放不下为错误，仅最大估计放不下为警告。",
        ),
        (
            "free space below the driver's estimate times the attempts; " + _GIB[0],
            "可用空间低于驱动估计值乘以次数；" + _GIB[1],
        ),
        (
            "the tool's estimate from list, scope and level",
            "工具根据 list、scope、level 的估计",
        ),
    ),
    _rule(
        "archive",
        "error",
        ("the archive cannot be written", "归档目录不可写"),
        (
            "No permission, a read-only file system, or a link or file where a folder of the archive should be.",
            "没有权限、只读文件系统，或归档子目录处是链接或文件。",
        ),
    ),
    _rule(
        "inodes",
        "error",
        ("no inodes left", "inode 耗尽"),
        (
            "A dump writes a file a tensor: a file system without free inodes is full whatever its free bytes are.",
            "每个张量一个文件：inode 耗尽时即使有剩余字节也写不下。",
        ),
        (
            f"error below {MIN_INODES:,} free inodes, warning below {FEW_INODES:,} for precision and overflow",
            f"可用 inode 低于 {MIN_INODES:,} 为错误；精度与溢出采集低于 {FEW_INODES:,} 为警告",
        ),
    ),
    _rule(
        "work-tree",
        "note",
        ("the archive lies among the sources", "归档位于源码树内"),
        (
            "Rounds in a git work tree that does not ignore them make every later git state dirty and may be committed by accident.",
            "未被忽略的 git 工作区内的归档会使之后的 git 状态变脏，并可能被误提交。",
        ),
    ),
    _rule(
        "command",
        "error",
        ("the program cannot be started", "程序无法启动"),
        (
            "The first word of the command is no executable file on PATH, or the folder to start in is missing.",
            "命令的第一个词不是 PATH 中的可执行文件，或启动目录不存在。",
        ),
    ),
    _rule(
        "tool",
        "error",
        ("the tool is not installed", "工具未安装"),
        (
            "The capturing tool is not on PATH: usually set_env.sh of the toolkit was not sourced in this shell.",
            "采集工具不在 PATH 中：通常是当前 shell 未 source toolkit 的 set_env.sh。",
        ),
    ),
    _rule(
        "input",
        "error",
        ("an input to keep cannot be read", "要保留的输入不可读"),
        (
            "--keep-input names something that is no readable file; without the input that failed a capture is of little use later.",
            "--keep-input 指向的不是可读文件；缺少出错的输入，采集之后用处不大。",
        ),
    ),
    _rule(
        "pid",
        "error",
        ("no process to attach to", "没有可附加的进程"),
        (
            "--pid names no running process of this user.",
            "--pid 指向的不是本用户正在运行的进程。",
        ),
    ),
    _rule(
        "fusion",
        "warning",
        ("fusion or graph mode may be on", "可能开启了融合或图模式"),
        (
            "A sanitizer names kernels as they run: of a fused or compiled graph that is no line of the user's. "
            "What the command and the environment show of it is looked at; settings inside the script are not seen.",
            "检测工具按实际运行的 kernel 报告：融合或编译后的图对应不到用户代码行。仅查看命令与环境变量，脚本内部的设置看不到。",
        ),
    ),
    _rule(
        "asynchronous",
        "note",
        ("kernels are launched asynchronously", "异步下发 kernel"),
        (
            "With ASCEND_LAUNCH_BLOCKING unset or TASK_QUEUE_ENABLE on, a fault is reported at a later host line than the call that made it.",
            "未设置 ASCEND_LAUNCH_BLOCKING 或 TASK_QUEUE_ENABLE 开启时，故障会在之后的主机代码行上报告。",
        ),
    ),
    _rule(
        "log-level",
        "warning",
        ("the runtime's log is chatty", "运行时日志过于详细"),
        (
            "DEBUG and INFO logs, event logs or logs on stdout slow the program, fill the disk, and in a profile they are what is measured.",
            "DEBUG、INFO、事件日志或打印到 stdout 会拖慢程序、占满磁盘，剖析时测到的就是日志本身。",
        ),
        (
            "ASCEND_GLOBAL_LOG_LEVEL 0 or 1, a module at 0 or 1, ASCEND_GLOBAL_EVENT_ENABLE 1, ASCEND_SLOG_PRINT_TO_STDOUT or ASCEND_LOG_PRINT_TO_STDOUT 1",
            "ASCEND_GLOBAL_LOG_LEVEL 为 0 或 1、某模块为 0 或 1、ASCEND_GLOBAL_EVENT_ENABLE 为 1、ASCEND_SLOG_PRINT_TO_STDOUT 或 ASCEND_LOG_PRINT_TO_STDOUT 为 1",
        ),
    ),
    _rule(
        "other-profiler",
        "warning",
        ("another profiler or sanitizer is attached", "已有其他剖析或检测工具"),
        (
            "Two tools that hook the same runtime disturb each other: one of them records nothing, or both record each other.",
            "两个工具挂接同一运行时会互相干扰：其中一个什么也录不到，或互相记录。",
        ),
        (
            "PROFILING_MODE true, PROFILING_OPTIONS set, a tool's library in LD_PRELOAD, dynamic_profiling_socket_* of a living process, a running msprof, msopprof or mssanitizer",
            "PROFILING_MODE 为 true、设置了 PROFILING_OPTIONS、LD_PRELOAD 中有工具库、存活进程的 dynamic_profiling_socket_*、正在运行的 msprof、msopprof 或 mssanitizer",
        ),
    ),
    _rule(
        "device",
        "warning",
        ("the card is not fit for a capture", "设备状态不适合采集"),
        (
            "Hot, slow, busy or unhealthy cards give figures that say nothing of the program. What is wrong is told by the device's own rules.",
            "过热、降频、繁忙或不健康的设备给出的数据不能说明程序。具体问题见设备规则。",
        ),
    ),
    _rule(
        "versions",
        "warning",
        ("versions that do not fit together", "版本不匹配"),
        (
            "Toolkit, driver, firmware, torch_npu and tools of different releases record nothing, or something wrong.",
            "toolkit、驱动、固件、torch_npu 与工具版本不一致时，会录不到或录错。",
        ),
    ),
    _rule(
        "ranks",
        "warning",
        ("many ranks are recorded", "录制的 rank 过多"),
        (
            "Every rank writes its own data. For most questions one rank, or the two that differ, are enough.",
            "每个 rank 都会写数据。多数问题只需一个 rank，或有差异的两个。",
        ),
        (
            f"more than {MANY_RANKS} ranks by WORLD_SIZE or the launcher's words, and no --rank",
            f"按 WORLD_SIZE 或启动参数超过 {MANY_RANKS} 个 rank，且未给 --rank",
        ),
    ),
    _rule(
        "relative-path",
        "warning",
        ("a path of a tool is relative", "工具路径为相对路径"),
        (
            "It is taken from the folder in which each process runs: data ends up in several places, or nowhere.",
            "相对路径以各进程的工作目录为准：数据会散落多处，或丢失。",
        ),
    ),
    _rule(
        "small",
        "note",
        ("towards a minimal reproduction", "最小复现建议"),
        (
            "What to make smaller before a capture, asked for with --small.",
            "采集前可缩小的项目，用 --small 查看。",
        ),
    ),
)

RULES: tuple[Rule, ...] = (*_PREFLIGHT, *DUMP_RULES, *TOOL_RULES)
"""Those that are looked at before every capture, and those of single tools."""
