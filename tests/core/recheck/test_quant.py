"""The study of an activation under int8, against loops over single numbers and the demo's own model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import UsageError
from npulse.core.formats.tensors import open_tensor, widen
from npulse.core.recheck.quant import study as module
from npulse.core.recheck.quant.model import Study
from npulse.core.recheck.quant.rows import Rows
from npulse.core.recheck.quant.study import study
from npulse.core.recheck.run_recheck import RecheckReport, recheck
from npulse.sample_runs import sample_path
from npulse.sample_runs.make_w8a8 import OUTLIER_CHANNEL, RARE_POSITION, make_weights
from npulse.sample_runs.w8a8.model import model as net

from .dumps import Of, rounded, write

Floats = npt.NDArray[np.float64]
RANDOM = np.random.default_rng(9)


def back(value: float, scale: float, zero: float = 0) -> float:
    """One number through int8 and back, with Python's own rounding."""
    return (min(max(round(value / scale) + zero, -128), 127) - zero) * scale if scale else 0.0


def relative(x: Floats, returned: Floats) -> float:
    error = math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x.flat, returned.flat, strict=True))
    return math.sqrt(error / math.fsum(float(a) ** 2 for a in x.flat))


def by_loops(x: Floats, scale_of: Any) -> tuple[float, int]:
    """Relative error and clipped elements. scale_of: (row, column) -> scale, zero."""
    returned, n_clipped = np.zeros(x.shape), 0
    for place in np.ndindex(x.shape):
        scale, zero = scale_of(*place)
        returned[place] = back(float(x[place]), scale, zero)
        n_clipped += bool(scale) and not -128 <= round(float(x[place]) / scale) + zero <= 127
    return relative(x, returned), n_clipped


def asymmetric(values: Floats) -> tuple[float, float]:
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)


X = RANDOM.normal(size=(7, 5)) * [1, 1, 20, 1, 0.1] + [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("granularity", "is_symmetric", "scale_of"),
    [
        ("given", True, lambda i, j: (0.05, 0)),
        ("tensor", True, lambda i, j: (float(abs(X).max()) / 127, 0)),
        ("tensor", False, lambda i, j: asymmetric(X)),
        ("token", True, lambda i, j: (float(abs(X[i]).max()) / 127, 0)),
        ("token", False, lambda i, j: asymmetric(X[i])),
        ("channel", True, lambda i, j: (float(abs(X[:, j]).max()) / 127, 0)),
        ("channel", False, lambda i, j: asymmetric(X[:, j])),
    ],
)
def test_each_scheme_is_what_single_numbers_give(granularity: Any, is_symmetric: bool, scale_of: Any) -> None:
    found = study("x", Rows(X), scale=np.array([0.05])).of(granularity, is_symmetric)
    error, n_clipped = by_loops(X, scale_of)
    assert found is not None
    assert found.rel_l2 == pytest.approx(error, rel=1e-12)
    assert found.n_clipped == n_clipped and found.clipped_ratio == pytest.approx(n_clipped / X.size)


def test_what_would_have_been_needed_and_what_stands_out() -> None:
    found = study("x", Rows(X), scale=np.array([0.05]))
    assert found.needed == float(abs(X).max()) / 127 and found.given == 0.05
    assert [one.place for one in found.channels] == [2]
    assert found.clips_what_matters
    assert not study("x", Rows(X), scale=np.array([found.needed])).clips_what_matters


def test_blocks_do_not_change_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = RANDOM.normal(size=(50, 8)), RANDOM.normal(size=(8, 3))
    whole = study("x", Rows(x), scale=np.array([0.01]), weight=weight)
    monkeypatch.setattr("npulse.core.recheck.quant.rows.BLOCK_ELEMENTS", 24)
    parts = study("x", Rows(x), scale=np.array([0.01]), weight=weight)
    for a, b in zip(whole.schemes, parts.schemes, strict=True):
        assert (a.n_clipped, a.max_abs_error, a.scale_max) == (b.n_clipped, b.max_abs_error, b.scale_max)
        assert a.rel_l2 == pytest.approx(b.rel_l2) and a.product_rel_l2 == pytest.approx(b.product_rel_l2)


def test_products_of_a_sample_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = RANDOM.normal(size=(50, 8)), RANDOM.normal(size=(8, 3))
    monkeypatch.setattr(module, "MAX_PRODUCT_FLOPS", 24 * 10 * 10)
    found = study("x", Rows(x), scale=np.array([0.01]), weight=weight)
    assert 0 < found.n_rows_used < 50 and found.own is not None and found.own.product_rel_l2 is not None


def test_smoothing_moves_what_a_channel_costs_to_the_weight() -> None:
    x = RANDOM.normal(size=(40, 16)) * np.where(np.arange(16) == 3, 60, 1)
    weight = RANDOM.normal(size=(16, 12))
    found = study("x", Rows(x), weight=weight)
    tensor, smooth = found.of("tensor"), found.of("smooth")
    assert tensor is not None and smooth is not None
    assert smooth.product_rel_l2 is not None and tensor.product_rel_l2 is not None
    assert smooth.product_rel_l2 < tensor.product_rel_l2 / 3
    factor = np.sqrt(abs(x).max(0) / abs(weight).max(1))
    moved, other = x / factor, weight * factor[:, None]
    scale, scales = abs(moved).max() / 127, abs(other).max(0) / 127
    made = (np.rint(moved / scale) * scale) @ (np.rint(other / scales) * scales)
    assert smooth.product_rel_l2 == pytest.approx(relative(x @ weight, made), rel=1e-9)


def test_elements_that_are_not_finite_and_tensors_of_nothing() -> None:
    x = np.array([[1.0, np.nan], [np.inf, -2.0]])
    found = study("x", Rows(x), scale=np.array([0.1]))
    assert (found.n_not_finite, found.absmax) == (2, 2.0)
    for empty in (np.zeros((0, 4)), np.zeros((3, 0)), np.zeros((2, 2))):
        nothing = study("x", Rows(empty), scale=np.array([0.1]), weight=np.ones((4, 2)))
        assert nothing.absmax == 0 and all(one.rel_l2 == 0 for one in nothing.schemes)


@given(
    rows=st.integers(1, 6),
    channels=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    spread=st.floats(0.01, 100),
)
def test_a_range_that_holds_all_is_off_by_half_a_step_at_most(
    rows: int, channels: int, seed: int, spread: float
) -> None:
    x = np.random.default_rng(seed).normal(size=(rows, channels)) * spread
    found = study("x", Rows(x))
    for one in found.schemes:
        if one.is_symmetric:
            assert one.n_clipped == 0 and one.max_abs_error <= one.scale_max * 0.5000001
        else:  # its zero point is whole: the ends may lie half a step outside
            assert one.max_abs_error <= one.scale_max * 1.0000001
    tensor, token = found.of("tensor"), found.of("token")
    assert tensor is not None and token is not None and token.scale_max == tensor.scale_max


ORIGIN = "Module.model.layers.25.self_attn.qkv_proj.Linear.forward.0"
ABSMAX = 6.375
"""What calibration saw, by round.toml."""


def demo_report() -> RecheckReport:
    options = AnalysisOptions(round_name="round1")
    return recheck(sample_path("w8a8"), ORIGIN, scale=repr(ABSMAX / 127), options=options)


def demo() -> tuple[Study, Floats]:
    run = sample_path("w8a8")
    (one,) = demo_report().calls
    assert one.study is not None
    path = run / "round1/target/step0/rank0/dump_tensor_data" / f"{ORIGIN}.input.0.pt"
    file = open_tensor(path, root=run)
    return one.study, widen(file.array(), file.dtype).astype(np.float64)


def test_the_demo_clips_the_rare_tokens_channel() -> None:
    found, x = demo()
    assert str(ABSMAX) in (sample_path("w8a8") / "round1/round.toml").read_text()
    assert [one.place for one in found.channels] == [OUTLIER_CHANNEL]
    assert [one.place for one in found.tokens] == [RARE_POSITION]
    own = found.own
    assert own is not None and own.n_clipped == int((abs(np.rint(x / (ABSMAX / 127))) > 127).sum()) == 1
    assert found.clips_what_matters
    report = demo_report().report
    assert [finding.rule for finding in report.findings] == ["recheck.clipped"], "the weight was not dumped"
    assert (report.verdict, report.exit_code()) == ("warn", 0)
    returned = net.quantise(x, ABSMAX / 127) * (ABSMAX / 127)
    assert own.rel_l2 == pytest.approx(relative(x, returned), rel=1e-12)


def test_products_are_those_of_the_demos_own_int8_layers() -> None:
    _, x = demo()
    weight = make_weights()["model.layers.25.self_attn.qkv_proj"]
    found = study("x", Rows(x), scale=np.array([ABSMAX / 127]), weight=weight.T)
    truth = net.product(x, weight)
    static, dynamic = net.w8a8_static_multiply(weight, ABSMAX)(x), net.w8a8_dynamic_multiply(weight)(x)
    own, token = found.own, found.of("token")
    assert own is not None and own.product_rel_l2 == pytest.approx(relative(truth, static), rel=1e-9)
    assert token is not None and token.product_rel_l2 == pytest.approx(relative(truth, dynamic), rel=1e-9)
    assert own.product_rel_l2 > 10 * token.product_rel_l2


def quantize(x: Floats, scale: float) -> dict[str, Any]:
    made = np.clip(np.rint(x / scale), -128, 127)
    return {
        "args": [Of(x, "float32"), Of([scale], "float32"), None, "torch.qint8", 1],
        "out": [Of(made, "int8")],
    }


def test_a_quantising_call_shows_its_own_scale(tmp_path: Path) -> None:
    x, scale = rounded(X, "float32"), float(np.float32(0.05))
    name = "NPU.npu_quantize.0.forward"
    found = recheck(write(tmp_path, {name: quantize(x, scale)}), name)
    (one,) = found.calls
    assert one.check.outcome == "within" and one.study is not None and one.study.given == scale
    (finding,) = found.report.findings
    assert (finding.rule, finding.severity) == ("recheck.clipped", "warning")
    assert finding.figures["n_clipped"] == one.study.schemes[0].n_clipped > 0
    text = "\n".join(found.lines("zh"))
    assert "截断" in text and "SmoothQuant" not in text


def test_an_operand_that_is_int8_already_tells_its_ends_alone(tmp_path: Path) -> None:
    x1 = np.array([[127, -128, 5, 0], [1, 2, 3, 4]])
    call = {
        "args": [Of(x1, "int8"), Of(np.eye(4), "int8"), Of([1.0], "float32")],
        "out": [Of(x1.astype(float), "float16")],
    }
    name = "NPU.npu_quant_matmul.0.forward"
    (one,) = recheck(write(tmp_path, {name: call}), name).calls
    assert one.study is not None and one.study.at_ends_ratio == 0.25


def test_a_w8a8_layer_by_the_names_of_its_parameters(tmp_path: Path) -> None:
    x = rounded(RANDOM.normal(size=(6, 4)), "bfloat16")
    weight, scales = (
        RANDOM.integers(-127, 128, size=(3, 4)),
        rounded(RANDOM.uniform(0.01, 0.02, 3), "float32"),
    )
    parameters = {
        "weight": Of(weight, "int8"),
        "weight_scale": Of(scales[:, None], "float32"),
        "input_scale": Of([0.004], "float32"),
    }
    name = "Module.layers.0.fc.W8A8Linear.forward.0"
    call = {"args": [Of(x, "bfloat16")], "parameters": parameters, "out": [Of(np.zeros((6, 3)), "bfloat16")]}
    (one,) = recheck(write(tmp_path, {name: call}), name).calls
    assert one.study is not None and one.study.given == float(np.float32(0.004))
    own = one.study.own
    assert own is not None and own.product_rel_l2 is not None and own.n_clipped > 0


def test_names_that_are_not_there(tmp_path: Path) -> None:
    run = write(tmp_path, {"NPU.npu_quantize.0.forward": quantize(rounded(X, "float32"), 0.05)})
    for named, said in (
        ({"activation": "input.7"}, "has no 'input.7'"),
        ({"scale": "nosuch"}, "has no 'nosuch'"),
        ({"scale": "-1"}, "says nothing"),
        ({"scale": "nan"}, "says nothing"),
        ({"scale": "input.0"}, "35 values"),
    ):
        with pytest.raises(UsageError, match=said):
            recheck(run, "npu_quantize", **named)  # type: ignore[arg-type]
