"""Backward, modules, gaps and recomputation: what is named, and what only shows what began elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import source_of

from .small_dumps import INF, bwd, causes, fwd, looked, mod, names, nan, num, only, rec, reported

X, Y, Z, G = rec(3.0, -2.5), rec(200.0, -1.5), rec(7.25, -7.5), rec(0.125, -0.25)
PLUS = rec(INF, -2.0)

BACKWARD: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "begins-in-the-backward": (
        {
            "Torch.sqrt.0.forward": fwd([rec(4.0, 0.0)], [rec(2.0, 0.0)]),
            "Torch.mul.0.forward": fwd([rec(2.0, 0.0)], [X]),
            "Torch.mul.0.backward": bwd([G], [Z]),
            "Torch.sqrt.0.backward": bwd([Z], [PLUS]),
        },
        [("Torch.sqrt.0.backward", "operator")],
    ),
    "and-goes-on": (
        {
            "Torch.mul.0.forward": fwd([X], [Y]),
            "Torch.add.0.forward": fwd([Y], [Z]),
            "Torch.add.0.backward": bwd([G], [PLUS]),
            "Torch.mul.0.backward": bwd([PLUS], [nan()]),
        },
        [("Torch.add.0.backward", "operator")],
    ),
    "of-a-bad-forward": (
        {
            "Torch.mul.0.forward": fwd([X, Y], [PLUS]),
            "Torch.sigmoid.0.forward": fwd([PLUS], [rec(1.0, 0.1)]),
            "Torch.sigmoid.0.backward": bwd([G], [G]),
            "Torch.mul.0.backward": bwd([G], [nan(), G]),
        },
        [("Torch.mul.0.forward", "operator")],
    ),
    "of-a-forward-that-was-given-something-bad": (
        {
            "Torch.mul.0.forward": fwd([X, Y], [PLUS]),
            "Torch.clamp.0.forward": fwd([PLUS], [X]),
            "Torch.clamp.0.backward": bwd([G], [nan()]),
        },
        [("Torch.mul.0.forward", "operator")],
    ),
    "gradient-of-a-bad-loss": (
        {
            "Torch.mean.0.forward": fwd([X], [nan(shape=[])]),
            "Torch.mean.0.backward": bwd([nan(shape=[])], [nan()]),
        },
        [("Torch.mean.0.forward", "operator")],
    ),
    "a-healthy-forward-beside-a-bad-one": (
        {
            "Torch.mul.0.forward": fwd([X, Y], [PLUS]),
            "Torch.add.0.forward": fwd([X, Z], [Y]),
            "Torch.add.0.backward": bwd([G], [rec(INF, -1.0)]),
        },
        [("Torch.mul.0.forward", "operator"), ("Torch.add.0.backward", "operator")],
    ),
    "of-a-legal-forward": (
        {
            "Torch.log.0.forward": fwd([rec(1.0, 0.0)], [rec(0.0, -INF)]),
            "Torch.log.0.backward": bwd([G], [PLUS]),
        },
        [("Torch.log.0.backward", "operator")],
    ),
    "gradients-in-a-list": (
        {"Torch.mul.0.forward": fwd([X], [Y]), "Torch.mul.0.backward": bwd([G, None], [[PLUS], None])},
        [("Torch.mul.0.backward", "operator")],
    ),
    "nothing-is-recorded-of-the-gradient": (
        {"Torch.mul.0.forward": fwd([X], [Y]), "Torch.mul.0.backward": bwd([rec(None, None)], [PLUS])},
        [("Torch.mul.0.backward", "inputs-unknown")],
    ),
}


@pytest.mark.parametrize("case", BACKWARD)
def test_backward(case: str, tmp_path: Path) -> None:
    data, expected = BACKWARD[case]
    assert causes(looked(tmp_path, data)) == expected


# ---- gradients of parameters ----

FC, GRAD = "Module.fc.Linear.forward.0", "Module.fc.Linear.parameters_grad"
LINEAR = {"Functional.linear.0.forward": fwd([X], [Y])}
BROKEN = {"Functional.linear.0.backward": bwd([G], [nan(shape=[16])])}


@pytest.mark.parametrize("grad", [GRAD, f"{GRAD}.0"])
@pytest.mark.parametrize("is_early", [True, False])
@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        (BROKEN, [("Functional.linear.0.backward", "operator")]),
        ({"Functional.linear.0.backward": bwd([G], [G])}, None),
        ({}, None),
    ],
)
def test_a_parameters_gradient_comes_out_of_the_backward(
    grad: str, is_early: bool, backward: dict[str, Any], expected: Any, tmp_path: Path
) -> None:
    body = {grad: {"weight": [nan(shape=[16])], "bias": [nan()]}}
    data = {**LINEAR, FC: mod([X], [Y])}
    data |= {**body, **backward} if is_early else {**backward, **body}
    found = looked(tmp_path, data)
    assert causes(found) == (expected or [(grad, "gradient")])
    assert reported(found).exit_code() == 1


def test_several_gradients_are_one_trouble(tmp_path: Path) -> None:
    data = {f"Module.fc{i}.Linear.parameters_grad": {"weight": [nan()]} for i in range(4)}
    assert len(causes(looked(tmp_path, data))) == 1


@pytest.mark.parametrize("body", [{"weight": [None]}, {"weight": None}, {"weight": []}, {}])
def test_a_placeholder_that_nobody_filled_is_nothing(body: Any, tmp_path: Path) -> None:
    assert causes(looked(tmp_path, {**LINEAR, GRAD: body})) == []


def test_the_forward_explains_a_gradient(tmp_path: Path) -> None:
    data = {"Functional.linear.0.forward": fwd([X], [PLUS]), f"{GRAD}.0": {"weight": [nan(shape=[16])]}}
    found = looked(tmp_path, data)
    assert causes(found) == [("Functional.linear.0.forward", "operator")]
    assert source_of(found, 0, 1) == (0, 0)


# ---- gaps ----


def test_a_gap_is_named_with_what_lies_in_it(tmp_path: Path) -> None:
    data = {
        "Torch.matmul.0.forward": fwd([X, Y], [Z]),
        "Torch.bmm.0.forward": fwd([nan(), X], [nan()]),
    }
    parents = {
        "Torch.matmul.0.forward": None,
        "Tensor.view.0.forward": None,
        "Custom.attention.0.forward": None,
        "Torch.bmm.0.forward": None,
    }
    found = looked(tmp_path, data, parents=parents)
    origin = only(found)
    assert (origin.cause, names(found, [origin.call, origin.after])) == ("gap", list(reversed(list(data))))
    assert origin.between == ("Tensor.view.0.forward", "Custom.attention.0.forward")


@pytest.mark.parametrize(
    ("data", "cause", "after"),
    [
        # the value went on unchanged into a captured call: what arrives is from outside
        (
            {"Torch.matmul.0.forward": fwd([X], [Z]), "Torch.add.0.forward": fwd([Z, nan()], [nan()])},
            "input",
            -1,
        ),
        (
            {"Torch.matmul.0.forward": fwd([X], [Z]), "Torch.add.0.forward": fwd([nan(), Y], [nan()])},
            "gap",
            0,
        ),
        (
            {
                "Torch.matmul.0.forward": fwd([X], [rec(1.0, shape=[9])]),
                "Torch.add.0.forward": fwd([nan()], [nan()]),
            },
            "input",
            -1,
        ),
        ({"Torch.add.0.forward": fwd([nan()], [nan()])}, "input", -1),
        (
            {
                "Torch.matmul.0.forward": fwd([X], [Z]),
                "Torch.sin.0.forward": fwd([Z], [Y]),
                "Module.a.Block.forward.0": mod([X], [G]),
                "Torch.add.0.forward": fwd([nan(), X], [nan()]),
            },
            "gap",
            1,
        ),
    ],
)
def test_what_is_a_gap_and_what_comes_from_outside(data: Any, cause: str, after: int, tmp_path: Path) -> None:
    origin = only(looked(tmp_path, data))
    assert (origin.cause, origin.after) == (cause, after)


def test_behind_an_origin_a_gap_hands_it_on(tmp_path: Path) -> None:
    data = {
        "Torch.mul.0.forward": fwd([X, Y], [PLUS]),
        "Torch.add.0.forward": fwd([nan(shape=[64])], [nan(shape=[64])]),
    }
    found = looked(tmp_path, data)
    assert causes(found) == [("Torch.mul.0.forward", "operator")]
    assert found.ranks[0].roles.through_gap == {1}


# ---- the same again ----


def again(second: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "Functional.gelu.0.forward": fwd([X, num(2)], [PLUS], k=num(1.0)),
        "Torch.mul.0.forward": fwd([PLUS], [PLUS]),
        "Functional.gelu.1.forward": {**second, **fields},
        "Torch.mul.1.forward": fwd(second["output"], [nan()]),
    }


@pytest.mark.parametrize("fields", [{}, {"is_recompute": True}])
def test_a_recomputed_call_is_no_second_origin(fields: Any, tmp_path: Path) -> None:
    found = looked(tmp_path, again(fwd([X, num(2)], [PLUS], k=num(1.0)), **fields))
    assert causes(found) == [("Functional.gelu.0.forward", "operator")]
    assert names(found, only(found).repeats) == ["Functional.gelu.1.forward"]
    assert {source_of(found, 0, call) for call in range(4)} == {(0, 0)}


@pytest.mark.parametrize(
    "other",
    [
        fwd([Z, num(2)], [PLUS], k=num(1.0)),
        fwd([X, num(3)], [PLUS], k=num(1.0)),
        fwd([X, num(2)], [PLUS], k=num(1.5)),
        fwd([X, num(2), Y], [PLUS], k=num(1.0)),
    ],
)
def test_with_other_inputs_it_is(other: Any, tmp_path: Path) -> None:
    found = looked(tmp_path, again(other))
    assert [name for name, _ in causes(found)] == ["Functional.gelu.0.forward", "Functional.gelu.1.forward"]


def test_the_checksum_tells_inputs_apart(tmp_path: Path) -> None:
    data = {
        f"Functional.gelu.{i}.forward": fwd([{**X, "md5": f"0000000{n}"}], [PLUS])
        for i, n in enumerate("112")
    }
    found = looked(tmp_path, data)
    assert [name for name, _ in causes(found)] == ["Functional.gelu.0.forward", "Functional.gelu.2.forward"]


def test_backward_calls_of_the_same_gradient_are_not_the_same_call(tmp_path: Path) -> None:
    """Two branches get one gradient; what each does with it depends on what its forward saved."""
    data = {f"Torch.sqrt.{i}.forward": fwd([rec(i + 1.0, 0.0)], [rec(i + 2.0, 0.0)]) for i in range(2)}
    data |= {f"Torch.sqrt.{i}.backward": bwd([G], [rec(INF, i + 1.0)]) for i in (1, 0)}
    found = looked(tmp_path, data)
    assert [name for name, _ in causes(found)] == ["Torch.sqrt.1.backward", "Torch.sqrt.0.backward"]


def test_backward_of_a_recomputed_call(tmp_path: Path) -> None:
    """Checkpointing: the second forward of the same runs right before the backward."""
    data = {
        "Functional.gelu.0.forward": fwd([X], [PLUS]),
        "Functional.gelu.1.forward": {**fwd([X], []), "is_recompute": True},
        "Functional.gelu.1.backward": bwd([G], [nan()]),
    }
    found = looked(tmp_path, data)
    assert causes(found) == [("Functional.gelu.0.forward", "operator")]
    assert source_of(found, 0, 2) == (0, 0)
