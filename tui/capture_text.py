"""A capture in lines: what would run, what the preflight says, how it stands, what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.capture.told import in_lang
from npulse.core.figures import size_text
from npulse.core.text import Lang, safe_text

if TYPE_CHECKING:
    from npulse.core.capture.driver import Driver, Plan
    from npulse.core.capture.request import CaptureRequest
    from npulse.core.findings import Finding

    from .capture_job import CaptureJob, JobState
    from .glyphs import Glyphs

Tr = Callable[..., str]


def plan_lines(
    request: CaptureRequest, driver: Driver, folder: Path, plan: Plan, lang: Lang
) -> tuple[str, ...]:
    """What `--dry-run` prints, without the preflight, which stands above it here."""
    from npulse.core.capture.session import Prepared
    from npulse.core.capture.told import plan_lines

    return tuple(plan_lines(request, driver, Prepared(folder, plan, ()), lang, with_preflight=False))


def finding_lines(findings: Sequence[Finding], glyphs: Glyphs, tr: Tr) -> Iterator[str]:
    """A line for each check, what to do below those that are not well."""
    for finding in findings:
        word = "ok" if finding.role == "ok" else "unknown" if finding.role == "unknown" else finding.severity
        mark = glyphs.shape(word) if word == "unknown" else glyphs.severity(word)
        yield f"{mark:<4}{safe_text(finding.message, 1000)}"
        if finding.next_step:
            yield f"      {tr('detail.next')}: {safe_text(finding.next_step, 1000)}"


def progress_line(job: CaptureJob, state: JobState, tr: Tr, lang: Lang, separator: str) -> str:
    """Phase, attempt, how long, files, bytes, what the driver says; what was sent to end it."""
    parts = [tr(f"capture.phase-{state.phase}")]
    if state.attempts > 1:
        parts.append(tr("capture.attempt", i=state.attempt, n=state.attempts))
    minutes, seconds = divmod(int(job.elapsed_s()), 60)
    parts.append(f"{minutes}:{seconds:02}")
    if state.progress is not None:
        parts.append(tr("capture.files", n=state.progress.n_files, size=size_text(state.progress.size_bytes)))
        if said := in_lang(state.progress.said, lang):
            parts.append(said)
    if state.n_asked and state.phase != "ended":
        sent = ", ".join(safe_text(one, 40) for one in state.rungs)
        parts.append(tr("capture.stopping", sent=sent or "...", n=state.n_asked))
    return separator.join(parts)
