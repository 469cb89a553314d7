"""What a tool prints: kept up to a bound with its end, told in safe lines, never a reason to wait."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture import console as module
from npulse.core.capture.console import Console
from npulse.core.text import UNSAFE_CODES

from .doubles import until


def fed(
    path: Path, pieces: Sequence[bytes], head_bytes: int = module.HEAD_BYTES
) -> tuple[Console, list[str]]:
    """A console after these pieces were printed and the other end was closed."""
    told: list[str] = []
    console = Console(path, told.extend, head_bytes)
    other = os.dup(console.write_end)
    console.start()
    for piece in pieces:
        os.write(other, piece)
    os.close(other)
    console.close()
    return console, told


def test_all_is_kept_and_told_line_by_line(tmp_path: Path) -> None:
    console, told = fed(
        tmp_path / "log", [b"one\ntw", b"o\n", "三\n".encode()[:2], "三\n".encode()[2:], b"end"]
    )
    assert (tmp_path / "log").read_text() == "one\ntwo\n三\nend"
    assert told == ["one", "two", "三", "end"] and console.n_dropped_bytes == 0


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    raw = b"\x1b]0;title\x07red\x1b[31m\n10%\r50%\r100%\nend\r\n"
    _, told = fed(tmp_path / "log", [raw])
    assert (tmp_path / "log").read_bytes() == raw, "the file keeps what was printed"
    assert told[1:] == ["100%", "end"] and not any(ord(c) in UNSAFE_CODES for line in told for c in line)


def test_of_much_output_the_beginning_and_the_end_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TAIL_BYTES", 1000)
    lines = [b"%07d\n" % n for n in range(10_000)]
    console, told = fed(tmp_path / "log", [b"".join(lines[i : i + 100]) for i in range(0, 10_000, 100)], 4000)
    kept = (tmp_path / "log").read_bytes()
    assert kept.startswith(b"".join(lines[:500])) and kept.endswith(b"".join(lines[-125:]))
    n_missing = 80_000 - 4000 - 1000
    assert console.n_bytes == 80_000 and console.n_dropped_bytes == n_missing
    assert f"{n_missing:,} bytes".encode() in kept and told[-1] == "0009999"


def test_a_process_that_keeps_the_other_end_does_not_keep_us(tmp_path: Path) -> None:
    told: list[str] = []
    console = Console(tmp_path / "log", told.extend)
    other = os.dup(console.write_end)
    console.start()
    os.write(other, b"still here\n")
    until(lambda: told)
    console.close(wait_s=0.05)
    os.close(other)
    assert (tmp_path / "log").read_text() == "still here\n"


def test_a_watcher_in_trouble_does_not_make_the_tool_wait(tmp_path: Path) -> None:
    def fail(lines: Sequence[str]) -> None:
        raise OSError("the terminal is gone")

    console = Console(tmp_path / "log", fail)
    other = os.dup(console.write_end)
    console.start()
    for _ in range(64):
        os.write(other, b"x" * 8191 + b"\n")
    os.close(other)
    console.close()
    assert (tmp_path / "log").stat().st_size == 64 * 8192


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("console")
    whole, whole_told = fed(folder / "whole", [b"".join(pieces)] if any(pieces) else [])
    cut, cut_told = fed(folder / "cut", [piece for piece in pieces if piece])
    assert (folder / "cut").read_bytes() == (folder / "whole").read_bytes() == b"".join(pieces)
    assert cut_told == whole_told and cut.n_bytes == whole.n_bytes
