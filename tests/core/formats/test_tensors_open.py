"""Opening and reading tensors: which files are touched at all, and what happens when they change."""

from __future__ import annotations

import errno
import io
import mmap
import os
import pickle
import socket
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.tensors import DTYPES, TensorError, TensorFile, TensorReader, open_tensor


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "step0").mkdir(parents=True)
    np.save(folder / "step0" / "t.npy", np.arange(6, dtype=np.float32))
    np.save(tmp_path / "outside.npy", np.zeros(3))
    return folder


def refusal(path: Path, root: Path) -> TensorError:
    with pytest.raises(TensorError) as caught:
        open_tensor(path, root=root)
    assert isinstance(caught.value, InputError) and caught.value.path == str(path)
    return caught.value


# ---- inside and outside the run ---------------------------------------------------------------------


def test_a_file_of_the_run_opens_by_any_spelling(run: Path, monkeypatch: pytest.MonkeyPatch):
    path = run / "step0" / "t.npy"
    monkeypatch.chdir(run)
    for spelling, root in [
        (path, run),
        (path, path),  # a file is a run of one
        (path, Path("/")),
        (Path("step0/t.npy"), Path(".")),
        (Path("step0/t.npy"), run),
        (run / "step0" / ".." / "step0" / "t.npy", run),
        (run / ".." / "run" / "step0" / "t.npy", run),
        (path, run / "step0" / ".."),
    ]:
        assert open_tensor(spelling, root=root).array().tolist() == [0, 1, 2, 3, 4, 5]


def test_links_within_the_run_are_followed(run: Path, tmp_path: Path):
    (run / "latest").symlink_to("step0")
    (run / "l.npy").symlink_to(run / "step0" / "t.npy")
    (tmp_path / "alias").symlink_to(run)
    for path, root in [
        (run / "latest" / "t.npy", run),
        (run / "l.npy", run),
        (tmp_path / "alias" / "l.npy", tmp_path / "alias"),
        (run / "l.npy", tmp_path / "alias"),
    ]:
        file = open_tensor(path, root=root)
        assert file.n_elements == 6 and file.array()[5] == 5
        with TensorReader(file) as reader:
            assert reader.read_into(bytearray(4), 5, 1).tolist() == [5]


def test_nothing_outside_the_run_is_opened(run: Path, tmp_path: Path):
    (run / "file.npy").symlink_to(tmp_path / "outside.npy")
    (run / "chain.npy").symlink_to(run / "file.npy")
    (run / "folder").symlink_to(tmp_path)
    (run / "gone.npy").symlink_to(tmp_path / "nothing-here")
    (tmp_path / "run-beside").mkdir()
    np.save(tmp_path / "run-beside" / "t.npy", np.zeros(3))
    for path in [
        run / "file.npy",
        run / "chain.npy",
        run / "folder" / "outside.npy",
        run / "gone.npy",
        run / ".." / "outside.npy",
        run / "step0" / ".." / ".." / "outside.npy",
        tmp_path / "outside.npy",
        tmp_path / "run-beside" / "t.npy",
        Path("/etc/passwd"),
    ]:
        error = refusal(path, run)
        assert error.kind == "outside-run"
        assert error.hint


# ---- what is no regular file ------------------------------------------------------------------------


def test_what_is_not_there(run: Path):
    (run / "dangling.npy").symlink_to(run / "no.npy")
    for name in ("no.npy", "no/t.npy", "step0/t.npy/x", "dangling.npy", "a\0b", "\udcff.npy", "a\udfffb.npy"):
        assert refusal(run / name, run).kind == "missing", name
    assert refusal(run / ("x" * 300), run).kind == "unreadable"


def test_pipes_devices_folders_and_loops_are_not_read(run: Path):
    os.mkfifo(run / "pipe.npy")
    (run / "a.npy").symlink_to("b.npy")
    (run / "b.npy").symlink_to("a.npy")
    assert "pipe" in refusal(run / "pipe.npy", run).message
    assert "folder" in refusal(run / "step0", run).message
    assert "folder" in refusal(run, run).message
    assert refusal(run / "a.npy", run).kind == "unreadable"
    assert "device" in refusal(Path("/dev/zero"), Path("/dev")).message
    with socket.socket(socket.AF_UNIX) as server:
        old = os.getcwd()
        os.chdir(run)  # the name of a socket must be short
        try:
            server.bind("s.npy")
        finally:
            os.chdir(old)
        assert "socket" in refusal(run / "s.npy", run).message


def test_a_pipe_that_took_the_place_of_the_file_does_not_block(run: Path):
    path = run / "step0" / "t.npy"
    file = open_tensor(path, root=run)
    path.unlink()
    os.mkfifo(path)
    for use in (file.array, lambda: TensorReader(file)):
        with pytest.raises(TensorError, match="pipe"):
            use()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(run: Path):
    (run / "step0" / "t.npy").chmod(0)
    assert refusal(run / "step0" / "t.npy", run).kind == "unreadable"


@pytest.mark.parametrize(
    ("content", "kind", "byte"),
    [
        (b"", "cut-off", 0),
        (b"\x93", "cut-off", 1),
        (b"\x93NUMP", "cut-off", 5),
        (b"PK\x03", "cut-off", 3),
        (b"PK\x03\x04", "cut-off", 4),
        (b"\x80", "cut-off", 1),
        (b"hello, world", "unreadable", 0),
        (b"\0" * 4096, "unreadable", 0),
        (b"PK\x05\x06" + bytes(18), "unreadable", 0),
        (b"cos\nsystem\n(S'true'\ntR.", "unreadable", 0),
        (b"PK\x03\x04" + bytes(5000), "cut-off", 5004),
    ],
)
def test_content_that_is_no_tensor(content: bytes, kind: str, byte: int, run: Path):
    path = run / "x.pt"
    path.write_bytes(content)
    error = refusal(path, run)
    assert (error.kind, error.byte) == (kind, byte)
    assert error.hint


def test_no_descriptor_is_left_open(run: Path):
    before = len(os.listdir("/proc/self/fd"))
    good = run / "step0" / "t.npy"
    bad = run / "bad.npy"
    bad.write_bytes(good.read_bytes()[:-1])
    file = open_tensor(good, root=run)
    for _ in range(5):
        refusal(bad, run)
        refusal(run / "step0", run)
        file.array()
        with TensorReader(file) as reader:
            reader.read_into(bytearray(24), 0, 6)
    assert len(os.listdir("/proc/self/fd")) == before


# ---- reading ----------------------------------------------------------------------------------------


@given(data=st.data())
def test_any_block_of_a_tensor(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    name = data.draw(st.sampled_from(["float32", "float16", "int64", "bool", "complex64"]))
    values = (np.arange(35) % 7).astype(name).reshape(5, 7)
    path = tmp_path_factory.mktemp("t") / "t.npy"
    np.save(path, values)
    file = open_tensor(path, root=path.parent)
    first = data.draw(st.integers(0, 35))
    n = data.draw(st.integers(0, 35 - first))
    buffer = bytearray(b"\xaa" * (values.itemsize * n + data.draw(st.integers(0, 9))))
    for given_buffer in (buffer, memoryview(buffer)):
        with TensorReader(file) as reader:
            block = reader.read_into(given_buffer, first, n)
            np.testing.assert_array_equal(block, values.ravel()[first : first + n])
            assert block.dtype == file.dtype.carrier
    assert set(buffer[values.itemsize * n :]) <= {0xAA}


def test_the_buffer_may_be_one_of_numpy(run: Path):
    file = open_tensor(run / "step0" / "t.npy", root=run)
    held = np.zeros(4, np.float32)
    with TensorReader(file) as reader:
        block = reader.read_into(memoryview(held), 2, 4)
    assert held.tolist() == block.tolist() == [2, 3, 4, 5]


def test_misuse_is_told_from_bad_input(run: Path, tmp_path: Path):
    file = open_tensor(run / "step0" / "t.npy", root=run)
    with TensorReader(file) as reader:
        for first, n, size in [(-1, 1, 24), (0, 7, 99), (6, 1, 24), (0, -1, 24), (0, 6, 23)]:
            with pytest.raises(ValueError):
                reader.read_into(bytearray(size), first, n)
    np.save(run / "f.npy", np.asfortranarray(np.zeros((2, 3))))
    column_major = open_tensor(run / "f.npy", root=run)
    assert not column_major.is_contiguous
    with pytest.raises(ValueError, match="array"):
        TensorReader(column_major)


def test_memory_stays_that_of_the_buffer(run: Path):
    path = run / "big.npy"
    n = 4_000_000
    np.save(path, np.ones(n, np.float32))
    file = open_tensor(path, root=run)
    buffer = bytearray(256 * 1024)
    step = len(buffer) // 4
    total = 0.0
    tracemalloc.start()
    try:
        with TensorReader(file) as reader:
            for first in range(0, n, step):
                total += float(reader.read_into(buffer, first, min(step, n - first)).sum())
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()
    assert total == n


def test_a_file_cut_after_it_was_opened(run: Path):
    path = run / "step0" / "t.npy"
    file = open_tensor(path, root=run)
    with TensorReader(file) as reader:
        os.truncate(path, file.offset + 10)
        assert reader.read_into(bytearray(8), 0, 2).tolist() == [0, 1]
        with pytest.raises(TensorError) as caught:
            reader.read_into(bytearray(24), 0, 6)
        assert (caught.value.kind, caught.value.byte) == ("cut-off", file.offset + 10)
    with pytest.raises(TensorError) as caught:
        file.array()
    assert (caught.value.kind, caught.value.byte) == ("cut-off", file.offset + 10)


def test_a_disk_that_fails(run: Path, monkeypatch: pytest.MonkeyPatch):
    path = run / "step0" / "t.npy"
    file = open_tensor(path, root=run)

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    for name in ("pread", "preadv"):
        monkeypatch.setattr(os, name, fail)
    monkeypatch.setattr(mmap, "mmap", fail)
    error = refusal(path, run)
    assert (error.kind, error.byte) == ("unreadable", 0) and "Input/output" in error.message
    with TensorReader(file) as reader, pytest.raises(TensorError, match="Input/output") as caught:
        reader.read_into(bytearray(24), 0, 6)
    assert (caught.value.kind, caught.value.byte) == ("unreadable", file.offset)
    monkeypatch.setattr("npulse.core.formats.tensors.open.MAX_COPIED_BYTES", 0)
    with pytest.raises(TensorError, match="mapped"):
        file.array()


def test_a_file_that_shrinks_while_its_header_is_read(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        os, "pread", lambda fd, n, offset: b"\x93NUMPY\x01\x00v\x00"[:n] if offset == 0 else b""
    )
    error = refusal(run / "step0" / "t.npy", run)
    assert (error.kind, error.byte) == ("cut-off", 10)


def test_a_file_replaced_or_removed_after_it_was_opened(run: Path, tmp_path: Path):
    path = run / "step0" / "t.npy"
    file = open_tensor(path, root=run)
    held = open(path, "rb")  # keeps the inode from being given to the next file
    path.unlink()
    for use in (file.array, lambda: TensorReader(file)):
        with pytest.raises(TensorError) as caught:
            use()
        assert caught.value.kind == "missing"
    path.symlink_to(tmp_path / "outside.npy")
    for use in (file.array, lambda: TensorReader(file)):
        with pytest.raises(TensorError, match="replaced") as caught:
            use()
        assert caught.value.kind == "unreadable"
    held.close()


def test_a_tensor_can_be_described_without_a_header(run: Path):
    """Other formats keep elements too: a file that knows its offset is enough."""
    path = run / "raw.bin"
    path.write_bytes(b"head" + np.arange(6, dtype="<i2").tobytes())
    file = TensorFile(path, 4, DTYPES["int16"], DTYPES["int16"], (2, 3), (3, 1), True)
    assert file.array().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (file.n_elements, file.size_bytes) == (6, 12)


def test_files_and_errors_travel_to_other_processes(run: Path):
    file = open_tensor(run / "step0" / "t.npy", root=run, declared="torch.bfloat16")
    back = pickle.loads(pickle.dumps(file))
    assert back == file and back.identity == file.identity
    assert back.array().tolist() == file.array().tolist()
    error = refusal(run / "no.npy", run)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is TensorError and str(copy) == str(error)
    assert (copy.kind, copy.hint, copy.byte, copy.path) == (error.kind, error.hint, None, error.path)


def test_hostile_text_does_not_pass_into_messages(run: Path):
    path = run / "t.npy"
    out = io.BytesIO()
    np.save(out, np.zeros(2))
    path.write_bytes(out.getvalue().replace(b"'<f8'", b"'\x1b]0'"))
    message = refusal(path, run).message
    assert "\x1b" not in message
    with pytest.raises(TensorError) as caught:
        open_tensor(run / "step0" / "t.npy", root=run, shape=tuple(range(1, 100_000)))
    assert len(caught.value.message) < 400
