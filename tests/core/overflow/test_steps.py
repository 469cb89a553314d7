"""Between steps: what an earlier captured step broke is no origin in a later one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import Overflow, source_of

from .small_dumps import INF, analysed, begun, bwd, fwd, mod, nan, rec, reported, write

X, G = rec(3.0, -2.5), rec(0.125, -0.25)
W, WB = rec(0.5, -0.625, shape=[16]), nan(shape=[16])
LINEAR, LOG = "Functional.linear.0.forward", "Torch.log.0.forward"
BACK = "Functional.linear.0.backward"
FINE = {LINEAR: fwd([X, W], [X]), BACK: bwd([G], [G])}
BREAKS = {LINEAR: fwd([X, W], [X]), BACK: bwd([G], [WB])}
BROKEN = {LINEAR: fwd([X, WB], [nan()]), BACK: bwd([nan()], [WB])}
BROKEN_AND_MORE = {LOG: fwd([X], [nan(shape=[3])]), **BROKEN}


def looked(folder: Path, places: Mapping[tuple[int, int], Any]) -> Overflow:
    """Entries by (step, rank)."""
    for (step, rank), data in places.items():
        write(folder, data, step=step, rank=rank)
    return analysed(folder)


Begun = list[tuple[int, int, str, str]]
CASES: dict[str, tuple[dict[tuple[int, int], Any], Begun]] = {
    "broken-by-the-step-before": ({(0, 0): BREAKS, (1, 0): BROKEN}, [(0, 0, BACK, "operator")]),
    "and-by-the-one-before-that": (
        {(0, 0): BREAKS, (1, 0): BROKEN, (2, 0): BROKEN},
        [(0, 0, BACK, "operator")],
    ),
    "steps-not-captured-in-between": ({(0, 0): BREAKS, (7, 0): BROKEN}, [(0, 0, BACK, "operator")]),
    "nothing-before": ({(1, 0): BROKEN}, [(1, 0, LINEAR, "parameter")]),
    "healthy-before": ({(0, 0): FINE, (1, 0): BROKEN}, [(1, 0, LINEAR, "parameter")]),
    "bad-only-later": (
        {(0, 0): BROKEN, (1, 0): BREAKS},
        [(0, 0, LINEAR, "parameter"), (1, 0, BACK, "operator")],
    ),
    "an-origin-of-its-own": (
        {(0, 0): BREAKS, (1, 0): BROKEN_AND_MORE},
        [(0, 0, BACK, "operator"), (1, 0, LOG, "operator")],
    ),
    "data-of-a-later-step": (
        {(0, 0): BREAKS, (1, 0): {LINEAR: fwd([nan(), W], [nan()])}},
        [(0, 0, BACK, "operator"), (1, 0, LINEAR, "input")],
    ),
    "of-another-rank": ({(0, 1): BREAKS, (0, 0): FINE, (1, 0): BROKEN}, [(0, 1, BACK, "operator")]),
    "both-ranks": (
        {(0, 0): BREAKS, (0, 1): BREAKS, (1, 0): BROKEN, (1, 1): BROKEN},
        [(0, 0, BACK, "operator"), (0, 1, BACK, "operator")],
    ),
    "through-the-weight-of-a-checkpoint": (
        {(0, 0): BROKEN, (1, 0): BROKEN},
        [(0, 0, LINEAR, "parameter")],
    ),
    "of-modules": (
        {(3, 0): BREAKS, (4, 0): {"Module.fc.Linear.forward.0": mod([X], [nan()], weight=WB)}},
        [(3, 0, BACK, "operator")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_where_it_begins(case: str, tmp_path: Path) -> None:
    places, expected = CASES[case]
    assert begun(looked(tmp_path, places)) == expected


def test_each_rank_follows_its_own(tmp_path: Path) -> None:
    found = looked(tmp_path, CASES["both-ranks"][0])
    places = {(rank.step, rank.rank): place for place, rank in enumerate(found.ranks)}
    for rank in (0, 1):
        assert source_of(found, places[1, rank], 0) == (places[0, rank], 1)


def test_all_steps_behind_lead_to_the_first(tmp_path: Path) -> None:
    found = looked(tmp_path, {(step, 0): BROKEN if step else BREAKS for step in range(4)})
    sources = {
        source_of(found, p, call) for p, rank in enumerate(found.ranks) for call in rank.roles.cause_of
    }
    assert sources == {(0, 1)}
    assert set(found.caused_by) == {(1, 0), (2, 0), (3, 0)}
    (finding,) = [f for f in reported(found).findings if f.severity == "error"]
    assert finding.subject == BACK and finding.location.step == 0


def test_an_origin_in_between_does_not_take_what_is_not_its_own(tmp_path: Path) -> None:
    """The weight is bad in step 1 already, so what begins in step 1 beside it did not break it."""
    places = {(0, 0): BREAKS, (1, 0): BROKEN_AND_MORE, (2, 0): BROKEN}
    found = looked(tmp_path, places)
    assert begun(found) == [(0, 0, BACK, "operator"), (1, 0, LOG, "operator")]
    assert source_of(found, 2, 0) == (0, 1)


def test_a_weight_that_is_broken_only_later_is_of_the_later_step(tmp_path: Path) -> None:
    places = {(0, 0): BREAKS, (1, 0): {**FINE, LOG: fwd([X], [WB])}, (2, 0): BROKEN}
    found = looked(tmp_path, places)
    assert source_of(found, 2, 0) == (1, 2)


def test_captures_do_not_follow_each_other(tmp_path: Path) -> None:
    write(tmp_path / "a", BREAKS, step=0)
    write(tmp_path / "b", BROKEN, step=1)
    assert sorted(begun(analysed(tmp_path))) == [(0, 0, BACK, "operator"), (1, 0, LINEAR, "parameter")]


def test_a_legal_infinity_breaks_nothing(tmp_path: Path) -> None:
    mask = {"Torch.full.0.forward": fwd([{"type": "float", "value": -INF}], [rec(-INF, -INF)]), **FINE}
    assert begun(looked(tmp_path, {(0, 0): mask, (1, 0): BROKEN})) == [(1, 0, LINEAR, "parameter")]
