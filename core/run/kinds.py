"""Every kind of artifact that can lie in a run folder: one declared table.

`captured_by` is the command (or the call in the user's script) that produces the artifact; a pane that has
nothing to show prints it. A folder kind is one artifact per folder: its files are counted, not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from npulse.core.dataclass import dataclass

from ..plugins.loaded import recogniser

Area = Literal["precision", "overflow", "memory", "performance", "device", "rounds"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One on-disk format.

    area: the one that it is captured for; also: others that read it too. is_read: a reader exists; else the
    artifact is recognised, but not yet read. plugin: the one that reads it, "" for ours.
    """

    id: str
    area: Area
    title: str
    title_zh: str
    captured_by: str
    is_read: bool = False
    is_folder: bool = False
    also: tuple[Area, ...] = ()
    plugin: str = ""

    @property
    def areas(self) -> tuple[Area, ...]:
        """Every area that looks at it."""
        return (self.area, *self.also)


_ALSO: Mapping[str, tuple[Area, ...]] = {
    "msprobe.dump": ("overflow",),
    "msprobe.monitor_v1": ("overflow",),
    "msprobe.monitor_v2": ("overflow",),
    "msprobe.monitor_anomaly": ("overflow",),
    "cann.acl_config": ("overflow",),
    "cann.dump": ("overflow",),
    "cann.stats": ("overflow",),
    "device.environment": ("overflow", "memory"),
    "device.script": ("overflow", "memory"),
    "npulse.round": ("overflow", "memory"),
    "prof.op_summary": ("memory",),
    "prof.task_time": ("memory",),
    "prof.kernel_details": ("memory",),
    "prof.l2_cache": ("memory",),
    "prof.aicpu": ("memory",),
}

_READ = frozenset(
    {"msprobe.dump", "msprobe.monitor_v1", "msprobe.monitor_v2", "msprobe.monitor_anomaly"}
    | {"cann.acl_config", "device.environment", "device.script", "device.npu_smi", "npulse.round"}
    | {"cann.dump", "cann.opdebug", "cann.stats", "cann.exception"}
    | {"sanitizer.mssanitizer", "sanitizer.host", "runtime.plog", "runtime.console", "compiler.log"}
    | {"memscope.dump", "memscope.leaks", "msdebug.transcript"}
    | {"sanitizer.mssanitizer_debug", "cann.kernel_object"}
    | {"prof.session", "prof.session_info", "prof.framework", "prof.profiler_info", "prof.op_summary"}
    | {"prof.kernel_details", "prof.op_statistic", "prof.task_time", "prof.step_trace"}
    | {"prof.step_trace_time", "prof.api_statistic", "prof.operator_details", "prof.communication"}
    | {"prof.communication_matrix", "prof.communication_statistic", "prof.memory", "prof.l2_cache"}
    | {"prof.fusion_op", "prof.aicpu", "prof.counters", "prof.user_marks", "prof.minddata"}
    | {"prof.trace_view", "prof.msprof_trace", "prof.msprof_db", "prof.torch_db", "prof.mindspore_db"}
    | {"prof.analysis_db", "prof.cluster", "prof.cluster_db", "opprof.result", "msmonitor.jsonl"}
    | {"msprobe.compare_result", "msprobe.acc_check", "msprobe.api_precision_compare"}
    | {"cann.compare_result", "msit.compare_result", "atb.compare_result"}
    | {"msmonitor.db", "msprobe.aclgraph", "cann.golden", "cann.fusion_rule", "mindspore.statistic"}
    | {"atb.dump", "msit.dump", "torchair.dump", "tensor.checkpoint", "tensor.files"}
    | {"msprobe.compare_advisor", "cann.compare_advisor", "msprobe.merge_result", "msprobe.free_benchmark"}
    | {"msprobe.diff_analyze", "msprobe.ckpt_compare", "cann.file_compare", "cann.compare_single"}
    | {"cann.compare_mapping", "polygraphy.results"}
)
_FOLDERS = frozenset(
    {
        "msprobe.dump",
        "msprobe.aclgraph",
        "cann.dump",
        "cann.golden",
        "cann.stats",
        "cann.opdebug",
        "cann.exception",
        "cann.ge_graph",
        "atb.dump",
        "atb.topology",
        "msit.dump",
        "torchair.dump",
        "tensor.checkpoint",
        "prof.framework",
        "prof.session",
        "opprof.result",
    }
)

_DEBUGGER = 'PrecisionDebugger(config_path="config.json") in the script: start(), stop(), step()'
_COMPARE = "msprobe compare -tp TARGET -gp GOLDEN -o DIR"
_SET_DUMP = 'torch_npu.npu.init_dump(); torch_npu.npu.set_dump("acl.json")'
_MSACCUCMP = "msaccucmp.py compare -m DUMP_DIR -g GOLDEN_DIR -f FUSION_RULE.json -out DIR"
_MSIT_COMPARE = "msit llm compare -gp GOLDEN -mp TARGET -o DIR"
_ATB = "source load_atb_probe.sh --output=DIR --config=FILE, then start the program"
_MSPROF = "msprof --output=DIR APP"
_EXPORT = "msprof --export=on --output=DIR/PROF_..."
_TORCH = "torch_npu.profiler.profile(on_trace_ready=tensorboard_trace_handler(DIR))"
_TORCH_L1 = "torch_npu.profiler.profile(experimental_config: profiler_level=Level1)"
_TORCH_MEMORY = "torch_npu.profiler.profile(profile_memory=True)"
_CLUSTER = "msprof-analyze cluster -d DIR -m all"
_MONITOR = "msprobe.pytorch.TrainerMon in the training script (MONITOR_OUTPUT_DIR=DIR)"
_MEMSCOPE = "msmemscope APP"

_ROWS: Mapping[Area, tuple[tuple[str, str, str, str], ...]] = {
    "precision": (
        ("msprobe.dump", "msprobe dump of one rank and step", "msprobe 单卡单步 dump", _DEBUGGER),
        ("msprobe.aclgraph", "msprobe aclgraph tensors", "msprobe aclgraph 张量", _DEBUGGER),
        ("msprobe.config", "msprobe dump configuration", "msprobe dump 配置", "npulse config new"),
        ("msprobe.compare_result", "msprobe compare result", "msprobe 比对结果", _COMPARE),
        ("msprobe.compare_advisor", "msprobe compare advice", "msprobe 比对专家建议", _COMPARE),
        (
            "msprobe.merge_result",
            "msprobe compare results of several ranks, merged",
            "msprobe 多卡比对汇总",
            "msprobe merge_result -i DIR -o DIR -config FILE.yaml",
        ),
        ("msprobe.diff_analyze", "msprobe first difference", "msprobe 首差异分析", _COMPARE + " -da"),
        (
            "msprobe.acc_check",
            "msprobe accuracy check of single APIs",
            "msprobe 单 API 精度预检",
            "msprobe acc_check -api_info dump.json",
        ),
        (
            "msprobe.api_precision_compare",
            "msprobe accuracy checks of NPU and GPU compared",
            "msprobe NPU 与 GPU 预检结果比对",
            "msprobe api_precision_compare -npu NPU.csv -gpu GPU.csv -o DIR",
        ),
        (
            "msprobe.graph",
            "msprobe graph for visual comparison",
            "msprobe 分级可视化图",
            "msprobe graph_visualize -tp DIR -gp DIR -o DIR",
        ),
        (
            "msprobe.trend",
            "msprobe trend database",
            "msprobe 趋势数据库",
            "msprobe data2db --db DIR --data DIR",
        ),
        ("msprobe.monitor_v1", "msprobe training monitor", "msprobe 训练状态监测", _MONITOR),
        ("msprobe.monitor_v2", "msprobe training monitor (v2)", "msprobe 训练状态监测 v2", _MONITOR),
        ("msprobe.monitor_anomaly", "msprobe monitor anomalies", "msprobe 监测异常", _MONITOR),
        (
            "msprobe.free_benchmark",
            "msprobe check without benchmark",
            "msprobe 无标杆检测",
            'config.json: "task": "free_benchmark"',
        ),
        (
            "msprobe.grad_probe",
            "msprobe gradient statistics",
            "msprobe 梯度状态监测",
            'config.json: "task": "grad_probe"',
        ),
        (
            "msprobe.config_check",
            "msprobe configuration check",
            "msprobe 训练前配置检查",
            "msprobe config_check -c A.zip B.zip -o DIR",
        ),
        (
            "msprobe.ckpt_compare",
            "msprobe checkpoint similarity",
            "msprobe checkpoint 比对",
            "msprobe config_check -c CKPT_A CKPT_B -o DIR",
        ),
        ("msprobe.random", "msprobe record of random calls", "msprobe 随机 API 记录", _DEBUGGER),
        ("cann.acl_config", "CANN dump configuration (acl.json)", "CANN dump 配置 acl.json", _SET_DUMP),
        ("cann.dump", "CANN operator dump", "CANN 算子 dump", _SET_DUMP),
        (
            "cann.stats",
            "CANN operator statistics",
            "CANN 算子统计量",
            'acl.json: "dump_data": "stats"; ' + _SET_DUMP,
        ),
        ("cann.golden", "golden tensors for msaccucmp", "msaccucmp 标杆张量", _MSACCUCMP),
        ("cann.compare_result", "msaccucmp compare result", "msaccucmp 整网比对结果", _MSACCUCMP),
        ("cann.compare_mapping", "msaccucmp operator mapping", "msaccucmp 算子映射", _MSACCUCMP + " -map"),
        ("cann.compare_advisor", "msaccucmp advice", "msaccucmp 专家建议", _MSACCUCMP + " -advisor"),
        ("cann.compare_single", "msaccucmp single operator", "msaccucmp 单算子比对", _MSACCUCMP + " -op OP"),
        (
            "cann.file_compare",
            "msaccucmp compare of two files",
            "msaccucmp 文件比对",
            "msaccucmp.py file_compare -m A.npy -g B.npy -out DIR",
        ),
        (
            "cann.fusion_rule",
            "fusion rules of a model",
            "模型融合规则",
            "atc --mode=1 --om=MODEL.om --json=RULE.json",
        ),
        ("cann.ge_graph", "GE graph dump", "GE 图 dump", "DUMP_GE_GRAPH=2 in the environment"),
        (
            "mindspore.statistic",
            "MindSpore dump statistics",
            "MindSpore dump 统计量",
            "MINDSPORE_DUMP_CONFIG=FILE in the environment",
        ),
        ("atb.dump", "ATB dump of one execution", "ATB 单次执行 dump", _ATB),
        ("atb.topology", "ATB topology", "ATB 拓扑", _ATB),
        (
            "atb.compare_result",
            "ATB compare result",
            "ATB 比对结果",
            "msprobe compare -m atb -gp EXEC_DIR -tp EXEC_DIR -o DIR",
        ),
        ("msit.dump", "msit dump of torch tensors", "msit torch 张量 dump", "msit llm dump --exec CMD"),
        ("msit.statistic", "msit statistics", "msit 统计信息", "msit llm dump --exec CMD --type stats"),
        ("msit.compare_result", "msit compare report", "msit 比对报告", _MSIT_COMPARE),
        (
            "polygraphy.results",
            "polygraphy outputs of runners",
            "polygraphy 各 runner 的输出",
            "polygraphy run MODEL --onnxrt --save-outputs FILE.json",
        ),
        (
            "torchair.graph",
            "torchair graph text",
            "torchair 图文本",
            "msprobe set_ge_dump_config(dump_path=DIR)",
        ),
        (
            "torchair.dump",
            "torchair FX dump",
            "torchair FX dump",
            "msprobe set_fx_dump_config(dump_path=DIR)",
        ),
        (
            "tensor.checkpoint",
            "checkpoint (safetensors, torch.save)",
            "检查点（safetensors、torch.save）",
            "torch.save(model.state_dict(), FILE)",
        ),
        (
            "tensor.files",
            "tensor files, where they are named",
            "指定的张量文件",
            "numpy.save(FILE, tensor.cpu().numpy())",
        ),
    ),
    "overflow": (
        (
            "msprobe.overflow_check",
            "msprobe first NaN or Inf",
            "msprobe 首个溢出节点分析",
            "msprobe overflow_check -i STEP_DIR -o DIR",
        ),
        (
            "cann.opdebug",
            "CANN overflow records",
            "CANN 溢出记录",
            'acl.json: "dump_debug": "on"; ' + _SET_DUMP,
        ),
        (
            "cann.overflow_summary",
            "msaccucmp overflow summary",
            "msaccucmp 溢出汇总",
            "msaccucmp.py overflow -d DIR -out DIR",
        ),
        (
            "msit.overflow",
            "msit overflow check",
            "msit 溢出检测",
            "msit llm errcheck --type overflow --exec CMD",
        ),
    ),
    "memory": (
        (
            "sanitizer.mssanitizer",
            "msSanitizer report",
            "msSanitizer 检测报告",
            "mssanitizer -t memcheck --log-file=FILE -- APP",
        ),
        (
            "sanitizer.mssanitizer_debug",
            "msSanitizer debug log",
            "msSanitizer 调试日志",
            "MSSANITIZER_ENABLE_DEBUG_LOG=1 mssanitizer -t memcheck -- APP",
        ),
        (
            "sanitizer.host",
            "host sanitizer log (ASan, LSan, UBSan, MSan, TSan, HWASan)",
            "主机侧 sanitizer 日志 (ASan, LSan, UBSan, MSan, TSan, HWASan)",
            "compile with -fsanitize=address, then ASAN_OPTIONS=log_path=FILE APP",
        ),
        (
            "cann.kernel_object",
            "kernel object (for lines of program counters)",
            "kernel 目标文件（用于 PC 对应代码行）",
            "keep the operator's .o of the build, or mindstudio_sanitizer_log/kernel.o.*",
        ),
        ("runtime.plog", "runtime log (plog)", "运行时日志 plog", "ASCEND_PROCESS_LOG_PATH=DIR APP"),
        ("runtime.console", "program output with a device error", "含设备错误的程序输出", "APP > FILE 2>&1"),
        ("compiler.log", "compiler log with a buffer overflow", "含缓冲区超限的编译日志", "APP > FILE 2>&1"),
        (
            "cann.exception",
            "CANN exception dump",
            "CANN 异常 dump",
            'acl.json: "dump_scene": "lite_exception"',
        ),
        ("memscope.dump", "msMemScope memory events", "msMemScope 内存事件", _MEMSCOPE),
        ("memscope.compare", "msMemScope step comparison", "msMemScope 内存对比", _MEMSCOPE + " --compare"),
        ("memscope.trace", "msMemScope Python trace", "msMemScope Python 轨迹", _MEMSCOPE),
        ("memscope.watch", "msMemScope watched tensors", "msMemScope 内存块监测", _MEMSCOPE + " --watch"),
        ("memscope.leaks", "msMemScope leak report", "msMemScope 泄漏报告", _MEMSCOPE + " --analysis=leaks"),
        ("msdebug.transcript", "msDebug transcript", "msDebug 会话记录", "msdebug APP"),
    ),
    "performance": (
        ("prof.session", "raw msprof session", "msprof 原始会话", _MSPROF),
        ("prof.session_info", "msprof session facts", "msprof 会话信息", _MSPROF),
        ("prof.framework", "framework profiler folder", "框架 profiler 目录", _TORCH),
        ("prof.profiler_info", "framework profiler settings", "框架 profiler 配置", _TORCH),
        ("prof.op_summary", "operator summary", "算子明细 op_summary", _EXPORT),
        ("prof.kernel_details", "kernel details", "kernel 明细", _TORCH),
        ("prof.op_statistic", "operator statistics by type", "算子类型统计", _TORCH_L1),
        ("prof.task_time", "task times", "任务耗时", _EXPORT),
        ("prof.step_trace", "step trace", "迭代轨迹", _EXPORT),
        ("prof.step_trace_time", "time of steps by part", "单步耗时拆解", _TORCH),
        ("prof.api_statistic", "API statistics", "API 耗时统计", _TORCH_L1),
        ("prof.operator_details", "framework operator details", "框架算子明细", _TORCH),
        ("prof.communication", "communication times", "通信耗时", _TORCH_L1),
        ("prof.communication_matrix", "communication matrix", "通信矩阵", _TORCH_L1),
        ("prof.communication_statistic", "communication statistics", "通信算子统计", _EXPORT),
        ("prof.memory", "profiler memory table", "profiler 内存表", _TORCH_MEMORY),
        ("prof.l2_cache", "L2 cache hit rates", "L2 缓存命中率", _MSPROF + " --l2=on"),
        ("prof.fusion_op", "fused operators", "融合算子", _EXPORT),
        ("prof.aicpu", "AI CPU operators", "AI CPU 算子", _EXPORT),
        ("prof.counters", "sampled counters", "采样计数器", _MSPROF + " --sys-hardware-mem=on"),
        ("prof.user_marks", "user marks (mstx)", "用户打点 mstx", _MSPROF + " --msproftx=on"),
        ("prof.minddata", "MindData pipeline", "MindData 数据流水", "mindspore.Profiler(data_process=True)"),
        ("prof.trace_view", "timeline (trace_view)", "时间线 trace_view", _TORCH),
        ("prof.msprof_trace", "msprof timeline", "msprof 时间线", _EXPORT),
        ("prof.msprof_db", "msprof database", "msprof 数据库", _EXPORT + " --type=db"),
        ("prof.torch_db", "PyTorch profiler database", "PyTorch profiler 数据库", _TORCH),
        (
            "prof.mindspore_db",
            "MindSpore profiler database",
            "MindSpore profiler 数据库",
            "mindspore.Profiler(export_type=Db)",
        ),
        ("prof.analysis_db", "communication analysis database", "通信分析数据库", _TORCH_L1),
        ("prof.cluster", "cluster analysis", "集群分析", _CLUSTER),
        ("prof.cluster_db", "cluster analysis database", "集群分析数据库", _CLUSTER),
        (
            "prof.advisor",
            "msprof-analyze advice",
            "msprof-analyze 专家建议",
            "msprof-analyze advisor all -d DIR",
        ),
        (
            "prof.compare",
            "msprof-analyze comparison",
            "msprof-analyze 性能比对",
            "msprof-analyze compare -d NEW -bp BASE -o DIR",
        ),
        (
            "opprof.result",
            "msOpProf result of one kernel",
            "msOpProf 单算子结果",
            "msopprof --output=DIR APP",
        ),
        (
            "msmonitor.jsonl",
            "msMonitor live records",
            "msMonitor 在线数据",
            "dyno npu-monitor --npu-monitor-start --log-file DIR --export-type Jsonl",
        ),
        (
            "msmonitor.db",
            "msMonitor database",
            "msMonitor 数据库",
            "dyno npu-monitor --npu-monitor-start --log-file DIR --export-type DB",
        ),
    ),
    "device": (
        ("device.npu_smi", "npu-smi output", "npu-smi 输出", "npu-smi info"),
        (
            "device.version",
            "version file of driver, firmware or toolkit",
            "驱动、固件或工具包版本文件",
            "cat /usr/local/Ascend/driver/version.info",
        ),
        ("device.environment", "environment variables", "环境变量", "env > FILE"),
        ("device.script", "script with Ascend settings", "含昇腾设置的脚本", "cp TRAIN.sh DIR"),
    ),
    "rounds": (("npulse.round", "round manifest", "轮次清单", "npulse capture KIND -- COMMAND"),),
}


class _Kinds(dict[str, Kind]):
    """Our own kinds; those of reader plug-ins are found when they are asked for by name."""

    def __missing__(self, name: str) -> Kind:
        found = recogniser().reader(name)
        if found is None:
            raise KeyError(name)
        plugin, item = found
        area = cast(Area, item.area)
        return Kind(name, area, *item.title, f"(plug-in {plugin.name})", is_read=False, plugin=plugin.name)


KINDS: Mapping[str, Kind] = _Kinds(
    {
        name: Kind(name, area, title, title_zh, command, name in _READ, name in _FOLDERS, _ALSO.get(name, ()))
        for area, rows in _ROWS.items()
        for name, title, title_zh, command in rows
    }
)


def kinds_of(area: Area) -> tuple[Kind, ...]:
    """The kinds of one area, in the order of the table: what a pane looks for."""
    return tuple(kind for kind in KINDS.values() if area in kind.areas)
