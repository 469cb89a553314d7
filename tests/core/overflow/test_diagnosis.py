"""Why a call with finite inputs gave NaN or Inf: bounds of the true value, what would hold it, domains."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.diagnosis import Diagnosis, diagnose

from .small_dumps import INF, MAX, bwd, fwd, looked, nan, num, rec

F16 = MAX["float16"]
PLUS = rec(INF, -1.0)
ALL_ABOVE = ("bfloat16", "float32", "float64")


def t(absmax: float, shape: tuple[int, ...] = (4,), norm: float | None = None, dtype: str = "float16") -> Any:
    return rec(absmax, -absmax / 2, dtype, shape, Norm=norm)


def diagnosed(folder: Path, name: str, entry: Any, *before: Any) -> tuple[Overflow, Diagnosis]:
    found = looked(folder, {**{f"Torch.x.{i}.forward": e for i, e in enumerate(before)}, name: entry})
    place, origin = found.origins()[0]
    assert found.ranks[place].name(origin.call) == name
    return found, diagnose(found.ranks[place], origin)


BOUNDS: dict[str, tuple[str, Any, str, float, tuple[str, ...]]] = {
    "add": ("Torch.add", fwd([t(4e4), t(3e4)], [PLUS]), "sum", 7e4, ALL_ABOVE),
    "add-in-place": ("Tensor.add_", fwd([t(4e4), t(3e4)], [PLUS]), "sum", 7e4, ALL_ABOVE),
    "add-dunder": ("Tensor.__iadd__", fwd([t(4e4), t(3e4)], [PLUS]), "sum", 7e4, ALL_ABOVE),
    "add-alpha": ("Torch.add", fwd([t(4e4), t(3e4)], [PLUS], alpha=num(10)), "sum", 3.4e5, ALL_ABOVE),
    "sub": ("Tensor.__sub__", fwd([t(4e4), t(3e4)], [PLUS]), "sum", 7e4, ALL_ABOVE),
    "mul": ("Torch.mul", fwd([t(3000.0), t(200.0)], [PLUS]), "product", 6e5, ALL_ABOVE),
    "mul-number": ("Tensor.__mul__", fwd([t(3000.0), num(-200.0)], [PLUS]), "product", 6e5, ALL_ABOVE),
    "mul-number-first": ("Tensor.__rmul__", fwd([t(3000.0), num(200)], [PLUS]), "product", 6e5, ALL_ABOVE),
    "square": ("Torch.square", fwd([t(1000.0)], [PLUS]), "power", 1e6, ALL_ABOVE),
    "pow": ("Torch.pow", fwd([t(100.0), num(3)], [PLUS]), "power", 1e6, ALL_ABOVE),
    "pow-beyond-float32": (
        "Torch.pow",
        fwd([t(1e4, dtype="float32"), num(12)], [rec(INF, 0.0, "float32")]),
        "power",
        1e48,
        ("float64",),
    ),
    "exp": ("Torch.exp", fwd([rec(12.0, -3.0)], [PLUS]), "exp", math.exp(12), ALL_ABOVE),
    "exp-float32": (
        "Torch.exp",
        fwd([rec(100.0, -3.0, "float32")], [rec(INF, 0.0, "float32")]),
        "exp",
        math.exp(100),
        ("float64",),
    ),
    "sum": ("Torch.sum", fwd([t(100.0, (50, 40))], [PLUS]), "total", 2e5, ALL_ABOVE),
    "cast": ("Tensor.to", fwd([t(1e5, dtype="float32")], [PLUS]), "cast", 1e5, ALL_ABOVE),
    "half": ("Tensor.half", fwd([t(1e5, dtype="bfloat16")], [PLUS]), "cast", 1e5, ALL_ABOVE),
    "div": ("Torch.div", fwd([t(100.0), num(1e-4)], [PLUS]), "divide", 1e6, ALL_ABOVE),
    "div-dunder": ("Tensor.__truediv__", fwd([t(100.0), num(1e-4)], [PLUS]), "divide", 1e6, ALL_ABOVE),
    "matmul-by-length": (
        "Torch.matmul",
        fwd([t(100.0, (2, 64)), t(50.0, (64, 8))], [PLUS]),
        "matmul",
        64 * 5e3,
        ALL_ABOVE,
    ),
    "matmul-by-norms": (
        "Torch.bmm",
        fwd([t(100.0, (1, 2, 64), 400.0), t(50.0, (1, 64, 8), 250.0)], [PLUS]),
        "matmul",
        1e5,
        ALL_ABOVE,
    ),
    "matmul-norm-overflowed": (
        "Torch.matmul",
        fwd([t(100.0, (2, 64), INF), t(50.0, (64, 8), 60.0)], [PLUS]),
        "matmul",
        64 * 5e3,
        ALL_ABOVE,
    ),
    "linear": (
        "Functional.linear",
        fwd([t(100.0, (2, 64)), t(50.0, (8, 64)), t(7.0, (8,))], [PLUS]),
        "matmul",
        64 * 5e3 + 7,
        ALL_ABOVE,
    ),
    "addmm": (
        "Torch.addmm",
        fwd([t(7.0, (8,)), t(100.0, (2, 64)), t(50.0, (64, 8))], [PLUS]),
        "matmul",
        64 * 5e3 + 7,
        ALL_ABOVE,
    ),
    "baddbmm": (
        "Torch.baddbmm",
        fwd([t(7.0, (1, 2, 8)), t(100.0, (1, 2, 64)), t(50.0, (1, 64, 8))], [PLUS]),
        "matmul",
        64 * 5e3 + 7,
        ALL_ABOVE,
    ),
    "conv": (
        "Torch.conv2d",
        fwd([t(100.0, (1, 32, 8, 8)), t(10.0, (4, 32, 3, 3)), None], [PLUS]),
        "matmul",
        32 * 9 * 1e3,
        ALL_ABOVE,
    ),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_bounds(case: str, tmp_path: Path) -> None:
    api, entry, kind, at_most, holds = BOUNDS[case]
    _, found = diagnosed(tmp_path, f"{api}.0.forward", entry)
    assert found.kind == kind
    assert found.at_most == pytest.approx(at_most, rel=1e-6)
    assert found.holds_in == holds


@pytest.mark.parametrize(
    ("api", "entry", "scale"),
    [
        ("Torch.add", fwd([t(4e4), t(3e4)], [PLUS]), 1 / 4),
        ("Torch.matmul", fwd([t(100.0, (2, 64)), t(50.0, (64, 8))], [PLUS]), 1 / 16),
        ("Torch.exp", fwd([rec(12.0, -3.0)], [PLUS]), None),
        ("Tensor.to", fwd([t(1e5, dtype="float32")], [PLUS]), None),
    ],
)
def test_the_power_of_two_with_which_the_own_dtype_would_have_held_it(
    api: str, entry: Any, scale: float | None, tmp_path: Path
) -> None:
    _, found = diagnosed(tmp_path, f"{api}.0.forward", entry)
    assert found.input_scale == scale
    if scale is not None:
        assert found.at_most is not None and found.at_most * scale <= F16 / 2 < found.at_most * scale * 2


DOMAINS: dict[str, tuple[str, Any, str, float]] = {
    "log": ("Torch.log", fwd([rec(3.0, -0.5)], [nan()]), "log-negative", -0.5),
    "log2": ("Torch.log2", fwd([rec(3.0, -0.5)], [nan()]), "log-negative", -0.5),
    "log1p": ("Torch.log1p", fwd([rec(3.0, -1.5)], [nan()]), "log-negative", -1.5),
    "sqrt": ("Torch.sqrt", fwd([rec(3.0, -0.5)], [nan()]), "root-negative", -0.5),
    "sqrt-in-place": ("Tensor.sqrt_", fwd([rec(3.0, -0.5)], [nan()]), "root-negative", -0.5),
    "rsqrt": ("Torch.rsqrt", fwd([rec(3.0, -0.5)], [nan()]), "root-negative", -0.5),
    "rsqrt-of-zero": ("Torch.rsqrt", fwd([rec(3.0, 0.0)], [PLUS]), "zero-division", 0.0),
    "reciprocal": ("Torch.reciprocal", fwd([rec(3.0, 0.0)], [PLUS]), "zero-division", 0.0),
    "pow-of-negative": ("Torch.pow", fwd([rec(3.0, -0.5), num(0.5)], [nan()]), "root-negative", -0.5),
    "zero-by-zero": ("Torch.div", fwd([rec(0.0, 0.0), rec(0.0, 0.0)], [nan()]), "zero-division", 0.0),
    "by-the-number-0": ("Tensor.__truediv__", fwd([rec(3.0, 0.0), num(0)], [nan()]), "zero-division", 0.0),
    "by-a-tensor-with-zeros": (
        "Torch.div",
        fwd([rec(3.0, 1.0), rec(2.0, 0.0)], [PLUS]),
        "zero-division",
        0.0,
    ),
    "one-by-a-tensor-with-zeros": (
        "Tensor.__rtruediv__",
        fwd([rec(3.0, 0.0), num(1.0)], [PLUS]),
        "zero-division",
        0.0,
    ),
    "acos": ("Torch.acos", fwd([rec(1.5, 0.0)], [nan()]), "arc-outside", 1.5),
    "asin": ("Torch.asin", fwd([rec(0.5, -2.0)], [nan()]), "arc-outside", -2.0),
    "fmod": ("Torch.fmod", fwd([rec(0.5, -2.0), num(0)], [nan()]), "zero-division", 0.0),
}


@pytest.mark.parametrize("case", DOMAINS)
def test_operations_without_a_finite_result(case: str, tmp_path: Path) -> None:
    api, entry, kind, value = DOMAINS[case]
    _, found = diagnosed(tmp_path, f"{api}.0.forward", entry)
    assert (found.kind, found.value, found.at_most) == (kind, value, None)


PLAIN: dict[str, tuple[str, Any, str]] = {
    "log-of-positive": ("Torch.log", fwd([rec(3.0, 0.5)], [nan()]), "nan"),
    "small-sum": ("Torch.add", fwd([t(3.0), t(2.0)], [PLUS]), "overflow"),
    "unknown-kernel": ("NPU.npu_swiglu", fwd([t(3e4)], [PLUS]), "overflow"),
    "nan-of-a-kernel": ("NPU.npu_swiglu", fwd([t(3e4)], [nan()]), "nan"),
    "saturated-kernel": ("NPU.npu_swiglu", fwd([t(3e4)], [rec(F16, 0.0)]), "saturated"),
    "many-divisors": ("Torch.div", fwd([t(3.0), rec(2.0, -1.0)], [PLUS]), "overflow"),
    "negative-power": ("Torch.pow", fwd([rec(9e-4, 1e-6), num(-2)], [PLUS]), "overflow"),
    "power-of-a-number": ("Tensor.__rpow__", fwd([rec(20.0, 0.0), num(2.0)], [PLUS]), "overflow"),
    "no-inputs": ("Torch.mul", fwd([], [PLUS]), "overflow"),
    "pow-of-a-whole-number": ("Torch.pow", fwd([rec(3.0, -0.5), num(2)], [nan()]), "nan"),
}


@pytest.mark.parametrize("case", PLAIN)
def test_what_no_bound_explains(case: str, tmp_path: Path) -> None:
    api, entry, kind = PLAIN[case]
    _, found = diagnosed(tmp_path, f"{api}.0.forward", entry)
    assert (found.kind, found.at_most, found.value, found.holds_in) == (kind, None, None, ())


def test_a_saturated_sum_is_a_sum(tmp_path: Path) -> None:
    _, found = diagnosed(tmp_path, "Torch.add.0.forward", fwd([t(4e4), t(3e4)], [rec(F16, 0.0)]))
    assert (found.kind, found.at_most) == ("sum", 7e4)


@pytest.mark.parametrize(("out", "kind"), [(PLUS, "overflow"), (nan(), "nan"), (rec(F16, 0.0), "saturated")])
def test_backward_calls_have_no_bounds(out: Any, kind: str, tmp_path: Path) -> None:
    _, found = diagnosed(tmp_path, "Torch.add.0.backward", bwd([t(4e4), t(3e4)], [out]))
    assert (found.kind, found.at_most) == (kind, None)


@pytest.mark.parametrize(
    ("api", "number", "expected"),
    [("Tensor.__mul__", 0.125, True), ("Torch.div", 8.0, True), ("Tensor.__mul__", 8.0, False)],
)
def test_a_scale_that_comes_too_late(api: str, number: float, expected: bool, tmp_path: Path) -> None:
    data = {
        "Torch.matmul.0.forward": fwd([t(100.0, (2, 64)), t(50.0, (64, 8))], [PLUS]),
        f"{api}.0.forward": fwd([PLUS, num(number)], [PLUS]),
    }
    found = looked(tmp_path, data)
    ((place, origin),) = found.origins()
    late = diagnose(found.ranks[place], origin).late_scale
    assert late == (f"{api}.0.forward" if expected else "")


def test_a_reduction_by_what_each_rank_gave(tmp_path: Path) -> None:
    entry = {"Distributed.all_reduce.0.forward": fwd([t(4e4)], [PLUS])}
    found = looked(tmp_path, entry, entry)
    place, origin = found.origins()[0]
    told = diagnose(found.ranks[place], origin, (4e4, 4e4, 4e4))
    assert (told.kind, told.at_most, told.holds_in, told.input_scale) == (
        *("collective-sum", 1.2e5),
        *(ALL_ABOVE, 0.25),
    )


@pytest.mark.parametrize("value", [10**400, -(10**400), INF, -INF, float("nan"), True, "3", None, [1, 2]])
@pytest.mark.parametrize(
    "api", ["Torch.mul", "Torch.pow", "Torch.div", "Torch.add", "Torch.matmul", "Torch.exp"]
)
def test_whatever_numbers_stand_there(value: Any, api: str, tmp_path: Path) -> None:
    found = looked(tmp_path, {f"{api}.0.forward": fwd([t(3.0), num(value)], [nan()])})
    for place, origin in found.origins():
        diagnose(found.ranks[place], origin)
