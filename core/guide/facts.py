"""What is known of the program that is looked into: command, archive and ranks, by the newest manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npulse.core.capture.request import FOLDERS
from npulse.core.errors import InputError
from npulse.core.formats.manifest import read_record
from npulse.core.run.model import Round, Run
from npulse.core.run.sides import capture_pairs
from npulse.core.secret_names import HIDDEN

_MANIFEST = "npulse.round"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guide's commands are filled in with; "" and () where nothing tells it.

    run: path as it was given. round: whose manifest tells the command. command: as that round was started.
    archive: the folder that it lies in. ranks: that recorded something there. newest, before: names of the
    two newest rounds. has_pair: whether the run holds a target and a golden capture.
    """

    run: str = ""
    round: str = ""
    command: tuple[str, ...] = ()
    archive: str = ""
    ranks: tuple[int, ...] = ()
    newest: str = ""
    before: str = ""
    has_pair: bool = False

    @property
    def has_hidden(self) -> bool:
        """Whether the command holds a secret that the round did not keep, so that it cannot run as it is."""
        return any(HIDDEN in word for word in self.command)

    @property
    def rank(self) -> str:
        """The ranks as msprobe and the profilers spell them ("0,1,2"); "" for one rank or none known."""
        return ",".join(map(str, self.ranks[:MAX_RANKS])) if len(self.ranks) > 1 else ""


MAX_RANKS = 8
"""Ranks that a filled-in command names: a first look at more of them costs more than it tells."""
NOTHING_KNOWN = Facts()


def facts_of_run(run: Run | None) -> Facts:
    """The facts of a run; reads manifests alone, the newest one first. Never raises."""
    if run is None:
        return NOTHING_KNOWN
    names = [one.name for one in run.rounds if one.name]
    newest = names[-1] if names else ""
    before = names[-2] if len(names) > 1 else ""
    plain = Facts(str(run.path), newest=newest, before=before, has_pair=bool(capture_pairs(run)))
    for round_ in reversed(run.rounds):
        found = _of_round(run, round_, plain)
        if found is not None:
            return found
    return plain


def _of_round(run: Run, round_: Round, plain: Facts) -> Facts | None:
    """The facts with those of one round's manifest; None where it has none that tells a command."""
    manifests = [artifact for artifact in round_.artifacts if artifact.kind == _MANIFEST]
    for artifact in sorted(manifests, key=lambda one: one.relative.count("/"))[:1]:
        root = run.path if run.path.is_dir() else None
        try:
            told = read_record(artifact.path, root=root)
        except InputError:
            return None
        if told.command:
            return Facts(
                run=plain.run,
                round=round_.name,
                command=told.command,
                archive=_archive_of(artifact.path),
                ranks=_ranks(round_),
                newest=plain.newest,
                before=plain.before,
                has_pair=plain.has_pair,
            )
    return None


def _archive_of(manifest: Path) -> str:
    """ARCHIVE/dump/NAME_TIME/round.toml -> ARCHIVE, "" where it is laid out otherwise."""
    kind_folder = manifest.parent.parent
    return str(kind_folder.parent) if kind_folder.name in FOLDERS.values() else ""


def _ranks(round_: Round) -> tuple[int, ...]:
    return tuple(sorted({artifact.rank for artifact in round_.artifacts if artifact.rank is not None}))
