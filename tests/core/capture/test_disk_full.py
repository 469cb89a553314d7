"""A disk that is full in the middle: the round is closed all the same, and says so."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from npulse.core.capture import archive as rooms
from npulse.core.capture.process import Patience
from npulse.core.capture.session import capture

from .doubles import PlainDriver, all_left, is_read_only, manifest_of, python, request_for

FILLS = (
    "import os\n"
    "print('begin', flush=True)\n"
    "with open(os.environ['FAKE_RAW'] + '/data.bin', 'wb', buffering=0) as file:\n"
    "    try:\n"
    "        while file.write(b'x' * 65536): pass\n"
    "    except OSError: pass\n"
    "    try:\n"
    "        while file.write(b'x'): pass\n"
    "    except OSError as error: print('y' * 100_000, 'the last words:', error.strerror, flush=True)\n"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 8 MB."""
    point = tmp_path / "disk"
    point.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(point)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"needs a mount of its own: {done.stderr.strip()[:80]}")
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


def test_the_disk_is_full_in_the_middle(small_disk: Path) -> None:
    request = request_for(small_disk / "diag", python(FILLS), cwd=small_disk)
    (result,) = capture(request, PlainDriver(), patience=Patience(0.2, 0.2, 1.0))
    assert result.not_written == "" and result.recorded.outcome == "incomplete"
    table = manifest_of(result.folder)
    assert table["state"] == "closed" and table["exit_status"] == 0
    assert table["recorded"]["outcome"] == "incomplete" and "disk was full" in table["recorded"]["why"]
    assert any("disk was full" in line for line in table["warnings"])
    assert table["recorded"]["size_bytes"] > 4 << 20 and is_read_only(result.folder / "raw")
    console = (result.folder / "console.log").read_text()
    assert console.startswith("begin\n") and console.endswith(
        "the last words: " + os.strerror(errno.ENOSPC) + "\n"
    )
    assert all_left(small_disk) == [] and not (result.folder / rooms.RESERVE).exists()


def test_a_disk_that_is_full_before_anything_makes_no_round(small_disk: Path) -> None:
    with open(small_disk / "fill", "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    request = request_for(small_disk / "diag", python(FILLS), cwd=small_disk)
    from npulse.core.errors import InputError

    with pytest.raises(InputError):
        capture(request, PlainDriver(), is_forced=True)
    assert list(small_disk.rglob("round.toml")) == [] and all_left(small_disk) == []


def test_a_manifest_that_cannot_be_closed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even the reserve did not help: the round still says running, and the result says why."""
    real = rooms.write_manifest_text
    n_written: list[int] = []

    def write(folder: Path, text: str) -> None:
        if 'state = "closed"' in text:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written.append(len(text))
        real(folder, text)

    monkeypatch.setattr("npulse.core.capture.manifest.write_manifest_text", write)
    request = request_for(tmp_path / "diag", python("print(1)"))
    (result,) = capture(request, PlainDriver())
    assert result.not_written == os.strerror(errno.ENOSPC) and n_written
    assert manifest_of(result.folder)["state"] == "running"
