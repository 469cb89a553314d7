"""Two runs side by side: what is new, what is gone, which areas have something to compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.diff import diff
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Report
from npulse.core.report import masked
from npulse.core.run.model import Run

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"


def profile(folder: Path, us: dict[str, float], *, steps: int = 4, gap_us: float = 1.0, n: int = 20) -> Path:
    """A run with a kernel_details table: n rounds of these operators in each step."""
    folder.mkdir(parents=True)
    lines, at = [HEAD], 1_700_000_000_000_000.0
    for step in range(steps):
        for _ in range(n):
            for kind, took in us.items():
                lines.append(f'{step},{kind},{kind},AI_CORE,{at:.3f}\t,{took},0,"""8,8"""\n')
                at += took + gap_us
    (folder / "kernel_details.csv").write_text("".join(lines))
    return folder


def fault(folder: Path, code: str = "illegal write") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mssanitizer.log").write_text(
        f"====== ERROR: {code} of size 4\n======    at 0x30a00 on GM in add_custom\n"
        "======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
        "======    #0 /build/add.cpp:38:9\n\n"
    )
    return folder


def told(before: Path, after: Path, **options: object) -> Report:
    return diff(before, after, AnalysisOptions(**options))  # type: ignore[arg-type]


def test_what_became_slower_comes_first(tmp_path: Path) -> None:
    old = profile(tmp_path / "old", {"MatMulV2": 100, "Add": 10})
    new = profile(tmp_path / "new", {"MatMulV2": 130, "Add": 10})
    report = told(old, new, tables=True)
    assert [f.rule for f in report.findings[:2]] == ["performance.round-total", "performance.operator-slower"]
    assert report.findings[0].role == "origin" and report.findings[1].subject == "MatMulV2"
    assert report.findings[1].figures["change_us"] == 20 * 30 and report.verdict == "warn"
    assert report.tables["changes"].row(0)["change"] == "worse"
    assert (report.target, report.golden) == (str(new), str(old))


def test_new_and_gone_findings_of_every_area(tmp_path: Path) -> None:
    clean = profile(tmp_path / "clean", {"MatMulV2": 100})
    idle = profile(tmp_path / "idle", {"MatMulV2": 100}, gap_us=300)
    fault(clean, "illegal read")
    fault(idle)
    report = told(clean, idle)
    new = {f.rule for f in report.findings if f.figures.get("change") == "new"}
    assert "performance.idle" in new and report.counts["new"] == len(new)
    back = told(idle, clean)
    gone = next(f for f in back.findings if f.rule == "performance.idle")
    assert (gone.severity, gone.role) == ("note", "ok") and gone.message.startswith("gone: ")


def test_a_run_that_says_nothing_is_not_a_better_one(tmp_path: Path) -> None:
    idle = profile(tmp_path / "idle", {"MatMulV2": 100}, gap_us=300)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "kernel_details.csv").write_text(HEAD)
    report = told(idle, empty)
    assert report.verdict == "unknown" and report.exit_code() == 4
    gone = next(f for f in report.findings if f.rule == "performance.idle")
    assert (gone.role, gone.figures["change"]) == ("unknown", "gone-unread")
    back = told(empty, idle)
    assert back.verdict == "unknown" and back.exit_code() == 4 and back.counts["new"] >= 1


def test_another_slow_rank_is_another_finding(tmp_path: Path) -> None:
    for run, slow in (("a", 2), ("b", 0)):
        for rank in range(3):
            folder = tmp_path / run / f"host_{rank}_20260101000000000_ascend_pt"
            profile(folder / "ASCEND_PROFILER_OUTPUT", {"MatMulV2": 150 if rank == slow else 100})
            (folder / f"profiler_info_{rank}.json").write_text('{"config": {"common_config": {}}}')
    report = told(tmp_path / "a", tmp_path / "b")
    changed = [(f.figures["change"], f.subject) for f in report.findings if f.rule == "performance.slow-rank"]
    assert sorted(changed) == [("gone", "rank 2"), ("new", "rank 0")] and report.verdict == "warn"


def test_what_stands_in_both_is_only_counted(tmp_path: Path) -> None:
    one = profile(tmp_path / "a", {"MatMulV2": 100}, gap_us=300)
    two = profile(tmp_path / "b", {"MatMulV2": 100}, gap_us=300)
    report = told(one, two)
    assert (
        report.counts == {"new": 0, "gone": 0, "same": report.counts["same"]} and report.counts["same"] >= 1
    )
    assert all(f.rule == "performance.round-total" for f in report.findings)


def test_areas_of_one_run_alone_are_named(tmp_path: Path) -> None:
    one = profile(tmp_path / "a", {"MatMulV2": 100})
    two = fault(profile(tmp_path / "b", {"MatMulV2": 100}))
    report = told(one, two)
    assert any("Memory" in line and "second run" in line for line in report.told)
    with pytest.raises(InputError, match="nothing that can be compared"):
        told(one, fault(tmp_path / "c"))


def test_a_run_that_cannot_be_read_whole_hides_nothing(tmp_path: Path) -> None:
    old = profile(tmp_path / "old", {"MatMulV2": 100}, gap_us=300)
    new = profile(tmp_path / "new", {"MatMulV2": 100})
    with (new / "kernel_details.csv").open("a") as file:
        file.write("4,MatMulV2,Mat")
    report = told(old, new)
    gone = next(f for f in report.findings if f.rule == "performance.idle")
    assert gone.role == "unknown" and gone.message.startswith("not told any more")
    assert report.verdict == "incomplete" and report.exit_code() == 4


def test_two_rounds_of_one_run(tmp_path: Path) -> None:
    for name, us in (("round1", 100), ("round2", 60)):
        profile(tmp_path / "run" / name, {"MatMulV2": us})
    run = tmp_path / "run"
    report = diff(run, run, AnalysisOptions(), rounds=("round1", "round2"))
    assert report.findings[0].rule == "performance.round-total" and "round1" in report.findings[0].message
    assert report.findings[0].figures["verdict"] == "better"
    with pytest.raises(UsageError, match="same"):
        told(run, run)
    with pytest.raises(InputError):
        diff(run, run, AnalysisOptions(), rounds=("round1", "round9"))


def test_two_rounds_of_one_run_tell_each_change_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    profile(run / "round1", {"MatMulV2": 100})
    profile(run / "round2", {"MatMulV2": 100, "Add": 60})
    report = diff(run, run, AnalysisOptions(), rounds=("round1", "round2"))
    assert report.findings and len({(f.rule, f.subject) for f in report.findings}) == len(report.findings)
    assert sum("Add" in f.message for f in report.findings if f.rule.startswith("performance.operator")) == 1
    apart = diff(run / "round1", run / "round2", AnalysisOptions())
    assert [f.rule for f in report.findings] == [f.rule for f in apart.findings]


def test_only_the_round_that_is_compared_is_read_and_that_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from npulse.core.performance import run_report

    seen: list[str] = []
    analyse = run_report.analyse

    def counted(run: Run, round_name: str, *args: Any, **kwargs: Any) -> Any:
        seen.append(f"{run.path.name} {round_name}")
        assert not kwargs["earlier"]
        return analyse(run, round_name, *args, **kwargs)

    monkeypatch.setattr(run_report, "analyse", counted)
    for run, us in (("a", 100), ("b", 150)):
        for place in (1, 2, 3):
            profile(tmp_path / run / f"round{place}", {"MatMulV2": us})
    assert told(tmp_path / "a", tmp_path / "b").findings[0].figures["verdict"] == "worse"
    assert seen == ["a round3", "b round3"]


def test_the_newest_round_that_can_be_read_is_compared(tmp_path: Path) -> None:
    for run, us in (("a", 100), ("b", 150)):
        profile(tmp_path / run / "round1", {"MatMulV2": us})
    broken = tmp_path / "b" / "round2"
    broken.mkdir()
    (broken / "cluster_step_trace_time.csv").write_text("Step,Type,Index,Computing,Free\n")
    report = told(tmp_path / "a", tmp_path / "b")
    assert report.findings[0].rule == "performance.round-total"
    assert report.findings[0].figures["verdict"] == "worse" and "round1" in report.findings[0].message
    assert report.verdict == "incomplete" and report.problems and report.exit_code() == 4


def test_the_table_says_which_rank_it_is_of(tmp_path: Path) -> None:
    for run, us in (("a", 100), ("b", 150)):
        for rank in range(2):
            folder = tmp_path / run / f"host_{rank}_20260101000000000_ascend_pt"
            profile(folder / "ASCEND_PROFILER_OUTPUT", {"MatMulV2": us})
            (folder / f"profiler_info_{rank}.json").write_text('{"config": {"common_config": {}}}')
    report = told(tmp_path / "a", tmp_path / "b")
    assert any("rank 0 (before: rank 0)" in line for line in report.told)
    assert report.summary["performance_rank"] == 0
    one = told(profile(tmp_path / "c", {"MatMulV2": 100}), profile(tmp_path / "d", {"MatMulV2": 150}))
    assert not any("before:" in line for line in one.told)


def test_criteria_go_to_the_area_that_knows_them(tmp_path: Path) -> None:
    old = fault(profile(tmp_path / "old", {"MatMulV2": 100}))
    new = fault(profile(tmp_path / "new", {"MatMulV2": 103}))
    assert told(old, new).findings[0].figures["verdict"] == "worse"
    assert told(old, new, criteria="noise_sigmas=3").counts["same"] >= 1
    with pytest.raises(UsageError, match="unknown criterion"):
        told(old, new, criteria="nonsense=3")
    with pytest.raises(UsageError, match="below 0"):
        told(old, new, criteria="noise_sigmas=-3")


def test_a_rank_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    for run in ("a", "b"):
        for rank in range(2):
            profile(tmp_path / run / f"rank{rank}", {"MatMulV2": 100})
    with pytest.raises(InputError) as refused:
        told(tmp_path / "a", tmp_path / "b", rank=99)
    assert refused.value.hint == "no rank 99 in a; ranks: 0, 1"


def test_an_option_that_chooses_nothing_in_an_area_is_told(tmp_path: Path) -> None:
    one = profile(tmp_path / "a", {"MatMulV2": 100})
    two = profile(tmp_path / "b", {"MatMulV2": 100})
    assert any("--pair chooses nothing" in line for line in told(one, two, pair_name="x").told)
    assert not any("--pair" in line for line in told(one, two).told)


def test_a_damaged_side_is_named(tmp_path: Path) -> None:
    one = profile(tmp_path / "a", {"MatMulV2": 100})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "kernel_details.csv").write_text("Step Id;Nme\n")
    with pytest.raises(InputError) as refused:
        told(one, tmp_path / "b")
    assert refused.value.hint is not None and refused.value.hint.startswith("kernel_details.csv: ")


def test_the_files_of_both_sides_are_told_and_hidden(tmp_path: Path) -> None:
    for run, us in (("a", 100), ("b", 150)):
        for name in ("vault_one", "vault_two"):
            profile(tmp_path / run / f"{name}_ascend_pt" / "ASCEND_PROFILER_OUTPUT", {"MatMulV2": us})
    report = told(tmp_path / "a", tmp_path / "b")
    sides = [(one.side, one.relative.split("/")[0]) for one in report.artifacts]
    assert sides == [(side, f"vault_{n}_ascend_pt") for side in ("golden", "target") for n in ("one", "two")]
    assert "vault" in str(report.told) and "vault" not in str(masked(report).told)
