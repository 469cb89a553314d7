"""What of a device's tasks counts as work: kernels, communication, copies; waits and records do not.

One form for timelines and operator tables. Which task type is what follows the vendor's own overlap analysis:
events, notifications and copies are no computing; kernels that a collective is made of belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import NO_NS, NO_START, OperatorTable
from npulse.core.formats.profiling.timeline import NONE, Integers, Tasks, Timeline

Flags = npt.NDArray[np.bool_]

KERNEL, COMMUNICATION, COMMUNICATION_PART, COPY, WAIT = range(5)
"""What a task is: computing; a whole collective; a part of one; a move of memory; neither (events, marks)."""

_KERNEL_KINDS = (
    *("AI_CORE", "AICORE", "AI_VECTOR", "AIV", "MIX_AI", "AI_CPU", "AICPU", "DSA", "DVPP", "FFTS_PLUS"),
    *("KERNEL", "DPU", "FUSION"),
)
_WAIT_WORDS = (
    *("EVENT_", "NOTIFY", "WRITE_VALUE", "WRITE_BACK", "PLACE_HOLDER", "PROFILING_", "MEM_WAIT", "BARRIER"),
    *("CAPTURE_WAIT", "STARS_COMMON", "MAINTENANCE", "INVALID", "STREAM_SWITCH", "STREAM_ACTIVE", "LABEL_"),
    *("MODEL_EXECUTE", "MODEL_MAINTAINCE", "FLIP_NUM", "CONDITION"),
)
_COPY_WORDS = ("MEMCPY", "SDMA", "PCIE_DMA", "PCIEDMA", "UBDMA", "RDMA", "MEMSET")
_COMMUNICATION_KINDS = ("COMMUNICATION", "HCCL", "CCU")
_PART_ENDS = ("AicpuKernel", "AivKernel")
_MC2_WORDS = ("mc2", "kfc", "allgathermatmul", "matmulreducescatter", "matmulallreduce")
ARTEFACT_WORDS = ("MEM_WAIT_VALUE", "CAPTURE_WAIT")
"""Gaps behind these are made by the capture of a graph: nothing was idle."""


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """Tasks of one device in order of their start, an element a task.

    start_ns, duration_ns int64. role uint8: KERNEL, COMMUNICATION, COMMUNICATION_PART, COPY or WAIT. stream
    int64, NONE unknown. name, kind int32 codes into names and kinds, NONE absent. connection int64: what
    started it, NONE unknown. row int64: where it stands in the table it is of. assumed_kinds: task types that
    are not known here and count as kernels. step int64, NONE where the source says none.
    op_type int32 codes into op_types, empty where the source has no types.
    """

    start_ns: Integers
    duration_ns: Integers
    role: npt.NDArray[np.uint8]
    stream: Integers
    name: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    connection: Integers
    step: Integers
    row: Integers
    names: Sequence[str]
    kinds: Sequence[str]
    assumed_kinds: tuple[str, ...] = ()
    op_type: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    op_types: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def end_ns(self) -> Integers:
        ends: Integers = self.start_ns + self.duration_ns
        return ends

    def taken(self, rows: Flags | Integers) -> DeviceWork:
        """Some of the tasks, the names shared."""
        return replace(
            self,
            start_ns=self.start_ns[rows],
            duration_ns=self.duration_ns[rows],
            role=self.role[rows],
            stream=self.stream[rows],
            name=self.name[rows],
            kind=self.kind[rows],
            connection=_taken(self.connection, rows),
            step=_taken(self.step, rows),
            row=self.row[rows],
            op_type=self.op_type[rows] if len(self.op_type) else self.op_type,
        )

    def label(self, at: int) -> str:
        """Name of a task, its type where it has none."""
        if self.name[at] >= 0:
            return str(self.names[self.name[at]])
        return str(self.kinds[self.kind[at]]) if self.kind[at] >= 0 else ""


def _absent(n: int) -> Integers:
    """NONE for n tasks, without memory for them."""
    return np.broadcast_to(np.full(1, NONE, np.int64), n)


def _taken(values: Integers, rows: Flags | Integers) -> Integers:
    """Some of the values; of absent ones nothing is copied."""
    if values.strides != (0,):
        return values[rows]
    return _absent(int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows))


def role_of_kind(kind: str) -> tuple[int, bool]:
    """What a task type is, and whether it is a type that is known."""
    key = _key(kind)
    if key in ("", "N/A", "NA", "UNKNOWN"):
        return KERNEL, True
    if key == "HCCL_AI_CPU":
        return COMMUNICATION_PART, True
    if key.startswith(_COMMUNICATION_KINDS):
        return COMMUNICATION, True
    if any(word in key for word in _COPY_WORDS):
        return COPY, True
    if any(word in key for word in _WAIT_WORDS):
        return WAIT, True
    return KERNEL, key.startswith(_KERNEL_KINDS)


def is_artefact_name(name: str) -> bool:
    """True for tasks whose gap behind them is made by the capture of a graph."""
    key = _key(name)
    return any(word in key for word in ARTEFACT_WORDS)


def work_of_timeline(timeline: Timeline) -> DeviceWork:
    """Everything on the device's streams and the whole operations of the communication lanes."""
    tasks, communication = timeline.tasks, timeline.communication
    roles, assumed = _roles(tasks)
    roles[timeline.carriers & (roles == KERNEL)] = COMMUNICATION_PART
    n_names = len(tasks.names)
    names = (*tasks.names, *communication.names)
    name = np.concatenate((tasks.name, np.where(communication.name >= 0, communication.name + n_names, NONE)))
    kind = np.concatenate((tasks.kind, np.full(len(communication), NONE)))
    n = len(tasks) + len(communication)
    work = DeviceWork(
        start_ns=np.concatenate((tasks.start_ns, communication.start_ns)),
        duration_ns=np.concatenate((tasks.duration_ns, communication.duration_ns)),
        role=np.concatenate((roles, np.full(len(communication), COMMUNICATION, np.uint8))),
        stream=np.concatenate((tasks.stream, np.full(len(communication), NONE, np.int64))),
        name=name.astype(np.int32),
        kind=kind.astype(np.int32),
        connection=np.concatenate((tasks.connection, communication.connection)),
        step=np.full(n, NONE, np.int64),
        row=np.concatenate((np.arange(len(tasks)), np.arange(len(communication)))).astype(np.int64),
        names=names,
        kinds=tasks.kinds,
        assumed_kinds=assumed,
    )
    return _finished(work)


def work_of_operators(table: OperatorTable, usable: Flags | None = None) -> tuple[DeviceWork, int]:
    """Rows of an operator table that have a start and a duration, and how many have none.

    usable: bool mask of rows, None for all.
    """
    start, duration = table.values("start_ns"), table.values("duration_ns")
    wanted = np.ones(table.n_rows, bool) if usable is None else np.asarray(usable, bool)
    is_placed = wanted & (start != NO_START) & (duration != NO_NS)
    rows = np.flatnonzero(is_placed)
    name_column = "name" if (table.values("name") >= 0).any() else "op_type"
    n = len(rows)
    is_all = n == table.n_rows
    tasks = Tasks(
        start_ns=start if is_all else start[rows],
        duration_ns=duration if is_all else duration[rows],
        stream=table.values("stream")[rows],
        name=table.values(name_column)[rows],
        kind=table.values("core_type")[rows],
        connection=_absent(n),
        names=table.texts(name_column),
        kinds=table.texts("core_type"),
    )
    roles, assumed = _roles(tasks, op_types=(table.values("op_type")[rows], table.texts("op_type")))
    work = DeviceWork(
        tasks.start_ns,
        tasks.duration_ns,
        roles,
        tasks.stream,
        tasks.name,
        tasks.kind,
        tasks.connection,
        table.values("step")[rows] if "step" in table.arrays else _absent(n),
        rows,
        tasks.names,
        tasks.kinds,
        assumed,
        *_op_types(table, rows),
    )
    return _finished(work), int(wanted.sum()) - n


def _op_types(table: OperatorTable, rows: Integers) -> tuple[npt.NDArray[np.int32], Sequence[str]]:
    codes = table.values("op_type")[rows]
    return (codes, table.texts("op_type")) if (codes >= 0).any() else (np.zeros(0, np.int32), ())


def _roles(
    tasks: Tasks, op_types: tuple[npt.NDArray[np.int32], Sequence[str]] | None = None
) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
    """What each task is: by its type, by its name where it has none; then what belongs to collectives."""
    known = [role_of_kind(kind) for kind in tasks.kinds]
    by_kind = np.array([role for role, _ in known] + [KERNEL], np.uint8)  # the last one: no type
    roles: npt.NDArray[np.uint8] = by_kind[tasks.kind]
    named = [_role_of_name(name) for name in tasks.names]
    by_name = np.array([*named, KERNEL], np.uint8)
    no_kind = np.array([_is_none(kind) for kind in tasks.kinds] + [True], bool)[tasks.kind]
    roles = np.where(no_kind, by_name[tasks.name], roles).astype(np.uint8)
    # the scheduler's own tasks carry no name but their type; kernels of special engines have one
    scheduled = np.array(["STARS_COMMON" in kind.upper() for kind in tasks.kinds] + [False], bool)[tasks.kind]
    kinds = {_key(kind) for kind in tasks.kinds}
    is_plain = np.array([_is_none(name) or _key(name) in kinds for name in tasks.names] + [True], bool)[
        tasks.name
    ]
    roles[scheduled & ~is_plain] = KERNEL
    if op_types is None and (~is_plain & (roles == KERNEL)).any():
        # where kernels have names, a task that has none carries something else, e.g. a collective
        roles[is_plain & (roles == KERNEL)] = WAIT
    is_part = np.array([name.endswith(_PART_ENDS) for name in tasks.names] + [False], bool)[tasks.name]
    if op_types is not None:
        codes, texts = op_types
        is_part |= np.array([text.endswith(_PART_ENDS) for text in texts] + [False], bool)[codes]
    is_kernel = roles == KERNEL
    roles[is_kernel & is_part] = COMMUNICATION_PART
    # AI CPU tasks on the streams of fused computing and communication wait for peers
    is_ai_cpu = np.array(["CPU" in kind.upper() for kind in tasks.kinds] + [False], bool)[tasks.kind]
    is_fused = np.array([_is_mc2(name) for name in tasks.names] + [False], bool)[tasks.name]
    fused_streams = np.unique(tasks.stream[is_kernel & is_ai_cpu & is_fused & (tasks.stream != NONE)])
    roles[is_kernel & is_ai_cpu & np.isin(tasks.stream, fused_streams)] = COMMUNICATION_PART
    # moves on streams that notify peers are the collective's own
    is_notify = np.array(["NOTIFY" in kind.upper() for kind in tasks.kinds] + [False], bool)[tasks.kind]
    notifying = np.unique(tasks.stream[is_notify & (tasks.stream != NONE)])
    roles[(roles == COPY) & np.isin(tasks.stream, notifying)] = COMMUNICATION_PART
    counts = np.bincount(tasks.kind[tasks.kind >= 0], minlength=len(tasks.kinds))
    assumed = (
        kind for (_, is_known), kind, n in zip(known, tasks.kinds, counts, strict=True) if n and not is_known
    )
    return roles, tuple(assumed)


def _key(text: str) -> str:
    return "_".join(text.upper().split())


def _is_none(kind: str) -> bool:
    return kind.strip().upper() in ("", "N/A", "NA", "UNKNOWN")


def _role_of_name(name: str) -> int:
    """Of a task without a type: waits and copies are named after what they are, collectives hcom_."""
    if name.startswith(("hcom_", "Hcom")):
        return COMMUNICATION
    key = _key(name)
    if key.startswith(_COPY_WORDS):
        return COPY
    if key.startswith(("EVENT_", "NOTIFY_", "WRITE_VALUE", "PLACE_HOLDER", "PROFILING_", *ARTEFACT_WORDS)):
        return WAIT
    return KERNEL


def _is_mc2(name: str) -> bool:
    text = name.lower()
    return any(word in text for word in _MC2_WORDS)


def _finished(work: DeviceWork) -> DeviceWork:
    """In order; parts of collectives stand for them where no whole one is recorded."""
    if not (work.role == COMMUNICATION).any():
        is_kernel_part = work.role == COMMUNICATION_PART
        role = np.where(is_kernel_part, COMMUNICATION, work.role).astype(np.uint8)
        work = replace(work, role=role)
    if (work.start_ns[1:] >= work.start_ns[:-1]).all():
        return work
    order = np.argsort(work.start_ns, kind="stable")
    return work.taken(order)
