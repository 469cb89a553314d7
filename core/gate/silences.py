"""Silences: a rule for a subject that is set aside, with a reason and a last day.

[[silence]]
rule = "performance.*"          # an id, or a pattern
subject = "Gather*"             # the same; without it every subject
rank = 3                        # without it every rank
reason = "waits for the fused kernel"
until = 2026-12-31              # the last day on which it counts
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from npulse.core.errors import UsageError
from npulse.core.findings import Finding, Report, Verdict, verdict_from, worst_verdict
from npulse.core.text import Lang, safe_text, say
from npulse.core.toml_text import lines_of_list, read_toml

from .texts import TEXTS

TABLE = "silence"
PLUGIN = "plugin."
"""How rules of plug-ins begin: nobody knows which there are."""
MAX_BYTES = 1 << 20
MAX_SILENCES = 10_000
MAX_CHARACTERS = 4_096
_KEYS = ("rule", "subject", "rank", "reason", "until")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Silence:
    """One table. until: the last day on which it counts. line: of the table in `path`; None if unknown."""

    rule: str
    reason: str
    until: date
    subject: str = "*"
    rank: int | None = None
    path: str = ""
    line: int | None = None

    def is_expired(self, today: date) -> bool:
        return today > self.until

    def matches(self, finding: Finding) -> bool:
        """Whether it is about the finding, whatever the day."""
        if self.rank is not None and self.rank not in _ranks_of(finding):
            return False
        return _fits(self.rule, finding.rule) and _fits(self.subject, finding.subject)

    @property
    def where(self) -> str:
        """File and line, as far as they are known."""
        return f"{self.path}:{self.line}" if self.path and self.line is not None else self.path


def read_silences(path: Path, *, rules: Collection[str] = ()) -> tuple[Silence, ...]:
    """The silences of a file of its own. rules: ids that exist, so that a misspelt one is told.

    InputError: no such file, no TOML, too large. UsageError, with key and line: a table that cannot be used.
    """
    found, text = read_toml(path, MAX_BYTES, "a file of silences")
    for name in found:
        if name != TABLE:
            hint = f"a file of silences holds [[{TABLE}]] tables and nothing else"
            raise UsageError(f"unknown key '{safe_text(name, 80)}'", path=path, hint=hint)
    return parse_silences(found.get(TABLE, []), text=text, path=str(path), rules=rules)


def parse_silences(
    tables: object, *, text: str = "", path: str = "", rules: Collection[str] = ()
) -> tuple[Silence, ...]:
    """The silences in what TOML holds under `silence`.

    text: the file, so that errors name the line. rules: as in `read_silences`. UsageError where one cannot
    be used.
    """
    if not isinstance(tables, list):
        raise UsageError(f"'{TABLE}' is no list of tables", path=path or None, hint=f"write [[{TABLE}]]")
    if len(tables) > MAX_SILENCES:
        raise UsageError(f"more than {MAX_SILENCES:,} silences are not read", path=path or None)
    lines = lines_of_list(text, TABLE)
    found = []
    for number, table in enumerate(tables):
        own = lines[number] if len(lines) == len(tables) else {}
        found.append(_one(table, number, own, path, rules))
    return tuple(found)


def silenced(report: Report, silences: Sequence[Silence], today: date, *, lang: Lang = "en") -> Report:
    """The report with the findings of silences that count today as notes, behind all others.

    `figures` say the reason (`silenced`), the last day and the severity from before. The verdict is that of
    what is left; what could not be read or judged stays unknown or incomplete.
    """
    valid = [one for one in silences if not one.is_expired(today)]
    quiet: dict[int, Finding] = {}
    for place, finding in enumerate(report.findings):
        silence = next((one for one in valid if one.matches(finding)), None)
        if silence is None or finding.severity == "note":
            continue
        until = silence.until.isoformat()
        message = say(TEXTS, "silenced", lang, until=until, reason=silence.reason, message=finding.message)
        figures = {
            "silenced": silence.reason,
            "silenced_until": until,
            "severity_before": finding.severity,
        }
        quiet[place] = replace(
            finding, severity="note", message=message, figures={**finding.figures, **figures}
        )
    return set_aside(report, quiet)


def set_aside(report: Report, quiet: Mapping[int, Finding]) -> Report:
    """The report with some findings (by place) as other ones, these behind all that still counts."""
    if not quiet:
        return report
    loud = [one for place, one in enumerate(report.findings) if place not in quiet]
    findings = (*loud, *quiet.values())
    return replace(report, findings=findings, verdict=_verdict(report, findings))


def _verdict(report: Report, findings: Sequence[Finding]) -> Verdict:
    if report.verdict in ("pass", "warn"):
        rest: Verdict = "pass"  # all was read and judged, else it were neither
    else:
        rest = report.beneath if report.verdict == "fail" else report.verdict
    if report.verdict == "pass":
        return "pass"
    return worst_verdict((verdict_from(findings, report.problems), rest))


def _ranks_of(finding: Finding) -> Collection[object]:
    ranks = finding.figures.get("ranks")
    return ranks if isinstance(ranks, list | tuple) and ranks else (finding.location.rank,)


def _fits(pattern: str, name: str) -> bool:
    """The very name, or a pattern of it: a name with brackets is no set of letters."""
    return pattern == name or fnmatchcase(name, pattern)


# ---- one table ----


def _one(table: object, number: int, lines: Mapping[str, int], path: str, rules: Collection[str]) -> Silence:
    head = lines.get("")

    def wrong(key: str, message: str, hint: str | None = None) -> UsageError:
        text = f"{TABLE} {number + 1}: {message}"
        return UsageError(text, path=path or None, line=lines.get(key, head), hint=hint)

    if not isinstance(table, dict):
        raise wrong("", f"is no table; write [[{TABLE}]]")
    for key in table:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean: {near[0]}" if near else "keys: " + ", ".join(_KEYS)
            raise wrong(key, f"unknown key '{safe_text(key, 80)}'", hint)

    def text_of(key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if value is None:
            raise wrong("", f"'{key}' is missing", _hint_of(key))
        if not isinstance(value, str) or not value.strip():
            raise wrong(key, f"'{key}' must be a text that is not empty", _hint_of(key))
        if len(value) > MAX_CHARACTERS:
            raise wrong(key, f"'{key}' has more than {MAX_CHARACTERS:,} characters")
        return value.strip()

    rule, reason, subject = text_of("rule"), text_of("reason"), text_of("subject", "*")
    is_own = not rule.startswith(PLUGIN)
    if rules and is_own and not any(_fits(rule, known) for known in rules):
        near = difflib.get_close_matches(rule, rules, n=3, cutoff=0.5)
        hint = "did you mean: " + ", ".join(near) if near else "npulse rules lists them"
        raise wrong("rule", f"no rule '{safe_text(rule, 80)}'", hint)
    rank = table.get("rank")
    if rank is not None and (not isinstance(rank, int) or isinstance(rank, bool) or rank < 0):
        raise wrong("rank", "'rank' must be a whole number, 0 or more")
    if "until" not in table:
        raise wrong("", "'until' is missing", _hint_of("until"))
    return Silence(rule, reason, _day(table["until"], wrong), subject, rank, path, head)


def _day(value: object, wrong: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            pass  # a day that no month has
    raise wrong("until", "'until' must be a day, as 2026-12-31", _hint_of("until"))


def _hint_of(key: str) -> str:
    return {
        "rule": 'rule = "performance.idle", or a pattern: "performance.*"',
        "reason": 'reason = "why, and who takes care of it"',
        "until": "until = 2026-12-31, the last day on which it counts",
        "subject": "leave it out for every subject",
    }[key]
