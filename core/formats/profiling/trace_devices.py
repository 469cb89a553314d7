"""What was kept of a trace, divided by devices: the last step from events to timelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem
from .timeline import NONE, OVERLAP_LANES, HostCalls, Integers, Span, Tasks, Timeline
from .trace_arrows import connections_of_starts, ids_at
from .trace_blocks import TraceNames, TraceState
from .trace_lanes import (
    COMMUNICATION,
    HOST,
    IS_COLLECTIVE_NAME,
    MARK,
    NO_DEVICE,
    OVERLAP,
    PAUSE,
    STEP,
    TASK,
    Lane,
    bits_of,
    call_of,
    device_of,
    lane_of,
    level_name,
    overlap_lane,
)
from .trace_numbers import Flags
from .trace_placing import Placed, Problems, by_lane, placed
from .trace_rows import GPU_CALL, GPU_TASK, SUMMED, CallSum, Kept, distinct_pairs

MAX_SPANS = 100_000

COLLECTIVE = "COMMUNICATION"
"""The kind of a GPU's kernel that communicates: its category does not say so."""


def timelines_of(kept: Kept, names: TraceNames, state: TraceState) -> tuple[Timeline, ...]:
    """One timeline a device, by what the lanes are called now. `kept` is not changed."""
    lanes = [lane_of(names, *key) for key in kept.lanes]
    problems = Problems(kept.source, list(state.problems))
    rows = placed(kept, lanes, names, problems)
    shared = _shared(kept, rows, lanes, names, state, problems)
    on_device = (rows.role == TASK) | (rows.role == COMMUNICATION) | (rows.role == OVERLAP)
    found = set(np.unique(rows.device[on_device]).tolist())
    known = sorted(found - {NO_DEVICE})
    if len(known) <= 1:  # what no device is named for belongs to the only one
        device = known[0] if known else NO_DEVICE
        return (_timeline(shared, device, np.ones(len(rows.role), np.bool_)),)
    listed = [*known, *([NO_DEVICE] if NO_DEVICE in found else [])]
    return tuple(_timeline(shared, device, rows.device == device) for device in listed)


@dataclass(frozen=True, slots=True)
class _Operators:
    """Operators of the framework that arrows leave. started: the start of the task that an arrow leads to."""

    lane: npt.NDArray[np.int32]
    start: Integers
    duration: Integers
    name: npt.NDArray[np.int32]
    started: Integers


@dataclass(frozen=True, slots=True)
class _Shared:
    """What timelines of all devices are made of."""

    kept: Kept
    rows: Placed
    lanes: list[Lane]
    names: TraceNames
    state: TraceState
    calls: tuple[HostCalls, ...]
    spans: dict[int, tuple[Span, ...]]
    problems: tuple[Problem, ...]
    operators: _Operators


def _shared(
    kept: Kept, rows: Placed, lanes: list[Lane], names: TraceNames, state: TraceState, problems: Problems
) -> _Shared:
    spans = {role: _spans(kept, rows, role, names, problems) for role in (STEP, MARK, PAUSE)}
    problems.add("bad-record", kept.n_without_times, "events have no start or no duration and are left out")
    problems.add(
        "bad-record", kept.n_apart, "events whose begin and end stand apart (B, E) are not in the lanes"
    )
    problems.add("limit", kept.n_without_lane, "events are left out: there are too many lanes")
    calls = _calls(kept, rows, lanes, names)
    listed = tuple(problems.listed)
    return _Shared(kept, rows, lanes, names, state, calls, spans, listed, _operators(kept, rows))


def _operators(kept: Kept, rows: Placed) -> _Operators:
    lane, start, duration, name = (
        np.concatenate([kept.operators.taken(column), kept.rows.taken(column, rows.operators)])
        for column in ("lane", "start", "duration", "name")
    )
    flows = kept.operator_flows
    # one operator may start several tasks: each arrow looks for its operator
    place = ids_at(flows.taken("lane"), flows.taken("at"), (lane, start, np.arange(len(lane))))
    has = np.flatnonzero(place != NONE)
    has = has[np.argsort(start[place[has]], kind="stable")]
    at, started = place[has], flows.taken("id", has)
    return _Operators(lane[at], start[at], duration[at], name[at], started)


def _timeline(shared: _Shared, device: int, is_mine: Flags) -> Timeline:
    """The timeline of one device. is_mine: rows of the device."""
    kept, rows, names = shared.kept, shared.rows, shared.names
    tasks = _tasks(shared, np.flatnonzero(is_mine & (rows.role == TASK)))
    communication = _communication(shared, is_mine)
    started = np.unique(np.concatenate([tasks.connection, communication.connection]))
    calls = np.flatnonzero(rows.role == HOST)
    ids = rows.connection(kept, calls)
    calls = calls[(ids != NONE) & np.isin(ids, started)]
    at_ns, mhz = _frequency(kept, names, device)
    return Timeline(
        source=kept.source,
        device=None if device == NO_DEVICE else device,
        tasks=tasks,
        communication=communication,
        launches=_launches(shared, calls),
        recorded=_recorded(shared, np.flatnonzero(is_mine & (rows.role == OVERLAP))),
        calls=shared.calls,
        steps=shared.spans[STEP],
        ranges=shared.spans[MARK],
        pauses=shared.spans[PAUSE],
        frequency_at_ns=at_ns,
        frequency_mhz=mhz,
        n_framework_events=rows.framework.n,
        first_framework_ns=rows.framework.first_ns,
        last_framework_ns=rows.framework.last_ns,
        is_cut=shared.state.is_cut,
        problems=shared.problems,
        framework=_framework(shared, tasks, communication),
    )


def _framework(shared: _Shared, tasks: Tasks, communication: Tasks) -> Tasks:
    """Operators of the framework that led to work of this device; their stream is the thread.

    A collective and its first piece start at the same time, and both may have been started by an operator.
    """
    found, parts = shared.operators, []
    for work in (tasks, communication):
        connection = connections_of_starts(found.started, work.start_ns, work.connection)
        at = np.flatnonzero(connection != NONE)
        parts.append((at, connection[at]))
    at, connection = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    at, connection = at[order], connection[order]
    name, names = _compacted(found.name[at], shared.names.labels)
    stream = by_lane(shared.lanes, lambda lane: lane.stream, np.int64)[found.lane[at]]
    kind = np.full(len(at), NONE, np.int32)
    return Tasks(found.start[at], found.duration[at], stream, name, kind, connection, names, ())


def _tasks(shared: _Shared, at: Integers) -> Tasks:
    """Tasks of a device's streams. A GPU's kernels that communicate have a kind of their own."""
    rows, labels = shared.kept.rows, shared.names.labels
    at = _in_order(shared.kept, at)
    kind = rows.taken("kind", at)
    is_gpu = rows.taken("source", at) == GPU_TASK
    code, kinds = _compacted(kind, labels)
    if is_gpu.any() and (is_collective := is_gpu & _is_collective(shared, at)).any():
        code[is_collective] = len(kinds)
        kinds = (*kinds, COLLECTIVE)
    return _as_tasks(shared, at, code, kinds)


def _communication(shared: _Shared, is_mine: Flags) -> Tasks:
    """Whole operations; their kind is the lane that they stand in ("Group 0 Communication")."""
    rows = shared.rows
    at = np.flatnonzero(is_mine & (rows.role == COMMUNICATION))
    gpu = np.flatnonzero(is_mine & (rows.role == TASK))
    gpu = gpu[shared.kept.rows.taken("source", gpu) == GPU_TASK]
    if len(gpu):
        at = np.concatenate([at, gpu[_is_collective(shared, gpu)]])
    at = _in_order(shared.kept, at)
    lanes = shared.kept.rows.taken("lane", at)
    is_named = by_lane(shared.lanes, lambda lane: lane.thread != "", np.bool_)[lanes]
    code, kinds = _compacted(np.where(is_named, lanes, NONE), [lane.thread for lane in shared.lanes])
    return _as_tasks(shared, at, code, kinds)


def _launches(shared: _Shared, at: Integers) -> Tasks:
    """Calls of the host; their kind is the level, their stream the thread."""
    at = _in_order(shared.kept, at)
    codes = shared.kept.rows.taken("name", at)
    is_gpu = shared.kept.rows.taken("source", at) == GPU_CALL
    level = by_lane(shared.lanes, lambda lane: lane.level, np.int64)[shared.kept.rows.taken("lane", at)]
    level = np.where(is_gpu, shared.kept.rows.taken("kind", at), level)
    pairs, inverse = distinct_pairs(level, codes)
    told = [_call(shared.names, *pair) for pair in pairs]
    kinds, calls = (tuple(dict.fromkeys(part)) for part in zip(*told, strict=True)) if told else ((), ())
    kind_of = np.array([kinds.index(kind) for kind, _ in told], np.int32)
    place = {call: i for i, call in enumerate(calls)}
    name_of = np.array([place[call] for _, call in told], np.int32)
    return _as_tasks(shared, at, kind_of[inverse], kinds, (name_of[inverse], calls))


def _as_tasks(
    shared: _Shared,
    at: Integers,
    kind: npt.NDArray[np.int32],
    kinds: tuple[str, ...],
    named: tuple[npt.NDArray[np.int32], tuple[str, ...]] | None = None,
) -> Tasks:
    rows = shared.kept.rows
    name, names = named or _compacted(rows.taken("name", at), shared.names.labels)
    stream = by_lane(shared.lanes, lambda lane: lane.stream, np.int64)[shared.kept.rows.taken("lane", at)]
    stream[shared.rows.role[at] == COMMUNICATION] = NONE  # lanes of groups are no streams
    return Tasks(
        start_ns=rows.taken("start", at),
        duration_ns=rows.taken("duration", at),
        stream=stream,
        name=name,
        kind=kind,
        connection=shared.rows.connection(shared.kept, at),
        names=names,
        kinds=kinds,
    )


def _recorded(shared: _Shared, at: Integers) -> dict[str, tuple[Integers, Integers]]:
    at = _in_order(shared.kept, at)
    rows, labels = shared.kept.rows, shared.names.labels
    pairs, inverse = distinct_pairs(rows.taken("name", at), shared.kept.rows.taken("lane", at))
    listed = [
        overlap_lane(labels[name] if name >= 0 else "", shared.lanes[lane].thread) for name, lane in pairs
    ]
    told = np.array(listed, np.str_)
    found = {}
    for lane in OVERLAP_LANES:
        chosen = at[(told == lane)[inverse]] if len(told) else at
        if len(chosen):
            found[lane] = (rows.taken("start", chosen), rows.taken("duration", chosen))
    return found


def _calls(kept: Kept, rows: Placed, lanes: list[Lane], names: TraceNames) -> tuple[HostCalls, ...]:
    totals = kept.calls.copy()
    source = kept.rows.taken("source")
    late = np.flatnonzero((rows.role == HOST) & (source != SUMMED) & (source != GPU_CALL))
    if len(late):
        levels = by_lane(lanes, lambda lane: lane.level, np.int64)[kept.rows.taken("lane", late)]
        columns = (kept.rows.taken(column, late) for column in ("name", "start", "duration"))
        totals.add(levels, *columns)
    told: dict[tuple[str, str], CallSum] = {}
    for place, one in totals.sums.items():  # one name may be written in two ways
        told.setdefault(_call(names, *place), CallSum(max_ns=one.max_ns)).join(one)
    listed = [
        HostCalls(level, name, s.n, s.total_ns, s.max_ns, s.first_ns, s.last_ns)
        for (level, name), s in told.items()
    ]
    return tuple(sorted(listed, key=lambda call: (-call.total_ns, call.level, call.name)))


def _spans(kept: Kept, rows: Placed, role: int, names: TraceNames, problems: Problems) -> tuple[Span, ...]:
    """Spans of one role: those found by their own name, and the events of lanes that are made of them."""
    by_name = np.flatnonzero(kept.spans.taken("role") == role)
    in_lane = np.flatnonzero(rows.role == role)
    name, start, duration = (
        np.concatenate([kept.spans.taken(column, by_name), kept.rows.taken(column, in_lane)])
        for column in ("name", "start", "duration")
    )
    order = np.argsort(start, kind="stable")
    problems.add(
        "limit", max(0, len(order) - MAX_SPANS), "steps, marks or pauses behind the first ones are left out"
    )
    order = order[:MAX_SPANS]
    labels = names.labels
    return tuple(
        Span(labels[code] if code >= 0 else "", begin, begin + length)
        for code, begin, length in zip(
            name[order].tolist(), start[order].tolist(), duration[order].tolist(), strict=True
        )
    )


def _frequency(kept: Kept, names: TraceNames, device: int) -> tuple[Integers, npt.NDArray[np.float64]]:
    pid, at_ns, mhz = (kept.frequency.taken(column) for column in ("pid", "at", "mhz"))
    if device != NO_DEVICE and len(pid):
        codes = [code for code in np.unique(pid).tolist() if device_of(names, code) in (device, NO_DEVICE)]
        mine = np.isin(pid, np.array(codes, np.int64))
        at_ns, mhz = at_ns[mine], mhz[mine]
    order = np.argsort(at_ns, kind="stable")
    return at_ns[order], mhz[order]


def _call(names: TraceNames, level: int, name: int) -> tuple[str, str]:
    return call_of(names.labels[name] if name >= 0 else "", level_name(names, level))


def _is_collective(shared: _Shared, at: Integers) -> Flags:
    codes = shared.kept.rows.taken("name", at)
    labels = shared.names.labels
    mine = [c for c in np.unique(codes).tolist() if c >= 0 and bits_of(labels[c]) & IS_COLLECTIVE_NAME]
    found: Flags = np.isin(codes, np.array(mine, np.int64))
    return found


def _in_order(kept: Kept, at: Integers) -> Integers:
    """Rows in order of their start."""
    ordered: Integers = at[np.argsort(kept.rows.taken("start", at), kind="stable")]
    return ordered


def _compacted(codes: npt.NDArray[np.int32], texts: Any) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """The same codes counted from 0 without holes, and their texts."""
    used = np.zeros(int(codes.max(initial=-1)) + 1, np.bool_)
    used[codes[codes >= 0]] = True
    new = np.concatenate([np.cumsum(used, dtype=np.int32) - 1, np.array([NONE], np.int32)]).astype(np.int32)
    found: npt.NDArray[np.int32] = new[codes]
    return found, tuple(texts[code] for code in np.flatnonzero(used).tolist())
