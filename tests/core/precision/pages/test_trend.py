"""Errors over rounds: the figures are those of each round's own comparison; what became better is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.precision.pages.trend import (
    BETTER,
    FIRST_ONE,
    NOT_KNOWN,
    SAME,
    STATES,
    WORSE,
    Measure,
    state_of,
    trend,
)
from npulse.core.precision.verdict import ERROR, PASS, UNKNOWN
from npulse.core.run.discover import discover

from ....tui.panes.captures import NAMES, ORIGIN, chain, write_capture


def write_rounds(root: Path, *bad: str | None) -> Path:
    """An archive: one round for each, in which that call loses three quarters of all rows but the first."""
    for place, name in enumerate(bad):
        round_ = root / f"{place:03}-fix{place}"
        write_capture(round_ / "raw" / "npu", chain(bad=name))
        write_capture(round_ / "raw" / "cpu", chain())
        (round_ / "round.toml").write_text(
            f'schema = 1\nstate = "closed"\nstart = "2026-03-01T10:0{place}:00.000Z"\n'
        )
    return root


def test_rounds_side_by_side(tmp_path: Path) -> None:
    run = discover(write_rounds(tmp_path / "archive", ORIGIN, NAMES[5], None))
    seen: list[int] = []
    found = trend(run, on_update=lambda so_far: seen.append(len(so_far.rounds)))
    assert [name[:3] for name in found.rounds] == ["000", "001", "002"] and seen == [1, 2, 3]
    rows = [found.table.row(i) for i in range(found.table.n_rows)]
    operators = {row["subject"]: row for row in rows if row["kind"] == "operator"}
    assert list(operators) == [NAMES[5], ORIGIN], "the newest origin first"
    good, bad = (dict((name, out[0]) for name, _, out in chain(bad=b))[ORIGIN] for b in (None, ORIGIN))
    wide = good.astype(np.float64)
    expected = np.linalg.norm(bad - wide) / np.linalg.norm(wide)
    assert operators[ORIGIN]["round_1"] == pytest.approx(expected, rel=1e-6)
    assert [operators[ORIGIN][f"round_{i}"] for i in (2, 3)] == [0, 0]
    assert operators[ORIGIN]["state"] == "same", "both of the last two rounds agree"
    assert operators[NAMES[5]]["state"] == "better"
    layers = {row["subject"]: row for row in rows if row["kind"] == "layer"}
    assert [name for name in layers if name.startswith("layer")] == [f"layer {i} forward" for i in range(3)]
    assert layers["layer 0 forward"]["state"] == "same" and layers["layer 2 forward"]["state"] == "better"
    assert layers["layer 1 forward"]["round_1"] == pytest.approx(expected, rel=1e-6)
    place = [row["subject"] for row in rows].index("layer 1 forward")
    assert found.over[place].tolist() == [True, False, False]


def test_a_round_that_cannot_be_read_is_told_of_and_leaves_no_gap(tmp_path: Path) -> None:
    root = write_rounds(tmp_path / "archive", None, ORIGIN, ORIGIN)
    run = discover(root)
    shutil.rmtree(root / "001-fix1" / "raw" / "npu")
    found = trend(run)
    assert [name for name, _ in found.refused] == [run.rounds[1].name] and len(found.rounds) == 2
    states = dict(zip(*(found.table.column(c).to_list(0, 99) for c in ("subject", "state")), strict=True))
    assert states[ORIGIN] == "worse" and states["layer 0 forward"] == "same"
    with pytest.raises(Cancelled):
        trend(run, is_cancelled=lambda: True)


def known(error: float) -> Measure:
    return Measure(error, ERROR if error > 0.01 else PASS)


@pytest.mark.parametrize(
    ("errors", "state"),
    [
        ([0.3, 0.3], SAME),
        ([0.3, 0.2], SAME),
        ([0.3, 0.15], BETTER),
        ([0.3, 0.6], WORSE),
        ([0.02, 0.009], BETTER),
        ([0.009, 0.02], WORSE),
        ([1e-6, 1e-3], SAME),
        ([0.3], FIRST_ONE),
        ([None, 0.3], FIRST_ONE),
        ([0.6, None, 0.3], BETTER),
        ([0.6, None], NOT_KNOWN),
        ([], NOT_KNOWN),
    ],
)
def test_better_or_worse(errors: list[float | None], state: int) -> None:
    assert state_of([None if e is None else known(e) for e in errors]) == state


ERRORS = st.floats(0, 1)


@given(ERRORS, ERRORS)
def test_better_the_other_way_round_is_worse(one: float, other: float) -> None:
    turned = {BETTER: WORSE, WORSE: BETTER, SAME: SAME}
    assert state_of([known(other), known(one)]) == turned[state_of([known(one), known(other)])]
    assert state_of([known(one), Measure(other, UNKNOWN)]) == NOT_KNOWN
    assert len(STATES) == 5
