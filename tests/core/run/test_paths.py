from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.run.paths import (
    capture_root,
    is_round_folder,
    named_context,
    path_key,
    place_of,
    rank_of,
    round_key,
    shown,
    step_of,
)


def test_natural_order_of_paths() -> None:
    names = ["step10/rank2", "step2/rank10", "step2/rank2", "step2", "a-1", "rank", "rank0"]
    assert sorted(names, key=path_key) == [
        "a-1",
        "rank",
        "rank0",
        "step2",
        "step2/rank2",
        "step2/rank10",
        "step10/rank2",
    ]


@pytest.mark.parametrize(
    ("parts", "rank"),
    [
        (("step0", "rank7"), 7),
        (("rank_3", "net"), 3),
        (("step0", "rank"), 0),
        (("step0", "proc4711"), None),
        (("step0", "pid4711"), None),
        (("rank1_ascend_pt", "ASCEND_PROFILER_OUTPUT", "kernel_details.csv"), 1),
        (("dp0_pp0_tp1_dcp0_ep1_rank12_167033_20260527143703524_ascend_pt",), 12),
        (("compare_result_rank3_20261129162901.xlsx",), 3),
        (("Dec01_10-00-00-rank2-abc", "actv_0-1.csv"), 2),
        (("msmonitor_4471_20260120111213456_5.jsonl",), 5),
        (("profiler_info_6.json",), 6),
        (("ascend_pytorch_profiler_2.db",), 2),
        (("crank5", "frank_3x"), None),
        (("rank4", "ranking.csv"), 4),
    ],
)
def test_rank_is_said_by_the_innermost_name(parts: tuple[str, ...], rank: int | None) -> None:
    assert rank_of(parts) == rank


@pytest.mark.parametrize(
    ("parts", "step"),
    [(("step3", "rank0"), 3), (("step_4",), 4), (("grad_summary_20.csv",), 20), (("stepwise",), None)],
)
def test_step(parts: tuple[str, ...], step: int | None) -> None:
    assert step_of(parts) == step


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        (("20250611171530", "3", "net", "1", "7"), (3, 7)),
        (("20250611171600", "3"), (3, None)),
        (("extra-info", "data-dump", "2"), (2, None)),
        (("atb_dump_data", "data", "1_39943", "5"), (1, 5)),
        (("device3", "kernel", "0"), (3, None)),
        (("step2", "20250611171600", "3"), (3, 2)),
    ],
)
def test_device_and_iteration_stand_in_for_rank_and_step(
    parts: tuple[str, ...], place: tuple[int | None, int | None]
) -> None:
    assert place_of(parts) == place


def test_capture_root_is_above_step_and_rank() -> None:
    assert capture_root(("npu", "step0", "rank1")) == ("npu",)
    assert capture_root(("npu", "graph", "step0", "proc12")) == ("npu", "graph")
    assert capture_root(("npu", "rank0")) == ("npu",)
    assert capture_root(("npu",)) == ("npu",)
    assert capture_root(()) == ()


def test_only_the_opened_folder_itself_gives_context() -> None:
    assert named_context(Path("/x/step3/rank1")) == ("step3", "rank1")
    assert named_context(Path("/rank0/step3/model")) == ("model",)
    assert named_context(Path("/rank0/step3")) == ("step3",)


@pytest.mark.parametrize(
    ("parent", "name", "is_round"),
    [
        ("diag", "round1", True),
        ("diag", "round_2", True),
        ("diag", "Round-3_fix", True),
        ("dump", "softmax_20260801_121530", True),
        ("prof", "base-20260801T121530", True),
        ("diag", "softmax_20260801_121530", False),
        ("dump", "20250611171530", False),
        ("diag", "rounding", False),
    ],
)
def test_round_folders(parent: str, name: str, is_round: bool) -> None:
    assert is_round_folder(parent, name) is is_round


def test_rounds_are_ordered_by_time_then_by_number() -> None:
    names = ["b_20260801_120000", "a_20260802_120000", "round10", "round2"]
    assert sorted(names, key=round_key) == ["round2", "round10", "b_20260801_120000", "a_20260802_120000"]


def test_shown_path_can_always_be_encoded() -> None:
    assert shown(("a\udcff", "b\n")) == "a\\xff/b\n"
    assert shown(()) == "."
