"""The precision pane and its matrix of ranks with many calls, in a real terminal of 120 x 40: bytes, CPU time
and memory of a key. Every call is a layer of its own, the worst case of strip and matrix."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from .pty_screen import FRAME_START, PtyProgram

pytestmark = [
    pytest.mark.budget,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cost is read from /proc"),
    pytest.mark.xdist_group("large bytes"),
]

N_RANKS, N_CALLS = 16, 5_000
DOWN, PAGE_DOWN = b"\x1b[B", b"\x1b[6~"
ROW_BYTES, PAGE_BYTES, BEHIND_BYTES = 500, 8_000, 3_000
KEY_S, KEY_WITH_PAGE_S = (
    0.030,
    0.050,
)  # with the detail behind them
QUIET_S = 0.3
COLUMNS_BYTES = 80 << 20  # of the columns of 160,000 rows


@pytest.fixture(scope="module")
def program() -> Iterator[PtyProgram]:
    arguments = ("table", str(N_RANKS), str(N_CALLS), "0")
    with PtyProgram.app("large_app.py", *arguments, columns=120, rows=40, LANG="C.UTF-8") as program:
        program.read_until(rb"begins *\x1b|begins")  # the detail of the first origin
        program.read_quiet()
        yield program


def frames_after(program: PtyProgram, key: bytes) -> tuple[list[int], float]:
    """Sizes of the frames that a key brings, and processor seconds of the program."""
    start, cpu_before = len(program.output), program.cpu_s()
    program.send(key)
    program.read_until(re.escape(FRAME_START))
    program.read_quiet(QUIET_S)
    frames = [len(frame) for frame in program.output[start:].split(FRAME_START)[1:]]
    return frames, program.cpu_s() - cpu_before


def test_rows_and_pages_of_the_table(program: PtyProgram) -> None:
    rows = [frames_after(program, key) for key in (DOWN, DOWN)]
    pages = [frames_after(program, key) for key in (PAGE_DOWN, PAGE_DOWN)]
    assert max(frames[0] for frames, _ in rows) <= ROW_BYTES, rows
    assert max(frames[0] for frames, _ in pages) <= PAGE_BYTES, pages
    assert max(sum(frames[1:]) for frames, _ in (*rows, *pages)) <= BEHIND_BYTES
    assert min(cpu_s for _, cpu_s in rows) <= KEY_S
    assert min(cpu_s for _, cpu_s in pages) <= KEY_WITH_PAGE_S


def test_the_matrix_of_all_ranks(program: PtyProgram) -> None:
    program.send(b"z")
    program.read_until(rb"%d ranks by %s layers" % (N_RANKS, f"{N_CALLS:,}".encode()))
    program.read_quiet(0.5)
    moves = [frames_after(program, key) for key in (b"k", b"l", b"j", b"k")]
    assert max(sum(frames) for frames, _ in moves) <= PAGE_BYTES, moves
    assert min(cpu_s for _, cpu_s in moves) <= KEY_WITH_PAGE_S
    assert program.peak_bytes() <= (120 << 20) + COLUMNS_BYTES
    program.send(b"q")
    program.read_until(rb"of 160,000")
