"""Run, Round, Artifact: what discovery found, before anything was read in full."""

from __future__ import annotations

from pathlib import Path

from npulse.core.dataclass import dataclass

from ..findings import Completeness, Problem


@dataclass(frozen=True, slots=True)
class Artifact:
    """One recognised output of one tool. `path` is absolute; `relative` is for people and reports."""

    kind: str
    path: Path
    relative: str
    size_bytes: int
    modified_ns: int
    rank: int | None = None
    step: int | None = None
    completeness: Completeness = "unknown"
    side: str | None = None
    round: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One attempt in a run: one capture, one configuration. `name` is "" when the run has only one."""

    name: str
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """The folder (or file) that was opened, and what was recognised in it.

    shared: artifacts beside the round folders (a golden capture, version files); empty where the run has
    one round. n_unknown: files that are no artifact and no part of one. stamp: of its files as they were
    when it was opened (core/run/stamp.py), "" where results of it are not kept.
    """

    path: Path
    rounds: tuple[Round, ...]
    problems: tuple[Problem, ...] = ()
    n_entries: int = 0
    shared: tuple[Artifact, ...] = ()
    n_unknown: int = 0
    stamp: str = ""

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """All of them: the shared ones first, then round by round."""
        return self.shared + tuple(artifact for round_ in self.rounds for artifact in round_.artifacts)
