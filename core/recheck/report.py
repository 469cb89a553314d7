"""Calls computed again as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npulse.core.findings import Finding, Location, Problem, Report, verdict_from
from npulse.core.text import Lang, say

from .model import Check
from .table import recheck_table
from .texts import TEXTS
from .words import figures_lines, golden_text, lines_of, next_text, outcome_text

AREA = "recheck"


@dataclass(frozen=True, slots=True)
class Rechecked:
    """A call computed again. golden: the same of the golden side's call of that name, from its own inputs.
    artifact: the dump, as it is named in the run. has_golden: whether there is a golden side."""

    check: Check
    golden: Check | None = None
    has_golden: bool = False
    artifact: str = ""
    byte: int | None = None

    def lines(self, lang: Lang) -> tuple[str, ...]:
        """All that is said of it, for people."""
        return lines_of(self.check, self.golden, lang, has_golden=self.has_golden)


def report_of(
    run: str,
    found: Sequence[Rechecked],
    problems: Sequence[Problem],
    lang: Lang,
    *,
    artifacts: Sequence[Any] = (),
    tables: bool = False,
    n_fitting: int | None = None,
    sides: tuple[str | None, str | None] = (None, None),
) -> Report:
    """Findings for what is wrong or cannot be told, lines for what is within. n_fitting: calls that the
    user's words fit, where not all of them were computed."""
    findings = [_finding(one, lang) for one in found if one.check.outcome != "within"]
    findings.sort(key=lambda one: one.severity != "error")
    counts = _counts(found)
    told = [say(TEXTS, "counts", lang, **counts)]
    if n_fitting is not None and n_fitting > len(found):
        told.append(say(TEXTS, "cut", lang, n=f"{n_fitting:,}", shown=f"{len(found):,}"))
    for one in found:
        if one.check.outcome == "within":
            told += _told(one, lang, is_brief=len(found) > 1)
    has_unknown = counts["unknown"] > 0 or not found or (n_fitting or 0) > len(found)
    checks = [check for one in found for check in (one.check, one.golden) if check is not None]
    all_problems = tuple(dict.fromkeys((*problems, *(p for check in checks for p in check.problems))))
    return Report(
        command=AREA,
        run=run,
        verdict=verdict_from(findings, all_problems, has_unknown=has_unknown),
        artifacts=tuple(artifacts),
        findings=tuple(findings),
        counts={"checked": counts["n"] - counts["unknown"], **{k: v for k, v in counts.items() if k != "n"}},
        problems=all_problems,
        tables={"recheck": recheck_table(checks)} if tables else {},
        target=sides[0],
        golden=sides[1],
        told=tuple(told),
        beneath=verdict_from((), all_problems, has_unknown=has_unknown),
    )


def _counts(found: Sequence[Rechecked]) -> dict[str, int]:
    outcomes = [one.check.outcome for one in found]
    within, unknown = outcomes.count("within"), outcomes.count("unknown")
    wrong = len(outcomes) - within - unknown
    return {"n": len(outcomes), "within": within, "wrong": wrong, "unknown": unknown}


def _told(one: Rechecked, lang: Lang, *, is_brief: bool) -> list[str]:
    lines = one.lines(lang)
    place = _place(one.check)
    return [lines[0] + place] if is_brief else [lines[0] + place, *(f"  {line}" for line in lines[1:])]


def _place(check: Check) -> str:
    words = [f"{name} {n}" for name, n in (("step", check.step), ("rank", check.rank)) if n is not None]
    return f"  ({', '.join(words)})" if words else ""


def _finding(one: Rechecked, lang: Lang) -> Finding:
    check = one.check
    told = figures_lines(check, lang)
    if one.has_golden:
        told.append(golden_text(one.golden, lang))
    is_wrong = check.outcome != "unknown"
    return Finding(
        area=AREA,
        severity="error" if is_wrong else "warning",
        rule=f"recheck.{check.outcome}",
        role="origin" if is_wrong else "unknown",
        subject=check.call,
        message=outcome_text(check, lang),
        next_step=next_text(check, lang),
        source=check.source,
        figures=_figures(one),
        location=Location(one.artifact or None, check.rank, check.step, byte=one.byte),
        told=tuple(told),
    )


def _figures(one: Rechecked) -> Mapping[str, Any]:
    check, worst = one.check, one.check.worst
    figures: dict[str, Any] = {"outcome": check.outcome, "operator": check.operator}
    if check.words[0]:
        figures["fits"] = check.words[0]
    if check.why:
        figures["reason"] = check.why
    if one.golden is not None:
        figures["golden_outcome"] = one.golden.outcome
    if worst is None:
        return figures
    figures |= {"output": worst.name, "dtype": worst.dtype, "inside": check.inside}
    if worst.shape_truth is not None:
        return figures | {"shape": list(worst.shape), "shape_reference": list(worst.shape_truth)}
    names = ("n_elements", "n_beyond", "max_ratio", "made", "truth", "own", "bound", "max_abs_error")
    return {
        **figures,
        "index": list(worst.index),
        **{name: getattr(worst, name) for name in (*names, "own_max_abs_error")},
    }
