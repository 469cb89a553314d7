"""What is known while ranks come in: compared among themselves, told as it is by then, never a pass.

It works on copies of what a walk changes: the end result does not know that something was told before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npulse.core.run.sides import CapturePair

from ..collectives import unsure_of_meetings
from ..comparison import Comparison, Settings
from ..judge import judge, unsure_of_samples
from .hand_out import Couple, Ranks
from .work import RankDone


def tell_ranks(
    pair: CapturePair,
    couples: Sequence[Couple],
    settings: Settings,
    on_update: Callable[[Comparison], None],
    done: Mapping[int, RankDone],
) -> None:
    """Give `on_update` the comparison of the ranks that workers are done with, by their place."""
    known = [couples[place] for place in done]
    ranks = Ranks({couples[place][0].path: _copied(one) for place, one in done.items()})
    loaded = [ranks.done[target.path].loaded(target, golden) for target, golden in known]
    problems = list(dict.fromkeys(problem for one in loaded for problem in one.problems))
    problems += [problem for one in done.values() for problem in one.unread]
    found = judge(pair, known, loaded, settings, ranks, problems, "ranks", with_stacks=False)
    unsure_of_meetings(found.ranks)
    if settings.sample:
        unsure_of_samples(found)
    on_update(replace(found, n_awaited=len(couples) - len(known)))


def _copied(done: RankDone) -> RankDone:
    rows = done.rows
    own = replace(rows, verdict=rows.verdict.copy(), reason=rows.reason.copy())
    return replace(done, rows=own, roles=copy.deepcopy(done.roles))
