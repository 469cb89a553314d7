"""What is said of a run: which pairs, which captures alone, which choice, which options cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.areas import AREAS, area_of
from npulse.core.errors import InputError, UsageError
from npulse.core.precision.choose import choose_pair
from npulse.core.precision.run_report import report_of, reports_of
from npulse.core.run.discover import discover

from ...tui.panes.captures import NAMES, ORIGIN, chain, write_capture

ASK = AnalysisOptions()


def write_pairs(folder: Path, *names: str, bad: str | None = None) -> Path:
    for name in names:
        write_capture(folder / name / "npu", chain(bad=ORIGIN if name == bad else None))
        write_capture(folder / name / "cpu", chain())
    return folder


def asked(**options: object) -> AnalysisOptions:
    return AnalysisOptions(**options)  # type: ignore[arg-type]


def test_every_built_area_has_both_functions() -> None:
    from importlib import import_module

    for area in AREAS:
        if area.is_built:
            module = import_module(area.reports, "npulse.core")
            assert callable(module.reports_of) and callable(module.report_of)
    assert area_of("precision").command == "precision"


def test_every_pair_of_a_round_is_reported_and_the_first_is_the_commands(tmp_path: Path) -> None:
    run = discover(write_pairs(tmp_path, "bf16", "fp16", "fp32", bad="fp32"))
    found = reports_of(run, ASK)
    assert [one.name.split()[0] for one in found] == ["bf16/npu", "fp16/npu", "fp32/npu"]
    assert [one.report.verdict for one in found] == ["pass", "pass", "fail"]
    first = report_of([tmp_path], ASK)
    assert (first.name, first.report.target, first.report.golden) == (found[0].name, "bf16/npu", "bf16/cpu")
    (note,) = first.notes
    assert note.startswith("pair 1 of 3: bf16/npu against bf16/cpu; others: fp16/npu, fp32/npu")


@pytest.mark.parametrize("name", ["fp32", "fp32/", "fp32/npu", "fp32/npu against fp32/cpu"])
def test_a_pair_by_name(tmp_path: Path, name: str) -> None:
    run = discover(write_pairs(tmp_path, "fp16", "fp32", bad="fp32"))
    assert report_of([tmp_path], asked(pair_name=name)).report.verdict == "fail"
    assert [one.report.verdict for one in reports_of(run, asked(pair_name=name))] == ["fail"]
    assert choose_pair(run, pair="fp32").target_name == "fp32/npu"


@pytest.mark.parametrize("options", [{"pair_name": "fp"}, {"round_name": "round9"}, {"rank": 7}, {"step": 7}])
def test_what_matches_nothing_is_refused_with_what_there_is(
    tmp_path: Path, options: dict[str, object]
) -> None:
    run = discover(write_pairs(tmp_path, "fp16", "fp32"))
    for ask in (lambda: report_of([tmp_path], asked(**options)), lambda: reports_of(run, asked(**options))):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(next(iter(options.values()))) in caught.value.message
        assert any(word in str(caught.value.hint) for word in ("fp16/npu", "one round", "step 0 rank 0"))


def test_one_capture_alone_takes_rank_and_step_too(tmp_path: Path) -> None:
    for rank in (0, 3):
        write_capture(tmp_path / "one", chain(), rank=rank)
    assert report_of([tmp_path / "one"], ASK).report.counts["calls"] == 2 * len(NAMES)
    found = report_of([tmp_path / "one"], asked(rank=3, tables=True, criteria="cosine=0.5"))
    assert found.report.counts["calls"] == len(NAMES)
    (note,) = found.notes
    assert "--tables, --criteria" in note
    for narrowed in (asked(rank=1), asked(step=4)):
        with pytest.raises(InputError) as caught:
            report_of([tmp_path / "one"], narrowed)
        assert caught.value.hint == "there is step 0 rank 0, step 0 rank 3"
        with pytest.raises(InputError):
            reports_of(discover(tmp_path / "one"), narrowed)


def test_two_paths_leave_nothing_to_choose(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path, "a") / "a"
    paths = [folder / "npu", folder / "cpu"]
    found = report_of(paths, ASK)
    assert (found.report.run, found.report.target, found.report.golden) == (
        str(paths[0]),
        str(paths[0]),
        str(paths[1]),
    )
    for options in ({"round_name": ""}, {"pair_name": "a"}):
        with pytest.raises(UsageError):
            report_of(paths, asked(**options))


def test_a_newer_round_without_a_pair_is_told_and_looked_at(tmp_path: Path) -> None:
    write_capture(tmp_path / "golden", chain())
    write_capture(tmp_path / "round1/target", chain(bad=ORIGIN))
    for name in "ab":
        write_capture(tmp_path / "round2" / name, chain())
    found = report_of([tmp_path], ASK)
    assert (found.round, found.report.verdict) == ("round1", "fail")
    assert "round2" in " ".join(found.notes)
    both = reports_of(discover(tmp_path), ASK)
    assert [(one.round, one.report.verdict) for one in both] == [("round1", "fail"), ("round2", "unknown")]
    assert "round2/a" in both[1].report.findings[-1].message, "which of them is golden is for the user to say"
    with pytest.raises(InputError) as caught:
        report_of([tmp_path], asked(round_name="round2"))
    assert "round2/a, round2/b" in str(caught.value.hint)


def test_a_broken_pair_does_not_take_down_the_others(tmp_path: Path) -> None:
    write_pairs(tmp_path, "a", "b", bad="b")
    (tmp_path / "a/npu/step0/rank0/dump.json").write_bytes(b'{"task": "tensor", "level": "L0", "data": 7}')
    found = reports_of(discover(tmp_path), ASK)
    assert [one.report.verdict for one in found] == ["incomplete", "fail"]
    assert [one.report.exit_code() for one in found] == [4, 1]
    assert found[0].report.problems[0].artifact.startswith("a/npu")


def test_a_folder_without_captures_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    assert reports_of(discover(tmp_path), ASK) == ()
    with pytest.raises(InputError):
        report_of([tmp_path], ASK)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_people_read_counts_what_the_report_counts(tmp_path: Path, lang: str) -> None:
    for rank in range(4):
        write_capture(tmp_path / "npu", chain(bad=ORIGIN), rank=rank)
        write_capture(tmp_path / "cpu", chain(), rank=rank)
    report = report_of([tmp_path], asked(lang=lang)).report
    compared, outcome, end = report.told
    n_tensors = 4 * 2 * len(NAMES)
    n_after = len(NAMES) - NAMES.index(ORIGIN) - 1
    if lang == "en":
        assert compared == f"{n_tensors} tensors compared (by all elements)"
        assert outcome.startswith(f"1 origin (on 4 ranks), {4 * n_after} calls inherited, ")
        assert end.startswith(f"last output {NAMES[-1]}.output.0 (rank 0): cosine 0.")
    else:
        assert compared == f"已比较 {n_tensors} 个张量 (逐元素)"
        assert outcome.startswith(f"源头 1 个（4 个 rank），继承 {4 * n_after} 次调用，")


def test_the_suspect_above_rounding_is_no_row_that_an_origin_explains() -> None:
    from npulse.sample_runs import sample_path

    report = report_of([sample_path("w8a8")], asked(round_name="round1", tables=True)).report
    table = report.tables["precision"]
    rows = [table.row(i) for i in range(table.n_rows)]
    (suspect,) = [f for f in report.findings if f.rule == "precision.above-rounding"]
    explained = {row["target"] for row in rows if row["role"] == "inherited"}
    free = [row for row in rows if row["reason"] == "above-rounding" and row["role"] == "ok"]
    assert explained and suspect.subject not in explained
    assert suspect.figures["n_tensors"] == len(free)
    error = {row["target"]: max(row["rel_l2"] or 0, row["rel_l2_at_least"] or 0) for row in free}
    assert error[suspect.subject] == max(error.values())


def test_a_finding_of_one_capture_names_the_dump_file(tmp_path: Path) -> None:
    import json

    calls = chain()
    calls[3][2][0][0, 0] = float("nan")
    dump = write_capture(tmp_path / "one", calls[:4])
    first = report_of([tmp_path], ASK).report.findings[0]
    assert (first.rule, first.subject) == ("precision.non-finite", ORIGIN)
    assert first.location.artifact == "one/step0/rank0/dump.json"
    text = dump.read_bytes()[first.location.byte :]
    assert json.loads(text.split(b":", 1)[0]) == ORIGIN, "the byte is that of the entry"
