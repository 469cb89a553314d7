"""Roofline: how near each point comes to its roof, and what that makes of the kernel.

The units of `RooflinePoint`: TB/s times operations a byte are 10**12 operations a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import Floats, KernelProfile, RooflinePoint

from ..chips import Chip
from .bounds import busiest
from .cores import Cores, by_row, metric_by_core

Side = Literal["memory", "compute"]
Class = Literal["compute", "memory", "latency"]
Cause = Literal["", "pipeline", "memory", "compute"]
NEAR_RATIO = 0.8
_COMPUTED = "computed"


@dataclass(frozen=True, slots=True)
class Reach:
    """One point and its roof. attainable_tops: the roof at its intensity. ratio: achieved over attainable.

    side: "memory" left of the ridge, "compute" right of it. ridge: the intensity where both roofs meet.
    """

    point: RooflinePoint
    attainable_tops: float
    ratio: float
    side: Side
    ridge: float


@dataclass(frozen=True, slots=True)
class RoofClass:
    """What the roofline says of a kernel. best: the point that comes nearest to its roof.

    cause: why it waits, of latency alone: "pipeline" no pipe is busy, "memory" or "compute" the one that is.
    pipe, pipe_ratio: the busiest one, "" and NaN where no ratio is told.
    """

    kind: Class
    cause: Cause
    best: Reach
    pipe: str = ""
    pipe_ratio: float = math.nan

    @property
    def name(self) -> str:
        """As msOpProf says it: 'latency bound:pipeline caused'."""
        return f"{self.kind} bound" + (f":{self.cause} caused" if self.cause else "")


def reach_of(point: RooflinePoint) -> Reach | None:
    """None for a point that no roof can have: above it, without a bandwidth, without operations."""
    peak, bandwidth = point.peak_tops, point.tb_per_s
    if bandwidth <= 0 or peak <= 0 or point.x <= 0 or point.y <= 0:
        return None
    attainable = min(peak, bandwidth * point.x)
    ridge = peak / bandwidth
    if not 0 < attainable < math.inf or point.y > attainable:
        return None
    return Reach(point, attainable, point.y / attainable, "compute" if point.x > ridge else "memory", ridge)


def reaches_of(points: Sequence[RooflinePoint]) -> tuple[Reach, ...]:
    """Of all points that have a roof, the nearest to it first."""
    found = (reach_of(point) for point in points)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -one.ratio))


def nearest_first(points: Sequence[RooflinePoint]) -> tuple[RooflinePoint, ...]:
    """All points, those that come nearest to their roof in front, those without a roof at the end."""
    reaches = {id(point): reach_of(point) for point in points}

    def place(point: RooflinePoint) -> float:
        reach = reaches[id(point)]
        return 1.0 if reach is None else -reach.ratio

    return tuple(sorted(points, key=place))


def class_of(points: Sequence[RooflinePoint], cores: Cores, bound_ratio: float = 0.8) -> RoofClass | None:
    """By msOpProf's table; None without a point that has a roof.

    Above 80 % of its roof the best point decides; below, the busiest pipe of any core says why it waits.
    """
    reaches = reaches_of(points)
    if not reaches:
        return None
    best = reaches[0]
    if best.ratio > NEAR_RATIO:
        return RoofClass(best.side, "", best)
    pipe, ratio = busiest(cores) or ("", math.nan)
    cause: Cause = "pipeline"
    if ratio >= bound_ratio:
        cause = "memory" if pipe.startswith("mte") or pipe == "fixpipe" else "compute"
    return RoofClass("latency", cause, best, pipe, ratio)


def points_of(kernel: KernelProfile, cores: Cores, chip: Chip | None) -> tuple[RooflinePoint, ...]:
    """The tool's points; where it made none, those that its tables allow.

    Computed: operations over the data of main memory, under the bandwidth of the memory and the rate of the
    unit while it is busy times all such cores of the chip. Needs ArithmeticUtilization, Memory, the clock and
    the chip; () without them.
    """
    if kernel.roofline:
        return kernel.roofline
    clock, duration = kernel.frequency_mhz, kernel.duration_us
    if not clock or not duration or duration <= 0 or chip is None or chip.memory_gb_per_s is None:
        return ()
    found = []
    moved = moved_kb(kernel, cores)
    for kind, side, unit, n_cores in (
        ("cube", "aic", "cube", chip.cube_cores),
        ("vector", "aiv", "vec", chip.vector_cores),
    ):
        rows = cores.rows(kind)
        operations = by_row(cores, metric_by_core(kernel, f"{side}_{unit}_fops"))
        busy = by_row(cores, metric_by_core(kernel, f"{side}_{unit}_ratio", "ArithmeticUtilization"))
        cycles = by_row(cores, metric_by_core(kernel, f"{side}_total_cycles", "ArithmeticUtilization"))
        n_operations = float(np.nansum(operations[rows])) if len(rows) else 0.0
        busy_cycles = float(np.nansum(busy[rows] * cycles[rows])) if len(rows) else 0.0
        n_bytes = float(np.nansum(moved[rows])) * 1024 if len(rows) else 0.0
        if not n_operations or not busy_cycles or not n_bytes or not n_cores:
            continue
        peak = n_operations / busy_cycles * clock * 1e6 * n_cores / 1e12
        x, y = n_operations / n_bytes, n_operations / duration / 1e6
        name = "GM Read + Write"
        found.append(RooflinePoint(_COMPUTED, name, kind, x, y, chip.memory_gb_per_s / 1000, peak))
    return tuple(found)


def moved_kb(kernel: KernelProfile, cores: Cores) -> Floats:
    """Data of main memory that each core read and wrote; NaN where not told."""
    read = by_row(cores, metric_by_core(kernel, "read_main_memory_datas"))
    written = by_row(cores, metric_by_core(kernel, "write_main_memory_datas"))
    both = np.where(np.isnan(read), 0.0, read) + np.where(np.isnan(written), 0.0, written)
    return np.where(np.isnan(read) & np.isnan(written), np.nan, both)
