"""The operator table that a timeline holds, for folders that have no op_summary and no kernel_details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .cells import NO_ID, NO_START
from .columns import BY_NAME
from .operators import OperatorTable
from .timeline import NONE, Tasks, Timeline
from .type_names import COMMUNICATION, collective_type, core_type_of, type_in

# What the vendor's tables have no rows for: the scheduler's own tasks, copies, pieces of communication.
_NO_KERNEL = (
    *(
        "EVENT",
        "NOTIFY",
        "WRITE_VALUE",
        "WAIT_VALUE",
        "PLACE_HOLDER",
        "PROFILING_",
        "CAPTURE",
        "STARS_COMMON",
    ),
    *("MEMCPY", "MEMSET", "SDMA", "PCIE_DMA", "UBDMA", "RDMA", "WRITE_BACK", "INVALID", "HCCL_AI_CPU"),
    *("COMMUNICATION", "HCCL"),
)


def operators_of(timeline: Timeline) -> OperatorTable:
    """The kernels and whole communication operations of a timeline as an operator table, in order of start.

    Columns: device, stream, name, op_type, core_type (the task type, in the words of op_summary), start_ns,
    duration_ns; all others are absent. op_type is inferred from the name (`type_names`): traces do not tell
    it. Traces call vector kernels AI_CORE where tables have AI_VECTOR_CORE. As in the vendor's tables there
    are no rows for waits, copies and pieces of communication. Rows have no line in a file (0).
    """
    communication = timeline.communication
    tasks = _named_by_host(timeline)
    kernels = np.flatnonzero(_is_kernel(tasks) & ~timeline.carriers)
    n, n_all = len(kernels), len(kernels) + len(communication)
    start = np.concatenate([tasks.start_ns[kernels], communication.start_ns])
    order = np.argsort(start, kind="stable")
    name, names = _joined(tasks.name[kernels], tasks.names, communication.name, communication.names)
    op_type, types = _joined(
        *_typed(tasks.name[kernels], tasks.names, type_in),
        *_typed(communication.name, communication.names, collective_type),
    )
    own = [core_type_of(kind) for kind in tasks.kinds]
    of_collective = np.zeros(n_all - n, np.int32)
    core_type, core_types = _joined(tasks.kind[kernels], own, of_collective, (COMMUNICATION,))
    stream = np.concatenate([tasks.stream[kernels], np.full(n_all - n, NO_ID, np.int64)])
    arrays = {
        "stream": stream,
        "name": name,
        "op_type": op_type,
        "core_type": core_type,
        "start_ns": np.where(start < 0, NO_START, start),
        "duration_ns": np.concatenate([tasks.duration_ns[kernels], communication.duration_ns]),
    }
    if timeline.device is not None:
        arrays = {"device": np.full(n_all, timeline.device, np.int64), **arrays}
    return OperatorTable(
        files=(timeline.source,),
        file=np.zeros(n_all, np.int32),
        line=np.zeros(n_all, np.int64),
        columns={column: BY_NAME[column] for column in arrays},
        arrays={column: values[order] for column, values in arrays.items()},
        labels={"name": names, "op_type": types, "core_type": core_types},
        has_inferred_types=True,
        problems=timeline.problems,
    )


def _named_by_host(timeline: Timeline) -> Tasks:
    """The tasks; one without a name has that of the framework's operator that started it (level 0)."""
    tasks, framework = timeline.tasks, timeline.framework
    lacks = np.flatnonzero((tasks.name == NONE) & (tasks.connection >= 0))
    if not len(lacks) or not len(framework):
        return tasks
    order = np.argsort(framework.connection, kind="stable")
    at = np.searchsorted(framework.connection[order], tasks.connection[lacks])
    found = order[np.minimum(at, len(order) - 1)]
    codes = framework.name[found]
    is_there = (framework.connection[found] == tasks.connection[lacks]) & (codes >= 0)
    name = tasks.name.copy()
    name[lacks[is_there]] = codes[is_there] + len(tasks.names)
    return replace(tasks, name=name, names=(*tasks.names, *framework.names))


def _is_kernel(tasks: Tasks) -> npt.NDArray[np.bool_]:
    """By the task type; of tasks without one, by their name."""
    by_kind = np.array([_may_be_kernel(kind) for kind in tasks.kinds] + [True], np.bool_)
    by_name = np.array([_may_be_kernel(name) for name in tasks.names] + [True], np.bool_)
    found: npt.NDArray[np.bool_] = np.where(tasks.kind == NONE, by_name[tasks.name], by_kind[tasks.kind])
    return found


def _may_be_kernel(word: str) -> bool:
    key = "_".join(word.upper().split())
    return not any(part in key for part in _NO_KERNEL)


def _typed(
    codes: npt.NDArray[np.int32], names: Sequence[str], type_of: Callable[[str], str]
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """A column of names as a column of the types in them."""
    places: dict[str, int] = {}
    code_of = np.full(len(names) + 1, NONE, np.int32)
    for code in np.unique(codes[codes != NONE]).tolist():
        code_of[code] = places.setdefault(type_of(names[code]), len(places)) if names[code] else NONE
    return code_of[codes], tuple(places)


def _joined(
    left: npt.NDArray[np.int32],
    left_texts: Sequence[str],
    right: npt.NDArray[np.int32],
    right_texts: Sequence[str],
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Two columns of texts one behind the other; a text has one code in both."""
    texts = dict.fromkeys([*left_texts, *right_texts])
    code_of = {text: code for code, text in enumerate(texts)}
    parts = []
    for codes, own in ((left, left_texts), (right, right_texts)):
        table = np.array([*(code_of[text] for text in own), NONE], np.int32)
        parts.append(table[codes])
    return np.concatenate(parts), tuple(texts)
