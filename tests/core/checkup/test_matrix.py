"""Every combination of states of the areas: the state over all, and the area to open first."""

from __future__ import annotations

from itertools import product

from npulse.core.checkup.causes import first_of, state_of_all
from npulse.core.criteria import AreaState
from npulse.core.findings import Finding

AREAS = ("environment", "device", "precision", "overflow", "memory", "performance")
STATES = ("pass", "warn", "fail", "unknown", "incomplete", "aside")
"""aside: unknown, and nobody asked for it."""


def state(area: str, word: str) -> AreaState:
    return AreaState(area, "unknown", "", is_counted=False) if word == "aside" else AreaState(area, word, "")  # type: ignore[arg-type]


def expected(words: tuple[str, ...]) -> str:
    """Written down again, without an order of severities: a failure before all, then what is not whole."""
    counted = {word for word in words if word != "aside"}
    if "fail" in counted:
        return "fail"
    if "incomplete" in counted:
        return "incomplete"
    if "unknown" in counted or not counted:
        return "unknown"
    if "warn" in counted:
        return "warn"
    return "pass"


def test_the_state_over_all_and_what_comes_first_in_every_combination() -> None:
    """46,656 of them. A memory failure here has no report, so it is none that overwrites values."""
    made = {(area, word): state(area, word) for area in AREAS for word in STATES}
    order = ("device", "environment", "overflow", "precision", "memory", "performance")
    place = [AREAS.index(area) for area in order]
    wrong = []
    for words in product(STATES, repeat=len(AREAS)):
        areas = [made[pair] for pair in zip(AREAS, words, strict=True)]
        wanted = expected(words)
        found, cause = state_of_all(areas), first_of(areas)
        leads = next((order[i] for i, at in enumerate(place) if words[at] == wanted), None)
        first = None if wanted == "pass" else leads
        if found != wanted or (cause.area if cause is not None else None) != first:
            wrong.append((words, found, cause))
    assert wrong == []


def failing(area: str, rule: str) -> AreaState:
    from .area_reports import finding, of

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

    from .area_reports import of

    other = Finding("env", "error", "env.mixed", "origin", "x", "y")
    assert not corrupts(AreaState("memory", "fail", "", reports=(of("memory", "fail", other),)))
