"""Files of safetensors written byte by byte: what is in them, and what hostile ones are refused for."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.formats.cann_files import file_of

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.tensors import TensorError
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.formats.tensors.safetensors import NamedTensor, read_index, read_safetensors


def packed(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read(content: bytes) -> tuple[tuple[NamedTensor, ...], list[Problem]]:
    problems: list[Problem] = []
    with file_of(content, "model.safetensors") as path:
        return read_safetensors(path, root=path.parent, problems=problems), problems


def test_tensors_of_every_width(tmp_path: Path) -> None:
    half = np.arange(6, dtype="<f2").reshape(2, 3)
    brain = np.array([0x3F80, 0xC000], "<u2")  # 1.0 and -2.0
    header = {
        "__metadata__": {"format": "pt"},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [12, 16]},
        "h": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]},
        "e8": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [16, 17]},
        "nothing": {"dtype": "I64", "shape": [0, 4], "data_offsets": [17, 17]},
        "one": {"dtype": "U8", "shape": [], "data_offsets": [17, 18]},
        "f4": {"dtype": "F4", "shape": [4], "data_offsets": [18, 20]},
    }
    path = tmp_path / "model.safetensors"
    path.write_bytes(packed(header, half.tobytes() + brain.tobytes() + b"\x38\x07\0\0"))
    problems: list[Problem] = []
    found = {t.name: t for t in read_safetensors(path, root=tmp_path, problems=problems)}
    assert problems == []
    assert {name: t.dtype for name, t in found.items() if t.file is None} == {"f4": "F4"}
    values = {
        name: widen(t.file.array(), t.file.dtype).tolist() for name, t in found.items() if t.file is not None
    }
    expected = {"h": half.tolist(), "b": [1.0, -2.0], "e8": [1.0], "nothing": [], "one": 7}
    assert values == expected


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}, "shape"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}, "cut-off"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}, "bad-record"),
        ({"dtype": "F32", "shape": [1 << 61, 1 << 61], "data_offsets": [0, 8]}, "shape"),
        ({"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}, "bad-record"),
        ({"dtype": 4, "shape": [1], "data_offsets": [0, 4]}, "bad-record"),
        ("no record", "bad-record"),
    ],
)
def test_a_tensor_out_of_place_is_no_tensor_and_told(record: Any, kind: str) -> None:
    found, problems = read(packed({"w": record}, bytes(8)))
    assert [t.file for t in found] == [None]
    assert [p.kind for p in problems] == [kind]


def test_bytes_of_two_tensors_belong_to_the_first() -> None:
    header = {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    }
    found, problems = read(packed(header, bytes(8)))
    assert [(t.name, t.file is None) for t in found] == [("a", False), ("b", True)]
    assert [p.kind for p in problems] == ["bad-record"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 1 << 60) + b"{}",
        struct.pack("<Q", 33 << 20) + b"{}",
        struct.pack("<Q", 100) + b"{}",
        packed(b"[]"),
        packed(b"[" * 100_000),
        packed(b'{"a": {}, "a": {}}'),
        packed(b"\xff\xfe"),
    ],
)
def test_what_is_no_such_file_is_refused(content: bytes) -> None:
    with pytest.raises(TensorError):
        read(content)


@given(st.binary(max_size=120), st.integers(0, 200), st.integers(0, 255))
def test_any_bytes_are_read_or_refused(tail: bytes, at: int, value: int) -> None:
    header = {"a.b": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}
    content = bytearray(packed(header, tail))
    content[at % len(content)] = value
    try:
        found, _ = read(bytes(content))
    except TensorError:
        return
    for tensor in found:
        if tensor.file is not None:
            assert tensor.file.offset + tensor.file.size_bytes <= len(content)


@pytest.mark.parametrize("name", ["../w.safetensors", "/etc/passwd", "a/b", "..", "", "a\0b", "a\\b"])
def test_an_index_names_files_beside_it_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"w": name}}))
    with pytest.raises(InputError):
        read_index(path, root=tmp_path)
