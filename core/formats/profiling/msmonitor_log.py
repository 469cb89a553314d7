"""What msMonitor wrote of one process: its files, and their records as arrays. `msmonitor` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from npulse.core.dataclass import dataclass

from ...findings import Problem
from .timeline import NONE, Codes, Integers, Span, Tasks

FILE_NAME = re.compile(r"msmonitor_(\d{1,10})_(\d{14,20})_(-?\d{1,9})\.jsonl", re.ASCII)
"""Process, time at which the file was begun, rank."""


@dataclass(frozen=True, slots=True)
class MonitorFiles:
    """Files of one process in the order in which they were written. rank: None where it is none."""

    pid: int
    rank: int | None
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class MonitorLog:
    """Records of one process; tasks in order of their start, arrays as long as theirs.

    kernels: kind is the task type (KERNEL_AICORE ...). communication: kind is the group; counts: elements,
    data_types, algorithms: codes into `texts` (NONE absent). calls: host calls, kind is API, AclAPI, NodeAPI
    or RuntimeAPI, stream the thread. *_device: NONE where it is not said. kernel_file -> files, kernel_line
    (from 1): where a kernel stands; for communication alike.
    marks: of the user on the host, device_marks: the same on the device. rank_devices: rank -> devices,
    groups: communicator -> ranks, group_labels: communicator -> the framework's name ("tp"); they are written
    at the end. others: kinds of records that are not read -> how many. n_lines: all that were looked at;
    n_dropped: those that could not be used. is_cut: a last line has no end.
    """

    files: tuple[str, ...]
    kernels: Tasks
    kernel_device: Integers
    kernel_file: Codes
    kernel_line: Integers
    communication: Tasks
    communication_device: Integers
    communication_file: Codes
    communication_line: Integers
    counts: Integers
    data_types: Codes
    algorithms: Codes
    calls: Tasks
    texts: Sequence[str]
    marks: tuple[Span, ...]
    device_marks: tuple[Span, ...]
    rank: int | None
    pid: int | None
    rank_devices: Mapping[int, tuple[int, ...]]
    groups: Mapping[str, tuple[int, ...]]
    group_labels: Mapping[str, str]
    others: Mapping[str, int]
    n_lines: int
    n_dropped: int
    is_cut: bool
    problems: tuple[Problem, ...]

    @property
    def devices(self) -> tuple[int, ...]:
        """Devices on which something ran."""
        found = {*self.kernel_device.tolist(), *self.communication_device.tolist()}
        return tuple(sorted(found - {NONE}))


def monitor_files(paths: Iterable[Path]) -> tuple[MonitorFiles, ...]:
    """Files by process, each process's in the order of the times in their names. Others are left out."""
    found: dict[tuple[int, int], list[tuple[str, Path]]] = {}
    for path in paths:
        if match := FILE_NAME.fullmatch(path.name):
            found.setdefault((int(match[3]), int(match[1])), []).append((match[2], path))
    return tuple(
        MonitorFiles(pid, None if rank < 0 else rank, tuple(path for _, path in sorted(group)))
        for (rank, pid), group in sorted(found.items())
    )
