"""Which ranks talk in which group: communication_group.json of the cluster analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ...findings import Problem
from ..json_window import Notes
from .json_facts import MAX_ITEMS, Facts, read_facts, whole_of
from .records import Read

Ranks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CommunicationGroup:
    """One communicator. kind: "collective" or "p2p". name: as operations have it behind "@". label: what the
    framework calls it ("tp", "dp_cp"), "" where nothing names it."""

    kind: str
    ranks: Ranks
    name: str
    group_id: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class CommunicationGroups:
    """The whole file. collective, p2p: sets of ranks; groups: communicators, () in files of old releases."""

    collective: tuple[Ranks, ...] = ()
    p2p: tuple[Ranks, ...] = ()
    groups: tuple[CommunicationGroup, ...] = ()


def read_communication_groups(path: Path, *, root: Path | None = None) -> Read[CommunicationGroups]:
    """The one record of a communication_group.json.

    Problems: lists that are none, ranks that are no numbers (the set is left out and counted), a file that
    ends too soon. Raises InputError: no JSON object, no regular file, outside `root`, more than 64 MB.
    """
    problems: list[Problem] = []
    facts, notes = read_facts(path, root, problems)
    sets = _Sets(notes)
    collective = sets.of(facts.members.get("collective"), "collective")
    p2p = sets.of(facts.members.get("p2p"), "p2p")
    groups = []
    for i, member in enumerate(sets.items(facts.members.get("comm_group_parallel_info"), "groups")):
        group = Facts(member, notes, f"group {i}: ")
        ranks = sets.ranks(group.members.get("rank_set"), f"group {i}")
        if ranks is not None:
            groups.append(
                CommunicationGroup(
                    kind=group.text("type"),
                    ranks=ranks,
                    name=group.text("group_name"),
                    group_id=group.text("group_id"),
                    label=group.text("pg_name"),
                )
            )
    notes.close()
    return Read((CommunicationGroups(collective, p2p, tuple(groups)),), tuple(problems), sets.n_dropped)


class _Sets:
    """Lists of ranks, with those that are none counted."""

    def __init__(self, notes: Notes) -> None:
        self.n_dropped = 0
        self._notes = notes

    def of(self, value: Any, where: str) -> tuple[Ranks, ...]:
        """Several sets."""
        found = [self.ranks(part, where) for part in self.items(value, where)]
        return tuple(ranks for ranks in found if ranks is not None)

    def items(self, value: Any, where: str) -> list[Any]:
        """A list as it is, [] where there is none."""
        if value is None:
            return []
        if not isinstance(value, list):
            self._notes.add("bad-record", f"{where}: a list is expected; it counts as absent", None)
            return []
        if len(value) > MAX_ITEMS:
            self._notes.add("limit", f"{where}: at most {MAX_ITEMS:,} are read", None, is_last=True)
        return value[:MAX_ITEMS]

    def ranks(self, value: Any, where: str) -> Ranks | None:
        """One set; None (and counted) where it is none."""
        found = [whole_of(part) for part in value] if isinstance(value, list) else [None]
        if None in found:
            self.n_dropped += 1
            self._notes.add("bad-record", f"{where}: this is no list of ranks; it is left out", None)
            return None
        return tuple(part for part in found if part is not None)
