"""Gradients as the training monitor recorded them: whose went bad, what the reduction did, how they grow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.anomaly import Anomaly, read_anomalies
from npulse.core.formats.msprobe.monitor import MonitorTable, read_monitor
from npulse.core.progress import IsCancelled
from npulse.core.run.model import Artifact

from .criteria import Settings

MONITORS = frozenset(("msprobe.monitor_v1", "msprobe.monitor_v2"))
UNREDUCED, REDUCED = "grad_unreduced", "grad_reduced"
LEAST_LAYERS = 4
STEADY_LAYER_RATIO = 1.3

_MAX, _MIN, _NORM = 0, 1, 3
_LAYER = re.compile(r"(?:^|\.)(?:\w*_)?(?:layers?|blocks?|h|stages?)\.(\d{1,6})(?:\.|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BadGradient:
    """A recorded tensor that went bad at a step. kind: the monitor's word. ranks: where it is bad;

    finite_ranks: where the same is finite. cause: "rank" (unreduced gradients of some ranks are bad),
    "reduced" (finite before the reduction, bad behind it), "only" (nothing else is recorded). n_names: how
    many names are bad in the same way at that step. table, row: where the first one stands.
    """

    cause: str
    kind: str
    name: str
    step: int
    ranks: tuple[int, ...]
    finite_ranks: tuple[int, ...]
    is_nan: bool
    n_names: int
    table: int
    row: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A norm that jumps from one recorded step to the next. n_names: how many grow as much there."""

    kind: str
    name: str
    rank: int | None
    before: int
    step: int
    was: float
    now: float
    n_names: int
    table: int
    row: int

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


@dataclass(frozen=True, slots=True)
class Gradients:
    """All monitor files of a round, and what they tell. anomalies: what the monitor itself reported."""

    artifacts: tuple[Artifact, ...]
    tables: tuple[MonitorTable, ...]
    anomalies: tuple[Anomaly, ...]
    bad: tuple[BadGradient, ...]
    growth: tuple[Growth, ...]
    slopes: tuple[LayerSlope, ...]


def read_gradients(
    root: Path,
    others: Sequence[Artifact],
    settings: Settings,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> Gradients | None:
    """The monitor files among the artifacts; None where there are none that can be read."""
    artifacts: list[Artifact] = []
    tables: list[MonitorTable] = []
    anomalies: list[Anomaly] = []
    for artifact in others:
        try:
            if artifact.kind in MONITORS and settings.rank in (None, artifact.rank):
                table = read_monitor(artifact.path, root=root, rank=artifact.rank, is_cancelled=is_cancelled)
                problems += table.problems
                artifacts.append(artifact)
                tables.append(table)
            elif artifact.kind == "msprobe.monitor_anomaly":
                found = read_anomalies(artifact.path, root=root, is_cancelled=is_cancelled)
                problems += found.problems
                anomalies += found.anomalies
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    if not tables and not anomalies:
        return None
    rows = [_Rows(place, table) for place, table in enumerate(tables)]
    return Gradients(
        tuple(artifacts),
        tuple(tables),
        tuple(anomalies),
        tuple(_bad(rows)),
        tuple(_growth(rows, settings.criteria.gradient_growth_ratio)),
        tuple(_slopes(rows)),
    )


class _Rows:
    """One table with what each row is: bad, finite or not told."""

    def __init__(self, place: int, table: MonitorTable) -> None:
        self.place, self.table = place, table
        values, present = table.statistics, table.present
        extremes = [(present >> k & 1).astype(bool) & np.isnan(values[:, k]) for k in (_MAX, _MIN, _NORM)]
        infinite = [(present >> k & 1).astype(bool) & np.isinf(values[:, k]) for k in (_MAX, _MIN)]
        numbers = [(present >> k & 1).astype(bool) & np.isfinite(values[:, k]) for k in (_MAX, _MIN)]
        counted = table.nans >= 0
        is_nan = (table.nans > 0) | np.logical_or.reduce(extremes)
        # all that is recorded is NaN and nobody counted: the tool had no tensor
        nothing = np.logical_or.reduce(extremes) & ~counted & ~np.logical_or.reduce(numbers)
        self.is_nan: npt.NDArray[np.bool_] = is_nan & ~(nothing & _records_nans(table))
        self.bad: npt.NDArray[np.bool_] = self.is_nan | np.logical_or.reduce(infinite)
        finite_norm = (present >> _NORM & 1).astype(bool) & np.isfinite(values[:, _NORM])
        self.finite: npt.NDArray[np.bool_] = ~self.bad & (
            np.logical_and.reduce(numbers) | (table.nans == 0) | finite_norm
        )

    def kind(self, row: int) -> str:
        return self.table.kinds[int(self.table.kind[row])]

    def name(self, row: int) -> str:
        return self.table.names[int(self.table.name[row])]


def _records_nans(table: MonitorTable) -> bool:
    """Whether the column of counts is there at all: without it a NaN is a NaN."""
    return bool((table.nans >= 0).any())


_Key = tuple[int, str, str]
"""Step, kind, name."""


def _bad(tables: Sequence[_Rows]) -> Iterator[BadGradient]:
    """The first step at which something is bad, kind by kind; of its names the one that is bad first."""
    places: dict[_Key, list[tuple[_Rows, int]]] = {}
    for rows in tables:
        for row in np.flatnonzero(rows.bad).tolist():
            key = (int(rows.table.step[row]), rows.kind(row), rows.name(row))
            places.setdefault(key, []).append((rows, row))
    if not places:
        return
    first = min(step for step, _, _ in places)
    finite = _finite_ranks(tables, first)
    kinds = {kind for step, kind, _ in places if step == first}
    for kind in sorted(kinds, key=lambda k: (k != UNREDUCED, k != REDUCED, k)):
        if kind == REDUCED and UNREDUCED in kinds:
            continue  # the reduction only hands on what one rank brought
        names = [name for step, k, name in places if (step, k) == (first, kind)]
        name = _earliest(kind, names, places, first)
        found = places[first, kind, name]
        before = finite.get((first, UNREDUCED, name), ())
        cause = "rank" if kind == UNREDUCED else "reduced" if kind == REDUCED and before else "only"
        yield BadGradient(
            cause,
            kind,
            name,
            first,
            tuple(sorted({rows.table.rank if rows.table.rank is not None else -1 for rows, _ in found})),
            before if cause == "reduced" else finite.get((first, kind, name), ()),
            any(bool(rows.is_nan[row]) for rows, row in found),
            len(set(names)),
            found[0][0].place,
            found[0][1],
        )


def _earliest(kind: str, names: Sequence[str], places: dict[_Key, list[tuple[_Rows, int]]], step: int) -> str:
    """Gradients go from the last layer to the first, so of them the last in the file is bad first."""

    def line(name: str) -> int:
        rows, row = places[step, kind, name][0]
        return int(rows.table.line[row])

    return max(names, key=line) if "grad" in kind else min(names, key=line)


def _finite_ranks(tables: Sequence[_Rows], step: int) -> dict[_Key, tuple[int, ...]]:
    found: dict[_Key, set[int]] = {}
    for rows in tables:
        picked = np.flatnonzero(rows.finite & (rows.table.step == step))
        rank = rows.table.rank if rows.table.rank is not None else -1
        for row in picked.tolist():
            found.setdefault((step, rows.kind(row), rows.name(row)), set()).add(rank)
    return {key: tuple(sorted(ranks)) for key, ranks in found.items()}


def _growth(tables: Sequence[_Rows], least: float) -> Iterator[Growth]:
    """For each kind the largest jump of a norm between two steps that were recorded one after the other."""
    jumps: dict[str, list[Growth]] = {}
    for series in _series(tables):
        for (_, _, before, was), (rows, row, step, now) in zip(series, series[1:], strict=False):
            if was > 0 and np.isfinite(now) and now >= least * was:
                kind = rows.kind(row)
                jumps.setdefault(kind, []).append(
                    Growth(kind, rows.name(row), rows.table.rank, before, step, was, now, 1, rows.place, row)
                )
    for kind in sorted(jumps):
        best = max(jumps[kind], key=lambda jump: jump.ratio)
        n = len({jump.name for jump in jumps[kind] if jump.step == best.step})
        yield Growth(
            kind, best.name, best.rank, best.before, best.step, best.was, best.now, n, best.table, best.row
        )


_Point = tuple[_Rows, int, int, float]


def _series(tables: Sequence[_Rows]) -> Iterable[list[_Point]]:
    """The finite norms of one name, kind, rank and micro step over the steps."""
    found: dict[tuple[str, str, int | None, int], list[_Point]] = {}
    for rows in tables:
        table = rows.table
        norms = table.statistics[:, _NORM]
        usable = (table.present >> _NORM & 1).astype(bool) & np.isfinite(norms)
        for row in np.flatnonzero(usable).tolist():
            key = (rows.kind(row), rows.name(row), table.rank, int(table.micro_step[row]))
            found.setdefault(key, []).append((rows, row, int(table.step[row]), float(norms[row])))
    for points in found.values():
        yield sorted(points, key=lambda point: point[2])


def _slopes(tables: Sequence[_Rows]) -> Iterator[LayerSlope]:
    """For each kind the steepest steady growth of the layers' norms at one step."""
    squares: dict[tuple[str, int, int | None], dict[int, float]] = {}
    for rows in tables:
        table = rows.table
        norms = table.statistics[:, _NORM]
        usable = (table.present >> _NORM & 1).astype(bool) & np.isfinite(norms)
        for row in np.flatnonzero(usable).tolist():
            match = _LAYER.search(rows.name(row))
            if match:
                layers = squares.setdefault((rows.kind(row), int(table.step[row]), table.rank), {})
                layers[int(match[1])] = layers.get(int(match[1]), 0.0) + float(norms[row]) ** 2
    best: dict[str, LayerSlope] = {}
    for (kind, step, rank), layers in squares.items():
        numbers = sorted(layers)
        norms_of = [float(np.sqrt(layers[n])) for n in numbers]
        if len(numbers) < LEAST_LAYERS or min(norms_of) <= 0:
            continue
        ratios = [b / a for a, b in zip(norms_of, norms_of[1:], strict=False)]
        is_steady = min(ratios) >= STEADY_LAYER_RATIO or max(ratios) <= 1 / STEADY_LAYER_RATIO
        ratio = (norms_of[-1] / norms_of[0]) ** (1 / (len(numbers) - 1))
        steepness = max(ratio, 1 / ratio)
        if is_steady and (kind not in best or steepness > max(best[kind].ratio, 1 / best[kind].ratio)):
            best[kind] = LayerSlope(kind, step, rank, numbers[0], numbers[-1], ratio, tuple(norms_of))
    yield from (best[kind] for kind in sorted(best))
