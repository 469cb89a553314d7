"""A capture in lines: what would run, what the preflight says, how it stands, what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.capture.told import in_lang
from npulse.core.figures import size_text
from npulse.core.text import Lang, safe_text

from .messages.texts import TEXTS

if TYPE_CHECKING:
    from npulse.core.capture.driver import Driver, Plan
    from npulse.core.capture.request import CaptureRequest
    from npulse.core.findings import Finding

    from .capture_job import CaptureJob, JobState
    from .glyphs import Glyphs

Tr = Callable[..., str]
FILE_MARK = "  |"
"""In front of the lines of a planned file."""
SHOWN_FILE_LINES = 40


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
        yield f"{mark:<4}{label_of(finding.rule, tr)}{safe_text(finding.message, 1000)}"
        if finding.next_step:
            yield f"      {tr('detail.next')}: {safe_text(finding.next_step, 1000)}"


def label_of(rule: str, tr: Tr) -> str:
    """What a check looked at, in front of what it says; "" where the words say it themselves."""
    key = f"capture.check-{rule.removeprefix('capture.')}"
    return f"{tr(key)}: " if key in TEXTS else ""


def folded(lines: Sequence[str], tr: Tr) -> Iterator[str]:
    """A plan without the ends of long files: the tool's own settings are short, launchers are not."""
    n_shown = n_left = 0
    for line in (*lines, ""):
        is_of_file = line.startswith(FILE_MARK)
        n_shown = n_shown + 1 if is_of_file else 0
        if n_shown > SHOWN_FILE_LINES:
            n_left += 1
            continue
        if n_left:
            yield f"{FILE_MARK} {tr('capture.folded', n=n_left)}"
            n_left = 0
        yield line


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
