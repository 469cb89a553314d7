"""Rows that are kept no longer: the sums by type are those of all rows, whatever was let go, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.formats.profiling import follow
from npulse.core.formats.profiling.follow import follow_msmonitor, follow_operators, is_kept
from npulse.core.formats.profiling.msmonitor_log import MonitorLog
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.performance.following import kept_in
from npulse.core.performance.found import Performance
from npulse.core.performance.operators.gone import Gone, TypeSum, folded
from npulse.core.performance.operators.top import By
from npulse.core.performance.report import report
from npulse.core.performance.run_report import look, selections
from npulse.core.performance.table import performance_table
from npulse.core.run.discover import discover
from npulse.core.tails import Tails

from .operator_tables import row, table_of

HEADER = "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes\n"
BASE_US = 1_764_246_877_000_000
MOST = 40
TYPES = ("MatMulV2", "Add", "Cast", "RmsNorm", "Transpose", "Mul")


@pytest.fixture(autouse=True)
def few_rows() -> Iterator[None]:
    before, follow.MAX_KEPT_ROWS = follow.MAX_KEPT_ROWS, MOST
    yield
    follow.MAX_KEPT_ROWS = before


def kind_of(i: int) -> str:
    """Early types are not those of later rows."""
    return TYPES[(i * i + i // 30) % 4 + (i > 50) * 2]


def table_line(i: int) -> str:
    us = "N/A" if i % 17 == 3 else f"{(i * 37) % 11 + 1}.{i % 1000:03}"
    return f'0,{i % 2},aclnn{kind_of(i)}_{i},{kind_of(i)},AI_CORE,{BASE_US + 20 * i}.001\t,{us},"{i % 3},8"\n'


def monitor_line(i: int) -> str:
    start = 1000 * BASE_US + 20_000 * i
    record = {"kind": "Kernel", "name": f"aclnnX_XCommon_{kind_of(i)}", "startNs": start}
    record |= {"endNs": start + 1000 + (i * 37) % 11 * 999, "deviceId": 0, "streamId": 5, "correlationId": i}
    return json.dumps({**record, "type": "KERNEL_AICORE"}) + "\n"


def look_at(folder: Path, tails: Tails | None) -> Performance:
    run, options = discover(folder), AnalysisOptions(tails=tails)
    return look(run, selections(run, options)[-1], options)


def sums(found: Performance, by: By) -> list[tuple[str, int, int, int, int, float]]:
    assert found.shown is not None and found.shown.operators is not None
    top = found.shown.operators.by(by).top
    return [
        (
            top.label(i),
            int(top.calls[i]),
            int(top.total_ns[i]),
            int(top.min_ns[i]),
            int(top.max_ns[i]),
            float(top.average_ns[i]),
        )
        for i in range(len(top))
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=6),
    st.sampled_from(["table", "monitor"]),
)
def test_sums_by_type_are_those_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[int, bool]], which: str
) -> None:
    folder, cold = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("cold")
    tails = Tails()
    pattern = "op_summary_slice_{}_20260120111213.csv" if which == "table" else ""
    pattern = pattern or "msmonitor_7_202601201112{:02}456_0.jsonl"
    number = n_rows = 0
    for n, is_next in writes:
        line_of, header = (table_line, HEADER) if which == "table" else (monitor_line, "")
        text = "".join(line_of(i) for i in range(n_rows, n_rows + n))
        n_rows += n
        for one in (folder, cold):
            path = one / pattern.format(number)
            with path.open("a") as file:
                file.write(("" if file.tell() else header) + text)
        found, want = look_at(folder, tails), look_at(cold, None)
        for by in ("type", "count", "average"):
            assert sums(found, by) == sums(want, by)
        assert report(found).summary["types"] == report(want).summary["types"]
        shown = found.shown
        assert shown is not None and shown.profile.operators is not None
        assert shown.profile.operators.n_rows <= MOST
        n_gone = shown.profile.gone.n_rows if shown.profile.gone is not None else 0
        assert n_gone + shown.profile.operators.n_rows == n_rows
        told = [problem for problem in found.problems if "were let go" in problem.message]
        assert [problem.kind for problem in told] == ["limit"] * (n_gone > 0)
        if n_gone:
            assert f"{n_gone:,} single calls before 2025-11-27" in told[0].message
            performance_table(found, "type")
        number += is_next
    last = range(n_rows - writes[-1][0], n_rows)
    n_new = sum(which == "monitor" or i % 17 != 3 for i in last)
    if len(writes) > 1 and n_new:  # what is let go is not taken for calls that were taken back
        assert found.since is not None and found.since.n_calls == n_new


def test_the_rows_that_are_left_are_the_last_ones(tmp_path: Path) -> None:
    path, tails = tmp_path / "op_summary_20260120111213.csv", Tails()
    gone: list[OperatorTable] = []
    path.write_text(HEADER)
    for start in range(0, 200, 10):
        with path.open("a") as file:
            file.write("".join(table_line(i) for i in range(start, start + 10)))
        table, _ = follow_operators([path], tails, root=tmp_path, let_go=gone.append)
    assert table is not None
    names = [one.text("name", i) for one in (*gone, table) for i in range(one.n_rows)]
    assert names == [f"aclnn{kind_of(i)}_{i}" for i in range(200)]
    lines = [line for one in (*gone, table) for line in one.line.tolist()]
    assert lines == list(range(2, 202))
    assert len(table.texts("name")) <= MOST  # texts of rows that are gone are gone too


def test_the_records_that_are_left_are_the_last_ones(tmp_path: Path) -> None:
    path, tails = tmp_path / "msmonitor_7_20260120111200456_0.jsonl", Tails()
    gone: list[MonitorLog] = []
    raw = "".join(monitor_line(i) for i in range(200)).encode()
    for start in range(0, len(raw), 1000):
        with path.open("ab") as file:
            file.write(raw[start : start + 1000])
        log, _ = follow_msmonitor([path], tails, root=tmp_path, let_go=gone.append)
    ids = np.concatenate([one.kernels.connection for one in (*gone, log)])
    assert ids.tolist() == list(range(200))
    assert [line for one in (*gone, log) for line in one.kernel_line.tolist()] == list(range(1, 201))
    assert len(log.kernels) <= MOST and log.n_lines == 200


def test_sums_of_two_tables_are_those_of_one() -> None:
    rows = [row("Add", f"{i + 1}.5", 100 * i) for i in range(6)] + [row("Cast", "3", 700), row("Cast", "N/A")]
    whole = folded(table_of(rows))[-1]
    parts = folded(table_of(rows[:4]))[-1] + folded(table_of(rows[4:]))[-1]
    assert parts == whole and Gone() + whole == whole
    assert whole.n_rows == 8 and whole.types == {
        "Add": TypeSum(6, 24_000, 1500, 6500),
        "Cast": TypeSum(1, 3000, 3000, 3000),
    }


def test_files_that_are_gone_do_not_add_up(tmp_path: Path) -> None:
    """A file a minute, of which the last two are there."""
    tails, names = Tails(), []
    for n in range(60):
        path = tmp_path / f"msmonitor_7_2026012011{n:02}00456_0.jsonl"
        path.write_text("".join(monitor_line(i) for i in range(10 * n, 10 * n + 10)))
        names.append(path)
        if n > 1:
            names[n - 2].unlink()
        found = look_at(tmp_path, tails)
    assert found.followed is not None and found.followed.n_files <= MOST // 10 + 2
    kept = kept_in(tails)
    assert [len(paths) for paths in kept.files.values()] == [found.followed.n_files]
    assert not any(is_kept(path, tails, "msmonitor") for path in names[: -MOST // 10 - 2])
    assert len(tails.kept) == 2  # what the area keeps, and the last log
    top = sums(found, "type")
    assert sum(n_calls for _, n_calls, *_ in top) == 600
    shown = found.shown
    assert shown is not None and shown.profile.gone is not None
    assert sum(one.n_calls for one in shown.profile.gone.types.values()) >= 600 - MOST
