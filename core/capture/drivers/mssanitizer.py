"""Memory by msSanitizer. Its exit status is always 0: only its text says what was found, how far it came."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Figures, Finding

from ..base import BaseDriver, count_files
from ..driver import RAW, Ended, Plan, PlannedFile, Progress, Recorded, SizeBasis, StopStep, Words
from ..request import CaptureRequest, Kind
from . import parts
from .kernel_builds import preflight_of_kernels
from .memory_logs import LogsLook, files_in, gap_step, gap_words, look_at_logs
from .size_estimates import of_sanitizer
from .texts_memory import SANITIZER as TEXTS

CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
LOG = "mssanitizer.log"
ACL_JSON = "acl_lite_exception.json"
DEBUG_FOLDER = "mindstudio_sanitizer_log"

_YES_NO = parts.YES_NO
OPTIONS: Mapping[str, parts.Accepted] = {
    "leak-check": _YES_NO,
    "check-unused-memory": _YES_NO,
    "check-device-heap": _YES_NO,
    "check-cann-heap": _YES_NO,
    "check-cross-npu-races": _YES_NO,
    "check-dcci": _YES_NO,
    "full-backtrace": _YES_NO,
    "demangle": ("full", "simple", "no"),
    "log-level": ("info", "warn", "error"),
    "trace-non-default-spr-reg": ("vector",),
    "block-id": (0, 200),
    "cache-size": (1, 8192),
    "padding": (32, 1024),
    "max-debuglog-size": (1, 10240),
    "kernel-name": re.compile(r"[A-Za-z0-9_-]+", re.ASCII),
}
"""The tool's own options and what they take."""

_OF_MEMCHECK = ("leak-check", "check-unused-memory", "check-device-heap", "check-cann-heap")
_HEAPS = ("check-device-heap", "check-cann-heap")
_OWN = ("checks", "tool", "debug-log", "objects")
_LOG_NAME = re.compile(r"[A-Za-z0-9./_-]{1,4096}", re.ASCII)
_FOR_PYTHON = {
    "PYTORCH_NO_NPU_MEMORY_CACHING": "1",
    "TRITON_ENABLE_SANITIZER": "1",
    "TRITON_ALWAYS_COMPILE": "1",
}
_STOP = (
    StopStep(signal.SIGINT, 15.0),  # the report is completed
    StopStep(signal.SIGINT, 5.0),  # the tool kills what runs
    StopStep(signal.SIGTERM, 5.0),
    StopStep(signal.SIGKILL, 5.0),
)


class MsSanitizer(BaseDriver):
    """mssanitizer -t CHECK ... -- PROGRAM; reports go to raw/mssanitizer.log."""

    id = "mssanitizer"
    kind: Kind = "memory"
    title: Words = ("msSanitizer: kernels on the NPU", "msSanitizer：NPU 上的 kernel")
    tool = "mssanitizer"

    def check(self, request: CaptureRequest) -> None:
        parts.need_command(request, self.tool)
        parts.refuse(request, self.tool, ("pid", "rank", "step", "level", "model"))
        settings = _tool_options(request)
        parts.checked(self.tool, settings, OPTIONS)
        checks = checks_of(request)
        for name in _OF_MEMCHECK:
            if settings.get(name) == "yes" and "memcheck" not in checks:
                raise UsageError(f"--{name} belongs to memcheck", hint="add checks=memcheck")
        if settings.get("check-cross-npu-races") == "yes" and "racecheck" not in checks:
            raise UsageError("--check-cross-npu-races belongs to racecheck", hint="add checks=racecheck")
        if all(settings.get(name) == "yes" for name in _HEAPS):
            raise UsageError("--check-device-heap and --check-cann-heap exclude each other", hint="take one")

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        return preflight_of_kernels(request, checks_of(request), _tool_options(request))

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_sanitizer(request).need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_sanitizer(request).basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        settings = _tool_options(request)
        notes = [parts.words(TEXTS, "build")]
        log = log_name(round_folder / RAW / LOG, request.cwd)
        if log is None:
            notes.append(parts.words(TEXTS, "log-to-console"))
        else:
            settings["log-file"] = log
        environment: dict[str, str | None] = {}
        text = json.dumps({"dump": {"dump_scene": "lite_exception"}}, indent=1)
        files = (PlannedFile(ACL_JSON, text + "\n"),)
        if parts.is_script(request):
            environment |= _FOR_PYTHON
        else:
            notes.append(parts.words(TEXTS, "aclnn", path=round_folder / ACL_JSON))
        if parts.settings_of(request).get("debug-log") == "yes":
            environment["MSSANITIZER_ENABLE_DEBUG_LOG"] = "1"
            notes.append(parts.words(TEXTS, "debug-log-on", folder=request.cwd / DEBUG_FOLDER))
        else:
            environment["MSSANITIZER_ENABLE_DEBUG_LOG"] = None
            notes.append(parts.words(TEXTS, "debug-log-off", folder=request.cwd / DEBUG_FOLDER))
        if any(settings.get(name) == "yes" for name in _HEAPS):
            notes.append(parts.words(TEXTS, "heap-only"))
        tools = [word for check in checks_of(request) for word in ("-t", check)]
        argv = (self.tool, *tools, *parts.options(settings), *request.extra, "--", *request.command)
        return Plan(argv, environment, files, stop=_STOP, notes=tuple(notes))

    def progress(self, raw: Path) -> Progress:
        n_files, size_bytes = count_files(raw)
        return Progress(n_files, size_bytes)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        logs = (*files_in(raw, LOG), ended.console)
        look = look_at_logs(logs)
        n_files, size_bytes = count_files(raw)
        warnings = list(_left_behind(request, round_folder))
        recorded = Recorded(
            "recorded",
            n_files,
            size_bytes,
            n_operators=len(look.kernels) or None,
            n_dropped=look.n_dropped,
            found=look.kinds,
            is_failure=look.n_errors > 0,
        )
        return judged(recorded, look, ended, warnings)

    def figures(self, raw: Path) -> Figures:
        look = look_at_logs(files_in(raw, LOG))
        return {"n_reports": sum(look.kinds.values()), "n_kernels_checked": len(look.kernels)}


def checks_of(request: CaptureRequest) -> tuple[str, ...]:
    """The checks that are asked for, each once; memcheck where none is. UsageError for unknown ones."""
    settings = parts.settings_of(request)
    asked = [word for name in ("checks", "tool", "t") for word in re.split(r"[,\s]+", settings.get(name, ""))]
    found = tuple(dict.fromkeys(word for word in asked if word))
    for word in found:
        if word not in CHECKS:
            raise UsageError(f"mssanitizer has no check '{word}'", hint="known: " + ", ".join(CHECKS))
    return found or CHECKS[:1]


def log_name(log: Path, cwd: Path) -> str | None:
    """The log's name as the tool takes it: letters, digits and -./_ only; relative where that helps.

    None where neither fits: the reports then go to standard output, which is kept as well.
    """
    for name in (str(log), os.path.relpath(log, cwd)):
        if _LOG_NAME.fullmatch(name):
            return name
    return None


def _tool_options(request: CaptureRequest) -> dict[str, str]:
    """Options of the tool, the kernel's name among them."""
    settings = {k: v for k, v in parts.settings_of(request).items() if k not in (*_OWN, "t")}
    names = [name.strip("*") for name in request.names if name.strip("*")]
    if len(names) > 1:
        raise UsageError(
            "mssanitizer looks at kernels by one part of their name", hint="give one name with --list"
        )
    if names:
        settings["kernel-name"] = names[0]
    return settings


def judged(recorded: Recorded, look: LogsLook, ended: Ended, warnings: list[Words]) -> Recorded:
    """The outcome by the logs: what the tool dropped or did not check is never "recorded"."""
    outcome, why, step = recorded.outcome, ("", ""), ("", "")
    lines = parts.console_lines(ended.console)
    said = parts.last_with(lines, "[mssanitizer] ERROR", "unsupported soc version")
    is_refused = "tool-error" in look.gaps and not look.kinds and not look.kernels
    if is_refused or "msSanitizer" not in look.tools:
        outcome = "nothing"
        if said:
            why = parts.words(TEXTS, "tool-said", said=said)
            step = parts.words(TEXTS, "see-help")
        else:
            how = parts.end_words(ended.exit_status, ended.signal)
            why = (TEXTS["no-line"][0].format(how=how[0]), TEXTS["no-line"][1].format(how=how[1]))
            step = parts.words(TEXTS, "no-kernel-step")
    elif ended.is_killed:
        outcome, why, step = "incomplete", parts.words(TEXTS, "killed"), parts.words(TEXTS, "killed-step")
    elif look.lost or look.unread:
        lost = (*look.lost, *(("unreadable",) if look.unread else ()))
        words = gap_words(lost)
        why = (TEXTS["lost"][0].format(gaps=words[0]), TEXTS["lost"][1].format(gaps=words[1]))
        outcome, step = "incomplete", gap_step(lost)
    elif not look.kinds and not look.kernels:
        if look.gaps:
            outcome, why, step = "unknown", parts.words(TEXTS, "untold"), parts.words(TEXTS, "untold-step")
        else:
            outcome = "nothing"
            why, step = parts.words(TEXTS, "no-kernel"), parts.words(TEXTS, "no-kernel-step")
    return replace(recorded, outcome=outcome, why=why, next_step=step, warnings=tuple(warnings))


def _left_behind(request: CaptureRequest, round_folder: Path) -> list[Words]:
    """What the tool left in the working folder, which no option of it can move."""
    try:
        begun = os.stat(round_folder / ACL_JSON).st_mtime  # written right before the start
    except OSError:
        return []
    folder = request.cwd / DEBUG_FOLDER
    new = []
    for path in files_in(folder):
        try:
            if path.stat().st_mtime >= begun:
                new.append(path.name)
        except OSError:
            continue
    if not new:
        return []
    return [parts.words(TEXTS, "left-behind", n=len(new), folder=folder, to=round_folder)]
