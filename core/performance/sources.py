"""Which artifacts of a round belong to one profile: by the folder of the session that wrote them.

Names only are looked at; `loading` opens the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.msmonitor_log import monitor_files
from npulse.core.formats.profiling.operator_files import OperatorFiles, newest_complete
from npulse.core.run.model import Artifact

OPERATORS = ("prof.kernel_details", "prof.op_summary")
"""Kinds of operator tables, the one with steps first."""
DATABASES = ("prof.torch_db", "prof.mindspore_db", "prof.msprof_db")
TRACES = ("prof.trace_view", "prof.msprof_trace")
MONITOR = "msmonitor.jsonl"
KERNELS = frozenset(("opprof.result",))
CLUSTERS = frozenset(("prof.cluster", "prof.cluster_db"))
RAW = frozenset(("prof.session", "prof.framework"))

ONE_RANK = frozenset(
    (
        *OPERATORS,
        *DATABASES,
        *TRACES,
        *("prof.op_statistic", "prof.task_time", "prof.step_trace", "prof.step_trace_time"),
        *("prof.api_statistic", "prof.communication", "prof.communication_matrix"),
        *("prof.communication_statistic", "prof.analysis_db", "prof.operator_details", "prof.memory"),
        *("prof.l2_cache", "prof.fusion_op", "prof.aicpu", "prof.counters", "prof.user_marks"),
        *("prof.minddata", "prof.profiler_info", "prof.session_info", "prof.session", "prof.framework"),
        *(MONITOR, "msmonitor.db", "device.npu_smi", "npulse.round"),
    )
)
"""Kinds that tell of one process."""
MEASURED = ONE_RANK - {
    *("prof.profiler_info", "prof.session_info", "prof.session", "prof.framework"),
    *("device.npu_smi", "npulse.round"),
}
"""Kinds with figures: a folder with none of them is no profile yet."""

_SESSION = re.compile(r"(?:.*_ascend_(?:pt|ms)|(?:.*_)?PROF_\d+_\d{10,20}_[0-9A-Za-z]+)")
_OUTPUT = re.compile(
    r"ASCEND_PROFILER_OUTPUT|mindstudio_profiler_output|analyze|summary|timeline|sqlite|data|query|host"
    r"|device_\d+|cluster_analysis_output|FRAMEWORK|PROF_\d+_\d{10,20}_[0-9A-Za-z]+"
)
_TIME = re.compile(r"(20\d{12})(?:\d{3})?(?=\D*$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProfileFiles:
    """The files of one profile. name: its folder below the run, with the file's where a folder has several.

    job: the folder that holds this and the other ranks' profiles. by_kind: newest export first. operators:
    the table with the rows, None where there is none.
    """

    name: str
    job: str
    rank: int | None
    by_kind: Mapping[str, tuple[Artifact, ...]]
    operators: OperatorFiles | None = None

    def first(self, *kinds: str) -> Artifact | None:
        """The newest artifact of the first of these kinds that is there."""
        return next((self.by_kind[kind][0] for kind in kinds if kind in self.by_kind), None)

    @property
    def is_measured(self) -> bool:
        """Whether there are figures; else only settings or raw data."""
        return any(kind in MEASURED for kind in self.by_kind)


def profiles_in(artifacts: Iterable[Artifact]) -> tuple[ProfileFiles, ...]:
    """The profiles of a round, in the order of ranks (those without one as they were found)."""
    groups: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        if artifact.kind in ONE_RANK and artifact.kind not in ("device.npu_smi", "npulse.round"):
            groups.setdefault(session_of(artifact), []).append(artifact)
    found: list[ProfileFiles] = []
    for folder, members in groups.items():
        found += _profiles_of(folder, members)
    order = {id(files): place for place, files in enumerate(found)}
    return tuple(
        sorted(found, key=lambda files: (files.job, files.rank is None, files.rank or 0, order[id(files)]))
    )


def session_of(artifact: Artifact) -> str:
    """The folder of the session that an artifact is of, relative to the run; "." for the run itself."""
    parts = PurePosixPath(artifact.relative).parts
    if artifact.kind not in RAW:
        parts = parts[:-1]
    for place, name in enumerate(parts):
        if _SESSION.fullmatch(name):
            return "/".join(parts[: place + 1])
    while parts and _OUTPUT.fullmatch(parts[-1]):
        parts = parts[:-1]
    return "/".join(parts) or "."


def _profiles_of(folder: str, members: list[Artifact]) -> list[ProfileFiles]:
    """One profile, and one more for each further table of rows or sums that belongs to no set, and for each
    further process of msMonitor."""
    by_kind: dict[str, list[Artifact]] = {}
    for artifact in members:
        by_kind.setdefault(artifact.kind, []).append(artifact)
    rank = next((a.rank for a in members if a.rank is not None), None)
    job = str(PurePosixPath(folder).parent) if folder != "." else "."
    tables = _operator_sets(by_kind)
    extra: list[ProfileFiles] = []
    for one in tables[1:]:
        path_of = {a.path: a for kind in OPERATORS for a in by_kind.get(kind, ())}
        kept = tuple(path_of[path] for path in one.files)
        name = str(PurePosixPath(kept[0].relative))
        extra.append(ProfileFiles(name, job, kept[0].rank, {kept[0].kind: kept}, one))
        for kind in OPERATORS:
            by_kind[kind] = [a for a in by_kind.get(kind, ()) if a not in kept]
    for kind in ("prof.op_statistic", "prof.step_trace_time", *TRACES):
        for artifact in _strangers(by_kind.get(kind, [])):
            by_kind[kind].remove(artifact)
            extra.append(ProfileFiles(artifact.relative, job, artifact.rank, {kind: (artifact,)}))
    for process in monitor_files([a.path for a in by_kind.get(MONITOR, ())])[1:]:
        kept = tuple(a for a in by_kind[MONITOR] if a.path in process.paths)
        by_kind[MONITOR] = [a for a in by_kind[MONITOR] if a.path not in process.paths]
        extra.append(ProfileFiles(kept[0].relative, job, process.rank, {MONITOR: kept}))
    kept_kinds = {
        kind: tuple(sorted(found, key=lambda a: (_exported(a), a.relative), reverse=True))
        for kind, found in by_kind.items()
        if found
    }
    first = ProfileFiles(folder, job, rank, kept_kinds, tables[0] if tables else None)
    return [first, *extra] if extra else [replace(first, name=folder)]


def _operator_sets(by_kind: Mapping[str, list[Artifact]]) -> list[OperatorFiles]:
    """The table to use first, and those beside it that are not another form of it."""
    for kind in OPERATORS:
        paths: list[Path] = [artifact.path for artifact in by_kind.get(kind, ())]
        if paths:
            return list(newest_complete(paths))
    return []


def _strangers(artifacts: list[Artifact]) -> list[Artifact]:
    """Files of one kind in one folder whose names tell no export: each is a table of its own."""
    by_folder: dict[Path, list[Artifact]] = {}
    for artifact in artifacts:
        by_folder.setdefault(artifact.path.parent, []).append(artifact)
    return [
        artifact
        for members in by_folder.values()
        if len(members) > 1
        for artifact in sorted(members, key=lambda a: a.relative)[1:]
        if not _exported(artifact) and "_slice_" not in artifact.path.name
    ]


def _exported(artifact: Artifact) -> str:
    """The time of the export in a file's name, "" where it has none."""
    found = _TIME.search(artifact.path.stem)
    return found[1] if found else ""
