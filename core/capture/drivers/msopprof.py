"""Performance of single kernels by msOpProf, on a card or in the simulator. Exit status 0 says nothing: the
folder OPPROF_* does."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Figures, Finding
from npulse.core.formats.opprof.folders import KernelFolder, find_kernels
from npulse.core.text import safe_text

from ..base import BaseDriver, count_files
from ..driver import RAW, Ended, Plan, Recorded, SizeBasis, StopStep, Words
from ..programs import has_program
from ..request import CaptureRequest, Kind
from ..rules_tools import finding
from . import parts
from .kernel_builds import preflight_of_kernels
from .size_estimates import of_results
from .texts_performance import OPPROF as TEXTS

PROGRAM = "msopprof"
BOARD_METRICS = (
    *("ArithmeticUtilization", "L2Cache", "Memory", "MemoryL0", "MemoryUB", "PipeUtilization"),
    *("ResourceConflictRatio", "Default", "KernelScale", "Roofline", "Occupancy", "TimelineDetail"),
    *("MemoryDetail", "BasicInfo", "Source", "PipeTimeline", "InstrTimeline", "PcSampling"),
)
SIMULATOR_METRICS = ("PipeUtilization", "ResourceConflictRatio", "PMSampling", "OverHead")
LEVELS: Mapping[str, str] = {"0": "BasicInfo", "2": "Default", "3": "TimelineDetail"}
"""The documents' --profiling-level -> --aic-metrics on a card; a simulation tells instructions as it is."""

_NAMES = re.compile(r"[A-Za-z0-9_|*.:-]{1,2000}", re.ASCII)
_CORES = re.compile(r"\d{1,3}(?:\|\d{1,3})*", re.ASCII)
_TEXT = re.compile(r"[^\x00-\x1f]{1,4000}")
BOARD: Mapping[str, parts.Accepted] = {
    "launch-count": (1, 5000),
    "launch-skip-before-match": (0, 1000),
    "replay-mode": ("kernel", "application", "range"),
    "kill": parts.ON_OFF,
    "mstx": parts.ON_OFF,
    "mstx-include": _TEXT,
    "warm-up": (0, 500),
    "dump": parts.ON_OFF,
    "core-id": _CORES,
    "config": _TEXT,
    "custom-input": _TEXT,
}
SIMULATOR: Mapping[str, parts.Accepted] = {
    "launch-count": (1, 5000),
    "launch-skip-before-match": (0, 1000),
    "timeout": (1, 2880),
    "dump": parts.ON_OFF,
    "core-id": _CORES,
    "config": _TEXT,
    "mstx": parts.ON_OFF,
    "mstx-include": _TEXT,
}
_CHIP = re.compile(r"Ascend[A-Za-z0-9_]{1,32}", re.ASCII)
_STOP = (
    StopStep(signal.SIGINT, 60.0),  # the collection ends, results are written
    StopStep(signal.SIGINT, 15.0),  # it quits
    StopStep(signal.SIGTERM, 5.0),
    StopStep(signal.SIGKILL, 5.0),
)
_ALL_SUCCESS = "All task success"


class MsOpProf(BaseDriver):
    """msopprof OPTIONS PROGRAM; with soc-version: msopprof simulator --soc-version=CHIP OPTIONS PROGRAM."""

    id = "msopprof"
    kind: Kind = "performance"
    title: Words = (
        "msOpProf: single kernels, on a card or simulated",
        "msOpProf：单个 kernel，上板或仿真",
    )
    tool = PROGRAM

    def check(self, request: CaptureRequest) -> None:
        settings = _options(request)
        if not settings.get("config"):
            parts.need_command(request, PROGRAM)
        parts.refuse(request, PROGRAM, ("pid", "rank", "model"))
        parts.refuse(
            request, PROGRAM, ("step",), hint="--set launch-skip-before-match=N skips launches of a kernel"
        )
        chip = settings.pop("soc-version", "")
        metrics = settings.pop("aic-metrics", "")
        names = settings.pop("kernel-name", "")
        if chip and not _CHIP.fullmatch(chip):
            raise UsageError(
                f"'{safe_text(chip, 80)}' is no chip", hint="for example --set soc-version=Ascend910B3"
            )
        if names and not _NAMES.fullmatch(names):
            raise UsageError(f"'{safe_text(names, 80)}' is no name of a kernel", hint="for example add|abs*")
        known = SIMULATOR_METRICS if chip else BOARD_METRICS
        for word in filter(None, metrics.split(",")):
            if word not in known:
                raise UsageError(
                    f"--aic-metrics has no '{safe_text(word, 80)}' here", hint="known: " + ", ".join(known)
                )
        parts.checked(PROGRAM, settings, SIMULATOR if chip else BOARD)
        if settings.get("replay-mode") == "range" and settings.get("mstx") != "on":
            raise UsageError("--replay-mode=range needs --mstx=on", hint="add --set mstx=on")

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        options = _options(request)
        found = [
            one
            for one in preflight_of_kernels(request, (), options)
            if one.rule == "capture.kernel-unoptimised"
        ]
        if options.get("soc-version"):
            found.append(finding(request, "capture.no-simulator", PROGRAM))
        return tuple(found)

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_results(request, self.id, "kernels-first").need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_results(request, self.id, "kernels-first").basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        settings = _options(request)
        chip = settings.pop("soc-version", "")
        notes: list[Words] = []
        program: tuple[str, ...] = (PROGRAM,)
        if not has_program(request, PROGRAM) and has_program(request, "msprof"):
            program = ("msprof", "op")
            notes.append(parts.words(TEXTS, "old-name"))
        if chip:
            program = (*program, "simulator", f"--soc-version={chip}")
            notes.append(parts.words(TEXTS, "simulator", chip=chip))
        else:
            notes.append(parts.words(TEXTS, "replays"))
        if request.level is not None:
            mapped = f"--aic-metrics={settings['aic-metrics']}" if "aic-metrics" in settings else "simulator"
            notes.append(parts.words(TEXTS, "level", level=request.level, mapped=mapped))
        settings = {"output": str(round_folder / RAW), **settings}
        argv = (*program, *parts.options(settings), *request.extra, *request.command)
        return Plan(argv, stop=_STOP, notes=tuple(notes))

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        n_files, size_bytes = count_files(raw)
        kernels = kernels_in(raw)
        lines = parts.console_lines(ended.console)
        done = [kernel for kernel in kernels if kernel.layout != "collecting"]
        found = {"opprof.result": len(done)} if done else {}
        warnings = []
        if done and lines and not any(_ALL_SUCCESS in line for line in lines):
            warnings.append(parts.words(TEXTS, "not-all"))
        devices = tuple(sorted({kernel.device for kernel in done if kernel.device is not None}))
        if not kernels:
            return Recorded(
                "nothing",
                n_files,
                size_bytes,
                n_operators=0,
                why=_nothing(ended, lines),
                next_step=parts.words(TEXTS, "nothing-step"),
            )
        n_raw = len(kernels) - len(done)
        if n_raw:
            return Recorded(
                "incomplete",
                n_files,
                size_bytes,
                ranks=devices,
                n_operators=len(done),
                found=found,
                why=parts.words(TEXTS, "raw", n=n_raw, all=len(kernels)),
                next_step=parts.words(TEXTS, "raw-step"),
                warnings=tuple(warnings),
            )
        return Recorded(
            "recorded",
            n_files,
            size_bytes,
            ranks=devices,
            n_operators=len(done),
            found=found,
            warnings=tuple(warnings),
        )

    def figures(self, raw: Path) -> Figures:
        kernels = kernels_in(raw)
        return {
            "n_kernels": len(kernels),
            "n_replays": sum(kernel.n_replays for kernel in kernels),
            "kernels": sorted({safe_text(kernel.kernel, 200) for kernel in kernels if kernel.kernel})[:100],
        }


def kernels_in(raw: Path) -> tuple[KernelFolder, ...]:
    """The kernels of every OPPROF_* folder in the round's raw data."""
    found: list[KernelFolder] = []
    for folder in sorted(raw.glob("OPPROF_*")):
        try:
            found += find_kernels(folder, root=raw)[0]
        except InputError:
            continue
    return tuple(found)


def _options(request: CaptureRequest) -> dict[str, str]:
    """Options of the tool, with names and level as it spells them."""
    settings = parts.settings_of(request)
    if request.names:
        settings["kernel-name"] = "|".join(request.names)
    level = request.level
    if level is None or "aic-metrics" in settings:
        return settings
    if level == "1":
        raise UsageError(
            "msopprof has no level 1: it profiles kernels, not iterations",
            hint="--tool torch-profiler, or --tool msprof --level 1",
        )
    if level not in LEVELS:
        raise UsageError(f"msopprof has no level '{safe_text(level, 80)}'", hint="0, 2 or 3 of the documents")
    if not (level == "3" and settings.get("soc-version")):
        settings["aic-metrics"] = "PipeUtilization" if settings.get("soc-version") else LEVELS[level]
    return settings


def _nothing(ended: Ended, lines: tuple[str, ...]) -> Words:
    said = parts.last_with(lines, "[ERROR]") or parts.last_with(lines, "[WARN]")
    said = f": {said}" if said else ""
    if ended.exit_status == 255:
        return parts.words(TEXTS, "exit-255", said=said)
    how = parts.end_words(ended.exit_status, ended.signal)
    en, zh = TEXTS["nothing"]
    return en.format(how=how[0], said=said), zh.format(how=how[1], said=said)
