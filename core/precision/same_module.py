"""Modules by name on all ranks: looked up for those names alone that somebody asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparison import RankComparison


class SameModule:
    """Calls of a name in every rank's target. Cost: O(calls) of all ranks for each set of names looked up."""

    def __init__(self, ranks: Sequence[RankComparison]) -> None:
        self._ranks = ranks
        self._found: dict[str, dict[int, list[int]]] = {}

    def look_up(self, names: Iterable[str]) -> None:
        """Find these names in one go; what is asked for later is found by itself."""
        new = set(names) - self._found.keys()
        if not new:
            return
        self._found.update((name, {}) for name in new)
        for place, rank in enumerate(self._ranks):
            own = rank.target.calls.names
            of_name = {t: name for t, name in enumerate(own) if name in new}
            if not of_name:
                continue
            for call, t in enumerate(rank.rows.pairing.target_call.tolist()):
                if t in of_name:
                    self._found[of_name[t]].setdefault(place, []).append(call)

    def calls(self, place: int, name: str) -> Sequence[int]:
        """The calls of that name in the rank at that place, in the order of its pairing."""
        self.look_up((name,))
        return self._found[name].get(place, ())
