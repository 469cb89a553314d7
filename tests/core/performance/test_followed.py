"""A run that is followed: each look says what a cold look says, for the price of what is new."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.performance.found import Performance
from npulse.core.performance.report import report
from npulse.core.performance.run_report import look, reports_of, selections
from npulse.core.performance.table import performance_table
from npulse.core.performance.view import performance_view
from npulse.core.run.discover import discover
from npulse.core.tails import Tails

HEADER = (
    "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes,"
    "aic_mac_ratio,aiv_vec_ratio\n"
)
TYPES = ("MatMulV2", "Add", "Cast", "RmsNorm", "Transpose")
BASE_US = 1_764_246_877_000_000
LOOK_CPU_S = 0.5
"""Of a look at 200 new rows behind 100,000; it takes 0.2."""
STEPS = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"


def rows(first: int, n: int) -> str:
    return "".join(
        f"0,2,aclnn{TYPES[i % 5]}_{i % 200},{TYPES[i % 5]},AI_CORE,{BASE_US + 20 * i}.000\t,"
        f'{(i * 7919 + first) % 9000 / 1000 + 1:.3f},"16,{64 * (i % 4)}",0.{i % 10},0.1\n'
        for i in range(first, first + n)
    )


def session(folder: Path, rank: int = 0) -> Path:
    """A session whose table has only its header; returns the table."""
    output = folder / f"host_{rank}_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    path = output / "op_summary_20260120111213.csv"
    path.write_text(HEADER)
    return path


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def look_at(folder: Path, tails: Tails | None) -> Performance:
    run, options = discover(folder), AnalysisOptions(tails=tails)
    return look(run, selections(run, options)[-1], options)


def without_following(told: Report) -> Report:
    """What a cold report has too."""
    own = ("followed_", "files_", "unfinished_", "new_")
    summary = {name: value for name, value in told.summary.items() if not name.startswith(own)}
    lines = tuple(line for line in told.told if not line.startswith(("followed files", "new since")))
    return replace(told, summary=summary, told=lines, artifacts=(), tables={})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=5))
def test_each_look_says_what_a_cold_one_says(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("followed")
    path, tails, text = session(folder), Tails(), rows(0, 60)
    append(path.with_name("step_trace_time.csv"), STEPS + "0,1,60,10,0,10,5\n")
    for cut in (*cuts, len(text)):
        new, text = text[:cut], text[cut:]
        append(path, new)
        found, told = look_at(folder, tails), look_at(folder, None)
        if found.shown is None or not path.read_text().endswith("\n"):
            continue  # a cold look says that the last line is cut off
        assert without_following(report(found)) == without_following(report(told))
        for kind in ("type", "call", "count", "average"):
            live, cold = performance_table(found, kind), performance_table(told, kind)
            cells = [[table.row(i) for i in range(table.n_rows)] for table in (live, cold)]
            own = [{name: v for name, v in row.items() if not name.startswith("new_")} for row in cells[0]]
            assert own == cells[1]


def test_a_look_at_nothing_new_makes_nothing_anew(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    append(path, rows(0, 50))
    first = look_at(tmp_path, tails)
    again = look_at(tmp_path, tails)
    assert first.shown is not None and again.shown is first.shown
    append(path, rows(50, 1))
    assert look_at(tmp_path, tails).shown is not first.shown


def test_a_small_table_is_read_again_only_where_it_changed(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    append(path, rows(0, 50))
    steps = path.with_name("step_trace_time.csv")
    steps.write_text(STEPS + "0,1,60,10,0,10,5\n")
    first = look_at(tmp_path, tails)
    append(path, rows(50, 1))
    second = look_at(tmp_path, tails)
    append(steps, "0,2,60,10,0,10,5\n")
    third = look_at(tmp_path, tails)
    assert first.shown is not None and second.shown is not None and third.shown is not None
    assert second.shown.profile.steps is first.shown.profile.steps
    assert [len(one.shown.profile.steps) for one in (second, third) if one.shown is not None] == [1, 2]


def test_what_came_last_stands_beside_the_sums(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    append(path, rows(0, 50))
    first = look_at(tmp_path, tails)
    assert first.since is None and "new_calls" not in performance_table(first, "type").row(0)
    append(path, f"0,2,aclnnAdd_1,Add,AI_CORE,{BASE_US + 9000}.000\t,12.345,1,0,0\n" * 1)
    append(path, f"0,2,aclnnNew_1,New,AI_CORE,{BASE_US + 9100}.000\t,1.001,1,0,0\n")
    for _ in range(2):  # what came last stays while nothing more comes
        found = look_at(tmp_path, tails)
        table = performance_table(found, "type")
        new = {
            row["subject"]: (row["new_calls"], row["new_us"]) for row in map(table.row, range(table.n_rows))
        }
        assert new == {**dict.fromkeys(TYPES, (0, 0.0)), "Add": (1, 12.345), "New": (1, 1.001)}
        facts = report(found).summary
        assert (facts["new_calls"], facts["new_us"]) == (2, 13.346)
        assert (facts["followed_files"], facts["followed_bytes"]) == (1, path.stat().st_size)
        assert any("new since the look before: calls 2," in line for line in report(found).told)
    assert "new_calls" not in performance_table(found, "call").row(0)


def test_a_run_that_is_not_followed_has_none_of_it(tmp_path: Path) -> None:
    append(session(tmp_path), rows(0, 50))
    found = look_at(tmp_path, None)
    assert (found.followed, found.since) == (None, None)
    assert not any(name.startswith(("followed", "new_")) for name in report(found).summary)


def test_a_slice_that_is_gone_keeps_its_rows_and_another_export_takes_their_place(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    path.unlink()
    slices = [path.with_name(f"op_summary_slice_{n}_20260120111213.csv") for n in range(2)]
    for n, one in enumerate(slices):
        one.write_text(HEADER + rows(100 * n, 10))
    assert report(look_at(tmp_path, tails)).counts["used_rows"] == 20
    slices[0].unlink()
    found = look_at(tmp_path, tails)
    assert report(found).counts["used_rows"] == 20
    assert found.followed is not None and (found.followed.n_files, found.followed.n_gone) == (2, 1)
    path.with_name("op_summary_20260121111213.csv").write_text(HEADER + rows(0, 7))
    assert report(look_at(tmp_path, tails)).counts["used_rows"] == 7


def test_the_trace_grows_with_the_table(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    append(path, rows(0, 5))
    events = [
        {"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "Ascend Hardware"}},
        *(
            {"ph": "X", "name": f"k{n}", "pid": 4, "tid": 2, "ts": f"{BASE_US + 20 * n}.000", "dur": 5}
            | {"args": {"Task Type": "AI_CORE"}}
            for n in range(40)
        ),
    ]
    raw = json.dumps(events)[:-1]
    trace = path.with_name("trace_view.json")
    for cut in (1500, 3000, len(raw)):
        trace.write_text(raw[:cut]) if cut == 1500 else append(trace, raw[trace.stat().st_size : cut])
        found, told = look_at(tmp_path, tails), look_at(tmp_path, None)
        assert without_following(report(found)) == without_following(report(told))
        assert found.shown is not None and found.shown.profile.timeline is not None
    assert len(found.shown.profile.timeline.tasks) == 40


def test_of_several_ranks_only_the_one_that_grew_is_analysed_again(tmp_path: Path) -> None:
    folder, tails = tmp_path / "run", Tails()
    for name, n in (("round_0", 20), ("round_1", 30)):
        (folder / name).mkdir(parents=True)
        (folder / name / "round.toml").write_text(f'name = "{name}"\n')
        for rank in range(3):
            path = session(folder / name, rank)
            append(path, rows(0, n))
            (path.parent.parent / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
    first = look_at(folder, tails)
    again = look_at(folder, tails)
    append(path, rows(30, 5))
    second = look_at(folder, tails)
    cold = look_at(folder, None)
    assert first.changes is not None and [len(one.profiles) for one in (first, again, second)] == [3] * 3
    tables = [[one.operators.types for one in found.profiles] for found in (first, again, second)]  # type: ignore[union-attr]
    assert all(new is old for new, old in zip(tables[1], tables[0], strict=True))
    assert [new is old for new, old in zip(tables[2], tables[0], strict=True)] == [True, True, False]
    assert again.changes is first.changes
    assert [len(one.profiles) for one in second.ranks] == [3] and second.ranks[0] is not first.ranks[0]
    assert again.ranks[0] is first.ranks[0]
    for _ in range(2):  # all rounds, one after the other
        live = reports_of(discover(folder), AnalysisOptions(tails=tails))
        want = reports_of(discover(folder), AnalysisOptions())
        told = [[(one.round, without_following(one.report)) for one in found] for found in (live, want)]
        assert len(live) == 2 and told[0] == told[1]
    assert look_at(folder, tails).changes is second.changes
    assert without_following(report(second)) == without_following(report(cold))


@pytest.mark.budget
def test_a_look_at_200_new_rows_behind_100_000(tmp_path: Path) -> None:
    path, tails = session(tmp_path), Tails()
    append(path, rows(0, 100_000))
    look_at(tmp_path, tails)
    costs = []
    for n in range(3):
        append(path, rows(100_000 + 200 * n, 200))
        run, options = discover(tmp_path), AnalysisOptions(tails=tails)
        began_s = time.process_time()
        found = look(run, selections(run, options)[-1], options)
        performance_view(found, "en")
        costs.append(time.process_time() - began_s)
    assert found.since is not None and found.since.n_calls == 200
    assert min(costs) <= LOOK_CPU_S
    began_s = time.process_time()
    look_at(tmp_path, tails)
    assert time.process_time() - began_s <= LOOK_CPU_S / 10
