"""What a rank waited for in vain: of all root events of a round the one that a time-out follows from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .event_order import FAR_US, MAX_LOOKED_AT, delay_us, is_before, is_far, is_other_day, is_set
from .faults import Fault
from .ranks import Ranks, awaited_ranks, device_of

SAME_US = 1_000_000
"""Within a second a process does not run out of time twice: one of the two texts tells the other again."""


class Cause(NamedTuple):
    """place: of the root event. is_likely: nothing proves that it is this one. n_possible: of how many."""

    place: int
    is_likely: bool
    n_possible: int


class Causes:
    """The root events of a round, as what others waited for.

    placed: artifact -> (line, place of the root) of all texts that tell of a root.
    """

    def __init__(
        self, roots: Sequence[Fault], placed: Mapping[str, Sequence[tuple[int, int]]], ranks: Ranks
    ) -> None:
        self._roots = roots
        self._placed = placed
        timed = sorted((root.time_us, i) for i, root in enumerate(roots) if is_set(root.time_us))
        self._times, self._by_time = [time_us for time_us, _ in timed], [place for _, place in timed]
        self._by_rank: dict[int, list[int]] = {}
        self._by_device: dict[int, list[int]] = {}  # of roots whose rank is not known
        for place, root in enumerate(roots):
            rank, device = ranks.of(root), device_of(root)
            if rank is not None:
                self._by_rank.setdefault(rank, []).append(place)
            elif device is not None:
                self._by_device.setdefault(device, []).append(place)

    def named(self, wait: Fault, named: frozenset[int]) -> Cause | None:
        """The root of a rank that a time-out names; None where none of those is one.

        named: the ranks; the process of the time-out itself did not fail before.
        """
        known = self._fitting(
            wait, (place for rank in sorted(named) for place in self._by_rank.get(rank, ()))
        )
        if known:
            is_open = is_before(self._roots[known[0]], wait) is None
            return Cause(known[0], is_open or len(known) > 1, len(known))
        guessed = self._fitting(
            wait, (place for rank in sorted(named) for place in self._by_device.get(rank, ()))
        )
        if guessed:
            return Cause(guessed[0], True, len(guessed))
        return None

    def _fitting(self, wait: Fault, places: Iterable[int]) -> list[int]:
        """Those that may have come before it and are not far."""
        roots = self._roots
        return [
            place
            for _, place in zip(range(MAX_LOOKED_AT), places, strict=False)
            if is_before(roots[place], wait) is not False and not is_far(roots[place], wait)
        ]

    def by_order(self, wait: Fault, is_named: bool) -> Cause | None:
        """The first root that came before it, None where none can be it.

        is_named: it names a rank, and no root is known to be of that.
        """
        if is_set(wait.time_us):
            timeout_s = wait.figures.get("timeout_s")
            window_us = max(FAR_US, 2_000_000 * timeout_s if isinstance(timeout_s, int) else 0)
            first = bisect_left(self._times, wait.time_us - window_us)
            n = bisect_right(self._times, wait.time_us) - first
            if n > 0:
                return Cause(self._by_time[first], is_named or n > 1, n)
        in_file = [
            place
            for line, place in self._placed.get(wait.artifact, ())[:MAX_LOOKED_AT]
            if delay_us(self._roots[place], wait) is None and line <= wait.line
        ]
        if in_file:
            return Cause(in_file[0], is_named or len(in_file) > 1, len(in_file))
        # no clock and no file in common: a wait is never a cause, so it may well be one of these
        unordered = [
            place
            for place, root in enumerate(self._roots[:MAX_LOOKED_AT])
            if is_before(root, wait) is None and not is_other_day(root, wait)
        ]
        return Cause(unordered[0], True, len(unordered)) if unordered else None


class Chains:
    """Ranks that wait for ranks that wait themselves: which time-out stands at the end of such a chain.

    again: (a time-out, another text that tells it); either of the two may name the rank.
    """

    def __init__(self, waits: Sequence[Fault], again: Iterable[tuple[Fault, Fault]], ranks: Ranks) -> None:
        self._named = {id(wait): awaited_ranks(wait) for wait in waits}
        for wait, text in again:
            self._named[id(wait)] = self._named[id(wait)] | awaited_ranks(text)
        self._ranks = ranks
        self._of_rank: dict[int, list[Fault]] = {}
        for wait in waits:
            rank = ranks.of(wait)
            if rank is not None:
                self._of_rank.setdefault(rank, []).append(wait)
        self._next: dict[int, Fault | None] = {}
        self._ordered = self._ends_first(waits)

    def in_order(self) -> list[Fault]:
        """All time-outs, each one behind that which it waited for."""
        return self._ordered

    def named(self, wait: Fault) -> frozenset[int]:
        """The ranks that a time-out names."""
        return self._named[id(wait)]

    def silent(self, wait: Fault) -> tuple[int, ...]:
        """Of those the ranks that no event is known of, in ascending order."""
        return tuple(sorted(rank for rank in self._named[id(wait)] if not self._ranks.has(rank)))

    def waited_for(self, wait: Fault) -> Fault | None:
        """The time-out of the rank that this one waited for; None at the end of a chain."""
        return self._next[id(wait)]

    def _waiting(self, wait: Fault) -> Fault | None:
        """A rank without an event explains more than one that waited: it ends the chain."""
        if self.silent(wait):
            return None
        own = self._ranks.of(wait)
        for rank in sorted(self._named[id(wait)]):
            for other in self._of_rank.get(rank, ())[:MAX_LOOKED_AT]:
                if rank != own and other is not wait and not is_far(wait, other):
                    return other
        return None

    def _ends_first(self, waits: Sequence[Fault]) -> list[Fault]:
        depths: dict[int, int] = {}
        for wait in waits:
            path: dict[int, Fault] = {}
            at: Fault | None = wait
            while at is not None and id(at) not in depths and id(at) not in path:
                path[id(at)] = at
                self._next[id(at)] = self._waiting(at)
                at = self._next[id(at)]
            if at is not None and id(at) in path:  # ranks that wait for each other: one of them ends it
                self._next[id(at)] = None
                path = _from(path, id(at))
                at = None
            depth = -1 if at is None else depths[id(at)]
            for one in reversed(path):
                depth += 1
                depths[one] = depth
        return sorted(waits, key=lambda one: depths[id(one)])


def _from(path: dict[int, Fault], end: int) -> dict[int, Fault]:
    """The waits of a circle, and what leads into it, so that the end stands last."""
    keys = list(path)
    at = keys.index(end)
    turned = [*keys[:at], *keys[at + 1 :], end]
    return {key: path[key] for key in turned}


def is_told_again(first: Fault, second: Fault) -> bool:
    """True if two time-outs of one process are one: a line and a report, or two files, at one moment."""
    delay = delay_us(first, second)
    has_codes = bool(first.figures.get("code")), bool(second.figures.get("code"))
    is_other_text = first.artifact != second.artifact or has_codes[0] != has_codes[1]
    return delay is not None and abs(delay) <= SAME_US and is_other_text
