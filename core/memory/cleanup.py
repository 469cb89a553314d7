"""The clean-up loop over rounds: what a fix removed, what is new, what an earlier fault had hidden.

Sanitizers stop at the first fault (host sanitizers), lose records or are killed: what was not seen in a round
may have been there. So "fixed" needs a log that is complete and looked for this kind of fault, and a new
fault may have been hidden before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .faults import LogTrust
from .kinds import rule_of
from .sites import Site

State = Literal["first", "same", "moved", "new", "was hidden", "back"]
"""first: there is no round before. moved: the same fault, its line has shifted. back: fixed once before."""

MAX_SHIFT_LINES = 200

_CHECK_OF_RULE = {
    "access": "memcheck",
    "overlap": "memcheck",
    "misaligned": "memcheck",
    "free": "memcheck",
    "leak": "memcheck",
    "unused": "memcheck",
    "race": "racecheck",
    "uninitialized": "initcheck",
    "sync": "synccheck",
    "lock-up": "synccheck",
}
"""What msSanitizer must have been told to look for, so that the absence of a fault says something."""


@dataclass(frozen=True, slots=True)
class RoundSites:
    """What one round tells: sites, how far its logs can be trusted, whether a process ended early in it."""

    name: str
    sites: tuple[Site, ...]
    trusts: tuple[LogTrust, ...]
    ended_early: bool

    @property
    def is_complete(self) -> bool:
        return bool(self.trusts) and all(trust.is_complete for trust in self.trusts)

    @property
    def checks(self) -> frozenset[str]:
        return frozenset(word for trust in self.trusts for word in trust.checks)


@dataclass(frozen=True, slots=True)
class Gone:
    """A site of an earlier round that this round does not show.

    is_fixed: this round's log is complete and looked for such faults; else `why_not` says what is missing:
    "incomplete" or the check that did not run. round: the last one that had it.
    """

    site: Site
    round: str
    is_fixed: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CleanUp:
    """A round against all before it. states: one for each of its sites. since: name of the round before.

    is_done: no fault is left, and the log is complete.
    """

    since: str
    states: tuple[State, ...]
    gone: tuple[Gone, ...]
    n_rounds: int
    is_done: bool

    def count(self, *states: State) -> int:
        return sum(state in states for state in self.states)


def clean_up(rounds: Sequence[RoundSites]) -> CleanUp | None:
    """The last of these rounds against those before; None where it is the only one."""
    if len(rounds) < 2:
        return None
    now, before = rounds[-1], rounds[-2]
    pairs = _pairs(before.sites, now.sites)
    earlier = [known for one in rounds[:-2] for known in one.sites]
    seen_once = set(_pairs(earlier, now.sites))
    states: list[State] = []
    for i in range(len(now.sites)):
        if i in pairs:
            is_same = before.sites[pairs[i]].key == now.sites[i].key
            states.append("same" if is_same else "moved")
        elif i in seen_once:
            states.append("back")
        else:
            states.append("was hidden" if before.ended_early or not before.is_complete else "new")
    kept = set(pairs.values())
    gone = [_gone(site, before.name, now) for i, site in enumerate(before.sites) if i not in kept]
    return CleanUp(before.name, tuple(states), tuple(gone), len(rounds), now.is_complete and not now.sites)


def _gone(site: Site, round_name: str, now: RoundSites) -> Gone:
    if not now.is_complete or now.ended_early:
        return Gone(site, round_name, False, "incomplete")
    check = _CHECK_OF_RULE.get(rule_of(site.first), "")
    if site.first.tool == "msSanitizer" and check and now.checks and check not in now.checks:
        return Gone(site, round_name, False, check)
    tools = {tool for trust in now.trusts for tool in trust.tools}
    if site.first.tool not in tools:
        return Gone(site, round_name, False, site.first.tool)
    return Gone(site, round_name, True)


def _pairs(before: Sequence[Site], now: Sequence[Site]) -> dict[int, int]:
    """Which site of now is which of before: the same key; else the nearest line of the same file and kind."""
    by_key = {site.key: i for i, site in enumerate(before)}
    pairs = {i: by_key[site.key] for i, site in enumerate(now) if site.key in by_key}
    taken = set(pairs.values())
    left: dict[tuple[object, ...], list[int]] = {}
    for i, site in enumerate(before):
        if i not in taken and site.is_place_known:
            left.setdefault(_nature(site), []).append(i)
    for i, site in enumerate(now):
        if i in pairs or not site.is_place_known:
            continue
        candidates = left.get(_nature(site), [])
        near = min(candidates, key=lambda other: _shift(before[other], site), default=None)
        if near is not None and _shift(before[near], site) <= MAX_SHIFT_LINES:
            pairs[i] = near
            candidates.remove(near)
    return pairs


def _nature(site: Site) -> tuple[object, ...]:
    """What a fault keeps when lines are added above it."""
    access, place = site.first.access, site.place
    name = posixpath.basename(place.file) if place is not None else ""
    return site.first.tool, site.first.kind, site.first.hazard, access.space, access.kernel, name


def _shift(one: Site, other: Site) -> int:
    """How far their places are apart, in lines."""
    lines = [site.place.line or 0 for site in (one, other) if site.place is not None]
    return abs(lines[0] - lines[1]) if len(lines) == 2 else MAX_SHIFT_LINES + 1
