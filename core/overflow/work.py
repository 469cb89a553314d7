"""What a worker process does with one tensor: open its file, scan it or look closer, or say why not.

For `core.scale.ordered_results`. Jobs and results are small tuples, as ten thousand of them are sent.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import parent_process
from pathlib import Path
from typing import NamedTuple

from npulse.core.calls.tensors import TensorPlace, open_place, problem_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Shape
from npulse.core.formats.tensors import TensorError, TensorFile

from .places import KINDS, Kind, Places, find_places
from .scan import NEAR_RATIO, Scan, scan


class ScanJob(NamedTuple):
    """One row's tensor. row comes back with the result; the others say what `TensorPlace` says."""

    row: int
    folder: Path
    name: str
    root: Path
    dtype: str | None
    shape: Shape | None
    file: TensorFile | None = None

    def moved(self, move: Callable[[Path], Path]) -> ScanJob:
        """The same tensor where another host names its folder otherwise."""
        return self._replace(folder=move(self.folder), root=move(self.root))

    @property
    def place(self) -> TensorPlace:
        return TensorPlace(*self[1:])


class Scanned(NamedTuple):
    """Result of the first read; without a scan `problems` says what is wrong."""

    row: int
    scan: Scan | None
    problems: tuple[Problem, ...] = ()


class Placed(NamedTuple):
    """Result of the second read; None where the file changed in between."""

    row: int
    places: Places | None


def scan_tensor(job: ScanJob, near_ratio: float = NEAR_RATIO) -> Scanned:
    """Count what is abnormal in a tensor. Each byte is read once.

    Only worker processes map files: one that is cut in that moment ends the process.
    """
    try:
        found = scan(open_place(job.place), near_ratio=near_ratio, may_map=parent_process() is not None)
    except TensorError as error:
        return Scanned(job.row, None, (problem_of(error, job.place),))
    return Scanned(job.row, found)


def look_closer(job: ScanJob, kinds: tuple[Kind, ...] = KINDS) -> Placed:
    """Second read of a tensor in which something was found: where elements of these kinds are."""
    try:
        return Placed(job.row, find_places(open_place(job.place), kinds=kinds))
    except TensorError:
        # the first read has reported this file; a file that changed in between is no new finding
        return Placed(job.row, None)
