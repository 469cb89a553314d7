"""One profile while it is read: what of its files was read already, what went wrong, how to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.database.parts import parts_of
from npulse.core.formats.profiling.follow import follow_timelines
from npulse.core.formats.profiling.msmonitor_log import MonitorLog
from npulse.core.formats.profiling.records import Read
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.model import Artifact
from npulse.core.tails import Tails

from .following import Kept, kept_in
from .profile import Profile
from .sources import DATABASES, ProfileFiles


@dataclass(slots=True)
class Reading:
    """One profile being read: where, what went wrong, how to stop. tails: where the run is followed."""

    files: ProfileFiles
    root: Path
    problems: list[Problem]
    progress: ProgressCallback
    is_cancelled: IsCancelled
    sources: dict[str, str]
    tails: Tails | None = None
    encodings: dict[str, str] = field(default_factory=dict)
    monitor: MonitorLog | None = None
    _parts: frozenset[str] | None = None

    def read(self, artifact: Artifact | None, reader: Callable[..., Any], part: str = "", **own: Any) -> Any:
        """What a reader gives of an artifact; None where there is none or it cannot be read (a problem)."""
        if artifact is None:
            return None

        def once() -> tuple[Any, tuple[Problem, ...], str]:
            found = reader(artifact.path, root=self.root, **own)
            if isinstance(found, Read):
                return found.records, found.problems, found.encoding
            return found, (), ""

        try:
            if self.kept is None or reader is follow_timelines:
                found, problems, encoding = once()
            else:
                found, problems, encoding = self.kept.once(artifact.path, reader.__qualname__, once)
        except InputError as error:
            self.problems.append(Problem.from_error(error, artifact.relative))
            return None
        self.problems += problems
        if encoding:
            self.encodings[artifact.relative] = encoding
        if part and found:
            self.sources[part] = artifact.relative
        return found

    def database(self, part: str) -> Artifact | None:
        """The database, if it has that part (`parts_of`); what it has not is no problem."""
        artifact = self.files.first(*DATABASES, "msmonitor.db")
        if artifact is None:
            return None
        if self._parts is None:
            try:
                self._parts = self._parts_in(artifact.path)
            except InputError as error:
                self.problems.append(Problem.from_error(error, artifact.relative))
                self._parts = frozenset()
        return artifact if part in self._parts else None

    def again(
        self, what: str, of: Sequence[Any], make: Callable[[], tuple[Profile, ...]]
    ) -> tuple[Profile, ...]:
        """What is made of these; of the same ones what the last look made."""
        if self.kept is None:
            return make()
        made: tuple[Profile, ...] = self.kept.again((what, self.files.name), of, make)
        return made

    def _parts_in(self, path: Path) -> frozenset[str]:
        def once() -> tuple[Any, tuple[Problem, ...], str]:
            return parts_of(path, root=self.root, is_cancelled=self.is_cancelled), (), ""

        found: frozenset[str] = (once() if self.kept is None else self.kept.once(path, "parts", once))[0]
        return found

    @property
    def kept(self) -> Kept | None:
        """What is found again at the next look; None where there is none."""
        return None if self.tails is None else kept_in(self.tails)

    @property
    def steering(self) -> dict[str, Any]:
        return {"progress": self.progress, "is_cancelled": self.is_cancelled}
