"""Communication calls of two ranks are the same event where they meet, whatever their own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from npulse.core.calls.meetings import group_ranks, meetings_of
from npulse.core.formats.msprobe.dump import read_dump

T = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0}


def group(*ranks: int) -> dict[str, Any]:
    return {"type": "torch.ProcessGroup", "group_ranks": list(ranks), "group_id": "c0de"}


def number(value: int) -> dict[str, Any]:
    return {"type": "int", "value": value}


def meetings(folder: Path, rank: int, calls: dict[str, Any]) -> Any:
    path = folder / f"rank{rank}" / "dump.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"task": "statistics", "data": calls}))
    return meetings_of(read_dump(path), rank)


def call(args: list[Any], **kwargs: Any) -> dict[str, Any]:
    return {"input_args": args, "input_kwargs": kwargs, "output": [T]}


def test_a_group_and_all_ranks_are_counted_apart(tmp_path: Path) -> None:
    reduce = "Distributed.all_reduce.{}.forward"
    first = meetings(
        tmp_path, 0, {reduce.format(0): call([T]), reduce.format(1): call([T], group=group(0, 1))}
    )
    second = meetings(
        tmp_path, 1, {reduce.format(0): call([T], group=group(0, 1)), reduce.format(1): call([T])}
    )
    assert first.calls.keys() == second.calls.keys()
    assert {first.calls[m]: second.calls[m] for m in first.calls} == {0: 1, 1: 0}
    assert (first.members(0), first.members(1)) == (None, (0, 1))


def test_a_send_meets_its_receive(tmp_path: Path) -> None:
    sender = meetings(tmp_path, 0, {"Distributed.send.0.forward": call([T], dst=number(3))})
    other = meetings(tmp_path, 3, {"Distributed.recv.0.forward": call([None], src=number(0))})
    assert sender.calls.keys() == other.calls.keys()
    assert sender.is_sender(0) and not other.is_sender(0)
    assert sender.members(0) == (0, 3)


def test_a_batch_of_sends_and_receives_has_several_meetings(tmp_path: Path) -> None:
    def op(word: str, peer: int) -> dict[str, Any]:
        return {"class_type": "torch.distributed.P2POp", "tensor": T, "op": word, "peer": peer, "tag": 0}

    name = "Distributed.batch_isend_irecv.0.forward"
    here = meetings(tmp_path, 1, {name: call([[op("isend", 2), op("irecv", 0)]])})
    after = meetings(tmp_path, 2, {name: call([[op("irecv", 1)]])})
    assert len(here.of_call[0]) == 2 and here.is_sender(0)
    assert len(here.calls.keys() & after.calls.keys()) == 1


def test_only_the_source_of_a_broadcast_gives(tmp_path: Path) -> None:
    name = "Distributed.broadcast.0.forward"
    found = [meetings(tmp_path, rank, {name: call([T], src=number(1))}) for rank in (0, 1)]
    assert [one.is_given(0) for one in found] == [False, True]


def test_groups_that_are_none() -> None:
    assert group_ranks('{"group_ranks": [1, 2]}') == (1, 2)
    for text in ("", "[]", "{", '{"group_ranks": "all"}', '{"group_ranks": [1, "x", null]}'):
        assert all(isinstance(rank, int) for rank in group_ranks(text))
