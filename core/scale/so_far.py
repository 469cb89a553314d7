"""What is known while parts come in one by one: told as there is more, paced by what the telling costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

Part = TypeVar("Part")

PAUSE_S = 1.0
COSTS = 4
"""Between two tellings there is at least this, and so many times as much as the last one took."""


class SoFar(Generic[Part]):
    """Takes parts by their place, and gives `tell` those that are there: never none, never all of them."""

    def __init__(
        self,
        total: int,
        tell: Callable[[Mapping[int, Part]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._tell, self._clock = total, tell, clock
        self._parts: dict[int, Part] = {}
        self._n_told, self._due_s = 0, float("-inf")

    def add(self, place: int, part: Part) -> None:
        """A part that is there now."""
        self._parts[place] = part
        self.look()

    def look(self) -> None:
        """Tell what there is, where it is more than before and time to; to be called while nothing comes."""
        n = len(self._parts)
        if not self._n_told < n < self._total or self._clock() < self._due_s:
            return
        began_s = self._clock()
        self._n_told = n
        self._tell({place: self._parts[place] for place in sorted(self._parts)})
        ended_s = self._clock()
        self._due_s = ended_s + max(PAUSE_S, COSTS * (ended_s - began_s))
