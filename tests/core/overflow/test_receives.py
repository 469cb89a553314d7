"""What a communication call only writes to: what a buffer held before is neither given nor read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.analyse import source_of

from .small_dumps import INF, begun, fwd, looked, nan, num, rec, reported

X, Y = rec(3.0, -2.5), rec(200.0, -1.5)
GARBAGE, BAD = rec(INF, -7.0), nan()
LOG, ADD, EMPTY = "Torch.log.0.forward", "Torch.add.0.forward", "Torch.empty.0.forward"


def dist(api: str) -> str:
    return f"Distributed.{api}.0.forward"


def p2p(op: str, peer: int, tensor: Any) -> dict[str, Any]:
    return {"class_type": "torch.distributed.P2POp", "op": op, "peer": peer, "tag": 0, "tensor": tensor}


def batch(*given: Any, got: Any) -> dict[str, Any]:
    return {dist("batch_isend_irecv"): fwd([list(given)], [got])}


PAIRS: dict[str, Any] = {
    "recv-keyword": lambda sent, held, got: (
        {dist("send"): fwd([sent], [sent], dst=num(1))},
        {dist("recv"): fwd([], [got], tensor=held, src=num(0))},
    ),
    "irecv-keyword": lambda sent, held, got: (
        {dist("isend"): fwd([], [None], tensor=sent, dst=num(1))},
        {dist("irecv"): fwd([], [got], tensor=held, src=num(0))},
    ),
    "recv-not-masked": lambda sent, held, got: (
        {dist("send"): fwd([sent, num(1)], [sent])},
        {dist("recv"): fwd([held, num(0)], [got])},
    ),
    "batch": lambda sent, held, got: (
        batch(p2p("isend", 1, sent), got=[p2p("isend", 1, sent)]),
        batch(p2p("irecv", 0, held), got=[p2p("irecv", 0, got)]),
    ),
    "all_gather_into_tensor": lambda sent, held, got: (
        {dist("all_gather_into_tensor"): fwd([], [got], output_tensor=None, input_tensor=sent)},
        {dist("all_gather_into_tensor"): fwd([], [got], output_tensor=held, input_tensor=X)},
    ),
    "all_gather": lambda sent, held, got: (
        {dist("all_gather"): fwd([], [[got]], tensor_list=None, tensor=sent)},
        {dist("all_gather"): fwd([], [[got]], tensor_list=[held, X], tensor=X)},
    ),
    "reduce_scatter": lambda sent, held, got: (
        {dist("reduce_scatter"): fwd([], [got], output=None, input_list=[sent, X])},
        {dist("reduce_scatter"): fwd([], [got], output=held, input_list=[X, X])},
    ),
    "scatter": lambda sent, held, got: (
        {dist("scatter"): fwd([], [X], tensor=held, scatter_list=[X, sent], src=num(0))},
        {dist("scatter"): fwd([], [got], tensor=held, src=num(0))},
    ),
}


@pytest.mark.parametrize("held", [GARBAGE, BAD, rec(-INF, -INF), rec(65504.0, 1.0)])
@pytest.mark.parametrize("pair", PAIRS)
def test_garbage_that_is_written_over_is_nothing(pair: str, held: Any, tmp_path: Path) -> None:
    found = looked(tmp_path, *PAIRS[pair](Y, held, Y))
    assert begun(found) == []
    assert reported(found).exit_code() == 0


@pytest.mark.parametrize("held", [GARBAGE, BAD, Y, None])
@pytest.mark.parametrize("has_empty", [True, False])
@pytest.mark.parametrize("pair", PAIRS)
def test_what_is_received_began_at_the_sender(pair: str, held: Any, has_empty: bool, tmp_path: Path) -> None:
    """Also where the buffer's own garbage looks just like what came."""
    sender, receiver = PAIRS[pair](BAD, held, BAD)
    made = {EMPTY: fwd([num(4)], [held])} if has_empty and held is not None else {}
    found = looked(tmp_path, {LOG: fwd([X], [BAD]), **sender}, {**made, **receiver, ADD: fwd([BAD], [BAD])})
    assert begun(found) == [(0, 0, LOG, "operator")]
    roles = found.ranks[1].roles
    assert {source_of(found, 1, call) for call in roles.cause_of} == {(0, 0)} and roles.cause_of


def test_a_sender_in_a_batch_is_given_what_it_sends(tmp_path: Path) -> None:
    found = looked(tmp_path, batch(p2p("isend", 1, BAD), p2p("irecv", 1, X), got=None), batch(got=None))
    assert [(name, cause) for _, _, name, cause in begun(found)] == [(dist("batch_isend_irecv"), "input")]
