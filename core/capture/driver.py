"""What every driver is: how one tool is checked, started, watched, stopped, and what it recorded.

A driver starts nothing itself and writes nothing: it says what shall be started and written (`Plan`), and
reads what lies in the round afterwards (`Recorded`). Everything that happens, happens in `session.py`; so
`--dry-run` prints exactly what would run. One exception: an overflow capture that keeps only the tensors
before the first anomaly removes the others, of its own round, in `wants_stop` and `finish`.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from npulse.core.findings import Figures, Finding

from .request import CaptureRequest, Kind

Words = tuple[str, str]
"""A text in English and in Chinese."""

RAW = "raw"
"""The folder of a round that tools write into; made read-only at the end."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that is written before the start. name: relative to the round. mode: its permissions."""

    name: str
    text: str
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class StopStep:
    """One rung of the ladder by which a tool is ended: a signal to its process group, or a line on its
    standard input; then `wait_s` seconds for it to end before the next rung. The last rung is SIGKILL,
    which is added where it is missing."""

    send: signal.Signals | str
    wait_s: float


SIMPLE_STOP = (StopStep(signal.SIGINT, 15.0), StopStep(signal.SIGTERM, 5.0), StopStep(signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True)
class Plan:
    """Exactly what is started, as `--dry-run` prints it.

    argv: the tool's command line, no shell. environment: variables that are set on top of the program's; None
    for one that is taken away. files: written into the round first. first_lines: what the tool reads on its
    standard input after the start; with them or a text rung the input stays open. stop: the ladder. notes:
    what the user should know of this plan.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    files: tuple[PlannedFile, ...] = ()
    first_lines: tuple[str, ...] = ()
    stop: tuple[StopStep, ...] = SIMPLE_STOP
    notes: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How the tool ended. exit_status: None where it was ended by `signal`, or never started. is_killed: the
    ladder came to SIGKILL. stopped_by: user, timeout, first-anomaly, hang-up; "" for by itself. console: the
    file with all that it printed."""

    exit_status: int | None
    signal: int | None
    stopped_by: str
    is_killed: bool
    console: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """What lies in the round so far. said: one short line of the driver's own, "" for none."""

    n_files: int
    size_bytes: int
    said: Words = ("", "")


USUAL_WARY_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class SizeBasis:
    """What an estimate of the bytes rests on, or why there is none.

    wary_bytes: where there is none, less free space than this is worth a warning."""

    why: Words
    wary_bytes: int = USUAL_WARY_BYTES


Outcome = Literal["recorded", "incomplete", "nothing", "unknown"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a round really holds, judged by its files and the console, never by the exit status.

    n_operators, n_dropped: None where nobody can tell. found: kinds of artifact, counted. is_failure: whether
    the attempt shows the fault that was looked for (ends `--repeat`). why: the cause where the outcome is not
    "recorded". warnings: what lowers trust in the data.
    """

    outcome: Outcome
    n_files: int
    size_bytes: int
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    n_operators: int | None = None
    n_dropped: int | None = None
    found: Mapping[str, int] = field(default_factory=dict)
    is_failure: bool = False
    why: Words = ("", "")
    next_step: Words = ("", "")
    warnings: tuple[Words, ...] = ()


class Driver(Protocol):
    """One tool. `raw` is the folder of the round that the tool writes into."""

    id: str
    """What the user writes behind --tool."""
    kind: Kind
    title: Words
    tool: str
    """The program or module that has to be there."""

    def check(self, request: CaptureRequest) -> None:
        """UsageError where the request asks for what this tool does not have."""

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        """What this tool needs beyond what `preflight.py` looks at for all: errors hold the start back."""

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        """Least and most that it may write; None where nobody can tell."""

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        """What that estimate rests on; where there is none, why."""

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        """What to start; `round_folder / RAW` is where the tool shall write. Touches nothing."""

    def progress(self, raw: Path) -> Progress:
        """Cheap enough for once a second."""

    def wants_stop(self, request: CaptureRequest, raw: Path) -> str:
        """Why the capture shall be ended now ("first-anomaly"), "" while it shall go on."""

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...] | tuple[str, ...]:
        """Recording on or off while the program runs: files to write anew, or lines for the tool's standard
        input. UsageError where this tool has no switch."""

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        """A second command after the end (an export), None for none."""

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        """What was recorded; changes nothing."""

    def figures(self, raw: Path) -> Figures:
        """Further figures for the manifest, by names with their units."""
