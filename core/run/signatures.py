"""What the first bytes of each kind look like: csv columns, JSON keys, tables of a database, lines of a text.

Tables only, tried from top to bottom: the first row that fits names the kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from npulse.core.dataclass import dataclass

from ..formats.results.layouts import LAYOUTS


def _set(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.split("|"))


# All of these columns (lower case) are in the header; an empty one stands for a comma too many.
CSV_COLUMNS: tuple[tuple[str, frozenset[str]], ...] = (
    ("msprobe.api_precision_compare", _set("api name|小值域错误比值")),
    *((layout.kind, layout.wanted) for layout in LAYOUTS),
    *(
        (kind, _set(names))
        for kind, names in (
            ("msprobe.grad_probe", "param_name|max|min|norm"),
            ("msprobe.grad_probe", "param_name|md5"),
            ("msprobe.monitor_v2", "vpp_stage|step|module_name|scope"),
            ("msprobe.monitor_v1", "vpp_stage|name|step"),
            ("msprobe.config_check", "超参名称|npu生效值"),
            ("msprobe.random", "api_name|stack"),
            ("cann.stats", "input/output|index|data size|data type|format|shape"),
            ("mindspore.statistic", "op type|op name|task id|io|slot|data type|shape"),
            ("atb.dump", "device and pid|execution count|op name|tensor path"),
            ("msit.statistic", "nodename|nodetype|inputoutput|index"),
            ("msit.statistic", "opname|indtype|inshape|outdtype|outshape"),
            ("opprof.result", "op name|op type|task duration(us)|current freq"),
            ("prof.op_summary", "op name|task duration(us)"),
            ("prof.kernel_details", "name|accelerator core|duration(us)"),
            ("prof.op_statistic", "op type|core type|count|total time(us)"),
            ("prof.communication_statistic", "op type|count|total time(us)|ratio(%)"),
            ("prof.api_statistic", "level|api name|time(us)"),
            ("prof.task_time", "kernel_name|kernel_type|task_time(us)"),
            ("prof.task_time", "time(us)|waiting(us)|running(us)|task id"),
            ("prof.step_trace", "iteration id|iteration end(us)"),
            ("prof.cluster", "step|type|index|computing|free"),
            ("prof.step_trace_time", "step|computing|communication(not overlapped)|free"),
            ("prof.operator_details", "name|host self duration(us)|device self duration(us)"),
            ("prof.memory", "component|timestamp(us)|device"),
            ("prof.memory", "component|timestamp(us)|device type"),
            ("prof.memory", "name|size(kb)|allocation time(us)"),
            ("prof.memory", "event|ddr(kb)|hbm(kb)"),
            ("prof.memory", "op name|node index start|size(kb)"),
            ("prof.l2_cache", "stream id|task id|hit rate|victim rate"),
            ("prof.counters", "stream id|task id|tlb miss rate"),
            ("prof.counters", "stream id|task id|page fault num"),
            ("prof.counters", "metric|read(mb/s)|write(mb/s)"),
            ("prof.counters", "mode|task|hit rate(%)"),
            ("prof.counters", "mode|max|min|average"),
            ("prof.counters", "timestamp(us)|bandwidth(mb/s)|funcid"),
            ("prof.counters", "dvpp id|engine type"),
            ("prof.counters", "core id|total_cycles"),
            ("prof.counters", "cpu type|user(%)|sys(%)"),
            ("prof.counters", "pid|name|cpu(%)"),
            ("prof.counters", "memory total|memory free|buffers"),
            ("prof.counters", "pid|name|size(pages)"),
            ("prof.counters", "total cpu numbers|occupied cpu numbers"),
            ("prof.counters", "process id|thread id|name|time(%)"),
            ("prof.counters", "function|module|cycles"),
            ("prof.fusion_op", "fusion op|original ops"),
            ("prof.aicpu", "node|compute_time(us)|memcpy_time(us)"),
            ("prof.aicpu", "node name|queue size"),
            ("prof.aicpu", "action|source|cached buffer size"),
            ("prof.user_marks", "pid|tid|event_type|message_type"),
            ("prof.minddata", "op_id|op_type|output_queue_size"),
            ("prof.minddata", "operation|stage|occurrences"),
            ("prof.cluster", "rank id|pytorch idle time(us)|cann idle time(us)"),
            ("prof.cluster", "communication op|slow rank id|fast rank id"),
            ("prof.cluster", "rank|step|step time(us)|computation(us)"),
            ("prof.cluster", "rankid|slowaffectcount"),
            ("opprof.result", "block_id|sub_block_id"),
            ("opprof.result", "aic_time(us)|aic_total_cycles|"),
            ("opprof.result", "aic_l2_cache_hit_rate(%)"),
            ("opprof.result", "code|call_count|cycles|running_time(us)"),
            ("opprof.result", "instr|addr|pipe|call_count"),
            ("memscope.dump", "id|event|event type|ptr|attr"),
            ("memscope.compare", "|base|compare"),
            ("memscope.trace", "funcinfo|starttime(ns)|endtime(ns)"),
            ("memscope.watch", "tensor info|check data sum"),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class JsonRule:
    """All `top` keys are in the outermost object(s), all `inner` keys below; `first` begins the first key."""

    kind: str
    shape: Literal["object", "array"]
    top: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()
    first: str = ""

    @property
    def witness(self) -> bytes:
        """A key without which the rule can't fit, as it stands in a file."""
        return b'"' + max(self.top | self.inner, key=len).encode() + b'"'


def _json(kind: str, top: str = "", inner: str = "", first: str = "", array: bool = False) -> JsonRule:
    return JsonRule(
        kind,
        "array" if array else "object",
        _set(top) if top else frozenset(),
        _set(inner) if inner else frozenset(),
        first,
    )


JSON_KEYS: tuple[JsonRule, ...] = (
    _json("msprobe.dump", "task|level|data"),
    _json("msprobe.dump", "task|level|dump_data_dir"),
    _json("msprobe.config", "task|dump_path"),
    _json("cann.acl_config", "dump", "dump_path"),
    _json("cann.acl_config", "dump", "dump_list"),
    _json("cann.acl_config", "dump", "dump_scene"),
    _json("polygraphy.results", "lst", "outputs|array", "lst"),
    _json("msprobe.diff_analyze", "", "op_name|data_info|NPU max", "rank_"),
    _json("msprobe.overflow_check", "", "op_name|data_info", "rank_"),
    _json("msprobe.compare_result", "", "is_same|op_items"),
    _json("msprobe.monitor_anomaly", "", "tag_name|rank|step|message"),
    _json("msprobe.ckpt_compare", "", "l2|cos|numel|shape"),
    _json("msprobe.graph", "NPU", "node_type|upnode"),
    _json("cann.opdebug", "DHA Atomic Add"),
    _json("cann.opdebug", "magic|acc_list"),
    _json("cann.fusion_rule", "name|graph", "op|type"),
    _json("atb.topology", "opName|opType|param"),
    _json("atb.topology", "modelName|inTensors"),
    _json("prof.cluster", "", "Communication Time Info", "("),
    _json("prof.cluster", "p2p", "Communication Time Info"),
    _json("prof.cluster", "", "Transport Type", "("),
    _json("prof.cluster", "p2p", "Transport Type"),
    _json("prof.cluster", "collective|p2p"),
    _json("prof.communication", "", "Communication Time Info"),
    _json("prof.communication_matrix", "", "Transport Type|Transit Size(MB)"),
    _json("prof.profiler_info", "config", "common_config"),
    _json("prof.profiler_info", "ENV_VARIABLES"),
    _json("prof.profiler_info", "distributed_args"),
    _json("prof.session_info", "ai_core_metrics"),
    _json("prof.session_info", "ai_core_profiling_mode"),
    _json("prof.session_info", "jobInfo|devices|DeviceInfo"),
    _json("prof.session_info", "collectionTimeBegin|clockMonotonicRaw"),
    _json("prof.session_info", "collectionTimeEnd|clockMonotonicRaw"),
    _json("prof.advisor", "status|message", "problems"),
    _json("prof.minddata", "op_ids|op_names"),
    _json("opprof.result", "profilingType|schemaVersion|traceEvents"),
    _json("prof.trace_view", "traceEvents", "ph|pid"),
    _json("prof.trace_view", "ph|pid|name", array=True),
)

JSON_WITNESSES: tuple[bytes, ...] = tuple(dict.fromkeys(rule.witness for rule in JSON_KEYS))

# One line of msMonitor: its kind says which keys follow.
MONITOR_LINE = re.compile(
    rb'\A\s*\{[^\n]*"kind"\s*:\s*"(?:Kernel|Communication|\w*API|Marker|rank_device_map|parallel_group_info)"'
)

# Any of these table names stands in the first pages of the database.
SQLITE_TABLES: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("msprobe.graph", (b"tb_nodes", b"tb_config")),
    ("msprobe.trend", (b"trend_data", b"monitoring_targets")),
    ("prof.cluster_db", (b"ClusterBaseInfo", b"ClusterStepTraceTime", b"ClusterCommunication")),
    ("prof.analysis_db", (b"CommAnalyzerTime", b"CommAnalyzerMatrix", b"CommAnalyzerBandwidth")),
    ("prof.torch_db", (b"PYTORCH_API", b"PYTORCH_CALLCHAINS")),
    ("prof.msprof_db", (b"COMPUTE_TASK_INFO", b"SESSION_TIME_INFO", b"RANK_DEVICE_MAP")),
    ("memscope.dump", (b"memscope_dump", b"leaks_dump")),
)

# All of these texts are in the sheet names, the first cells or the members' folders.
WORKBOOK_TEXTS: tuple[tuple[str, frozenset[str]], ...] = (
    ("atb.compare_result", _set("target data name|golden data name")),
    ("msprobe.compare_result", _set("npu name|bench name")),
    ("msprobe.merge_result", _set("npu name|rank0")),
    ("msprobe.config_check", _set("sheet:summary|filename|pass_check")),
    ("msprobe.config_check", _set("member:hyperparameters|member:env")),
    ("msprobe.config_check", _set("member:hyperparameters|member:pip")),
    ("msit.compare_result", _set("token_id|golden_data_path")),
    ("prof.compare", _set("sheet:overallmetrics")),
    ("prof.compare", _set("sheet:kernelcompare")),
    ("prof.advisor", _set("sheet:problems")),
)


def _test(pattern: bytes) -> Callable[[bytes], object]:
    """A pattern for the start of a text must not be tried at every place."""
    compiled = re.compile(pattern, re.MULTILINE)
    return compiled.match if pattern.startswith(rb"\A") else compiled.search


# A telltale anywhere in the first or last bytes, colour codes removed: the word is looked for first, since a
# search for a fixed word costs a hundredth of a pattern.
TEXT_LINES: tuple[tuple[str, bytes, Callable[[bytes], object]], ...] = tuple(
    (kind, word, _test(pattern))
    for kind, word, pattern in (
        (
            "memscope.leaks",
            b"memory leaks on device",
            rb"={6} ERROR: Detected memory leaks on device -?\d+ ={6}",
        ),
        ("memscope.leaks", b"Mb(s) leaked in", rb"={6} SUMMARY: [\d.]+ Mb\(s\) leaked in"),
        ("sanitizer.mssanitizer_debug", b"[I] Init log at", rb"\A\[I\] Init log at \["),
        ("msdebug.transcript", b"(msdebug)", rb"^\(msdebug\)"),
        ("sanitizer.mssanitizer", b"[mssanitizer] ", rb"\[mssanitizer\] "),
        ("sanitizer.mssanitizer", b"====== ", rb"(?<!=)={6} (?:ERROR|WARNING|INFO|SUMMARY): \S"),
        (
            "sanitizer.mssanitizer",
            b"hazard detected",
            rb"={9} ERROR: Potential (?:RAW|WAR|WAW) hazard detected",
        ),
        ("sanitizer.host", b"Sanitizer", rb"==\d+== ?(?:ERROR|WARNING): ?\w*Sanitizer\b"),
        ("sanitizer.host", b"Sanitizer: ", rb"WARNING: ThreadSanitizer: |SUMMARY: \w+Sanitizer: "),
        ("sanitizer.host", b"Sanitizer: CHECK failed", rb"\w+Sanitizer: CHECK failed"),
        ("sanitizer.host", b"Sanitizer exit stats", rb"^AddressSanitizer exit stats:"),
        ("sanitizer.host", b"runtime error: ", rb":\d+:\d+: runtime error: "),
        ("sanitizer.host", b"ASan runtime", rb"==\d+==ASan runtime does not come first"),
        ("sanitizer.host", b"Suppressions used:", rb"^Suppressions used:$"),
        (
            "runtime.plog",
            b"):",
            rb"^.{0,200}\[(?:ERROR|WARNING|INFO|DEBUG|EVENT)\] \w+\(-?\d+,[^)\n]*\):\d{4}-\d\d-\d\d-",
        ),
        ("cann.overflow_summary", b"=[1]=", rb"\A={40,}\[\d+\]={40,}"),
        ("msit.overflow", b"Overflow detected!", rb"Overflow detected! Operator name: "),
        ("cann.compare_advisor", b"Operator Index: ", rb"\ADetection Type: .*\nOperator Index: "),
        ("msprobe.compare_advisor", b"Suspect Nodes: ", rb"\ALine: .*\nSuspect Nodes: "),
        ("cann.file_compare", b"Error: ", rb"\A(?:CosineSimilarity|MaxAbsoluteError): .*\n\w+: "),
        ("cann.compare_single", b"TotalCount:", rb"\ATotalCount: ?\d[\s\S]*^NPUDump: ?"),
        ("opprof.result", b"Op Name=", rb"\AOp Name=.*\nDevice Id="),
        ("device.npu_smi", b"npu-smi", rb"^\| npu-smi \S+ +Version: |\Anpu-smi version: "),
        ("device.npu_smi", b"Power(W)", rb"^\| NPU(?: ID +\|)? +Name +\| Health +\| Power\(W\) "),
        ("device.npu_smi", b"npu-smi: ", rb"npu-smi: (?:(?:command )?not found|error while loading shared)"),
        (
            "device.npu_smi",
            b"npu-smi",
            # the shell and the container's runtime say it in their own ways, the shell in its language too
            rb"^.{0,80}(?:command not found: npu-smi$|(?:\./|/|: |\A)npu-smi ?(?::|\xef\xbc\x9a) ?"
            rb"(?:\xe6\x9c\xaa|\xe6\x89\xbe|\xe6\x9d\x83|No such file|Permission denied|cannot execute))",
        ),
        (
            "device.npu_smi",
            b"npu-smi",
            rb"\A.{0,120}(?:npu-smi:? .{0,80}symbol lookup error|npu-smi info: Permission denied"
            rb"|No such file or directory: '(?:\S{0,80}/)?npu-smi'"
            rb"|'npu-smi[^'\n]{0,40}' (?:not found|timed out after ))",
        ),
        ("device.npu_smi", b"DCMI", rb"^.{0,80}\bDCMI[ _](?:mod(?:ule|el) )?init\w* ?(?:is )?fail"),
        ("device.npu_smi", b"npu-smi", rb"\bexec: \"(?:[\w./-]*/)?npu-smi\": "),
        ("device.npu_smi", b"lib", rb"\A.{0,80}error while loading shared libraries: lib(?:drvdsmi|dcmi)"),
        ("device.npu_smi", b"dcmi", rb"^.{0,80}\b(?i:dcmi[ _](?:mod(?:ule|el) )?init\w* ?(?:is )?fail)"),
        ("device.npu_smi", b"NPU card", rb"\AThere is no NPU card on this server"),
        ("device.npu_smi", b"Failed to query", rb"\AFailed to query \"[\w-]+\" info"),
        (
            "device.npu_smi",
            b"parameter of ",
            rb"\A(?:Must input parameter of (?:chip|card) id|Error parameter of -)",
        ),
        ("device.npu_smi", b"support querying", rb"\AThis device does not support querying [\w-]+\."),
        ("device.npu_smi", b"NpuID(Idx)", rb"^NpuID\(Idx\) +ChipId\(Idx\)"),
        ("device.npu_smi", b"NPU ID ", rb"^\s*NPU ID(?: +: \d+\s*$| {2,}(?:Slot ID +)?Chip ID )"),
        ("device.npu_smi", b":", rb"\A\t[A-Z][^:\n]{29,40} ?:"),
        ("device.npu_smi", b"0 ", rb"\A\s+(?:NPU|Phy-ID)0 .*\n(?:NPU|Phy-ID)0 +X "),
        ("runtime.console", b"E", rb"\bE[A-Z0-9]\d{4}: |\(E[A-Z0-9]\d{4}\): "),
        ("runtime.console", b"error code = 0x", rb"error code = 0x[0-9a-f]+, dump info:"),
        ("runtime.console", b"rror code", rb"rror code(?: is|:|=)? ?(?:107|207|500|507|161|561)\d{3}\b"),
        ("runtime.console", b"ErrCode=", rb"ErrCode=(?:107|207|500|507)\d{3}\b"),
        ("runtime.console", b"runtime result", rb"runtime result ?= ?(?:107|207|507)\d{3}\b"),
        (
            "runtime.console",
            b"507",
            # a source text has such a line as well, with a semicolon
            rb"(?:\b(?:ret|ret[cC]ode|errorCode|aclError) ?[=:] ?|\w[,:]? return(?:ed|s)? )"
            rb"507(?:0[0-5]|89|90)\d\b(?!\s*;)",
        ),
        ("runtime.console", b" ERR", rb" ERR\d{5} (?:PTA|OPS|DIST|GRAPH|PROF)\b"),
        ("runtime.console", b"RankID:", rb"RankID:-?\d+\) ERR\d{5}\b"),
        (
            "runtime.console",
            b" function error: ",
            rb"\b(?:NPU|HCCL) function error: |\bfunction error: (?:call )?(?:aclnn|aclrt|aclop|Hccl)\w+",
        ),
        ("runtime.console", b"Inner error", rb"The Inner error is reported as above"),
        ("runtime.console", b"NPU out of memory", rb"NPU out of memory\. Tried to allocate"),
        (
            "compiler.log",
            b"verflow",
            rb"\b\w+ [oO]verflow[,:] requires [\d,.]+ ?(?:bits?|bytes?|B|[KM]iB)(?: while \d|,? ava)",
        ),
        ("compiler.log", b"bound of memory tag", rb"exceed bound of memory tag:? ?[A-Za-z]"),
        *(
            (
                "runtime.console",
                code,
                rb"^(?:\[[\w-]{1,24}\]:? ?)?(?:\[%b\]|%b:(?!\d))"
                rb"|(?i:error)\]?(?: code)?[:=]? ?\[?%b\b(?! \d\d:)" % (code, code, code),
            )
            for code in (b"E1001", b"E2003", b"E3005")
        ),
        ("device.environment", b"ASCEND_", rb"^(?:export |declare -x )?ASCEND_(?:HOME|TOOLKIT_HOME|OPP)\w*="),
        ("device.environment", b"INF_NAN_MODE_", rb"^(?:export |declare -x )?INF_NAN_MODE_\w+="),
        ("device.environment", b"MSDEBUG_", rb"^(?:export |declare -x )?MSDEBUG_\w+="),
        ("device.environment", b"MSANITIZER_", rb"^(?:export |declare -x )?MSANITIZER_\w+="),
        ("device.environment", b"MS_ASCEND_", rb"^(?:export |declare -x )?MS_ASCEND_CHECK_OVERFLOW_MODE="),
    )
)

_SETTING = re.compile(rb"(?:export |declare -x |set )?[A-Za-z_]\w*=")
_OF_MEMORY = re.compile(
    rb"^(?:export |declare -x |set )?(?:ASCEND_[A-Z]\w*|ASAN_OPTIONS|PYTORCH_NPU_ALLOC_CONF"
    rb"|PYTORCH_NO_NPU_MEMORY_CACHING|MSSANITIZER_ENABLE_DEBUG_LOG)=",
    re.MULTILINE,
)


def _is_listing(text: bytes) -> bool:
    """True if most of a text is settings, from its first line on, and one of them is of interest.

    Programs print single settings too: a log with one in it is no listing.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(b"#")]
    n_set = sum(_SETTING.match(line) is not None for line in lines)
    return (
        bool(lines)
        and bool(_SETTING.match(lines[0]))
        and 2 * n_set > len(lines)
        and bool(_OF_MEMORY.search(text))
    )


# Behind all others: what also stands in logs.
TEXT_LINES += tuple(
    ("device.environment", word, _is_listing)
    for word in (b"ASCEND_", b"ASAN_OPTIONS", b"PYTORCH_N", b"MSSANITIZER_")
)

# A script in which one of these stands, and one of the patterns, has settings of interest in it.
SCRIPT_WORDS: tuple[bytes, ...] = (
    *(b"INF_NAN_MODE_", b"MSDEBUG_", b"MSANITIZER_", b"ASCEND_"),
    *(b"ASAN_OPTIONS", b"PYTORCH_N", b"MSSANITIZER_"),
)
_NAMES = (
    rb"ASCEND_\w+|ASAN_OPTIONS|PYTORCH_NPU_ALLOC_CONF|PYTORCH_NO_NPU_MEMORY_CACHING"
    rb"|MSSANITIZER_ENABLE_DEBUG_LOG"
)
SCRIPT_SETTING = re.compile(
    rb"\b(?:INF_NAN_MODE_(?:ENABLE|FORCE_DISABLE)|MSDEBUG_[A-Z]\w*|MSANITIZER_[A-Z]\w*|MS_ASCEND_CHECK_OVERFLOW_MODE)\b"
    rb"|(?:^|[\s;])(?:%b)=|['\"](?:%b)['\"]\s*\]\s*=[^=]|(?:setdefault|putenv)\(\s*['\"](?:%b)\b"
    % (_NAMES, _NAMES, _NAMES)
)

VERSION_LINE = re.compile(
    rb"^(?:innerversion=|Innerversion=|version_dir=|ascendhal_version=|firmware_version=|Driver_Install_Type=|"
    rb"package_name=\"?Ascend|\w+_running_version=\[|required_package_\w+=)",
    re.MULTILINE,
)
