"""One capture from the first look to the closed round; attempts until the fault shows itself.

No user interface: everything is told by events. Runs in any thread; signals are its caller's.
"""

from __future__ import annotations

import os
import shlex
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import npulse
from npulse.core.errors import Cancelled, EnvironmentLacks, InputError, NpulseError, UsageError
from npulse.core.findings import Finding

from . import archive, surroundings
from .console import Console
from .driver import RAW, Driver, Ended, Plan, Recorded, Words
from .events import (
    Checked,
    OnEvent,
    Output,
    RoundClosed,
    RoundOpened,
    RoundResult,
    Running,
    Started,
    Stopping,
    Switched,
    ignore_events,
)
from .hidden import command_without_secrets
from .inputs import keep_inputs, sha256_of
from .manifest import Manifest, ended_tables, plan_table, recorded_table, request_table, utc_text
from .preflight import preflight
from .process import Patience, Rung, ToolProcess, ToolRun, full_environment, run_plan
from .processes import boot_id, process_of
from .request import CaptureRequest
from .stop import StopRequests
from .switching import remove_control, taken_wishes
from .texts import SESSION

FINISH_LOG = "finish.log"
FINISH_TIMEOUT_S = 3600.0
HURRIED = ("hang-up", "terminated")
FULL_BYTES = 1 << 20
"""A disk with less than this is full."""
MAX_PROGRESS_SHARE = 0.1
"""Of the time, for counting what lies in the round."""


class HeldBack(EnvironmentLacks):
    """The preflight found errors; nothing was started, nothing written."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        errors = [finding for finding in findings if finding.severity == "error"]
        super().__init__(errors[0].message, hint=errors[0].next_step or None)
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a capture would do now. folder: where its round would lie. Nothing of it exists yet."""

    folder: Path
    plan: Plan
    findings: tuple[Finding, ...]

    @property
    def is_held_back(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)


def prepare(request: CaptureRequest, driver: Driver) -> Prepared:
    """Check, plan and look around without touching anything. UsageError, EnvironmentLacks."""
    driver.check(request)
    if request.timeout_s is not None and not request.timeout_s > 0:  # also where it is no number
        raise UsageError(f"the time for a capture is more than 0 seconds, not {request.timeout_s:g}")
    folder = archive.planned_folder(request.archive, request.kind, request.name, time.time())
    plan = driver.plan(request, folder)
    if not plan.argv:
        raise UsageError("no command to run", hint="give it behind --")
    return Prepared(folder, plan, preflight(request, driver, plan))


def capture(
    request: CaptureRequest,
    driver: Driver,
    *,
    on_event: OnEvent = ignore_events,
    stop: StopRequests | None = None,
    is_forced: bool = False,
    patience: Patience = Patience(),  # noqa: B008 (frozen)
) -> list[RoundResult]:
    """Capture, up to `request.repeat` attempts, until one shows the fault or somebody asks to stop.

    is_forced: start in spite of the preflight's errors. Raises UsageError; HeldBack; EnvironmentLacks where
    the tool cannot be started and InputError where no round can be made - a round that exists is closed
    before anything is raised.
    """
    stop = stop or StopRequests()
    prepared = prepare(request, driver)
    on_event(Checked(prepared.findings))
    if prepared.is_held_back and not is_forced:
        raise HeldBack(prepared.findings)
    if stop.n_asked:
        raise Cancelled
    results: list[RoundResult] = []
    for attempt in range(1, max(1, request.repeat) + 1):
        result = _Attempt(request, driver, attempt, on_event, stop, patience).run(prepared.findings)
        results.append(result)
        on_event(RoundClosed(result))
        if request.keep_last and len(results) > 1:
            _forget_raw(results[-2])
        if stop.n_asked or shows_fault(result):
            break
    return results


def shows_fault(result: RoundResult) -> bool:
    """Whether an attempt is the one that was waited for: the tool found something, or the program failed
    by itself."""
    ended = result.ended
    failed = ended is not None and not ended.stopped_by and (ended.exit_status != 0)
    return result.recorded.is_failure or failed


def _forget_raw(result: RoundResult) -> None:
    """Remove the raw data of an attempt without the fault; its manifest says so."""
    try:
        archive.remove_raw(result.folder)
        manifest = Manifest.read(result.folder)
        manifest.update(raw_removed=True)
        manifest.write()
    except (OSError, InputError):
        pass  # what could not be removed is still there to be seen


class _Attempt:
    """One round being made."""

    def __init__(
        self,
        request: CaptureRequest,
        driver: Driver,
        attempt: int,
        on_event: OnEvent,
        stop: StopRequests,
        patience: Patience,
    ) -> None:
        self._request = request
        self._driver = driver
        self._attempt = attempt
        self._on_event = on_event
        self._stop = stop
        self._patience = patience
        self._round_id = uuid.uuid4().hex
        self._began_s, self._clock_s = time.time(), time.monotonic()
        self._folder = archive.open_round(request.archive, request.kind, request.name, self._began_s)
        self._manifest = Manifest(self._folder)
        self._next_progress_s = 0.0
        self._is_full = False
        self._ended: Ended | None = None

    def run(self, findings: tuple[Finding, ...]) -> RoundResult:
        self._begin(findings)
        self._on_event(RoundOpened(self._folder, self._attempt, max(1, self._request.repeat)))
        try:
            recorded = self._recorded_by(self._start())
        except Cancelled:
            self._manifest.update(stopped_by=self._stop.reason)
            return self._close(Recorded("nothing", 0, 0, why=SESSION["stopped-early"]))
        except BaseException as error:
            self._close(_nothing(error, self._folder))
            if isinstance(error, OSError):  # the disk, not the program
                reason = error.strerror or str(error)
                raise InputError(f"the round could not go on: {reason}", path=self._folder) from error
            raise
        return self._close(recorded)

    # ---- before ----

    def _begin(self, findings: tuple[Finding, ...]) -> None:
        """The manifest first, so that whatever comes a round says what it is."""
        request, me = self._request, process_of(os.getpid())
        self._manifest.update(
            state="running",
            id=self._round_id,
            kind=request.kind,
            tool=self._driver.id,
            name=request.name,
            npulse=str(npulse.__version__),
            command=command_without_secrets(request.command),
            cwd=str(request.cwd),
            attempt=self._attempt,
            attempts=max(1, request.repeat),
            start=utc_text(self._began_s),
            request=request_table(request),
            process={
                "boot_id": boot_id(),
                "npulse_pid": os.getpid(),
                "npulse_start_ticks": me.start_ticks if me is not None else 0,
            },
            preflight=[
                f"{finding.severity} {finding.rule}: {finding.message}"
                for finding in findings
                if finding.role != "ok"
            ],
        )
        try:
            self._manifest.write()
        except OSError as error:
            self._remove_empty()
            raise InputError(
                f"the manifest cannot be written: {error.strerror}", path=self._folder
            ) from error
        if not archive.keep_reserve(self._folder):
            self._manifest.warn(SESSION["no-reserve"])

    def _remove_empty(self) -> None:
        with suppress(OSError):
            (self._folder / RAW).rmdir()
            self._folder.rmdir()

    def _start(self) -> ToolRun:
        """Inputs, files and what is around; then the tool, to its end."""
        request, folder = self._request, self._folder
        kept, warnings = keep_inputs(folder, request.keep_inputs, self._stop)
        self._manifest.warn(*warnings)
        plan = self._driver.plan(request, folder)
        archive.write_planned(folder, plan.files)
        environment = full_environment(request.environment, plan.environment, self._round_id)
        tree = surroundings.work_tree_of(request.cwd, request.environment)
        cards = surroundings.device_snapshot(request.environment)
        self._manifest.update(
            inputs=[one.to_dict() for one in kept],
            config_files=[{"name": f.name, "sha256": sha256_of(f.text.encode())} for f in plan.files],
            plan=plan_table(plan, command_without_secrets(plan.argv)),
            environment=surroundings.environment_that_matters(environment),
            versions=surroundings.versions(request, environment, cards),
            git=tree and {"commit": tree.commit, "branch": tree.branch, "n_dirty_files": tree.n_dirty_files},
            device={"before": cards.to_dict()},
        )
        self._write_softly()
        if self._stop.n_asked:
            raise Cancelled
        run = self._run(plan, archive.CONSOLE, environment, request.timeout_s, self._note_process)
        self._ended = run.ended
        self._manifest.update(**ended_tables(run))
        self._write_softly()
        finish = self._driver.finish(request, folder, run.ended)
        if finish is not None:
            self._finish(finish)
        return run

    # ---- while it runs ----

    def _run(
        self,
        plan: Plan,
        log: str,
        environment: Mapping[str, str],
        timeout_s: float | None,
        note: Any,
        *,
        is_finish: bool = False,
    ) -> ToolRun:
        def started(tool: ToolProcess) -> None:
            note(tool)
            self._on_event(Started(plan, tool.pid, is_finish))

        def rung(reason: str, one: Rung) -> None:
            self._on_event(Stopping(reason, one))

        def before_close() -> None:
            self._is_full = self._is_full or _free_bytes(self._folder) < FULL_BYTES
            archive.free_reserve(self._folder, is_half=True)

        pid = self._request.pid
        return run_plan(
            plan,
            cwd=self._request.cwd,
            environment=environment,
            round_id=self._round_id,
            console=Console(self._folder / log, lambda lines: self._on_event(Output(tuple(lines)))),
            on_started=started,
            watch=self._watch_finish if is_finish else self._watch,
            on_rung=rung,
            before_close=before_close,
            stop=self._stop,
            n_heard=self._stop.n_asked if is_finish else 0,
            timeout_s=timeout_s,
            spared=frozenset(() if pid is None else (pid,)),
            patience=self._patience,
        )

    def _note_process(self, tool: ToolProcess) -> None:
        """Before anything else happens to it: who it is."""
        process = self._manifest.table["process"]
        process |= {"tool_pid": tool.pid, "tool_start_ticks": tool.start_ticks}
        self._write_softly()

    def _watch(self, tool: ToolProcess) -> str:
        for is_on, lines in taken_wishes(self._folder):
            for line in lines:
                tool.send_line(line)
            switched = self._manifest.table.setdefault("switched", [])
            switched.append({"at": utc_text(time.time()), "is_on": is_on})
            self._write_softly()
            self._on_event(Switched(is_on))
        raw, age_s = self._folder / RAW, time.monotonic() - tool.started_s
        if age_s >= self._next_progress_s:
            with suppress(NpulseError, OSError):  # a file that is half written ends no capture
                self._on_event(Running(self._driver.progress(raw), age_s))
            cost_s = time.monotonic() - tool.started_s - age_s
            self._next_progress_s = age_s + cost_s / MAX_PROGRESS_SHARE
        with suppress(NpulseError, OSError):
            return self._driver.wants_stop(self._request, raw)
        return ""

    def _watch_finish(self, tool: ToolProcess) -> str:
        return ""

    def _finish(self, plan: Plan) -> None:
        """The second command. That it fails makes the round no worse than it is.

        After a hang-up or SIGTERM there may be no time for it: whoever wants it can still run it.
        """
        environment = full_environment(self._request.environment, plan.environment, self._round_id)
        table: dict[str, Any] = {"argv": command_without_secrets(plan.argv)}
        self._manifest.update(finish=table)
        if self._stop.reason in HURRIED:
            table["error"] = SESSION["finish-left-out"][0]
            self._manifest.warn(_filled("finish-left-out-run", command=shlex.join(plan.argv)))
            return
        try:
            archive.write_planned(self._folder, plan.files)
            run = self._run(
                plan, FINISH_LOG, environment, FINISH_TIMEOUT_S, lambda tool: None, is_finish=True
            )
            table |= {
                "exit_status": run.ended.exit_status,
                "signal": run.ended.signal,
                "stopped_by": run.ended.stopped_by,
                "duration_s": round(run.duration_s, 3),
            }
        except (NpulseError, OSError) as error:
            table["error"] = str(error)
            self._manifest.warn(_filled("finish-failed", reason=str(error)))

    # ---- after ----

    def _recorded_by(self, run: ToolRun) -> Recorded:
        """The driver's answer, and what only the session knows of how far it can be trusted."""
        request, folder = self._request, self._folder
        try:
            recorded = self._driver.recorded(request, folder, run.ended)
            self._manifest.update(figures=dict(self._driver.figures(folder / RAW)))
        except (NpulseError, OSError) as error:
            return _nothing(error, folder, outcome="unknown")
        if self._is_full or run.is_disk_full:
            self._manifest.warn(SESSION["disk-full"])
            if recorded.outcome == "recorded":
                recorded = replace(recorded, outcome="incomplete", why=SESSION["disk-full"])
        alive = [f"{one.name} {one.pid}" for one in run.left_over if one.ended_by == "nothing"]
        ended = [f"{one.name} {one.pid}" for one in run.left_over if one.ended_by.startswith("SIG")]
        if alive:
            self._manifest.warn(_filled("still-alive", names=", ".join(alive[:10])))
        if ended:
            self._manifest.warn(_filled("left-over", names=", ".join(ended[:10])))
        if run.n_console_dropped_bytes:
            self._manifest.warn(_filled("console-dropped", n=f"{run.n_console_dropped_bytes:,}"))
        self._manifest.warn(*recorded.warnings)
        return recorded

    def _close(self, recorded: Recorded) -> RoundResult:
        """The last step: the cards once more, raw data read-only, the manifest closed with the truth."""
        table = self._manifest.table
        device = dict(table.get("device", {}))
        if (device.get("before") or {}).get("chips") and self._ended is not None:
            cards = surroundings.device_snapshot(self._request.environment)
            device["after"] = cards.to_dict()
            self._manifest.warn(*surroundings.device_changes(device["before"], cards))
        remove_control(self._folder)
        n_left = archive.make_read_only(self._folder / RAW)
        if n_left:
            self._manifest.warn(_filled("not-read-only", n=f"{n_left:,}"))
        self._manifest.update(
            device=device,
            state="closed",
            end=utc_text(time.time()),
            duration_s=round(time.monotonic() - self._clock_s, 3),
            recorded=recorded_table(recorded),
        )
        archive.free_reserve(self._folder)
        not_written = ""
        try:
            self._manifest.write()
        except OSError as error:
            not_written = error.strerror or str(error)
        warnings = tuple(zip(table.get("warnings", ()), table.get("warnings_zh", ()), strict=True))
        return RoundResult(self._folder, self._attempt, self._ended, recorded, warnings, not_written)

    def _write_softly(self) -> None:
        """A step between: the file of the step before stays where the disk is full."""
        with suppress(OSError):
            self._manifest.write()


def _nothing(error: BaseException, folder: Path, outcome: Any = "nothing") -> Recorded:
    """What is recorded where npulse could not go on."""
    from .base import count_files

    n_files, size_bytes = count_files(folder / RAW)
    if n_files and outcome == "nothing":
        outcome = "unknown"
    reason = str(error) or type(error).__name__
    return Recorded(outcome, n_files, size_bytes, why=_filled("gave-up", reason=reason))


def _filled(key: str, **values: str) -> Words:
    en, zh = SESSION[key]
    return en.format(**values), zh.format(**values)


def _free_bytes(folder: Path) -> int:
    try:
        told = os.statvfs(folder)
    except OSError:
        return FULL_BYTES
    return told.f_bavail * told.f_frsize if told.f_blocks else FULL_BYTES
