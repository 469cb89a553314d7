"""The criteria of the check-up over rounds: better or worse, where each was met first, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from npulse.core.criteria import CheckUp, CriterionResult
from npulse.core.findings import Verdict, worst_verdict

from .figures import BY_ID, State

if TYPE_CHECKING:
    from .story import StoryRow

FIGURE_OF: Mapping[str, str] = {
    "precision.cosine": "cosine",
    "overflow.origins": "n_overflow_origins",
    "memory.faults": "n_memory_sites",
    "memory.leaked_bytes": "leaked_bytes",
    "performance.first_token_ms": "first_token_ms",
    "performance.tokens_per_s": "tokens_per_s",
    "performance.step_ms": "step_ms",
}
"""Criterion to the figure of the story that is about the same, for its short name and its noise."""
_MET: Mapping[Verdict, bool] = {"pass": True, "warn": True, "fail": False}


@dataclass(frozen=True, slots=True)
class Milestone:
    """What became of one criterion over the rounds.

    last: how it stands in the newest round that judged it; is_open: a newer one could not. met_in: the round
    in which it was met first after it was missed, "" where that never was; since, before: the round before
    that which judged it, and what it was there; after: what it is in `met_in`. lost_in: the round since which
    it is missed again. cost: (round, figure) of what became worse across `met_in`: in it, or in a later round
    against one before it, since rounds of several kinds stand between each other.
    """

    last: CriterionResult
    is_met: bool
    met_in: str = ""
    since: str = ""
    before: str = ""
    after: str = ""
    lost_in: str = ""
    cost: tuple[tuple[str, str], ...] = ()
    is_open: bool = False

    @property
    def is_never_met(self) -> bool:
        return not self.is_met and not self.met_in and not self.lost_in


def figure_of(rows: Iterable[StoryRow], id_: str) -> str:
    """The figure that says just what a criterion says in every round that has both, "" for none.

    They may differ: a place that is only warned of is a site of memory, and no memory error.
    """
    figure = FIGURE_OF.get(id_, "")
    pairs = ((row.cells.get(figure), one) for row in rows for one in row.criteria if one.id == id_)
    is_same = all(cell is None or cell.value == one.value for cell, one in pairs)
    return figure if is_same else ""


def is_met(result: CriterionResult) -> bool | None:
    """Whether a criterion holds; None where nobody can tell."""
    return _MET.get(result.state)


def results_of(found: CheckUp) -> tuple[CriterionResult, ...]:
    """The criteria of the areas that a round recorded, in the order in which they are asked."""
    return tuple(one for area in found.areas if area.reports for one in area.criteria)


def verdict_of(found: CheckUp) -> Verdict | None:
    """Over the areas that a round recorded; None where it recorded none: others have rounds of their own."""
    states = [area.state for area in found.areas if area.reports and area.is_counted]
    return worst_verdict(states) if states else None


def change_of(before: CriterionResult | None, after: CriterionResult, figure_state: State = "") -> State:
    """Better or worse, only where both were judged. figure_state: of the figure that tells the same against
    the same round, "" for none: where it was measured, the noise is its noise."""
    if before is None:
        return "first"
    figure = BY_ID.get(FIGURE_OF.get(after.id, ""))
    if figure is not None and not figure.is_count and figure_state not in ("", "first"):
        return figure_state
    was, now = is_met(before), is_met(after)
    if was is None or now is None:
        return "unknown"
    if was is not now:
        return "better" if now else "worse"
    if before.value is None or after.value is None:
        return "unknown"
    if before.value == after.value:
        return "same"
    return "better" if (after.value > before.value) == after.is_higher_better else "worse"


def milestones(rows: Sequence[StoryRow]) -> tuple[Milestone, ...]:
    """One for each criterion that some round could judge, in the order in which they are asked."""
    found = []
    places = {row.name: place for place, row in enumerate(rows)}
    for id_ in dict.fromkeys(one.id for row in rows for one in row.criteria):
        judged = [(row, one) for row in rows for one in row.criteria if one.id == id_]
        told = _milestone([pair for pair in judged if is_met(pair[1]) is not None])
        if told is not None:
            cost = costs(rows, places[told.met_in]) if told.met_in else ()
            found.append(replace(told, cost=cost, is_open=judged[-1][1] is not told.last))
    return tuple(found)


def _milestone(judged: Sequence[tuple[StoryRow, CriterionResult]]) -> Milestone | None:
    """judged: the rounds that tell whether it holds."""
    if not judged:
        return None
    met_in = since = before = after = lost_in = ""
    for (earlier, old), (row, new) in zip(judged, judged[1:], strict=False):
        was, now = is_met(old), is_met(new)
        if now and not was:
            lost_in = ""
            if not met_in:
                met_in, since, before, after = row.name, earlier.name, old.shown, new.shown
        elif was and not now:
            lost_in = row.name
    last = judged[-1][1]
    return Milestone(last, bool(is_met(last)), met_in, since, before, after, lost_in)


def costs(rows: Sequence[StoryRow], place: int) -> tuple[tuple[str, str], ...]:
    """(round, figure) of what became worse from a round before `place` to the first one from there on that
    has it."""
    before = {row.name for row in rows[:place]}
    return tuple(
        (row.name, figure)
        for row in rows[place:]
        for figure in row.of_state("worse")
        if row.since.get(figure) in before
    )


def by_round(found: Iterable[Milestone]) -> dict[str, list[Milestone]]:
    """Those that were met after they were missed, by the round in which that was."""
    told: dict[str, list[Milestone]] = {}
    for one in found:
        if one.met_in:
            told.setdefault(one.met_in, []).append(one)
    return told
