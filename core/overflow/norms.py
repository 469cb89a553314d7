"""Norms over steps and layers: jumps from one step to the next, steady growth from layer to layer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from npulse.core.files import shown_path
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import GRAD, TENSOR

from .ranks import RankOverflow

LEAST_LAYERS = 4
STEADY_LAYER_RATIO = 1.3
PARAMETERS_GRAD = "parameters_grad"

_NORM_BIT = 8
_LAYER = re.compile(r"(?:^|\.)(?:\w*_)?(?:layers?|blocks?|h|stages?)\.(\d{1,6})(?:\.|$)", re.IGNORECASE)


class Norm(NamedTuple):
    """A finite norm and where it stands. kind: what was recorded ("grad_reduced", "parameters_grad" ...).

    series: what else tells recordings of one name apart (a micro step, a capture). line, row: in a text file,
    in a dump.
    """

    kind: str
    name: str
    rank: int | None
    series: object
    step: int
    value: float
    artifact: str
    line: int | None
    row: int | None


@dataclass(frozen=True, slots=True)
class Growth:
    """A norm that jumps from one recorded step to the next; `norm` is the larger one.

    n_names: how many of that kind jump at that step.
    """

    norm: Norm
    before: int
    was: float
    n_names: int

    @property
    def name(self) -> str:
        return self.norm.name

    @property
    def now(self) -> float:
        return self.norm.value

    @property
    def step(self) -> int:
        return self.norm.step

    @property
    def ratio(self) -> float:
        return self.now / self.was


@dataclass(frozen=True, slots=True)
class LayerSlope:
    """Norms that grow steadily from layer to layer at one step, towards the first layer or the last."""

    kind: str
    step: int
    rank: int | None
    first: int
    last: int
    ratio: float
    norms: tuple[float, ...]


def norms_of_dumps(ranks: Sequence[RankOverflow]) -> Iterator[Norm]:
    """Norms of the parameters' gradients in dumps. Those that overflowed in a half type are left out."""
    for rank in ranks:
        leaves = rank.dump.leaves
        picked = (leaves.side == GRAD) & (leaves.kind == TENSOR) & (leaves.present & _NORM_BIT != 0)
        picked &= np.isfinite(leaves.statistics[:, 3])
        where = shown_path(rank.dump.path, rank.root)
        for row in np.flatnonzero(picked).tolist():
            path = parse_name(rank.name(int(leaves.call[row]))).path
            parameter = leaves.io_names[int(leaves.io[row])].removeprefix("grad ")
            yield Norm(
                PARAMETERS_GRAD,
                f"{path}.{parameter}" if path else parameter,
                rank.rank,
                rank.capture,
                rank.step or 0,
                float(leaves.statistics[row, 3]),
                where,
                None,
                row,
            )


def jumps(norms: Iterable[Norm], least_ratio: float) -> tuple[Growth, ...]:
    """For each kind the largest jump between two steps that were recorded one after the other."""
    series: dict[tuple[object, ...], list[Norm]] = {}
    for norm in norms:
        series.setdefault((norm.kind, norm.name, norm.rank, norm.series), []).append(norm)
    found: dict[str, list[Growth]] = {}
    for points in series.values():
        points.sort(key=lambda point: point.step)
        for before, now in zip(points, points[1:], strict=False):
            if 0 < before.value and now.value >= least_ratio * before.value:
                found.setdefault(now.kind, []).append(Growth(now, before.step, before.value, 1))
    largest = []
    for kind in sorted(found):
        best = max(found[kind], key=lambda growth: growth.ratio)
        names = {growth.norm.name for growth in found[kind] if growth.step == best.step}
        largest.append(Growth(best.norm, best.before, best.was, len(names)))
    return tuple(largest)


def slopes(norms: Iterable[Norm]) -> tuple[LayerSlope, ...]:
    """For each kind the steepest steady growth of the layers' norms at one step."""
    norms_of: dict[tuple[str, int, int | None, object], dict[int, float]] = {}
    for norm in norms:
        match = _LAYER.search(norm.name)
        if match:
            layers = norms_of.setdefault((norm.kind, norm.step, norm.rank, norm.series), {})
            number = int(match[1])
            layers[number] = math.hypot(layers.get(number, 0.0), norm.value)
    best: dict[str, LayerSlope] = {}
    for (kind, step, rank, _), layers in norms_of.items():
        slope = _slope(kind, step, rank, layers)
        if slope is not None and (kind not in best or _steepness(slope) > _steepness(best[kind])):
            best[kind] = slope
    return tuple(best[kind] for kind in sorted(best))


def _slope(kind: str, step: int, rank: int | None, layers: dict[int, float]) -> LayerSlope | None:
    numbers = sorted(layers)
    norms = [layers[number] for number in numbers]
    if len(numbers) < LEAST_LAYERS or not min(norms) > 0 or not np.isfinite(norms).all():
        return None
    ratios = [b / a for a, b in zip(norms, norms[1:], strict=False)]
    if min(ratios) < STEADY_LAYER_RATIO and max(ratios) > 1 / STEADY_LAYER_RATIO:
        return None
    ratio = (norms[-1] / norms[0]) ** (1 / (len(numbers) - 1))
    return LayerSlope(kind, step, rank, numbers[0], numbers[-1], ratio, tuple(norms))


def _steepness(slope: LayerSlope) -> float:
    return max(slope.ratio, 1 / slope.ratio)
