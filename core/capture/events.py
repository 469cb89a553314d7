"""What a capture tells while it runs. `Output` comes from a thread of its own, all else from the caller's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from npulse.core.findings import Finding

from .driver import Ended, Plan, Progress, Recorded, Words
from .process import Rung


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One attempt, closed. ended: None where the tool never ran. not_written: why the manifest could not be
    closed, "" where it is."""

    folder: Path
    attempt: int
    ended: Ended | None
    recorded: Recorded
    warnings: tuple[Words, ...] = ()
    not_written: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """The preflight: what was looked at (role "ok") and what is wrong."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RoundOpened:
    """A round was made. attempt: from 1, of `attempts`."""

    folder: Path
    attempt: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Started:
    """A command runs. is_finish: the second one, behind the tool's own end."""

    plan: Plan
    pid: int
    is_finish: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What the tool printed, whole lines, safe to show."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """How it stands, once a second."""

    progress: Progress
    age_s: float


@dataclass(frozen=True, slots=True)
class Stopping:
    """A rung of the ladder was sent. reason: as `Ended.stopped_by`."""

    reason: str
    rung: Rung


@dataclass(frozen=True, slots=True)
class Switched:
    """Recording was switched while the tool runs."""

    is_on: bool


@dataclass(frozen=True, slots=True)
class RoundClosed:
    """An attempt is over and its round closed."""

    result: RoundResult


Event: TypeAlias = Checked | RoundOpened | Started | Output | Running | Stopping | Switched | RoundClosed
OnEvent = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Tell nobody."""
