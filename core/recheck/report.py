"""Calls computed again as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from npulse.core.findings import Finding, Location, Problem, Report, verdict_from
from npulse.core.text import Lang, say

from .model import Check
from .quant.model import Study
from .quant.words import figures_of, lines_of_study, message_of, next_of
from .table import recheck_table
from .texts import TEXTS
from .words import figures_lines, golden_text, lines_of, next_text, outcome_text, several_text

AREA = "recheck"
SHOWN_CALLS = 6


@dataclass(frozen=True, slots=True)
class Rechecked:
    """A call computed again. golden: the same of the golden side's call that
    stands against it, from its own inputs.
    artifact: the dump, as it is named in the run. has_golden: whether there is a golden side. study: what
    int8 does to its activation, where it quantises one. is_asked: whether the user asked for that study.
    run: the folder that holds the dump."""

    check: Check
    golden: Check | None = None
    has_golden: bool = False
    artifact: str = ""
    byte: int | None = None
    study: Study | None = None
    is_asked: bool = False
    run: str = ""

    @property
    def is_study_alone(self) -> bool:
        """Whether the study is all that was asked for and can be had: nothing judges the call."""
        return self.is_asked and self.study is not None and self.check.outcome == "unknown"

    def lines(self, lang: Lang) -> tuple[str, ...]:
        """All that is said of it, for people."""
        lines = lines_of(self.check, self.golden, lang, run=self.run, has_golden=self.has_golden)
        return lines if self.study is None else (*lines, *lines_of_study(self.study, lang))


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
    findings = [_finding(one, lang) for one in found if one.check.outcome not in ("within", "unknown")]
    findings += [
        _clipped(one, lang) for one in found if one.study is not None and one.study.clips_what_matters
    ]
    findings += _unknown(found, lang)
    findings.sort(key=lambda one: ("origin", "suspect", "unknown").index(one.role))
    counts = _counts(found)
    told = [say(TEXTS, "counts", lang, **counts)]
    if n_fitting is not None and n_fitting > len(found):
        told.append(say(TEXTS, "cut", lang, n=f"{n_fitting:,}", shown=f"{len(found):,}"))
    for one in found:
        if one.check.outcome == "within" or one.is_study_alone:
            told += _told(one, lang, is_brief=len(found) > 1)
    n_open = sum(one.check.outcome == "unknown" and not one.is_study_alone for one in found)
    has_unknown = n_open > 0 or not found or (n_fitting or 0) > len(found)
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
    lines = lines_of(one.check, one.golden, lang, run=one.run, has_golden=one.has_golden)
    told = [lines[0] + _place(one.check)]
    if not is_brief:
        told += (f"  {line}" for line in lines[1:])
    if one.study is not None and not one.study.clips_what_matters:  # else it is a finding
        told += (f"  {line}" for line in lines_of_study(one.study, lang))
    return told


def _place(check: Check) -> str:
    words = [f"{name} {n}" for name, n in (("step", check.step), ("rank", check.rank)) if n is not None]
    return f"  ({', '.join(words)})" if words else ""


def _finding(one: Rechecked, lang: Lang) -> Finding:
    check = one.check
    told = figures_lines(check, lang)
    if one.has_golden:
        told.append(golden_text(one.golden, lang))
    if one.study is not None and not one.study.clips_what_matters:
        told += lines_of_study(one.study, lang)
    is_wrong = check.outcome != "unknown"
    return Finding(
        area=AREA,
        severity="error" if is_wrong else "warning",
        rule=f"recheck.{check.outcome}",
        role="origin" if is_wrong else "unknown",
        subject=check.call,
        message=outcome_text(check, lang),
        next_step=next_text(check, lang, one.run),
        source=check.source,
        figures=_figures(one),
        location=Location(one.artifact or None, check.rank, check.step, byte=one.byte),
        told=tuple(told),
    )


def _unknown(found: Sequence[Rechecked], lang: Lang) -> list[Finding]:
    """What cannot be told, a finding a reason: of a hundred calls without tensors one line says it."""
    groups: dict[tuple[str, str], list[Rechecked]] = {}
    for one in found:
        if one.check.outcome == "unknown" and not one.is_study_alone:
            groups.setdefault((one.check.why, one.check.detail), []).append(one)
    return [_finding(of[0], lang) if len(of) == 1 else _several(of, lang) for of in groups.values()]


def _several(group: Sequence[Rechecked], lang: Lang) -> Finding:
    checks = [one.check for one in group]
    names = [check.call for check in checks]
    told = [*names[:SHOWN_CALLS], *(["..."] if len(names) > SHOWN_CALLS else [])]
    return replace(
        _finding(group[0], lang),
        message=several_text(checks, lang),
        figures={**_figures(group[0]), "n_calls": len(names), "calls": names},
        told=tuple(told),
    )


def _clipped(one: Rechecked, lang: Lang) -> Finding:
    """An activation whose scale clips what matters."""
    assert one.study is not None
    return Finding(
        area=AREA,
        severity="warning",
        rule="recheck.clipped",
        role="suspect",
        subject=one.study.name,
        message=message_of(one.study, lang),
        next_step=next_of(one.study, lang),
        source=one.check.source,
        figures=figures_of(one.study),
        location=Location(one.artifact or None, one.check.rank, one.check.step, byte=one.byte),
        told=tuple(lines_of_study(one.study, lang)),
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
    names = (
        "n_elements",
        "n_left_out",
        "n_unbounded",
        "n_beyond",
        "max_ratio",
        "made",
        "truth",
        "own",
        "bound",
        "max_abs_error",
    )
    return {
        **figures,
        "index": list(worst.index),
        **{name: getattr(worst, name) for name in (*names, "own_max_abs_error")},
    }
