"""Words about an origin: they name the call, the figures and what stands near, and say nothing untrue."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.api import PrecisionReport, compare
from npulse.core.errors import InputError
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.detail import detail, element_view, has_elements
from npulse.core.precision.explain import row_finding, scalar_pair
from npulse.core.precision.report import report
from npulse.core.precision.rules import RULES
from npulse.core.run.discover import discover
from npulse.core.run.sides import capture_pairs

from ...tui.panes.captures import ORIGIN, write_pair
from . import faulty_net as fn
from .faulty_net import Fault, api, number, tensor, write_dump

X, Y, Z = (np.random.default_rng(i).standard_normal(64) for i in (1, 2, 3))
ADD, MUL = "Torch.add.0.forward", "Torch.mul.0.forward"


def two(folder: Path, target: dict[str, Any], golden: dict[str, Any], **options: Any) -> PrecisionReport:
    for side, data in (("target", target), ("golden", golden)):
        write_dump(folder / side / "step0" / "rank0", data, **options)
    return compare(folder / "target", folder / "golden", tables=True)


def computed(
    folder: Path, fault: Fault, level: str = "L1", mode: str = "tensor", *, ulp_noise: bool = True
) -> PrecisionReport:
    for side, golden in (("target", False), ("golden", True)):
        fn.run_alone(fault, golden=golden, ulp_noise=ulp_noise).write(
            folder / side / "step0" / "rank0", level, mode
        )
    return compare(folder / "target", folder / "golden", tables=True)


def test_overwritten_memory_names_its_producer(tmp_path: Path) -> None:
    fault = Fault("overwritten", "Functional.relu.0.forward")
    first = computed(tmp_path, fault, ulp_noise=False).findings[0]
    assert first.subject == "Functional.linear.5.forward"
    assert "Functional.relu.0.forward" in first.message
    assert first.related[0].role == "ok"
    assert first.figures["consumer_input_differs_from_producer_output"]
    assert first.figures["pattern"] == "contiguous block"
    assert (first.figures["first"], first.figures["last"]) == (0, 12 * 32 // 2 - 1)


def test_what_began_between_the_captured_calls_of_a_module_says_so(tmp_path: Path) -> None:
    first = computed(tmp_path, Fault("output", "Functional.softmax.0.forward", "scale"), "L0").findings[0]
    assert first.subject == "Module.layers.0.attn.Attention.forward.0"
    assert "Module.layers.0.attn.out.Linear.forward.0.input.0" in first.message
    inside = computed(tmp_path / "b", Fault("output", "Functional.linear.0.forward"), "L0").findings[0]
    assert inside.subject == "Module.layers.0.attn.q.Linear.forward.0"
    assert "inside" not in inside.message


def test_an_unmatched_call_names_the_first_input_that_differs(tmp_path: Path) -> None:
    first = computed(tmp_path, Fault("extra", "NPU.npu_rms_norm.0.forward")).findings[0]
    assert (first.subject, first.figures["side"]) == ("Torch.mul.0.forward", "target")
    assert "Functional.linear.0.forward.input.0" in first.message
    assert (first.related[0].role, first.related[0].subject) == ("inherited", "Functional.linear.0.forward")
    assert (first.figures["pattern"], first.figures["factor"]) == (
        "constant factor",
        pytest.approx(1.7, rel=1e-6),
    )
    assert first.figures["norm_ratio"] == pytest.approx(1.7, rel=1e-6)


def test_drift_names_the_steepest_growth(tmp_path: Path) -> None:
    def off(golden: Any, error: float) -> Any:
        """golden turned by a small angle: the norm stays, the relative L2 error is about `error`."""
        other = np.random.default_rng(9).standard_normal(64)
        other -= golden * (other @ golden) / (golden @ golden)
        other *= np.linalg.norm(golden) / np.linalg.norm(other)
        return (golden + error * other) / np.sqrt(1 + error**2)

    for side, amount in (("target", 1), ("golden", 0)):
        values = [off(X, 0.02 * amount), off(Y, 0.13 * amount), off(Z, 0.17 * amount)]
        a, b, c = (tensor(v, data_name=f"{i}.npy") for i, v in enumerate(values))
        folder = tmp_path / side / "rank0"
        write_dump(folder, {ADD: api([a], [b]), MUL: api([b], [c])}, task="tensor")
        (folder / "dump_tensor_data").mkdir()
        for i, value in enumerate(values):
            np.save(folder / "dump_tensor_data" / f"{i}.npy", value.astype(np.float32))
    first = compare(tmp_path / "target", tmp_path / "golden").findings[0]
    assert (first.rule, first.subject) == ("precision.drift", MUL)
    assert first.figures["cosine"] == pytest.approx(1 / np.sqrt(1 + 0.17**2), rel=1e-6)
    assert (first.related[0].role, first.related[0].subject) == ("suspect", ADD)


def test_a_permuted_weight_says_that_the_statistics_agree(tmp_path: Path) -> None:
    first = computed(tmp_path, Fault("permuted", "layers.0.fc1"), "mix", "md5").findings[0]
    assert first.rule == "precision.parameter"
    assert first.figures["statistics_equal"] is True
    assert first.figures["checksum_target"] != first.figures["checksum_golden"]
    assert "checksum" in first.message
    whole = computed(tmp_path / "b", Fault("permuted", "layers.0.fc1"), "mix", "tensor").findings[0]
    assert whole.figures["pattern"] == "permuted"


def test_detail_of_every_row_in_both_languages(tmp_path: Path) -> None:
    report = computed(tmp_path, Fault("scalar", "Tensor.__mul__.0.forward.input.1"), "mix")
    rank = report.comparison.ranks[0]
    for row in range(rank.rows.n_rows):
        english, chinese = detail(rank, row, "en"), detail(rank, row, "zh")
        assert english.name == chinese.name and english.headline
        assert len(english.facts) == len(chinese.facts) > 0
        finding = row_finding(report.comparison, rank, row, "en")
        if finding.rule:
            assert finding.rule in {rule.id for rule in RULES}
        else:  # a row that agrees, or that only inherits, breaks no rule of its own
            assert finding.role == "inherited" or finding.severity == "note"
        assert finding.message


def test_an_inherited_row_names_what_it_comes_from(tmp_path: Path) -> None:
    report = computed(tmp_path, Fault("output", "Functional.relu.0.forward"))
    rank, table = report.comparison.ranks[0], report.report.tables["precision"]
    row = next(
        i for i in range(table.n_rows) if table.row(i)["target"] == "Functional.linear.5.forward.input.0"
    )
    assert "Functional.relu.0.forward" in detail(rank, row, "en").headline


def test_a_row_of_one_side_alone(tmp_path: Path) -> None:
    target = {ADD: api([tensor(X), number(2)], [tensor(Y)])}
    report = two(tmp_path, target, {ADD: api([tensor(X)], [tensor(Y)]), MUL: api([tensor(X)], [tensor(X)])})
    rank = report.comparison.ranks[0]
    assert scalar_pair(rank, 1) == (2, None, "input 1")
    names = [detail(rank, row, "en").name for row in range(rank.rows.n_rows)]
    assert names == [f"{ADD}.{io}" for io in ("input.0", "input.1", "output.0")] + [
        f"{MUL}.input.0",
        f"{MUL}.output.0",
    ]
    assert not has_elements(rank, 1)
    with pytest.raises(InputError):
        element_view(report.comparison, rank, 1)


def test_elements_of_a_row(tmp_path: Path) -> None:
    report = computed(tmp_path, Fault("output", "Functional.relu.0.forward", "outlier"))
    rank, table = report.comparison.ranks[0], report.report.tables["precision"]
    row = next(
        i for i in range(table.n_rows) if table.row(i)["target"] == "Functional.relu.0.forward.output.0"
    )
    assert has_elements(rank, row)
    view = element_view(report.comparison, rank, row, n_worst=3)
    worst = view.worst.row(0)
    assert worst["flat_index"] == 12 * 32 // 2
    assert worst["abs_error"] == pytest.approx(report.findings[0].figures["max_abs_error"])
    assert view.map.errors.max() == worst["abs_error"]


def test_criteria_are_those_that_were_given(tmp_path: Path) -> None:
    from npulse.core.precision.verdict import Criteria

    two(tmp_path, {ADD: api([tensor(X)], [tensor(Y * 1.05)])}, {ADD: api([tensor(X)], [tensor(Y)])})
    folders = tmp_path / "target", tmp_path / "golden"
    assert compare(*folders).verdict == "fail"
    assert compare(*folders, settings=Settings(criteria=Criteria(norm_ratio_high=1.1))).verdict == "warn"


@pytest.mark.parametrize("is_first_wrong", [False, True])
@pytest.mark.parametrize("has_golden_copy", [True, False])
def test_a_copy_that_differs_from_its_first_forward_is_another_computation(
    tmp_path: Path, is_first_wrong: bool, has_golden_copy: bool
) -> None:
    def side(first: Any, again: Any | None) -> dict[str, Any]:
        data = {"Functional.linear.0.forward": api([tensor(X), tensor(Z)], [tensor(first)])}
        data["Functional.linear.0.forward"]["is_recompute"] = False
        data["Functional.gelu.0.backward"] = {"input": [tensor(X - Z)], "output": [tensor(X + Z)]}
        if again is not None:
            data["Functional.linear.1.forward"] = api([tensor(X), tensor(Z)], [tensor(again)])
            data["Functional.linear.1.forward"]["is_recompute"] = True
        data["Functional.linear.0.backward"] = {"input": [tensor(X * Z)], "output": [tensor(Y * Z)]}
        return data

    wrong = 3 * Y
    target = side(wrong if is_first_wrong else Y, wrong)
    report = two(tmp_path, target, side(Y, Y if has_golden_copy else None))
    (origin,) = (f for f in report.findings if f.severity == "error")
    says = "what was computed again is not the same computation" in origin.message
    assert says == (not is_first_wrong)
    if is_first_wrong:
        assert origin.subject == "Functional.linear.0.forward"
    else:
        assert origin.subject == "Functional.linear.1.forward"
        assert "Functional.linear.0.forward, agrees" in origin.message and "RNG" in origin.next_step


def test_the_next_step_names_the_capture_that_was_compared(tmp_path: Path) -> None:
    run = tmp_path / "a run"
    write_pair(run)

    def told(found: PrecisionReport) -> list[str]:
        (origin,) = [one for one in found.report.findings if one.role == "origin"]
        command = origin.next_step[origin.next_step.index("npulse") :].partition(";")[0]
        return shlex.split(command)

    words = ["npulse", "recheck", ORIGIN]
    assert told(compare(run / "npu", run / "cpu")) == [*words, str(run / "npu")]
    (pair,) = capture_pairs(discover(run))
    of_run = report(compare_captures(pair))
    assert any(one.next_step.count(f"{ORIGIN} RUN") for one in of_run.findings)
