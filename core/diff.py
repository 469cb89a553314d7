"""Two runs (or two rounds of one) side by side in every area: what is new, what is gone, what it changed.

Findings are the same where area, rule and subject are. An area with more to say of two runs has a function
`changes_of` beside its `reports_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .analysis import AnalysisOptions, Newest
from .areas import AREAS, Area
from .errors import InputError, UsageError
from .findings import Finding, Problem, Report, key_of_finding, n_ranks_of, verdict_from
from .progress import IsCancelled, ProgressCallback, check, ignore_progress, never_cancelled
from .run.discover import discover
from .run.model import Artifact, Run
from .run.selection import ranks_hint
from .table import Table
from .text import Lang, say

COMMAND = "diff"
TEXTS: Mapping[str, tuple[str, str]] = {
    "new": ("new: {message}", "新增：{message}"),
    "gone": ("gone: {message}", "消失：{message}"),
    "gone-unread": (
        "not told any more, but the later run could not be read or judged whole: {message}",
        "不再出现，但后一次运行未能完整读取或判断：{message}",
    ),
    "told": (
        "{area}: {n_new} new, {n_gone} gone, {n_same} as before; verdict {before} -> {after}",
        "{area}：新增 {n_new}，消失 {n_gone}，不变 {n_same}；结论 {before} → {after}",
    ),
    "told-only": (
        "{area}: only {which} has something to read; nothing is compared",
        "{area}：只有{which}有可读内容，未比较",
    ),
    "first": ("the first run", "第一次运行"),
    "second": ("the second run", "第二次运行"),
}


def diff(
    before: Path,
    after: Path,
    options: AnalysisOptions,
    *,
    rounds: tuple[str | None, str | None] = (None, None),
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """The report of two runs. rounds: which of each; by default the newest. Both may be rounds of one run.

    Raises InputError where no area can read both runs, UsageError where both are the same.
    """
    runs = [discover(path, progress=progress, is_cancelled=is_cancelled) for path in (before, after)]
    newest = runs[1].rounds[-1].name if runs[1].rounds else None
    is_newest = rounds[0] == newest and rounds[1] is None
    if runs[0].path == runs[1].path and (rounds[0] == rounds[1] or is_newest):
        raise UsageError("both runs are the same", hint="npulse diff RUN_A RUN_B, or --round A --round-b B")
    asked = [replace(options, round_name=name) for name in rounds]
    findings: list[Finding] = []
    problems: list[Problem] = []
    tables: dict[str, Table] = {}
    told: list[str] = []
    artifacts: dict[tuple[str, str], Artifact] = {}
    counted: Counter[str] = Counter({"new": 0, "gone": 0, "same": 0})
    summary: dict[str, object] = {}
    n_compared = 0
    is_unknown = False
    unknown: list[UsageError] = []
    for area in AREAS:
        check(is_cancelled)
        if not area.is_built:
            continue
        own_asked = [_fitting(area, one, unknown) for one in asked]
        sides = [
            _newest(area, run, one, problems, progress, is_cancelled)
            for run, one in zip(runs, own_asked, strict=True)
        ]
        title = area.title[1 if options.lang == "zh" else 0]
        if sides[0] is None or sides[1] is None:
            if sides[0] is not None or sides[1] is not None:
                which = say(TEXTS, "first" if sides[1] is None else "second", options.lang)
                told.append(say(TEXTS, "told-only", options.lang, area=title, which=which))
            continue
        n_compared += 1
        before_report, after_report = (side.report.report for side in (sides[0], sides[1]))
        is_unknown |= "unknown" in (before_report.verdict, after_report.verdict)
        own = area.changes_of(sides[0], sides[1], own_asked[1], (runs[0].path.name, runs[1].path.name))
        if own is not None:
            findings += own.report.findings
            problems += own.report.problems
            tables |= own.report.tables
            summary |= {f"{area.id}_{name}": value for name, value in own.report.summary.items()}
        made, counts = _compared(before_report, after_report, options.lang)
        findings += made
        counted.update(counts)
        for report, side in ((before_report, "golden"), (after_report, "target")):
            artifacts |= {(side, one.relative): replace(one, side=side) for one in report.artifacts}
        problems += (*before_report.problems, *after_report.problems)
        told.append(
            say(
                TEXTS,
                "told",
                options.lang,
                area=title,
                n_new=counts["new"],
                n_gone=counts["gone"],
                n_same=counts["same"],
                before=before_report.verdict.upper(),
                after=after_report.verdict.upper(),
            )
        )
        told += [f"  {note}" for side in (sides[0], sides[1]) for note in side.report.notes]
        if own is not None:
            told += [f"  {line}" for line in own.report.told]
    if unknown and len(unknown) >= 2 * sum(area.is_built for area in AREAS):
        # no area takes these criteria: what the one says that knows the name comes before "unknown"
        known = [one for one in unknown if not one.message.startswith("unknown")]
        raise next((one for one in (*known, *unknown) if one.hint != "known: "), unknown[0])
    if not n_compared:
        raise InputError(
            "the two runs hold nothing that can be compared",
            path=after,
            hint=_why_nothing(runs, options, problems),
        )
    order = {"error": 0, "warning": 1, "note": 2}
    findings.sort(key=lambda one: order[one.severity])
    kept = tuple(dict.fromkeys(problems))
    return Report(
        command=COMMAND,
        run=str(after),
        verdict=verdict_from(
            findings, kept, has_unknown=is_unknown or any(one.role == "unknown" for one in findings)
        ),
        artifacts=tuple(artifacts.values()),
        findings=tuple(findings),
        counts=dict(counted),
        summary=summary,
        problems=kept,
        tables=tables if options.tables else {},
        target=_named(after, rounds[1]),
        golden=_named(before, rounds[0]),
        told=tuple(told),
    )


def _why_nothing(runs: Sequence[Run], options: AnalysisOptions, problems: Sequence[Problem]) -> str:
    """Why no area has both sides: the rank that is not there, what could not be read."""
    for problem in problems:
        return f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    for damaged in (one for run in runs for one in run.problems if one.kind == "unreadable"):
        return f"{damaged.artifact}: {damaged.message}"
    for run in runs:
        ranks = {artifact.rank for artifact in run.artifacts} - {None}
        if options.rank is not None and ranks and options.rank not in ranks:
            return f"no rank {options.rank} in {run.path.name}; {ranks_hint(ranks)}"
    return "both must hold artifacts of one area"


def _named(path: Path, round_name: str | None) -> str:
    return f"{path} {round_name}" if round_name else str(path)


def _fitting(area: Area, options: AnalysisOptions, unknown: list[UsageError]) -> AnalysisOptions:
    """The options without criteria that are not this area's; what it says of them goes to `unknown`."""
    if not options.criteria:
        return options
    try:
        area.check_criteria(options.criteria)
    except UsageError as error:
        unknown.append(error)
        return replace(options, criteria=None)
    return options


def _newest(
    area: Area,
    run: Run,
    options: AnalysisOptions,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Newest | None:
    """The newest round that the area can read; None where it has none. What it could not is a problem."""
    asked = replace(options, tables=False)
    try:
        found = area.newest_of(run, asked, progress=progress, is_cancelled=is_cancelled)
    except InputError as error:
        problems.append(Problem.from_error(error, str(run.path)))
        return None
    if found is not None:
        problems += (Problem.from_error(error, str(error.path or run.path)) for error in found.refused)
    return found


def _compared(before: Report, after: Report, lang: Lang) -> tuple[list[Finding], Counter[str]]:
    """New findings as they are, those that are gone as notes; what stayed is only counted."""
    is_one = max(map(n_ranks_of, (before, after))) < 2
    old, new = (_keyed(report, is_one=is_one) for report in (before, after))
    made: list[Finding] = []
    for key, finding in new.items():
        if key not in old and finding.severity != "note":
            made.append(_as(finding, "new", lang))
    is_whole = not after.problems and after.verdict not in ("incomplete", "unknown")
    for key, finding in old.items():
        if key not in new and finding.severity != "note":
            gone = _as(finding, "gone" if is_whole else "gone-unread", lang)
            made.append(replace(gone, severity="note", role="ok" if is_whole else "unknown", next_step=""))
    loud_old = {key for key, one in old.items() if one.severity != "note"}
    loud_new = {key for key, one in new.items() if one.severity != "note"}
    counts = Counter(
        new=len(loud_new - set(old)), gone=len(loud_old - set(new)), same=len(loud_new & set(old))
    )
    return made, counts


def _keyed(report: Report, *, is_one: bool) -> dict[tuple[str, str], Finding]:
    found: dict[tuple[str, str], Finding] = {}
    for one in report.findings:
        found.setdefault(key_of_finding(one, report.run, is_one=is_one), one)
    return found


def _as(finding: Finding, word: str, lang: Lang) -> Finding:
    message = say(TEXTS, word, lang, message=finding.message)
    return replace(finding, message=message, figures={**finding.figures, "change": word})
