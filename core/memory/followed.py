"""Logs that are followed: what each told so far, and what is open at its end while it is being written."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.files import stamp_of
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.folders import is_fresh
from npulse.core.run.model import Artifact
from npulse.core.tails import Tails

from .faults import Fault, LogTrust
from .logs import TABLE, FaultLog, TextLog
from .sites import FindUserFrame
from .told import Told


@dataclass(frozen=True, slots=True)
class LogEnd:
    """faults: those that only the end of the log completes; the others are in `told`."""

    faults: tuple[Fault, ...]
    trust: LogTrust
    problems: tuple[Problem, ...]


class Followed:
    """A log as its bytes come, grouped at once: nothing is kept of it but sites and what is open."""

    def __init__(self, artifact: str, kind: str, user_frame: FindUserFrame) -> None:
        self.told = Told(user_frame)
        self._log = TextLog(artifact, kind)
        self._n_bytes = 0
        self._ended: tuple[int, LogEnd] | None = None

    def feed(self, raw: bytes, /) -> None:
        """The next bytes."""
        self._n_bytes += len(raw)
        for fault in self._log.take(raw):
            self.told.add(fault)

    def end(self, *, is_growing: bool) -> LogEnd:
        """How the log ends. While it grows a record that is not whole is nothing yet; else it is cut.

        The reader goes on as if nobody had asked: the end is told of a copy, once for a length.
        """
        if is_growing:
            return LogEnd(tuple(self._log.pending()), self._log.trust, self._log.problems)
        if self._ended is None or self._ended[0] != self._n_bytes:
            log = copy.deepcopy(self._log)
            faults = tuple(log.finish())
            self._ended = self._n_bytes, LogEnd(faults, log.trust, log.problems)
        return self._ended[1]


def read_on(
    artifact: Artifact,
    root: Path,
    tails: Tails,
    user_frame: FindUserFrame,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> None:
    """Read what is new in a log. A table is read again as a whole where it has changed.

    Raises InputError where it was never read and cannot be, Cancelled (the next look goes on there).
    """
    if artifact.kind != TABLE:
        tails.read(
            artifact.path,
            root,
            lambda: Followed(artifact.relative, artifact.kind, user_frame),
            kind=artifact.kind,
            progress=progress,
            is_cancelled=is_cancelled,
        )
        return
    name, stamp = ("memory table", artifact.path), stamp_of(artifact.path)
    is_growing = is_fresh(artifact.path)

    def read_table() -> tuple[Told, LogEnd]:
        log = FaultLog(artifact.path, root, TABLE, artifact.relative, is_growing=is_growing)
        told = Told(user_frame)
        for faults in log.faults(progress, is_cancelled):
            for fault in faults:
                told.add(fault)
        return told, LogEnd((), log.trust, log.problems)

    if stamp is not None or name not in tails.kept:
        tails.once(name, (stamp, is_growing), read_table)


def told_by(artifact: Artifact, tails: Tails) -> Iterator[tuple[str, Told, LogEnd]]:
    """What a log told in each of its generations, oldest first, with the name that it has now.

    To be asked when all logs of the look were read: a rename moves a generation. The newest one is named as
    the file, those before it "NAME~1", "NAME~2".
    """
    if artifact.kind == TABLE:
        told, end = tails.kept["memory table", artifact.path][1]
        yield artifact.relative, told, end
        return
    generations = tails.known(artifact.path, artifact.kind)
    for place, one in enumerate(generations, start=1):
        is_last = place == len(generations)
        if not (is_last or one.n_bytes):
            continue  # an empty file that made room for another one
        name = artifact.relative if is_last else f"{artifact.relative}~{place}"
        end = one.reader.end(is_growing=is_last and is_fresh(artifact.path))
        yield (
            name,
            one.reader.told,
            LogEnd(
                tuple(replace(fault, artifact=name) for fault in end.faults),
                replace(end.trust, artifact=name),
                tuple(replace(problem, artifact=name) for problem in end.problems),
            ),
        )
