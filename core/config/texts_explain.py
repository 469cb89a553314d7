"""Texts of `npulse config explain`: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # ---- labels ----
    "label-form": ("file", "文件"),
    "label-what": ("recorded", "记录"),
    "label-not": ("not recorded", "不记录"),
    "label-steps": ("steps", "step"),
    "label-ranks": ("ranks", "rank"),
    "label-sides": ("sides", "方向"),
    "label-where": ("written to", "写入"),
    "label-overflow": ("overflow", "溢出"),
    "label-cost": ("cost", "开销"),
    "label-load": ("loaded by", "加载方式"),
    "label-disk": ("on disk", "磁盘内容"),
    "label-open": ("to open", "打开方式"),
    "label-faults": ("faults", "错误"),
    # ---- shared ----
    "steps-all": ("every step", "所有 step"),
    "steps-some": ("{steps}; no other step (0 is the first)", "{steps}；不含其他 step（0 为第一步）"),
    "steps-bad": (
        "'{part}' cannot be read: the tool refuses the file",
        "'{part}' 无法解析：工具会拒绝该文件",
    ),
    "ranks-all": ("every rank", "所有 rank"),
    "ranks-some": ("{ranks}; no other rank", "{ranks}；不含其他 rank"),
    "sides-input": ("inputs only, no outputs", "仅输入，不含输出"),
    "sides-output": ("outputs only, no inputs", "仅输出，不含输入"),
    "sides-all": ("inputs and outputs", "输入与输出"),
    "where": ("{path}", "{path}"),
    "where-relative": ("{path}, in the working directory of the program", "{path}，相对于程序的工作目录"),
    "where-none": ("nowhere: dump_path is missing", "无：缺少 dump_path"),
    "where-scene": (
        "NPU_COLLECT_PATH, else ASCEND_WORK_PATH, else dump_path{path}, else the working directory (newer releases: "
        "ASCEND_DUMP_PATH, ASCEND_WORK_PATH, ./)",
        "依次为 NPU_COLLECT_PATH、ASCEND_WORK_PATH、dump_path{path}、工作目录（新版本：ASCEND_DUMP_PATH、ASCEND_WORK_PATH、./）",
    ),
    "faults": (
        "{n} errors: the tool will refuse the file or do something else; npulse config check FILE",
        "{n} 个错误：工具会拒绝该文件或行为不符；npulse config check FILE",
    ),
    # ---- acl ----
    "acl-form": ("acl.json of CANN", "CANN 的 acl.json"),
    "acl-nothing": (
        "nothing at all: no dump_list, no switch and no scene",
        "什么都不记录：没有 dump_list、开关或场景",
    ),
    "acl-overflow": (
        "operators that overflow, each with a record of what happened; nothing where none does",
        "发生溢出的算子及其溢出记录；没有溢出则无任何输出",
    ),
    "acl-exception": (
        "inputs, outputs and workspace of an operator that fails, when it fails",
        "算子失败时其输入、输出与 workspace",
    ),
    "acl-detail": (
        "the device's core memory when an operator fails (*.core); the process ends afterwards",
        "算子失败时的设备 core 内存（*.core）；之后进程退出",
    ),
    "acl-watcher": (
        "outputs of {watched} as they are after each of {layers} has run: whoever overwrites them is found",
        "在 {layers} 各自执行后 {watched} 的输出：用于找出谁改写了它们",
    ),
    "acl-everything": ("every operator of every model", "所有模型的所有算子"),
    "acl-target": ("model {model}: {layers}", "模型 {model}：{layers}"),
    "acl-any-model": ("any", "任意"),
    "acl-all-layers": ("every operator", "全部算子"),
    "acl-layers": ("{n} operators: {names}", "{n} 个算子：{names}"),
    "acl-range": ("of it only from {first} to {last}", "其中仅从 {first} 到 {last}"),
    "acl-black": ("{name} (blacklist)", "{name}（黑名单）"),
    "acl-ops": (
        "single-operator calls (aclnn, as torch_npu makes them)",
        "单算子调用（aclnn，即 torch_npu 的调用）",
    ),
    "acl-not-ops": (
        "single-operator calls (aclnn): dump_op_switch is off, so a PyTorch program in eager mode leaves nothing",
        "单算子调用（aclnn）：dump_op_switch 为 off，eager 模式的 PyTorch 程序不会产生任何 dump",
    ),
    "acl-not-models": (
        "operators of loaded models: dump_list is empty",
        "已加载模型的算子：dump_list 为空",
    ),
    "acl-names": (
        "names are those of the compiled (fused) graph, compared as a whole",
        "名称取自编译（融合）后的图，按完整名称比较",
    ),
    "acl-not-healthy": ("operators that do not overflow", "未溢出的算子"),
    "acl-not-working": ("operators that do not fail", "未失败的算子"),
    "acl-stats": ("statistics ({names}), no elements", "统计量（{names}），不含元素"),
    "acl-tensor": ("all elements of each tensor", "每个张量的全部元素"),
    "acl-overflow-on": (
        "detection on: with INF_NAN_MODE_ENABLE=1 (default on A2, A3) overflow shows as inf and nan in tensors, else as "
        "values at the limit; 950 writes no records",
        "检测开启：INF_NAN_MODE_ENABLE=1（A2、A3 默认）时溢出表现为 inf 与 nan，否则为量程极限值；950 不写溢出记录",
    ),
    "acl-overflow-off": (
        "detection off; NaN and Inf are found in what is recorded (npulse overflow)",
        "检测关闭；NaN 与 Inf 从记录的数据中查找（npulse overflow）",
    ),
    "acl-load": (
        'aclInit("acl.json") (once a process) or aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump; Python: '
        'torch_npu.npu.init_dump(), set_dump("acl.json"), run, finalize_dump()',
        'aclInit("acl.json")（每进程一次）或 aclmdlInitDump、aclmdlSetDump、aclmdlFinalizeDump；Python：'
        'torch_npu.npu.init_dump()、set_dump("acl.json")、运行、finalize_dump()',
    ),
    "acl-disk-model": (
        "TIME/DEVICE/MODEL/MODEL_ID/INDEX/TYPE.NAME.TASK.STREAM.TIME, one file an operator",
        "TIME/DEVICE/MODEL/MODEL_ID/INDEX/TYPE.NAME.TASK.STREAM.TIME，每个算子一个文件",
    ),
    "acl-disk-ops": (
        "TIME/DEVICE/TYPE.NAME.TASK.STREAM.TIME, one file a call",
        "TIME/DEVICE/TYPE.NAME.TASK.STREAM.TIME，每次调用一个文件",
    ),
    "acl-disk-stats": ("the same names with .csv, one row a tensor", "同名加 .csv，每个张量一行"),
    "acl-disk-overflow": (
        "the operator's dump and Opdebug.Node_OpDebug.* beside it; not even the folder where nothing overflows",
        "算子 dump 及旁边的 Opdebug.Node_OpDebug.*；没有溢出时连目录也不会创建",
    ),
    "acl-disk-exception": (
        "extra-info/data-dump/DEVICE/exception_info.*, beside it the kernel's .o and .json",
        "extra-info/data-dump/DEVICE/exception_info.*，旁边有 kernel 的 .o 与 .json",
    ),
    "acl-open": ("npulse {path} ; npulse overflow {path}", "npulse {path} ；npulse overflow {path}"),
    "acl-open-stats": ("npulse overflow {path} (statistics alone)", "npulse overflow {path}（仅统计量）"),
    # ---- msprobe ----
    "ms-form": ("config.json of msprobe", "msprobe 的 config.json"),
    "ms-statistics": (
        "statistics (Max, Min, Mean, Norm) of every tensor",
        "每个张量的统计量（Max、Min、Mean、Norm）",
    ),
    "ms-md5": (
        "statistics and a checksum (CRC-32) of every tensor",
        "每个张量的统计量与校验值（CRC-32）",
    ),
    "ms-xor": ("a checksum of every tensor, no statistics", "每个张量的校验值，不含统计量"),
    "ms-summary": ("the statistics {summary} of every tensor", "每个张量的统计量 {summary}"),
    "ms-tensor": ("statistics and all elements of every tensor", "每个张量的统计量与全部元素"),
    "ms-structure": ("hierarchy and call stacks only, no figures", "仅层次结构与调用栈，不含数值"),
    "ms-nan_check": (
        "whether each call's result holds a NaN (NPU only)",
        "每次调用的结果是否含 NaN（仅 NPU）",
    ),
    "ms-overflow_check": ("the first calls that overflow (1.x, 8.x)", "最先溢出的调用（1.x、8.x）"),
    "ms-acc_check": ("nothing new: an accuracy check of single APIs", "无新数据：单 API 精度检查"),
    "ms-run_ut": (
        "nothing new: an accuracy check of single APIs (1.x, 8.x)",
        "无新数据：单 API 精度检查（1.x、8.x）",
    ),
    "ms-diff_check": ("tensors that differ from bench_path", "与 bench_path 不同的张量"),
    "ms-exception_dump": (
        "what is at hand when an exception is raised (MindSpore)",
        "抛出异常时的数据（MindSpore）",
    ),
    "ms-free_benchmark": ("how calls react to small changes (1.x, 8.x)", "调用对微小扰动的反应（1.x、8.x）"),
    "ms-grad_probe": ("gradients of parameters (1.x, 8.x)", "参数梯度（1.x、8.x）"),
    "ms-task": ("task {task}", "task {task}"),
    "ms-level-L0": ("modules (nn.Module, Cell)", "模块（nn.Module、Cell）"),
    "ms-level-L1": ("API calls", "API 调用"),
    "ms-level-mix": ("modules and API calls", "模块与 API 调用"),
    "ms-level-L2": ("the kernels of one API call", "一次 API 调用的 kernel"),
    "ms-level-debug": (
        "only variables given to PrecisionDebugger.save(variable, name)",
        "仅 PrecisionDebugger.save(variable, name) 传入的变量",
    ),
    "ms-list": ("only names with {names} in them", "仅名称中含 {names} 的条目"),
    "ms-scope": ("from {first} to {last}", "从 {first} 到 {last}"),
    "ms-all-names": ("all of them", "全部"),
    "ms-tensor-list": ("elements of names with {names} in them", "名称含 {names} 的条目还记录元素"),
    "ms-not-L1": (
        "modules and their hierarchy (level L0 or mix has them)",
        "模块及层次结构（level L0 或 mix 才有）",
    ),
    "ms-not-L0": (
        "API calls outside of modules (level mix has them)",
        "模块之外的 API 调用（level mix 才有）",
    ),
    "ms-not-elements": ("elements of tensors", "张量元素"),
    "ms-not-focus": (
        "with 26.x harmless APIs (view, reshape, to ...), unless risk_level is ALL",
        "26.x 中无风险的 API（view、reshape、to 等），除非 risk_level 为 ALL",
    ),
    "ms-modes": ("{modes}", "{modes}"),
    "ms-overflow": (
        "no detection by msprobe; npulse overflow finds the first NaN or Inf in the records (Max and Min)",
        "msprobe 不检测；npulse overflow 从记录（Max 与 Min）中找到第一个 NaN 或 Inf",
    ),
    "ms-overflow-nan": ("each call is asked for NaN on the device", "在设备上检查每次调用是否有 NaN"),
    "ms-overflow-check": (
        "overflow flags of the device, up to overflow_nums",
        "设备溢出标志，最多 overflow_nums 次",
    ),
    "ms-load": (
        'PrecisionDebugger(config_path="{file}"), then start({model}), stop() and step() in the loop; before the model is made',
        'PrecisionDebugger(config_path="{file}")，循环中 start({model})、stop()、step()；须在创建模型之前',
    ),
    "ms-switched": (
        "dump_enable: recording begins and ends by editing the file while the program runs",
        "dump_enable：程序运行时编辑该文件即可开始或停止记录",
    ),
    "ms-disk": (
        "stepN/rankN (or procPID)/dump.json, stack.json, construct.json",
        "stepN/rankN（或 procPID）/dump.json、stack.json、construct.json",
    ),
    "ms-disk-tensor": (
        "stepN/rankN (or procPID)/dump.json, stack.json, construct.json, dump_tensor_data/*.pt (MindSpore: *.npy)",
        "stepN/rankN（或 procPID）/dump.json、stack.json、construct.json、dump_tensor_data/*.pt（MindSpore：*.npy）",
    ),
    "ms-disk-debug": (
        "stepN/rankN (or procPID)/debug.json, dump_tensor_data/",
        "stepN/rankN（或 procPID）/debug.json、dump_tensor_data/",
    ),
    "ms-disk-l2": (
        "stepN/TIME/DEVICE/TYPE.NAME.TASK.STREAM.TIME, files of CANN",
        "stepN/TIME/DEVICE/TYPE.NAME.TASK.STREAM.TIME，CANN 格式",
    ),
    "ms-disk-csv": (
        "stepN/rankN/free_benchmark.csv or result files of the task",
        "stepN/rankN/free_benchmark.csv 或该 task 的结果文件",
    ),
    "ms-open": (
        "npulse precision {path} GOLDEN ; npulse overflow {path}",
        "npulse precision {path} GOLDEN ；npulse overflow {path}",
    ),
    # ---- others ----
    "mindspore": (
        "MindSpore's own dump JSON: export MINDSPORE_DUMP_CONFIG={file}; npulse {path} opens what it writes",
        "MindSpore 自身的 dump JSON：export MINDSPORE_DUMP_CONFIG={file}；npulse {path} 打开其结果",
    ),
    "documents": (
        "the documents' form, which no tool reads; this is what its translation does:",
        "文档中的写法，没有工具直接读取；以下说明其翻译的作用：",
    ),
    "more": ("{names} and {n} more", "{names} 等，另有 {n} 个"),
}
