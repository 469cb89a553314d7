"""What polling showed of each chip over time, bounded: figures for sparklines, peaks, counters that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.npu_smi.records import ChipSample, SmiText

from .criteria import Criteria
from .snapshot import MAX_CHIPS, Key, Snapshot

Gauge = Literal[
    "power_w", "temperature_c", "frequency_mhz", "ai_core_percent", "npu_percent", "used_mb", "total_mb"
]
GAUGES: tuple[Gauge, ...] = (
    *("power_w", "temperature_c", "frequency_mhz", "ai_core_percent", "npu_percent", "used_mb", "total_mb"),
)
MAX_SAMPLES = 720
"""Of one chip; of more every second one is dropped, so that they still span the whole time."""
MAX_HEALTHS = 64
_MAX_PAIRED = 240
"""Samples whose slopes are paired: 28,680 pairs."""

_PARTS = 8
"""A window begins at one of so many places: what a job loads slowly has to be left out."""
_Floats = npt.NDArray[np.float64]

Series = tuple[tuple[int | None, float], ...]
"""(nanoseconds since 1970 or None, value), oldest first."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest value of a gauge, when, and in how many of how many samples it was over `Criteria`."""

    value: float
    time_ns: int | None
    n_samples: int


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory that only grew. mb_per_hour: None where the text says no times: then mb_per_sample alone.

    from_mb, to_mb: used at both ends of the window; n_samples in it; hours: its length.
    """

    from_mb: float
    to_mb: float
    n_samples: int
    mb_per_sample: float
    hours: float | None = None
    mb_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Slow:
    """The lowest frequency of the AI cores under load, and how often it was below rated under load."""

    frequency_mhz: float
    rated_mhz: float
    time_ns: int | None
    temperature_c: float | None
    power_w: float | None
    n_slow: int
    n_loaded: int


_Point = tuple[int | None, tuple[float | None, ...]]


@dataclass(slots=True)
class _Chip:
    points: list[_Point] = field(default_factory=list)
    tail: _Point | None = None  # the last sample, where its turn to be kept has not come
    stride: int = 1
    n_seen: int = 0
    peaks: dict[str, Peak] = field(default_factory=dict)
    counters: dict[str, tuple[int, int]] = field(default_factory=dict)
    healths: list[tuple[int | None, str]] = field(default_factory=list)
    slow: Slow | None = None
    n_loaded: int = 0


def is_counter(key: str) -> bool:
    """Whether a key of `-t ecc` or `-t pcie-err` counts errors, of which more is worse."""
    return key.endswith(("Error Count", "Err Cnt", "Isolated Pages Count", "Retry Count"))


class History:
    """Samples of each chip in the order in which they came."""

    def __init__(self, max_samples: int = MAX_SAMPLES, criteria: Criteria | None = None) -> None:
        self._max = max(max_samples, 8)
        self._criteria = criteria or Criteria()
        self._chips: dict[Key, _Chip] = {}

    def to_kept(self) -> tuple[Any, ...]:
        """What `from_kept` makes it of again (core/kept_records.py)."""
        return self._max, self._criteria, self._chips

    @classmethod
    def from_kept(cls, max_samples: int, criteria: Criteria, chips: dict[Key, _Chip]) -> History:
        """The same samples again."""
        found = cls(max_samples, criteria)
        found._chips = chips
        return found

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(self._chips)

    @property
    def n_samples(self) -> int:
        """Of the chip that was sampled most."""
        return max((one.n_seen for one in self._chips.values()), default=0)

    def add(self, snapshot: Snapshot) -> None:
        """A snapshot of a live poll: its figures and its counters."""
        for one in snapshot.chips:
            chip = self._chip(one.key)
            if chip is None:
                continue
            figures = {
                **{"power_w": one.power_w, "temperature_c": one.temperature_c, "used_mb": one.used_mb},
                **{"frequency_mhz": one.frequency_mhz, "ai_core_percent": one.ai_core_percent},
                **{"npu_percent": one.npu_percent, "total_mb": one.total_mb},
            }
            self._append(chip, snapshot.taken_ns, figures, one.health)
            self._watch_frequency(chip, figures, one.rated_mhz, snapshot.taken_ns)
            for key in filter(is_counter, one.values):
                count = one.count(key)
                if count is not None:
                    first, _ = chip.counters.get(key, (count, count))
                    chip.counters[key] = first, count

    def add_sample(self, sample: ChipSample) -> None:
        """A chip at one poll of a text."""
        chip = self._chip((sample.npu, sample.chip or 0))
        if chip is None:
            return
        is_hbm = bool(sample.hbm_total_mb)
        figures = {
            "power_w": sample.power_w,
            "temperature_c": sample.temperature_c,
            "ai_core_percent": sample.ai_core_percent,
            "npu_percent": sample.npu_percent,
            "used_mb": sample.hbm_used_mb if is_hbm else sample.memory_used_mb,
            "total_mb": sample.hbm_total_mb if is_hbm else sample.memory_total_mb,
        }
        self._append(chip, sample.time_ns, figures, sample.health)

    def add_counters(self, snapshot: Snapshot, told: SmiText) -> None:
        """Counters that a text has more than once: as it has them first and last."""
        for block in told.blocks:
            if block.npu is None or block.chip is None or snapshot.chip(block.npu, block.chip) is None:
                continue
            chip = self._chip((block.npu, block.chip))
            for key in block.last if chip is not None else ():
                first, last = _count(block.first.get(key)), _count(block.last[key])
                if chip is not None and is_counter(key) and first is not None and last is not None:
                    chip.counters[key] = first, last

    def series(self, key: Key, gauge: Gauge) -> Series:
        """A gauge of a chip over time, at most `max_samples` and the last one; () where nothing told it."""
        at = GAUGES.index(gauge)
        return tuple(
            (time_ns, value) for time_ns, values in self._points(key) if (value := values[at]) is not None
        )

    def peak(self, key: Key, gauge: Gauge) -> Peak | None:
        """The highest value, of all samples that ever came."""
        chip = self._chips.get(key)
        return chip.peaks.get(gauge) if chip is not None else None

    def slow(self, key: Key) -> Slow | None:
        """The lowest frequency under load that was below rated; None where none was."""
        chip = self._chips.get(key)
        return chip.slow if chip is not None else None

    def healths(self, key: Key) -> tuple[tuple[int | None, str], ...]:
        """How its health changed: (time, word), the first 64 changes."""
        chip = self._chips.get(key)
        return tuple(chip.healths) if chip is not None else ()

    def moved(self, key: Key) -> Mapping[str, tuple[int, int]]:
        """Counters that are higher at the end than at the beginning: (first, last)."""
        chip = self._chips.get(key)
        counters = chip.counters if chip is not None else {}
        return {name: (first, last) for name, (first, last) in counters.items() if last > first}

    def growth(self, key: Key) -> Growth | None:
        """Memory that only grew since it was last loaded or freed; None where that does not hold.

        Robust: memory that a job loads at once, or gives back, begins a new window; each quarter of it has to
        grow; the slope is the median of all pairs (Theil-Sen). What was given back twice before is no leak.
        """
        return growth_of(self.series(key, "used_mb"), self._criteria)

    # ---- one sample ----

    def _chip(self, key: Key) -> _Chip | None:
        if key not in self._chips and len(self._chips) >= MAX_CHIPS:
            return None
        return self._chips.setdefault(key, _Chip())

    def _append(
        self, chip: _Chip, time_ns: int | None, figures: Mapping[str, float | None], health: str | None
    ) -> None:
        point = time_ns, tuple(figures.get(gauge) for gauge in GAUGES)
        last = chip.tail or (chip.points[-1] if chip.points else None)
        whole = _joined(last, point) if last is not None else None
        if whole is not None:
            if chip.tail is not None:
                chip.tail = whole
            else:
                chip.points[-1] = whole
        else:
            if chip.n_seen % chip.stride == 0:
                chip.points.append(point)
                chip.tail = None
            else:
                chip.tail = point
            chip.n_seen += 1
        if len(chip.points) > self._max:
            chip.points = chip.points[::2]
            chip.stride *= 2
        limits = {"temperature_c": self._criteria.temperature_c}
        for gauge, value in figures.items():
            if value is None:
                continue
            before = chip.peaks.get(gauge)
            n = (before.n_samples if before is not None else 0) + (value > limits.get(gauge, float("inf")))
            if before is None or value > before.value:
                chip.peaks[gauge] = Peak(value, time_ns, n)
            elif n != before.n_samples:
                chip.peaks[gauge] = Peak(before.value, before.time_ns, n)
        if health is not None and len(chip.healths) < MAX_HEALTHS:
            if not chip.healths or chip.healths[-1][1] != health:
                chip.healths.append((time_ns, health))

    def _watch_frequency(
        self, chip: _Chip, figures: Mapping[str, float | None], rated: float | None, time_ns: int | None
    ) -> None:
        now = figures["frequency_mhz"]
        if not self._criteria.is_loaded(figures["ai_core_percent"], figures["npu_percent"]):
            return
        chip.n_loaded += 1
        if chip.slow is not None:
            chip.slow = replace(chip.slow, n_loaded=chip.n_loaded)
        if not self._criteria.is_slow(now, rated) or now is None or rated is None:
            return
        before = chip.slow
        n_slow = (before.n_slow if before is not None else 0) + 1
        if before is None or now < before.frequency_mhz:
            before = Slow(now, rated, time_ns, figures["temperature_c"], figures["power_w"], 0, 0)
        chip.slow = replace(before, n_slow=n_slow, n_loaded=chip.n_loaded)

    def _points(self, key: Key) -> Iterable[_Point]:
        chip = self._chips.get(key)
        if chip is None:
            return ()
        return [*chip.points, *([chip.tail] if chip.tail is not None else [])]


def _joined(last: _Point, more: _Point) -> _Point | None:
    """Two calls of one poll (the table, `-t common`) as one sample; None where they are two polls."""
    pairs = list(zip(last[1], more[1], strict=True))
    if last[0] != more[0] or any(None not in (old, new) and old != new for old, new in pairs):
        return None
    if not any(old is None and new is not None for old, new in pairs):
        return None
    return last[0], tuple(new if old is None else old for old, new in pairs)


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def growth_of(series: Series, criteria: Criteria) -> Growth | None:
    """What `History.growth` says of one series of used memory in MB."""
    used = np.array([value for _, value in series], np.float64)
    times = [time_ns for time_ns, _ in series]
    is_timed = len(times) > 1 and all(time is not None for time in times)
    at = np.array(times if is_timed else range(len(used)), np.float64)
    if is_timed and (np.diff(at) < 0).any():
        return None  # the clock was set back: no order to trust
    falls = _falls(used)
    behind = int(falls[-1]) + 1 if len(falls) else 0
    given_back = sorted(float(used[at] - used[at + 1]) for at in falls)
    rest = len(used) - behind
    for start in sorted({behind + rest * part // _PARTS for part in range(_PARTS - 1)}):
        found = _growth_in(used[start:], at[start:], is_timed, criteria)
        if found is not None:
            total = found.to_mb - found.from_mb
            return found if sum(one >= total / 2 for one in given_back) < 2 else None
    return None


def _growth_in(used: _Floats, at: _Floats, is_timed: bool, criteria: Criteria) -> Growth | None:
    """Whether these samples grow evenly enough to be a leak."""
    if len(used) < max(criteria.leak_samples, 2):
        return None
    total = float(used[-1] - used[0])
    hours = float(at[-1] - at[0]) / 3.6e12 if is_timed else None
    if total < criteria.leak_mb or (hours is not None and hours * 60 < criteria.leak_minutes):
        return None
    quarters = np.interp(np.linspace(at[0], at[-1], 5), at, used)
    if (np.diff(quarters) < total / 10).any() or float(np.diff(used).max()) > 0.3 * total:
        return None
    slope = _median_slope(at, used)
    if slope <= 0:
        return None
    return Growth(
        float(used[0]),
        float(used[-1]),
        len(used),
        total / (len(used) - 1),
        hours,
        slope * 3.6e12 if is_timed else None,
    )


def _falls(used: _Floats) -> npt.NDArray[np.int64]:
    """Where memory was given back: the sample in front of each fall. A jitter of a MB is none."""
    if len(used) < 2:
        return np.zeros(0, np.int64)
    least = max(0.02 * float(used.max() - used.min()), 1.0)
    found: npt.NDArray[np.int64] = np.flatnonzero(np.diff(used) < -least).astype(np.int64)
    return found


def _median_slope(at: _Floats, used: _Floats) -> float:
    if len(at) > _MAX_PAIRED:
        kept = np.linspace(0, len(at) - 1, _MAX_PAIRED).astype(np.int64)
        at, used = at[kept], used[kept]
    first, second = np.triu_indices(len(at), 1)
    widths = at[second] - at[first]
    apart = widths > 0
    if not apart.any():
        return 0.0
    return float(np.median((used[second] - used[first])[apart] / widths[apart]))
