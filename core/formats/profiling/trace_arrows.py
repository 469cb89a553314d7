"""Arrows of a trace: which call started which task, where the events themselves carry no common id."""

from __future__ import annotations

import numpy as np

from .timeline import NONE, Codes, Integers
from .trace_numbers import Flags


def connected_by_arrows(
    lane: Codes,
    start: Integers,
    connection: Integers,
    is_device: Flags,
    is_call: Flags,
    ends: tuple[Codes, Integers, Integers],
) -> Integers:
    """The connection of each row; rows of a device that have none get the id of the arrow that ends there.

    An end stands at the start of its event, in its lane. ends: lane, time and id of all ends of arrows. The
    calls where these arrows begin get the same ids.
    """
    end_lane, end_at, end_id = ends
    if not len(end_at) or not (is_device & (connection == NONE)).any():
        return connection
    times, place = np.unique(end_at, return_inverse=True)
    end_key = end_lane.astype(np.int64) * len(times) + place
    order = np.argsort(end_key, kind="stable")
    end_key, end_id = end_key[order], end_id[order]
    near = np.searchsorted(times, start)
    np.minimum(near, len(times) - 1, out=near)
    key = lane.astype(np.int64) * len(times) + near
    at = np.searchsorted(end_key, key)
    np.minimum(at, len(end_key) - 1, out=at)
    is_met = (times[near] == start) & (end_key[at] == key)
    found = connection.copy()
    is_met &= (is_device & (connection == NONE)) | is_call
    found[is_met] = end_id[at[is_met]]
    return found
