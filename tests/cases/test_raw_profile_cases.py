"""Situations of real reports about profiles that are raw or still written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.formats.profiling.msmonitor import MonitorReader
from npulse.core.formats.profiling.msmonitor_views import operators_of
from npulse.core.formats.profiling.session import read_session

from .values import expected

pytestmark = pytest.mark.real


def test_a_profile_that_was_never_parsed(shared: Path) -> None:
    case = shared / "cases" / "C58"
    values = expected(case)
    (folder,) = case.glob("*_ascend_pt")
    session = read_session(folder, root=case)
    assert session.kind == "pytorch" and session.rank == values["rank"]
    assert list(session.devices) == values["devices"]
    assert session.has_output == values["parsed"] and session.state == "collected"
    assert session.missing == (values["missing"],)
    assert session.export_code == (
        f"from torch_npu.profiler.profiler import analyse; analyse({json.dumps(str(folder))})"
    )
    # what there is: one slice that was not closed, and the framework's own records
    assert (session.n_slices, session.n_closed, session.n_files, session.pid) == (1, 0, 2, 21344)
    assert session.problems == ()
    (inner,) = session.sessions
    assert inner.state == "collecting" and inner.has_host and inner.times.end_ns is None


def test_a_log_that_is_followed(shared: Path) -> None:
    """Half a line, a rotation, a removed file, a bad line, a file that got shorter."""
    case = shared / "cases" / "C67"
    values = expected(case)
    reader = MonitorReader()
    read: dict[str, int] = {}
    last = ""
    n_rotations = n_truncations = 0
    for step, want in values["records_after"].items():
        folder = case / "steps" / step
        for path in sorted(folder.glob("*.jsonl")):
            raw = path.read_bytes()
            if path.name != last:
                if path.name in read:
                    assert len(raw) == read[path.name]  # an earlier file of a rotation grows no more
                    continue
                n_rotations += bool(last)
                reader.begin(path.name)
            elif len(raw) < read[last]:
                n_truncations += 1
                reader.begin(path.name)
                read[last] = 0
            reader.feed(raw[read.get(path.name, 0) :])
            last, read[path.name] = path.name, len(raw)
        log = reader.log()
        assert len(log.kernels) == want, step
    bad = [problem for problem in log.problems if problem.kind == "bad-record"]
    assert [(problem.artifact, problem.line) for problem in bad] == [
        (values["bad_line_number"]["file"], values["bad_line_number"]["line"])
    ]
    assert (log.n_dropped, len(log.problems)) == (values["bad_lines"], 1)
    assert n_rotations == values["rotations_noticed"] and n_truncations == values["truncations_noticed"]
    assert len(set(log.kernels.connection.tolist())) == len(log.kernels) - values["duplicates"]
    total_ns = int(operators_of(log).values("duration_ns").sum())
    assert total_ns == round(values["sum_duration_us_after_t6"] * 1000)
