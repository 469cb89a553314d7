"""In which order advice should be looked at: the answer first, then what costs the most.

What a user's criterion says comes first, then ranks (figures of one that waits for another mean little), then
what belongs to the answer (idle, communication, compute) of the profile that is shown, then the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .advice import Advice
from .changes.advice import advice_of_changes
from .kernel.advice import advice_of_kernel
from .ranks.advice import advice_of_ranks
from .ranks.tool_tables import advice_of_tool_tables
from .raw import advice_of_raw

if TYPE_CHECKING:
    from .found import Performance

_SEVERITIES = ("error", "warning", "note")
_RANKS = frozenset(
    (
        "performance.slow-rank",
        "performance.late-rank",
        "performance.rank-without-work",
        "performance.not-exported",
    )
)
_HEADS = frozenset(("performance.host-bound", "performance.exposed-communication"))


def ordered(found: Performance) -> tuple[Advice, ...]:
    """All that is said of a round. The first warning or error of the profile that is shown is the origin."""
    shown = found.shown
    answer = shown.wall.bottleneck.answer if shown is not None else "unknown"
    name = shown.profile.name if shown is not None else ""
    kept = sorted(_all(found), key=lambda one: _place(one, answer, name))
    for place, one in enumerate(kept):
        if one.severity != "note" and one.role == "suspect":
            kept[place] = replace(one, role="origin")
            break
        if one.severity != "note" and one.role == "origin":
            break
    return tuple(kept)


def _all(found: Performance) -> Iterator[Advice]:
    criteria = found.settings.criteria
    for session in found.raw:
        yield from advice_of_raw(session, found.root, found.growth.get(session.folder))
    for ranks in found.ranks:
        yield from advice_of_ranks(ranks, criteria)
    yield from (advice for one in _profiles(found) for advice in one)
    for told in found.tool_tables:
        yield from advice_of_tool_tables(told)
    for kernel in found.kernels:
        yield from advice_of_kernel(kernel, criteria)
    if found.changes is not None:
        yield from advice_of_changes(found.changes)


def _profiles(found: Performance) -> Iterator[Iterable[Advice]]:
    """Of several ranks of one job only the shown one is told in full: the others would say the same."""
    shown = found.shown
    for one in found.profiles:
        ranks = found.ranks_with(one.profile)
        is_peer = shown is not None and ranks is not None and found.ranks_with(shown.profile) is ranks
        if one is shown:
            yield one.advice
        elif is_peer:
            yield (advice for advice in one.advice if advice.severity == "error")
        else:
            yield (advice for advice in one.advice if advice.severity != "note")


def _place(one: Advice, answer: str, name: str) -> tuple[int, int, int, int, int]:
    is_answer = one.bottleneck == answer or (not one.bottleneck and answer == "compute")
    return (
        _SEVERITIES.index(one.severity),
        0 if one.rule in _RANKS else 1,
        0 if one.profile in ("", name) else 1,
        0 if is_answer and one.rule in _HEADS else 1 if is_answer else 2,
        -one.cost_ns,
    )
