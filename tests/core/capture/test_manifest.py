"""What a capture writes into a manifest is what everybody reads there."""

from __future__ import annotations

import signal
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.driver import Ended, Recorded
from npulse.core.capture.manifest import (
    Manifest,
    ended_tables,
    recorded_table,
    request_of,
    request_table,
    utc_text,
)
from npulse.core.capture.process import ToolRun
from npulse.core.capture.request import FOLDERS, CaptureRequest
from npulse.core.formats.manifest import OUTCOMES, RoundProcess, record_of
from npulse.core.toml_text import loads_toml

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
names = words.filter(bool)
numbers = st.integers(1, 2**40)
both = st.tuples(names, names)


@given(
    request=st.builds(
        CaptureRequest,
        st.sampled_from(list(FOLDERS)),
        st.lists(st.from_regex(r"[a-z./]{1,8}", fullmatch=True), max_size=3).map(tuple),
        st.just(Path("/job")),
        st.just(Path("/diag")),
        name=names,
        tool=names,
        rank=words,
        pid=st.none() | numbers,
        timeout_s=st.none() | st.floats(0.001, 1e6),
        repeat=st.integers(1, 9),
        keep_fp32=st.lists(words, max_size=2).map(tuple),
        environment=st.dictionaries(names, words, max_size=2),
    ),
    recorded=st.builds(
        Recorded,
        st.sampled_from(OUTCOMES[:-1]),
        numbers,
        numbers,
        ranks=st.lists(st.integers(0, 9), max_size=3).map(tuple),
        why=both,
        warnings=st.lists(both, max_size=2, unique_by=(lambda one: one[0], lambda one: one[1])).map(tuple),
    ),
    exit_status=st.none() | st.integers(-1, 255),
    number=st.none() | st.sampled_from(list(signal.Signals)),
    stopped_by=st.sampled_from(["", "user", "timeout"]),
    is_killed=st.booleans(),
    process=st.builds(RoundProcess, words, numbers, numbers, numbers, numbers),
    at_ms=st.integers(1, 2**40),
)
def test_what_is_written_reads_back(
    request: CaptureRequest,
    recorded: Recorded,
    exit_status: int | None,
    number: signal.Signals | None,
    stopped_by: str,
    is_killed: bool,
    process: RoundProcess,
    at_ms: int,
) -> None:
    ended = Ended(exit_status, number and int(number), stopped_by, is_killed, Path("/console.log"))
    manifest = Manifest(Path("/diag/x/y"))
    manifest.update(
        kind=request.kind,
        tool=request.tool,
        name=request.name,
        command=request.command,
        cwd=str(request.cwd),
        start=utc_text(at_ms / 1000),
        request=request_table(request),
        environment=request.environment,
        process={name: getattr(process, name) for name in RoundProcess.__slots__},
        recorded=recorded_table(recorded),
        **ended_tables(ToolRun(ended, 1.0, (), (), 0, 0, False)),
    )
    manifest.warn(*recorded.warnings)
    record = record_of(loads_toml(manifest.text()))
    assert request_of(record, Path("/diag/x/y")) == request
    assert (record.outcome, record.why, record.size_bytes) == (
        recorded.outcome,
        recorded.why,
        recorded.size_bytes,
    )
    assert record.recorded["n_files"] == str(recorded.n_files)
    assert record.warnings == tuple(en for en, _ in recorded.warnings)
    assert record.exit_status == exit_status and record.signal == (number.name if number else "")
    assert (record.stopped_by, record.is_killed, record.process) == (stopped_by, is_killed, process)
    assert record.started_ns is not None and abs(record.started_ns - at_ms * 1_000_000) < 1000
