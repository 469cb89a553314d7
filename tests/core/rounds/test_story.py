"""The story of an archive: order, what changed, what that bought; rounds that are broken or empty."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.areas import Area
from npulse.core.capture.processes import boot_id, process_of
from npulse.core.errors import Cancelled, InputError, UsageError
from npulse.core.findings import Problem
from npulse.core.progress import Progress
from npulse.core.rounds.report import report
from npulse.core.rounds.run_report import newest_of, report_of, reports_of
from npulse.core.rounds.settings import Change
from npulse.core.rounds.story import Story, story
from npulse.core.rounds.view import rounds_view
from npulse.core.rounds.words import change_text
from npulse.core.run.discover import discover
from npulse.core.run.model import Run
from npulse.core.text import Lang

from .archives import closed, faults, profile, toml_text, two_memory_rounds, write_round

OPTIONS = AnalysisOptions()


def told(folder: Path) -> Story:
    return story(discover(folder), OPTIONS)


def test_what_changed_stands_with_what_it_bought(tmp_path: Path) -> None:
    found = story(two_memory_rounds(tmp_path), OPTIONS)
    first, second = found.rows
    assert [row.name for row in found.rows] == ["a_20260301-100000", "b_20260301-100100"]
    assert first.is_first_recorded and first.changes == () and first.states == {"n_memory_sites": "first"}
    changes = {(one.group, one.key): (one.before, one.after) for one in second.changes}
    assert changes == {
        ("command", "--dtype"): ("fp16", "bf16"),
        ("environment", "INF_NAN_MODE_ENABLE"): ("0", "1"),
        ("environment", "HCCL_X"): ("1", None),
        ("environment", "ASCEND_X"): (None, "2"),
        ("git", "commit"): ("aaaa", "bbbb"),
    }
    assert second.cells["n_memory_sites"].value == 1 and second.states["n_memory_sites"] == "better"
    assert second.since["n_memory_sites"] == first.name and second.area == "memory"
    made = report(found)
    assert [(f.rule, f.role, f.subject) for f in made.findings] == [
        ("rounds.better", "ok", second.name),
        ("rounds.fails", "suspect", second.name),
    ]
    assert (
        "mem. sites 2 -> 1" in made.findings[0].message and "--dtype fp16 -> bf16" in made.findings[0].message
    )
    assert made.verdict == "fail" and made.counts["better"] == 1, "one site is left"
    assert made.findings[1].next_step.endswith(f"--round {second.name}")


def test_rounds_are_compared_with_the_one_that_is_called_golden(tmp_path: Path) -> None:
    def dump(name: str, minute: int, norm: float) -> None:
        folder = write_round(
            tmp_path / "dump" / f"{name}_20260301-10{minute:02}00", closed("precision", minute)
        )
        leaf = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "requires_grad": False}
        leaf |= {"Max": norm, "Min": 0.0, "Mean": norm / 4, "Norm": norm}
        call = {"Tensor.add.0.forward": {"input_args": [], "input_kwargs": {}, "output": [leaf]}}
        header = {"task": "statistics", "level": "L1", "dump_data_dir": None, "data": call}
        (folder / "raw" / "step0" / "rank0").mkdir(parents=True)
        (folder / "raw" / "step0" / "rank0" / "dump.json").write_text(json.dumps(header))

    dump("wrong", 0, 2.0)
    dump("golden", 1, 1.0)
    dump("right", 2, 1.0)
    rows = told(tmp_path).rows
    said = [[one.verdict for one in row.said if one.area == "precision"] for row in rows]
    assert said == [["fail"], ["unknown"], ["pass"]]


def test_what_became_worse_is_a_warning_while_it_is_the_newest(tmp_path: Path) -> None:
    for minute, lines in enumerate([(38,), (38, 57), (38,)]):
        name = f"x_20260301-10{minute:02}00"
        write_round(faults(tmp_path / "sanitizer" / name, *lines), closed("memory", minute))
        if minute == 1:
            worse = report(told(tmp_path))
            assert worse.findings[0].rule == "rounds.worse" and worse.findings[0].severity == "warning"
            assert (
                worse.verdict == "fail"
                and f"diff {tmp_path} --round x_20260301-100000" in worse.findings[0].next_step
            )
    made = report(told(tmp_path))
    assert [(f.rule, f.severity) for f in made.findings] == [
        ("rounds.better", "note"),
        ("rounds.fails", "error"),
        ("rounds.worse", "note"),
    ]
    assert made.verdict == "fail"


def test_what_was_mended_in_its_newest_round_fails_no_more(tmp_path: Path) -> None:
    write_round(faults(tmp_path / "sanitizer" / "x_20260301-100000", 38), closed("memory", 0))
    write_round(faults(tmp_path / "sanitizer" / "x_20260301-100100"), closed("memory", 1))
    made = report(told(tmp_path))
    assert [(f.rule, f.severity) for f in made.findings] == [("rounds.better", "note")]
    assert made.verdict == "pass"


def test_a_figure_is_compared_with_the_last_round_that_has_it(tmp_path: Path) -> None:
    write_round(faults(tmp_path / "sanitizer" / "a_20260301-100000", 1, 2), closed("memory", 0))
    write_round(profile(tmp_path / "prof" / "b_20260301-100100", 10.0), closed("performance", 1))
    write_round(faults(tmp_path / "sanitizer" / "c_20260301-100200", 1), closed("memory", 2))
    rows = told(tmp_path).rows
    assert [row.area for row in rows] == ["memory", "performance", "memory"]
    assert "n_memory_sites" not in rows[1].cells
    assert rows[2].since["n_memory_sites"] == rows[0].name and rows[2].states["n_memory_sites"] == "better"


def test_times_are_judged_by_the_areas_own_noise(tmp_path: Path) -> None:
    """Steps that differ by 30 % on their own: a mean that is 4 % higher is no change."""
    first = profile(tmp_path / "prof" / "a_20260301-100000", 100.0, wobble_us=30.0)
    second = profile(tmp_path / "prof" / "b_20260301-100100", 104.0, wobble_us=30.0)
    third = profile(tmp_path / "prof" / "c_20260301-100200", 208.0, wobble_us=30.0)
    for minute, folder in enumerate((first, second, third)):
        write_round(folder, closed("performance", minute))
    rows = told(tmp_path).rows
    name = "step_ms" if "step_ms" in rows[1].cells else "wall_us"
    before, after = (row.cells[name].value or 0 for row in rows[:2])
    assert after / before > 1.02, "by the plain rule it would be worse"
    assert [row.states[name] for row in rows] == ["first", "same", "worse"]


def test_a_time_of_a_hot_card_is_compared_with_none(tmp_path: Path) -> None:
    card = {"npu": 3, "chip": 0, "name": "910B3", "hbm_total_mb": 65536, "ai_core_percent": 90}
    states = {
        "hot": {"health": "Warning", "temperature_c": 91.0},
        "cool": {"health": "OK", "temperature_c": 60.0},
    }
    for minute, (name, state) in enumerate(states.items()):
        folder = profile(
            tmp_path / "prof" / f"{name}_20260301-10{minute:02}00", 130.0 - 30 * minute, wobble_us=1.0
        )
        write_round(folder, closed("performance", minute))
        told_of = {**card, **state}
        lines = ["[device.after]", 'state = "ok"', "[[device.after.chips]]"]
        lines += [f"{key} = {toml_text(value)}" for key, value in told_of.items()]
        with open(folder / "round.toml", "a") as file:
            file.write("\n".join(lines) + "\n")
    found = told(tmp_path)
    row = found.rows[1]
    assert row.states["wall_us"] == "unknown" and found.rows[0].cells["wall_us"].is_doubtful
    assert row.states["n_unwell"] == "better"
    assert "a card that was not well" in rounds_view(found, "en").detail(1, "en").headline
    assert "a card that was not well" in "\n".join(report(found).told)


def test_rounds_without_a_manifest_have_figures_and_no_settings(tmp_path: Path) -> None:
    faults(tmp_path / "round1", 38)
    faults(tmp_path / "round2")
    rows = told(tmp_path).rows
    assert [row.name for row in rows] == ["round1", "round2"]
    assert not any(row.has_settings or row.facts.outcome for row in rows)
    assert rows[1].states["n_memory_sites"] == "better"
    text = "\n".join(report(told(tmp_path)).told)
    assert "no manifest says" in text and "not recorded" in text


def test_nothing_recorded_and_never_closed_are_warnings(tmp_path: Path) -> None:
    nothing = {"outcome": "nothing", "why": "no session was written", "why_zh": "未写入会话"}
    write_round(tmp_path / "prof" / "a_20260301-100000", closed("performance", 0), recorded=nothing)
    write_round(tmp_path / "prof" / "b_20260301-100100", closed("performance", 1, state="running"))
    made = report(told(tmp_path))
    rules = {f.rule: f for f in made.findings}
    assert set(rules) == {"rounds.nothing-recorded", "rounds.open"} and made.verdict == "unknown"
    assert "no session was written" in rules["rounds.nothing-recorded"].message
    folder = tmp_path / "prof" / "b_20260301-100100"
    assert f"--resume-bookkeeping {folder}" in rules["rounds.open"].next_step, "for a shell anywhere"
    assert (
        "未写入会话"
        in report(told(tmp_path), "zh").findings[-1].message
        + report(told(tmp_path), "zh").findings[0].message
    )


def test_a_broken_manifest_is_a_problem_and_its_round_still_told(tmp_path: Path) -> None:
    folder = faults(tmp_path / "sanitizer" / "a_20260301-100000", 38)
    (folder / "round.toml").write_text("schema = [")
    found = told(tmp_path)
    assert [row.cells["n_memory_sites"].value for row in found.rows] == [1]
    assert any(problem.artifact.endswith("round.toml") for problem in found.problems)
    assert "manifest unreadable" in "\n".join(report(found).told) and report(found).verdict == "fail"
    assert [f.rule for f in report(found).findings] == ["rounds.fails"], "what could be read is judged"


def test_what_is_damaged_in_one_round_makes_no_other_one_unknown(tmp_path: Path) -> None:
    first = faults(tmp_path / "sanitizer" / "a_20260301-100000")
    faults(tmp_path / "sanitizer" / "b_20260301-100100")
    run = discover(tmp_path)
    damaged = Problem("sanitizer/a_20260301-100000/raw/cut.log", "unreadable", "it is cut")
    shared = Problem("golden/dump.json", "unreadable", "it is cut")
    rows = story(replace(run, problems=(damaged,)), OPTIONS).rows
    assert [row.cells["n_memory_sites"].value for row in rows] == [None, 0]
    rows = story(replace(run, problems=(shared,)), OPTIONS).rows
    assert [row.cells["n_memory_sites"].value for row in rows] == [None, None] and first.is_dir()


def test_many_rounds_cost_as_much_each_as_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each area is asked of one round at a time, and sees no other one."""
    for minute in range(6):
        name = f"x_20260301-10{minute:02}00"
        write_round(faults(tmp_path / "sanitizer" / name, 38), closed("memory", minute))
    seen: list[int] = []
    real = Area.newest_of

    def newest_of(self: Area, run: Run, *arguments: Any, **options: Any) -> Any:
        seen.append(len(run.rounds))
        return real(self, run, *arguments, **options)

    monkeypatch.setattr(Area, "newest_of", newest_of)
    assert len(told(tmp_path).rows) == 6 and set(seen) == {1}


def test_time_order_goes_by_the_manifests(tmp_path: Path) -> None:
    write_round(faults(tmp_path / "round1"), closed("memory", 5))
    write_round(faults(tmp_path / "round2"), closed("memory", 1))
    rows = told(tmp_path).rows
    assert [(row.name, row.index) for row in rows] == [("round2", 1), ("round1", 0)]


def test_hostile_words_are_shown_safe(tmp_path: Path) -> None:
    bad = "\x1b]52;c;eA==\x07[b]\u202e"
    record = closed("memory", 0, command=[bad], tool=bad, note=bad)
    write_round(faults(tmp_path / "sanitizer" / "a_20260301-100000"), {**record, "command": ["x"]})
    text = (tmp_path / "sanitizer" / "a_20260301-100000" / "round.toml").read_text()
    (tmp_path / "sanitizer" / "a_20260301-100000" / "round.toml").write_text(
        text.replace(bad, "\\u001b]52;c;eA==\\u0007[b]\\u202e")
    )
    found = told(tmp_path)
    assert found.rows[0].facts.tool == bad
    view = rounds_view(found, "en")
    shown = [*report(found).told, *(text for pair in view.detail(0, "en").facts for text in pair)]
    assert not any("\x1b" in line or "\u202e" in line for line in (*shown, *view.where(0, "en")))


def test_facts_come_first_then_figures_round_by_round(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    steps: list[Progress] = []
    run = two_memory_rounds(tmp_path)
    story(
        run,
        OPTIONS,
        progress=steps.append,
        on_update=lambda s: seen.append((len(s.rows), sum(r.is_complete for r in s.rows))),
    )
    assert seen == [(2, 0), (2, 1)] and steps[-1].done == steps[-1].total == 2


def test_it_can_be_cancelled(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        story(two_memory_rounds(tmp_path), OPTIONS, is_cancelled=lambda: True)


def test_the_command_is_about_all_rounds(tmp_path: Path) -> None:
    run = two_memory_rounds(tmp_path)
    assert reports_of(run, OPTIONS) == () and newest_of(run, OPTIONS) is None
    found = report_of([tmp_path], AnalysisOptions(tables=True)).report
    assert found.tables["rounds"].column("n_memory_sites").to_list(0, 2) == [2, 1]
    assert found.tables["rounds"].column("n_memory_sites_state").to_list(0, 2) == ["first", "better"]
    with pytest.raises(UsageError):
        report_of([tmp_path], AnalysisOptions(round_name="a_20260301-100000"))
    with pytest.raises(UsageError):
        report_of([tmp_path], AnalysisOptions(criteria="cosine=1"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        report_of([tmp_path / "empty"], OPTIONS)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_row_of_the_view_says_something(tmp_path: Path, lang: Lang) -> None:
    view = rounds_view(story(two_memory_rounds(tmp_path), OPTIONS), lang)
    detail = view.detail(1, lang)
    assert dict(detail.facts)["INF_NAN_MODE_ENABLE"] == "0 -> 1"
    assert view.row_of(view.report.findings[0]) == 1 and view.finding(1, lang) == view.report.findings[0]
    assert view.place(0) == (tmp_path / "sanitizer" / "a_20260301-100000" / "round.toml", None)
    for column in view.table.columns:
        assert view.meaning(column.name, lang), column.name
    assert view.where(1, lang) and view.translated("zh").lang == "zh"


def test_a_round_that_is_captured_at_the_moment_needs_no_bookkeeping(tmp_path: Path) -> None:
    process = process_of(os.getpid())
    assert process is not None
    me = {"boot_id": boot_id(), "npulse_pid": os.getpid(), "npulse_start_ticks": process.start_ticks}
    folder = tmp_path / "prof" / "b_20260301-100100"
    write_round(folder, closed("performance", 1, state="running"), process=me)
    made = report(told(tmp_path))
    assert [(f.rule, f.severity) for f in made.findings] == [("rounds.open", "note")]
    assert "at the moment" in made.findings[0].message and "resume" not in made.findings[0].next_step
    assert "still running" in "\n".join(made.told) and made.verdict == "unknown"
    write_round(folder, closed("performance", 1, state="running"), process={**me, "npulse_start_ticks": 1})
    made = report(told(tmp_path))
    assert [(f.rule, f.severity) for f in made.findings] == [("rounds.open", "warning")]
    assert "never closed" in "\n".join(made.told)


def test_the_detail_has_words_for_people(tmp_path: Path) -> None:
    """No ids of rules, no keys of the manifest, the figures before what was set otherwise."""
    first, second = "a_20260301-100000", "b_20260301-100100"
    write_round(
        faults(tmp_path / "sanitizer" / first, 38),
        closed("memory", 0, command=["python", "train.py", "0.1"]),
        request={},
    )
    write_round(
        faults(tmp_path / "sanitizer" / second, 38, 57),
        closed("memory", 1, command=["python", "train.py", "0.2"]),
        request={"step": "0"},
        recorded={"outcome": "recorded", "n_files": 1200, "is_failure": True},
    )
    view = rounds_view(told(tmp_path), "en")
    facts = dict(view.detail(1, "en").facts)
    assert facts["word 3:"] == "0.1 -> 0.2" and facts["step"] == "added: 0" and "" not in facts
    assert (facts["files written"], facts["found a fault"]) == ("1,200", "yes")
    assert "memory.access" not in facts["Memory"] and facts["Memory"].startswith("FAIL E 2: ")
    names = list(facts)
    assert names.index("mem. sites") < names.index("word 3:")
    zh = dict(view.detail(1, "zh").facts)
    assert zh["第 3 个词："] == "0.1 -> 0.2" and zh["step"] == "新增：0"
    assert "内存" in zh and zh["发现故障"] == "是"


def test_of_long_lists_what_came_and_went(tmp_path: Path) -> None:
    paths = [f"/usr/local/Ascend/{name}/lib64" for name in ("toolkit", "driver", "nnal", "old")]
    layers = '["layers.0.mlp", "layers.1.mlp", "layers.2.mlp", "layers.3.mlp"]'
    before = {"LD_LIBRARY_PATH": ":".join(paths), "LIST": layers, "X": "a" * 70, "Y": "/a/b:/c/d"}
    after = {
        "LD_LIBRARY_PATH": ":".join([*paths[:3], "/opt/new/lib64"]),
        "LIST": layers.replace("layers.2", "layers.9"),
        "X": "a" * 69 + "b",
        "Y": "/c/d:/a/b",
    }
    for minute, (name, environment) in enumerate((("a", before), ("b", after))):
        folder = faults(tmp_path / "sanitizer" / f"{name}_20260301-10{minute:02}00", 38)
        write_round(folder, closed("memory", minute), environment=environment)
    view = rounds_view(told(tmp_path), "en")
    row = view.found.rows[1]
    texts = {one.key: change_text(one, "en") for one in row.changes}
    assert texts["LD_LIBRARY_PATH"] == f"LD_LIBRARY_PATH -{paths[3]} +/opt/new/lib64"
    assert texts["LIST"] == "LIST -layers.2.mlp +layers.9.mlp"
    assert texts["X"].endswith("a -> ..aaaaaaaab") and texts["Y"] == "Y /a/b:/c/d -> /c/d:/a/b"
    lines = view.compared_lines(1, "en", "→")
    assert "  mem. sites 1 → 1 same  (since a_20260301-100000)" in lines
    at = lines.index(f"  LD_LIBRARY_PATH -{paths[3]} +/opt/new/lib64")
    assert lines[at + 1 : at + 3] == [
        f"    before: {before['LD_LIBRARY_PATH']}",
        f"    after: {after['LD_LIBRARY_PATH']}",
    ]
    assert f"    after: {after['X']}" in lines and "  Y /a/b:/c/d → /c/d:/a/b" in lines


def test_a_flag_that_is_gone_is_told_from_another_flag() -> None:
    assert change_text(Change("command", "-c", "x", None, "a"), "en") == "- -c x"
    assert change_text(Change("command", "--fast", None, "1", "a"), "en") == "+ --fast 1"
    assert change_text(Change("environment", "A", "1", None, "a"), "en") == "-A 1"
