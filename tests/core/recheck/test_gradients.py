"""Backward calls computed again: gradients against finite differences, plain implementations within their
bounds, faults beyond them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.calls.rank import read_rank
from npulse.core.progress import ignore_progress, never_cancelled
from npulse.core.recheck.call import check_call
from npulse.core.recheck.model import Check
from npulse.core.recheck.number import Inside, Number
from npulse.core.recheck.registry import gradient_of_api, known_gradients
from npulse.core.recheck.report import Rechecked, report_of

from .dumps import Of, rounded, write

Array = npt.NDArray[Any]
EXACT = Inside(2.0**-52, 2.0**-1022)
STEP = 1e-6
_erf = np.vectorize(math.erf, otypes=[np.float64])


@dataclass(frozen=True)
class Case:
    """An operator in plain numpy. made: its output; gradients: of its tensors, by the textbook's formulas, in
    the order of the dump. tensors: shapes by parameter. before, between: what else it is given in front of
    the tensors, and behind the first. keeps_output: its gradient is made of g and its output."""

    api: str
    made: Callable[..., Array]
    gradients: Callable[..., tuple[Array, ...]]
    tensors: dict[str, tuple[int, ...]]
    named: dict[str, Any]
    before: tuple[Any, ...] = ()
    between: tuple[Any, ...] = ()
    keeps_output: bool = False


def _softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _silu_slope(x: Array) -> Array:
    return np.asarray(_sigmoid(x) * (1 + x * (1 - _sigmoid(x))))


def _swiglu(x: Array) -> Array:
    gate, up = np.split(x, 2, -1)
    return np.asarray(gate * _sigmoid(gate) * up)


def _swiglu_gradient(g: Array, x: Array) -> tuple[Array, ...]:
    gate, up = np.split(x, 2, -1)
    return (np.concatenate([g * up * _silu_slope(gate), g * gate * _sigmoid(gate)], -1),)


def _layer_norm(x: Array, w: Array, b: Array) -> Array:
    return np.asarray((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b)


def _layer_norm_gradient(g: Array, x: Array, w: Array, b: Array) -> tuple[Array, ...]:
    rstd = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    normed = (x - x.mean(-1, keepdims=True)) * rstd
    gw = g * w
    of_x = rstd * (gw - gw.mean(-1, keepdims=True) - normed * (gw * normed).mean(-1, keepdims=True))
    return of_x, (g * normed).sum((0, 1)), g.sum((0, 1))


def _rms(x: Array) -> Array:
    return np.asarray(1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))


def _rms_norm_gradient(g: Array, x: Array, w: Array) -> tuple[Array, ...]:
    normed, gw = x * _rms(x), g * w
    return _rms(x) * (gw - normed * (gw * normed).mean(-1, keepdims=True)), (g * normed).sum((0, 1))


def _gelu_tanh(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _gelu_tanh_gradient(g: Array, x: Array) -> tuple[Array, ...]:
    k = math.sqrt(2 / math.pi)
    t = np.tanh(k * (x + 0.044715 * x**3))
    return (g * ((1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x)),)


def _gelu_gradient(g: Array, x: Array) -> tuple[Array, ...]:
    below = (1 + _erf(x / math.sqrt(2))) / 2
    return (g * (below + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),)


INDEX = np.array([[1, 3, 1], [0, 5, 3]])


def _scattered(g: Array, weight: Array) -> tuple[Array, ...]:
    """One row after the other; row 5 is padding."""
    made = np.zeros_like(weight)
    for row, index in zip(g.reshape(-1, g.shape[-1]), INDEX.reshape(-1), strict=True):
        if index != 5:
            made[index] += row
    return (made,)


X, W = (2, 3, 8), (8,)
CASES = {
    "linear": Case(
        "Functional.linear",
        lambda x, w, b: x @ w.T + b,
        lambda g, x, w, b: (g.sum(0), g @ w, (g.T @ x).T),  # as the node has them
        {"input": (6, 8), "weight": (5, 8), "bias": (5,)},
        {},
    ),
    "linear of three axes": Case(
        "Functional.linear",
        lambda x, w: x @ w.T,
        lambda g, x, w: (g @ w, np.einsum("bto,bti->oi", g, x)),
        {"input": X, "weight": (5, 8)},
        {},
    ),
    "matmul": Case(
        "Torch.matmul",
        lambda a, b: a @ b,
        lambda g, a, b: (g @ b.T, np.einsum("bti,bto->io", a, g)),
        {"input": X, "other": (8, 4)},
        {},
    ),
    "matmul with a vector": Case(
        "Torch.matmul",
        lambda a, b: a @ b,
        lambda g, a, b: (g[..., None] * b, (a * g[..., None]).sum((0, 1))),
        {"input": X, "other": W},
        {},
    ),
    "addmm": Case(
        "Torch.addmm",
        lambda c, a, b: 0.5 * c + 2 * (a @ b),
        lambda g, c, a, b: (0.5 * g.sum(0), 2 * g @ b.T, 2 * a.T @ g),
        {"input": (4,), "mat1": (3, 8), "mat2": (8, 4)},
        {"beta": 0.5, "alpha": 2.0},
    ),
    "add": Case(
        "Tensor.__add__",
        lambda a, b: a + b,
        lambda g, a, b: (g, g.sum((0, 1))),
        {"input": X, "other": W},
        {},
    ),
    "sub": Case(
        "Torch.sub",
        lambda a, b: a - b,
        lambda g, a, b: (g, -g.sum(2, keepdims=True)),
        {"input": X, "other": (2, 3, 1)},
        {},
    ),
    "mul": Case(
        "Torch.mul",
        lambda a, b: a * b,
        lambda g, a, b: (g * b, (g * a).sum(0)),
        {"input": X, "other": (3, 8)},
        {},
    ),
    "div": Case(
        "Torch.div",
        lambda a, b: a / (b + np.sign(b)),
        lambda g, a, b: (g / (b + np.sign(b)), -g * a / (b + np.sign(b)) ** 2),
        {"input": X, "other": X},
        {},
    ),
    "softmax": Case(
        "Functional.softmax",
        _softmax,
        lambda g, y: (y * (g - (g * y).sum(-1, keepdims=True)),),
        {"input": X},
        {"dim": -1},
        keeps_output=True,
    ),
    "softmax over the middle": Case(
        "Functional.softmax",
        lambda x: _softmax(x, 1),
        lambda g, y: (y * (g - (g * y).sum(1, keepdims=True)),),
        {"input": X},
        {"dim": 1},
        keeps_output=True,
    ),
    "layer_norm": Case(
        "Functional.layer_norm",
        _layer_norm,
        _layer_norm_gradient,
        {"input": X, "weight": W, "bias": W},
        {},
        between=([8],),
    ),
    "npu_rms_norm": Case(
        "NPU.npu_rms_norm",
        lambda x, w: x * _rms(x) * w,
        _rms_norm_gradient,
        {"input": X, "gamma": W},
        {},
    ),
    "rms_norm": Case(
        "Functional.rms_norm",
        lambda x, w: x * _rms(x) * w,
        _rms_norm_gradient,
        {"input": X, "weight": W},
        {"eps": 1e-6},
        between=([8],),
    ),
    "gelu": Case(
        "Functional.gelu",
        lambda x: x / 2 * (1 + _erf(x / math.sqrt(2))),
        _gelu_gradient,
        {"input": X},
        {},
    ),
    "gelu by tanh": Case(
        "Functional.gelu", _gelu_tanh, _gelu_tanh_gradient, {"input": X}, {"approximate": "tanh"}
    ),
    "silu": Case(
        "Functional.silu",
        lambda x: x * _sigmoid(x),
        lambda g, x: (g * _silu_slope(x),),
        {"input": X},
        {},
    ),
    "npu_swiglu": Case("NPU.npu_swiglu", _swiglu, _swiglu_gradient, {"input": X}, {"dim": -1}),
    "relu": Case(
        "Functional.relu", lambda x: np.maximum(x, 0), lambda g, x: (g * (x > 0),), {"input": X}, {}
    ),
    "sigmoid": Case(
        "Torch.sigmoid",
        _sigmoid,
        lambda g, y: (g * y * (1 - y),),
        {"input": X},
        {},
        keeps_output=True,
    ),
    "tanh": Case("Torch.tanh", np.tanh, lambda g, y: (g * (1 - y * y),), {"input": X}, {}, keeps_output=True),
    "embedding": Case(
        "Functional.embedding",
        lambda w: np.where((INDEX == 5)[..., None], 0, w[INDEX]),
        _scattered,
        {"weight": (6, 4)},
        {"padding_idx": 5},
        before=(Of(INDEX, "int64"),),
    ),
}


def values(case: Case, seed: int, scale: float = 1.0, dtype: str = "float64") -> list[Array]:
    random = np.random.default_rng(seed)
    drawn = [random.normal(size=shape) * scale for shape in case.tensors.values()]
    if case.api == "Torch.div":
        drawn[1] = np.sign(drawn[1]) * (1 + abs(drawn[1]))
    return [rounded(one, dtype) for one in drawn]


def made_of(case: Case, tensors: list[Array]) -> Array:
    if case.api == "Torch.div":
        return np.asarray(tensors[0] / tensors[1])
    return case.made(*tensors)


def gradients_of(case: Case, g: Array, tensors: list[Array]) -> tuple[Array, ...]:
    if case.api == "Torch.div":
        return g / tensors[1], -g * tensors[0] / tensors[1] ** 2
    return case.gradients(g, *tensors)


def positional(case: Case, tensors: list[Any]) -> list[Any]:
    return [*case.before, tensors[0], *case.between, *tensors[1:]]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_what_the_output_changes_by(name: str) -> None:
    """Central differences in float64 of the operator itself know nothing of any formula for its gradient."""
    case = CASES[name]
    tensors = values(case, seed=1)
    g = np.random.default_rng(2).normal(size=made_of(case, tensors).shape)
    reference = gradient_of_api(name.split(" ")[0])
    assert reference is not None

    def number(value: Any) -> Any:
        if isinstance(value, Of):
            return Number(value.values.astype(np.float64), EXACT, 0.0, True, value.dtype)
        return Number(value, EXACT, 0.0, False, "float64") if isinstance(value, np.ndarray) else value

    result = {"result": made_of(case, tensors)} if "result" in reference.parameters else {}
    arguments = reference.bind((g, *positional(case, tensors)), {**case.named, **result})
    found = reference.function(**{key: number(value) for key, value in arguments.items()})
    for place, parameter in enumerate(case.tensors):
        want = np.zeros(tensors[place].shape)
        for index in np.ndindex(want.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [one.copy() for one in tensors]
                moved[place][index] += step
                ends.append((g * made_of(case, moved)).sum())
            want[index] = (ends[0] - ends[1]) / (2 * STEP)
        assert found[parameter].shape == want.shape
        np.testing.assert_allclose(found[parameter].value, want, rtol=2e-7, atol=2e-8)


def test_every_gradient_has_a_case() -> None:
    held = {id(gradient_of_api(name.split(" ")[0])) for name in CASES}
    assert {id(gradient_of_api(name)) for name in known_gradients()} == held


# ---- calls of a dump ----


def checked(
    folder: Path,
    case: Case,
    dtype: str,
    *,
    seed: int = 1,
    scale: float = 1.0,
    fault: Callable[[list[Array]], None] = lambda outputs: None,
    has_result: bool = True,
    without: str = "",
) -> Check:
    """A backward call as a plain implementation would make it: float32 inside, rounded in the end."""
    tensors = values(case, seed, scale, dtype)
    small = [one.astype(np.float32) for one in tensors]
    made = rounded(made_of(case, small), dtype)
    g = rounded(np.random.default_rng(seed + 1).normal(size=made.shape), dtype)
    kept = [made.astype(np.float32)] if case.keeps_output else small
    outputs = [rounded(one, dtype) for one in gradients_of(case, g.astype(np.float32), kept)]
    fault(outputs)
    given = positional(case, [Of(one, dtype) for one in tensors])
    calls = {
        f"{case.api}.0.forward": {"args": given, "kwargs": case.named, "out": [Of(made, dtype, has_result)]},
        f"{case.api}.0.backward": {"grads": [Of(g, dtype)], "out": [None, *(Of(o, dtype) for o in outputs)]},
    }
    calls = {name: sides for name, sides in calls.items() if not without or without not in name}
    write(folder, calls)
    place = folder / "step0" / "rank0" / "dump.json"
    dump = read_rank(place, folder, ignore_progress, never_cancelled)
    return check_call(dump, len(calls) - 1, folder)


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(CASES)),
    dtype=st.sampled_from(("float32", "float16", "bfloat16")),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from((0.01, 1.0, 1.0, 20.0)),
)
def test_a_plain_implementation_is_accused_of_nothing(
    tmp_path_factory: pytest.TempPathFactory, name: str, dtype: str, seed: int, scale: float
) -> None:
    check = checked(tmp_path_factory.mktemp("d"), CASES[name], dtype, seed=seed, scale=scale)
    assert check.outcome == "within", (check.why, check.detail, check.outputs)
    assert not check.unchecked


def _scaled(outputs: list[Array]) -> None:
    outputs[-1] *= 1.05


def _turned(outputs: list[Array]) -> None:
    outputs[0] *= -1


def _element(outputs: list[Array]) -> None:
    place = np.unravel_index(int(abs(outputs[0]).argmax()), outputs[0].shape)
    outputs[0][place] *= 1.25


@pytest.mark.parametrize("fault", [_scaled, _turned, _element])
@pytest.mark.parametrize("name", CASES)
def test_a_wrong_gradient_is_found(tmp_path: Path, name: str, fault: Any) -> None:
    check = checked(tmp_path, CASES[name], "float16", fault=fault)
    assert check.outcome == "implementation"
    assert check.worst is not None and check.worst.n_beyond >= 1
    report = report_of("run", [Rechecked(check)], (), "en")
    assert report.verdict == "fail"
    assert report.findings[0].subject == f"{CASES[name].api}.0.backward"


def test_the_product_that_is_only_reshaped_is_the_gradient_that_came_in(tmp_path: Path) -> None:
    case = CASES["linear of three axes"]
    g = Of(np.random.default_rng(5).normal(size=(2, 3, 5)), "float32")
    tensors = [Of(one, "float32") for one in values(case, 1, dtype="float32")]
    made = Of(g.values.reshape(6, 5), "float32")
    forward = {"args": tensors, "out": [Of(np.zeros((2, 3, 5)), "float32")]}
    name = "Functional.linear.0"
    write(tmp_path, {f"{name}.forward": forward, f"{name}.backward": {"grads": [g], "out": [made]}})
    dump = read_rank(tmp_path / "step0/rank0/dump.json", tmp_path, ignore_progress, never_cancelled)
    assert check_call(dump, 1, tmp_path).outcome == "within"


def test_a_gradient_is_unknown_without_its_forward_call(tmp_path: Path) -> None:
    check = checked(tmp_path, CASES["linear"], "float16", without="forward")
    assert (check.outcome, check.why) == ("unknown", "missing")
    assert check.missing == ("Functional.linear.0.forward",)


def test_the_output_is_asked_only_of_operators_that_keep_it(tmp_path: Path) -> None:
    assert checked(tmp_path / "a", CASES["gelu"], "float16", has_result=False).outcome == "within"
    check = checked(tmp_path / "b", CASES["softmax"], "float16", has_result=False)
    assert (check.outcome, check.why) == ("unknown", "missing")
