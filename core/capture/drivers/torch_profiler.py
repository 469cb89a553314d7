"""Performance by torch_npu.profiler: some steps of a PyTorch program, its script unchanged.

Two ways (`--set way=`). launcher: a `sitecustomize.py` in the round starts the profiler within the program,
by a schedule made from --step. config: torch_npu's dynamic_profile, which looks every second or two whether
`profiler_config.json` was written anew; a file that was there before the start is not acted on, so recording
begins with `switch`, never by itself, and the first step cannot be had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import open_input
from npulse.core.findings import Figures, Finding
from npulse.core.text import safe_text

from ..base import BaseDriver
from ..driver import RAW, Ended, Plan, PlannedFile, Recorded, SizeBasis, Words
from ..launcher import entry_files, launcher_environment, read_launcher_log
from ..programs import is_elf, program_of, python_of
from ..request import CaptureRequest, Kind
from ..rules_tools import finding
from . import parts
from .sessions import figures_of, look_at_sessions, recorded_of
from .size_estimates import of_sessions
from .texts_performance import TORCH as TEXTS

DYNAMIC = "dynamic_profile/profiler_config.json"
WAYS = ("launcher", "config")
LEVELS: Mapping[str, str] = {"0": "Level0", "1": "Level0", "2": "Level1"}
"""The documents' --profiling-level -> the profiler's; 3 (instructions) is not the profiler's."""
OWN_LEVELS = ("Level_none", "Level0", "Level1", "Level2")
METRICS = (
    *("AiCoreNone", "PipeUtilization", "ArithmeticUtilization", "Memory", "MemoryL0", "MemoryUB"),
    *("ResourceConflictRatio", "L2Cache", "MemoryAccess"),
)

_SWITCHES = ("with-stack", "record-shapes", "profile-memory", "with-modules", "with-flops", "l2-cache")
OPTIONS: Mapping[str, parts.Accepted] = {
    **dict.fromkeys((*_SWITCHES, "data-simplification", "analyse"), parts.YES_NO),
    "way": WAYS,
    "step-on": ("optimizer", "forward"),
    "aic-metrics": METRICS,
    "export-type": ("text", "db"),
    "wait": (0, 10**8),
    "warmup": (0, 10**6),
    "active": (1, 10**6),
    "repeat": (1, 10**6),
    "skip-first": (0, 10**8),
}
_STEPS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_MAX_CONFIG_BYTES = 1 << 20
_CONFIG_PATH = re.compile(r"[A-Za-z0-9_/-]{1,3000}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the profiler does with the steps of a program, counted from 0: `skip_first` of them left out, then
    `repeat` times wait, warmup, active."""

    wait: int
    warmup: int
    active: int
    repeat: int
    skip_first: int

    @property
    def steps(self) -> tuple[int, ...]:
        """Those that are recorded, the first 10,000."""
        cycle = self.wait + self.warmup + self.active
        first = self.skip_first + self.wait + self.warmup
        found = (first + turn * cycle + one for turn in range(self.repeat) for one in range(self.active))
        return tuple(step for step, _ in zip(found, range(10_000), strict=False))


class TorchProfiler(BaseDriver):
    """The program itself, with the profiler started within it."""

    id = "torch-profiler"
    kind: Kind = "performance"
    title: Words = (
        "torch_npu.profiler: steps of a PyTorch program",
        "torch_npu.profiler：PyTorch 程序的 step",
    )
    tool = "torch_npu"

    def check(self, request: CaptureRequest) -> None:
        parts.need_command(request, "torch_npu.profiler")
        parts.refuse(request, "torch_npu.profiler", ("pid", "model"))
        parts.refuse(request, "torch_npu.profiler", ("names",), hint="it records all operators of a step")
        parts.checked("torch_npu.profiler", parts.settings_of(request), OPTIONS)
        if request.extra:
            raise UsageError("torch_npu.profiler has no command line of its own", hint="use --set NAME=VALUE")
        level_of(request)
        ranks_of(request)
        schedule_of(request)

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        if request.command and not parts.is_script(request) and is_elf(program_of(request)):
            return (finding(request, "capture.not-python", safe_text(request.command[0])),)
        return ()

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return of_sessions(request, (self.id,)).need

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return of_sessions(request, (self.id,)).basis

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        self.check(request)
        level, notes = level_of(request)
        if _way(request) == "config":
            return self._by_config(request, round_folder, notes)
        schedule = schedule_of(request)
        settings = parts.settings_of(request)
        marks = settings.get("step-on", "optimizer")
        turns = asdict(schedule)
        config = {
            "output": str(round_folder / RAW),
            "schedule": turns,
            "step_on": marks,
            "ranks": list(ranks_of(request)),
            "analyse": settings.get("analyse", "yes") == "yes",
            **{name.replace("-", "_"): settings.get(name) == "yes" for name in _SWITCHES},
            "level": level,
            "aic_metrics": _metrics(request, level),
            "data_simplification": settings.get("data-simplification", "yes") == "yes",
            "export_type": settings.get("export-type", "text"),
        }
        files = entry_files(Path(__file__).with_name("in_torch.py"), config)
        environment = launcher_environment(request, round_folder)
        said = TEXTS["launcher"]
        how = TEXTS[f"marks-{marks}"]
        told = (said[0].format(marks=how[0]), said[1].format(marks=how[1]))
        notes = [told, parts.words(TEXTS, "schedule", **turns), *notes]
        return Plan(request.command, environment, files, notes=tuple(notes))

    def _by_config(self, request: CaptureRequest, round_folder: Path, notes: list[Words]) -> Plan:
        """torch_npu's dynamic_profile: its file is there from the start, and says to record nothing."""
        path = round_folder / DYNAMIC
        if not _CONFIG_PATH.fullmatch(str(path.parent)):
            raise UsageError(
                "torch_npu takes only letters, digits, _ and - in PROF_CONFIG_PATH",
                hint="choose another --archive and --name, or leave way=config out",
            )
        file = PlannedFile(DYNAMIC, dynamic_config(request, round_folder))
        told = (parts.words(TEXTS, "config", path=path), parts.words(TEXTS, "shared-memory"), *notes)
        return Plan(request.command, {"PROF_CONFIG_PATH": str(path.parent)}, (file,), notes=told)

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...] | tuple[str, ...]:
        try:
            file, _ = open_input(round_folder / DYNAMIC, round_folder)
        except InputError as error:
            raise UsageError(
                "torch_npu.profiler follows its schedule in this round", hint="--set way=config has a switch"
            ) from error
        with file:
            config = json.loads(file.read(_MAX_CONFIG_BYTES) or b"{}")
        config["start_step"] = -1 if is_on else 0
        return (PlannedFile(DYNAMIC, json.dumps(config, indent=1) + "\n"),)

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        look = look_at_sessions(round_folder / RAW)
        raw = [one for one in look.raw if one.kind == "pytorch" and one.n_files]
        if not raw or parts.settings_of(request).get("analyse") == "no":
            return None
        folder = raw[0].folder if len(raw) == 1 else look.root
        code = "import sys; from torch_npu.profiler.profiler import analyse; analyse(sys.argv[1])"
        argv = (python_of(request) or "python3", "-c", code, str(folder))
        return Plan(argv, notes=(parts.words(TEXTS, "finish"),))

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        look = look_at_sessions(round_folder / RAW)
        is_config = _way(request) == "config"
        lines = parts.console_lines(ended.console)
        said = parts.last_with(lines, "npulse: ", "[ERROR]", "Error: ")
        how = parts.end_words(ended.exit_status, ended.signal)
        is_unread = not is_config and not read_launcher_log(round_folder).python
        en, zh = TEXTS["no-python" if is_unread else "nothing"]
        said = f": {said}" if said else ""
        recorded = recorded_of(
            look,
            ended,
            nothing=(en.format(how=how[0], said=said), zh.format(how=how[1], said=said)),
            nothing_step=parts.words(TEXTS, "nothing-config-step" if is_config else "nothing-step"),
        )
        asked = schedule_of(request).steps
        if is_config or recorded.outcome != "recorded" or not 0 < len(look.steps) < len(asked):
            return recorded
        values = {"n": len(look.steps), "asked": len(asked), "last": look.steps[-1]}
        return replace(
            recorded,
            outcome="incomplete",
            why=parts.words(TEXTS, "fewer-steps", **values),
            next_step=parts.words(TEXTS, "fewer-steps-step"),
        )

    def figures(self, raw: Path) -> Figures:
        return figures_of(look_at_sessions(raw))


def level_of(request: CaptureRequest) -> tuple[str, list[Words]]:
    """The profiler's level, and what is said of it. UsageError for what is none."""
    level = request.level
    if level is None:
        return "Level1", [parts.words(TEXTS, "level-none")]
    if level in OWN_LEVELS:
        return level, []
    if level == "3":
        raise UsageError(
            "torch_npu.profiler tells no instructions (level 3)",
            hint="--tool msopprof --set soc-version=CHIP does, of single kernels",
        )
    if level not in LEVELS:
        raise UsageError(
            f"torch_npu.profiler has no level '{safe_text(level, 80)}'",
            hint="0 to 2 of the documents, or one of " + ", ".join(OWN_LEVELS),
        )
    mapped = LEVELS[level]
    more = f"profiler_level={mapped}, aic_metrics={_metrics(request, mapped)}"
    return mapped, [parts.words(TEXTS, "level", level=level, mapped=more)]


def schedule_of(request: CaptureRequest) -> Schedule:
    """The schedule for --step, each of its parts replaced by a setting of its name.

    "5-10": steps 5 to 10, one step before them to warm up. Steps that lie evenly ("3|6|9") repeat. Without
    --step the third step is recorded. UsageError for uneven ones, and for step 0 where it can't be had.
    """
    settings = parts.settings_of(request)
    wait, warmup, active, repeat, skip_first = 0, 1, 1, 1, 1
    if request.step:
        shown = safe_text(request.step, 80)
        ranges = _ranges(request.step)
        first, last = ranges[0]
        active = last - first + 1
        repeat = len(ranges)
        if repeat > 1:
            gap = ranges[1][0] - last - 1
            even = [(first + turn * (active + gap), last + turn * (active + gap)) for turn in range(repeat)]
            if even != ranges:
                raise UsageError(
                    f"--step {shown}: one schedule takes ranges of one length and distance",
                    hint="for example 5-10, or 3|6|9; capture others in rounds of their own",
                )
            warmup = 1 if gap else 0
            wait = gap - warmup
            skip_first = first - gap
            if skip_first < 0:  # the first turn would need more steps in front than there are
                raise UsageError(
                    f"--step {shown}: at least {gap} steps have to lie before the first",
                    hint="begin later, or capture the first range in a round of its own",
                )
        else:
            warmup = 1 if first else 0
            skip_first = first - warmup
    chosen = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip-first": skip_first}
    chosen |= {name: int(settings[name]) for name in chosen if name in settings}
    return Schedule(
        chosen["wait"], chosen["warmup"], chosen["active"], chosen["repeat"], chosen["skip-first"]
    )


def ranks_of(request: CaptureRequest) -> tuple[int, ...]:
    """Ranks of --rank ("0,2-4"), () for all."""
    if not request.rank:
        return ()
    ranges = _ranges(request.rank.replace(",", "|"))
    return tuple(rank for first, last in ranges for rank in range(first, last + 1))


def dynamic_config(request: CaptureRequest, round_folder: Path) -> str:
    """profiler_config.json as torch_npu's dynamic_profile reads it, recording nothing yet (start_step 0)."""
    level, _ = level_of(request)
    settings = parts.settings_of(request)
    ranks = ranks_of(request)
    schedule = schedule_of(request)
    config = {
        "activities": ["CPU", "NPU"],
        "prof_dir": str(round_folder / RAW),
        "analyse": settings.get("analyse", "yes") == "yes",
        **{name.replace("-", "_"): settings.get(name) == "yes" for name in _SWITCHES if name != "l2-cache"},
        "active": schedule.active,
        "warmup": int(settings.get("warmup", "0")),
        "start_step": 0,
        "is_rank": bool(ranks),
        "rank_list": list(ranks),
        "experimental_config": {
            "profiler_level": level,
            "aic_metrics": _metrics(request, level),
            "l2_cache": settings.get("l2-cache") == "yes",
            "data_simplification": settings.get("data-simplification", "yes") == "yes",
            "export_type": [settings.get("export-type", "text")],
        },
    }
    return json.dumps(config, indent=1) + "\n"


def _way(request: CaptureRequest) -> str:
    return parts.settings_of(request).get("way", WAYS[0])


def _metrics(request: CaptureRequest, level: str) -> str:
    usual = "PipeUtilization" if level in ("Level1", "Level2") else "AiCoreNone"
    return parts.settings_of(request).get("aic-metrics", usual)


def _ranges(text: str) -> list[tuple[int, int]]:
    """ "0|5-10" -> [(0, 0), (5, 10)], in ascending order. UsageError for another grammar."""
    found: list[tuple[int, int]] = []
    for word in text.split("|"):
        match = _STEPS.fullmatch(word.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if last < first or last - first > 10**6:
            raise UsageError(f"'{safe_text(text, 80)}' names no steps or ranks", hint="for example 0|5-10")
        found.append((first, last))
    found.sort()
    for before, after in zip(found, found[1:], strict=False):
        if after[0] <= before[1]:
            raise UsageError(f"'{safe_text(text, 80)}' names a number twice", hint="for example 0|5-10")
    return found
