"""The figure of each criterion, where it stands in an area's reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from npulse.core.findings import Report, Verdict, worst_verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """value: None where there is none. subject: what showed it. why: key of a text and what goes into it.

    state: of what was seen as far as it does not depend on a limit: "pass" for a figure of all there was,
    "incomplete" or "unknown" where it is a lower bound, "fail" where it is wrong whatever is asked for.
    """

    value: float | None
    state: Verdict = "pass"
    subject: str = ""
    why: str = ""
    detail: str = ""


Take = Callable[[Sequence[Report]], Measured]
NOTHING = Measured(None, "unknown", why="no-figure")


def _whole(reports: Iterable[Report]) -> Verdict:
    """Whether counts are of all there was."""
    worst = worst_verdict(report.verdict for report in reports)
    return worst if worst in ("unknown", "incomplete") else "pass"


def _first(reports: Iterable[Report], is_one: Callable[[str], bool] = lambda rule: True) -> str:
    """What the first error is about."""
    found = (finding for report in reports for finding in report.findings)
    return next((f.subject for f in found if f.severity == "error" and is_one(f.rule)), "")


def _count(reports: Sequence[Report], n: int, subject: str = "") -> Measured:
    if not n and not any(report.counts or report.findings for report in reports):
        return NOTHING  # nothing of it could be read
    state = _whole(reports)
    return Measured(float(n), state, subject, "" if state == "pass" else "lower-bound")


def _errors(reports: Sequence[Report]) -> Measured:
    n = sum(finding.severity == "error" for report in reports for finding in report.findings)
    return _count(reports, n, _first(reports))


def _conflicts(reports: Sequence[Report]) -> Measured:
    """Of an environment: none are known where no two versions were told that go together or do not."""
    found = _errors(reports)
    is_compared = any(report.counts.get("pairs") for report in reports)
    return found if found.value or is_compared else Measured(None, "unknown", why="no-pairs")


def _loud(count: str) -> Take:
    """Errors that do not only follow; of more than a report tells one by one the area's own count has the
    rest. What somebody accepted (`severity_before`) is none."""

    def take(reports: Sequence[Report]) -> Measured:
        n = 0
        for report in reports:
            told = sum(f.severity == "error" and f.role != "inherited" for f in report.findings)
            accepted = sum(f.figures.get("severity_before") == "error" for f in report.findings)
            n += max(told, report.counts.get(count, 0) - accepted) if told else 0
        return _count(reports, n, _first(reports))

    return take


def n_steps(reports: Iterable[Report]) -> int:
    """Steps of captures, each once for all its ranks."""
    seen = {
        (str(PurePosixPath(artifact.relative).parent), artifact.step)
        for report in reports
        for artifact in report.artifacts
        if artifact.step is not None
    }
    return len(seen) or sum(report.counts.get("rank_steps", 0) for report in reports)


def _steps(reports: Sequence[Report]) -> Measured:
    return Measured(float(n_steps(reports)))


def looked_for_leaks(report: Report) -> bool:
    """Whether 0 leaks are more than a check that was never made: leaks, their total, or the round's manifest
    say that there was one."""
    return bool(report.counts.get("leaks")) or bool(
        {"leaks_match_the_total", "looked_for_leaks"} & report.summary.keys()
    )


def _leaked(reports: Sequence[Report]) -> Measured:
    looked = [report for report in reports if looked_for_leaks(report)]
    if not looked:
        return Measured(None, "unknown", why="no-leak-check")
    n = sum(report.counts.get("leaked_bytes", 0) - _accepted_bytes(report) for report in looked)
    return _count(reports, max(n, 0), _first(looked, lambda rule: "leak" in rule))


def _accepted_bytes(report: Report) -> int:
    """Bytes of leaks that somebody accepted."""
    accepted = (f.figures for f in report.findings if "severity_before" in f.figures and "leak" in f.rule)
    sizes = (figures.get("leaked_bytes", figures.get("size_bytes")) for figures in accepted)
    return sum(size for size in sizes if isinstance(size, int) and not isinstance(size, bool))


def _complete(reports: Sequence[Report]) -> Measured:
    """1 where every log ran to its end, 0 where one shows less than there was."""
    told = [report.summary["is_complete"] for report in reports if "is_complete" in report.summary]
    if not told:
        return NOTHING
    is_short = not all(told)
    state = _whole(reports)
    if is_short:
        return Measured(0.0, "unknown" if state == "unknown" else "incomplete")
    return Measured(1.0, state)


def _cosine(reports: Sequence[Report]) -> Measured:
    """The worst last output of the pairs; one with NaN or Inf has no cosine and is wrong all the same."""
    of_others = [report for report in reports if report.summary.get("computed_by")]
    found = [_cosine_of(report) for report in reports if report.golden is not None or report in of_others]
    if not found:
        return Measured(None, "unknown", why="no-golden")
    wrong = next((one for one in found if one.value is None and one.state == "fail"), None)
    missing = next((one for one in found if one.value is None), None)
    return wrong or missing or min(found, key=lambda one: one.value if one.value is not None else math.inf)


def _cosine_of(report: Report) -> Measured:
    summary = report.summary
    if "last_output" not in summary:
        return NOTHING
    subject, value = str(summary["last_output"]), summary.get("last_output_cosine")
    if isinstance(value, int | float) and math.isfinite(value):
        return Measured(float(value), subject=subject)
    is_wrong = summary.get("last_output_verdict") == "error"
    reason = str(summary.get("last_output_reason", ""))
    return Measured(None, "fail" if is_wrong else "unknown", subject, "no-cosine", reason)


def _summary(key: str, worst: Callable[[Sequence[float]], float]) -> Take:
    def take(reports: Sequence[Report]) -> Measured:
        values = [report.summary.get(key) for report in reports]
        numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(numbers) < len(reports) or not numbers or not all(map(math.isfinite, numbers)):
            return NOTHING if key == "step_ms" else Measured(None, "unknown", why="no-serving")
        return Measured(worst(numbers), subject=str(reports[-1].summary.get("profile", "")))

    return take


TAKES: Mapping[str, Take] = {
    "precision.cosine": _cosine,
    "overflow.origins": _loud("origin"),
    "overflow.min_steps": _steps,
    "memory.faults": _loud("errors"),
    "memory.leaked_bytes": _leaked,
    "memory.complete": _complete,
    "performance.first_token_ms": _summary("first_token_ms", max),
    "performance.tokens_per_s": _summary("tokens_per_s", min),
    "performance.step_ms": _summary("step_ms", max),
    "device.faults": _errors,
    "environment.conflicts": _conflicts,
}
