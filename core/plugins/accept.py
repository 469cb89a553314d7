"""What a plug-in declares and answers, taken over only where it is what the protocols ask for.

Nothing here trusts a type, a length or a character. What does not fit is a complaint, one line each, and the
rest is taken all the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from npulse.core.dataclass import dataclass

from ..findings import Finding, Location, Problem, Related, Role, Severity
from ..text import safe_text
from .protocols import AREAS, OWN_AREA, PluginKind

MAX_FINDINGS = 1000
MAX_TEXT = 2000
MAX_FIGURES = 100
MAX_LIST = 1000
MAX_RELATED = 50
MAX_PATTERNS = 20
MAX_OPERATORS = 200
MAX_MAGIC_BYTES = 64
MAX_COLUMNS = 500
COLUMN_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
KIND_ID = re.compile(r"[a-z][a-z0-9_]{0,39}(?:\.[a-z0-9_]{1,40}){1,3}")
_WORD = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SEVERITIES, _ROLES = get_args(Severity), get_args(Role)
_BROAD = re.compile(r"[*?]*")


@dataclass(frozen=True, slots=True)
class Item:
    """One plug-in of a module, as npulse knows it. index: its place there, by which it is asked.

    name: of a reader its kind of artifact. patterns: of a reader names of files, of a reference those of
    operators. title: (en, zh). line: where its class stands.
    """

    kind: PluginKind
    index: int
    name: str
    area: str = OWN_AREA
    title: tuple[str, str] = ("", "")
    patterns: tuple[str, ...] = ()
    magic: bytes = b""
    unit: str = ""
    is_higher_better: bool = True
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Complaint:
    """What does not fit, and the line of the plug-in's file where that is known."""

    message: str
    line: int | None = None


def items_of(told: Sequence[Mapping[str, Any]], own_name: str) -> tuple[list[Item], list[Complaint]]:
    """The plug-ins that a module declares, and what is wrong with those that are not taken over.

    own_name: what the user calls the plug-in; of an analysis without a name it is the name.
    """
    items: list[Item] = []
    complaints: list[Complaint] = []
    for index, one in enumerate(told[:100]):
        line, method_line = _line(one.get("line")), _line(one.get("method_line"))
        wrong = _wrong_of(one, method_line)
        kind = one.get("kind")
        if kind == "reader":
            item = _reader(one, index, line, wrong)
        elif kind == "metric":
            item = _metric(one, index, line, wrong)
        elif kind == "reference":
            item = _reference(one, index, line, wrong)
        else:
            item = _analysis(one, index, line, own_name, wrong)
        label = safe_text(str(one.get("class", "")), 60)
        complaints += [Complaint(f"{label}: {w.message}", w.line or line) for w in wrong]
        if not wrong:
            items.append(item)
    if not told:
        words = "no class with a method read, measure, analyze or compute"
        complaints.append(Complaint(f"holds {words}, so it is no plug-in", 1))
    return items, complaints


def _wrong_of(one: Mapping[str, Any], method_line: int | None) -> list[Complaint]:
    """What is wrong with the method that npulse would call."""
    text = one.get("signature")
    method = {
        "reader": "read(path)",
        "metric": "measure(target, golden)",
        "reference": "compute(operator, inputs, keywords)",
    }.get(str(one.get("kind")), "analyze(data)")
    return [Complaint(f"it is called as {method}: {safe_text(str(text), 200)}", method_line)] if text else []


def _reader(one: Mapping[str, Any], index: int, line: int | None, wrong: list[Complaint]) -> Item:
    kind_id, area = one.get("kind_id"), one.get("area")
    if not isinstance(kind_id, str) or not KIND_ID.fullmatch(kind_id):
        wrong.append(Complaint("kind has to be lower case words with a dot, such as 'acme.trace'"))
    if area not in AREAS:
        wrong.append(Complaint("area has to be one of " + ", ".join(AREAS)))
    patterns = one.get("patterns")
    listed = isinstance(patterns, list) and 0 < len(patterns) <= MAX_PATTERNS
    fits = listed and all(isinstance(p, str) and 0 < len(p) <= 200 and "/" not in p for p in patterns or ())
    if not fits:
        wrong.append(Complaint(f"patterns has to be a list of 1 to {MAX_PATTERNS} names such as '*.acme'"))
    magic = one.get("magic")
    raw = b""
    try:
        raw = bytes.fromhex(magic) if isinstance(magic, str) else b""
    except ValueError:
        magic = None
    if not isinstance(magic, str) or len(raw) > MAX_MAGIC_BYTES:
        wrong.append(Complaint(f"magic has to be bytes, at most {MAX_MAGIC_BYTES}"))
    elif fits and not raw and any(_BROAD.fullmatch(p) for p in patterns or ()):
        wrong.append(
            Complaint("a pattern that every name fits needs magic, else every file would be its own")
        )
    title = _title(one.get("title"))
    if title is None:
        wrong.append(Complaint("title has to be a text, or (English, Chinese)"))
    return Item(
        "reader",
        index,
        kind_id if isinstance(kind_id, str) else "",
        area if area in AREAS else OWN_AREA,
        title or ("", ""),
        tuple(patterns) if fits and patterns else (),
        raw,
        line=line,
    )


def _title(value: Any) -> tuple[str, str] | None:
    texts = [value, value] if isinstance(value, str) else value
    if not isinstance(texts, list) or len(texts) != 2:
        return None
    if not all(isinstance(text, str) and 0 < len(text) <= 100 for text in texts):
        return None
    return safe_text(texts[0]), safe_text(texts[1])


def _metric(one: Mapping[str, Any], index: int, line: int | None, wrong: list[Complaint]) -> Item:
    name, unit, better = one.get("name"), one.get("unit"), one.get("better")
    if not isinstance(name, str) or not COLUMN_NAME.fullmatch(name):
        wrong.append(Complaint("name has to be lower case letters, digits and _, a letter first"))
    if not isinstance(unit, str) or len(unit) > 20:
        wrong.append(Complaint("unit has to be a text, '' for none"))
    if better not in ("higher", "lower"):
        wrong.append(Complaint("better has to be 'higher' or 'lower'"))
    return Item(
        "metric",
        index,
        name if isinstance(name, str) else "",
        "precision",
        unit=safe_text(unit) if isinstance(unit, str) else "",
        is_higher_better=better == "higher",
        line=line,
    )


def _reference(one: Mapping[str, Any], index: int, line: int | None, wrong: list[Complaint]) -> Item:
    name, operators = one.get("name"), one.get("operators")
    if not isinstance(name, str) or not COLUMN_NAME.fullmatch(name):
        wrong.append(Complaint("name has to be lower case letters, digits and _, a letter first"))
    listed = isinstance(operators, list) and 0 < len(operators) <= MAX_OPERATORS
    fits = listed and all(isinstance(p, str) and 0 < len(p) <= 200 for p in operators or ())
    if not fits:
        wrong.append(
            Complaint(f"operators has to be a list of 1 to {MAX_OPERATORS} names such as 'npu_acme'")
        )
    return Item(
        "reference",
        index,
        name if isinstance(name, str) else "",
        "precision",
        patterns=tuple(operators) if fits and operators else (),
        line=line,
    )


def _analysis(
    one: Mapping[str, Any], index: int, line: int | None, own_name: str, wrong: list[Complaint]
) -> Item:
    name, area = one.get("name"), one.get("area")
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= 60):
        wrong.append(Complaint("name has to be a text of at most 60 characters"))
    if area not in (None, OWN_AREA, *AREAS):
        wrong.append(Complaint("area has to be one of " + ", ".join((*AREAS, OWN_AREA))))
    shown = safe_text(name) if isinstance(name, str) else own_name
    return Item("analysis", index, shown, area if area in AREAS else OWN_AREA, line=line)


def _line(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def findings_of(found: Any, plugin: str, area: str) -> tuple[list[Finding], list[str]]:
    """What an analysis answered as findings, and what of it was not taken over."""
    if not isinstance(found, list):
        return [], ["findings are no list"]
    findings: list[Finding] = []
    wrong: dict[str, int] = {}
    for one in found[:MAX_FINDINGS]:
        try:
            findings.append(_finding(one, plugin, area))
        except ValueError as error:
            wrong[str(error)] = wrong.get(str(error), 0) + 1
    told = [f"{n} of its findings left out: {why}" for why, n in list(wrong.items())[:20]]
    if len(found) > MAX_FINDINGS:
        told.append(f"more than {MAX_FINDINGS:,} findings; the first {MAX_FINDINGS:,} are shown")
    return findings, told


def _finding(one: Any, plugin: str, area: str) -> Finding:
    """ValueError says what does not fit."""
    if not isinstance(one, dict):
        raise ValueError("a finding has to be a dict")
    severity, role = one.get("severity", "warning"), one.get("role", "unknown")
    if severity not in _SEVERITIES:
        raise ValueError("severity has to be one of " + ", ".join(_SEVERITIES))
    if role not in _ROLES:
        raise ValueError("role has to be one of " + ", ".join(_ROLES))
    rule = one.get("rule", "finding")
    if not isinstance(rule, str) or not _WORD.fullmatch(rule):
        raise ValueError("rule has to be a word of lower case letters, digits, - and _")
    message = _text(one.get("message"), "message")
    if not message.strip():
        raise ValueError("message is missing")
    related = one.get("related") or []
    if not isinstance(related, list):
        raise ValueError("related has to be a list")
    return Finding(
        area=area,
        severity=severity,
        rule=f"plugin.{plugin}.{rule}",
        role=role,
        subject=_text(one.get("subject") or "", "subject"),
        message=message,
        next_step=_text(one.get("next") or "", "next"),
        figures=_figures(one.get("figures") or {}),
        related=tuple(_related(other) for other in related[:MAX_RELATED]),
        location=_location(one.get("location") or {}),
    )


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} has to be a text")
    return safe_text(" ".join(value.splitlines()), MAX_TEXT)


def _figures(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MAX_FIGURES:
        raise ValueError(f"figures has to be a dict of at most {MAX_FIGURES} entries")
    return {safe_text(str(name), 80): _figure(one) for name, one in value.items()}


def _figure(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return safe_text(value, MAX_TEXT)
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        if abs(value) >= 1 << 64:
            raise ValueError("a figure has more than 64 bits")
        return value
    if isinstance(value, list) and depth < 2:
        return [_figure(one, depth + 1) for one in value[:MAX_LIST]]
    raise ValueError("figures have to be numbers, texts or lists of them")


def _related(one: Any) -> Related:
    if not isinstance(one, dict) or one.get("role", "unknown") not in _ROLES:
        raise ValueError("related has to hold dicts with a role")
    subject = _text(one.get("subject") or "", "subject of related")
    return Related(one.get("role", "unknown"), subject, _figures(one.get("figures") or {}))


def _location(one: Any) -> Location:
    if not isinstance(one, dict):
        raise ValueError("location has to be a dict")
    artifact = one.get("artifact")
    if artifact is not None:
        artifact = _text(artifact, "artifact")
    numbers = {name: one.get(name) for name in ("rank", "step", "row", "line", "byte")}
    for name, value in numbers.items():
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63
        ):
            raise ValueError(f"{name} of location has to be a number from 0 on")
    return Location(artifact, **numbers)


def rows_of(answer: Mapping[str, Any], artifact: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The rows of a file and its problems, as a reader answered them."""
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    listed = answer.get("rows")
    n_wrong = 0
    for row in listed if isinstance(listed, list) else ():
        try:
            rows.append(_row(row))
        except ValueError:
            n_wrong += 1
    if n_wrong:
        message = f"{n_wrong:,} of its rows hold something else than numbers, texts or lists of them"
        problems.append(Problem(artifact, "bad-record", message))
    if answer.get("is_cut") is True:
        problems.append(Problem(artifact, "limit", f"only the first {len(rows):,} rows were taken"))
    told = answer.get("problems")
    problems += [_problem(one, artifact) for one in (told if isinstance(told, list) else [])[:MAX_FINDINGS]]
    return rows, problems


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or len(row) > MAX_COLUMNS:
        raise ValueError
    return {safe_text(str(name), 80): _figure(value) for name, value in row.items()}


def _problem(one: Any, artifact: str) -> Problem:
    if isinstance(one, dict):
        message = safe_text(str(one.get("message", "")), MAX_TEXT)
        return Problem(artifact, "bad-record", message, _line(one.get("line")), _line(one.get("byte")))
    return Problem(artifact, "bad-record", safe_text(str(one), MAX_TEXT))


def figure_of(value: Any) -> float:
    """What a metric answered as a float; ValueError where it is none. NaN is a figure: not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"measure has to return a number, not {type(value).__name__}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf if value > 0 else -math.inf
    return found
