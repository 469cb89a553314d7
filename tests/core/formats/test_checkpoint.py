"""torch.save files with more than one tensor: names and elements, and that nothing of them is run."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.formats.test_tensors_torch import (
    WRITERS,
    Call,
    Storage,
    every_form,
    file_of,
    pickled,
    storage_of,
    tensor,
    zipped,
)

from npulse.core.calls.tensors import TensorPlace
from npulse.core.findings import Problem
from npulse.core.formats.tensors import TensorError
from npulse.core.formats.tensors.checkpoint import Checkpoint, read_checkpoint
from npulse.core.formats.tensors.located import Located
from npulse.core.formats.tensors.npz import read_npz
from npulse.core.formats.tensors.safetensors import NamedTensor

WEIGHT = np.arange(6, dtype="<f4").reshape(2, 3)
MOMENT = np.array([1, 2, 3], "<f2")


def _read(content: bytes) -> tuple[Checkpoint, list[Problem]]:
    problems: list[Problem] = []
    with file_of(content) as path:
        return read_checkpoint(path, root=path.parent, problems=problems), problems


def _values(tensors: tuple[NamedTensor, ...], content: bytes) -> dict[str, Any]:
    """Elements by name, out of the bytes of the file itself."""
    found = {}
    for one in tensors:
        assert one.file is not None
        flat = np.frombuffer(content, one.file.dtype.carrier, one.file.n_elements, one.file.offset)
        found[one.name] = flat.reshape(one.file.shape).tolist()
    return found


def _checkpoint() -> tuple[dict[str, Any], list[Storage]]:
    weight, moment = storage_of(WEIGHT, "float32", "0"), storage_of(MOMENT, "float16", "1")
    state = OrderedDict({"fc.weight": tensor(weight, "float32", 0, (2, 3), (3, 1))})
    content = {
        "args": argparse.Namespace(lr=0.1),
        "iteration": 7,
        "model": state,
        "optimizer": {
            "state": {0: {"exp_avg": tensor(moment, "float16", 0, (3,), (1,))}},
            "param_groups": [{"lr": 0.5}],
        },
        "rng": (np.random.RandomState(0).get_state(), b"\x00" * 300, {1, 2}),
    }
    return content, [weight, moment]


@every_form
def test_names_are_paths_and_foreign_objects_are_passed_over(write: Any) -> None:
    content = write(*_checkpoint())
    found, problems = _read(content)
    assert problems == []
    assert _values(found.tensors, content) == {
        "model.fc.weight": WEIGHT.tolist(),
        "optimizer.state.0.exp_avg": MOMENT.tolist(),
    }
    assert found.values["iteration"] == 7
    assert found.values["optimizer.param_groups.0.lr"] == 0.5


def test_a_whole_module_has_the_names_of_its_state_dict() -> None:
    storage = storage_of(MOMENT, "float16")
    inner = {"_parameters": {"bias": tensor(storage, "float16", 0, (3,), (1,))}, "training": True}
    module = Call(_Class, state={"_modules": {"fc": Call(_Class, state=inner)}})
    found, _ = _read(zipped(pickled(module), [storage]))
    assert [one.name for one in found.tensors] == ["fc.bias"]


class _Class:
    """A class of the program that saved the file."""


class Runs:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


@every_form
def test_nothing_of_a_checkpoint_is_run(write: Any, tmp_path: Path) -> None:
    content, storages = _checkpoint()
    found, _ = _read(write({**content, "extra": Runs(tmp_path / "marker")}, storages))
    assert len(found.tensors) == 2
    assert not (tmp_path / "marker").exists()


def test_a_lost_storage_costs_its_tensor_alone() -> None:
    content, storages = _checkpoint()
    found, problems = _read(zipped(pickled(content), storages[:1]))
    assert [(one.name, one.file is None) for one in found.tensors] == [
        ("model.fc.weight", False),
        ("optimizer.state.0.exp_avg", True),
    ]
    assert [problem.kind for problem in problems] == ["unreadable"]


def test_containers_that_hold_each_other_end() -> None:
    first: dict[str, Any] = {}
    second = {"first": first}
    first["second"] = second
    doubled: list[Any] = []
    for _ in range(60):  # two to the sixtieth paths, sixty containers
        doubled = [doubled, doubled]
    found, _ = _read(zipped(pickled({"a": first, "b": doubled, "n": 3}), []))
    assert found.values == {"n": 3}


def test_a_pickle_of_empty_containers_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.tensors.torchpickle.Machine.max_steps", 1000)
    with pytest.raises(TensorError, match="steps") as error:
        _read(zipped(b"\x80\x02" + b"}" * 2000 + b".", []))
    assert error.value.kind == "too-large"


def test_integers_of_thousands_of_digits_are_no_names_and_no_numbers() -> None:
    found, _ = _read(zipped(pickled({"a": {1 << 40_000: 1}, "b": 1 << 40_000, "n": 3}), []))
    assert found.values == {"b": hex(1 << 40_000)[:200], "n": 3}


@given(st.sampled_from(sorted(WRITERS)), st.data())
def test_changed_and_cut_files_are_read_or_refused(form: str, data: st.DataObject) -> None:
    content = bytearray(WRITERS[form](*_checkpoint()))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        found, _ = _read(cut)
    except TensorError:
        return
    for one in found.tensors:
        if one.file is not None and one.file.is_contiguous:
            assert one.file.offset + one.file.size_bytes <= len(cut)


# ---- archives of arrays ----


def _npz(write: Any, **arrays: Any) -> bytes:
    out = io.BytesIO()
    write(out, **arrays)
    return out.getvalue()


def test_arrays_of_an_archive_are_read_where_they_lie() -> None:
    content = _npz(np.savez, a=WEIGHT, b=np.asfortranarray(WEIGHT), c=np.array(5))
    problems: list[Problem] = []
    with file_of(content) as path:
        found = {one.name: one for one in read_npz(path, root=path.parent, problems=problems)}
        arrays = {name: one.file.array().tolist() for name, one in found.items() if one.file is not None}
    assert arrays == {"a": WEIGHT.tolist(), "b": WEIGHT.tolist(), "c": 5}
    assert problems == []


def test_pickled_arrays_are_told() -> None:
    problems: list[Problem] = []
    for write in (np.savez, np.savez_compressed):
        with file_of(_npz(write, a=np.array([{}], object))) as path:
            found = read_npz(path, root=path.parent, problems=problems)
        assert [one.file for one in found] == [None]
    assert [problem.kind for problem in problems] == ["refused", "refused"]


def test_compressed_arrays_are_inflated() -> None:
    big = np.arange(100_000, dtype="<f4").reshape(100, 1000)
    content = _npz(np.savez_compressed, a=WEIGHT, b=np.asfortranarray(WEIGHT), c=np.array(5), big=big)
    problems: list[Problem] = []
    with file_of(content) as path:
        found = {one.name: one for one in read_npz(path, root=path.parent, problems=problems)}
        arrays = {name: one.file.array().tolist() for name, one in found.items() if one.file is not None}
    assert arrays == {"a": WEIGHT.tolist(), "b": WEIGHT.tolist(), "c": 5, "big": big.tolist()}
    assert problems == []


def test_more_behind_a_compressed_array_than_the_array() -> None:
    out = io.BytesIO()
    np.save(out, np.zeros(100_000, "<f4"))
    problems: list[Problem] = []
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", out.getvalue() * 2)
    with file_of(packed.getvalue()) as path:
        assert [one.file for one in read_npz(path, root=path.parent, problems=problems)] == [None]
    assert [problem.kind for problem in problems] == ["unreadable"]


def test_tensors_of_a_compressed_checkpoint() -> None:
    value, storages = _checkpoint()
    stored, packed = zipped(pickled(value), storages), io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(stored)) as plain,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        for name in plain.namelist():
            file.writestr(name, plain.read(name))
    read = {}
    for kind, content in (("stored", stored), ("packed", packed.getvalue())):
        problems: list[Problem] = []
        with file_of(content) as path:
            found = read_checkpoint(path, root=path.parent, problems=problems)
            located = Located()
            for row, one in enumerate(found.tensors):
                assert one.file is not None
                located.add(row, one.file)
            kept = [located.file(row) for row in range(len(found.tensors))]
            places = {
                TensorPlace(path.parent, path.name, path.parent, None, None, file).identity for file in kept
            }
            assert len(places) == len(kept) > 1
            read[kind] = [
                (one.name, file.array().tolist())
                for one, file in zip(found.tensors, kept, strict=True)
                if file
            ]
        assert problems == []
    assert read["packed"] == read["stored"]


@given(st.data())
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_changed_archives_are_read_or_refused(write: Any, data: st.DataObject) -> None:
    content = bytearray(_npz(write, a=WEIGHT, b=MOMENT))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with file_of(bytes(content[: data.draw(st.integers(0, len(content)))])) as path:
        size = path.stat().st_size
        try:
            found = read_npz(path, root=path.parent, problems=[])
        except TensorError:
            return
        for one in found:
            if one.file is None:
                continue
            if one.file.deflated is None:
                assert one.file.offset + one.file.size_bytes <= size
                continue
            with contextlib.suppress(TensorError):
                assert one.file.array().shape == one.file.shape


def test_one_tensor_has_no_name() -> None:
    storage = storage_of(MOMENT, "float16")
    found, _ = _read(zipped(pickled(tensor(storage, "float16", 0, (3,), (1,))), [storage]))
    assert [one.name for one in found.tensors] == [""]


def test_a_pickle_of_another_program_is_refused() -> None:
    with pytest.raises(TensorError, match=r"torch\.save did not write"):
        _read(pickle.dumps({"a": 1}))
