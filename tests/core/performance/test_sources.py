"""Which files of a round are one profile, and what is read of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, UsageError
from npulse.core.performance.files import SHOWN
from npulse.core.performance.run_report import READ, look, report_of, reports_of, selections
from npulse.core.performance.sources import ProfileFiles, profiles_in
from npulse.core.run.discover import discover
from npulse.core.run.kinds import kinds_of

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"
SUMMARY = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
STEPS = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
AT = 1_700_000_000_000_000


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def rows(n: int = 3, us: float = 10, device: int | None = None) -> str:
    front = "1" if device is None else f"{device}"
    if device is None:
        return HEAD + "".join(f"{front},Add_{i},Add,AI_CORE,{AT + 20 * i}.000\t,{us},0,\n" for i in range(n))
    return SUMMARY + "".join(f"{front},Add_{i},Add,AI_CORE,{AT + 20 * i}.000\t,{us}\n" for i in range(n))


def found(folder: Path) -> tuple[ProfileFiles, ...]:
    return profiles_in(discover(folder).artifacts)


def test_a_profile_is_a_session_folder(tmp_path: Path) -> None:
    for rank in (0, 1):
        session = tmp_path / "job" / f"host_{rank}_20260101000000000_ascend_pt"
        write(session / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", rows())
        write(session / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv", STEPS + "0,1,10,0,0,0,5\n")
        write(session / f"profiler_info_{rank}.json", '{"config": {"common_config": {}}}')
    profiles = found(tmp_path)
    assert [(one.rank, one.job) for one in profiles] == [(0, "job"), (1, "job")]
    assert all(
        {"prof.kernel_details", "prof.step_trace_time", "prof.profiler_info"} == set(p.by_kind)
        for p in profiles
    )
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.summary["jobs"][0]["ranks"] == [0, 1] and report.counts["profiles"] == 2


def test_the_newest_whole_export_counts(tmp_path: Path) -> None:
    folder = tmp_path / "PROF_000001_20260801120000123_00012345ABCDEFGH" / "mindstudio_profiler_output"
    write(folder / "op_summary_20260801120500.csv", rows(3, 10, 0))
    write(folder / "op_summary_20260801130500.csv", rows(4, 20, 0))
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.counts["rows"] == 4 and report.summary["total_us"] == 80
    write(folder / "op_summary_slice_0_20260801140500.csv", rows(1, 1, 0))
    write(folder / "op_summary_slice_2_20260801140500.csv", rows(1, 1, 0))
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.summary["total_us"] == 80
    assert any("lacks a slice" in problem.message for problem in report.problems)


def test_devices_of_one_table_are_profiles_of_their_own(tmp_path: Path) -> None:
    text = rows(3, 10, 0) + rows(2, 40, 1).removeprefix(SUMMARY)
    write(tmp_path / "op_summary_20260801120500.csv", text)
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.counts["profiles"] == 2
    assert report.summary["device"] == 0 and report.summary["total_us"] == 30
    assert any("device 1" in line and "80 us" in line for line in report.told)


def test_tables_with_other_names_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "before.csv", rows(3, 10))
    write(tmp_path / "after.csv", rows(3, 20))
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.counts["profiles"] == 2 and report.summary["total_us"] in (30, 60)


def test_a_file_is_a_run_of_one(tmp_path: Path) -> None:
    path = write(tmp_path / "x" / "op_summary_20260801120500.csv", rows(3, 10, 5))
    report = report_of([path], AnalysisOptions()).report
    assert report.summary["total_us"] == 30 and report.summary["device"] == 5


def test_one_step_alone(tmp_path: Path) -> None:
    lines = [HEAD]
    for step, us in ((1, 10), (2, 30)):
        lines += [f"{step},Add,Add,AI_CORE,{AT + 1000 * step + 50 * i}.000\t,{us},0,\n" for i in range(4)]
    write(tmp_path / "kernel_details.csv", "".join(lines))
    assert report_of([tmp_path], AnalysisOptions()).report.summary["total_us"] == 160
    one = report_of([tmp_path], AnalysisOptions(step=2)).report.summary
    assert (one["total_us"], one["wall_us"], one["busy_us"]) == (120, 180, 120)
    for step in (3, -1, 10**20):
        with pytest.raises(InputError, match=f"nothing of step {step} here") as raised:
            report_of([tmp_path], AnalysisOptions(step=step))
        assert raised.value.hint == "steps: 1, 2"


def test_one_step_of_several_ranks(tmp_path: Path) -> None:
    for rank, factor in ((0, 1), (1, 1), (2, 3)):
        session = tmp_path / f"host_{rank}_20260101000000000_ascend_pt"
        lines = [HEAD]
        for step, us in ((1, 10), (2, 10 * factor), (7, 10))[: 2 if rank else 3]:
            lines += [f"{step},Add,Add,AI_CORE,{AT + 1000 * step + 50 * i}.000\t,{us},0,\n" for i in range(4)]
        write(session / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", "".join(lines))
        write(session / f"profiler_info_{rank}.json", '{"config": {"common_config": {}}}')
    first, second, alone = (report_of([tmp_path], AnalysisOptions(step=n)).report for n in (1, 2, 7))
    assert not any(one.rule == "performance.slow-rank" for one in first.findings)
    slow = next(one for one in second.findings if one.rule == "performance.slow-rank")
    assert slow.subject == "rank 2" and second.summary["total_us"] == 120
    assert alone.counts["rows"] == 4 and alone.summary["total_us"] == 40


def session(job: Path, rank: int, us: float, time: str = "20260101000000000") -> None:
    folder = job / f"host_{rank}_{time}_ascend_pt"
    lines = [HEAD, *(f"1,Add,Add,AI_CORE,{AT + 50 * i}.000\t,{us},0,\n" for i in range(4))]
    write(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", "".join(lines))
    write(folder / f"profiler_info_{rank}.json", '{"config": {"common_config": {}}}')


@pytest.mark.parametrize("time", ["20250101000000000", "20270101000000000"])
def test_of_several_sessions_of_a_rank_the_newest_is_compared(tmp_path: Path, time: str) -> None:
    for rank, us in ((0, 10), (1, 10), (2, 30)):
        session(tmp_path, rank, us)
    session(tmp_path, 2, 10, time)
    report = report_of([tmp_path], AnalysisOptions()).report
    slow = [one.subject for one in report.findings if one.rule == "performance.slow-rank"]
    older = [one for one in report.findings if one.rule == "performance.older-session"]
    assert slow == (["host_2_20260101000000000_ascend_pt"] if time < "2026" else [])
    assert [(one.severity, min(time, "20260101000000000") in one.message) for one in older] == [
        ("note", True)
    ]


def test_a_round_before_that_is_cut_is_told(tmp_path: Path) -> None:
    write(tmp_path / "round1" / "kernel_details.csv", rows(3, 10) + "1,Add,Ad")
    write(tmp_path / "round2" / "kernel_details.csv", rows(3, 10))
    report = report_of([tmp_path], AnalysisOptions(round_name="round2")).report
    assert {problem.artifact for problem in report.problems} == {"round1/kernel_details.csv"}
    assert report.verdict == "incomplete"


def test_a_run_that_is_judged_in_part_is_unknown(tmp_path: Path) -> None:
    write(tmp_path / "a" / "kernel_details.csv", rows(3, 10))
    assert report_of([tmp_path], AnalysisOptions()).report.verdict == "warn"
    write(tmp_path / "b" / "kernel_details.csv", HEAD)
    assert report_of([tmp_path], AnalysisOptions()).report.verdict == "unknown"
    alone = report_of([tmp_path / "a"], AnalysisOptions(criteria="first_token_ms=1")).report
    assert "performance.criterion-unknown" in [one.rule for one in alone.findings]
    assert (alone.verdict, alone.exit_code()) == ("unknown", 4)


def test_rounds_and_ranks_that_are_not_there(tmp_path: Path) -> None:
    for name in ("round1", "round2"):
        write(tmp_path / name / "kernel_details.csv", rows(3, 10))
    reports = reports_of(discover(tmp_path), AnalysisOptions())
    assert [one.round for one in reports] == ["round1", "round2"]
    with pytest.raises(InputError, match="no round"):
        report_of([tmp_path], AnalysisOptions(round_name="round7"))
    with pytest.raises(InputError, match="no profile of rank 3"):
        report_of([tmp_path], AnalysisOptions(rank=3))
    with pytest.raises(UsageError, match="group"):
        report_of([tmp_path], AnalysisOptions(by="colour"))
    with pytest.raises(UsageError, match="one run"):
        report_of([tmp_path, tmp_path], AnalysisOptions())
    with pytest.raises(InputError, match="holds no profile"):
        report_of([write(tmp_path / "empty" / "notes.txt", "nothing")], AnalysisOptions())


def test_the_round_before_is_compared(tmp_path: Path) -> None:
    for name, us in (("round1", 10), ("round2", 30)):
        lines = [HEAD]
        for step in range(5):
            lines += [f"{step},Add,Add,AI_CORE,{AT + 1000 * step + 50 * i}.000\t,{us},0,\n" for i in range(4)]
        write(tmp_path / name / "kernel_details.csv", "".join(lines))
    report = report_of([tmp_path], AnalysisOptions(tables=True)).report
    assert report.tables["changes"].row(0)["change_us"] == 80
    assert report.tables["performance"].row(0)["change_percent"] == pytest.approx(200)
    assert any(f.rule == "performance.operator-slower" and f.subject == "Add" for f in report.findings)
    assert (
        "changes"
        not in report_of([tmp_path], AnalysisOptions(tables=True, round_name="round1")).report.tables
    )


def test_serving_figures_of_the_manifest(tmp_path: Path) -> None:
    write(tmp_path / "round1" / "kernel_details.csv", rows(3, 10))
    write(
        tmp_path / "round1" / "round.toml",
        'name = "a"\n[serving]\nfirst_token_ms = 120.5\ntokens_per_s = 41.0\n',
    )
    summary = report_of([tmp_path], AnalysisOptions()).report.summary
    assert (summary["serving_basis"], summary["first_token_ms"], summary["tokens_per_s"]) == (
        "round",
        120.5,
        41.0,
    )
    missed = report_of([tmp_path], AnalysisOptions(criteria="first_token_ms=100")).report
    assert missed.verdict == "fail" and missed.findings[0].severity == "error"


@pytest.mark.parametrize(
    "text",
    [
        "[[[",
        "a = " + "9" * 5000,
        "a = " + "[" * 5000,
        "name = '\\ud800",
        "a = 2020-13-01",
        "#" * (1 << 20) + "#",
    ],
)
def test_a_manifest_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    write(tmp_path / "round1" / "kernel_details.csv", rows(3, 10))
    write(tmp_path / "round1" / "round.toml", text)
    report = report_of([tmp_path], AnalysisOptions()).report
    assert [problem.artifact for problem in report.problems] == ["round1/round.toml"]
    assert report.verdict == "incomplete" and report.exit_code() == 4 and report.counts["rows"] == 3


def test_figures_of_a_manifest_that_are_none_are_told(tmp_path: Path) -> None:
    write(tmp_path / "round1" / "kernel_details.csv", rows(3, 10))
    write(
        tmp_path / "round1" / "round.toml",
        'step_ms = nan\n[serving]\nfirst_token_ms = "x"\ntokens_per_s = 41.0\n[result]\nstep_ms = [1]\n',
    )
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.summary["tokens_per_s"] == 41.0 and report.exit_code() == 4
    assert [problem.message for problem in report.problems] == [
        "step_ms, serving.first_token_ms, result.step_ms: no finite number above 0; not used"
    ]


def test_where_nothing_can_be_read_the_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "cluster_analysis_output" / "cluster_communication.json", '{"p2p": 5, "collective": []}')
    with pytest.raises(InputError) as raised:
        report_of([tmp_path], AnalysisOptions())
    assert "cluster_analysis_output/cluster_communication.json" in str(raised.value.hint)


def test_updates_come_before_the_end(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        session = tmp_path / f"host_{rank}_20260101000000000_ascend_pt"
        write(session / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", rows())
        write(session / f"profiler_info_{rank}.json", '{"config": {"common_config": {}}}')
    run, options, stages = discover(tmp_path), AnalysisOptions(), []
    done = look(run, selections(run, options)[-1], options, on_update=lambda one: stages.append(one.stage))
    assert "tables" in stages and "complete" not in stages and done.stage == "complete"


def test_what_cannot_be_read_is_a_problem_and_the_rest_goes_on(tmp_path: Path) -> None:
    session = tmp_path / "host_0_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write(session / "kernel_details.csv", rows())
    write(session / "step_trace_time.csv", STEPS + "0,1,10,0,0,0,5\n0,2,10,0")
    write(
        session / "communication.json",
        '{"step1": {"collective": {"hcom_allReduce__1_0_1@g": {"Communication Time Info": {"Elapse',
    )
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.verdict == "incomplete" and report.exit_code() == 4
    assert {problem.artifact.rsplit("/", 1)[1] for problem in report.problems} >= {
        "step_trace_time.csv",
        "communication.json",
    }
    assert report.summary["total_us"] == 30


def test_types_out_of_names_are_told(tmp_path: Path) -> None:
    """msMonitor has no column of types; a table has."""
    name = "aclnnMm_MatMulCommon_MatMulV2"
    start = AT * 1000
    record = {
        "kind": "Kernel",
        "type": "KERNEL_AICORE",
        "name": name,
        "startNs": start,
        "endNs": start + 5000,
    }
    line = json.dumps({**record, "deviceId": 0, "streamId": 1, "correlationId": 1})
    write(tmp_path / "monitor" / "msmonitor_7_20260101000000000_0.jsonl", line + "\n")
    report = report_of([tmp_path / "monitor"], AnalysisOptions()).report
    assert report.summary["types"][0]["type"] == "MatMulV2"
    assert any("types are taken from the names of kernels" in line for line in report.told)
    write(tmp_path / "table" / "kernel_details.csv", rows())
    report = report_of([tmp_path / "table"], AnalysisOptions()).report
    assert report.counts["rows"] == 3 and not any("taken from the names" in line for line in report.told)


def test_every_process_of_msmonitor_is_a_profile(tmp_path: Path) -> None:
    for pid, rank, us in ((7, 0, 10), (8, 1, 10), (9, 2, 30)):
        for part, stamp in enumerate(("20260101000000000", "20260101000100000")):
            lines = "".join(
                '{"kind": "Kernel", "name": "aclnnAdd_AddAiCore_Add", "type": "KERNEL_AIVEC", "deviceId": 0,'
                f' "streamId": 2, "correlationId": {i}, "startNs": {AT * 1000 + (4 * part + i) * 50_000},'
                f' "endNs": {AT * 1000 + (4 * part + i) * 50_000 + us * 1000}}}\n'
                for i in range(4)
            )
            write(tmp_path / f"msmonitor_{pid}_{stamp}_{rank}.jsonl", lines)
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.counts["profiles"] == 3
    slow = next(one for one in report.findings if one.rule == "performance.slow-rank")
    assert (slow.subject, slow.role) == ("rank 2", "origin")
    assert report.counts["rows"] == 8 and report.summary["total_us"] == 240


def test_task_time_alone_has_times_and_names(tmp_path: Path) -> None:
    head = "kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
    names = {
        100: ("aclnnAdd_AddAiCore_Add", "KERNEL_AIVEC"),
        30: ("N/A", "EVENT_WAIT"),
        20: ("MatMul_3", "AI_CORE"),
    }
    at, text = AT, head
    for us, (name, kind) in names.items():
        text += f"{name},{kind},2,1,{us},{at}.125\t,{at + us}.125\t\n"
        at += us
    folder = tmp_path / "PROF_000001_20260801120000123_00012345ABCDEFGH" / "mindstudio_profiler_output"
    write(folder / "task_time_20260801120500.csv", text)
    report = report_of([tmp_path], AnalysisOptions()).report
    facts = report.summary
    assert (facts["wall_us"], facts["busy_us"], facts["idle_us"], facts["total_us"]) == (150, 120, 30, 120)
    assert [(one["type"], one["total_us"]) for one in facts["types"]] == [("Add", 100), ("MatMul", 20)]
    write(folder / "op_summary_20260801120500.csv", rows(3, 10, 0))
    assert report_of([tmp_path], AnalysisOptions()).report.summary["total_us"] == 30


def test_a_process_of_msmonitor_without_kernels_is_unknown(tmp_path: Path) -> None:
    call = {"kind": "API", "name": "launch", "correlationId": 1, "startNs": 5, "endNs": 9, "processId": 1}
    line = json.dumps({**call, "threadId": 2})
    write(tmp_path / "msmonitor_7_20260101000000000_0.jsonl", line + "\n")
    report = report_of([tmp_path], AnalysisOptions()).report
    assert (report.verdict, report.exit_code()) == ("unknown", 4)


def test_kinds_of_the_area_are_read_and_read_kinds_are_of_the_area() -> None:
    of_area = {kind.id for kind in kinds_of("performance") if kind.is_read}
    assert READ - {"device.npu_smi", "npulse.round"} == of_area
    assert SHOWN < READ


def test_a_newer_round_that_cannot_be_recognised_is_told(tmp_path: Path) -> None:
    write(tmp_path / "round1" / "kernel_details.csv", rows())
    write(tmp_path / "round2" / "kernel_details.csv", "Step Id;Nme\n1,2\n")
    found = report_of([tmp_path], AnalysisOptions())
    assert found.round == "round1" and "round2 is newer" in found.notes[0]
    assert [problem.artifact for problem in found.report.problems] == ["round2/kernel_details.csv"]
    assert found.report.verdict == "incomplete" and found.report.exit_code() == 4
    assert "轮次 round2" in report_of([tmp_path], AnalysisOptions(lang="zh")).notes[0]
    assert not report_of([tmp_path], AnalysisOptions(round_name="round1")).notes


def test_a_damaged_profile_alone_is_named(tmp_path: Path) -> None:
    write(tmp_path / "kernel_details.csv", "Step Id;Nme\n1,2\n")
    with pytest.raises(InputError, match="holds no profile") as refused:
        report_of([tmp_path], AnalysisOptions())
    assert refused.value.hint is not None and "kernel_details.csv" in refused.value.hint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_table_in_utf_16_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "kernel_details.csv").write_bytes(rows().encode(encoding))
    report = report_of([tmp_path], AnalysisOptions()).report
    assert report.summary["total_us"] == 30 and not report.problems


def test_what_is_said_of_the_whole_speaks_the_language_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "kernel_details.csv", rows())
    why = [report_of([tmp_path], AnalysisOptions(lang=lang)).report.summary["why"] for lang in ("en", "zh")]
    assert why[0].isascii() and not why[1].isascii()


def test_a_rank_that_a_cluster_table_lacks_is_told_with_those_it_has(tmp_path: Path) -> None:
    head = "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
    table = head + "".join(f"1,rank,{rank},100,10,5,15,3\n" for rank in (0, 3))
    write(tmp_path / "cluster_analysis_output" / "cluster_step_trace_time.csv", table)
    assert report_of([tmp_path], AnalysisOptions(rank=3)).report.summary["rank"] == 3
    with pytest.raises(InputError, match="no profile of rank 999") as refused:
        report_of([tmp_path], AnalysisOptions(rank=999))
    assert refused.value.hint == "ranks: 0, 3"


def test_options_that_mean_nothing_here_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "kernel_details.csv", rows())
    with pytest.raises(UsageError, match="--pair chooses nothing"):
        report_of([tmp_path], AnalysisOptions(pair_name="x"))


def test_what_one_kernel_measured_is_of_no_step(tmp_path: Path) -> None:
    kernel = tmp_path / "OPPROF_20260801121530_ABCDEFGHIJKLMNOP"
    write(
        kernel / "OpBasicInfo.csv",
        "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq\n"
        "add_custom,vector,12.5,8,NA,0,77,1800,1850\n",
    )
    assert report_of([tmp_path], AnalysisOptions()).report.counts["kernels"] == 1
    with pytest.raises(InputError, match="nothing of step 3") as refused:
        report_of([tmp_path], AnalysisOptions(step=3))
    assert refused.value.hint == "kernels of msOpProf have no steps"
    with pytest.raises(InputError, match="no profile of rank 3"):
        report_of([tmp_path], AnalysisOptions(rank=3))
    write(tmp_path / "rank3" / "kernel_details.csv", rows())
    both = report_of([tmp_path], AnalysisOptions(rank=3, step=1))
    assert both.report.counts["kernels"] == 1 and "--rank, --step" in both.notes[0]
    with pytest.raises(InputError, match="nothing of step 7"):
        report_of([tmp_path], AnalysisOptions(step=7))
