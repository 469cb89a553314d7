"""Small files from outside, whole or refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.files import read_input


def test_all_of_a_file_or_none_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_input(path, 5, "a note") == b"12345"
    with pytest.raises(InputError, match="a note of more than 4 bytes is not read") as caught:
        read_input(path, 4, "a note", hint="shorter")
    assert caught.value.hint == "shorter" and caught.value.path == str(path)
    with pytest.raises(InputError, match="outside the opened run"):
        read_input(path, 5, "a note", root=tmp_path / "run")


@pytest.mark.skipif(sys.platform != "linux", reason="files of /proc")
def test_a_size_that_is_not_told_is_bounded_and_an_error_of_the_disk_has_words() -> None:
    environ = Path("/proc/self/status")  # says that it holds nothing
    assert read_input(environ, 1 << 20, "a status").startswith(b"Name:")
    with pytest.raises(InputError, match="a status of more than 5 bytes"):
        read_input(environ, 5, "a status")
    with pytest.raises(InputError, match="reading failed: "):
        read_input(Path("/proc/self/mem"), 100, "memory")
