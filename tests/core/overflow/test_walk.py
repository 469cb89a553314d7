"""One rank in execution order: where something bad begins, what inherits it, what is legal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import source_of
from npulse.core.overflow.roles import BENIGN, INHERITED, ORIGIN

from .small_dumps import INF, MAX, bwd, causes, fwd, legal, looked, mod, nan, names, num, only, rec

F16, BF16, F32 = MAX["float16"], MAX["bfloat16"], MAX["float32"]
X, Y, Z = rec(3.0, -2.5), rec(200.0, -1.5), rec(7.25, -7.5)
W = rec(0.5, -0.625, shape=[4, 4])
ONES = rec(1.0, 0.0)
PLUS, MINUS, LOWEST = rec(INF, -2.0), rec(3.0, -INF), rec(3.0, -F16)

ADD, MUL, LOG, EXP = (f"Torch.{api}.0.forward" for api in ("add", "mul", "log", "exp"))
FILL, SOFTMAX, LINEAR = "Tensor.masked_fill.0.forward", "Functional.softmax.0.forward", "Functional.linear.0.forward"
EMPTY = "Torch.empty.0.forward"


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
    "becomes-finite": ({MUL: fwd([X, Y], [PLUS]), "Tensor.clamp.0.forward": fwd([PLUS], [X])}, [(MUL, "operator")]),
    "keywords-given": (
        {MUL: fwd([X, Y], [PLUS]), ADD: fwd([], [nan()], input=PLUS, other=X)},
        [(MUL, "operator")],
    ),
    "keywords-finite": ({ADD: fwd([], [PLUS], input=X, other=Y)}, [(ADD, "operator")]),
    "list-given": (
        {MUL: fwd([X, Y], [PLUS]), "Torch.cat.0.forward": fwd([[X, PLUS], num(0)], [rec(INF, -2.5, shape=[8])])},
        [(MUL, "operator")],
    ),
    "list-arrives": ({"Torch.cat.0.forward": fwd([[X, nan()]], [nan(shape=[8])])}, [("Torch.cat.0.forward", "input")]),
    "tuple-made": ({"Torch.split.0.forward": fwd([X], [X, nan(shape=[2])])}, [("Torch.split.0.forward", "operator")]),
    "tuple-handed-on": (
        {
            MUL: fwd([X, Y], [nan()]),
            "Torch.chunk.0.forward": fwd([nan()], [rec(1.5, 1.0, shape=[2]), nan(shape=[2])]),
            ADD: fwd([nan(shape=[2])], [nan(shape=[2])]),
        },
        [(MUL, "operator")],
    ),
    "named-tuple": ({"Torch.max.0.forward": {**fwd([X], []), "output": {"values": nan(), "indices": rec(3, 0, "int64")}}}, [("Torch.max.0.forward", "operator")]),
    "in-place": (
        {
            "Tensor.add_.0.forward": fwd([X, Y], [PLUS]),
            "Tensor.mul_.0.forward": fwd([PLUS, num(2.0)], [PLUS]),
        },
        [("Tensor.add_.0.forward", "operator")],
    ),
    "norm-of-halves": ({ADD: fwd([rec(6e4, 5e4, Norm=INF, Mean=INF)], [rec(6e4, 5e4, Norm=INF, Mean=INF)])}, []),
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
    "unknown-inputs-later": ({MUL: fwd([X, Y], [PLUS]), ADD: fwd([rec(None, None)], [PLUS])}, [(MUL, "operator")]),
    "finite-integers": ({ADD: fwd([rec(9, 0, "int64")], [PLUS])}, [(ADD, "operator")]),
    "saved-variable": (
        {"x.0.debug": X, "y.0.debug": {"a": [nan()]}, "z.0.debug": nan()},
        [("y.0.debug", "first-seen")],
    ),
}  # fmt: skip


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


# ---- legal ----

MASKED = {FILL: fwd([X, rec(True, False, "bool"), num(-INF)], [MINUS])}
FINFO = {"Tensor.__rsub__.0.forward": fwd([ONES, num(1.0)], [ONES]), "Tensor.__mul__.0.forward": fwd([ONES, num(-F16)], [rec(0.0, -F16)])}  # fmt: skip
F32_MASK = rec(0.0, -F32, "float32")

LEGAL: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "masked_fill": ({**MASKED, SOFTMAX: fwd([MINUS], [rec(0.75, 0.0)])}, {FILL: "fill"}),
    "masked_fill-finfo": (
        {FILL: fwd([X, rec(True, False, "bool"), num(-F16)], [LOWEST]), SOFTMAX: fwd([LOWEST], [ONES])},
        {FILL: "fill"},
    ),
    "masked_fill_": ({"Tensor.masked_fill_.0.forward": fwd([X, ONES, num(-INF)], [MINUS])}, {"Tensor.masked_fill_.0.forward": "fill"}),
    "masked_fill-keyword": ({FILL: fwd([X], [MINUS], mask=ONES, value=num(-INF))}, {FILL: "fill"}),
    "full": ({"Torch.full.0.forward": fwd([num(2), num(-INF)], [rec(-INF, -INF)])}, {"Torch.full.0.forward": "fill"}),
    "full-finfo": (
        {"Torch.full.0.forward": fwd([], [rec(-F32, -F32, "float32")], size=num(4), fill_value=num(-F32))},
        {"Torch.full.0.forward": "fill"},
    ),
    "full-then-triu": (
        {
            "Torch.full.0.forward": fwd([num(2), num(-INF)], [rec(-INF, -INF)]),
            "Torch.triu.0.forward": fwd([rec(-INF, -INF), num(1)], [rec(0.0, -INF)]),
            ADD: fwd([X, rec(0.0, -INF)], [MINUS]),
        },
        {"Torch.full.0.forward": "fill", "Torch.triu.0.forward": "mask", ADD: "mask"},
    ),
    "where": (
        {"Torch.where.0.forward": fwd([rec(True, False, "bool"), X, num(-INF)], [MINUS])},
        {"Torch.where.0.forward": "fill"},
    ),
    "fill_": ({"Tensor.fill_.0.forward": fwd([X, num(-INF)], [rec(-INF, -INF)])}, {"Tensor.fill_.0.forward": "fill"}),
    "finfo-times-mask": (
        {**FINFO, ADD: fwd([X, rec(0.0, -F16)], [rec(3.0, -F16)]), SOFTMAX: fwd([rec(3.0, -F16)], [ONES])},
        {"Tensor.__mul__.0.forward": "fill", ADD: "mask"},
    ),
    "finfo-plus-a-large-score": (
        {**FINFO, ADD: fwd([X, rec(0.0, -F16)], [MINUS])},
        {"Tensor.__mul__.0.forward": "fill", ADD: "mask"},
    ),
    "cast-to-half": (
        {
            "Tensor.__mul__.0.forward": fwd([rec(1.0, 0.0, "float32"), num(-F32)], [F32_MASK]),
            "Tensor.to.0.forward": fwd([F32_MASK], [rec(0.0, -INF)]),
            ADD: fwd([X, rec(0.0, -INF)], [MINUS]),
        },
        {"Tensor.__mul__.0.forward": "fill", "Tensor.to.0.forward": "mask", ADD: "mask"},
    ),
    "cast-to-bfloat16": (
        {
            "Tensor.masked_fill.0.forward": fwd([rec(1.0, 0.0, "float32"), ONES, num(-F32)], [F32_MASK]),
            "Tensor.to.0.forward": fwd([F32_MASK], [rec(0.0, -INF, "bfloat16")]),
        },
        {"Tensor.masked_fill.0.forward": "fill", "Tensor.to.0.forward": "mask"},
    ),
    "log-of-zero": ({LOG: fwd([rec(1.0, 0.0)], [rec(0.0, -INF)])}, {LOG: "log-zero"}),
    "clamped": ({"Torch.clamp.0.forward": fwd([Y], [rec(F16, -1.5)], max=num(F16))}, {"Torch.clamp.0.forward": "fill"}),
    "mask-arrives": ({ADD: fwd([X, rec(0.0, -INF)], [MINUS])}, {ADD: "mask"}),
    "finfo-mask-arrives": ({ADD: fwd([X, rec(0.0, -F16)], [LOWEST])}, {ADD: "mask"}),
    "mask-as-keyword": (
        {"Functional.scaled_dot_product_attention.0.forward": fwd([X, Y, Z], [X], attn_mask=rec(0.0, -INF))},
        {"Functional.scaled_dot_product_attention.0.forward": "arrives"},
    ),
    "mask-into-a-module": (
        {"Module.attn.Attention.forward.0": mod([X, rec(0.0, -INF)], [X])},
        {"Module.attn.Attention.forward.0": "arrives"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEGAL)
def test_what_is_legal(case: str, tmp_path: Path) -> None:
    data, expected = LEGAL[case]
    found = looked(tmp_path, data)
    assert causes(found) == []
    assert legal(found) == expected
    flagged = found.ranks[0].health.flags != 0
    assert set(found.ranks[0].roles.row[flagged].tolist()) == {BENIGN}


NOT_LEGAL: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "relu-times-a-large-number": (
        {"Functional.relu.0.forward": fwd([X], [rec(3.0, 0.0)]), MUL: fwd([rec(3.0, 0.0), num(-600000)], [rec(0.0, -INF)])},
        [(MUL, "operator")],
    ),
    "relu-times-finfo": ({MUL: fwd([rec(3.0, 0.0), num(-F16)], [rec(0.0, -INF)])}, [(MUL, "operator")]),
    "relu-times-finfo-saturated": ({MUL: fwd([rec(3.0, 0.0), num(-F16)], [rec(0.0, -F16)])}, [(MUL, "operator")]),
    "times-an-infinite-scale": ({MUL: fwd([rec(3.0, 1.0), rec(INF, INF, "float32", [])], [rec(INF, INF)])}, [(MUL, "legal-inf")]),
    "plus-a-large-number": ({ADD: fwd([X, num(-1e6)], [rec(-INF, -INF)])}, [(ADD, "operator")]),
    "mask-times-inf": ({MUL: fwd([ONES, num(-INF)], [nan()])}, [(MUL, "operator")]),
    "fill-with-a-small-number": ({FILL: fwd([Y, ONES, num(-1e4)], [rec(F16, -1e4)])}, [(FILL, "operator")]),
    "fill-of-what-is-bad": ({FILL: fwd([nan(), ONES, num(0.0)], [nan()])}, [(FILL, "input")]),
    "log-of-negative": ({LOG: fwd([rec(1.0, -0.5)], [nan()])}, [(LOG, "operator")]),
    "log-of-small": ({LOG: fwd([rec(1.0, 0.25)], [rec(0.0, -INF)])}, [(LOG, "operator")]),
    "masked-row": ({**MASKED, SOFTMAX: fwd([MINUS], [nan()])}, [(SOFTMAX, "masked-row")]),
    "masked-row-finfo": ({FILL: fwd([X, num(-F16)], [LOWEST]), SOFTMAX: fwd([LOWEST], [nan()])}, [(SOFTMAX, "masked-row")]),
    "masked-row-by-a-mask-that-arrives": (
        {ADD: fwd([X, rec(0.0, -INF)], [MINUS]), SOFTMAX: fwd([MINUS], [nan()])},
        [(SOFTMAX, "masked-row")],
    ),
    "zero-times-the-log-of-zero": (
        {LOG: fwd([rec(1.0, 0.0)], [rec(0.0, -INF)]), MUL: fwd([rec(1.0, 0.0), rec(0.0, -INF)], [nan()])},
        [(MUL, "legal-inf")],
    ),
    "nan-in-a-mask": ({ADD: fwd([X, nan()], [nan()])}, [(ADD, "input")]),
    "plus-in-a-mask": ({ADD: fwd([X, PLUS], [PLUS])}, [(ADD, "input")]),
    "mask-into-an-embedding": ({"Functional.embedding.0.forward": fwd([MINUS, W], [nan()])}, [("Functional.embedding.0.forward", "input")]),
    "mask-and-trouble": (
        {**MASKED, MUL: fwd([X, Y], [PLUS]), ADD: fwd([MINUS, PLUS], [nan()])},
        [(MUL, "operator")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_LEGAL)
def test_what_looks_legal_and_is_not(case: str, tmp_path: Path) -> None:
    data, expected = NOT_LEGAL[case]
    assert causes(looked(tmp_path, data)) == expected


def test_the_fill_is_related_to_the_softmax_of_a_masked_row(tmp_path: Path) -> None:
    found = looked(tmp_path, {**MASKED, SOFTMAX: fwd([MINUS], [nan()]), ADD: fwd([nan()], [nan()])})
    dump = found.ranks[0].dump
    assert [dump.leaf_name(row) for row in only(found).legal] == [f"{SOFTMAX}.input.0"]
    assert legal(found) == {FILL: "fill"}
    assert found.ranks[0].roles.cause_of == {1: 1, 2: 1}


# ---- memory that nobody has written ----

COPY = "Tensor.copy_.0.forward"
UNWRITTEN: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "never-read": ({EMPTY: fwd([num(4)], [nan()])}, []),
    "copied-over": ({EMPTY: fwd([num(4)], [nan()]), COPY: fwd([nan(), X], [X]), ADD: fwd([X], [Y])}, []),
    "zeroed": ({EMPTY: fwd([num(4)], [PLUS]), "Tensor.zero_.0.forward": fwd([PLUS], [rec(0.0, 0.0)])}, []),
    "filled": ({EMPTY: fwd([num(4)], [PLUS]), "Tensor.fill_.0.forward": fwd([PLUS, num(2.0)], [rec(2.0, 2.0)])}, []),
    "written-by-out": ({EMPTY: fwd([num(4)], [PLUS]), ADD: fwd([X, Y], [Z], out=PLUS)}, []),
    "shape-of-what-is-bad": (
        {MUL: fwd([X, Y], [nan()]), "Torch.zeros_like.0.forward": fwd([nan()], [rec(0.0, 0.0)])},
        [(MUL, "operator")],
    ),
    "read": ({EMPTY: fwd([num(4)], [nan()]), ADD: fwd([nan(), X], [nan()])}, [(ADD, "uninitialised")]),
    "read-as-inf": ({EMPTY: fwd([num(4)], [PLUS]), ADD: fwd([PLUS, X], [rec(INF, 0.5)])}, [(ADD, "uninitialised")]),
    "read-behind-a-view": (
        {EMPTY: fwd([num(4)], [nan()]), "Tensor.detach.0.forward": fwd([nan()], [nan()]), ADD: fwd([nan(), X], [nan()])},
        [(ADD, "uninitialised")],
    ),
    "copied-over-piece-by-piece": (
        {
            EMPTY: fwd([num(8)], [nan(shape=[8])]),
            "Torch.chunk.0.forward": fwd([nan(shape=[8]), num(2)], [nan(), rec(1.5, 0.5)]),
            COPY: fwd([nan(), X], [X]),
            "Tensor.__getitem__.0.forward": fwd([nan(shape=[8]), num(1)], [nan(shape=[1])]),
            "Tensor.copy_.1.forward": fwd([nan(shape=[1]), rec(1.0, 1.0, shape=[1])], [rec(1.0, 1.0, shape=[1])]),
        },
        [],
    ),
    "written-in-part": (
        {
            EMPTY: fwd([num(4)], [nan()]),
            "Tensor.__setitem__.0.forward": fwd([nan(), num(0), rec(1.0, shape=[1])], [nan()]),
            ADD: fwd([nan(), X], [nan()]),
        },
        [(ADD, "uninitialised")],
    ),
    "copied-from-bad": (
        {EMPTY: fwd([num(4)], [nan()]), COPY: fwd([nan(), nan(shape=[8])], [nan()])},
        [(COPY, "input")],
    ),
    "trouble-of-the-same-look": (
        {EMPTY: fwd([num(4)], [nan()]), COPY: fwd([nan(), X], [X]), LOG: fwd([X], [nan()]), ADD: fwd([nan(), X], [nan()])},
        [(LOG, "operator")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("api", ["Torch.empty", "Torch.empty_like", "Tensor.new_empty", "Torch.empty_strided"])
@pytest.mark.parametrize("case", UNWRITTEN)
def test_buffers(case: str, api: str, tmp_path: Path) -> None:
    data, expected = UNWRITTEN[case]
    found = looked(tmp_path, {name.replace("Torch.empty", api): entry for name, entry in data.items()})
    assert causes(found) == expected
