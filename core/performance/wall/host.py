"""Is the device waiting for the host."""

from __future__ import annotations

from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.figures import percent_text
from npulse.core.formats.profiling.timeline import Timeline

from ..advice import Words, words
from ..criteria import Criteria
from ..profile import Profile
from .device_work import KERNEL
from .gap_causes import HOST_CAUSES, CauseSum, GapCause, causes_of, longest_gaps, sums_of
from .host_calls import HostCallFacts, host_calls_of
from .lanes import exact_sum
from .latency import Latency, latency_of
from .launches import launches_of
from .record import Wall
from .texts import TEXTS

Verdict = Literal["yes", "no", "unknown"]
SMALL_KERNEL_NS = 10_000


@dataclass(frozen=True, slots=True)
class Host:
    """Whether the host keeps the device waiting, and what that rests on. None: not recorded.

    idle_share: of the wall time, 0 to 1. by_host_ns: idle time that the host caused. launches_per_s,
    calls_per_s: over the host's own time. average_kernel_ns; small_share: kernels below 10 us of all kernels,
    small_ns: their time together. causes: idle time by cause. gaps: the longest ones.
    """

    verdict: Verdict
    reason: Words
    idle_share: float | None = None
    by_host_ns: int | None = None
    launches_per_s: float | None = None
    calls_per_s: float | None = None
    average_kernel_ns: int | None = None
    small_share: float | None = None
    small_ns: int | None = None
    latency: Latency | None = None
    causes: tuple[CauseSum, ...] = ()
    gaps: tuple[GapCause, ...] = ()
    calls: HostCallFacts = HostCallFacts()


def host_of(profile: Profile, wall: Wall | None, criteria: Criteria | None = None) -> Host:
    """Host bound or not. "unknown" where too little was recorded; `reason` says what."""
    limits = criteria if criteria is not None else Criteria()
    calls = host_calls_of(profile, wall)
    if wall is None or not wall.wall_ns:
        return Host("unknown", words(TEXTS, "host no wall"), calls=calls)
    timeline = profile.timeline if wall.source == "timeline" else None
    launches = launches_of(wall.work, timeline) if wall.work is not None else None
    causes = causes_of(wall, launches)
    sums = sums_of(wall, causes)
    latency = latency_of(wall.work, launches) if wall.work is not None else None
    is_known = launches is not None and launches.is_known
    by_host_ns = sum(one.total_ns for one in sums if one.cause in HOST_CAUSES) if is_known else None
    verdict, reason = _verdict(wall, by_host_ns, sums, limits)
    average_ns, small_share, small_ns = _kernel_sizes(wall)
    per_s = 1e9 / host_ns if timeline is not None and (host_ns := _host_ns(timeline)) else None
    return Host(
        verdict=verdict,
        reason=reason,
        idle_share=wall.idle_share,
        by_host_ns=by_host_ns,
        launches_per_s=calls.n_launches * per_s if per_s and calls.n_launches is not None else None,
        calls_per_s=calls.n_calls * per_s if per_s and calls.n_calls is not None else None,
        average_kernel_ns=average_ns,
        small_share=small_share,
        small_ns=small_ns,
        latency=latency,
        causes=sums,
        gaps=longest_gaps(wall, launches, causes),
        calls=calls,
    )


def _verdict(
    wall: Wall, by_host_ns: int | None, sums: tuple[CauseSum, ...], limits: Criteria
) -> tuple[Verdict, Words]:
    idle = 100 * wall.idle_share
    if idle < limits.free_percent:
        return "no", words(TEXTS, "host little idle", idle=percent_text(idle), limit=limits.free_percent)
    unknown_ns = sum(one.total_ns for one in sums if one.cause == "unknown")
    if by_host_ns is not None and unknown_ns * 2 < wall.true_idle_ns:
        share = percent_text(100 * by_host_ns / wall.true_idle_ns)
        told_ns = wall.true_idle_ns - unknown_ns
        if by_host_ns * 2 >= told_ns:
            return "yes", words(TEXTS, "host late", idle=percent_text(idle), share=share)
        return "no", words(TEXTS, "host in time", idle=percent_text(idle), share=share)
    if wall.source != "steps" and idle >= limits.free_high_percent:
        return "yes", words(TEXTS, "host gaps", idle=percent_text(idle), n=f"{wall.n_gaps:,}")
    return "unknown", words(TEXTS, "host not recorded", idle=percent_text(idle))


def _kernel_sizes(wall: Wall) -> tuple[int | None, float | None, int | None]:
    """(average, share of small ones, time of small ones) of kernels."""
    if wall.work is None or not wall.n_kernels:
        return None, None, None
    durations = wall.work.duration_ns[wall.work.role == KERNEL]
    small = durations[durations < SMALL_KERNEL_NS]
    return exact_sum(durations) // len(durations), len(small) / len(durations), int(small.sum())


def _host_ns(timeline: Timeline) -> int:
    """From the first to the last host call."""
    firsts = [call.first_ns for call in timeline.calls]
    return max(call.last_ns for call in timeline.calls) - min(firsts) if firsts else 0
