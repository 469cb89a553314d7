"""A command line of a tool or a document, word by word, and the command of ours that does the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from npulse.core.errors import UsageError
from npulse.core.formats.shell_words import commands
from npulse.core.text import Lang, safe_text

from .texts_commands import ADDED, COMMANDS, DOCUMENT_OPTIONS, KnownCommand, KnownOption

MAX_CHARS, MAX_WORDS = 8192, 200
State = Literal["tool", "ours", "documents", "value", "word", "unknown"]
"""Of a word: the tool has it; documents and `npulse precision` do; documents alone do; it is the value of
the option before it; it belongs to no option; nobody has it."""


@dataclass(frozen=True, slots=True)
class ToldWord:
    """One word of the line. says: (en, zh), "" for a value."""

    text: str
    state: State
    says: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class ToldLine:
    """A line explained. is_real: whether the tool has that command. real: what to write where it has not.
    ours: commands of npulse, filled in; <ROLE> stands for what the line does not say."""

    command: KnownCommand
    is_real: bool
    words: tuple[ToldWord, ...]
    ours: tuple[str, ...]


def is_command_line(text: str) -> bool:
    """Whether a text begins with a tool whose command lines are known."""
    first = text.split(None, 1)[:1]
    return bool(first) and _tool_of(first[0]) is not None


def _tool_of(word: str) -> str | None:
    name = word.rsplit("/", 1)[-1]
    return name if any(command.tool == name for command in COMMANDS) else None


def explain_line(text: str) -> ToldLine:
    """The line explained. UsageError for one that is too long, or of a tool or command that is not known."""
    if len(text) > MAX_CHARS:
        raise UsageError(f"more than {MAX_CHARS:,} characters: give one command line")
    words = [word.text for word in next(commands(text, is_script=True), [])]
    if len(words) > MAX_WORDS:
        raise UsageError(f"more than {MAX_WORDS} words: give one command line")
    tool = _tool_of(words[0]) if words else None
    if tool is None:
        raise UsageError(
            f"no command line of a tool that is known here: {safe_text(text)[:60]}",
            hint="known: " + ", ".join(sorted({one.tool for one in COMMANDS})),
        )
    rest = words[1:]
    if tool == "msprobe" and rest[:1] == ["-f"]:  # 8.x: msprobe -f pytorch compare ...
        rest = rest[2:]
    named = {one.name: one for one in COMMANDS if one.tool == tool}
    command = named.get("")
    if command is None:
        name = rest[0] if rest else ""
        if name not in named:
            hint = "commands: " + ", ".join(one for one in named if not named[one].real)
            raise UsageError(f"{tool} has no command '{safe_text(name)[:40]}'", hint=hint)
        command, rest = named[name], rest[1:]
    told, roles = _words(command, rest)
    return ToldLine(command, not command.real, told, tuple(_filled(one, roles) for one in command.ours))


def _words(command: KnownCommand, words: Sequence[str]) -> tuple[tuple[ToldWord, ...], dict[str, str]]:
    """Each word with what it is, and the values by their roles."""
    told: list[ToldWord] = []
    roles: dict[str, str] = {}
    at = 0
    while at < len(words):
        word, _, joined = words[at].partition("=") if words[at].startswith("--") else (words[at], "", "")
        at += 1
        option, state = _option(command, word)
        if option is None:
            is_option = word.startswith("-") and not re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", word)
            told.append(ToldWord(words[at - 1], "unknown" if is_option else "word"))
            if not is_option:
                _take_free(roles, word)
            continue
        told.append(ToldWord(word, state, option.says))
        values = [joined] if joined else _values(words[at:], option.n_values)
        at += 0 if joined else len(values)
        told += [ToldWord(value, "value") for value in values]
        for role, value in zip(option.role.split("+"), values, strict=False):
            if role:
                roles[role] = value
    return tuple(told), roles


def _option(command: KnownCommand, word: str) -> tuple[KnownOption | None, State]:
    """The option of that name of the command, else one of `npulse precision` that documents use."""
    own: State = "documents" if command.real else "tool"
    for option in command.options:
        if word in option.names:
            return option, own
    return next((one for one in DOCUMENT_OPTIONS if word in one.names), None), "ours"


def _values(words: Sequence[str], n_values: int) -> list[str]:
    found: list[str] = []
    for word in words if n_values < 0 else words[:n_values]:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            break
        found.append(word)
    return found


def _take_free(roles: dict[str, str], word: str) -> None:
    """A word that belongs to no option: the first is what is looked at, the second the golden capture."""
    for role in ("run", "golden"):
        if role not in roles:
            roles[role] = word
            return


_ROLE = re.compile(r"\{([a-z]+)\}")


def _filled(template: str, roles: dict[str, str]) -> str:
    """A command of ours with the values of the line; what they say of figures and limits is handed on."""
    same = {"target": ("target", "run"), "run": ("run", "target")}

    def value(match: re.Match[str]) -> str:
        for role in same.get(match[1], (match[1],)):
            if role in roles:
                return _quoted(roles[role])
        return f"<{match[1].upper()}>"

    line = _ROLE.sub(value, template)
    if line.startswith("npulse precision "):
        line += "".join(f" --{role} {_quoted(roles[role])}" for role in ADDED if role in roles)
        report = roles.get("report", roles.get("out", ""))
        if re.search(r"\.(html|md|json|csv|xlsx|xml|txt)$", report):
            line = line.replace(" -o report.html", f" -o {_quoted(report)}")
    return line


def _quoted(word: str) -> str:
    """A word as one types it: an option's value that begins with a dash is a path of this folder."""
    text = safe_text(word)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


TEXTS: dict[str, tuple[str, str]] = {
    "real": ("{tool} has this command (26.2.0): {says}", "{tool} 有此命令（26.2.0）：{says}"),
    "not-real": ("no tool has '{line}': {says}", "没有工具提供“{line}”：{says}"),
    "write": ("the tool's own: {real}", "工具实际用法：{real}"),
    "ours": ("documents alone; npulse precision takes it", "仅见于文档；npulse precision 支持"),
    "documents": ("documents alone", "仅见于文档"),
    "unknown": ("not an option of it", "没有此选项"),
    "with": ("with npulse:", "用 npulse："),
}


def line_lines(told: ToldLine, lang: Lang) -> list[str]:
    """The line explained, as lines for people."""
    is_zh = lang == "zh"

    def say(key: str, **values: str) -> str:
        return TEXTS[key][is_zh].format(**values)

    command = told.command
    name = f"{command.tool} {command.name}".strip()
    says = command.says[is_zh]
    lines = [
        say("real", tool=command.tool, says=says) if told.is_real else say("not-real", line=name, says=says)
    ]
    if command.real:
        lines.append(say("write", real=command.real))
    shown: list[tuple[str, str]] = []
    for word in told.words:
        if word.state == "value":
            shown[-1] = (f"{shown[-1][0]} {safe_text(word.text)}", shown[-1][1])
            continue
        notes = [word.says[is_zh], say(word.state) if word.state in ("ours", "documents", "unknown") else ""]
        shown.append((safe_text(word.text), "; ".join(filter(None, notes))))
    width = max((len(text) for text, _ in shown), default=0)
    lines += [f"  {text:<{min(width, 40)}}  {note}".rstrip() for text, note in shown]
    lines.append(say("with"))
    return [*lines, *(f"  {one}" for one in told.ours)]


def line_values(told: ToldLine, lang: Lang) -> dict[str, object]:
    """The same for programs."""
    command = told.command
    return {
        "tool": command.tool,
        "command": command.name,
        "is_real": told.is_real,
        "real": command.real,
        "says": command.says[lang == "zh"],
        "words": [
            {"word": word.text, "state": word.state, "says": word.says[lang == "zh"]} for word in told.words
        ],
        "npulse": list(told.ours),
    }
