"""One capture without a golden one: NaN and Inf are seen where they begin, and nothing is called clean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.findings import Report
from npulse.core.precision.alone import check_alone
from npulse.core.run.discover import discover

from .faulty_net import api, tensor, write_dump

X = np.random.default_rng(1).standard_normal(8)
NAN, PLUS, MINUS = (np.where(np.arange(8) == 3, bad, X) for bad in (np.nan, np.inf, -np.inf))
LOG, ADD, REDUCE = "Torch.log.0.forward", "Torch.add.0.forward", "Distributed.all_reduce.0.forward"


def checked(folder: Path, *ranks: dict[str, Any], **options: Any) -> Report:
    for rank, data in enumerate(ranks):
        write_dump(folder / "step0" / f"rank{rank}", data)
    run = discover(folder)
    return check_alone(run, [a for a in run.artifacts if a.kind == "msprobe.dump"], **options)


def origins(report: Report) -> list[tuple[str, int | None]]:
    return [(f.subject, f.location.rank) for f in report.findings if f.role == "origin"]


def test_without_a_golden_side_nothing_is_clean(tmp_path: Path) -> None:
    report = checked(tmp_path, {ADD: api([tensor(X)], [tensor(X)])})
    assert (report.verdict, report.exit_code()) == ("unknown", 4)
    assert [f.rule for f in report.findings] == ["precision.unknown"]


@pytest.mark.parametrize("bad", [NAN, PLUS])
def test_the_call_that_made_it_and_none_behind(tmp_path: Path, bad: Any) -> None:
    data = {
        ADD: api([tensor(X)], [tensor(X)]),
        LOG: api([tensor(X)], [tensor(bad)]),
        "Torch.mul.0.forward": api([tensor(bad), tensor(X)], [tensor(bad)]),
    }
    report = checked(tmp_path, data)
    assert origins(report) == [(LOG, 0)]
    assert (report.verdict, report.exit_code()) == ("fail", 1)
    assert report.findings[0].figures["shape"] == [8]


def test_minus_infinity_alone_may_be_a_mask(tmp_path: Path) -> None:
    data = {"Tensor.masked_fill.0.forward": api([tensor(X)], [tensor(MINUS)])}
    report = checked(tmp_path, data)
    assert (origins(report), report.verdict) == ([], "unknown")
    assert [f.role for f in report.findings] == ["benign", "unknown"]
    assert report.counts["legal_inf"] == 1


def test_an_infinite_norm_of_healthy_halves_is_nothing(tmp_path: Path) -> None:
    large = tensor(np.full(99, 6e4) - np.arange(99), "float16")
    assert large["Norm"] == np.inf
    assert origins(checked(tmp_path, {ADD: api([large], [large])})) == []


def test_uninitialised_buffers_say_nothing(tmp_path: Path) -> None:
    data = {
        "Torch.empty.0.forward": api([], [tensor(NAN)]),
        "Tensor.new_empty.0.forward": api([], [tensor(NAN)]),
    }
    assert origins(checked(tmp_path, data)) == []


def test_a_collective_carries_what_a_peer_began(tmp_path: Path) -> None:
    healthy = {REDUCE: api([tensor(X)], [tensor(NAN)])}
    broken = {LOG: api([tensor(X)], [tensor(NAN)]), REDUCE: api([tensor(NAN)], [tensor(NAN)])}
    assert origins(checked(tmp_path / "a", healthy, broken)) == [(LOG, 1)]
    received = {"Distributed.recv.0.forward": api([None], [tensor(NAN)])}
    assert origins(checked(tmp_path / "b", received, broken)) == [(LOG, 1)]
    # nobody else began anything, and the other rank did not take part as far as it was recorded
    report = checked(tmp_path / "c", healthy, {ADD: api([tensor(X)], [tensor(X)])})
    assert (origins(report), report.verdict) == ([], "fail")
    assert [(f.role, f.subject) for f in report.findings[:1]] == [("unknown", REDUCE)]


def test_a_broken_rank_leaves_the_others(tmp_path: Path) -> None:
    write_dump(tmp_path / "step0" / "rank1", {})
    (tmp_path / "step0" / "rank1" / "dump.json").write_text("{ nothing")
    report = checked(tmp_path, {LOG: api([tensor(X)], [tensor(NAN)])})
    assert origins(report) == [(LOG, 0)]
    assert report.problems


def test_in_chinese(tmp_path: Path) -> None:
    report = checked(tmp_path, {LOG: api([tensor(X)], [tensor(NAN)])}, lang="zh")
    assert all(any("\u4e00" <= c <= "\u9fff" for c in f.message) for f in report.findings)
