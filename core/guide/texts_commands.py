"""Command lines that tools and documents write: what their words mean, and which of ours does the same.

Commands and options are those of msprobe 26.2.0's own help; words that only documents name have no tool behind
them: `real` says what to write instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from .records import Words

MSPROBE = "msprobe"


@dataclass(frozen=True, slots=True)
class KnownOption:
    """names: as the tool takes them. role: what its value is to our commands ("target", "golden", "out", "run"
    ...), "" for nothing. n_values: words behind it; -1: as many as there are. says: what it does."""

    names: tuple[str, ...]
    says: Words
    role: str = ""
    n_values: int = 1


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """tool, name: as one types it; name "" for a tool without commands of its own. real: what to write where
    no tool has it, "" where the tool does. ours: commands of npulse with {role}s; one whose roles are not all
    known is shown with <ROLE> in their place."""

    tool: str
    name: str
    says: Words
    ours: tuple[str, ...]
    options: tuple[KnownOption, ...] = ()
    real: str = ""


def _flag(*names: str, en: str, zh: str, role: str = "") -> KnownOption:
    return KnownOption(names, (en, zh), role, 0)


_OUT = KnownOption(("-o", "--output_path"), ("folder for the results", "结果目录"), "out")
_TARGET = KnownOption(
    ("-tp", "--target_path"), ("the capture to judge (NPU)", "待比对的采集（NPU）"), "target"
)
_GOLDEN = KnownOption(("-gp", "--golden_path"), ("the golden capture", "标杆采集"), "golden")
_FUZZY = _flag(
    "-fm", "--fuzzy_match",
    en="fuzzy names; npulse aligns unlike graphs by itself", zh="模糊匹配名称；npulse 会自行对齐不同的图",
)  # fmt: skip
_LOG = _flag("-tensor_log", "--is_print_compare_log", en="prints a line a tensor", zh="逐张量打印日志")
_LAYERS = KnownOption(("-lm", "--layer_mapping"), ("file that pairs layers", "层映射文件"), "mapping")

COMMANDS: tuple[KnownCommand, ...] = (
    KnownCommand(
        MSPROBE,
        "compare",
        (
            "compares two captures tensor by tensor and writes a table; the origin is not named",
            "逐张量比较两份采集并写出表格；不指出源头",
        ),
        ("npulse precision {target} {golden}", "npulse precision -r {golden} -t {target} -o report.html"),
        (
            _TARGET,
            _GOLDEN,
            _OUT,
            KnownOption(
                ("-m", "--mode"),
                ("auto, offline_data, torchair, offline_model or atb; npulse sees it", "比对模式；npulse 自动识别"),
            ),
            _FUZZY,
            KnownOption(("-cm", "--cell_mapping"), ("file that pairs cells", "cell 映射文件"), "mapping"),
            KnownOption(("-am", "--api_mapping"), ("file that pairs APIs", "API 映射文件"), "mapping"),
            KnownOption(("-dm", "--data_mapping"), ("file that pairs tensors", "张量映射文件"), "mapping"),
            _LAYERS,
            _flag(
                "-da", "--diff_analyze",
                en="first difference over ranks; it can blame the wrong rank, npulse follows collectives",
                zh="跨 rank 的首个差异；可能指错 rank，npulse 会沿集合通信追踪",
            ),
            _LOG,
            KnownOption(("-fr", "--fusion_rule_file"), ("fusion rules of the compiler", "融合规则文件")),
            KnownOption(("-qfr", "--quant_fusion_rule_file"), ("quantisation fusion rules", "量化融合规则文件")),
            KnownOption(("-cfr", "--close_fusion_rule_file"), ("rules that switch fusions off", "关闭融合的规则文件")),
            KnownOption(("-ofs", "--onnx_fusion_switch"), ("fusions of onnxruntime", "onnxruntime 融合开关")),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "config_check",
        (
            "packs the configuration of a training run, or compares two of these packs or checkpoints",
            "打包训练配置，或比较两个配置包/权重",
        ),
        ("npulse doctor", "npulse precision {target} {golden} --inputs", "npulse config check <CONFIG.json>"),
        (
            KnownOption(("-d", "--dump"), ("what to pack", "要打包的文件"), "", -1),
            KnownOption(("-c", "--compare"), ("the two that are compared", "要比较的两份"), "target+golden", 2),
            KnownOption(("-vc", "--verl-compare"), ("parameters in two logs of verl", "两份 verl 日志的参数"), "", 2),
            KnownOption(("-vv", "--verl-verify"), ("parameters in a log of verl", "verl 日志的参数"), "", -1),
            KnownOption(("-sc", "--slime-compare"), ("parameters in two logs of slime", "两份 slime 日志的参数"), "", 2),
            KnownOption(("-o", "--output"), ("the pack", "输出路径"), "out"),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "merge_result",
        ("lays the compare results of several ranks side by side", "合并多个 rank 的比对结果"),
        ("npulse merge {run} -o {out}",),
        (
            KnownOption(("-i", "--input_dir"), ("folder of workbooks, a rank each", "每个 rank 一个 xlsx 的目录"), "run"),
            KnownOption(("-o", "--output_dir"), ("folder for the result", "输出目录"), "out"),
            KnownOption(
                ("-config", "--config-path"),
                ("which APIs and columns: --api and --metric of npulse merge", "API 与列：npulse merge 的 --api、--metric"),
            ),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "overflow_check",
        ("looks for the first NaN or Inf in a step", "查找某步中首个 NaN/Inf"),
        ("npulse overflow {run}",),
        (KnownOption(("-i", "--input_path"), ("the step's folder", "step 目录"), "run"), _OUT),
    ),
    KnownCommand(
        MSPROBE,
        "graph_visualize",
        ("writes a database for a viewer in TensorBoard", "生成 TensorBoard 可视化用的数据库"),
        ("npulse {target}", "npulse precision {target} {golden} --compare-mode layerwise"),
        (
            _TARGET,
            _GOLDEN,
            _OUT,
            _LAYERS,
            _flag("-oc", "--overflow_check", en="marks NaN and Inf in the graph", zh="在图中标出 NaN/Inf"),
            _FUZZY,
            _LOG,
            _flag("-progress_log", "--is_print_progress_log", en="prints progress", zh="打印进度"),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "acc_check",
        ("runs each API of a dump once more on the device and on the CPU", "在设备与 CPU 上重新运行每个 API"),
        ("npulse recheck <OPERATOR> {run}",),
        (
            KnownOption(("-api_info", "--api_info_file"), ("the dump.json", "dump.json"), "run"),
            KnownOption(("-o", "--out_path"), ("folder for the results", "结果目录"), "out"),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "multi_acc_check",
        ("acc_check in several processes", "多进程的 acc_check"),
        ("npulse recheck <OPERATOR> {run}",),
        (KnownOption(("-api_info", "--api_info_file"), ("the dump.json", "dump.json"), "run"),),
    ),
    KnownCommand(
        MSPROBE,
        "api_precision_compare",
        ("compares acc_check results of an NPU and a GPU", "比较 NPU 与 GPU 的 acc_check 结果"),
        ("npulse precision {run}",),
        (
            KnownOption(("-npu", "--npu_csv_path"), ("details of the NPU", "NPU 侧 details"), "run"),
            KnownOption(("-gpu", "--gpu_csv_path"), ("details of the GPU", "GPU 侧 details")),
            KnownOption(("-o", "--out_path"), ("folder for the results", "结果目录"), "out"),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "data2db",
        ("puts dumps or monitor data into a database to see a trend", "将采集或监控数据导入数据库以查看趋势"),
        ("npulse rounds {run}", "npulse overflow {run}"),
        (
            KnownOption(("--db",), ("folder for the database", "数据库目录"), "out"),
            KnownOption(("--data",), ("folder of the data", "数据目录"), "run"),
            KnownOption(("--format",), ("auto, dump or monitor", "数据格式")),
            KnownOption(("--mapping",), ("names by a JSON file", "名称映射文件")),
            KnownOption(("--micro_step",), ("counts micro steps", "按 micro step 计数")),
            KnownOption(("--process_num",), ("processes", "进程数"), "jobs"),
        ),
    ),
    KnownCommand(
        MSPROBE,
        "parse",
        ("turns dumped tensors into .npy or .pt; npulse reads them as they are", "将张量转为 .npy 或 .pt；npulse 可直接读取"),
        ("npulse {run}",),
        (
            KnownOption(("-d", "--dump_path"), ("file or folder", "文件或目录"), "run"),
            KnownOption(("-t", "--type"), ("npy or pt", "npy 或 pt")),
            _OUT,
        ),
    ),
    KnownCommand(
        MSPROBE,
        "offline_dump",
        ("runs an .om or .onnx model once and dumps it", "运行一次 .om/.onnx 模型并采集"),
        ("npulse capture precision --tool acl-dump -- <COMMAND>", "npulse precision {target} {golden}"),
        (
            KnownOption(("--model_path",), ("the model", "模型文件"), "model"),
            KnownOption(("--input_data",), ("its inputs", "输入数据")),
            KnownOption(("-o", "--output_path"), ("folder of the dump", "采集目录"), "target"),
            KnownOption(("--input_shape",), ("shapes of the inputs", "输入形状")),
            KnownOption(("--rank",), ("device number", "设备号")),
            KnownOption(("--dym_shape_range",), ("range of dynamic shapes", "动态形状范围")),
            KnownOption(("--output_size",), ("size of the outputs", "输出大小")),
            KnownOption(("--onnx_fusion_switch",), ("fusions of onnxruntime", "onnxruntime 融合开关")),
        ),
    ),
    # ---- words of documents that no tool has ----
    KnownCommand(
        MSPROBE,
        "config",
        ("documents: makes or checks a dump configuration", "文档用法：生成或检查采集配置"),
        ("npulse config new --tool msprobe", "npulse config check {config}", "npulse config explain {config}"),
        (KnownOption(("-c", "--config"), ("the configuration", "配置文件"), "config"),),
        real="msprobe config_check (of a training run; a config.json is written by hand)",
    ),
    KnownCommand(
        MSPROBE,
        "monitor",
        ("documents: follows a training run", "文档用法：监控训练"),
        ("npulse overflow {run}", "npulse watch {run}"),
        (_OUT,),
        real="TrainerMon in the training script (from msprobe.pytorch import TrainerMon)",
    ),
    KnownCommand(
        MSPROBE,
        "debug",
        ("documents: computes one operator again with another implementation", "文档用法：用另一实现重新计算单个算子"),
        ("npulse recheck {operator} {run}",),
        (
            KnownOption(("-k", "--kernel"), ("the operator", "算子名"), "operator"),
            KnownOption(("-i", "--input"), ("its capture", "采集"), "run"),
        ),
        real="msprobe acc_check -api_info DUMP.JSON, or PrecisionDebugger in the script",
    ),
    KnownCommand(
        MSPROBE,
        "merge",
        ("documents: the ranks of one job as one table", "文档用法：合并多个 rank"),
        ("npulse merge {run} -o {out}",),
        (
            KnownOption(("-i", "--input"), ("folder of the results", "结果目录"), "run"),
            KnownOption(("-o", "--output"), ("folder for the table", "输出目录"), "out"),
        ),
        real="msprobe merge_result -i DIR -o DIR -config FILE.yaml",
    ),
    KnownCommand(
        MSPROBE,
        "visualize",
        ("documents: shows a capture as a graph", "文档用法：将采集显示为图"),
        ("npulse {target}", "npulse precision {target} {golden} --compare-mode layerwise"),
        (_TARGET, _GOLDEN, _OUT),
        real="msprobe graph_visualize -tp DIR [-gp DIR] -o DIR",
    ),
    KnownCommand(
        "ascend-dump",
        "",
        ("documents: records tensors of a program", "文档用法：采集程序的张量"),
        ("npulse config new --tool acl -o acl.json", "npulse capture precision --tool acl-dump -- <COMMAND>"),
        (
            KnownOption(("-c", "--config"), ("the configuration", "配置文件"), "config"),
            KnownOption(("-m", "--model"), ("the model", "模型"), "model"),
        ),
        real="acl.json given to aclInit(), or msprobe's PrecisionDebugger; no tool of that name exists",
    ),
)  # fmt: skip

DOCUMENT_OPTIONS = (
    KnownOption(("-r", "--reference"), ("the golden capture", "标杆采集"), "golden"),
    KnownOption(("-t", "--target"), ("the capture to judge", "待判断的采集"), "target"),
    KnownOption(("-o", "--output"), ("the report; its suffix decides the format", "报告；后缀决定格式"), "report"),
    KnownOption(("--config",), ("the documents' form of a configuration", "文档格式的配置"), "config"),
    KnownOption(("--metric",), ("figure that leads; veRL and fastRL too", "主要指标；含 veRL、fastRL"), "metric"),
    KnownOption(("--error-threshold",), ("limit of the relative error", "相对误差上限"), "error-threshold"),
    KnownOption(("--compare-mode",), ("layerwise, network or single", "layerwise、network 或 single"), "compare-mode"),
    KnownOption(("-v", "--verbosity"), ("how much is told, 0 to 3", "输出详细程度 0 到 3"), "verbosity"),
    KnownOption(("--jobs",), ("worker processes", "工作进程数"), "jobs"),
    KnownOption(("--baseline",), ("a verified capture as the golden one from now on", "将已验证的采集作为新标杆"), "baseline"),
)  # fmt: skip
"""Options that documents give to any of these commands and that `npulse precision` takes."""

ADDED = ("metric", "error-threshold", "compare-mode", "verbosity", "jobs")
"""Roles that are handed on to `npulse precision` under their own names."""
