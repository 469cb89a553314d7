"""A compared call computed again: each side from its own inputs, whatever the other one has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, compare_captures
from npulse.core.recheck.compared import recheck_compared
from npulse.core.recheck.run_recheck import recheck
from npulse.core.run.sides import pair_of

from ...tui.panes.captures import write_capture


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """The target adds wrongly; one call of each side stands alone."""
    folder = tmp_path_factory.mktemp("recheck")
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((4, 8)).astype(np.float32) for _ in range(2))
    for side in ("npu", "cpu"):
        wrong = a + b + (np.float32(0.25) if side == "npu" else np.float32(0))
        alone = "Torch.mul.0.forward" if side == "npu" else "Torch.sub.0.forward"
        made = a * b if side == "npu" else a - b
        write_capture(folder / side, [("Torch.add.0.forward", [a, b], [wrong]), (alone, [a, b], [made])])
    return compare_captures(pair_of(folder / "npu", folder / "cpu"))


def test_the_side_that_is_wrong_is_named(comparison: Comparison) -> None:
    rank = comparison.ranks[0]
    names = [rank.rows.pairing.name(rank.target, rank.golden, call) for call in range(3)]
    found = {name: recheck_compared(comparison, rank, call) for call, name in enumerate(names)}
    add = found["Torch.add.0.forward"]
    assert add.check.outcome == "implementation" and add.golden is not None and add.golden.outcome == "within"
    assert add.has_golden and add.artifact.endswith("dump.json")
    mul, sub = found["Torch.mul.0.forward"], found["Torch.sub.0.forward"]
    assert (mul.check.side, mul.check.outcome, mul.golden) == ("target", "within", None)
    assert (sub.check.side, sub.check.outcome, sub.golden) == ("golden", "within", None)
    assert add.lines("en") and add.lines("zh") != add.lines("en")


def test_tensors_that_are_gone_are_told(comparison: Comparison) -> None:
    rank = comparison.ranks[0]
    for path in rank.target.tensor_dir.glob("Torch.mul*"):
        Path(path).unlink()
    call = next(
        c for c in range(3) if rank.rows.pairing.name(rank.target, rank.golden, c).startswith("Torch.mul")
    )
    told = recheck_compared(comparison, rank, call).check
    assert told.outcome == "unknown" and (told.missing or told.problems)


def test_the_command_finds_the_golden_call_that_a_comparison_does(tmp_path: Path) -> None:
    """The same product under two names, and a call of the target alone in front of it."""
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((4, 4)).astype(np.float32) for _ in range(2))
    twice = ("Torch.add.0.forward", [b, b], [b + b])
    write_capture(tmp_path / "npu", [twice, ("Torch.mul.0.forward", [a, b], [a * b])])
    write_capture(tmp_path / "cpu", [("Tensor.__mul__.0.forward", [a, b], [a * b * 2])])
    comparison = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"))
    rank = comparison.ranks[0]
    step = int(rank.rows.pairing.steps_of(2, is_target=True)[1])
    shown = recheck_compared(comparison, rank, step)
    (told,) = recheck(tmp_path, "Torch.mul.0.forward").calls
    for one in (shown, told):
        assert one.golden is not None
        assert (one.check.outcome, one.golden.call) == ("within", "Tensor.__mul__.0.forward")
        assert one.golden.outcome == "implementation"
    (alone,) = recheck(tmp_path, "Torch.add.0.forward").calls
    assert alone.golden is None and alone.has_golden


def test_what_to_do_about_an_unknown_operator_names_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    one = np.ones((2, 2), np.float32)
    write_capture(folder, [("Torch.some_operator.0.forward", [one], [one])])
    (finding,) = recheck(folder, "some_operator").report.findings
    assert f"npulse recheck Torch.some_operator.0.forward '{folder}' --reference" in finding.next_step
