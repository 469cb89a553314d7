""".npy files as numpy writes them, and as nobody should."""

from __future__ import annotations

import io
import os
import struct
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from npulse.core.formats.tensors import DTYPES, TensorError, TensorReader, open_tensor, widen

NUMPY_NAMES = [name for name, dtype in DTYPES.items() if not dtype.is_raw]
RAW_NAMES = [name for name, dtype in DTYPES.items() if dtype.is_raw]


def saved(array: np.ndarray, **options: object) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def with_header(header: str, content: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + content


@contextmanager
def file_of(content: bytes) -> Iterator[Path]:
    """A file that may be made many times in one test, as a property needs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.npy"
        path.write_bytes(content)
        yield path


def error_of(content: bytes, **record: object) -> TensorError:
    with file_of(content) as path, pytest.raises(TensorError) as caught:
        open_tensor(path, root=path.parent, **record)
    assert caught.value.path == str(path)
    return caught.value


def assert_opens_or_fails_well(path: Path) -> None:
    """Whatever the bytes are: a tensor that can be read to its end, or a TensorError."""
    try:
        file = open_tensor(path, root=path.parent, declared="torch.bfloat16")
        assert file.array().shape == file.shape
    except TensorError as error:
        assert error.message and error.path == str(path)


@given(
    hnp.arrays(
        st.sampled_from(NUMPY_NAMES).map(np.dtype),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    ),
    st.booleans(),
)
def test_what_numpy_saves_comes_back_bit_for_bit(array: np.ndarray, column_major: bool):
    array = np.asfortranarray(array) if column_major else array
    with file_of(saved(array)) as path:
        file = open_tensor(path, root=path.parent, declared=f"torch.{array.dtype}", shape=array.shape)
        assert (file.dtype.name, file.declared.name) == (str(array.dtype), str(array.dtype))
        assert (file.shape, file.n_elements, file.size_bytes) == (array.shape, array.size, array.nbytes)
        assert file.is_contiguous == array.flags.c_contiguous
        mapped = file.array()
        assert mapped.dtype == array.dtype and mapped.shape == array.shape
        assert mapped.tobytes() == array.tobytes()
        assert not mapped.flags.writeable
        if file.is_contiguous:
            with TensorReader(file) as reader:
                block = reader.read_into(bytearray(array.nbytes), 0, array.size)
                assert block.tobytes() == array.tobytes()


@pytest.mark.parametrize("name", RAW_NAMES)
def test_formats_that_numpy_lacks_are_named_by_the_record(name: str):
    values = np.array([[0.5, 1.0, 2.0], [4.0, 8.0, 16.0]], getattr(ml_dtypes, name))
    unsigned = values.view(f"u{values.itemsize}")
    signed = values.view(f"i{values.itemsize}")
    for stored in (values, unsigned, signed, values.view(f"V{values.itemsize}")):
        with file_of(saved(stored)) as path:
            file = open_tensor(path, root=path.parent, declared=f"torch.{name}")
            assert file.dtype is file.declared is DTYPES[name]
            assert file.array().dtype == DTYPES[name].carrier
            np.testing.assert_array_equal(widen(file.array(), file.dtype), values.astype(np.float32))


def test_raw_bytes_without_a_record_stay_unknown():
    raw = saved(np.zeros(4, ml_dtypes.bfloat16))
    assert error_of(raw).kind == "unreadable"
    assert "torch.float32" in error_of(raw, declared="torch.float32").message
    with file_of(saved(np.zeros(4, np.uint16))) as path:
        assert open_tensor(path, root=path.parent).dtype.name == "uint16"
        assert open_tensor(path, root=path.parent, declared="UInt16").dtype.name == "uint16"


def test_a_wider_stored_type_keeps_the_declared_one_beside_it():
    with file_of(saved(np.ones((2, 3), np.float32))) as path:
        file = open_tensor(path, root=path.parent, declared="BFloat16", shape=(2, 3))
        assert (file.dtype.name, file.declared.name) == ("float32", "bfloat16")
        unknown = open_tensor(path, root=path.parent, declared="torch.qint8")
        assert unknown.declared.name == "float32"


def test_the_shape_of_the_record_must_be_the_files():
    error = error_of(saved(np.zeros((3, 2))), shape=(2, 3))
    assert error.kind == "shape"
    assert "[2, 3]" in error.message and "[3, 2]" in error.message
    with file_of(saved(np.float32(2.5))) as path:
        assert float(open_tensor(path, root=path.parent, shape=()).array()) == 2.5


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions(version: tuple[int, int]):
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    with file_of(saved(array, version=version)) as path:
        np.testing.assert_array_equal(open_tensor(path, root=path.parent).array(), array)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n",
        "{'shape': (3L,), 'fortran_order': False, 'descr': '<i4'}",
        '  {"descr":"<i4","fortran_order":False,"shape":(3,)}  ',
    ],
)
def test_headers_of_other_writers(header: str):
    content = np.array([1, 2, 3], "<i4").tobytes()
    with file_of(with_header(header, content)) as path:
        assert open_tensor(path, root=path.parent).array().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "{}",
        "x" * 500,
        "{'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'more': 'x'}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)} + f()",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (3,,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<i4', 'fortran_order': 'x', 'shape': (3,)}",
        "{'descr': (3,), 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "1," * 33 + ")}",
        "{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (3,)}",
        "{" * 30_000,
        "{'a': " * 10_000,
        "{" + "-" * 30_000 + "1}",
    ],
)
def test_headers_that_are_none(header: str):
    assert error_of(with_header(header, bytes(64))).kind == "unreadable"


@pytest.mark.parametrize(
    ("array", "kind", "word"),
    [
        (np.array(["a", "b"]), "unreadable", "<U1"),
        (np.array([b"ab"]), "unreadable", "S2"),
        (np.array(["2020-01-01"], "M8[D]"), "unreadable", "M8[D]"),
        (np.zeros(2, [("x", "<f4"), ("y", "<i2")]), "unreadable", "header"),
        (np.zeros(2, ">f4"), "unreadable", "big-endian"),
        (np.zeros(2, "V3"), "unreadable", "V3"),
        (np.array([1, None], object), "refused", "pickled"),
    ],
)
def test_arrays_that_are_no_tensors(array: np.ndarray, kind: str, word: str):
    error = error_of(saved(array))
    assert error.kind == kind
    assert word in error.message


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="no longdouble here")
def test_longdouble_is_not_taken_for_complex():
    assert error_of(saved(np.zeros(2, np.longdouble)), declared="complex128").kind == "unreadable"


def test_big_endian_bytes_have_no_order():
    with file_of(with_header("{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", b"\1\2")) as path:
        assert open_tensor(path, root=path.parent).array().tolist() == [1, 2]


def test_more_than_one_array():
    one = saved(np.arange(3))
    error = error_of(one + one)
    assert (error.kind, error.byte) == ("unreadable", len(one))
    assert "more than one" in error.message


def test_a_header_that_promises_too_much():
    huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,)}"
    error = error_of(with_header(huge % 10**12))
    assert error.kind == "cut-off"
    assert error_of(with_header(huge % "9999999999999999999")).kind == "too-large"
    assert error_of(with_header(huge % "0, 9999999999999999999")).kind == "too-large"
    assert error_of(with_header(huge % ", ".join(["4000000000"] * 8))).kind == "too-large"
    assert error_of(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{}").kind == "too-large"
    assert error_of(b"\x93NUMPY\x04\x00" + struct.pack("<H", 4) + b"{}  ").byte == 6


def test_a_bad_header_costs_little_memory():
    content = with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,)}", bytes(100))
    error_of(content)  # imports and caches
    tracemalloc.start()
    try:
        error_of(content)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_cut_at_every_byte(tmp_path: Path):
    content = saved(np.arange(4, dtype="<f4"))
    path = tmp_path / "t.npy"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(TensorError) as caught:
            open_tensor(path, root=tmp_path)
        assert (caught.value.kind, caught.value.byte) == ("cut-off", length)


def test_every_byte_changed(tmp_path: Path):
    content = saved(np.arange(4, dtype="<f4"))
    path = tmp_path / "t.npy"
    for at in range(content.index(b"\n")):
        for value in (0, 0x20, 0x27, 0x39, 0x80, 0xFF, content[at] ^ 1):
            path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            assert_opens_or_fails_well(path)


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"]))
def test_any_bytes(tail: bytes, head: bytes):
    with file_of(head + tail) as path:
        assert_opens_or_fails_well(path)


@given(st.text(alphabet="{}()[]'\",: <>|=fiuVO0123456789descrfortran_orderFalseTrueshape\\", max_size=120))
def test_any_header(text: str):
    with file_of(with_header(text, bytes(64))) as path:
        assert_opens_or_fails_well(path)


def test_names_do_not_matter(tmp_path: Path):
    path = tmp_path / "t.pt"
    path.write_bytes(saved(np.arange(3)))
    assert open_tensor(path, root=tmp_path).array().tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["t.pt"]
