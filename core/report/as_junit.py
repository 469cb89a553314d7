"""JUnit XML of a check-up: one test case a criterion, as CI systems show it.

    pass         a case that passed; what a silence or a baseline accepts, with its words in <system-out>
    warn         passed, its words in <system-out>; a failure where warnings count (`strict`)
    fail         <failure>
    incomplete   <error>: what there is could not be read or judged whole
    unknown      <skipped>: nothing was recorded that tells

What passed in an area whose figures are not trusted is skipped too, with the area before it as the reason. An
area whose own findings say worse than all its criteria has a case for them, so that the file never says
better than the check-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

from npulse.core.areas import area_title
from npulse.core.criteria import AreaState, CriterionResult
from npulse.core.findings import Verdict, worst_verdict
from npulse.core.text import Lang, safe_text, say

from .dossier import Dossier
from .texts import TEXTS

MAX_CHARS = 4000
"""Of one text: a CI system keeps every one of every build."""
SHOWN_FINDINGS = 20
"""Findings named in a case for an area's own findings."""

_TAGS = {"fail": "failure", "incomplete": "error", "unknown": "skipped"}


@dataclass(frozen=True, slots=True)
class _Case:
    """One test case. tag: failure, error, skipped or "" for one that passed."""

    name: str
    tag: str
    state: Verdict
    message: str
    lines: tuple[str, ...]
    is_accepted: bool = False


def render_junit(dossier: Dossier, lang: Lang = "en", *, strict: bool = False) -> Iterator[str]:
    """The XML in pieces: one test suite an area, in the order in which they are asked."""
    suites = [(area, _cases(area, lang, strict)) for area in dossier.check_up.areas]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    counts = _counts([case for _, cases in suites for case in cases], with_skipped=False)
    yield f"<testsuites name={_attribute('npulse ' + dossier.name)}{counts}>\n"
    for number, (area, cases) in enumerate(suites):
        yield f' <testsuite name={_attribute(area.area)} id="{number}"{_counts(cases)}>\n'
        yield "  <properties>\n"
        for name, value in (
            ("run", dossier.check_up.run),
            ("round", dossier.check_up.round),
            ("verdict", area.state),
            ("title", area_title(area.area, lang)),
        ):
            if value:
                yield f"   <property name={_attribute(name)} value={_attribute(value)}/>\n"
        yield "  </properties>\n"
        for case in cases:
            yield from _case_lines(area.area, case)
        yield f"  <system-out>{_text(area.headline)}</system-out>\n" if area.headline else ""
        yield " </testsuite>\n"
    yield "</testsuites>\n"


def _cases(area: AreaState, lang: Lang, strict: bool) -> list[_Case]:
    made = [_criterion(area, one, lang, strict) for one in area.criteria]
    shown = worst_verdict(one.state for one in area.criteria) if area.criteria else "pass"
    if worst_verdict((shown, area.state)) != shown or not area.criteria:
        made.append(_own(area, lang, strict))
    return made


def _criterion(area: AreaState, one: CriterionResult, lang: Lang, strict: bool) -> _Case:
    title = one.title[lang == "zh"]
    found = say(TEXTS, "found", lang, needs=one.needs, shown=one.shown)
    lines = [title, found, one.subject, one.why]
    if one.next_step:
        lines.append(say(TEXTS, "next", lang, what=one.next_step))
    if one.set_aside is not None:
        lines.append(one.set_aside.message)
    case = _judged(area, one.id, one.state, f"{title}: {one.why or found}", lines, lang, strict)
    return replace(case, is_accepted=one.set_aside is not None)


def _own(area: AreaState, lang: Lang, strict: bool) -> _Case:
    """What the area found by its own rules, in a case of its own."""
    findings = [
        finding
        for told in reversed(area.reports)
        for finding in told.report.findings
        if finding.severity != "note"
    ]
    lines = [
        area.headline,
        *(f"{one.rule} {one.subject}: {one.message}" for one in findings[:SHOWN_FINDINGS]),
    ]
    if len(findings) > SHOWN_FINDINGS:
        lines.append(say(TEXTS, "more-findings", lang, n=f"{len(findings) - SHOWN_FINDINGS:,}"))
    lines.append(area.missing)
    if area.next_step:
        lines.append(say(TEXTS, "next", lang, what=area.next_step))
    return _judged(
        area, f"{area.area}.findings", area.state, area.headline or area.missing, lines, lang, strict
    )


def _judged(
    area: AreaState, name: str, state: Verdict, message: str, lines: list[str], lang: Lang, strict: bool
) -> _Case:
    tag = _TAGS.get(state, "failure" if state == "warn" and strict else "")
    if not tag and not area.is_trusted:
        before = area_title(area.distrusted_by, lang)
        tag, message = "skipped", say(TEXTS, "not-trusted", lang, area=before)
        lines = [message, *lines]
    return _Case(name, tag, state, message, tuple(dict.fromkeys(filter(None, lines))))


def _counts(cases: list[_Case], *, with_skipped: bool = True) -> str:
    """The attributes that count; the outermost element has none for what was skipped."""
    tags = [case.tag for case in cases]
    told = {"tests": len(cases), "failures": tags.count("failure"), "errors": tags.count("error")}
    if with_skipped:
        told["skipped"] = tags.count("skipped")
    return "".join(f' {name}="{n}"' for name, n in told.items())


def _case_lines(area: str, case: _Case) -> Iterator[str]:
    head = f"  <testcase classname={_attribute(area)} name={_attribute(case.name)}"
    body = _text("\n".join(case.lines))
    if case.tag == "skipped":  # its text is lost in some systems, the message is not
        yield f"{head}>\n   <skipped message={_attribute(case.message)}/>\n"
    elif case.tag:
        kind = f" type={_attribute(case.state)}"
        yield f"{head}>\n   <{case.tag} message={_attribute(case.message)}{kind}>{body}</{case.tag}>\n"
    elif case.state == "warn" or case.is_accepted:
        yield f"{head}>\n"
    else:
        yield f"{head}/>\n"
        return
    if case.tag in ("", "skipped"):
        yield f"   <system-out>{body}</system-out>\n"
    yield "  </testcase>\n"


def _text(text: str) -> str:
    return escape(_legal(text))


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    """Only what XML 1.0 can hold; the rest (controls, lone surrogates, two non-characters) is shown."""
    lines = (safe_text(line, MAX_CHARS) for line in text[: 4 * MAX_CHARS].split("\n"))
    return "\n".join(lines).translate({0xFFFE: "\ufffd", 0xFFFF: "\ufffd"})
