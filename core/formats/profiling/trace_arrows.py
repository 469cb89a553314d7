"""Arrows of a trace: which call or operator started which task, where the events themselves do not say."""

from __future__ import annotations

import numpy as np

from .timeline import NONE, Codes, Integers
from .trace_numbers import Flags

Ends = tuple[Codes, Integers, Integers]
"""Ends of arrows: lane, time and id of each. An end stands in the lane of its event, at its start."""


def ids_at(lane: Codes, start: Integers, ends: Ends) -> Integers:
    """The id of the arrow that has an end at each event, NONE where there is none."""
    end_lane, end_at, end_id = ends
    if not len(end_at) or not len(start):
        return np.full(len(start), NONE, np.int64)
    times, place = np.unique(end_at, return_inverse=True)
    end_key = end_lane.astype(np.int64) * len(times) + place
    order = np.argsort(end_key, kind="stable")
    end_key, end_id = end_key[order], end_id[order]
    near = np.minimum(np.searchsorted(times, start), len(times) - 1)
    key = lane.astype(np.int64) * len(times) + near
    at = np.minimum(np.searchsorted(end_key, key), len(end_key) - 1)
    is_met = (times[near] == start) & (end_key[at] == key)
    found: Integers = np.where(is_met, end_id[at], NONE)
    return found


def connected_by_arrows(
    lane: Codes, start: Integers, connection: Integers, is_device: Flags, is_call: Flags, ends: Ends
) -> Integers:
    """The connection of each row; rows of a device that have none get the id of the arrow that ends there.

    The calls where such arrows begin get the same ids.
    """
    is_open = is_device & (connection == NONE)
    if not len(ends[0]) or not is_open.any():
        return connection
    at = np.flatnonzero(is_open | is_call)
    ids = ids_at(lane[at], start[at], ends)
    found = connection.copy()
    found[at[ids != NONE]] = ids[ids != NONE]
    return found


def connections_of_starts(ids: Integers, start: Integers, connection: Integers) -> Integers:
    """Ids that are the start of a task -> the task's connection, NONE where no task starts then.

    start: in order.
    """
    if not len(start):
        return np.full(len(ids), NONE, np.int64)
    place = np.minimum(np.searchsorted(start, ids), len(start) - 1)
    found: Integers = np.where(start[place] == ids, connection[place], NONE)
    return found
