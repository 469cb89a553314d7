"""`npulse capture`: a tool started, watched, ended, and its round closed with the truth."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from npulse.core.errors import UsageError
from npulse.core.text import Lang, safe_text

from .options import check_text_or_json, emit, emit_json, talk, version

if TYPE_CHECKING:
    from npulse.core.capture.driver import Driver
    from npulse.core.capture.events import Event, RoundResult
    from npulse.core.capture.request import CaptureRequest
    from npulse.core.capture.stop import StopRequests
    from npulse.core.findings import Finding

DEFAULT_ARCHIVE = Path("diag")
USAGE = "npulse capture KIND [options] -- COMMAND ..."
REASONS = {signal.SIGINT: "user", signal.SIGTERM: "terminated", signal.SIGHUP: "hang-up"}


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The options of the command as they were written; docs/contract.md says what each means."""

    tool: str | None = None
    archive: Path | None = None
    name: str | None = None
    repeat: int = 1
    keep_last: bool = False
    timeout_s: float | None = None
    small: bool = False
    keep_inputs: Sequence[Path] = ()
    stop_at_first: bool = False
    retro: int = 10
    keep_fp32: Sequence[str] = ()
    rank: str = ""
    step: str = ""
    names: Sequence[str] = ()
    level: str | None = None
    profiling_level: int | None = None
    model: str | None = None
    pid: int | None = None
    settings: Sequence[str] = ()
    tool_options: Sequence[str] = ()
    dry_run: bool = False
    force: bool = False
    format_name: str = "text"
    lang: Lang = "en"
    environment: Mapping[str, str] = field(default_factory=dict)


def run_capture(kind: str | None, command: Sequence[str], options: CaptureOptions) -> int:
    """Capture; exit code 0 recorded, 4 nothing or incomplete, 130 after Ctrl-C."""
    from npulse.core.capture.drivers import driver_of
    from npulse.core.capture.request import Kind

    check_text_or_json(options.format_name)
    if kind not in get_args(Kind):
        known = ", ".join(get_args(Kind))
        told = "no kind of capture was named" if kind is None else f"no kind of capture '{kind}'"
        raise UsageError(told, hint=f"kinds: {known}; {USAGE}")
    request = _request(kind, command, options)
    driver = driver_of(request.kind, request.tool)
    if options.dry_run:
        return _show_plan(request, driver, options)
    return _capture(request, driver, options)


def run_resume(path: Path | None, *, is_stopping: bool, format_name: str, lang: Lang) -> int:
    """Close rounds whose npulse was killed; 4 where one could not be closed."""
    from npulse.core.capture.bookkeeping import resume
    from npulse.core.capture.stop import StopRequests
    from npulse.core.capture.told import resumed_dict, resumed_lines
    from npulse.core.text import say

    check_text_or_json(format_name)
    stop = StopRequests()
    with _heard(stop):
        found = resume((path or DEFAULT_ARCHIVE).absolute(), is_stopping=is_stopping, stop=stop)
    if format_name == "json":
        _emit_whole({"command": "capture", "resumed": [resumed_dict(one) for one in found]})
    else:
        lines = [line for one in found for line in resumed_lines(one, lang)]
        emit(line + "\n" for line in lines or [say(_texts(), "resume-none", lang)])
    return 0 if all(one.what == "closed" for one in found) else 4


def run_switch(word: str, folder: Path | None, lang: Lang) -> int:
    """Switch the recording of a running round."""
    from npulse.core.capture.switching import switch_round
    from npulse.core.text import say

    if word not in ("on", "off"):
        raise UsageError(f"--switch takes on or off, not '{word}'")
    if folder is None:
        raise UsageError("which round?", hint="npulse capture --switch on ROUND")
    switch_round(folder.absolute(), word == "on")
    talk(say(_texts(), "switch-asked", lang))
    return 0


def _texts() -> Mapping[str, tuple[str, str]]:
    from npulse.core.capture.texts import TOLD

    return TOLD


def _emit_whole(body: dict[str, Any]) -> None:
    emit_json({"schema": 1, "npulse": version(), **body})


# ---- what is asked for ----


def _request(kind: Any, command: Sequence[str], options: CaptureOptions) -> CaptureRequest:
    from npulse.core.capture.request import CaptureRequest, usual_name

    if options.profiling_level is not None and (kind != "performance" or options.level is not None):
        raise UsageError("--profiling-level is the level of a performance capture, in place of --level")
    if options.stop_at_first and kind != "overflow":
        raise UsageError("--stop-at-first ends an overflow capture at the first anomaly")
    if command and options.pid is not None:
        raise UsageError("--pid attaches to a program that runs: there is no command to start")
    level = options.level if options.profiling_level is None else str(options.profiling_level)
    return CaptureRequest(
        kind=kind,
        command=tuple(command),
        cwd=_here(),
        archive=(options.archive or DEFAULT_ARCHIVE).absolute(),
        name=options.name or usual_name(command, options.pid, options.model),
        tool=options.tool,
        rank=options.rank,
        step=options.step,
        names=tuple(one for text in options.names for one in text.replace(",", " ").split()),
        level=level,
        model=options.model,
        pid=options.pid,
        keep_inputs=tuple(path.absolute() for path in options.keep_inputs),
        timeout_s=options.timeout_s,
        repeat=options.repeat,
        keep_last=options.keep_last,
        is_small=options.small,
        stop_at_first=options.stop_at_first,
        retro=options.retro,
        keep_fp32=tuple(options.keep_fp32),
        environment=dict(options.environment or os.environ),
        settings=dict(_setting(text) for text in options.settings),
        extra=tuple(options.tool_options),
        lang=options.lang,
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current folder is gone", hint="cd into one that is there") from None


def _setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    name = name.strip().lstrip("-")
    if not name or not sign:
        raise UsageError(f"--set takes NAME=VALUE, not '{text}'")
    return name, value


# ---- the plan ----


def _show_plan(request: CaptureRequest, driver: Driver, options: CaptureOptions) -> int:
    """Print what would be done; 3 where the preflight would hold it back."""
    from npulse.core.capture.session import prepare
    from npulse.core.capture.told import plan_dict, plan_lines

    prepared = prepare(request, driver)
    if options.format_name == "json":
        body = {"command": "capture", "kind": request.kind, "tool": driver.id, "dry_run": True}
        told = {"plan": plan_dict(request, driver, prepared), "preflight": _finding_dicts(prepared.findings)}
        _emit_whole({**body, **told})
    else:
        emit(line + "\n" for line in plan_lines(request, driver, prepared, options.lang))
    return 3 if prepared.is_held_back and not options.force else 0


def _finding_dicts(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    from npulse.core.report.as_json import finding_dict

    return [dict(finding_dict(finding)) for finding in findings]


# ---- the capture ----


def _capture(request: CaptureRequest, driver: Driver, options: CaptureOptions) -> int:
    from npulse.core.capture.session import HeldBack, capture
    from npulse.core.capture.stop import StopRequests
    from npulse.core.text import say

    stop = StopRequests()
    teller = _Teller(request, options)
    try:
        with _heard(stop):
            capture(request, driver, on_event=teller.tell, stop=stop, is_forced=options.force)
    except HeldBack as error:
        teller.say(say(_texts(), "held-back", options.lang))
        if options.format_name == "json":
            _emit_whole({**_body(request, driver), "preflight": _finding_dicts(error.findings), "rounds": []})
        return error.exit_code
    finally:
        teller.close()
    code = exit_code_of(teller.results, stop)
    teller.finish(driver, code)
    return code


def exit_code_of(results: Sequence[RoundResult], stop: StopRequests) -> int:
    """130 after Ctrl-C; 4 where a round is not what it should be; 0 only where all recorded."""
    if stop.reason == "user":
        return 130
    is_well = all(one.recorded.outcome == "recorded" and not one.not_written for one in results)
    return 0 if results and is_well else 4


def _body(request: CaptureRequest, driver: Driver) -> dict[str, Any]:
    return {"command": "capture", "kind": request.kind, "tool": driver.id}


@contextmanager
def _heard(stop: StopRequests) -> Iterator[None]:
    """Signals become wishes to stop. SIGHUP and SIGTERM that `nohup` and the like ignore stay ignored;
    Ctrl-C is heard always: a tool would inherit that it is ignored, and never end by SIGINT."""

    def ask(number: int, frame: Any) -> None:
        stop.ask(REASONS[signal.Signals(number)])

    wanted = [
        number for number in REASONS if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN
    ]
    before = {number: signal.signal(number, ask) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Teller:
    """Tells on stderr what happens, also the program's own output; a terminal that is gone or stands still is
    no trouble."""

    def __init__(self, request: CaptureRequest, options: CaptureOptions) -> None:
        from npulse.core.text import say

        from .screen import Screen

        self.results: list[RoundResult] = []
        self._request = request
        self._options = options
        self._screen = Screen(say(_texts(), "lines-left-out", options.lang))
        self._findings: tuple[Finding, ...] = ()

    def tell(self, event: Event) -> None:
        """One event of the session, from any thread."""
        from npulse.core.capture import events, told
        from npulse.core.text import say

        lang = self._options.lang
        if isinstance(event, events.Checked):
            self._findings = event.findings
            self.say(*told.preflight_lines(event.findings, with_ok=False))
        elif isinstance(event, events.RoundOpened):
            values = {"i": event.attempt, "n": event.attempts}
            lead = say(_texts(), "attempt", lang, **values) + ": " if event.attempts > 1 else ""
            self.say(f"npulse: {lead}{safe_text(str(event.folder))}")
        elif isinstance(event, events.Output):
            self.say(*event.lines)
        elif isinstance(event, events.Started):
            if event.is_finish:
                self.say(f"npulse: {say(_texts(), 'then', lang)}: {shlex.join(event.plan.argv)}")
        elif isinstance(event, events.Running):
            self._screen.show(told.running_line(event, lang))
        elif isinstance(event, events.Stopping):
            self.say("npulse: " + told.stopping_line(event, lang))
        elif isinstance(event, events.Switched):
            self.say("npulse: " + say(_texts(), "switched-on" if event.is_on else "switched-off", lang))
        elif isinstance(event, events.RoundClosed):
            self.results.append(event.result)
            if event.result.not_written:
                reason = event.result.not_written
                self.say("npulse: " + say(_texts(), "not-written", lang, reason=reason))

    def say(self, *lines: str) -> None:
        self._screen.say(*lines)

    def close(self) -> None:
        """Show what waits to be shown, if somebody takes it."""
        self._screen.close()

    def finish(self, driver: Driver, code: int) -> None:
        """The answer on stdout. Where nobody hears it any more the exit code still tells."""
        from npulse.core.errors import EnvironmentLacks

        is_gone = self._screen.is_gone
        try:
            self._answer(driver, code)
        except BrokenPipeError:
            is_gone = True
        except EnvironmentLacks:
            if not any(one.ended and one.ended.stopped_by == "hang-up" for one in self.results):
                raise
            is_gone = True
        if is_gone:
            for number in (1, 2):  # else the interpreter fails once more when it flushes
                with suppress(OSError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), number)

    def _answer(self, driver: Driver, code: int) -> None:
        from npulse.core.capture import told

        lang, kind = self._options.lang, self._request.kind
        if self._options.format_name == "json":
            rounds = [told.result_dict(result) for result in self.results]
            answer = {"preflight": _finding_dicts(self._findings), "rounds": rounds, "exit_code": code}
            _emit_whole({**_body(self._request, driver), **answer})
            return
        lines = told.attempts_lines(self.results, self._request.repeat, kind, lang)
        emit(f"{line}\n" for line in lines)
