"""Tasks at impossible times: one of them at 0 would stretch the axis over 50 years and make all else idle."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass

from .device_work import DeviceWork, Flags

SINCE_2000_NS = 946_684_800 * 10**9
LATEST_NS = 2**62
"""Where most tasks have a date, one before 2000 has none; none is later than 2116."""
FAR_NS = 3600 * 10**9
FAR_SPREADS = 100
"""A task is set aside if it begins or ends further from the median start than an hour and than this many
times the distance between the quartiles of all starts."""
MAX_NAMED = 100


@dataclass(frozen=True, slots=True)
class SetAside:
    """A task that no figure counts. start_ns, duration_ns: as the file has them."""

    name: str
    start_ns: int
    duration_ns: int
    row: int


def is_stray(work: DeviceWork) -> Flags:
    """True for tasks that stand far from all others, or last less than nothing."""
    if not len(work):
        return np.zeros(0, bool)
    # the bounds are hours: the rounding of float64 (0.0002 ms) does not matter here
    starts = work.start_ns.astype(np.float64)
    durations = work.duration_ns.astype(np.float64)
    ends = starts + durations
    flags: Flags = (durations < 0) | (np.abs(starts) > LATEST_NS) | (ends > LATEST_NS)
    if np.percentile(starts, 50, method="higher") >= SINCE_2000_NS:
        flags |= starts < SINCE_2000_NS
    if flags.all():
        return flags
    low, middle, high = np.percentile(starts[~flags], (25, 50, 75), method="nearest")
    far = max(FAR_NS, FAR_SPREADS * (high - low))
    flags |= (np.abs(starts - middle) > far) | (np.abs(ends - middle) > far)
    return flags


def without_strays(work: DeviceWork) -> tuple[DeviceWork, tuple[SetAside, ...], int]:
    """The tasks at possible times, those that were set aside (at most MAX_NAMED) and how many they are."""
    flags = is_stray(work)
    n = int(flags.sum())
    if not n:
        return work, (), 0
    named = tuple(
        SetAside(work.label(int(i)), int(work.start_ns[i]), int(work.duration_ns[i]), int(work.row[i]))
        for i in np.flatnonzero(flags)[:MAX_NAMED]
    )
    return work.taken(~flags), named, n
