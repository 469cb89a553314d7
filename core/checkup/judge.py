"""Reports of areas against criteria: pure, so that whoever has the reports already can have them judged.

State of a criterion: fail where its limit is missed; unknown where there is no figure; unknown or incomplete
where the figure is a lower bound that holds the limit so far; else pass. A criterion of the bundled file
without a figure is left out: nobody asked for it.

State of an area: the worst of its criteria and of its own reports' verdicts; unknown where it has none. It
counts for the state over all where something was recorded that can be judged, or where the user's file asks
for it. An environment that nobody could judge and a capture without a golden one are told, and count only
where they are asked for: they would make every run unknown for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npulse.core.analysis import AreaReport
from npulse.core.areas import BESIDE
from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.figures import number
from npulse.core.findings import Finding, Report, Verdict, worst_verdict
from npulse.core.text import Lang, safe_text, say

from .causes import first_of, state_of_all, with_distrust
from .commands import KINDS, RunFacts, area_command, capture_command, here_command
from .criteria_file import CriteriaFile
from .criterion import CRITERIA, ORDER, Criterion
from .measured import TAKES, Measured, n_steps
from .own import AREA, criterion_finding
from .texts import TEXTS
from .words import command_of

ALL_ROUNDS = "overflow.all_rounds"
Prepare = Callable[[Report], Report]
"""What is done to a report before it is judged: findings that somebody accepts become notes."""
_SEVERITIES = ("error", "warning")


def as_it_is(report: Report) -> Report:
    """A report as it was made."""
    return report


def judged(
    facts: RunFacts,
    reports: Mapping[str, Sequence[AreaReport]],
    criteria: CriteriaFile,
    *,
    lang: Lang = "en",
    round_name: str | None = None,
    prepare: Prepare = as_it_is,
) -> CheckUp:
    """The check-up of reports that are there. Opens no file.

    reports: by area, each in the order of the rounds, as `prepare` has made them; of several rounds the
    newest counts (`newest_of`). round_name: the one that was asked for. prepare: is asked of missed criteria
    too, each as a report with one finding.
    """
    found = []
    others = [area for area in reports if area not in ORDER and reports[area]]  # plug-ins' own, last
    for area in (*ORDER, *others):
        chosen = newest_of(area, reports.get(area, ()), criteria)
        found.append(_area_state(facts, area, chosen, criteria, lang, prepare))
    areas = tuple(with_distrust(found))
    cause = first_of(areas)
    state = state_of_all(areas)
    why = ""
    if cause is not None:
        key = f"why-{state}" if state in ("incomplete", "unknown", "warn") else cause.why
        why = say(TEXTS, key, lang)
    return CheckUp(
        run=facts.path,
        state=state,
        areas=areas,
        round=round_name or "",
        first=cause.area if cause is not None else "",
        why_first=why,
        criteria_file=criteria.path,
    )


def newest_of(area: str, reports: Sequence[AreaReport], criteria: CriteriaFile) -> tuple[AreaReport, ...]:
    """The reports that count: all pairs and captures of the newest round, or of all rounds of an evaluation
    set (`overflow.all_rounds`)."""
    if area == "overflow" and criteria.is_on(ALL_ROUNDS):
        return tuple(reports)
    return tuple(one for one in reports if one.round == reports[-1].round)


def _area_state(
    facts: RunFacts,
    area: str,
    reports: tuple[AreaReport, ...],
    criteria: CriteriaFile,
    lang: Lang,
    prepare: Prepare,
) -> AreaState:
    told = [one.report for one in reports]
    is_recorded, is_asked = is_judgeable(area, told), criteria.asks_for(area)
    results = tuple(
        _accepted(facts, one, prepare, lang) for one in _results(facts, area, told, criteria, lang)
    )
    state = worst_verdict((*(report.verdict for report in told), *(one.state for one in results)))
    missing, next_step = _missing(facts, area, told, results, lang, is_recorded)
    origin = _origin(told)
    if told and (state in ("fail", "warn") and origin is not None or state != "pass" and not next_step):
        if area not in BESIDE:
            next_step = area_command(facts, command_of(area), reports[-1].round)
        elif origin is not None:  # no command shows more of it
            next_step = origin.next_step
        elif area == "environment":
            next_step = here_command(facts)
    recorded = _recorded(told)
    headline = _headline(area, told, results, missing, lang)
    if told and all(map(is_of_others, told)):
        tool = safe_text(str(told[-1].summary["computed_by"]), 80)
        headline = safe_text(say(TEXTS, "of-others", lang, tool=tool, headline=headline), 400)
    if recorded:
        headline = safe_text(say(TEXTS, "recorded", lang, made=recorded, headline=headline), 400)
    return AreaState(
        area=area,
        state=state if told else "unknown",
        headline=headline,
        criteria=results,
        reports=reports,
        origin=origin,
        missing=missing,
        next_step=next_step,
        is_counted=is_recorded or is_asked,
        recorded=recorded,
    )


def is_of_others(report: Report) -> bool:
    """Whether its figures are those that another tool computed."""
    return bool(report.summary.get("computed_by"))


def _recorded(reports: Sequence[Report]) -> str:
    """When reports were made that stand in a pack as they are (`core/packs`); "" for those of now."""
    for report in reports:
        facts = report.summary.get("recorded")
        if isinstance(facts, Mapping) and "made" in facts:
            return safe_text(str(facts["made"]), 40) or "?"
    return ""


def is_judgeable(area: str, reports: Sequence[Report]) -> bool:
    """Whether something is there that can be judged at all."""
    if not reports:
        return False
    if any(report.verdict not in ("unknown", "pass") for report in reports):
        return True
    if area == "precision":
        return any(report.golden is not None or is_of_others(report) for report in reports)
    if area == "environment":
        return any(report.verdict != "unknown" for report in reports)
    return True


def _origin(reports: Sequence[Report]) -> Finding | None:
    """The first error of the newest report that has one, else the first warning."""
    for severity in _SEVERITIES:
        for report in reversed(reports):
            for finding in report.findings:
                if finding.severity == severity:
                    return finding
    return None


# ---- criteria ----


def _accepted(facts: RunFacts, one: CriterionResult, prepare: Prepare, lang: Lang) -> CriterionResult:
    """The result; a miss that somebody accepts passes, and says who."""
    if one.state != "fail":
        return one
    missed = criterion_finding(one, lang)
    report = prepare(Report(AREA, facts.path, "fail", findings=(missed,), beneath="pass"))
    left = next(iter(report.findings), None)
    if left is None or left.severity == "error":
        return one
    return replace(one, state="pass", why=left.message, set_aside=left)


def _results(
    facts: RunFacts, area: str, reports: Sequence[Report], criteria: CriteriaFile, lang: Lang
) -> list[CriterionResult]:
    found = []
    for criterion in CRITERIA:
        if criterion.area != area or criterion.sense == "choice" or not _is_set(criterion, criteria):
            continue
        seen = TAKES[criterion.id](reports) if reports else Measured(None, "unknown", why="no-figure")
        is_missing = seen.value is None and seen.state != "fail"
        if is_missing and criterion.id not in criteria.asked:
            continue
        found.append(_result(facts, criterion, criteria.limit(criterion.id), seen, lang))
    return found


def _is_set(criterion: Criterion, criteria: CriteriaFile) -> bool:
    if criterion.is_flag:
        return criteria.is_on(criterion.id)
    return criteria.limit(criterion.id) is not None


def _result(
    facts: RunFacts, criterion: Criterion, limit: float | None, seen: Measured, lang: Lang
) -> CriterionResult:
    unit = f" {criterion.unit}" if criterion.unit else ""
    needs = say(TEXTS, f"needs-{criterion.sense}", lang, limit=_figure(criterion, limit or 0.0, lang))
    why = say(TEXTS, seen.why, lang, **({"reason": seen.detail} if seen.detail else {})) if seen.why else ""
    kind = criterion.area
    return CriterionResult(
        id=criterion.id,
        title=criterion.title,
        state=criterion_state(criterion, limit, seen),
        needs=needs if criterion.is_flag else f"{needs}{unit}",
        value=seen.value,
        shown="?" if seen.value is None else _shown(criterion, seen, lang) + unit,
        unit=criterion.unit,
        subject=seen.subject,
        why=why,
        next_step=_gets(facts, criterion, seen) if seen.value is None and kind in KINDS else "",
        limit=limit,
        is_higher_better=criterion.sense == "at least",
    )


def _gets(facts: RunFacts, criterion: Criterion, seen: Measured) -> str:
    """The command that records what a criterion is about."""
    if seen.why == "no-golden":
        return capture_command(facts, criterion.area, name="golden")
    return capture_command(facts, criterion.area, options=_OPTIONS_OF.get(criterion.id, ()))


_OPTIONS_OF = {"memory.leaked_bytes": ("--set", "leak-check=yes")}


def criterion_state(criterion: Criterion, limit: float | None, seen: Measured) -> Verdict:
    """The state of one criterion. limit: None for a yes or no."""
    if seen.value is None or limit is None:
        return seen.state
    is_missed = seen.value < limit if criterion.sense == "at least" else seen.value > limit
    return "fail" if is_missed else seen.state


def _shown(criterion: Criterion, seen: Measured, lang: Lang) -> str:
    """The figure; "3+" for a count that is a lower bound."""
    text = _figure(criterion, seen.value or 0.0, lang)
    return f"{text}+" if criterion.is_count and seen.state != "pass" else text


def _figure(criterion: Criterion, value: float, lang: Lang) -> str:
    if criterion.is_flag:
        return say(TEXTS, "yes" if value else "no", lang)
    return f"{int(value):,}" if criterion.is_count else number(value)


# ---- what is said of an area ----


def _missing(
    facts: RunFacts,
    area: str,
    reports: Sequence[Report],
    results: Sequence[CriterionResult],
    lang: Lang,
    is_recorded: bool,
) -> tuple[str, str]:
    """What is missing, and the command that gets it; ("", "") where nothing is."""
    if not reports:
        text = say(TEXTS, f"missing-{area}", lang)
        return text, capture_command(facts, area) if area in KINDS else here_command(facts)
    lacking = next((one for one in results if one.value is None and one.state == "unknown"), None)
    if area == "precision" and not is_recorded:
        return say(TEXTS, "missing-golden", lang), capture_command(facts, area, name="golden")
    has_pairs = any(report.counts.get("pairs") for report in reports)
    if area == "environment" and not is_recorded and not has_pairs:
        return say(TEXTS, "missing-versions", lang), here_command(facts)
    short = next((one for one in results if one.id == "overflow.min_steps" and one.state == "fail"), None)
    if short is not None and short.value is not None:
        needed = f"{int(short.limit or 0):,}"
        text = say(TEXTS, "missing-steps", lang, n=f"{int(short.value):,}", needed=needed)
        return text, capture_command(facts, area)
    if lacking is None:
        return "", ""
    title = lacking.title[lang == "zh"]
    return say(TEXTS, "missing-criterion", lang, title=title, why=lacking.why), lacking.next_step


def _headline(
    area: str, reports: Sequence[Report], results: Sequence[CriterionResult], missing: str, lang: Lang
) -> str:
    """What fails first: missed criteria, or the errors where all are met; then the other figures."""
    if not reports:
        return missing
    parts = [_figure_text(one, lang) for one in results if one.value is not None or one.subject]
    if area == "overflow" and not any(one.id == "overflow.min_steps" for one in results):
        steps = n_steps(reports)
        parts += (
            [say(TEXTS, "n-steps-one" if steps == 1 else "n-steps", lang, n=f"{steps:,}")] if steps else []
        )
    findings = [finding for report in reports for finding in report.findings]
    counted = []
    for severity in _SEVERITIES:
        n = sum(finding.severity == severity for finding in findings)
        if n:
            key = f"n-{severity}s" + ("-one" if n == 1 else "")
            counted.append(say(TEXTS, key, lang, n=f"{n:,}"))
    has_errors = any(finding.severity == "error" for finding in findings)
    is_met = not any(one.state == "fail" for one in results)
    parts = [*counted, *parts] if has_errors and is_met else [*parts, *counted]
    n_problems = len({problem for report in reports for problem in report.problems})
    if n_problems:
        parts.append(say(TEXTS, "n-problems", lang, n=f"{n_problems:,}"))
    if missing:
        parts.append(missing)
    if not parts:
        is_well = all(report.verdict in ("pass", "warn") for report in reports)
        parts = [say(TEXTS, "clean" if is_well else "could-not-judge", lang)]
    return safe_text(", ".join(parts), 400)


def _figure_text(result: CriterionResult, lang: Lang) -> str:
    """Title and figure; what was asked for where it is missed or not known."""
    text = f"{result.title[lang == 'zh']} {result.shown}"
    needs = say(TEXTS, "told-needs", lang, needs=result.needs)
    return f"{text} ({needs})" if result.state == "fail" or result.value is None else text
