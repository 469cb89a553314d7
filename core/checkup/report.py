"""The check-up as a report: the area that leads first, then all in check-up order, then what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from npulse.core.areas import area_title
from npulse.core.criteria import AreaState, CheckUp
from npulse.core.findings import Finding, Problem, Report
from npulse.core.text import Lang, columns_of, safe_text, say

from .own import AREA, own_findings
from .table import criteria_table, round_of
from .texts import TEXTS
from .words import origin_text

COMMAND = "check"
_MARKS = {"pass": ".", "warn": "!", "fail": "x", "unknown": "?", "incomplete": "?"}
_LONG = 300


def report(found: CheckUp, lang: Lang = "en", *, tables: bool = False) -> Report:
    """Findings of all areas, the one that leads in front; problems of all, each once; a line an area."""
    told = [one for area in found.areas for one in area.reports]
    artifacts = dict.fromkeys(artifact for one in told for artifact in one.report.artifacts)
    return Report(
        command=COMMAND,
        run=found.run,
        verdict=found.state,
        artifacts=tuple(artifacts),
        findings=tuple(_findings(found, lang)),
        counts=_counts(found),
        summary=_summary(found),
        problems=problems_of(found),
        tables={AREA: criteria_table(found, lang)} if tables else {},
        told=tuple(lines_of(found, lang)),
    )


def problems_of(found: CheckUp) -> tuple[Problem, ...]:
    """What could not be read in any area, each once."""
    told = (one.report.problems for area in found.areas for one in area.reports)
    return tuple(dict.fromkeys(problem for problems in told for problem in problems))


# ---- findings ----


def _findings(found: CheckUp, lang: Lang) -> Iterator[Finding]:
    leads = [area for area in found.areas if area.area == found.first]
    for area in (*leads, *(one for one in found.areas if one.area != found.first)):
        for one in reversed(area.reports):
            yield from one.report.findings
        yield from own_findings(area, lang)


# ---- for programs ----


def _counts(found: CheckUp) -> Mapping[str, int]:
    states = Counter(area.state for area in found.areas if area.is_counted)
    criteria = [one for area in found.areas for one in area.criteria]
    return {
        "areas": sum(states.values()),
        **{state: states[state] for state in ("pass", "warn", "fail", "unknown", "incomplete")},
        "not_recorded": sum(not area.is_counted for area in found.areas),
        "criteria": len(criteria),
        "missed": sum(one.state == "fail" for one in criteria),
    }


def _summary(found: CheckUp) -> dict[str, Any]:
    return {
        "first": found.first or None,
        "why_first": found.why_first or None,
        "criteria_file": found.criteria_file or None,
        "round": found.round or None,
        "areas": [_area_facts(area) for area in found.areas],
        "criteria": [
            {
                "id": one.id,
                "state": one.state,
                "value": one.value,
                "unit": one.unit or None,
                "needs": one.needs,
                "subject": one.subject or None,
                "why": one.why or None,
            }
            for area in found.areas
            for one in area.criteria
        ],
    }


def _area_facts(area: AreaState) -> dict[str, Any]:
    origin = area.origin
    return {
        "area": area.area,
        "state": area.state,
        "is_counted": area.is_counted,
        "headline": area.headline,
        "recorded": area.recorded or None,
        "rounds": list(dict.fromkeys(one.round for one in area.reports)),
        "origin": {"rule": origin.rule, "subject": origin.subject} if origin is not None else None,
        "distrusted_by": area.distrusted_by or None,
        "missing": area.missing or None,
        "next": area.next_step or None,
    }


# ---- for people ----


def lines_of(found: CheckUp, lang: Lang) -> Iterator[str]:
    """What to look at first and why, then a line an area with what stands behind it."""
    yield first_line(found, lang)
    rows = [
        (
            _MARKS[area.state] if area.is_counted else "-",
            area_title(area.area, lang),
            state_word(area, lang),
            safe_text(round_of(area), 40),
        )
        for area in found.areas
    ]
    for area, line in zip(found.areas, columns_of(rows, left=(0, 1, 2, 3)), strict=True):
        yield f"  {line}  {safe_text(area.headline, _LONG)}"
        yield from (f"       {one}" for one in lines_behind(area, lang))
    criteria = safe_text(found.criteria_file) or say(TEXTS, "bundled", lang)
    yield say(TEXTS, "told-criteria", lang, file=criteria)


def first_line(found: CheckUp, lang: Lang) -> str:
    """The area to look at first and why."""
    if not found.first:
        return say(TEXTS, "told-well" if found.state == "pass" else "told-nothing-first", lang)
    return say(TEXTS, "told-first", lang, area=area_title(found.first, lang), why=found.why_first)


def state_word(area: AreaState, lang: Lang) -> str:
    """The state of an area as a word; of one that nobody recorded, that."""
    return say(TEXTS, area.state if area.is_counted else "not-counted", lang)


def lines_behind(area: AreaState, lang: Lang) -> Iterator[str]:
    """Of an area that is not well or lacks something: its first finding, trust, what is missing, next."""
    if area.origin is not None and area.state != "pass":
        yield origin_text(area.origin, lang)
    if area.distrusted_by:
        yield say(TEXTS, f"distrust-{area.distrusted_by}", lang)
    if area.missing and area.is_counted and area.missing not in area.headline:
        yield say(TEXTS, "told-missing", lang, missing=safe_text(area.missing, _LONG))
    if area.next_step and (area.state != "pass" or area.missing):
        yield say(TEXTS, "told-next", lang, command=safe_text(area.next_step, 1000))
