"""Tables of msprobe's training monitor: statistics of activations, gradients and parameters, step by step."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..line_tables import fill
from ..text_lines import Block, LineFeed, LineNotes, line_blocks
from .monitor_rows import MAX_ROWS, MonitorRows

MAX_FILE_BYTES = 1 << 30

_FILE_WORD = re.compile(r"(?P<word>.+?)_(?:step)?-?\d+--?\d+\.csv", re.ASCII)
_RANK_FOLDER = re.compile(r"(?:^|[-_.])rank[-_]?(\d{1,9})(?=[-_.]|$)", re.ASCII)
_HINT = "name a table of msprobe's monitor, e.g. grad_reduced_0-0.csv or weight_grad_step0-0.csv"

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MonitorTable:
    """One file of the monitor, a row a line, in the order of the file.

    version: 1 (`name`, kind by the file's name) or 2 (`module_name`, kind by the row's scope). rank: None
    where neither caller nor folder says it.
    name, kind int32 -> names, kinds; shape, dtype int32 -> shapes, dtypes, as the file has them (-1: none).
    step, micro_step, vpp_stage int64 (the latter two -1: none); nans int64, how many elements are NaN (-1:
    not recorded).
    statistics float64 (n, 5) in the order of MONITOR_STATISTICS, NaN where absent; present uint8: bit k set
    where statistic k is a number in the file, and that may be NaN. Where all that the file records of a row
    is NaN, nans included (-1), the tool had no tensor. Version 1 rounds (to six decimals unless told
    otherwise): a small value may read 0.
    columns: names in the file's header, lower case, also of those that are not read ("nans" in columns).
    line int64: the row's line, counted from 1. n_dropped: rows that were left out, without those behind a
    limit; `problems` say why.
    """

    path: Path
    version: Literal[1, 2]
    rank: int | None
    name: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    step: npt.NDArray[np.int64]
    micro_step: npt.NDArray[np.int64]
    vpp_stage: npt.NDArray[np.int64]
    statistics: _Floats
    present: npt.NDArray[np.uint8]
    nans: npt.NDArray[np.int64]
    shape: npt.NDArray[np.int32]
    dtype: npt.NDArray[np.int32]
    line: npt.NDArray[np.int64]
    names: Sequence[str]
    kinds: Sequence[str]
    shapes: Sequence[str]
    dtypes: Sequence[str]
    columns: Sequence[str] = ()
    n_dropped: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(self.line)

    @property
    def max(self) -> _Floats:
        return self.statistics[:, 0]

    @property
    def min(self) -> _Floats:
        return self.statistics[:, 1]

    @property
    def mean(self) -> _Floats:
        return self.statistics[:, 2]

    @property
    def norm(self) -> _Floats:
        return self.statistics[:, 3]

    @property
    def zeros(self) -> _Floats:
        return self.statistics[:, 4]


def read_monitor(
    path: Path,
    *,
    root: Path | None = None,
    rank: int | None = None,
    max_rows: int = MAX_ROWS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> MonitorTable:
    """The table in `path`, of either version. Columns are found by name; any statistic may be missing.

    rank: of the caller, else the one in the folder's name.
    Problems, with their line: rows of another length than the header, a repeated header (one with other
    columns holds from there on), a cut last line, a row without step (all left out); cells that should be
    numbers and are none (absent); what lies behind `max_rows` rows or 1 GB (left out).
    Raises InputError (not usable at all; `root`: a link leads out of it) and Cancelled.
    Cost: linear; a million rows take about 4 s of CPU and 200 MB.
    """
    notes = LineNotes(shown_path(path, root))
    rows = MonitorRows(_word_of_file(path.name), notes, max_rows)
    blocks = line_blocks(
        path, notes, root=root, max_bytes=MAX_FILE_BYTES, progress=progress, is_cancelled=is_cancelled
    )
    fill(rows, blocks, notes, path, _HINT)
    return MonitorTable(
        path=path,
        version=rows.version,
        rank=_rank_of(path, rank),
        columns=rows.columns,
        n_dropped=rows.n_dropped,
        problems=notes.close(),
        **rows.finish(),
    )


class MonitorTail:
    """A table that is still written to, as its bytes come; a last line without an end waits for it.

    What `read_monitor` says of problems and limits holds here too.
    """

    def __init__(self, path: Path, *, root: Path | None = None, rank: int | None = None) -> None:
        self._path, self._rank = path, rank
        self._notes = LineNotes(shown_path(path, root))
        self._rows = MonitorRows(_word_of_file(path.name), self._notes, MAX_ROWS)
        self._lines = LineFeed(self._notes, max_bytes=MAX_FILE_BYTES)
        self._error: InputError | None = None
        self._is_over = False  # a limit, or no table of the monitor
        self._n_bytes = 0
        self._told: tuple[tuple[int, bool], MonitorTable] | None = None

    def feed(self, raw: bytes, /) -> None:
        """The next bytes of the file."""
        self._n_bytes += len(raw)
        self._add(list(self._lines.feed(raw)))

    def table(self, *, is_growing: bool) -> MonitorTable | None:
        """All whole rows so far. Where nothing is added any more an unfinished line is told as cut.

        None while the header is not there yet. Raises InputError for what is no table of the monitor.
        """
        key = self._n_bytes, is_growing
        if self._told is None or self._told[0] != key:
            if is_growing and (self._error is not None or not self._rows.has_header):
                return None
            ended = self
            is_whole = self._rows.has_header and not self._lines.has_rest
            if not (is_growing or self._is_over or is_whole):
                self._told = None
                ended = copy.deepcopy(self)
                ended._add(list(ended._lines.finish()), is_end=True)
            self._told = key, ended._as_table()
        return self._told[1]

    def _add(self, blocks: list[Block], *, is_end: bool = False) -> None:
        if self._is_over or not (blocks or is_end):
            return
        try:
            goes_on = fill(self._rows, blocks, self._notes, self._path, _HINT, is_growing=not is_end)
        except InputError as error:
            self._error, goes_on = error, False
        self._is_over = not goes_on

    def _as_table(self) -> MonitorTable:
        if self._error is not None:
            raise self._error
        rows = self._rows
        return MonitorTable(
            path=self._path,
            version=rows.version,
            rank=_rank_of(self._path, self._rank),
            columns=rows.columns,
            n_dropped=rows.n_dropped,
            problems=self._notes.close(),
            **rows.so_far(),
        )


def _rank_of(path: Path, rank: int | None) -> int | None:
    found = _RANK_FOLDER.search(path.parent.name)
    return int(found[1]) if rank is None and found else rank


def _word_of_file(name: str) -> str:
    """The tool's word for what is in a file: "actv" of actv_0-1.csv, "module" of module_step0-0.csv."""
    found = _FILE_WORD.fullmatch(name)
    return found["word"] if found else name.removesuffix(".csv")
