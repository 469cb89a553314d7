"""A baseline: what was found before, so that only what is new or got worse counts.

It is the JSON of `npulse check` (or of one area's command), or the reports of a run that lies there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from npulse.core.errors import InputError
from npulse.core.figures import number
from npulse.core.files import read_input
from npulse.core.findings import (
    Finding,
    Location,
    Report,
    Severity,
    Verdict,
    key_of_finding,
    n_ranks_of,
)
from npulse.core.text import Lang, safe_text, say

from .silences import set_aside
from .texts import TEXTS
from .worse import SEVERITIES, severity_before, sizes_of, worse_sizes

MAX_BYTES = 64 << 20
MAX_FINDINGS = 100_000
SCHEMA = 1
_HINT = "a baseline is made by: npulse check RUN --format json -o baseline.json"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a baseline holds of one report. run: its path. verdict: of all of it."""

    run: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    n_ranks: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """name: file or run, for people. areas: what was found in each; one that is missing was not looked at."""

    name: str
    areas: Mapping[str, Seen] = field(default_factory=dict)

    @property
    def doubtful(self) -> dict[str, Verdict]:
        """Areas that were not read or judged whole -> their verdict."""
        return {
            area: seen.verdict
            for area, seen in self.areas.items()
            if seen.verdict in ("unknown", "incomplete")
        }

    def applied(self, report: Report, *, lang: Lang = "en") -> Report:
        """The report with known findings as notes, behind all others; new ones, and worse ones, count.

        `figures` say so: `known` (the baseline's name) or `worse` (name -> [before, after]).
        """
        quiet: dict[int, Finding] = {}
        findings = list(report.findings)
        known: dict[str, dict[tuple[str, str], list[Finding]]] = {}
        used: Counter[tuple[str, tuple[str, str]]] = Counter()
        n_ranks = n_ranks_of(report)
        for place, finding in enumerate(findings):
            seen = self.areas.get(finding.area)
            if seen is None or finding.severity == "note":
                continue
            is_one = max(seen.n_ranks, n_ranks) < 2
            if finding.area not in known:
                known[finding.area] = _keyed(seen, is_one=is_one)
            key = key_of_finding(finding, report.run, is_one=is_one)
            before = known[finding.area].get(key, [])
            at = used[finding.area, key]
            used[finding.area, key] += 1
            if at >= len(before):
                if before:
                    findings[place] = _worse(finding, {"n": (len(before), at + 1)}, lang)
                continue
            worse = _compared(before[at], finding)
            if worse:
                findings[place] = _worse(finding, worse, lang)
                continue
            figures = {"known": self.name, "severity_before": finding.severity}
            message = say(TEXTS, "known", lang, message=finding.message)
            quiet[place] = replace(
                finding, severity="note", message=message, figures={**finding.figures, **figures}
            )
        return set_aside(replace(report, findings=tuple(findings)), quiet)


def baseline_of(reports: Iterable[Report], name: str) -> Baseline:
    """The baseline that these reports of a run are; of an area with several, the last one."""
    areas: dict[str, Seen] = {}
    for report in reports:
        by_area: dict[str, list[Finding]] = {report.command: []}
        for finding in report.findings:
            by_area.setdefault(finding.area, []).append(finding)
        for area, findings in by_area.items():
            areas[area] = Seen(report.run, report.verdict, tuple(findings), n_ranks_of(report))
    return Baseline(name, areas)


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file. InputError: no such file, too large, no JSON of npulse, another schema."""
    raw = read_input(path, MAX_BYTES, "a baseline", hint=_HINT)
    try:
        body = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError("this is no JSON of npulse", path=path, line=line, hint=_HINT) from error
    return baseline_from(body, str(path))


def baseline_from(body: Any, name: str) -> Baseline:
    """The baseline that a report as JSON is. name: of the file or run. InputError for another JSON."""

    def wrong(message: str) -> InputError:
        return InputError(message, path=name, hint=_HINT)

    if not isinstance(body, dict) or not isinstance(body.get("findings"), list) or "verdict" not in body:
        raise wrong("this is no report of npulse as JSON")
    if body.get("schema") != SCHEMA:
        schema = safe_text(str(body.get("schema")), 20)
        raise wrong(f"a report of schema {schema} is not known; this npulse reads {SCHEMA}")
    verdict, command, run = _verdict(body["verdict"]), body.get("command"), body.get("run")
    if verdict is None or not isinstance(command, str) or not isinstance(run, str):
        raise wrong("'verdict', 'command' or 'run' is not what npulse writes")
    if len(body["findings"]) > MAX_FINDINGS:
        raise wrong(f"more than {MAX_FINDINGS:,} findings are not read")
    by_area: dict[str, list[Finding]] = {}
    for number_, entry in enumerate(body["findings"], 1):
        finding = _finding(entry)
        if finding is None:
            raise wrong(f"finding {number_} is not what npulse writes")
        by_area.setdefault(finding.area, []).append(finding)
    verdicts = _verdicts(body.get("summary"))
    for area in verdicts if command == "check" else (command,):
        by_area.setdefault(area, [])
    n_ranks = _n_ranks(body.get("artifacts"))
    areas = {
        area: Seen(run, verdicts.get(area, verdict), tuple(found), n_ranks) for area, found in by_area.items()
    }
    return Baseline(name, areas)


def _finding(entry: Any) -> Finding | None:
    """What is compared of a finding; None for anything that npulse did not write."""
    if not isinstance(entry, dict):
        return None
    texts = [entry.get(key) for key in ("area", "severity", "rule", "subject")]
    figures = entry.get("figures")
    if not all(isinstance(one, str) for one in texts) or not isinstance(figures, dict):
        return None
    area, severity, rule, subject = map(str, texts)
    if severity not in SEVERITIES:
        return None
    kept: Severity = severity_before(figures, severity)
    return Finding(area, kept, rule, "unknown", subject, "", figures=figures, location=Location())


def _verdicts(summary: Any) -> dict[str, Verdict]:
    """The states of the areas as `npulse check` tells them in its summary, by id or as a list."""
    areas = summary.get("areas") if isinstance(summary, dict) else None
    if isinstance(areas, list):
        areas = {str(one.get("area")): one for one in areas if isinstance(one, dict)}
    found: dict[str, Verdict] = {}
    for area, entry in areas.items() if isinstance(areas, dict) else ():
        told = _verdict(entry.get("state", entry.get("verdict")) if isinstance(entry, dict) else entry)
        if told is not None:
            found[area] = told
    return found


def _verdict(value: object) -> Verdict | None:
    known: tuple[Verdict, ...] = get_args(Verdict)
    return next((one for one in known if one == value), None)


def _n_ranks(artifacts: Any) -> int:
    entries = artifacts if isinstance(artifacts, list) else ()
    ranks = (one.get("rank") for one in entries if isinstance(one, dict))
    return len({rank for rank in ranks if isinstance(rank, int)})


def _keyed(seen: Seen, *, is_one: bool) -> dict[tuple[str, str], list[Finding]]:
    """What the baseline knows; notes of it excuse nothing."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in seen.findings:
        if one.severity != "note":
            found.setdefault(key_of_finding(one, seen.run, is_one=is_one), []).append(one)
    return found


def _compared(before: Finding, after: Finding) -> dict[str, tuple[Any, Any]]:
    worse: dict[str, tuple[Any, Any]] = dict(worse_sizes(sizes_of(before), sizes_of(after)))
    if SEVERITIES.index(after.severity) > SEVERITIES.index(before.severity):
        worse["severity"] = (before.severity, after.severity)
    return worse


def _worse(finding: Finding, worse: Mapping[str, tuple[Any, Any]], lang: Lang) -> Finding:
    told = "; ".join(_told(name, before, after, lang) for name, (before, after) in worse.items())
    message = say(TEXTS, "worse", lang, message=finding.message, figures=told)
    figures = {**finding.figures, "worse": {name: list(pair) for name, pair in worse.items()}}
    return replace(finding, message=message, figures=figures)


def _told(name: str, before: Any, after: Any, lang: Lang) -> str:
    if name == "severity":
        return say(TEXTS, "severity", lang, before=before, after=after)
    if name == "n":
        return say(TEXTS, "more", lang, before=before, after=after)
    old, new = (number(int(one)) if float(one).is_integer() else number(one) for one in (before, after))
    return say(TEXTS, "figure", lang, name=name, before=old, after=new)
