"""What is known of the program that is looked into: command, archive and ranks, by the newest manifest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npulse.core.capture.recorded import recorded_command
from npulse.core.run.model import Round, Run
from npulse.core.run.sides import capture_pairs
from npulse.core.secret_names import HIDDEN


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
    told = recorded_command(run)
    if told is None:
        return plain
    return replace(
        plain,
        round=told.round.name,
        command=told.command,
        archive=told.archive,
        ranks=_ranks(told.round),
    )


def _ranks(round_: Round) -> tuple[int, ...]:
    return tuple(sorted({artifact.rank for artifact in round_.artifacts if artifact.rank is not None}))
