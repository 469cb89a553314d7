"""What the program may cost: processor time, bytes on the line, silence. At 120 x 40, on the demo, for the
overflow pane on a random job of four ranks, for the memory pane on a log of 300 sites beside their source,
for the performance pane on 300 types of operators.

Processor time is of the program alone (the kernel's count), the best of a few runs, since other work on the
machine evicts its caches; SLACK is for that noise only. Bytes are exact and have no slack.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..core.overflow.random_job import make_job
from ..tui.panes.captures import write_pair
from ..tui.panes.memory_runs import checked, illegal_write, write_log, write_sources
from ..tui.panes.performance_runs import write_kinds
from .pty_screen import FRAME_START, REPO, PtyProgram, plain_environ

pytestmark = [
    pytest.mark.budget,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cost is read from /proc"),
]

SLACK = 1.25
N_RUNS, N_FRAMEWORK_RUNS = 4, 2
NPULSE = (sys.executable, "-m", "npulse")
DETAIL = rb"difference begins here"
OVERFLOW_DETAIL = rb"begins here"
MEMORY_DETAIL = rb"lies outside"
PERFORMANCE_DETAIL = rb"bound_ratio"
DOWN, UP, PAGE_DOWN = b"\x1b[B", b"\x1b[A", b"\x1b[6~"
FIRST_PAINT_S, HELP_S, ROW_WITH_DETAIL_S = 0.450, 0.150, 0.040
FIRST_PAINT_RATIO = 2.2
"""Of the cost of loading the framework without anything of ours."""
KEPT_RATIO = 2.5
"""Of the cost of loading the framework and numpy: what was kept is read and drawn, nothing is computed."""
SETTLED_AT_ONCE = """
import npulse.core.run.stamp as stamp
stamp.FRESH_NS = stamp.RACY_NS = -(10**10)  # files of this test are young
from npulse.tui.cli import main
main()
"""
ROW_BYTES, DETAIL_BYTES, PAGE_BYTES, START_BYTES = 500, 3_000, 8_000, 45_000
QUIET_S = 0.6  # longer than the pause before the detail and what it takes to make it


def program_of(*arguments: str, **words: str) -> PtyProgram:
    return PtyProgram((*NPULSE, *arguments), plain_environ(LANG="C.UTF-8", **words), columns=120, rows=40)


def demo(**words: str) -> PtyProgram:
    return program_of("demo", **words)


@pytest.mark.alone
def test_first_paint() -> None:
    """Up to the moment at which the tab bar is on the line; in turn with loading the framework alone."""
    costs, frameworks = [], []
    for _ in range(N_RUNS):
        with demo() as program:
            program.read_until(rb"7 Rounds")
            costs.append(program.cpu_s())
        if len(frameworks) < N_FRAMEWORK_RUNS:
            frameworks.append(cpu_of(sys.executable, "-c", "import textual.app"))
    assert min(costs) <= FIRST_PAINT_S * SLACK, costs
    assert min(costs) <= FIRST_PAINT_RATIO * min(frameworks), (costs, frameworks)


@pytest.mark.alone
def test_kept_results_stand_soon(tmp_path: Path) -> None:
    """Up to the moment at which all of a run that was opened before is on the line: rows, detail, when it was
    kept. In turn with loading the framework and numpy, which rows need."""
    write_pair(tmp_path / "run")
    argv = (sys.executable, "-c", SETTLED_AT_ONCE, "open", str(tmp_path / "run"))
    environ = plain_environ(LANG="C.UTF-8", NPULSE_CACHE_DIR=str(tmp_path / "cache"))
    with PtyProgram(argv, environ, columns=120, rows=40) as program:
        program.read_until(DETAIL)
        assert b"files unchanged" not in program.output
        until_kept(tmp_path / "cache")
    costs, frameworks = [], []
    for _ in range(N_RUNS):
        with PtyProgram(argv, environ, columns=120, rows=40) as program:
            while b"files unchanged" not in program.output or not re.search(DETAIL, program.output):
                assert program.read_for(0.01) or program.process.poll() is None
            costs.append(program.cpu_s())
        frameworks.append(cpu_of(sys.executable, "-c", "import textual.app, numpy"))
        if costs[-1] <= KEPT_RATIO * min(frameworks):
            break
    assert min(costs) <= KEPT_RATIO * min(frameworks), (costs, frameworks)


def until_kept(cache: Path, timeout_s: float = 30.0) -> None:
    """What panes show is kept behind what they show."""
    deadline = time.monotonic() + timeout_s
    while not list(cache.glob("npulse-view-*.npz")):
        assert time.monotonic() < deadline, "nothing was kept"
        time.sleep(0.02)


def cpu_of(*words: str) -> float:
    """Processor seconds of a program from its start to its end."""
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help() -> None:
    costs = [cpu_of(*NPULSE, "--help") for _ in range(N_RUNS)]
    assert min(costs) <= HELP_S * SLACK, costs


@pytest.fixture(scope="module", params=["precision", "overflow", "memory", "performance"])
def settled(
    request: pytest.FixtureRequest, _state_root: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[PtyProgram, int]]:
    """A pane once everything stands, and the bytes that this took; in full colour, which costs most."""
    if request.param == "precision":
        with demo(COLORTERM="truecolor") as program:
            program.read_until(DETAIL)
            program.read_quiet(QUIET_S)
            yield program, len(program.output)
        return
    if request.param == "memory":
        folder = tmp_path_factory.mktemp("log")
        writes = "".join(illegal_write(core=line % 48, line=line) for line in range(41, 341))
        run = write_log(folder / "run", checked(writes))
        words = ("open", str(run), "--pane", "memory", "--source-root", str(write_sources(folder / "src")))
        with program_of(*words, COLORTERM="truecolor") as program:
            program.read_until(MEMORY_DETAIL)
            program.read_quiet(QUIET_S)
            yield program, len(program.output)
        return
    if request.param == "performance":
        run = write_kinds(tmp_path_factory.mktemp("profile"), n_kinds=300)
        with program_of("open", str(run), "--pane", "performance", COLORTERM="truecolor") as program:
            program.read_until(PERFORMANCE_DETAIL)
            program.read_quiet(QUIET_S)
            yield program, len(program.output)
        return
    run = make_job(7, fault="overflow", level="mix").write(tmp_path_factory.mktemp("job"))
    with program_of("open", str(run), "--pane", "overflow", COLORTERM="truecolor") as program:
        program.read_until(OVERFLOW_DETAIL)
        program.read_quiet(QUIET_S)
        n_bytes = len(program.output)
        program.send(b"wgjjj")  # all rows, the first ones of which are healthy
        program.read_quiet(QUIET_S)
        yield program, n_bytes


def frames_after(program: PtyProgram, key: bytes) -> list[int]:
    """Sizes of the frames that a key brings, in their order."""
    start = len(program.output)
    program.send(key)
    program.read_until(re.escape(FRAME_START))
    program.read_quiet(QUIET_S)
    return [len(frame) for frame in program.output[start:].split(FRAME_START)[1:]]


def test_start(settled: tuple[PtyProgram, int]) -> None:
    assert settled[1] <= START_BYTES


def test_row_down(settled: tuple[PtyProgram, int]) -> None:
    """Table and cursor in the first frame; strip and detail after their pause."""
    program, _ = settled
    cpu_before = program.cpu_s()
    costs = [frames_after(program, key) for key in (DOWN, DOWN, DOWN, DOWN, UP, DOWN)]
    cpu_s = (program.cpu_s() - cpu_before) / len(costs)
    assert max(frames[0] for frames in costs) <= ROW_BYTES, costs
    assert max(sum(frames[1:]) for frames in costs) <= DETAIL_BYTES, costs
    assert min(sum(frames[1:]) for frames in costs) > 0, "the detail has followed"
    assert cpu_s <= ROW_WITH_DETAIL_S * SLACK


def test_held_key_makes_no_details_on_the_way(settled: tuple[PtyProgram, int]) -> None:
    program, _ = settled
    frames = frames_after(program, DOWN * 10)
    assert sum(frames) <= 10 * ROW_BYTES + DETAIL_BYTES, frames


def test_page_down(settled: tuple[PtyProgram, int]) -> None:
    program, _ = settled
    costs = [frames_after(program, PAGE_DOWN) for _ in range(3)]
    assert max(frames[0] for frames in costs) <= PAGE_BYTES, costs
    assert max(sum(frames[1:]) for frames in costs) <= DETAIL_BYTES, costs


def test_idle_is_silent(settled: tuple[PtyProgram, int]) -> None:
    program, _ = settled
    program.read_quiet(QUIET_S)
    cpu_before = program.cpu_s()
    assert program.read_for(3.0) == b""
    assert program.cpu_s() - cpu_before <= 0.1
