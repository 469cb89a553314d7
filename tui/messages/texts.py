"""The texts of the user interface: id to (English, Chinese). English is ASCII: it must show anywhere."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    # ---- the frame ----
    "app.too-small": ("Too small: 40 x 10 is needed.", "终端太小：至少需要 40 x 10。"),
    "header.no-run": ("no run open", "未打开运行目录"),
    "header.opening": ("scanning", "正在扫描"),
    "header.round": ("round {i} of {n} {name}", "第 {i}/{n} 轮 {name}"),
    "quit.memory-only": (
        "Marks and notes could not be written: they end with this session.",
        "标记与备注无法写入：退出后即丢失。",
    ),
    "quit.ask": ("Quit all the same?", "仍要退出吗？"),
    # ---- the run ----
    "open.cancelled": ("Scanning was cancelled. r scans again.", "扫描已取消。按 r 重新扫描。"),
    "run.none": ("No run is open yet.", "尚未打开运行目录。"),
    "run.no-more-rounds": ("No further round: this run has {n}.", "没有更多轮次：本次运行共 {n} 轮。"),
    "job.cancelled": ("Cancelled: {n} job(s).", "已取消 {n} 个任务。"),
    # ---- panes ----
    "pane.no-findings": ("There are no findings here.", "此处没有发现。"),
    "pane.no-origin": ("No origin was found here.", "此处没有找到源头。"),
    "pane.finding": ("{subject}: {message}", "{subject}：{message}"),
    "pane.only-finding": ("This is the only finding.", "这是唯一的发现。"),
    "pane.origin-of": ("origin {i} of {n}", "源头 {i} / {n}"),
    "job.reading": ("Reading ...", "正在读取……"),
    "job.cancelled-here": ("Cancelled. r reads again.", "已取消。按 r 重新读取。"),
    "pane.nothing-for": (
        "Nothing here for this key ({action}): no row is under the cursor.",
        "此处无法执行（{action}）：光标下没有行。",
    ),
    "pane.nothing-to-undo": ("Nothing to undo.", "没有可撤销的操作。"),
    "where.title": ("Where this comes from", "数据出处"),
    "missing.export": (
        "Export from here is not built yet. Use: npulse report RUN -o FILE",
        "此处的导出功能尚未实现。请使用：npulse report RUN -o FILE",
    ),
    "missing.compare": (
        "Comparing rounds here is not built yet: [ and ] switch rounds, the first line tells how each ends.",
        "此处的轮次比较尚未实现：按 [ 和 ] 切换轮次，首行显示各轮的最终结果。",
    ),
    "missing.follow": (
        "Following a growing folder is not built yet. r scans it again.",
        "跟踪增长中的目录尚未实现。按 r 可重新扫描。",
    ),
    "missing.pause": (
        "Nothing is being followed: following is not built yet.",
        "没有正在跟踪的内容：跟踪功能尚未实现。",
    ),
    # ---- the overflow pane ----
    "overflow.reading": ("Looking for NaN, Inf and saturated values ...", "正在查找 NaN、Inf 和饱和值……"),
    "overflow.scanning": ("reading tensors element by element", "正在逐元素读取张量"),
    "overflow.cancelled": (
        "Cancelled: only what the statistics tell. r starts again.",
        "已取消：仅为统计量所示。按 r 重新开始。",
    ),
    "overflow.n-origin": ("{n:,} origins", "源头 {n:,}"),
    "overflow.n-origin-one": ("{n} origin", "源头 {n}"),
    "overflow.n-inherited": ("{n:,} calls inherited", "继承的调用 {n:,}"),
    "overflow.n-inherited-one": ("{n} call inherited", "继承的调用 {n}"),
    "overflow.n-benign": ("{n:,} legal Inf", "合法 Inf {n:,}"),
    "overflow.n-benign-one": ("{n} legal Inf", "合法 Inf {n}"),
    "overflow.n-unknown": ("{n:,} tensors not seen", "未观测的张量 {n:,}"),
    "overflow.n-unknown-one": ("{n} tensor not seen", "未观测的张量 {n}"),
    "overflow.n-calls": ("{n:,} calls", "调用 {n:,}"),
    "overflow.n-calls-one": ("{n} call", "调用 {n}"),
    "overflow.n-monitor": ("{n:,} monitor rows", "监测行 {n:,}"),
    "overflow.n-monitor-one": ("{n} monitor row", "监测行 {n}"),
    "overflow.mode-on": ("saturation mode on", "饱和模式 开"),
    "overflow.mode-off": ("saturation mode off", "饱和模式 关"),
    "overflow.mode-unknown": ("saturation not told ({key})", "饱和模式未知（{key}）"),
    "overflow.nothing": ("No NaN, no Inf, no saturated value.", "没有 NaN、Inf，也没有饱和值。"),
    "overflow.few-record": (
        "{kind}: device record, task {task} stream {stream}",
        "{kind}：设备上报，任务 {task} 流 {stream}",
    ),
    "overflow.few-record-alone": (
        "device record, task {task} stream {stream}",
        "设备上报，任务 {task} 流 {stream}",
    ),
    "overflow.few-saturated": (
        "values at +-{largest}, the largest {dtype}",
        "有值为 ±{largest}（{dtype} 最大值）",
    ),
    "overflow.few-saturated-n": (
        "{n:,} values at +-{largest}, the largest {dtype}",
        "{n:,} 个值为 ±{largest}（{dtype} 最大值）",
    ),
    "overflow.few-log-negative": ("{kind}: the logarithm of {value}", "{kind}：对 {value} 取对数"),
    "overflow.few-root-negative": ("{kind}: the root of {value}", "{kind}：对 {value} 开方"),
    "overflow.few-arc-outside": ("{kind}: {value} is outside of [-1, 1]", "{kind}：{value} 超出 [-1, 1]"),
    "overflow.few-zero-division": ("{kind}: its divisor reaches 0", "{kind}：除数为 0"),
    "overflow.few-reach": (
        "{kind}: can reach {at_most}, beyond {dtype}",
        "{kind}：结果可达 {at_most}，超出 {dtype}",
    ),
    "overflow.few-operator": ("{kind} from finite inputs", "输入有限，输出 {kind}"),
    "overflow.few-gap": ("{kind} from code that was not captured", "{kind}，始于未采集的代码"),
    "overflow.few-gradient": (
        "{kind} from a backward that was not captured",
        "{kind}，始于未采集的反向计算",
    ),
    "overflow.few-legal-inf": ("{kind}, made of a legal Inf", "{kind}，由合法 Inf 算出"),
    "overflow.spread-to": ("; spread to rank {ranks}", "；扩散到 rank {ranks}"),
    "overflow.spread-n": ("; spread to {n:,} more ranks", "；扩散到另外 {n:,} 个 rank"),
    "overflow.only-upstream": (
        "the origin and what fed it, nearest last; {key}: all {n:,} rows",
        "源头及其上游，最近的在最后；{key}：全部 {n:,} 行",
    ),
    "overflow.strip": ("magnitude per layer, full: not finite", "每层数值量级，满格：非有限"),
    "overflow.none": (
        "Nothing to look through in {path}. Looked for dumps of msprobe (dump.json), CANN overflow records and dumps "
        "(Opdebug.*), training monitor files (grad_*.csv).",
        "{path} 中没有可检查的内容。查找了 msprobe dump（dump.json）、CANN 溢出记录与 dump（Opdebug.*）、训练监测文件"
        "（grad_*.csv）。",
    ),
    "overflow.how-capture": (
        'To capture: PrecisionDebugger(config_path="config.json") with "task": "statistics", "level": "mix"; or acl.json with '
        '"dump_debug": "on".',
        '采集方法：PrecisionDebugger(config_path="config.json")，"task": "statistics"，"level": "mix"；或 acl.json 中 '
        '"dump_debug": "on"。',
    ),
    "overflow.no-upstream": (
        "No origin here, so nothing lies upstream of it.",
        "此处没有源头，因此没有上游。",
    ),
    "overflow.evidence-title": ("All that is known of this row", "该行的全部信息"),
    "overflow.no-stack": ("No call stack was recorded for this call.", "该调用没有记录调用栈。"),
    "overflow.stack-title": (
        "Call stack, innermost first; * is your own code",
        "调用栈，最内层在前；* 为用户代码",
    ),
    "overflow.ranks-title": (
        "Ranks against their exchanges; Enter goes to the first bad call of a rank",
        "各 rank 与通信时刻；回车转到该 rank 的首个异常调用",
    ),
    "overflow.ranks-legend": (
        "{clean} clean   {inherited} inherited   {origin} origin   column k: behind exchange k of {n:,}",
        "{clean} 正常   {inherited} 继承   {origin} 源头   第 k 列：第 k 次通信之后，共 {n:,} 次",
    ),
    "overflow.ranks-unknown": ("{unknown} not read", "{unknown} 未读取"),
    "overflow.ranks-some": (
        "of {n:,} columns the first at which something changes",
        "共 {n:,} 列，只显示最先有变化的列",
    ),
    "overflow.ranks-before": ("before any exchange", "任何通信之前"),
    "overflow.ranks-origin": ("{ranks} origin", "{ranks} 源头"),
    "overflow.ranks-inherited": ("{ranks} inherited", "{ranks} 继承"),
    "overflow.ranks-more": ("... and {n:,} more", "……另有 {n:,} 处"),
    "overflow.no-ranks": (
        "Of this step one rank alone was captured.",
        "该步只采集了一个 rank。",
    ),
    "overflow.saturation-title": (
        "Does the device saturate instead of writing Inf?",
        "设备是饱和还是写 Inf？",
    ),
    "overflow.saturation-unknown": ("as the files tell", "按文件所示"),
    "overflow.saturation-on": (
        "it saturates (INF_NAN_MODE_ENABLE=0, 910A)",
        "饱和（INF_NAN_MODE_ENABLE=0，910A）",
    ),
    "overflow.saturation-off": (
        "it writes Inf and NaN (INF_NAN_MODE_ENABLE=1)",
        "写 Inf 和 NaN（INF_NAN_MODE_ENABLE=1）",
    ),
    "overflow.in-force": ("{text}  (now)", "{text}（当前）"),
    # ---- the precision pane ----
    "precision.reading": ("Reading and comparing the two captures ...", "正在读取并比较两份采集……"),
    "precision.cancelled": (
        "Comparing was cancelled. r reads and compares again.",
        "比较已取消。按 r 重新读取并比较。",
    ),
    "precision.closer": ("looking closer at tensors that differ", "正在细查有差异的张量"),
    "precision.n-compared": ("{n:,} tensors compared", "已比较张量 {n:,}"),
    "precision.n-origin": ("{n:,} origin", "源头 {n:,}"),
    "precision.n-origins": ("{n:,} origins", "源头 {n:,}"),
    "precision.n-inherited": ("{n:,} calls inherited", "继承的调用 {n:,}"),
    "precision.n-unmatched": ("{n:,} calls unmatched", "未匹配的调用 {n:,}"),
    "precision.n-unknown": ("{n:,} tensors not comparable", "无法比较的张量 {n:,}"),
    "precision.n-warning": ("{n:,} tensors warned", "有警告的张量 {n:,}"),
    "precision.pair-of": ("pair {i} of {n} ({key})", "第 {i}/{n} 对 ({key})"),
    "precision.strip": ("strip: worst rel.L2 per layer, 0..1", "条带：每层最差的相对L2，0..1"),
    "precision.origin": ("origin", "源头"),
    "precision.error": ("error", "错误"),
    "precision.warning": ("warning", "警告"),
    "precision.note": ("note", "提示"),
    "precision.sides": ("target {target}  golden {golden}", "目标 {target}  标杆 {golden}"),
    "precision.nothing": ("Nothing over a threshold.", "没有超过阈值的项。"),
    "precision.last": ("last output cosine {cosine}", "最后输出余弦 {cosine}"),
    "precision.alone": (
        "One capture alone, {calls:,} calls: {n} turn finite inputs into NaN or Inf.",
        "仅有一份采集，共 {calls:,} 次调用：{n} 个将有限输入变为 NaN 或 Inf。",
    ),
    "precision.no-pair": (
        "No two captures to compare in {path}. Looked for dump.json of msprobe in folders named npu, gpu, cpu, "
        "golden, bench, target ...",
        "{path} 中没有可比较的两份采集。已在名为 npu、gpu、cpu、golden、bench、target 等目录中查找 msprobe 的 dump.json。",
    ),
    "precision.which": (
        "{n} captures, and their names do not say which is target and which is golden: {names}",
        "有 {n} 份采集，名称无法判断哪份是目标、哪份是标杆：{names}",
    ),
    "precision.not-read": (
        "{path} is not (or does not hold) the output of a tool that is read here.",
        "{path} 不是（或不含）此处可读取的工具输出。",
    ),
    "precision.how-second": (
        "To compare two captures: npulse precision TARGET GOLDEN, or open the folder that holds both.",
        "比较两份采集：npulse precision TARGET GOLDEN，或打开同时包含两者的目录。",
    ),
    "precision.how-pair": (
        "To name the two: press {key}, or npulse precision TARGET GOLDEN, or open the folder that holds both.",
        "指定两份采集：按 {key}，或 npulse precision TARGET GOLDEN，或打开同时包含两者的目录。",
    ),
    "precision.how-capture": (
        "To capture: PrecisionDebugger of msprobe with the same config.json on both sides.",
        "采集方法：两侧使用相同 config.json 的 msprobe PrecisionDebugger。",
    ),
    "detail.next": ("next", "下一步"),
    "detail.source": ("source", "源码"),
    "detail.note": ("your note", "备注"),
    "detail.more": ("{n} more", "还有 {n} 行"),
    "table.filtered": ("filter: {filter}", "过滤：{filter}"),
    "table.filter-hint": (
        "words, role:origin, cosine<0.99, -io:input",
        "关键词、role:origin、cosine<0.99、-io:input",
    ),
    "table.column-empty": ("Column {name} holds no values here.", "列 {name} 在此没有数值。"),
    "precision.no-elements": (
        "No elements were captured for this row on both sides: only statistics. "
        "Capture with task tensor, or statistics with tensor_list.",
        "此行没有两侧的元素数据，只有统计量。请使用 task tensor 或带 tensor_list 的 statistics 采集。",
    ),
    "precision.stack-title": (
        "Call stack, innermost first; * is your own code",
        "调用栈，最内层在前；* 为用户代码",
    ),
    "precision.no-stack": (
        "No call stack was recorded for this call (extra_info false, or a backward call).",
        "此调用没有记录调用栈（extra_info 为 false，或为反向调用）。",
    ),
    "export.done": ("Written: {path} ({n:,} characters)", "已写入：{path}（{n:,} 字符）"),
    "table.position": ("{first:,}-{last:,} of {total}", "{first:,}-{last:,} / {total}"),
    "columns.title": ("Columns: Enter shows or hides one", "列：回车显示或隐藏"),
    "find-column.title": ("Go to a column", "转到列"),
    "find-column.placeholder": ("type a part of its name", "输入名称的一部分"),
    "find-column.none": ("No such column.", "没有这样的列。"),
    "role.ok": ("ok", "正常"),
    "role.origin": ("origin", "源头"),
    "role.inherited": ("inherited", "继承"),
    "role.unmatched": ("unmatched", "未匹配"),
    "role.unknown": ("unknown", "未知"),
    "role.suspect": ("suspect", "嫌疑"),
    "role.benign": ("legal", "合法"),
    "verdict.pass": ("pass", "通过"),
    "verdict.warning": ("warning", "警告"),
    "verdict.error": ("error", "错误"),
    "verdict.unknown": ("unknown", "未知"),
    "io.input": ("input", "输入"),
    "io.output": ("output", "输出"),
    "io.kwargs": ("kwargs", "关键字参数"),
    "io.parameters": ("parameters", "权重"),
    "io.parameters-grad": ("parameters_grad", "权重梯度"),
    "io.short-input": ("in", "输入"),
    "io.short-output": ("out", "输出"),
    "io.short-kwargs": ("kw", "参数"),
    "io.short-parameters": ("param", "权重"),
    "io.short-parameters-grad": ("grad", "梯度"),
    "captures.target": ("Which capture is the target (NPU)?", "哪份采集是目标（NPU）？"),
    "captures.golden": ("Which capture is the golden one?", "哪份采集是标杆？"),
    "captures.no-golden": (
        "no golden: look at one capture alone",
        "没有标杆：只看一份采集",
    ),
    "captures.which-pair": ("Which pair of captures?", "哪一对采集？"),
    "captures.pair": ("{i}  {target} against {golden}", "{i}  {target} 对 {golden}"),
    "captures.other-pair": (
        "another pair: name target and golden",
        "其他配对：指定目标与标杆",
    ),
    "choice.placeholder": ("type a part of its name", "输入名称的一部分"),
    "choice.none": ("There is nothing here to choose from.", "这里没有可供选择的内容。"),
    "export.title": (
        "Write findings and table to (.csv .json .jsonl .md .txt); never into the run:",
        "将发现与表格写入（.csv .json .jsonl .md .txt）；不会写入运行目录：",
    ),
    "modules.title": (
        "Module tree: verdict and role are the worst inside. Enter goes to that row.",
        "模块树：结论与角色取内部最差。回车转到该行。",
    ),
    "modules.no-rows": ("Nothing was captured in this module.", "该模块没有采集数据。"),
    "elements.reading": ("Reading the elements of {name} ...", "正在读取 {name} 的元素……"),
    "elements.title": (
        "{name}  {shape}  {dtypes}  worst {n}",
        "{name}  {shape}  {dtypes}  最差 {n} 个",
    ),
    "elements.map": (
        "error map {rows:,} rows x {columns:,} columns: largest |t-g|",
        "误差图 {rows:,} 行 x {columns:,} 列：最大 |t-g|",
    ),
    "elements.histogram": (
        "relative error; {zero:,} at golden 0, {bad:,} not finite",
        "相对误差；标杆为 0 处 {zero:,} 个，非有限 {bad:,} 个",
    ),
    "elements.equal": ("equal", "相等"),
    # ---- panes still to come ----
    "pending.title": ("{name}: not built yet", "{name}：尚未实现"),
    "pending.checkup": (
        "Here will stand all areas against their criteria, and which one to look at first.",
        "这里将列出各方面与判定标准的对照，以及应先查看哪一项。",
    ),
    "pending.precision": (
        "Here will stand the operator calls of two captures side by side, and the first that differs.",
        "这里将并列显示两次采集的算子调用，并指出首个差异。",
    ),
    "pending.overflow": (
        "Here will stand the first NaN, Inf or overflow, and the way that led to it.",
        "这里将显示首个 NaN、Inf 或溢出，以及它的来路。",
    ),
    "pending.memory": (
        "Here will stand memory faults by the line of code, leaks and out-of-memory reports.",
        "这里将按代码行显示内存错误、泄漏与内存不足报告。",
    ),
    "pending.performance": (
        "Here will stand operators by time, what bounds them, and where the device is idle.",
        "这里将按耗时显示算子、瓶颈类型以及设备空闲处。",
    ),
    "pending.device": (
        "Here will stand the health of the cards: temperature, frequency, memory, versions.",
        "这里将显示各卡健康状况：温度、频率、内存与版本。",
    ),
    "pending.rounds": (
        "Here will stand one row a round: what changed, and what it did to each figure.",
        "这里每轮一行：改了什么，各项数据如何变化。",
    ),
    "pending.no-run": (
        "No run is open. R opens one; q leaves.",
        "未打开运行目录。按 R 打开，按 q 退出。",
    ),
    "pending.opening": ("The folder is being scanned.", "正在扫描目录。"),
    "pending.failed": ("Nothing could be read. {message}", "无法读取。{message}"),
    "pending.nothing": (
        "Looked at {n_entries:,} entries in {path}: nothing of this area was recognised.",
        "已查看 {path} 中的 {n_entries:,} 项：没有识别到该方面的内容。",
    ),
    "pending.found": ("Recognised in this round: {n:,}", "本轮已识别：{n:,} 项"),
    "pending.not-read": ("recognised, not yet read", "已识别，尚不能读取"),
    "pending.captured-by": ("Written by:", "产生方式："),
    "pending.capture": ("What would be read here is written by:", "此处将读取以下命令的输出："),
    # ---- screens ----
    "help.title": ("Keys in force (map: {name})", "当前按键（键表：{name}）"),
    "problems.title": ("Problems: {n:,} could not be read", "问题：{n:,} 处无法读取"),
    "problems.only-recognised": (
        "No problems in what was read. {n:,} artifacts are recognised, not yet read.",
        "读取的内容没有问题。另有 {n:,} 项已识别，尚不能读取。",
    ),
    "problem.cut-off": ("cut-off", "被截断"),
    "problem.missing": ("missing", "缺失"),
    "problem.unreadable": ("unreadable", "无法读取"),
    "problem.bad-record": ("bad-record", "记录有误"),
    "problem.bad-tensor": ("bad-tensor", "张量有误"),
    "problem.shape": ("shape", "形状"),
    "problem.outside-run": ("outside-run", "在目录之外"),
    "problem.too-large": ("too-large", "过大"),
    "problem.too-deep": ("too-deep", "嵌套过深"),
    "problem.encoding": ("encoding", "编码"),
    "problem.limit": ("limit", "超出上限"),
    "problem.key-map": ("key-map", "键表"),
    "problem.refused": ("refused", "已拒绝"),
    "problems.empty": (
        "No problems: all that was looked at could be read.",
        "没有问题：查看过的内容都可读取。",
    ),
    "problems.more": (
        "The first {shown:,} of {n:,} are listed.",
        "仅列出前 {shown:,} 项，共 {n:,} 项。",
    ),
    "problems.line": ("line {line}", "第 {line} 行"),
    "problems.byte": ("byte {byte}", "第 {byte} 字节"),
    "marks.title": ("Marks of this run: {n:,}", "本次运行的标记：{n:,}"),
    "marks.empty": (
        "Nothing is marked. In a pane, {mark} marks what is under the cursor, {note} writes a note on it.",
        "没有标记。在面板中按 {mark} 标记光标处的对象，按 {note} 写备注。",
    ),
    "marks.not-here": ("{subject} is not shown in this pane.", "本面板中没有 {subject}。"),
    "picker.title": ("npulse: which run?", "npulse：打开哪个运行目录？"),
    "picker.placeholder": (
        "type to filter, or a path such as ./dump",
        "输入以过滤，或输入路径，如 ./dump",
    ),
    "picker.empty": (
        "No run was opened before. Type the path of a folder or file that a debugging tool wrote,\n"
        "or leave with Esc and see the sample: npulse demo",
        "尚未打开过运行目录。请输入调试工具写出的目录或文件路径，\n或按 Esc 返回，用 npulse demo 查看示例。",
    ),
    "picker.no-match": ("No recent run matches.", "没有匹配的最近运行。"),
    "picker.open-typed": ("open {path}", "打开 {path}"),
    "palette.title": ("Commands", "命令"),
    "palette.placeholder": ("type a part of a name", "输入名称的一部分"),
    "palette.no-match": ("No command matches.", "没有匹配的命令。"),
    "note.title": ("Note on", "备注对象"),
    "note.placeholder": ("Enter keeps the note, Esc leaves", "回车保存，Esc 离开"),
    "note.unsaved": ("The note is not kept yet. Throw it away?", "备注尚未保存。要放弃吗？"),
    # ---- services ----
    "copy.done": ("Copied {size_bytes:,} bytes ({route}).", "已复制 {size_bytes:,} 字节（{route}）。"),
    "copy.with-file": (
        "Copied {size_bytes:,} bytes ({route}); also in {path}",
        "已复制 {size_bytes:,} 字节（{route}）；同时写入 {path}",
    ),
    "copy.failed": (
        "Could not copy: the terminal, the multiplexer and the state folder all refused.",
        "无法复制：终端、复用器与状态目录均不可用。",
    ),
    "edit.failed": (
        "The editor did not open it; set EDITOR. The place: {path}, line {line}",
        "编辑器未能打开；请设置 EDITOR。位置：{path}，第 {line} 行",
    ),
    "language.ascii": (
        "This terminal can't show Chinese: it is not in UTF-8.",
        "该终端不是 UTF-8，无法显示中文。",
    ),
    "theme.now": ("Theme: {name}", "主题：{name}"),
    "theme.only-one": ("This terminal shows only the theme {name}.", "该终端只能显示主题 {name}。"),
    "mouse.on": ("Mouse on.", "鼠标已开启。"),
    "mouse.off": ("Mouse off: the terminal selects text again.", "鼠标已关闭：可用终端自身选择文本。"),
    "state.damaged": ("A damaged file was set aside: {path}", "损坏的状态文件已另存：{path}"),
    "state.memory": (
        "{path} can't be written: marks and notes last only until you quit.",
        "无法写入 {path}：标记与备注仅保留到退出。",
    ),
    # ---- crash ----
    "crash.what": ("npulse stopped: {what}", "npulse 已停止：{what}"),
    "crash.where": ("  at {where}", "  位置 {where}"),
    "crash.untouched": (
        "  The run was not changed; marks and notes are kept.",
        "  运行目录未被改动；标记与备注已保存。",
    ),
    "crash.log": ("  Log: {path}", "  日志：{path}"),
    "crash.no-log": ("  No log could be written.", "  无法写入日志。"),
    "crash.next": ("  Please report it with the log.", "  请附上日志反馈该问题。"),
    # ---- key maps ----
    "keymap.problems": (
        "{n} mistake(s) in the key map; ! lists them.",
        "键表中有 {n} 处错误，按 ! 查看。",
    ),
    "keymap.too-large": (
        "larger than {limit_bytes:,} bytes; not read",
        "超过 {limit_bytes:,} 字节，未读取",
    ),
    "keymap.unreadable": ("can't be read: {reason}", "无法读取：{reason}"),
    "keymap.encoding": ("not UTF-8 at byte {byte}", "第 {byte} 字节处不是 UTF-8"),
    "keymap.bad-toml": ("not valid TOML: {reason}", "不是有效的 TOML：{reason}"),
    "keymap.unknown-field": (
        "unknown field '{name}'; known: name, base, [bindings]",
        "未知字段“{name}”；可用：name、base、[bindings]",
    ),
    "keymap.unknown-base": (
        "unknown base map '{name}'; known: {names}",
        "未知基础键表“{name}”；可用：{names}",
    ),
    "keymap.bindings-type": ("'bindings' must be a table: [bindings]", "“bindings”必须是表：[bindings]"),
    "keymap.unknown-action": ("unknown action '{name}'{hint}", "未知操作“{name}”{hint}"),
    "keymap.unknown-key": ("unknown key '{name}'{hint}", "未知按键“{name}”{hint}"),
    "keymap.did-you-mean": ("; did you mean '{name}'?", "；是否指“{name}”？"),
    "keymap.wrong-type": (
        "the keys of '{id}' must be a string or a list of strings",
        "“{id}”的按键必须是字符串或字符串列表",
    ),
    "keymap.must-keep": ("'{id}' must keep a key", "“{id}”必须保留一个按键"),
    "keymap.forbidden": ("'{key}' can't be used: {reason}", "不能使用“{key}”：{reason}"),
    "keymap.same-bytes": (
        "'{key}' never arrives: terminals send the same bytes as for '{same}'",
        "“{key}”无法收到：终端发送的字节与“{same}”相同",
    ),
    "keymap.printable": (
        "'{key}' is a character that is typed here; use a named key or one with ctrl",
        "“{key}”在此处是输入字符；请用功能键或 ctrl 组合键",
    ),
    "keymap.clash": ("'{key}' would mean both '{id}' and '{other}'", "“{key}”同时对应“{id}”和“{other}”"),
    "why.screen-prefix": ("it is the prefix key of screen", "它是 screen 的前缀键"),
    "why.tmux-prefix": ("it is the prefix key of tmux", "它是 tmux 的前缀键"),
    "why.flow-control": ("terminals use it for flow control", "终端用它做流控"),
    "why.suspends": ("the shell uses it to suspend the program", "shell 用它挂起程序"),
    "why.not-sent": ("most terminals don't send it", "多数终端不会发送它"),
}
