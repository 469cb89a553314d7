"""Performance by msprof --dynamic: recording on and off while a program runs, started here or attached to."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Figures, Finding

from ..base import BaseDriver
from ..driver import RAW, Ended, Plan, PlannedFile, Recorded, SizeBasis, StopStep, Words
from ..request import CaptureRequest, Kind
from ..rules_tools import finding
from . import parts
from .msprof import (
    PROGRAM,
    MsProf,
    check_options,
    collected_options,
    console_warnings,
    export_plan,
    nothing_words,
    wait_of,
)
from .sessions import figures_of, look_at_sessions, recorded_of
from .size_estimates import SESSION_TOOLS, of_sessions
from .texts_performance import MSPROF as TEXTS

MAX_LINES = 100
"""start and stop together, as the tool counts them."""

CONSOLE = "console.log"
"""What the tool printed, in its round."""

_MAX_ENVIRONMENT_BYTES = 1 << 20
_REPLY = re.compile(r"dynamic profiling for pid \d+ (?:st|already)")
_START = re.compile(r"dynamic profiling for pid \d+ start success")
_STOP = re.compile(r"dynamic profiling for pid \d+ stop success")


class MsProfDynamic(BaseDriver):
    """msprof --dynamic=on --output=raw PROGRAM, or --pid=N; the lines start, stop and quit on its input."""

    id = "msprof-dynamic"
    kind: Kind = "performance"
    title: Words = (
        "msprof --dynamic: on and off while a program runs, or attached",
        "msprof --dynamic：运行中开关，或附着到进程",
    )
    tool = PROGRAM

    def check(self, request: CaptureRequest) -> None:
        if request.pid is None:
            MsProf().check(_without_paused(request))
            return
        if request.command:
            raise UsageError("a program to start and a process to attach to", hint="give one of them")
        if request.pid <= 1:
            raise UsageError(f"{request.pid} is no process to attach to")
        parts.refuse(request, PROGRAM, ("rank", "step", "names", "model"))
        check_options(_without_paused(request))

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        if request.pid is None:
            return ()
        mode = _profiling_mode(request.pid)
        if mode is None or mode == "dynamic":
            return ()
        return (finding(request, "capture.target-not-dynamic", str(request.pid)),)

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_sessions(request, SESSION_TOOLS).need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_sessions(request, SESSION_TOOLS).basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        settings, notes = collected_options(request)
        target = () if request.pid is None else (f"--pid={request.pid}",)
        argv = (
            PROGRAM,
            "--dynamic=on",
            *target,
            f"--output={round_folder / RAW}",
            *parts.options(settings),
            *request.extra,
            *request.command,
        )
        is_paused = parts.settings_of(request).get("paused") == "yes"
        notes.append(parts.words(TEXTS, "dynamic"))
        if request.pid is not None:
            notes.append(parts.words(TEXTS, "attach", pid=request.pid))
        stop = (
            StopStep("stop", 2.0),
            StopStep("quit", wait_of(request)),
            StopStep(signal.SIGTERM, 5.0),
            StopStep(signal.SIGKILL, 5.0),
        )
        lines = () if is_paused else ("start",)
        return Plan(argv, first_lines=lines, stop=stop, notes=tuple(notes))

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...] | tuple[str, ...]:
        answered = parts.console_lines(round_folder / CONSOLE)
        if sum(_REPLY.search(line) is not None for line in answered) >= MAX_LINES:
            raise UsageError(
                f"msprof takes {MAX_LINES} start and stop together, and has had them",
                hint="end this capture and begin another one",
            )
        return ("start" if is_on else "stop",)

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        return export_plan(look_at_sessions(round_folder / RAW), request)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        lines = parts.console_lines(ended.console)
        n_started = sum(_START.search(line) is not None for line in lines)
        n_stopped = sum(_STOP.search(line) is not None for line in lines)
        warnings = console_warnings(lines, round_folder, is_stopped=ended.stopped_by != "")
        nothing, step = nothing_words(ended, lines), parts.words(TEXTS, "nothing-step")
        if n_started > n_stopped:
            warnings.append(parts.words(TEXTS, "no-stop"))
        elif not n_started:
            said = parts.last_with(lines, "[ERROR]", "dynamic profiling for pid")
            nothing = parts.words(TEXTS, "no-start", said=f": {said}" if said else "")
            step = parts.words(TEXTS, "no-start-step")
        return recorded_of(
            look_at_sessions(round_folder / RAW),
            ended,
            nothing=nothing,
            nothing_step=step,
            warnings=warnings,
        )

    def figures(self, raw: Path) -> Figures:
        return figures_of(look_at_sessions(raw))


def _without_paused(request: CaptureRequest) -> CaptureRequest:
    """The request as msprof checks it. UsageError for another `paused` than yes and no."""
    if parts.settings_of(request).get("paused", "no") not in parts.YES_NO:
        raise UsageError("paused takes yes or no")
    settings = {k: v for k, v in request.settings.items() if k != "paused"}
    return replace(request, settings=settings)


def _profiling_mode(pid: int) -> str | None:
    """PROFILING_MODE of a process' environment at its start, "" without one; None where nobody can tell."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read(_MAX_ENVIRONMENT_BYTES)
    except OSError:
        return None
    for entry in text.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == b"PROFILING_MODE":
            return value.decode("utf-8", "replace")
    return ""
