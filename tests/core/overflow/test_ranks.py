"""Between ranks: what one gave and another got is one trouble, named where it began."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import Overflow, source_of

from .small_dumps import INF, analysed, begun, bwd, fwd, group, looked, mod, nan, num, rec, reported, write

X, Y, G = rec(3.0, -2.5), rec(200.0, -1.5), rec(0.125, -0.25)
BIG = rec(4e4, -1.0)
PLUS, BAD = rec(INF, -2.0), nan()
LOG, ADD = "Torch.log.0.forward", "Torch.add.0.forward"
BROKEN = {LOG: fwd([X], [BAD])}


def dist(api: str, number: int = 0) -> str:
    return f"Distributed.{api}.{number}.forward"


REDUCE = dist("all_reduce")


def reduce(given: Any, got: Any, n: int = 0, **kwargs: Any) -> dict[str, Any]:
    return {dist("all_reduce", n): fwd([given], [got], **kwargs)}


Begun = list[tuple[int, str, str]]
CASES: dict[str, tuple[list[dict[str, Any]], Begun]] = {
    "all_reduce": ([reduce(X, BAD), {**BROKEN, **reduce(BAD, BAD)}], [(1, LOG, "operator")]),
    "all_reduce-counted-otherwise": (
        [reduce(X, BAD), {**reduce(Y, Y, 0, group=group(1)), **BROKEN, **reduce(BAD, BAD, 1)}],
        [(1, LOG, "operator")],
    ),
    "more-calls-on-the-rank-where-it-began": (
        [
            {**reduce(X, X), **reduce(X, BAD, 1), ADD: fwd([BAD], [BAD])},
            {
                **reduce(X, X),
                **{f"Torch.add.{i}.forward": fwd([X], [Y]) for i in range(9)},
                **BROKEN,
                **reduce(BAD, BAD, 1),
            },
        ],
        [(1, LOG, "operator")],
    ),
    "in-place-result": (
        [reduce(X, PLUS), {ADD: fwd([X], [PLUS]), **reduce(PLUS, PLUS)}],
        [(1, ADD, "operator")],
    ),
    "all_gather": (
        [
            {dist("all_gather"): fwd([None, X], [[X, BAD], X])},
            {**BROKEN, dist("all_gather"): fwd([None, BAD], [[X, BAD], BAD])},
        ],
        [(1, LOG, "operator")],
    ),
    "all_gather_into_tensor": (
        [
            {dist("all_gather_into_tensor"): fwd([None, X], [nan(shape=[8]), X])},
            {**BROKEN, dist("all_gather_into_tensor"): fwd([None, BAD], [nan(shape=[8]), BAD])},
        ],
        [(1, LOG, "operator")],
    ),
    "reduce_scatter": (
        [
            {dist("reduce_scatter_tensor"): fwd([None, rec(3.0, -2.5, shape=[8])], [BAD])},
            {
                LOG: fwd([X], [nan(shape=[8])]),
                dist("reduce_scatter_tensor"): fwd([None, nan(shape=[8])], [X]),
            },
        ],
        [(1, LOG, "operator")],
    ),
    "all_to_all": (
        [
            {dist("all_to_all_single"): fwd([None, X], [BAD])},
            {**BROKEN, dist("all_to_all_single"): fwd([None, BAD], [Y])},
        ],
        [(1, LOG, "operator")],
    ),
    "send-recv": (
        [
            {**BROKEN, dist("send"): fwd([BAD, num(1)], [BAD, num(1)])},
            {dist("recv"): fwd([None, num(0)], [BAD, num(0)])},
        ],
        [(0, LOG, "operator")],
    ),
    "second-message": (
        [
            {
                dist("send", 0): fwd([X, num(1)], [X, num(1)]),
                **BROKEN,
                dist("send", 1): fwd([BAD, num(1)], [BAD, num(1)]),
            },
            {
                dist("recv", 0): fwd([None, num(0)], [X, num(0)]),
                dist("recv", 1): fwd([None, num(0)], [BAD, num(0)]),
            },
        ],
        [(0, LOG, "operator")],
    ),
    "broadcast": (
        [
            {**BROKEN, dist("broadcast"): fwd([BAD, num(0)], [BAD, num(0)])},
            {dist("broadcast"): fwd([X, num(0)], [BAD, num(0)])},
        ],
        [(0, LOG, "operator")],
    ),
    "broadcast-over-what-was-bad": (
        [
            {dist("broadcast"): fwd([X, num(0)], [X, num(0)])},
            {dist("broadcast"): fwd([BAD, num(0)], [X, num(0)])},
        ],
        [],
    ),
    "broadcast-over-what-was-bad-by-keyword": (
        [{dist("broadcast"): fwd([X], [X], src=num(0))}, {dist("broadcast"): fwd([PLUS], [X], src=num(0))}],
        [],
    ),
    "broadcast-of-something-bad-over-something-bad": (
        [
            {**BROKEN, dist("broadcast"): fwd([BAD, num(0)], [BAD, num(0)])},
            {dist("broadcast"): fwd([PLUS, num(0)], [BAD, num(0)]), ADD: fwd([BAD], [BAD])},
        ],
        [(0, LOG, "operator")],
    ),
    "reduce-overflows": (
        [reduce(BIG, PLUS), reduce(BIG, PLUS)],
        [(0, REDUCE, "collective"), (1, REDUCE, "collective")],
    ),
    "reduce-overflows-in-a-group": (
        [
            reduce(BIG, PLUS, group=group(0, 1)),
            reduce(BIG, PLUS, group=group(0, 1)),
            reduce(X, X, group=group(2)),
        ],
        [(0, REDUCE, "collective"), (1, REDUCE, "collective")],
    ),
    "reduce-saturates": (
        [reduce(BIG, rec(65504.0, -2.0)), reduce(BIG, rec(65504.0, -2.0))],
        [(0, REDUCE, "collective"), (1, REDUCE, "collective")],
    ),
    "reduce-to-one": (
        [
            {dist("reduce"): fwd([BIG, num(0)], [PLUS, num(0)])},
            {dist("reduce"): fwd([BIG, num(0)], [BIG, num(0)])},
        ],
        [(0, dist("reduce"), "collective")],
    ),
    "reduce-of-a-scattered-sum": (
        [{dist("reduce_scatter_tensor"): fwd([None, BIG], [rec(INF, 1.0, shape=[2])])}] * 2,
        [(0, dist("reduce_scatter_tensor"), "collective"), (1, dist("reduce_scatter_tensor"), "collective")],
    ),
    "nan-out-of-a-group-that-is-captured": (
        [reduce(X, BAD, group=group(0, 1)), reduce(X, BAD, group=group(0, 1))],
        [(0, REDUCE, "collective"), (1, REDUCE, "collective")],
    ),
    "alone-with-large-values": ([reduce(rec(7e4, dtype="float32"), PLUS)], [(0, REDUCE, "peer")]),
    "peer-not-captured": ([reduce(X, BAD)], [(0, REDUCE, "peer")]),
    "one-of-the-group-not-captured": (
        [reduce(X, BAD, group=group(0, 1, 2)), reduce(X, BAD, group=group(0, 1, 2))],
        [(0, REDUCE, "peer"), (1, REDUCE, "peer")],
    ),
    "receive-without-its-sender": (
        [{dist("recv"): fwd([None, num(7)], [BAD, num(7)])}],
        [(0, dist("recv"), "peer")],
    ),
    "peer-was-cut-off": (
        [{**reduce(X, X), **reduce(X, BAD, 1)}, reduce(X, X)],
        [(0, dist("all_reduce", 1), "peer")],
    ),
    "peer-of-which-nothing-is-recorded": (
        [reduce(X, BAD), reduce(rec(None, None), BAD)],
        [(0, REDUCE, "peer"), (1, REDUCE, "peer")],
    ),
    "gather": (
        [
            {dist("gather"): fwd([X, None], [X, [X, BAD]], dst=num(0))},
            {**BROKEN, dist("gather"): fwd([BAD, None], [BAD], dst=num(0))},
        ],
        [(1, LOG, "operator")],
    ),
    "scatter": (
        [
            {**BROKEN, dist("scatter"): fwd([None, [X, BAD]], [X], src=num(0))},
            {dist("scatter"): fwd([None], [BAD], src=num(0))},
        ],
        [(0, LOG, "operator")],
    ),
    "receive-of-something-finite": (
        [{dist("send"): fwd([X, num(1)], [X, num(1)])}, {dist("recv"): fwd([None, num(0)], [BAD, num(0)])}],
        [(1, dist("recv"), "peer")],
    ),
    "receive-without-its-message": (
        [
            {dist("send"): fwd([X, num(1)], [X, num(1)])},
            {
                dist("recv", 0): fwd([None, num(0)], [X, num(0)]),
                dist("recv", 1): fwd([None, num(0)], [BAD, num(0)]),
            },
        ],
        [(1, dist("recv", 1), "peer")],
    ),
    "two-groups": (
        [
            {**reduce(X, BAD, group=group(0, 1)), **reduce(BAD, BAD, 1, group=group(0, 2))},
            {**BROKEN, **reduce(BAD, BAD, group=group(0, 1)), **reduce(BAD, BAD, 1, group=group(1, 3))},
            reduce(X, BAD, group=group(0, 2)),
            reduce(X, BAD, group=group(1, 3)),
        ],
        [(1, LOG, "operator")],
    ),
    "other-group-is-not-met": (
        [
            reduce(X, BAD, group=group(0, 2)),
            {**BROKEN, **reduce(BAD, BAD, group=group(1, 3))},
            {ADD: fwd([Y], [BAD]), **reduce(BAD, BAD, group=group(0, 2))},
            reduce(X, BAD, group=group(1, 3)),
        ],
        [(1, LOG, "operator"), (2, ADD, "operator")],
    ),
    "two-begin": (
        [{ADD: fwd([Y], [PLUS]), **reduce(PLUS, BAD)}, {**BROKEN, **reduce(BAD, BAD)}],
        [(0, ADD, "operator"), (1, LOG, "operator")],
    ),
    "in-the-backward": (
        [
            {ADD: fwd([X], [Y]), "Torch.add.0.backward": bwd([G], [X]), REDUCE: fwd([X], [BAD])},
            {ADD: fwd([X], [Y]), "Torch.add.0.backward": bwd([G], [BAD]), REDUCE: fwd([BAD], [BAD])},
        ],
        [(1, "Torch.add.0.backward", "operator")],
    ),
    "inside-a-module": (
        [
            {"Module.mlp.RowParallel.forward.0": mod([X], [BAD])},
            {
                "Module.act.GELU.forward.0": mod([X], [BAD]),
                "Module.mlp.RowParallel.forward.0": mod([BAD], [BAD]),
            },
        ],
        [(1, "Module.act.GELU.forward.0", "operator")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_where_it_begins(case: str, tmp_path: Path) -> None:
    ranks, expected = CASES[case]
    found = looked(tmp_path, *ranks)
    assert [(rank, call, cause) for _, rank, call, cause in begun(found)] == expected
    assert reported(found).exit_code() == (1 if expected else 0)


@pytest.mark.parametrize("case", [c for c, (_, expected) in CASES.items() if len(expected) == 1])
def test_all_that_is_bad_leads_to_it(case: str, tmp_path: Path) -> None:
    ranks, _ = CASES[case]
    found = looked(tmp_path, *ranks)
    ((place, origin),) = found.origins()
    for other, rank in enumerate(found.ranks):
        assert {source_of(found, other, call) for call in rank.roles.cause_of} <= {(place, origin.call)}


def test_a_broadcast_whose_source_was_not_captured(tmp_path: Path) -> None:
    write(tmp_path, {dist("broadcast"): fwd([X, num(0)], [BAD, num(0)])}, rank=1)
    write(tmp_path, {dist("broadcast"): fwd([X, num(0)], [BAD, num(0)])}, rank=2)
    assert {(rank, cause) for _, rank, _, cause in begun(analysed(tmp_path))} == {(1, "peer"), (2, "peer")}


def rules(found: Overflow) -> list[tuple[str, str, str]]:
    return [(f.rule, f.role, f.severity) for f in reported(found).findings if f.severity == "error"]


def test_a_reduction_that_overflows_is_told_once(tmp_path: Path) -> None:
    found = looked(tmp_path, reduce(BIG, PLUS), reduce(BIG, PLUS))
    assert rules(found) == [("overflow.collective", "origin", "error")]


def test_a_peer_that_was_not_captured_leaves_the_role_unknown(tmp_path: Path) -> None:
    found = looked(tmp_path, {**reduce(X, BAD, group=group(0, 1)), ADD: fwd([BAD], [BAD])})
    assert rules(found) == [("overflow.peer", "unknown", "error")]


def test_a_chain_over_four_ranks(tmp_path: Path) -> None:
    """A pipeline: each stage gets the activations of the one before and sends on."""

    def stage(rank: int) -> dict[str, Any]:
        got: dict[str, Any] = (
            {dist("recv"): fwd([None, num(rank - 1)], [BAD, num(rank - 1)])} if rank else BROKEN
        )
        sent = {dist("send"): fwd([BAD, num(rank + 1)], [BAD, num(rank + 1)])} if rank < 3 else {}
        return {**got, ADD: fwd([BAD, X], [BAD]), **sent}

    found = looked(tmp_path, *(stage(rank) for rank in range(4)))
    assert begun(found) == [(0, 0, LOG, "operator")]
    assert source_of(found, 3, 1) == (0, 0)
    (finding,) = [f for f in reported(found).findings if f.severity == "error"]
    assert finding.figures["affected_ranks"] == [0, 1, 2, 3]


def test_what_began_earlier_by_the_meetings_comes_first(tmp_path: Path) -> None:
    """Rank 0 has many calls in front of its fault, which is yet the earlier one."""
    slow = {f"Torch.mul.{i}.forward": fwd([X], [Y]) for i in range(20)}
    found = looked(
        tmp_path,
        {**slow, **BROKEN, **reduce(X, X)},
        {**reduce(X, X), ADD: fwd([X], [PLUS])},
    )
    assert [(rank, call) for _, rank, call, _ in begun(found)] == [(0, LOG), (1, ADD)]


def test_captures_do_not_meet(tmp_path: Path) -> None:
    write(tmp_path / "a", {**BROKEN, **reduce(BAD, BAD)}, rank=1)
    write(tmp_path / "b", reduce(X, BAD), rank=0)
    assert sorted((r, c, w) for _, r, c, w in begun(analysed(tmp_path))) == [
        (0, REDUCE, "peer"),
        (1, LOG, "operator"),
    ]


def test_steps_do_not_meet(tmp_path: Path) -> None:
    write(tmp_path, {**BROKEN, **reduce(BAD, BAD)}, rank=1, step=0)
    write(tmp_path, reduce(X, BAD), rank=0, step=1)
    assert begun(analysed(tmp_path)) == [(0, 1, LOG, "operator"), (1, 0, REDUCE, "peer")]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ranks_that_wait_for_each_other_for_ever(n: int, tmp_path: Path) -> None:
    """Broken dumps: orders that cannot be. All ranks are looked at, and nothing hangs."""
    ring = [
        {
            dist("recv"): fwd([None, num((r - 1) % n)], [BAD, num((r - 1) % n)]),
            dist("send"): fwd([BAD, num((r + 1) % n)], [BAD, num((r + 1) % n)]),
        }
        for r in range(n)
    ]
    found = looked(tmp_path, *ring)
    assert len(found.ranks) == n and reported(found).exit_code() == 1
