"""Tensor files of real dumps against the statistics that the dumping tool wrote beside them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.tensors import TensorError, TensorFile, TensorReader, open_tensor, widen

# Broken on purpose, as the samples' README says: one not there, one cut to 700 bytes.
BROKEN = {
    ("npu", "Torch.abs.8.forward.input.0.pt"): ("missing", None),
    ("bench", "Torch.abs.9.forward.input.0.pt"): ("cut-off", 700),
}


def records(node: Any) -> Iterator[dict[str, Any]]:
    """Every record of a tensor with a file, wherever it stands."""
    if isinstance(node, dict):
        if "data_name" in node:
            yield node
        for value in node.values():
            yield from records(value)
    elif isinstance(node, list):
        for value in node:
            yield from records(value)


def dumped(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """(tensor file, its record) of all dumps below that hold tensors."""
    for dump in sorted(folder.rglob("dump.json")):
        tensors = dump.parent / "dump_tensor_data"
        if tensors.is_dir():
            for record in records(json.loads(dump.read_text())):
                yield tensors / record["data_name"], record


def opened(folder: Path) -> Iterator[tuple[TensorFile, dict[str, Any]]]:
    for path, record in dumped(folder):
        broken = next((BROKEN[key] for key in BROKEN if key[0] in path.parts and key[1] == path.name), None)
        shape = tuple(record["shape"])
        if broken is None:
            yield open_tensor(path, root=folder, declared=record["dtype"], shape=shape), record
            continue
        with pytest.raises(TensorError) as caught:
            open_tensor(path, root=folder, declared=record["dtype"], shape=shape)
        assert (caught.value.kind, caught.value.byte) == broken


def assert_fits_record(file: TensorFile, record: dict[str, Any]) -> None:
    values = widen(file.array(), file.dtype).astype(np.float64)
    norm = math.sqrt(float(np.square(values).sum()))
    # the tool computes in the tensor's own type: half a spacing of it, and infinity beyond its range
    tolerance = max(file.declared.unit_roundoff, 1e-6)
    for key, mine in (("Max", values.max()), ("Min", values.min()), ("Norm", norm)):
        if record[key] is None:
            assert key == "Norm" and file.dtype.kind in ("int", "bool")
            continue
        theirs = float(record[key])
        overflowed = key == "Norm" and math.isinf(theirs) and mine > file.declared.max_finite
        if not overflowed:
            exact = 0.0 if key != "Norm" else tolerance
            np.testing.assert_allclose(mine, theirs, rtol=exact, atol=0, err_msg=f"{file.path.name} {key}")


def assert_reader_agrees(file: TensorFile) -> None:
    buffer = bytearray(48)
    step = len(buffer) // file.dtype.itemsize
    with TensorReader(file) as reader:
        blocks = [
            reader.read_into(buffer, first, min(step, file.n_elements - first)).tobytes()
            for first in range(0, file.n_elements, step)
        ]
    assert b"".join(blocks) == file.array().tobytes()


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("samples/msprobe/edge_tensor", {"float32": 42, "float16": 2, "bfloat16": 4, "int64": 4}),
        ("samples/msprobe/overflow_fp16", {"float16": 9}),
        ("cases", {"bfloat16 in float32": 3}),
    ],
)
def test_elements_give_the_recorded_statistics(folder: str, expected: dict[str, int], shared: Path) -> None:
    seen: Counter[str] = Counter()
    for file, record in opened(shared / folder):
        assert_fits_record(file, record)
        assert file.is_contiguous
        assert_reader_agrees(file)
        same = file.dtype is file.declared
        seen[file.dtype.name if same else f"{file.declared.name} in {file.dtype.name}"] += 1
    assert {key: seen[key] for key in expected} == expected


def test_every_tensor_file_opens_or_is_known_to_be_broken(shared: Path) -> None:
    failed, n_opened = [], 0
    for path in sorted([*shared.rglob("*.pt"), *shared.rglob("*.npy")]):
        try:
            file = open_tensor(path, root=shared)
        except TensorError as error:
            failed.append((path.name, error.kind))
            continue
        n_opened += 1
        assert file.array().nbytes == file.size_bytes
        if path.suffix == ".npy":
            np.testing.assert_array_equal(file.array(), np.load(path))
    assert failed == [("Torch.abs.9.forward.input.0.pt", "cut-off")]
    assert n_opened == 219


def test_a_wrong_record_is_noticed(shared: Path) -> None:
    path = next((shared / "samples/msprobe/edge_tensor/npu").rglob("Torch.abs.1.forward.input.0.pt"))
    with pytest.raises(TensorError) as caught:
        open_tensor(path, root=shared, shape=(3, 3))
    assert caught.value.kind == "shape" and "[3, 3]" in caught.value.message
