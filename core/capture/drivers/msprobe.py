"""Precision through msprobe: a config.json of the round, and a launcher that starts PrecisionDebugger."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Finding
from npulse.core.text import Lang

from ..base import BaseDriver
from ..driver import RAW, USUAL_WARY_BYTES, Ended, Plan, PlannedFile, Recorded, SizeBasis, Words
from ..earlier import earlier_round
from ..launcher import STEP_ON, launcher_environment, launcher_files
from ..request import CaptureRequest, Kind
from .dumped import CONFIG, recorded_dumps
from .texts_dump import words

if TYPE_CHECKING:
    from npulse.core.config.estimate import Estimate

SETTINGS = (
    *("task", "scope", "tensor_list", "data_mode", "summary_mode", "async_dump", "dump_enable"),
    *("extra_info", "risk_level", "msprobe_version", "step-on", "name_list"),
)
"""What `settings` may hold, spelled as in config.json; lists with commas.

step-on: of the launcher. name_list: where the names for globs of --list come from."""
LANGS: tuple[Lang, Lang] = ("en", "zh")

KEEP_DTYPE = "keep_dtype.cfg"
WARY_BYTES: Mapping[str, int] = {"large": 10 << 30, "huge": 200 << 30}
"""By the class of the cost: tensors in gigabytes, in hundreds of them."""
MANY_STEPS = 100
"""Room for as many of the earlier round's steps is enough where steps are not limited."""

_LISTS = ("scope", "tensor_list", "data_mode")
_SWITCHES = ("async_dump", "dump_enable", "extra_info")
_NUMBERS = re.compile(r"\d+")


class Msprobe(BaseDriver):
    """PrecisionDebugger around the steps of a PyTorch program that need not know of it."""

    id = "msprobe"
    kind: Kind = "precision"
    title: Words = ("msprobe dump of tensors or statistics", "msprobe 张量或统计量采集")
    tool = "msprobe"
    task: ClassVar[str] = "statistics"
    """Where the request names none."""

    def check(self, request: CaptureRequest) -> None:
        if not request.command:
            raise UsageError(
                "msprobe records a program that it starts with", hint="give its command behind --"
            )
        if request.extra:
            raise UsageError("msprobe takes no further words", hint="use --set NAME=VALUE for config.json")
        unknown = sorted(set(request.settings) - set(self.settings_of(request)))
        if unknown:
            raise UsageError(f"msprobe has no setting '{unknown[0]}'", hint="known: " + ", ".join(SETTINGS))
        step_on(request)
        self.config(request, request.archive / request.name / RAW)

    def settings_of(self, request: CaptureRequest) -> tuple[str, ...]:
        return SETTINGS

    def config(self, request: CaptureRequest, raw: Path) -> dict[str, Any]:
        """The content of config.json. UsageError where its rules find an error."""
        return self.made(request, raw)

    def made(self, request: CaptureRequest, raw: Path, **wanted: Any) -> dict[str, Any]:
        """The same, with further keys of `make.msprobe_config`."""
        from npulse.core.config import make

        from .selected import selected

        settings = request.settings
        for name in _LISTS:
            if settings.get(name):
                wanted[name] = tuple(part.strip() for part in settings[name].split(",") if part.strip())
        for name in _SWITCHES:
            if name in settings:
                wanted[name] = switch_of(name, settings[name])
        for name in ("summary_mode", "risk_level"):
            if name in settings:
                wanted[name] = settings[name]
        names = selected("msprobe", request).items if request.names else ()
        return make.msprobe_config(
            dump_path=str(raw),
            task=settings.get("task", self.task),
            level=request.level or "L1",
            rank=request.rank,
            step=request.step,
            list=names,
            version=settings.get("msprobe_version"),
            lang=request.lang,
            **wanted,
        )

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return estimate_of(self.config(request, Path("/")), request)

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return size_basis_of(self.config(request, Path("/")), request)

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        from .dump_preflight import dump_preflight

        return dump_preflight(request)

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        from npulse.core.config import make

        config = self.config(request, round_folder / RAW)
        path = round_folder / CONFIG
        files = [
            PlannedFile(CONFIG, make.config_text(config)),
            *launcher_files(
                round_folder,
                tool="msprobe",
                config=path,
                step_on=step_on(request),
                last_step=last_step(config.get("step", ())),
            ),
        ]
        notes = [words("launcher", folder=str(round_folder / "launcher"))]
        notes.append(words("debug-level") if config.get("level") == "debug" else words("steps-are"))
        if config.get("dump_enable") is False:
            notes.append(words("switch-off"))
        notes += glob_notes(request)
        if request.keep_fp32:
            lists, told = keep_fp32_files(request, round_folder)
            files += lists
            notes += told
        return Plan(
            argv=request.command,
            environment=launcher_environment(request, round_folder),
            files=tuple(files),
            notes=tuple(notes),
        )

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...]:
        """config.json with the other dump_enable: msprobe reads it again at the next start, stop or step."""
        path = round_folder / CONFIG
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"the round's config.json cannot be read: {error}", path=path) from error
        if not isinstance(config, dict) or not isinstance(config.get("dump_enable"), bool):
            raise UsageError(
                "msprobe reads dump_enable again only where it was there at the start",
                hint="capture with --set dump_enable=true or false",
            )
        return (PlannedFile(CONFIG, json.dumps({**config, "dump_enable": is_on}, indent=1) + "\n"),)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        return recorded_dumps(request, round_folder, ended)


def glob_notes(request: CaptureRequest) -> list[Words]:
    """What became of the globs among the names."""
    from .selected import selected

    if not request.names:
        return []
    en, zh = (selected("msprobe", request, lang).notes for lang in LANGS)
    return list(zip(en, zh, strict=True))


def step_on(request: CaptureRequest) -> Any:
    wanted = request.settings.get("step-on", "auto")
    if wanted not in STEP_ON:
        raise UsageError(f"step-on is one of {', '.join(STEP_ON)}, not '{wanted}'")
    return wanted


def switch_of(name: str, text: str) -> bool:
    known = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    if text.lower() not in known:
        raise UsageError(f"{name} is true or false, not '{text}'")
    return known[text.lower()]


def last_step(steps: Any) -> int | None:
    """The last step of a config.json's list of numbers and ranges; None for all steps."""
    ends = [int(n) for step in steps for n in _NUMBERS.findall(str(step))]
    return max(ends) if ends else None


def keep_fp32_files(request: CaptureRequest, round_folder: Path) -> tuple[list[PlannedFile], list[Words]]:
    """The compilers' lists of what stays in float32, and how they are taken."""
    from npulse.core.config.keep_fp32 import keep_fp32

    made = keep_fp32(layers=request.keep_fp32, lang=request.lang)
    files = [PlannedFile(KEEP_DTYPE, made.keep_dtype)]
    en, zh = (made.told(str(round_folder / KEEP_DTYPE), lang=lang) for lang in ("en", "zh"))
    return files, list(zip(en, zh, strict=True))


def estimate_of(config: dict[str, Any], request: CaptureRequest) -> tuple[int, int] | None:
    """Least and most bytes of a configuration; None where nobody can tell."""
    found, _ = _estimated(config, request)
    least, most = found.bytes_at_least, found.bytes_at_most
    return None if least is None or most is None else (least, most)


def size_basis_of(config: dict[str, Any], request: CaptureRequest) -> SizeBasis:
    """The earlier round that the estimate of a configuration rests on; without one the class of its cost."""
    found, like = _estimated(config, request)
    told = [found.told(lang) for lang in ("en", "zh")]
    why = ("; ".join(told[0]), "；".join(told[1]))
    if like is not None:
        wary_bytes = MANY_STEPS * (found.bytes_likely or 0)
        return SizeBasis(words("size-like", name=like, why=why), max(USUAL_WARY_BYTES, wary_bytes))
    if found.cost != "unknown":
        why = words("size-first", why=why)
    return SizeBasis(why, WARY_BYTES.get(found.cost, USUAL_WARY_BYTES))


def _estimated(config: dict[str, Any], request: CaptureRequest) -> tuple[Estimate, str | None]:
    """(the estimate, the name of the earlier round that it rests on)."""
    from npulse.core.config import estimate

    like = earlier_round(request)
    if like is not None:
        with suppress(InputError):  # it holds something else
            return estimate.estimate_bytes(config, like=like.raw), like.folder.name
    return estimate.estimate_bytes(config), None
