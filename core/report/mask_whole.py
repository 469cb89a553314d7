"""A dossier that can be shown to others: `mask` over every report, and over the words of the check-up.

What is a name in one report is hidden in all of them: parts of paths, words of modules' names, folders of
users, the user's kernels and files. A word that npulse's own texts use stays where it stands alone, since it
says nothing there; the name of a user's home never does.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any

from npulse.core.analysis import AreaReport
from npulse.core.areas import all_rules
from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.findings import Report

from .dossier import Dossier
from .mask import (
    Names,
    any_of,
    hide_finding,
    hide_path,
    is_kept,
    known_names,
    masked,
    own_words,
)

MIN_CHARS = 3
"""A shorter word is one of any sentence; within a path or a name it is hidden all the same."""
MAX_LABELS = 100_000
"""Names of operators in a table that are looked at for words."""
_HOME = re.compile(r"(?:^|[\s'\"=:(/\\])(?:home|Users|export/home)[/\\]([^/\\\s'\"(),:;]+)")
_MODULE = re.compile(r"\b(?:Module|Cell)\.(\S+)")
_ENDS = frozenset(("forward", "backward", "parameters_grad", "input", "output", "kwargs", "Module", "Cell"))
_NOT_HIDDEN = re.compile(
    r"round_?\d*|npulse|root|home|Users|tmp|python[\d.]*|torchrun|bash|env|sh|\d[\d.]*|\W*"
)
_COMMAND = re.compile(r" -- (.+)")


def masked_dossier(dossier: Dossier, paths: Iterable[str] = ()) -> Dossier:
    """The dossier with all names hidden, for every format; figures, rules and numbers stay.

    paths: of the run, whose parts are names as well.
    """
    reports = dossier.all_reports
    words = frozenset(_words(dossier, reports, paths))
    known: dict[str, str] = {}
    for report in reports:
        known |= known_names(report)
    ordered = {name: known[name] for name in sorted(known, key=lambda name: (-len(name), name))}
    names = Names(ordered, any_of(words), is_whole=True)
    return Dossier(
        _check_up(dossier.check_up, names, words),
        tuple(_told(one, names, words) for one in dossier.reports),
        None if dossier.story is None else masked(dossier.story, words),
        names.hide(dossier.title),
        dossier.made,
    )


def _told(told: AreaReport, names: Names, words: frozenset[str]) -> AreaReport:
    return AreaReport(
        names.hide(told.round),
        names.hide(told.name),
        masked(told.report, words),
        tuple(map(names.hide, told.notes)),
    )


def _check_up(check_up: CheckUp, names: Names, words: frozenset[str]) -> CheckUp:
    return replace(
        check_up,
        run=hide_path(check_up.run),
        criteria_file=hide_path(check_up.criteria_file),
        round=names.hide(check_up.round),
        why_first=names.hide(check_up.why_first),
        areas=tuple(_area(area, names, words) for area in check_up.areas),
    )


def _area(area: AreaState, names: Names, words: frozenset[str]) -> AreaState:
    return replace(
        area,
        headline=names.hide(area.headline),
        missing=names.hide(area.missing),
        next_step=names.hide(area.next_step),
        criteria=tuple(_criterion(one, names) for one in area.criteria),
        reports=tuple(_told(one, names, words) for one in area.reports),
        origin=None if area.origin is None else hide_finding(area.origin, names),
    )


def _criterion(one: CriterionResult, names: Names) -> CriterionResult:
    accepted = None if one.set_aside is None else hide_finding(one.set_aside, names)
    return replace(
        one,
        shown=names.hide(one.shown),
        subject=names.hide(one.subject),
        why=names.hide(one.why) if accepted is None else accepted.message,
        next_step=names.hide(one.next_step),
        set_aside=accepted,
    )


# ---- which words are names ----


def _words(dossier: Dossier, reports: Iterable[Report], paths: Iterable[str]) -> Iterator[str]:
    common = _own_vocabulary()
    users: set[str] = set()
    found: set[str] = set(_path_words(dossier.check_up.run))
    for path in paths:
        found.update(_path_words(path))
    for report in reports:
        if report.command == "memory":  # names of the user's code alone
            yield from own_words(report)
        else:
            found.update(own_words(report))
        for path in _paths(report):
            found.update(_path_words(path))
        for name in _names(report):
            found.update(_module_words(name))
        for text in _texts(report):
            users.update(_HOME.findall(text))
        for text in _commands(report):
            found.update(_command_words(text))
    for text in (dossier.check_up.run, dossier.title, *_check_up_texts(dossier.check_up)):
        users.update(_HOME.findall(text))
        for module in _MODULE.finditer(text):
            found.update(_module_words(module[0]))
        for command in _COMMAND.finditer(text):
            found.update(_command_words(command[1]))
    yield from (word for word in users if not _NOT_HIDDEN.fullmatch(word))
    for word in found:
        is_word = len(word) >= MIN_CHARS and not is_kept(word) and not _NOT_HIDDEN.fullmatch(word)
        if is_word and word.lower() not in common:
            yield word


def _paths(report: Report) -> Iterator[str]:
    yield from filter(None, (report.run, report.target, report.golden))
    yield from (one.relative for one in report.artifacts)
    yield from (one.artifact for one in report.problems)
    yield from (one.location.artifact for one in report.findings if one.location.artifact)


def _path_words(path: str) -> Iterator[str]:
    """The parts of a path, of a file also its name without the suffix."""
    if not path:
        return
    for part in re.split(r"[/\\]", path):
        yield part
        yield PurePosixPath(part).stem


def _names(report: Report) -> Iterator[str]:
    for finding in report.findings:
        yield finding.subject
        yield from (related.subject for related in finding.related)
        yield from (match[0] for match in _MODULE.finditer(finding.message))
    for table in report.tables.values():
        for column in table.columns:
            if column.name == "operator" and column.labels is not None:
                for _, label in zip(range(MAX_LABELS), column.labels, strict=False):
                    yield label


def _module_words(name: str) -> Iterator[str]:
    if name.startswith(("Module.", "Cell.")):
        yield from (word for word in name.split(".") if word not in _ENDS)


def _commands(report: Report) -> Iterator[str]:
    """The user's own command lines: behind -- of what to do next, and as the rounds recorded them."""
    for finding in report.findings:
        yield from (match[1] for match in _COMMAND.finditer(finding.next_step))
    for one in report.summary.get("rounds") or ():
        if isinstance(one, Mapping):
            yield from map(str, one.get("command") or ())


def _command_words(text: str) -> Iterator[str]:
    yield from (word.strip("-") for word in re.split(r"[\s/\\.=,:;'\"]+", text))


def _texts(report: Report) -> Iterator[str]:
    yield from (report.run, report.target or "", report.golden or "", *report.told)
    for finding in report.findings:
        yield from (finding.subject, finding.message, finding.next_step, finding.source, *finding.told)
        yield from _strings(finding.figures)
    for problem in report.problems:
        yield from (problem.artifact, problem.message, problem.hint or "")
    yield from _strings(report.summary)


def _check_up_texts(check_up: CheckUp) -> Iterator[str]:
    for area in check_up.areas:
        yield from (area.headline, area.missing, area.next_step)
        for one in area.criteria:
            yield from (one.subject, one.why, one.next_step)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield str(key)
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


@cache
def _own_vocabulary() -> frozenset[str]:
    """Every word of our own texts. A name that is spelt alike tells nobody anything in a sentence."""
    import npulse.core

    texts: list[Any] = [astuple(rule) for rule in all_rules()]
    for module in pkgutil.walk_packages(npulse.core.__path__, "npulse.core."):
        if "texts" in module.name.rpartition(".")[2] and not module.ispkg:
            texts += [one for one in vars(import_module(module.name)).values() if isinstance(one, Mapping)]
    words = (re.findall(r"[a-z_][a-z0-9_]*", text.lower()) for text in _strings(texts))
    return frozenset(word for found in words for word in found)
