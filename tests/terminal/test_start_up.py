"""What is loaded before the first screen stands, and by commands that draw nothing.

A library that is loaded a moment too early costs every start, and the text of a module does not show what its
imports bring along: so the list is taken from the running program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .pty_screen import REPO, PtyProgram, plain_environ

FIRST_SCREEN = """
import sys
from textual.drivers.linux_driver import LinuxDriver
from npulse.tui.cli import main

write, told = LinuxDriver.write, sys.argv.pop(1)

def write_and_tell(driver, text):
    if "7 Rounds" in text:  # the tab bar: the first screen
        LinuxDriver.write = write
        with open(told, "w") as file:
            file.write("\\n".join(sys.modules))
    write(driver, text)

LinuxDriver.write = write_and_tell
main()
"""
CORE_AT_FIRST = {
    *("areas", "errors", "files", "findings", "progress", "rules", "text"),
    "cache",  # where results are kept is said to the workbench when it starts
    "dataclass",  # what its records are made by: loading the library's way costs each of them more
    "scale",  # one thread for BLAS has to be said before numpy is loaded
}
"""Modules of the core that the first screen needs. A run is opened, and an area loaded, once it stands."""
TUI_AT_FIRST = {
    *("actions", "app", "chrome", "clipboard", "crash", "frames", "glyphs", "keymap", "live", "messages"),
    *("panes", "recording", "screens", "shell", "state", "terminal", "themes", "cli"),
}
PANES_AT_FIRST = {"npulse.tui.panes", "npulse.tui.panes.base"}
"""Each pane is loaded when it is visited."""
NEVER_BEFORE = {
    "numpy": "80 ms of CPU time; no pane has rows yet",
    "pandas": "350 ms; needed for exports alone",
    "pyarrow": "170 ms and 50 MB",
    "polars": "190 ms",
    "numba": "compiles; where the extra is installed, for one kernel",
    "llvmlite": "comes with numba",
    "distributed": "a cluster's client; asks for threads and ports",
    "dask": "comes with distributed",
    "torch": "seconds; npulse never needs it",
    "yaml": "read where a file of that form is met",
    "sqlite3": "databases of profiles are opened later",
    "multiprocessing": "workers start with the first large comparison",
    "xml": "pages and workbooks of reports",
    "http": "the served workbench alone",
    "aiohttp": "the served workbench alone",
    "openpyxl": "workbooks alone",
}
NEEDED_IN_A_PIPE = ("numpy", "sqlite3", "xml", "multiprocessing")
"""All areas are asked there; the last one is the door to workers, of which a small run starts none."""
NEVER_IN_A_PIPE = {
    **{name: why for name, why in NEVER_BEFORE.items() if name not in NEEDED_IN_A_PIPE},
    "textual": "200 ms; nothing is drawn",
    "rich": "comes with textual",
    "asyncio": "nothing is drawn",
}


@pytest.fixture(scope="module")
def at_first(_state_root: object, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if not sys.platform.startswith("linux"):
        pytest.skip("a program in a pseudo terminal")
    told = tmp_path_factory.mktemp("start") / "modules.txt"
    argv = (sys.executable, "-c", FIRST_SCREEN, str(told), "demo")
    with PtyProgram(argv, plain_environ(LANG="C.UTF-8"), columns=120, rows=40) as program:
        program.read_until(rb"7 Rounds")
    return told.read_text("utf-8").split("\n")


def tops(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_first_screen_stands_before_anything_heavy_is_loaded(at_first: list[str]) -> None:
    assert "textual" in tops(at_first), "the list is of the program that draws"
    too_early = {name: NEVER_BEFORE[name] for name in sorted(tops(at_first) & set(NEVER_BEFORE))}
    assert too_early == {}


def test_the_first_screen_loads_no_area_and_no_pane(at_first: list[str]) -> None:
    ours = [name for name in at_first if name.startswith("npulse.")]
    core = {name.split(".")[2] for name in ours if name.startswith("npulse.core.")}
    assert core - CORE_AT_FIRST == set(), (
        "load it where it is needed, or say here why every start pays for it"
    )
    tui = {name.split(".")[2] for name in ours if name.startswith("npulse.tui.")}
    assert tui - TUI_AT_FIRST == set()
    assert {name for name in ours if name.startswith("npulse.tui.panes")} <= PANES_AT_FIRST
    assert not any(name.startswith("npulse.tui.widgets") for name in ours)


@pytest.mark.parametrize("command", ["check", "performance"])
def test_a_command_in_a_pipe_loads_no_workbench(command: str, tmp_path: Path) -> None:
    (tmp_path / "op_statistic_1.csv").write_text(
        "Device_id,OP Type,Core Type,Count,Total Time(us)\n0,MatMulV3,AI_CORE,2,15.5\n", "utf-8"
    )
    code = (
        "import sys; from npulse.tui.cli.main import run; run(sys.argv[1:]);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    words = [sys.executable, "-c", code, command, str(tmp_path)]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "npulse" in loaded and command in done.stdout
    assert {name: NEVER_IN_A_PIPE[name] for name in sorted(loaded & set(NEVER_IN_A_PIPE))} == {}


def test_a_comparison_that_was_kept_is_shown_without_what_compares() -> None:
    code = "import sys, npulse.core.precision.table; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split())
    ours = "npulse.core.precision."
    assert ours + "comparison" in loaded
    what_compares = {ours + name for name in ("own.checks", "pairing.align", "reading.work", "blocks.kernel")}
    assert loaded & what_compares == set()
