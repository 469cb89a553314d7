"""Pitfalls of the tools, in our own words: what happens, and what to do about it.

To add one, add a `Pitfall` to `PITFALLS`: search, page and command take it from here. English is ASCII.
source: "seen" in files or runs of the real tool, read in its "source" code, or told by its "documents".
"""
# ruff: noqa: E501 - a text stands on one line in both languages

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .records import Words

SourceKind = Literal["seen", "source", "documents"]


@dataclass(frozen=True, slots=True)
class Pitfall:
    """tool: by its own name. title: what one meets. what: why. do: the way out. Texts are (en, zh)."""

    tool: str
    title: Words
    what: Words
    do: Words
    source: SourceKind


PITFALLS: tuple[Pitfall, ...] = (
    # ---- msprobe ----
    Pitfall(
        "msprobe",
        ("Norm is Infinity, Max and Min are finite", "Norm 为 Infinity，而 Max、Min 有限"),
        ("The Norm of fp16 tensors is computed in fp16 and overflows by itself: 100 values of 60000 are enough.",
         "fp16 张量的 Norm 以 fp16 计算，自身会溢出：100 个 60000 就足够。"),
        ("Judge NaN and Inf by Max and Min alone, as npulse overflow does.", "只用 Max 与 Min 判断 NaN、Inf；npulse overflow 即如此。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("Mean and Norm are null everywhere", "Mean 与 Norm 全为 null"),
        ("precision: high leaves both empty in 26.2.0.", "26.2.0 中 precision: high 会使二者为空。"),
        ("Leave precision at low.", "precision 保持 low。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("Small differences of bf16 statistics", "bf16 统计量有微小差异"),
        ("Mean and Norm of bf16 tensors have the resolution of bf16: they are off by up to one percent.",
         "bf16 张量的 Mean、Norm 只有 bf16 分辨率，误差可达百分之一。"),
        ("Record the tensors (task: tensor) before blaming an operator.", "先采张量（task: tensor），再下结论。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("A list of names records more than was named", "list 采到的算子比写的多"),
        ("An entry of list is a part of a name: relu takes every name with relu in it. A glob with * is taken literally.",
         "list 的每一项是名字的一部分：relu 会匹配所有含 relu 的名字；带 * 的通配符按字面匹配。"),
        ("Use whole names, or npulse config new --list 'conv*', which looks them up in an earlier dump.",
         "写完整名字，或用 npulse config new --list 'conv*'，它会在已有 dump 中查出名字。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("scope refuses its names, or records nothing", "scope 报错或什么都没采到"),
        ("scope is exactly two whole names, first and last, in the order of execution; modules at L0, APIs at L1, either at mix.",
         "scope 必须恰好是按执行顺序的起止两个完整名字；L0 写模块，L1 写 API，mix 皆可。"),
        ("Take both names from a statistics dump of the same program.", "从同一程序的统计量 dump 中取这两个名字。"),
        "documents",
    ),
    Pitfall(
        "msprobe",
        ("APIs are missing from the dump (26.x)", "dump 缺少部分 API（26.x）"),
        ("risk_level is FOCUS by default and leaves out what it takes for harmless.", "risk_level 默认为 FOCUS，会略去它认为无害的 API。"),
        ("Set risk_level to ALL where an operator is missing.", "缺算子时将 risk_level 设为 ALL。"),
        "source",
    ),
    Pitfall(
        "msprobe",
        ("dump.json is cut or missing although tensors are there", "张量文件在，dump.json 却被截断或缺失"),
        ("It is written at the end of a step and every 1,000 operators; a killed program leaves less.",
         "dump.json 在步末及每 1000 个算子写一次；程序被杀后会不完整。"),
        ("Stop with SIGINT and let the step end; call debugger.step() and stop(). What is there is read all the same.",
         "用 SIGINT 停止并等步结束；调用 debugger.step() 与 stop()。已有部分仍可读取。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("Versions compare with each other badly", "不同版本的 dump 难以互比"),
        ("8.x and before cast integers to float32 and leave null elsewhere; names of calls differ in places.",
         "8.x 及更早版本把整数转为 float32，其余处为 null；部分调用名也不同。"),
        ("Record both sides with the same msprobe.", "两侧使用同一版本的 msprobe 采集。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("compare says the first difference is an all_reduce", "compare -da 认为首差异是 all_reduce"),
        ("It counts calls a rank; a rank with fewer operators comes to its collective first, so the order over ranks is wrong.",
         "它按每个 rank 各自计数；算子少的 rank 先到集合通信，跨 rank 的先后因此出错。"),
        ("Order ranks by their collectives: npulse overflow shows what each meeting got (v: matrix).",
         "以集合通信对齐各 rank：npulse overflow 会显示每次通信各方的输入（v：矩阵）。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("compare -fm pairs the wrong calls", "compare -fm 配错调用"),
        ("Fuzzy matching ignores the call index: one extra early call shifts all behind it.", "模糊匹配忽略调用序号：多一次早期调用就会整体错位。"),
        ("Compare without -fm, or by npulse precision, which names unmatched calls.", "不用 -fm，或用 npulse precision，它会列出未配对的调用。"),
        "seen",
    ),
    Pitfall(
        "msprobe",
        ("async_dump and md5 exclude each other", "async_dump 与 md5 不能同用"),
        ("Deferred writing keeps no checksum.", "延迟写盘不计算校验值。"),
        ("Choose one of them.", "二选一。"),
        "documents",
    ),
    Pitfall(
        "msprobe",
        ("In-place modules have no backward entry", "原地模块没有 backward 记录"),
        ("ReLU(inplace=True) and what stands before it may miss it, and an input may hold what was written later.",
         "ReLU(inplace=True) 及其前一个模块可能缺失；输入也可能已被后写的值覆盖。"),
        ("Set inplace=False for the capture.", "采集时设 inplace=False。"),
        "documents",
    ),
    # ---- CANN dump ----
    Pitfall(
        "acl.json",
        ("A dump that writes nothing and says nothing", "dump 什么都没写，也不报错"),
        ("A file with dump_path alone is taken and selects no operator.", "只有 dump_path 的配置会被接受，但没有选中任何算子。"),
        ("Add dump_list: [{}], dump_op_switch: on or dump_debug: on; npulse config check says it.", "加 dump_list: [{}]、dump_op_switch: on 或 dump_debug: on；npulse config check 会指出。"),
        "source",
    ),
    Pitfall(
        "acl.json",
        ("dump_path must exist", "dump_path 必须已存在"),
        ("The folder is not made; a relative one is taken from where the program starts, and the driver's user must be able to write it.",
         "目录不会自动创建；相对路径以程序启动目录为准；驱动所用用户须有写权限。"),
        ("Make it first and use an absolute path.", "先创建，并使用绝对路径。"),
        "source",
    ),
    Pitfall(
        "acl.json",
        ("Layer names match nothing", "layer 名匹配不到"),
        ("They are names of the compiled, fused graph, not of the framework; layer is a list, layer_name is no key.",
         "须用编译融合后的图中的名字，而非框架名；layer 是列表，没有 layer_name 这个键。"),
        ("Take the names from an earlier dump, or from atc --mode=1 --om=MODEL.om --json=FILE.", "从已有 dump 或 atc --mode=1 --om=MODEL.om --json=FILE 的输出中取名。"),
        "source",
    ),
    Pitfall(
        "acl.json",
        ("dump_step or dump_mode in the wrong place", "dump_step 或 dump_mode 位置不对"),
        ("They stand beside dump_list, not inside of its items; a range must rise (5-10, not 10-5).", "它们与 dump_list 并列，不在其列表项内；区间须递增（5-10，而非 10-5）。"),
        ("npulse config check FILE names line and repair.", "npulse config check FILE 会给出行号与改法。"),
        "source",
    ),
    Pitfall(
        "acl.json",
        ("dump_debug beside another dump", "dump_debug 与其他 dump 同开"),
        ("Overflow detection excludes dump_op_switch and every exception scene: the start fails with EP0005 or 107000.",
         "溢出检测与 dump_op_switch、各异常场景互斥：启动时报 EP0005 或 107000。"),
        ("Two captures, one after the other.", "分两次采集。"),
        "source",
    ),
    Pitfall(
        "acl.json",
        ("A large dump is slow and fills the disk", "dump 过大、很慢，写满磁盘"),
        ("dump_mode all with tensors of every step writes inputs and outputs again and again.", "dump_mode all 加每步张量会反复写入输入与输出。"),
        ("dump_data: stats first (A2 and later), then tensors of few layers and steps: dump_step 0 or 0|5-10.", "先用 dump_data: stats（A2 及以后），再对少数层与步采张量：dump_step 0 或 0|5-10。"),
        "documents",
    ),
    Pitfall(
        "CANN",
        ("Overflow, but neither Inf nor NaN", "发生溢出，却没有 Inf 或 NaN"),
        ("In saturation mode Inf becomes the largest value (65504 in fp16) and NaN becomes 0. 910A always saturates, A2 and A3 only when forced.",
         "饱和模式下 Inf 变为最大值（fp16 为 65504），NaN 变为 0。910A 恒为饱和，A2、A3 仅在强制时。"),
        ("Look for values at exactly the limit: npulse overflow RUN --saturation; set INF_NAN_MODE_ENABLE=1.", "查找恰为上限的值：npulse overflow RUN --saturation；设置 INF_NAN_MODE_ENABLE=1。"),
        "documents",
    ),
    Pitfall(
        "CANN",
        ("Environment variables of some guides do nothing", "部分指南中的环境变量无效"),
        ("MSDEBUG_OVERFLOW_MODE, MSDEBUG_DUMP_PATH, MSDEBUG_RETRO_DUMP_LAYERS, MSANITIZER_MODE and MSANITIZER_OUTPUT are read by no tool.",
         "MSDEBUG_OVERFLOW_MODE、MSDEBUG_DUMP_PATH、MSDEBUG_RETRO_DUMP_LAYERS、MSANITIZER_MODE、MSANITIZER_OUTPUT 没有任何工具读取。"),
        ("Use dump_debug and dump_path of acl.json, INF_NAN_MODE_ENABLE, mssanitizer --tool and --log-file.", "改用 acl.json 的 dump_debug、dump_path，INF_NAN_MODE_ENABLE，以及 mssanitizer 的 --tool、--log-file。"),
        "source",
    ),
    Pitfall(
        "CANN",
        ("File names of a dump are plain numbers", "dump 文件名是纯数字"),
        ("Names that are too long are replaced; mapping.csv beside them has the real ones.", "过长的名字会被替换，真实名字在同目录的 mapping.csv。"),
        ("Keep mapping.csv when you copy a dump.", "复制 dump 时保留 mapping.csv。"),
        "source",
    ),
    Pitfall(
        "msaccucmp",
        ("Overflow column says NO although there is NaN", "OverFlow 列为 NO，实际有 NaN"),
        ("It looks at the largest value, which is NaN itself and so never over the limit.", "它只看最大值；最大值本身为 NaN 时永不超限。"),
        ("Do not rely on the column: npulse overflow counts NaN, Inf and values at the limit.", "不要依赖该列：npulse overflow 会统计 NaN、Inf 与顶到上限的值。"),
        "seen",
    ),
    # ---- sanitizers ----
    Pitfall(
        "mssanitizer",
        ("No report, and no error either", "没有报告，也没有报错"),
        ("Kernels that were not built with -g --cce-enable-sanitizer are not checked; a log without Start line saw no kernel.",
         "未以 -g --cce-enable-sanitizer 编译的 kernel 不会被检查；日志没有 Start 行说明没有检查任何 kernel。"),
        ("Build them so (Triton: TRITON_ENABLE_SANITIZER=1 and TRITON_ALWAYS_COMPILE=1); clean means clean and complete.",
         "按此编译（Triton：TRITON_ENABLE_SANITIZER=1 与 TRITON_ALWAYS_COMPILE=1）；“干净”须同时“完整”。"),
        "source",
    ),
    Pitfall(
        "mssanitizer",
        ("An illegal access is not seen in PyTorch", "PyTorch 中的越界没有被发现"),
        ("The memory pool hands out parts of one large block: an access beyond a tensor is still inside of the block.",
         "内存池从一大块中切分：越过张量的访问仍落在大块之内。"),
        ("PYTORCH_NO_NPU_MEMORY_CACHING=1 for the capture.", "采集时设 PYTORCH_NO_NPU_MEMORY_CACHING=1。"),
        "documents",
    ),
    Pitfall(
        "mssanitizer",
        ("The first report in the log is not the cause", "日志中的第一条报告不是原因"),
        ("Records are sorted by kind and core, not by time; the lowest serialNo came first.", "报告按类型与核排序而非时间；serialNo 最小的最先发生。"),
        ("npulse memory groups them by place in the code and orders them.", "npulse memory 会按代码位置归并并排序。"),
        "seen",
    ),
    Pitfall(
        "mssanitizer",
        ("The overlap of cores is not checked", "核间踩踏没有检查"),
        ("--log-level error turns that check off.", "--log-level error 会关闭该检查。"),
        ("Leave it at warn.", "保持 warn。"),
        "source",
    ),
    Pitfall(
        "mssanitizer",
        ("Reports are lost or cut", "报告丢失或被截断"),
        ("The cache of a core is full, or the program was killed; output in a pipe is mixed with the program's own.",
         "单核缓存已满，或程序被杀；管道中的输出会与程序自身输出混杂。"),
        ("--cache-size up, --log-file, fewer cores by --block-id.", "加大 --cache-size，使用 --log-file，用 --block-id 减少核数。"),
        "source",
    ),
    Pitfall(
        "AddressSanitizer",
        ("A leak report of Python and the driver", "报告 Python 与驱动自身的泄漏"),
        ("What lives until the program ends counts as leaked.", "存活到程序结束的内存都会被算作泄漏。"),
        ("Look for frames of your own code; a suppression file for the rest.", "只看含自己代码的栈；其余用 suppression 文件过滤。"),
        "documents",
    ),
    Pitfall(
        "plog",
        ("The message is cut in the middle", "消息被截断"),
        ("A line of the log has 1,024 characters at most; the rest stands nowhere.", "日志单行最多 1024 个字符，其余内容不会写出。"),
        ("Look for the shorter lines before it: error bits, kernel name and task id come first.", "看其前面的短行：错误位、kernel 名与 task id 先出现。"),
        "seen",
    ),
    Pitfall(
        "plog",
        ("The time of a device log is 1970", "device 日志时间为 1970"),
        ("The clock of the device was not set; lines carry no time zone either.", "设备时钟未设置；日志行也不带时区。"),
        ("Order within one file, never across host and device.", "只在同一文件内排序，不要跨 host 与 device。"),
        "seen",
    ),
    Pitfall(
        "plog",
        ("Which error is the cause?", "哪条错误是原因？"),
        ("The first 'Task run failed' of a process is; EZ9999, 507xxx at a synchronisation and HCCL time-outs on other ranks follow from it.",
         "同一进程第一条 Task run failed 才是；EZ9999、同步处的 507xxx 与其他 rank 的 HCCL 超时都是连带。"),
        ("ASCEND_LAUNCH_BLOCKING=1 once, so that the error stands at its own call.", "用 ASCEND_LAUNCH_BLOCKING=1 复现一次，让错误落在真正的调用处。"),
        "seen",
    ),
    # ---- profilers ----
    Pitfall(
        "msprof",
        ("A second export changes nothing", "再次导出没有变化"),
        ("Once a session was parsed (all_file.complete), later exports skip parsing: exporting while it still collects freezes it.",
         "会话一旦解析过（all_file.complete），再导出会跳过解析：采集中导出会使其冻结。"),
        ("Export a copy, or add --parse=on.", "导出副本，或加 --parse=on。"),
        "source",
    ),
    Pitfall(
        "msprof",
        ("Sums of kernel times are longer than the step", "kernel 时间之和大于步长"),
        ("Streams run beside each other, so durations overlap.", "多条流并行，时长会重叠。"),
        ("Use the union over streams: wall, busy and idle of npulse performance.", "应取各流的并集：见 npulse performance 的 wall、busy、idle。"),
        "seen",
    ),
    Pitfall(
        "msprof",
        ("Columns with N/A", "列中出现 N/A"),
        ("Not measured at this level: op_summary has no pipes without --aic-metrics, Level0 has no operator statistics.",
         "该级别未采集：没有 --aic-metrics 时 op_summary 无流水数据，Level0 没有算子统计。"),
        ("Profile again at level 2; N/A is not zero.", "以级别 2 重新采集；N/A 不等于 0。"),
        "seen",
    ),
    Pitfall(
        "msprof",
        ("Durations of centuries, ratios over 1", "时长长达数百年、比例大于 1"),
        ("Unsigned underflow in step_trace, noise of counters.", "step_trace 的无符号下溢，以及计数器噪声。"),
        ("npulse performance sets them aside and names them.", "npulse performance 会剔除并列出。"),
        "seen",
    ),
    Pitfall(
        "msprof",
        ("Old data is gone", "早期数据消失"),
        ("--storage-limit deletes the oldest slices.", "--storage-limit 会删除最早的切片。"),
        ("Raise it or profile fewer steps.", "调大限额或减少步数。"),
        "source",
    ),
    Pitfall(
        "msprof",
        ("--level 0 to 3 is refused", "不接受 --level 0..3"),
        ("The levels of guides are no option of any Ascend tool.", "指南中的 level 不是任何昇腾工具的选项。"),
        ("npulse capture performance --level N says what each is mapped to.", "npulse capture performance --level N 会打印其对应的真实选项。"),
        "source",
    ),
    Pitfall(
        "torch_npu.profiler",
        ("No communication times, no operator statistics", "没有通信时间与算子统计"),
        ("profiler_level is Level0 by default.", "profiler_level 默认为 Level0。"),
        ("profiler_level=Level1.", "设 profiler_level=Level1。"),
        "documents",
    ),
    Pitfall(
        "torch_npu.profiler",
        ("The first step is much slower", "第一步慢得多"),
        ("Operators are compiled and memory pools grow in it.", "期间在编译算子、扩充内存池。"),
        ("skip_first or wait and warmup of the schedule; --step 5-9 here.", "使用 schedule 的 skip_first 或 wait、warmup；这里用 --step 5-9。"),
        "documents",
    ),
    Pitfall(
        "torch_npu.profiler",
        ("The profile itself slows the host down", "剖析本身拖慢 host"),
        ("with_stack, record_shapes and profile_memory cost time on the host: idle time in such a profile may be made by it.",
         "with_stack、record_shapes、profile_memory 会占用 host 时间：其中的空闲可能由此造成。"),
        ("Measure without them, look for lines with them.", "测时间时关闭，查代码行时再打开。"),
        "documents",
    ),
    Pitfall(
        "torch_npu.profiler",
        ("Units differ between tables of the same name", "同名表的单位不同"),
        ("npu_module_mem is in KB by msprof and in MB by the framework's profiler; communication.json is in ms, others in us.",
         "npu_module_mem 在 msprof 中为 KB，在框架 profiler 中为 MB；communication.json 用 ms，其余用 us。"),
        ("Read the heading, never the number alone.", "看表头，不要只看数字。"),
        "seen",
    ),
    # ---- device and environment ----
    Pitfall(
        "npu-smi",
        ("Health: Warning or Alarm", "Health 为 Warning 或 Alarm"),
        ("OK: well. Warning: works, minor fault. Alarm: major fault. Critical: unusable. UNKNOWN: the driver does not answer.",
         "OK：正常。Warning：可用，轻微故障。Alarm：严重故障。Critical：不可用。UNKNOWN：驱动无响应。"),
        ("npu-smi info -t health -i ID gives fault codes; look them up here.", "npu-smi info -t health -i ID 给出故障码；可在此查询。"),
        "documents",
    ),
    Pitfall(
        "npu-smi",
        ("A card is full and no process is shown", "显存占满却看不到进程"),
        ("Processes of other containers are not listed, and a killed one can hold memory for a while.", "其他容器的进程不会列出；被杀的进程也可能暂时占着显存。"),
        ("Look on the host; wait ten seconds after a kill.", "到宿主机上查看；杀进程后等十秒。"),
        "seen",
    ),
    Pitfall(
        "npu-smi",
        ("'This device does not support querying' and exit status 0", "显示 does not support querying，退出码却为 0"),
        ("Not supported is not an error for the tool, and its figures are missing, not zero.", "对该工具而言“不支持”不是错误；数值是缺失而不是 0。"),
        ("Read the text, not the exit status.", "看文本，不看退出码。"),
        "seen",
    ),
    Pitfall(
        "environment",
        ("Two CANN versions in one environment", "一个环境里有两套 CANN"),
        ("set_env.sh of one after the other leaves both on the paths; which library is loaded is then chance.",
         "先后 source 两套 set_env.sh 会同时留在路径中，加载哪个库全凭顺序。"),
        ("Start from a fresh shell; npulse doctor names the variables.", "从新的 shell 开始；npulse doctor 会列出相关变量。"),
        "seen",
    ),
    Pitfall(
        "environment",
        ("Errors are told at the wrong Python line", "报错落在错误的 Python 行"),
        ("Kernels run later than they are launched: the line is that of the next synchronisation.", "kernel 异步执行：报错行是下一次同步处。"),
        ("ASCEND_LAUNCH_BLOCKING=1 to find the line; never while you profile.", "用 ASCEND_LAUNCH_BLOCKING=1 找行；剖析时切勿设置。"),
        "documents",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Status:
    """An exit status that says something else than one thinks. status: as a shell shows it."""

    tool: str
    status: str
    meaning: Words
    do: Words
    source: SourceKind


_LINES = ("judge by the lines of its log", "以日志内容为准")
_FILES = ("look whether the result folder is there and whole", "检查结果目录是否存在且完整")

STATUSES: tuple[Status, ...] = (
    Status("mssanitizer", "0", ("always: for findings, wrong arguments and a crashed program alike", "恒为 0：有发现、参数错误、程序崩溃均如此"), _LINES, "source"),
    Status("msopprof", "0", ("also where no kernel was profiled", "没有剖析到任何 kernel 时也为 0"), _FILES, "source"),
    Status("msopprof", "255", ("wrong arguments", "参数错误"), ("msopprof --help", "msopprof --help"), "source"),
    Status("msprof", "0", ("the program's own failure is a warning only", "程序自身失败只算警告"), _FILES, "source"),
    Status("msprof", "254", ("not supported on this chip", "该芯片不支持"), ("leave the option out", "去掉该选项"), "source"),
    Status("msprof", "255", ("it failed", "执行失败"), ("read its [ERROR] lines", "查看其 [ERROR] 行"), "source"),
    Status("msprobe", "0", ("of a dump: the exit status of the script, whatever was recorded", "dump 时为脚本自身的退出码，与采集结果无关"), ("look whether dump.json holds operators", "检查 dump.json 是否有算子"), "source"),
    Status("msaccucmp", "2", ("no dump file for the first operator that failed; the table can be usable all the same", "首个失败算子缺 dump 文件；结果表仍可能可用"), ("read the table", "查看结果表"), "source"),
    Status("AddressSanitizer", "1", ("the first error ended the program; 0 with halt_on_error=0", "首个错误即终止程序；halt_on_error=0 时为 0"), _LINES, "seen"),
    Status("LeakSanitizer", "23", ("leaks were found", "发现泄漏"), _LINES, "seen"),
    Status("ThreadSanitizer", "66", ("races were found", "发现数据竞争"), _LINES, "seen"),
    Status("UBSan", "0", ("reports alone do not end the program", "仅有报告不会终止程序"), _LINES, "seen"),
    Status("npu-smi", "187", ("-8005: the driver cannot be used (the low byte of its negative code)", "-8005：驱动不可用（负错误码的低字节）"), ("npulse doctor", "npulse doctor"), "source"),
    Status("a program", "134", ("SIGABRT: an assertion, or a sanitizer", "SIGABRT：断言失败或检测工具终止"), ("look at its last lines", "查看其最后几行输出"), "documents"),
    Status("a program", "136", ("SIGFPE: a division by zero of integers on the host, no NaN of a kernel", "SIGFPE：host 整数除零，与 kernel 的 NaN 无关"), ("build it with -fsanitize=undefined", "以 -fsanitize=undefined 编译"), "documents"),
    Status("a program", "137", ("SIGKILL: often the host ran out of memory", "SIGKILL：常因 host 内存耗尽"), ("look in dmesg for oom-kill", "在 dmesg 中查 oom-kill"), "documents"),
    Status("a program", "139", ("SIGSEGV: the host program, not a kernel", "SIGSEGV：host 程序崩溃，并非 kernel"), ("npulse capture memory --tool asan", "npulse capture memory --tool asan"), "documents"),
    Status("a program", "143", ("SIGTERM: a scheduler or a time-out ended it", "SIGTERM：被调度器或超时终止"), ("look who sent it", "查明发送者"), "documents"),
)  # fmt: skip
