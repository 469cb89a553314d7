"""A tool for captures that the tests play: it writes what its command prints, under its own rules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.core.capture.base import BaseDriver, count_files
from npulse.core.capture.driver import RAW, Ended, Plan, PlannedFile, Recorded, StopStep
from npulse.core.capture.request import CaptureRequest
from npulse.core.findings import Finding

TOOLS = ("double", "other")


class DoubleDriver(BaseDriver):
    """Runs the command as it is; what lies in `raw` is what was recorded."""

    id = "double"
    tool = "double"
    kind = "memory"
    title = ("a double", "替身")
    findings: tuple[Finding, ...] = ()
    stop: tuple[StopStep, ...] = ()

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        return self.findings

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        settings = {"DOUBLE_OUT": str(round_folder / RAW)}
        file = PlannedFile("double.json", f'{{"level": "{request.level}"}}\n')
        more = {"stop": self.stop} if self.stop else {}
        return Plan(request.command, settings, (file,), **more)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        n_files, size_bytes = count_files(round_folder / RAW)
        if n_files:
            return Recorded("recorded", n_files, size_bytes, ranks=(0,))
        why = ("the double wrote nothing", "替身未写入任何内容")
        return Recorded("nothing", 0, 0, why=why, next_step=("let it write", "让它写入"))


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> type[DoubleDriver]:
    """The double in place of every driver."""

    class Driver(DoubleDriver):
        pass

    monkeypatch.setattr("npulse.tui.capture_form.tools_of", lambda kind: TOOLS)
    for module in ("npulse.tui.screens.capture", "npulse.tui.capture_job"):
        monkeypatch.setattr(f"{module}.driver_of", lambda kind, tool: Driver())
    return Driver


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """A command line that runs these lines of Python."""

    def write(text: str) -> str:
        path = tmp_path / "a script.py"
        path.write_text(f"import os, signal, sys, time\n{text}\n")
        return f"{sys.executable} '{path}'"

    return write


RECORDS = """\
print("step 1", flush=True)
with open(os.path.join(os.environ["DOUBLE_OUT"], "log.txt"), "w") as file:
    file.write("x" * 100)
print("\\x1b[31mdone", flush=True)
"""
WAITS = """\
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("waits", flush=True)
time.sleep(60)
"""
