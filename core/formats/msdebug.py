"""A copied msDebug session: where kernels stopped, on which core, and what was shown of memory and registers.

msDebug writes no files; this is the text of a terminal, as somebody saved it. Columns of its tables differ
between versions and are found by their header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ..files import shown_path
from .log_lines import Line, LineCutter, LogNotes, bounded, read_records, text_of

MAX_RECORDS = 200_000
_MAX_CHARS = 16384
_MAX_VALUES = 1024

TableName = Literal["devices", "cores", "tasks", "stream", "blocks", "threads", "summary", "memory"]


@dataclass(frozen=True, slots=True)
class _Shown:
    """Where a record stands, and the command that showed it ("" before the first)."""

    line: int
    byte: int
    command: str


@dataclass(frozen=True, slots=True)
class SessionStart(_Shown):
    """What is debugged: a program, or the core file of a kernel that failed."""

    path: str
    is_core_file: bool


@dataclass(frozen=True, slots=True)
class KernelLaunch(_Shown):
    """A kernel was started."""

    kernel: str
    device_id: int


@dataclass(frozen=True, slots=True)
class Focus(_Shown):
    """The core that all that follows is about. kernel: may be cut at 64 characters; "" if not told."""

    kernel: str
    core_id: int
    core_type: str
    thread: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Frame(_Shown):
    """One line of a call stack. column: None if not told. source_line 0 is unknown."""

    index: int
    is_selected: bool
    pc: int
    module: str
    function: str
    path: str
    source_line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Stop(_Shown):
    """The debugger stopped, or tells again where it is: why, in which kernel and core, at which line.

    reason: "breakpoint 1.1", "step over", "MTE_ERROR" and so on. Of a core file only the program counter is
    sure, and it lies some instructions behind the fault. code_text: the source line, if it was shown.
    """

    reason: str
    process: str
    kernel: str
    core_id: int | None
    core_type: str
    frame: Frame | None
    code_text: str


@dataclass(frozen=True, slots=True)
class CoreState(_Shown):
    """One row of 'ascend info cores'. None and "" where the table has NA or no such column.

    reason: why it stopped; is_exception: the column is called so, as for core files.
    """

    is_focus: bool
    core_id: int | None
    core_type: str
    device_id: int | None
    stream_id: int | None
    task_id: int | None
    block: int | None
    pc: int | None
    reason: str
    is_exception: bool
    path: str
    source_line: int | None


@dataclass(frozen=True, slots=True)
class InfoRow(_Shown):
    """One row of another table, such as 'ascend info devices'. cells: column to text, as printed; NA is None.

    table "summary": the cores of a core file; "memory": what memory it holds.
    """

    table: TableName
    is_focus: bool
    cells: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class MemoryShown(_Shown):
    """One line of 'memory read'. space: "UB", "GM" and so on, element: "float32[]", as the command asked."""

    address: int
    space: str
    element: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegisterShown(_Shown):
    """One register. note: what is told behind the value, such as the place of a program counter."""

    name: str
    value: int
    note: str


@dataclass(frozen=True, slots=True)
class VariableShown(_Shown):
    """One variable, its first line only: '(uint32_t) totalLength = 16384'."""

    type_name: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Breakpoint(_Shown):
    """A break point that was set; path "" if it has no place yet."""

    number: int
    function: str
    path: str
    source_line: int | None
    column: int | None
    address: int | None


@dataclass(frozen=True, slots=True)
class DebuggerError(_Shown):
    """'error: ...' of the debugger."""

    text: str


MsdebugRecord = (
    SessionStart
    | KernelLaunch
    | Focus
    | Frame
    | Stop
    | CoreState
    | InfoRow
    | MemoryShown
    | RegisterShown
    | VariableShown
    | Breakpoint
    | DebuggerError
)

# ---- lines ----

_PROMPT = re.compile(r"\(msdebug\) ?(.{0,4000})", re.DOTALL)
_TARGET = re.compile(r"(?:Current executable set to|Core file) '(.{1,4096}?)' \(")
_LAUNCH = re.compile(r"\[Launch of Kernel (.{1,1024}) on Device (-?\d{1,6})\]")
_FOCUS = re.compile(
    r"\[Switching to focus on (?:Kernel (?P<kernel>.{1,1024}), )?CoreId (?P<core>\d{1,6}), "
    r"Type (?P<type>\w{1,16})(?:, Thread \((?P<x>\d{1,9}), ?(?P<y>\d{1,9}), ?(?P<z>\d{1,9})\))?\]"
)
_STOPPED = re.compile(
    r"\*? *thread #\d{1,9}(?:, name = '(?P<name>[^']{0,400})')?, stop reason = (?P<reason>.{1,1024})"
)
_FRAME = re.compile(
    r" *(?P<star>\* )?frame #(?P<index>\d{1,6}): 0x(?P<pc>[0-9a-fA-F]{1,16})(?: (?P<rest>.*))?"
)
_PLACE = re.compile(r"(?P<path>.{1,4096}?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?")
_ARROW = re.compile(r"-> (\d{1,9})\s?(.*)")
_MEMORY = re.compile(r" *0x([0-9a-fA-F]{1,16}): \{(.*)")
_ASKED = re.compile(r"(?:^|\s)-(?:m|f|-memory|-format)[ =]?(\S{1,64})")
_REGISTER = re.compile(r" *([A-Z][A-Z0-9_]{0,63}) = 0[xX]([0-9a-fA-F]{1,32})(?:\s+(.*))?$")
_VARIABLE = re.compile(r"\((.{1,1024}?)\) (\$?\w{1,200}) = (.*)")
_BREAKPOINT = re.compile(r"Breakpoint (\d{1,9}): (.*)")
_ADDRESS = re.compile(r"address = 0x([0-9a-fA-F]{1,16})")
_PAIR = re.compile(r"\([^()]{1,100}\)|\S+")

# First two columns -> table. "To ThreadIdx" and "stop reason" are one column each.
_TABLES: Mapping[tuple[str, str], TableName] = {
    ("device", "aic_num"): "devices",
    ("coreid", "type"): "cores",
    ("device", "stream"): "tasks",  # or stream or blocks: told by the last column
    ("coreid", "coretype"): "summary",
    ("id", "datatype"): "memory",
    ("threadidx", "to"): "threads",
}
_BY_LAST: Mapping[str, TableName] = {"invocation": "tasks", "type": "stream", "block": "blocks"}


def _known(text: str) -> str:
    return "" if text == "NA" else bounded(text)


def _whole(text: str | None) -> int | None:
    if not text:
        return None
    text = text.partition("(")[0]  # "0x124000000000(invalid)"
    if text[:2] in ("0x", "0X") and re.fullmatch(r"[0-9a-fA-F]{1,16}", text[2:]):
        return int(text, 16)
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def _split_place(text: str) -> tuple[str, int | None, int | None]:
    """'add_custom.cpp:54:9' -> path, line, column."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return bounded(text), None, None
    column = int(found["column"]) if found["column"] else None
    return bounded(found["path"]), int(found["line"]), column


@dataclass(slots=True)
class _Columns:
    """The table whose rows are being shown."""

    table: TableName
    names: list[str]


@dataclass(slots=True)
class _Pending:
    """A stop whose frame and source line may still come."""

    line: Line
    command: str
    reason: str
    process: str
    frame: Frame | None = None
    code_text: str = ""


@dataclass(slots=True)
class _State:
    """What earlier lines of the session said."""

    command: str = ""
    kernel: str = ""
    core_id: int | None = None
    core_type: str = ""
    columns: _Columns | None = None
    stop: _Pending | None = None
    records: list[MsdebugRecord] = field(default_factory=list)


class MsdebugReader:
    """Records as bytes come, in chunks cut anywhere. artifact: how problems name the file.

    A `Stop` comes when all of it has been seen: at the next prompt, stop or core, or at `finish`.
    """

    def __init__(self, artifact: str = "msdebug") -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes)
        self._state = _State()

    def feed(self, chunk: bytes) -> list[MsdebugRecord]:
        """The records that are complete with this chunk."""
        for line in self._lines.feed(chunk):
            _take(self._state, line, text_of(line, self._notes)[:_MAX_CHARS])
        return self._handed_out()

    def finish(self) -> list[MsdebugRecord]:
        """The rest, at the end of the session."""
        for line in self._lines.finish():
            _take(self._state, line, text_of(line, self._notes)[:_MAX_CHARS])
        _end_stop(self._state)
        return self._handed_out()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()

    def _handed_out(self) -> list[MsdebugRecord]:
        records, self._state.records = self._state.records, []
        return records


def _take(state: _State, line: Line, text: str) -> None:
    prompt = _PROMPT.match(text.lstrip())
    if prompt is not None:
        _end_stop(state)
        state.command, state.columns = bounded(prompt[1]), None
        return
    stands = (line.number, line.byte, state.command)
    columns = _columns_of(text)
    if columns is not None:
        state.columns = columns
    elif state.columns is not None and (row := _row(state.columns, text, stands)) is not None:
        state.records.append(row)
    else:
        state.columns = None
        if not _take_stop(state, line, text, stands):
            state.records += _shown(state, text, stands)


# ---- stops ----


def _take_stop(state: _State, line: Line, text: str, stands: tuple[int, int, str]) -> bool:
    stopped = _STOPPED.match(text)
    if stopped is not None:
        _end_stop(state)
        reason, process = bounded(stopped["reason"]), bounded(stopped["name"] or "")
        state.stop = _Pending(line, state.command, reason, process)
        return True
    if (frame := _FRAME.match(text)) is not None:
        record = _frame(frame, stands)
        state.records.append(record)
        if state.stop is not None and state.stop.frame is None:
            state.stop.frame = record
        return True
    if (focus := _FOCUS.match(text)) is not None:
        _end_stop(state)
        at = (int(focus["x"]), int(focus["y"]), int(focus["z"])) if focus["x"] else None
        kernel = bounded(focus["kernel"] or "")
        state.kernel, state.core_id = kernel or state.kernel, int(focus["core"])
        state.core_type = focus["type"]
        state.records.append(Focus(*stands, kernel, state.core_id, state.core_type, at))
        return True
    arrow = _ARROW.match(text)
    if arrow is not None and state.stop is not None:
        state.stop.code_text = state.stop.code_text or bounded(arrow[2])
    return arrow is not None


def _end_stop(state: _State) -> None:
    stop = state.stop
    if stop is not None:
        state.stop = None
        state.records.append(
            Stop(
                *(stop.line.number, stop.line.byte, stop.command, stop.reason, stop.process),
                *(state.kernel, state.core_id, state.core_type),
                frame=stop.frame,
                code_text=stop.code_text,
            )
        )


def _frame(found: re.Match[str], stands: tuple[int, int, str]) -> Frame:
    module, tick, function = (found["rest"] or "").partition("`")
    if not tick:
        module, function = "", module
    function, at, place = function.rpartition(" at ")
    path, source_line, column = _split_place(place) if at else ("", None, None)
    if source_line is None:  # " at " of a name, not of a place
        function, path = function + at + place, ""
    return Frame(
        *stands,
        index=int(found["index"]),
        is_selected=bool(found["star"]),
        pc=int(found["pc"], 16),
        module=bounded(module),
        function=bounded(function),
        path=path,
        source_line=source_line,
        column=column,
    )


# ---- single lines ----


def _shown(state: _State, text: str, stands: tuple[int, int, str]) -> Iterator[MsdebugRecord]:
    if (target := _TARGET.match(text)) is not None:
        yield SessionStart(*stands, bounded(target[1]), text.startswith("Core file"))
    elif (launch := _LAUNCH.match(text)) is not None:
        state.kernel = bounded(launch[1])
        yield KernelLaunch(*stands, state.kernel, int(launch[2]))
    elif (memory := _MEMORY.match(text)) is not None:
        space, element = _asked(state.command)
        told = memory[2].rstrip().removesuffix("}").split(maxsplit=_MAX_VALUES)
        values = tuple(bounded(value) for value in told[:_MAX_VALUES])
        yield MemoryShown(*stands, int(memory[1], 16), space, element, values)
    elif (register := _REGISTER.match(text)) is not None:
        yield RegisterShown(*stands, register[1], int(register[2], 16), bounded(register[3] or ""))
    elif (variable := _VARIABLE.match(text)) is not None:
        yield VariableShown(*stands, *(bounded(variable[n]) for n in (1, 2, 3)))
    elif (point := _BREAKPOINT.match(text)) is not None:
        yield _breakpoint(point, stands)
    elif text.startswith("error: "):
        yield DebuggerError(*stands, bounded(text[7:]))


def _asked(command: str) -> tuple[str, str]:
    """'memory read -m UB -f float32[] 0x0' -> ("UB", "float32[]")."""
    space = element = ""
    for found in _ASKED.finditer(command):
        if found[0].lstrip().startswith(("-m", "--m")):
            space = found[1]
        else:
            element = found[1]
    return bounded(space), bounded(element)


def _breakpoint(found: re.Match[str], stands: tuple[int, int, str]) -> Breakpoint:
    rest, _, tail = found[2].partition(", address = ")
    address = _ADDRESS.search("address = " + tail) if tail else None
    function, at, place = rest.removeprefix("where = ").rpartition(" at ")
    path, source_line, column = _split_place(place) if at else ("", None, None)
    if source_line is None:
        function, path = rest if at else "", ""
    _, _, name = function.rpartition("`")
    number = int(address[1], 16) if address else None
    return Breakpoint(*stands, int(found[1]), bounded(name), path, source_line, column, number)


# ---- tables ----


def _columns_of(text: str) -> _Columns | None:
    names = text.lstrip(" *").split(maxsplit=24)
    if len(names) < 3:
        return None
    table = _TABLES.get((names[0].lower(), names[1].lower()))
    if table == "tasks":
        last = _BY_LAST.get(names[-1].lower())
        if last is None:
            return None
        table = last
    elif table == "threads":
        names[1:3] = ["To ThreadIdx"]
    return _Columns(table, names) if table is not None else None


def _row(columns: _Columns, text: str, stands: tuple[int, int, str]) -> CoreState | InfoRow | None:
    """A row of the table; None if the line is none, which ends the table."""
    body = text.strip()
    is_focus = body.startswith("*")
    if columns.table == "threads":
        cells = _PAIR.findall(body.lstrip("* "))
    else:
        cells = body.lstrip("* ").split()
    if columns.table == "cores":
        return _core_row(columns.names, cells, is_focus, stands)
    if not cells or not (cells[0][0].isdigit() or cells[0].startswith(("(", "NA"))):
        return None
    if len(cells) < len(columns.names):
        return None
    names = columns.names
    cells[len(names) - 1 :] = [" ".join(cells[len(names) - 1 :])]
    told = {bounded(name): _known(cell) or None for name, cell in zip(names, cells, strict=True)}
    return InfoRow(*stands, columns.table, is_focus, told)


def _core_row(
    names: Sequence[str], cells: list[str], is_focus: bool, stands: tuple[int, int, str]
) -> CoreState | None:
    """The reason of a stop holds blanks: columns are counted from both ends, the rest is the reason."""
    lower = [name.lower() for name in names]
    has_place = lower[-2:] == ["filename", "line"]
    left = lower.index("pc") + 1 if "pc" in lower else len(lower)
    right = 2 if has_place else 0
    if len(cells) < left + right or not cells or not cells[0].isdecimal():
        return None
    told = dict(zip(lower[:left], cells[:left], strict=True))
    reason = " ".join(cells[left : len(cells) - right])
    return CoreState(
        *stands,
        is_focus=is_focus,
        core_id=_whole(told.get("coreid")),
        core_type=_known(told.get("type", "")),
        device_id=_whole(told.get("device")),
        stream_id=_whole(told.get("stream")),
        task_id=_whole(told.get("task")),
        block=_whole(told.get("block")),
        pc=_whole(told.get("pc")),
        reason=_known(reason),
        is_exception="exception" in lower,
        path=_known(cells[-2]) if has_place else "",
        source_line=_whole(cells[-1]) if has_place else None,
    )


# ---- whole sessions ----


@dataclass(frozen=True, slots=True)
class Msdebug:
    """All records of one session, in its order (a `Stop` behind its frames)."""

    path: Path
    records: tuple[MsdebugRecord, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def stops(self) -> tuple[Stop, ...]:
        """The stops alone."""
        return tuple(record for record in self.records if isinstance(record, Stop))


def read_msdebug(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Msdebug:
    """All records of a saved session, 200,000 at most; cost grows with its bytes, memory with its records.

    Problems (with line and byte): lines of more than 65,536 bytes or in neither UTF-8 nor GBK, more records
    than are kept, a file that fails or becomes shorter while it is read.
    Raises InputError (no such file, no regular file, a link out of `root`) and Cancelled.
    """
    reader = MsdebugReader(shown_path(path, root))
    records, problems = read_records(path, root, reader, MAX_RECORDS, progress, is_cancelled)
    return Msdebug(path, records, problems)
