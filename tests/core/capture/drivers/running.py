"""What drivers plan, done for tests: files written, the tool started (a double or a real one), console kept.

The way of `session.py` in small, so that a driver's test says nothing of the session.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.capture.driver import RAW, Driver, Ended, Plan
from npulse.core.capture.request import CaptureRequest, Kind

DOUBLES = Path(__file__).resolve().parents[3] / "doubles"
AT_WORK = "at work"
WORKS_ON = (sys.executable, "-c", f"import signal; print({AT_WORK!r}, flush=True); signal.pause()")
"""A program that works until somebody ends it."""


def program(text: str = "pass") -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def ask(
    kind: Kind,
    folder: Path,
    command: Sequence[str] = (),
    *,
    scenario: str = "",
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> CaptureRequest:
    """A request in an environment of its own, with the doubles first on PATH."""
    cwd = folder / "work"
    cwd.mkdir(exist_ok=True)
    own = {
        "PATH": f"{DOUBLES}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(cwd),
        "LC_ALL": "C",
        **({"NPULSE_DOUBLE": scenario} if scenario else {}),
        **(environment or {}),
    }
    command = tuple(command)
    return CaptureRequest(kind, command, cwd, folder / "diag", environment=own, **more)


def run(
    driver: Driver,
    request: CaptureRequest,
    round_folder: Path,
    *,
    until: str = "",
    stop: Sequence[signal.Signals | str] = (),
    stopped_by: str = "",
) -> Ended:
    """The plan of a driver, done. until: the line behind which `stop` is sent: signals, or lines."""
    plan = driver.plan(request, round_folder)
    (round_folder / RAW).mkdir(parents=True, exist_ok=True)
    return do(plan, request, round_folder, "console.log", until=until, stop=stop, stopped_by=stopped_by)


def finish(driver: Driver, request: CaptureRequest, round_folder: Path, ended: Ended) -> Ended | None:
    """The second command of a driver, done; None where it wants none."""
    plan = driver.finish(request, round_folder, ended)
    return None if plan is None else do(plan, request, round_folder, "finish.log")


def do(
    plan: Plan,
    request: CaptureRequest,
    round_folder: Path,
    log: str,
    *,
    until: str = "",
    stop: Sequence[signal.Signals | str] = (),
    stopped_by: str = "",
) -> Ended:
    for file in plan.files:
        path = round_folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    environment = dict(request.environment)
    for name, value in plan.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    asks = bool(plan.first_lines) or any(isinstance(step.send, str) for step in plan.stop)
    console = round_folder / log
    with (
        console.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            plan.argv,
            stdin=subprocess.PIPE if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=request.cwd,
            env=environment,
            start_new_session=True,
        ) as tool,
    ):
        assert tool.stdout is not None
        for line in plan.first_lines:
            _send(tool, line)
        waiting = list(stop)
        if waiting and not until:
            _send(tool, waiting.pop(0))
        for line in tool.stdout:
            kept.write(line)
            kept.flush()
            if waiting and until in line:
                while waiting:
                    _send(tool, waiting.pop(0))
        code = tool.wait()
    is_killed = signal.SIGKILL in stop
    return Ended(code if code >= 0 else None, -code if code < 0 else None, stopped_by, is_killed, console)


def _send(tool: subprocess.Popen[str], one: signal.Signals | str) -> None:
    if isinstance(one, signal.Signals):
        os.killpg(tool.pid, one)
        return
    assert tool.stdin is not None
    tool.stdin.write(one + "\n")
    tool.stdin.flush()
