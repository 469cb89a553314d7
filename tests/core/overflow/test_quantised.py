"""Quantised models: elements at the end of the integer range, activations beyond their calibrated range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.quantised import clipped, out_of_range

from .small_dumps import INF, NAN, analysed, bwd, causes, fwd, looked, mod, nan, num, rec, reported, write

LINEAR = "Module.fc.W8A8Linear.forward.0"
QUANTIZE = "NPU.npu_quantize.0.forward"


def int8(high: int = 127, share: float = 0.25, n: int = 400) -> npt.NDArray[np.int8]:
    x = np.arange(n, dtype=np.int64) % 100 - 50
    x[: round(share * n)] = high
    return x.astype(np.int8)


def with_files(folder: Path, arrays: dict[str, npt.NDArray[Any]], sides: dict[str, str]) -> Overflow:
    """One call of which each array is on a side ("input", "output", "parameters"), written as a file."""
    place = folder / "step0" / "rank0"
    files = place / "dump_tensor_data"
    files.mkdir(parents=True, exist_ok=True)
    made: dict[str, list[Any]] = {"input": [], "output": [], "parameters": []}
    for name, x in arrays.items():
        np.save(files / f"{name}.npy", x)
        record = rec(int(x.max()), int(x.min()), x.dtype.name, x.shape, data_name=f"{name}.npy")
        made[sides[name]].append(record)
    entry = mod(made["input"], made["output"], **{f"w{i}": r for i, r in enumerate(made["parameters"])})
    write(folder, {LINEAR: entry}, task="tensor", level="L0")
    return analysed(folder)


@pytest.mark.parametrize("high", [127, -127, -128])
@pytest.mark.parametrize("share", [0.25, 0.015])
def test_the_share_at_either_end(high: int, share: float, tmp_path: Path) -> None:
    found = with_files(tmp_path, {"q": int8(high, share)}, {"q": "output"})
    (one,) = clipped(found.ranks[0], 0.01)
    assert one.share == pytest.approx(share, abs=1e-9)
    assert one.row == 0
    assert causes(found) == []
    told = reported(found)
    (finding,) = [f for f in told.findings if f.rule == "overflow.clipped"]
    assert finding.figures["clipped_ratio"] == pytest.approx(share)
    assert (told.verdict, finding.severity) == ("warn", "warning")


@pytest.mark.parametrize(
    ("array", "side"),
    [
        (int8(127, 0.005), "output"),
        (int8(126, 0.5), "output"),
        (int8(127, 0.5), "parameters"),
        (int8(127, 0.5).astype(np.int16), "output"),
        (int8(127, 0.5).view(np.uint8), "output"),
        (np.array([127], np.int8), "output"),
        (np.zeros(0, np.int8), "output"),
    ],
)
def test_what_is_not_clipped(array: npt.NDArray[Any], side: str, tmp_path: Path) -> None:
    if not array.size:
        found = looked(tmp_path, {LINEAR: mod([], [rec(None, None, "int8", [0])])})
    else:
        found = with_files(tmp_path, {"q": array}, {"q": side})
    assert clipped(found.ranks[0], 0.01) == []


def test_statistics_alone_tell_no_share(tmp_path: Path) -> None:
    found = looked(tmp_path, {LINEAR: mod([], [rec(127, -128, "int8", [100])])})
    assert clipped(found.ranks[0], 0.01) == []
    assert causes(found) == []


def test_the_worst_comes_first(tmp_path: Path) -> None:
    arrays = {"a": int8(127, 0.1), "b": int8(127, 0.3), "c": int8(127, 0.2)}
    found = with_files(tmp_path, arrays, dict.fromkeys(arrays, "output"))
    assert [one.share for one in clipped(found.ranks[0], 0.01)] == pytest.approx([0.3, 0.2, 0.1])
    assert [one.share for one in clipped(found.ranks[0], 0.15)] == pytest.approx([0.3, 0.2])


# ---- beyond the calibrated range ----

X = rec(10.0, -3.0)
SCALE = rec(0.05, 0.05, "float32", [1])
SCALES = rec(0.05, 0.01, "float32", [4])
OUT = rec(127, -40, "int8")

BEYOND: dict[str, tuple[str, Any, float]] = {
    "parameter": (LINEAR, mod([X], [OUT], input_scale=SCALE), 0.05),
    "other-word": (LINEAR, mod([X], [OUT], act_scale=SCALE), 0.05),
    "largest-of-several": (LINEAR, mod([X], [OUT], input_scale=SCALES), 0.05),
    "nested-name": (LINEAR, {**mod([X], [OUT]), "parameters": {"quant.input_scale": SCALE}}, 0.05),
    "keyword": ("NPU.quant_matmul.0.forward", fwd([X], [OUT], x_scale=SCALE), 0.05),
    "keyword-number": ("NPU.quant_matmul.0.forward", fwd([X], [OUT], input_scale=num(0.05)), 0.05),
    "second-argument": (QUANTIZE, fwd([X, SCALE, None], [OUT]), 0.05),
    "second-argument-number": (
        "Torch.quantize_per_tensor.0.forward",
        fwd([X, num(0.05), num(0)], [OUT]),
        0.05,
    ),
    "negative-side": (LINEAR, mod([rec(3.0, -10.0)], [OUT], input_scale=SCALE), 0.05),
    "reciprocal": (
        QUANTIZE,
        fwd([X, rec(20.0, 20.0, "float32", [1]), None, {}, num(-1), num(False)], [OUT]),
        0.05,
    ),
    "reciprocal-keyword": (
        QUANTIZE,
        fwd([X, rec(20.0, 20.0, "float32", [1])], [OUT], div_mode=num(False)),
        0.05,
    ),
    "no-reciprocal-keyword": (QUANTIZE, fwd([X, SCALE], [OUT], div_mode=num(True)), 0.05),
}


@pytest.mark.parametrize("case", BEYOND)
def test_an_activation_larger_than_its_scale_can_hold(case: str, tmp_path: Path) -> None:
    name, entry, scale = BEYOND[case]
    found = looked(tmp_path, {name: entry})
    (one,) = out_of_range(found.ranks[0])
    assert (found.ranks[0].name(one.call), one.absmax) == (name, 10.0)
    assert one.range == pytest.approx(127 * scale)
    assert one.ratio == pytest.approx(10 / (127 * scale))
    told = reported(found)
    assert [f.rule for f in told.findings if f.severity == "warning"] == ["overflow.quant-range"]


@pytest.mark.parametrize(
    "entry",
    [
        mod([rec(6.3, -1.0)], [OUT], input_scale=SCALE),
        mod([rec(6.6, -1.0)], [OUT], input_scale=SCALE),  # within 5 %
        mod([X], [OUT], weight_scale=SCALE),
        mod([rec(10, -3, "int8")], [OUT], input_scale=SCALE),
        mod([X], [OUT], input_scale=rec(0.0, 0.0, shape=[1])),
        mod([X], [OUT], input_scale=rec(NAN, NAN, shape=[1])),
        mod([X], [OUT], input_scale=rec(None, None, shape=[1])),
        mod([rec(None, None)], [OUT], input_scale=SCALE),
        mod([nan()], [OUT], input_scale=SCALE),
        mod([rec(INF, 0.0)], [OUT], input_scale=SCALE),
        mod([], [OUT], input_scale=SCALE),
        mod([num(3.0)], [OUT], input_scale=num("wide")),
        mod([X], [OUT], input_scale=num("wide")),
        mod([X], [OUT], input_scale=num(10**400)),
        mod([X], [OUT], input_scale=num(True)),
        mod([X], [OUT], input_scale=num([0.05])),
    ],
)
def test_what_is_in_range_or_not_known(entry: Any, tmp_path: Path) -> None:
    assert out_of_range(looked(tmp_path, {LINEAR: entry}).ranks[0]) == []


def test_backward_calls_quantise_nothing(tmp_path: Path) -> None:
    data = {QUANTIZE.replace("forward", "backward"): bwd([X, SCALE], [OUT])}
    assert out_of_range(looked(tmp_path, data).ranks[0]) == []


def test_the_worst_call_comes_first(tmp_path: Path) -> None:
    data = {
        f"Module.fc{i}.Linear.forward.0": mod([rec(x, -1.0)], [OUT], input_scale=SCALE)
        for i, x in enumerate([10.0, 40.0, 20.0])
    }
    found = out_of_range(looked(tmp_path, data).ranks[0])
    assert [one.absmax for one in found] == [40.0, 20.0, 10.0]
