"""Whole rounds with the doubles: whatever a tool does, the round says the truth and nothing is left."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.drivers import driver_of
from npulse.core.capture.request import CaptureRequest
from npulse.core.formats.manifest import read_manifest

from .running import AT_WORK, DOUBLES, WORKS_ON, ask, program

session = pytest.importorskip("npulse.core.capture.session")
from npulse.core.capture import events  # noqa: E402
from npulse.core.capture.stop import StopRequests  # noqa: E402

OWN_PROCESSES = f"/proc/{os.getpid()}/task/{os.getpid()}/children"


def children() -> list[str]:
    return Path(OWN_PROCESSES).read_text().split()


def without_npu_smi(request: CaptureRequest) -> CaptureRequest:
    """The same where npu-smi is not found: to ask it is most of a short round's time."""
    folder = request.archive.parent / "tools"
    folder.mkdir(exist_ok=True)
    for path in DOUBLES.iterdir():
        if path.is_file() and path.name != "npu-smi":
            (folder / path.name).symlink_to(path)
    path = request.environment["PATH"].replace(str(DOUBLES), str(folder))
    return replace(request, environment={**request.environment, "PATH": path})


def captured(request: CaptureRequest, *, stop_at: str = "", n_stops: int = 1) -> Any:
    """The only round of a capture that is ended once its console has a word."""
    stop, before = StopRequests(), children()

    def on_event(event: Any) -> None:
        if stop_at and isinstance(event, events.Output) and any(stop_at in line for line in event.lines):
            for _ in range(n_stops):
                stop.ask("user")

    (result,) = session.capture(
        request, driver_of(request.kind, request.tool), on_event=on_event, stop=stop, is_forced=True
    )
    assert children() == before, "a process was left behind"
    assert sorted(os.listdir(request.cwd)) == ["train.py"] if (request.cwd / "train.py").exists() else True
    return result


@pytest.mark.parametrize(
    ("tool", "scenario", "outcome"),
    [
        ("mssanitizer", "clean", "recorded"),
        ("mssanitizer", "no-sign", "nothing"),
        ("msprof", "whole", "recorded"),
        ("msprof", "no-export", "recorded"),
        ("msprof", "export-fails", "incomplete"),
        ("msprof", "nothing", "nothing"),
        ("msopprof", "one", "recorded"),
        ("msopprof", "nothing", "nothing"),
    ],
)
def test_a_tool_that_ends_by_itself(tmp_path: Path, tool: str, scenario: str, outcome: str) -> None:
    kind: Any = "memory" if tool == "mssanitizer" else "performance"
    request = ask(kind, tmp_path, program(), scenario=scenario, tool=tool)
    has_cards = (tool, scenario) == ("msprof", "whole")
    result = captured(request if has_cards else without_npu_smi(request))
    device = read_manifest(result.folder / "round.toml")["device"]
    assert [device[when]["state"] for when in device] == (
        ["ok", "ok"] if has_cards else ["npu-smi missing"]
    ), "asked before and after"
    assert result.recorded.outcome == outcome
    assert 'state = "closed"' in (result.folder / "round.toml").read_text()


@pytest.mark.parametrize("tool", ["mssanitizer", "msprof", "msopprof"])
def test_a_tool_that_is_stopped(tmp_path: Path, tool: str) -> None:
    kind: Any = "memory" if tool == "mssanitizer" else "performance"
    result = captured(without_npu_smi(ask(kind, tmp_path, WORKS_ON, tool=tool)), stop_at=AT_WORK)
    assert result.ended.stopped_by == "user" and not result.ended.is_killed
    assert result.recorded.outcome == ("incomplete" if tool == "mssanitizer" else "recorded")


@pytest.mark.parametrize("tool", ["mssanitizer", "msprof", "msopprof"])
def test_a_tool_that_hangs(tmp_path: Path, tool: str) -> None:
    """Each wish to stop goes one rung on; the last one kills."""
    kind: Any = "memory" if tool == "mssanitizer" else "performance"
    request = without_npu_smi(ask(kind, tmp_path, WORKS_ON, scenario="hang", tool=tool))
    result = captured(request, stop_at=AT_WORK, n_stops=4)
    assert (result.ended.is_killed, result.ended.signal) == (True, signal.SIGKILL)
    assert result.recorded.outcome == "incomplete"


def test_a_rare_fault_ends_the_attempts(tmp_path: Path) -> None:
    """The tool exits with 0 at the attempt that finds it, as at all others."""
    for scenario, expected in (("fault", [True]), ("clean", [False, False])):
        folder = tmp_path / scenario
        folder.mkdir()
        request = ask("memory", folder, program(), scenario=scenario, tool="mssanitizer", repeat=2)
        request = without_npu_smi(request)
        results = session.capture(request, driver_of("memory", "mssanitizer"), is_forced=True)
        assert [result.recorded.is_failure for result in results] == expected
