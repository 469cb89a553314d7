"""Every combination of states of the areas: the state over all, and the area to open first."""

from __future__ import annotations

from itertools import product
from typing import Any

from npulse.core.checkup.causes import first_of, state_of_all, with_distrust
from npulse.core.criteria import AreaState
from npulse.core.findings import Finding

from .area_reports import finding, of

AREAS = ("environment", "device", "precision", "overflow", "memory", "performance")
STATES = ("pass", "warn", "fail", "unknown", "incomplete", "aside")
"""aside: unknown, and nobody asked for it."""


OVERWRITTEN = "overwritten"
"""Of memory: fail, and values may be anything because of it."""


def state(area: str, word: str) -> AreaState:
    if word == "aside":
        return AreaState(area, "unknown", "", is_counted=False)
    verdict: Any = "fail" if word == OVERWRITTEN else word
    rule = "memory.access" if word == OVERWRITTEN else "memory.leak"
    report = of(area, verdict, *([finding(area, rule=rule)] if verdict == "fail" else []))
    return AreaState(area, verdict, "", reports=(report,))


def expected_state(words: tuple[str, ...]) -> str:
    """Written down again, without an order of severities: a failure before all, then what is not whole."""
    counted = {word for word in words if word != "aside"}
    if counted & {"fail", OVERWRITTEN}:
        return "fail"
    if "incomplete" in counted:
        return "incomplete"
    if "unknown" in counted or not counted:
        return "unknown"
    if "warn" in counted:
        return "warn"
    return "pass"


def expected_first(of_area: dict[str, str], wanted: str) -> str | None:
    """What explains most of the areas that are as all is together."""
    if wanted == "pass":
        return None
    if wanted == "fail":
        if of_area["device"] == "fail":
            return "device"
        if of_area["environment"] == "fail":
            return "environment"
        if of_area["memory"] == OVERWRITTEN:
            return "memory"
        for area in ("overflow", "precision", "memory"):
            if of_area[area] == "fail":
                return area
        return "device" if of_area["device"] == "warn" else "performance"
    order = ("device", "environment", "overflow", "precision", "memory", "performance")
    return next((area for area in order if of_area[area] == wanted), None)


def expected_distrust(of_area: dict[str, str]) -> dict[str, str]:
    """Whose figures mean nothing -> because of what: the machine, then the run, then the results."""
    found: dict[str, str] = {}
    if of_area["precision"] == "fail":
        found["performance"] = "precision"
    if of_area["overflow"] == "fail":
        found["performance"] = "overflow"
    if of_area["memory"] == OVERWRITTEN:
        found |= dict.fromkeys(("precision", "overflow", "performance"), "memory")
    if of_area["device"] == "warn":
        found["performance"] = "device"
    if of_area["device"] == "fail":
        found |= dict.fromkeys(("precision", "overflow", "memory", "performance"), "device")
    return {area: by for area, by in found.items() if of_area[area] != "aside"}


def test_the_state_over_all_what_comes_first_and_what_is_trusted_in_every_combination() -> None:
    """54,432 of them: six areas of six states, and memory that is overwritten."""
    words_of = {area: (*STATES, OVERWRITTEN) if area == "memory" else STATES for area in AREAS}
    made = {(area, word): state(area, word) for area in AREAS for word in words_of[area]}
    wrong = []
    for words in product(*words_of.values()):
        of_area = dict(zip(AREAS, words, strict=True))
        areas = with_distrust([made[pair] for pair in of_area.items()])
        wanted, cause = expected_state(words), first_of(areas)
        distrusted = {area.area: area.distrusted_by for area in areas if not area.is_trusted}
        first = None if cause is None else cause.area
        found = (state_of_all(areas), first, distrusted)
        if found != (wanted, expected_first(of_area, wanted), expected_distrust(of_area)):
            wrong.append((words, found))
    assert wrong == []


def failing(area: str, rule: str) -> AreaState:
    return AreaState(area, "fail", "", reports=(of(area, "fail", finding(area, rule=rule)),))


def test_memory_that_is_overwritten_comes_before_what_it_explains() -> None:
    others = [failing("precision", "precision.operator"), failing("overflow", "overflow.origin")]
    for rule in ("access", "free", "race", "uninitialized", "exception", "lock-up", "misaligned"):
        cause = first_of([*others, failing("memory", f"memory.{rule}")])
        assert cause is not None and (cause.area, cause.why) == ("memory", "why-corruption"), rule
    for rule in ("leak", "workspace-leak", "out-of-memory", "compile-buffer"):
        cause = first_of([*others, failing("memory", f"memory.{rule}")])
        assert cause is not None and cause.area == "overflow", rule
    only = first_of([failing("memory", "memory.leak"), failing("performance", "performance.step")])
    assert only is not None and (only.area, only.why) == ("memory", "why-memory")


def test_a_broken_card_comes_before_all() -> None:
    areas = [failing(area, f"{area}.rule") for area in AREAS]
    cause = first_of(areas)
    assert cause is not None and cause.area == "device"


def test_every_rule_that_is_named_is_one_of_the_area() -> None:
    from npulse.core.checkup.causes import HARMLESS_MEMORY
    from npulse.core.memory.rules import RULES

    assert {rule.id for rule in RULES} >= HARMLESS_MEMORY


def test_a_finding_of_another_area_in_a_report_of_memory_corrupts_nothing() -> None:
    from npulse.core.checkup.causes import corrupts

    other = Finding("env", "error", "env.mixed", "origin", "x", "y")
    assert not corrupts(AreaState("memory", "fail", "", reports=(of("memory", "fail", other),)))


def test_a_hot_card_comes_before_slow_operators() -> None:
    """Times that fail mean nothing on a card that warns: not "nothing is wrong before it"."""
    warm = AreaState("device", "warn", "", reports=(of("device", "warn", finding("device", "warning")),))
    slow = failing("performance", "performance.step")
    cause = first_of(with_distrust([warm, slow]))
    assert cause is not None and (cause.area, cause.why) == ("device", "why-device")
    cause = first_of(with_distrust([warm, slow, failing("overflow", "overflow.origin")]))
    assert cause is not None and cause.area == "overflow"
