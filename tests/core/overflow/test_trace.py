"""Upstream from an origin: producers by content or by order, pass-through, suspects by headroom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.trace import Trace, growth_ratio, trace

from .small_dumps import INF, bwd, fwd, looked, mod, nan, num, rec

NAMES = tuple(f"Torch.{api}.0.forward" for api in ("relu", "mul", "square", "view", "matmul"))
RELU, MUL, SQUARE, VIEW, MATMUL = NAMES
X0, X1, X2, X3 = rec(3.0, -2.5), rec(2.75, 0.0), rec(1375.0, 0.0), rec(40000.0, 0.0)
W = rec(2.0, -2.0, shape=[16])


def chain(**overrides: Any) -> dict[str, Any]:
    """relu -> mul by 500 -> square -> view -> matmul that overflows."""
    data = {
        RELU: fwd([X0], [X1]),
        MUL: fwd([X1, num(500.0)], [X2]),
        SQUARE: fwd([X2], [X3]),
        VIEW: fwd([X3], [{**X3, "shape": [2, 2]}]),
        MATMUL: fwd([{**X3, "shape": [2, 2]}, W], [rec(INF, -1.0)]),
    }
    return {**data, **overrides}


def traced(found: Overflow, depth: int = 12) -> Trace:
    place, origin = found.origins()[-1]
    return trace(found.ranks[place], origin, depth=depth)


def told(found: Overflow, chosen: Sequence[Any]) -> list[tuple[str, str, int]]:
    return [(found.ranks[0].name(step.call), step.link, step.distance) for step in chosen]


BY_CONTENT = [
    (RELU, "content", 4),
    (MUL, "content", 3),
    (SQUARE, "content", 2),
    (VIEW, "content", 1),
    (MATMUL, "origin", 0),
]


def test_producers_by_content_farthest_first(tmp_path: Path) -> None:
    found = looked(tmp_path, chain())
    assert told(found, traced(found).steps) == BY_CONTENT


def test_growth_and_what_only_hands_on(tmp_path: Path) -> None:
    found = looked(tmp_path, chain())
    steps = {found.ranks[0].name(step.call): step for step in traced(found).steps}
    assert [steps[n].growth_ratio for n in NAMES] == [
        pytest.approx(g) for g in (2.75 / 3, 500, 40000 / 1375, 1, INF)
    ]
    assert [n for n in NAMES if steps[n].is_pass_through] == [VIEW]


def test_suspects_are_close_to_the_limit_or_grew_at_once(tmp_path: Path) -> None:
    found = looked(tmp_path, chain())
    names = [found.ranks[0].name(step.call) for step in traced(found).suspects]
    assert names == [SQUARE, MUL]  # 61 % of the range; x500 to 2 %


def test_what_is_far_from_the_limit_is_no_suspect(tmp_path: Path) -> None:
    low = rec(500.0, 0.0)
    data = chain(**{MUL: fwd([X1], [low]), SQUARE: fwd([low], [X3])})
    found = looked(tmp_path, data)
    assert [found.ranks[0].name(step.call) for step in traced(found).suspects] == [SQUARE]


def with_sums(data: Any, sums: dict[float, str]) -> Any:
    """The same records with a checksum and without the statistics that would tell as much."""
    if isinstance(data, dict) and "Max" in data:
        return {**data, "md5": sums[data["Max"]]}
    if isinstance(data, dict):
        return {key: with_sums(value, sums) for key, value in data.items()}
    return [with_sums(value, sums) for value in data] if isinstance(data, list) else data


def test_producers_by_checksum(tmp_path: Path) -> None:
    sums = {3.0: "0a", 2.75: "0b", 1375.0: "0c", 40000.0: "0d", INF: "0e", 2.0: "0f"}
    found = looked(tmp_path, with_sums(chain(), sums))
    assert told(found, traced(found).steps) == BY_CONTENT


def test_equal_statistics_of_another_checksum_are_another_tensor(tmp_path: Path) -> None:
    data = {
        RELU: fwd([X0], [{**X3, "md5": "0a"}]),
        MUL: fwd([X1], [{**X3, "md5": "0b"}]),
        MATMUL: fwd([{**X3, "md5": "0a"}], [rec(INF, -1.0, md5="0c")]),
    }
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps) == [(RELU, "content", 1), (MATMUL, "origin", 0)]


def test_the_latest_of_equal_contents(tmp_path: Path) -> None:
    data = {RELU: fwd([X0], [X3]), MUL: fwd([X1], [X3]), MATMUL: fwd([X3], [rec(INF, -1.0)])}
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps)[-2:] == [(MUL, "content", 1), (MATMUL, "origin", 0)]


def test_an_output_behind_the_call_does_not_feed_it(tmp_path: Path) -> None:
    data = {MATMUL: fwd([X3], [rec(INF, -1.0)]), MUL: fwd([X1], [X3])}
    assert len(traced(looked(tmp_path, data)).steps) == 1


def test_order_where_no_content_tells(tmp_path: Path) -> None:
    """An uncaptured kernel changed the value in between: the last call that made as many elements."""
    data = {
        RELU: fwd([X0], [X1]),
        MUL: fwd([X0], [rec(9.0, 0.0, shape=[5])]),
        MATMUL: fwd([X3, W], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps) == [(RELU, "order", 1), (MATMUL, "origin", 0)]


def test_order_stays_in_the_direction(tmp_path: Path) -> None:
    data = {
        "Torch.mul.0.backward": bwd([X0], [X1]),
        RELU: fwd([X0], [X2]),
        "Torch.sum.0.backward": bwd([X3], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps)[0] == ("Torch.mul.0.backward", "order", 1)


def test_order_stays_in_the_module(tmp_path: Path) -> None:
    data = {
        RELU: fwd([X0], [X1]),
        MUL: fwd([X0], [X2]),
        MATMUL: fwd([X3, W], [rec(INF, -1.0)]),
    }
    block = "Module.a.Block.forward.0"
    parents = {block: None, RELU: block, MATMUL: block, MUL: "Module.b.Block.forward.0"}
    found = looked(tmp_path, data, parents=parents)
    assert told(found, traced(found).steps)[0] == (RELU, "order", 1)


def test_the_input_closest_to_the_limit_is_followed_and_the_others_stand_beside(tmp_path: Path) -> None:
    data = {
        RELU: fwd([X0], [X1]),
        SQUARE: fwd([X2], [X3]),
        "Torch.add.0.forward": fwd([X1, X3], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    steps = traced(found).steps
    assert [(found.ranks[0].name(s.call), s.distance, s.is_side) for s in steps] == [
        (RELU, 1, True),
        (SQUARE, 1, False),
        ("Torch.add.0.forward", 0, False),
    ]


def test_weights_are_no_data(tmp_path: Path) -> None:
    data = {
        "Torch.init.0.forward": fwd([], [rec(60000.0, -2.0, shape=[16])]),
        RELU: fwd([X0], [X1]),
        "Functional.linear.0.forward": fwd([X1, rec(60000.0, -2.0, shape=[16])], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps) == [
        (RELU, "content", 1),
        ("Functional.linear.0.forward", "origin", 0),
    ]
    ((_, origin),) = found.origins()
    assert growth_ratio(found.ranks[0], 1, 3) == pytest.approx(2.75 / 3)


def test_module_entries_are_no_producers_of_calls(tmp_path: Path) -> None:
    data = {
        SQUARE: fwd([X2], [X3]),
        "Module.a.Square.forward.0": mod([X2], [X3]),
        MATMUL: fwd([X3], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    assert told(found, traced(found).steps) == [(SQUARE, "content", 1), (MATMUL, "origin", 0)]


def test_modules_alone_lead_to_modules(tmp_path: Path) -> None:
    names = [f"Module.layers.{i}.Block.forward.0" for i in range(3)]
    data = {
        names[0]: mod([X0], [X1]),
        names[1]: mod([X1], [X3]),
        names[2]: mod([X3], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data, parents={})
    assert told(found, traced(found).steps) == [
        (names[0], "content", 2),
        (names[1], "content", 1),
        (names[2], "origin", 0),
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth(depth: int, tmp_path: Path) -> None:
    found = looked(tmp_path, chain())
    assert told(found, traced(found, depth).steps) == BY_CONTENT[-1 - depth :]


def test_a_backward_call_has_its_forward_beside_it(tmp_path: Path) -> None:
    grad, big = rec(0.5, -0.25), rec(30000.0, 2.0)
    data = {
        "Torch.sqrt.0.forward": fwd([rec(9e4, 4.0, "float32")], [big]),
        "Torch.mul.0.backward": bwd([rec(0.125, -0.125)], [grad]),
        "Torch.sqrt.0.backward": bwd([grad], [nan()]),
    }
    found = looked(tmp_path, data)
    assert set(told(found, traced(found).steps)) == {
        ("Torch.sqrt.0.forward", "forward", 1),
        ("Torch.mul.0.backward", "content", 1),
        ("Torch.sqrt.0.backward", "origin", 0),
    }


def test_in_place_calls_and_circles_end(tmp_path: Path) -> None:
    data = {f"Tensor.add_.{i}.forward": fwd([X3, X3], [X3]) for i in range(30)}
    data[MATMUL] = fwd([X3], [rec(INF, -1.0)])
    found = looked(tmp_path, data)
    steps = traced(found).steps
    assert len(steps) == 13 and len({step.call for step in steps}) == 13
    assert all(step.is_pass_through for step in steps[:-1])
    assert traced(found).suspects == ()


def test_dropout_and_casts_hand_on_what_they_are_given(tmp_path: Path) -> None:
    big = rec(40000.0, -39000.0)
    cut = rec(39999.0, -39000.0)
    data = {
        SQUARE: fwd([X2], [big]),
        "Functional.dropout.0.forward": fwd([big, num(0.1)], [cut]),
        MATMUL: fwd([cut], [rec(INF, -1.0)]),
    }
    found = looked(tmp_path, data)
    assert [found.ranks[0].name(s.call) for s in traced(found).steps if s.is_pass_through] == [
        "Functional.dropout.0.forward"
    ]
    assert [found.ranks[0].name(s.call) for s in traced(found).suspects] == [SQUARE]
