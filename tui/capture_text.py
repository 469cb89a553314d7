"""A capture in lines: what would run, what the preflight says, what was recorded."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.capture.driver import Plan, Words
from npulse.core.capture.sizes import size_text
from npulse.core.text import Lang, safe_text

if TYPE_CHECKING:
    from npulse.core.capture.events import RoundResult
    from npulse.core.findings import Finding

    from .capture_job import CaptureJob, JobState
    from .glyphs import Glyphs

Tr = Callable[..., str]
MAX_FILE_LINES = 200
_HEAD_CELLS = 12


def in_lang(words: Words, lang: Lang) -> str:
    """A text of the core in one language, safe to show."""
    return safe_text(words[1 if lang == "zh" else 0], 2000)


def plan_lines(plan: Plan, folder: Path, tr: Tr, lang: Lang) -> Iterator[str]:
    """All that would be started and written, nothing left out but the end of long files."""
    yield _headed(tr("capture.plan-round"), str(folder))
    yield _headed(tr("capture.plan-argv"), shlex.join(plan.argv))
    for name, value in plan.environment.items():
        yield _headed(tr("capture.plan-environment"), f"-{name}" if value is None else f"{name}={value}")
    for line in plan.first_lines:
        yield _headed(tr("capture.plan-input"), line)
    for file in plan.files:
        yield _headed(tr("capture.plan-file"), f"{file.name} ({file.mode:o})")
        lines = file.text.split("\n")
        yield from (f"    {safe_text(line, 500)}" for line in lines[:MAX_FILE_LINES])
        if len(lines) > MAX_FILE_LINES:
            yield f"    {tr('capture.more-lines', n=len(lines) - MAX_FILE_LINES)}"
    yield _headed(tr("capture.plan-stop"), ladder_text(plan))
    for note in plan.notes:
        yield _headed(tr("capture.plan-note"), in_lang(note, lang))


def ladder_text(plan: Plan) -> str:
    """SIGINT 15 s, SIGTERM 5 s, SIGKILL 5 s: how the tool is ended."""
    from npulse.core.capture.process import full_ladder, sent_text

    return ", ".join(f"{sent_text(step)} {step.wait_s:g} s" for step in full_ladder(plan.stop))


def _headed(head: str, text: str) -> str:
    from .widgets.cells import pad

    return f"{pad(head, _HEAD_CELLS)}{safe_text(text, 4000)}"


def finding_lines(findings: Sequence[Finding], glyphs: Glyphs, tr: Tr) -> Iterator[str]:
    """A line for each check, what to do below those that are not well."""
    for finding in findings:
        word = "ok" if finding.role == "ok" else "unknown" if finding.role == "unknown" else finding.severity
        mark = glyphs.shape(word) if word == "unknown" else glyphs.severity(word)
        yield f"{mark:<4}{safe_text(finding.message, 1000)}"
        if finding.next_step:
            yield f"      {tr('detail.next')}: {safe_text(finding.next_step, 1000)}"


def progress_line(job: CaptureJob, state: JobState, tr: Tr, lang: Lang, separator: str) -> str:
    """Phase, attempt, how long, files, bytes, what the driver says."""
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


def result_lines(result: RoundResult, tr: Tr, lang: Lang) -> Iterator[str]:
    """Outcome and why, what was recorded, how the tool ended, warnings, what to do."""
    recorded, ended = result.recorded, result.ended
    yield tr(f"capture.outcome-{recorded.outcome}")
    if why := in_lang(recorded.why, lang):
        yield f"  {why}"
    facts = [tr("capture.files", n=recorded.n_files, size=size_text(recorded.size_bytes))]
    if recorded.ranks:
        facts.append(tr("capture.ranks", ranks=_some(recorded.ranks)))
    if recorded.steps:
        facts.append(tr("capture.steps", steps=_some(recorded.steps)))
    if recorded.n_operators is not None:
        facts.append(tr("capture.operators", n=recorded.n_operators))
    if recorded.n_dropped:
        facts.append(tr("capture.dropped", n=recorded.n_dropped))
    facts += [f"{safe_text(str(kind), 40)} x{n}" for kind, n in list(recorded.found.items())[:12]]
    yield "  " + ", ".join(facts)
    yield "  " + _ending(ended, tr)
    yield from (f"  ! {in_lang(words, lang)}" for words in result.warnings[:20])
    if result.not_written:
        yield "  ! " + tr("capture.not-written", why=safe_text(result.not_written, 200))
    if step := in_lang(recorded.next_step, lang):
        yield f"  {tr('detail.next')}: {step}"


def _ending(ended: object, tr: Tr) -> str:
    status, number = getattr(ended, "exit_status", None), getattr(ended, "signal", None)
    by = getattr(ended, "stopped_by", "")
    if ended is None:
        return tr("capture.never-ran")
    text = (
        tr("capture.exit", n=status) if status is not None else tr("capture.signal", signal=_signal(number))
    )
    return f"{text}, {tr('capture.stopped-by', by=safe_text(by, 40))}" if by else text


def _signal(number: object) -> str:
    import signal

    try:
        return signal.Signals(int(str(number))).name
    except ValueError:
        return "?"


def _some(numbers: Sequence[int]) -> str:
    told = ", ".join(map(str, numbers[:8]))
    return f"{told}, ... ({len(numbers)})" if len(numbers) > 8 else told
