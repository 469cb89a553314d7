"""How the program of a run was started, by the newest manifest that tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.formats.manifest import read_record
from npulse.core.run.manifest import manifest_of
from npulse.core.run.model import Round, Run

from .hidden import command_without_secrets
from .request import FOLDERS


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """round: whose manifest tells it. command: its words, secrets hidden. archive: the folder in which that
    round lies, "" where it is none of npulse's own."""

    round: Round
    command: tuple[str, ...]
    archive: str


def recorded_command(run: Run) -> RecordedCommand | None:
    """The command of the newest round that recorded one; broken manifests tell nothing.

    Opens a file or two.
    """
    root = run.path if run.path.is_dir() else None
    for round_ in reversed(run.rounds):
        manifest = manifest_of(round_.artifacts)
        if manifest is None:
            continue
        try:
            command = read_record(manifest.path, root=root).command
        except InputError:
            continue
        if command:
            return RecordedCommand(round_, tuple(command_without_secrets(command)), archive_of(manifest.path))
    return None


def archive_of(manifest: Path) -> str:
    """ARCHIVE/dump/NAME_TIME/round.toml -> ARCHIVE, "" where it is laid out otherwise."""
    kind_folder = manifest.parent.parent
    return str(kind_folder.parent) if kind_folder.name in FOLDERS.values() else ""
