"""Better or worse: only where both rounds know it, of the same thing, by more than its noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.findings import Finding, Problem, Report
from npulse.core.rounds.figures import BY_ID, FIGURES, Cell, cells_of, state_of

COSINE, SITES, STEP, RATE = (BY_ID[name] for name in ("cosine", "n_memory_sites", "step_ms", "tokens_per_s"))


@pytest.mark.parametrize(
    ("figure", "before", "after", "state"),
    [
        (COSINE, 0.96, 0.9999, "better"),
        (COSINE, 0.9999, 0.96, "worse"),
        (COSINE, 0.99999991, 0.99999992, "same"),
        (SITES, 3, 1, "better"),
        (SITES, 1, 3, "worse"),
        (SITES, 2, 2, "same"),
        (STEP, 10.0, 10.1, "same"),
        (STEP, 10.0, 9.0, "better"),
        (STEP, 10.0, 11.0, "worse"),
        (RATE, 100.0, 140.0, "better"),
        (RATE, 100.0, 99.0, "same"),
        (STEP, float("nan"), 11.0, "unknown"),
    ],
)
def test_states(figure: object, before: float, after: float, state: str) -> None:
    assert state_of(figure, Cell(before), Cell(after)) == state  # type: ignore[arg-type]


def test_what_is_not_known_is_neither_better_nor_worse() -> None:
    assert state_of(SITES, None, Cell(3)) == "first"
    assert state_of(SITES, Cell(3), Cell(None, False)) == "unknown"
    assert state_of(SITES, Cell(3), Cell(1, is_whole=False)) == "unknown"  # some may not have been read
    assert state_of(SITES, Cell(1, is_whole=False), Cell(3)) == "unknown"
    assert state_of(SITES, Cell(1), Cell(3, is_whole=False)) == "worse"  # at least three
    assert state_of(SITES, Cell(3, is_whole=False), Cell(1)) == "better"
    assert state_of(SITES, Cell(3, is_whole=False), Cell(3)) == "unknown"
    assert state_of(STEP, Cell(3, is_doubtful=True), Cell(1)) == "unknown"  # a card that was not well
    assert state_of(STEP, Cell(3, of="rank 0"), Cell(1, of="rank 1")) == "unknown"


@given(st.sampled_from(FIGURES), st.floats(0, 1e9), st.floats(0, 1e9))
def test_turning_the_rounds_around_turns_the_state(figure: object, one: float, other: float) -> None:
    forth = state_of(figure, Cell(one), Cell(other))  # type: ignore[arg-type]
    back = state_of(figure, Cell(other), Cell(one))  # type: ignore[arg-type]
    assert (forth, back) in {("better", "worse"), ("worse", "better"), ("same", "same")}


def memory(verdict: str, *, problems: tuple[Problem, ...] = (), **counts: int) -> Report:
    return Report("memory", "r", verdict, counts=counts, problems=problems)  # type: ignore[arg-type]


def test_no_finding_in_what_could_not_be_judged_is_not_zero() -> None:
    assert cells_of("memory", memory("pass", sites=0)) == {"n_memory_sites": Cell(0.0)}
    unknown = cells_of("memory", memory("unknown", sites=0))["n_memory_sites"]
    assert unknown.value is None and SITES.text(unknown) == "?"
    cut = memory("fail", sites=2, problems=(Problem("a", "cut-off", "x"),))
    assert SITES.text(cells_of("memory", cut)["n_memory_sites"]) == "2+"


def test_leaks_count_only_where_somebody_looked_for_them() -> None:
    assert "leaked_bytes" not in cells_of("memory", memory("pass", sites=0, leaked_bytes=0))
    found = cells_of("memory", memory("fail", sites=1, leaks=1, leaked_bytes=320))
    assert found["leaked_bytes"].value == 320


def test_cards_that_nobody_could_ask_are_not_well() -> None:
    def card(severity: str, chip: int) -> Finding:
        figures = {"npu": 1, "chip": chip}
        return Finding("device", severity, "device.health", "origin", "NPU 1", "x", figures=figures)  # type: ignore[arg-type]

    lost = Report("device", "r", "unknown", summary={"state": "driver not reachable", "devices": None})
    assert cells_of("device", lost)["n_unwell"].value is None
    found = (card("error", 0), card("warning", 0), card("warning", 1), card("note", 2))
    told = Report("device", "r", "fail", findings=found, summary={"devices": 4})
    assert cells_of("device", told)["n_unwell"].value == 2
