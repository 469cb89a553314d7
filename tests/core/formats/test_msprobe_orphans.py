"""Entries rebuilt from tensor file names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.msprobe import orphans
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.orphans import entries_from_files, parse_file_name
from npulse.core.formats.msprobe.records import DEBUG, GRAD, INPUT, KWARGS, OUTPUT, PARAMETERS


@pytest.mark.parametrize(
    ("name", "entry", "side", "io"),
    [
        ("Torch.abs.0.forward.input.0.pt", "Torch.abs.0.forward", INPUT, "input 0"),
        ("Torch.cat.12.forward.input.0.1.npy", "Torch.cat.12.forward", INPUT, "input 0.1"),
        ("Torch.mm.0.backward.output.1.pt", "Torch.mm.0.backward", OUTPUT, "output 1"),
        ("Functional.sdpa.0.forward.kwargs.input.pt", "Functional.sdpa.0.forward", KWARGS, "kwargs input"),
        ("Torch.f.0.forward.input.0.input.pt", "Torch.f.0.forward", INPUT, "input 0.input"),
        ("Module.fc1.Linear.forward.0.input.0.pt", "Module.fc1.Linear.forward.0", INPUT, "input 0"),
        ("Module.forward.0.X.forward.3.output.a.pt", "Module.forward.0.X.forward.3", OUTPUT, "output a"),
        (
            "Module.a.B.forward.0.parameters.weight.pt",
            "Module.a.B.forward.0",
            PARAMETERS,
            "parameters.weight",
        ),
        ("Module.a.B.parameters_grad.0.weight.pt", "Module.a.B.parameters_grad.0", GRAD, "grad weight"),
        ("Module.a.B.parameters_grad.weight.pt", "Module.a.B.parameters_grad", GRAD, "grad weight"),
        ("x.0.debug.pt", "x.0.debug", DEBUG, "debug"),
        ("y.0.debug.b.0.pt", "y.0.debug", DEBUG, "debug b.0"),
        ("aten.mm.default.3.input.0.pt", "aten.mm.default.3", INPUT, "input 0"),
        ("npu.rms_norm.0.input_kwargs.eps.pt", "npu.rms_norm.0", KWARGS, "kwargs eps"),
        ("aten.mm.0.output.pt", "aten.mm.0", OUTPUT, "output"),
    ],
)
def test_file_names(name: str, entry: str, side: int, io: str) -> None:
    assert parse_file_name(name) == (entry, side, io)


@pytest.mark.parametrize(
    "name", ["", ".pt", "a.pt", "dump.json", "Torch.abs.0.forward.input.0.txt", "input.0.pt", "a.b.c.pt"]
)
def test_other_files(name: str) -> None:
    assert parse_file_name(name) is None


def touch(folder: Path, *names: str) -> None:
    """Files of these names, each a second younger than the one before."""
    folder.mkdir(exist_ok=True)
    for second, name in enumerate(names):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (second, second))


FILES = (
    "Torch.b.0.forward.input.0.pt",
    "Torch.b.0.forward.input.10.pt",
    "Torch.b.0.forward.input.9.pt",
    "Torch.b.0.forward.output.0.pt",
    "Torch.a.0.forward.input.0.pt",
    "Module.m.M.forward.0.input.0.pt",
    "Torch.a.0.forward.output.0.pt",
    "Module.m.M.forward.0.output.0.pt",
)


def test_entries_stand_in_the_order_of_their_last_file(tmp_path: Path) -> None:
    touch(tmp_path / "dump_tensor_data", *FILES, "notes.txt")
    (tmp_path / "dump.json").write_text('{"task": "tensor", "data": {}}')
    dump = entries_from_files(tmp_path)
    assert list(dump.calls.names) == ["Torch.b.0.forward", "Torch.a.0.forward", "Module.m.M.forward.0"]
    leaves = [dump.leaf(row) for row in range(len(dump.leaves.call))]
    assert [leaf.io for leaf in leaves[:4]] == ["input 0", "input 9", "input 10", "output 0"]
    assert sorted(f"{leaf.name}.pt" for leaf in leaves) == sorted(FILES)
    assert {leaf.data_name for leaf in leaves} == set(FILES)
    assert {(leaf.kind, leaf.dtype, leaf.shape, leaf.max) for leaf in leaves} == {
        ("tensor", None, None, None)
    }
    assert dump.completeness == "cut off"
    assert dump.tensor_dir == tmp_path / "dump_tensor_data"
    assert dump.header.framework == "pytorch"
    assert [p.kind for p in dump.problems] == ["missing"]
    assert "3 entries" in dump.problems[0].message and "8 tensor files" in dump.problems[0].message


def test_equal_times_are_ordered_by_name_and_number(tmp_path: Path) -> None:
    names = [f"Torch.a.{i}.forward.output.0.npy" for i in (10, 9, 0)]
    touch(tmp_path, *names)
    for name in names:
        os.utime(tmp_path / name, (5, 5))
    dump = entries_from_files(tmp_path)
    assert list(dump.calls.names) == [f"Torch.a.{i}.forward" for i in (0, 9, 10)]
    assert dump.header.framework == "mindspore"


def test_compiled_graphs(tmp_path: Path) -> None:
    touch(tmp_path / "tensor_data", "aten.mm.0.input.0.pt", "aten.mm.0.output.pt")
    dump = entries_from_files(tmp_path)
    assert list(dump.calls.names) == ["aten.mm.0"]
    assert [dump.leaf(row).io for row in range(2)] == ["input 0", "output"]


def test_only_what_the_dump_does_not_name(tmp_path: Path) -> None:
    touch(tmp_path / "dump_tensor_data", *FILES)
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1]}
    data = {"Torch.b.0.forward": {"input_args": [{**record, "data_name": name} for name in FILES[:4]]}}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"task": "tensor", "data": data}))
    rest = entries_from_files(tmp_path, known=read_dump(path))
    assert list(rest.calls.names) == ["Torch.a.0.forward", "Module.m.M.forward.0"]
    for name in FILES[4:]:
        (tmp_path / "dump_tensor_data" / name).unlink()
    rest = entries_from_files(tmp_path, known=read_dump(path))
    assert (len(rest.calls.names), rest.problems, rest.completeness) == (0, (), "complete")


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside"
    touch(outside, *FILES)
    run.mkdir()
    for folder in (run, tmp_path / "none", outside / FILES[0], tmp_path / "a\0b"):
        with pytest.raises(InputError):
            entries_from_files(folder)
    (run / "dump_tensor_data").symlink_to(outside)
    with pytest.raises(InputError, match="outside"):
        entries_from_files(run, root=run)


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, *FILES)
    monkeypatch.setattr(orphans, "MAX_FILES", 3)
    dump = entries_from_files(tmp_path)
    assert len(dump.leaves.call) == 3
    assert [p.kind for p in dump.problems] == ["limit", "missing"]
