"""What a round holds that names the operator of a task: profiles, names of dumps, overflow records, calls.

Read only where a log tells of a failing task: the tables can have millions of rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from npulse.core.calls.rank import read_rank
from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.cann.names import full_name, parse_dump_name, read_mapping
from npulse.core.formats.cann.opdebug import read_opdebug
from npulse.core.formats.profiling.tasks import TaskTable, read_tasks
from npulse.core.formats.tensors import TensorError
from npulse.core.progress import IsCancelled, ProgressCallback, check
from npulse.core.run.model import Artifact

from .faults import Fault
from .joins import DumpFile, Joined, OverflowFile, dump_file_of, join_fault

TABLES = frozenset(
    ("prof.op_summary", "prof.task_time", "prof.kernel_details", "prof.l2_cache", "prof.aicpu")
)
FOLDERS = frozenset(("cann.dump", "cann.exception", "cann.opdebug"))
DUMPS = frozenset(("msprobe.dump",))
SOURCES = TABLES | FOLDERS | DUMPS

MAX_FILES = 100_000
"""Names of dump files that are looked at; a folder can hold more."""
MAX_DUMPS = 8
"""Rank-steps of msprobe whose calls are looked through: without task ids they are only candidates."""


@dataclass(frozen=True, slots=True)
class TaskSources:
    """Everything that was read to name operators. calls: (artifact, names of its calls in order)."""

    tables: tuple[TaskTable, ...] = ()
    files: tuple[DumpFile, ...] = ()
    overflows: tuple[OverflowFile, ...] = ()
    calls: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def join(self, fault: Fault) -> Joined | None:
        """The operator behind a fault; None where the sources say nothing of it."""
        joined = join_fault(fault, self.tables, self.files, self.overflows, self.calls)
        return joined if joined is not None and (joined.sources or joined.contradicts) else None


def read_task_sources(
    artifacts: Sequence[Artifact],
    root: Path,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> TaskSources:
    """What the artifacts of a round say of tasks; what cannot be read becomes a Problem."""
    tables: list[TaskTable] = []
    files: list[DumpFile] = []
    overflows: list[OverflowFile] = []
    calls: list[tuple[str, tuple[str, ...]]] = []
    for artifact in artifacts:
        check(is_cancelled)
        try:
            if artifact.kind in TABLES:
                table = read_tasks(artifact.path, root=root, progress=progress, is_cancelled=is_cancelled)
                problems += table.problems
                tables.append(table)
            elif artifact.kind in FOLDERS:
                _look_into(artifact, root, files, overflows, problems, is_cancelled)
            elif artifact.kind in DUMPS and len(calls) < MAX_DUMPS:
                dump = read_rank(artifact.path, root, progress, is_cancelled)
                calls.append((artifact.relative, tuple(dump.calls.names)))
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    return TaskSources(tuple(tables), tuple(files), tuple(overflows), tuple(calls))


def _look_into(
    artifact: Artifact,
    root: Path,
    files: list[DumpFile],
    overflows: list[OverflowFile],
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> None:
    """The dumps in the folder of an artifact by their names; overflow records are read."""
    folder = artifact.path if os.path.isdir(artifact.path) else artifact.path.parent
    relative = artifact.relative if artifact.path == folder else os.path.dirname(artifact.relative)
    mapping = read_mapping(folder, root, problems)
    for name in _names(folder, problems, relative):
        check(is_cancelled)
        if len(files) >= MAX_FILES:
            text = f"more than {MAX_FILES:,} dump files: the rest is not joined to tasks"
            problems.append(Problem(relative, "limit", text))
            return
        full = full_name(name, mapping)
        parsed = parse_dump_name(full)
        path = os.path.join(relative, name)
        if parsed is not None and parsed.is_overflow_record:
            _read_record(folder / name, path, root, overflows)
        elif (found := dump_file_of(path, full)) is not None:
            files.append(found)


def _names(folder: Path, problems: list[Problem], relative: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError as error:
        problems.append(Problem(relative, "unreadable", f"cannot be listed: {error.strerror}"))


def _read_record(path: Path, relative: str, root: Path, overflows: list[OverflowFile]) -> None:
    try:
        record = read_opdebug(path, root=root)
    except (InputError, TensorError):
        return  # the overflow area reads it too, and reports it
    name = dump_file_of(relative)
    overflows.append(OverflowFile(relative, record, name.device if name is not None else None))
