"""Another dtype on the other side, casts that lose numbers: what numpy makes of the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.api import compare
from npulse.core.findings import Finding
from npulse.core.formats.tensors import dtype_of
from npulse.core.precision.mixed.other_dtype import rounded

from ..own.dumps import checked, own, random, write

LINEAR = "Functional.linear.{}.forward"
X = random(1, 32, 8)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.sampled_from(("float16", "float32")))
def test_rounding_is_that_of_numpy(values: list[float], name: str) -> None:
    dtype, x = dtype_of(name), np.array(values)
    assert dtype is not None
    with np.errstate(over="ignore"):
        want = x.astype(name).astype(np.float64)
    np.testing.assert_array_equal(rounded(x, dtype), want)


@given(st.integers(0, 0xFF7F), st.floats(-0.49, 0.49))
def test_bfloat16_is_the_upper_half_of_float32(bits: int, away: float) -> None:
    """A value less than half a step from a bfloat16 is that one."""
    dtype = dtype_of("bfloat16")
    near, above = (
        np.array([b << 16], np.uint32).view(np.float32).astype(np.float64) for b in (bits, bits + 1)
    )
    if not (np.isfinite(near).all() and np.isfinite(above).all()) or dtype is None:
        return
    step = np.abs(above - near) / 2  # below a power of two the steps are half as wide
    np.testing.assert_array_equal(rounded(near + away * step, dtype), near)


def test_layers_within_the_rounding_of_the_coarser_dtype_are_a_line_and_no_finding(tmp_path: Path) -> None:
    y = random(7, 32, 8)
    assert casts(tmp_path, [y.astype(np.float16)], [y]) == []
    told = compare(tmp_path / "t", tmp_path / "g").report.told
    assert any("float16 on the target and in float32" in line and "explains 100 %" in line for line in told)


def casts(folder: Path, target: list[Any], golden: list[Any]) -> list[Finding]:
    for side, made in (("t", target), ("g", golden)):
        calls = {LINEAR.format(i): ([X], [y]) for i, y in enumerate(made)}
        write(folder / side / "step0" / "rank0", calls)
    return [f for f in compare(folder / "t", folder / "g").findings if f.rule == "precision.cast"]


def test_layers_in_another_dtype_are_one_finding(tmp_path: Path) -> None:
    golden = [random(i, 32, 8) for i in range(5)]
    target: list[Any] = [y.astype(np.float16) for y in golden[:3]] + golden[3:]
    target[1] = target[1] * np.float16(1.25)
    (found,) = casts(tmp_path, target, golden)
    assert (found.severity, found.role, found.subject) == ("note", "benign", LINEAR.format(0))
    assert (found.figures["dtype_target"], found.figures["dtype_golden"]) == ("float16", "float32")
    assert (found.figures["n_tensors"], found.figures["n_equal_after_cast"]) == (3, 2)
    assert found.figures["n_within_rounding"] == 2 and found.figures["explained_share"] < 0.01
    assert [r.subject for r in found.related] == [LINEAR.format(1), LINEAR.format(2)]


@pytest.mark.parametrize("is_target", [True, False])
def test_the_share_is_what_is_left_behind_the_cast(tmp_path: Path, is_target: bool) -> None:
    fine = random(3, 32, 8)
    coarse = (fine * np.float32(1.001)).astype(np.float16)
    sides = ([coarse], [fine]) if is_target else ([fine], [coarse])
    (found,) = casts(tmp_path, *sides)
    a, b, cast = (x.astype(np.float64) for x in (coarse, fine, fine.astype(np.float16)))
    want = 1 - np.square(a - cast).sum() / np.square(a - b).sum()
    assert found.figures["explained_share"] == pytest.approx(max(want, 0.0), abs=1e-9)


def test_numbers_that_the_coarser_dtype_cannot_hold_are_a_warning(tmp_path: Path) -> None:
    golden = random(3, 32, 8)
    golden[0, :3], golden[1] = 1e5, 1e-9
    with np.errstate(over="ignore"):
        target = golden.astype(np.float16)
    (found,) = casts(tmp_path, [target], [golden])
    assert (found.severity, found.role) == ("warning", "suspect")
    assert (found.figures["n_infinite"], found.figures["n_flushed"]) == (3, 8)


# ---- one capture -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["tensor", "statistics"])
def test_a_cast_that_overflows(tmp_path: Path, mode: str) -> None:
    x = random(4, 64)
    x[5] = 1e6
    with np.errstate(over="ignore"):
        y = x.astype(np.float16)
    write(tmp_path / "step0" / "rank0", {"Tensor.to.0.forward": ([x], [y])}, mode)
    (found,) = own(checked(tmp_path))
    assert (found.rule, found.severity) == ("precision.cast", "warning")
    assert "infinite" in found.message
    if mode == "tensor":
        assert (found.figures["n_infinite"], found.figures["n_flushed"]) == (1, 0)


def test_a_cast_that_loses_small_numbers(tmp_path: Path) -> None:
    x = random(4, 1000) * np.float32(1e-7)
    y = x.astype(np.float16)
    write(tmp_path / "step0" / "rank0", {"Tensor.half.0.forward": ([x], [y])})
    (found,) = own(checked(tmp_path))
    assert found.figures["n_flushed"] == int((y == 0).sum()) > 100
    assert (
        found.figures["n_subnormal"] == int(((y != 0) & (np.abs(y) < np.finfo(np.float16).tiny)).sum()) > 100
    )


def test_casts_that_lose_no_numbers_are_nothing(tmp_path: Path) -> None:
    x = random(4, 64)
    calls = {"Tensor.half.0.forward": ([x], [x.astype(np.float16)]), "Tensor.float.0.forward": ([x], [x])}
    write(tmp_path / "step0" / "rank0", calls)
    assert own(checked(tmp_path)) == []
