"""What was made of a run, kept under its stamp: looked up before the work, put there after it.

A result counts only for the same files (core/run/stamp.py), the same program and the same settings. Where any
of it cannot be told (plug-ins, files beside the run, a run that is followed) nothing is kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from npulse.core.analysis import AnalysisOptions
from npulse.core.cache import Cache
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.kept_records import NotKept, from_plain, to_plain
from npulse.core.plugins.registry import plugins
from npulse.core.run.model import Run
from npulse.core.run.stamp import stamp_of

from .program import program_digest

T = TypeVar("T")

_BESIDE = (
    "source_roots",
    "kernel_objects",
    "precision_map",
    "fusion_rule",
    "mappings",
    "write_mapping",
    "tails",
    "cluster",
)
"""Options that name files which no stamp covers, that ask for more than an answer, or that can lose a part
of it (a worker that died)."""
_NO_MATTER = frozenset(("cache", "jobs", "on_report", *_BESIDE))
"""Options that change how an answer is found or who is told on the way, and not the answer."""


@dataclass(frozen=True, slots=True)
class KeptValue:
    """value: what was kept. made_s: when it was made, seconds since 1970."""

    value: Any
    made_s: float


@dataclass(frozen=True, slots=True)
class Keeper:
    """The door to what is kept of a run (or of two captures) as it is now. stamps: a digest for each path."""

    cache: Cache
    paths: tuple[Path, ...]
    stamps: tuple[str, ...]

    def get(self, kind: str, settings: object, expected: type | tuple[type, ...]) -> KeptValue | None:
        """What was kept with these settings; None where there is nothing that can be used. kind: "run",
        "report" or "view". Cost: reads one file of the cache folder."""
        entry = self.cache.get(self._key(settings), kind=kind, run=self.run)
        if entry is None:
            return None
        try:
            value = from_plain(entry.facts["value"], entry.arrays)
            made_s = float(entry.facts["made_s"])
        except (NotKept, KeyError, TypeError, ValueError, OverflowError):
            return None
        return KeptValue(value, made_s) if isinstance(value, expected) else None

    def put(self, kind: str, settings: object, value: Any) -> bool:
        """Keep a result, unless the files have changed meanwhile; False where nothing was kept.

        Nor where the system refused something: at the next try it may not. Cost: the run is looked through
        once more, nothing is read.
        """
        if any(problem.is_passing for problem in _problems_of(value)):
            return False
        try:
            facts, arrays = to_plain(value)
        except NotKept:
            return False
        if not self.is_current():
            return False
        told = {"made_s": time.time(), "value": facts}
        return self.cache.put(self._key(settings), arrays, told, kind=kind, run=self.run)

    def is_current(self) -> bool:
        """Whether the files still are what they were. Cost: they are looked through."""
        return tuple(map(_digest_of, self.paths)) == self.stamps

    def forget(self) -> int:
        """Remove all that is kept of the run; how much there was."""
        return self.cache.forget(self.run)

    @property
    def run(self) -> str:
        """What entries of this run are told by, whatever has become of its files."""
        return "\n".join(os.path.abspath(path) for path in self.paths)

    def _key(self, settings: object) -> str:
        return "\n".join((program_digest(), self.run, *self.stamps, repr(settings)))


def keeper_of(run: Run, cache: Cache | None) -> Keeper | None:
    """The keeper of a run that was opened with a stamp; None where nothing of it can be kept."""
    if cache is None or not run.stamp or plugins():
        return None
    return Keeper(cache, (run.path,), (run.stamp,))


def keeper_of_paths(paths: Sequence[Path], cache: Cache | None, now_ns: int | None = None) -> Keeper | None:
    """The keeper of runs that are not opened yet, as they are now. Cost: they are looked through."""
    if cache is None or not paths or plugins():
        return None
    stamps = []
    for path in paths:
        found = stamp_of(path)
        if found is None or not found.is_settled(now_ns):
            return None
        stamps.append(found.digest)
    return Keeper(cache, tuple(paths), tuple(stamps))


def settings_of(options: AnalysisOptions) -> tuple[tuple[str, object], ...] | None:
    """What of the options an answer depends on; None where it depends on more than can be told."""
    if any(getattr(options, name) for name in _BESIDE) or options.tails is not None:
        return None
    asked = [(field.name, getattr(options, field.name)) for field in fields(options)]
    return tuple((name, value) for name, value in asked if name not in _NO_MATTER)


def settings_of_run(run: Run) -> tuple[object, ...]:
    """Which part of the run is looked at: a check-up looks at some of its rounds."""
    return tuple(round_.name for round_ in run.rounds), len(run.artifacts)


def kept_or_made(
    keeper: Keeper | None, settings: object, expected: type | tuple[type, ...], make: Callable[[], T]
) -> T:
    """A report as it was kept, else made and kept. What `make` raises is raised and nothing kept."""
    if keeper is None or settings is None:
        return make()
    known = keeper.get("report", settings, expected)
    if known is not None:
        value: T = known.value
        return value
    made = make()
    keeper.put("report", settings, made)
    return made


def _problems_of(value: Any) -> Iterator[Problem]:
    """What a run, a report, reports or the view of one says that could not be read."""
    for one in value if isinstance(value, tuple) else (value,):
        yield from getattr(getattr(one, "report", one), "problems", ())


def _digest_of(path: Path) -> str:
    found = stamp_of(path)
    return "" if found is None else found.digest
