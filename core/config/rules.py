"""The rules of `npulse config check`: what each finding means, where it comes from."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_ACL = ("CANN's description of acl.json and of GE's dump options", "CANN 对 acl.json 与 GE dump 选项的说明")
_MSPROBE = ("msprobe's own checks, 1.2.2, 8.3.3 and 26.2.0", "msprobe 1.2.2、8.3.3、26.2.0 自身的检查")
_BOTH = (
    "CANN's description of acl.json; msprobe's own checks",
    "CANN 对 acl.json 的说明；msprobe 自身的检查",
)
_OWN = ("npulse's own", "npulse 自有规则")
_NONE = ("cannot be silenced", "不可关闭")
_ANY = ("every occurrence", "每一处")


def _rule(
    id_: str,
    severity: Severity,
    source: tuple[str, str],
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = _ANY,
    silence: tuple[str, str] = _NONE,
) -> Rule:
    return Rule(f"config.{id_}", severity, title, meaning, threshold, source, silence)


RULES: tuple[Rule, ...] = (
    _rule(
        "type",
        "error",
        _BOTH,
        ("value of a wrong type", "值的类型不对"),
        (
            "The tool expects another JSON type here and refuses the file or reads the value as absent.",
            "工具在此处期望另一种 JSON 类型，会拒绝该文件或视为未配置。",
        ),
    ),
    _rule(
        "value",
        "error",
        _BOTH,
        ("value that the tool does not have", "工具不支持的取值"),
        ("The value is none of those that the tool takes.", "该值不在工具支持的取值之内。"),
    ),
    _rule(
        "unknown-key",
        "error",
        _BOTH,
        ("key that the tool does not have", "工具没有的键"),
        (
            "The tool ignores keys that it does not know, so what was meant by it does not happen. In msprobe's options "
            "it is a warning where nothing near it is known.",
            "工具忽略不认识的键，本意不会生效。msprobe 的选项中没有相近的键时为警告。",
        ),
    ),
    _rule(
        "misplaced-key",
        "error",
        _BOTH,
        ("key in the wrong place", "键的位置不对"),
        (
            "The tool knows this key, but in another object: here it is ignored.",
            "工具认识该键，但应位于另一个对象中：在此处会被忽略。",
        ),
    ),
    _rule(
        "repeated-key",
        "warning",
        _OWN,
        ("key that stands twice", "键重复出现"),
        ("JSON keeps the last one; the others have no effect.", "JSON 只保留最后一个，其余无效。"),
    ),
    _rule(
        "nesting",
        "error",
        _ACL,
        ("nested too deep", "嵌套过深"),
        (
            "acl's JSON reader refuses more than 10 nested objects or lists.",
            "acl 的 JSON 解析拒绝超过 10 层的对象或列表嵌套。",
        ),
        ("more than 10", "超过 10 层"),
    ),
    _rule(
        "step",
        "error",
        _BOTH,
        ("steps or ranks that cannot be read", "step 或 rank 无法解析"),
        (
            "acl: parts joined by '|', each a number or START-END with START <= END, at most 100. msprobe: a list of numbers "
            'and texts "3-5" (26.x: also "3"), 0 to 1,000,000.',
            'acl：以 \'|\' 连接的数字或 START-END（START <= END），最多 100 段。msprobe：数字与 "3-5"（26.x 也可 "3"）的列表，0 到 1,000,000。',
        ),
    ),
    _rule(
        "step-ge",
        "note",
        _ACL,
        ("steps that GE's own option refuses", "GE 选项不接受的 step"),
        (
            "acl.json takes START-END with START equal to END, ge.exec.dumpStep does not.",
            "acl.json 接受首尾相等的区间，ge.exec.dumpStep 不接受。",
        ),
    ),
    _rule(
        "nothing-selected",
        "error",
        _ACL,
        ("nothing is selected, so nothing is dumped", "没有选择任何内容，不会产生 dump"),
        (
            "Without a non-empty dump_list, dump_op_switch, dump_debug or dump_scene the file is accepted and dumps nothing, "
            "without a word.",
            "没有非空的 dump_list、dump_op_switch、dump_debug 或 dump_scene 时，文件会被接受但静默地什么都不 dump。",
        ),
    ),
    _rule(
        "no-path",
        "error",
        _BOTH,
        ("no dump_path", "缺少 dump_path"),
        (
            "dump_path is mandatory; acl.json may do without it for an exception scene.",
            "dump_path 必填；acl.json 仅在异常场景下可省略。",
        ),
    ),
    _rule(
        "path",
        "error",
        _BOTH,
        ("dump_path that cannot be used", "dump_path 不可用"),
        (
            "acl: the folder must exist, be readable and writable and have at most 512 characters. msprobe makes the folder, "
            "so the one above has to be writable.",
            "acl：目录必须已存在、可读可写，且不超过 512 个字符。msprobe 会自行创建目录，因此上级目录须可写。",
        ),
    ),
    _rule(
        "relative-path",
        "note",
        _OWN,
        ("relative path", "相对路径"),
        (
            "It counts from the working directory of the program that loads the file, which this check does not know.",
            "相对于加载该文件的程序的工作目录，此检查无法得知。",
        ),
        silence=("--cwd DIR, the folder in which the program is started", "--cwd DIR 指定程序启动目录"),
    ),
    _rule(
        "exclusive",
        "error",
        _BOTH,
        ("settings that exclude each other", "互斥的设置"),
        (
            "acl: dump_debug, dump_op_switch and dump_scene exclude each other. msprobe: async_dump excludes md5; L2 "
            "excludes scope.",
            "acl：dump_debug、dump_op_switch、dump_scene 互斥。msprobe：async_dump 与 md5 互斥；L2 与 scope 互斥。",
        ),
    ),
    _rule(
        "watcher",
        "error",
        _ACL,
        ("watcher that is not complete", "watcher 配置不完整"),
        (
            "watcher needs dump_mode output and a list of items with watcher_nodes and without model_name.",
            "watcher 需要 dump_mode 为 output，且每个列表项都有 watcher_nodes、没有 model_name。",
        ),
    ),
    _rule(
        "blacklist",
        "error",
        _ACL,
        ("blacklist or range that does not hold", "黑名单或区间无效"),
        (
            "optype_blacklist, opname_blacklist and opname_range need dump_level op, have at most 100 entries; the range needs "
            "model_name, begin and end.",
            "optype_blacklist、opname_blacklist、opname_range 需要 dump_level 为 op，最多 100 项；区间还需要 model_name、begin、end。",
        ),
        ("at most 100 entries", "最多 100 项"),
    ),
    _rule(
        "empty-target",
        "error",
        _ACL,
        ("empty model_name or layer", "model_name 或 layer 为空"),
        (
            "Where dump_op_switch is off, model_name and layer must not be empty when they are there.",
            "dump_op_switch 为 off 时，model_name 与 layer 若存在则不能为空。",
        ),
    ),
    _rule(
        "glob",
        "error",
        _BOTH,
        ("glob where the tool takes none", "工具不支持通配符"),
        (
            "acl compares whole names of compiled operators, msprobe looks for the text inside of names: '*', '?' and '[' "
            "are plain characters for both, and match nothing.",
            "acl 按编译后算子的完整名称比较，msprobe 按子串匹配：'*'、'?'、'[' 对两者都是普通字符，匹配不到任何内容。",
        ),
    ),
    _rule(
        "stats",
        "error",
        _ACL,
        ("dump_stats that does not hold", "dump_stats 无效"),
        (
            "dump_stats needs dump_data stats and at least one of Max, Min, Avg, Nan, Negative Inf, Positive Inf, L2norm.",
            "dump_stats 需要 dump_data 为 stats，且至少包含 Max、Min、Avg、Nan、Negative Inf、Positive Inf、L2norm 之一。",
        ),
    ),
    _rule(
        "no-effect",
        "warning",
        _BOTH,
        ("setting without effect", "不起作用的设置"),
        (
            "The tool reads this setting only together with another one that is not there.",
            "工具仅在另一项设置存在时才读取该设置。",
        ),
    ),
    _rule(
        "task",
        "error",
        _MSPROBE,
        ("task that msprobe does not have", "msprobe 没有的 task"),
        (
            "26.x takes statistics, tensor, structure, acc_check, diff_check, exception_dump, nan_check; 1.x and 8.x take "
            "overflow_check, free_benchmark, run_ut and grad_probe besides statistics, tensor, structure. A task of another version "
            "is an error where the version is given, else a warning.",
            "26.x 支持 statistics、tensor、structure、acc_check、diff_check、exception_dump、nan_check；1.x 与 8.x 另有 overflow_check、"
            "free_benchmark、run_ut、grad_probe。给出版本时为错误，否则为警告。",
        ),
        silence=("--msprobe-version VERSION", "--msprobe-version VERSION"),
    ),
    _rule(
        "section",
        "warning",
        _MSPROBE,
        ("the task's section is not there", "缺少与 task 同名的段"),
        (
            "Options stand in an object named like the task. Without it all of them have their defaults; options of "
            "another section are not read.",
            "选项位于与 task 同名的对象中。缺少时全部取默认值；其他段的选项不会被读取。",
        ),
    ),
    _rule(
        "level",
        "error",
        _MSPROBE,
        ("level that does not go with the task", "level 与 task 不匹配"),
        (
            "L2 needs task tensor and exactly one name in list; nan_check needs L1; structure is made mix unless it is L0 or "
            "mix (warning).",
            "L2 需要 task 为 tensor 且 list 恰好一个名称；nan_check 需要 L1；structure 的 level 若非 L0 或 mix 会被改为 mix（警告）。",
        ),
    ),
    _rule(
        "scope",
        "error",
        _MSPROBE,
        ("scope that is no range of two names", "scope 不是由两个名称组成的区间"),
        (
            "scope is empty or holds exactly two full entry names: modules at L0, APIs at L1, either at mix.",
            "scope 为空，或恰好两个完整的条目名称：L0 为模块，L1 为 API，mix 均可。",
        ),
    ),
    _rule(
        "list",
        "error",
        _MSPROBE,
        ("list that the task needs or refuses", "list 与 task 不符"),
        (
            "async_dump with task tensor needs a list. list and scope together select what both select.",
            "async_dump 与 task tensor 同用时需要 list。list 与 scope 同时配置时取交集。",
        ),
    ),
    _rule(
        "summary-mode",
        "error",
        _MSPROBE,
        ("summary_mode that msprobe does not have", "msprobe 没有的 summary_mode"),
        (
            "statistics and md5, from 26.x on xor; with MindSpore also a list of statistics.",
            "statistics、md5，26.x 起支持 xor；MindSpore 还可为统计量列表。",
        ),
    ),
    _rule(
        "data-mode",
        "error",
        _MSPROBE,
        ("data_mode that msprobe does not take", "msprobe 不接受的 data_mode"),
        (
            "A list out of all, forward, backward, input, output, at most four, 'all' only alone. nan_check needs the outputs.",
            "取自 all、forward、backward、input、output 的列表，最多四项，all 只能单独出现。nan_check 需要输出。",
        ),
    ),
    _rule(
        "precision",
        "warning",
        _MSPROBE,
        ("precision high leaves Mean and Norm empty", "precision high 使 Mean 与 Norm 为空"),
        (
            "msprobe 26.2.0 writes null for Mean and Norm of every tensor with it: comparisons by statistics lose two of their "
            "four figures.",
            "msprobe 26.2.0 在此设置下所有张量的 Mean 与 Norm 均为 null：按统计量比较会少两项指标。",
        ),
    ),
    _rule(
        "size",
        "warning",
        _OWN,
        ("may fill the disk", "可能写满磁盘"),
        (
            "All tensors of all operators of every step and rank are written: tens to thousands of gigabytes for a real model.",
            "会写出每步、每个 rank 的全部算子的全部张量：真实模型可达数十到数千 GB。",
        ),
        silence=("a list, a scope, steps or ranks", "配置 list、scope、step 或 rank"),
    ),
    _rule(
        "version",
        "warning",
        _MSPROBE,
        ("key of another version", "其他版本的键"),
        (
            "Only another family of msprobe (1.x to 8.x, 26.x) reads this key; this one ignores it.",
            "只有另一系列的 msprobe（1.x 至 8.x、26.x）读取该键；当前版本忽略。",
        ),
        silence=("--msprobe-version VERSION", "--msprobe-version VERSION"),
    ),
    _rule(
        "load",
        "error",
        _MSPROBE,
        ("load that msprobe refuses", "msprobe 拒绝的 load"),
        (
            "load needs path (an existing folder) and modules, full names of module forwards, none twice.",
            "load 需要 path（已存在的目录）与 modules（模块前向的完整名称，不重复）。",
        ),
    ),
    _rule(
        "documents-form",
        "warning",
        _OWN,
        ("a form that no tool reads", "没有工具直接读取的写法"),
        (
            "dump_list with layer_name globs and a dump_mode or dump_step in each item is described in documents, but neither CANN nor "
            "msprobe reads it: it is translated.",
            "文档中的写法（dump_list 含 layer_name 通配符及各项的 dump_mode、dump_step），CANN 与 msprobe 都不读取：此处给出翻译。",
        ),
    ),
)

SEVERITY: dict[str, Severity] = {rule.id: rule.severity for rule in RULES}
