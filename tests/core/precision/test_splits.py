"""Jobs of unlike numbers of ranks: regrouped before they are compared, origins with the right rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.errors import UsageError
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.detail import detail
from npulse.core.precision.pairing import CERTAIN, EVIDENCE
from npulse.core.precision.report import report
from npulse.core.precision.role_records import ORIGIN, UNMATCHED
from npulse.core.precision.table import precision_table
from npulse.core.precision.verdict import REASONS, VERDICTS
from npulse.core.run.sides import pair_of

from .faulty_net import Fault, Leaf
from .split_net import Job

QUICK = Settings(jobs=1, second_read=False)
NO_ORIGIN: list[tuple[int | None, str, str]] = []


def written(folder: Path, target: Job, golden: Job, mode: str = "tensor") -> None:
    for side, job in (("npu", target), ("cpu", golden)):
        for rank, net in enumerate(job.run().nets):
            name = f"rank{rank}" if job.n > 1 else "rank"
            net.write(folder / side / "step0" / name, "L1", mode)


def compared(folder: Path, target: Job, golden: Job, mode: str = "tensor") -> Comparison:
    written(folder, target, golden, mode)
    return compare_captures(pair_of(folder / "npu", folder / "cpu"), QUICK)


def verdicts(done: Comparison) -> dict[str, int]:
    return {
        name: sum(int((rank.rows.verdict == code).sum()) for rank in done.ranks)
        for code, name in enumerate(VERDICTS)
    }


def origins(done: Comparison) -> list[tuple[int | None, str, str]]:
    return [
        (rank.rank, rank.rows.pairing.name(rank.target, rank.golden, origin.call), origin.cause)
        for rank in done.ranks
        for origin in rank.roles.origins
    ]


def layouts(done: Comparison, rank: int = 0) -> dict[str, str]:
    """Layout of every tensor that was regrouped, by its leaf's name."""
    one = done.ranks[rank]
    return {
        one.target.leaf_name(one.rows.target_row(row)): split.layout for row, split in one.rows.splits.items()
    }


@pytest.mark.parametrize(("n_target", "n_golden"), [(2, 1), (4, 1), (8, 1), (4, 2), (1, 2), (2, 4)])
def test_without_a_fault_nothing_differs(tmp_path: Path, n_target: int, n_golden: int) -> None:
    done = compared(tmp_path, Job(n_target), Job(n_golden, is_golden=True))
    assert len(done.ranks) == n_target
    assert not done.problems
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 0)
    assert not any((rank.roles.call != 0).any() for rank in done.ranks)  # nothing unmatched, nothing unknown
    bit = 1 << EVIDENCE.index("split")
    for rank in done.ranks:
        evidence = rank.rows.pairing.evidence
        assert evidence is not None
        assert (evidence[[rank.rows.pairing.row_call[row] for row in rank.rows.splits]] & bit).all()
    assert report(done).verdict in ("pass", "warn")


def test_layouts_are_told(tmp_path: Path) -> None:
    written(tmp_path, Job(2, layers=2), Job(1, is_golden=True, layers=2))
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), Settings(jobs=1))
    found = layouts(done, 1)
    assert found["Functional.embedding.0.forward.input.1"] == "vocabulary 2 ranks"
    assert found["Functional.embedding.0.forward.output.0"] == "partial sum of 2"
    qkv = "column 2 ranks, q k v each, 2 queries a key"
    assert [found[f"Functional.linear.0.forward.{leaf}"] for leaf in ("input.1", "output.0")] == [qkv, qkv]
    assert found["Functional.linear.1.forward.input.1"] == "row 2 ranks"
    assert found["Functional.linear.1.forward.output.0"] == "partial sum of 2"
    assert found["Distributed.all_reduce.1.forward.input.0"] == "partial sum of 2"
    assert found["Functional.linear.2.forward.output.0"] == "column 2 ranks, interleaved gate/up"
    assert found["Functional.linear.8.forward.output.0"] == "column 2 ranks"
    assert "Distributed.all_reduce.1.forward.output.0" not in found  # every rank has the whole of it
    row = next(row for row, split in done.ranks[1].rows.splits.items() if split.is_sum)
    assert ("layout", "partial sum of 2") in detail(done.ranks[1], row, "en").facts
    note = next(finding for finding in report(done).findings if finding.rule == "precision.split")
    assert "target rank 0 + 1 = golden rank 0" in note.message
    assert note.figures["n_doubtful"] == 0
    table = precision_table(done)
    named = [layout for layout in table.column("layout").to_list(0, table.n_rows) if layout is not None]
    assert len(named) == 2 * len(found)


def test_a_padded_vocabulary_is_compared_without_its_padding(tmp_path: Path) -> None:
    done = compared(tmp_path, Job(4, padded=8), Job(1, is_golden=True))
    found = layouts(done, 3)
    assert found["Functional.linear.4.forward.input.1"] == "column 4 ranks, 8 padding"
    assert found["Functional.linear.4.forward.output.0"] == "column 4 ranks, 8 padding"
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 0)


def test_a_rank_that_holds_padding_alone_has_nothing_to_compare(tmp_path: Path) -> None:
    done = compared(tmp_path / "same", Job(4, padded=32), Job(1, is_golden=True))
    assert origins(done) == NO_ORIGIN
    assert verdicts(done)["error"] == 0
    found = layouts(done, 3)
    of_head = [f"Functional.linear.4.forward.{leaf}" for leaf in ("input.1", "output.0")]
    assert [found[leaf] for leaf in of_head] == ["column 4 ranks, 32 padding"] * 2
    for place, rank in enumerate(done.ranks):
        reasons = {
            rank.target.leaf_name(rank.rows.target_row(row)): REASONS[rank.rows.reason[row]]
            for row in rank.rows.splits
        }
        assert [reasons[leaf] == "padding" for leaf in of_head] == [place == 3] * 2
    fault = Fault("output", "Functional.linear.4.forward", "scale")  # a part that is not padding
    done = compared(tmp_path / "fault", Job(4, fault, 1, padded=32), Job(1, is_golden=True))
    assert origins(done) == [(1, "Functional.linear.4.forward", "operator")]


def test_sequence_parallel_ranks(tmp_path: Path) -> None:
    golden = Job(1, is_golden=True)
    done = compared(tmp_path / "same", Job(2, by_sequence=True), golden)
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 0)
    assert not any((rank.roles.call != 0).any() for rank in done.ranks)
    found = layouts(done, 1)
    assert found["NPU.npu_rms_norm.1.forward.output.0"] == "sequence 2 ranks"
    assert found["Distributed._all_gather_base.1.forward.input.0"] == "sequence 2 ranks"
    assert found["Distributed._reduce_scatter_base.1.forward.input.0"] == "partial sum of 2"
    assert found["Distributed._reduce_scatter_base.1.forward.output.0"] == "sequence 2 ranks"
    for number, place in enumerate(("NPU.npu_rms_norm.1.forward", "Distributed._all_gather_base.1.forward")):
        target = Job(2, Fault("output", place, "noise"), 0, by_sequence=True)
        done = compared(tmp_path / str(number), target, Job(1, is_golden=True))
        assert origins(done) == [(0, place, "operator")]


@pytest.mark.parametrize(
    ("n", "is_target", "mode"), [(2, True, "tensor"), (4, False, "tensor"), (2, True, "statistics")]
)
def test_sequence_parallel_against_as_many_plain_ranks(
    tmp_path: Path, n: int, is_target: bool, mode: str
) -> None:
    target, golden = Job(n, by_sequence=is_target), Job(n, is_golden=True, by_sequence=not is_target)
    done = compared(tmp_path, target, golden, mode)
    ranks = tuple(range(n))
    assert [group.ranks for group in done.groups] == [(ranks, ranks)]
    assert origins(done) == NO_ORIGIN
    assert verdicts(done)["error"] == 0
    assert not any(np.isin(rank.roles.call, (ORIGIN, UNMATCHED)).any() for rank in done.ranks)
    if mode == "tensor":
        assert verdicts(done)["unknown"] == 0
        for rank in done.ranks:
            confidence = rank.rows.pairing.confidence
            assert confidence is not None
            assert (confidence == CERTAIN).all()  # collectives of one side alone as well
    found = layouts(done, 1)
    leaf = "Distributed._reduce_scatter_base.1" if is_target else "Distributed.all_reduce.1"
    assert found[f"{leaf}.forward.output.0"] == f"sequence {n} ranks"
    assert f"{leaf}.forward.input.0" not in found  # the same partial sum on both sides


@pytest.mark.parametrize(
    ("place", "is_target"),
    [
        ("NPU.npu_rms_norm.1.forward", True),
        ("Distributed._reduce_scatter_base.1.forward", True),
        ("Distributed._all_gather_base.1.forward", True),
        ("Functional.linear.3.forward", True),
        ("Functional.linear.3.forward", False),
    ],
)
def test_a_fault_of_one_of_as_many_ranks(tmp_path: Path, place: str, is_target: bool) -> None:
    target = Job(2, Fault("output", place, "scale"), 1, by_sequence=is_target)
    done = compared(tmp_path, target, Job(2, is_golden=True, by_sequence=not is_target))
    assert origins(done) == [(1, place, "operator")]


def test_as_many_ranks_that_the_user_names(tmp_path: Path) -> None:
    written(tmp_path, Job(2, by_sequence=True), Job(2, is_golden=True))
    pair = pair_of(tmp_path / "npu", tmp_path / "cpu")
    done = compare_captures(pair, replace(QUICK, ranks="0,1:0,1"))
    assert [(group.why, group.ranks) for group in done.groups] == [("map", ((0, 1), (0, 1)))]
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 0)
    one = compare_captures(pair, replace(QUICK, rank=1))
    assert [rank.rank for rank in one.ranks] == [1]
    assert (verdicts(one)["error"], verdicts(one)["unknown"]) == (0, 0)
    with pytest.raises(UsageError):
        compare_captures(pair, replace(QUICK, ranks="0,1:0,1,1"))


@pytest.mark.parametrize("by_sequence", [False, True])
def test_as_many_ranks_with_weights_cut_otherwise_are_unknown(tmp_path: Path, by_sequence: bool) -> None:
    """Four-way parallel layers against two copies of two-way parallel ones."""
    written(tmp_path, Job(4, by_sequence=by_sequence), Job(2, is_golden=True))
    for rank, net in enumerate(Job(2, is_golden=True).run().nets):
        net.write(tmp_path / "cpu" / "step0" / f"rank{2 + rank}", "L1", "tensor")
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), QUICK)
    assert [rank.rank for rank in done.ranks] == [0, 1, 2, 3]
    assert origins(done) == NO_ORIGIN
    for rank in done.ranks:
        reasons = {
            rank.target.leaf_name(rank.rows.target_row(row)): REASONS[rank.rows.reason[row]]
            for row in range(rank.rows.n_rows)
        }
        assert reasons["Functional.linear.0.forward.input.1"] == "other-split"
        assert reasons["NPU.npu_swiglu.0.forward.output.0"] == "other-split"
        assert "scalar-alone" not in reasons.values()  # sizes of parts
    unknown = next(finding for finding in report(done).findings if finding.rule == "precision.unknown")
    assert "split differently over their ranks" in unknown.message


def test_a_vocabulary_that_is_looked_up_by_own_ids(tmp_path: Path) -> None:
    done = compared(tmp_path / "same", Job(2, masks=True), Job(1, is_golden=True, masks=True))
    assert verdicts(done)["error"] == 0
    assert origins(done) == NO_ORIGIN
    found = layouts(done, 1)
    assert found["Functional.embedding.0.forward.output.0"] == "vocabulary 2 ranks, own tokens"
    assert found["Distributed.all_reduce.0.forward.input.0"] == "partial sum of 2"
    for number, place in enumerate(("Functional.embedding.0.forward", "Functional.linear.0.forward")):
        target = Job(2, Fault("output", place, "scale"), 1, masks=True)
        done = compared(tmp_path / str(number), target, Job(1, is_golden=True, masks=True))
        assert origins(done) == [(1, place, "operator")]


def test_copies_with_other_data_are_not_compared(tmp_path: Path) -> None:
    """Four ranks of two-way parallel layers: the second pair is a data-parallel copy."""
    written(tmp_path, Job(2), Job(1, is_golden=True))
    for rank, net in enumerate(Job(2, data=4).run().nets):
        net.write(tmp_path / "npu" / "step0" / f"rank{2 + rank}", "L1", "tensor")
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), QUICK)
    assert [rank.rank for rank in done.ranks] == [0, 1]
    assert verdicts(done)["error"] == 0
    assert [problem.artifact for problem in done.problems] == ["step0/rank2", "step0/rank3"]
    assert all("other data" in problem.message for problem in done.problems)


def test_copies_with_the_same_data_are_compared_as_well(tmp_path: Path) -> None:
    written(tmp_path, Job(2), Job(1, is_golden=True))
    for rank, net in enumerate(Job(2).run().nets):
        net.write(tmp_path / "npu" / "step0" / f"rank{2 + rank}", "L1", "tensor")
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), QUICK)
    assert [rank.rank for rank in done.ranks] == [0, 1, 2, 3]
    assert [group.ranks for group in done.groups] == [((0, 1), (0,)), ((2, 3), (0,))]
    assert (verdicts(done)["error"], len(done.problems)) == (0, 0)


def test_ranks_of_one_layout_are_compared_by_their_numbers(tmp_path: Path) -> None:
    """The golden side recorded one rank of the same job: no parts, and the others lack a counterpart."""
    written(tmp_path, Job(2), Job(1, is_golden=True))
    for rank, net in enumerate(Job(2, is_golden=True).run().nets[:1]):
        net.write(tmp_path / "one" / "step0" / f"rank{rank}", "L1", "tensor")
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "one"), QUICK)
    assert [rank.rank for rank in done.ranks] == [0]
    assert (done.groups, [problem.kind for problem in done.problems]) == ((), ["missing"])


@pytest.mark.parametrize(
    ("place", "how"),
    [
        ("Functional.linear.0.forward", "scale"),  # column, the first of its kind: layout by rank 0 alone
        ("Functional.linear.1.forward", "noise"),  # partial sums: whose part is wrong
        ("Functional.linear.3.forward", "zero"),
        ("NPU.npu_swiglu.0.forward", "nan"),
        ("Distributed.all_reduce.1.forward", "zero"),
        ("NPU.npu_rms_norm.1.forward", "outlier"),
        ("Functional.embedding.0.forward", "noise"),
    ],
)
def test_a_fault_in_one_rank_is_named_with_its_rank(tmp_path: Path, place: str, how: str) -> None:
    done = compared(tmp_path, Job(2, Fault("output", place, how), 1), Job(1, is_golden=True))
    assert origins(done) == [(1, place, "operator")]


def test_a_wrong_parameter_of_one_rank(tmp_path: Path) -> None:
    fault = Fault("parameter", "layers.0.mlp.gate_up")
    done = compared(tmp_path, Job(2, fault, 0), Job(1, is_golden=True))
    assert origins(done) == [(0, "Functional.linear.2.forward", "parameter")]


def test_golden_ranks_are_put_together(tmp_path: Path) -> None:
    fault = Fault("output", "Functional.linear.2.forward", "scale")
    done = compared(tmp_path, Job(1, fault, 0), Job(2, is_golden=True))
    assert [name for _, name, _ in origins(done)] == ["Functional.linear.2.forward"]


def test_statistics_of_the_parts_are_put_together(tmp_path: Path) -> None:
    done = compared(tmp_path / "same", Job(2), Job(1, is_golden=True), "statistics")
    assert (verdicts(done)["error"], verdicts(done)["unknown"]) == (0, 2)  # ids: integers without a checksum
    assert origins(done) == NO_ORIGIN
    fault = Fault("output", "Functional.linear.2.forward", "nan")
    done = compared(tmp_path / "nan", Job(2, fault, 1), Job(1, is_golden=True), "statistics")
    assert origins(done) == [(1, "Functional.linear.2.forward", "operator")]


class WrongSum(Job):
    """Its second all_reduce gives every rank one and a half times the sum."""

    def call(self, api: str, forward: Any, *inputs: Any, **more: Any) -> list[Leaf]:
        if api == "Distributed.all_reduce" and self.nets[0].calls[api] == 1:
            return super().call(api, lambda *a: np.asarray(1.5 * forward(*a), np.float32), *inputs, **more)
        return super().call(api, forward, *inputs, **more)


def test_by_statistics_a_wrong_sum_is_no_fault_of_the_linear_before_it(tmp_path: Path) -> None:
    """The means of the parts add up to the golden one; what the collective made is something else."""
    written(tmp_path, WrongSum(2), Job(1, is_golden=True), "statistics")
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), Settings(jobs=1))
    assert origins(done) == NO_ORIGIN
    (found,) = [one for one in report(done).findings if one.role == "origin"]
    assert (found.rule, found.subject) == ("precision.collective", "Distributed.all_reduce.1.forward")
    assert found.figures["basis"] == "statistics"


def test_the_user_says_which_ranks_belong_together(tmp_path: Path) -> None:
    written(tmp_path, Job(2), Job(1, is_golden=True))
    pair = pair_of(tmp_path / "npu", tmp_path / "cpu")
    done = compare_captures(pair, replace(QUICK, ranks="0,1:0"))
    assert [group.why for group in done.groups] == ["map"]
    assert verdicts(done)["error"] == 0
    turned = compare_captures(pair, replace(QUICK, ranks="1,0:0"))  # the parts in the wrong order
    assert verdicts(turned)["error"] > 0
    for text in ("0,1:7", "0;1", "0,1:0,1"):
        with pytest.raises(UsageError):
            compare_captures(pair, replace(QUICK, ranks=text))


def test_one_rank_asked_for_is_compared_with_its_part(tmp_path: Path) -> None:
    written(tmp_path, Job(2), Job(1, is_golden=True))
    done = compare_captures(pair_of(tmp_path / "npu", tmp_path / "cpu"), replace(QUICK, rank=1))
    assert [rank.rank for rank in done.ranks] == [1]
    assert verdicts(done)["error"] == 0
