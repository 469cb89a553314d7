"""Two rounds side by side: what changed, what it cost next door, what is only noise."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.formats.profiling.operators import read_operators
from npulse.core.performance.changes.advice import advice_of_changes
from npulse.core.performance.changes.compare import Changes, compare
from npulse.core.performance.changes.noise import difference
from npulse.core.performance.changes.side import Side, side_of
from npulse.core.performance.operators.calls import calls_of
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.wall import wall_of

Row = tuple[int, str, float]
"""Step, operator type, us."""


def side(folder: Path, name: str, rows: Iterable[Row], gap_us: float = 1.0) -> Side:
    """A round from a kernel_details table, written as the profiler does."""
    lines = ["Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes"]
    at = 1_700_000_000_000_000.0
    for step, kind, us in rows:
        lines.append(f'{step},{kind}_0,{kind},AI_CORE,{at:.3f}\t,{us:.3f},0,"""8,8"""')
        at += us + gap_us
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    table = read_operators(path)
    profile = Profile(name, operators=table)
    found = usable(table)
    return side_of(name, calls_of(profile, table, found), wall_of(profile, found.rows))


def steps(n: int, block: Iterable[tuple[str, float]], jitter: float = 0.0, seed: int = 0) -> list[Row]:
    draw = random.Random(seed)
    kinds = list(block)
    return [(step, kind, us * (1 + draw.uniform(-jitter, jitter))) for step in range(n) for kind, us in kinds]


LAYER = [("MatMulV2", 100.0), ("Add", 10.0), ("Cast", 5.0), ("GatherV2", 50.0), ("Cast", 5.0)] * 8


def verdicts(changes: Changes) -> dict[str, str]:
    return {one.name: one.time.verdict for one in changes.types}


def test_the_same_round_twice_is_no_change(tmp_path: Path) -> None:
    rows = steps(5, LAYER, jitter=0.02)
    changes = compare(side(tmp_path, "a", rows), side(tmp_path, "b", rows), 3)
    assert set(verdicts(changes).values()) == {"noise"} and changes.replacements == ()
    assert changes.totals["step"].delta_ns == 0 and changes.totals["step"].basis == "steps"
    assert [one.rule for one in advice_of_changes(changes)] == ["performance.round-total"]


def test_a_hundredth_of_jitter_is_no_win(tmp_path: Path) -> None:
    before = side(tmp_path, "a", steps(5, LAYER, jitter=0.03, seed=1))
    after = side(tmp_path, "b", steps(5, [(kind, us * 0.992) for kind, us in LAYER], jitter=0.03, seed=2))
    changes = compare(before, after, 3)
    assert changes.totals["step"].verdict == "noise" and set(verdicts(changes).values()) == {"noise"}
    (total,) = advice_of_changes(changes)
    assert "no change" in total.message[0] and total.severity == "note"


def test_a_faster_operator_and_the_conversions_that_pay_for_it(tmp_path: Path) -> None:
    faster = [("MatMulV2", 100.0), ("Add", 10.0), ("Cast", 14.0), ("GatherV2", 24.0), ("Cast", 14.0)] * 8
    changes = compare(side(tmp_path, "a", steps(4, LAYER)), side(tmp_path, "b", steps(4, faster)), 3)
    assert verdicts(changes) == {"GatherV2": "better", "Cast": "worse", "MatMulV2": "noise", "Add": "noise"}
    gather = next(one for one in changes.types if one.name == "GatherV2")
    assert gather.time.delta_ns == -8 * 26_000 and gather.time.percent == pytest.approx(-52.0)
    # both casts of every layer stand within two calls of a gather
    assert gather.beside == (("Cast", 16 * 9_000, 16),)
    assert gather.net_ns == -8 * 26_000 + 16 * 9_000
    rules = {one.subject: one.rule for one in advice_of_changes(changes)}
    assert (
        rules["GatherV2"] == "performance.cost-next-door" and rules["Cast"] == "performance.operator-slower"
    )
    step = changes.totals["step"]
    assert step.delta_ns == 8 * (-26_000 + 18_000) and step.verdict == "better"


def test_fused_renamed_new_and_gone(tmp_path: Path) -> None:
    old = [
        ("Pow", 8.0),
        ("Mean", 8.0),
        ("Rsqrt", 8.0),
        ("MatMulV2", 90.0),
        ("Relu", 9.0),
        ("Drop", 4.0),
        ("Sum", 7.0),
    ] * 3
    new = [("RmsNorm", 10.0), ("MatMulV3", 60.0), ("Relu", 9.0), ("Sum", 7.0), ("TransData", 6.0)] * 3
    changes = compare(side(tmp_path, "a", steps(3, old)), side(tmp_path, "b", steps(3, new)), 3)
    kinds = {(one.kind, one.before, one.after): one.n for one in changes.replacements}
    assert kinds[("gone", ("Drop",), ())] == 3 and kinds[("new", (), ("TransData",))] >= 1
    both = [key for key in kinds if key[0] == "replaced"]
    assert any(set(key[1]) >= {"Pow", "Mean", "Rsqrt", "MatMulV2"} and "RmsNorm" in key[2] for key in both)
    assert sum(one.delta_ns for one in changes.replacements) == 3 * (10 + 60 + 6 - 24 - 90 - 4) * 1000


def test_several_by_one_are_fused_and_one_by_one_is_renamed(tmp_path: Path) -> None:
    old = [("Relu", 9.0), ("Pow", 8.0), ("Mean", 8.0), ("Sum", 7.0), ("MatMulV2", 90.0), ("Tanh", 5.0)] * 4
    new = [("Relu", 9.0), ("RmsNorm", 10.0), ("Sum", 7.0), ("MatMulV3", 60.0), ("Tanh", 5.0)] * 4
    changes = compare(side(tmp_path, "a", steps(3, old)), side(tmp_path, "b", steps(3, new)), 3)
    found = {one.kind: one for one in changes.replacements}
    assert found["fused"].before == ("Pow", "Mean") and found["fused"].after == ("RmsNorm",)
    assert found["fused"].n == 4 and found["fused"].delta_ns == -4 * 6_000
    assert found["renamed"].before == ("MatMulV2",) and found["renamed"].delta_ns == -4 * 30_000
    messages = [one.message[0] for one in advice_of_changes(changes)]
    assert any("Pow + Mean are now one RmsNorm, 4 x a step" in message for message in messages)


def test_one_step_alone_says_so(tmp_path: Path) -> None:
    changes = compare(side(tmp_path, "a", steps(1, LAYER)), side(tmp_path, "b", steps(1, LAYER)), 3)
    assert changes.totals["step"].verdict == "unknown"
    assert changes.totals["kernels"].basis == "calls"
    (total,) = advice_of_changes(changes)
    assert "too few repeated steps" in total.message[0] and "active=3" in total.next_step[0]


def test_rounds_with_different_numbers_of_steps_are_compared_by_the_step(tmp_path: Path) -> None:
    changes = compare(side(tmp_path, "a", steps(6, LAYER)), side(tmp_path, "b", steps(3, LAYER)), 3)
    assert changes.totals["kernels"].delta_ns == 0 and set(verdicts(changes).values()) == {"noise"}


@settings(max_examples=200, deadline=None)
@given(st.floats(1, 1e9), st.floats(1, 1e9), st.floats(0, 1e6))
def test_swapping_the_rounds_swaps_the_verdict(old: float, new: float, spread: float) -> None:
    nan = float("nan")
    there = difference(old, new, (spread, spread), (nan, nan), 3)
    back = difference(new, old, (spread, spread), (nan, nan), 3)
    assert there.delta_ns == -back.delta_ns
    assert {"better": "worse", "worse": "better"}.get(there.verdict, there.verdict) == back.verdict


def test_without_any_repetition_nothing_is_claimed() -> None:
    nan = float("nan")
    assert difference(100, 50, (nan, nan), (nan, nan), 3).verdict == "unknown"
