"""One capture without a golden side: what needs none is asked, also of the overflow area.

What msprobe wrote says most of itself: names of APIs, arguments, statistics of every tensor. Of captures of
other tools NaN and Inf are looked for in the elements (in statistics where there are none), and that is all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npulse.core.findings import Finding, Report, verdict_from
from npulse.core.overflow.analyse import Overflow, analyse
from npulse.core.overflow.criteria import Settings
from npulse.core.overflow.graph import KINDS as GRAPH_KINDS
from npulse.core.overflow.notes import PENDING
from npulse.core.overflow.report import report as overflow_report
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact, Run
from npulse.core.tails import Tails
from npulse.core.text import Lang, say

from .own.checks import check_own
from .own.model import Captured, OwnChecks
from .own.report import own_findings, own_lines, own_summary
from .texts import TEXTS

_KEPT = "precision of one capture"
_MSPROBE = "msprobe."


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
    """Where NaN or Inf begins, by Max and Min alone (the overflow area says more), and the checks of `own`.
    Of captures of other tools by their elements, and none of those checks.

    names: the captures, where there may be several of which the user has to say which is the golden one.
    The verdict is fail where one is found, else unknown or incomplete: without a golden side all is unclear.
    A rank that cannot be used is a problem and the others are checked; InputError where none can be.
    """
    others = [one for one in artifacts if one.kind in GRAPH_KINDS]
    foreign = sorted({one.kind for one in artifacts if not one.kind.startswith(_MSPROBE)})
    found = analyse(
        run,
        [("", [one for one in artifacts if one.kind not in GRAPH_KINDS])],
        others,
        Settings(read_tensors=bool(foreign), tails=tails),
        progress=progress,
        is_cancelled=is_cancelled,
    )
    seen = overflow_report(found, lang=lang)
    findings = [_adopted(f, lang) for f in seen.findings if f.severity == "error"]
    findings += [
        replace(f, area="precision", rule="precision.pending") for f in seen.findings if f.rule == PENDING
    ]
    n_begun = sum(f.role == "origin" for f in findings)
    if foreign:
        message = say(TEXTS, "foreign-alone", lang, kinds=", ".join(foreign))
        findings.append(_note("precision.unknown", "unknown", run, message, ""))
    is_growing = any(f.rule == PENDING for f in seen.findings)
    own = [] if is_growing else _own(found, tails, progress, is_cancelled)
    findings += own_findings((one for part in own for one in part.seen), lang)
    n_legal = seen.counts["benign"]
    if n_legal:
        findings.append(
            _note("precision.non-finite", "benign", run, say(TEXTS, "minus-inf", lang, n=n_legal), "")
        )
    why = "which" if len(names) > 1 else "no-golden"
    listed = ", ".join(f"{run.path.name}/{name}" for name in names[:8])
    message, todo = say(TEXTS, why, lang, names=listed), say(TEXTS, f"next-{why}", lang)
    findings.append(_note("precision.unknown", "unknown", run, message, todo))
    problems = tuple(
        dict.fromkeys((*run.problems, *seen.problems, *(p for part in own for p in part.problems)))
    )
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
        counts={"calls": n_calls, "origin": n_origins, "non_finite": n_begun, "legal_inf": n_legal},
        summary=own_summary(own[0]) if len(own) == 1 else {},
        told=(
            say(TEXTS, "told-alone", lang, calls=n_calls, origins=n_begun),
            *(line for part in own for line in own_lines(part, lang)),
        ),
        problems=problems,
    )


def _own(
    found: Overflow, tails: Tails | None, progress: ProgressCallback, is_cancelled: IsCancelled
) -> list[OwnChecks]:
    """Each capture looked through on its own: ranks of two captures have nothing to do with each other.

    Where a run is followed and no dump has changed it is what the last look found.
    """
    captures: dict[str, list[Captured]] = {}
    for one in found.ranks:
        if not one.artifact.kind.startswith(_MSPROBE):
            continue
        where = Captured(one.rank, one.step, one.dump, one.root, one.artifact.relative)
        captures.setdefault(one.capture, []).append(where)
    stamp = [(a.artifact.path, a.artifact.size_bytes, a.artifact.modified_ns) for a in found.ranks]
    kept = tails.kept.get(_KEPT) if tails is not None else None
    if kept is not None and kept[0] == stamp:
        told: list[OwnChecks] = kept[1]
        return told
    told = [check_own(each, progress=progress, is_cancelled=is_cancelled) for each in captures.values()]
    if tails is not None:
        tails.kept[_KEPT] = stamp, told
    return told


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
