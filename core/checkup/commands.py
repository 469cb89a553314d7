"""The command that gets what is missing, filled in with what is known of this run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npulse.core.capture.recorded import recorded_command
from npulse.core.run.model import Run
from npulse.core.text import command_line

KINDS = ("precision", "overflow", "memory", "performance")
_PLACEHOLDER = ("python", "train.py")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What commands about a run need to know. command: of the newest round that recorded one, raw words.

    archive: the folder that this round lies in, "" where it is none of npulse's own.
    """

    path: str
    command: tuple[str, ...] = ()
    archive: str = ""


def facts_of_run(run: Run) -> RunFacts:
    """What the manifests of a run tell, the newest first; broken ones tell nothing. Opens a file or two."""
    told = recorded_command(run)
    return RunFacts(str(run.path)) if told is None else RunFacts(str(run.path), told.command, told.archive)


def capture_command(facts: RunFacts, kind: str, *, name: str = "", options: Sequence[str] = ()) -> str:
    """`npulse capture KIND` as it would be typed for this run; kind: one of KINDS, name: of the round."""
    where = ["--archive", facts.archive] if facts.archive else []
    where += ["--name", name] if name else []
    return command_line(["npulse", "capture", kind, *where, *options, "--", *(facts.command or _PLACEHOLDER)])


def area_command(facts: RunFacts, command: str, round_name: str = "") -> str:
    """The command of an area for this run and round."""
    chosen = ["--round", round_name] if round_name else []
    return command_line(["npulse", command, facts.path, *chosen])


def here_command(facts: RunFacts) -> str:
    """The check-up with this machine's cards and environment."""
    return command_line(["npulse", "check", facts.path, "--here"])
