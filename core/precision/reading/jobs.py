"""The tensor pairs of a rank-step, in columns: a job is made when it is handed out.

A capture of 100 GB has thousands of pairs, and a job with its paths takes a kilobyte.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_type_hints, overload

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import Places

from ..blocks.totals import PairMetrics
from ..rows import Rows, TensorRows
from ..splits.model import Split
from ..splits.place import side_place
from .work import TensorJob

N_FIGURES = len(PairMetrics._fields)
IS_COUNT = tuple(kind is int for kind in get_type_hints(PairMetrics).values())
"""Which figures of a pair are whole numbers."""


class Jobs(Sequence[TensorJob]):
    """One job for each row whose elements were captured on both sides, in execution order."""

    __slots__ = ("_golden", "_places", "_splits", "_target", "_tensors")

    def __init__(
        self,
        tensors: TensorRows,
        splits: Mapping[int, Split],
        sides: tuple[Places, Places],
        places: npt.NDArray[np.int32],
    ) -> None:
        self._tensors, self._places = tensors, places  # places: in the columns of `tensors`
        self._target, self._golden = sides
        self._splits = splits

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> TensorJob: ...
    @overload
    def __getitem__(self, index: slice) -> list[TensorJob]: ...
    def __getitem__(self, index: int | slice) -> TensorJob | list[TensorJob]:
        if isinstance(index, slice):
            return [self._job(place) for place in self._places[index].tolist()]
        return self._job(int(self._places[index]))

    def __iter__(self) -> Iterator[TensorJob]:
        for start in range(0, len(self._places), 1024):
            for place in self._places[start : start + 1024].tolist():
                yield self._job(place)

    def row(self, number: int) -> int:
        """The row of one job."""
        return int(self._tensors.index[self._places[number]])

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The row of each job."""
        found: npt.NDArray[np.int64] = self._tensors.index[self._places]
        return found

    @property
    def places(self) -> npt.NDArray[np.int32]:
        """The place of each job in the columns of its `TensorRows`."""
        return self._places

    @property
    def is_plain(self) -> bool:
        """Whether each side of every job is one file that holds one tensor."""
        return not self._splits and self._target.is_plain and self._golden.is_plain

    def n_bytes(self) -> npt.NDArray[np.float64] | None:
        """Bytes of both sides of each job, as the records declare them; None where some do not."""
        places = self._places
        sizes = self._target.itemsizes(self._tensors.target[places])
        sizes += self._golden.itemsizes(self._tensors.golden[places])
        found: npt.NDArray[np.float64] = sizes * self._tensors.n_elements[places]
        return None if np.isnan(found).any() else found

    def picked(self, which: npt.NDArray[np.integer]) -> Jobs:
        """Some of them, by their number."""
        return Jobs(self._tensors, self._splits, (self._target, self._golden), self._places[which])

    def _job(self, place: int) -> TensorJob:
        row = int(self._tensors.index[place])
        split = self._splits.get(row)
        if split is not None:
            return TensorJob(row, side_place(split.target), side_place(split.golden))
        target = self._target.of(int(self._tensors.target[place]))
        golden = self._golden.of(int(self._tensors.golden[place]))
        assert target is not None and golden is not None  # `tensor_jobs` picked rows that have both files
        return TensorJob(row, target, golden)


class Differing(Sequence[tuple[TensorJob, PairMetrics]]):
    """Pairs that differ, with what was measured: 32 numbers each, a record is made when it is asked for."""

    __slots__ = ("_figures", "_instead", "_jobs", "_numbers")

    def __init__(self, jobs: Sequence[TensorJob]) -> None:
        self._jobs = jobs
        self._numbers, self._figures = array("q"), array("d")  # counts are exact up to 2**53
        self._instead: dict[int, TensorJob] = {}

    def add(self, number: int, metrics: PairMetrics) -> None:
        """The pair of a job, by its number."""
        self._numbers.append(number)
        self._figures.extend(metrics)

    def put(self, place: int, job: TensorJob, metrics: PairMetrics) -> None:
        """The same row, read otherwise."""
        self._instead[place] = job
        self._figures[place * N_FIGURES : (place + 1) * N_FIGURES] = array("d", metrics)

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each one's job."""
        return self._numbers

    def drop(self, places: Sequence[int]) -> None:
        """Without those that do not differ after all."""
        for place in sorted(places, reverse=True):
            del self._numbers[place], self._figures[place * N_FIGURES : (place + 1) * N_FIGURES]
            later = {at - (at > place): job for at, job in self._instead.items() if at != place}
            self._instead = later

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> tuple[TensorJob, PairMetrics]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[TensorJob, PairMetrics]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> tuple[TensorJob, PairMetrics] | list[tuple[TensorJob, PairMetrics]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        values = self._figures[place * N_FIGURES : (place + 1) * N_FIGURES]
        metrics = PairMetrics._make(
            int(v) if is_count else v for v, is_count in zip(values, IS_COUNT, strict=True)
        )
        return self._instead.get(place) or self._jobs[self._numbers[place]], metrics


def tensor_jobs(rows: Rows, tensors: TensorRows, target_root: Path, golden_root: Path) -> Jobs:
    """One job for each row whose elements were captured on both sides, in execution order."""
    picked = np.flatnonzero(tensors.has_files & tensors.shape_equal & ~(tensors.n_elements == 0))
    if rows.own_tokens:
        picked = picked[~np.isin(tensors.index[picked], list(rows.own_tokens))]
    sides = Places(rows.target, target_root), Places(rows.golden, golden_root)
    return Jobs(tensors, dict(rows.splits), sides, picked.astype(np.int32))
