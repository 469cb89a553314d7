"""Checkpoints and plain tensor files compared: what is the matter with which tensor, and no origin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.core.formats.test_safetensors import packed

from npulse.core.errors import InputError
from npulse.core.findings import Report
from npulse.core.precision.compare import compare_captures
from npulse.core.precision.report import report
from npulse.core.run.discover import discover
from npulse.core.run.sides import Declared, capture_pairs, pair_of

Arrays = dict[str, npt.NDArray[np.generic]]
NOTHING_SAID = Declared()
NAMES = {"<f4": "F32", "<f2": "F16", "<i8": "I64"}


def write(path: Path, arrays: Arrays) -> Path:
    header, data = {}, b""
    for name, array in arrays.items():
        block = np.ascontiguousarray(array).tobytes()
        place = [len(data), len(data) + len(block)]
        header[name] = {"dtype": NAMES[array.dtype.str], "shape": list(array.shape), "data_offsets": place}
        data += block
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(header, data))
    return path


def told(target: Path, golden: Path, declared: Declared = NOTHING_SAID) -> Report:
    return report(compare_captures(pair_of(target, golden, declared=declared)))


def numbers(*shape: int, seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_parameters_are_sorted_by_what_is_the_matter(tmp_path: Path) -> None:
    same, other = numbers(4, 4), numbers(3, 5, seed=1)
    common: Arrays = {"same": same, "n": np.array([3], "<i8")}
    golden = {
        **common,
        "a": other,
        "b": numbers(2, 2, seed=2),
        "half": other,
        "turned": numbers(2, 7, seed=3),
    }
    target = {
        **common,
        "a": other + 1,
        "b": golden["b"] * 1.5,
        "half": other.astype("<f2"),
        "turned": np.ascontiguousarray(golden["turned"].T),
        "new": same,
    }
    found = told(
        write(tmp_path / "t/model.safetensors", target),
        write(tmp_path / "g/model.safetensors", {**golden, "old": same, "long": numbers(9)}),
    )
    assert found.verdict == "fail"
    assert found.counts["origin"] == 0
    assert found.told == (
        "9 parameters: 2 equal in every bit, 1 equal within rounding, 2 with other values, 1 transposed, "
        "1 in the target alone, 2 in the golden one alone, 1 in another dtype",
    )
    rules = [(f.rule, f.severity, f.subject, len(f.related)) for f in found.findings]
    assert rules[:4] == [
        ("precision.parameter", "error", "a", 2),  # by relative L2 the worse of two
        ("precision.parameter", "error", "turned", 0),
        ("precision.parameter-dtype", "note", "half", 0),
        ("precision.unmatched", "error", "new", 3),
    ]


def test_a_square_parameter_that_was_turned(tmp_path: Path) -> None:
    square = numbers(8, 8)
    target = write(tmp_path / "t.safetensors", {"w": np.ascontiguousarray(square.T)})
    found = told(target, write(tmp_path / "g.safetensors", {"w": square}))
    assert found.told == ("1 parameter: 1 transposed",)


def test_shards_that_an_index_names_are_one_checkpoint_whatever_they_are_called(tmp_path: Path) -> None:
    w, v = numbers(4), numbers(4, seed=1)
    write(tmp_path / "t/first.safetensors", {"w": w})
    write(tmp_path / "t/second.safetensors", {"v": v})
    index = {"weight_map": {"w": "first.safetensors", "v": "second.safetensors"}}
    (tmp_path / "t/model.safetensors.index.json").write_text(json.dumps(index))
    found = told(tmp_path / "t", write(tmp_path / "g/model.safetensors", {"v": v, "w": w}))
    assert (found.verdict, found.findings) == ("pass", ())


def test_shards_are_one_checkpoint_and_ranks_are_paired(tmp_path: Path) -> None:
    for side, scale in (("golden", 1), ("npu", 2)):
        for rank in (0, 1):
            folder = tmp_path / side / f"mp_rank_0{rank}"
            weight = numbers(4, seed=rank) * (scale if rank else 1)
            write(folder / "model-00001-of-00002.safetensors", {"w": weight})
            write(folder / "model-00002-of-00002.safetensors", {"v": weight})
    (pair,) = capture_pairs(discover(tmp_path))
    assert (pair.target_name, pair.golden_name) == ("npu", "golden")
    assert [(t.rank, g.rank) for t, g in zip(pair.target, pair.golden, strict=True)] == [(0, 0), (1, 1)]
    found = report(compare_captures(pair))
    assert found.told == ("4 parameters: 2 equal in every bit, 2 with other values",)
    assert found.findings[0].location.rank == 1


def test_raw_files_are_what_the_user_says(tmp_path: Path) -> None:
    values = numbers(16)
    for name, array in (("a.bin", values), ("b.bin", values * 2)):
        (tmp_path / name).write_bytes(array.tobytes())
    with pytest.raises(InputError, match="of which type"):
        told(tmp_path / "a.bin", tmp_path / "b.bin")
    said = Declared(dtype="float32", shape=(4, 4))
    (rank,) = compare_captures(pair_of(tmp_path / "a.bin", tmp_path / "b.bin", declared=said)).ranks
    assert rank.target.leaf(0).shape == (4, 4)
    assert rank.rows.figure("rel_l2", 0) == 0.5
    assert rank.roles.origins == []
    with pytest.raises(InputError, match="needs 80"):
        told(tmp_path / "a.bin", tmp_path / "b.bin", Declared(dtype="float32", shape=(5, 4)))


def test_a_name_can_say_what_raw_elements_are(tmp_path: Path) -> None:
    values = numbers(6)
    (tmp_path / "x_2x3_float32.bin").write_bytes(values.tobytes())
    np.save(tmp_path / "x.npy", values.reshape(2, 3))
    assert told(tmp_path / "x_2x3_float32.bin", tmp_path / "x.npy").verdict == "pass"


def test_folders_of_arrays_have_no_order(tmp_path: Path) -> None:
    for side, offset in (("one", 0), ("two", 1)):
        (tmp_path / side / "deep").mkdir(parents=True)
        np.save(tmp_path / side / "a.npy", numbers(3) + offset)
        np.save(tmp_path / side / "deep" / "b.npy", numbers(3))
        np.savez(tmp_path / side / "c.npz", first=numbers(3), second=numbers(3) + offset)
    found = told(tmp_path / "one", tmp_path / "two")
    assert [f.subject for f in found.findings if f.severity == "error"] == ["a"]
    assert found.counts["origin"] == 0
    assert found.counts["error"] == 2
    assert found.findings[0].rule == "precision.first-difference"
    assert "order" in found.findings[0].message


def test_a_checkpoint_is_not_compared_with_a_dump(tmp_path: Path) -> None:
    checkpoint = write(tmp_path / "c" / "model.safetensors", {"w": numbers(2)})
    dump = tmp_path / "d" / "rank0"
    dump.mkdir(parents=True)
    (dump / "dump.json").write_text(
        '{"task": "statistics", "level": "L1", "dump_data_dir": null, "data": {}}'
    )
    with pytest.raises(InputError, match="parameters"):
        pair_of(tmp_path / "d", checkpoint)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_what_lies_in_a_shard_that_cannot_be_read_is_unknown_not_unmatched(
    tmp_path: Path, damage: str
) -> None:
    w, v = numbers(4), numbers(4, seed=1)
    write(tmp_path / "t/first.safetensors", {"w": w})
    if damage == "cut":
        (tmp_path / "t/second.safetensors").write_bytes(b"\x08")
    index = {"weight_map": {"w": "first.safetensors", "v": "second.safetensors", "u": "second.safetensors"}}
    (tmp_path / "t/model.safetensors.index.json").write_text(json.dumps(index))
    found = told(tmp_path / "t", write(tmp_path / "g/model.safetensors", {"v": v, "w": w, "u": v, "x": v}))
    assert found.verdict == "fail"  # x is nowhere
    assert found.told == (
        "4 parameters: 1 equal in every bit, 1 in the golden one alone, "
        "2 in a file that is missing or unreadable",
    )
    missing = next(f for f in found.findings if f.rule == "precision.unmatched")
    assert (missing.subject, missing.related) == ("x", ())
    (absent,) = (f for f in found.findings if f.rule == "precision.unknown")
    assert "second.safetensors" in absent.message
    assert sorted(one.subject for one in absent.related) == ["u", "v"]
    assert [problem.artifact for problem in found.problems] == ["second.safetensors"]
    (golden,) = (tmp_path / "g").iterdir()
    write(golden, {"v": v, "w": w, "u": v})
    assert told(tmp_path / "t", golden).verdict == "incomplete"
