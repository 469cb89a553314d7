"""What ran on the pipes of each core: the trace.json of msOpProf, of its simulator or from a card.

Times count from the start of the kernel. A core is a process, a pipe (MTE2, VECTOR, SCALAR ...) a thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .timeline import NONE, Codes, Integers
from .trace import MAX_FILE_BYTES, read_trace
from .trace_blocks import ARG_INT, ARG_TEXT, ArgColumn, TraceBlock, TraceNames, TraceState
from .trace_numbers import NO_TIME
from .trace_rows import GrowingRows, distinct_pairs

_ARGS = ("code", "detail", "pc_addr", "process_bytes")
_DIGITS = re.compile(r"(\d+)", re.ASCII)
_COMPLETE, _BEGIN, _END = (ord(phase) for phase in "XBE")


_Texts = tuple[tuple[str, ...], Codes]


@dataclass(frozen=True, slots=True)
class PipeIntervals:
    """Intervals of the pipes in order of core, pipe and start, a row an interval. Codes are NONE if absent.

    core, pipe: codes into cores and pipes. start_ns, duration_ns int64; what is written below a nanosecond is
    rounded. name, code, detail, address: codes into texts; code is the place in the source ("add.cpp:57",
    call stacks have a place a line). moved_bytes int64: process_bytes, NONE where there is none. is_pair:
    from a begin and an end (SET_FLAG, WAIT_FLAG). is_cut: the file has no end.
    """

    source: str
    cores: Sequence[str]
    pipes: Sequence[str]
    texts: Sequence[str]
    core: Codes
    pipe: Codes
    start_ns: Integers
    duration_ns: Integers
    name: Codes
    code: Codes
    detail: Codes
    address: Codes
    moved_bytes: Integers
    is_pair: npt.NDArray[np.bool_]
    is_cut: bool = False
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ns)


def read_simulator_trace(
    path: Path,
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> PipeIntervals:
    """The intervals of a trace.json. Arrows between pipes and counters are not among them.

    Problems: those of `read_trace`; events without a time, begins without an end and ends without a begin,
    which are left out. Raises InputError and Cancelled as `read_trace` does. Memory: 50 bytes an event, twice
    that at the end.
    """
    trace = read_trace(
        path, root=root, args=_ARGS, max_bytes=max_bytes, progress=progress, is_cancelled=is_cancelled
    )
    rows = GrowingRows(
        **dict.fromkeys(("core", "pipe", "name", "code", "detail", "address"), np.int32),
        **dict.fromkeys(("start", "duration", "moved"), np.int64),
        phase=np.uint8,
    )
    n_without_times = sum(_take(block, rows) for block in trace)
    return _intervals(shown_path(path, root), rows, trace.names, trace.state, n_without_times)


def _take(block: TraceBlock, rows: GrowingRows) -> int:
    """The rows of a block; how many have no times."""
    events = block.events
    is_pair = (events.phase == _BEGIN) | (events.phase == _END)
    is_event = (events.phase == _COMPLETE) | is_pair
    has_times = (events.start_ns != NO_TIME) & (is_pair | (events.duration_ns != NO_TIME))
    at = np.flatnonzero(is_event & has_times)
    rows.add(
        len(at),
        core=events.pid[at],
        pipe=events.tid[at],
        name=events.name[at],
        start=events.start_ns[at],
        duration=np.where(is_pair[at], 0, events.duration_ns[at]),
        phase=events.phase[at],
        code=events.args["code"].texts[at],
        detail=events.args["detail"].texts[at],
        address=events.args["pc_addr"].texts[at],
        moved=_numbers(events.args["process_bytes"], at),
    )
    return int((is_event & ~has_times).sum())


def _numbers(column: ArgColumn, at: Integers) -> Integers:
    """Whole numbers; those in quotes come as codes of texts, below NONE, and are read at the end."""
    kind = column.kind[at]
    values = np.where(kind == ARG_INT, np.maximum(column.integers[at], NONE), NONE)
    found: Integers = np.where((kind == ARG_TEXT) & (column.texts[at] >= 0), -2 - column.texts[at], values)
    return found


def _intervals(
    source: str, rows: GrowingRows, names: TraceNames, state: TraceState, n_without_times: int
) -> PipeIntervals:
    phase = rows.taken("phase")
    begins, ends = _pairs(rows, phase)
    whole = np.flatnonzero(phase == _COMPLETE)
    at = np.concatenate([whole, begins])
    start = rows.taken("start")
    between = start[ends] - start[begins]
    between[between < 0] = 2**63 - 1  # times that no kernel has: 64 bits cannot hold how far they are apart
    duration = np.concatenate([rows.taken("duration", whole), between])
    (cores, core), (pipes, pipe) = _named(rows.taken("core", at), rows.taken("pipe", at), names)
    order = np.lexsort((start[at], pipe, core))
    at = at[order]
    problems = list(state.problems)
    n_open = int((phase != _COMPLETE).sum()) - 2 * len(begins)
    for n, message in (
        (n_without_times, "events have no start or no duration and are left out"),
        (n_open, "begins without an end, or ends without a begin, are left out"),
    ):
        if n:
            problems.append(Problem(source, "bad-record", f"{n:,} {message}"))
    moved = rows.taken("moved", at)
    for code in np.unique(moved[moved < NONE]).tolist():
        text = names.labels[-2 - code]
        is_number = text.isdecimal() and text.isascii() and len(text) < 19
        moved[moved == code] = int(text) if is_number else NONE
    return PipeIntervals(
        source=source,
        cores=cores,
        pipes=pipes,
        texts=tuple(names.labels),
        core=core[order],
        pipe=pipe[order],
        start_ns=start[at],
        duration_ns=duration[order],
        name=rows.taken("name", at),
        code=rows.taken("code", at),
        detail=rows.taken("detail", at),
        address=rows.taken("address", at),
        moved_bytes=moved,
        is_pair=phase[at] == _BEGIN,
        is_cut=state.is_cut,
        problems=tuple(problems),
    )


def _pairs(rows: GrowingRows, phase: npt.NDArray[np.uint8]) -> tuple[Integers, Integers]:
    """Begins and their ends, as places of rows: inside a pipe the last begin that is open is ended first."""
    at = np.flatnonzero(phase != _COMPLETE)
    if not len(at):
        return at, at
    lane = rows.taken("core", at).astype(np.int64) << 32 | (rows.taken("pipe", at).astype(np.int64) + 1)
    order = np.lexsort((rows.taken("start", at), lane))
    at, lane = at[order], lane[order]
    is_begin = phase[at] == _BEGIN
    depth = np.cumsum(np.where(is_begin, 1, -1))
    level = np.where(is_begin, depth, depth + 1)
    # on one level of one pipe begins and ends take turns
    order = np.lexsort((np.arange(len(at)), level, lane))
    at, lane, level, is_begin = at[order], lane[order], level[order], is_begin[order]
    is_met = is_begin[:-1] & ~is_begin[1:] & (lane[:-1] == lane[1:]) & (level[:-1] == level[1:])
    met = np.flatnonzero(is_met)
    return at[met], at[met + 1]


def _named(core: Codes, pipe: Codes, names: TraceNames) -> tuple[_Texts, _Texts]:
    """Cores and pipes by what they are called: the texts, and codes into them for every row."""
    listed, inverse = distinct_pairs(core, pipe)
    cores = [names.process_names.get(pid) or _text(names.id(pid)) for pid, _ in listed]
    pipes = [names.thread_names.get((pid, tid)) or _text(names.id(tid)) for pid, tid in listed]
    return _coded(cores, inverse), _coded(pipes, inverse)


def _coded(texts: list[str], inverse: Integers) -> _Texts:
    ordered = sorted(set(texts), key=_in_order)
    place = {text: code for code, text in enumerate(ordered)}
    codes = np.array([place[text] for text in texts], np.int32)
    return tuple(ordered), codes[inverse]


def _text(value: int | str | None) -> str:
    return "" if value is None else str(value)


def _in_order(text: str) -> list[tuple[int, str]]:
    """core2 before core10."""
    return [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(text)]
