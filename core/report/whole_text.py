"""A dossier for people and sheets: Markdown with the check-up on top, CSV with every finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from npulse.core.areas import area_title
from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.text import Lang, say

from .as_text import FINDING_COLUMNS, code, csv_line, escaped, finding_cells, render_markdown
from .as_text import TEXTS as WORDS
from .dossier import Dossier
from .texts import TEXTS


def render_whole_markdown(dossier: Dossier, lang: Lang = "en") -> Iterator[str]:
    """The check-up, then the reports of every area, the newest round first, then the rounds' story."""
    check_up = dossier.check_up
    yield f"# npulse: {say(WORDS, 'is-' + check_up.state, lang)}\n\n{code(dossier.name)}\n"
    yield f"\n{escaped(dossier.made)}\n" if dossier.made else ""
    yield from _check_up(check_up, lang)
    for told in dossier.newest_first():
        yield "\n"
        yield from render_markdown(replace(told.report, tables={}), lang, level=2, of=told.round)
        yield from (f"- {escaped(note)}\n" for note in told.notes)
    if dossier.story is not None:
        yield "\n"
        yield from render_markdown(replace(dossier.story, tables={}), lang, level=2)


def _check_up(check_up: CheckUp, lang: Lang) -> Iterator[str]:
    if check_up.first:
        first = say(TEXTS, "look-first", lang, area=area_title(check_up.first, lang))
        yield f"\n**{first}** {escaped(check_up.why_first)}\n"
    heads = [say(TEXTS, f"head-{name}", lang) for name in ("area", "state", "says", "next")]
    yield from _table(heads, [_area_cells(area, lang) for area in check_up.areas])
    rows = [
        [
            code(one.id),
            say(WORDS, "is-" + one.state, lang),
            escaped(one.needs),
            escaped(one.shown),
            escaped(why_of(one)),
            code(one.next_step) if one.next_step else "",
        ]
        for area in check_up.areas
        for one in area.criteria
    ]
    heads = [
        say(TEXTS, f"head-{name}", lang) for name in ("criterion", "state", "needs", "found", "why", "next")
    ]
    if rows:
        yield from _table(heads, rows)


def why_of(one: CriterionResult) -> str:
    """What showed it and why, in one line; of one that is accepted, by whom."""
    accepted = "" if one.set_aside is None else one.set_aside.message
    return ": ".join(filter(None, (one.subject, one.why, accepted)))


def says_of(area: AreaState, lang: Lang) -> str:
    """What an area says, what it lacks, and whose trouble its figures mean nothing beside, in one line."""
    words = [area.headline, area.missing]
    if not area.is_trusted:
        words.append(say(TEXTS, "not-trusted", lang, area=area_title(area.distrusted_by, lang)))
    return "; ".join(dict.fromkeys(filter(None, words)))


def _area_cells(area: AreaState, lang: Lang) -> list[str]:
    return [
        area_title(area.area, lang),
        say(WORDS, "is-" + area.state, lang) if area.is_counted else say(TEXTS, "not-counted", lang),
        escaped(says_of(area, lang)),
        code(area.next_step) if area.next_step else "",
    ]


def _table(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "\n| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads) + "\n"
    for row in rows:
        yield "| " + " | ".join(row) + " |\n"


WHOLE_COLUMNS = ("area", "round", *FINDING_COLUMNS)


def whole_rows(dossier: Dossier) -> Iterator[list[Any]]:
    """The values of WHOLE_COLUMNS, one row a finding."""
    for round_name, finding in dossier.findings():
        yield [finding.area, round_name, *finding_cells(finding)]


def render_whole_csv(dossier: Dossier) -> Iterator[str]:
    """All findings of all areas and rounds, the newest round of each area first."""
    yield csv_line(list(WHOLE_COLUMNS))
    yield from map(csv_line, whole_rows(dossier))
