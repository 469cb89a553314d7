"""One capture without a golden side: what needs none is asked of the overflow area, the rest is 'unknown'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npulse.core.findings import Finding, Report, verdict_from
from npulse.core.overflow.analyse import analyse
from npulse.core.overflow.criteria import Settings
from npulse.core.overflow.notes import PENDING
from npulse.core.overflow.report import report as overflow_report
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact, Run
from npulse.core.tails import Tails
from npulse.core.text import Lang, say

from .texts import TEXTS


def check_alone(
    run: Run,
    artifacts: Sequence[Artifact],
    *,
    lang: Lang = "en",
    names: Sequence[str] = (),
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """Where NaN or Inf begins, by Max and Min alone; the overflow area says more.

    names: the captures, where there may be several of which the user has to say which is the golden one.
    The verdict is fail where one is found, else unknown or incomplete: without a golden side all is unclear.
    A rank that cannot be used is a problem and the others are checked; InputError where none can be.
    """
    found = analyse(
        run,
        [("", artifacts)],
        (),
        Settings(read_tensors=False, tails=tails),
        progress=progress,
        is_cancelled=is_cancelled,
    )
    seen = overflow_report(found, lang=lang)
    findings = [_adopted(f, lang) for f in seen.findings if f.severity == "error"]
    findings += [
        replace(f, area="precision", rule="precision.pending") for f in seen.findings if f.rule == PENDING
    ]
    n_legal = seen.counts["benign"]
    if n_legal:
        findings.append(
            _note("precision.non-finite", "benign", run, say(TEXTS, "minus-inf", lang, n=n_legal), "")
        )
    why = "which" if len(names) > 1 else "no-golden"
    listed = ", ".join(f"{run.path.name}/{name}" for name in names[:8])
    message, todo = say(TEXTS, why, lang, names=listed), say(TEXTS, f"next-{why}", lang)
    findings.append(_note("precision.unknown", "unknown", run, message, todo))
    problems = (*run.problems, *seen.problems)
    n_origins = sum(f.role == "origin" for f in findings)
    n_calls = seen.counts["calls"]
    return Report(
        command="precision",
        run=str(run.path),
        target=", ".join(name for name in names if name != ".") or None,
        verdict=verdict_from(findings, problems, has_unknown=True),
        beneath=verdict_from((), problems, has_unknown=True),
        artifacts=tuple(artifacts),
        findings=tuple(findings),
        counts={"calls": n_calls, "origin": n_origins, "legal_inf": n_legal},
        told=(say(TEXTS, "told-alone", lang, calls=n_calls, origins=n_origins),),
        problems=problems,
    )


def _adopted(finding: Finding, lang: Lang) -> Finding:
    """A finding of the overflow area under this one's rule, with the way to more."""
    todo = say(TEXTS, "next-non-finite", lang)
    return replace(finding, area="precision", rule="precision.non-finite", next_step=todo, told=())


def _note(rule: str, role: str, run: Run, message: str, next_step: str) -> Finding:
    return Finding(
        area="precision",
        severity="note",
        rule=rule,
        role="benign" if role == "benign" else "unknown",
        subject=str(run.path),
        message=message,
        next_step=next_step,
    )
