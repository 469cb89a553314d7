"""One order for the calls of all ranks: they have no common clock, but where they meet they meet at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from .meetings import Meeting, Meetings


def time_before(clock: Mapping[int, int], call: int) -> int:
    """Order of a call among all ranks of its step: the last meeting in front of it; 0 before any.

    clock: of its rank, as `clocks_of` gives it, in ascending order of calls.
    """
    calls = list(clock)
    before = bisect_left(calls, call)
    return clock[calls[before - 1]] if before else 0


def clocks_of(ranks: Sequence[Meetings]) -> list[dict[int, int]]:
    """For each rank: communication call to a number that is larger than that of all meetings before it.

    ranks: the meetings of the ranks of one step. Cost: O(communication calls).
    """
    clocks: list[dict[int, int]] = [{} for _ in ranks]
    waiting = [list(rank.of_call) for rank in ranks]
    where: dict[Meeting, list[int]] = {}
    for number, rank in enumerate(ranks):
        for meeting in rank.calls:
            where.setdefault(meeting, []).append(number)
    at, now = [0] * len(ranks), [0] * len(ranks)

    def ready_after(number: int, call: int) -> int | None:
        """The time behind which the call can take place; None while somebody it needs is not there yet."""
        latest = now[number]
        here = ranks[number]
        for meeting in here.of_call[call]:
            if meeting in here.sent:
                continue  # who sends waits for nobody
            for peer in where[meeting]:
                there = ranks[peer]
                other = there.calls[meeting]
                if meeting in there.sent:
                    if other not in clocks[peer]:
                        return None
                    latest = max(latest, clocks[peer][other])
                elif peer != number:
                    if at[peer] < len(waiting[peer]) and waiting[peer][at[peer]] != other:
                        return None
                    latest = max(latest, now[peer])
        return latest

    queue = list(range(len(ranks)))
    while queue:
        number = queue.pop()
        while at[number] < len(waiting[number]):
            call = waiting[number][at[number]]
            before = ready_after(number, call)
            if before is None:
                break  # goes on when the one that it waits for has moved
            here = ranks[number]
            together = {number: call}
            for meeting in here.of_call[call]:
                for peer in where[meeting]:
                    if meeting not in here.sent and meeting not in ranks[peer].sent:
                        together[peer] = ranks[peer].calls[meeting]
                    else:
                        queue.append(peer)
            for peer, other in together.items():
                if at[peer] < len(waiting[peer]) and waiting[peer][at[peer]] == other:
                    clocks[peer][other] = now[peer] = before + 1
                    at[peer] += 1
                    queue.append(peer)
    for number, calls in enumerate(waiting):  # who waits for one that never comes: its own order
        for call in calls[at[number] :]:
            now[number] += 1
            clocks[number][call] = now[number]
    return clocks
