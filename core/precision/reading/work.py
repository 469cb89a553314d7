"""What a worker process does with one tensor pair: open both files, measure, or say why not.

Jobs and results are small plain records, so that any `concurrent.futures.Executor` can carry them. They are
tuples: packing and unpacking ten thousand dataclasses would cost as much as comparing small tensors does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from npulse.core.calls.tensors import TensorPlace, open_place, problem_of
from npulse.core.findings import Problem
from npulse.core.formats.tensors import Dtype, TensorError, TensorFile
from npulse.core.formats.tensors.layout import row_major_strides
from npulse.core.formats.tensors.open import state_now
from npulse.core.formats.tensors.source import FileState

from ..blocks.elements import Examination, examine
from ..blocks.pair import compare_files, compare_sample
from ..blocks.patterns import Pattern, pattern
from ..blocks.totals import PairMetrics
from ..rows import squeezed
from ..splits.model import PartsPlace
from ..splits.place import open_parts
from ..splits.view import TensorView

__all__ = [
    "Examined",
    "Measured",
    "TensorJob",
    "TensorSide",
    "coarser_of",
    "look_closer",
    "measure",
    "open_side",
    "problem_of",
]


TensorSide = TensorPlace | PartsPlace
"""Where a side of a row lies: one file, or the parts that make it."""


Elements = TensorFile | TensorView


def open_side(place: TensorSide) -> Elements:
    """The tensor that lies there, nothing of its elements read; raises TensorError."""
    return open_parts(place) if isinstance(place, PartsPlace) else open_place(place)


class TensorJob(NamedTuple):
    """One row's two tensors."""

    row: int
    target: TensorSide
    golden: TensorSide

    def moved(self, move: Callable[[Path], Path]) -> TensorJob:
        """The same two where another host names their folders otherwise."""
        return self._replace(target=self.target.moved(move), golden=self.golden.moved(move))


class Measured(NamedTuple):
    """Result of the first read. Without metrics either the shapes differ or `problems` says what is wrong.

    coarser: the declared (or, undeclared, the stored) dtype with the larger rounding. stored: names of the
    dtypes in both files, where one of them is not the declared one.
    """

    row: int
    metrics: PairMetrics | None
    problems: tuple[Problem, ...] = ()
    shapes_differ: bool = False
    coarser: Dtype | None = None
    stored: tuple[str, str] | None = None


class Examined(NamedTuple):
    """Result of the second read, made only for tensors that differ."""

    row: int
    examination: Examination | None
    pattern: Pattern | None


def measure(job: TensorJob) -> Measured:
    """All one-pass metrics of a pair. Each byte is read once."""
    return _measured(job, compare_files)


def measure_sample(job: TensorJob) -> Measured:
    """The same of a sample of a large tensor (`compare_sample`)."""
    return _measured(job, compare_sample)


def _measured(job: TensorJob, compare: Callable[[Any, Any], PairMetrics]) -> Measured:
    files: list[Elements] = []
    problems: list[Problem] = []
    for side in (job.target, job.golden):
        try:
            files.append(open_side(side))
        except TensorError as error:
            problems.append(problem_of(error, side))
    if problems:
        return Measured(job.row, None, tuple(problems))
    target, golden = alike(job, *files)
    if target.shape != golden.shape:
        return Measured(job.row, None, shapes_differ=True)
    before = states_of(files)
    try:
        metrics = compare(target, golden)
    except TensorError as error:
        error = changed_since(before) or error
        return Measured(job.row, None, (problem_of(error, job.target, job.golden),))
    if (changed := changed_since(before)) is not None:
        return Measured(job.row, None, (problem_of(changed, job.target, job.golden),))
    is_as_declared = all(_is_as_declared(file) for file in files)
    stored = None if is_as_declared else (target.dtype.name, golden.dtype.name)
    return Measured(job.row, metrics, coarser=coarser_of(target, golden), stored=stored)


States = list[tuple[TensorFile, FileState | None]]


def states_of(files: Sequence[Elements]) -> States:
    """The files behind tensors with their states: as they were opened, else as they are now."""
    single = [one for file in files for one in (file.parts if isinstance(file, TensorView) else (file,))]
    return [(file, file.state or state_now(file)) for file in single]


def changed_since(before: States) -> TensorError | None:
    """What is wrong where one of the files is not what it was: figures of it are of no state that there was.

    A look at the clock of the file system, so what was written within the same tick is not seen.
    """
    for file, state in before:
        if state_now(file) != state:
            return TensorError("changed", "the file was written to while it was read", path=file.path)
    return None


def _is_as_declared(file: TensorFile | TensorView) -> bool:
    return file.is_as_declared if isinstance(file, TensorView) else file.dtype.name == file.declared.name


def open_sides(job: TensorJob) -> tuple[Elements, Elements]:
    """Both tensors of a row, of one shape where that can be. Raises TensorError."""
    return alike(job, open_side(job.target), open_side(job.golden))


def alike(job: TensorJob, target: Elements, golden: Elements) -> tuple[Elements, Elements]:
    """Two tensors whose shapes differ in axes of length 1 alone, in one shape.

    Only of captures whose tools lay such axes on or leave them out (an ATB token, a compiled graph): msprobe
    records what the framework has on both sides.
    """
    if target.shape == golden.shape or squeezed(target.shape) != squeezed(golden.shape):
        return target, golden
    places = (job.target, job.golden)
    is_other_tool = any(isinstance(place, TensorPlace) and place.file is not None for place in places)
    if not (is_other_tool and isinstance(target, TensorFile) and isinstance(golden, TensorFile)):
        return target, golden
    if golden.is_contiguous and golden.tiling is None:
        return target, _shaped(golden, target.shape)
    if target.is_contiguous and target.tiling is None:
        return _shaped(target, golden.shape), golden
    return target, golden


def _shaped(file: TensorFile, shape: tuple[int, ...]) -> TensorFile:
    return replace(file, shape=shape, strides=row_major_strides(shape))


def look_closer(job: tuple[TensorJob, PairMetrics]) -> Examined:
    """Second read of a pair that differs: places, ulps, tolerance and pattern of the bad elements."""
    tensor_job, metrics = job
    try:
        target, golden = open_sides(tensor_job)
        before = states_of((target, golden))
        examination = examine(target, golden)
        if changed_since(before) is not None:
            return Examined(tensor_job.row, None, None)
    except TensorError:
        # the first read has reported this file; a file that changed in between is no new finding
        return Examined(tensor_job.row, None, None)
    return Examined(tensor_job.row, examination, pattern(metrics, examination, coarser_of(target, golden)))


def coarser_of(target: TensorFile | TensorView, golden: TensorFile | TensorView) -> Dtype:
    """The declared dtype whose rounding is the larger one: it sets the scale of what may differ."""
    a, b = target.declared, golden.declared
    return a if a.unit_roundoff >= b.unit_roundoff else b
