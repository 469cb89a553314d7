"""Reports against criteria: the state of each criterion, of each area, whose figures count."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from npulse.core.analysis import AreaReport
from npulse.core.checkup.commands import RunFacts
from npulse.core.checkup.criteria_file import CriteriaFile, default_criteria, parse_criteria
from npulse.core.checkup.judge import judged
from npulse.core.checkup.report import lines_behind
from npulse.core.criteria import AreaState, CheckUp, CriterionResult

from .area_reports import FILE, finding, in_state, of

FACTS = RunFacts("/data/my run", ("python", "infer.py", "--n", "2"), "/data/my run")
AREAS = ("environment", "device", "precision", "overflow", "memory", "performance")


def check(text: str | None, **reports: AreaReport | tuple[AreaReport, ...]) -> CheckUp:
    criteria = default_criteria() if text is None else parse_criteria(text, "criteria.toml")
    given = {area: one if isinstance(one, tuple) else (one,) for area, one in reports.items()}
    return judged(FACTS, given, criteria)


def area_in(found: CheckUp, name: str) -> AreaState:
    return next(one for one in found.areas if one.area == name)


def result(found: CheckUp, name: str) -> CriterionResult:
    return {one.id: one for area in found.areas for one in area.criteria}[name]


def pair(cosine: Any = None, verdict: Any = "pass", *findings: Any, **summary: Any) -> AreaReport:
    told = {"last_output": "lm_head", "last_output_verdict": "pass", **summary}
    if cosine is not None:
        told["last_output_cosine"] = cosine
    return of("precision", verdict, *findings, golden="golden", summary=told)


def test_what_fails_comes_first_in_the_line_of_an_area() -> None:
    met = area_in(check(None, precision=pair(0.9932, "fail", finding("precision"))), "precision")
    assert (met.state, met.headline) == ("fail", "1 error, cosine of the last output 0.9932")
    missed = area_in(check(None, precision=pair(0.96, "fail", finding("precision"))), "precision")
    assert missed.headline == "cosine of the last output 0.96 (needs >= 0.99), 1 error"


# ---- areas that were not recorded ----


def test_nothing_recorded_at_all_is_unknown() -> None:
    found = check(None)
    assert (found.state, found.first) == ("unknown", "")
    assert [one.area for one in found.areas] == list(AREAS)
    assert all(one.state == "unknown" and not one.is_counted and one.missing for one in found.areas)


def test_an_area_that_nobody_asked_for_does_not_make_all_unknown() -> None:
    found = check(None, overflow=in_state("overflow", "pass"))
    assert found.state == "pass" and area_in(found, "memory").state == "unknown"


@pytest.mark.parametrize(
    ("area", "line"),
    [
        ("precision", "cosine = 0.99"),
        ("overflow", "origins = 0"),
        ("memory", "complete = true"),
        ("performance", "step_ms = 10"),
        ("device", "faults = 0"),
        ("environment", "conflicts = 0"),
    ],
)
def test_an_area_that_the_users_file_asks_for_counts_without_a_recording(area: str, line: str) -> None:
    other = "memory" if area == "overflow" else "overflow"
    found = check(f"[{area}]\n{line}", **{other: in_state(other, "pass")})
    assert (found.state, found.first) == ("unknown", area)
    assert area_in(found, area).is_counted and area_in(found, area).next_step


def test_a_criterion_that_is_switched_off_asks_for_nothing() -> None:
    found = check("[memory]\ncomplete = false", overflow=in_state("overflow", "pass"))
    assert found.state == "pass"


def test_thresholds_alone_ask_for_nothing() -> None:
    found = check("[memory.thresholds]\nrepeated_leaks = 5", overflow=in_state("overflow", "pass"))
    assert found.state == "pass"


def test_a_capture_without_a_golden_one_counts_only_where_it_is_asked_for() -> None:
    alone = of("precision", "unknown", finding("precision", "note"))
    overflow = in_state("overflow", "pass")
    assert check(None, precision=alone, overflow=overflow).state == "pass"
    found = check("[precision]\ncosine = 0.99", precision=alone, overflow=overflow)
    assert (found.state, found.first) == ("unknown", "precision")
    assert "golden" in area_in(found, "precision").missing
    assert (
        "capture precision --archive '/data/my run' --name golden -- "
        in area_in(found, "precision").next_step
    )
    assert result(found, "precision.cosine").why == "no golden capture beside it"
    bad = of("precision", "fail", finding("precision"))
    assert check(None, precision=bad, overflow=overflow).state == "fail"


def test_an_environment_that_nobody_can_judge_counts_only_where_it_is_asked_for() -> None:
    unsure = of("doctor", "unknown", counts={"pairs_unknown": 1})
    overflow = in_state("overflow", "pass")
    assert check(None, environment=unsure, overflow=overflow).state == "pass"
    assert check("[environment]\nconflicts = 0", environment=unsure, overflow=overflow).state == "unknown"


def test_every_state_of_an_area_is_told_as_it_is() -> None:
    """With the bundled criteria an area that is recorded stands as its own report says, in every combination
    of two."""
    verdicts = ("pass", "warn", "fail", "incomplete")
    worst = {"fail": 0, "incomplete": 1, "warn": 2, "pass": 3}
    for (one, other), (left, right) in product(
        [("precision", "memory"), ("overflow", "device"), ("performance", "environment")],
        product(verdicts, verdicts),
    ):
        found = check(None, **{one: in_state(one, left), other: in_state(other, right)})  # type: ignore[arg-type]
        assert area_in(found, one).state == left and area_in(found, other).state == right
        assert found.state == min((left, right), key=worst.__getitem__)


# ---- criteria ----


def test_the_cosine_of_the_last_output() -> None:
    good, bad = check(None, precision=pair(0.99)), check(None, precision=pair(0.9899))
    assert (good.state, result(good, "precision.cosine").state) == ("pass", "pass")
    assert (bad.state, bad.first) == ("fail", "precision")
    assert result(bad, "precision.cosine").needs == ">= 0.99"
    assert result(bad, "precision.cosine").subject == "lm_head"


def test_the_limit_is_the_number_of_the_file_and_not_that_of_the_words() -> None:
    text = "[precision]\ncosine = 0.98765432\n[performance]\nstep_ms = 12345.678\n[memory]\ncomplete = true"
    found = check(text, precision=pair(0.99), memory=memory("pass"))
    cosine, step = result(found, "precision.cosine"), result(found, "performance.step_ms")
    assert (cosine.limit, cosine.is_higher_better) == (0.98765432, True)
    assert (step.limit, step.is_higher_better) == (12345.678, False)
    assert result(found, "memory.complete").limit is None


def test_of_several_pairs_the_worst_counts() -> None:
    found = check(None, precision=(pair(0.999), pair(0.5), pair(0.99)))
    assert result(found, "precision.cosine").value == 0.5


def test_an_output_with_nan_has_no_cosine_and_fails() -> None:
    nan = pair(None, "fail", finding("precision"), last_output_verdict="error", last_output_reason="nan")
    found = result(check(None, precision=(pair(0.999), nan)), "precision.cosine")
    assert (found.state, found.value, found.shown, found.why) == ("fail", None, "?", "no cosine: nan")
    unseen = of("precision", "pass", golden="golden")  # before one that is wrong it excuses nothing
    both = result(check(None, precision=(unseen, nan)), "precision.cosine")
    assert both.state == "fail"


def test_an_output_that_was_not_recorded_is_unknown_where_asked() -> None:
    nothing = of("precision", "pass", golden="golden")
    assert check(None, precision=nothing).state == "pass"
    found = check("[precision]\ncosine = 0.9", precision=nothing)
    assert (found.state, result(found, "precision.cosine").state) == ("unknown", "unknown")


def test_origins_are_counted_also_beyond_those_that_are_told() -> None:
    bad = of("overflow", "fail", finding("overflow"), counts={"origin": 70, "rank_steps": 1})
    found = result(check("[overflow]\norigins = 60", overflow=bad), "overflow.origins")
    assert (found.value, found.state) == (70, "fail")


def test_a_count_of_part_of_the_data_is_no_pass() -> None:
    cut = of("overflow", "incomplete", problems=(FILE,), counts={"origin": 0})
    found = check(None, overflow=cut)
    assert (found.state, result(found, "overflow.origins").state) == ("incomplete", "incomplete")


def test_steps_are_told_and_a_minimum_can_be_asked_for() -> None:
    from npulse.core.run.model import Artifact

    def dump(step: int, rank: int, capture: str) -> Artifact:
        folder = f"{capture}/step{step}/rank{rank}"
        return Artifact("msprobe.dump", None, folder, 1, 1, rank, step)  # type: ignore[arg-type]

    seen = tuple(dump(step, rank, name) for step in (0, 1, 2) for rank in (0, 1) for name in ("a", "b"))
    report = of("overflow", "pass", artifacts=seen, counts={"rank_steps": 12, "origin": 0})
    assert "6 steps looked at" in area_in(check(None, overflow=report), "overflow").headline
    enough = check("[overflow]\nmin_steps = 6", overflow=report)
    short = check("[overflow]\nmin_steps = 7", overflow=report)
    assert enough.state == "pass" and short.state == "fail"
    assert area_in(short, "overflow").missing == "6 of 7 steps looked at"
    assert (short.first, short.why_first) == ("overflow", "too few steps were looked at")
    wrong = of("precision", "fail", finding("precision"), golden="golden")
    both = check(
        "[overflow]\nmin_steps = 7",
        overflow=report,
        precision=wrong,
        performance=in_state("performance", "warn"),
    )
    assert both.first == "precision", "nothing blew up in the steps that were looked at"
    assert area_in(both, "performance").distrusted_by == "precision"


def test_all_rounds_of_an_evaluation_set_count_where_the_file_says_so() -> None:
    old = of("overflow", "fail", finding("overflow"), round_name="a", counts={"rank_steps": 2})
    new = of("overflow", "pass", round_name="b", counts={"rank_steps": 3})
    assert check(None, overflow=(old, new)).state == "pass"
    found = check("[overflow]\nall_rounds = true", overflow=(old, new))
    assert found.state == "fail" and "5 steps" in area_in(found, "overflow").headline


def memory(verdict: Any, *findings: Any, complete: bool = True, **counts: int) -> AreaReport:
    return of("memory", verdict, *findings, counts=counts, summary={"is_complete": complete})


def test_memory_has_to_be_clean_and_complete() -> None:
    clean = memory("pass", errors=0, leaks=0)
    assert check(None, memory=clean).state == "pass"
    cut = memory("incomplete", complete=False, errors=0)
    assert result(check(None, memory=cut), "memory.complete").state == "incomplete"
    unsure = memory("unknown", complete=False, errors=0)
    assert check(None, memory=unsure).state == "unknown"
    bad = memory("fail", finding("memory"), errors=3)
    assert result(check(None, memory=bad), "memory.faults").value == 3


def test_leaks_that_nobody_looked_for_are_not_zero() -> None:
    plain = memory("pass", errors=0)
    assert "memory.leaked_bytes" not in {
        one.id for one in area_in(check(None, memory=plain), "memory").criteria
    }
    found = check("[memory]\nleaked_bytes = 0", memory=plain)
    assert (found.state, result(found, "memory.leaked_bytes").shown) == ("unknown", "?")
    assert " --set leak-check=yes -- python infer.py" in area_in(found, "memory").next_step
    assert area_in(found, "memory").missing == "leaked bytes: no log says that leaks were looked for"
    summary = {"is_complete": True, "looked_for_leaks": True}
    looked = of("memory", "pass", counts={"errors": 0}, summary=summary)
    found = check("[memory]\nleaked_bytes = 0", memory=looked)
    assert (found.state, result(found, "memory.leaked_bytes").value) == ("pass", 0)
    leak = memory("fail", finding("memory", rule="memory.leak"), errors=1, leaks=2, leaked_bytes=5184)
    told = result(check(None, memory=leak), "memory.leaked_bytes")
    assert (told.value, told.shown, told.state) == (5184, "5,184 bytes", "fail")


@pytest.mark.parametrize(
    ("line", "value", "state"),
    [
        ("first_token_ms = 200", 200.0, "pass"),
        ("first_token_ms = 200", 200.1, "fail"),
        ("step_ms = 10", 9.0, "pass"),
        ("step_ms = 10", 11, "fail"),
        ("tokens_per_s = 100", 100.0, "pass"),
        ("tokens_per_s = 100", 99.9, "fail"),
        ("tokens_per_s = 100", None, "unknown"),
        ("tokens_per_s = 100", float("nan"), "unknown"),
        ("tokens_per_s = 100", "fast", "unknown"),
        ("tokens_per_s = 100", True, "unknown"),
    ],
)
def test_times_and_rates_as_the_user_sets_them(line: str, value: Any, state: str) -> None:
    key = line.split()[0]
    report = of("performance", "pass", summary={key: value, "profile": "rank 0"})
    found = check(f"[performance]\n{line}", performance=report)
    assert (found.state, result(found, f"performance.{key}").state) == (state, state)
    if state == "unknown":
        command = "npulse capture performance --archive '/data/my run' -- python infer.py --n 2"
        assert area_in(found, "performance").next_step == command
        hint = "mark ranges prefill and decode in the script"
        assert hint in area_in(found, "performance").headline, "a profile alone has no tokens"


# ---- whose figures count ----


@pytest.mark.parametrize(
    ("cause", "rule", "verdict", "distrusted"),
    [
        ("device", "device.health", "fail", {"precision", "overflow", "memory", "performance"}),
        ("device", "device.temperature", "warn", {"performance"}),
        ("memory", "memory.access", "fail", {"precision", "overflow", "performance"}),
        ("memory", "memory.leak", "fail", set()),
        ("overflow", "overflow.origin", "fail", {"performance"}),
        ("precision", "precision.operator", "fail", {"performance"}),
        ("precision", "precision.above-rounding", "warn", set()),
        ("environment", "env.mixed", "fail", set()),
    ],
)
def test_figures_of_a_wrong_run_or_a_bad_card_are_marked(
    cause: str, rule: str, verdict: Any, distrusted: set[str]
) -> None:
    reports = {area: in_state(area, "pass") for area in AREAS}
    severity: Any = "error" if verdict == "fail" else "warning"
    reports[cause] = of(cause, verdict, finding(cause, severity, rule), golden="golden")
    found = check(None, **reports)
    assert {one.area for one in found.areas if not one.is_trusted} == distrusted
    assert {one.distrusted_by for one in found.areas if not one.is_trusted} <= {cause}


def test_what_was_not_recorded_is_not_distrusted() -> None:
    found = check(None, precision=pair(0.5, "fail", finding("precision")))
    assert area_in(found, "performance").is_trusted


@pytest.mark.parametrize("area", ["precision", "memory", "performance", "device"])
@pytest.mark.parametrize("verdict", ["unknown", "incomplete"])
def test_an_area_that_could_not_judge_all_is_opened_by_its_next_step_too(area: str, verdict: Any) -> None:
    """What is known of it so far is named as well: it may be all there is to know."""
    told = finding(area, "warning")
    found = check(None, **{area: of(area, verdict, told, golden="golden", round_name="r 2")})
    assert area_in(found, area).next_step == f"npulse {area} '/data/my run' --round 'r 2'"
    assert any("the.subject" in line for line in lines_behind(area_in(found, area), "en"))


def test_an_environment_that_conflicts_is_repaired_by_its_first_finding() -> None:
    """No command looks at the versions of one round: what a manifest tells, `npulse doctor` is not told."""
    told = finding("environment", next_step="pip install torch_npu==2.1.0")
    found = check(None, environment=of("environment", "fail", told, round_name="r2"))
    assert area_in(found, "environment").next_step == "pip install torch_npu==2.1.0"
    cut = check(None, environment=of("environment", "incomplete", round_name="r2"))
    assert area_in(cut, "environment").next_step == "npulse check '/data/my run' --here"


def test_a_criterion_that_is_missed_without_a_finding_leads_to_its_area() -> None:
    slow = of("performance", "pass", summary={"step_ms": 130.0})
    found = area_in(check("[performance]\nstep_ms = 120\n", performance=slow), "performance")
    assert (found.state, found.next_step) == ("fail", "npulse performance '/data/my run'")


def test_the_next_step_of_a_failing_area_opens_it() -> None:
    report = of("overflow", "fail", finding("overflow"), round_name="r 2")
    step = area_in(check(None, overflow=report), "overflow").next_step
    assert step == "npulse overflow '/data/my run' --round 'r 2'"


def test_texts_from_outside_are_made_safe() -> None:
    facts = RunFacts("/a\x1b[2J", ("python", "\x1b]0;x\x07"), "")
    found = judged(facts, {}, CriteriaFile())
    assert not any("\x1b" in one.next_step or "\x07" in one.next_step for one in found.areas)
