"""Which kind of artifact a file is: by its name whether it is worth a look, by its first bytes what it is.

`look_for` is cheap and never opens a file; `sniff` takes one bounded look (a few KB). Names disambiguate only
where contents are alike, and speak alone where a file is empty.
"""

from __future__ import annotations

import re
from typing import Literal

from npulse.core.dataclass import dataclass

from ..findings import Completeness
from ..formats.kernel_object import is_kernel_object
from . import signatures
from .captures import CHECKPOINT
from .peek import Peek, columns, first_line, is_text, json_keys, looks_closed, peek, plain, workbook_texts
from .tensor_names import is_checkpoint_name

Look = Literal[
    "csv",
    "json",
    "jsonl",
    "text",
    "script",
    "workbook",
    "sqlite",
    "version",
    "opprof",
    "cann",
    "atb",
    "named",
    "object",
]


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What a file was recognised as."""

    kind: str
    size_bytes: int
    modified_ns: int
    completeness: Completeness = "unknown"


_LOOKS: dict[str, Look] = {
    "csv": "csv",
    "json": "json",
    "vis": "json",
    "jsonl": "jsonl",
    "log": "text",
    "txt": "text",
    "out": "text",
    "err": "text",
    "sh": "script",
    "py": "script",
    "xlsx": "workbook",
    "zip": "workbook",
    "db": "sqlite",
    "info": "version",
    "cfg": "version",
    "bin": "opprof",
    "npy": "cann",
    "pth": "named",
    "pt": "cann",
    "core": "cann",
    "toml": "named",
    "pbtxt": "named",
    "o": "object",
}

# Table names lie deep; a report may stand at the end of a long log.
_HEAD_BYTES: dict[Look, int] = {"sqlite": 8192, "script": 16384}
_TAIL_BYTES: dict[Look, int] = {"json": 256, "text": 4096}
LOOKED_AT_BYTES = 8192
"""Of a text file, at both ends together."""

# Parts of a dump that are read with it, and texts that only speak about artifacts.
_NEVER = frozenset({"dump.json", "debug.json", "stack.json", "construct.json", "op_param.json"})
_PROSE = re.compile(r"(?:readme|licen[cs]e|changelog|requirements|notice|cmakelists)\b.*", re.IGNORECASE)

_CANN = re.compile(
    r"(?:[\w-]+\.){2,3}\d+(?:\.\d+){0,2}\.\d{10,20}(?:\.(?:FFTSPLUS\.)?\d+(?:\.\d+){2,3})?"
    r"(?:\.(?:custom|space|l1buffer)\.\d+)?(?:\.(?:input|output)\.\d+(?:\.\w+){0,3})?"
    r"(?P<suffix>\.(?:csv|npy|bin|pt|json|core|log))?",
    re.ASCII,
)
_CANN_HASH = re.compile(r"\d{10,32}(?:\.(?:input|output)\.\d+(?:\.\w+)?\.npy)?", re.ASCII)
_CANN_EXCEPTION = re.compile(r"exception_info\.\d+\.\d+\.\d+.*|.+\.\d+\.\d+\.\d{10,20}\.core", re.ASCII)
_CANN_GOLDEN = re.compile(r"[\w.-]+\.\d+\.\d{10,20}\.npy", re.ASCII)
_ATB = re.compile(r"(?:in|out|inter)tensor\d+\w*\.bin")
_TORCH_TENSOR = re.compile(r"(?:input|output)(?:_\d+)*\.pth")
_GE_GRAPH = re.compile(r"ge_(?:proto|onnx|readable)_\d+_.*\.(?:txt|pbtxt)")
_DYNAMO = re.compile(r"dynamo_(?:original|optimized)_.*_rank_\d+_.*\.txt")
_LOG_SUFFIX = re.compile(r".*\.log\.[\w.]+|.*(?:^|[._-])(?:stdout|stderr)|.*san\.\d+", re.ASCII)
_KERNEL_OBJECT = re.compile(r"kernel\.o\.\d+(?:_\d+)?|kernel\.\d+\.o", re.ASCII)
_SESSION_FILE = re.compile(r"(?:start|end)_info(?:\.\d+)?|(?:info|sample)\.json(?:\.\d+)?")

_SETTINGS = "device.environment"
_CHECKPOINT_SUFFIXES = frozenset(("safetensors", "pt", "pth", "bin", "json"))

# By name alone: empty files, and workbooks or databases that can't be looked into.
_NAMED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"multi_ranks_compare_merge_\d+\.xlsx", "msprobe.merge_result"),
        (r"(?:debug_)?compare_result_.*\.(?:csv|xlsx|json)", "msprobe.compare_result"),
        (r"atb_\w+_compare_result_\d+\.xlsx", "atb.compare_result"),
        (r"anomaly_analyze_\d+\.json", "msprobe.overflow_check"),
        (r"diff_analyze_\d+\.json", "msprobe.diff_analyze"),
        (r"(?:build|compare)_\d+\.vis(?:\.db)?", "msprobe.graph"),
        (r"\w+\.trend\.db", "msprobe.trend"),
        (r"similarities\.csv", "msprobe.grad_probe"),
        (r"api_precision_compare_\w+\.csv", "msprobe.api_precision_compare"),
        (r"accuracy_checking_\w+\.csv", "msprobe.acc_check"),
        (r"op_summary_\w+\.csv", "prof.op_summary"),
        (r"op_statistic(?:_\d+)?\.csv", "prof.op_statistic"),
        (r"kernel_details\.csv", "prof.kernel_details"),
        (r"step_trace_time\.csv", "prof.step_trace_time"),
        (r"operator_details\.csv", "prof.operator_details"),
        (r"trace_view\.json", "prof.trace_view"),
        (r"msprof_(?:slice_\d+_)?\d[\d_]*\.json", "prof.msprof_trace"),
        (r"communication\.json", "prof.communication"),
        (r"communication_matrix\.json", "prof.communication_matrix"),
        (r"msmonitor_\d+_\d+_-?\d+\.jsonl", "msmonitor.jsonl"),
        (r"msmonitor_\d+_\d+_-?\d+\.db", "msmonitor.db"),
        (r"ascend_pytorch_profiler(?:_\d+)?\.db", "prof.torch_db"),
        (r"ascend_mindspore_profiler(?:_\d+)?\.db", "prof.mindspore_db"),
        (r"msprof_\d+\.db", "prof.msprof_db"),
        (r"(?:analysis|communication_analyzer)\.db", "prof.analysis_db"),
        (r"cluster_analysis\.db", "prof.cluster_db"),
        (r"performance_comparison_result_\d+\.xlsx", "prof.compare"),
        (r"mstt_advisor_\d+\.xlsx", "prof.advisor"),
        (r"memscope_dump_\d+\.(?:csv|db)", "memscope.dump"),
        (r"minddata_pipeline_summary_\d+\.csv", "prof.minddata"),
        (r"plog-\d+_\d+\.log", "runtime.plog"),
    )
)


def kind_by_name(name: str) -> str | None:
    """The kind that a name alone promises, None where it promises none."""
    return next((kind for pattern, kind in _NAMED if pattern.fullmatch(name)), None)


_COMMON_NAMES = frozenset({"similarities.csv", "communication.json", "analysis.db"})
"""Other programs use these too; elsewhere than in a profiler's folder they promise nothing."""


def is_promised(name: str, *, in_session: bool) -> bool:
    """Whether a file of this name that is nothing known is a damaged one, not a foreign one."""
    return kind_by_name(name) is not None and (in_session or name not in _COMMON_NAMES)


def look_for(name: str) -> Look | None:
    """Which look a file name deserves; None: the file is never opened. No I/O, about a microsecond."""
    if name in _NEVER:
        return None
    dot = name.rfind(".")
    suffix = name[dot + 1 :]
    if suffix in _CHECKPOINT_SUFFIXES and is_checkpoint_name(name):
        return "named"
    if _KERNEL_OBJECT.fullmatch(name):
        return "object"
    if dot < 0 or suffix.isdecimal():
        if _CANN.fullmatch(name) or _CANN_HASH.fullmatch(name) or _CANN_EXCEPTION.fullmatch(name):
            return "cann"
        if _SESSION_FILE.fullmatch(name):
            return "json"
        return "text" if _LOG_SUFFIX.fullmatch(name) else None
    look = _LOOKS.get(suffix.lower())
    if look is None:
        return "text" if _LOG_SUFFIX.fullmatch(name) else None
    if look == "named":
        return "named" if named_kind(name) else None
    if look == "cann":
        return "cann" if cann_kind(name) else None
    if look == "opprof":
        if name == "visualize_data.bin":
            return "opprof"
        if _ATB.fullmatch(name):
            return "atb"
        return "cann" if cann_kind(name) else None
    if look == "text":
        if named_kind(name):
            return "named"
        return None if _PROSE.fullmatch(name) else "text"
    if look in ("csv", "json") and cann_kind(name):
        return "cann"
    return look


def cann_kind(name: str) -> str | None:
    """The kind of a file of a CANN dump folder by its name; such files are one artifact per folder."""
    if name.startswith("Opdebug."):
        return "cann.opdebug"
    if _CANN_EXCEPTION.fullmatch(name):
        return "cann.exception"
    if name == "mapping.csv" or _CANN_HASH.fullmatch(name):
        return "cann.dump"
    found = _CANN.fullmatch(name)
    if found:
        return {".csv": "cann.stats", ".core": "cann.exception", ".log": None, ".json": None}.get(
            found["suffix"] or "", "cann.dump"
        )
    return "cann.golden" if _CANN_GOLDEN.fullmatch(name) else None


def sniff(path: str, name: str, look: Look) -> Sniffed | None:
    """What the file is, after one bounded look; None if it is nothing known. OSError as reading raises it."""
    seen = peek(path, head=_HEAD_BYTES.get(look, 4096), tail=_TAIL_BYTES.get(look, 0))
    if seen is None:
        return None
    if not seen.size_bytes:
        kind = cann_kind(name) if look == "cann" else kind_by_name(name)
        return Sniffed(kind, 0, seen.modified_ns, "cut off") if kind else None
    found = _judge(path, name, look, seen)
    if found is None:
        return None
    kind, completeness = found
    return Sniffed(kind, seen.size_bytes, seen.modified_ns, completeness)


def _judge(path: str, name: str, look: Look, seen: Peek) -> tuple[str, Completeness] | None:
    kind: str | None = None
    if look == "csv":
        kind = _csv_kind(name, seen.head)
    elif look == "json":
        kind = _json_kind(name, seen.head)
        if kind:
            return kind, "complete" if looks_closed(seen.end) else "cut off"
    elif look == "jsonl":
        kind = "msmonitor.jsonl" if signatures.MONITOR_LINE.match(seen.head) else None
    elif look == "text":
        kind = _text_kind(seen)
    elif look == "script":
        kind = "device.script" if _has_settings(seen.head) else None
    elif look == "workbook":
        return _workbook_kind(path, name, seen)
    elif look == "sqlite":
        kind = _sqlite_kind(name, seen.head)
    elif look == "version":
        kind = "device.version" if signatures.VERSION_LINE.search(seen.head) else None
    elif look == "opprof":
        kind = "opprof.result" if len(seen.head) > 12 and seen.head[11] == 0x5A else None
    elif look == "object":
        kind = "cann.kernel_object" if is_kernel_object(seen.head) else None
    elif look == "cann":
        return _cann_look(name, seen)
    elif look == "atb":
        kind = "atb.dump" if b"dtype=" in seen.head[:1024] or b"$Version" in seen.head[:16] else None
    else:
        kind = named_kind(name)
    return (kind, "unknown") if kind else None


def _csv_kind(name: str, head: bytes) -> str | None:
    if name == "mapping.csv":
        return "cann.dump" if re.match(rb"\d{10,32},\S", head) else None
    header = columns(head)
    kind = next((kind for kind, wanted in signatures.CSV_COLUMNS if wanted <= header), None)
    if kind == "msprobe.acc_check" and name.startswith("api_precision_compare"):
        return "msprobe.api_precision_compare"  # the two tools' result tables have the same columns
    if kind is None and name == "similarities.csv" and "step" in header:
        return "msprobe.grad_probe"
    if (
        kind is None
        and name.startswith("minddata_pipeline_summary")
        and first_line(head).startswith("op_ids")
    ):
        return "prof.minddata"
    return kind


def _json_kind(name: str, head: bytes) -> str | None:
    if not any(witness in head for witness in signatures.JSON_WITNESSES):
        return None
    keys = json_keys(head)
    if keys is None:
        return None
    for rule in signatures.JSON_KEYS:
        if (
            rule.shape == keys.shape
            and rule.top <= keys.top
            and rule.inner <= keys.inner
            and keys.first.startswith(rule.first)
        ):
            break
    else:
        return None
    if rule.kind == "prof.trace_view" and re.match(r"(?:msprof|step_trace|task_time)_", name):
        return "prof.msprof_trace"
    if rule.kind == "msprobe.overflow_check" and name.startswith("diff_analyze"):
        return "msprobe.diff_analyze"
    return rule.kind


def _text_kind(seen: Peek) -> str | None:
    if not is_text(seen.head):
        return None
    found = None
    for part in filter(None, (seen.head, seen.tail)):
        text = plain(part)
        kind = next((kind for kind, word, fits in signatures.TEXT_LINES if word in text and fits(text)), None)
        if kind is not None and kind != _SETTINGS:
            return kind
        found = found or kind
    return found  # a log may begin with the settings of its program, and end with what matters


def _has_settings(head: bytes) -> bool:
    if not any(word in head for word in signatures.SCRIPT_WORDS):
        return False
    return signatures.SCRIPT_SETTING.search(head) is not None


def _workbook_kind(path: str, name: str, seen: Peek) -> tuple[str, Completeness] | None:
    if seen.head[:2] != b"PK":
        return None
    texts = workbook_texts(path)
    if texts is None:
        kind = kind_by_name(name)
        return (kind, "cut off") if kind else None
    kind = next((kind for kind, wanted in signatures.WORKBOOK_TEXTS if wanted <= texts), None)
    return (kind, "complete") if kind else None


def _sqlite_kind(name: str, head: bytes) -> str | None:
    if not head.startswith(b"SQLite format 3\0"):
        return None
    named = kind_by_name(name)
    if named:
        return named
    return next((k for k, tables in signatures.SQLITE_TABLES if any(t in head for t in tables)), None)


def _cann_look(name: str, seen: Peek) -> tuple[str, Completeness] | None:
    """A dump file by its name; the container's length field or the array's magic must agree."""
    kind = cann_kind(name)
    head, size = seen.head, seen.size_bytes
    if kind is None:
        return None
    if name.endswith(".csv"):
        found = _csv_kind(name, head)
        return (found, "unknown") if found in ("cann.dump", "cann.stats") else None
    if name.endswith(".json"):
        return ("cann.opdebug", "unknown") if _json_kind(name, head) == "cann.opdebug" else None
    if name.endswith(".npy"):
        return (kind, "unknown" if head.startswith(b"\x93NUMPY") else "cut off")
    if name.endswith((".bin", ".pt", ".core")):
        return kind, "unknown"
    if size <= 8:
        return kind, "cut off"
    message_bytes = int.from_bytes(head[:8], "little")
    if head[8:12] == b"\x5a\x5a\x5a\x5a" or head[8:9] == b"{" or head[:4] == b"\x5a\x5a\x5a\x5a":
        return kind, "unknown"
    if message_bytes > 1 << 30 or head[8] & 7 not in (0, 2) or not 1 <= head[8] >> 3 <= 16:
        return (kind, "unknown") if head[0] == 0x0A else None  # the oldest dumps are a bare message
    return kind, "unknown" if 8 + message_bytes <= size else "cut off"


def named_kind(name: str) -> str | None:
    """The kind of a file that needs no look: its name is proof enough."""
    if name == "round.toml":
        return "npulse.round"
    if is_checkpoint_name(name):
        return CHECKPOINT
    if _TORCH_TENSOR.fullmatch(name):
        return "msit.dump"
    if _DYNAMO.fullmatch(name):
        return "torchair.graph"
    return "cann.ge_graph" if _GE_GRAPH.fullmatch(name) else None
