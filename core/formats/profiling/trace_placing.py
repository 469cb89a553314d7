"""What the kept rows of a trace are, by the names that their lanes have in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem
from .timeline import Integers
from .trace_arrows import connected_by_arrows
from .trace_blocks import TraceNames
from .trace_lanes import COMMUNICATION, FRAMEWORK, HOST, OTHER, TASK, UNKNOWN, Lane, call_of, gpu_of
from .trace_rows import FROM_OPERATOR, GPU_CALL, GPU_TASK, SUMMED, Extent, Kept


@dataclass(slots=True)
class Problems:
    """Problems of a trace, added to."""

    artifact: str
    listed: list[Problem]

    def add(self, kind: str, n: int, message: str, hint: str | None = None) -> None:
        """A problem of n events, if there are any."""
        if n:
            self.listed.append(Problem(self.artifact, kind, f"{n:,} {message}", hint=hint))


@dataclass(frozen=True, slots=True)
class Placed:
    """All kept rows, by their place in `kept.rows`. operators: places of the framework's operators.
    by_arrows: connections, where arrows were needed to tell them."""

    role: npt.NDArray[np.int8]
    device: npt.NDArray[np.int16]
    operators: Integers
    framework: Extent
    by_arrows: Integers | None = None

    def connection(self, kept: Kept, at: Integers) -> Integers:
        """The connection of some rows."""
        found: Integers = kept.rows.taken("connection", at) if self.by_arrows is None else self.by_arrows[at]
        return found


def placed(kept: Kept, lanes: list[Lane], names: TraceNames, problems: Problems) -> Placed:
    """Roles, devices and connections of all kept rows. `kept` is not changed."""
    rows = kept.rows
    lane, source = rows.taken("lane"), rows.taken("source")
    role: npt.NDArray[np.int8] = by_lane(lanes, lambda one: one.role, np.int8)[lane]
    device: npt.NDArray[np.int16] = by_lane(lanes, lambda one: one.device, np.int16)[lane]
    is_gpu = source == GPU_TASK
    if is_gpu.any():
        gpus = np.array([gpu_of(names, pid) for pid, _ in kept.lanes], np.int16)
        device[is_gpu] = gpus[lane[is_gpu]]
    role[is_gpu] = TASK
    role[(source == GPU_CALL) | (source == SUMMED)] = HOST
    framework = Extent(kept.framework.n, kept.framework.first_ns, kept.framework.last_ns)
    is_silent = (role == UNKNOWN) | (role == FRAMEWORK) | (role == OTHER)
    is_framework = (is_silent & (source == FROM_OPERATOR)) | (role == FRAMEWORK)
    at = np.flatnonzero(is_framework)
    framework.add(rows.taken("start", at), rows.taken("duration", at))
    role[at] = OTHER
    operators = at[source[at] == FROM_OPERATOR]
    _place_unnamed(kept, role, names, problems)
    late = sum(lanes[number].role not in (OTHER, FRAMEWORK, UNKNOWN) for number in kept.passed_over)
    problems.add("bad-record", late, "lanes got another name behind their events; those before are left out")
    by_arrows = None
    if len(kept.flows):
        ends = (kept.flows.taken("lane"), kept.flows.taken("at"), kept.flows.taken("id"))
        is_device = (role == TASK) | (role == COMMUNICATION)
        start, connection = rows.taken("start"), rows.taken("connection")
        by_arrows = connected_by_arrows(lane, start, connection, is_device, role == HOST, ends)
    return Placed(role, device, operators, framework, by_arrows)


def _place_unnamed(kept: Kept, role: npt.NDArray[np.int8], names: TraceNames, problems: Problems) -> None:
    """Roles of rows whose lane has no name: by the type of a task, by the prefix of a call ("AscendCL@").

    In a trace without any names the others are tasks.
    """
    at = np.flatnonzero(role == UNKNOWN)
    if not len(at):
        return
    has_type = kept.rows.taken("kind", at) >= 0
    role[at[has_type]] = TASK
    at = at[~has_type]
    codes = kept.rows.taken("name", at)
    calls = [c for c in np.unique(codes).tolist() if c >= 0 and call_of(names.labels[c], "")[0]]
    is_call = np.isin(codes, np.array(calls, np.int64))
    role[at[is_call]] = HOST
    at = at[~is_call]
    if names.process_names or names.process_labels or (role == TASK).any():
        problems.add("missing", len(at), "events are left out: their lane has no name")
        return
    role[at] = TASK
    problems.add("missing", len(at), "events count as tasks of one device: no lane has a name")


def by_lane(lanes: Iterable[Lane], value: Callable[[Lane], int], dtype: type) -> npt.NDArray[Any]:
    """A value by the number of the lane."""
    return np.array([value(lane) for lane in lanes], dtype)
