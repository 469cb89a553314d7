"""Gradients as the training monitor recorded them: whose went bad, what the reduction did, how they grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.anomaly import Anomaly
from npulse.core.formats.msprobe.monitor import MonitorTable, read_monitor
from npulse.core.progress import IsCancelled
from npulse.core.run.folders import is_fresh
from npulse.core.run.model import Artifact

from .criteria import Settings
from .monitors import read_anomalies_on, read_on
from .norms import Growth, LayerSlope, Norm, jumps, slopes

MONITORS = frozenset(("msprobe.monitor_v1", "msprobe.monitor_v2"))
UNREDUCED, REDUCED = "grad_unreduced", "grad_reduced"

_MAX, _MIN, _NORM = 0, 1, 3


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
class Gradients:
    """All monitor files of a round, and what they tell.

    anomalies: what the monitor itself reported. n_bad: rows with NaN or Inf. n_unknown: rows that tell
    neither. is_growing: in a run that is followed, rows still come.
    """

    artifacts: tuple[Artifact, ...]
    tables: tuple[MonitorTable, ...]
    anomalies: tuple[Anomaly, ...]
    bad: tuple[BadGradient, ...]
    growth: tuple[Growth, ...]
    slopes: tuple[LayerSlope, ...]
    n_bad: int
    n_unknown: int
    is_growing: bool = False


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
    tails = settings.tails
    wanted = [one for one in others if one.kind in MONITORS and settings.rank in (None, one.rank)]
    for artifact, table in (
        _cold(wanted, root, problems, is_cancelled)
        if tails is None
        else read_on(wanted, root, tails, problems, is_cancelled)
    ):
        problems += table.problems
        artifacts.append(artifact)
        tables.append(table)
    for artifact in others:
        if artifact.kind == "msprobe.monitor_anomaly":
            anomalies += read_anomalies_on(artifact, root, tails, problems, is_cancelled)
    if not tables and not anomalies:
        return None
    rows = [_Rows(place, table) for place, table in enumerate(tables)]
    norms = list(_norms(artifacts, tables))
    return Gradients(
        tuple(artifacts),
        tuple(tables),
        tuple(anomalies),
        tuple(_bad(rows)),
        jumps(norms, settings.criteria.gradient_growth_ratio),
        slopes(norms),
        sum(int(one.bad.sum()) for one in rows),
        sum(int((~one.bad & ~one.finite).sum()) for one in rows),
        tails is not None and any(is_fresh(artifact.path) for artifact in artifacts),
    )


def _cold(
    wanted: Sequence[Artifact], root: Path, problems: list[Problem], is_cancelled: IsCancelled
) -> Iterator[tuple[Artifact, MonitorTable]]:
    for artifact in wanted:
        try:
            yield (
                artifact,
                read_monitor(artifact.path, root=root, rank=artifact.rank, is_cancelled=is_cancelled),
            )
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))


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
        names = [name for step, k, name in places if (step, k) == (first, kind)]
        if kind == REDUCED and UNREDUCED in kinds:  # of most the reduction hands on what one rank brought
            own = [(first, UNREDUCED, name) for name in names]
            names = [key[2] for key in own if key in finite and key not in places]
        if not names:
            continue
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


def _norms(artifacts: Sequence[Artifact], tables: Sequence[MonitorTable]) -> Iterator[Norm]:
    """Every finite norm in the tables."""
    for artifact, table in zip(artifacts, tables, strict=True):
        values = table.norm
        usable = (table.present >> _NORM & 1).astype(bool) & np.isfinite(values)
        for row in np.flatnonzero(usable).tolist():
            yield Norm(
                table.kinds[int(table.kind[row])],
                table.names[int(table.name[row])],
                table.rank,
                int(table.micro_step[row]),
                int(table.step[row]),
                float(values[row]),
                artifact.relative,
                int(table.line[row]),
                None,
            )
