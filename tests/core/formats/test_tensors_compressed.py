"""Tensors in archives that were packed again with compression: the same elements, or said what is wrong."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.formats.test_tensors_torch import (
    error_of,
    file_of,
    pickled,
    plain,
    storage_of,
    tensor,
    zipped,
)

from npulse.core.formats.tensors import DTYPES, TensorError, TensorFile, TensorReader, open_tensor
from npulse.core.formats.tensors import inflate as inflate_module
from npulse.core.formats.tensors.source import Source
from npulse.core.overflow.blocks import is_mappable
from npulse.core.precision.blocks.elements import examine
from npulse.core.precision.blocks.pair import compare_files

SHAPE = (300, 1000)
rng = np.random.default_rng(5)
ONE = rng.normal(size=SHAPE).astype("<f4")
OTHER = ONE + rng.normal(size=SHAPE).astype("<f4") * 1e-3
OTHER[7, 3], OTHER[250, 999] = np.nan, np.inf


def stored(array: np.ndarray, name: str = "float32") -> bytes:
    value, storages = plain(array, name)
    return zipped(pickled(value), storages)


def deflated(content: bytes, level: int = 6) -> bytes:
    """The archive packed again by the standard library."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as plain_file,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as file,
    ):
        for name in plain_file.namelist():
            file.writestr(name, plain_file.read(name))
    return out.getvalue()


def opened(folder: Path, name: str, content: bytes) -> TensorFile:
    (folder / name).write_bytes(content)
    return open_tensor(folder / name, root=folder)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int64", "complex64", "bool"])
def test_figures_are_those_of_the_stored_twins(name: str, tmp_path: Path) -> None:
    bits = ONE[:70].astype(DTYPES[name].carrier), np.nan_to_num(OTHER[:70]).astype(DTYPES[name].carrier)
    pairs = []
    for pack in (bytes, deflated):
        files = [
            opened(tmp_path, f"{pack.__name__}{i}.pt", pack(stored(one, name))) for i, one in enumerate(bits)
        ]
        assert [file.deflated is not None for file in files] == [pack is deflated] * 2
        pairs.append((compare_files(*files), examine(*files)))
    assert repr(pairs[0]) == repr(pairs[1])


def test_blocks_in_any_order(tmp_path: Path) -> None:
    file = opened(tmp_path, "t.pt", deflated(stored(ONE)))
    flat = ONE.reshape(-1)
    buffer = bytearray(4 * 70_000)
    with TensorReader(file) as reader:
        for first, n in (
            (0, 70_000),
            (200_000, 3),
            (299_999, 1),
            (5, 65_536),
            (5, 0),
            (300_000, 0),
            (70_005, 9),
        ):
            assert np.array_equal(reader.read_into(buffer, first, n), flat[first : first + n]), first
    assert np.array_equal(file.array(), ONE)
    assert not file.array().flags.writeable
    assert not is_mappable(file)


def test_blocks_in_order_read_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path, "t.pt", deflated(stored(ONE)))
    assert file.deflated is not None
    read: list[tuple[int, int]] = []
    with TensorReader(file) as reader:
        pread = type(reader._source)._pread

        def recorded(source: Source, offset: int, n_bytes: int) -> bytes:
            read.append((offset, n_bytes))
            return pread(source, offset, n_bytes)

        monkeypatch.setattr(type(reader._source), "_pread", recorded)
        for first in range(0, 300_000, 65_536):
            reader.read_into(bytearray(4 * 65_536), first, min(65_536, 300_000 - first))
    at = file.deflated.first
    for offset, n_bytes in read:
        assert offset == at
        at += n_bytes
    assert at == file.deflated.first + file.deflated.packed_bytes


def test_views_that_are_not_contiguous(tmp_path: Path) -> None:
    value = tensor(storage_of(ONE, "float32"), "float32", 1000, (1000, 298), (1, 1000))
    file = opened(tmp_path, "t.pt", deflated(zipped(pickled(value), [storage_of(ONE, "float32")])))
    assert np.array_equal(file.array(), ONE[1:299].T)


def test_memory_is_that_of_a_block(tmp_path: Path) -> None:
    zeros = np.zeros(2 << 20, "<f4")
    files = [opened(tmp_path, f"{i}.pt", deflated(stored(zeros), 1)) for i in range(2)]
    assert (tmp_path / "0.pt").stat().st_size < zeros.nbytes / 200
    compare_files(*files)  # its buffers are made once
    tracemalloc.start()
    try:
        assert compare_files(*files).n_elements == zeros.size
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def _entry(content: bytes, name: bytes = b"t/data/0") -> int:
    """Byte at which the storage's entry of the directory begins."""
    return content.rindex(b"PK\x01\x02", 0, content.rindex(name))


def _changed(content: bytes, field_at: int, value: int) -> bytes:
    at = _entry(content) + field_at
    return content[:at] + struct.pack("<L", value & 0xFFFFFFFF) + content[at + 4 :]


def _read_error(content: bytes) -> TensorError:
    """What reading block by block says; reading the whole must say the same."""
    found = []
    with file_of(content) as path:
        file = open_tensor(path, root=path.parent)
        for read in (_in_blocks, TensorFile.array):
            with pytest.raises(TensorError) as caught:
                read(file)
            found.append(caught.value)
    assert found[0].kind == found[1].kind
    for error in found:
        assert error.path == str(path)
        assert error.byte is not None and 0 < error.byte <= len(content)
    return found[0]


def _in_blocks(file: TensorFile) -> None:
    with TensorReader(file) as reader:
        for first in range(0, file.n_elements, 65_536):
            reader.read_into(bytearray(4 * 65_536), first, min(65_536, file.n_elements - first))


CRC, PACKED, SIZE = 16, 20, 24  # of an entry of the directory


def _with_storage(packed: bytes, content: bytes, crc: int | None = None) -> bytes:
    """An archive whose storage has these compressed bytes, and a directory that says it holds `content`."""
    value, _ = plain(np.frombuffer(content, "<f4"), "float32")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("t/data.pkl", pickled(value))
        file.writestr("t/data/0", packed)
    archive = bytearray(_changed(out.getvalue(), CRC, zlib.crc32(content) if crc is None else crc))
    archive = bytearray(_changed(bytes(archive), SIZE, len(content)))
    struct.pack_into("<H", archive, _entry(bytes(archive)) + 10, zipfile.ZIP_DEFLATED)
    return bytes(archive)


def _deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


DATA = ONE[:90].tobytes()
WRONG: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "checksum": (
        lambda: _with_storage(_deflate(DATA), DATA, 0x1234),
        "unreadable",
        "directory says 00001234",
    ),
    "breaks off": (lambda: _with_storage(_deflate(DATA)[:-2000], DATA), "cut-off", "breaks off after"),
    "gives less": (
        lambda: _with_storage(_deflate(DATA[:-400]), DATA),
        "unreadable",
        "inflates to 359,600 bytes",
    ),
    "gives more": (
        lambda: _with_storage(_deflate(DATA + bytes(1 << 20)), DATA),
        "unreadable",
        "more than 360,000",
    ),
    "damaged": (lambda: _with_storage(b"\xff" * 5000, DATA), "unreadable", "damaged"),
    "without an end": (
        lambda: _with_storage(_deflate(DATA)[:-1], DATA),
        "cut-off",
        "breaks off after 360,000",
    ),
}


@pytest.mark.parametrize("which", WRONG)
def test_wrong_compressed_data_is_told(which: str) -> None:
    make, kind, says = WRONG[which]
    error = _read_error(make())
    assert error.kind == kind
    assert says in error.message


def test_right_compressed_data_by_the_same_tool() -> None:
    with file_of(_with_storage(_deflate(DATA), DATA)) as path:
        file = open_tensor(path, root=path.parent)
        assert file.array().tobytes() == DATA
        _in_blocks(file)


def test_a_directory_that_promises_more_than_can_be_packed() -> None:
    for packed, content in ((b"\x03\x00", DATA), (_deflate(bytes(100)), bytes(1 << 20))):
        error = error_of(_with_storage(packed, content))
        assert error.kind == "unreadable" and "cannot be" in error.message
    stored_wrong = _changed(stored(ONE), SIZE, ONE.nbytes - 4)
    assert "cannot be" in error_of(stored_wrong).message


def test_the_whole_of_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path, "t.pt", deflated(stored(ONE)))
    monkeypatch.setattr(inflate_module, "MAX_WHOLE_BYTES", ONE.nbytes - 1)
    with pytest.raises(TensorError) as caught:
        file.array()
    assert caught.value.kind == "too-large"
    _in_blocks(file)


@pytest.mark.parametrize("cut", [1, 30, 3000])
def test_a_file_that_is_cut_after_it_was_opened(cut: int, tmp_path: Path) -> None:
    content = deflated(stored(ONE))
    file = opened(tmp_path, "t.pt", content)
    assert file.deflated is not None
    end = file.deflated.first + file.deflated.packed_bytes - cut
    with open(file.path, "r+b") as out:
        out.truncate(end)
    with pytest.raises(TensorError) as caught:
        _in_blocks(file)
    assert caught.value.kind == "cut-off"


SMALL_PACKED = deflated(stored(np.arange(600, dtype="<f4").reshape(20, 30)))


@given(st.data())
def test_any_changed_byte_is_no_crash(data: st.DataObject) -> None:
    content = bytearray(SMALL_PACKED)
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with file_of(bytes(content)) as path:
        try:
            file = open_tensor(path, root=path.parent)
            assert file.array().shape == file.shape
        except TensorError as error:
            assert error.byte is None or 0 <= error.byte <= len(content)
