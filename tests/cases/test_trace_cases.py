"""Situations of real reports about timelines, as far as reading them decides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.profiling.trace import TraceFile, read_trace
from npulse.core.formats.profiling.trace_blocks import TraceBlock
from npulse.core.performance.intervals import gaps, n_overlapping, union

from .values import expected


def read(folder: Path) -> tuple[TraceFile, TraceBlock]:
    """The one block of a small trace."""
    trace = read_trace(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", root=folder)
    (block,) = list(trace)
    return trace, block


@pytest.mark.real
def test_times_as_text_keep_their_nanoseconds(shared: Path) -> None:
    folder = shared / "cases" / "C48"
    values = expected(folder)
    trace, block = read(folder)
    starts, durations = block.events.start_ns, block.events.duration_ns
    assert len(starts) == values["events"] and trace.state.is_time_text == values["ts_is_text"]
    busy = union(starts, durations)
    assert busy.total_ns == int(durations.sum()) == values["busy_ns"]
    assert busy.span_ns == values["span_ns"] and gaps(busy).total_ns == values["gap_ns"]
    assert n_overlapping(starts, durations) == values["overlaps"] == 0
    # what a reader with floats would have seen: the case is one where it matters
    raw = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    floats = [(float(e["ts"]), e["dur"]) for e in raw if e["ph"] == "X"]
    n_wrong = sum(a + n > b for (a, n), (b, _) in zip(floats[:-1], floats[1:], strict=True))
    assert n_wrong == values["float64_overlaps_for_reference"]


@pytest.mark.real
def test_an_event_at_zero_is_kept_and_stretches_nothing(shared: Path) -> None:
    folder = shared / "cases" / "C50"
    values = expected(folder)
    trace, block = read(folder)
    state = trace.state
    assert len(block.events.name) == state.n_events == values["events"]
    marked = [trace.names.label(code) for code in block.events.name[block.events.is_at_zero]]
    assert marked == values["outliers"] and state.is_zero_stray and state.problems == ()
    assert state.first_ns is not None and state.last_ns is not None
    assert (state.last_ns - state.first_ns) / 1000 == values["span_us"]
    others = np.flatnonzero(~block.events.is_at_zero)
    busy = union(block.events.start_ns[others], block.events.duration_ns[others])
    assert busy.total_ns / 1000 == values["busy_us"]
    assert round(100 * gaps(busy).total_ns / busy.span_ns, 2) == values["idle_share_percent"]
