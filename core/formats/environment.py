"""What a job was started with: environment variables and flags, in listings, scripts and round manifests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from ..errors import InputError
from ..files import shown_path
from ..findings import Problem
from ..progress import IsCancelled, check, never_cancelled
from ..toml_text import parse_toml
from .shell_words import Word, commands
from .text_lines import LineNotes, line_blocks

MAX_TEXT_BYTES = 4 << 20
MAX_SETTINGS = 20_000

Subject = Literal["overflow", "sanitizer"]

SEED_WORDS_OF: Mapping[Subject, Mapping[str, tuple[str, ...]]] = {
    "overflow": {
        "MSDEBUG_OVERFLOW_MODE": ("acl.json dump_debug", "INF_NAN_MODE_ENABLE", "op_debug_mode"),
        "MSDEBUG_DUMP_PATH": ("dump_path", "NPU_COLLECT_PATH", "ASCEND_WORK_PATH"),
        "MSDEBUG_RETRO_DUMP_LAYERS": ("dump_list[].layer",),
    },
    "sanitizer": {
        "MSANITIZER_MODE": ("mssanitizer --tool",),
        "MSANITIZER_OUTPUT": ("mssanitizer --log-file",),
    },
}
"""Names that some guides give for settings, by what they are about, and the real settings and options that
they stand for. They are aliases: no tool reads them, so setting one changes nothing. acl.json: the
configuration of a CANN dump; op_debug_mode: MindSpore's dump configuration."""

SEED_WORDS: Mapping[str, tuple[str, ...]] = {
    name: real for words in SEED_WORDS_OF.values() for name, real in words.items()
}
"""The same names, whatever they are about."""

Form = Literal["listing", "shell", "python", "toml"]
"""listing: what `env` printed, the values that a process had; shell: a script, `export -p` or a log with
commands in it; python: a script; toml: a round's manifest. All but the listing are what somebody wrote."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One setting, its value as written: "$HOME" stays, so does a Python expression. line: from 1."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a command, without its dashes ("loss-scale").

    value: what stands behind "=", or the next word unless that is a flag too. Of a flag that takes no value
    this may be another argument. None where there is neither.
    """

    name: str
    value: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings of one file, in its order."""

    path: Path
    form: Form
    variables: tuple[Variable, ...]
    flags: tuple[Flag, ...]
    problems: tuple[Problem, ...] = ()

    def get(self, name: str) -> Variable | None:
        """The last setting of a variable, which wins where all of them are run; None if there is none."""
        return next((v for v in reversed(self.variables) if v.name == name), None)

    def flag(self, name: str) -> Flag | None:
        """The last use of a flag; "loss_scale" and "loss-scale" are one."""
        wanted = name.lstrip("-").replace("_", "-")
        return next((f for f in reversed(self.flags) if f.name.replace("_", "-") == wanted), None)


def read_environment(
    path: Path, *, root: Path | None = None, is_cancelled: IsCancelled = never_cancelled
) -> Environment:
    """The settings in `path`, by its name (*.toml, *.py) and else by its text; nothing is expanded or run.

    listing: NAME=value to the end of the line. shell: `export A=1`, `declare -x A="1"`, `A=1 B=2 command`,
    `-x A=1` and `-e A=1` of launchers, flags of commands and in quoted lists of them; branches and `unset`
    are not followed. python: os.environ["A"] = ..., environ.setdefault, os.putenv. toml: the tables
    `environment` and `env`, and `command` (list or text) as one in a shell.
    Problems (with line): lines in no encoding or too long, a quote without end in a script, values in TOML
    that are no text, number or truth value; more than 4 MB or 20,000 settings (the rest is left out).
    Raises InputError (no such file, a link out of `root`, no text, no TOML) and Cancelled.
    """
    notes = LineNotes(shown_path(path, root))
    lines: list[str] = []
    for block in line_blocks(path, notes, root=root, max_bytes=MAX_TEXT_BYTES, is_cancelled=is_cancelled):
        if not lines and any("\0" in line for line in block.lines[:100]):
            raise InputError("this is no text", path=path, hint="name a script or the output of env")
        lines += block.lines
    form = _form(path, lines)
    variables: list[Variable] = []
    flags: list[Flag] = []
    if form == "toml":
        _read_manifest(path, lines, notes, variables, flags)
    elif form == "listing":
        variables += islice(_listed(lines), MAX_SETTINGS + 1)
    else:
        variables += islice(_set_in_python(lines), MAX_SETTINGS + 1)
    if form == "shell":
        text = "\n".join(lines)
        for words in _commands(text, notes, is_script=_is_script(path, lines)):
            check(is_cancelled)
            _take_command(words, variables, flags)
            if len(variables) > MAX_SETTINGS or len(flags) > MAX_SETTINGS:
                break
        variables.sort(key=lambda variable: variable.line)
    if len(variables) > MAX_SETTINGS or len(flags) > MAX_SETTINGS:
        notes.add("limit", f"only the first {MAX_SETTINGS:,} settings were read", None, is_last=True)
    kept, kept_flags = tuple(variables[:MAX_SETTINGS]), tuple(flags[:MAX_SETTINGS])
    return Environment(path, form, kept, kept_flags, notes.close())


# ---- which form ----

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ASSIGNED = re.compile(rf"(?P<name>{_NAME})=(?P<value>.*)", re.DOTALL)
_OF_A_SESSION = re.compile(r"(?:PATH|PWD|OLDPWD|HOME|SHLVL|USER|LOGNAME|HOSTNAME|SHELL|_)=[^$]*")
_IS_COMMAND = re.compile(
    rf"{_NAME}=\S*\s(?:.*\s)?(?:{_NAME}=|(?:\S*/)?(?:python|torchrun|msrun|mpirun|bash|sh|source)\b)"
)
_SHELL_SUFFIXES = (".sh", ".bash", ".zsh")


def _form(path: Path, lines: Sequence[str]) -> Form:
    suffix = path.suffix.lower()
    if suffix in (".toml", ".py"):
        return "toml" if suffix == ".toml" else "python"
    if _is_script(path, lines):
        return "shell"
    written = [line for line in lines if line.strip()]
    if not written or _ASSIGNED.match(written[0]) is None:
        return "shell"
    if any(_OF_A_SESSION.fullmatch(line) for line in written):
        return "listing"
    is_listed = all(_ASSIGNED.match(line) and not _IS_COMMAND.match(line) for line in written)
    return "listing" if is_listed else "shell"


def _is_script(path: Path, lines: Sequence[str]) -> bool:
    return path.suffix.lower() in _SHELL_SUFFIXES or bool(lines and lines[0].startswith("#!"))


def _listed(lines: Sequence[str]) -> Iterable[Variable]:
    """What `env` printed. A line that goes on a value begins with no name, or with a blank."""
    for line, text in enumerate(lines, 1):
        found = _ASSIGNED.fullmatch(text)
        if found:
            yield Variable(found["name"], _bare(found["value"]), line)


_AMONG_OTHERS = re.compile(
    r"\s*(?:export\s+|declare\s+-x\s+|setenv\s+|ENV\s+|[-*+]\s+)?(?P<name>[A-Z_][A-Z0-9_]{1,80})="
    r"(?P<value>[^=].*|)\Z"
)
_AS_JSON = re.compile(
    r"\s*['\"](?P<name>[A-Z_][A-Z0-9_]{1,80})['\"]\s*:\s*['\"](?P<value>[^'\"]*)['\"],?\s*\Z"
)
_WITH_COLON = re.compile(
    r"\s*(?P<name>(?:ASCEND|ATB|TOOLCHAIN|CANN)_[A-Z0-9_]+|LD_LIBRARY_PATH|PYTHONPATH|PATH)\s*:\s*(?P<value>[~/$]\S*)\s*\Z"
)
_ECHO = re.compile(r"\becho\s+[\"']?\$\{?(?P<name>[A-Z_][A-Z0-9_]{1,80})\}?[\"']?\s*\Z")


def variables_in(lines: Iterable[tuple[int, str]]) -> Iterable[Variable]:
    """Variables with names in capitals among the lines of a pasted text, in its order; nothing is expanded.

    lines: (number, text), numbers from 1. NAME=value, exported or not; "NAME": "value"; NAME: /path of the
    variables that name folders; and what stands below `echo $NAME`.
    """
    echoed = ""
    for number, text in lines:
        found = _AMONG_OTHERS.match(text) or _AS_JSON.match(text) or _WITH_COLON.match(text)
        if found is not None:
            yield Variable(found["name"], _bare(found["value"].strip()), number)
        elif echoed and "/" in text and " " not in text.strip():
            yield Variable(echoed, text.strip(), number)
        asked = _ECHO.search(text) if "echo" in text else None
        echoed = asked["name"] if asked is not None else ""


def _bare(value: str) -> str:
    """Without the quotes around the whole value, as hand-written lists have them."""
    quote = value[:1]
    is_quoted = len(value) > 1 and quote in ("'", '"') and value.find(quote, 1) == len(value) - 1
    return value[1:-1] if is_quoted else value


# ---- shell ----

_BEFORE_A_COMMAND = frozenset(
    {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "time", "nohup", "exec"}
    | {"sudo", "env", "command", "eval", "+", "++", "+++"}  # "+": a shell that prints what it does
)
_DECLARES = frozenset({"export", "declare", "typeset", "local", "readonly"})
_OF_LAUNCHERS = frozenset({"-x", "-e", "--env", "--envs"})
_FLAG = re.compile(r"--(?P<name>[A-Za-z][\w.-]*)(?:=(?P<value>.*))?", re.DOTALL)
_NEXT_IS_FLAG = re.compile(r"-[^\d.]")


def _commands(text: str, notes: LineNotes, *, is_script: bool, line: int = 1) -> Iterable[list[Word]]:
    def tell(line: int) -> None:
        notes.add("bad-record", "a quote begins here and does not end; what follows may be misread", line)

    return commands(text, is_script=is_script, first_line=line, on_open_quote=tell)


def _take_command(words: Sequence[Word], variables: list[Variable], flags: list[Flag]) -> None:
    """The settings and flags of one command."""
    at, declares = 0, False
    while at < len(words):
        text = words[at].text
        is_option = text.startswith("-") and not text.startswith("--")  # of env, sudo, declare
        declares = declares or text in _DECLARES
        is_before = declares or is_option or text in _BEFORE_A_COMMAND
        if not _take_variable(words[at], variables, flags) and not is_before:
            break
        at += 1
    arguments = words[at:]
    for before, word in zip(arguments, arguments[1:], strict=False):
        if before.text in _OF_LAUNCHERS:
            _take_variable(word, variables, flags)
    flags += _flags(arguments)


def _take_variable(word: Word, variables: list[Variable], flags: list[Flag]) -> bool:
    """Whether a word sets a variable. Its value may be a list of arguments with flags in it."""
    found = _ASSIGNED.fullmatch(word.text)
    if found is None:
        return False
    value = found["value"]
    if value:  # an array's values stand in parentheses, behind an empty one
        variables.append(Variable(found["name"], value, word.line))
    if "--" in value:
        inner = re.finditer(r"[^\s\\]\S*", value)
        flags += _flags([Word(part[0], word.line + value.count("\n", 0, part.start())) for part in inner])
    return True


def _flags(words: Sequence[Word]) -> Iterable[Flag]:
    for i, word in enumerate(words):
        found = _FLAG.fullmatch(word.text)
        if found is None:
            continue
        value = found["value"]
        if value is None and i + 1 < len(words) and not _NEXT_IS_FLAG.match(words[i + 1].text):
            value = words[i + 1].text
        yield Flag(found["name"], value, word.line)


# ---- Python ----

_SET_IN_PYTHON = re.compile(
    rf"environ\s*\[\s*(['\"])(?P<item>{_NAME})\1\s*\]\s*=(?!=)\s*(?P<value>.*)"
    rf"|(?:environ\s*\.\s*setdefault|putenv)\s*\(\s*(['\"])(?P<key>{_NAME})\4\s*,\s*(?P<other>.*)"
)
_LITERAL = re.compile(r"[rRuU]?(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*(?:[;#)].*)?")


def _set_in_python(lines: Sequence[str]) -> Iterable[Variable]:
    """Assignments that stand on one line, outside of comments and of texts in triple quotes."""
    in_text = False
    for line, text in enumerate(lines, 1):
        was_in_text = in_text
        in_text ^= (text.count('"""') + text.count("'''")) % 2 == 1
        found = _SET_IN_PYTHON.search(text) if "env" in text and not was_in_text else None
        if found is None or "#" in text[: found.start()]:
            continue
        value = (found["value"] if found["item"] else found["other"]).strip()
        literal = _LITERAL.fullmatch(value)
        if literal:
            value = literal["single"] if literal["single"] is not None else literal["double"]
        elif found["key"]:
            value = value.removesuffix(")")
        yield Variable(found["item"] or found["key"], value, line)


# ---- TOML ----

_TABLES = ("environment", "env")


def _read_manifest(
    path: Path, lines: Sequence[str], notes: LineNotes, variables: list[Variable], flags: list[Flag]
) -> None:
    manifest = parse_toml("\n".join(lines), path)
    line_of = _lines_of_keys(lines)
    for table in _TABLES:
        members = manifest.get(table, {})
        at_table = line_of.get(("", table), 1)
        if not isinstance(members, dict):
            notes.add("bad-record", f"{table} is no table", at_table)
            continue
        for name, value in islice(members.items(), MAX_SETTINGS + 1):
            line = line_of.get((table, name)) or line_of.get(("", f"{table}.{name}"), at_table)
            is_endless = isinstance(value, int) and value.bit_length() > 64  # base 16 has no limit of digits
            if isinstance(value, (str, int, float)) and not is_endless:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                variables.append(Variable(name, text, line))
            else:
                notes.add("bad-record", f"{table}.{name[:100]} is no text, number or truth value", line)
    command, line = manifest.get("command", []), line_of.get(("", "command"), 1)
    scripts = [command] if isinstance(command, str) else []
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        _take_command([Word(word, line) for word in command], variables, flags)
        scripts = [word for before, word in zip(command, command[1:], strict=False) if before == "-c"]
    elif not scripts:
        notes.add("bad-record", "command is neither a text nor a list of texts", line)
    for script in scripts:
        for words in _commands(script, notes, is_script=True, line=line):
            _take_command([Word(word.text, line) for word in words], variables, flags)


_KEY = re.compile(r"\s*(?:\[\s*(?P<table>[^\[\]]+?)\s*\]|(?P<quote>['\"]?)(?P<key>[^'\"=\s]+)(?P=quote)\s*=)")


def _lines_of_keys(lines: Sequence[str]) -> dict[tuple[str, str], int]:
    """(table, key) -> the line that sets it, which the parser does not tell; table "" above all headers.

    A table's own header is the key ("", table).
    """
    table = ""
    found: dict[tuple[str, str], int] = {}
    for line, text in enumerate(lines, 1):
        part = _KEY.match(text)
        if part is None:
            continue
        if part["table"]:
            table = part["table"].strip("'\"")
        found.setdefault(("", table) if part["table"] else (table, part["key"]), line)
    return found
