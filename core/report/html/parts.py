"""The parts of a page that are words: check-up, findings, problems, what was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from npulse.core.areas import area_title
from npulse.core.criteria import CheckUp
from npulse.core.findings import Finding, Problem, Report
from npulse.core.report.as_text import TEXTS as WORDS
from npulse.core.report.texts import TEXTS as REPORT
from npulse.core.report.whole_text import says_of, why_of
from npulse.core.text import Lang, say
from npulse.core.views import shown_figure

from .nodes import Child, Html, lines, table, tag, text
from .texts import TEXTS

MAX_FINDINGS = 300
"""Of one report; what a tool writes a million times is told once."""
MAX_FIGURES = 80
BRIEF_CHARS = 110
"""Of a finding's message, while it is folded."""
MAX_RELATED = 20
MAX_TOLD = 200
MAX_LISTED = 200


def verdict(state: str, lang: Lang) -> Html:
    """A verdict as a word."""
    return tag("span", say(WORDS, f"is-{state}", lang), class_=f"verdict v-{state}")


def check_up_part(check_up: CheckUp, linked: Iterable[str], lang: Lang) -> Html:
    """Areas, then their criteria. linked: areas that have a section of their own."""
    known = frozenset(linked)
    heads = [say(REPORT, f"head-{name}", lang) for name in ("area", "state", "says", "next")]
    rows = [
        (
            _link(area.area, lang) if area.area in known else area_title(area.area, lang),
            verdict(area.state, lang) if area.is_counted else say(REPORT, "not-counted", lang),
            says_of(area, lang),
            _command(area.next_step),
        )
        for area in check_up.areas
    ]
    criteria = [
        (
            tag("code", one.id),
            one.title[lang == "zh"],
            verdict(one.state, lang),
            one.needs,
            one.shown,
            why_of(one),
            _command(one.next_step),
        )
        for area in check_up.areas
        for one in area.criteria
    ]
    names = ("criterion", "says", "state", "needs", "found", "why", "next")
    return tag(
        "section",
        tag("h2", say(TEXTS, "checkup", lang)),
        table(heads, rows),
        tag("h3", say(TEXTS, "criteria", lang)) if criteria else None,
        table([say(REPORT, f"head-{name}", lang) for name in names], criteria) if criteria else None,
        id="checkup",
    )


def _link(area: str, lang: Lang) -> Html:
    return tag("a", area_title(area, lang), href=f"#{area}")


def _command(words: str) -> Child:
    return tag("code", words) if words else None


def told_part(told: Sequence[str]) -> Html | None:
    """An area's own lines: those in columns keep them."""
    nodes: list[Child] = []
    for is_set_in, block in groupby(told[:MAX_TOLD], lambda line: line.startswith("  ") or not line):
        if is_set_in:
            nodes.append(tag("pre", lines(block), tabindex="0"))
        else:
            nodes += [tag("p", line) for line in block]
    return tag("div", *nodes, class_="told") if nodes else None


def findings_part(report: Report, numbers: Iterable[int], lang: Lang, *, is_first_open: bool) -> Html:
    """All findings of a report, folded; the first one unfolded where that is asked for."""
    if not report.findings:
        return (
            tag("p", say(TEXTS, "no-findings", lang), class_="quiet") if report.verdict == "pass" else Html()
        )
    shown = report.findings[:MAX_FINDINGS]
    more = len(report.findings) - len(shown)
    return tag(
        "div",
        *(
            finding_part(finding, number, lang, is_open=is_first_open and place == 0)
            for place, (finding, number) in enumerate(zip(shown, numbers, strict=False))
        ),
        _more(more, lang),
    )


def finding_part(finding: Finding, number: int, lang: Lang, *, is_open: bool = False) -> Html:
    """One finding: what, why, where, what to do."""
    role, severity = (say(WORDS, word, lang) for word in (finding.role, finding.severity))
    head = tag(
        "summary",
        tag("span", f"{severity}: {role} ", class_=f"verdict v-{finding.severity}"),
        tag("code", finding.subject),
        text(" "),
        tag("span", finding.rule, class_="rule"),
        tag("span", _brief(finding.message), class_="brief"),
    )
    body = tag(
        "div",
        tag("p", finding.message),
        tag("pre", lines(finding.told[:MAX_TOLD]), tabindex="0") if finding.told else None,
        _source(finding, lang),
        _code(finding),
        tag("p", tag("b", f"{say(TEXTS, 'next', lang)}: "), finding.next_step, class_="step")
        if finding.next_step
        else None,
        _where(finding, lang),
        _related(finding, lang),
        _figures(finding, lang),
    )
    return tag("details", head, body, class_="finding", id=f"f{number}", open=is_open)


def _brief(message: str) -> str:
    return message if len(message) <= BRIEF_CHARS else message[:BRIEF_CHARS] + "\N{HORIZONTAL ELLIPSIS}"


def _source(finding: Finding, lang: Lang) -> Html | None:
    if not finding.source or finding.source in finding.message:
        return None
    return tag("p", f"{say(TEXTS, 'source', lang)}: ", tag("code", finding.source))


def _code(finding: Finding) -> Html | None:
    """Source text around the place; the line that is meant has a mark in front of it."""
    if not finding.code:
        return None
    shown = finding.code[:MAX_TOLD]
    width = max(len(str(line.number)) for line in shown)
    rows = (
        tag(
            "span",
            f"{'>' if line.is_marked else ' '} {line.number:>{width}}  {line.text}",
            class_="here" if line.is_marked else None,
        )
        for line in shown
    )
    return tag("pre", Html("\n".join(rows)), tabindex="0", class_="code")


def _where(finding: Finding, lang: Lang) -> Html | None:
    at = finding.location
    if at.artifact is None:
        return None
    place = at.artifact + (f":{at.line}" if at.line is not None else "")
    place += f" @ byte {at.byte}" if at.byte is not None else ""
    more = [f"{name} {value}" for name, value in (("rank", at.rank), ("step", at.step)) if value is not None]
    return tag("p", f"{say(TEXTS, 'at', lang)}: ", tag("code", place), " ", ", ".join(more), class_="quiet")


def _related(finding: Finding, lang: Lang) -> Html | None:
    if not finding.related:
        return None
    items: list[Child] = []
    for one in finding.related[:MAX_RELATED]:
        items.append(tag("li", f"{say(WORDS, one.role, lang)} ", tag("code", one.subject)))
    more = _more(len(finding.related) - MAX_RELATED, lang)
    return tag("div", tag("h4", say(TEXTS, "related", lang)), tag("ul", *items), more)


def _figures(finding: Finding, lang: Lang) -> Html | None:
    shown = [(name, value) for name, value in finding.figures.items() if value is not None]
    if not shown:
        return None
    rows = [(name, _figure(value)) for name, value in shown[:MAX_FIGURES]]
    return tag(
        "details",
        tag("summary", say(TEXTS, "figures", lang)),
        table((say(WORDS, "figure", lang), say(WORDS, "value", lang)), rows),
        _more(len(shown) - MAX_FIGURES, lang),
        class_="figures",
    )


def _figure(value: object) -> str:
    if isinstance(value, list | tuple):
        shown = ", ".join(shown_figure(one) for one in value[:16])
        return f"{shown}, \N{HORIZONTAL ELLIPSIS} ({len(value):,})" if len(value) > 16 else shown
    return shown_figure(value)


def _more(n: int, lang: Lang) -> Html | None:
    return tag("p", say(TEXTS, "more", lang, n=f"{n:,}"), class_="note") if n > 0 else None


def problems_part(problems: Sequence[Problem], lang: Lang) -> Html | None:
    """What could not be read; None where that is nothing."""
    if not problems:
        return None
    heads = [say(TEXTS, name, lang) for name in ("artifact", "kind", "message", "hint")]
    rows = [
        (tag("code", _place(one)), one.kind, one.message, one.hint or "") for one in problems[:MAX_LISTED]
    ]
    title = say(TEXTS, "problems", lang)
    return tag(
        "section",
        tag("h2", title),
        table(heads, rows),
        _more(len(problems) - MAX_LISTED, lang),
        id="problems",
    )


def _place(problem: Problem) -> str:
    line = f":{problem.line}" if problem.line is not None else ""
    byte = f" @ byte {problem.byte}" if problem.byte is not None else ""
    return problem.artifact + line + byte


def looked_at_part(reports: Iterable[Report], lang: Lang) -> Html:
    """Every artifact of every report, each once."""
    found = {(one.kind, one.relative): one for report in reports for one in report.artifacts}
    shown = list(found.values())[:MAX_LISTED]
    heads = [say(TEXTS, name, lang) for name in ("artifact", "kind", "rank", "step", "completeness")]
    rows = [
        (
            tag("code", one.relative),
            one.kind,
            "" if one.rank is None else str(one.rank),
            "" if one.step is None else str(one.step),
            one.completeness,
        )
        for one in shown
    ]
    return tag(
        "section",
        tag("h2", say(TEXTS, "looked-at", lang)),
        tag(
            "details",
            tag("summary", f"{len(found):,}"),
            table(heads, rows, numbers=(2, 3)),
            _more(len(found) - MAX_LISTED, lang),
        ),
        id="looked-at",
    )
