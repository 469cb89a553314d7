"""The clean-up loop over rounds: what a fix removed, what is new, what an earlier fault had hidden.

Sanitizers stop at the first fault (host sanitizers), lose records or are killed: what was not seen in a round
may have been there. So "fixed" needs a log that is complete and looked for this kind of fault, and a new
fault may have been hidden before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Literal

from npulse.core.dataclass import dataclass

from .faults import LogTrust
from .kinds import rule_of
from .sites import Site

State = Literal["first", "same", "moved", "new", "was hidden", "back"]
"""first: there is no round before. moved: the same fault, its line has shifted. back: fixed once before."""

MAX_SHIFT_LINES = 60

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

    is_fixed: a round after the last that had it is complete and looked for such faults in its kernel; else
    `why_not` says what is missing: "incomplete", or the check, tool or kernel that did not run. round: the
    last one that had it.
    """

    site: Site
    round: str
    is_fixed: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CleanUp:
    """A round against all before it. states: one for each of its sites. since: name of the round before.

    gone: what the round before still had, or what nobody could tell of since. is_done: no fault is left, the
    logs say that checks ran to their end, and of nothing it is open whether it was fixed.
    """

    since: str
    states: tuple[State, ...]
    gone: tuple[Gone, ...]
    n_rounds: int
    is_done: bool

    @property
    def is_told(self) -> bool:
        """Whether it is known of every earlier fault that it is fixed or still there."""
        return all(gone.is_fixed for gone in self.gone)

    def count(self, *states: State) -> int:
        return sum(state in states for state in self.states)


@dataclass(slots=True)
class _Known:
    """A fault that was seen, and has not been seen to be fixed."""

    site: Site
    round: str


def clean_up(rounds: Sequence[RoundSites]) -> CleanUp | None:
    """The last of these rounds against those before; None where it is the only one.

    A fault stays open until a round that could have shown it does not; one that lost records fixes nothing.
    """
    if len(rounds) < 2:
        return None
    open_: list[_Known] = []
    fixed: list[Site] = []
    states: list[State] = []
    gone: list[Gone] = []
    before: RoundSites | None = None
    for now in rounds:
        pairs = _pairs([known.site for known in open_], now.sites)
        again = _pairs(fixed, [site for i, site in enumerate(now.sites) if i not in pairs])
        left = [i for i in range(len(now.sites)) if i not in pairs]
        back = {left[i] for i in again}
        states = [_state(i, pairs, back, open_, now, before) for i in range(len(now.sites))]
        kept = set(pairs.values())
        gone = [_gone(known, now) for i, known in enumerate(open_) if i not in kept]
        fixed += [one.site for one in gone if one.is_fixed]
        open_ = [_Known(site, now.name) for site in now.sites]
        open_ += [_Known(one.site, one.round) for one in gone if not one.is_fixed]
        before = now
    last = rounds[-1]
    has_run = any(trust.n_clean_ends for trust in last.trusts)
    is_done = last.is_complete and has_run and not last.sites and all(one.is_fixed for one in gone)
    return CleanUp(rounds[-2].name, tuple(states), tuple(gone), len(rounds), is_done)


def _state(
    i: int,
    pairs: dict[int, int],
    back: set[int],
    known: Sequence[_Known],
    now: RoundSites,
    before: RoundSites | None,
) -> State:
    if before is None:
        return "first"
    if i in pairs:
        return "same" if known[pairs[i]].site.key == now.sites[i].key else "moved"
    if i in back:
        return "back"
    return "was hidden" if before.ended_early or not before.is_complete else "new"


def _gone(known: _Known, now: RoundSites) -> Gone:
    site = known.site
    if not now.is_complete or now.ended_early:
        return Gone(site, known.round, False, "incomplete")
    check = _CHECK_OF_RULE.get(rule_of(site.first), "")
    if site.first.tool == "msSanitizer" and check and now.checks and check not in now.checks:
        return Gone(site, known.round, False, check)
    tools = {tool for trust in now.trusts for tool in trust.tools}
    if site.first.tool not in tools:
        return Gone(site, known.round, False, site.first.tool)
    kernel = site.first.access.kernel
    kernels = {name for trust in now.trusts for name in trust.kernels}
    if kernel and kernels and kernel not in kernels:
        return Gone(site, known.round, False, kernel)
    return Gone(site, known.round, True)


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
    size = None if site.first.is_leak else site.size_bytes
    first = site.first
    return first.tool, first.kind, first.hazard, access.word, access.space, access.kernel, name, size


def _shift(one: Site, other: Site) -> int:
    """How far their places are apart, in lines."""
    lines = [site.place.line or 0 for site in (one, other) if site.place is not None]
    return abs(lines[0] - lines[1]) if len(lines) == 2 else MAX_SHIFT_LINES + 1
