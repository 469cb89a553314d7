"""The story of an archive as a report: what became worse or better, with what was set otherwise before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from npulse.core.areas import area_of
from npulse.core.capture.hidden import command_without_secrets
from npulse.core.findings import Finding, Location, Report, Severity, verdict_from
from npulse.core.text import Lang, columns_of, command_line, safe_text, say

from .chart import series_of, spark_cells
from .figures import FIGURES
from .story import AREA, Story, StoryRow
from .table import rounds_table
from .texts import TEXTS
from .verdicts import Milestone
from .words import (
    against_text,
    before_of,
    changes_since,
    changes_text,
    failing,
    figure_text,
    from_to,
    heading_of,
    listed_changes,
    missed_text,
    outcome_and_ending,
    started_text,
    story_parts,
    title_of,
)

SHOWN_ROUNDS = 200


def report(story: Story, lang: Lang = "en", *, tables: bool = False, is_ascii: bool = True) -> Report:
    """Findings about the newest figures first; for people one line a round, and one of heights a figure.

    is_ascii: whether these are drawn with ASCII alone, which every terminal shows.
    """
    findings = tuple(_findings(story, lang))
    counts: Counter[str] = Counter(rounds=len(story.rows))
    for row in story.rows:
        counts["changes"] += len(row.changes)
        counts["better"] += len(row.of_state("better"))
        counts["worse"] += len(row.of_state("worse"))
        counts["nothing_recorded"] += row.facts.outcome == "nothing"
    return Report(
        command=AREA,
        run=str(story.root),
        verdict=verdict_from(findings, story.problems, has_unknown=_is_unknown(story)),
        beneath=verdict_from((), story.problems, has_unknown=_is_unknown(story)),
        findings=findings,
        counts=dict(counts),
        summary={
            "rounds": [_facts(story, row) for row in story.rows],
            "headings": {name: heading_of(name, lang) for name in _known_figures(story)},
            "baseline": story.baseline or None,
            "criteria": [_milestone(one) for one in story.milestones],
        },
        problems=story.problems,
        tables={AREA: rounds_table(story)} if tables else {},
        told=tuple(told(story, lang, is_ascii=is_ascii)),
    )


def _is_unknown(story: Story) -> bool:
    """Whether nothing says how the newest round stands, or it or what an area has is not whole."""
    newest = story.rows[-1] if story.rows else None
    if newest is None or newest.facts.outcome in ("incomplete", "unknown", "nothing", "open"):
        return True
    said = {one.area: one for row in story.rows for one in row.said}
    if any(one.is_counted and one.verdict in ("unknown", "incomplete") for one in said.values()):
        return True
    return not any(row.cells or row.facts.outcome for row in story.rows)


def told(story: Story, lang: Lang, *, is_ascii: bool = True) -> Iterator[str]:
    """Which round met what first and what it cost; how many rounds from when to when, a line a round with the
    figures that some round has, and a line of heights a figure."""
    parts = story_parts(story, lang)
    if parts:
        yield ("；" if lang == "zh" else "; ").join(parts)
    yield span_text(story, lang)
    if not story.rows:
        return
    if story.criteria_file:
        yield say(TEXTS, "told-criteria", lang, path=safe_text(story.criteria_file, 400))
    if story.baseline:
        yield say(TEXTS, "told-baseline", lang, round=safe_text(story.baseline, 80))
    figures = [name for name in _known_figures(story)]
    heads = [say(TEXTS, f"head-{name}", lang) for name in ("round", "kind", "started", "outcome")]
    heads += [say(TEXTS, "head-verdict", lang), *(heading_of(name, lang) for name in figures)]
    if story.baseline:
        heads.append(say(TEXTS, "head-against", lang))
    rows = [[*heads, say(TEXTS, "head-changes", lang)]]
    for row in story.rows[-SHOWN_ROUNDS:]:
        cells = [
            safe_text(row.name or story.root.name, 48),
            row.area,
            started_text(row) or "?",
            outcome_and_ending(row, lang),
            (row.verdict or "-").upper(),
        ]
        cells += [figure_text(row, name, lang) for name in figures]
        if story.baseline:
            cells.append(against_text(story, row, lang))
        rows.append([*cells, changes_text(row, lang)])
    yield from (f"  {line}" for line in columns_of(rows, left=range(len(rows[0]))))
    drawn = [spark_cells(series_of(story, name), lang, is_ascii=is_ascii) for name in figures]
    if any(drawn):
        yield ""
        yield from (f"  {line}" for line in columns_of([row for row in drawn if row], left=range(4)))
    yield from _input_line(story, lang)
    if any(row.of_state("unknown") for row in story.rows[-SHOWN_ROUNDS:]):
        yield say(TEXTS, "told-unknown", lang)


def _input_line(story: Story, lang: Lang) -> Iterator[str]:
    """Whether the rounds that tell were measured on one input; of a single round there is nothing to say."""
    by_hash: dict[str, list[str]] = {}
    for row in story.rows[-SHOWN_ROUNDS:]:
        if row.input.text:
            by_hash.setdefault(row.input.text, []).append(safe_text(row.name, 48))
    n = sum(map(len, by_hash.values()))
    if n < 2:
        return
    if len(by_hash) == 1:
        yield say(TEXTS, "told-input", lang, n=n, hash=next(iter(by_hash)))
        return
    listed = "; ".join(f"{text} {', '.join(names[:4])}" for text, names in list(by_hash.items())[:4])
    yield say(TEXTS, "told-inputs", lang, n=n, kinds=len(by_hash), listed=listed)


def _known_figures(story: Story) -> list[str]:
    return [one.id for one in FIGURES if any(one.id in row.cells for row in story.rows)]


def span_text(story: Story, lang: Lang) -> str:
    """How many rounds, and from when to when."""
    n = len(story.rows)
    if n < 2:
        return say(TEXTS, "told-one" if n else "told-none", lang)
    times = [text for text in map(started_text, story.rows) if text]
    if not times:
        return say(TEXTS, "told-rounds-no-time", lang, n=n)
    return say(TEXTS, "told-rounds", lang, n=n, first=times[0], last=times[-1])


# ---- findings ----


def _findings(story: Story, lang: Lang) -> list[Finding]:
    """What is worse now, what did not record, what is better; what still fails; what was once worse."""
    newest = {name: row.name for row in story.rows for name in row.cells}
    found: list[tuple[int, int, Finding]] = []
    for place, row in enumerate(story.rows):
        for finding in row_findings(story, row, newest, lang):
            rank = {"warning": 0, "note": 1 if finding.rule == f"{AREA}.better" else 3}[finding.severity]
            found.append((rank, -place, finding))
    found += [(2, -place, finding) for place, finding in _failing(story, lang)]
    found.sort(key=lambda one: one[:2])
    return [finding for _, _, finding in found]


def _failing(story: Story, lang: Lang) -> Iterator[tuple[int, Finding]]:
    """Areas whose newest word is a failure, with the place of the round that they say it of."""
    for place, row, said in failing(story):
        area = area_of(said.area)
        own = [one for one in row.criteria if one.id.partition(".")[0] == said.area]
        missed, title = missed_text(story, own, lang), area.title[lang == "zh"]
        if said.n_errors:
            first = f": {title_of(said.rule, lang)} {safe_text(said.subject, 200)}" if said.rule else ""
            message = say(TEXTS, "message-fails", lang, area=title, n=said.n_errors, first=first)
            message += f"; {missed}" if missed else ""
        else:
            message = say(TEXTS, "message-misses", lang, area=title, missed=missed)
        chosen = ["--round", row.name] if row.name else []
        step = command_line(["npulse", area.command, str(story.root), *chosen])
        yield place, _finding(story, row, "fails", "error", message, step)


def row_findings(story: Story, row: StoryRow, newest: dict[str, str], lang: Lang) -> Iterator[Finding]:
    """What one round says. newest: of each figure the round that has it last."""
    if row.facts.outcome == "nothing":
        why = row.facts.why[lang == "zh"]
        message = say(TEXTS, "message-nothing", lang, why=f": {safe_text(why, 400)}" if why else "")
        step = safe_text(row.facts.next_step[lang == "zh"], 400) or say(TEXTS, "next-nothing", lang)
        yield _finding(story, row, "nothing-recorded", "warning", message, step)
    if row.facts.is_running:
        message, step = (say(TEXTS, f"{key}-running", lang) for key in ("message", "next"))
        yield _finding(story, row, "open", "note", message, step)
    elif row.facts.outcome == "open":
        folder = (story.root / row.facts.manifest).parent  # whole: the shell is elsewhere
        step = say(TEXTS, "next-open", lang, folder=command_line([str(folder)]))
        yield _finding(story, row, "open", "warning", say(TEXTS, "message-open", lang), step)
    if row.other_input:
        before = next(one for one in story.rows if one.name == row.other_input)
        told = {"since": safe_text(before.name, 60), "before": before.input.text, "after": row.input.text}
        figures = {"since": before.name, "input_before": before.input.text, "input_after": row.input.text}
        message = say(TEXTS, "message-other-input", lang, **told)
        step = say(TEXTS, "next-other-input", lang)
        yield _finding(story, row, "other-input", "warning", message, step, figures)
    for state in ("worse", "better"):
        names = [name for name, told in row.states.items() if told == state]
        for since in dict.fromkeys(row.since[name] for name in names):
            own = [name for name in names if row.since[name] == since]
            is_now = any(newest.get(name) == row.name for name in own)
            severity: Severity = "warning" if state == "worse" and is_now else "note"
            yield _changed(story, row, own, state, since, severity, lang)


def _changed(
    story: Story, row: StoryRow, names: list[str], state: str, since: str, severity: Severity, lang: Lang
) -> Finding:
    values = {
        "figures": ", ".join(from_to(story, row, name, lang) for name in names),
        "since": safe_text(since, 60),
        "changes": listed_changes(changes_since(story, row, since), lang),
    }
    message = say(TEXTS, f"message-{state}", lang, **values)
    command = command_line(["npulse", "diff", str(story.root), "--round", since, "--round-b", row.name])
    step = say(TEXTS, f"next-{state}", lang, command=command)
    figures: dict[str, Any] = {}
    for name in names:
        before, after = before_of(story, row, name), row.cells[name]
        figures |= {f"{name}_before": before.value if before else None, f"{name}_after": after.value}
    figures["since"] = since
    return _finding(story, row, state, severity, message, step, figures)


def _finding(
    story: Story,
    row: StoryRow,
    rule: str,
    severity: Severity,
    message: str,
    next_step: str,
    figures: dict[str, Any] | None = None,
) -> Finding:
    roles = {"better": "ok", "worse": "suspect", "fails": "suspect", "other-input": "suspect"}
    return Finding(
        area=AREA,
        severity=severity,
        rule=f"{AREA}.{rule}",
        role=roles.get(rule, "unknown"),  # type: ignore[arg-type]
        subject=row.name or story.root.name,
        message=message,
        next_step=next_step,
        figures=figures or {},
        location=Location(artifact=row.facts.manifest or None),
    )


# ---- for programs ----


def _facts(story: Story, row: StoryRow) -> dict[str, Any]:
    facts = row.facts
    told: dict[str, Any] = {
        "round": row.name,
        "kind": row.area,
        "tool": facts.tool or None,
        "command": command_without_secrets(facts.command) or None,
        "started": started_text(row) or None,
        "duration_s": facts.duration_s,
        "outcome": facts.outcome or None,
        "input": row.input.text or None,
        "exit_status": facts.exit_status,
        "signal": facts.signal or None,
        "changes": [
            {
                "group": one.group,
                "key": one.key,
                "change": one.kind,
                "before": one.before,
                "after": one.after,
                "since": one.since,
            }
            for one in row.changes
        ]
        if row.has_settings
        else None,
        "figures": {
            name: {"value": cell.value, "state": row.states.get(name), "since": row.since.get(name)}
            for name, cell in row.cells.items()
        },
        "verdict": row.verdict,
        "verdicts": {one.area: one.verdict for one in row.said},
        "criteria": {
            one.id: {
                "state": one.state,
                "value": one.value,
                "needs": one.needs,
                "change": row.criterion_states.get(one.id),
            }
            for one in row.criteria
        },
        "against": dict(row.against) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _milestone(one: Milestone) -> dict[str, Any]:
    return {
        "criterion": one.last.id,
        "needs": one.last.needs,
        "value": one.last.value,
        "is_met": None if one.is_open else one.is_met,
        "met_in": one.met_in or None,
        "lost_in": one.lost_in or None,
        "cost": [{"round": name, "figure": figure} for name, figure in one.cost],
    }
