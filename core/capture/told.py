"""What a capture tells people: the plan of a dry run, the preflight, how it stands, what became of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from npulse.core.errors import NpulseError
from npulse.core.figures import size_text
from npulse.core.findings import Finding
from npulse.core.text import Lang, safe_text, say

from . import archive
from .bookkeeping import Resumed
from .driver import RAW, Driver, Ended, Plan, Recorded, Words
from .events import RoundResult, Running, Stopping
from .process import full_environment, full_ladder, sent_text
from .processes import MARKER, names_of
from .request import CaptureRequest, Kind
from .session import Prepared, shows_fault
from .texts import TOLD

COMMANDS: Mapping[Kind, str] = {
    "precision": "npulse precision {folder} GOLDEN",
    "overflow": "npulse overflow {folder}",
    "memory": "npulse memory {folder}",
    "performance": "npulse performance {folder}",
}
"""What to look at a round with."""

LOOKED_FOR: tuple[Kind, ...] = ("memory", "overflow")
"""Kinds whose tools look for faults: that there is none is an answer."""

_SEVERITY = {"error": "E", "warning": "W", "note": "n"}


def in_lang(words: Words, lang: Lang) -> str:
    """One of both, safe to show."""
    return safe_text(words[1 if lang == "zh" else 0])


# ---- before ----


def preflight_lines(findings: Sequence[Finding], *, with_ok: bool = True) -> Iterator[str]:
    """A line for each check; next steps below what is wrong. "+" is well, "?" could not be looked at."""
    for finding in findings:
        if finding.role == "ok" and not with_ok:
            continue
        sign = {"ok": "+", "unknown": "?"}.get(finding.role, _SEVERITY[finding.severity])
        yield f"  {sign} {finding.rule}: {finding.message}"
        if finding.next_step:
            yield f"      {finding.next_step}"


def environment_changes(request: CaptureRequest, plan: Plan) -> dict[str, str | None]:
    """The variables in which the tool's environment differs from the program's own; None: taken away."""
    full = full_environment(request.environment, plan.environment, "")
    changed: dict[str, str | None] = {
        name: value for name, value in full.items() if request.environment.get(name) != value
    }
    changed |= {name: None for name in request.environment if name not in full}
    return {**dict(sorted(changed.items())), MARKER: "..."}


def finish_plan(request: CaptureRequest, driver: Driver, folder: Path) -> Plan | None:
    """The second command, as far as it can be told before there is anything."""
    ended = Ended(0, None, "", False, folder / archive.CONSOLE)
    with suppress(NpulseError, OSError):
        return driver.finish(request, folder, ended)
    return None


def plan_lines(
    request: CaptureRequest, driver: Driver, prepared: Prepared, lang: Lang, *, with_preflight: bool = True
) -> Iterator[str]:
    """All that a capture would do: where, settings, command, ladder, preflight, files."""
    plan = prepared.plan
    yield f"{say(TOLD, 'where', lang)}: {safe_text(str(prepared.folder))}"
    yield f"{say(TOLD, 'starts-in', lang)}: {safe_text(str(request.cwd))}"
    yield from (f"{say(TOLD, 'note', lang)}: {in_lang(note, lang)}" for note in plan.notes)
    yield say(TOLD, "environment", lang) + ":"
    for name, value in environment_changes(request, plan).items():
        line = f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"
        yield "  " + safe_text(line, 16_384)
    if request.keep_inputs:
        yield say(TOLD, "inputs", lang) + ":"
        yield from (f"  {safe_text(str(path))}" for path in request.keep_inputs)
    yield f"{say(TOLD, 'runs', lang)}:"
    yield "  " + safe_text(shlex.join(plan.argv), 65_536)
    if plan.first_lines:
        yield f"{say(TOLD, 'stdin', lang)}: " + safe_text(", ".join(plan.first_lines))
    yield f"{say(TOLD, 'ladder', lang)}: " + ", ".join(
        f"{safe_text(sent_text(step))} ({step.wait_s:g} s)" for step in full_ladder(plan.stop)
    )
    after = finish_plan(request, driver, prepared.folder)
    if after is not None:
        yield f"{say(TOLD, 'then', lang)}:"
        yield "  " + safe_text(shlex.join(after.argv), 65_536)
    if with_preflight:
        yield say(TOLD, "preflight", lang) + ":"
        yield from preflight_lines(prepared.findings)
    for file in plan.files:  # last, for they may be long
        yield f"{say(TOLD, 'file', lang)} {safe_text(file.name)} ({file.mode:04o}):"
        yield from (f"  | {safe_text(line, 16_384)}" for line in file.text.splitlines())


def plan_dict(request: CaptureRequest, driver: Driver, prepared: Prepared) -> dict[str, Any]:
    """The same for programs, without the preflight."""
    plan = prepared.plan
    after = finish_plan(request, driver, prepared.folder)
    return {
        "folder": str(prepared.folder),
        "cwd": str(request.cwd),
        "environment": environment_changes(request, plan),
        "files": [{"name": f.name, "mode": f"{f.mode:04o}", "text": f.text} for f in plan.files],
        "argv": list(plan.argv),
        "first_lines": list(plan.first_lines),
        "stop": [{"send": sent_text(step), "wait_s": step.wait_s} for step in full_ladder(plan.stop)],
        "finish_argv": None if after is None else list(after.argv),
        "notes": [note[0] for note in plan.notes],
    }


# ---- meanwhile ----


def running_line(event: Running, lang: Lang) -> str:
    """12 s, 34 files, 1.20 MiB, and what the driver says."""
    progress = event.progress
    values = {
        "s": f"{event.age_s:,.0f}",
        "n": f"{progress.n_files:,}",
        "size": size_text(progress.size_bytes),
    }
    said = in_lang(progress.said, lang)
    return say(TOLD, "running", lang, **values) + (f"  {said}" if said else "")


def stopping_line(event: Stopping, lang: Lang) -> str:
    """Why it is ended, what was sent, and what a further wish does."""
    reason = say(TOLD, f"by-{event.reason}", lang) if f"by-{event.reason}" in TOLD else event.reason
    return say(TOLD, "stopping", lang, reason=reason, sent=safe_text(event.rung.sent))


# ---- afterwards ----


def span_text(numbers: Sequence[int]) -> str:
    """0-3, 8, 10-11."""
    spans: list[list[int]] = []
    for n in sorted(set(numbers)):
        if spans and spans[-1][1] == n - 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def result_lines(result: RoundResult, kind: Kind, lang: Lang) -> Iterator[str]:
    """What was recorded, where, how the tool ended, what to doubt, what to do next."""
    recorded = result.recorded
    yield f"{say(TOLD, f'outcome-{recorded.outcome}', lang)}: {_recorded_text(recorded, lang)}"
    why = in_lang(recorded.why, lang)
    if why:
        yield f"  {why}"
    if recorded.found:
        found = ", ".join(f"{safe_text(kind)} {n:,}" for kind, n in recorded.found.items())
        yield f"  {say(TOLD, 'found', lang)}: {found}"
    if recorded.is_failure:
        yield f"  {say(TOLD, 'fault', lang)}"
    elif recorded.outcome == "recorded" and kind in LOOKED_FOR:
        yield f"  {say(TOLD, 'fault-none', lang)}"
    yield f"  {say(TOLD, 'in', lang)}: {safe_text(str(result.folder))}"
    yield f"  {_ended_text(result.ended, lang)}"
    for warning in result.warnings:
        yield f"  {say(TOLD, 'warning', lang)}: {in_lang(warning, lang)}"
    if result.not_written:
        yield "  " + say(TOLD, "not-written", lang, reason=result.not_written)
    yield f"  {say(TOLD, 'next', lang)}: {_next_text(result.folder, recorded, kind, lang)}"


def attempts_lines(results: Sequence[RoundResult], attempts: int, kind: Kind, lang: Lang) -> Iterator[str]:
    """The rounds of one capture: those before the last one in a line each, the last one whole."""
    for one in results[:-1]:
        values = {"i": one.attempt, "n": attempts}
        words = [say(TOLD, f"outcome-{one.recorded.outcome}", lang), safe_text(str(one.folder))]
        if not (one.folder / RAW).exists():
            words.append(say(TOLD, "raw-removed", lang))
        if one.not_written:
            words.append(say(TOLD, "not-written", lang, reason=one.not_written))
        yield f"{say(TOLD, 'attempt', lang, **values)}: {', '.join(words)}"
    if results:
        yield from result_lines(results[-1], kind, lang)
        if len(results) == attempts > 1 and not shows_fault(results[-1]):
            yield say(TOLD, "no-fault", lang, n=attempts)


def _recorded_text(recorded: Recorded, lang: Lang) -> str:
    """12 files, 1.20 MiB, ranks 0-1, steps 0-3, 400 operators."""
    figures = [_files_text(recorded, lang)]
    if recorded.ranks:
        figures.append(say(TOLD, "ranks", lang, which=span_text(recorded.ranks)))
    if recorded.steps:
        figures.append(say(TOLD, "steps", lang, which=span_text(recorded.steps)))
    if recorded.n_operators is not None:
        key = "operator-1" if recorded.n_operators == 1 else "operators"
        figures.append(say(TOLD, key, lang, n=f"{recorded.n_operators:,}"))
    if recorded.n_dropped:
        figures.append(say(TOLD, "dropped", lang, n=f"{recorded.n_dropped:,}"))
    return ", ".join(figures)


def _files_text(recorded: Recorded, lang: Lang) -> str:
    key = "file-1" if recorded.n_files == 1 else "files"
    return say(TOLD, key, lang, n=f"{recorded.n_files:,}", size=size_text(recorded.size_bytes))


def _ended_text(ended: Ended | None, lang: Lang) -> str:
    if ended is None:
        return say(TOLD, "never-ran", lang)
    if ended.exit_status is not None:
        text = say(TOLD, "exit-status", lang, n=ended.exit_status)
    elif ended.signal is not None:
        text = say(TOLD, "signal", lang, n=ended.signal)
    else:
        text = say(TOLD, "not-ended", lang)
    key = f"by-{ended.stopped_by}"
    return text + (f" ({say(TOLD, key, lang)})" if key in TOLD else "")


def _next_text(folder: Path, recorded: Recorded, kind: Kind, lang: Lang) -> str:
    told = in_lang(recorded.next_step, lang)
    if told:
        return told
    if recorded.outcome in ("nothing", "unknown") and not recorded.n_files:
        return say(TOLD, "look-at-console", lang, path=safe_text(str(folder / archive.CONSOLE)))
    return COMMANDS[kind].format(folder=safe_text(shlex.quote(str(folder))))


def result_dict(result: RoundResult) -> dict[str, Any]:
    """A round for programs."""
    recorded, ended = result.recorded, result.ended
    return {
        "folder": str(result.folder),
        "attempt": result.attempt,
        "outcome": recorded.outcome,
        "why": recorded.why[0] or None,
        "is_failure": recorded.is_failure,
        "exit_status": None if ended is None else ended.exit_status,
        "signal": None if ended is None else ended.signal,
        "stopped_by": "" if ended is None else ended.stopped_by,
        "is_killed": ended is not None and ended.is_killed,
        "n_files": recorded.n_files,
        "size_bytes": recorded.size_bytes,
        "ranks": list(recorded.ranks),
        "steps": list(recorded.steps),
        "n_operators": recorded.n_operators,
        "n_dropped": recorded.n_dropped,
        "kinds": dict(recorded.found),
        "warnings": [warning[0] for warning in result.warnings],
        "next": recorded.next_step[0] or None,
        "not_written": result.not_written or None,
    }


def resumed_lines(one: Resumed, lang: Lang) -> Iterator[str]:
    """What became of a round that was found running."""
    yield f"{safe_text(str(one.folder))}: {say(TOLD, f'resume-{one.what}', lang)}"
    if one.recorded is not None:
        outcome = say(TOLD, f"outcome-{one.recorded.outcome}", lang)
        yield f"  {outcome}: {_recorded_text(one.recorded, lang)}"
        if why := in_lang(one.recorded.why, lang):
            yield f"  {why}"
        if one.recorded.is_failure:
            yield f"  {say(TOLD, 'fault', lang)}"
        if one.kind is not None:
            next_step = _next_text(one.folder, one.recorded, one.kind, lang)
            yield f"  {say(TOLD, 'next', lang)}: {next_step}"
    if one.processes:
        yield "  " + say(TOLD, "resume-stop", lang, names=safe_text(names_of(one.processes)))
    if one.why:
        yield f"  {safe_text(one.why)}"


def resumed_dict(one: Resumed) -> dict[str, Any]:
    """The same for programs."""
    recorded = one.recorded
    return {
        "folder": str(one.folder),
        "what": one.what,
        "outcome": None if recorded is None else recorded.outcome,
        "n_files": None if recorded is None else recorded.n_files,
        "size_bytes": None if recorded is None else recorded.size_bytes,
        "processes": [process.pid for process in one.processes],
        "why": one.why or None,
    }
