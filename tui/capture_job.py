"""One capture that runs beside the workbench: a thread of its own, what it told so far, how it is stopped.

No widget in sight: a page looks at it four times a second, and the end is told by one call.
"""

from __future__ import annotations

import shlex
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Literal

from npulse.core.capture.driver import Progress
from npulse.core.capture.drivers import driver_of
from npulse.core.capture.events import (
    Event,
    OnEvent,
    Output,
    RoundClosed,
    RoundOpened,
    RoundResult,
    Running,
    Started,
    Stopping,
)
from npulse.core.capture.request import CaptureRequest
from npulse.core.capture.stop import StopRequests
from npulse.core.text import safe_text

MAX_LINES = 2_000
MAX_LINE = 500
Phase = Literal["starting", "running", "stopping", "finishing", "ended"]
RunCapture = Callable[[CaptureRequest, bool, OnEvent, StopRequests], object]


@dataclass(frozen=True, slots=True)
class JobState:
    """How a capture stands. folder: of the round of the moment. progress: None before the first count.

    rungs: what was sent to the tool, in order. n_lines: of the log, those that were let go too. results: of
    the attempts that are over. error: why it could not go on.
    """

    phase: Phase = "starting"
    folder: Path | None = None
    attempt: int = 1
    attempts: int = 1
    progress: Progress | None = None
    reason: str = ""
    rungs: tuple[str, ...] = ()
    n_asked: int = 0
    n_lines: int = 0
    results: tuple[RoundResult, ...] = ()
    error: BaseException | None = None
    began_s: float = 0.0
    ended_s: float | None = None

    @property
    def result(self) -> RoundResult | None:
        """The last attempt that is over."""
        return self.results[-1] if self.results else None


class CaptureJob:
    """A capture in its thread. `state` is replaced as a whole; read it from any thread."""

    def __init__(
        self,
        request: CaptureRequest,
        *,
        forced: bool = False,
        run: RunCapture | None = None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self.request = request
        self.stop = StopRequests()
        self._forced = forced
        self._run = run or run_session
        self._on_end = on_end
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self.state = JobState(attempts=max(1, request.repeat), began_s=monotonic())
        self._thread = threading.Thread(
            target=self._work, name="capture"
        )  # never a daemon: rounds are closed

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self.state.phase != "ended"

    @property
    def what(self) -> str:
        """The command that is captured, the process that a tool attaches to, or the model that it runs."""
        asked = self.request
        if asked.command or asked.pid is None:
            return shlex.join(asked.command) or asked.model or ""
        return f"pid {asked.pid}"

    def lines(self) -> tuple[str, ...]:
        """The end of the log, as many lines as are kept."""
        with self._lock:
            return tuple(self._lines)

    def ask_stop(self, reason: str = "user") -> int:
        """Ask for the end; every further time one rung further. How often it was asked by now."""
        with self._lock:
            self.state = replace(self.state, n_asked=self.state.n_asked + 1)
        self.stop.ask(reason)
        return self.state.n_asked

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the round to be closed; whether it is."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def elapsed_s(self) -> float:
        """Seconds since the start, to the end where there is one."""
        end_s = self.state.ended_s
        return (monotonic() if end_s is None else end_s) - self.state.began_s

    # ---- in its thread ----

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            self._run(self.request, self._forced, self._take, self.stop)
        except BaseException as caught:  # an edge of the program: nobody above would see it
            error = caught
        self._change(phase="ended", error=error, ended_s=monotonic())
        with suppress(RuntimeError):  # the workbench may be gone by now
            self._on_end()

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def _take(self, event: Event) -> None:
        if isinstance(event, Output):
            with self._lock:
                self._lines.extend(safe_text(line, MAX_LINE) for line in event.lines)
                self.state = replace(self.state, n_lines=self.state.n_lines + len(event.lines))
        elif isinstance(event, RoundOpened):
            self._change(folder=event.folder, attempt=event.attempt, attempts=event.attempts, progress=None)
        elif isinstance(event, Started):
            self._change(phase="finishing" if event.is_finish else "running")
        elif isinstance(event, Running):
            self._change(progress=event.progress)
        elif isinstance(event, Stopping):
            rungs = (*self.state.rungs, event.rung.sent)
            self._change(phase="stopping", reason=event.reason, rungs=rungs)
        elif isinstance(event, RoundClosed):
            self._change(results=(*self.state.results, event.result))


def run_session(request: CaptureRequest, forced: bool, on_event: OnEvent, stop: StopRequests) -> object:
    """The core's session with the driver that the request names."""
    from npulse.core.capture.session import capture

    driver = driver_of(request.kind, request.tool)
    return capture(request, driver, on_event=on_event, stop=stop, is_forced=forced)
