"""Comparing captures: updates, progress, cancelling, kept results, steps and ranks that are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.cache import Cache
from npulse.core.errors import InputError
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.report import report
from npulse.core.precision.table import precision_table
from npulse.core.precision.verdict import Criteria
from npulse.core.progress import Cancelled, Progress
from npulse.core.report.as_json import to_dict
from npulse.core.run.sides import CapturePair, pair_of

from . import faulty_net as fn
from .faulty_net import Fault, api, tensor, write_dump

FAULT = Fault("output", "Functional.relu.0.forward", "outlier")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> CapturePair:
    folder = tmp_path_factory.mktemp("captures")
    for side, golden in (("target", False), ("golden", True)):
        for step in (0, 1):
            for rank in (0, 1):
                net = fn.run_alone(FAULT, golden=golden, seed=step, backward=False, ulp_noise=True, rank=rank)
                net.write(folder / side / f"step{step}" / f"rank{rank}", "mix", "tensor")
    return pair_of(folder / "target", folder / "golden")


def everything(comparison: Comparison) -> object:
    body = to_dict(report(comparison, tables=True), "0")
    return {key: value for key, value in body.items() if key != "npulse"}


def test_the_first_update_has_all_verdicts_and_the_second_all_patterns(pair: CapturePair) -> None:
    updates: list[Comparison] = []
    final = compare_captures(pair, Settings(), on_update=updates.append)
    assert [u.stage for u in updates] == ["first read"] and final.stage == "complete"
    for one, other in zip(updates[0].ranks, final.ranks, strict=True):
        assert one.rows.verdict.tolist() == other.rows.verdict.tolist()
        assert one.roles.origins == other.roles.origins
    found = {p.kind for rank in final.ranks for p in rank.rows.patterns.values()}
    assert "outlier" in found


def test_a_second_read_can_be_left_out(pair: CapturePair) -> None:
    quick = compare_captures(pair, Settings(second_read=False))
    assert all(not rank.rows.patterns for rank in quick.ranks)
    assert [r.roles.origins for r in quick.ranks] == [r.roles.origins for r in compare_captures(pair).ranks]


def test_kept_results_are_the_same_results(pair: CapturePair, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    fresh = compare_captures(pair, Settings())
    first = compare_captures(pair, Settings(cache=cache))
    again = compare_captures(pair, Settings(cache=cache))
    assert everything(first) == everything(fresh) == everything(again)


def test_kept_results_are_judged_by_the_criteria_of_today(pair: CapturePair, tmp_path: Path) -> None:
    cache, strict = Cache(tmp_path / "cache"), Criteria(limits=(("rel_l2", 1e-9),))
    compare_captures(pair, Settings(cache=cache))
    kept = compare_captures(pair, Settings(cache=cache, criteria=strict))
    assert everything(kept) == everything(compare_captures(pair, Settings(criteria=strict)))
    assert everything(kept) != everything(compare_captures(pair, Settings(cache=cache)))


def test_one_rank_and_step_alone(pair: CapturePair) -> None:
    found = compare_captures(pair, Settings(rank=1, step=0))
    assert [(r.rank, r.step) for r in found.ranks] == [(1, 0)]
    assert len(compare_captures(pair, Settings(step=1)).ranks) == 2
    with pytest.raises(InputError):
        compare_captures(pair, Settings(rank=9))


def test_workers_find_what_one_process_finds(pair: CapturePair, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = everything(compare_captures(pair, Settings(jobs=1)))
    monkeypatch.setattr("npulse.core.precision.compare.SMALL_BYTES", 0)
    assert everything(compare_captures(pair, Settings(jobs=2))) == alone


def test_progress_counts_up_to_the_whole(pair: CapturePair) -> None:
    seen: list[Progress] = []
    compare_captures(pair, Settings(), progress=seen.append)
    stages = list(dict.fromkeys(p.stage for p in seen)) if hasattr(seen[0], "stage") else None
    assert seen and all(p.total is None or 0 <= p.done <= p.total for p in seen)
    assert stages is None or len(stages) >= 2


def test_it_can_be_cancelled(pair: CapturePair) -> None:
    calls = iter(range(10**9))
    with pytest.raises(Cancelled):
        compare_captures(pair, Settings(), is_cancelled=lambda: next(calls) > 20)


def test_the_table_is_all_ranks_one_behind_the_other(pair: CapturePair) -> None:
    comparison = compare_captures(pair, Settings())
    table = precision_table(comparison)
    assert table.n_rows == sum(rank.rows.n_rows for rank in comparison.ranks)
    assert {len(column.values) for column in table.columns} == {table.n_rows}
    start = 0
    for rank in comparison.ranks:
        for row in (0, rank.rows.n_rows - 1):
            shown = table.row(start + row)
            assert (shown["rank"], shown["step"]) == (rank.rank, rank.step)
            assert shown["target"] == rank.target.leaf_name(rank.rows.target_row(row))
            assert shown["golden"] == rank.golden.leaf_name(rank.rows.golden_row(row))
            assert shown["cosine"] == rank.rows.figure("cosine", row)
        start += rank.rows.n_rows


CONTRACT = (
    "target golden io dtype_target dtype_golden shape_target shape_golden cosine max_abs_error "
    "max_abs_error_index max_rel_error mean_rel_error rel_l1 rel_l2 euclidean ratio_below_1e3 "
    "ratio_below_5e3 ulp_max norm_ratio nan_target nan_golden inf_target inf_golden passes_at "
    "pattern role verdict reason zero_reference"
).split()


def test_the_table_has_the_columns_of_the_contract(tmp_path: Path) -> None:
    x = np.arange(6.0).reshape(2, 3)
    target = {
        "Torch.abs.0.forward": api([tensor(x)], [tensor(x * 2)]),
        "Torch.exp.0.forward": api([], [tensor(x)]),
    }
    golden = {"Torch.abs.0.forward": api([tensor(x)], [tensor(x)])}
    for side, data in (("target", target), ("golden", golden)):
        write_dump(tmp_path / side / "rank", data)
    table = precision_table(compare_captures(pair_of(tmp_path / "target", tmp_path / "golden")))
    assert set(CONTRACT) <= {column.name for column in table.exported}
    given, made, alone = (table.row(i) for i in range(3))
    assert (given["verdict"], given["role"], given["shape_target"]) == ("pass", "ok", "[2,3]")
    assert (made["verdict"], made["role"], made["norm_ratio"], made["cosine"]) == (
        "error",
        "origin",
        2.0,
        None,
    )
    assert (alone["golden"], alone["role"], alone["verdict"]) == (None, "unmatched", "unknown")
    assert (alone["dtype_golden"], alone["shape_golden"]) == (None, None)


def test_a_rank_of_one_side_alone_is_a_problem(pair: CapturePair, tmp_path: Path) -> None:
    for side, ranks in (("target", (0, 1)), ("golden", (0,))):
        for rank in ranks:
            write_dump(
                tmp_path / side / "step0" / f"rank{rank}",
                {"Torch.abs.0.forward": api([], [tensor([1.0, 2])])},
            )
    found = compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"))
    assert [r.rank for r in found.ranks] == [0]
    assert [p.kind for p in found.problems] == ["missing"]
    assert report(found).verdict == "incomplete"
