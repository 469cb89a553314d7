"""A report that can be shown to others: names of modules and files replaced by stable hashes.

What is hidden: every part of a path, and the words of a module's or cell's name between its prefix and its
direction. What stays: figures, rules, roles, numbers in names (layers, calls, ranks, steps), names of the
framework's own calls (Functional.linear.8.forward, Tensor.add.3.forward), and of input, output, parameters.
One name has one hash everywhere and in every report, so that two masked reports can be laid side by side.
Of a source line the file (hidden) and the number stay, its code goes. Values of scalar arguments stay.
Of memory faults kernels, functions, variables and source files are names too: they are the user's code.
Of profiles the folders are: a session's holds the name of the host. Operators are the framework's and stay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.findings import Finding, Problem, Report
from npulse.core.table import Column, Labels, Table

_DIRECTION = r"\.(?:forward|backward|parameters_grad)\b"
_MODULE = re.compile(rf"\b(Module|Cell)\.(\S*?)({_DIRECTION}|(?=[\s,;:()'\"]|$))")
_WHOLE = re.compile(rf"(Module|Cell)\.(.*?)({_DIRECTION}.*|$)", re.DOTALL)
_PATH = re.compile(r"[^\s'\"(),:：，（）]*[/\\][^\s'\"(),:：，（）]*")
_FILE = re.compile(r"[\w.-]+\.(?:json|npy|pt|py|csv|db|log|txt|so|bin)\b")
_PLUGIN = re.compile(r"plug-in [a-z0-9_-]{1,40}|plug-ins")
"""Rules have a plug-in's name as well: it stays."""
_PLACE = re.compile(r".*?:\d+(?= |$)", re.DOTALL)
_KEPT = re.compile(
    r"\d+|\.{1,2}|(?:step|rank|proc)_?\d*|(?:dump|debug|stack|construct)\.json|dump_tensor_data"
    r"|target|golden|npu|gpu|cpu|x[0-9a-f]{8}"
)
"""Numbers, the tools' own names, words for the sides, and what is hidden already."""


_WORDS = ("kernel_name", "kernel", "op_type", "node_name", "function", "variable", "operator")
"""Figures and columns that hold one name of the user's."""
_PLACES = (
    "file",
    "second_file",
    "second_place",
    "artifact",
    "allocated_at",
    "freed_at",
    "places",
    "artifacts",
)
"""Those that hold files, with or without a line."""
_USUAL_ROUND = re.compile(r"round_?\d*|.{0,2}")
_FOLDERS = ("folder", "profile", "artifact", "capture")
"""Columns of other areas that hold a folder or a file."""
_SENTENCES = ("next", "missing", "subject", "round")
"""Columns of the check-up that hold a command, a sentence or a name of any area."""
_CODE = ("code_text",)
_LINE = re.compile(r"(.*?)((?::(?:\d+|\?)){0,2})", re.DOTALL)
_TOOLS_OWN = re.compile(
    r"ASCEND_PROFILER_OUTPUT|mindstudio_profiler_(?:output|log)|(?:device|host)(?:_\d+)?", re.I
)
"""Folders that every profile has."""
_MAX_WORDS = 2000
_FIELDS = frozenset((*_WORDS, *_PLACES, *_CODE))
_SOURCE = re.compile(r"\.(?:c|cc|cpp|cxx|cu|h|hh|hpp|py|asc|o)$")


def masked(report: Report, words: Iterable[str] = (), *, rounds: Iterable[str] = ()) -> Report:
    """The report with its names hidden: for text, Markdown, CSV and JSON alike.

    words: further names, hidden wherever they stand by themselves, in tables too. rounds: names of the run's
    rounds, which an area speaks of.
    """
    called = {name for name in rounds if not is_kept(name) and not _USUAL_ROUND.fullmatch(name)}
    names = Names(
        known_names(report),
        any_of({*own_words(report), *called, *words}),
        is_memory=report.command == "memory",
        is_whole=bool(words),
    )
    return replace(
        report,
        run=hide_path(report.run),
        target=None if report.target is None else hide_path(report.target),
        golden=None if report.golden is None else hide_path(report.golden),
        artifacts=tuple(replace(a, relative=hide_path(a.relative)) for a in report.artifacts),
        findings=tuple(hide_finding(finding, names) for finding in report.findings),
        problems=tuple(_problem(problem, names) for problem in report.problems),
        summary=_figures(report.summary, names),
        told=tuple(map(names.hide, report.told)),
        tables={name: _table(table, names) for name, table in report.tables.items()},
    )


def is_kept(word: str) -> bool:
    """Whether a part of a path says nothing of its owner: a number, a side, a tool's own folder."""
    return bool(_KEPT.fullmatch(word) or _TOOLS_OWN.fullmatch(word))


def hide_word(word: str) -> str:
    """'x' and eight hex digits that stand for a word, the same ones every time; kept words as they are."""
    if not word or _KEPT.fullmatch(word):
        return word
    return "x" + hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def hide_path(path: str) -> str:
    """A path with each of its parts hidden; the suffix stays, since it says what kind of file it is."""
    return "/".join(map(_hide_part, path.replace("\\", "/").split("/")))


def hide_name(name: str) -> str:
    """The name of a call or leaf with its words hidden where it is a module's, its numbers kept."""
    match = _WHOLE.fullmatch(name)
    return name if match is None else _hide_module(match)


def _hide_module(match: re.Match[str]) -> str:
    return f"{match[1]}." + ".".join(map(hide_word, match[2].split("."))) + match[3]


def _hide_part(part: str) -> str:
    if _KEPT.fullmatch(part):
        return part
    if _MODULE.search(part):
        return _MODULE.sub(_hide_module, part)
    stem, dot, suffix = part.rpartition(".")
    return (
        hide_word(stem) + dot + suffix if _FILE.fullmatch(part) or _SOURCE.search(part) else hide_word(part)
    )


@dataclass(frozen=True, slots=True)
class Names:
    """Texts with all names hidden: those that the report gives by themselves, and what looks like one.

    is_whole: names of the whole run are known, so every text of a table is looked through as well.
    """

    known: Mapping[str, str]
    words: re.Pattern[str] | None
    is_memory: bool = False
    is_whole: bool = False

    def hide(self, text: str) -> str:
        if self.words is not None:
            text = self.words.sub(lambda match: _hidden_name(match[0]), text)
        for name, hidden in self.known.items():  # longest first: a name may hold blanks, no pattern sees that
            text = text.replace(name, hidden)
        text = _MODULE.sub(_hide_module, text)
        text = _PATH.sub(lambda match: hide_path(match[0]), text)
        return _FILE.sub(lambda match: _hide_part(match[0]), text)


def _hidden_name(name: str) -> str:
    """A file by its parts, any other name as one word."""
    return hide_place(name) if "/" in name or "\\" in name or _SOURCE.search(name) else hide_word(name)


def hide_place(text: str) -> str:
    """A file hidden by its parts, its line and column kept."""
    found = _LINE.fullmatch(text)
    return hide_path(text) if found is None else hide_path(found[1]) + found[2]


def own_words(report: Report) -> set[str]:
    """What findings of memory name as kernels, functions and files, or the names of profiles' folders: hidden
    wherever they stand in a text."""
    if report.command in ("performance", "diff", "check"):
        return _folders(report)
    if report.command == "rounds":
        return set(_settings(report))
    found: set[str] = set()
    if report.command != "memory":
        return found
    for finding in report.findings:
        for key in _WORDS:
            value = finding.figures.get(key)
            if isinstance(value, str) and not _KEPT.fullmatch(value):
                found.add(value)
        for key in ("file", "allocated_at", "freed_at", "places"):
            values = finding.figures.get(key)
            for value in values if isinstance(values, list) else (values,):
                if isinstance(value, str) and (bare := _LINE.fullmatch(value)):
                    found.add(bare[1])
        for related in finding.related:
            if related.figures.get("how"):
                found.add(related.subject)
    return found


_TEXTS_OF_USERS = frozenset(("command", "request", "config", "environment", "git", "input", "inputs"))
"""Settings of a round whose values are the user's own words; versions are those of packages."""
_SHOWN_CHARS = 39
"""Of a value in a text, at most."""
_PLAIN = re.compile(r"[\W\d_]*|true|false|none|(?:bf|fp|float|bfloat|u?int)\d+", re.I)
"""Values that are nobody's name: numbers, signs, yes and no, dtypes."""


def _settings(report: Report) -> Iterator[str]:
    """What the rounds of a story are called and were set to, where it is a text of the user's."""
    for one in report.summary.get("rounds") or ():
        if not isinstance(one, Mapping):
            continue
        yield str(one.get("round") or "")
        for word in one.get("command") or ():
            yield from (part for part in re.split(r"[\s=]+", str(word)) if part[:1] != "-")
        for change in one.get("changes") or ():
            if change.get("group") not in _TEXTS_OF_USERS:
                continue
            values = [change.get("before"), change.get("after")]
            if change["group"] == "inputs":  # by their own names
                values.append(str(change.get("key")).rpartition(".")[0])
            for value in filter(None, values):
                # lists are told by what came and went; what is long is cut
                parts = {value, value[:_SHOWN_CHARS], *re.split(r"[,;\[\]]\s*", value)}
                yield from (part for part in parts if len(part) > 3 and not _PLAIN.fullmatch(part))


def any_of(words: Iterable[str]) -> re.Pattern[str] | None:
    """Any of the words, where it is not part of a longer one; of many the longest ones."""
    names = sorted(filter(None, words), key=lambda name: (-len(name), name))[:_MAX_WORDS]
    if not names:
        return None
    # the letters of a name's own script: Chinese has no blanks between words
    return re.compile(r"(?<![A-Za-z0-9_])(?:" + "|".join(map(re.escape, names)) + r")(?![A-Za-z0-9_])")


def _folders(report: Report) -> set[str]:
    """The run's own folder and all folders in it that have a name of their own."""
    found = {PurePosixPath(path).name for path in (report.run, report.target, report.golden) if path}
    for artifact in report.artifacts:
        found.update(PurePosixPath(artifact.relative).parts[:-1])
    return {name for name in found if not _KEPT.fullmatch(name) and not _TOOLS_OWN.fullmatch(name)}


def known_names(report: Report) -> dict[str, str]:
    """Paths and names of modules as the report gives them, with what hides them; the longest first."""
    paths = {report.run, report.target or "", report.golden or ""} | {a.relative for a in report.artifacts}
    paths |= {p.artifact for p in report.problems} | {f.location.artifact or "" for f in report.findings}
    subjects = {f.subject for f in report.findings}
    subjects |= {r.subject for f in report.findings for r in f.related}
    # a path of one word is left to its own field: it may be a word of any sentence
    known = {path: hide_path(path) for path in paths if len(path) > 1 and "/" in path}
    known |= {name: hide_name(name) for name in subjects if _WHOLE.fullmatch(name)}
    return {name: known[name] for name in sorted(known, key=lambda name: (-len(name), name))}


def hide_finding(finding: Finding, names: Names) -> Finding:
    """A finding with all its names hidden."""
    artifact = finding.location.artifact
    message, figures = _without_code(finding.message, finding.source), finding.figures
    if isinstance(reason := figures.get("silenced"), str):  # it names people and places
        hidden = hide_word(reason)
        message, figures = message.replace(reason, hidden), {**figures, "silenced": hidden}
    if isinstance(known := figures.get("known"), str):
        figures = {**figures, "known": hide_path(known)}
    return replace(
        finding,
        subject=names.hide(finding.subject),
        message=names.hide(message),
        next_step=names.hide(finding.next_step),
        source=names.hide(_without_code(finding.source, finding.source)),
        told=tuple(map(names.hide, finding.told)),
        code=(),
        figures=_figures(figures, names),
        related=tuple(
            replace(r, subject=names.hide(r.subject), figures=_figures(r.figures, names))
            for r in finding.related
        ),
        location=replace(finding.location, artifact=None if artifact is None else hide_path(artifact)),
    )


def _without_code(text: str, source: str) -> str:
    """The text with no more of the user's line than its file and number."""
    place = _PLACE.match(source)
    return text.replace(source, place[0]) if source and place else text


def _problem(problem: Problem, names: Names) -> Problem:
    hint = None if problem.hint is None else names.hide(problem.hint)
    is_plugin = problem.kind == "plugin" and _PLUGIN.fullmatch(problem.artifact)
    where = problem.artifact if is_plugin else hide_path(problem.artifact)
    return replace(problem, artifact=where, message=names.hide(problem.message), hint=hint)


def _figures(figures: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {
        key: _field(key, value, names) if key in _FIELDS else _value(value, names)
        for key, value in figures.items()
    }


def _field(key: str, value: Any, names: Names) -> Any:
    """A figure that holds names alone; of other areas than memory it is text as any other."""
    if isinstance(value, (list, tuple)):
        return [_field(key, one, names) for one in value]
    if not isinstance(value, str) or not names.is_memory:
        return _value(value, names)
    if key in _CODE:
        return hide_word(value)
    return hide_place(value) if key in _PLACES else _hidden_name(value)


def _value(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return names.hide(value)
    if isinstance(value, (list, tuple)):
        return [_value(one, names) for one in value]
    if isinstance(value, Mapping):
        return {_value(key, names): _value(one, names) for key, one in value.items()}
    return value


def _table(table: Table, names: Names) -> Table:
    is_memory, is_check_up = table.name == "memory", table.name == "checkup"
    columns = tuple(_column(column, names, is_memory, is_check_up) for column in table.columns)
    return replace(table, columns=columns)


def _column(column: Column, names: Names, is_memory: bool, is_check_up: bool) -> Column:
    if column.labels is None:
        return column
    hide: Callable[[str], str] = names.hide if names.is_whole else hide_name
    if is_memory and column.name in ("subject", *_PLACES):
        hide = hide_place
    elif is_memory and column.name in _WORDS:
        hide = _hidden_name
    elif column.name in _FOLDERS or (is_check_up and column.name in _SENTENCES):
        hide = names.hide
    # a chart asks for the same label again and again
    return replace(column, labels=_Hidden(column.labels, lru_cache(maxsize=1 << 16)(hide)))


@dataclass(frozen=True, slots=True)
class _Hidden(Labels):
    """Labels hidden when asked for."""

    labels: Sequence[str]
    hide: Callable[[str], str]

    def __len__(self) -> int:
        return len(self.labels)

    def label(self, index: int) -> str:
        return self.hide(self.labels[index])
