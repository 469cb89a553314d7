"""One rank in execution order: where something bad begins, what inherits it, what is legal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import source_of
from npulse.core.overflow.roles import INHERITED, ORIGIN

from .small_dumps import INF, MAX, causes, fwd, looked, mod, nan, num, rec

F16, BF16, F32 = MAX["float16"], MAX["bfloat16"], MAX["float32"]
X, Y, Z = rec(3.0, -2.5), rec(200.0, -1.5), rec(7.25, -7.5)
W = rec(0.5, -0.625, shape=[4, 4])
PLUS, MINUS = rec(INF, -2.0), rec(3.0, -INF)

ADD, MUL, LOG, EXP = (f"Torch.{api}.0.forward" for api in ("add", "mul", "log", "exp"))
LINEAR = "Functional.linear.0.forward"

CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "overflow": ({MUL: fwd([X, Y], [PLUS])}, [(MUL, "operator")]),
    "nan": ({LOG: fwd([X], [nan()])}, [(LOG, "operator")]),
    "saturated-fp16": ({MUL: fwd([X, Y], [rec(F16, -2.0)])}, [(MUL, "operator")]),
    "saturated-low": ({MUL: fwd([X, Y], [rec(2.0, -F16)])}, [(MUL, "operator")]),
    "saturated-bf16": ({MUL: fwd([X, Y], [rec(BF16, 0.0, "bfloat16")])}, [(MUL, "operator")]),
    "saturated-fp32": ({MUL: fwd([X, Y], [rec(F32, 0.0, "float32")])}, [(MUL, "operator")]),
    "fp16-limit-in-fp32": ({MUL: fwd([X, Y], [rec(F16, 0.0, "float32")])}, []),
    "follows": (
        {MUL: fwd([X, Y], [PLUS]), ADD: fwd([PLUS, X], [rec(INF, 1.5)]), EXP: fwd([rec(INF, 1.5)], [nan()])},
        [(MUL, "operator")],
    ),
    "saturated-follows": (
        {MUL: fwd([X, Y], [rec(F16, -2.0)]), ADD: fwd([rec(F16, -2.0), X], [rec(F16, 1.0)])},
        [(MUL, "operator")],
    ),
    "saturated-then-inf": (
        {MUL: fwd([X, Y], [rec(F16, -2.0)]), ADD: fwd([rec(F16, -2.0), X], [PLUS])},
        [(MUL, "operator")],
    ),
    "two-of-their-own": (
        {MUL: fwd([X, Y], [PLUS]), LOG: fwd([Z], [nan()])},
        [(MUL, "operator"), (LOG, "operator")],
    ),
    "becomes-finite": (
        {MUL: fwd([X, Y], [PLUS]), "Tensor.clamp.0.forward": fwd([PLUS], [X])},
        [(MUL, "operator")],
    ),
    "keywords-given": (
        {MUL: fwd([X, Y], [PLUS]), ADD: fwd([], [nan()], input=PLUS, other=X)},
        [(MUL, "operator")],
    ),
    "keywords-finite": ({ADD: fwd([], [PLUS], input=X, other=Y)}, [(ADD, "operator")]),
    "list-given": (
        {
            MUL: fwd([X, Y], [PLUS]),
            "Torch.cat.0.forward": fwd([[X, PLUS], num(0)], [rec(INF, -2.5, shape=[8])]),
        },
        [(MUL, "operator")],
    ),
    "list-arrives": (
        {"Torch.cat.0.forward": fwd([[X, nan()]], [nan(shape=[8])])},
        [("Torch.cat.0.forward", "input")],
    ),
    "tuple-made": (
        {"Torch.split.0.forward": fwd([X], [X, nan(shape=[2])])},
        [("Torch.split.0.forward", "operator")],
    ),
    "tuple-handed-on": (
        {
            MUL: fwd([X, Y], [nan()]),
            "Torch.chunk.0.forward": fwd([nan()], [rec(1.5, 1.0, shape=[2]), nan(shape=[2])]),
            ADD: fwd([nan(shape=[2])], [nan(shape=[2])]),
        },
        [(MUL, "operator")],
    ),
    "named-tuple": (
        {"Torch.max.0.forward": {**fwd([X], []), "output": {"values": nan(), "indices": rec(3, 0, "int64")}}},
        [("Torch.max.0.forward", "operator")],
    ),
    "in-place": (
        {
            "Tensor.add_.0.forward": fwd([X, Y], [PLUS]),
            "Tensor.mul_.0.forward": fwd([PLUS, num(2.0)], [PLUS]),
        },
        [("Tensor.add_.0.forward", "operator")],
    ),
    "norm-of-halves": (
        {ADD: fwd([rec(6e4, 5e4, Norm=INF, Mean=INF)], [rec(6e4, 5e4, Norm=INF, Mean=INF)])},
        [],
    ),
    "weight-of-an-api": (
        {LINEAR: fwd([X, nan(shape=[4, 4])], [nan()])},
        [(LINEAR, "parameter")],
    ),
    "weight-as-keyword": ({LINEAR: fwd([X], [nan()], weight=nan(shape=[4, 4]))}, [(LINEAR, "parameter")]),
    "weight-of-a-module": (
        {"Module.fc.Linear.forward.0": mod([X], [nan()], weight=nan(shape=[4, 4]))},
        [("Module.fc.Linear.forward.0", "parameter")],
    ),
    "weight-seen-twice": (
        {
            LINEAR: fwd([X, nan(shape=[4, 4])], [nan()]),
            "Module.fc.Linear.forward.0": mod([X], [nan()], weight=nan(shape=[4, 4])),
        },
        [(LINEAR, "parameter")],
    ),
    "data": ({LINEAR: fwd([nan(), W], [nan()])}, [(LINEAR, "input")]),
    "data-plus": ({ADD: fwd([PLUS, X], [PLUS])}, [(ADD, "input")]),
    "minus-at-a-linear": ({LINEAR: fwd([MINUS, W], [rec(INF, -INF)])}, [(LINEAR, "input")]),
    "unknown-inputs": ({ADD: fwd([rec(None, None)], [PLUS])}, [(ADD, "inputs-unknown")]),
    "unknown-inputs-later": (
        {MUL: fwd([X, Y], [PLUS]), ADD: fwd([rec(None, None)], [PLUS])},
        [(MUL, "operator")],
    ),
    "finite-integers": ({ADD: fwd([rec(9, 0, "int64")], [PLUS])}, [(ADD, "operator")]),
    "saved-variable": (
        {"x.0.debug": X, "y.0.debug": {"a": [nan()]}, "z.0.debug": nan()},
        [("y.0.debug", "first-seen")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_where_it_begins(case: str, tmp_path: Path) -> None:
    data, expected = CASES[case]
    found = looked(tmp_path, data)
    assert causes(found) == expected
    assert found.problems == ()
    if not expected:
        assert not found.ranks[0].roles.cause_of


def test_every_bad_tensor_has_its_role(tmp_path: Path) -> None:
    data = {MUL: fwd([X, Y], [PLUS]), ADD: fwd([PLUS, X], [nan()]), EXP: fwd([Z], [X])}
    found = looked(tmp_path, data)
    roles = found.ranks[0].roles
    assert roles.row.tolist() == [0, 0, ORIGIN, INHERITED, 0, INHERITED, 0, 0]
    assert {c: source_of(found, 0, c) for c in roles.cause_of} == {0: (0, 0), 1: (0, 0)}
