"""Criteria over rounds: met first where and at what cost, better or worse, against a baseline."""

from __future__ import annotations

import random
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.checkup.criteria_file import CriteriaFile, parse_criteria
from npulse.core.criteria import CriterionResult
from npulse.core.errors import UsageError
from npulse.core.findings import Verdict
from npulse.core.rounds.chart import series_of
from npulse.core.rounds.figures import Cell, State
from npulse.core.rounds.report import report
from npulse.core.rounds.story import Story, StoryRow, story
from npulse.core.rounds.verdicts import change_of, costs, milestones
from npulse.core.rounds.view import rounds_view
from npulse.core.rounds.words import against_text, story_parts
from npulse.core.run.discover import discover
from npulse.core.run.model import Run

from .archives import NAMES, closed, faults, golden_archive, write_round

BASE, SCALE, FIX, LOST, TUNE = NAMES


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return golden_archive(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def told(archive: Run) -> Story:
    return story(archive, AnalysisOptions())


def test_the_first_line_names_the_round_that_fixed_it_and_what_it_cost(told: Story) -> None:
    faults = next(one for one in told.milestones if one.last.id == "memory.faults")
    assert (faults.met_in, faults.since, faults.is_met, faults.lost_in) == (FIX, SCALE, True, "")
    assert faults.cost == ((FIX, "step_ms"), (FIX, "wall_us"))
    first = report(told).told[0]
    assert first.startswith(f"mem. sites 1 -> 0 (needs <= 0) met first in {FIX}, changed before it: ")
    assert "--dtype fp16 -> bf16; INF_NAN_MODE_ENABLE 0 -> 1" in first and "step ms 10.05 -> 15" in first
    assert f"在 {FIX} 首次达标" in report(told, "zh").told[0]
    assert "step ms" in story_parts(told, "en", is_brief=True)[0]


def test_each_round_has_its_verdict_and_its_criteria(told: Story) -> None:
    assert [row.verdict for row in told.rows] == ["fail", "fail", "pass", None, "pass"]
    changes = [row.criterion_states.get("memory.faults") for row in told.rows]
    assert changes == ["first", "better", "better", None, "same"]
    rounds = report(told, tables=True).summary["rounds"]
    assert rounds[1]["criteria"]["memory.faults"] == {
        **{"state": "fail", "value": 1.0, "needs": "<= 0", "change": "better"},
    }
    table = report(told, tables=True).tables["rounds"]
    assert table.column("verdict").to_list(0, 5) == ["fail", "fail", "pass", None, "pass"]
    assert table.column("missed").to_list(0, 5) == ["memory.faults", "memory.faults", None, None, None]


def test_what_the_user_asks_is_judged_by_the_noise_of_its_figure(archive: Run) -> None:
    """10 and 10.05 ms are the same step: that the limit lies between them makes none of them worse."""
    asked = parse_criteria("[performance]\nstep_ms = 10.02\n", "mine.toml")
    found = story(archive, AnalysisOptions(), criteria=asked)
    results = [{one.id: one for one in row.criteria}.get("performance.step_ms") for row in found.rows]
    assert [one.state if one else None for one in results] == ["pass", "fail", "fail", None, "fail"]
    states = [row.criterion_states.get("performance.step_ms") for row in found.rows]
    assert states == ["first", "same", "worse", None, "better"]
    told = report(found)
    assert told.verdict == "fail" and f"step ms missed again since {SCALE}" in told.told[0]
    fails = next(one for one in told.findings if one.rule == "rounds.fails")
    assert fails.subject == TUNE and "mine.toml" in "\n".join(told.told)


def test_against_a_baseline_whichever_round_it_is(archive: Run) -> None:
    first = story(archive, AnalysisOptions(), baseline=BASE).rows
    assert [row.against.get("step_ms") for row in first] == [None, "same", "worse", None, "worse"]
    assert [row.against.get("n_memory_sites") for row in first] == [None, "better", "better", None, "better"]
    last = story(archive, AnalysisOptions(), baseline=TUNE)
    assert [row.against.get("step_ms") for row in last.rows] == ["better", "better", "worse", None, None]
    texts = [against_text(last, row, "en") for row in last.rows]
    assert texts[0] == "worse: mem. sites; better: step ms, wall" and texts[4] == "baseline"
    assert texts[3] == "nothing in common" and f"baseline: {TUNE}" in report(last).told
    with pytest.raises(UsageError) as caught:
        story(archive, AnalysisOptions(), baseline="gone")
    assert FIX in caught.value.hint


@pytest.mark.parametrize("seed", range(3))
def test_the_order_on_disk_changes_nothing(archive: Run, told: Story, seed: int) -> None:
    mixed = list(archive.rounds)
    random.Random(seed).shuffle(mixed)
    other = story(replace(archive, rounds=tuple(mixed)), AnalysisOptions())
    assert [replace(row, index=0) for row in other.rows] == [replace(row, index=0) for row in told.rows]
    assert other.milestones == told.milestones and report(other).told == report(told).told


def test_an_area_that_cannot_judge_its_newest_round_makes_no_clean_story(tmp_path: Path) -> None:
    """A log that was cut: no error is told, and nothing says that there was none."""
    for minute, name in enumerate(("a", "b")):
        folder = tmp_path / "sanitizer" / f"{name}_20260301-10{minute:02}00"
        write_round(faults(folder), closed("memory", minute), recorded={"outcome": "recorded"})
    whole = story(discover(tmp_path), AnalysisOptions())
    assert report(whole).verdict == "pass" and story_parts(whole, "en") == [
        "all 2 criteria met from the start"
    ]
    log = folder / "raw" / "check.log"
    log.write_text(log.read_text().splitlines()[0] + "\n")
    cut = story(discover(tmp_path), AnalysisOptions())
    assert cut.rows[1].verdict in ("unknown", "incomplete")
    assert report(cut).verdict in ("unknown", "incomplete")
    assert "all" not in story_parts(cut, "en")[-1] and "complete logs" in story_parts(cut, "en")[-1]


# ---- records alone ----


def result(state: Verdict, value: float | None = 1.0, *, is_least: bool = False) -> CriterionResult:
    needs = ">= 0" if is_least else "<= 0"
    shown = str(value)
    return CriterionResult(
        "memory.faults", ("sites", "位置"), state, needs, value, shown, limit=0.0, is_higher_better=is_least
    )


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (None, result("fail"), "first"),
        (result("fail", 2), result("fail", 1), "better"),
        (result("fail", 1), result("fail", 2), "worse"),
        (result("fail", 0.9, is_least=True), result("fail", 0.95, is_least=True), "better"),
        (result("fail", 1), result("fail", 1), "same"),
        (result("fail"), result("pass", 0), "better"),
        (result("pass", 0), result("fail"), "worse"),
        (result("fail", None), result("fail", 3), "unknown"),
        (result("fail"), result("incomplete", 0), "unknown"),
        (result("unknown", None), result("pass", 0), "unknown"),
    ],
)
def test_changes_of_a_criterion(before: CriterionResult | None, after: CriterionResult, state: State) -> None:
    assert change_of(before, after) == state


rows = st.lists(
    st.tuples(st.sampled_from(["pass", "warn", "fail", "unknown", "incomplete", None]), st.booleans()),
    max_size=8,
)


@given(rows)
def test_milestones_of_any_course(told: Story, course: list[tuple[Verdict | None, bool]]) -> None:
    """Against a plain reading of the same course, letter by letter."""
    made: list[StoryRow] = []
    for place, (state, is_slower) in enumerate(course):
        criteria = () if state is None else (result(state),)
        since = {"step_ms": made[-1].name} if made else {}
        states: dict[str, State] = {"step_ms": "worse"} if made and is_slower else {}
        made.append(replace(told.rows[0], name=f"r{place}", criteria=criteria, states=states, since=since))
    letters = [
        (place, state != "fail")
        for place, (state, _) in enumerate(course)
        if state in ("pass", "warn", "fail")
    ]
    found = milestones(made)
    if not letters:
        assert found == ()
        return
    text = "".join("+" if met else "-" for _, met in letters)
    (one,) = found
    assert one.is_met is text.endswith("+")
    told_last = [state for state, _ in course if state is not None][-1]
    assert one.is_open is (told_last in ("unknown", "incomplete"))
    at = text.find("-+") + 1
    assert one.met_in == (f"r{letters[at][0]}" if at else "")
    assert one.is_never_met is ("+" not in text)
    lost = text.rfind("+-") + 1
    assert one.lost_in == (f"r{letters[lost][0]}" if lost and text.endswith("-") else "")
    if at:
        place = letters[at][0]
        assert one.cost == ((f"r{place}", "step_ms"),) if course[place][1] else one.cost == ()


def test_what_got_worse_in_a_later_round_of_another_kind_is_told_too(told: Story) -> None:
    """The dump that shows the fix and the profile that shows its price are two rounds."""
    slow = replace(told.rows[0], name="p2", states={"step_ms": "worse"}, since={"step_ms": "p1"})
    course = [replace(told.rows[0], name=name) for name in ("p1", "d1", "d2")]
    assert costs([*course, slow], 2) == (("p2", "step_ms"),)
    assert costs([*course, replace(slow, since={"step_ms": "d2"})], 2) == ()


def test_a_criterion_stands_beside_a_figure_only_where_both_say_the_same(told: Story) -> None:
    """Two places, one of them only warned of, are no two memory errors; a card that is hot is no error."""
    assert series_of(told, "n_memory_sites").needs == "<= 0"
    warned = [
        replace(row, cells={**row.cells, "n_memory_sites": Cell(9.0), "n_unwell": Cell(1.0)})
        for row in told.rows[:1]
    ]
    hot = CriterionResult(
        "device.faults", ("errors of cards", "卡错误"), "pass", "<= 0", 0.0, shown="0", limit=0.0
    )
    warned[0] = replace(warned[0], criteria=(*warned[0].criteria, hot))
    other = replace(told, rows=(*warned, *told.rows[1:]))
    assert series_of(other, "n_memory_sites").needs == series_of(other, "n_unwell").needs == ""
    facts = dict(rounds_view(other, "en").detail(0, "en").facts)
    assert facts["mem. sites"] == "9" and facts["unwell cards"] == "1"
    assert facts["errors of cards"] == "0, needs <= 0: PASS"
    assert facts["sites with memory errors"] == "2, needs <= 0: FAIL"
    assert story_parts(other, "en")[0].startswith("sites with memory errors 1 -> 0 (needs <= 0) met first")


def test_the_next_step_of_a_round_that_got_worse_can_be_pasted(told: Story) -> None:
    worse = next(one for one in report(told).findings if one.rule == "rounds.worse")
    command = worse.next_step.partition(": ")[2]
    assert shlex.split(command)[:4] == ["npulse", "diff", str(told.root), "--round"]


def test_the_bundled_criteria_need_no_file(told: Story) -> None:
    assert told.criteria_file == "" and CriteriaFile().path == ""


def test_charts_elsewhere_are_headed_as_here(told: Story) -> None:
    headings = report(told, "zh").summary["headings"]
    assert headings["n_memory_sites"] == "内存位置" and "cosine" not in headings
