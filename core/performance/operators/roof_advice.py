"""Operators against the memory of the chip, as advice: those at its roof, and slow ones far below it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.figures import time_text
from npulse.core.formats.profiling.operators import OperatorTable

from ..advice import Advice, Words, words
from ..chips import Chip, chip_of
from ..criteria import Criteria
from ..profile import Profile
from .bound import BOUNDS, GroupBounds
from .calls import us
from .classes import AICPU, COMMUNICATION, CUBE, MOVE, VECTOR, Classes, weights_percent
from .moved_bytes import Moved
from .texts_top import TEXTS
from .top import Top
from .top_words import NOTHING, filled, location_of, longest_row, shown_name

_N_FINDINGS = 5
_MIN_SHARE = 1.0
_ROOF = 0.8
_LOW_GB_PER_S = 575.0
_FAIR_GB_PER_S = 1150.0
_LOW_NS = 20_000
_IMPOSSIBLE_GB_PER_S = 10_000.0


def advice_of_bandwidth(
    profile: Profile, types: Top, classes: Classes, bounds: GroupBounds, moved: Moved, criteria: Criteria
) -> Iterator[Advice]:
    """Types at the roof of the memory, and vector or moving ones far below it."""
    table = profile.operators
    if table is None:
        return
    chip = chip_of(profile.settings.chip)
    peak, source = peak_of(chip, criteria)
    is_split = _is_split(table, chip)
    weights = weights_percent(types, classes)
    n_roof = n_low = 0
    for group in range(len(types)):
        if weights[group] < _MIN_SHARE or n_roof + n_low == 2 * _N_FINDINGS:
            continue
        rate = float(moved.gb_per_s[group])
        limit = chip.l2_gb_per_s if chip is not None and chip.l2_gb_per_s else _IMPOSSIBLE_GB_PER_S
        if np.isnan(rate) or rate > limit or classes.code[group] in (COMMUNICATION, AICPU):
            continue  # more than any memory of the chip gives: the shapes do not tell what was moved
        is_by_memory = classes.code[group] != CUBE or BOUNDS[bounds.code[group]] in ("mte2", "mte3")
        if peak is not None and is_by_memory and rate >= _ROOF * peak and n_roof < _N_FINDINGS:
            n_roof += 1
            yield _roof(profile, types, group, moved, peak, source)
        elif (
            is_split
            and classes.code[group] in (VECTOR, MOVE)
            and rate < _LOW_GB_PER_S
            and float(types.average_ns[group]) > _LOW_NS
            and n_low < _N_FINDINGS
        ):
            n_low += 1
            yield _low(profile, types, group, moved, peak)


def _is_split(table: OperatorTable, chip: Chip | None) -> bool:
    """Whether cube and vector cores are apart, as on the chips that the limits of throughput are for."""
    if chip is not None:
        return chip.family in ("A2", "A3", "950")
    return any(name.startswith("aiv_") for name in table.arrays)


def peak_of(chip: Chip | None, criteria: Criteria) -> tuple[float | None, Words]:
    """The bandwidth of the memory in GB/s and where that is from; None where nobody says."""
    if criteria.bandwidth_gb_per_s > 0:
        return criteria.bandwidth_gb_per_s, TEXTS["peak-criterion"]
    if chip is not None and chip.memory_gb_per_s:
        return chip.memory_gb_per_s, words(TEXTS, "peak-chip", chip=chip.name)
    return None, NOTHING


def _roof(profile: Profile, types: Top, group: int, moved: Moved, peak: float, source: Words) -> Advice:
    name = shown_name(types.label(group))
    rate = float(moved.gb_per_s[group])
    return Advice(
        rule="performance.memory-roof",
        severity="note",
        subject=name,
        message=filled(
            "roof",
            source=source,
            cache=TEXTS["roof-cache"] if rate > peak else NOTHING,
            name=name,
            rate=rate,
            percent=100 * rate / peak,
            peak=peak,
            time=time_text(int(types.total_ns[group])),
            share=float(types.share_percent[group]),
        ),
        next_step=words(TEXTS, "next-roof"),
        figures={**_rates(types, group, moved), "peak_gb_per_s": peak},
        profile=profile.name,
        location=location_of(profile, longest_row(types, group)),
        bottleneck="compute",
    )


def _low(profile: Profile, types: Top, group: int, moved: Moved, peak: float | None) -> Advice:
    name = shown_name(types.label(group))
    rate = float(moved.gb_per_s[group])
    of_peak: Words = NOTHING
    if peak is not None:
        of_peak = words(TEXTS, "throughput-peak", percent=100 * rate / peak, peak=peak)
    return Advice(
        rule="performance.low-throughput",
        severity="note",
        subject=name,
        message=filled(
            "throughput",
            peak=of_peak,
            name=name,
            rate=rate,
            average=time_text(float(types.average_ns[group])),
            time=time_text(int(types.total_ns[group])),
            share=float(types.share_percent[group]),
        ),
        next_step=words(TEXTS, "next-throughput"),
        figures={
            **_rates(types, group, moved),
            "low_gb_per_s": _LOW_GB_PER_S,
            "fair_gb_per_s": _FAIR_GB_PER_S,
        },
        cost_ns=round(int(types.total_ns[group]) * (1 - rate / _LOW_GB_PER_S)),
        profile=profile.name,
        location=location_of(profile, longest_row(types, group)),
        bottleneck="compute",
    )


def _rates(types: Top, group: int, moved: Moved) -> dict[str, object]:
    return {
        "bandwidth_gb_per_s": float(moved.gb_per_s[group]),
        "moved_bytes": int(moved.bytes[group]),
        "moved_in_us": us(int(moved.time_ns[group])),
        "total_us": us(int(types.total_ns[group])),
        "share_percent": float(types.share_percent[group]),
    }
