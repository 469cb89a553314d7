"""Records of msMonitor in the forms that analyses take: an operator table, a timeline a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import BY_NAME
from .msmonitor_log import MonitorLog
from .operators import OperatorTable
from .timeline import NONE, Codes, HostCalls, Tasks, Timeline
from .type_names import COMMUNICATION, collective_type, core_type_of, type_in

_COLUMNS = ("device", "stream", "name", "op_type", "core_type", "start_ns", "duration_ns")


def operators_of(log: MonitorLog, device: int | None = None) -> OperatorTable:
    """Kernels and communication as an operator table, in order of their start.

    device: only those of it. op_type is taken from the name, which has it (aclnnMatmul_MatMulCommon_MatMulV2
    -> MatMulV2, hcom_allReduce__865_0_1 -> hcom_allReduce_); core_type as op_summary has it. There are no
    shapes, no waits and no counters in these records. Problems are those of the log.
    """
    is_kernel = _is_of(log.kernel_device, device)
    is_communication = _is_of(log.communication_device, device)
    kernels = log.kernels.taken(is_kernel)
    communication = log.communication.taken(is_communication)
    starts = np.concatenate([kernels.start_ns, communication.start_ns])
    order = np.argsort(starts, kind="stable")
    n = len(kernels)
    names, types, cores = _Texts(log.texts), _Texts(log.texts), _Texts(log.texts)
    name = np.concatenate([names.codes(kernels.name), names.codes(communication.name)])
    op_type = np.concatenate(
        [types.codes(kernels.name, type_in), types.codes(communication.name, collective_type)]
    )
    core = np.concatenate(
        [
            cores.codes(kernels.kind, core_type_of),
            np.full(len(communication), cores.code(COMMUNICATION) if len(communication) else NONE, np.int32),
        ]
    )
    arrays: dict[str, npt.NDArray[Any]] = {
        "device": np.concatenate([log.kernel_device[is_kernel], log.communication_device[is_communication]]),
        "stream": np.concatenate([kernels.stream, communication.stream]),
        "name": name,
        "op_type": op_type,
        "core_type": core,
        "start_ns": starts,
        "duration_ns": np.concatenate([kernels.duration_ns, communication.duration_ns]),
    }
    file = np.concatenate([log.kernel_file[is_kernel], log.communication_file[is_communication]])
    line = np.concatenate([log.kernel_line[is_kernel], log.communication_line[is_communication]])
    assert len(file) == n + len(communication)
    return OperatorTable(
        files=log.files,
        file=file[order],
        line=line[order],
        columns={column: BY_NAME[column] for column in _COLUMNS},
        arrays={column: values[order] for column, values in arrays.items()},
        labels={"name": names.texts, "op_type": types.texts, "core_type": cores.texts},
        encodings=("utf-8",) * len(log.files),
        has_inferred_types=True,
        n_dropped=log.n_dropped,
        problems=log.problems,
    )


def timelines_of(log: MonitorLog) -> tuple[Timeline, ...]:
    """A timeline for each device of the log; host calls and marks are those of the process."""
    calls = calls_of(log.calls)
    found = []
    for device in log.devices:
        kernels = log.kernels.taken(_is_of(log.kernel_device, device))
        communication = log.communication.taken(_is_of(log.communication_device, device))
        started = np.concatenate([kernels.connection, communication.connection])
        is_launch = np.isin(log.calls.connection, started[started != NONE])
        found.append(
            Timeline(
                source=log.files[0] if log.files else "",
                device=device,
                tasks=kernels,
                communication=communication,
                launches=log.calls.taken(is_launch),
                calls=calls,
                ranges=log.marks,
                is_cut=log.is_cut,
                problems=log.problems,
            )
        )
    return tuple(found)


def calls_of(calls: Tasks) -> tuple[HostCalls, ...]:
    """Host calls summed by level and name, the longest together first."""
    if not len(calls):
        return ()
    key = calls.kind.astype(np.int64) << 32 | calls.name
    order = np.argsort(key, kind="stable")
    firsts = np.flatnonzero(np.diff(key[order], prepend=key[order][0] - 1))
    duration, start = calls.duration_ns[order], calls.start_ns[order]
    totals = np.add.reduceat(duration, firsts)
    longest = np.maximum.reduceat(duration, firsts)
    first = np.minimum.reduceat(start, firsts)
    last = np.maximum.reduceat(start + duration, firsts)
    counts = np.diff(firsts, append=len(order))
    found = [
        HostCalls(
            _text(calls.kinds, int(calls.kind[order[at]])),
            _text(calls.names, int(calls.name[order[at]])),
            int(counts[i]),
            int(totals[i]),
            int(longest[i]),
            int(first[i]),
            int(last[i]),
        )
        for i, at in enumerate(firsts.tolist())
    ]
    return tuple(sorted(found, key=lambda one: (-one.total_ns, one.level, one.name)))


def _is_of(devices: npt.NDArray[np.int64], device: int | None) -> npt.NDArray[np.bool_]:
    is_of: npt.NDArray[np.bool_] = np.ones(len(devices), np.bool_) if device is None else devices == device
    return is_of


def _text(texts: Sequence[str], code: int) -> str:
    return texts[code] if code >= 0 else ""


class _Texts:
    """Codes of the log as codes of one column, which has only the texts that are in it."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._code_of: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._code_of)

    def code(self, text: str) -> int:
        """The code of a text; NONE for an empty one."""
        return self._code_of.setdefault(text, len(self._code_of)) if text else NONE

    def codes(self, codes: Codes, told: Any = None) -> Codes:
        """Each code by what `told` makes of its text."""
        used, places = np.unique(codes, return_inverse=True)
        texts = (_text(self._source, code) for code in used.tolist())
        found = [self.code(told(text) if told is not None and text else text) for text in texts]
        return np.array(found, np.int32)[places]
