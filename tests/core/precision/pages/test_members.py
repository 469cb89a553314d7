"""A group unfolded: every value of every member, and which of them are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.precision.compare import RankComparison
from npulse.core.precision.pages.members import members_of, members_table, members_title

from .unlike import compared


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> RankComparison:
    return compared(tmp_path_factory.mktemp("unlike")).ranks[0]


def test_all_values_of_both_sides_stand_there(rank: RankComparison) -> None:
    table = members_table(rank, 1)
    shown = [table.row(i) for i in range(table.n_rows)]
    assert [(row["side"], row["operator"].split(".")[1], row["io"]) for row in shown] == [
        ("target", "npu_swiglu", "input 0"),
        ("target", "npu_swiglu", "output 0"),
        *(("golden", name, io) for name in ("chunk", "silu", "__mul__") for io in ("input 0", "output 0")),
    ]
    # the last call's output is what is compared; x = 0 ... 5
    assert [row["verdict"] for row in shown] == [None, "pass", *[None] * 5, "pass"]
    assert {(row["max"], row["min"], row["mean"]) for row in shown} == {(5.0, 0.0, 2.5)}
    assert shown[0]["norm"] == pytest.approx(55**0.5) and shown[0]["shape"] == "[2, 3]"
    assert table.column("row").values.tolist() == [-1, 1, *[-1] * 5, 1]
    assert "against 3 of the golden side" in members_title(rank, 1, "en") and "swiglu" in members_title(
        rank, 1, "zh"
    )


def test_a_call_that_stands_alone_or_against_one(rank: RankComparison, tmp_path: Path) -> None:
    del tmp_path
    assert members_of(rank, 0) == ((0,), (0,)) and members_of(rank, 3) == ((3,), ())
    assert members_table(rank, 0).column("side").to_list(0, 9) == ["target"] * 2 + ["golden"] * 2
    alone = members_table(rank, 5)
    assert (
        alone.column("side").to_list(0, 9) == ["golden"] * 2
        and alone.column("verdict").to_list(0, 9) == [None] * 2
    )
    assert members_title(rank, 5, "en") == "Only the golden side has it."
