"""Reads CANN's logs (plog, device logs) and consoles with such lines in them, as bytes come or whole files.

Kept is only what matters: AI Core exceptions (all lines of one joined), failed tasks, HCCL time-outs,
messages with error codes, and where Python noticed. Nothing is judged and nothing is grouped.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ...files import shown_path
from ..error_codes import ERROR_CODES, RESULT_WORDS, RETURN_WORDS
from ..log_lines import Line, LineCutter, LogNotes, bounded, read_records, text_of
from . import messages, tracebacks
from .heads import Head, head_of, stands
from .incidents import Incident, OpenIncidents, best
from .records import CodedError, HcclTimeout, Plog, PlogRecord, PythonError
from .switches import SWITCH, switch_told
from .timeouts import HCCL_MODULES, is_more_of_timeout, is_timeout, joined, may_be_timeout, timeout_of
from .tracebacks import Tracebacks

MAX_RECORDS = 50_000
_MAX_ORIGINS = 1024

_WORDS = (
    *(b"rror from device(", b"error occurs on the device(", b"The extend info"),
    *(
        b"Task run failed",
        b"Task run timeout",
        b"ask exception! ",
        b"retCode=0x",
        b"kernel exec",
        b"task exec",
    ),
    *(b" after execute:", b"tilingKey = ", b"[AIC_INFO] ", b"[Dump][Exception]", b"add error register"),
    *(b"Group[", b"], error_info: task_id ", b"ErrCode=", b"runtime result = ", b"rror code"),
    *(b"ERR0", b"[PID:", b"[ERROR] HCCL(", b"[ERROR] HCCP(", b"[ERROR] HCOM("),
    f"{SWITCH}=".encode(),
    *(tracebacks.BEGIN.encode(), tracebacks.INNER_ERROR.encode()),
)
_CODES = re.compile(rb"E(?:[A-Z]\d{4}|\d{5}): ")
# the literal digits stand first, so that a log without them is searched quickly
_KNOWN_RESULT = "507(?:" + "|".join(sorted(code[3:] for code in ERROR_CODES if code.startswith("507"))) + ")"
_RESULT_WORDS = (
    *(f"{word}{sign}" for word in RESULT_WORDS for sign in ("=", ":", " = ", ": ", "= ", " : ", " =", " :")),
    *(f"{word} " for word in RETURN_WORDS),
)
_RESULTS = re.compile(
    (_KNOWN_RESULT + "(?:" + "|".join(f"(?<={word}507...)" for word in _RESULT_WORDS) + ")").encode()
)


class PlogReader:
    """Records as bytes come, in chunks cut anywhere.

    A failing task is handed out when the log says that its stream failed, at the latest by `finish`;
    `pending` tells what is not handed out yet. artifact: how problems name the file.
    """

    def __init__(self, artifact: str = "plog") -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes, _WORDS, (_CODES, _RESULTS))
        self._records: list[PlogRecord] = []
        self._incidents = OpenIncidents(self._hand_out)
        self._tracebacks = Tracebacks(self._hand_out_error)
        self._is_blocking = False
        self._pids: OrderedDict[str, int] = OrderedDict()  # origin -> the pid that it last told
        self._waited: HcclTimeout | None = None  # the report of it may be the next line

    def feed(self, chunk: bytes) -> list[PlogRecord]:
        """The records that are complete with this chunk."""
        for line in self._lines.feed(chunk):
            self._take(line)
            self._lines.wants_all = self._tracebacks.is_reading
        return self._handed_out()

    def pass_over(self, chunk: bytes) -> list[PlogRecord]:
        """As `feed`, of bytes in which the caller knows that nothing of a record ends."""
        if self._lines.wants_all:
            return self.feed(chunk)
        for line in self._lines.pass_over(chunk):  # the first chunk of a log
            self._take(line)
        return self._handed_out()

    def finish(self) -> list[PlogRecord]:
        """The rest, at the end of the log: whatever is open, and the line without an end."""
        for line in self._lines.finish():
            self._take(line)
        self._settle_timeout()
        self._tracebacks.end_all()
        self._incidents.close_all()
        return self._handed_out()

    def pending(self) -> list[PlogRecord]:
        """What `finish` would hand out now, nothing is closed by asking."""
        waited = [self._waited] if self._waited is not None else []
        errors = [self._with_switch(error) for error in self._tracebacks.pending()]
        return [*waited, *self._incidents.pending(), *errors]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()

    def _handed_out(self) -> list[PlogRecord]:
        records = self._records[:]
        self._records.clear()
        return records

    def _hand_out(self, record: PlogRecord) -> None:
        self._records.append(record)  # a method of its own: a copy of the reader must not fill this list

    def _hand_out_error(self, error: PythonError) -> None:
        self._records.append(self._with_switch(error))

    def _with_switch(self, error: PythonError) -> PythonError:
        return replace(error, is_blocking=True) if self._is_blocking else error

    # ---- one line ----

    def _take(self, line: Line) -> None:
        head = self._with_pid(head_of(text_of(line, self._notes)[: 2 * messages.MAX_MESSAGE_CHARS]))
        message = head.message[: messages.MAX_MESSAGE_CHARS]
        if not may_be_timeout(head):
            self._settle_timeout()
        if not head.is_log:
            value = switch_told(head.content) if SWITCH in head.content else None
            if value is not None:
                self._is_blocking = value == "1"
                return
            if tracebacks.BEGIN in message:
                if message.startswith(tracebacks.BEGIN):
                    self._tracebacks.begin(line, replace(head.origin, pid=head.pid))
                return
            if head.code or head.title:
                self._tracebacks.end(head.origin)
            elif self._tracebacks.take(line, head.origin, head.content, head.time_us):
                if not head.content[:1].isspace():
                    self._take_code(line, head, message)
                return
            elif tracebacks.INNER_ERROR in message:
                self._tracebacks.told_alone(line, head.origin, message, head.pid, head.time_us)
                return
        if not self._take_task_line(line, head, message):
            self._take_other(line, head, message)

    def _with_pid(self, head: Head) -> Head:
        """A message in two lines, or one under a traceback of CANN, does not name its process again."""
        name = head.origin.name
        if head.pid is not None:
            self._pids[name] = head.pid
            self._pids.move_to_end(name)
            if len(self._pids) > _MAX_ORIGINS:
                self._pids.popitem(last=False)
            return head
        return replace(head, pid=self._pids.get(name))

    # ---- lines of a failing task ----

    def _take_task_line(self, line: Line, head: Head, message: str) -> bool:
        """True if the line tells something of a failing task."""
        if head.module in HCCL_MODULES:
            return False
        if self._take_run(line, head, message) or self._take_core(line, head, message):
            return True
        if self._take_fault(line, head, message):
            return True
        returned = messages.ret_told(message)
        if returned is not None:
            self._take_return(line, head, message, *returned)
            return True
        return self._take_detail(line, head, message)

    def _take_run(self, line: Line, head: Head, message: str) -> bool:
        run = messages.run_told(message)
        if run is None:
            return False
        numbers = run.numbers
        key = [numbers.get(name) for name in ("device_id", "stream_id", "task_id", "task_sn")]
        for known in self._incidents.of(head):
            task = known.task
            if [task.device_id, task.stream_id, task.task_id, task.task_sn] == key:
                known.touch(line, head)
                return True
        incident = self._incidents.begin(line, head)
        incident.touch(line, head)
        incident.told_run(run)
        returned = messages.ret_told(message)
        if returned is not None:
            incident.told_return(*returned)
            incident.has_return = False
        return True

    def _take_core(self, line: Line, head: Head, message: str) -> bool:
        core = messages.core_told(message)
        extend = messages.extend_told(message)
        if core is not None:
            where = (core.chip_id, core.die_id, core.core_id, core.serial_number)
            what = (core.error_code, core.error_number, core.pc_start, core.pc_current)
            if self._incidents.is_repeated("core", head.pid, *where, *what):
                for known in self._incidents.of(head):
                    known.awaits_extend = False
                return True
            incident = self._incident_of_core(line, head, core)
            incident.touch(line, head)
            incident.told_core(core, line, head)
        if extend is not None:
            latest = self._incidents.last_core(head)
            if latest is not None:
                latest.touch(line, head)
                latest.told_extend(extend)
        return core is not None or extend is not None

    def _incident_of_core(self, line: Line, head: Head, core: messages.CoreTold) -> Incident:
        """The newest one of the process on the core's device that is not told to its end."""
        where = (core.chip_id, core.die_id, core.serial_number)
        known = best(self._incidents.of(head), lambda one: one.fit_of_core(*where))
        return known if known is not None else self._incidents.begin(line, head)

    def _take_fault(self, line: Line, head: Head, message: str) -> bool:
        fault = messages.fault_told(message)
        if fault is None:
            return False
        numbers = fault.numbers
        stream, task = numbers.get("stream_id"), numbers.get("task_id", numbers.get("task_sn"))
        device = numbers.get("device_id")
        known = [i for i in self._incidents.of(head) if i.fit_of_device(device) is not None]
        same = [i for i in known if (i.task.stream_id, _task_of(i)) == (stream, task)]
        place = (device, stream, task, numbers.get("flip_num"))
        if self._incidents.is_repeated("fault", head.pid, *place, fault.kernel_name, fault.op_name):
            for incident in same[:1]:
                incident.touch(line, head)
            return True
        candidates = same or [i for i in known if not i.has_kernel]
        fitting = best(candidates, lambda one: one.fit_of_device(device))
        incident = fitting if fitting is not None else self._incidents.begin(line, head)
        incident.touch(line, head)
        incident.told_fault(fault)
        incident.focus = line.number
        return True

    def _take_return(self, line: Line, head: Head, message: str, code: int, text: str) -> None:
        stream = messages.fields_of(message).get("stream_id")
        is_repeated = self._incidents.is_repeated("return", head.pid, code)
        known = self._incidents.of(head)
        same = [i for i in known if stream is None or stream in (i.task.stream_id, i.task.report_stream_id)]
        if same:
            same[0].touch(line, head)
            same[0].told_return(code, text)
        elif not known and not is_repeated:
            incident = self._incidents.begin(line, head)
            incident.touch(line, head)
            incident.told_return(code, text)
            if stream is not None:
                incident.task = replace(incident.task, stream_id=stream)

    def _take_detail(self, line: Line, head: Head, message: str) -> bool:
        """Arguments, dumps, names and source lines: they belong to the failing task that was told last."""
        incident = self._incident_of_dump(line, head, message) or self._incidents.focused(head)
        if incident is None:
            return bool(messages.node_told(message) or messages.function_told(message))
        if not _told_detail(incident, message):
            return False
        incident.touch(line, head)
        return True

    def _incident_of_dump(self, line: Line, head: Head, message: str) -> Incident | None:
        """The task whose dump begins here: what follows is of it."""
        dump = messages.dump_told(message)
        if dump is None:
            return None
        device, stream, number, _ = dump
        known = self._incidents.of(head)
        same = [i for i in known if (i.task.stream_id, _task_of(i)) == (stream, number)]
        incident = best(same, lambda one: one.fit_of_device(device))
        if incident is not None:
            incident.focus = line.number
        return incident

    # ---- everything else ----

    def _take_other(self, line: Line, head: Head, message: str) -> None:
        if head.level in ("DEBUG", "INFO"):
            return
        if self._take_timeout(line, head, message):
            return
        self._take_code(line, head, message)

    def _take_timeout(self, line: Line, head: Head, message: str) -> bool:
        if not may_be_timeout(head) or not is_timeout(head, message):
            return False
        if is_more_of_timeout(message):
            return True
        found = timeout_of(stands(line, head), head, message)
        both = joined(self._waited, found)
        if both is None:
            self._settle_timeout()
        self._waited = both or found
        return True

    def _settle_timeout(self) -> None:
        if self._waited is not None:
            self._records.append(self._waited)
            self._waited = None

    def _take_code(self, line: Line, head: Head, message: str) -> None:
        returned = _RETURNED.search(message)
        code = head.code or (next(filter(None, returned.groups())) if returned else "")
        if not code:
            of_hccl = _HCCL_RESULT.search(message)
            if of_hccl is None:
                return
            code = f"HCCL {of_hccl[1]}"
        if code.isdecimal() and code.startswith("507"):
            self._incidents.close(head)
        self._settle_timeout()
        inner, who, api = _INNER_CODE.search(message), _WHO.search(message), _API.search(message)
        self._records.append(
            CodedError(
                *stands(line, head),
                code=code,
                text=bounded(message),
                title=bounded(head.title),
                api=bounded(api[1] if api else head.function),
                module=bounded(head.module),
                inner_code=int(inner[1], 16) if inner else None,
                device_id=int(who[1]) if who else None,
                rank=int(who[2]) if who and not who[2].startswith("-") else None,
            )
        )


_RETURNED = re.compile(
    r"ErrCode=(\d{6})\b|runtime result ?= ?(\d{6})\b|\b[eE]rror code(?: is|:|=)? ?(\d{6})\b|\b(ERR0\d{4})\b"
    rf"|\b(?:(?:{'|'.join(RESULT_WORDS)}) ?[=:] ?|(?:{'|'.join(RETURN_WORDS)}) )"
    rf"({_KNOWN_RESULT})(?![\w.]*\w|\s*;)"
)
_HCCL_RESULT = re.compile(r"\bfunction error: Hccl.{0,400}?, error code is (\d{1,2})\b")
_INNER_CODE = re.compile(r"InnerCode=0x([0-9a-fA-F]{1,16})")
_WHO = re.compile(r"\(PID:\d{1,10}, Device:(-?\d{1,6}), RankID:(-?\d{1,9})\)")
_API = re.compile(r"function error: (\w{1,120})")


def _task_of(incident: Incident) -> int | None:
    task = incident.task
    return task.task_id if task.task_id is not None else task.task_sn


def _told_detail(incident: Incident, message: str) -> bool:
    """True if the message told the incident something."""
    if (args := messages.args_told(message)) is not None:
        incident.told_args(*args)
    elif (tiling := messages.tiling_told(message)) is not None:
        incident.told_tiling(*tiling)
    elif (begun := messages.begin_told(message)) is not None:
        incident.buffer_begun = begun
    elif (buffer := messages.buffer_told(message)) is not None:
        incident.told_buffer(*buffer)
    elif path := messages.file_told(message):
        incident.told_file(path)
    elif (found := messages.core_found(message)) is not None:
        incident.told_of_core(found)
    elif (group := messages.group_told(message)) is not None:
        incident.told_group(*group)
    else:
        return _told_names(incident, message)
    return True


def _told_names(incident: Incident, message: str) -> bool:
    task = incident.task
    if (dump := messages.dump_told(message)) is not None:
        device, stream, number, kernel = dump
        if task.task_id is None and task.task_sn is None:
            task = replace(task, device_id=device, stream_id=stream, task_id=number)
        if (task.stream_id, task.task_id) == (stream, number):
            task = replace(task, kernel_name=task.kernel_name or kernel, device_id=device)
    elif (registered := messages.registered_told(message)) is not None:
        if task.task_id is None and task.task_sn is None:
            task = replace(task, stream_id=registered[1], task_id=registered[2])
    elif (node := messages.node_told(message)) is not None:
        task = replace(task, node_name=task.node_name or node[0], node_type=task.node_type or node[1])
    elif name := messages.function_told(message):
        task = replace(task, function_name=task.function_name or name)
    else:
        return False
    incident.task = task
    return True


def read_plog(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Plog:
    """All records of a log file, 50,000 at most; cost grows with its bytes, memory with its records.

    Problems (with line and byte): lines of more than 65,536 bytes that would have mattered, lines in neither
    UTF-8 nor GBK, more records than are kept, a file that fails or becomes shorter while it is read.
    Raises InputError (no such file, no regular file, a link out of `root`) and Cancelled.
    """
    reader = PlogReader(shown_path(path, root))
    records, problems = read_records(path, root, reader, MAX_RECORDS, progress, is_cancelled)
    return Plog(path, records, problems)
