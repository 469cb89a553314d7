"""The command that gets what is missing, filled in with what is known of this run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npulse.core.capture.request import FOLDERS
from npulse.core.errors import InputError
from npulse.core.formats.manifest import read_record
from npulse.core.run.model import Run
from npulse.core.text import safe_text

MANIFEST = "npulse.round"
KINDS = ("precision", "overflow", "memory", "performance")
_PLACEHOLDER = ("python", "train.py")
_MAX_CELLS = 1000


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
    root = run.path if run.path.is_dir() else None
    for round_ in reversed(run.rounds):
        for artifact in round_.artifacts:
            if artifact.kind != MANIFEST:
                continue
            try:
                command = read_record(artifact.path, root=root).command
            except InputError:
                continue
            if command:
                return RunFacts(str(run.path), command, _archive_of(artifact.path))
    return RunFacts(str(run.path))


def _archive_of(manifest: Path) -> str:
    """ARCHIVE/dump/NAME_TIME/round.toml -> ARCHIVE, "" where it is laid out otherwise."""
    kind_folder = manifest.parent.parent
    return str(kind_folder.parent) if kind_folder.name in FOLDERS.values() else ""


def capture_command(facts: RunFacts, kind: str) -> str:
    """`npulse capture KIND` as it would be typed for this run; kind: one of KINDS."""
    where = ["--archive", facts.archive] if facts.archive else []
    return _typed(["npulse", "capture", kind, *where, "--", *(facts.command or _PLACEHOLDER)])


def area_command(facts: RunFacts, command: str, round_name: str = "") -> str:
    """The command of an area for this run and round."""
    chosen = ["--round", round_name] if round_name else []
    return _typed(["npulse", command, facts.path, *chosen])


def here_command(facts: RunFacts) -> str:
    """The check-up with this machine's cards and environment."""
    return _typed(["npulse", "check", facts.path, "--here"])


def _typed(words: Sequence[str]) -> str:
    return safe_text(shlex.join(words), _MAX_CELLS)
