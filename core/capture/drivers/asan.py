"""Memory of host code by AddressSanitizer, LeakSanitizer and UBSan: programs that were built with -fsanitize.

The runtimes are told by their variables to write into the round, a file a process. A clean run would leave
no file at all; `atexit=1` has AddressSanitizer write its statistics at the end, which shows that it was
there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import open_input
from npulse.core.findings import Figures, Finding
from npulse.core.text import safe_text

from ..base import BaseDriver, count_files
from ..driver import RAW, Ended, Outcome, Plan, Recorded, SizeBasis, Words
from ..programs import program_of
from ..request import CaptureRequest, Kind
from ..rules_tools import finding
from . import parts
from .memory_logs import files_in, gap_step, gap_words, look_at_logs
from .size_estimates import of_host_reports
from .texts_memory import HOST as TEXTS

LOG = "asan.log"
"""Each process writes asan.log.PID."""

MAX_PROGRAM_BYTES = 1 << 29
_WINDOW_BYTES = 1 << 20
_MARKS = re.compile(
    rb"__asan_init|__lsan_init|__ubsan_handle|__hwasan_init|__tsan_init|__msan_init|lib(?:asan|lsan|ubsan|hwasan|tsan)\.so"
)
_LONGEST_MARK = 32
_STATISTICS = b"AddressSanitizer exit stats"
_LOG_PATH = re.compile(r"[^:'\"]{1,4000}")

OPTIONS: Mapping[str, parts.Accepted] = {
    "detect-leaks": ("0", "1"),
    "halt-on-error": ("0", "1"),
    "symbolize": ("0", "1"),
    "fast-unwind-on-malloc": ("0", "1"),
    "detect-stack-use-after-return": ("0", "1"),
    "check-initialization-order": ("0", "1"),
    "strict-init-order": ("0", "1"),
    "alloc-dealloc-mismatch": ("0", "1"),
    "malloc-context-size": (1, 255),
    "exitcode": (1, 255),
}


class AddressSanitizer(BaseDriver):
    """The program itself, with ASAN_OPTIONS, LSAN_OPTIONS and UBSAN_OPTIONS set."""

    id = "asan"
    kind: Kind = "memory"
    title: Words = (
        "AddressSanitizer, LeakSanitizer, UBSan: host code",
        "AddressSanitizer、LeakSanitizer、UBSan：主机代码",
    )
    tool = ""

    def check(self, request: CaptureRequest) -> None:
        parts.need_command(request, "AddressSanitizer")
        parts.refuse(request, "AddressSanitizer", ("pid", "rank", "step", "level", "model", "names"))
        parts.checked("AddressSanitizer", parts.settings_of(request), OPTIONS)
        if request.extra:
            raise UsageError("AddressSanitizer has no command line of its own", hint="use ASAN_OPTIONS")

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        program = program_of(request)
        if program is None or parts.is_script(request) or "asan" in request.environment.get("LD_PRELOAD", ""):
            return ()
        if holds_sanitizer(program) is False:
            return (finding(request, "capture.host-not-instrumented", safe_text(program.name)),)
        return ()

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_host_reports(request).need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_host_reports(request).basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        settings = {k.replace("-", "_"): v for k, v in parts.settings_of(request).items()}
        log = str(round_folder / RAW / LOG)
        if not _LOG_PATH.fullmatch(log):
            raise UsageError(
                "the archive's path has a colon or a quote, which the sanitizers' options cannot hold",
                hint="choose another --archive",
            )
        asan = {"detect_leaks": "1", "halt_on_error": "1", "symbolize": "1", "print_summary": "1"}
        leaks = {"print_suppressions": "1"}
        undefined = {"print_stacktrace": "1", "print_summary": "1"}
        own = {"log_path": log}
        environment: dict[str, str | None] = {
            "ASAN_OPTIONS": _joined(request, "ASAN_OPTIONS", asan, {**settings, "atexit": "1", **own}),
            "LSAN_OPTIONS": _joined(request, "LSAN_OPTIONS", leaks, own),
            "UBSAN_OPTIONS": _joined(request, "UBSAN_OPTIONS", undefined, own),
        }
        notes = [parts.words(TEXTS, "options")]
        if parts.is_script(request) and "asan" not in request.environment.get("LD_PRELOAD", ""):
            notes.append(parts.words(TEXTS, "preload"))
        if settings.get("halt_on_error") == "0":
            notes.append(parts.words(TEXTS, "recovers"))
        return Plan(request.command, environment, notes=tuple(notes))

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        logs = files_in(raw, LOG)
        look = look_at_logs((*logs, ended.console))
        n_files, size_bytes = count_files(raw)
        recorded = Recorded("recorded", n_files, size_bytes, found=look.kinds, is_failure=look.n_errors > 0)
        how = parts.end_words(ended.exit_status, ended.signal)
        is_from_outside = ended.is_killed or ended.stopped_by != ""
        if look.lost or look.unread:
            lost = (*look.lost, *(("unreadable",) if look.unread else ()))
            why = (gap_words(lost), gap_step(lost))
            is_refused = "runtime-refused" in lost and not look.kinds
            outcome: Outcome = "nothing" if is_refused else "incomplete"
            return replace(recorded, outcome=outcome, why=why[0], next_step=why[1])
        if look.n_errors:
            warnings = (parts.words(TEXTS, "leaks-uncounted"),) if is_from_outside else ()
            return replace(recorded, warnings=warnings)
        n_seen = sum(_has_statistics(log) for log in logs)
        program = program_of(request)
        is_built = None if program is None or parts.is_script(request) else holds_sanitizer(program)
        if n_seen == 0 and not look.kinds and not is_built:
            named = safe_text(program.name) if program is not None else ""
            key = "no-sign" if is_built is None else "not-instrumented"
            step = "no-sign-step" if is_built is None else "build-step"
            why_ = _both(key, how, program=named)
            return replace(recorded, outcome="nothing", why=why_, next_step=parts.words(TEXTS, step))
        if is_from_outside or ended.signal is not None or (n_seen == 0 and ended.exit_status != 0):
            return replace(
                recorded,
                outcome="incomplete",
                why=_both("ended-early", how),
                next_step=parts.words(TEXTS, "ended-early-step"),
            )
        warnings = () if n_seen else (parts.words(TEXTS, "clean-untold"),)
        return replace(recorded, warnings=warnings)

    def figures(self, raw: Path) -> Figures:
        look = look_at_logs(files_in(raw, LOG))
        return {"n_reports": sum(look.kinds.values()), "n_processes": look.n_logs}


def holds_sanitizer(program: Path) -> bool | None:
    """Whether an ELF program holds a sanitizer or is linked with one; None where nobody can tell.

    Its bytes are searched for the names of the runtimes' entry points: about 1 ms a MB.
    """
    try:
        file, size_bytes = open_input(program)
    except InputError:
        return None
    with file:
        before = file.read(4) or b""
        if before != b"\x7fELF" or size_bytes > MAX_PROGRAM_BYTES:
            return None
        while window := file.read(_WINDOW_BYTES):
            if _MARKS.search(before + window):
                return True
            before = window[-_LONGEST_MARK:]
    return False


def _joined(
    request: CaptureRequest, variable: str, defaults: Mapping[str, str], own: Mapping[str, str]
) -> str:
    """Options of one variable: ours where the user has none, the user's, and what this capture needs."""
    given = request.environment.get(variable, os.environ.get(variable, ""))
    return ":".join(f"{k}={v}" for k, v in {**defaults, **dict(_options_in(given)), **own}.items())


def _options_in(text: str) -> Iterator[tuple[str, str]]:
    """name=value of a variable; parted by colons, commas or blanks, values may be quoted."""
    for match in re.finditer(r"([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^:,\s]*)", text, re.ASCII):
        yield match[1], match[2]


def _has_statistics(log: Path) -> bool:
    """Whether AddressSanitizer wrote its figures at the process' end."""
    try:
        file, size_bytes = open_input(log)
    except InputError:
        return False
    with file:
        file.seek(max(0, size_bytes - (1 << 16)))
        return _STATISTICS in (file.read(1 << 16) or b"")


def _both(key: str, how: Words, **values: str) -> Words:
    en, zh = TEXTS[key]
    return en.format(how=how[0], **values), zh.format(how=how[1], **values)
