"""Performance by msprof: a program from its start to its end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Figures, Finding
from npulse.core.text import safe_text

from ..base import BaseDriver
from ..driver import RAW, Ended, Plan, Recorded, SizeBasis, StopStep, Words
from ..programs import has_program
from ..request import CaptureRequest, Kind
from ..rules_tools import finding
from . import parts
from .sessions import SessionsLook, figures_of, look_at_sessions, recorded_of
from .size_estimates import SESSION_TOOLS, of_sessions
from .texts_performance import MSPROF as TEXTS

PROGRAM = "msprof"
LEVELS: Mapping[str, Mapping[str, str]] = {
    "0": {"task-time": "l0"},
    "1": {"task-time": "l1"},
    "2": {"task-time": "l1", "ai-core": "on", "aic-metrics": "PipeUtilization"},
    "3": {"task-time": "l1", "ai-core": "on", "aic-metrics": "PipeUtilization", "instr-profiling": "on"},
}
"""The documents' --profiling-level 0..3: whole network, iteration, operator, instruction."""

OWN_LEVELS = ("l0", "l1", "l2", "l3", "on", "off")
_DRIVERS = ("application", "dynamic", "export", "output", "parse", "pid", "query", "analyze", "clear")
_CHECKED: Mapping[str, parts.Accepted] = {
    "task-time": OWN_LEVELS,
    "ascendcl": parts.ON_OFF,
    "ai-core": parts.ON_OFF,
    "l2": parts.ON_OFF,
    "type": ("text", "db"),
    "aic-freq": (1, 100),
    "aic-mode": ("task-based", "sample-based"),
    "ge-api": ("off", "l0", "l1"),
    "delay": (1, 4294967),
    "duration": (1, 4294967),
    "storage-limit": re.compile(r"(?:[2-9]\d\d|[1-9]\d{3,9})MB", re.ASCII),
}
"""Options whose values are known; others are handed on, releases have more of them."""

FAILED = (254, 255)
"""Exit codes: not supported, failed."""
FORMS = ("auto", "application", "positional")
WAIT_S = 600
"""How long msprof may export after it was asked to end; that takes minutes."""

HELP_TIMEOUT_S = 10.0
_MAX_HELP_BYTES = 1 << 18
_HAS_APPLICATION = re.compile(rb"--application\b")
_HAS_POSITIONAL = re.compile(rb"(?im)^.*\busage\b.*(?:\[|<|\s)app(?:lication)?(?:\]|>|\s|$)")
_DATA_SAVED = re.compile(r"Process profiling data complete\. Data is saved in (\S.*)")
_CONSOLE_ERRORS = ("[ERROR]",)


class MsProf(BaseDriver):
    """msprof --output=raw OPTIONS PROGRAM, or with --application as older releases want it."""

    id = "msprof"
    kind: Kind = "performance"
    title: Words = ("msprof: a whole program", "msprof：整个程序")
    tool = PROGRAM
    _told: tuple[CaptureRequest, tuple[str, Words]] | None = None

    def check(self, request: CaptureRequest) -> None:
        parts.need_command(request, PROGRAM)
        parts.refuse(request, PROGRAM, ("pid",), hint="--tool msprof-dynamic attaches to a process")
        parts.refuse(request, PROGRAM, ("rank", "step"), hint="--tool torch-profiler has both")
        parts.refuse(request, PROGRAM, ("names",), hint="--tool msopprof profiles single kernels")
        parts.refuse(request, PROGRAM, ("model",))
        check_options(request)

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        form, _ = self._form(request)
        if form == "application" and any(" " in word for word in request.command):
            return (finding(request, "capture.words-with-blanks", PROGRAM),)
        return ()

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_sessions(request, SESSION_TOOLS).need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_sessions(request, SESSION_TOOLS).basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        settings, notes = collected_options(request)
        form, note = self._form(request)
        output = {"output": str(round_folder / RAW)}
        if form == "application":
            settings = {"application": " ".join(request.command), **output, **settings}
            argv = (PROGRAM, *parts.options(settings), *request.extra)
        else:
            argv = (PROGRAM, *parts.options({**output, **settings}), *request.extra, *request.command)
        wait_s = wait_of(request)
        notes += [note, parts.words(TEXTS, "window"), parts.words(TEXTS, "stop", seconds=f"{wait_s:g}")]
        return Plan(argv, stop=stop_ladder(wait_s), notes=tuple(notes))

    def _form(self, request: CaptureRequest) -> tuple[str, Words]:
        """`form_of`, asked once for each request: the tool's help may take seconds."""
        if self._told is None or self._told[0] is not request:
            self._told = request, form_of(request)
        return self._told[1]

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        return export_plan(look_at_sessions(round_folder / RAW), request)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        look = look_at_sessions(round_folder / RAW)
        lines = parts.console_lines(ended.console)
        nothing = nothing_words(ended, lines)
        warnings = console_warnings(lines, round_folder, is_stopped=ended.stopped_by != "")
        if look.sessions and ended.exit_status in FAILED:
            warnings.append(nothing)
        step = parts.words(TEXTS, "nothing-step")
        return recorded_of(look, ended, nothing=nothing, nothing_step=step, warnings=warnings)

    def figures(self, raw: Path) -> Figures:
        return figures_of(look_at_sessions(raw))


def collected_options(request: CaptureRequest) -> tuple[dict[str, str], list[Words]]:
    """Options of what is collected, and what is said of a level of the documents."""
    given = {k: v for k, v in parts.settings_of(request).items() if k not in ("form", "stop-wait", "paused")}
    level = request.level
    if level is None:
        return given, []
    if level in OWN_LEVELS:
        return {"task-time": level, **given}, []
    mapped = LEVELS[level]
    more = parts.words(TEXTS, f"level-{level}") if level in ("1", "3") else ("", "")
    shown = " ".join(parts.options(mapped))
    en, zh = TEXTS["level"]
    note = (
        en.format(level=level, options=shown, more=more[0]),
        zh.format(level=level, options=shown, more=more[1]),
    )
    return {**mapped, **given}, [note]


def check_options(request: CaptureRequest) -> None:
    """UsageError for options and levels that msprof does not take."""
    settings = dict(parts.settings_of(request))
    if settings.pop("form", "auto") not in FORMS:
        raise UsageError("form is one of " + ", ".join(FORMS))
    wait_of(request)
    settings.pop("stop-wait", None)
    for name in settings:
        if name in _DRIVERS:
            raise UsageError(f"--{name} of msprof is set by the capture itself", hint="leave it out")
        if not parts.is_option(name):
            raise UsageError(f"'{safe_text(name, 80)}' is no option")
    parts.checked(PROGRAM, {k: v for k, v in settings.items() if k in _CHECKED}, _CHECKED)
    if request.level is not None and request.level not in (*LEVELS, *OWN_LEVELS):
        raise UsageError(
            f"msprof has no level '{safe_text(request.level, 80)}'",
            hint="0 to 3 of the documents, or a value of --task-time: " + ", ".join(OWN_LEVELS),
        )


def wait_of(request: CaptureRequest) -> float:
    """Seconds that the export may take after a stop. UsageError for what is no number of them."""
    text = parts.settings_of(request).get("stop-wait", str(WAIT_S))
    try:
        wait_s = float(text)
    except ValueError:
        wait_s = -1.0
    if not 0 < wait_s <= 86_400:
        raise UsageError(f"stop-wait takes seconds, not '{safe_text(text, 80)}'")
    return wait_s


def stop_ladder(wait_s: float) -> tuple[StopStep, ...]:
    """SIGINT, then long for the export."""
    return (
        StopStep(signal.SIGINT, wait_s),
        StopStep(signal.SIGTERM, 5.0),
        StopStep(signal.SIGKILL, 5.0),
    )


def form_of(request: CaptureRequest) -> tuple[str, Words]:
    """Where the program stands on the command line, and why: as asked for, or as msprof --help shows it."""
    asked = parts.settings_of(request).get("form", "auto")
    if asked != "auto":
        return asked, _form_words("form-asked", asked)
    text = help_text(request)
    if text is None:
        return "positional", _form_words("form-unknown", "positional")
    if _HAS_APPLICATION.search(text) and not _HAS_POSITIONAL.search(text):
        return "application", _form_words("form-help", "application")
    return "positional", _form_words("form-help", "positional")


def _form_words(key: str, form: str) -> Words:
    (en, zh), (form_en, form_zh) = TEXTS[key], TEXTS[form]
    return en.format(form=form_en), zh.format(form=form_zh)


def help_text(request: CaptureRequest) -> bytes | None:
    """What `msprof --help` prints; None where there is no msprof or it does not answer."""
    if not has_program(request, PROGRAM):
        return None
    environment = {**os.environ, **request.environment, "LC_ALL": "C"}
    try:
        child = subprocess.Popen(
            [PROGRAM, "--help"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    with child:
        try:
            text, _ = child.communicate(timeout=HELP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            text = b""
        finally:
            with suppress(OSError):  # what a tool that is a script has started goes with it
                os.killpg(child.pid, signal.SIGKILL)
    return text[:_MAX_HELP_BYTES] or None


def export_plan(look: SessionsLook, request: CaptureRequest) -> Plan | None:
    """The export of what is still raw. In the round itself: nothing is collected into it any more."""
    raw = [one for one in look.raw if one.kind == "msprof" and one.n_files]
    if not raw:
        return None
    folder = raw[0].folder if len(raw) == 1 else look.root
    argv = (PROGRAM, "--export=on", f"--output={folder}")
    return Plan(argv, stop=stop_ladder(wait_of(request)), notes=(parts.words(TEXTS, "finish"),))


def nothing_words(ended: Ended, lines: tuple[str, ...]) -> Words:
    """Why there is no session: the tool's own error, its exit status."""
    said = parts.last_with(lines, *_CONSOLE_ERRORS)
    said = f": {said}" if said else ""
    if ended.exit_status in FAILED:
        return parts.words(TEXTS, f"exit-{ended.exit_status}", said=said)
    how = parts.end_words(ended.exit_status, ended.signal)
    en, zh = TEXTS["nothing"]
    return en.format(how=how[0], said=said), zh.format(how=how[1], said=said)


def console_warnings(lines: tuple[str, ...], round_folder: Path, *, is_stopped: bool) -> list[Words]:
    """What the console says that the files do not: a result elsewhere, a program that failed."""
    told: list[Words] = []
    for line in reversed(lines):
        if found := _DATA_SAVED.search(line):
            folder = Path(found[1].strip())
            if not _is_below(folder, round_folder / RAW):
                told.append(parts.words(TEXTS, "elsewhere", folder=shlex.quote(str(folder))))
            break
    failed = [line for line in lines if "[WARNING]" in line and "exit" in line.lower()]
    if failed and not is_stopped:
        told.append(parts.words(TEXTS, "app-failed", said=failed[-1].strip()))
    return told


def _is_below(path: Path, folder: Path) -> bool:
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return real == root or real.startswith(root + os.sep)
