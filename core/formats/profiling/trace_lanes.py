"""What the lanes of a trace are: names of processes and threads, of any release, and categories of events.

A lane is a pid with a tid. Pids are made by the writers and change from release to release; names tell what
stands in a lane. They may come after the lane's events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from npulse.core.dataclass import dataclass

from .trace_blocks import TraceNames

UNKNOWN, TASK, COMMUNICATION, OVERLAP, HOST, FRAMEWORK, MARK, PAUSE, STEP, OTHER = range(10)
"""Roles of lanes. UNKNOWN: not named (yet). OTHER: named, and not part of a timeline."""

NO_DEVICE = -1

_ROLES: Mapping[str, int] = {
    "ascendhardware": TASK,
    "taskscheduler": TASK,
    "communication": COMMUNICATION,
    "hccl": COMMUNICATION,
    "overlapanalysis": OVERLAP,
    "cann": HOST,
    "ascendcl": HOST,
    "runtime": HOST,
    "ge": HOST,
    "python": FRAMEWORK,
    "pytorch": FRAMEWORK,
    "mindspore": FRAMEWORK,
    "pythongc": PAUSE,
    "msproftx": MARK,
    "mstx": MARK,
    # MindSpore before 2.4 says so by labels
    "aicoreop": TASK,
    "ascendop": TASK,
    "aicpuop": TASK,
    "communicationop": COMMUNICATION,
    "opoverlapanalyse": OVERLAP,
    "hostcpuop": FRAMEWORK,
}
_PID_IS_DEVICE = frozenset({"aicoreop", "ascendop"})
_HAS_NO_DEVICE_BITS = _PID_IS_DEVICE | {"aicpuop", "communicationop", "opoverlapanalyse"}
_OVERLAP_LANES: Mapping[str, str] = {
    "Computing": "Computing",
    "Communication": "Communication",
    "Communication(Not Overlapped)": "Communication(Not Overlapped)",
    "Free": "Free",
    "Merged Computation Op": "Computing",
    "Merged Communication Op": "Communication",
    "Pure Communication Op": "Communication(Not Overlapped)",
    "Free Time": "Free",
}
_LEVELS: Mapping[str, str] = {
    "AscendCL": "acl",
    "Runtime": "runtime",
    "Model": "model",
    "GE": "model",
    "Node": "node",
    "Communication": "communication",
    "Hccl": "communication",
}
LEVELS = ("", "acl", "model", "node", "communication", "runtime")
_DEVICE_LABEL = re.compile(r"[NG]PU\s*(\d{1,4})", re.ASCII)
_STREAM = re.compile(r"Stream\s*#?\s*(\d{1,18})", re.ASCII)
_HOST_DEVICE = 31  # stands in the low bits of a pid where there is no device
_FIRST_MADE_PID = 1024  # made pids are (pid of the process << 10) | (layer << 5) | device

IS_FRAMEWORK, IS_OPERATOR, IS_ANNOTATION, IS_PAUSE, IS_GPU_TASK, IS_GPU_CALL, IS_NOTHING = (
    1 << k for k in range(7)
)
"""What a category says of an event, as bits. IS_OPERATOR: the framework's; some writers give it to all."""

IS_STEP_NAME, IS_RANGE_NAME, IS_COLLECTIVE_NAME = (1 << k for k in range(7, 10))
"""What a name says of an event. IS_RANGE_NAME: of the framework's ranges, "Optimizer.step#AdamW.step"."""

_CATEGORIES: Mapping[str, int] = {
    "cpu_op": IS_OPERATOR,
    "python_function": IS_FRAMEWORK,
    "enqueue": IS_FRAMEWORK,
    "dequeue": IS_FRAMEWORK,
    "user_annotation": IS_ANNOTATION,
    "mstx": IS_ANNOTATION,
    "MsTx": IS_ANNOTATION,
    "GC": IS_PAUSE,
    "kernel": IS_GPU_TASK,
    "gpu_memcpy": IS_GPU_TASK,
    "gpu_memset": IS_GPU_TASK,
    "cuda_runtime": IS_GPU_CALL,
    "cuda_driver": IS_GPU_CALL,
    "gpu_user_annotation": IS_NOTHING,
    "Trace": IS_NOTHING,
    "overhead": IS_NOTHING,
}


@dataclass(frozen=True, slots=True)
class Lane:
    """What one lane is. device: NO_DEVICE where nothing names it. stream: its number or the id
    of the thread. level: of host calls that say none themselves, a code for `level_name`."""

    role: int
    thread: str
    device: int
    stream: int
    level: int


def lane_of(names: TraceNames, pid: int, tid: int) -> Lane:
    """The lane of a pid and a tid (codes), as its names say by now."""
    process = process_of(names, pid)
    thread = names.thread_names.get((pid, tid), "")
    role = _role(names, pid, thread)
    found = _STREAM.match(thread)
    number = int(found[1]) if found else names.id(tid)
    stream = number if isinstance(number, int) and 0 <= number < 2**63 else -1
    level = -1 - LEVELS.index(_LEVELS.get(process, ""))
    return Lane(role, thread, device_of(names, pid), stream, level)


def process_of(names: TraceNames, pid: int) -> str:
    """What a process is called; where it has no name, its label."""
    return names.process_names.get(pid) or names.process_labels.get(pid, "")


def device_of(names: TraceNames, pid: int) -> int:
    """The device of a process: by its label, else by the pid as its writer made it; NO_DEVICE."""
    labelled = _DEVICE_LABEL.fullmatch(names.process_labels.get(pid, "").strip())
    if labelled:
        return int(labelled[1])
    value, key = names.id(pid), _key(process_of(names, pid))
    if not isinstance(value, int) or value < 0:
        return NO_DEVICE
    if key in _PID_IS_DEVICE and value < _FIRST_MADE_PID:
        return value
    if key in _HAS_NO_DEVICE_BITS or value < _FIRST_MADE_PID or value & 31 == _HOST_DEVICE:
        return NO_DEVICE
    return value & 31


def gpu_of(names: TraceNames, pid: int) -> int:
    """The device of a GPU's process: its pid."""
    value = names.id(pid)
    return value if isinstance(value, int) and 0 <= value < _FIRST_MADE_PID else NO_DEVICE


def overlap_lane(name: str, thread: str) -> str:
    """The lane of the overlap analysis that an event belongs to, "" if none: its own name counts first."""
    return _OVERLAP_LANES.get(name) or _OVERLAP_LANES.get(thread, "")


def level_name(names: TraceNames, code: int) -> str:
    """The level of calls: one of `LEVELS`, or the category that a code of labels stands for."""
    return LEVELS[-1 - code] if code < 0 else names.labels[code]


def call_of(name: str, level: str) -> tuple[str, str]:
    """Level and name of a host call: "AscendCL@aclrtMalloc" -> ("acl", "aclrtMalloc")."""
    prefix, at, rest = name.partition("@")
    return (_LEVELS[prefix], rest) if at and prefix in _LEVELS else (level, name)


def bits_of(label: str) -> int:
    """What a text says as a category or as a name of an event."""
    bits = _CATEGORIES.get(label, 0)
    if label.startswith("ProfilerStep#"):
        bits |= IS_STEP_NAME
    elif "#" in label:
        bits |= IS_RANGE_NAME
    if label[:4].lower() == "nccl":
        bits |= IS_COLLECTIVE_NAME
    return bits


def _role(names: TraceNames, pid: int, thread: str) -> int:
    key = _key(process_of(names, pid))
    # a label alone may be followed by the name
    role = _ROLES.get(key, OTHER if pid in names.process_names else UNKNOWN)
    if role != UNKNOWN and thread == "Python GC":
        return PAUSE
    if role == TASK and thread == "Steps":
        return STEP
    if role == TASK and thread.startswith("Scope Name"):
        return OTHER
    if role == COMMUNICATION and key != "communicationop":
        # planes have the pieces of the operations
        if not thread:
            return UNKNOWN
        return COMMUNICATION if "communication" in thread.lower() else OTHER
    return role


def _key(process: str) -> str:
    return process.lower().replace(" ", "").replace("_", "")
