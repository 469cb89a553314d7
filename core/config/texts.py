"""Texts of `npulse config check`: (en, zh). TEXTS says what is wrong, NEXT what to write instead."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # ---- types, values, keys ----
    "type-object": ("{key} is {value}, not an object {{...}}.", "{key} 的值为 {value}，不是对象 {{...}}。"),
    "type-text": ("{key} is {value}, not a text.", "{key} 的值为 {value}，不是字符串。"),
    "type-flag": ("{key} is {value}, not true or false.", "{key} 的值为 {value}，不是 true 或 false。"),
    "type-list": ("{key} is {value}, not a list.", "{key} 的值为 {value}，不是列表。"),
    "type-texts": ("{key} is {value}, not a list of texts.", "{key} 的值为 {value}，不是字符串列表。"),
    "type-number": ("{key} is {value}, not a whole number.", "{key} 的值为 {value}，不是整数。"),
    "type-text-for-list": (
        "{key} is the text '{value}', but the tool takes a list.",
        "{key} 是字符串 '{value}'，但工具需要列表。",
    ),
    "type-texts-item": ("{value} stands in a list of texts.", "字符串列表中出现 {value}。"),
    "value": ("'{value}' is no value of this key.", "'{value}' 不是该键的有效取值。"),
    "value-near": ("'{value}' is no value of this key.", "'{value}' 不是该键的有效取值。"),
    "value-count": ("{value} is neither -1 (no limit) nor above 0.", "{value} 既不是 -1（不限）也不大于 0。"),
    "value-negative": ("{value} is below 0.", "{value} 小于 0。"),
    "unknown-key": (
        "the tool has no key '{key}' here and ignores it.",
        "工具在此处没有键 '{key}'，会忽略它。",
    ),
    "unknown-key-near": (
        "the tool has no key '{key}' here and ignores it.",
        "工具在此处没有键 '{key}'，会忽略它。",
    ),
    "misplaced-inner": (
        "'{key}' stands inside of an item of dump_list, where CANN ignores it.",
        "'{key}' 位于 dump_list 的列表项内，CANN 会忽略它。",
    ),
    "misplaced-outer": (
        "'{key}' stands beside dump_list, where CANN ignores it.",
        "'{key}' 与 dump_list 并列，CANN 会忽略它。",
    ),
    "misplaced-option": (
        "'{key}' is an option of a task and stands at the top, where msprobe ignores it.",
        "'{key}' 是 task 的选项，却位于顶层，msprobe 会忽略它。",
    ),
    "misplaced-top": (
        "'{key}' belongs to the top level; in a task's section msprobe ignores it.",
        "'{key}' 属于顶层；位于 task 段中时 msprobe 会忽略它。",
    ),
    "option-of-other": (
        "'{key}' is an option of {owners}; task {task} does not read it.",
        "'{key}' 是 {owners} 的选项；task {task} 不读取它。",
    ),
    "repeated": ("'{key}' stands more than once; the last one counts.", "'{key}' 重复出现；以最后一个为准。"),
    "nesting": (
        "{n} objects or lists stand inside of each other; acl refuses more than {most}.",
        "对象或列表嵌套 {n} 层；acl 拒绝超过 {most} 层。",
    ),
    # ---- steps ----
    "step-part": (
        "'{part}' (column {at} of the text) is neither a number nor a range START-END.",
        "'{part}'（文本第 {at} 列）既不是数字也不是区间 START-END。",
    ),
    "step-empty": ("an empty part (column {at} of the text).", "存在空段（文本第 {at} 列）。"),
    "step-reversed": (
        "the range '{part}' (column {at} of the text) ends before it begins.",
        "区间 '{part}'（文本第 {at} 列）的终点小于起点。",
    ),
    "step-large": (
        "'{part}' (column {at} of the text) does not fit into 32 bits.",
        "'{part}'（文本第 {at} 列）超出 32 位范围。",
    ),
    "step-parts": ("{part} parts; 100 are taken at most.", "共 {part} 段；最多 100 段。"),
    "step-ge": (
        "'{part}' is fine in acl.json, but the option ge.exec.dumpStep refuses a range of one step.",
        "'{part}' 在 acl.json 中有效，但 ge.exec.dumpStep 不接受只有一步的区间。",
    ),
    "step-part-msprobe": (
        "'{part}' in {key} is neither a number nor a range like \"3-5\".",
        "{key} 中的 '{part}' 既不是数字，也不是 \"3-5\" 这样的区间。",
    ),
    "step-text": (
        'the text "{part}" in {key}: msprobe 1.x and 8.x take ranges as text, single numbers only as numbers.',
        '{key} 中的字符串 "{part}"：msprobe 1.x 与 8.x 只接受区间字符串，单个数字须写成数字。',
    ),
    "step-item-msprobe": (
        "{part} in {key} is neither a number nor a text.",
        "{key} 中的 {part} 既不是数字也不是字符串。",
    ),
    "step-reversed-msprobe": (
        "the range '{part}' in {key} ends before it begins.",
        "{key} 中的区间 '{part}' 终点小于起点。",
    ),
    "step-large-msprobe": (
        "'{part}' in {key} is above 1,000,000.",
        "{key} 中的 '{part}' 超过 1,000,000。",
    ),
    "step-parts-msprobe": ("{key} has {part} entries.", "{key} 有 {part} 项。"),
    # ---- what is dumped, and where ----
    "nothing-selected": (
        "nothing is selected: CANN takes the file and dumps nothing, without a word.",
        "没有选择任何内容：CANN 会接受该文件，但静默地不产生任何 dump。",
    ),
    "no-path-acl": (
        "dump_path is missing; only an exception scene does without it.",
        "缺少 dump_path；仅异常场景可以省略。",
    ),
    "no-path-msprobe": (
        "dump_path is missing: PrecisionDebugger ends with 'The dump_path not found' unless its constructor is given one.",
        "缺少 dump_path：除非在构造函数中传入，否则 PrecisionDebugger 报错 'The dump_path not found'。",
    ),
    "path-empty": ("dump_path is empty.", "dump_path 为空。"),
    "path-long": (
        "the path has {n} characters; at most {most} are taken.",
        "路径有 {n} 个字符；最多 {most} 个。",
    ),
    "path-bad": ("'{path}' is no name that a folder can have.", "'{path}' 不能作为目录名。"),
    "path-characters": (
        "msprobe refuses '{path}': only letters, digits and _ . : / - are taken.",
        "msprobe 拒绝 '{path}'：只允许字母、数字和 _ . : / -。",
    ),
    "path-remote": (
        "{path}: a folder of another machine (ip:path), not looked at.",
        "{path}：位于另一台机器（ip:path），未检查。",
    ),
    "path-missing": (
        "the folder {real} does not exist, and the tool does not make it.",
        "目录 {real} 不存在，工具不会自动创建。",
    ),
    "path-file": ("{real} is no folder.", "{real} 不是目录。"),
    "path-closed": ("the folder {real} is not readable and writable here.", "目录 {real} 在此处不可读写。"),
    "path-missing-relative": (
        "'{path}' counts from where the program is started; from here it is {real}, which does not exist.",
        "'{path}' 相对于程序启动目录；从当前目录看是 {real}，不存在。",
    ),
    "path-file-relative": (
        "'{path}' counts from where the program is started; from here {real} is in the way and no folder.",
        "'{path}' 相对于程序启动目录；从当前目录看，{real} 不是目录。",
    ),
    "path-closed-relative": (
        "'{path}' counts from where the program is started; from here {real} is not readable and writable.",
        "'{path}' 相对于程序启动目录；从当前目录看，{real} 不可读写。",
    ),
    # ---- acl.json ----
    "debug-and-switch": (
        "dump_debug (overflow) and dump_op_switch are both on: aclInit refuses them together.",
        "dump_debug（溢出检测）与 dump_op_switch 同时为 on：aclInit 会拒绝。",
    ),
    "debug-and-scene": (
        "dump_debug is on together with dump_scene {scene}: they exclude each other.",
        "dump_debug 为 on 且配置了 dump_scene {scene}：两者互斥。",
    ),
    "switch-and-scene": (
        "dump_op_switch is on together with dump_scene {scene}: they exclude each other.",
        "dump_op_switch 为 on 且配置了 dump_scene {scene}：两者互斥。",
    ),
    "list-with-debug": (
        "with dump_debug on only operators that overflow are dumped: dump_list is not needed for it.",
        "dump_debug 为 on 时只 dump 溢出的算子：不需要 dump_list。",
    ),
    "watcher-nodes": (
        "scene watcher needs watcher_nodes, not empty, in every item of dump_list.",
        "watcher 场景要求 dump_list 的每一项都有非空的 watcher_nodes。",
    ),
    "watcher-model": (
        "scene watcher takes no model_name.",
        "watcher 场景不允许配置 model_name。",
    ),
    "watcher-mode": (
        "scene watcher takes dump_mode output only.",
        "watcher 场景只允许 dump_mode 为 output。",
    ),
    "watcher-list": ("scene watcher needs a dump_list.", "watcher 场景需要 dump_list。"),
    "watcher-scene": (
        "watcher_nodes is read with dump_scene watcher only.",
        "只有 dump_scene 为 watcher 时才读取 watcher_nodes。",
    ),
    "blacklist-level": ("{key} needs dump_level op.", "{key} 需要 dump_level 为 op。"),
    "blacklist-many": (
        "{key} has {n} entries; at most {most} are taken.",
        "{key} 有 {n} 项；最多 {most} 项。",
    ),
    "blacklist-member": (
        "an entry of {key} has no '{word}', or an empty one.",
        "{key} 的一项缺少 '{word}' 或为空。",
    ),
    "blacklist-pos": ("'{pos}' is no position of a tensor.", "'{pos}' 不是张量位置。"),
    "range-model": (
        "opname_range needs a model_name in the same item.",
        "opname_range 需要同一项中有 model_name。",
    ),
    "empty-target": (
        "{key} is empty; with dump_op_switch off CANN refuses that.",
        "{key} 为空；dump_op_switch 为 off 时 CANN 会拒绝。",
    ),
    "model-name": (
        "model_name is the name of the .om file without folder and suffix.",
        "model_name 应为 .om 文件名，不含目录与后缀。",
    ),
    "glob-acl": (
        "CANN compares whole operator names: '{name}' is taken literally and matches nothing.",
        "CANN 按完整算子名比较：'{name}' 按字面处理，匹配不到任何算子。",
    ),
    "stats-without-data": (
        "dump_stats needs dump_data stats, which is not set.",
        "dump_stats 需要 dump_data 为 stats，而这里没有设置。",
    ),
    "stats-empty": ("dump_stats is empty.", "dump_stats 为空。"),
    "stats-name": ("there is no statistic '{name}'.", "没有名为 '{name}' 的统计量。"),
    "product-stats": (
        "dump_data stats: from A2 on; 910A (and, it seems, 310P) take tensor only.",
        "dump_data stats：从 A2 起支持；910A（以及疑似 310P）只支持 tensor。",
    ),
    "product-detail": (
        "aic_err_detail_dump: A2 and A3 only, driver from 25.0.RC1 on; the process ends afterwards.",
        "aic_err_detail_dump：仅 A2 与 A3，驱动不低于 25.0.RC1；之后进程退出。",
    ),
    # ---- msprobe ----
    "task-missing": (
        "no task is named: documents call statistics the default, but msprobe 26.2.0 and 1.2.2 fail unless the "
        "constructor is given a task.",
        "未配置 task：文档称默认为 statistics，但 msprobe 26.2.0 与 1.2.2 会报错，除非在构造函数中传入 task。",
    ),
    "task-not-in-26": (
        "msprobe 26.x refuses the task {task}, which 1.x and 8.x had.",
        "msprobe 26.x 拒绝 task {task}（1.x 与 8.x 才有）。",
    ),
    "task-not-in-8": (
        "msprobe 1.x and 8.x refuse the task {task}, which came with 26.x.",
        "msprobe 1.x 与 8.x 拒绝 task {task}（26.x 起才有）。",
    ),
    "task-only-in-8": (
        "the task {task} is one of msprobe 1.x and 8.x; 26.x refuses it.",
        "task {task} 属于 msprobe 1.x 与 8.x；26.x 会拒绝。",
    ),
    "task-only-in-26": (
        "the task {task} is one of msprobe 26.x; 1.x and 8.x refuse it.",
        "task {task} 属于 msprobe 26.x；1.x 与 8.x 会拒绝。",
    ),
    "task-mindspore": (
        "{task}: with MindSpore only; msprobe for PyTorch refuses it.",
        "{task}：仅用于 MindSpore；PyTorch 的 msprobe 会拒绝。",
    ),
    "section-other": (
        "the task is {task}, but the options stand in '{other}': they are not read.",
        "task 为 {task}，但选项写在 '{other}' 中：不会被读取。",
    ),
    "section-none": (
        "no object '{task}': all options of the task have their defaults (everything is recorded).",
        "没有 '{task}' 对象：该 task 的选项全部取默认值（记录所有内容）。",
    ),
    "level-l2-task": (
        "level L2 (kernels) needs task tensor, not {task}: msprobe 26.x refuses the rest.",
        "level L2（kernel）需要 task 为 tensor，而不是 {task}：msprobe 26.x 会拒绝。",
    ),
    "level-l2-list": (
        "level L2 needs a list with exactly one API name; it has {n}.",
        "level L2 的 list 须恰好一个 API 名称；现有 {n} 个。",
    ),
    "level-nan-check": (
        "nan_check takes level L1 only, not {level}.",
        "nan_check 只支持 level L1，而不是 {level}。",
    ),
    "level-structure": (
        "structure takes level L0 or mix; msprobe makes mix of {level}.",
        "structure 只支持 level L0 或 mix；msprobe 会把 {level} 改为 mix。",
    ),
    "level-debug": (
        "level debug records only what PrecisionDebugger.save(variable, name) is given.",
        "level debug 只记录 PrecisionDebugger.save(variable, name) 传入的变量。",
    ),
    "model": (
        "level {level}: the script has to give the model, debugger.start(model=model).",
        "level {level}：脚本须传入模型，debugger.start(model=model)。",
    ),
    "glob-msprobe": (
        "msprobe looks for the text inside of names: '{name}' is taken literally and matches nothing.",
        "msprobe 按子串匹配名称：'{name}' 按字面处理，匹配不到任何内容。",
    ),
    "list-empty-text": (
        "an empty text is part of every name: everything is selected.",
        "空字符串是任何名称的子串：会选中全部。",
    ),
    "list-and-scope": (
        "list and scope together: only names of the list inside of the scope are recorded.",
        "同时配置 list 与 scope：只记录 scope 内且匹配 list 的名称。",
    ),
    "list-or-scope": (
        "free_benchmark takes list or scope, not both.",
        "free_benchmark 只能配置 list 或 scope 之一。",
    ),
    "scope-l2": ("level L2 takes no scope.", "level L2 不支持 scope。"),
    "scope-two": ("scope has {n} names; it takes exactly two.", "scope 有 {n} 个名称；须恰好两个。"),
    "scope-module": (
        "'{name}' is no full name of a module, which level {level} needs.",
        "'{name}' 不是模块的完整名称，level {level} 需要模块名。",
    ),
    "scope-api": (
        "'{name}' is no full name of an API call, which level {level} needs.",
        "'{name}' 不是 API 调用的完整名称，level {level} 需要 API 名。",
    ),
    "scope-mixed": (
        "one name is a module, the other is not.",
        "一个名称是模块，另一个不是。",
    ),
    "scope-name": ("'{name}' is no full entry name.", "'{name}' 不是完整的条目名称。"),
    "tensor-list-debug": (
        "with level debug tensor_list is ignored.",
        "level 为 debug 时 tensor_list 不起作用。",
    ),
    "not-enabled": (
        "dump_enable is false: nothing is recorded until the file is edited while the program runs.",
        "dump_enable 为 false：在程序运行中修改该文件之前不会记录任何内容。",
    ),
    "async": (
        "async_dump keeps tensors on the device until the step ends: it may run out of memory, and a killed "
        "program leaves nothing.",
        "async_dump 会把张量留在设备上直到该步结束：可能内存不足；程序被杀则没有任何数据。",
    ),
    "async-md5": ("async_dump excludes summary_mode md5.", "async_dump 与 summary_mode md5 互斥。"),
    "async-list": (
        "async_dump with task tensor needs a list: msprobe refuses an empty one.",
        "async_dump 与 task tensor 同用时需要 list：msprobe 拒绝空列表。",
    ),
    "data-mode": ("'{value}' is no data_mode.", "'{value}' 不是有效的 data_mode。"),
    "data-mode-all": ("'all' stands alone or not at all.", "all 只能单独出现。"),
    "data-mode-many": ("{n} entries; msprobe takes four at most.", "共 {n} 项；msprobe 最多接受四项。"),
    "data-mode-nan-check": (
        "nan_check looks at outputs: 'input' without 'output' is refused.",
        "nan_check 针对输出：只有 input 而没有 output 会被拒绝。",
    ),
    "summary-xor": ("summary_mode xor came with 26.x.", "summary_mode xor 从 26.x 开始支持。"),
    "summary-list": (
        "a list in summary_mode: with MindSpore's static graphs only.",
        "summary_mode 为列表：仅用于 MindSpore 静态图。",
    ),
    "precision-high": (
        "precision high: msprobe 26.2.0 leaves Mean and Norm of every tensor null.",
        "precision high：msprobe 26.2.0 会使所有张量的 Mean 与 Norm 为 null。",
    ),
    "size": (
        "tensors of every operator are written, for every step and rank that is not left out: this fills disks.",
        "会写出每个算子的张量，覆盖所有未排除的 step 与 rank：容易写满磁盘。",
    ),
    "size-narrow": (
        "tensors of every operator are written, for the steps and ranks named.",
        "会写出每个算子的张量（限于指定的 step 与 rank）。",
    ),
    "version-key": ("msprobe reads '{key}' in {families} only.", "只有 msprobe {families} 读取 '{key}'。"),
    "load-path": ("load has no path.", "load 缺少 path。"),
    "load-folder": ("the folder {real} does not exist.", "目录 {real} 不存在。"),
    "load-modules": ("load has no modules.", "load 缺少 modules。"),
    "load-module": (
        "'{name}' is no module forward (Module.PATH.CLASS.forward.N).",
        "'{name}' 不是模块前向名称（Module.PATH.CLASS.forward.N）。",
    ),
    "load-twice": ("'{name}' stands twice.", "'{name}' 重复。"),
    "more": ("{n} more findings are only counted.", "另有 {n} 条仅计数。"),
    # ---- other forms ----
    "no-dump": (
        'the keys of acl.json stand at the top: CANN looks for them in an object "dump" and finds nothing.',
        'acl.json 的键位于顶层：CANN 只在 "dump" 对象中查找，什么也找不到。',
    ),
    "documents-form": (
        "neither CANN nor msprobe reads this form (layer_name, dump_mode and dump_step inside of dump_list): they "
        "would ignore layer_name.",
        "CANN 与 msprobe 都不读取这种写法（dump_list 内的 layer_name、dump_mode、dump_step）：会忽略 layer_name。",
    ),
    "mindspore-form": (
        "a dump configuration of MindSpore itself (MINDSPORE_DUMP_CONFIG): recognised; only its steps and path are checked.",
        "MindSpore 自身的 dump 配置（MINDSPORE_DUMP_CONFIG）：已识别；仅检查其 iteration 与 path。",
    ),
    "mindspore-path": (
        "path is '{path}': MindSpore wants an absolute one.",
        "path 为 '{path}'：MindSpore 要求绝对路径。",
    ),
    "form-acl": (
        "acl.json of CANN, read at aclInit or set_dump",
        "CANN 的 acl.json，由 aclInit 或 set_dump 读取",
    ),
    "form-msprobe": (
        "config.json of msprobe, read by PrecisionDebugger",
        "msprobe 的 config.json，由 PrecisionDebugger 读取",
    ),
    "form-mindspore": ("MindSpore's dump JSON", "MindSpore 的 dump JSON"),
    "form-documents": (
        "dump_list with layer_name, a form of documents: translated to what a tool reads",
        "dump_list 加 layer_name 的文档写法：翻译为工具可读取的配置",
    ),
    "form-unknown": (
        'no form that is known here: acl.json has an object "dump", msprobe\'s config.json a task and a dump_path.',
        '未识别的写法：acl.json 有 "dump" 对象，msprobe 的 config.json 有 task 与 dump_path。',
    ),
}

NEXT: dict[str, tuple[str, str]] = {
    "type-text": ('write a text: "{key}": "..."', '写成字符串："{key}": "..."'),
    "type-flag": ('"{key}": true or "{key}": false', '"{key}": true 或 "{key}": false'),
    "type-list": ('"{key}": [...]', '"{key}": [...]'),
    "type-texts": ('"{key}": ["..."]', '"{key}": ["..."]'),
    "type-text-for-list": ('"{key}": ["{value}"]', '"{key}": ["{value}"]'),
    "value": ("one of: {choices}", "可取：{choices}"),
    "value-near": ("'{near}', or another one of: {choices}", "'{near}'，或其他：{choices}"),
    "value-count": ("-1 or a number above 0", "-1 或大于 0 的数"),
    "unknown-key": ("known here: {known}", "此处可用的键：{known}"),
    "unknown-key-near": ("write '{near}'", "写成 '{near}'"),
    "misplaced-inner": (
        "put it beside dump_list, where it holds for all items",
        "与 dump_list 并列，对所有项生效",
    ),
    "misplaced-outer": ("put it into an item of dump_list", "放入 dump_list 的某一项中"),
    "misplaced-option": ('put it into the object "{place}"', '放入 "{place}" 对象中'),
    "misplaced-top": ("put it at the top level, beside task", "放到顶层，与 task 并列"),
    "option-of-other": ("remove it, or choose the task that reads it", "删除它，或改用读取它的 task"),
    "repeated": ("keep one", "只保留一个"),
    "step-part": ("e.g. 0|5-10|20", "例如 0|5-10|20"),
    "step-empty": (
        'e.g. 0|5-10|20, without empty parts; "" is every step',
        '例如 0|5-10|20，不含空段；"" 表示所有步',
    ),
    "step-reversed": ("write {turned}", "写成 {turned}"),
    "step-large": ("at most 4294967295", "最大 4294967295"),
    "step-parts": ("join neighbouring steps to ranges", "把相邻的步合并为区间"),
    "step-ge": ("write {first} where the same text goes to GE", "若同样用于 GE，写成 {first}"),
    "step-part-msprobe": ('e.g. [0, "5-10", 20]', '例如 [0, "5-10", 20]'),
    "step-text": ("write {part} without quotes", "写成不带引号的 {part}"),
    "step-item-msprobe": ('e.g. [0, "5-10", 20]', '例如 [0, "5-10", 20]'),
    "step-reversed-msprobe": ('write "{turned}"', '写成 "{turned}"'),
    "nothing-selected": (
        'add "dump_list": [{}] (everything), or dump_op_switch, dump_debug or dump_scene',
        '添加 "dump_list": [{}]（全部），或 dump_op_switch、dump_debug、dump_scene',
    ),
    "no-path-acl": ('"dump_path": "/an/existing/folder"', '"dump_path": "/已存在的目录"'),
    "no-path-msprobe": ('"dump_path": "/folder"', '"dump_path": "/目录"'),
    "path-empty": ('"dump_path": "/folder"', '"dump_path": "/目录"'),
    "path-missing": ("mkdir -p {real}", "mkdir -p {real}"),
    "path-file": ("choose another path", "换一个路径"),
    "path-closed": ("choose a folder of your own, or change its rights", "换一个自己的目录，或修改权限"),
    "path-missing-relative": (
        "make it there, or write an absolute path; --cwd DIR checks it for the folder the program starts in",
        "在启动目录下创建，或写绝对路径；--cwd DIR 可按程序启动目录检查",
    ),
    "path-file-relative": (
        "write an absolute path; --cwd DIR checks from there",
        "写绝对路径；--cwd DIR 可按该目录检查",
    ),
    "path-closed-relative": (
        "write an absolute path; --cwd DIR checks from there",
        "写绝对路径；--cwd DIR 可按该目录检查",
    ),
    "debug-and-switch": (
        "one of them off: overflow and dump are two runs",
        "关闭其一：溢出检测与 dump 分两次运行",
    ),
    "debug-and-scene": ("remove one of them: two runs", "删除其一：分两次运行"),
    "switch-and-scene": ("remove one of them: two runs", "删除其一：分两次运行"),
    "watcher-nodes": ('"watcher_nodes": ["NAME"]', '"watcher_nodes": ["NAME"]'),
    "watcher-model": ("remove model_name", "删除 model_name"),
    "watcher-mode": ('"dump_mode": "output"', '"dump_mode": "output"'),
    "watcher-list": (
        '"dump_list": [{"layer": ["A"], "watcher_nodes": ["B"]}]',
        '"dump_list": [{"layer": ["A"], "watcher_nodes": ["B"]}]',
    ),
    "watcher-scene": ('"dump_scene": "watcher"', '"dump_scene": "watcher"'),
    "blacklist-level": ('"dump_level": "op"', '"dump_level": "op"'),
    "blacklist-pos": ("input0, input1, ... output0, ...", "input0、input1……output0……"),
    "range-model": ('"model_name": "NAME"', '"model_name": "NAME"'),
    "empty-target": ("remove it (everything), or name something", "删除它（表示全部），或填写名称"),
    "model-name": ("write {stem}", "写成 {stem}"),
    "glob-acl": (
        "list full names; npulse config new --tool acl --list GLOB --name-list DUMP resolves them from an earlier dump",
        "列出完整名称；npulse config new --tool acl --list GLOB --name-list DUMP 可从以前的 dump 解析",
    ),
    "stats-without-data": (
        'add "dump_data": "stats", or remove dump_stats',
        '添加 "dump_data": "stats"，或删除 dump_stats',
    ),
    "stats-empty": ("one of: {choices}", "可取：{choices}"),
    "stats-name": ("write {near}", "写成 {near}"),
    "task-missing": ('"task": "statistics"', '"task": "statistics"'),
    "task-not-in-26": ("write {instead}", "写成 {instead}"),
    "task-not-in-8": ("write {instead}", "写成 {instead}"),
    "task-only-in-8": ("--msprobe-version says which one is used", "用 --msprobe-version 指定版本"),
    "task-only-in-26": ("--msprobe-version says which one is used", "用 --msprobe-version 指定版本"),
    "section-other": (
        'rename "{other}" to "{task}", or change the task',
        '把 "{other}" 改为 "{task}"，或修改 task',
    ),
    "level-l2-task": ('"task": "tensor"', '"task": "tensor"'),
    "level-l2-list": (
        '"list": ["Functional.linear.0.forward"]: one full name, one step',
        '"list": ["Functional.linear.0.forward"]：一个完整名称，一步',
    ),
    "level-nan-check": ('"level": "L1"', '"level": "L1"'),
    "level-structure": ('"level": "mix"', '"level": "mix"'),
    "glob-msprobe": (
        'write the part that all of them have: conv* is "conv"',
        '写它们共有的部分：conv* 写成 "conv"',
    ),
    "list-empty-text": ("remove it", "删除它"),
    "scope-l2": ("remove scope; choose by list", "删除 scope；用 list 选择"),
    "scope-two": ('the first and the last name: ["A", "B"]', '写首尾两个名称：["A", "B"]'),
    "scope-module": ("e.g. Module.fc1.Linear.forward.0", "例如 Module.fc1.Linear.forward.0"),
    "scope-api": ("e.g. Functional.linear.0.forward", "例如 Functional.linear.0.forward"),
    "scope-name": (
        "e.g. Functional.linear.0.forward or Module.fc1.Linear.forward.0",
        "例如 Functional.linear.0.forward 或 Module.fc1.Linear.forward.0",
    ),
    "async-md5": (
        '"summary_mode": "statistics", or "async_dump": false',
        '"summary_mode": "statistics"，或 "async_dump": false',
    ),
    "async-list": (
        'name what to record in list, or "async_dump": false',
        '在 list 中指定，或 "async_dump": false',
    ),
    "data-mode": ("write {near}", "写成 {near}"),
    "data-mode-all": ('"data_mode": ["all"]', '"data_mode": ["all"]'),
    "data-mode-many": ('"data_mode": ["all"]', '"data_mode": ["all"]'),
    "data-mode-nan-check": ('"data_mode": ["output"]', '"data_mode": ["output"]'),
    "summary-xor": ("write md5", "写成 md5"),
    "precision-high": ('"precision": "low", which is the default', '"precision": "low"（默认值）'),
    "size": (
        "name a list, a scope, steps or ranks; task statistics first finds the place at little cost",
        "用 list、scope、step 或 rank 缩小范围；先用 task statistics 定位，开销小",
    ),
    "version-key": ("remove it", "删除它"),
    "load-path": ('"path": "DUMP_FOLDER"', '"path": "DUMP 目录"'),
    "load-modules": (
        '"modules": ["Module.fc1.Linear.forward.0"]',
        '"modules": ["Module.fc1.Linear.forward.0"]',
    ),
    "load-module": ("e.g. Module.fc1.Linear.forward.0", "例如 Module.fc1.Linear.forward.0"),
    "no-dump": ('{"dump": {...}} around them', '用 {"dump": {...}} 包住'),
    "documents-form": (
        "npulse config new --from {file} -o OUT writes the translation",
        "npulse config new --from {file} -o OUT 写出翻译",
    ),
    "mindspore-path": ("write an absolute path", "写绝对路径"),
}
