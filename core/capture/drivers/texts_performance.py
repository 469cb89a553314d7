"""Texts of the drivers for performance in English and Chinese: (en, zh)."""

from __future__ import annotations

from ..driver import Words

SESSIONS: dict[str, Words] = {
    "raw": (
        "raw profiler data, not parsed: {folder}{who}, {files} raw files; {missing} is missing ({n} such session(s))",
        "原始 profiler 数据，未解析：{folder}{who}，{files} 个原始文件；缺少 {missing}（此类会话 {n} 个）",
    ),
    "half-exported": (
        "the export did not end: {folder}{who} ({n} such session(s))",
        "导出未完成：{folder}{who}（此类会话 {n} 个）",
    ),
    "export": ("export it: {command}", "导出：{command}"),
    "open-slices": (
        "{n} slice(s) of raw data have no .done: the collection was cut, up to 2 MB of each are lost",
        "{n} 个原始数据分片没有 .done：采集被中断，每个最多丢失 2 MB",
    ),
    "unread": ("sessions that cannot be read: {names}", "无法读取的会话：{names}"),
    "no-rows": (
        "the session was exported, and its operator table has no row: no operator ran on the NPU meanwhile",
        "会话已导出，但算子表没有任何一行：采集期间没有算子在 NPU 上运行",
    ),
    "no-rows-step": (
        "look at console.log whether the program reached the NPU; capture longer, or the steps in which it works",
        "在 console.log 中确认程序是否用到 NPU；延长采集，或采集其工作的 step",
    ),
    "killed": (
        "the tool was killed: what it had still to write is missing",
        "工具被强制终止：尚未写出的内容缺失",
    ),
    "killed-step": (
        "the export that is here can be read; capture again for a whole one",
        "已有的导出可以查看；需要完整数据请重新采集",
    ),
}

MSPROF: dict[str, Words] = {
    "level": (
        "--profiling-level {level} of the documents is no switch of msprof; it is mapped to {options}{more}.",
        "文档中的 --profiling-level {level} 不是 msprof 的开关；对应为 {options}{more}。",
    ),
    "level-1": (
        ": times of each iteration are in step_trace, where the program marks iterations; for PyTorch take --tool torch-profiler --step N",
        "：每次迭代的耗时在 step_trace 中（需程序划分迭代）；PyTorch 请用 --tool torch-profiler --step N",
    ),
    "level-3": (
        ": instructions of one kernel are told by --tool msopprof --set soc-version=CHIP (simulator)",
        "：单个 kernel 的指令级数据请用 --tool msopprof --set soc-version=CHIP（仿真）",
    ),
    "form-asked": ("The program stands {form}, as asked for.", "按要求，程序{form}。"),
    "form-help": (
        "The program stands {form}: that is what msprof --help of this release shows.",
        "程序{form}：依据该版本 msprof --help 的输出。",
    ),
    "form-unknown": (
        "The program stands {form}: msprof --help gave no answer here; --set form=application or positional decides.",
        "程序{form}：此处 msprof --help 没有回答；可用 --set form=application 或 positional 指定。",
    ),
    "form-blanks": (
        "The program stands {form}: --application would split arguments at their blanks.",
        "程序{form}：--application 会按空格拆分参数。",
    ),
    "application": ("in --application", "放在 --application 中"),
    "positional": ("at the end of the line", "位于命令行末尾"),
    "window": (
        "Collect 5 minutes at most; the export needs about 20 times the raw bytes. --set delay=S and duration=S choose the time.",
        "建议采集不超过 5 分钟；导出约需原始数据 20 倍的空间。可用 --set delay=秒、duration=秒 选择时段。",
    ),
    "stop": (
        "On Ctrl-C msprof ends the program and still exports: up to {seconds} s are waited; a second Ctrl-C goes on to the next signal.",
        "按 Ctrl-C 后 msprof 会结束程序并继续导出：最多等待 {seconds} 秒；再次 Ctrl-C 进入下一信号。",
    ),
    "dynamic": (
        "Recording begins with the line start and ends with stop; at most 100 of them. Each pair makes one PROF folder.",
        "以 start 开始记录，以 stop 结束，总数不超过 100；每对生成一个 PROF 目录。",
    ),
    "attach": (
        "The process {pid} is not ended, whatever happens here: only the client is.",
        "无论如何都不会结束进程 {pid}，只结束客户端。",
    ),
    "exit-255": ("msprof failed (exit code 255){said}", "msprof 失败（退出码 255）{said}"),
    "exit-254": (
        "msprof does not support this here (exit code 254){said}",
        "msprof 在此不支持该操作（退出码 254）{said}",
    ),
    "nothing": ("msprof left no PROF folder ({how}){said}", "msprof 没有留下 PROF 目录（{how}）{said}"),
    "nothing-step": (
        "look at console.log and msprof --help; check driver and CANN with npulse doctor, and that the program uses the NPU",
        "查看 console.log 与 msprof --help；用 npulse doctor 检查驱动与 CANN，并确认程序使用了 NPU",
    ),
    "elsewhere": (
        "msprof says that its result lies in {folder}, not in the round",
        "msprof 称结果位于 {folder}，不在本轮次中",
    ),
    "app-failed": ("the program itself failed: {said}", "程序自身失败：{said}"),
    "no-start": (
        "the client never said that recording started: the target takes no dynamic profiling, or ended before{said}",
        "客户端从未确认开始记录：目标不支持动态 profiling，或已提前结束{said}",
    ),
    "no-start-step": (
        "start the target with PROFILING_MODE=dynamic in its environment, wait until it works on the NPU, then start",
        "在目标环境中设置 PROFILING_MODE=dynamic 启动，等其在 NPU 上工作后再 start",
    ),
    "no-stop": (
        "recording was started and never stopped by the client: the last session may be cut",
        "已开始记录但客户端没有确认停止：最后一个会话可能不完整",
    ),
    "finish": (
        "Sessions without an export are exported now, in the round: the collection has ended.",
        "采集已结束，现在在轮次内导出尚未导出的会话。",
    ),
}

TORCH: dict[str, Words] = {
    "launcher": (
        "The script stays as it is: a sitecustomize.py in the round starts torch_npu.profiler within it ({marks}).",
        "脚本无需修改：轮次中的 sitecustomize.py 会在其中启动 torch_npu.profiler（{marks}）。",
    ),
    "marks-optimizer": (
        "a step ends with each Optimizer.step(); inference takes --set step-on=forward",
        "每次 Optimizer.step() 结束一个 step；推理请用 --set step-on=forward",
    ),
    "marks-forward": (
        "a step ends with each call of the outermost module",
        "最外层 module 每调用一次结束一个 step",
    ),
    "schedule": (
        "The steps: schedule(wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}).",
        "采集的 step：schedule(wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first})。",
    ),
    "level": (
        "--profiling-level {level} of the documents is mapped to {mapped}.",
        "文档中的 --profiling-level {level} 对应为 {mapped}。",
    ),
    "level-none": (
        "Level1: Level0, the profiler's own default, has no operator statistics, no communication times and no counters.",
        "使用 Level1：profiler 默认的 Level0 没有算子统计、通信耗时和 PMU 计数。",
    ),
    "config": (
        "torch_npu reads {path} while the program runs (PROF_CONFIG_PATH): nothing is recorded before it is switched on. Training with PyTorch's own optimizers only, not its first step.",
        "torch_npu 在运行期间读取 {path}（PROF_CONFIG_PATH）：打开之前不记录。仅支持使用 PyTorch 原生优化器的训练，且不含第一个 step。",
    ),
    "shared-memory": (
        "torch_npu keeps /dev/shm/DynamicProfileNpuShm* meanwhile; where the program is killed it stays and has to be removed.",
        "torch_npu 期间使用 /dev/shm/DynamicProfileNpuShm*；程序被杀死时会残留，需要手动删除。",
    ),
    "nothing": ("no profile was written ({how}){said}", "没有写出 profile（{how}）{said}"),
    "nothing-step": (
        "the program must import torch_npu and end the steps that are asked for; without an optimizer take --set step-on=forward, or --tool msprof",
        "程序需导入 torch_npu 并执行到所选 step；没有优化器时用 --set step-on=forward 或 --tool msprof",
    ),
    "no-python": (
        "no Python started that reads the launcher ({how}){said}: it is no Python program, or one with -I or -E",
        "没有读取启动文件的 Python 启动（{how}）{said}：不是 Python 程序，或使用了 -I、-E",
    ),
    "fewer-steps": (
        "{n} of {asked} steps were recorded, the last is step {last}: the program ended before the others",
        "所选 {asked} 个 step 中只记录了 {n} 个，最后是 step {last}：程序在其余 step 之前已结束",
    ),
    "fewer-steps-step": (
        "what is here can be read; for the others let the program run longer, or take earlier steps",
        "已有数据可以查看；其余 step 需让程序运行更久，或选择更早的 step",
    ),
    "nothing-config-step": (
        "switch recording on while the program trains, and let it do one step more; or leave way=config out",
        "在训练期间打开记录并再执行一个 step；或不使用 way=config",
    ),
    "finish": (
        "Profiles that were not analysed are analysed now, in the round.",
        "现在在轮次内解析尚未解析的 profile。",
    ),
}

OPPROF: dict[str, Words] = {
    "level": (
        "--profiling-level {level} of the documents is mapped to {mapped}.",
        "文档中的 --profiling-level {level} 对应为 {mapped}。",
    ),
    "old-name": (
        "msopprof is not on PATH: its older name msprof op is used.",
        "PATH 中没有 msopprof：使用旧名称 msprof op。",
    ),
    "replays": (
        "Each kernel runs several times for its counters (replay); the first Ctrl-C ends the collection and still writes, the second quits.",
        "为获取计数，每个 kernel 会运行多次（重放）；第一次 Ctrl-C 结束采集并写出结果，第二次退出。",
    ),
    "simulator": (
        "The simulator needs no card: the program must be built for {chip}.",
        "仿真不需要 NPU：程序须为 {chip} 编译。",
    ),
    "exit-255": (
        "msopprof refused its arguments (exit code 255){said}",
        "msopprof 拒绝参数（退出码 255）{said}",
    ),
    "nothing": (
        "msopprof ended with {how} and profiled nothing: no OPPROF folder with a kernel is there{said}",
        "msopprof 以 {how} 结束但没有采集任何内容：没有含 kernel 的 OPPROF 目录{said}",
    ),
    "nothing-step": (
        "look at console.log for the kernels that were launched: --list takes prefixes (add|abs*), --set launch-count=N more launches; kernels built with -O0 are not profiled",
        "在 console.log 中查看实际下发的 kernel：--list 接受前缀（add|abs*），--set launch-count=N 采集更多次；-O0 编译的 kernel 不能采集",
    ),
    "raw": (
        "{n} of {all} kernel(s) have raw data only: the tables are written after the program's end, and it did not come so far",
        "{all} 个 kernel 中有 {n} 个只有原始数据：表格在程序结束后写出，本次未进行到该步",
    ),
    "raw-step": (
        "capture again and let it end (first Ctrl-C only), with fewer launches; of a simulation: msopprof simulator --export=DUMP",
        "重新采集并等待其结束（只按一次 Ctrl-C），减少次数；仿真可用 msopprof simulator --export=DUMP",
    ),
    "not-all": (
        "the tool does not say that all tasks succeeded",
        "工具没有给出全部任务成功的提示",
    ),
}
