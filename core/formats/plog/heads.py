"""What stands in front of a message: the head of a log line, or of CANN's messages on a console."""

from __future__ import annotations

import re
from datetime import datetime

from npulse.core.dataclass import dataclass

from ..log_lines import Line, Origin, bounded, split_prefix

# [ERROR] RUNTIME(24121,run_add):2026-08-29-10:15:07.113.217 [stars_engine.cc:1551]24121 ProcLogicCqReport:...
_TIME = r"\d{4}-\d\d-\d\d[- ]\d\d:\d\d:\d\d[.,]\d{3}[.,]\d{3}"
_LOG = re.compile(
    r"\[(?P<level>[A-Z]{4,8})\] ?(?P<module>\w{1,32})\((?P<pid>-?\d{1,10}),(?P<process>.{0,80}?)\):"
    rf"(?P<time>{_TIME}) ?"
)
_PLACE = re.compile(r"(?:\d{1,12} \(cpuid:\d{1,4}\) )?\[(?P<file>[^\[\]]{1,240}):(?P<line>\d{1,7})\] ?")
_THREAD = re.compile(r"(?:\[tid:(\d{1,10})\]|\[(\d{1,10})\]|(\d{1,10})(?=[ :])) ?")
_FUNCTION = re.compile(r"([A-Za-z_~][\w:~]{0,119}):(?!:) ?")
_TAGS = re.compile(r"(?:\[[A-Za-z][\w ]{0,39}\]){1,6}")

# EI0002: [PID: 221633] 2026-01-20-02:28:36.670.614 The wait ...
# EZ9999[PID: 24121] 2026-08-29-10:15:07.413.208 (EZ9999):  The error from device ...
# [PID: 10652] 2025-12-03-12:16:41.842.173 Memory_Allocation_Failure(EL0004): Failed to allocate memory.
_CODE = r"[EW](?:[A-Z]\d{4}|\d{5})"
_CODED = re.compile(
    rf"(?<!\w)(?P<code>{_CODE})(?:: ?|(?=\[PID))"
    rf"(?:\[PID: ?(?P<pid>\d{{1,10}})\] ?(?P<time>{_TIME}) ?(?:\({_CODE}\): ?)?)?"
)
_TITLED = re.compile(
    rf"\[PID: ?(?P<pid>\d{{1,10}})\] ?(?P<time>{_TIME}) ?"
    rf"(?:(?P<title>[\w/]{{1,80}})\((?P<code>{_CODE})\): ?)?"
)
_TRACE = re.compile(
    r"\[FUNC:(?P<function>[^\[\]]{1,120})\]\[FILE:(?P<file>[^\[\]]{1,240})\]\[LINE:(?P<line>\d{1,7})\]"
)


@dataclass(frozen=True, slots=True)
class Head:
    """Who says a message, and the message. What is not told is "" or None.

    content: the whole line behind what a launcher put in front of it, with its blanks. time_us: microseconds
    since 1970 by the clock of the log, which names no time zone. tags: as in "[TaskExecStage][Timeout]".
    code: such as "EZ9999". is_log: a line of the log itself, not a console's.
    """

    message: str
    content: str
    origin: Origin
    pid: int | None
    time_us: int | None = None
    process: str = ""
    level: str = ""
    module: str = ""
    file: str = ""
    file_line: int | None = None
    thread: int | None = None
    function: str = ""
    tags: str = ""
    code: str = ""
    title: str = ""
    is_log: bool = False


def head_of(text: str) -> Head:
    """The head and the message of one line; of a line without a head, all of it is the message."""
    origin, content = split_prefix(text)
    found = _LOG.search(content, 0, 4096)
    if found is not None:
        return _log_head(found, origin, content)
    told = _TITLED.search(content, 0, 4096)
    coded = _CODED.search(content, 0, 4096)
    if coded is not None and (told is None or coded.start() < told.start()):
        told = coded
    trace = _TRACE.search(content)
    message = content[told.end() if told else 0 : trace.start() if trace else len(content)]
    return Head(
        message.strip(),
        content,
        origin,
        pid=int(told["pid"]) if told is not None and told["pid"] else origin.pid,
        time_us=time_us(told["time"]) if told is not None else None,
        file=trace["file"] if trace else "",
        file_line=int(trace["line"]) if trace else None,
        function=trace["function"] if trace else "",
        code=(told["code"] or "") if told is not None else "",
        title=(told.groupdict().get("title") or "") if told is not None else "",
    )


def stands(line: Line, head: Head) -> tuple[int, int, int, int | None, int | None, str, str]:
    """Where a record of one line stands and who wrote it, as the first fields of every record."""
    origin, process = bounded(head.origin.name), bounded(head.process)
    return line.number, line.byte, line.number, head.time_us, head.pid, process, origin


def _log_head(found: re.Match[str], origin: Origin, content: str) -> Head:
    at = found.end()
    place = _PLACE.match(content, at)
    at = place.end() if place else at
    thread = _THREAD.match(content, at)
    at = thread.end() if thread else at
    function = _FUNCTION.match(content, at)
    at = function.end() if function else at
    tags = _TAGS.match(content, at)
    at = tags.end() if tags else at
    coded = _CODED.search(content, at, at + 400)
    return Head(
        content[at:].strip(),
        content,
        origin,
        pid=int(found["pid"]),
        time_us=time_us(found["time"]),
        process=found["process"],
        level=found["level"],
        module=found["module"],
        file=place["file"] if place else "",
        file_line=int(place["line"]) if place else None,
        thread=next((int(n) for n in thread.groups() if n), None) if thread else None,
        function=function[1] if function else "",
        tags=tags[0] if tags else "",
        code=coded["code"] if coded else "",
        is_log=True,
    )


_EPOCH = datetime(1970, 1, 1)
_DIGITS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))


def time_us(text: str | None) -> int | None:
    """'2026-08-29-10:15:07.113.217' -> microseconds since 1970 by the same clock; None if it is no time."""
    if not text:
        return None
    try:
        year, month, day, hour, minute, second = (int(text[a:b]) for a, b in _DIGITS)
        whole = datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    since = whole - _EPOCH
    return (since.days * 86400 + since.seconds) * 1_000_000 + int(text[20:23]) * 1000 + int(text[24:27])
