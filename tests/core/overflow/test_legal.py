"""NaN and Inf that were meant: fills, masks, the logarithm of 0, memory that nobody has written yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.roles import BENIGN

from .small_dumps import INF, MAX, causes, fwd, legal, looked, mod, nan, num, only, rec

F16, F32 = MAX["float16"], MAX["float32"]
X, Y, Z = rec(3.0, -2.5), rec(200.0, -1.5), rec(7.25, -7.5)
W = rec(0.5, -0.625, shape=[4, 4])
ONES = rec(1.0, 0.0)
PLUS, MINUS, LOWEST = rec(INF, -2.0), rec(3.0, -INF), rec(3.0, -F16)

ADD, MUL, LOG = (f"Torch.{api}.0.forward" for api in ("add", "mul", "log"))
FILL, SOFTMAX = "Tensor.masked_fill.0.forward", "Functional.softmax.0.forward"
EMPTY = "Torch.empty.0.forward"
SDPA = "Functional.scaled_dot_product_attention.0.forward"

MASKED = {FILL: fwd([X, rec(True, False, "bool"), num(-INF)], [MINUS])}
FINFO = {
    "Tensor.__rsub__.0.forward": fwd([ONES, num(1.0)], [ONES]),
    "Tensor.__mul__.0.forward": fwd([ONES, num(-F16)], [rec(0.0, -F16)]),
}
F32_MASK = rec(0.0, -F32, "float32")

LEGAL: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "masked_fill": ({**MASKED, SOFTMAX: fwd([MINUS], [rec(0.75, 0.0)])}, {FILL: "fill"}),
    "masked_fill-finfo": (
        {FILL: fwd([X, rec(True, False, "bool"), num(-F16)], [LOWEST]), SOFTMAX: fwd([LOWEST], [ONES])},
        {FILL: "fill"},
    ),
    "masked_fill_": (
        {"Tensor.masked_fill_.0.forward": fwd([X, ONES, num(-INF)], [MINUS])},
        {"Tensor.masked_fill_.0.forward": "fill"},
    ),
    "masked_fill-keyword": ({FILL: fwd([X], [MINUS], mask=ONES, value=num(-INF))}, {FILL: "fill"}),
    "full": (
        {"Torch.full.0.forward": fwd([num(2), num(-INF)], [rec(-INF, -INF)])},
        {"Torch.full.0.forward": "fill"},
    ),
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
    "fill_": (
        {"Tensor.fill_.0.forward": fwd([X, num(-INF)], [rec(-INF, -INF)])},
        {"Tensor.fill_.0.forward": "fill"},
    ),
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
    "clamped": (
        {"Torch.clamp.0.forward": fwd([Y], [rec(F16, -1.5)], max=num(F16))},
        {"Torch.clamp.0.forward": "fill"},
    ),
    "mask-arrives": ({ADD: fwd([X, rec(0.0, -INF)], [MINUS])}, {ADD: "mask"}),
    "finfo-mask-arrives": ({ADD: fwd([X, rec(0.0, -F16)], [LOWEST])}, {ADD: "mask"}),
    "mask-as-keyword": (
        {SDPA: fwd([X, Y, Z], [X], attn_mask=rec(0.0, -INF))},
        {SDPA: "arrives"},
    ),
    "mask-as-a-keyword-of-something-unknown": (
        {"Custom.scores.0.forward": fwd([X], [X], attention_mask=rec(0.0, -INF))},
        {"Custom.scores.0.forward": "arrives"},
    ),
    "mask-into-fused-attention": (
        {"NPU.npu_new_flash_attention.0.forward": fwd([X, Y, Z, rec(0.0, -INF)], [X])},
        {"NPU.npu_new_flash_attention.0.forward": "arrives"},
    ),
    **{
        f"mask-arrives-at-{api}": (
            {f"Tensor.{api}.0.forward": fwd([rec(0.0, -INF)], [rec(0.0, -INF)])},
            {f"Tensor.{api}.0.forward": "mask"},
        )
        for api in ("half", "transpose", "chunk", "cat", "squeeze", "repeat", "triu", "__getitem__", "expand")
    },
    "constant-arrives": (
        {"Tensor.__eq__.0.forward": fwd([X, rec(INF, INF, "float32", [])], [rec(False, False, "bool")])},
        {"Tensor.__eq__.0.forward": "arrives"},
    ),
    "constant-where": (
        {"Torch.where.0.forward": fwd([ONES, X, rec(-INF, -INF, "float32", [])], [MINUS])},
        {"Torch.where.0.forward": "mask"},
    ),
    "mask-of-one-token": (
        {MUL: fwd([rec(1.0, 1.0, shape=[1, 1, 1, 1]), num(-F16)], [rec(-F16, -F16, shape=[1, 1, 1, 1])])},
        {MUL: "fill"},
    ),
    "mask-into-a-module": (
        {"Module.attn.Attention.forward.0": mod([X, rec(0.0, -INF)], [X])},
        {"Module.attn.Attention.forward.0": "arrives"},
    ),
}


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
        {
            "Functional.relu.0.forward": fwd([X], [rec(3.0, 0.0)]),
            MUL: fwd([rec(3.0, 0.0), num(-600000)], [rec(0.0, -INF)]),
        },
        [(MUL, "operator")],
    ),
    "relu-times-finfo": ({MUL: fwd([rec(3.0, 0.0), num(-F16)], [rec(0.0, -INF)])}, [(MUL, "operator")]),
    "relu-times-finfo-saturated": (
        {MUL: fwd([rec(3.0, 0.0), num(-F16)], [rec(0.0, -F16)])},
        [(MUL, "operator")],
    ),
    "times-an-infinite-scale": (
        {MUL: fwd([rec(3.0, 1.0), rec(INF, INF, "float32", [])], [rec(INF, INF)])},
        [(MUL, "input")],
    ),
    "mask-times-a-large-number": ({MUL: fwd([ONES, num(1e6)], [rec(INF, 0.0)])}, [(MUL, "operator")]),
    "plus-a-large-number": ({ADD: fwd([X, num(-1e6)], [rec(-INF, -INF)])}, [(ADD, "operator")]),
    "mask-times-inf": ({MUL: fwd([ONES, num(-INF)], [nan()])}, [(MUL, "operator")]),
    "fill-with-a-small-number": ({FILL: fwd([Y, ONES, num(-1e4)], [rec(F16, -1e4)])}, [(FILL, "operator")]),
    "fill-of-what-is-bad": ({FILL: fwd([nan(), ONES, num(0.0)], [nan()])}, [(FILL, "input")]),
    "log-of-negative": ({LOG: fwd([rec(1.0, -0.5)], [nan()])}, [(LOG, "operator")]),
    "log-of-small": ({LOG: fwd([rec(1.0, 0.25)], [rec(0.0, -INF)])}, [(LOG, "operator")]),
    "masked-row": ({**MASKED, SOFTMAX: fwd([MINUS], [nan()])}, [(SOFTMAX, "masked-row")]),
    "masked-row-finfo": (
        {FILL: fwd([X, num(-F16)], [LOWEST]), SOFTMAX: fwd([LOWEST], [nan()])},
        [(SOFTMAX, "masked-row")],
    ),
    "masked-row-by-a-mask-that-arrives": (
        {ADD: fwd([X, rec(0.0, -INF)], [MINUS]), SOFTMAX: fwd([MINUS], [nan()])},
        [(SOFTMAX, "masked-row")],
    ),
    "masked-row-of-fused-attention": (
        {SDPA: fwd([X, Y, Z], [nan()], attn_mask=rec(0.0, -INF))},
        [(SDPA, "masked-row")],
    ),
    "masked-row-of-a-module": (
        {"Module.a.Softmax.forward.0": mod([rec(3.0, -INF)], [nan()])},
        [("Module.a.Softmax.forward.0", "masked-row")],
    ),
    "zero-times-the-log-of-zero": (
        {LOG: fwd([rec(1.0, 0.0)], [rec(0.0, -INF)]), MUL: fwd([rec(1.0, 0.0), rec(0.0, -INF)], [nan()])},
        [(MUL, "legal-inf")],
    ),
    **{
        f"data-with-minus-inf-at-{api}": (
            {f"Tensor.{api}.0.forward": fwd([rec(2.5, -INF)], [rec(2.5, -INF)])},
            [(f"Tensor.{api}.0.forward", "input")],
        )
        for api in ("to", "view", "cat", "half", "clamp", "mul", "linear", "__getitem__")
    },
    "nan-in-a-mask": ({ADD: fwd([X, nan()], [nan()])}, [(ADD, "input")]),
    "plus-in-a-mask": ({ADD: fwd([X, PLUS], [PLUS])}, [(ADD, "input")]),
    "mask-into-an-embedding": (
        {"Functional.embedding.0.forward": fwd([MINUS, W], [nan()])},
        [("Functional.embedding.0.forward", "input")],
    ),
    "mask-and-trouble": (
        {**MASKED, MUL: fwd([X, Y], [PLUS]), ADD: fwd([MINUS, PLUS], [nan()])},
        [(MUL, "operator")],
    ),
}


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
    "filled": (
        {EMPTY: fwd([num(4)], [PLUS]), "Tensor.fill_.0.forward": fwd([PLUS, num(2.0)], [rec(2.0, 2.0)])},
        [],
    ),
    "out-from-outside": ({ADD: fwd([X, Y], [Z], out=nan())}, []),
    "copied-over-from-outside": ({COPY: fwd([nan(), X], [X])}, []),
    "shape-of-what-is-from-outside": ({"Torch.zeros_like.0.forward": fwd([nan()], [rec(0.0, 0.0)])}, []),
    "written-then-another-of-the-same-look": (
        {EMPTY: fwd([num(4)], [nan()]), COPY: fwd([nan(), X], [X]), ADD: fwd([nan(), X], [nan()])},
        [(ADD, "input")],
    ),
    "bad-before-of-the-same-look": (
        {LOG: fwd([rec(1.0, -1.0)], [nan()]), EMPTY: fwd([num(4)], [nan()]), ADD: fwd([nan(), X], [nan()])},
        [(LOG, "operator")],
    ),
    "one-of-two-is-written": (
        {
            EMPTY: fwd([num(4)], [nan()]),
            "Torch.empty.1.forward": fwd([num(4)], [nan()]),
            COPY: fwd([nan(), X], [X]),
            ADD: fwd([nan(), X], [nan()]),
        },
        [(ADD, "uninitialised")],
    ),
    "written-by-out": ({EMPTY: fwd([num(4)], [PLUS]), ADD: fwd([X, Y], [Z], out=PLUS)}, []),
    "shape-of-what-is-bad": (
        {MUL: fwd([X, Y], [nan()]), "Torch.zeros_like.0.forward": fwd([nan()], [rec(0.0, 0.0)])},
        [(MUL, "operator")],
    ),
    "read": ({EMPTY: fwd([num(4)], [nan()]), ADD: fwd([nan(), X], [nan()])}, [(ADD, "uninitialised")]),
    "read-as-inf": (
        {EMPTY: fwd([num(4)], [PLUS]), ADD: fwd([PLUS, X], [rec(INF, 0.5)])},
        [(ADD, "uninitialised")],
    ),
    "read-behind-a-view": (
        {
            EMPTY: fwd([num(4)], [nan()]),
            "Tensor.detach.0.forward": fwd([nan()], [nan()]),
            ADD: fwd([nan(), X], [nan()]),
        },
        [(ADD, "uninitialised")],
    ),
    "copied-over-piece-by-piece": (
        {
            EMPTY: fwd([num(8)], [nan(shape=[8])]),
            "Torch.chunk.0.forward": fwd([nan(shape=[8]), num(2)], [nan(), rec(1.5, 0.5)]),
            COPY: fwd([nan(), X], [X]),
            "Tensor.__getitem__.0.forward": fwd([nan(shape=[8]), num(1)], [nan(shape=[1])]),
            "Tensor.copy_.1.forward": fwd(
                [nan(shape=[1]), rec(1.0, 1.0, shape=[1])], [rec(1.0, 1.0, shape=[1])]
            ),
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
        {
            EMPTY: fwd([num(4)], [nan()]),
            COPY: fwd([nan(), X], [X]),
            LOG: fwd([X], [nan()]),
            ADD: fwd([nan(), X], [nan()]),
        },
        [(LOG, "operator")],
    ),
}


@pytest.mark.parametrize(
    "api", ["Torch.empty", "Torch.empty_like", "Tensor.new_empty", "Torch.empty_strided"]
)
@pytest.mark.parametrize("case", UNWRITTEN)
def test_buffers(case: str, api: str, tmp_path: Path) -> None:
    data, expected = UNWRITTEN[case]
    found = looked(tmp_path, {name.replace("Torch.empty", api): entry for name, entry in data.items()})
    assert causes(found) == expected
