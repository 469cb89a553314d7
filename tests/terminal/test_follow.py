"""A run that a process writes is followed in a real terminal: bytes, frames, silence, how soon it shows."""

from __future__ import annotations

import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from .pty_screen import FRAME_START, PtyProgram, plain_environ
from .test_workbench import Tmux, has, tmux  # noqa: F401  (a fixture)

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pseudo terminals as Linux has them"),
]

WRITER = Path(__file__).with_name("live_writer.py")
FILES = {
    "op_summary": "PROF_000001_20260101000000000_ABCDEFGH/mindstudio_profiler_output/op_summary_20260101.csv",
    "sanitizer": "check.log",
}
PANES = {"op_summary": "performance", "sanitizer": "memory"}
BYTES_A_RECORD, FRAMES_A_SECOND, TO_SCREEN_S, IDLE_S = 2_000, 4, 1.0, 2.0
SETTLE_S = 9.0  # behind the last write: marks end after 3 s, a run is quiet after 5 s
KEPT = {"NPULSE_NO_BELL": "1"}


class Writer:
    """The process that writes; `records` are the moments at which it wrote."""

    def __init__(self, run: Path, kind: str, n_first: int, n_more: int, rate: float) -> None:
        words = (str(run / FILES[kind]), kind, str(n_first), str(n_more), str(rate))
        self._process = subprocess.Popen(
            (sys.executable, str(WRITER), *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None and self._process.stdin is not None
        self._out, self._in = self._process.stdout, self._process.stdin
        assert self._out.readline() == "written\n"

    def go(self) -> None:
        self._in.write("go\n")
        self._in.flush()

    def written(self, n: int) -> list[float]:
        """When each of the next `n` records was written; waits for them."""
        assert select.select([self._out], [], [], 60)[0]
        return [float(self._out.readline()) for _ in range(n)]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def followed(
    run: Path, kind: str, *, n_first: int, n_more: int, rate: float, size: tuple[int, int] = (80, 24)
) -> Iterator[tuple[PtyProgram, Writer]]:
    """The pane on a run that is being written, following, once nothing moves any more."""
    writer = Writer(run, kind, n_first, n_more, rate)
    words = ("open", str(run), "--follow", "--pane", PANES[kind], "--no-cache")
    try:
        with PtyProgram(
            (sys.executable, "-m", "npulse", *words), plain_environ(LANG="C.UTF-8", **KEPT), *size
        ) as program:
            program.read_until("LIVE ●".encode())
            program.read_quiet(1.5)
            yield program, writer
            program.send(b"q")
            assert program.wait() == 0
    finally:
        writer.end()


def one_by_one(run: Path, kind: str, size: tuple[int, int]) -> None:
    n = 12
    with followed(run, kind, n_first=60, n_more=n, rate=2.0, size=size) as (program, writer):
        start = len(program.output)
        writer.go()
        program.read_for(n / 2.0 + SETTLE_S)
        assert len(writer.written(n)) == n
        n_bytes = len(program.output) - start
        assert 0 < n_bytes <= n * BYTES_A_RECORD, n_bytes
        assert b"quiet since" in program.output[start:], "the writer still holds its file"
        assert program.read_for(IDLE_S) == b""


def test_records_one_by_one_cost_few_bytes_and_silence_nothing(tmp_path: Path) -> None:
    """Each in a terminal of its own, all at once: nearly all of it is waiting."""
    each = [(kind, size) for kind in FILES for size in ((80, 24), (120, 40))]
    with ThreadPoolExecutor(len(each)) as pool:
        done = [pool.submit(one_by_one, tmp_path / str(number), *words) for number, words in enumerate(each)]
    for one in done:
        one.result()


@pytest.mark.parametrize("kind", ["op_summary", "sanitizer"])
def test_two_hundred_records_a_second_are_four_frames_and_few_bytes(tmp_path: Path, kind: str) -> None:
    n, rate = 1000, 200.0
    with followed(tmp_path / "run", kind, n_first=40, n_more=n, rate=rate, size=(120, 40)) as (
        program,
        writer,
    ):
        start = len(program.output)
        writer.go()
        program.read_for(n / rate)
        frames = program.output[start:].count(FRAME_START)
        assert n / rate < frames <= n / rate * FRAMES_A_SECOND + 2, "rows, and the cursor's first detail"
        assert len(program.output) - start <= n * BYTES_A_RECORD / 10


@pytest.mark.parametrize("kind", ["op_summary", "sanitizer"])
def test_two_hundred_records_a_second_are_on_the_screen_within_one(
    tmp_path: Path,
    kind: str,
    tmux: Callable[..., Tmux],  # noqa: F811
) -> None:
    """What is new is a row of its own; of both kinds every second has several of them."""
    n, rate, n_first = 1000, 200.0, 40
    run = tmp_path / "run"
    writer = Writer(run, kind, n_first, n, rate)
    try:
        words = ("open", str(run), "--follow", "--pane", PANES[kind], "--no-cache", "--no-bell")
        window = tmux(*words, columns=120, rows=40)
        window.still(has("LIVE", "following"))
        pattern = {"op_summary": r"Kind(\d{5}) ", "sanitizer": r" (\d+) sites"}[kind]
        seen: dict[int, float] = {}
        writer.go()
        began_s = time.monotonic()
        while time.monotonic() - began_s < n / rate + TO_SCREEN_S:
            lines = window.screen()
            now_s = time.monotonic()
            for found in re.finditer(pattern, "\n".join(lines)):
                seen.setdefault(int(found[1]), now_s)
        at = writer.written(n)
    finally:
        writer.end()
    lags = []
    for number, seen_s in seen.items():
        # of a type the record that brings it; of sites the first report of the last one that is counted
        record = number - n_first if kind == "op_summary" else (number - 1) * 10 - n_first
        if 0 <= record < n:
            lags.append(seen_s - at[record])
    assert len(lags) >= 8, seen
    assert max(lags) <= TO_SCREEN_S, lags


def test_following_ends_with_the_program_and_leaves_nothing_in_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with followed(run, "sanitizer", n_first=5, n_more=5, rate=50.0) as (program, writer):
        writer.go()
        program.read_until(rb"following")
        program.send(b"F")
        program.read_until(rb"Not following")
    assert [path.name for path in run.iterdir()] == ["check.log"]
