"""Graph mode: overflow records of the device joined to the operator dumps that lie beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from npulse.core.calls.graph import GraphCall, GraphTensor, Reading, graph_calls, graph_dump, tensors_of
from npulse.core.calls.meetings import Meetings
from npulse.core.errors import InputError
from npulse.core.files import shown_path, stamp_of
from npulse.core.findings import Problem
from npulse.core.formats.cann.names import full_name, is_known, parse_dump_name, read_mapping
from npulse.core.formats.cann.opdebug import OverflowEntry, OverflowRecord, read_opdebug
from npulse.core.formats.cann.stats import StatRow
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, check
from npulse.core.run.folders import is_fresh
from npulse.core.run.model import Artifact
from npulse.core.tails import Tails

from .criteria import Settings
from .health import COUNTS, MINUS, NAN, PLUS, Health, from_statistics
from .places import Places, find_places, kinds_in
from .ranks import RankOverflow
from .scan import Scan, scan
from .walk import walk

KINDS = frozenset(("cann.dump", "cann.opdebug", "cann.stats", "cann.exception"))


@dataclass(frozen=True, slots=True)
class Joined:
    """What one unit reported, and the call that it means: its number in the folder's dump, -1 for none."""

    record: OverflowRecord
    entry: OverflowEntry
    call: int


@dataclass(frozen=True, slots=True)
class GraphPart:
    """One folder of graph-mode dumps. joined: in the order of time. exceptions: calls of exception dumps.

    places: where bad elements lie, by leaf row. is_growing: in a run that is followed, files still come.
    """

    rank: RankOverflow
    calls: tuple[GraphCall, ...]
    joined: tuple[Joined, ...]
    exceptions: tuple[int, ...]
    places: dict[int, Places]
    is_growing: bool = False


def read_graph(
    root: Path,
    others: Sequence[Artifact],
    settings: Settings,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[GraphPart, ...]:
    """Every folder of graph-mode dumps among the artifacts, read in full."""
    folders: dict[Path, Artifact] = {}
    for artifact in others:
        if artifact.kind in KINDS and settings.rank in (None, artifact.rank):
            if settings.step in (None, artifact.step):
                folders.setdefault(_folder(artifact), artifact)
    read = partial(_read_folder, root=root, settings=settings, progress=progress, is_cancelled=is_cancelled)
    parts = (
        read(artifact, folder, problems=problems)
        if settings.tails is None
        else _read_on(artifact, folder, root, settings.tails, problems, read)
        for folder, artifact in folders.items()
    )
    return tuple(part for part in parts if part is not None)


def _read_on(
    artifact: Artifact,
    folder: Path,
    root: Path,
    tails: Tails,
    problems: list[Problem],
    read: Callable[..., GraphPart | None],
) -> GraphPart | None:
    """A folder that files still come to, looked at again where it has changed; one that is gone stays.

    What cannot be read of a file that is young may be half written, and is no problem yet.
    """
    is_growing = is_fresh(folder)
    name, stamp = ("graph", folder), (stamp_of(folder), is_growing)
    known: tuple[object, GraphPart | None, list[Problem]] | None = tails.kept.get(name)
    if known is None or is_growing or (known[0] != stamp and stamp[0] is not None):
        found: list[Problem] = []
        part = read(artifact, folder, problems=found)
        if is_growing:
            found = [problem for problem in found if not is_fresh(root / problem.artifact)]
            part = None if part is None else replace(part, is_growing=True)
        known = tails.kept[name] = stamp, part, found
    problems += known[2]
    return known[1]


def _folder(artifact: Artifact) -> Path:
    return artifact.path if os.path.isdir(artifact.path) else artifact.path.parent


def _read_folder(
    artifact: Artifact,
    folder: Path,
    root: Path,
    settings: Settings,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> GraphPart | None:
    relative = artifact.relative if artifact.path == folder else os.path.dirname(artifact.relative)
    calls = graph_calls(folder, root, problems, relative)
    records = list(_records(folder, root, problems))
    if not calls and not records:
        return None
    near_ratio = settings.criteria.near_ratio
    scans: list[Scan | None] = []
    counted: list[StatRow | None] = []
    places: dict[int, Places] = {}
    known: dict[tuple[str, str], tuple[object, Scan | None, Places | None]] = {}
    if settings.tails is not None:
        known = settings.tails.kept.setdefault(("known", "graph", folder), known)

    def read(call: GraphCall) -> Iterator[tuple[GraphTensor, Reading]]:
        check(is_cancelled)
        progress(Progress("scan", len(scans), None, "tensors"))
        for tensor in tensors_of(call, folder, root, problems):
            seen = known.get((tensor.file_name, tensor.io)) if tensor.file is not None else None
            stamp = stamp_of(Path(tensor.file.path)) if tensor.file is not None else None
            if seen is None or seen[0] != (stamp, near_ratio):
                found = _scanned(tensor, near_ratio, root, problems, is_cancelled)
                lie: Places | None = None
                if found is not None and tensor.file is not None and kinds_in(found):
                    lie = find_places(tensor.file, kinds=kinds_in(found), is_cancelled=is_cancelled)
                seen = (stamp, near_ratio), found, lie
                if found is not None:
                    known[tensor.file_name, tensor.io] = seen
            _, found, lie = seen
            if lie is not None:
                places[len(scans)] = lie
            scans.append(found)
            counted.append(tensor.statistics)
            yield tensor, _reading(found)

    dump = graph_dump(folder, calls, read, is_cancelled=is_cancelled)
    health = from_statistics(dump, near_ratio)
    for row, (found, row_counts) in enumerate(zip(scans, counted, strict=True)):
        if found is not None:
            health.put(row, found)
        elif row_counts is not None:
            _take_counts(health, row, row_counts)
    meetings = Meetings()
    roles = walk(dump, health, None, meetings)
    rank = RankOverflow(artifact, relative, root, dump, health, None, meetings, roles)
    joined = [join for record in records for join in _joined(record, calls)]
    exceptions = tuple(i for i, call in enumerate(calls) if call.is_exception)
    for origin in [origin for origin in roles.origins if origin.call in exceptions]:
        roles.drop(origin)  # what an operator held when it raised is told as such
    return GraphPart(rank, tuple(calls), tuple(joined), exceptions, places)


def _scanned(
    tensor: GraphTensor, near_ratio: float, root: Path, problems: list[Problem], is_cancelled: IsCancelled
) -> Scan | None:
    if tensor.file is None:
        return None
    try:
        return scan(tensor.file, near_ratio=near_ratio, may_map=False, is_cancelled=is_cancelled)
    except InputError as error:
        problems.append(Problem.from_error(error, shown_path(Path(tensor.file.path), root)))
        return None


def _reading(found: Scan | None) -> Reading:
    """Max and Min as the tool's own statistics would be: NaN before all, then the infinities."""
    if found is None:
        return None
    if found.n_nan:
        return np.nan, np.nan
    high = np.inf if found.n_plus_inf else -np.inf if np.isnan(found.max) else found.max
    low = -np.inf if found.n_minus_inf else np.inf if np.isnan(found.min) else found.min
    return float(high), float(low)


def _take_counts(health: Health, row: int, row_counts: StatRow) -> None:
    """What a statistics file counts; its Max and Min leave NaN and Inf out on some devices."""
    pairs = (
        ("nan", NAN, row_counts.nan_count),
        ("plus_inf", PLUS, row_counts.positive_inf_count),
        ("minus_inf", MINUS, row_counts.negative_inf_count),
    )
    for name, bit, n in pairs:
        if n is None or name not in COUNTS:
            continue
        health.counts[name][row] = n
        if n:
            health.flags[row] |= bit
            health.is_known[row] = True
            health.absmax[row] = np.nan if health.flags[row] & NAN else np.inf


def _records(folder: Path, root: Path, problems: list[Problem]) -> Iterator[OverflowRecord]:
    """The overflow records of a folder, one for each that the device wrote, in the order of time."""
    try:
        mapping = read_mapping(folder, root)
        names = sorted(os.listdir(folder))
    except (InputError, OSError):
        return  # told with the calls
    found: dict[tuple[int | None, ...], OverflowRecord] = {}
    for file in sorted(names, key=lambda name: (name.endswith((".npy", ".json")), name.endswith(".npy"))):
        name = parse_dump_name(full_name(file, mapping))
        if name is None or not name.is_overflow_record or name.suffix == "csv":
            continue
        key = (name.task_id, name.stream_id, name.timestamp, name.context_id, name.thread_id)
        if key in found:
            continue  # the same record as the converter wrote it
        try:
            record = read_opdebug(folder / file, root=root)
        except InputError as error:
            problems.append(Problem.from_error(error, shown_path(folder / file, root)))
            continue
        problems += record.problems
        found[key] = replace(record, timestamp=name.timestamp)
    yield from sorted(found.values(), key=lambda record: (record.timestamp or 0, record.path.name))


def _joined(record: OverflowRecord, calls: Sequence[GraphCall]) -> Iterator[Joined]:
    for entry in record.entries:
        if entry.is_set:
            matching = [i for i, call in enumerate(calls) if _is_of(entry, call)]
            yield Joined(record, entry, matching[0] if matching else -1)


def _is_of(entry: OverflowEntry, call: GraphCall) -> bool:
    """By the task and stream inside the record (those in its name are its own), and finer ids where known."""
    name = call.name
    if entry.task_id is None or name.task_id != entry.task_id or call.is_exception:
        return False
    pairs: Iterable[tuple[int | None, int | None]] = (
        (entry.stream_id, name.stream_id),
        (entry.context_id, name.context_id),
        (entry.thread_id, name.thread_id),
    )
    return all(a is None or not is_known(b) or a == b for a, b in pairs)
