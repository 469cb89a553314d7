"""Origins over ranks: the way of a difference; NaN that a call of one side alone made inside a module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.origins.path import hops_of, source_of
from npulse.core.precision.report import ordered_origins, report
from npulse.core.run.sides import pair_of

from .. import faulty_net as fn
from ..faulty_net import Fault, Net, api, number, tensor, write_dump


def compared(folder: Path) -> Comparison:
    return compare_captures(pair_of(folder / "target", folder / "golden"), Settings(jobs=1))


def written(folder: Path, nets: list[list[Net]]) -> Comparison:
    for side, ranks in zip(("target", "golden"), nets, strict=True):
        for net in ranks:
            net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "statistics")
    return compared(folder)


def test_the_ranks_that_only_got_it_through_a_collective(tmp_path: Path) -> None:
    fault = Fault("output", "Functional.relu.0.forward")
    comparison = written(
        tmp_path, [fn.run_ranks(fault, 2, golden=golden, n_ranks=4) for golden in (False, True)]
    )
    (found,) = ordered_origins(comparison)
    rank, origin = found
    assert rank.rank == 2
    (hop,) = hops_of(comparison, rank, origin)
    assert (hop.call, hop.giver, hop.getters) == ("Distributed.all_reduce.0.forward", 2, (0, 1, 3))
    # the last call of every rank leads back to the one call in which it began
    for place, one in enumerate(comparison.ranks):
        last = one.rows.pairing.n_calls - 1
        assert source_of(comparison, place, last) == (2, origin.call)
    first = report(comparison).findings[0]
    assert (first.subject, first.location.rank) == (fault.place, 2)
    assert first.figures["spread_to_ranks"] == [0, 1, 3]
    assert "Distributed.all_reduce.0.forward from rank 2 to rank 0, 1, 3" in first.message


def test_what_was_sent_is_the_way_to_the_receiver(tmp_path: Path) -> None:
    fault = Fault("output", "Functional.relu.0.forward")
    comparison = written(tmp_path, [fn.run_pipeline(fault, 0, golden=golden) for golden in (False, True)])
    ((rank, origin),) = ordered_origins(comparison)
    assert [(h.call, h.giver, h.getters) for h in hops_of(comparison, rank, origin)] == [
        ("Distributed.send.0.forward", 0, (1,))
    ]


def test_the_earlier_meeting_comes_first_whatever_its_call_number(tmp_path: Path) -> None:
    """Rank 1 is wrong before the ranks meet, rank 0 in a call of its own behind it: with a lower number."""
    values = [tensor(np.random.default_rng(i).standard_normal(64)) for i in range(9)]
    reduce = "Distributed.all_reduce.0.forward"
    for side in ("target", "golden"):
        bad = side == "target"
        early = {f"Torch.sin.{i}.forward": api([values[0]], [values[0]]) for i in range(6)}
        early["Torch.exp.0.forward"] = api([values[0]], [values[3] if bad else values[1]])
        given = values[3] if bad else values[1]
        one = {**early, reduce: api([given], [values[4] if bad else values[2]])}
        zero = {
            reduce: api([values[5]], [values[4] if bad else values[2]]),
            "Torch.tan.0.forward": api([values[6]], [values[7] if bad else values[8]]),
        }
        for rank, data in enumerate((zero, one)):
            write_dump(tmp_path / side / "step0" / f"rank{rank}", data)
    comparison = compared(tmp_path)
    found = [
        (rank.rank, rank.rows.pairing.name(rank.target, rank.golden, origin.call))
        for rank, origin in ordered_origins(comparison)
    ]
    assert found == [(1, "Torch.exp.0.forward"), (0, "Torch.tan.0.forward")]


NAN = {"Max": "nan", "Min": "nan", "Mean": "nan", "Norm": "nan"}
MODULE = "Module.m.Net.forward.0"


def one_side(is_target: bool, flag: str, *, inside: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    x, y, z = (tensor(np.random.default_rng(i).standard_normal(64)) for i in range(3))
    bad = {**y, **NAN} if is_target else y
    data: dict[str, Any] = {"Torch.sin.0.forward": api([x], [y])}
    if is_target:
        data["Tensor.__sub__.0.forward"] = api([y, number(10.0)], [z])
        data["Torch.log.0.forward"] = api([z], [{**z, **NAN}])
        data["Tensor.__mul__.7.forward"] = api([{**z, **NAN}, number(2.0)], [bad])
    data[MODULE] = api([x, number(is_target if flag == "other" else False)], [bad])
    data["Torch.cos.0.forward"] = api([bad], [bad])
    parents = dict.fromkeys(data, MODULE if inside else None) | {MODULE: None, "Torch.cos.0.forward": None}
    return data, parents


@pytest.mark.parametrize("flag", ["other", "same"])
def test_the_call_of_one_side_alone_that_made_nan(tmp_path: Path, flag: str) -> None:
    for side in ("target", "golden"):
        data, parents = one_side(side == "target", flag)
        folder = write_dump(tmp_path / side / "step0" / "rank0", data, level="mix")
        (folder / "construct.json").write_text(json.dumps(parents))
    found = [f for f in report(compared(tmp_path)).findings if f.severity == "error"]
    assert [(f.rule, f.subject) for f in found] == [("precision.unmatched", "Torch.log.0.forward")]
    assert found[0].message.startswith("finite inputs (largest ")
    assert ("input 1 is True on the target side" in found[0].message) == (flag == "other")
