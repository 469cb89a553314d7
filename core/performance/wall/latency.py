"""How long a task waits between its launch by the host and its start: is the device's queue empty or full."""

from __future__ import annotations

from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import NONE

from .device_work import COMMUNICATION, KERNEL, DeviceWork
from .launches import Launches

Trend = Literal["growing", "flat", "falling", "unknown"]
Queue = Literal["empty", "full", "between", "unknown"]

EMPTY_NS = 100_000
FULL_NS = 1_000_000
"""Median latency below which the queue counts as empty, and from which it counts as full."""
_GROWTH = 1.5
_MIN_FOR_TREND = 12


@dataclass(frozen=True, slots=True)
class Latency:
    """Device start less launch start, of n kernels and collectives. Times int ns, negative ones count as 0.

    n_negative: tasks that seem to begin before their launch (clocks of host and device). first_ns, last_ns:
    median of the first and of the last third. queue: "empty" where tasks begin as soon as they come (the
    device waits for the host), "full" where they wait (the host is ahead).
    """

    n: int
    median_ns: int
    p90_ns: int
    max_ns: int
    n_negative: int
    first_ns: int
    last_ns: int
    trend: Trend
    queue: Queue


def latency_of(work: DeviceWork, launches: Launches | None) -> Latency | None:
    """Latency of the tasks whose launch is recorded; None if there is none.

    The first task is left out where there are others: it pays for loading (up to 94 ms seen).
    """
    if launches is None:
        return None
    rows = np.flatnonzero(((work.role == KERNEL) | (work.role == COMMUNICATION)) & (launches.at != NONE))
    if len(rows) > 1:
        rows = rows[1:]
    if not len(rows):
        return None
    raw = work.start_ns[rows] - launches.calls.start_ns[launches.at[rows]]
    latency = np.maximum(raw, 0)
    n = len(latency)
    middle, high = (int(np.percentile(latency, q, method="nearest")) for q in (50, 90))
    third = max(n // 3, 1)
    first, last = (
        int(np.percentile(part, 50, method="nearest")) for part in (latency[:third], latency[-third:])
    )
    trend = _trend(n, first, last)
    return Latency(
        n,
        middle,
        high,
        int(latency.max()),
        int((raw < 0).sum()),
        first,
        last,
        trend,
        _queue(middle, trend),
    )


def _trend(n: int, first_ns: int, last_ns: int) -> Trend:
    if n < _MIN_FOR_TREND:
        return "unknown"
    if last_ns > first_ns * _GROWTH and last_ns - first_ns > EMPTY_NS:
        return "growing"
    if first_ns > last_ns * _GROWTH and first_ns - last_ns > EMPTY_NS:
        return "falling"
    return "flat"


def _queue(median_ns: int, trend: Trend) -> Queue:
    if median_ns < EMPTY_NS:
        return "empty"
    return "full" if median_ns >= FULL_NS or trend == "growing" else "between"
