"""How long steps took: step_trace_time of the frameworks, step_trace of graph mode."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from .records import Iteration, Read, StepTime
from .table_records import Rows, Spelled, integers, read_rows, records_of, texts, times

NO_MODEL = 0xFFFF_FFFF

STEP_TIMES: dict[str, Spelled] = {
    "computing_ns": times("Computing"),
    "communication_not_overlapped_ns": times("Communication(Not Overlapped)"),
    "overlapped_ns": times("Overlapped"),
    "communication_ns": times("Communication"),
    "free_ns": times("Free"),
    "stage_ns": times("Stage"),
    "bubble_ns": times("Bubble"),
    "exclude_receive_ns": times("Communication(Not Overlapped and Exclude Receive)"),
    "preparing_ns": times("Preparing"),
}
"""Fields of `StepTime` -> their columns; the tables have microseconds and no unit in the header."""
_STEPS: dict[str, Spelled] = {"step": texts("Step"), "device": integers("Device_id"), **STEP_TIMES}
_ITERATIONS: dict[str, Spelled] = {
    "device": integers("Device_id"),
    "iteration": texts("Iteration ID"),
    "model": integers("Model ID"),
    "forward_start_ns": times("FP Start"),
    "backward_end_ns": times("BP End"),
    "end_ns": times("Iteration End"),
    "duration_ns": times("Iteration Time"),
    "forward_to_backward_ns": times("FP to BP Time"),
    "refresh_ns": times("Iteration Refresh"),
    "data_aug_bound_ns": times("Data Aug Bound"),
    "reduce_start": times("Reduce Start"),
    "reduce_duration": times("Reduce Duration"),
}
_HINT = "name a step_trace_time.csv"
_ITERATION_HINT = "name a step_trace_*.csv of msprof"


def read_step_times(path: Path, *, root: Path | None = None) -> Read[StepTime]:
    """The rows of step_trace_time.csv, with or without a device, of torch or MindSpore.

    Problems: as `read_table`, and times that no step can have (they count as absent). Raises InputError.
    """
    rows = read_rows(path, _STEPS, root=root, needed=("computing_ns", "free_ns"), hint=_HINT)
    return records_of(rows, step_time_of)


def step_time_of(rows: Rows) -> StepTime:
    """The times of the row that `rows` stands on."""
    found = {name: rows.duration(name) for name in STEP_TIMES}
    return StepTime(rows.text("step"), rows.integer("device"), **found, line=rows.line)


def read_iterations(path: Path, *, root: Path | None = None) -> Read[Iteration]:
    """The rows of step_trace_*.csv: iterations of a graph, with as many reductions as the row has.

    Columns of reductions have the same names again and again; rows may be shorter or longer than the header.
    Problems: as `read_table`, and times that no iteration can have (they count as absent). Raises InputError.
    """
    rows = read_rows(
        path,
        _ITERATIONS,
        root=root,
        needed=("iteration", "end_ns"),
        hint=_ITERATION_HINT,
        is_ragged=True,
    )
    starts, durations = rows.table.all_of("Reduce Start"), rows.table.all_of("Reduce Duration")

    def make(rows: Rows) -> Iteration:
        pairs = []
        for start, duration in zip_longest(starts, durations):
            pair = (
                start.integer(rows.row) if start is not None else None,
                rows.possible("reduce_duration", duration.integer(rows.row))
                if duration is not None
                else None,
            )
            if pair != (None, None):
                pairs.append(pair)
        model = rows.integer("model")
        device = rows.integer("device")
        return Iteration(
            iteration=rows.text("iteration"),
            model=None if model == NO_MODEL else model,
            device=device if device is not None else rows.device,
            forward_start_ns=rows.integer("forward_start_ns"),
            backward_end_ns=rows.integer("backward_end_ns"),
            end_ns=rows.integer("end_ns"),
            duration_ns=rows.duration("duration_ns"),
            forward_to_backward_ns=rows.duration("forward_to_backward_ns"),
            refresh_ns=rows.duration("refresh_ns"),
            data_aug_bound_ns=rows.duration("data_aug_bound_ns"),
            reduces=tuple(pairs),
            line=rows.line,
        )

    return records_of(rows, make)
