"""Leaks of pools and devices by msMemScope (formerly msLeaks)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from npulse.core.run.discover import discover

from ..base import BaseDriver, count_files
from ..driver import RAW, Ended, Plan, Recorded, SizeBasis, Words
from ..programs import has_program
from ..request import CaptureRequest, Kind
from . import parts
from .memory_logs import look_at_logs
from .size_estimates import of_results
from .texts_memory import SCOPE as TEXTS

PROGRAMS = ("msmemscope", "msleaks")
_LIST = re.compile(r"[A-Za-z0-9_,:-]{1,200}", re.ASCII)
OPTIONS: Mapping[str, parts.Accepted] = {
    "analysis": _LIST,
    "events": _LIST,
    "level": _LIST,
    "call-stack": _LIST,
    "device": _LIST,
    "data-format": ("csv", "db"),
}


class MsMemScope(BaseDriver):
    """msmemscope --analysis=leaks --output=raw -- PROGRAM; msleaks where only that is installed."""

    id = "msmemscope"
    kind: Kind = "memory"
    title: Words = ("msMemScope: leaks of pools and devices", "msMemScope：内存池与 device 泄漏")
    tool = "msmemscope"

    def check(self, request: CaptureRequest) -> None:
        parts.need_command(request, self.tool)
        parts.refuse(request, self.tool, ("pid", "rank", "level", "model", "names"))
        parts.refuse(request, self.tool, ("step",), hint="leaks are looked for over all steps")
        parts.checked(self.tool, parts.settings_of(request), OPTIONS)

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_results(request, self.id, "events-first").need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_results(request, self.id, "events-first").basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        program = next((name for name in PROGRAMS if has_program(request, name)), PROGRAMS[0])
        settings = {"analysis": "leaks", **parts.settings_of(request), "output": str(round_folder / RAW)}
        argv = (program, *parts.options(settings), *request.extra, "--", *request.command)
        return Plan(argv, notes=(parts.words(TEXTS, "analysis"),))

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        n_files, size_bytes = count_files(raw)
        kinds: dict[str, int] = {}
        if raw.is_dir():
            for artifact in discover(raw).artifacts:
                if artifact.kind.startswith("memscope."):
                    kinds[artifact.kind] = kinds.get(artifact.kind, 0) + 1
        leaks = look_at_logs((ended.console,)).kinds
        found = {**kinds, **leaks}
        if not kinds and not leaks:
            how = parts.end_words(ended.exit_status, ended.signal)
            why = (TEXTS["nothing"][0].format(how=how[0]), TEXTS["nothing"][1].format(how=how[1]))
            step = parts.words(TEXTS, "nothing-step")
            return Recorded("nothing", n_files, size_bytes, why=why, next_step=step)
        is_failure = bool(leaks.get("leak"))
        if ended.is_killed:
            why, step = parts.words(TEXTS, "killed"), parts.words(TEXTS, "killed-step")
            return Recorded(
                "incomplete", n_files, size_bytes, found=found, is_failure=is_failure, why=why, next_step=step
            )
        return Recorded("recorded", n_files, size_bytes, found=found, is_failure=is_failure)
