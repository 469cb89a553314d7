"""Rules of the preflight that belong to single tools of memory and performance captures."""

from __future__ import annotations

from npulse.core.findings import Figures, Finding, Location, Severity
from npulse.core.rules import Rule

from .driver import Words
from .request import CaptureRequest

_OWN: Words = ("npulse's own, from the tool's documents", "npulse 自有规则，依据工具文档")
_FORCE: Words = (
    "--force starts in spite of errors; warnings hold nothing back",
    "--force 可忽略错误启动；警告不会阻止启动",
)


def _rule(id_: str, severity: Severity, title: Words, meaning: Words, threshold: Words) -> Rule:
    return Rule(f"capture.{id_}", severity, title, meaning, threshold, _OWN, _FORCE)


RULES: tuple[Rule, ...] = (
    _rule(
        "kernel-not-instrumented",
        "warning",
        ("kernels are built without the sanitizer", "kernel 未以 sanitizer 选项编译"),
        (
            "Build files here build kernels and none has -sanitizer or --cce-enable-sanitizer: msSanitizer ignores such kernels, or sees moves to and from GM only, without a line. Build with -g --cce-enable-sanitizer (msOpGen: add_ops_compile_options(ALL OPTIONS -sanitizer)).",
            "此处的构建文件会编译 kernel，但没有 -sanitizer 或 --cce-enable-sanitizer：msSanitizer 会忽略这些 kernel，或只能看到与 GM 之间的搬运且没有代码行。请用 -g --cce-enable-sanitizer 编译（msOpGen：add_ops_compile_options(ALL OPTIONS -sanitizer)）。",
        ),
        ("a build file of kernels, none with the option", "有 kernel 构建文件但都没有该选项"),
    ),
    _rule(
        "kernel-no-lines",
        "warning",
        ("kernels are built without -g", "kernel 编译时没有 -g"),
        (
            "Without a line table reports name a program counter and no line of code. Build with -g or -gline-tables-only.",
            "没有行号表时报告只有程序计数器，没有代码行。请加 -g 或 -gline-tables-only 编译。",
        ),
        (
            "no -g in the build files, or an object without a line table",
            "构建文件中没有 -g，或目标文件没有行号表",
        ),
    ),
    _rule(
        "kernel-unoptimised",
        "warning",
        ("kernels are built with -O0", "kernel 以 -O0 编译"),
        (
            "At -O0 the sanitizer needs --cce-ignore-always-inline=false beside it, and msOpProf does not profile such kernels.",
            "-O0 下 sanitizer 还需要 --cce-ignore-always-inline=false；msOpProf 不支持此类 kernel。",
        ),
        ("-O0 without --cce-ignore-always-inline=false", "-O0 且没有 --cce-ignore-always-inline=false"),
    ),
    _rule(
        "one-block",
        "note",
        ("racecheck looks at block 0 only", "racecheck 只检查 block 0"),
        (
            "Without --block-id the check for races within a core looks at block 0 only. Name the block that is suspected (--set block-id=N), and capture once more for another one.",
            "不带 --block-id 时核内竞争检查只看 block 0。请指定可疑的 block（--set block-id=N），需要时对其他 block 再采一次。",
        ),
        ("racecheck without --block-id", "racecheck 且没有 --block-id"),
    ),
    _rule(
        "graph-mode",
        "warning",
        ("operators may be fused", "算子可能被融合"),
        (
            "The script compiles a graph, or a compiled model is run: several operators are one kernel then, and a fault is told of the whole. Run eager (TORCH_COMPILE_DISABLE=1), or build the model with fusion switched off (atc --fusion_switch_file) for this capture.",
            "脚本会编译图，或运行的是已编译模型：多个算子合为一个 kernel，错误只能定位到整体。采集时请用单算子模式（TORCH_COMPILE_DISABLE=1），或关闭融合重新编译模型（atc --fusion_switch_file）。",
        ),
        (
            "torch.compile, torchair or graph mode in the script, or an .om file",
            "脚本中有 torch.compile、torchair 或图模式，或 .om 文件",
        ),
    ),
    _rule(
        "host-not-instrumented",
        "warning",
        ("the program holds no sanitizer", "程序不含 sanitizer"),
        (
            "Neither the program nor a library that it is linked with holds AddressSanitizer, LeakSanitizer or UBSan: nothing will be checked, unless it loads an instrumented library later. Build and link with -g -fsanitize=address.",
            "程序及其链接的库都不含 AddressSanitizer、LeakSanitizer 或 UBSan：除非之后加载带检测的库，否则不会检查任何内容。请用 -g -fsanitize=address 编译并链接。",
        ),
        ("no word of a sanitizer in an ELF program", "ELF 程序中没有 sanitizer 的符号"),
    ),
    _rule(
        "target-not-dynamic",
        "error",
        ("the process was not started for dynamic profiling", "进程启动时未开启动态 profiling"),
        (
            "msprof --dynamic attaches only to processes that were started with PROFILING_MODE=dynamic in their environment. Start the program again with it; the running one cannot be changed.",
            "msprof --dynamic 只能附着到启动环境中带 PROFILING_MODE=dynamic 的进程。请带该变量重新启动程序；已运行的进程无法更改。",
        ),
        (
            "PROFILING_MODE is not dynamic in the process' environment",
            "进程环境中 PROFILING_MODE 不是 dynamic",
        ),
    ),
    _rule(
        "not-python",
        "error",
        ("the PyTorch profiler needs a Python program", "PyTorch profiler 需要 Python 程序"),
        (
            "torch_npu.profiler runs within Python, and the command is none. Use --tool msprof for other programs.",
            "torch_npu.profiler 在 Python 内运行，而该命令不是 Python。其他程序请用 --tool msprof。",
        ),
        ("an ELF program that is no Python", "ELF 程序且不是 Python"),
    ),
    _rule(
        "words-with-blanks",
        "warning",
        ("arguments with blanks would be split", "带空格的参数会被拆开"),
        (
            "This msprof takes the program as one text and splits it at blanks. Put the command into a script and capture that, or use --set form=positional where the release knows it.",
            "该版本 msprof 以单个文本接收程序并按空格拆分。请把命令写入脚本再采集，或在支持的版本上使用 --set form=positional。",
        ),
        ("an argument with a blank and --application", "使用 --application 且参数含空格"),
    ),
    _rule(
        "no-simulator",
        "note",
        ("communication kernels are not simulated", "仿真不支持通信类 kernel"),
        (
            "The simulator takes neither MC2 nor HCCL kernels, nor kernels built with -O0.",
            "仿真器不支持 MC2、HCCL kernel，也不支持 -O0 编译的 kernel。",
        ),
        ("a capture with msopprof simulator", "使用 msopprof simulator 采集"),
    ),
)

_BY_ID = {rule.id: rule for rule in RULES}


def finding(
    request: CaptureRequest,
    rule_id: str,
    subject: str,
    *,
    figures: Figures | None = None,
    location: Location | None = None,
) -> Finding:
    """What the preflight says of one of these rules, in the request's language."""
    rule = _BY_ID[rule_id]
    place = 1 if request.lang == "zh" else 0
    return Finding(
        area="capture",
        severity=rule.severity,
        rule=rule.id,
        role="suspect",
        subject=subject,
        message=f"{subject}{(': ', '：')[place]}{rule.title[place]}",
        next_step=rule.meaning[place],
        figures=figures or {},
        location=location or Location(),
    )
