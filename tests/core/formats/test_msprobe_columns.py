"""Columns of a dump: names of files by those of their calls, and what two dumps hold in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.formats.msprobe.columns import sharing
from npulse.core.formats.msprobe.construct import TopLevel, sharing_names
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.records import Construct, Dump

FILES = ("A.add.0.forward.output.0.pt", "short.pt", "A.add.1.forward.output.0.pt", "A.add.0.forward")


def dump_of(path: Path, files: tuple[str, ...] = FILES, **changes: Any) -> Dump:
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0}
    tensors = [{**record, "data_name": file, **changes} for file in files]
    data = {
        "A.add.0.forward": {"input_args": [], "input_kwargs": {}, "output": tensors[:2]},
        "A.add.1.forward": {"input_args": [], "input_kwargs": {}, "output": tensors[2:]},
    }
    path.write_text(json.dumps({"task": "tensor", "level": "L1", "dump_data_dir": "x", "data": data}))
    return read_dump(path)


def test_every_file_name_comes_back(tmp_path: Path) -> None:
    names = dump_of(tmp_path / "a.json").leaves.data_names
    assert tuple(names) == FILES == names[:] and len(names) == 4
    assert names[-1] == FILES[-1] and FILES[1] in names


def test_equal_columns_are_kept_once(tmp_path: Path) -> None:
    one, other = dump_of(tmp_path / "a.json"), dump_of(tmp_path / "b.json", Max=2.0)
    shared = sharing(other, one)
    assert shared.calls.names is one.calls.names and shared.leaves.io is one.leaves.io
    assert shared.leaves.data_names is one.leaves.data_names
    assert shared.leaves.statistics is other.leaves.statistics  # these differ
    assert [shared.leaf(row) for row in range(4)] == [other.leaf(row) for row in range(4)]
    assert shared.path == other.path


def test_other_file_names_stay(tmp_path: Path) -> None:
    files = (*FILES[:3], "elsewhere.pt")
    shared = sharing(dump_of(tmp_path / "b.json", files), dump_of(tmp_path / "a.json"))
    assert tuple(shared.leaves.data_names) == files


def test_bits_tell_columns_apart(tmp_path: Path) -> None:
    """-0.0 is not 0.0, and NaN is NaN."""
    one, other = dump_of(tmp_path / "a.json", Min=0.0), dump_of(tmp_path / "b.json", Min=-0.0)
    assert np.signbit(sharing(other, one).leaves.statistics[0, 1])
    nan = [dump_of(tmp_path / f"{name}.json", Max=float("nan")) for name in "cd"]
    assert sharing(nan[1], nan[0]).leaves.statistics is nan[0].leaves.statistics


def test_a_flat_hierarchy_by_the_names_of_the_calls() -> None:
    names = ["a", "b", "c"]
    flat = sharing_names(Construct(dict.fromkeys(names), {}), names).parents
    assert isinstance(flat, TopLevel) and dict(flat) == dict.fromkeys(names)
    assert "b" in flat and "d" not in flat and flat.get("d", "none") == "none" and len(flat) == 3
    for parents, calls in (({"a": None, "b": "a"}, ["a", "b"]), ({"a": None}, ["b"]), ({"a": None}, [])):
        construct = Construct(parents, {})
        assert sharing_names(construct, calls) is construct
