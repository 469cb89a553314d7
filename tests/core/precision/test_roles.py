"""Origins: a network with one known fault must be told apart from all that only follows from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.api import PrecisionReport, compare
from npulse.core.findings import Finding

from . import faulty_net as fn
from .faulty_net import Fault, Net, api, number, tensor, write_dump

BASE = fn.run_alone(Fault(), golden=True)
CALLS = [name for name in BASE.order if not name.startswith("Module")]
FORWARD = [name for name in CALLS if name.endswith(".forward")]
WEIGHTS = ["embed", "head"] + [
    f"layers.{i}.{part}"
    for i in (0, 1)
    for part in ("norm", "attn.q", "attn.k", "attn.v", "attn.out", "ln", "fc1", "fc2")
]
SCALARS = [f"{n}.input.{2 if 'norm' in n else 1}" for n in FORWARD if "norm" in n or "__mul__" in n]


def compared(
    fault: Fault, level: str, mode: str, *, construct: bool = True, **options: Any
) -> PrecisionReport:
    with TemporaryDirectory() as folder:
        for side, golden in (("target", False), ("golden", True)):
            net = fn.run_alone(fault, golden=golden, **options)
            net.write(Path(folder, side, "step0", "rank0"), level, mode, construct=construct)
        return compare(Path(folder, "target"), Path(folder, "golden"), tables=True)


def errors(report: PrecisionReport) -> list[Finding]:
    return [f for f in report.findings if f.severity == "error"]


def told(report: PrecisionReport) -> list[tuple[str, str]]:
    return [(f.rule.removeprefix("precision."), f.subject) for f in errors(report)]


def rows(report: PrecisionReport) -> list[dict[str, Any]]:
    table = report.report.tables["precision"]
    return [table.row(i) for i in range(table.n_rows)]


def module_of(call: str) -> str:
    found = BASE.parents[call]
    assert found is not None
    return found


def modules_around(call: str) -> list[str]:
    parent = BASE.parents[call]
    return [parent, *modules_around(parent)] if parent is not None else []


def assert_nothing_before(report: PrecisionReport) -> None:
    """No row before the first finding's call is anything but agreeing or not recorded."""
    first = next(row["call"] for row in rows(report) if row["role"] == "origin")
    assert {row["role"] for row in rows(report) if row["call"] < first} <= {"ok", "unknown", "unmatched"}


levels, modes = st.sampled_from(fn.LEVELS), st.sampled_from(fn.MODES)
hows, seeds = st.sampled_from(sorted(fn.DAMAGE)), st.integers(0, 30)


# ---- one fault in one rank -------------------------------------------------------------------------------


@given(
    level=levels, mode=modes, seed=seeds, views=st.booleans(), empty=st.booleans(), construct=st.booleans()
)
@settings(max_examples=25)
def test_rounding_alone_is_no_error(
    level: str, mode: str, seed: int, views: bool, empty: bool, construct: bool
) -> None:
    report = compared(
        Fault(), level, mode, seed=seed, views=views, empty=empty, construct=construct, ulp_noise=True
    )
    assert not errors(report)
    assert report.verdict in ("warn", "unknown")
    equal = compared(Fault(), level, mode, seed=seed, views=views, empty=empty, construct=construct)
    assert equal.verdict in ("pass", "unknown")
    assert not [f for f in equal.findings if f.severity != "note"]


@given(call=st.sampled_from(CALLS), how=hows, level=st.sampled_from(("L1", "mix")), mode=modes, seed=seeds)
def test_a_wrong_output_is_the_operators(call: str, how: str, level: str, mode: str, seed: int) -> None:
    report = compared(Fault("output", call, how), level, mode, seed=seed, ulp_noise=True)
    # token ids in a statistics capture are not known to agree: the embedding is first, but not proven
    rule = (
        "first-difference"
        if mode == "statistics" and call == "Functional.embedding.0.forward"
        else "operator"
    )
    assert told(report) == [(rule, call)]
    if rule == "operator":
        assert_nothing_before(report)


@given(call=st.sampled_from(CALLS), how=hows, seed=seeds, construct=st.booleans())
@settings(max_examples=30)
def test_a_wrong_output_inside_a_captured_module_is_that_modules(
    call: str, how: str, seed: int, construct: bool
) -> None:
    report = compared(
        Fault("output", call, how), "L0", "tensor", seed=seed, construct=construct, ulp_noise=True
    )
    assert len(errors(report)) == 1
    rule, subject = told(report)[0]
    if rule == "overwritten":  # the gradient passes an addition unchanged: seen where it is read next
        assert call.startswith("Tensor.__add__") and call.endswith("backward")
    elif rule == "drift":  # inside the module it did not exceed the criteria
        assert how == "outlier"
    else:
        assert (rule, subject) == ("operator", module_of(call))


@given(place=st.sampled_from(SCALARS), level=st.sampled_from(("L1", "mix")), mode=modes, seed=seeds)
@settings(max_examples=20)
def test_another_scalar_argument(place: str, level: str, mode: str, seed: int) -> None:
    report = compared(Fault("scalar", place), level, mode, seed=seed, ulp_noise=True)
    assert told(report) == [("scalar", place)]


@given(
    name=st.sampled_from(WEIGHTS), kind=st.sampled_from(("parameter", "permuted")), level=levels, mode=modes
)
@settings(max_examples=40)
def test_another_parameter(name: str, kind: str, level: str, mode: str) -> None:
    report = compared(Fault(kind, name), level, mode, ulp_noise=True)
    module = next(n for n in BASE.modules if n.startswith(f"Module.{name}."))
    inner = next(n for n in FORWARD if BASE.parents[n] == module)
    if kind == "permuted" and mode == "statistics":
        # nothing recorded tells a permuted weight: what it is used for is the first to differ
        assert len(errors(report)) == 1
    elif level == "L0":
        assert told(report) == [("parameter", f"{module}.parameters.weight")]
    else:
        assert told(report) == [("parameter", f"{inner}.input.1")]


@given(level=levels, mode=modes, seed=seeds)
@settings(max_examples=12)
def test_other_token_ids(level: str, mode: str, seed: int) -> None:
    report = compared(Fault("ids", "input"), level, mode, seed=seed, ulp_noise=True)
    entry = "Module.embed.Embedding.forward.0" if level == "L0" else "Functional.embedding.0.forward"
    assert told(report) == [("input-data", f"{entry}.input.0")]


@given(
    call=st.sampled_from(FORWARD),
    kind=st.sampled_from(("extra", "missing")),
    level=levels,
    mode=modes,
    seed=seeds,
)
@settings(max_examples=30)
def test_a_call_of_one_side_alone(call: str, kind: str, level: str, mode: str, seed: int) -> None:
    report = compared(Fault(kind, call), level, mode, seed=seed, ulp_noise=True)
    found = errors(report)
    assert len(found) == 1
    if level == "L0":  # not captured there; somebody's module made it, or an input is not what was handed on
        assert found[0].rule in ("precision.operator", "precision.overwritten", "precision.first-difference")
    else:
        assert told(report) == [("unmatched", "Torch.mul.0.forward")]
        assert found[0].figures["side"] == ("target" if kind == "extra" else "golden")


@pytest.mark.parametrize("mode", ["tensor", "md5"])
def test_an_error_that_came_up_between_captured_modules_is_no_drift(mode: str) -> None:
    """What the module inside is given is still within the criteria, its output no more: nothing built up."""
    report = compared(Fault("missing", "Tensor.__mul__.1.forward"), "L0", mode, seed=1, ulp_noise=True)
    assert told(report) == [("operator", "Module.layers.1.attn.Attention.forward.0")]


@given(call=st.sampled_from(FORWARD[:-1]), level=levels, mode=modes, seed=seeds)
@settings(max_examples=30)
def test_memory_overwritten_between_two_calls(call: str, level: str, mode: str, seed: int) -> None:
    report = compared(Fault("overwritten", call), level, mode, seed=seed, ulp_noise=True)
    found = errors(report)
    assert len(found) == 1
    if level == "L0":
        assert found[0].rule in ("precision.overwritten", "precision.operator")
        return
    assert found[0].rule == "precision.overwritten"
    # the producer is the call, or a module that closed behind it and handed its output on
    assert found[0].related[0].subject in [call, *modules_around(call)]


def test_two_readers_of_overwritten_memory_are_one_finding() -> None:
    report = compared(Fault("overwritten", "NPU.npu_rms_norm.0.forward"), "L1", "tensor")
    assert told(report) == [("overwritten", "Functional.linear.0.forward")]
    reads = [
        r for r in rows(report) if r["operator"].startswith("Functional.linear.") and r["io"] == "input 0"
    ]
    assert [r["role"] for r in reads[:3]] == ["origin", "inherited", "inherited"]


def test_a_nan_out_of_inputs_with_rounding_is_no_drift() -> None:
    report = compared(Fault("output", "Functional.relu.0.forward", "nan"), "L1", "tensor", ulp_noise=True)
    assert told(report) == [("operator", "Functional.relu.0.forward")]


def test_a_copy_into_an_uninitialised_buffer_is_no_error() -> None:
    report = compared(Fault(), "L1", "tensor", empty=True)
    found = {row["target"]: row for row in rows(report)}
    assert found["Torch.empty.0.forward.output.0"]["reason"] == "uninitialised"
    assert found["Tensor.copy_.0.forward.input.0"]["reason"] == "uninitialised"
    assert found["Tensor.copy_.0.forward.output.0"]["verdict"] == "pass"


# ---- several ranks ---------------------------------------------------------------------------------------


def compared_ranks(
    run: Callable[..., list[Net]], fault: Fault, at_rank: int, level: str, mode: str
) -> PrecisionReport:
    with TemporaryDirectory() as folder:
        for side, golden in (("target", False), ("golden", True)):
            for net in run(fault, at_rank, golden=golden, ulp_noise=True):
                net.write(Path(folder, side, "step0", f"rank{net.rank}"), level, mode)
        return compare(Path(folder, "target"), Path(folder, "golden"), tables=True)


RANK_CALLS = [n for n in fn.run_ranks(Fault(), 0, golden=True)[0].order if not n.startswith("Module")]
PIPELINE = [
    (net.rank, name)
    for net in fn.run_pipeline(Fault(), 0, golden=True)
    for name in net.order
    if not name.startswith("Module")
]


@given(
    call=st.sampled_from(RANK_CALLS[1:-1]),
    kind=st.sampled_from(("output", "overwritten", "extra")),
    rank=st.integers(0, 1),
    how=st.sampled_from((("L1", "tensor"), ("mix", "statistics"), ("L1", "md5"))),
)
@settings(max_examples=30)
def test_a_collective_carries_a_peers_fault(call: str, kind: str, rank: int, how: tuple[str, str]) -> None:
    report = compared_ranks(fn.run_ranks, Fault(kind, call), rank, *how)
    found = errors(report)
    want = {"output": "operator", "overwritten": "overwritten", "extra": "unmatched"}[kind]
    assert [(f.rule, f.location.rank) for f in found] == [(f"precision.{want}", rank)]
    if kind == "output":
        assert found[0].subject == call


@pytest.mark.parametrize(("rank", "call"), PIPELINE)
def test_a_receive_carries_what_was_sent(rank: int, call: str) -> None:
    found = errors(compared_ranks(fn.run_pipeline, Fault("output", call), rank, "L1", "tensor"))
    assert [(f.subject, f.location.rank) for f in found] == [(call, rank)]


def test_a_receive_whose_sender_was_not_captured_is_unknown(tmp_path: Path) -> None:
    for side, golden in (("target", False), ("golden", True)):
        net = fn.run_pipeline(Fault("output", "Functional.relu.0.forward"), 0, golden=golden)[1]
        for rank in (1, 2):  # the sender is rank 0; another rank is there and says nothing of it
            net.rank = rank
            net.write(tmp_path / side / "step0" / f"rank{rank}", "L1", "tensor")
    report = compare(tmp_path / "target", tmp_path / "golden")
    assert told(report) == [("first-difference", "Distributed.recv.0.forward")]
    assert errors(report)[0].role == "unknown"


def test_ranks_meet_inside_modules_where_no_api_was_captured(tmp_path: Path) -> None:
    """Rank 1 is given a bad input; the module communicates, so rank 0's output of it is bad as well."""
    good, bad, made, wrong = (np.random.default_rng(i).standard_normal(64) for i in range(4))
    name = "Module.layers.0.dense.RowParallelLinear.forward.0"
    first = "Module.layers.0.core.Attention.forward.0"
    for side in ("target", "golden"):
        for rank in (0, 1):
            is_bad, fails = side == "target" and rank == 1, side == "target"
            x, y = tensor(bad if is_bad else good), tensor(wrong if fails else made)
            entries = {first: api([tensor(good + 1)], [x]), name: api([x], [y])}
            write_dump(tmp_path / side / "step0" / f"rank{rank}", entries, level="L0")
    report = compare(tmp_path / "target", tmp_path / "golden")
    assert [(f.subject, f.location.rank) for f in errors(report)] == [(first, 1)]


# ---- hand-made captures ----------------------------------------------------------------------------------


def two(tmp_path: Path, target: dict[str, Any], golden: dict[str, Any], **options: Any) -> PrecisionReport:
    for side, data in (("target", target), ("golden", golden)):
        write_dump(tmp_path / side / "step0" / "rank0", data, **options)
    return compare(tmp_path / "target", tmp_path / "golden", tables=True)


X, Y, Z, W = (np.random.default_rng(100 + i).standard_normal(64) for i in range(4))


def test_indices_made_of_wrong_values_are_inherited(tmp_path: Path) -> None:
    """Integers link to nothing in a statistics dump; behind a fault they are no data of their own."""
    ids, other = np.arange(10) * 3, np.arange(10) * 3 + 1

    def side(scores: Any, index: Any) -> dict[str, Any]:
        return {
            "Functional.linear.0.forward": api([tensor(X)], [tensor(scores)]),
            "Torch.topk.0.forward": api([tensor(scores)], [tensor(index, "int64")]),
            "Torch.gather.0.forward": api([tensor(index, "int64"), number(len(index))], [tensor(scores * 2)]),
        }

    report = two(tmp_path, side(Y * 2, other), side(Y, ids))
    assert told(report) == [("operator", "Functional.linear.0.forward")]


def test_a_count_made_of_wrong_indices_is_no_origin_but_a_flag_is(tmp_path: Path) -> None:
    def side(scores: Any, index: Any, count: int, flag: bool) -> dict[str, Any]:
        return {
            "Functional.linear.0.forward": api([tensor(X)], [tensor(scores)]),
            "Torch.topk.0.forward": api([tensor(scores)], [tensor(index, "int64")]),
            "Torch.split.0.forward": api([tensor(scores), number(count)], [tensor(scores * 2)]),
            "Torch.sum.0.forward": api([tensor(scores), number(flag)], [tensor(scores * 3)]),
        }

    report = two(tmp_path, side(Y * 2, [5, 9], 4, True), side(Y, [4, 8], 3, False))
    assert told(report) == [
        ("operator", "Functional.linear.0.forward"),
        ("scalar", "Torch.sum.0.forward.input.1"),
    ]


def test_a_fused_call_behind_the_fault_is_not_blamed(tmp_path: Path) -> None:
    """Unlike call sequences on both sides, fed by what was wrong before."""

    def side(value: Any, fused: str) -> dict[str, Any]:
        return {
            "Functional.linear.0.forward": api([tensor(X)], [tensor(value)]),
            fused: api([tensor(value)], [tensor(value * 3 + 1)]),
            "Functional.linear.1.forward": api([tensor(value * 3 + 1)], [tensor(value * 5)]),
        }

    report = two(tmp_path, side(Y * 2, "NPU.fused.0.forward"), side(Y, "Torch.pow.0.forward"))
    assert told(report) == [("operator", "Functional.linear.0.forward")]


def test_a_call_of_one_side_whose_result_agreed_is_not_blamed_later(tmp_path: Path) -> None:
    labels = np.arange(64) % 7

    def side(fused: str, target_labels: Any) -> dict[str, Any]:
        return {
            "Functional.linear.0.forward": api([tensor(X)], [tensor(Y)]),
            fused: api([tensor(Y)], [tensor(Z)]),
            "Functional.relu.0.forward": api([tensor(Z)], [tensor(W)]),
            "Functional.mse_loss.0.forward": api(
                [tensor(W), tensor(target_labels)], [tensor(target_labels + W)]
            ),
        }

    report = two(tmp_path, side("NPU.fused.0.forward", labels * 2), side("Torch.pow.0.forward", labels))
    assert told(report) == [("input-data", "Functional.mse_loss.0.forward.input.1")]


def test_a_bad_weight_behind_calls_of_one_side_is_still_the_weight(tmp_path: Path) -> None:
    def side(fused: str, weight: Any) -> dict[str, Any]:
        return {
            fused: api([tensor(X)], [tensor(Z)]),
            "Functional.linear.0.forward": api([tensor(Y), tensor(weight)], [tensor(weight * 2)]),
        }

    report = two(tmp_path, side("NPU.fused.0.forward", W * 2), side("Torch.pow.0.forward", W))
    assert told(report) == [("parameter", "Functional.linear.0.forward.input.1")]


def test_weight_as_keyword_is_a_parameter(tmp_path: Path) -> None:
    def side(weight: Any) -> dict[str, Any]:
        return {"Functional.linear.0.forward": api([tensor(Y)], [tensor(weight * 2)], weight=tensor(weight))}

    assert told(two(tmp_path, side(W * 2), side(W))) == [
        ("parameter", "Functional.linear.0.forward.input.weight")
    ]


def test_a_buffer_of_zeros_links_to_nothing(tmp_path: Path) -> None:
    """A mask that should be zero is no overwritten output just because some output was zero as well."""
    zeros = np.zeros(64)

    def side(mask: Any) -> dict[str, Any]:
        return {
            "Torch.zeros.0.forward": api([], [tensor(zeros, md5="00000001")]),
            "Torch.add.0.forward": api([tensor(X), tensor(mask, md5="00000001")], [tensor(X + mask)]),
        }

    golden, target = side(zeros), side(W)
    target["Torch.add.0.forward"]["input_args"][1]["md5"] = "00000002"
    assert told(two(tmp_path, target, golden)) == [("input-data", "Torch.add.0.forward.input.1")]


def test_a_module_of_another_class_hands_on_and_is_not_blamed(tmp_path: Path) -> None:
    def side(cls: str, value: Any) -> dict[str, Any]:
        return {
            "Functional.linear.0.forward": api([tensor(X)], [tensor(value)]),
            f"Module.layers.0.{cls}.forward.0": api([tensor(X)], [tensor(value)]),
            "Functional.relu.0.forward": api([tensor(value)], [tensor(np.maximum(value, 0))]),
        }

    report = two(tmp_path, side("NpuBlock", Y * 2), side("Block", Y), level="mix")
    assert told(report) == [("operator", "Functional.linear.0.forward")]


def test_gradients_of_old_versions_stand_before_what_made_them(tmp_path: Path) -> None:
    """8.x writes parameters_grad right behind the forward of its module and fills it in later."""

    def side(value: Any) -> dict[str, Any]:
        return {
            "Module.fc.Linear.forward.0": api([tensor(X)], [tensor(Y)]),
            "Module.fc.Linear.parameters_grad": {"weight": [tensor(value * 3)]},
            "Module.loss.Loss.forward.0": api([tensor(Y)], [tensor(value)]),
        }

    report = two(tmp_path, side(Z * 2), side(Z), level="L0")
    assert told(report) == [("operator", "Module.loss.Loss.forward.0")]


def test_a_saved_variable_has_no_inputs_to_blame(tmp_path: Path) -> None:
    for side, factor in (("target", 2), ("golden", 1)):
        folder = write_dump(tmp_path / side / "step0" / "rank0", {}, level="debug")
        (folder / "dump.json").rename(folder / "debug.json")
        body = json.loads((folder / "debug.json").read_text())
        body["data"] = {
            "x.0.debug": tensor(X),
            "y.0.debug": tensor(Y * factor),
            "z.0.debug": tensor(Z * factor),
        }
        (folder / "debug.json").write_text(json.dumps(body))
    report = compare(tmp_path / "target", tmp_path / "golden")
    assert told(report) == [("first-difference", "y.0.debug")]


def test_parameters_of_a_later_step_follow_from_the_first(tmp_path: Path) -> None:
    name = "Module.fc.Linear.forward.0"
    for side, factor in (("target", 2), ("golden", 1)):
        for step in (0, 1):
            weight = tensor(W * (factor if step else 1))
            entry = {**api([tensor(X)], [tensor(Y * factor)]), "parameters": {"weight": weight}}
            write_dump(tmp_path / side / f"step{step}" / "rank0", {name: entry}, level="L0")
    report = compare(tmp_path / "target", tmp_path / "golden")
    assert told(report) == [("operator", name)]
    alone = compare(tmp_path / "target" / "step1", tmp_path / "golden" / "step1")
    assert told(alone) == [("parameter", f"{name}.parameters.weight")]


def test_rounding_in_trained_parameters_is_no_other_checkpoint(tmp_path: Path) -> None:
    name = "Module.fc.Linear.forward.0"
    for side in ("target", "golden"):
        for step in (0, 1):
            sums = "0000000a" if side == "golden" or step == 0 else "0000000b"
            entry = {**api([tensor(X)], [tensor(Y)]), "parameters": {"weight": tensor(W, md5=sums)}}
            write_dump(tmp_path / side / f"step{step}" / "rank0", {name: entry}, level="L0")
    report = compare(tmp_path / "target", tmp_path / "golden")
    assert not errors(report)
    assert [f.rule for f in report.findings if f.severity == "warning"] == ["precision.above-rounding"]
    alone = compare(tmp_path / "target" / "step1", tmp_path / "golden" / "step1")
    assert told(alone) == [("parameter", f"{name}.parameters.weight")]
