"""The analysis of a round: every log read once, its faults grouped, joined to operators and source lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from time import monotonic

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.environment import SEED_WORDS_OF
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Artifact, Run
from npulse.core.run.settings import Setting, settings_in
from npulse.core.tails import Tails

from .cleanup import CleanUp, RoundSites, clean_up
from .criteria import Settings
from .debug_logs import operands_of, read_debug_logs, with_allocations
from .excerpts import Excerpt, excerpts_of
from .faults import Fault, Frame, LogTrust
from .followed import read_on, told_by
from .incidents import Incident, Secondary, incidents_of
from .joins import Joined
from .kinds import LOGS, nearness, rule_of
from .leaks import LeakCheck
from .logs import FaultLog, beside_their_logs
from .objects import objects_of, with_object_lines
from .places import SourceRoots, user_frame
from .sites import FindUserFrame, Key, Site, Sites
from .task_sources import SOURCES, TaskSources, read_task_sources
from .told import Told

FIRST_UPDATE_S = 0.25
"""When the sites so far are shown first; each time after twice as long, since each costs all sites."""
ENDED_EARLY = frozenset(("signal", "abnormal-exit", "interrupted", "cut-off", "unfinished-kernel"))

SETTINGS = (
    "MSANITIZER_MODE",
    "MSANITIZER_OUTPUT",
    "ASAN_OPTIONS",
    "ASCEND_LAUNCH_BLOCKING",
    "PYTORCH_NO_NPU_MEMORY_CACHING",
    "PYTORCH_NPU_ALLOC_CONF",
    "MSSANITIZER_ENABLE_DEBUG_LOG",
    "ASCEND_DUMP_SCENE",
)
"""Settings that decide what a log can show."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All that was found in a round.

    sites: in the order in which they should be looked at. incidents: failures on the device with what only
    followed; incident_of, secondary_of, joined: by the key of the site that an event became. excerpts:
    source text by site. operands: of the instruction, where msSanitizer's debug log is there. object_hint:
    what is missing here to read kernel objects that are at hand.
    stage: "reading" while logs are still being read, then "complete". n_faults: reports in the logs.
    n_left_out: those of sites beyond the limit.
    """

    root: Path
    round: str
    sites: tuple[Site, ...]
    trusts: tuple[LogTrust, ...]
    incidents: tuple[Incident, ...]
    checks: tuple[LeakCheck, ...]
    settings: Settings
    context: tuple[Setting, ...]
    roots: SourceRoots
    artifacts: tuple[Artifact, ...]
    problems: tuple[Problem, ...]
    incident_of: Mapping[Key, Incident] = field(default_factory=dict)
    secondary_of: Mapping[Key, tuple[Secondary, Incident]] = field(default_factory=dict)
    joined: Mapping[Key, Joined] = field(default_factory=dict)
    operands: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    excerpts: Mapping[Key, tuple[Excerpt, ...]] = field(default_factory=dict)
    cleanup: CleanUp | None = None
    stage: str = "complete"
    n_faults: int = 0
    n_left_out: int = 0
    object_hint: str = ""

    @property
    def is_blocking(self) -> bool:
        """Whether launches are known to have been synchronous, so that Python lines can be trusted."""
        return _is_blocking(self.context)

    @property
    def is_complete(self) -> bool:
        """True if every log shows all there was, and there is one."""
        return bool(self.trusts) and not self.problems and all(trust.is_complete for trust in self.trusts)


OnUpdate = Callable[[Memory], None]


def analyse(
    run: Run,
    round_name: str,
    artifacts: Sequence[Artifact],
    settings: Settings,
    *,
    earlier: Sequence[tuple[str, Sequence[Artifact]]] = (),
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Memory:
    """Read the logs of one round; earlier: (name, artifacts) of the rounds before, oldest first.

    on_update gets the sites so far while logs are read. A log that cannot be read is a Problem and the others
    are read; InputError where none can be. tails: of a run that is followed; only what is new is read.
    """
    root = run.path if os.path.isdir(run.path) else run.path.parent
    once = Tails().once if tails is None else tails.once
    roots = once("memory roots", settings.source_roots, lambda: SourceRoots(settings.source_roots))
    problems: list[Problem] = []
    context = settings_in(artifacts, root, SETTINGS, problems, each=SEED_WORDS_OF["sanitizer"])
    reading = _Reading(root, roots, problems, progress, is_cancelled, tails)

    def so_far() -> None:
        if on_update is not None:
            on_update(reading.memory(round_name, artifacts, settings, context, stage="reading"))

    first = reading.read(artifacts, so_far)
    if first is not None and not reading.trusts:
        raise first
    sources = None
    if reading.has_tasks:
        sources, unread = once(
            ("memory tasks", round_name),
            _signature(artifacts, SOURCES),
            lambda: _task_sources(artifacts, root, progress, is_cancelled),
        )
        problems += unread
    found = reading.memory(round_name, artifacts, settings, context, sources=sources)
    found = _completed(found, reading.user_frame, problems, progress, is_cancelled)
    before = [
        once(
            ("memory round", name),
            _signature(members, LOGS),
            partial(_round_sites, name, members, root, roots, is_cancelled),
        )
        for name, members in earlier
        if any(artifact.kind in LOGS for artifact in members)
    ]
    own = RoundSites(round_name, found.sites, found.trusts, ended_early(found.trusts))
    return _with(found, clean_up([*before, own]), is_cancelled)


def _completed(
    found: Memory,
    user_frame: FindUserFrame,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Memory:
    """With what lies beside the logs: kernel objects for program counters, the debug log for operands."""
    objects = objects_of(found.artifacts, found.root, found.settings.kernel_objects)
    resolved = with_object_lines(found.sites, objects, user_frame, problems, is_cancelled)
    logs = read_debug_logs(resolved.sites, found.artifacts, found.root, problems, progress, is_cancelled)
    return replace(
        found,
        sites=with_allocations(resolved.sites, logs),
        operands=operands_of(resolved.sites, logs),
        object_hint=resolved.hint,
        problems=tuple(problems),
    )


def ended_early(trusts: Iterable[LogTrust]) -> bool:
    """Whether a process was ended before all that it would have shown."""
    return any(ENDED_EARLY.intersection(trust.gaps) or trust.is_aborting for trust in trusts)


def _user_frame_in(roots: SourceRoots) -> FindUserFrame:
    """Finds the first frame of the user's own code."""

    def find(frames: tuple[Frame, ...]) -> Frame | None:
        place = user_frame(frames, roots)
        return None if place is None else frames[place]

    return find


class _Reading:
    """Collects what the logs of one round tell."""

    def __init__(
        self,
        root: Path,
        roots: SourceRoots,
        problems: list[Problem],
        progress: ProgressCallback,
        is_cancelled: IsCancelled,
        tails: Tails | None = None,
    ) -> None:
        self._root, self._roots = root, roots
        self._problems = problems
        self._progress, self._is_cancelled = progress, is_cancelled
        self._tails = tails
        self.user_frame = _user_frame_in(roots)
        self._told = Told(self.user_frame)
        self.trusts: list[LogTrust] = []

    def read(self, artifacts: Sequence[Artifact], so_far: Callable[[], None]) -> InputError | None:
        """Read all logs; the first error where one could not be opened."""
        logs = [artifact for artifact in artifacts if artifact.kind in LOGS]
        n_bytes, done = sum(log.size_bytes for log in logs), 0
        first: InputError | None = None
        pause = FIRST_UPDATE_S
        update_at = monotonic() + pause
        followed = []
        for artifact in logs:
            tell = partial(self._tell, done, n_bytes)
            try:
                if self._tails is not None:
                    read_on(artifact, self._root, self._tails, self.user_frame, tell, self._is_cancelled)
                    followed.append(artifact)
                    continue
                log = FaultLog(artifact.path, self._root, artifact.kind, artifact.relative)
                for faults in log.batches(tell, self._is_cancelled):
                    for fault in faults:
                        self._told.add(fault, len(self.trusts))
                    if monotonic() >= update_at:
                        so_far()
                        pause *= 2
                        update_at = monotonic() + pause
                self._problems += log.problems
                self.trusts.append(log.trust)
            except InputError as error:
                first = first or error
                self._problems.append(Problem.from_error(error, artifact.relative))
            finally:
                done += artifact.size_bytes
        for artifact in followed:
            assert self._tails is not None
            self._take(artifact, self._tails)
        return first

    def _take(self, artifact: Artifact, tails: Tails) -> None:
        """What a followed log told from its first byte on."""
        for name, told, end in told_by(artifact, tails):
            number = len(self.trusts)
            self._told.take(told, number, name)
            for fault in end.faults:
                self._told.add(fault, number)
            self._problems += end.problems
            self.trusts.append(end.trust)

    @property
    def has_tasks(self) -> bool:
        """Whether a log tells of a failing task or kernel that may be joined to an operator."""
        return any(fault.task is not None or fault.access.kernel for fault in self._told.events)

    def _tell(self, done: int, total: int, progress: Progress) -> None:
        self._progress(Progress("read", done + progress.done, total, "bytes"))

    def memory(
        self,
        round_name: str,
        artifacts: Sequence[Artifact],
        settings: Settings,
        context: tuple[Setting, ...],
        *,
        sources: TaskSources | None = None,
        stage: str = "complete",
    ) -> Memory:
        """What is known so far."""
        told_events = self._told.events
        events = Sites(self.user_frame)
        incidents = incidents_of(told_events, is_blocking=_is_blocking(context))
        followers = {id(one.fault): (one, incident) for incident in incidents for one in incident.secondary}
        by_root = {id(incident.root): incident for incident in incidents}
        for fault in told_events:
            events.add(fault, _group_of(fault, followers, by_root))
        of_events = events.snapshot()
        sites = (*self._told.sites.snapshot(), *of_events)
        incident_of = {site.key: by_root[id(site.first)] for site in of_events if id(site.first) in by_root}
        secondary_of = {
            site.key: followers[id(site.first)] for site in of_events if id(site.first) in followers
        }
        joined = {}
        if sources is not None:
            for site in of_events:
                found = sources.join(site.first)
                if found is not None:
                    joined[site.key] = found
        return Memory(
            root=self._root,
            round=round_name,
            sites=in_order(sites),
            trusts=beside_their_logs(self.trusts),
            incidents=incidents,
            checks=self._told.leaks.checks(self.trusts),
            settings=settings,
            context=context,
            roots=self._roots,
            artifacts=tuple(artifacts),
            problems=tuple(self._problems),
            incident_of=incident_of,
            secondary_of=secondary_of,
            joined=joined,
            stage=stage,
            n_faults=self._told.n_faults,
            n_left_out=self._told.sites.n_left_out + self._told.n_events_left_out,
        )


def _is_blocking(context: Iterable[Setting]) -> bool:
    """Whether launches are known to have been synchronous."""
    return any(one.name == "ASCEND_LAUNCH_BLOCKING" and one.value.strip() == "1" for one in context)


def _group_of(fault: Fault, followers: Mapping[int, object], by_root: Mapping[int, Incident]) -> str:
    """Keeps apart what began by itself, what only follows, and what nobody can tell."""
    if id(fault) in followers:
        return "follows"
    incident = by_root.get(id(fault))
    return "" if incident is None or incident.is_origin else "unknown"


_SEVERITIES = ("error", "warning", "info")


def in_order(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Errors first, among them what stands nearest to a cause, then the order in which it happened.

    The order of a log is not that of time: faults are written when a kernel ends, sorted within it. So
    kernels go in the order of the log, and within a kernel the lowest serial number, which is that of issue.
    """
    begins: dict[tuple[str, str], int] = {}
    for site in sites:
        of = site.first.artifact, site.first.access.kernel
        begins[of] = min(begins.get(of, site.first.line), site.first.line)

    def when(site: Site) -> tuple[object, ...]:
        first = site.first
        return (
            site.group == "follows",
            _SEVERITIES.index(first.severity),
            nearness(rule_of(first)),
            first.artifact,
            first.is_leak and first.figures.get("reach") == "indirect",  # goes with a direct one
            -site.total_bytes if first.is_leak else 0,
            begins[first.artifact, first.access.kernel],
            site.serial.first if site.serial is not None else 0,
            first.line,
            (first.byte, first.tool, first.kind),
        )

    return tuple(sorted(sites, key=when))


def _signature(artifacts: Iterable[Artifact], kinds: Collection[str]) -> tuple[object, ...]:
    """Changes where one of these artifacts does."""
    return tuple((one.path, one.size_bytes, one.modified_ns) for one in artifacts if one.kind in kinds)


def _task_sources(
    artifacts: Sequence[Artifact], root: Path, progress: ProgressCallback, is_cancelled: IsCancelled
) -> tuple[TaskSources, list[Problem]]:
    """What names operators, and what of it could not be read."""
    problems: list[Problem] = []
    return read_task_sources(artifacts, root, problems, progress, is_cancelled), problems


def _round_sites(
    name: str, artifacts: Sequence[Artifact], root: Path, roots: SourceRoots, is_cancelled: IsCancelled
) -> RoundSites:
    """An earlier round: what cannot be read in it makes it incomplete, and is told when it is looked at."""
    problems: list[Problem] = []
    reading = _Reading(root, roots, problems, ignore_progress, is_cancelled)
    reading.read(artifacts, lambda: None)
    found = reading.memory(name, artifacts, Settings(), ())
    trusts = () if problems else found.trusts
    return RoundSites(name, found.sites, trusts, ended_early(found.trusts))


def _with(found: Memory, cleanup: CleanUp | None, is_cancelled: IsCancelled) -> Memory:
    """With the comparison to earlier rounds, and with the source text around the sites."""
    check(is_cancelled)
    return replace(found, cleanup=cleanup, excerpts=excerpts_of(found.sites, found.roots))
