"""Forward calls that run once more for the backward: activations that were not kept are computed again.

Versions up to 26.0 mark them (`is_recompute`). Later ones do not: there a forward behind the first backward,
or in a run that ends at it, that reads and makes what an earlier one did, of the same operator, is its copy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import Dump

from .keys import BACKWARD, FORWARD, Hashes, Keys, joined
from .model import Ints

MARKED, NOT_RECORDED = 1, -1
_LOOK_AHEAD = 64
"""Calls behind the last one that was copied among which the next of a block is looked for."""


def copies_of(dump: Dump, keys: Keys) -> Ints:
    """For each call the first forward that it repeats, -1 for all others. Cost: linear in the calls."""
    marks = dump.calls.recompute
    result = np.full(keys.n, -1, np.int64)
    is_marked = (marks == MARKED) & (keys.direction == FORWARD)
    if is_marked.any():
        return _matched(keys, is_marked, result)
    backward = np.flatnonzero(keys.direction == BACKWARD)
    if not len(backward) or not ((marks == NOT_RECORDED) & (keys.direction == FORWARD)).any():
        return result
    first = _start_of_copies(keys, int(backward[0]))
    behind = (np.arange(keys.n) >= first) & (keys.direction == FORWARD)
    return _by_content(keys, behind, first, result)


def _start_of_copies(keys: Keys, first_backward: int) -> int:
    """Where copies may begin: at the first backward, or at a run in front of it that repeats an earlier run.

    The block that runs last is computed again before any backward, where no loss or head stands behind it.
    """
    whole, tells = _whole(keys)
    firsts: dict[int, int] = {}
    for call in np.flatnonzero(keys.direction[:first_backward] == FORWARD).tolist():
        if tells[call]:
            firsts.setdefault(whole[call], call)
    start = before = first_backward
    for call in range(first_backward - 1, -1, -1):
        if not tells[call]:
            continue
        first = firsts.get(whole[call], call)
        if first >= min(call, before):
            break
        start, before = call, first
    last = firsts.get(whole[first_backward - 1], first_backward) if start < first_backward else -1
    return start if last < start else first_backward


def _exact(keys: Keys) -> Hashes:
    return joined(keys.type, keys.given_shapes, keys.given)


def _weak(keys: Keys) -> Hashes:
    return joined(keys.type, keys.given_shapes)


def _whole(keys: Keys) -> tuple[list[int], list[bool]]:
    """Per call a hash of all that it is given and makes, and whether that identifies it."""
    tells = (keys.given != 0) & ((keys.made != 0) | keys.is_module)
    return joined(keys.type, keys.given_shapes, keys.given, keys.made).tolist(), tells.tolist()


def _matched(keys: Keys, is_copy: npt.NDArray[np.bool_], result: Ints) -> Ints:
    exact, weak = _exact(keys).tolist(), _weak(keys).tolist()
    given = (keys.given != 0).tolist()
    firsts = np.flatnonzero(~is_copy & (keys.direction == FORWARD)).tolist()
    by_exact: dict[int, list[int]] = {}
    by_weak: dict[int, list[int]] = {}
    for call in firsts:
        if given[call]:
            by_exact.setdefault(exact[call], []).append(call)
        by_weak.setdefault(weak[call], []).append(call)
    used: dict[int, int] = {}
    last, before = -1, -2
    for call in np.flatnonzero(is_copy).tolist():
        is_new_block = call != before + 1
        before = call
        same = by_exact.get(exact[call]) if given[call] else None
        pool = same or by_weak.get(weak[call])
        if not pool:
            continue
        found = _next_in(pool, -1 if is_new_block and same else last, call)
        if is_new_block and not same:
            found = _last_unused(pool, used, call)
        if found < 0:
            continue
        result[call] = last = found
        used[found] = used.get(found, 0) + 1
    return result


def _next_in(pool: list[int], last: int, call: int) -> int:
    """The first of a sorted pool behind `last` and before `call`; the last one before `call` otherwise."""
    place = bisect_right(pool, last)
    if place < len(pool) and pool[place] < call:
        return pool[place]
    place = bisect_left(pool, call) - 1
    return pool[place] if place >= 0 else -1


def _last_unused(pool: list[int], used: dict[int, int], call: int) -> int:
    """The latest of a pool before `call` that nobody has repeated: the backward goes from the end."""
    while pool and (pool[-1] >= call or used.get(pool[-1])):
        if pool[-1] >= call:
            return next((c for c in reversed(pool) if c < call and not used.get(c)), -1)
        pool.pop()
    return pool[-1] if pool else -1


def _by_content(keys: Keys, behind: npt.NDArray[np.bool_], first_backward: int, result: Ints) -> Ints:
    """Without marks: equal inputs and outputs; between two such calls also what says too little by itself."""
    whole, tells = _whole(keys)
    weak = _weak(keys).tolist()
    firsts: dict[int, list[int]] = {}
    for call in np.flatnonzero(keys.direction[:first_backward] == FORWARD).tolist():
        if tells[call]:
            firsts.setdefault(whole[call], []).append(call)
    last = -1
    open_calls: list[int] = []
    before = -2
    for call in np.flatnonzero(behind).tolist():
        if call != before + 1:
            open_calls.clear()
            last = -1
        before = call
        pool = firsts.get(whole[call]) if tells[call] else None
        if not pool:
            open_calls.append(call)
            continue
        found = _next_in(pool, last, call)
        if last >= 0:
            _between(result, weak, open_calls, last, found)
        open_calls.clear()
        result[call] = last = found
    return result


def _between(result: Ints, weak: list[int], open_calls: list[int], last: int, found: int) -> None:
    """Calls between two copies repeat those between the two first forwards, if they are of the same kind."""
    place = last + 1
    for call in open_calls:
        for other in range(place, min(found, place + _LOOK_AHEAD)):
            if weak[other] == weak[call]:
                result[call] = other
                place = other + 1
                break
