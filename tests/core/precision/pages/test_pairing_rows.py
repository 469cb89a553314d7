"""Both sequences side by side: every call stands there once, groups as brackets, and why is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.precision.compare import RankComparison
from npulse.core.precision.pages.pairing_rows import (
    FIRST,
    INNER,
    LAST,
    LINKS,
    NO_GROUP,
    candidates,
    pairing_detail,
    pairing_rows,
)
from npulse.core.precision.pairing import Group, Pairing

from .unlike import GOLDEN, TARGET, compared


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> RankComparison:
    return compared(tmp_path_factory.mktemp("unlike")).ranks[0]


def shown(rank: RankComparison, column: str) -> list[str]:
    values = pairing_rows(rank).table.column(column).to_list(0, 100)
    return ["" if value is None else str(value).removesuffix(".forward") for value in values]


def test_lines_hold_both_sequences_and_the_group_ends_on_its_last_line(rank: RankComparison) -> None:
    rows = pairing_rows(rank)
    assert shown(rank, "target") == [
        *("Functional.linear.0", "", "", "NPU.npu_swiglu.0", "Functional.linear.1", "Torch.clamp.0"),
        *("Torch.add.0", ""),
    ]
    assert shown(rank, "golden") == [
        *("Functional.linear.0", "Tensor.chunk.0", "Functional.silu.0", "Tensor.__mul__.0"),
        *("Functional.linear.1", "", "Torch.add.1", "Torch.clamp.7"),
    ]
    assert rows.bracket.tolist() == [NO_GROUP, FIRST, INNER, LAST, *[NO_GROUP] * 4]
    assert [LINKS[code] for code in rows.link] == [
        *("sure", "likely", "likely", "likely", "doubtful", "target only", "sure", "golden only"),
    ]
    assert shown(rank, "why")[3:] == ["order shape fusion", "order", "", "hand", ""]
    assert (rows.n_none, rows.n_doubtful, rows.n_copies) == (2, 1, 1)
    assert shown(rank, "verdict") == [*["pass"] * 5, "unknown", "error", "unknown"]


def test_walking_over_what_is_open_stops_at_each_call_once(rank: RankComparison) -> None:
    rows = pairing_rows(rank)
    assert rows.next_open(0, 1) == 4 and rows.next_open(4, 1) == 5 and rows.next_open(5, 1) == 7
    assert rows.next_open(7, 1) is None and rows.next_open(7, -1) == 5 and rows.next_open(4, -1) is None
    assert rows.line_of_row(1) == 3, "a row of the group leads to the line of its result"
    group = rows.group_of(2)
    assert group is not None and group.fusion == "swiglu" and rows.group_of(0) is None


def test_the_detail_says_why_and_what_else_could_be_meant(rank: RankComparison) -> None:
    rows = pairing_rows(rank)
    told = [pairing_detail(rank, rows, line, "en") for line in range(rows.n_lines)]
    assert told[0].headline == "Paired for sure by equal name." and not told[0].next_step
    assert "confidence 0.80" in told[3].headline and "1 call of the target against 3" in told[3].headline
    assert told[3].name == "NPU.npu_swiglu.0.forward / Tensor.__mul__.0.forward"
    assert "by place between sure pairs alone" in told[4].headline and told[4].next_step
    assert "It repeats Functional.linear.0.forward" in told[4].headline
    assert candidates(rank, rows, 5) == ["Torch.clamp.7.forward"] == [f"{GOLDEN[6]}.forward"]
    assert "Torch.clamp.7.forward" in told[5].headline and "pair them" in told[5].next_step
    assert candidates(rank, rows, 7) == [f"{TARGET[3]}.forward"]
    assert ("target input 0", "torch.float32 [2,3]") in told[0].facts
    assert "存疑" in pairing_detail(rank, rows, 4, "zh").headline


def test_another_pairing_keeps_the_verdict_of_what_it_pairs_alike(rank: RankComparison) -> None:
    judged = rank.rows.pairing
    target = np.append(judged.target_call[:5], 3)  # clamp.0 now stands against clamp.7
    other = replace(
        judged,
        target_call=np.delete(target, 3),
        golden_call=np.delete(judged.golden_call, 3),
        confidence=np.array([1.0, 0.8, 0.5, 1.0, 1.0]),
        evidence=np.array([1, 1, 1, 1, 1]),
        recompute_of=None,
        row_call=np.zeros(0, np.int64),
        target_leaf=np.zeros(0, np.int64),
        golden_leaf=np.zeros(0, np.int64),
    )
    rows = pairing_rows(rank, other)
    verdicts = rows.table.column("verdict").to_list(0, 100)
    assert verdicts == [*["pass"] * 5, "error", "unknown"] and rows.n_none == 0
    assert rows.row[5] == judged.row_call.tolist().index(4) and rows.row[6] == -1


SIZES = st.one_of(st.just((1, 0)), st.just((0, 1)), st.tuples(st.integers(1, 3), st.integers(1, 3)))


@given(st.lists(SIZES, min_size=1, max_size=8))
def test_every_call_of_both_sides_stands_there_once_and_in_order(
    rank: RankComparison, sizes: list[tuple[int, int]]
) -> None:
    """sizes: of each step of the sequence how many calls of each side it has."""
    n_target, n_golden = (sum(size[side] for size in sizes) for side in (0, 1))
    ends = np.cumsum(sizes, axis=0)
    calls = [np.where(np.array(sizes)[:, side] > 0, ends[:, side] - 1, -1) for side in (0, 1)]
    groups = tuple(
        Group(place, tuple(range(end[0] - t, end[0])), tuple(range(end[1] - g, end[1])))
        for place, ((t, g), end) in enumerate(zip(sizes, ends.tolist(), strict=True))
        if t and g and t + g > 2
    )
    empty = np.zeros(0, np.int64)
    pairing = Pairing(calls[0], calls[1], empty, empty, empty, np.ones(len(sizes)), groups=groups)
    names = [f"Torch.x.{i}.forward" for i in range(30)]

    def dump_with(dump: object, n: int) -> object:
        return replace(dump, calls=replace(dump.calls, names=names[:n]))  # type: ignore[type-var, attr-defined]

    grown = replace(rank, target=dump_with(rank.target, n_target), golden=dump_with(rank.golden, n_golden))
    rows = pairing_rows(grown, pairing)
    assert rows.target[rows.target >= 0].tolist() == list(range(n_target))
    assert rows.golden[rows.golden >= 0].tolist() == list(range(n_golden))
    assert ((rows.target >= 0) | (rows.golden >= 0)).all() and (np.diff(rows.call) >= 0).all()
    for place, (t, g) in enumerate(sizes):
        last = int(np.flatnonzero(rows.call == place)[-1])
        assert ((rows.target[last] >= 0), (rows.golden[last] >= 0)) == (t > 0, g > 0)
