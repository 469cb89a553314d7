"""What an event of a runtime's log is - a cause, a wait, a mere echo - and which of two events came first.

A log's order is not that of time, and clocks of two files need not agree: times are compared within a file,
or where both evidently speak of the same day; else the lines of one file tell. A Python line is believed as
far as launches were waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeGuard

from npulse.core.dataclass import dataclass
from npulse.core.formats.error_codes import codes_in, look_up

from .faults import Fault, Frame
from .toolkit import is_users

RELIABLE_SWITCH = "ASCEND_LAUNCH_BLOCKING=1"
"""With it every launch is waited for, so that a Python line is the one that launched what failed."""
FAR_US = 3_600_000_000
"""Events further apart do not belong together (unless a time-out of that length is told)."""
MAX_LOOKED_AT = 64
"""So many incidents are tried for one event, where only a look at each one helps."""

_YEAR_2000_US = 946_684_800_000_000
_DAY_US = 86_400_000_000
_MODEL_STREAM = 0x91
_PEER_CODES = frozenset(("EI0002", "EI0006", "EI0015", "507048", "507057", "HCCL 9", "HCCL 21"))
_HARDWARE_CODES = frozenset(("507010", "507053", "507054", "507055", "507056", "507901", "EZ2001"))
_PASSING_CODES = frozenset(("ERR00100", "ERR01100", "ERR02200"))
_OF_PEERS = frozenset(("507011", "507046", "507047", "ERR02200"))
_SHORTAGE_CODES = frozenset(("EL0004", "200000", "207001"))
_PASSING = re.compile(r"50[07]\d{3}|0x[0-9a-f]{1,4}|E[A-Z0-9](?:9999|8888)", re.IGNORECASE)
_WAITS = re.compile(r"wait|notify|event|hccl", re.IGNORECASE)
_SYNCHRONIZES = re.compile(r"\bsynchronize\b")
_NPU_ERROR = re.compile(
    r"\bACL\b|\baclnn|\bNPU function error|HCCL|error code is \d|inner error", re.IGNORECASE
)
_COMPILER_ERROR = re.compile(r"(?:\w{1,80}\.){0,8}(?:\w{0,40}Compil(?:ation|er|e)Error)\b")


@dataclass(frozen=True, slots=True)
class PythonPlace:
    """The Python line of an error. is_reliable: it is the line at fault; None where the log does not say.

    switch: the setting that makes such a line reliable, "" if this one is or the setting was there.
    """

    fault: Fault
    frame: Frame | None
    is_reliable: bool | None
    switch: str


def python_place(fault: Fault, *, is_blocking: bool = False) -> PythonPlace:
    """How far the Python line of a "python error" can be believed.

    is_blocking: the run is known to have had the switch; that its own log shows it counts as well.
    """
    is_blocking = is_blocking or bool(fault.figures.get("is_blocking"))
    frames = fault.access.frames
    inner = frames[0] if frames else None
    frame = next(filter(is_users, frames), inner)  # libraries that it went through are nobody's fault
    told = f"{fault.figures.get('error') or ''}"
    # the error's own words may speak of a synchronization wherever it surfaced
    call = f"{fault.figures.get('code_text') or ''} {inner.function if inner else ''}"
    reliable: bool | None = None
    if _SYNCHRONIZES.search(call):
        reliable = False  # whatever was launched before: waiting for it is no fault
    elif _surfaces(fault):
        reliable = is_blocking
    elif told:
        reliable = True
    return PythonPlace(fault, frame, reliable, "" if reliable or is_blocking else RELIABLE_SWITCH)


def is_of_compiler(fault: Fault) -> bool:
    """Whether a Python error is that of a compiler which did not get a kernel done."""
    return _COMPILER_ERROR.match(f"{fault.figures.get('error') or ''}") is not None


def _surfaces(fault: Fault) -> bool:
    """Whether a Python error is one of the device or its libraries, which comes up later than it was made."""
    told = f"{fault.figures.get('error') or ''}"
    return bool(fault.figures.get("is_asynchronous") or codes_in(told) or _NPU_ERROR.search(told))


PythonReason = Literal["asynchronous-python", "waiting-python", "launching-python", "later-python"]


def python_reason(fault: Fault, *, is_blocking: bool) -> PythonReason:
    """What the line of a Python error behind a failure is: that of the launch, of a wait, any later one."""
    is_blocking = is_blocking or bool(fault.figures.get("is_blocking"))
    is_reliable = python_place(fault, is_blocking=is_blocking).is_reliable
    if is_reliable:
        return "launching-python" if _surfaces(fault) else "later-python"
    if not is_blocking:
        return "asynchronous-python"
    return "later-python" if is_reliable is None else "waiting-python"


# ---- what an event is ----

Sort = Literal["device", "model", "wait", "passing", "host", "python", "compile"]
Key = tuple[object, ...]
KINDS = frozenset(
    (
        *("aicore exception", "task failure", "collective time-out", "error code", "python error"),
        "out of memory",
        "buffer overflow at compile time",
    )
)


def is_event(fault: Fault) -> bool:
    """Whether something of the runtime happened: a code that guides name and no tool prints is nothing."""
    code = look_up(f"{fault.figures.get('code') or ''}") if fault.kind == "error code" else None
    return fault.kind in KINDS and (code is None or code.is_real)


def sort_of(fault: Fault, is_blocking: bool) -> Sort:
    """device, host: can be a root event. wait, model, passing, python: never causes.

    compile: the cause of a Python error that raises it, and of nothing else - some are only tried out.
    """
    figures = fault.figures
    if fault.kind == "buffer overflow at compile time":
        return "compile"
    if fault.kind == "aicore exception":
        return "device"
    if fault.kind == "collective time-out":
        return "wait"
    if fault.kind == "python error":
        place = python_place(fault, is_blocking=is_blocking)
        codes = codes_in(f"{figures.get('error') or ''}")
        return "host" if place.is_reliable and not any(map(_passes_on, codes)) else "python"
    if fault.kind == "task failure":
        has_kernel = bool(figures.get("kernel_name") or figures.get("node_name"))
        if _is_of_model(fault) and not has_kernel:
            return "model"
        waits = _WAITS.search(f"{figures.get('sqe_type') or ''} {figures.get('op_type') or ''}")
        return "wait" if waits or (figures.get("is_timeout") and not has_kernel) else "device"
    code = f"{figures.get('code') or ''}"
    if code in _PEER_CODES:
        return "wait"
    return "passing" if _passes_on(code) else "host"


def _passes_on(code: str) -> bool:
    """Whether a code only says that something failed before."""
    return not is_hardware(code) and (code in _PASSING_CODES or _PASSING.fullmatch(code) is not None)


def is_shortage(fault: Fault) -> bool:
    """Whether an event says that memory could not be had, in whichever text."""
    return fault.kind == "out of memory" or f"{fault.figures.get('code') or ''}" in _SHORTAGE_CODES


def may_be_of_peer(fault: Fault) -> bool:
    """Whether an event that only passes a failure on may well come of another process.

    A stream, an event or a model that did not end in time may have waited for that one; a code of a kernel
    says that a kernel of its own failed.
    """
    return _is_of_model(fault) or f"{fault.figures.get('code') or ''}" in _OF_PEERS


def is_hardware(code: str) -> bool:
    """Whether a code is one of the device itself, which no program causes."""
    return code in _HARDWARE_CODES


def _is_of_model(fault: Fault) -> bool:
    return (
        fault.figures.get("ret_code") == _MODEL_STREAM or "model stream" in f"{fault.figures.get('ret_text')}"
    )


def process_of(fault: Fault) -> Key | None:
    """What tells processes apart; None where the log does not. A device writes -1 for its own."""
    pid = fault.access.pid if fault.access.pid is not None else fault.figures.get("pid")
    if isinstance(pid, int) and pid >= 0:
        return ("pid", pid)
    return ("origin", fault.artifact, fault.origin) if fault.origin else None


def n_cores_of(fault: Fault) -> int:
    counted = sum(b - a + 1 for access in fault.accesses for cores in access.cores for a, b in cores.ranges)
    told = fault.figures.get("n_cores")
    return max(counted, told) if isinstance(told, int) else counted


# ---- order ----


def is_set(time_us: int | None) -> TypeGuard[int]:
    """True if a time is of a clock that knows the date; a device that does not counts from 1970."""
    return time_us is not None and time_us >= _YEAR_2000_US


def delay_us(first: Fault, second: Fault) -> int | None:
    """Microseconds from one event to another; None where they have no clock in common."""
    a, b = first.time_us, second.time_us
    if a is None or b is None or is_set(a) != is_set(b):
        return None
    if first.artifact != second.artifact:
        same_day = a // _DAY_US == b // _DAY_US or abs(a - b) <= FAR_US
        if not is_set(a) or not same_day:
            return None
    return b - a


def is_before(first: Fault, second: Fault) -> bool | None:
    """Whether an event came before another one (or at once); None where nothing says so."""
    delay = delay_us(first, second)
    if delay is not None:
        return delay >= 0
    return first.line <= second.line if first.artifact == second.artifact else None


def is_far(first: Fault, second: Fault) -> bool:
    """Whether two events are known to be too far apart to belong together."""
    delay = delay_us(first, second)
    return delay is not None and abs(delay) > FAR_US


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """By time where all have one by a clock that is set, else file by file and line by line."""
    found = list(faults)
    if all(is_set(fault.time_us) for fault in found):
        return sorted(found, key=lambda fault: (fault.time_us or 0, fault.artifact, fault.line))
    return sorted(found, key=lambda fault: (fault.artifact, fault.line))


def is_other_day(first: Fault, second: Fault) -> bool:
    """True if both clocks are set and more than a day lies between: the two are not of one run."""
    a, b = first.time_us, second.time_us
    return is_set(a) and is_set(b) and abs(a - b) > _DAY_US
