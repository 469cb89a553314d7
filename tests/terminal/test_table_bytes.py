"""A million rows in a real terminal of 120 x 40: bytes, frames, processor time and memory per key."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from .pty_screen import FRAME_START, PtyProgram

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cost is read from /proc")

N_ROWS = 1_000_000
PAGE_ROWS = 38  # 40 lines, one of title and one of header
PAGE_DOWN, DOWN, UP, END, HOME = b"\x1b[6~", b"\x1b[B", b"\x1b[A", b"\x1b[F", b"\x1b[H"


@pytest.fixture(scope="module")
def table() -> Iterator[PtyProgram]:
    with PtyProgram.app("table_app.py", str(N_ROWS), columns=120, rows=40, LANG="C.UTF-8") as program:
        program.read_until(rb"1-38 of 1,000,000")
        program.read_quiet()
        yield program


def press(program: PtyProgram, key: bytes, until: bytes) -> tuple[int, int]:
    """(bytes, frames) that a key costs; `until` is drawn by its frame."""
    start = len(program.output)
    program.send(key)
    program.read_until(until)
    program.read_quiet(0.05)
    output = program.output[start:]
    return len(output), output.count(FRAME_START)


def test_start_is_cheap(table: PtyProgram) -> None:
    assert len(table.output) <= 45_000


def test_page_down(table: PtyProgram) -> None:
    press(table, END, rb"-1,000,000 of")
    press(table, HOME, rb"1-38 of")
    cpu_before = table.cpu_s()
    costs = [
        press(table, PAGE_DOWN, f"{page * PAGE_ROWS + 1:,}-{(page + 1) * PAGE_ROWS:,} of".encode())
        for page in range(1, 51)
    ]
    cpu_ms = (table.cpu_s() - cpu_before) / 50 * 1000
    assert max(n_bytes for n_bytes, _ in costs) <= 8_000
    assert {n_frames for _, n_frames in costs} == {1}
    assert cpu_ms <= 15


def test_row_down_repaints_two_lines(table: PtyProgram) -> None:
    press(table, END, rb"-1,000,000 of")
    press(table, HOME, rb"1-38 of")
    for row in range(1, 20):
        start = len(table.output)
        n_bytes, n_frames = press(table, DOWN, rb" %d +0\.|%d +nan" % (row, row))
        assert n_bytes <= 500 and n_frames == 1
        lines = set(re.findall(rb"\x1b\[(\d+);1H", table.output[start:]))
        assert lines <= {b"%d" % (row + 2), b"%d" % (row + 3), b"1"}


def test_idle_is_silent(table: PtyProgram) -> None:
    table.read_quiet()
    assert table.read_for(3.0) == b""


def test_hostile_names_send_no_sequence(table: PtyProgram) -> None:
    press(table, END, rb"-1,000,000 of")
    press(table, HOME, rb"1-38 of")
    assert "layers.1.␛]52;c;cHduZWQ=�evil".encode() in table.output
    assert b"\x1b]52" not in table.output and b"\x1b[2J" not in table.output
    assert b"[bold]x[/]" in table.output


def test_memory(table: PtyProgram) -> None:
    press(table, END, rb"-1,000,000 of")
    assert table.peak_bytes() <= 200 * 1024 * 1024
