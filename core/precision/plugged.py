"""Figures of metric plug-ins, a column each: both tensors of a row are read once more for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.tensors import TensorError, widen
from npulse.core.plugins.metrics import MAX_ELEMENTS, Measuring, Metric
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, check

from .rows import FIGURES

if TYPE_CHECKING:  # figures that were kept are shown without what reads tensors
    from npulse.core.formats.tensors import TensorFile

    from .reading.work import TensorJob
    from .splits.view import TensorView

    _Tensor = TensorFile | TensorView

TAKEN = frozenset(
    (
        *FIGURES,
        *("rank", "step", "call", "operator", "module", "calls", "io", "target", "golden", "dtype_target"),
        *(
            "dtype_golden",
            "shape_target",
            "shape_golden",
            "max_abs_error_index",
            "pattern",
            "layout",
            "basis",
        ),
        *("state", "role", "verdict", "reason", "norm_ratio_low", "norm_ratio_high"),
    )
)
"""Names of columns and criteria of our own."""


@dataclass(frozen=True, slots=True)
class PluggedFigure:
    """What one metric says of every row: values and whether there is one, an array a rank-step."""

    metric: Metric
    values: tuple[npt.NDArray[np.float64], ...]
    computed: tuple[npt.NDArray[np.bool_], ...]

    @property
    def n_computed(self) -> int:
        """Rows that have a figure."""
        return int(sum(int(known.sum()) for known in self.computed))

    def worst(self) -> tuple[int, int, float] | None:
        """(rank-step, row, value) of the worst one; what is not a number is worst. None for none at all."""
        found: tuple[float, int, int, float] | None = None
        for place, (values, known) in enumerate(zip(self.values, self.computed, strict=True)):
            rows = np.flatnonzero(known)
            if not len(rows):
                continue
            badness = -values[rows] if self.metric.is_higher_better else values[rows]
            badness = np.where(np.isnan(badness), np.inf, badness)
            at = int(np.argmax(badness))
            if found is None or badness[at] > found[0]:
                found = (float(badness[at]), place, int(rows[at]), float(values[rows[at]]))
        return None if found is None else found[1:]


def measured_by_plugins(
    parts: Sequence[tuple[int, Sequence[TensorJob]]], progress: ProgressCallback, is_cancelled: IsCancelled
) -> tuple[tuple[PluggedFigure, ...], tuple[Problem, ...]]:
    """Every metric over every pair of tensors. parts: of each rank-step its rows and jobs.

    Both tensors are read once more and widened to float64, at most MAX_ELEMENTS each; complex ones are left
    out. Without metrics nothing is read.
    """
    with Measuring(is_cancelled) as measuring:
        if not measuring.metrics:
            return (), tuple(measuring.problems)
        n_metrics, done = len(measuring.metrics), 0
        values = [[np.full(n_rows, np.nan) for n_rows, _ in parts] for _ in range(n_metrics)]
        known = [[np.zeros(n_rows, np.bool_) for n_rows, _ in parts] for _ in range(n_metrics)]
        total = sum(len(jobs) for _, jobs in parts)
        n_large = 0
        for place, (_, jobs) in enumerate(parts):
            for job in jobs:
                check(is_cancelled)
                progress(Progress("plug-ins", done, total, "tensors"))
                done += 1
                sides = _opened(job)
                if sides is None:
                    continue
                if sides[0].n_elements > MAX_ELEMENTS:
                    n_large += 1
                    continue
                target, golden = _elements(sides[0]), _elements(sides[1])
                if target is None or golden is None:
                    continue
                for one, figure in enumerate(measuring.measure(target, golden)):
                    if figure is not None:
                        values[one][place][job.row], known[one][place][job.row] = figure, True
        problems = list(measuring.problems)
        if n_large:
            message = f"{n_large:,} tensors of more than {MAX_ELEMENTS:,} elements were not given to plug-ins"
            problems.append(Problem("plug-ins", "plugin", message))
        found = []
        for one, metric in enumerate(measuring.metrics):
            if metric.name in TAKEN:
                message = f"'{metric.name}' is a column of npulse's own, so the metric is left out"
                problems.append(Problem("plug-ins", "plugin", message, hint="the metric needs another name"))
                continue
            found.append(PluggedFigure(metric, tuple(values[one]), tuple(known[one])))
        return tuple(found), tuple(problems)


def _opened(job: TensorJob) -> tuple[_Tensor, _Tensor] | None:
    """Both files where they can be compared; the first read has told what is wrong with the others."""
    from .reading.work import open_sides

    try:
        target, golden = open_sides(job)
    except TensorError:
        return None
    return (target, golden) if target.shape == golden.shape and target.n_elements else None


def _elements(side: _Tensor) -> npt.NDArray[np.float64] | None:
    try:
        array = widen(side.array(), side.dtype)
    except TensorError:
        return None
    if np.iscomplexobj(array):
        return None
    return np.ascontiguousarray(array, dtype=np.float64)
