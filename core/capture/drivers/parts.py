"""What the drivers of memory and performance tools share: options checked, the console."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import open_input
from npulse.core.text import filled, safe_text

from ..driver import Words
from ..request import CaptureRequest

Range = tuple[int, int]
Accepted = Range | tuple[str, ...] | re.Pattern[str]
"""What an option takes: a range of whole numbers, one of some words, or a text of a pattern."""

YES_NO = ("yes", "no")
ON_OFF = ("on", "off")
CONSOLE_BYTES = 1 << 20
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|torchrun|deepspeed|accelerate|msrun|mpirun|vllm", re.ASCII)
_SCRIPT = (".py", ".sh", ".bash")


def words(texts: Mapping[str, Words], key: str, **values: object) -> Words:
    """A text of both languages with its values filled in."""
    en, zh = texts[key]
    return filled(en, values), filled(zh, values)


def settings_of(request: CaptureRequest) -> dict[str, str]:
    """The further options by their names as tools spell them: "leak_check" is "leak-check"."""
    return {name.strip().lstrip("-").replace("_", "-"): value for name, value in request.settings.items()}


def refuse(request: CaptureRequest, tool: str, fields: Iterable[str], hint: str = "") -> None:
    """UsageError where the request asks for one of these fields, which the tool does not have."""
    named = {"names": "--list", "pid": "--pid", "rank": "--rank", "step": "--step"}
    named |= {"level": "--level", "model": "--model"}
    for field in fields:
        if getattr(request, field) not in ("", (), None):
            raise UsageError(f"{tool} has no choice by {named[field]}", hint=hint or None)


def need_command(request: CaptureRequest, tool: str) -> None:
    """UsageError where there is nothing to start."""
    if not request.command:
        raise UsageError(f"{tool} needs a program to start", hint="npulse capture ... -- PROGRAM")


def checked(tool: str, settings: Mapping[str, str], known: Mapping[str, Accepted]) -> None:
    """UsageError for an option that is not `known`, or a value that it does not take."""
    for name, value in settings.items():
        if name not in known:
            raise UsageError(
                f"{tool} has no option --{safe_text(name, 80)}", hint="known: " + ", ".join(sorted(known))
            )
        accepted = known[name]
        if isinstance(accepted, re.Pattern):
            if not accepted.fullmatch(value):
                raise UsageError(f"--{name}: '{safe_text(value, 80)}' is not of the form {accepted.pattern}")
        elif isinstance(accepted[0], int):
            least, most = accepted
            number = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else -1
            if not int(least) <= number <= int(most):
                raise UsageError(f"--{name} takes {least} to {most}, not '{safe_text(value, 80)}'")
        elif value not in accepted:
            listed = ", ".join(map(str, accepted))
            raise UsageError(f"--{name} takes one of {listed}, not '{safe_text(value, 80)}'")


def is_option(name: str) -> bool:
    """Whether a name can be one of an option."""
    return _OPTION.fullmatch(name) is not None


def options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """As tools take them: --name=value."""
    return tuple(f"--{name}={value}" for name, value in settings.items())


def is_script(request: CaptureRequest) -> bool:
    """Whether the command is Python, one of its launchers, or a script that may start it."""
    name = os.path.basename(request.command[0]) if request.command else ""
    return _PYTHON.fullmatch(name) is not None or any(
        os.path.basename(word).endswith(_SCRIPT) for word in request.command[:2]
    )


def console_lines(console: Path) -> tuple[str, ...]:
    """The last lines of what was printed (1 MB of it at most), safe to show; () where there is nothing."""
    try:
        file, size_bytes = open_input(console)
    except InputError:
        return ()
    with file:
        file.seek(max(0, size_bytes - CONSOLE_BYTES))
        text = (file.read(CONSOLE_BYTES) or b"").decode("utf-8", "replace")
    return tuple(safe_text(line, 1000) for line in text.splitlines())


def last_with(lines: Iterable[str], *marks: str) -> str:
    """The last line that holds one of the marks, "" for none."""
    found = ""
    for line in lines:
        if any(mark in line for mark in marks):
            found = line.strip()
    return found


def end_words(exit_status: int | None, signal_number: int | None) -> Words:
    """How a program ended, in few words."""
    if signal_number is not None:
        return f"signal {signal_number}", f"信号 {signal_number}"
    if exit_status is None:
        return "never started", "未能启动"
    return f"exit code {exit_status}", f"退出码 {exit_status}"
