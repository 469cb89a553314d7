"""From the files of a profile to a `Profile`: what each kind is read with, and which of several counts.

Tables come first (`load_tables`); timelines, which can have gigabytes, are put in afterwards
(`with_timelines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.communication import read_communication, read_communication_links
from npulse.core.formats.profiling.database.host import read_database_apis
from npulse.core.formats.profiling.database.operators import read_database_operators
from npulse.core.formats.profiling.database.settings import read_database_settings
from npulse.core.formats.profiling.database.timeline import read_database_timelines
from npulse.core.formats.profiling.follow import follow_msmonitor, follow_operators, follow_timelines
from npulse.core.formats.profiling.msmonitor import read_msmonitor
from npulse.core.formats.profiling.msmonitor_log import MonitorLog, monitor_files
from npulse.core.formats.profiling.msmonitor_views import operators_of as monitor_operators
from npulse.core.formats.profiling.msmonitor_views import timelines_of as monitor_timelines
from npulse.core.formats.profiling.operator_files import OperatorFiles
from npulse.core.formats.profiling.operators import NO_ID, OperatorTable, read_operators
from npulse.core.formats.profiling.records import ApiTotal, ProfilerSettings
from npulse.core.formats.profiling.settings import (
    merged,
    read_profiler_info,
    read_profiler_metadata,
    read_sample,
    read_session_info,
)
from npulse.core.formats.profiling.timeline import Timeline, no_tasks
from npulse.core.formats.profiling.trace_operators import operators_of
from npulse.core.formats.profiling.trace_timeline import read_timelines
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact
from npulse.core.tails import Tails

from .columns import ANALYSED
from .following import monitor_paths, operator_paths
from .operators.gone import Gone
from .profile import Profile
from .reading import Reading
from .sources import DATABASES, MONITOR, TRACES, ProfileFiles

LARGE_TRACE_BYTES = 8 << 30
"""Of a trace beside a database only the database is read; alone it is read up to its own limit."""


def load_tables(
    files: ProfileFiles,
    root: Path,
    problems: list[Problem],
    *,
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Profile, ...]:
    """The profile without its timeline, one a device that the operator table names; of msMonitor, whose lines
    are both, with it. What cannot be read becomes a problem in `problems`. tails: of a followed run; only
    what is new is read then. Raises Cancelled."""
    reading = Reading(files, root, problems, progress, is_cancelled, {}, tails)
    operators = _operators(reading)
    first = files.first
    from npulse.core.formats.profiling.steps import read_iterations, read_step_times
    from npulse.core.formats.profiling.totals import read_type_totals

    steps = reading.read(first("prof.step_trace_time"), read_step_times, "steps")
    analysis = first("prof.analysis_db")
    if steps is None and analysis is not None:
        from npulse.core.formats.profiling.database.steps import read_database_steps

        steps = reading.read(analysis, read_database_steps, "steps", **reading.steering)
    communications = reading.read(first("prof.communication"), read_communication, "communications")
    links = reading.read(first("prof.communication_matrix"), read_communication_links, "links")
    if analysis is not None and not communications:
        communications, links = _communication_of(reading, analysis)
    profile = Profile(
        root.name if files.name == "." else files.name,
        files.rank,
        operators=operators,
        steps=tuple(steps or ()),
        iterations=tuple(reading.read(first("prof.step_trace"), read_iterations, "iterations") or ()),
        types=tuple(reading.read(first("prof.op_statistic"), read_type_totals, "types") or ()),
        apis=tuple(_apis(reading)),
        communications=tuple(communications or ()),
        links=tuple(links or ()),
        settings=_settings(reading),
        sources=reading.sources,
        encodings=reading.encodings,
    )

    gone = dict(reading.kept.gone.get(files.name, {})) if reading.kept is not None else {}
    if gone:
        problems.append(_all_of(gone).problem(reading.sources.get("operators", files.name)))

    def made() -> tuple[Profile, ...]:
        profiles = _with_gone(tuple(_by_device(profile)), gone)
        if reading.monitor is None:
            return profiles
        return _attached(files, profiles, monitor_timelines(reading.monitor), reading.sources["operators"])

    return reading.again("profiles", (profile, reading.monitor, gone), made)


def _with_gone(profiles: tuple[Profile, ...], gone: Mapping[int, Gone]) -> tuple[Profile, ...]:
    """Each profile with the rows of its device that are kept no longer; the first one with those of none."""
    if not gone or not profiles:
        return profiles
    if len(profiles) == 1:
        return (replace(profiles[0], gone=_all_of(gone)),)
    first = profiles[0].device
    return tuple(
        replace(one, gone=_all_of({d: sums for d, sums in gone.items() if d in mine}))
        for one in profiles
        for mine in [{one.device, NO_ID} if one.device == first else {one.device}]
    )


def _all_of(gone: Mapping[int, Gone]) -> Gone:
    return sum(gone.values(), Gone())


def with_timelines(
    files: ProfileFiles,
    profiles: Sequence[Profile],
    root: Path,
    problems: list[Problem],
    *,
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Profile, ...]:
    """The same profiles with their timelines. A profile that has no rows gets those of its timeline."""
    if MONITOR in files.by_kind:
        return tuple(profiles)
    reading = Reading(files, root, problems, progress, is_cancelled, {}, tails)
    timelines = _timelines(reading)
    if not timelines and not any(profile.operators is not None for profile in profiles):
        timelines = _of_tasks(reading)
    if not timelines:
        return tuple(profiles)
    source = reading.sources["timeline"]
    return reading.again(
        "timelines", (source, *profiles, *timelines), lambda: _attached(files, profiles, timelines, source)
    )


def _attached(
    files: ProfileFiles, profiles: Sequence[Profile], timelines: Sequence[Timeline], source: str
) -> tuple[Profile, ...]:
    """Each profile with the timeline of its device."""
    by_device = {timeline.device: timeline for timeline in timelines}
    if len(profiles) == 1 and profiles[0].operators is None and len(timelines) > 1:
        profiles = [
            replace(profiles[0], name=f"{files.name} device {device}", device=device) for device in by_device
        ]
    done = []
    for profile in profiles:
        timeline = by_device.get(profile.device)
        if timeline is None and len(profiles) == 1 and timelines:
            timeline = max(timelines, key=lambda one: len(one.tasks))
        if timeline is None:
            done.append(profile)
            continue
        operators, sources = profile.operators, {**profile.sources, "timeline": source}
        if operators is None and len(timeline.tasks):
            operators = operators_of(timeline)
            sources["operators"] = source
        device = timeline.device if profile.device is None else profile.device
        done.append(replace(profile, timeline=timeline, operators=operators, sources=sources, device=device))
    return tuple(done)


def _apis(reading: Reading) -> Sequence[ApiTotal]:
    """Sums of host calls: of their own table, else of the database."""
    from npulse.core.formats.profiling.totals import read_api_totals

    artifact = reading.files.first("prof.api_statistic")
    if artifact is not None:
        return reading.read(artifact, read_api_totals, "apis") or ()
    return reading.read(reading.database("apis"), read_database_apis, "apis", **reading.steering) or ()


def _operators(reading: Reading) -> OperatorTable | None:
    """Rows of the newest export, else of a database, else of msMonitor."""
    files = reading.files
    if files.operators is not None:
        chosen = files.operators
        try:
            table = _operator_rows(reading, chosen)
        except InputError as error:
            reading.problems.append(Problem.from_error(error, _shown(reading.root, chosen.files[0])))
        else:
            if table is None:
                return None
            reading.problems += table.problems
            reading.problems += _set_problems(reading, chosen.missing, chosen.files, chosen.passed_over)
            reading.sources["operators"] = table.files[0] if table.files else ""
            reading.encodings.update(zip(table.files, table.encodings, strict=False))
            return table
    if MONITOR in files.by_kind:
        return _of_monitor(reading)
    database = reading.database("operators")
    if database is not None:
        found: OperatorTable | None = reading.read(database, read_database_operators, "", **reading.steering)
        if found is not None:
            reading.problems += found.problems
            reading.sources["operators"] = database.relative
            return found
    return None


def _operator_rows(reading: Reading, chosen: OperatorFiles) -> OperatorTable | None:
    """The rows of an export; None while a followed one has no header yet."""
    if reading.tails is None or reading.kept is None:
        return read_operators(chosen.files, root=reading.root, columns=ANALYSED, **reading.steering)
    name, kept = reading.files.name, reading.kept
    paths = operator_paths(kept, reading.tails, chosen, name)
    table, kept.followed[name] = follow_operators(
        paths,
        reading.tails,
        root=reading.root,
        columns=ANALYSED,
        name=name,
        let_go=lambda rows: kept.let_go(name, rows),
        **reading.steering,
    )
    return table


def _monitor_log(reading: Reading) -> MonitorLog | None:
    """The lines of msMonitor of one process, its files in the order in which they were written."""
    artifacts = reading.files.by_kind[MONITOR]
    processes = monitor_files([artifact.path for artifact in artifacts])
    paths = processes[0].paths if processes else tuple(artifact.path for artifact in artifacts)
    try:
        if reading.tails is None or reading.kept is None:
            return read_msmonitor(paths, root=reading.root, **reading.steering)
        name, kept = reading.files.name, reading.kept
        log, kept.followed[name] = follow_msmonitor(
            monitor_paths(kept, reading.tails, paths),
            reading.tails,
            root=reading.root,
            name=name,
            let_go=lambda rows: kept.let_go(name, monitor_operators(rows)),
            **reading.steering,
        )
        return log
    except InputError as error:
        reading.problems.append(Problem.from_error(error, artifacts[0].relative))
        return None


def _of_monitor(reading: Reading) -> OperatorTable | None:
    log = reading.monitor = _monitor_log(reading)
    if log is None:
        return None
    reading.problems += log.problems
    reading.sources["operators"] = log.files[0] if log.files else ""
    if reading.kept is None:
        return monitor_operators(log)
    rows: OperatorTable = reading.kept.again(
        ("rows", reading.files.name), (log,), lambda: monitor_operators(log)
    )
    return rows


def _set_problems(
    reading: Reading, missing: tuple[int, ...], paths: tuple[Path, ...], passed_over: tuple[Path, ...]
) -> Iterator[Problem]:
    """Slices that an export lacks, and newer exports that are not whole."""
    name = _shown(reading.root, paths[0])
    if missing:
        numbers = ", ".join(map(str, missing[:8]))
        yield Problem(
            name, "missing", f"slices {numbers} of this export are not here", hint="copy all slices"
        )
    for path in passed_over[:1]:
        message = "a newer export lacks a slice; the newest whole one is read instead"
        yield Problem(_shown(reading.root, path), "missing", message, hint="copy all slices")


def _timelines(reading: Reading) -> tuple[Timeline, ...]:
    """Of the database where there is one (it costs a fraction), else of the trace."""
    files = reading.files
    database = reading.database("timeline")
    trace = files.first(*TRACES)
    followed = {"tails": reading.tails} if reading.tails is not None else {}
    of_trace = follow_timelines if followed else read_timelines
    for artifact, reader, own in ((database, read_database_timelines, {}), (trace, of_trace, followed)):
        found: tuple[Timeline, ...] | None = reading.read(artifact, reader, "", **own, **reading.steering)
        kept = tuple(one for one in found or () if len(one.tasks) or len(one.communication) or one.recorded)
        if found:
            reading.problems += found[0].problems
        if kept and artifact is not None:
            reading.sources["timeline"] = artifact.relative
            return kept
    return ()


def _of_tasks(reading: Reading) -> tuple[Timeline, ...]:
    """The tasks of task_time, where there is neither a timeline nor a table of operators: names, types, times
    and streams are in it."""
    from npulse.core.formats.profiling.task_times import read_task_times

    artifact = reading.files.first("prof.task_time")
    found = reading.read(artifact, read_task_times, "", **reading.steering)
    if found is None or artifact is None:
        return ()
    reading.problems += found.problems
    reading.sources["timeline"] = artifact.relative
    nothing = no_tasks()
    return tuple(
        Timeline(found.artifact, device, tasks, communication=nothing, launches=nothing)
        for device, tasks in found.tasks.items()
        if len(tasks)
    )


def _communication_of(reading: Reading, analysis: Artifact) -> tuple[Any, Any]:
    from npulse.core.formats.profiling.database.communication import (
        read_database_communication,
        read_database_links,
    )

    return (
        reading.read(analysis, read_database_communication, "communications", **reading.steering),
        reading.read(analysis, read_database_links, "links", **reading.steering),
    )


def _settings(reading: Reading) -> ProfilerSettings:
    """What all files of settings say together; the first one that says a thing counts."""
    found = ProfilerSettings()
    for artifact in reading.files.by_kind.get("prof.profiler_info", ()):
        reader = read_profiler_metadata if "metadata" in artifact.path.name else read_profiler_info
        for one in reading.read(artifact, reader) or ():
            found = merged(found, one)
    database = reading.files.first(*DATABASES, "msmonitor.db")
    if database is not None:
        for one in reading.read(database, read_database_settings, **reading.steering) or ():
            found = merged(found, one)
    for artifact in reading.files.by_kind.get("prof.session_info", ()):
        if artifact.path.name.startswith("sample"):
            pair = reading.read(artifact, read_sample)
        elif artifact.path.name.startswith("info"):
            pair = reading.read(artifact, read_session_info)
        else:
            continue
        if pair is not None:
            reading.problems += pair[0].problems
            for one in pair[0].records:
                found = merged(found, one)
    return found


def _by_device(profile: Profile) -> Iterator[Profile]:
    """A profile a device, where the table has rows of several."""
    table = profile.operators
    devices = table.devices if table is not None else ()
    if table is None or len(devices) < 2:
        step_device = next((step.device for step in profile.steps if step.device is not None), None)
        yield replace(profile, device=devices[0] if devices else step_device)
        return
    numbers = table.values("device")
    for device in devices:
        mine = np.isin(numbers, (device, NO_ID)) if device == devices[0] else numbers == device
        yield replace(
            profile,
            name=f"{profile.name} device {device}",
            device=device,
            operators=table.taken(mine),
            steps=tuple(step for step in profile.steps if step.device in (None, device)),
            types=tuple(one for one in profile.types if one.device in (None, device)),
        )


def _shown(root: Path, path: Path) -> str:
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return str(path)
