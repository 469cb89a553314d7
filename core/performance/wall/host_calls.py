"""What the host did too often or for too long: compiling, waiting, memory, garbage collection, loading."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import Span, Timeline

from ..profile import Profile
from .record import Wall

COMPILE_MIN_CALLS = 20
REPEAT_MIN_CALLS = 20
SYNCHRONIZE_MIN_SHARE = 0.5
PAUSE_MIN_NS = 1_000_000
MEMORY_MIN_NS = 10_000_000
LOADING_MIN_NS = 10_000_000
"""Bounds of the vendor's advisor."""
SILENT_GAP_NS = 200_000_000
SILENT_LAUNCHES_PER_US = 0.0001
"""A gap this long with next to no launches may be a garbage collection that nobody recorded."""

_COMPILE = "aclopCompileAndExecute"
_SYNCHRONIZE = "aclrtSynchronizeStream"
_MEMORY = ("aclMallocMemInner", "aclrtFreePhysical", "aclrtFree")
_LOADING = "dataloader"
_NO_OPERATOR = ("GetWorkspaceSize", "_Tiling", "Tiling")
MAX_SPANS = 10


@dataclass(frozen=True, slots=True)
class CallSum:
    """Calls of one host API. n, total_ns: None where the source does not say."""

    name: str
    n: int
    total_ns: int | None


@dataclass(frozen=True, slots=True)
class HostCallFacts:
    """What the host's calls tell; None where they are not recorded at all.

    n_launches: Node@launch. n_calls: all of them. compiles, synchronizes, memory: those APIs together; None
    where they were not called. repeats: aclnn operators called at least 20 times, the most frequent first.
    pauses, loadings: the longest garbage collections and data loader calls that reach the bound. silent_gaps:
    (start, length) of idle times in which the host started nothing, if no collection is recorded.
    """

    source: str = ""
    n_launches: int | None = None
    n_calls: int | None = None
    compiles: CallSum | None = None
    synchronizes: CallSum | None = None
    memory: CallSum | None = None
    repeats: tuple[CallSum, ...] = ()
    pauses: tuple[Span, ...] = ()
    pauses_ns: int = 0
    loadings: tuple[Span, ...] = ()
    loadings_ns: int = 0
    silent_gaps: tuple[tuple[int, int], ...] = ()

    @property
    def synchronize_share(self) -> float | None:
        """Stream synchronisations a launch."""
        if self.synchronizes is None or not self.n_launches:
            return None
        return self.synchronizes.n / self.n_launches


def host_calls_of(profile: Profile, wall: Wall | None) -> HostCallFacts:
    """From the timeline's calls, else from api_statistic."""
    timeline = profile.timeline
    source = ""
    calls: list[CallSum] = []
    if timeline is not None and timeline.calls:
        source = timeline.source
        calls = [CallSum(_bare(call.name), call.n, call.total_ns) for call in timeline.calls]
    elif profile.apis:
        source = profile.sources.get("apis", "api_statistic")
        calls = [
            CallSum(_bare(api.name), api.count, api.total_ns) for api in profile.apis if api.count is not None
        ]
    pauses, pauses_ns = _longest(timeline.pauses if timeline is not None else (), PAUSE_MIN_NS)
    loading = (
        [span for span in timeline.ranges if _LOADING in span.name.lower()] if timeline is not None else []
    )
    loadings, loadings_ns = _longest(loading, LOADING_MIN_NS)
    if not calls:
        return HostCallFacts(
            source, pauses=pauses, pauses_ns=pauses_ns, loadings=loadings, loadings_ns=loadings_ns
        )
    launches = _together("launch", (call for call in calls if call.name.lower() == "launch"))
    repeats = sorted(
        (call for call in _merged(calls) if call.n >= REPEAT_MIN_CALLS and _is_operator(call.name)),
        key=lambda call: (-call.n, call.name),
    )
    return HostCallFacts(
        source=source,
        n_launches=launches.n if launches is not None else None,
        n_calls=sum(call.n for call in calls),
        compiles=_together(_COMPILE, (call for call in calls if call.name == _COMPILE)),
        synchronizes=_together(_SYNCHRONIZE, (call for call in calls if call.name.startswith(_SYNCHRONIZE))),
        memory=_together(" + ".join(_MEMORY), (call for call in calls if call.name in _MEMORY)),
        repeats=tuple(repeats),
        pauses=pauses,
        pauses_ns=pauses_ns,
        loadings=loadings,
        loadings_ns=loadings_ns,
        silent_gaps=_silent_gaps(wall, timeline) if timeline is not None and not timeline.pauses else (),
    )


def _bare(name: str) -> str:
    """AscendCL@aclrtFree -> aclrtFree."""
    return name.rpartition("@")[2]


def _is_operator(name: str) -> bool:
    return name.startswith("aclnn") and not name.endswith(_NO_OPERATOR)


def _merged(calls: Iterable[CallSum]) -> list[CallSum]:
    """One sum a name: an API can stand on several levels or threads."""
    groups: dict[str, list[CallSum]] = {}
    for call in calls:
        groups.setdefault(call.name, []).append(call)
    merged = (_together(name, group) for name, group in groups.items())
    return [call for call in merged if call is not None]


def _together(name: str, calls: Iterable[CallSum]) -> CallSum | None:
    found = list(calls)
    if not found:
        return None
    times = [call.total_ns for call in found if call.total_ns is not None]
    return CallSum(name, sum(call.n for call in found), sum(times) if len(times) == len(found) else None)


def _longest(spans: Iterable[Span], min_ns: int) -> tuple[tuple[Span, ...], int]:
    """The longest spans that reach a bound, and how long all of those are."""
    long = [span for span in spans if span.end_ns - span.start_ns >= min_ns]
    long.sort(key=lambda span: (span.start_ns - span.end_ns, span.start_ns))
    return tuple(long[:MAX_SPANS]), sum(span.end_ns - span.start_ns for span in long)


def _silent_gaps(wall: Wall | None, timeline: Timeline) -> tuple[tuple[int, int], ...]:
    """Long idle times in which the host started next to nothing."""
    if wall is None or not len(timeline.launches):
        return ()
    starts = np.sort(timeline.launches.start_ns)
    found = []
    for gap in wall.gaps:
        if gap.duration_ns <= SILENT_GAP_NS:
            break  # they are in order of length
        first, last = np.searchsorted(starts, (gap.start_ns, gap.end_ns))
        if not gap.is_artefact and (last - first) / (gap.duration_ns / 1000) < SILENT_LAUNCHES_PER_US:
            found.append((gap.start_ns, gap.duration_ns))
    return tuple(found[:MAX_SPANS])
