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

    def of(self, wait: Fault) -> Cause | None:
        """The cause of a time-out whose own process did not fail before; None where no root can be it."""
        named = awaited_ranks(wait)
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
        return self._by_order(wait, is_named=bool(named))

    def _fitting(self, wait: Fault, places: Iterable[int]) -> list[int]:
        """Those that may have come before it and are not far."""
        roots = self._roots
        return [
            place
            for _, place in zip(range(MAX_LOOKED_AT), places, strict=False)
            if is_before(roots[place], wait) is not False and not is_far(roots[place], wait)
        ]

    def _by_order(self, wait: Fault, is_named: bool) -> Cause | None:
        """The first that came before it. is_named: it names a rank, and no root is known to be of that."""
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


def is_told_again(first: Fault, second: Fault) -> bool:
    """True if two time-outs of one process are one: a line and a report, or two files, at one moment."""
    delay = delay_us(first, second)
    has_codes = bool(first.figures.get("code")), bool(second.figures.get("code"))
    is_other_text = first.artifact != second.artifact or has_codes[0] != has_codes[1]
    return delay is not None and abs(delay) <= SAME_US and is_other_text
