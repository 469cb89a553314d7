"""Timelines of devices out of a trace: its events sorted into lanes while they come, in columns.

Nothing is judged. Events of a lane may come before the lane is named, so rows are kept with the number of
their lane and divided at the end (`trace_devices`).
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...files import shown_path
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from .timeline import NONE, Codes, Integers, Timeline
from .trace import MAX_FILE_BYTES, read_trace
from .trace_blocks import ARG_INT, ARG_TEXT, Counters, Events, Flows, TraceBlock, TraceNames, TraceState
from .trace_devices import timelines_of
from .trace_labels import LabelBits
from .trace_lanes import (
    FRAMEWORK,
    HOST,
    IS_ANNOTATION,
    IS_FRAMEWORK,
    IS_GPU_CALL,
    IS_GPU_TASK,
    IS_NOTHING,
    IS_OPERATOR,
    IS_PAUSE,
    IS_RANGE_NAME,
    IS_STEP_NAME,
    MARK,
    OTHER,
    PAUSE,
    STEP,
    UNKNOWN,
    lane_of,
)
from .trace_numbers import NO_TIME, Flags
from .trace_rows import (
    FROM_LANE,
    FROM_OPERATOR,
    GPU_CALL,
    GPU_TASK,
    SUMMED,
    GrowingRows,
    Kept,
    distinct_pairs,
)

ARGS = ("Task Type", "connection_id", "correlation")
"""Arguments that the builder needs: give them to the reader."""

MAX_LANES = 100_000

_COMPLETE, _INSTANT, _BEGIN, _END, _START = (ord(phase) for phase in "XiBEs")
_ABSENT_CONNECTION = 0xFFFF_FFFF
_PRIME = 2**61 - 1


def read_timelines(
    path: Path,
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Timeline, ...]:
    """The timelines of a trace_view.json, an msprof_*.json, a timeline of MindSpore or a GPU's chrome trace.

    One a device, in order of devices; one without a device where the trace names none. At least one, it may
    be empty. What cannot be placed is counted in `problems`. A file that is cut gives what is whole, with
    `is_cut` and a Problem.
    Raises InputError and Cancelled as `read_trace` does.
    Cost: about 0.7 of json.load's CPU time at 100 MB, 13 s a GB. Memory: some 50 MB, and 40 bytes for each
    event of a device, call that may have started one and operator, twice that at the end: 400 MB for a GB.
    """
    trace = read_trace(
        path, root=root, args=ARGS, max_bytes=max_bytes, progress=progress, is_cancelled=is_cancelled
    )
    builder = TimelineBuilder(shown_path(path, root))
    for block in trace:
        builder.feed(block, trace.names)
    return builder.finish(trace.names, trace.state)


class TimelineBuilder:
    """Takes the blocks of a trace as they come; `finish` tells the timelines so far and ends nothing.

    The blocks must come from one reader that was told `ARGS`.
    """

    def __init__(self, source: str) -> None:
        self._kept = Kept(source)
        self._lanes = _Lanes(self._kept.lanes, self._kept.passed_over)
        self._bits = LabelBits()
        self._has_connected_calls = False
        self._has_connected_tasks = False

    def feed(self, block: TraceBlock, names: TraceNames) -> None:
        """The next block, and the names as they are known behind it."""
        self._bits.look(names)
        if len(block.events.name):
            self._take_events(block.events, names)
        if len(block.flows.name):
            self._take_flows(block.flows, names)
        if len(block.counters.name):
            self._take_counters(block.counters)

    def finish(self, names: TraceNames, state: TraceState) -> tuple[Timeline, ...]:
        """One timeline a device, of all that was fed."""
        return timelines_of(self._kept, names, state)

    def _take_events(self, events: Events, names: TraceNames) -> None:
        kept = self._kept
        lane = self._lanes.numbers(events.pid, events.tid, names)
        role = self._lanes.roles(lane)
        category = self._bits.of(events.category)
        is_mark = ((category & IS_ANNOTATION) != 0) | (role == MARK)
        is_instant = (events.phase == _INSTANT) & is_mark
        duration = np.where(is_instant & (events.duration_ns == NO_TIME), 0, events.duration_ns)
        is_event = (events.phase == _COMPLETE) | is_instant
        has_times = (events.start_ns != NO_TIME) & (duration != NO_TIME)
        kept.n_without_times += int((is_event & ~has_times).sum())
        kept.n_apart += int(((events.phase == _BEGIN) | (events.phase == _END)).sum())
        kept.n_without_lane += int((is_event & (lane < 0)).sum())

        usable = is_event & has_times & ((category & IS_NOTHING) == 0)
        is_pause, is_operator, is_gpu_task, is_gpu_call = (
            usable & ((category & bit) != 0) for bit in (IS_PAUSE, IS_OPERATOR, IS_GPU_TASK, IS_GPU_CALL)
        )
        is_sure = usable & ((category & (IS_FRAMEWORK | IS_ANNOTATION)) != 0)
        is_plain = usable & ~(is_pause | is_sure | is_operator | is_gpu_task | is_gpu_call)
        is_silent = (role == FRAMEWORK) | (role == OTHER)
        is_framework = is_sure | (is_operator & is_silent) | (is_plain & (role == FRAMEWORK))
        at = np.flatnonzero(is_framework)
        kept.framework.add(events.start_ns[at], duration[at])

        at = np.flatnonzero(is_operator & is_silent & (lane >= 0))
        starts, codes = events.start_ns[at], events.name[at]
        kept.operators.add(len(at), lane=lane[at], start=starts, duration=duration[at], name=codes)

        name = self._bits.of(events.name)
        is_named = is_sure | is_operator | is_plain
        is_step = is_named & ((name & IS_STEP_NAME) != 0)
        is_range = is_named & ((name & IS_RANGE_NAME) != 0) & (events.category >= 0)
        is_range |= usable & ((category & IS_ANNOTATION) != 0)
        for what, mask in ((STEP, is_step), (MARK, is_range & ~is_step), (PAUSE, is_pause)):
            if n := len(at := np.flatnonzero(mask)):
                start = events.start_ns[at]
                kept.spans.add(n, role=what, name=events.name[at], start=start, duration=duration[at])

        rows = np.flatnonzero((is_operator | is_plain) & ~is_silent & (lane >= 0))
        self._keep(_Chosen.of(events, duration, lane, rows, names), role[rows] == HOST, is_operator[rows])
        gpu_tasks = np.flatnonzero(is_gpu_task & (lane >= 0))
        gpu_calls = np.flatnonzero(is_gpu_call & (lane >= 0))
        for at, source in ((gpu_tasks, GPU_TASK), (gpu_calls, GPU_CALL)):
            if len(at):
                self._keep_gpu(_Chosen.of(events, duration, lane, at, names), events.category[at], source)

    def _keep(self, chosen: _Chosen, is_call: Flags, is_operator: Flags) -> None:
        """Rows of lanes that are devices, calls, or not named yet."""
        if not len(chosen.lane):
            return
        is_connected = chosen.connection != NONE
        self._has_connected_calls |= bool(is_connected.any())
        if not self._has_connected_tasks and bool((is_connected & (chosen.kind >= 0)).any()):
            self._has_connected_tasks = True
            self._kept.flows.clear()  # the events themselves say what started them
        source = np.where(is_operator, FROM_OPERATOR, FROM_LANE)
        if (calls := np.flatnonzero(is_call)).size:
            levels = self._lanes.levels(chosen.lane[calls])
            self._kept.calls.add(levels, chosen.name[calls], chosen.start[calls], chosen.duration[calls])
            source[calls] = SUMMED
        # what is summed is needed again only if it may have started something
        needed = np.flatnonzero(~is_call | is_connected | (not self._has_connected_calls))
        self._add(chosen, needed, chosen.kind[needed], source[needed])

    def _keep_gpu(self, chosen: _Chosen, category: Codes, source: int) -> None:
        """Tasks and calls that their category names; it stands for the type of a task."""
        needed = np.arange(len(category))
        if source == GPU_CALL:
            self._kept.calls.add(category, chosen.name, chosen.start, chosen.duration)
            needed = np.flatnonzero(chosen.connection != NONE)
        self._add(chosen, needed, category[needed], source)

    def _add(self, chosen: _Chosen, at: Integers, kind: Codes, source: npt.NDArray[Any] | int) -> None:
        self._kept.rows.add(
            len(at),
            lane=chosen.lane[at],
            start=chosen.start[at],
            duration=chosen.duration[at],
            name=chosen.name[at],
            kind=kind,
            connection=chosen.connection[at],
            source=source,
        )

    def _take_flows(self, flows: Flows, names: TraceNames) -> None:
        """Ends of arrows to the device: from calls, where events do not say it themselves; from operators."""
        bits, kept = self._bits, self._kept
        if bits.arrows >= 0 and not self._has_connected_tasks:
            is_arrow = (flows.category == bits.arrows) | (flows.name == bits.arrows)
            self._take_ends(flows, np.flatnonzero(is_arrow), names, kept.flows)
        if bits.operator_arrows >= 0:
            is_start = (flows.category == bits.operator_arrows) & (flows.phase == _START)
            self._take_ends(flows, np.flatnonzero(is_start), names, kept.operator_flows)

    def _take_ends(self, flows: Flows, at: Integers, names: TraceNames, rows: GrowingRows) -> None:
        at = at[flows.at_ns[at] != NO_TIME]
        ids = flows.id[at]
        for i in np.flatnonzero(ids < 0).tolist():
            ids[i] = _number_of_text(flows.id_texts.get(int(at[i]), ""))
        lane = self._lanes.numbers(flows.pid[at], flows.tid[at], names)
        has = np.flatnonzero((ids >= 0) & (lane >= 0))
        rows.add(len(has), lane=lane[has], at=flows.at_ns[at[has]], id=ids[has])

    def _take_counters(self, counters: Counters) -> None:
        is_clock = np.isin(counters.name, np.array(self._bits.frequency, np.int64))
        at = np.flatnonzero(is_clock & (counters.at_ns != NO_TIME))
        self._kept.frequency.add(len(at), pid=counters.pid[at], at=counters.at_ns[at], mhz=counters.value[at])


class _Chosen:
    """Some of the events of a block, in columns."""

    __slots__ = ("connection", "duration", "kind", "lane", "name", "start")

    def __init__(self, columns: tuple[Any, ...]) -> None:
        self.lane, self.start, self.duration, self.name, self.kind, self.connection = columns

    @classmethod
    def of(cls, events: Events, duration: Integers, lane: Codes, at: Integers, names: TraceNames) -> _Chosen:
        start, name, kind = events.start_ns[at], events.name[at], events.args["Task Type"].texts[at]
        return cls((lane[at], start, duration[at], name, kind, _connections(events, at, names)))


class _Lanes:
    """Numbers of lanes, and what they are as far as they are named. keys: pid and tid by number. silent:
    numbers of those whose events nobody wants. Both are added to."""

    def __init__(self, keys: list[tuple[int, int]], silent: list[int]) -> None:
        self._keys = keys
        self._silent = silent
        self._number_of: dict[tuple[int, int], int] = {}
        self._roles = np.full(64, UNKNOWN, np.int8)
        self._levels = np.zeros(64, np.int64)

    def numbers(self, pid: Codes, tid: Codes, names: TraceNames) -> Codes:
        """The number of each event's lane; NONE beyond the limit."""
        distinct, inverse = distinct_pairs(pid, tid)
        numbers = np.array([self._number(key, names) for key in distinct], np.int32)
        found: Codes = numbers[inverse] if len(numbers) else numbers
        return found

    def roles(self, lane: Codes) -> npt.NDArray[np.int8]:
        """The role of each; OTHER where a lane has no number."""
        found: npt.NDArray[np.int8] = np.where(lane >= 0, self._roles[lane], OTHER).astype(np.int8)
        return found

    def levels(self, lane: Codes) -> Integers:
        """The level of host calls that say none themselves: a code for `level_of`."""
        return self._levels[lane]

    def _number(self, key: tuple[int, int], names: TraceNames) -> int:
        number = self._number_of.get(key, NONE)
        if number == NONE:
            if len(self._keys) >= MAX_LANES:
                return NONE
            number = self._number_of[key] = len(self._keys)
            self._keys.append(key)
            if number >= len(self._roles):
                self._roles = np.concatenate([self._roles, np.full(number, UNKNOWN, np.int8)])
                self._levels = np.concatenate([self._levels, np.zeros(number, np.int64)])
        if self._roles[number] == UNKNOWN:
            lane = lane_of(names, *key)
            self._roles[number], self._levels[number] = lane.role, lane.level
            if lane.role in (OTHER, FRAMEWORK):
                self._silent.append(number)
        return number


def _connections(events: Events, at: Integers, names: TraceNames) -> Integers:
    """Ids that calls and what they started share; NONE."""
    found = np.full(len(at), NONE, np.int64)
    for arg in ("correlation", "connection_id"):
        column = events.args[arg]
        kind = column.kind[at]
        is_int = kind == ARG_INT
        found[is_int] = column.integers[at[is_int]]
        for i in np.flatnonzero(kind == ARG_TEXT).tolist():
            text = names.label(int(column.texts[at[i]])) or ""
            if text.isdecimal() and text.isascii() and len(text) < 19:
                found[i] = int(text)
    found[(found < 0) | (found == _ABSENT_CONNECTION)] = NONE
    return found


def _number_of_text(text: str) -> int:
    """An id beyond 64 bits as a number that fits; NONE for none. Equal texts give equal numbers."""
    if not text:
        return NONE
    if text.isdecimal() and text.isascii():
        return 2**62 | int(text) % _PRIME
    raw = text.encode("utf-8", "replace")
    return 2**62 | zlib.crc32(raw) << 29 | zlib.adler32(raw) & 0x1FFF_FFFF
