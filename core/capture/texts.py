"""What a capture says: (English, Chinese)."""

from __future__ import annotations

from collections.abc import Mapping

SESSION: Mapping[str, tuple[str, str]] = {
    "no-reserve": ("there was no room to reserve for the end of the round", "没有空间为本轮收尾预留"),
    "disk-full": ("the disk was full: what was recorded is cut", "磁盘已满：录制的数据被截断"),
    "still-alive": ("not even SIGKILL ended: {names}", "SIGKILL 也未能结束：{names}"),
    "left-over": ("outlived the tool and was ended: {names}", "工具结束后仍在运行，已被结束：{names}"),
    "console-dropped": ("{n} bytes of the output were not kept", "有 {n} 字节输出未保留"),
    "not-read-only": ("{n} files could not be made read-only", "{n} 个文件无法设为只读"),
    "finish-failed": ("the second command failed: {reason}", "后续命令失败：{reason}"),
    "finish-left-out": ("left out: npulse was asked to end", "已略过：npulse 被要求结束"),
    "finish-left-out-run": (
        "npulse was asked to end, so this was left out: {command}",
        "npulse 被要求结束，未运行：{command}",
    ),
    "gave-up": ("npulse could not go on: {reason}", "npulse 无法继续：{reason}"),
    "npulse-gone": (
        "npulse was killed while it captured; how the tool ended is not known",
        "采集期间 npulse 被杀死；工具如何结束未知",
    ),
    "stopped-early": ("the end was asked for before the tool was started", "工具启动之前已请求结束"),
    "unknown-tool": ("no driver of that name judges what lies here", "没有对应的驱动可判断此处的数据"),
}

PREFLIGHT: Mapping[str, tuple[str, str]] = {
    # disk-space
    "disk-fits": ("{free} free, {need} needed{why}", "可用 {free}，需要 {need}{why}"),
    "disk-unknown": ("{free} free; how much is needed is not known{why}", "可用 {free}；需要多少未知{why}"),
    "disk-little": (
        "only {free} free, and how much is needed is not known{why}",
        "仅剩 {free}，且需要多少未知{why}",
    ),
    "disk-short": (
        "{free} free, at least {least} needed: the disk will be full before the end (E1001 of guides){why}",
        "可用 {free}，至少需要 {least}：结束前磁盘会写满（指南中的 E1001）{why}",
    ),
    "disk-tight": (
        "{free} free, up to {most} needed: the disk may be full before the end (E1001 of guides){why}",
        "可用 {free}，最多需要 {most}：结束前磁盘可能写满（指南中的 E1001）{why}",
    ),
    "disk-why": (" ({why})", "（{why}）"),
    "disk-next": (
        "record less (--step, --rank, --list, a level with statistics only) or name a larger disk with --archive",
        "减少录制（--step、--rank、--list、仅统计的级别），或用 --archive 指定更大的磁盘",
    ),
    # archive
    "archive-ok": ("{path} can be written", "{path} 可写"),
    "archive-missing": ("{path} will be made", "将创建 {path}"),
    "archive-denied": ("no permission to write in {path}", "没有写入 {path} 的权限"),
    "archive-read-only": ("{path} lies on a read-only file system", "{path} 位于只读文件系统"),
    "archive-no-folder": (
        "{path} is a link or a file, not a folder of its own",
        "{path} 是链接或文件，不是独立目录",
    ),
    "archive-next": ("name another folder with --archive", "用 --archive 指定其他目录"),
    # inodes
    "inodes-ok": ("{n} inodes free", "可用 inode {n}"),
    "inodes-unlimited": ("the file system counts no inodes", "该文件系统不计 inode"),
    "inodes-none": ("only {n} inodes free: every tensor is a file", "仅剩 {n} 个 inode：每个张量一个文件"),
    "inodes-next": (
        "remove small files, or name another file system with --archive",
        "删除小文件，或用 --archive 指定其他文件系统",
    ),
    # work-tree
    "work-tree-outside": (
        "the archive lies in no git work tree, or is ignored by it",
        "归档不在 git 工作区内，或已被忽略",
    ),
    "work-tree-inside": (
        "the archive lies in the git work tree {path}, which does not ignore it",
        "归档位于 git 工作区 {path} 内，且未被忽略",
    ),
    "work-tree-next": (
        "add {name}/ to .git/info/exclude or .gitignore",
        "将 {name}/ 加入 .git/info/exclude 或 .gitignore",
    ),
    # command, tool
    "command-ok": ("{path}", "{path}"),
    "command-no-file": ("no file {name}", "没有文件 {name}"),
    "command-missing": ("no program '{name}' on PATH", "PATH 中没有程序 '{name}'"),
    "command-not-executable": ("'{name}' is not executable", "'{name}' 不可执行"),
    "command-no-folder": ("the folder to start in is missing: {path}", "启动目录不存在：{path}"),
    "command-no-file-next": ("paths are taken from {path}", "路径以 {path} 为准"),
    "command-next": ("give its path, or put it on PATH", "给出路径，或加入 PATH"),
    "command-not-executable-next": (
        "chmod +x {name}, or name its interpreter (python {name})",
        "chmod +x {name}，或指明解释器（python {name}）",
    ),
    "tool-missing": ("no '{name}' on PATH", "PATH 中没有 '{name}'"),
    "tool-next": (
        "source set_env.sh of the CANN toolkit (often /usr/local/Ascend/ascend-toolkit/set_env.sh), or install it; npulse doctor tells what is there",
        "source CANN toolkit 的 set_env.sh（通常为 /usr/local/Ascend/ascend-toolkit/set_env.sh）或安装；npulse doctor 可查看现有环境",
    ),
    "tool-pip-next": ("pip install {package}", "pip install {package}"),
    # input, pid
    "input-ok": ("{path}: {size}", "{path}：{size}"),
    "input-bad": ("{path}: {reason}", "{path}：{reason}"),
    "input-next": ("name the file itself", "请指明文件本身"),
    "pid-ok": ("{pid} {name}", "{pid} {name}"),
    "pid-missing": ("no process {pid}", "没有进程 {pid}"),
    "pid-not-ours": ("process {pid} ({name}) belongs to another user", "进程 {pid}（{name}）属于其他用户"),
    "pid-next": (
        "ps -ef shows the processes; in a container it has other numbers than on the host",
        "用 ps -ef 查看进程；容器内外进程号不同",
    ),
    # fusion, asynchronous
    "fusion-seen": ("the command asks for fusion or a graph: {words}", "命令启用了融合或图模式：{words}"),
    "fusion-unseen": (
        "neither command nor environment ask for fusion or a graph; settings in the script are not seen",
        "命令与环境未启用融合或图模式；脚本内的设置不可见",
    ),
    "fusion-next": (
        "switch it off for this capture: eager mode, and a fusion_switch_file with all fusions off",
        "本次采集请关闭：使用 eager 模式，并用 fusion_switch_file 关闭所有融合",
    ),
    "asynchronous-on": (
        "launches are asynchronous ({words}): a fault is told at a later line of the host",
        "异步下发（{words}）：故障会在更晚的主机代码行报告",
    ),
    "asynchronous-off": ("ASCEND_LAUNCH_BLOCKING=1", "ASCEND_LAUNCH_BLOCKING=1"),
    "asynchronous-next": (
        "export ASCEND_LAUNCH_BLOCKING=1 TASK_QUEUE_ENABLE=0",
        "export ASCEND_LAUNCH_BLOCKING=1 TASK_QUEUE_ENABLE=0",
    ),
    # log-level
    "log-ok": ("not chatty", "不啰嗦"),
    "log-chatty": ("{words}", "{words}"),
    "log-next": (
        "unset them, or ASCEND_GLOBAL_LOG_LEVEL=3 and the others 0",
        "取消设置，或 ASCEND_GLOBAL_LOG_LEVEL=3、其余为 0",
    ),
    # other-profiler
    "profiler-none": ("none seen", "未发现"),
    "profiler-seen": ("{words}", "{words}"),
    "profiler-next": (
        "end it, or unset what attaches it, before this capture",
        "采集前请先结束，或取消其设置",
    ),
    # ranks
    "ranks-ok": ("{n} by {word}", "{n}（依据 {word}）"),
    "ranks-one": (
        "one process, as far as the command and the environment tell",
        "从命令与环境看只有一个进程",
    ),
    "ranks-many": ("{n} ranks by {word} will all be recorded", "将录制全部 {n} 个 rank（依据 {word}）"),
    "ranks-next": (
        "--rank 0 (or those that differ) records less",
        "用 --rank 0（或有差异的 rank）可减少录制",
    ),
    # relative-path
    "paths-ok": ("no tool's path is relative", "没有相对路径"),
    "paths-relative": ("{words}", "{words}"),
    "paths-next": ("give absolute paths", "请使用绝对路径"),
    # device, versions
    "device-ok": ("{n} cards are well", "{n} 张卡状态正常"),
    "versions-unknown": ("versions were not compared", "未比较版本"),
    "versions-ok": ("no conflict found: {words}", "未发现冲突：{words}"),
}

SMALL: Mapping[str, tuple[tuple[str, str], ...]] = {
    "all": (
        (
            "one step: stop the script behind the first bad one (--step N where the tool has it)",
            "只跑一步：在第一个出错步之后结束（工具支持时用 --step N）",
        ),
        (
            "one rank: a single process without a launcher, if the fault shows there too (--rank N)",
            "单 rank：若单进程也能复现，不用启动器（--rank N）",
        ),
        (
            "fixed seed and fixed input: seed_all(mode=True), shuffle off, the batch that failed from a file (--keep-input)",
            "固定种子与输入：seed_all(mode=True)、关闭 shuffle、从文件读取出错的 batch（--keep-input）",
        ),
    ),
    "precision": (
        (
            "fewer layers: halve num_hidden_layers while the difference stays",
            "减少层数：在差异仍存在时将 num_hidden_layers 减半",
        ),
        (
            "batch 1, the shortest sequence that shows it; dropout 0",
            "batch 为 1、能复现的最短序列；dropout 为 0",
        ),
        (
            "statistics first (a level without tensors), then tensors of the few operators around the first difference (--list)",
            "先录统计（不录张量），再只录首个差异附近算子的张量（--list）",
        ),
    ),
    "overflow": (
        (
            "start from the last checkpoint before the NaN instead of from the beginning",
            "从 NaN 之前最近的 checkpoint 开始，而非从头训练",
        ),
        (
            "--stop-at-first and a few operators before it (--retro 10)",
            "使用 --stop-at-first，并保留之前的几个算子（--retro 10）",
        ),
        (
            "the loss scale and dtype as in the job that failed: a smaller one may not overflow",
            "loss scale 与 dtype 与出错任务一致：更小的可能不溢出",
        ),
    ),
    "memory": (
        (
            "the one operator alone, called with the same shapes and strides, in a loop",
            "单独循环调用该算子，形状与 stride 保持一致",
        ),
        (
            "shapes that are not multiples of 16 or 32 elements: tails are where accesses go out of bounds",
            "使用非 16 或 32 整数倍的形状：越界多发生在尾块",
        ),
        (
            "few cores (block dim 1, then 2): one core shows out-of-bounds accesses, two show races",
            "减少核数（block dim 1，再 2）：单核看越界，双核看竞争",
        ),
    ),
    "performance": (
        (
            "3 to 5 steps behind warm-up are enough: longer profiles only export slower",
            "预热之后 3 到 5 步足够：更长的剖析只会导出更慢",
        ),
        (
            "level 1 before level 2: stacks and memory make the step itself slower",
            "先用级别 1 再用 2：调用栈与内存记录会拖慢步本身",
        ),
        (
            "do not shrink shapes or ranks: what is slow in small may be another operator",
            "不要缩小形状或 rank 数：小规模下慢的可能是另一个算子",
        ),
    ),
}

TOLD: Mapping[str, tuple[str, str]] = {
    "where": ("writes into", "写入"),
    "starts-in": ("starts in", "启动目录"),
    "note": ("note", "说明"),
    "environment": ("environment, beside the program's own", "环境变量（在程序自身之外）"),
    "inputs": ("copies and hashes", "复制并计算哈希"),
    "file": ("writes", "写出"),
    "runs": ("runs", "运行"),
    "stdin": ("types", "输入"),
    "ladder": ("ends it by", "结束方式"),
    "then": ("then runs", "之后运行"),
    "preflight": ("preflight", "预检"),
    "running": ("{s} s  {n} files  {size}", "{s} 秒  {n} 个文件  {size}"),
    "stopping": (
        "ending it ({reason}): {sent} sent; Ctrl-C goes one rung further",
        "正在结束（{reason}）：已发送 {sent}；再按 Ctrl-C 升一级",
    ),
    "by-user": ("by the user", "用户"),
    "by-timeout": ("time is up", "超时"),
    "by-first-anomaly": ("first anomaly", "首个异常"),
    "by-hang-up": ("hang-up", "连接断开"),
    "by-terminated": ("SIGTERM to npulse", "npulse 收到 SIGTERM"),
    "by-npulse": ("npulse failed", "npulse 出错"),
    "outcome-recorded": ("recorded", "已录制"),
    "outcome-incomplete": ("INCOMPLETE", "不完整"),
    "outcome-nothing": ("NOTHING was recorded", "什么都没有录到"),
    "outcome-unknown": ("UNKNOWN what was recorded", "无法判断录到了什么"),
    "file-1": ("{n} file, {size}", "{n} 个文件，{size}"),
    "found": ("found", "内容"),
    "fault": ("the fault shows itself here", "故障已在本轮出现"),
    "fault-none": ("no fault shows itself here", "本轮未出现故障"),
    "raw-removed": ("raw data removed (--keep-last)", "原始数据已删除（--keep-last）"),
    "files": ("{n} files, {size}", "{n} 个文件，{size}"),
    "ranks": ("ranks {which}", "rank {which}"),
    "steps": ("steps {which}", "step {which}"),
    "lines-left-out": (
        "... ({n} lines were not shown: the terminal or reader stood still; console.log of the round has them)",
        "...（{n} 行未显示：终端或读取方停滞；见该轮次的 console.log）",
    ),
    "operator-1": ("{n} operator", "{n} 个算子"),
    "operators": ("{n} operators", "{n} 个算子"),
    "dropped": ("{n} records dropped", "丢弃 {n} 条记录"),
    "in": ("in", "位置"),
    "exit-status": ("the tool ended with exit status {n}", "工具退出码 {n}"),
    "signal": ("the tool was ended by signal {n}", "工具被信号 {n} 结束"),
    "not-ended": ("the tool has not ended", "工具尚未结束"),
    "never-ran": ("the tool never ran", "工具未能运行"),
    "warning": ("warning", "警告"),
    "next": ("next", "下一步"),
    "not-written": (
        "THE MANIFEST COULD NOT BE CLOSED: {reason}; free some space, then npulse capture --resume-bookkeeping",
        "清单无法收尾：{reason}；请释放空间后运行 npulse capture --resume-bookkeeping",
    ),
    "look-at-console": ("read what the tool printed: {path}", "查看工具输出：{path}"),
    "held-back": ("nothing was started; --force starts all the same", "未启动；--force 可强制启动"),
    "attempt": ("attempt {i} of {n}", "第 {i}/{n} 次"),
    "no-fault": ("the fault did not show itself in {n} attempts", "{n} 次尝试均未复现故障"),
    "switched-on": ("recording is switched on", "录制已打开"),
    "switched-off": ("recording is switched off", "录制已关闭"),
    "switch-asked": (
        "the switch was left for the npulse that captures; it takes it within a second",
        "已提交切换请求；采集进程会在一秒内处理",
    ),
    "resume-closed": ("closed: npulse had been killed", "已收尾：此前 npulse 被杀死"),
    "resume-captured": ("is being captured by a living npulse", "正由存活的 npulse 采集"),
    "resume-alive": (
        "npulse is gone, but what it started still runs",
        "npulse 已不在，但其启动的程序仍在运行",
    ),
    "resume-refused": ("cannot be closed", "无法收尾"),
    "resume-stop": ("{names}: wait for its end, or --stop ends it", "{names}：等待其结束，或用 --stop 结束"),
    "resume-none": ("no round waits to be closed", "没有需要收尾的轮次"),
}
