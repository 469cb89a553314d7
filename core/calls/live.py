"""A rank-step whose capture may still be running: what its dump.json says so far, and what it does not yet.

The tool writes each tensor at once, and now and then the whole dump.json anew, in place: at any moment the
file can be empty or cut. An entry that was there once is not lost by that, and a tensor that no entry names
is nothing but pending: what it belongs to is not guessed while the capture runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.files import stamp_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.dump import GrowingDump, empty_dump
from npulse.core.formats.msprobe.orphans import TENSOR_FOLDERS, unnamed_files
from npulse.core.formats.msprobe.records import Dump
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.folders import is_fresh
from npulse.core.tails import Tails

from .rank import read_rank
from .tensors import TensorPlace

T = TypeVar("T")
JobT = TypeVar("JobT")

YOUNG_NS = 10 * 10**9
"""A file that cannot be read and is not older than this may be half written."""


@dataclass(frozen=True, slots=True)
class LiveRank:
    """dump: what is known of the rank-step. is_growing: it was written to within the last minute.

    n_pending: tensor files that the dump does not name yet, n_pending_calls: of so many calls; both 0 where
    nothing grows.
    """

    dump: Dump
    is_growing: bool = False
    n_pending: int = 0
    n_pending_calls: int = 0


def read_live_rank(
    path: Path, root: Path, tails: Tails, progress: ProgressCallback, is_cancelled: IsCancelled
) -> LiveRank:
    """The rank-step as it is now; what has not changed since the last look is not read again.

    Where nothing grows this is `read_rank`. A capture that is gone stays as it was last. Raises InputError
    where it was never read and cannot be, Cancelled.
    """
    tensors = _tensor_folder(path)
    is_growing = is_fresh(path) or (tensors is not None and is_fresh(tensors))
    seen = _Seen(stamp_of(path), None if tensors is None else stamp_of(tensors), is_growing)
    known: tuple[_Seen, LiveRank] | None = tails.kept.get(("rank", path))
    if known is not None and known[0] == seen:
        return known[1]
    previous = None if known is None else known[1].dump
    if seen.index is None and previous is not None:
        found = LiveRank(previous)
    elif is_growing:
        if known is not None and not (known[1].is_growing or _is_whole(known[1].dump)):
            previous = None  # it had seemed to be over, and was put together from what lay there
        dump = previous
        if dump is None or known is None or known[0].index != seen.index:
            dump = _as_it_grows(path, root, previous, tails, progress, is_cancelled)
        n_files, n_calls = (0, 0) if tensors is None else unnamed_files(tensors, root, dump, is_cancelled)
        found = LiveRank(dump, True, n_files, n_calls)
    elif known is not None and known[0].index == seen.index and _is_whole(known[1].dump):
        found = LiveRank(known[1].dump)  # the capture ended, and this is what its index says
    else:
        found = LiveRank(read_rank(path, root, progress, is_cancelled))
    tails.kept["rank", path] = seen, found
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """How the files of a rank-step were when they were looked at."""

    index: object
    tensors: object
    is_growing: bool


def _is_whole(dump: Dump) -> bool:
    return dump.completeness == "complete" and bool(dump.calls.names)


def read_beside(
    rank: LiveRank,
    name: str,
    tails: Tails,
    problems: list[Problem],
    read: Callable[[list[Problem]], T | None],
    *,
    wanted: object = None,
) -> T | None:
    """A file that is written with the dump (stack.json, construct.json), read again where it has changed.

    wanted: what is asked of it; read again where that has changed.

    One that is cut while the capture runs is what it was before, and no problem.
    """
    path = rank.dump.path.parent / name
    key, stamp = ("beside", path), (stamp_of(path), rank.is_growing, wanted)
    known: tuple[object, T | None, list[Problem]] | None = tails.kept.get(key)
    if known is None or known[0] != stamp:
        found: list[Problem] = []
        content = read(found)
        if rank.is_growing and found:
            content, found = (known[1] if known is not None else content), []
        known = tails.kept[key] = stamp, content, found
    problems += known[2]
    return known[1]


class KnownTensors(Generic[JobT]):
    """What earlier looks found out of tensors, by their files as they were then.

    places: the tensors of a job. Results are named tuples with a `row`, which is that of the job again.
    Without `take_stamps` nothing is known and nothing is kept.
    """

    def __init__(self, places: Callable[[JobT], tuple[TensorPlace, ...]]) -> None:
        self._places = places
        self._kept: dict[object, dict[tuple[str, ...], tuple[object, Any]]] = {}
        self._stamps: dict[tuple[str, ...], tuple[_Stamp, ...]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of any job."""
        return not any(self._kept.values())

    @property
    def is_keeping(self) -> bool:
        """Whether anything is kept: stamps have been taken."""
        return bool(self._stamps)

    def take_stamps(self, jobs: Sequence[JobT]) -> None:
        """Note how all files are, before any is read; what no job asks for any more is forgotten."""
        self._stamps = {self._name(job): tuple(map(_stamp, self._places(job))) for job in jobs}
        for kept in self._kept.values():
            for name in kept.keys() - self._stamps.keys():
                del kept[name]

    def are_as_before(self, jobs: Sequence[JobT]) -> bool:
        """Whether no file of these has changed since its stamp was taken."""
        return all(self._stamps.get(self._name(job)) == tuple(map(_stamp, self._places(job))) for job in jobs)

    def get(self, what: object, job: JobT) -> Any | None:
        """What was kept, if the files have not changed since; None where it is to be found out."""
        name = self._name(job)
        known = self._kept.get(what, {}).get(name)
        if known is None or known[0] != self._stamps.get(name):
            return None
        return known[1]._replace(row=job.row)  # type: ignore[attr-defined]

    def keep(self, what: object, job: JobT, result: Any) -> None:
        """For the next look."""
        name = self._name(job)
        if name in self._stamps:
            self._kept.setdefault(what, {})[name] = self._stamps[name], result

    def may_be_half_written(self, job: JobT) -> bool:
        """Whether one of the files is missing or young."""
        now_ns = time.time_ns()
        times = [changed_ns for *_, changed_ns in self._stamps[self._name(job)]]
        return any(changed_ns is None or now_ns - changed_ns < YOUNG_NS for changed_ns in times)

    def _name(self, job: JobT) -> tuple[str, ...]:
        return tuple(place.identity for place in self._places(job))


_Stamp = tuple[Any, ...]


def _stamp(place: TensorPlace) -> _Stamp:
    """dtype and shape as declared, size and time of the last change (None where there is no such file)."""
    try:
        status = os.stat(os.path.join(place.folder, place.name))
    except (OSError, ValueError):
        return place.dtype, place.shape, None, None
    return place.dtype, place.shape, status.st_size, status.st_mtime_ns


def _tensor_folder(path: Path) -> Path | None:
    folder = path if os.path.isdir(path) else path.parent
    return next((folder / name for name in TENSOR_FOLDERS if os.path.isdir(folder / name)), None)


def _as_it_grows(
    path: Path,
    root: Path,
    previous: Dump | None,
    tails: Tails,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Dump:
    if os.path.isdir(path):  # no index as yet
        return empty_dump(path / "dump.json")
    growing: GrowingDump = tails.kept.setdefault(("growing", path), GrowingDump(path, root))
    try:
        dump = growing.read(progress, is_cancelled)
    except InputError:
        if previous is None:
            raise
        return previous
    if dump.completeness != "cut off":
        return dump
    if previous is not None and len(previous.calls.names) >= len(dump.calls.names):
        return previous
    problems = tuple(problem for problem in dump.problems if problem.kind != "cut-off")
    return replace(dump, completeness="in progress", problems=problems)
