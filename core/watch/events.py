"""What a watch tells: events of artifacts, and the state of the run beside them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from npulse.core.run.model import Artifact, Run

How = Literal["grown", "truncated", "replaced", "rewritten", "renamed"]
Mode = Literal["inotify", "polling"]

MAX_GONE = 10_000
"""Vanished artifacts that are kept; those that vanished first are forgotten."""


@dataclass(frozen=True, slots=True)
class ArtifactAppeared:
    """It was not there before, or its file has become another kind."""

    artifact: Artifact
    at_ns: int


@dataclass(frozen=True, slots=True)
class ArtifactGrew:
    """A file of it changed; bytes from `from_byte` to `size_bytes` are new.

    path: the file (of a folder artifact one of many). how: "grown" (also a new file of a folder artifact),
    "truncated" (also removed from it: size 0), "replaced" (another file has the name), "rewritten" (the same
    size, written anew), "renamed" (it had another name before, and `from_byte` bytes).
    """

    artifact: Artifact
    path: Path
    from_byte: int
    size_bytes: int
    how: How
    at_ns: int


@dataclass(frozen=True, slots=True)
class ArtifactCompleted:
    """Its completeness turned "complete", or its writer closed it and wrote no more. It may grow again."""

    artifact: Artifact
    at_ns: int


@dataclass(frozen=True, slots=True)
class ArtifactVanished:
    """It is not there any more under its name."""

    artifact: Artifact
    at_ns: int


Event = ArtifactAppeared | ArtifactGrew | ArtifactCompleted | ArtifactVanished


@dataclass(frozen=True, slots=True)
class LiveState:
    """How the run is watched, and whether somebody writes.

    mode: "polling" where inotify does not hear of everything, so files are looked at by the clock too.
    why: of polling, a word that a table knows and what it is about: "network nfs4" (a file system that
    tells nothing of other hosts' writes), "overlay", "watch-limit 8192", "instance-limit 128", "unsupported
    ..." (no inotify here), "asked"; "" in inotify mode. is_reachable: False while the folder is unmounted or
    gone. bytes_per_s: over the last seconds, 0.0 when quiet. lag_s: from the newest write until it was seen.
    last_write_ns: the newest modification. has_writer: whether a process holds a file open that was written
    last; None where nobody can tell. quiet_since_ns: the last write, once it is some seconds ago.
    """

    mode: Mode
    why: str
    is_reachable: bool
    bytes_per_s: float
    lag_s: float | None
    last_write_ns: int | None
    has_writer: bool | None
    quiet_since_ns: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The run as it is now, and what happened since the last batch.

    events: of one artifact in the order Appeared, Grew, Completed, Vanished. gone: artifacts that vanished
    since the watch began and are not back, at most `MAX_GONE`. A file that was only renamed is none of them.
    """

    run: Run
    events: tuple[Event, ...]
    state: LiveState
    gone: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """quiet_s: without a write for so long a run is quiet. gap_s: from one look to the next. poll_s: the
    shortest time between two listings where inotify can't be used; hot_s: between looks at files that changed
    lately. safety_s: between two listings beside inotify. polling: never use inotify.
    """

    quiet_s: float = 5.0
    gap_s: float = 0.25
    poll_s: float = 1.0
    hot_s: float = 0.5
    safety_s: float = 30.0
    polling: bool = False


class Clock(Protocol):
    """Both clocks of a watch: one for waiting, one for the times it tells."""

    def monotonic_s(self) -> float: ...

    def now_ns(self) -> int: ...


class RealClock:
    """The clocks of this machine."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def now_ns(self) -> int:
        return time.time_ns()
