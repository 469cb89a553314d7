"""Timelines that real tools wrote, against the json module and decimal numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.profiling.trace import TraceReader, read_event, read_trace
from npulse.core.performance.intervals import union

from ..core.formats.trace_reference import expected_rows, rows_of

ARGS = (
    "Task Type", "Task Id", "Physic Stream Id", "Batch Id", "connection_id", "correlation_id",
    "Sequence number", "Input Dims",
    "size(B)", "bandwidth(GB/s)", "duration estimated(us)", "level", "id", "pc_addr",
)  # fmt: skip
RANK_0 = "real/pt_level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
FILES = (
    RANK_0,
    "real/trace/trace_view_heatmap.json",
    "synthetic/OPPROF_20260801122000_SIMABCDEFGHIJKLM/simulator/trace.json",
    "synthetic/OPPROF_20260801122000_SIMABCDEFGHIJKLM/simulator/core0.veccore0/trace.json",
)


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "profiling"


@pytest.mark.real
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("step", [0, 4999])
def test_all_events_come_exactly(samples: Path, name: str, step: int) -> None:
    raw = (samples / name).read_bytes()
    reader = TraceReader(ARGS)
    pieces = [raw[i : i + step] for i in range(0, len(raw), step)] if step else [raw]
    found = rows_of(reader, [block for piece in pieces for block in reader.feed(piece)], ARGS)
    expected = expected_rows(raw.decode(), ARGS)
    assert found == expected and sum(map(len, expected[:3])) > 0
    state = reader.finish()
    assert not state.is_cut and state.problems == () and not state.is_zero_stray
    assert state.n_bytes == state.n_whole_bytes == len(raw)


@pytest.mark.real
def test_overlap_analysis_of_the_step(samples: Path) -> None:
    """The lane that the profiler itself computed; the sample's list of expected numbers names its sums."""
    trace = read_trace(samples / RANK_0, root=samples)
    blocks = list(trace)
    names = trace.names
    assert {"Python", "CANN", "Ascend Hardware", "Overlap Analysis"} <= set(names.process_names.values())
    (pid,) = names.pids_of("Overlap Analysis")
    sums = {}
    for (owner, tid), name in names.thread_names.items():
        if owner != pid:
            continue
        chosen = [(b.events.pid == pid) & (b.events.tid == tid) for b in blocks]
        starts = np.concatenate([b.events.start_ns[at] for b, at in zip(blocks, chosen, strict=True)])
        durations = np.concatenate([b.events.duration_ns[at] for b, at in zip(blocks, chosen, strict=True)])
        sums[name] = (int(durations.sum()), union(starts, durations).total_ns)
    assert sums["Computing"][0] == sums["Computing"][1] == 8_873_756
    assert sums["Communication(Not Overlapped)"][1] == 101_963_203
    assert sums["Communication"][1] - sums["Communication(Not Overlapped)"][1] == 4_028_675
    assert sums["Free"] == (25_744_050, 25_744_050)


@pytest.mark.real
def test_events_are_found_again(samples: Path) -> None:
    trace = read_trace(samples / RANK_0)
    for block in trace:
        for i in range(0, len(block.events.byte), 97):
            event = read_event(samples / RANK_0, int(block.events.byte[i]))
            assert event["name"] == trace.names.label(block.events.name[i])


@pytest.mark.real
def test_a_trace_that_is_still_written(samples: Path) -> None:
    path = samples / "synthetic/trace_in_progress/trace_view.json"
    trace = read_trace(path, args=ARGS)
    n = sum(len(block.events.name) for block in trace)
    raw = path.read_text()
    whole = raw[: raw.rindex("}") + 1] + "]"
    assert n == len(expected_rows(whole)[0]) == 37
    state = trace.state
    assert state.is_cut and [problem.kind for problem in state.problems] == ["cut-off"]
    assert state.problems[0].byte == len(raw.encode()) == state.n_bytes
