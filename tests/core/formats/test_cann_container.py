"""The binary dump of one operator call, as the device writes it and as nobody should."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.cann import container as reader
from npulse.core.formats.cann import enums
from npulse.core.formats.cann.container import CannDump, raw_bytes, read_container, tensor_file
from npulse.core.formats.tensors import TensorError, TensorReader, widen

from .cann_files import Tensor, blob, container, file_of, message, number, varint

FLOAT, FLOAT16, INT8, INT64, BOOL, BF16, INT4, HIFLOAT8, E5M2, E4M3FN = 1, 2, 3, 8, 11, 27, 28, 33, 34, 35


def tensor(array: np.ndarray, data_type: int = FLOAT, padding: int = 0, **about: object) -> Tensor:
    return Tensor(array.tobytes() + bytes(padding), data_type, shape=array.shape, **about)  # type: ignore[arg-type]


def read(content: bytes, tmp_path: Path) -> CannDump:
    path = tmp_path / "Add.add.1.2.1749633330000123"
    path.write_bytes(content)
    return read_container(path, root=tmp_path)


def error_of(content: bytes) -> TensorError:
    with file_of(content) as path, pytest.raises(TensorError) as caught:
        read_container(path, root=path.parent)
    assert caught.value.path == str(path) and caught.value.byte is not None
    return caught.value


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([[1.5, np.inf], [-2, np.nan]], np.float16)
SMALL = container([tensor(X), tensor(Y, FLOAT16, padding=24, format=29)], [tensor(X * 2)])


def test_inputs_lie_before_outputs_though_their_records_come_last(tmp_path: Path) -> None:
    dump = read(SMALL, tmp_path)
    assert [(t.io, t.index, t.data_type, t.format) for t in dump.tensors] == [
        ("input", 0, "FLOAT", "ND"),
        ("input", 1, "FLOAT16", "FRACTAL_NZ"),
        ("output", 0, "FLOAT", "ND"),
    ]
    assert (dump.op_name, dump.version, dump.dump_time) == ("layer1/fc/MatMul", "2.0", 1749633330000123)
    assert (dump.dfx_message, dump.problems) == ("", ())
    assert [t.size_bytes for t in dump.tensors] == [24, 32, 24]
    for found, wanted in zip(dump.tensors, (X, Y, X * 2), strict=True):
        file = tensor_file(dump, found)
        assert file is not None and file.shape == found.shape == wanted.shape
        np.testing.assert_array_equal(file.array(), wanted)
        with TensorReader(file) as blocks:
            assert blocks.read_into(bytearray(8), 2, 2).tobytes() == wanted.reshape(-1)[2:4].tobytes()
    assert dump.side("output") == dump.tensors[2:]


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (BF16, np.array([1.0, -2.5, np.inf], ml_dtypes.bfloat16)),
        (E4M3FN, np.array([448.0, np.nan, -0.5], ml_dtypes.float8_e4m3fn)),
        (E5M2, np.array([-np.inf, 3.0, 2.0**-16], ml_dtypes.float8_e5m2)),
        (36, np.array([2.0**-3, 1.0], ml_dtypes.float8_e8m0fnu)),
        *((n, np.array([1, 0, 3], t)) for n, t in ((INT8, "i1"), (4, "u1"), (5, "i2"), (6, "u2"), (7, "i4"))),
        *((n, np.array([1, 0, 3], t)) for n, t in ((INT64, "i8"), (9, "u4"), (10, "u8"), (BOOL, "?"))),
        *((n, np.array([1, 0, 3], t)) for n, t in ((12, "f8"), (16, "c8"), (17, "c16"), (23, "i8"))),
    ],
)
def test_number_formats(data_type: int, values: np.ndarray, tmp_path: Path) -> None:
    dump = read(container(outputs=[tensor(values, data_type)]), tmp_path)
    file = tensor_file(dump, dump.tensors[0])
    assert file is not None and file.dtype is file.declared is dump.tensors[0].dtype
    wanted = values.astype(np.float32) if values.dtype.kind == "V" or file.dtype.is_raw else values
    np.testing.assert_array_equal(widen(file.array(), file.dtype), wanted)


@pytest.mark.parametrize("data_type", [0, 13, INT4, 29, 32, HIFLOAT8, 37, 42, 99])
def test_elements_that_are_not_decoded_are_listed_and_can_be_looked_at(
    data_type: int, tmp_path: Path
) -> None:
    dump = read(container(outputs=[Tensor(b"\x12\x34\x56", data_type, shape=(6,))]), tmp_path)
    (found,) = dump.tensors
    assert found.dtype is None and found.element_bytes is None and dump.problems == ()
    assert found.data_type == (enums.DATA_TYPES[data_type] if data_type < 43 else "type 99")
    assert tensor_file(dump, found) is None
    assert raw_bytes(dump, found, 2) == b"\x12\x34" and raw_bytes(dump, found, 99) == b"\x12\x34\x56"


def test_names_of_numbers() -> None:
    assert len(enums.DATA_TYPES) == 43
    named = {
        2: "ND",
        3: "NC1HWC0",
        29: "FRACTAL_NZ",
        49: "C1HWC0",
        50: "FRACTAL_NZ_C0_16",
        54: "FRACTAL_NZ_C0_8",
    }
    assert {n: enums.format_name(n) for n in named} == named
    assert (enums.format_name(255), enums.format_name(55)) == ("MAX", "format 55")


@pytest.mark.parametrize("packed", [True, False])
def test_axes_packed_and_one_by_one(packed: bool, tmp_path: Path) -> None:
    about = {"original_shape": (1, 3, 6, 300), "sub_format": 4}
    dump = read(container([tensor(X, **about)], packed=packed), tmp_path)
    assert dump.tensors[0].shape == (2, 3)
    assert (dump.tensors[0].original_shape, dump.tensors[0].sub_format) == ((1, 3, 6, 300), 4)


def test_scalars_empty_and_absent_tensors(tmp_path: Path) -> None:
    inputs = [
        Tensor(struct.pack("<f28x", 2.5), FLOAT),
        Tensor(b"", FLOAT, shape=(0, 8)),
        Tensor(b"", FLOAT, shape=(4,)),
        Tensor(b"", FLOAT, shape=(0, 1 << 62)),
    ]
    dump = read(container(inputs), tmp_path)
    scalar, empty, absent, vast = dump.tensors
    file = tensor_file(dump, scalar)
    assert scalar.shape == () and file is not None
    assert file.shape == (1,) and file.array()[0] == 2.5
    file = tensor_file(dump, empty)
    assert file is not None and file.array().shape == (0, 8)
    assert tensor_file(dump, absent) is None
    assert dump.problems == ()
    with pytest.raises(TensorError, match="larger than any memory"):
        tensor_file(dump, vast)


def test_unknown_fields_are_stepped_over(tmp_path: Path) -> None:
    strange = (
        number(15, 7)
        + blob(16, b"\xff\xfe")
        + varint(17 << 3 | 1)
        + bytes(8)
        + varint(18 << 3 | 5)
        + bytes(4)
    )
    attribute = blob(7, blob(1, "key") + blob(2, "{}"))
    dump = read(container([tensor(X)], extra=strange + attribute + blob(9, "[AIC_INFO] args")), tmp_path)
    assert dump.dfx_message == "[AIC_INFO] args" and dump.problems == ()
    file = tensor_file(dump, dump.tensors[0])
    assert file is not None and file.array().tobytes() == X.tobytes()


def test_text_of_other_encodings_is_kept_as_far_as_it_can_be(tmp_path: Path) -> None:
    dump = read(container([tensor(X)], extra=blob(6, b"a/\xff\x1b[2J")), tmp_path)
    assert dump.op_name == "a/\N{REPLACEMENT CHARACTER}\x1b[2J"


# ---- the oldest kind: the message alone ----


def test_a_bare_message_holds_its_tensors(tmp_path: Path) -> None:
    dump = read(message([tensor(X)], [tensor(Y, FLOAT16)], inside=True, version="1.0"), tmp_path)
    assert dump.version == "1.0" and dump.problems == ()
    for found, wanted in zip(dump.tensors, (X, Y), strict=True):
        file = tensor_file(dump, found)
        assert file is not None
        np.testing.assert_array_equal(file.array(), wanted)


def test_a_large_bare_message_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_BARE_BYTES", 20)
    assert error_of(message([tensor(X)], inside=True)).kind == "too-large"


# ---- what is missing or wrong ----


def test_tensors_behind_the_end_are_listed_and_told(tmp_path: Path) -> None:
    content = SMALL[:-30]
    dump = read(content, tmp_path)
    assert [t.is_truncated for t in dump.tensors] == [False, True, True]
    assert [(p.kind, p.byte) for p in dump.problems] == [("cut-off", len(content))] * 2
    assert "input 1" in dump.problems[0].message and dump.problems[0].artifact == dump.path.name
    assert tensor_file(dump, dump.tensors[0]) is not None
    # only padding is missing of the second one: its elements are all there
    file = tensor_file(dump, dump.tensors[1])
    assert file is not None and file.array().tobytes() == Y.tobytes()
    with pytest.raises(TensorError) as caught:
        tensor_file(dump, dump.tensors[2])
    assert (caught.value.kind, caught.value.byte) == ("cut-off", len(content))
    assert raw_bytes(dump, dump.tensors[2], 99) == b""
    assert len(raw_bytes(dump, dump.tensors[1], 99)) == 32 - 6


def test_missing_workspaces_are_told(tmp_path: Path) -> None:
    dump = read(container([tensor(X)], extra=blob(8, number(3, 64)) + blob(5, number(3, 6))), tmp_path)
    (problem,) = dump.problems
    assert (problem.kind, problem.byte) == ("cut-off", dump.file_bytes)
    assert not dump.tensors[0].is_truncated


def test_a_shape_that_does_not_fit_its_bytes_is_told(tmp_path: Path) -> None:
    big = Tensor(bytes(8), FLOAT, shape=(3,))
    unknown = Tensor(bytes(8), FLOAT, shape=(2, (1 << 64) - 1))
    vast = Tensor(bytes(8), FLOAT, shape=(1 << 62,) * 32)
    dump = read(container([big, unknown, vast], [tensor(X)]), tmp_path)
    assert dump.tensors[1].shape == (2, -1) and dump.tensors[1].element_bytes is None
    assert [p.kind for p in dump.problems] == ["shape"] * 3
    assert [p.byte for p in dump.problems] == [t.offset for t in dump.tensors[:3]]
    for found in dump.tensors[:3]:
        with pytest.raises(TensorError) as caught:
            tensor_file(dump, found)
        assert (caught.value.kind, caught.value.byte) == ("shape", found.offset)
    assert tensor_file(dump, dump.tensors[3]) is not None


def test_many_problems_are_counted(tmp_path: Path) -> None:
    dump = read(container([Tensor(b"", FLOAT, shape=(1,), size=4)] * 50), tmp_path)
    assert len(dump.problems) == 21 and dump.problems[-1].message.startswith("30 more")


@pytest.mark.parametrize(
    ("content", "kind", "word"),
    [
        (b"", "cut-off", "0 bytes"),
        (bytes(8), "cut-off", "8 bytes"),
        (bytes(64), "unreadable", "names no operator"),
        (struct.pack("<Q", 100) + b"\x0a\x032.0", "cut-off", "the record of the dump"),
        (b"What is this? No dump at all.", "unreadable", "not a dump"),
        (b"\nneither is this, though it begins like the oldest kind", "unreadable", "damaged"),
        (b"\x5a" * 40, "unreadable", "Nano form: recognised, not supported"),
        (struct.pack("<Q", 8) + b"\x5a\x5a\x5a\x5a" + bytes(20), "unreadable", "Nano form: recognised"),
        (struct.pack("<Q", 2) + b"{}", "unreadable", "JSON header: recognised, not supported"),
        (struct.pack("<Q", 2) + b"\x0a\x05", "unreadable", "damaged"),
        (struct.pack("<Q", 2) + b"\x0b\x05", "unreadable", "unknown kind 3"),
        (struct.pack("<Q", 2) + b"\x00\x05", "unreadable", "without a number"),
        (struct.pack("<Q", 12) + b"\xff" * 12, "unreadable", "without an end"),
        (container([Tensor(b"", shape=(1,) * 33)]), "unreadable", "more than 32 dimensions"),
    ],
)
def test_files_that_are_no_dump(content: bytes, kind: str, word: str) -> None:
    error = error_of(content)
    assert error.kind == kind and word in error.message


def test_the_byte_of_damage_is_that_of_the_file() -> None:
    head = message([tensor(X)])
    assert error_of(struct.pack("<Q", len(head) + 1) + head + b"\x0b").byte == 8 + len(head)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_MESSAGE_BYTES", 20)
    assert error_of(SMALL).kind == "too-large"
    monkeypatch.undo()
    monkeypatch.setattr(reader, "MAX_TENSORS", 3)
    assert "more than 3 tensors" in error_of(container([Tensor(b"")] * 4)).message


def test_only_the_message_is_read(tmp_path: Path) -> None:
    head = message([Tensor(b"", FLOAT, shape=(1 << 34,), size=4 << 34)])
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + (4 << 34))  # a hole of 64 GB
    dump = read_container(path, root=tmp_path)
    assert dump.problems == ()
    found = tensor_file(dump, dump.tensors[0])
    assert found is not None and found.n_elements == 1 << 34
    with TensorReader(found) as blocks:
        assert blocks.read_into(bytearray(16), (1 << 34) - 4, 4).tolist() == [0.0] * 4


def test_files_outside_the_run_and_no_files(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(SMALL)
    run = tmp_path / "run"
    run.mkdir()
    (run / "link").symlink_to(tmp_path / "out")
    os.mkfifo(run / "pipe")
    for name, kind in (
        ("link", "outside-run"),
        ("pipe", "unreadable"),
        ("none", "missing"),
        (".", "unreadable"),
    ):
        with pytest.raises(TensorError) as caught:
            read_container(run / name, root=run)
        assert caught.value.kind == kind


def test_a_file_replaced_meanwhile_is_noticed(tmp_path: Path) -> None:
    dump = read(SMALL, tmp_path)
    (tmp_path / "new").write_bytes(SMALL)
    (tmp_path / "new").rename(dump.path)
    with pytest.raises(TensorError, match="replaced"):
        raw_bytes(dump, dump.tensors[0], 4)


# ---- any bytes ----


def read_all(content: bytes) -> None:
    """Whatever the bytes are: a dump whose tensors can be read or are told to be missing, or an error."""
    with file_of(content) as path:
        try:
            dump = read_container(path, root=path.parent)
        except InputError as error:
            assert error.message and error.path == str(path)
            return
        for found in dump.tensors:
            assert len(raw_bytes(dump, found, 64)) <= 64
            try:
                file = tensor_file(dump, found)
            except TensorError as error:
                assert error.kind in ("cut-off", "shape")
                assert dump.problems or found.size_bytes == 0
            else:
                assert file is None or file.array().shape == file.shape


@pytest.mark.parametrize("content", [SMALL, message([tensor(X)], [tensor(Y, FLOAT16)], inside=True)])
def test_cut_at_every_byte(content: bytes) -> None:
    for end in range(len(content)):
        read_all(content[:end])


@given(st.binary(max_size=300))
def test_random_bytes(content: bytes) -> None:
    read_all(content)
    read_all(struct.pack("<Q", len(content)) + content)
    read_all(b"\x0a\x031.0" + content)


@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    content = bytearray(SMALL)
    for at, byte in changes:
        content[at] = byte
    read_all(bytes(content))


axes = st.lists(st.integers(0, 300), max_size=4).map(tuple)
written = st.builds(
    Tensor,
    data=st.binary(max_size=80),
    data_type=st.integers(0, 60),
    format=st.integers(0, 60),
    shape=axes,
    original_shape=axes,
    sub_format=st.integers(0, 1 << 31),
)


@given(st.lists(written, max_size=4), st.lists(written, max_size=4), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    inputs: list[Tensor], outputs: list[Tensor], packed: bool, inside: bool
) -> None:
    if inside:
        content = message(inputs, outputs, packed=packed, inside=True, version="1.0")
    else:
        content = container(inputs, outputs, packed=packed)
    with file_of(content) as path:
        dump = read_container(path, root=path.parent)
        assert len(dump.tensors) == len(inputs) + len(outputs)
        for found, wanted in zip(dump.tensors, [*inputs, *outputs], strict=True):
            assert found.shape == wanted.shape and found.original_shape == wanted.original_shape
            assert found.data_type == enums.data_type_name(wanted.data_type)
            assert found.format == enums.format_name(wanted.format)
            assert (found.sub_format, found.size_bytes) == (wanted.sub_format, len(wanted.data))
            assert raw_bytes(dump, found, 100) == wanted.data
            assert not found.is_truncated
    assert {problem.kind for problem in dump.problems} <= {"shape", "limit"}
