"""Statistics first: tensors are read of those calls alone that the statistics of both dumps point to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.many import hand_out
from npulse.core.precision.reading import reads
from npulse.core.precision.report import ordered_origins, report
from npulse.core.precision.rows import BY_TENSOR, LINKED
from npulse.core.report import render
from npulse.core.run.sides import CapturePair, pair_of

from ..scale.in_order import in_order_of
from . import faulty_net as fn
from .faulty_net import Fault

FAULT = Fault("output", "Functional.relu.0.forward")
ALL, NEEDED = Settings(jobs=1), Settings(jobs=1, where_needed=True)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> CapturePair:
    """Four ranks with tensors, of which one errs."""
    folder = tmp_path_factory.mktemp("needed")
    for side, golden in (("target", False), ("golden", True)):
        for net in fn.run_ranks(FAULT, 2, golden=golden, n_ranks=4):
            net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "tensor")
    return pair_of(folder / "target", folder / "golden")


def compared(pair: CapturePair, settings: Settings, patch: pytest.MonkeyPatch) -> tuple[Comparison, int]:
    """What comes out, and how many pairs of tensors were opened."""
    seen: list[int] = []
    measure = reads.measure

    def note(job: Any) -> Any:
        seen.append(job.row)
        return measure(job)

    patch.setattr(reads, "measure", note)
    done = compare_captures(pair, settings)
    patch.setattr(reads, "measure", measure)
    return done, len(seen)


def origins(done: Comparison) -> list[tuple[int | None, str, str]]:
    return [
        (rank.rank, rank.rows.pairing.name(rank.target, rank.golden, origin.call), origin.cause)
        for rank, origin in ordered_origins(done)
    ]


def test_the_origin_is_found_with_part_of_the_tensors(
    pair: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, n_all = compared(pair, ALL, monkeypatch)
    done, n_read = compared(pair, NEEDED, monkeypatch)
    assert origins(done) == origins(whole) == [(2, FAULT.place, "operator")]
    n_linked = sum(int((rank.rows.basis == LINKED).sum()) for rank in done.ranks)  # another has their content
    assert 0 < n_read < n_all and n_read + done.n_not_read + n_linked == n_all and whole.n_not_read == 0
    (rank,) = [one for one in done.ranks if one.rank == 2]
    name = [rank.rows.pairing.name(rank.target, rank.golden, call) for call in rank.rows.pairing.row_call]
    by_elements = {name[row] for row in range(rank.rows.n_rows) if rank.rows.computed["cosine"][row]}
    before = list(dict.fromkeys(name))[list(dict.fromkeys(name)).index(FAULT.place) - 1]
    assert {FAULT.place, before} <= by_elements, "the call and what made its input"
    told = report(done)
    assert told.summary["tensors_not_read"] == done.n_not_read and told.verdict == "fail"
    assert any(f"{done.n_not_read} tensor pairs were not read" in line for line in told.told)


def test_workers_read_what_one_process_reads(pair: CapturePair, monkeypatch: pytest.MonkeyPatch) -> None:
    once = compare_captures(pair, NEEDED)
    monkeypatch.setattr(hand_out, "SMALL_BYTES", 0)
    monkeypatch.setattr(hand_out, "results_as_known", in_order_of((2, 3, 0, 1)))
    there = compare_captures(pair, replace(NEEDED, jobs=2))
    one, other = ("".join(render(report(done, tables=True), "json", version="0")) for done in (once, there))
    assert one == other


def test_where_statistics_agree_only_integers_are_opened(
    pair: CapturePair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of integers Max and Min are recorded alone, and do not tell."""
    same = replace(pair, target=pair.golden[:1], golden=pair.golden[:1], target_root=pair.golden_root)
    _, n_all = compared(same, ALL, monkeypatch)
    done, n_read = compared(same, NEEDED, monkeypatch)
    (rank,) = done.ranks
    rows, leaves = rank.rows, rank.target.leaves
    read = np.flatnonzero(rows.basis == BY_TENSOR)
    calls = set(rows.pairing.row_call[read].tolist())
    exact = {
        int(rows.pairing.row_call[row])
        for row in range(rows.n_rows)
        if leaves.dtypes[leaves.dtype[rows.target_row(row)]].startswith("torch.int")
    }
    n_linked = int((rows.basis == LINKED).sum())
    assert len(read) == n_read > 0 and calls == exact
    assert done.n_not_read == n_all - n_read - n_linked > n_all / 2
    told = report(done)
    assert any("which does not prove that they do" in line for line in told.told)
    assert any("不能证明" in line for line in report(done, lang="zh").told)


def test_where_statistics_cannot_tell_tensors_are_read(
    pair: CapturePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without recorded Max and Min of one side there is nothing to go by: all is read, and judged as ever."""
    text = pair.golden[0].path.read_text()
    told = json.loads(text, object_hook=_without_statistics)
    pair.golden[0].path.write_text(json.dumps(told))
    try:
        one = replace(pair, target=pair.golden[:1], golden=pair.golden[:1], target_root=pair.golden_root)
        _, n_all = compared(one, ALL, monkeypatch)
        done, n_read = compared(one, NEEDED, monkeypatch)
    finally:
        pair.golden[0].path.write_text(text)
    assert n_read == n_all > 0 and done.n_not_read == 0


def _without_statistics(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: None if key in ("Max", "Min", "Mean", "Norm") else value for key, value in entry.items()}
