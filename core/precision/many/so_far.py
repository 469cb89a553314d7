"""What is known while ranks come in: compared among themselves, told again as more come, never a pass."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from npulse.core.run.sides import CapturePair

from ..comparison import Comparison, Settings
from ..judge import judge, unsure_of_samples
from .hand_out import Couple, Ranks
from .work import RankDone

PAUSE_S = 1.0
COSTS = 4
"""Between two tellings there is at least this, and so many times as much as the last one took."""


class SoFar:
    """Takes rank-steps as workers bring them, and tells `on_update` what they say together.

    It works on copies of what a walk changes: the end result does not know that something was told before.
    """

    def __init__(
        self,
        pair: CapturePair,
        couples: Sequence[Couple],
        settings: Settings,
        on_update: Callable[[Comparison], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pair, self._couples, self._settings = pair, couples, settings
        self._on_update, self._clock = on_update, clock
        self._done: dict[int, RankDone] = {}
        self._n_told, self._due_s = 0, -float("inf")

    def add(self, place: int, done: RankDone) -> None:
        """A rank-step that has come back; one that is not compared as yet says nothing."""
        if done.is_read and done.roles is not None:
            self._done[place] = done

    def tell(self) -> None:
        """What there is by now, where it is more than before, not all, and time to tell it."""
        n = len(self._done)
        if not self._n_told < n < len(self._couples) or self._clock() < self._due_s:
            return
        began_s = self._clock()
        self._on_update(self._comparison())
        self._n_told = n
        ended_s = self._clock()
        self._due_s = ended_s + max(PAUSE_S, COSTS * (ended_s - began_s))

    def _comparison(self) -> Comparison:
        places = sorted(self._done)
        couples = [self._couples[place] for place in places]
        ranks = Ranks(
            {target.path: _copied(self._done[p]) for p, (target, _) in zip(places, couples, strict=True)}
        )
        loaded = [ranks.done[target.path].loaded(target, golden) for target, golden in couples]
        problems = list(dict.fromkeys(problem for one in loaded for problem in one.problems))
        problems += [problem for one in ranks.done.values() for problem in one.unread]
        found = judge(
            self._pair, couples, loaded, self._settings, ranks, problems, "ranks", with_stacks=False
        )
        if self._settings.sample:
            unsure_of_samples(found)
        return replace(found, n_awaited=len(self._couples) - len(places))


def _copied(done: RankDone) -> RankDone:
    rows = done.rows
    own = replace(rows, verdict=rows.verdict.copy(), reason=rows.reason.copy())
    return replace(done, rows=own, roles=copy.deepcopy(done.roles))
