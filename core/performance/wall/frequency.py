"""The clock of the AI cores while kernels ran: did it drop."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.timeline import Integers

from ..criteria import Criteria
from ..profile import Profile
from .device_work import KERNEL, DeviceWork
from .record import Wall

IDLE_MHZ = 800
RATED_WITH_IDLE_MHZ = 1800
"""An NPU rated at 1800 MHz goes down to 800 MHz while it has nothing to do: no alarm."""
MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class Frequency:
    """The clock against its rated value. rated_source: "settings", or "highest" where only samples are known.

    n_samples. low_mhz: the lowest value a kernel ran at. n_kernels: kernels whose time the samples cover;
    n_low: those with a mean drop of at least the bound, low_ns of kernels_ns together. kernels: names with
    the most such time, (name, n, ns). n_uncovered: kernels before the first sample. lost_ns: how much of
    low_ns is owed to the drop, if time goes with the clock.
    """

    rated_mhz: float
    rated_source: str
    n_samples: int
    low_mhz: float
    n_kernels: int
    n_low: int
    low_ns: int
    kernels_ns: int
    kernels: tuple[tuple[str, int, int], ...] = ()
    n_uncovered: int = 0
    lost_ns: int = 0

    @property
    def low_share(self) -> float:
        """Kernel time with a clock that is too low, 0 to 1."""
        return self.low_ns / self.kernels_ns if self.kernels_ns else 0.0


def frequency_of(profile: Profile, wall: Wall | None, criteria: Criteria | None = None) -> Frequency | None:
    """The clock during kernels of the AI cores; None where no clock or no kernel is recorded."""
    limits = criteria if criteria is not None else Criteria()
    timeline = profile.timeline
    if timeline is None or wall is None or wall.work is None or wall.source != "timeline":
        return None
    at, mhz = _sorted_samples(timeline.frequency_at_ns, timeline.frequency_mhz)
    if not len(at):
        return None
    rated = profile.settings.frequency_mhz
    source = "settings" if rated else "highest"
    highest = float(mhz.max())
    rated_mhz = float(rated) if rated else highest
    if rated_mhz <= 0:
        return None
    rows = _core_rows(wall.work)
    covered = rows[wall.work.start_ns[rows] >= at[0]]
    starts, lengths = wall.work.start_ns[covered], wall.work.duration_ns[covered]
    is_long = lengths > 0
    covered, starts, lengths = covered[is_long], starts[is_long], lengths[is_long]
    n_uncovered = len(rows) - int((wall.work.start_ns[rows] >= at[0]).sum())
    if rated_mhz == RATED_WITH_IDLE_MHZ:
        mhz = np.where(mhz == IDLE_MHZ, rated_mhz, mhz)
    drop = 1 - _mean_between(at, mhz, starts, lengths) / rated_mhz
    is_low = drop * 100 >= limits.frequency_drop_percent - 1e-9  # a mean of floats is a hair off
    low = covered[is_low]
    return Frequency(
        rated_mhz=rated_mhz,
        rated_source=source,
        n_samples=len(at),
        low_mhz=float(rated_mhz * (1 - drop.max())) if len(drop) else highest,
        n_kernels=len(covered),
        n_low=len(low),
        low_ns=int(lengths[is_low].sum()),
        kernels_ns=int(lengths.sum()),
        kernels=_names(wall.work, low),
        n_uncovered=n_uncovered,
        lost_ns=int((lengths[is_low] * drop[is_low]).sum()),
    )


def _sorted_samples(
    at: Integers, mhz: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[Integers, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Samples in order of time, without those that are no clock (0, negative, NaN)."""
    is_clock = np.isfinite(mhz) & (mhz > 0)
    order = np.argsort(at[is_clock], kind="stable")
    return at[is_clock][order], mhz[is_clock][order]


def _core_rows(work: DeviceWork) -> Integers:
    """Kernels of the AI cores: not those of the AI CPU or other engines."""
    is_other = np.array([_is_other_engine(kind) for kind in work.kinds] + [False], bool)[work.kind]
    return np.flatnonzero((work.role == KERNEL) & ~is_other).astype(np.int64)


def _is_other_engine(kind: str) -> bool:
    return any(word in kind.upper() for word in ("CPU", "DSA", "DVPP", "DPU"))


def _mean_between(
    at: Integers, mhz: np.ndarray[tuple[int], np.dtype[np.float64]], starts: Integers, lengths: Integers
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Mean of the steps over each time, weighed by how long each value held."""
    origin = at[0]
    held = np.concatenate((np.zeros(1), np.cumsum(np.diff(at) * mhz[:-1])))

    def until(times: Integers) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        index = np.maximum(np.searchsorted(at, times, side="right") - 1, 0)
        area: np.ndarray[tuple[int], np.dtype[np.float64]] = held[index] + (times - at[index]) * mhz[index]
        return area

    first = np.searchsorted(at, starts, side="right") - 1
    last = np.searchsorted(at, starts + lengths, side="left") - 1
    is_one = first == last  # exact where one value held all the time
    safe = np.maximum(starts, origin)
    mean = (until(starts + lengths) - until(safe)) / np.maximum(lengths, 1)
    return np.where(is_one, mhz[np.maximum(first, 0)], mean)


def _names(work: DeviceWork, rows: Integers) -> tuple[tuple[str, int, int], ...]:
    codes, place, counts = np.unique(work.name[rows], return_inverse=True, return_counts=True)
    sums = np.zeros(len(codes), np.int64)
    np.add.at(sums, place, work.duration_ns[rows])
    order = np.argsort(-sums, kind="stable")[:MAX_LISTED]
    return tuple((work.names[codes[i]] if codes[i] >= 0 else "", int(counts[i]), int(sums[i])) for i in order)
