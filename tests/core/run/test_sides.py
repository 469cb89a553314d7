from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.run.discover import discover
from npulse.core.run.sides import (
    CapturePair,
    capture_pairs,
    golden_round,
    pair_of,
    side_score,
    unpaired_captures,
)


def _dumps(root: Path, *folders: str) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True)
        header = '{"task": "statistics", "level": "L1", "dump_data_dir": null, "data": {"a.0.forward": {}}}'
        (root / folder / "dump.json").write_text(header)


def _names(pair: CapturePair) -> tuple[str, str]:
    return pair.target_name, pair.golden_name


def _couples(pair: CapturePair) -> list[tuple[str, str]]:
    return [(t.relative, g.relative) for t, g in zip(pair.target, pair.golden, strict=True)]


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("golden", 1),
        ("golden_bf16", 1),
        ("npu_golden", 1),
        ("bench", 1),
        ("gpu_dump", 1),
        ("CPU-ref", 1),
        ("gpuDump", 1),
        ("baseline2", 1),
        ("npu", -1),
        ("dump_npu", -1),
        ("target_cpu", -1),
        ("NPU0", -1),
        ("target_vs_golden", 0),
        ("npu_cpu", 0),
        ("dump", 0),
        ("benchmarks_old", 0),
        ("input", 0),
        ("outputs", 0),
    ],
)
def test_words_that_say_a_side(name: str, sign: int) -> None:
    score = side_score(name)
    assert (score > 0) - (score < 0) == sign


@pytest.mark.parametrize(
    ("target", "golden"),
    [
        ("npu", "cpu"),
        ("npu", "gpu"),
        ("gpu", "cpu"),
        ("target", "golden"),
        ("dump_npu", "dump_gpu"),
        ("npu", "npu_golden"),
        ("nan", "bench"),
        ("npu", "run_old"),
        ("new/dump", "standard/dump"),
        ("fp16/npu/dump", "fp32/cpu/dump"),
        (".", "golden"),
        ("golden_runs/npu", "golden_runs/gpu"),
    ],
)
def test_two_captures_are_told_apart_by_their_names(tmp_path: Path, target: str, golden: str) -> None:
    _dumps(tmp_path, f"{target}/step0/rank0", f"{golden}/step0/rank0")
    (pair,) = capture_pairs(discover(tmp_path))
    assert _names(pair) == (target, golden)
    assert len(pair.target) == len(pair.golden) == 1
    assert {a.side for a in pair.target} == {"target"} and {a.side for a in pair.golden} == {"golden"}
    assert unpaired_captures(discover(tmp_path)) == ()


def test_a_nameless_capture_beside_the_target_is_no_reference_where_the_rounds_share_one(
    tmp_path: Path,
) -> None:
    _dumps(
        tmp_path,
        "golden/step0/rank0",
        *(f"round{n}/{of}/step0/rank0" for n in (1, 2) for of in ("target", "x")),
    )
    pairs = capture_pairs(discover(tmp_path))
    assert [_names(pair) for pair in pairs] == [("round1/target", "golden"), ("round2/target", "golden")]
    assert [one.name for one in unpaired_captures(discover(tmp_path))] == ["round1/x", "round2/x"]


@pytest.mark.parametrize(
    "folders", [("a", "b"), ("npu_1", "npu_2"), ("cpu", "gpu", "npu"), ("golden", "a", "b"), ("npu",)]
)
def test_nothing_is_guessed(tmp_path: Path, folders: tuple[str, ...]) -> None:
    _dumps(tmp_path, *(f"{folder}/step0/rank0" for folder in folders))
    run = discover(tmp_path)
    assert capture_pairs(run) == ()
    assert [capture.name for capture in unpaired_captures(run)] == sorted(folders)


def test_several_pairs_in_one_folder(tmp_path: Path) -> None:
    _dumps(tmp_path, *(f"{side}_{dtype}/rank0" for side in ("npu", "cpu") for dtype in ("bf16", "fp16")))
    _dumps(tmp_path, "later/nan/rank0", "later/bench/rank0", "alone/rank0")
    run = discover(tmp_path)
    assert [_names(pair) for pair in capture_pairs(run)] == [
        ("later/nan", "later/bench"),
        ("npu_bf16", "cpu_bf16"),
        ("npu_fp16", "cpu_fp16"),
    ]
    assert [capture.name for capture in unpaired_captures(run)] == ["alone"]


def test_ranks_and_steps_are_matched_by_number(tmp_path: Path) -> None:
    _dumps(tmp_path, *(f"npu/step{s}/rank{r}" for s in (0, 2, 10) for r in (0, 1, 10)))
    _dumps(tmp_path, *(f"gpu/step{s}/rank{r}" for s in (2, 10, 11) for r in (0, 10)))
    (pair,) = capture_pairs(discover(tmp_path))
    assert _couples(pair) == [
        (f"npu/step{s}/rank{r}", f"gpu/step{s}/rank{r}") for s in (2, 10) for r in (0, 10)
    ]
    assert [(a.side, a.relative) for a in pair.unmatched] == [
        *(("target", f"npu/step0/rank{r}") for r in (0, 1, 10)),
        ("target", "npu/step2/rank1"),
        ("target", "npu/step10/rank1"),
        *(("golden", f"gpu/step11/rank{r}") for r in (0, 10)),
    ]


def test_single_processes_belong_together_whatever_their_number(tmp_path: Path) -> None:
    _dumps(tmp_path, "npu/step0/proc12", "npu/step1/proc12", "cpu/step0/proc7", "cpu/step1/rank")
    (pair,) = capture_pairs(discover(tmp_path))
    assert _couples(pair) == [
        ("npu/step0/proc12", "cpu/step0/proc7"),
        ("npu/step1/proc12", "cpu/step1/rank"),
    ]


def test_helper_processes_beside_ranks_are_left_out(tmp_path: Path) -> None:
    _dumps(tmp_path, "npu/step0/rank0", "npu/step0/proc99", "cpu/step0/rank0", "cpu/step0/proc98")
    (pair,) = capture_pairs(discover(tmp_path))
    assert _couples(pair) == [("npu/step0/rank0", "cpu/step0/rank0")]
    assert pair.unmatched == ()


def test_several_processes_without_ranks_are_not_matched(tmp_path: Path) -> None:
    _dumps(tmp_path, "npu/step0/proc1", "npu/step0/proc2", "cpu/step0/proc3", "cpu/step0/proc4")
    run = discover(tmp_path)
    assert capture_pairs(run) == ()
    assert len(unpaired_captures(run)) == 2


def test_other_ranks_are_no_counterparts(tmp_path: Path) -> None:
    _dumps(tmp_path, "npu/step0/rank0", "cpu/step0/rank1", "npu/step1/rank0", "cpu/step1/rank0")
    (pair,) = capture_pairs(discover(tmp_path))
    assert _couples(pair) == [("npu/step1/rank0", "cpu/step1/rank0")]


def test_rounds_share_the_golden_capture_beside_them(tmp_path: Path) -> None:
    _dumps(tmp_path, "golden/step0/rank0", "round1/target/step0/rank0", "round2/step0/rank0")
    _dumps(tmp_path, "round3/npu/step0/rank0", "round3/cpu/step0/rank0", "round4/a/rank0", "round4/b/rank0")
    run = discover(tmp_path)
    assert [(pair.round, *_names(pair)) for pair in capture_pairs(run)] == [
        ("round1", "round1/target", "golden"),
        ("round2", "round2", "golden"),
        ("round3", "round3/npu", "round3/cpu"),
    ]
    assert [c.name for c in unpaired_captures(run)] == ["round4/a", "round4/b"]


def test_a_golden_round_is_not_compared_with_the_golden(tmp_path: Path) -> None:
    _dumps(tmp_path, "golden/step0/rank0", "round1/bench/step0/rank0")
    assert capture_pairs(discover(tmp_path)) == ()


def test_a_round_that_is_called_golden_serves_the_others(tmp_path: Path) -> None:
    """As npulse capture --name golden leaves it, whether it was recorded first, last or twice."""
    names = ("golden_20260101-090000", "a_20260101-100000", "golden_20260101-110000", "b_20260101-120000")
    _dumps(tmp_path, *(f"dump/{name}/raw/step0/rank0" for name in names))
    golden = f"dump/{names[2]}/raw"
    run = discover(tmp_path)
    assert [(pair.round, *_names(pair)) for pair in capture_pairs(run)] == [
        (names[1], f"dump/{names[1]}/raw", golden),
        (names[3], f"dump/{names[3]}/raw", golden),
    ]
    found = golden_round(run)
    assert found is not None and found.name == golden
    _dumps(tmp_path, "golden/step0/rank0")  # beside the rounds: it is meant for all of them
    assert {_names(pair)[1] for pair in capture_pairs(discover(tmp_path))} == {"golden"}


def test_a_round_that_somebody_started_from_is_no_reference(tmp_path: Path) -> None:
    _dumps(tmp_path, "dump/baseline_20260101-100000/raw/step0", "dump/fix_20260101-110000/raw/step0")
    assert capture_pairs(discover(tmp_path)) == () and golden_round(discover(tmp_path)) is None


def test_roots_and_relative_names(tmp_path: Path) -> None:
    _dumps(tmp_path, "npu/step0/rank0", "cpu/step0/rank0")
    (pair,) = capture_pairs(discover(tmp_path))
    assert pair.root_of("target") == pair.root_of("golden") == tmp_path
    assert pair.relative(pair.golden[0].path) == "cpu/step0/rank0/dump.json"


# ---- named by the user ----


@pytest.mark.parametrize(
    ("target", "golden", "n_pairs"),
    [
        ("a", "b", 2),
        ("a/step0", "b/step0", 2),
        ("a/step0", "b/step1", 2),
        ("a/step0/rank0", "b/step1/rank1", 1),
        ("a/step0/rank0/dump.json", "b/step0/rank0", 1),
        ("a/step0", "b/step0/rank1", 1),
    ],
)
def test_named_captures_at_any_level(tmp_path: Path, target: str, golden: str, n_pairs: int) -> None:
    _dumps(tmp_path, "a/step0/rank0", "a/step0/rank1", "b/step0/rank0", "b/step0/rank1", "b/step1/rank0")
    _dumps(tmp_path, "b/step1/rank1")
    pair = pair_of(tmp_path / target, tmp_path / golden)
    assert len(pair.target) == len(pair.golden) == n_pairs
    for t, g in zip(pair.target, pair.golden, strict=True):
        assert t.path.is_relative_to(tmp_path / "a") and g.path.is_relative_to(tmp_path / "b")


def test_named_captures_that_do_not_fit(tmp_path: Path) -> None:
    _dumps(tmp_path, "a/step0/rank0", "a/step1/rank0", "b/step5/rank0", "b/step6/rank0", "many/x/rank0")
    _dumps(tmp_path, "many/y/rank0")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no rank and step") as caught:
        pair_of(tmp_path / "a", tmp_path / "b")
    assert caught.value.hint is not None and "step 5 rank 0" in caught.value.hint
    with pytest.raises(InputError, match="holds no dump"):
        pair_of(tmp_path / "a", tmp_path / "empty")
    with pytest.raises(InputError, match="holds 2 captures") as caught:
        pair_of(tmp_path / "many", tmp_path / "a")
    assert caught.value.hint is not None and "x, y" in caught.value.hint
    with pytest.raises(InputError, match="no such"):
        pair_of(tmp_path / "a", tmp_path / "missing")


def test_problems_of_discovery_are_kept(tmp_path: Path) -> None:
    _dumps(tmp_path, "a/rank0", "b/rank0")
    (tmp_path / "a" / "rank1").symlink_to("/usr")
    assert [p.kind for p in pair_of(tmp_path / "a", tmp_path / "b").problems] == ["outside-run"]
