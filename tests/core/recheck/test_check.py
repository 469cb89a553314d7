"""Calls of small dumps computed again: right outputs are within, planted faults are named."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npulse
from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, UsageError
from npulse.core.recheck.model import Check
from npulse.core.recheck.registry import known_names
from npulse.core.recheck.run_recheck import recheck

from .dumps import Of, rounded, write

Floats = npt.NDArray[np.float64]


def normal(*shape: int, seed: int = 1, dtype: str = "float16", scale: float = 1.0) -> Floats:
    return rounded(np.random.default_rng(seed).normal(size=shape) * scale, dtype)


def one(folder: Path, name: str, **call: Any) -> Check:
    found = recheck(write(folder, {name: call}), name)
    (only,) = found.calls
    return only.check


def softmax(x: Floats, axis: int) -> Floats:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_correct_linear_is_within(dtype: str, tmp_path: Path) -> None:
    x, w, b = normal(5, 64, dtype=dtype), normal(7, 64, seed=2, dtype=dtype), normal(7, seed=3, dtype=dtype)
    made = rounded((x.astype(np.float32) @ w.T.astype(np.float32) + b).astype(np.float64), dtype)
    if dtype == "float64":
        made = np.array([[math.fsum(r * c) + bias for c, bias in zip(w, b, strict=True)] for r in x])
    check = one(
        tmp_path,
        "Functional.linear.0.forward",
        args=[Of(x, dtype), Of(w, dtype), Of(b, dtype)],
        out=[Of(made, dtype)],
    )
    assert (check.outcome, check.operator, check.tried) == ("within", "linear", 0)
    (output,) = check.outputs
    assert output.n_elements == 35 and output.n_beyond == 0 and 0 < output.max_ratio <= 1


FAULTS = [
    ("dim=0", "Functional.softmax.0.forward", {"dim": -1}, lambda x: softmax(x, 0)),
    (
        "eps=0.001",
        "NPU.npu_rms_norm.0.forward",
        {"epsilon": 1e-6},
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3),
    ),
    (
        "approximate='tanh'",
        "Functional.gelu.0.forward",
        {},
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    ("not divided by the number of elements", "Torch.mean.0.forward", {"dim": -1}, lambda x: x.sum(-1)),
    ("divided by n - 0", "Torch.var.0.forward", {"dim": -1}, lambda x: x.var(-1)),
    ("min=None", "Torch.clamp.0.forward", {"min": -0.5, "max": 0.5}, lambda x: np.minimum(x, 0.5)),
]


@pytest.mark.parametrize(("words", "name", "named", "made"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_another_call_is_named(
    words: str, name: str, named: dict[str, Any], made: Any, tmp_path: Path
) -> None:
    x = normal(6, 6, dtype="float32", scale=0.05 if "eps" in words else 1.0)
    args = [Of(x, "float32")]
    if "rms" in name:
        args.append(Of(np.ones(6), "float32"))
        words = words.replace("eps", "epsilon")
    check = one(tmp_path, name, args=args, kwargs=named, out=[Of(rounded(made(x), "float32"), "float32")])
    assert (check.outcome, check.words[0]) == ("call", words)
    assert check.outputs[0].n_beyond > 0


def test_gate_and_up_exchanged(tmp_path: Path) -> None:
    x = normal(4, 16, dtype="bfloat16")
    gate, up = x[:, 8:], x[:, :8]
    made = rounded(gate / (1 + np.exp(-gate)) * up, "bfloat16")
    check = one(
        tmp_path,
        "NPU.npu_swiglu.0.forward",
        args=[Of(x, "bfloat16")],
        kwargs={"dim": -1},
        out=[Of(made, "bfloat16")],
    )
    assert check.outcome == "call" and "gate and up exchanged" in check.words[0]


@pytest.mark.parametrize(
    ("fault", "words"), [("bias", "without the bias"), ("transposed", "the weight transposed")]
)
def test_a_linear_called_otherwise(fault: str, words: str, tmp_path: Path) -> None:
    x, w, b = normal(3, 8), normal(8, 8, seed=2), normal(8, seed=3)
    made = x @ w.T if fault == "bias" else x @ w + b
    check = one(
        tmp_path,
        "Functional.linear.0.forward",
        args=[Of(x, "float16"), Of(w, "float16"), Of(b, "float16")],
        out=[Of(rounded(made, "float16"), "float16")],
    )
    assert (check.outcome, check.words[0]) == ("call", words)


def in_float16(x: Floats, w: Floats) -> Floats:
    total = np.zeros((len(x), len(w)), np.float16)
    for k in range(x.shape[1]):
        total = total + np.outer(x[:, k], w[:, k]).astype(np.float16)
    return total.astype(np.float64)


@pytest.mark.parametrize("width", [32, 512])
def test_a_product_accumulated_in_float16_is_named(width: int, tmp_path: Path) -> None:
    x, w = normal(6, width), normal(6, width, seed=2)
    check = one(
        tmp_path,
        "Torch.matmul.0.forward",
        args=[Of(x, "float16"), Of(w.T, "float16")],
        out=[Of(in_float16(x, w), "float16")],
    )
    assert (check.outcome, check.detail, check.inside) == ("coarse", "float16", "float32")


def test_operands_in_hf32_are_named(tmp_path: Path) -> None:
    x, w = normal(6, 64, dtype="float32"), normal(6, 64, seed=2, dtype="float32")

    def short(a: Floats) -> Floats:
        mantissa, exponent = np.frexp(a)
        return np.ldexp(np.rint(mantissa * 4096) / 4096, exponent)

    made = rounded(short(x) @ short(w).T, "float32")
    check = one(
        tmp_path,
        "Functional.linear.0.forward",
        args=[Of(x, "float32"), Of(w, "float32")],
        out=[Of(made, "float32")],
    )
    assert check.outcome == "implementation" and "HF32" in check.words[0]


def test_a_single_wrong_element_is_found_and_blames_the_implementation(tmp_path: Path) -> None:
    x = normal(4, 8)
    made = rounded(softmax(x, -1), "float16")
    made[2, 5] += 0.01
    check = one(
        tmp_path,
        "Functional.softmax.0.forward",
        args=[Of(x, "float16")],
        kwargs={"dim": -1},
        out=[Of(made, "float16")],
    )
    assert (check.outcome, check.words[0]) == ("implementation", "")
    (output,) = check.outputs
    assert (output.n_beyond, output.index) == (1, (2, 5))
    assert output.made - output.truth == pytest.approx(0.01, abs=1e-4)


def test_what_a_module_was_constructed_with_is_no_fault(tmp_path: Path) -> None:
    x, w = normal(4, 8, scale=0.01, dtype="float32"), np.ones(8)
    made = rounded(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), "float32")
    check = one(
        tmp_path,
        "Module.layers.0.norm.LlamaRMSNorm.forward.0",
        args=[Of(x, "float32")],
        parameters={"weight": Of(w, "float32")},
        out=[Of(made, "float32")],
    )
    assert (check.outcome, check.words[0]) == ("within", "eps=1e-05")


@pytest.mark.parametrize(
    ("to", "made"),
    [("float16", None), ("int32", [1, -1, 0, 3]), ("bool", [1, 1, 1, 1])],
)
def test_casts(to: str, made: Any, tmp_path: Path) -> None:
    x = np.array([1.75, -1.75, 0.3, 3.999])
    out = Of(rounded(x, "float16") if made is None else np.array(made), to)
    assert one(tmp_path, "Tensor.to.0.forward", args=[Of(x, "float32")], out=[out]).outcome == "within"
    wrong = Of(np.asarray(out.values) - (np.asarray(out.values) > 0), to)
    assert (
        one(tmp_path, "Tensor.to.0.forward", args=[Of(x, "float32")], out=[wrong]).outcome == "implementation"
    )


def test_overflow_to_inf_or_to_the_largest_value_is_what_float16_does(tmp_path: Path) -> None:
    x = np.array([60000.0, -60000.0, 1.0, 60000.0])
    for made in ([np.inf, -np.inf, 2.0, np.inf], [65504.0, -65504.0, 2.0, 65504.0]):
        check = one(
            tmp_path, "Tensor.__mul__.0.forward", args=[Of(x, "float16"), 2], out=[Of(made, "float16")]
        )
        assert check.outcome == "within"
    made = [np.nan, -np.inf, 2.0, np.inf]
    check = one(tmp_path, "Tensor.__mul__.0.forward", args=[Of(x, "float16"), 2], out=[Of(made, "float16")])
    assert check.outcome == "implementation" and check.outputs[0].index == (0,)


def test_nan_inputs_give_nan(tmp_path: Path) -> None:
    x = np.array([[np.nan, 1.0], [2.0, 3.0]])
    made = rounded(softmax(x, -1), "float32")
    call = {"args": [Of(x, "float32"), -1], "out": [Of(made, "float32")]}
    assert one(tmp_path, "Functional.softmax.0.forward", **call).outcome == "within"


def test_masked_scores_of_minus_inf(tmp_path: Path) -> None:
    x = normal(3, 4, dtype="float32")
    x[0, 1:] = -np.inf
    call = {"args": [Of(x, "float32"), -1], "out": [Of(rounded(softmax(x, -1), "float32"), "float32")]}
    assert one(tmp_path, "Functional.softmax.0.forward", **call).outcome == "within"


@pytest.mark.parametrize(
    ("name", "call", "why"),
    [
        (
            "Functional.linear.0.forward",
            {"args": [Of([1.0], "float16", False)], "out": [Of([1.0], "float16")]},
            "missing",
        ),
        (
            "Tensor.abs.0.forward",
            {"args": [Of([1.0], "float16")], "out": [Of([1.0], "float16", False)]},
            "missing",
        ),
        (
            "Acme.frobnicate.0.forward",
            {"args": [Of([1.0], "float16")], "out": [Of([1.0], "float16")]},
            "no-reference",
        ),
        (
            "Torch.abs.0.backward",
            {"args": [Of([1.0], "float16")], "out": [Of([1.0], "float16")]},
            "no-reference",
        ),
        (
            "Torch.rand_like.0.forward",
            {"args": [Of([1.0], "float16")], "out": [Of([1.0], "float16")]},
            "random",
        ),
        (
            "Torch.abs.0.forward",
            {"args": [Of([1.0], "float16")], "kwargs": {"mode": "x"}, "out": [Of([1.0], "float16")]},
            "unsupported",
        ),
        (
            "Torch.matmul.0.forward",
            {"args": [Of([[1.0, 2.0]], "float16"), Of([[1.0]], "float16")], "out": [Of([1.0], "float16")]},
            "does-not-fit",
        ),
        (
            "Functional.embedding.0.forward",
            {"args": [Of([7], "int64"), Of([[1.0]], "float16")], "out": [Of([[1.0]], "float16")]},
            "does-not-fit",
        ),
    ],
)
def test_what_cannot_be_told_says_why(name: str, call: dict[str, Any], why: str, tmp_path: Path) -> None:
    found = recheck(write(tmp_path, {name: call}), name)
    assert (found.calls[0].check.outcome, found.calls[0].check.why) == ("unknown", why)
    assert found.report.exit_code() == 4
    (finding,) = found.report.findings
    assert finding.message and finding.next_step and finding.rule == "recheck.unknown"


def test_a_lost_file_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, {"Torch.abs.0.forward": {"args": [Of([1.0], "float32")], "out": [Of([1.0], "float32")]}})
    next(tmp_path.rglob("*.input.0.npy")).write_bytes(b"\x93NUMPY no header")
    found = recheck(tmp_path, "Torch.abs.0.forward")
    assert found.calls[0].check.why == "unreadable"
    assert len(found.report.problems) == 1 and found.report.verdict == "incomplete"


def test_too_large_a_call_is_refused_unread(tmp_path: Path) -> None:
    """A sparse file: reading it would take 16 GiB."""
    name = "Torch.abs.0.forward"
    write(tmp_path, {name: {"args": [Of(np.ones(4), "float32")], "out": [Of(np.ones(4), "float32")]}})
    header = np.lib.format.header_data_from_array_1_0(np.ones(4, np.float32))
    for path in tmp_path.rglob("*.npy"):
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {**header, "shape": (1 << 32,)})
            file.truncate(file.tell() + (4 << 32))
    text = next(tmp_path.rglob("dump.json"))
    text.write_text(text.read_text().replace('"shape": [4]', f'"shape": [{1 << 32}]'))
    found = recheck(tmp_path, name)
    assert found.calls[0].check.why == "too-large"


def test_both_sides(tmp_path: Path) -> None:
    x = normal(4, 8)
    right, wrong = rounded(softmax(x, -1), "float16"), rounded(softmax(x, 0), "float16")
    for side, made in (("npu", wrong), ("golden", right)):
        call = {"args": [Of(x, "float16")], "kwargs": {"dim": -1}, "out": [Of(made, "float16")]}
        write(tmp_path / side, {"Functional.softmax.0.forward": call})
    found = recheck(tmp_path, "softmax")
    (only,) = found.calls
    assert only.check.side == "target" and only.check.outcome == "call"
    assert only.golden is not None and only.golden.outcome == "within"
    assert found.report.verdict == "fail" and found.report.exit_code() == 1
    text = "\n".join(found.lines("en"))
    assert "dim=0" in text and "golden: within" in text
    golden = recheck(tmp_path, "softmax", side="golden")
    assert golden.report.verdict == "pass" and golden.calls[0].check.side == "golden"
    with pytest.raises(UsageError):
        recheck(tmp_path, "softmax", side="left")


def test_which_calls_a_word_means(tmp_path: Path) -> None:
    call = {"args": [Of([1.0, -2.0], "float32")], "out": [Of([1.0, 2.0], "float32")]}
    names = ["Torch.abs.0.forward", "Torch.abs.1.forward", "Tensor.abs.0.forward", "Tensor.abs_.0.forward"]
    run = write(tmp_path, dict.fromkeys(names, call))
    for word, n in (("abs", 4), ("Torch.abs", 2), ("Torch.abs.1.forward", 1), ("Tensor.*", 2), ("abs_", 1)):
        assert len(recheck(run, word).calls) == n, word
    with pytest.raises(UsageError, match="no call fits 'abz'"):
        recheck(run, "abz")
    with pytest.raises(UsageError) as failure:  # part of a name
        recheck(run, "Bs_")
    assert failure.value.hint == "calls here: Tensor.abs_.0.forward"
    with pytest.raises(InputError, match="no rank 7"):
        recheck(run, "abs", options=AnalysisOptions(rank=7))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no dump"):
        recheck(tmp_path / "empty", "abs")


OPERATORS = ("linear", "softmax", "npu_rms_norm", "add", "gelu", "npu_swiglu", "layer_norm")


def made_of(api: str, x: Floats, w: Floats) -> tuple[list[Any], Floats]:
    """Arguments and the truth, by formulas of this test's own."""
    if api == "linear":
        return [x, w], x @ w.T
    if api == "softmax":
        return [x, -1], softmax(x, -1)
    if api == "npu_rms_norm":
        return [x, w[0], 1e-6], x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[0]
    if api == "add":
        return [x, w[0]], x + w[0]
    if api == "gelu":
        from math import erf

        return [x], x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
    if api == "npu_swiglu":
        gate, up = np.split(x, 2, -1)
        return [x], gate / (1 + np.exp(-gate)) * up
    centred = x - x.mean(-1, keepdims=True)
    return [x, [x.shape[-1]]], centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


@given(
    api=st.sampled_from(OPERATORS),
    dtype=st.sampled_from(["float16", "bfloat16", "float32"]),
    rows=st.integers(1, 4),
    half=st.integers(1, 12),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.01, 1.0, 8.0]),
)
def test_a_correctly_rounded_output_is_never_wrong_and_one_16_bounds_away_always_is(
    tmp_path_factory: pytest.TempPathFactory,
    api: str,
    dtype: str,
    rows: int,
    half: int,
    seed: int,
    scale: float,
) -> None:
    folder = tmp_path_factory.mktemp("dump")
    x = normal(rows, 2 * half, seed=seed, dtype=dtype, scale=scale)
    w = normal(3, 2 * half, seed=seed + 1, dtype=dtype)
    arguments, truth = made_of(api, x, w)
    args = [Of(a, dtype) if isinstance(a, np.ndarray) else a for a in arguments]
    made = rounded(truth, dtype)
    name = f"Functional.{api}.0.forward"
    check = one(folder, name, args=args, out=[Of(made, dtype)])
    assert check.outcome == "within"
    bound = check.outputs[0].bound
    place = check.outputs[0].index
    moved = made.copy()
    moved[place] = rounded(truth[place] + 16 * bound, dtype)
    if abs(moved[place] - truth[place]) > 1.1 * bound:  # else it was rounded back
        assert one(folder, name, args=args, out=[Of(moved, dtype)]).outcome != "within"


def test_in_code(tmp_path: Path) -> None:
    call = {"args": [Of([1.0, -2.0], "float32")], "out": [Of([1.0, 2.0], "float32")]}
    found = npulse.recheck(write(tmp_path, {"Torch.abs.0.forward": call}), "abs")
    assert (found.report.verdict, found.calls[0].check.outcome) == ("pass", "within")


def test_a_large_product_is_computed_for_some_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npulse.core.recheck.sample.MAX_WORK", 8 * 4 * 10.0)
    x, w = normal(5, 10, 8), normal(4, 8, seed=2)
    made = rounded(x @ w.T, "float16")
    made[4, 9, 2] += 1  # the last row is always one of them
    args = [Of(x, "float16"), Of(w, "float16")]
    check = one(tmp_path, "Functional.linear.0.forward", args=args, out=[Of(made, "float16")])
    (output,) = check.outputs
    assert (check.outcome, output.index, output.shape) == ("implementation", (4, 9, 2), (5, 10, 4))
    assert (output.n_elements, output.n_left_out) == (40, 160)
    assert "40 of 200 elements" in "\n".join(recheck(tmp_path, "linear").lines("en"))


def test_two_sides_that_are_wrong_alike_accuse_the_reference(tmp_path: Path) -> None:
    x = normal(4, 8)
    for side, made in (("npu", np.cosh(x)), ("golden", np.cosh(x) + 0.01)):
        call = {"args": [Of(x, "float16")], "out": [Of(rounded(made, "float16"), "float16")]}
        write(tmp_path / side, {"Torch.tanh.0.forward": call})
    (only,) = recheck(tmp_path, "tanh").calls
    assert (only.check.outcome, only.check.why) == ("unknown", "alike")
    assert only.golden is not None and only.golden.outcome == "implementation"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("Torch.mul.0.forward", [Of(np.ones((1 << 15, 1)), "float32"), Of(np.ones(1 << 15), "float32")]),
        ("Tensor.repeat.0.forward", [Of([1.0], "float32"), 1 << 40]),
        ("Functional.one_hot.0.forward", [Of([1, 2], "int64"), 1 << 40]),
        ("Torch.bincount.0.forward", [Of([1 << 40], "int64")]),
        ("Torch.einsum.0.forward", ["i,j->ij", [Of(np.ones(1 << 15), "float32")] * 2]),
        ("Torch.outer.0.forward", [Of(np.ones(1 << 15), "float32")] * 2),
    ],
)
def test_little_that_would_become_much_is_refused(name: str, args: list[Any], tmp_path: Path) -> None:
    check = one(tmp_path, name, args=args, out=[Of([1.0], "float32")])
    assert (check.outcome, check.why) == ("unknown", "does-not-fit") and "a result of" in check.detail


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 1 << 70), st.floats(), st.text(max_size=5),
    st.lists(st.integers(-3, 9), max_size=3),
    st.builds(
        lambda shape, seed, dtype: Of(np.random.default_rng(seed).integers(-3, 9, shape), dtype),
        st.lists(st.integers(0, 4), max_size=3), st.integers(0, 99),
        st.sampled_from(["float32", "float16", "bfloat16", "int64", "int8", "bool", "complex64"]),
    ),
)  # fmt: skip
WORDS = st.sampled_from(
    ["dim", "eps", "weight", "bias", "scale", "input", "other", "approximate", "out", "xyz", "self"]
)


@given(
    api=st.sampled_from([name for name in known_names() if name.islower()]),
    args=st.lists(JUNK, max_size=5),
    named=st.dictionaries(WORDS, JUNK, max_size=3),
    out=st.lists(JUNK, min_size=1, max_size=2),
)
def test_no_call_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, api: str, args: list[Any], named: dict[str, Any], out: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("dump")
    name = f"NPU.{api}.0.forward"
    found = recheck(write(folder, {name: {"args": args, "kwargs": named, "out": out}}), name)
    assert len(found.calls) <= 1
    for lang in ("en", "zh"):
        assert all(isinstance(line, str) for line in found.lines(lang))  # type: ignore[arg-type]
    assert found.report.exit_code() in (0, 1, 4)


def test_many_calls_without_tensors_are_one_finding(tmp_path: Path) -> None:
    lost = {"args": [Of([1.0], "float32", False)], "out": [Of([1.0], "float32", False)]}
    other = {"args": [Of([1.0], "float32")], "out": [Of([1.0], "float32")]}
    calls = {f"Torch.abs.{n}.forward": lost for n in range(9)} | {"Torch.abs.0.backward": other}
    report = recheck(write(tmp_path, calls), "Torch.abs*").report
    assert [finding.figures["reason"] for finding in report.findings] == ["missing", "no-reference"]
    assert report.findings[0].figures["n_calls"] == 9 and "9 calls" in report.findings[0].message
    assert report.counts["unknown"] == 10 and report.exit_code() == 4


def test_a_layer_whose_weight_was_not_dumped_is_not_accused(tmp_path: Path) -> None:
    x, w = normal(4, 8, dtype="float32"), normal(8, seed=2, dtype="float32")
    normed = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    name = "Module.norm.RMSNorm.forward.0"
    for made, outcome in ((normed, "within"), (normed * w, "unknown")):
        call = {
            "args": [Of(x, "float32")],
            "parameters": {},
            "out": [Of(rounded(made, "float32"), "float32")],
        }
        check = one(tmp_path, name, **call)
        assert check.outcome == outcome
    assert check.missing == (f"{name}.parameters.weight",)


def test_a_parallel_layer_whose_output_was_summed_over_ranks_is_not_accused(tmp_path: Path) -> None:
    x, w = normal(3, 8, dtype="float32"), normal(4, 8, seed=2, dtype="float32")
    made = Of(rounded(x @ w.T + 1, "float32"), "float32")
    parameters = {"weight": Of(w, "float32")}
    for cls, outcome in (("Linear", "implementation"), ("RowParallelLinear", "unknown")):
        name = f"Module.layers.0.proj.{cls}.forward.0"
        check = one(tmp_path, name, args=[Of(x, "float32")], parameters=parameters, out=[made])
        assert check.outcome == outcome
    assert check.why == "communicates"


def test_what_models_round_between_their_steps_is_allowed(tmp_path: Path) -> None:
    """As transformers write RMSNorm, and vllm SiluAndMul: each step an operator that rounds to bfloat16."""
    x, w = normal(16, 64, dtype="bfloat16"), normal(64, seed=2, dtype="bfloat16")
    normed = rounded(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6), "bfloat16")
    norm = one(
        tmp_path,
        "Module.norm.LlamaRMSNorm.forward.0",
        args=[Of(x, "bfloat16")],
        parameters={"weight": Of(w, "bfloat16")},
        out=[Of(rounded(normed * w, "bfloat16"), "bfloat16")],
    )
    gate, up = np.split(x, 2, -1)
    silu = rounded(gate / (1 + np.exp(-gate)), "bfloat16")
    gated = one(
        tmp_path,
        "Module.mlp.act_fn.SiluAndMul.forward.0",
        args=[Of(x, "bfloat16")],
        parameters={},
        out=[Of(rounded(silu * up, "bfloat16"), "bfloat16")],
    )
    assert (norm.outcome, gated.outcome) == ("within", "within")


def test_names_with_an_overload_or_a_namespace(tmp_path: Path) -> None:
    call = {"args": [Of([1.0], "float32"), Of([2.0], "float32")], "out": [Of([3.0], "float32")]}
    for name in ("Aten.add.Tensor.0.forward", "Mint.add.0.forward", "Tensor.__radd__.0.forward"):
        assert one(tmp_path, name, **call).outcome == "within"
    assert (
        one(
            tmp_path,
            "Torch.linalg.vector_norm.0.forward",
            args=[Of([3.0, 4.0], "float32")],
            out=[Of(5.0, "float32")],
        ).outcome
        == "within"
    )
