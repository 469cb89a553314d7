"""One tool started, watched and ended with all that it has started; what it printed, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import EnvironmentLacks

from .console import Console
from .driver import Ended, Plan, StopStep
from .processes import MARKER, Family, Process, adopting, process_of, send
from .stop import StopRequests

LOOK_S = 0.1
"""How often it is looked whether the tool has ended; wishes to stop are heard at once."""
WATCH_S = 1.0
"""How often `watch` is asked and the family counted, at most; both are paced by what they cost."""
MAX_SHARE = 0.05
"""Of one processor, for watching."""

KILL = StopStep(signal.SIGKILL, 5.0)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for processes that outlive their tool: until SIGTERM, until SIGKILL, and then to vanish."""

    leave_s: float = 2.0
    terminate_s: float = 3.0
    kill_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the ladder as it went. sent: the signal's name or the line. at_s: seconds since the start.
    has_ended: whether the tool ended on it."""

    sent: str
    at_s: float
    has_ended: bool


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A process that outlived its tool. ended_by: "" (itself), SIGTERM, SIGKILL, or "nothing": it lives."""

    pid: int
    name: str
    ended_by: str


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What became of one command."""

    ended: Ended
    duration_s: float
    rungs: tuple[Rung, ...]
    left_over: tuple[LeftOver, ...]
    n_console_bytes: int
    n_console_dropped_bytes: int
    is_disk_full: bool
    """The disk refused what the tool printed."""


def full_environment(
    base: Mapping[str, str], plan: Mapping[str, str | None], round_id: str
) -> dict[str, str]:
    """The program's environment with the plan's on top, and the marker of the round."""
    merged = {**base, **{name: value for name, value in plan.items() if value is not None}}
    for name, value in plan.items():
        if value is None:
            merged.pop(name, None)
    merged.setdefault("PYTHONUNBUFFERED", "1")  # a killed program's last lines are what one wants to read
    return {**merged, MARKER: round_id}


def full_ladder(stop: Sequence[StopStep]) -> tuple[StopStep, ...]:
    """The ladder with SIGKILL at its end."""
    has_kill = any(step.send == signal.SIGKILL for step in stop)
    return tuple(stop) if has_kill else (*stop, KILL)


def sent_text(step: StopStep) -> str:
    """SIGINT, or the line in quotes."""
    return step.send.name if isinstance(step.send, signal.Signals) else f'"{step.send}"'


class ToolProcess:
    """A started plan. Made by `run_plan`; `send_line` is for switches while it runs."""

    def __init__(self, plan: Plan, cwd: Path, environment: Mapping[str, str], console: Console) -> None:
        is_spoken_to = bool(plan.first_lines) or any(isinstance(step.send, str) for step in plan.stop)
        try:
            self._popen = subprocess.Popen(
                plan.argv,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE if is_spoken_to else subprocess.DEVNULL,
                stdout=console.write_end,
                stderr=console.write_end,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise EnvironmentLacks(f"cannot be started: {reason}", path=plan.argv[0]) from error
        self.pid = self._popen.pid
        self.started_s = time.monotonic()
        found = process_of(self.pid)
        self.start_ticks = found.start_ticks if found is not None else 0
        console.start()

    def send_line(self, line: str) -> bool:
        """A line on its standard input; whether it could be given."""
        pipe = self._popen.stdin
        if pipe is None or pipe.closed:
            return False
        try:
            pipe.write(line.encode() + b"\n")
            pipe.flush()
        except OSError:
            return False
        return True

    def has_ended(self) -> bool:
        """Seen without taking it away: until then its number, and its group's, belong to nobody else."""
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        except ChildProcessError:
            return True

    def signal_group(self, number: signal.Signals) -> None:
        with suppress(OSError):
            os.killpg(self.pid, number)
            if number != signal.SIGKILL:
                os.killpg(self.pid, signal.SIGCONT)  # a stopped one would hear it never

    def take_away(self) -> int | None:
        """Its return code as subprocess tells it; None where even SIGKILL did not end it."""
        if self._popen.stdin is not None:
            with suppress(OSError):
                self._popen.stdin.close()
        return self._popen.poll()


Watch = Callable[[ToolProcess], str]
"""Asked once a second while the tool runs; a reason to end it, or ""."""


def run_plan(
    plan: Plan,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    round_id: str,
    console: Console,
    on_started: Callable[[ToolProcess], None],
    watch: Watch,
    on_rung: Callable[[str, Rung], None],
    before_close: Callable[[], None],
    stop: StopRequests,
    n_heard: int = 0,
    timeout_s: float | None = None,
    spared: frozenset[int] = frozenset(),
    patience: Patience = Patience(),  # noqa: B008 (frozen)
) -> ToolRun:
    """Start a plan, wait for its end, and leave nothing of it behind. on_rung: (reason, rung) as it is sent.

    environment: complete, marker included. console: not started yet; closed at the end, after `before_close`.
    n_heard: wishes to stop that were meant for a command before this one.
    EnvironmentLacks where it cannot be started. Whatever else is raised by a callback ends the tool first.
    """
    with adopting():
        try:
            tool = ToolProcess(plan, cwd, environment, console)
        except EnvironmentLacks:
            console.close()
            raise
        family = Family(tool.pid, round_id, spared)
        supervisor = _Supervisor(tool, family, plan, stop, n_heard, on_rung, timeout_s)
        try:
            on_started(tool)
            for line in plan.first_lines:
                tool.send_line(line)
            supervisor.wait(watch)
        except BaseException:
            supervisor.reason = supervisor.reason or "npulse"
            supervisor.climb_down()
            raise
        finally:
            left_over = _end_left_over(family, tool, stop, patience)
            returned = tool.take_away()
            before_close()
            console.close()
    return ToolRun(
        Ended(
            exit_status=returned if returned is not None and returned >= 0 else None,
            signal=-returned if returned is not None and returned < 0 else None,
            stopped_by=supervisor.reason,
            is_killed=any(rung.sent == "SIGKILL" for rung in supervisor.rungs),
            console=console.path,
        ),
        time.monotonic() - tool.started_s,
        tuple(supervisor.rungs),
        left_over,
        console.n_bytes,
        console.n_dropped_bytes,
        console.is_refused,
    )


class _Supervisor:
    """Waits for the end, or brings it about."""

    def __init__(
        self,
        tool: ToolProcess,
        family: Family,
        plan: Plan,
        stop: StopRequests,
        n_heard: int,
        on_rung: Callable[[str, Rung], None],
        timeout_s: float | None,
    ) -> None:
        self.reason = ""
        self.rungs: list[Rung] = []
        self._tool = tool
        self._family = family
        self._ladder = full_ladder(plan.stop)
        self._stop = stop
        self._n_heard = n_heard
        self._on_rung = on_rung
        self._timeout_s = timeout_s

    def wait(self, watch: Watch) -> None:
        next_watch_s = 0.0
        while not self._tool.has_ended():
            age_s = time.monotonic() - self._tool.started_s
            if self._n_asked():
                self.reason = self._stop.reason
            elif self._timeout_s is not None and age_s >= self._timeout_s:
                self.reason = "timeout"
            elif age_s >= next_watch_s:
                began_s = time.monotonic()
                self._family.living()
                self._family.reap()
                self.reason = watch(self._tool)
                cost_s = time.monotonic() - began_s
                next_watch_s = age_s + max(WATCH_S, cost_s / MAX_SHARE)
            if self.reason:
                self.climb_down()
                return
            self._stop.wait(LOOK_S)

    def climb_down(self) -> None:
        """The ladder, rung after rung, until the tool has ended; a further wish to stop skips a wait."""
        n_before = min(1, self._n_asked())  # the one that began it
        for i, step in enumerate(self._ladder):
            if self._tool.has_ended():
                return
            at_s = time.monotonic() - self._tool.started_s
            self._on_rung(self.reason, Rung(sent_text(step), at_s, False))
            is_sent = self._send(step)
            deadline_s = time.monotonic() + (step.wait_s if is_sent else 0.0)
            while time.monotonic() < deadline_s and not self._tool.has_ended():
                if self._n_asked() - n_before > i and step.send != signal.SIGKILL:
                    break
                self._stop.wait(min(LOOK_S, max(0.0, deadline_s - time.monotonic())))
            self.rungs.append(Rung(sent_text(step), at_s, self._tool.has_ended()))

    def _n_asked(self) -> int:
        return self._stop.n_asked - self._n_heard

    def _send(self, step: StopStep) -> bool:
        if isinstance(step.send, str):
            return self._tool.send_line(step.send)
        if step.send == signal.SIGKILL:
            for process in self._family.living():
                send(process, step.send)
        self._tool.signal_group(step.send)
        return True


def _end_left_over(
    family: Family, tool: ToolProcess, stop: StopRequests, patience: Patience
) -> tuple[LeftOver, ...]:
    """End what outlives the tool: time to leave, SIGTERM, SIGKILL. What cannot be ended is said."""

    def others() -> list[Process]:
        family.reap()
        return [process for process in family.living() if process.pid != tool.pid or not tool.has_ended()]

    def wait(seconds: float) -> list[Process]:
        deadline_s = time.monotonic() + seconds
        n_asked = stop.n_asked
        while (left := others()) and time.monotonic() < deadline_s and stop.n_asked == n_asked:
            stop.wait(LOOK_S)
        return left

    seen = {process.key: process for process in others()}
    ended_by: dict[tuple[int, int], str] = dict.fromkeys(seen, "")
    left = wait(patience.leave_s) if seen else []
    for number, seconds in (
        (signal.SIGTERM, patience.terminate_s),
        (signal.SIGKILL, patience.kill_s),
    ):
        for process in left:
            seen[process.key] = process
            send(process, number)
            ended_by[process.key] = number.name
        left = wait(seconds) if left else []
    for process in left:
        seen[process.key] = process
        ended_by[process.key] = "nothing"
    family.reap()
    return tuple(LeftOver(p.pid, p.name, ended_by[key]) for key, p in seen.items())
