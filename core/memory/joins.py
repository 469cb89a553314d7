"""Which operator a failing task was: (device, stream, task, flip) looked up in profiles and dump names.

The log itself names the kernel at best. A profile has the operator of a task but mostly no flip, so that one
task id stands for many launches: those that fit are narrowed down by the kernel's OpType and by time, and
what is left stays a list. Nothing is opened here: tables, names and records come from readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.cann.names import DumpName, is_known, parse_dump_name
from npulse.core.formats.cann.opdebug import OverflowRecord
from npulse.core.formats.profiling.tasks import NO_ID, TaskTable
from npulse.core.run.paths import device_and_step

from .faults import Fault, Task

How = Literal[
    "task and flip", "task", "task, latest before the error", "task, op type", "named in the log", "op type"
]
Kind = Literal["profile", "operator dump", "exception dump", "overflow record", "dump call"]

MAX_CANDIDATES = 16

_ALL_FOUR: Literal["task and flip"] = "task and flip"
_DAY_US = 86_400_000_000
_YEAR_2000_US = 946_684_800_000_000
_LOCAL_DIGITS = 17
_WITH_HASH = re.compile(r"(?P<op_type>.{1,400}?)_[0-9a-f]{16,64}(?:_|$)")
_OF_GRAPH = re.compile(r"-?\d{1,9}_\d{1,9}_\d{1,9}_(?P<name>.{1,400})")
_MIX = re.compile(r"_mix_ai[cv]$")
_ENGINE = re.compile(r"(?:AiCore|AiCpu|AICore|AICPU)$")
_OF_ACLNN = re.compile(r"aclnn\w{1,200}_\d{1,9}_L\d{1,3}")
_CALL = re.compile(r"(?P<prefix>\w+)\.(?P<api>[\w.]+?)\.\d+(?:\.(?:forward|backward).*)?")
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class JoinSource:
    """A row, a file name or a call that is the failing task, or may be.

    name: operator there, or file name. line: of the row, None of a file. how: on what it rests. batch: how
    often task ids had wrapped there, None if the source does not say. start_us: when it ran or was written,
    by the clock of the source. agrees: whether it is the kernel in the log by OpType or name, None where one
    of the two is not told. is_operator: False where `name` is that of a file or a kernel, which is none.
    """

    kind: Kind
    artifact: str
    line: int | None
    name: str
    how: How
    op_type: str = ""
    kernel: str = ""
    batch: int | None = None
    start_us: int | None = None
    agrees: bool | None = None
    is_operator: bool = True


@dataclass(frozen=True, slots=True)
class Joined:
    """What is known of the operator behind a fault.

    operator: its name, "" where no source tells it or where several fit and none stands out: then `sources`
    are the candidates. op_type, kernel: of the log, else of the sources. sources: the best one first, at most
    MAX_CANDIDATES of n_sources. is_likely: not all four of device, stream, task and flip were compared.
    contradicts: sources with the same task and another OpType than the log.
    """

    operator: str
    op_type: str
    kernel: str
    sources: tuple[JoinSource, ...] = ()
    is_likely: bool = False
    contradicts: tuple[JoinSource, ...] = ()
    n_sources: int = 0

    @property
    def is_ambiguous(self) -> bool:
        """True if several operators fit and nothing tells which one it was."""
        return not self.operator and len(self.names) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """The operators that the sources name, each once, the best one first; () where none does."""
        return tuple(dict.fromkeys(source.name for source in self.sources if source.is_operator))


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a CANN dump by its name. device: of the folder it lies in, None if that names none."""

    artifact: str
    name: DumpName
    device: int | None = None


@dataclass(frozen=True, slots=True)
class OverflowFile:
    """An overflow record that was read. device: of the folder it lies in."""

    artifact: str
    record: OverflowRecord
    device: int | None = None


def dump_file_of(artifact: str, full_name: str = "") -> DumpFile | None:
    """A file of a dump from its path relative to the run ("/" between parts); None if its name is of no dump.

    full_name: the name that a mapping gives for a short one.
    """
    *folders, last = artifact.split("/")
    name = parse_dump_name(full_name or last)
    if name is None:
        return None
    device = name.device_id if name.device_id is not None else device_and_step(folders)[0]
    return DumpFile(artifact, name, device)


def op_type_of(kernel_name: str) -> str:
    """The OpType in a kernel's name, "AddCustom" of "AddCustom_ab1b..._0_mix_aic"; "" if it has no hash."""
    found = _WITH_HASH.match(kernel_name)
    return found["op_type"] if found else ""


def join_fault(
    fault: Fault,
    tables: Sequence[TaskTable] = (),
    files: Iterable[DumpFile] = (),
    overflows: Iterable[OverflowFile] = (),
    calls: Iterable[tuple[str, Sequence[str]]] = (),
) -> Joined | None:
    """What the sources say of the operator behind a fault; None of a fault without task and kernel.

    calls: (artifact, names of msprobe calls in their order); they have no task ids, so they are candidates
    only where no profile tells the operator and the kernel's OpType is the API's name. Cost: one pass over
    the tables' columns.
    """
    task = fault.task or Task()
    kernel = f"{fault.figures.get('kernel_name') or fault.access.kernel or ''}"
    node = f"{fault.figures.get('node_name') or ''}"
    if not kernel and not node and fault.task is None:
        return None
    if task.task is None:  # newer devices have one number of 32 bits in place of id and flip
        number = fault.figures.get("task_sn")
        task = replace(task, task=number if isinstance(number, int) else None)
    wanted = _Wanted(fault, task, kernel, node, _told_op_type(fault, kernel))
    found = [source for table in tables for source in _rows_of(table, wanted)]
    found = _narrowed(found, wanted)
    if task.task is not None:
        found += [source for file in files if (source := _of_file(file, wanted)) is not None]
        found += [source for file in overflows if (source := _of_overflow(file, wanted)) is not None]
    found += _of_log(wanted, found)
    contradicts = tuple(source for source in found if source.agrees is False)
    fitting = [source for source in found if source.agrees is not False]
    if not any(source.kind == "profile" for source in fitting):
        fitting += [source for artifact, names in calls for source in _of_calls(artifact, names, wanted)]
    return _joined(wanted, fitting, contradicts)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the log says of the failing task. op_type: "" where it does not say."""

    fault: Fault
    task: Task
    kernel: str
    node: str
    op_type: str

    @property
    def graph_name(self) -> str:
        """The operator's name inside an old kernel name such as "2_0_11_GatherV2"."""
        found = _OF_GRAPH.fullmatch(self.kernel)
        return found["name"] if found else ""

    def agrees(self, op_type: str, *names: str) -> bool | None:
        """Whether an operator of this type and with these names can be the kernel in the log."""
        told = {_folded(name) for name in (self.node, self.graph_name, self.kernel) if name}
        if told & {_folded(name) for name in names if name}:
            return True
        if self.op_type and op_type:
            return _folded_type(self.op_type) == _folded_type(op_type)
        own_types = {op_type_of(name) for name in names} - {""}
        if self.op_type and own_types:
            return _folded_type(self.op_type) in {_folded_type(own) for own in own_types}
        return None


def _told_op_type(fault: Fault, kernel: str) -> str:
    """The OpType by the log. A reader hands out the whole kernel name where it has no hash: that is none."""
    told = f"{fault.figures.get('op_type') or ''}"
    return op_type_of(kernel) or ("" if told == kernel else told)


def _folded(name: str) -> str:
    return _MIX.sub("", name).lower()


def _folded_type(op_type: str) -> str:
    return _ENGINE.sub("", op_type).lower()


def _same(own: int | None, told: int | None) -> bool:
    """Ids fit unless both are there and differ."""
    return own is None or told is None or own == told


# ---- profiles ----


def _rows_of(table: TaskTable, wanted: _Wanted) -> list[JoinSource]:
    """The rows of one table with the ids of the task."""
    task = wanted.task
    if task.task is None or task.stream is None:
        return []
    fits = (table.task == task.task) & (table.stream == task.stream)
    if task.device is not None:
        fits &= (table.device == task.device) | (table.device == NO_ID)
    if task.flip is not None:
        fits &= (table.batch == task.flip) | (table.batch == NO_ID)
    rows = []
    for i in np.flatnonzero(fits).tolist():
        op_type = _text(table.op_types, int(table.op_type[i]))
        kernel = _text(table.kernels, int(table.kernel[i]))
        name = _text(table.names, int(table.name[i])) or kernel
        if not name and not op_type:
            continue  # an event or a copy, which has ids and no kernel
        batch, start_ns = int(table.batch[i]), int(table.start_ns[i])
        has_all = NO_ID not in (batch, int(table.device[i])) and None not in (task.flip, task.device)
        rows.append(
            JoinSource(
                "profile",
                table.artifact,
                int(table.line[i]),
                name,
                _ALL_FOUR if has_all else "task",
                op_type,
                kernel,
                None if batch == NO_ID else batch,
                None if start_ns == NO_ID else start_ns // 1000,
                wanted.agrees(op_type, name, kernel),
            )
        )
    return rows


def _text(texts: Sequence[str], code: int) -> str:
    return texts[code] if code >= 0 else ""


def _narrowed(rows: list[JoinSource], wanted: _Wanted) -> list[JoinSource]:
    """Of several launches with the same ids those that fit best, the best one first, the others behind it.

    Rows that agree with the kernel go before those of which that is not told. Those that contradict stay if
    nothing agrees, or if their flip is the same too: ids come again, so that without it another operator
    with the same ids contradicts nothing.
    """
    agreeing = [row for row in rows if row.agrees]
    if len({_key_of(row.name) for row in rows}) > 1:
        agreeing = [row if row.how == _ALL_FOUR else replace(row, how="task, op type") for row in agreeing]
    best = agreeing or [row for row in rows if row.agrees is None] or rows
    if any(row.how == _ALL_FOUR for row in best):
        best = [row for row in best if row.how == _ALL_FOUR]
    against = [row for row in rows if row.agrees is False and row.how == _ALL_FOUR and row not in best]
    when = wanted.fault.time_us
    before = [
        row
        for row in best
        if when is not None and row.start_us is not None and 0 <= when - row.start_us <= _DAY_US
    ]
    launches = {(row.artifact, row.start_us) for row in best if row.start_us is not None}
    if before and len(launches) > 1 and when is not None and when >= _YEAR_2000_US:
        latest = max(row.start_us or 0 for row in before)
        chosen = [row for row in before if row.start_us == latest]
        best = [
            *(replace(row, how="task, latest before the error") for row in chosen),
            *(row for row in best if row not in chosen),
        ]
    return best + against


def _key_of(name: str) -> str:
    """A name as a dump's file name has it, where some characters are replaced."""
    return re.sub(r"[ ./\\]", "_", name)


# ---- dumps ----


def _of_file(file: DumpFile, wanted: _Wanted) -> JoinSource | None:
    """A dump of the failing task by its name, or None. Its device is that of the folder."""
    name, task = file.name, wanted.task
    if name.task_id != task.task or not is_known(name.task_id) or name.is_overflow_record:
        return None
    if not _same(file.device, task.device):
        return None
    if is_known(name.stream_id) and not _same(name.stream_id, task.stream):
        return None
    operator, op_type = _words_of(name, wanted)
    agrees = wanted.agrees(op_type, operator, op_type)
    start_us = _written_us(name)
    when = wanted.fault.time_us
    if start_us is not None and when is not None and when >= _YEAR_2000_US and abs(start_us - when) > _DAY_US:
        return None  # of another run
    return JoinSource(
        "exception dump" if name.form == "exception" else "operator dump",
        file.artifact,
        None,
        operator or name.full,
        "task",
        op_type,
        _kernel_of(name),
        start_us=start_us,
        agrees=agrees,
        is_operator=_names_operator(name),
    )


def _words_of(name: DumpName, wanted: _Wanted) -> tuple[str, str]:
    """The operator and its OpType. In an exception's dump the two stand in either order."""
    if name.form != "exception" or not name.op_type or not name.op_name:
        return name.op_name, name.op_type
    first, second = name.op_type, name.op_name
    if _OF_ACLNN.fullmatch(second) or (
        wanted.agrees(first, first) and not wanted.agrees(second, second) and not _OF_ACLNN.fullmatch(first)
    ):
        return second, first
    return first, second


def _names_operator(name: DumpName) -> bool:
    """False of arguments alone ("exception_info"), and of what is called after a kernel."""
    return name.form == "dump" or bool(name.op_type and name.op_name)


def _kernel_of(name: DumpName) -> str:
    return name.op_name if name.form == "exception" and not name.op_type else ""


def _written_us(name: DumpName) -> int | None:
    """When a dump was written: 16 digits are microseconds, 17 the local date and time as a log has them."""
    if name.timestamp is None:
        return None
    text = str(name.timestamp)
    if len(text) != _LOCAL_DIGITS:
        return name.timestamp if len(text) == _LOCAL_DIGITS - 1 else None
    try:
        moment = datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000 + int(text[14:]) * 1000


def _of_overflow(file: OverflowFile, wanted: _Wanted) -> JoinSource | None:
    """An overflow record whose entry is of the failing task: the same operator overflowed as well."""
    task = wanted.task
    for entry in file.record.entries:
        if entry.is_set and entry.task_id == task.task:
            if entry.stream_id == task.stream and _same(file.device, task.device):
                name = file.artifact.rpartition("/")[2]
                stamp = file.record.timestamp
                return JoinSource(
                    *("overflow record", file.artifact, None, name, "task"), start_us=stamp, is_operator=False
                )
    return None


def _of_log(wanted: _Wanted, found: Sequence[JoinSource]) -> list[JoinSource]:
    """Dump files that the log itself says were written for this task, unless they are there already."""
    files = wanted.fault.figures.get("files") or ()
    there = {source.artifact.rpartition("/")[2] for source in found}
    made = []
    for path in files if isinstance(files, (tuple, list)) else ():
        last = f"{path}".rpartition("/")[2]
        name = parse_dump_name(last)
        if name is not None and last not in there and _same(name.task_id, wanted.task.task):
            operator, op_type = _words_of(name, wanted)
            made.append(
                JoinSource(
                    "exception dump",
                    wanted.fault.artifact,
                    None,
                    operator or last,
                    "named in the log",
                    op_type,
                    _kernel_of(name),
                    start_us=_written_us(name),
                    is_operator=_names_operator(name),
                )
            )
    return made


def _of_calls(artifact: str, names: Sequence[str], wanted: _Wanted) -> list[JoinSource]:
    """Calls whose API has the name of the OpType: no task id is in a dump, so none of them is picked."""
    if not wanted.op_type:
        return []
    op_type = _NO_LETTERS.sub("", _folded_type(wanted.op_type))
    made = []
    for name in names:
        found = _CALL.fullmatch(name)
        api = found["api"].rpartition(".")[2].lower().strip("_") if found else ""
        if api and _NO_LETTERS.sub("", api.removeprefix("npu_")) == op_type:
            made.append(JoinSource("dump call", artifact, None, name, "op type"))
    return made


# ---- the answer ----


def _joined(wanted: _Wanted, sources: list[JoinSource], contradicts: tuple[JoinSource, ...]) -> Joined:
    """The operator that the sources name, if they agree on one."""
    naming = [source for source in sources if source.kind in ("profile", "operator dump") and source.name]
    latest = [source for source in naming if source.how == "task, latest before the error"]
    if not naming:  # a profile has other names for the same operators
        naming = [source for source in sources if source.kind == "exception dump" and source.is_operator]
    operators = {_key_of(source.name): source.name for source in reversed(latest or naming)}
    if not operators and not contradicts:
        operators = {source.name: source.name for source in sources if source.kind == "dump call"}
    operator = ""
    if len(operators) == 1:
        (operator,) = operators.values()
    elif not operators:
        operator = wanted.node or wanted.graph_name
    named = {id(source) for source in naming}
    sources = sorted(sources, key=lambda source: id(source) not in named)
    types = {source.op_type for source in latest or naming if source.op_type}
    kernels = {source.kernel for source in latest or naming if source.kernel}
    return Joined(
        operator=operator,
        op_type=wanted.op_type or (types.pop() if len(types) == 1 else ""),
        kernel=wanted.kernel or (kernels.pop() if len(kernels) == 1 else ""),
        sources=tuple(sources[:MAX_CANDIDATES]),
        is_likely=bool(sources) and not any(source.how == _ALL_FOUR for source in naming),
        contradicts=contradicts[:MAX_CANDIDATES],
        n_sources=len(sources),
    )
