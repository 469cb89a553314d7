"""A report for people: plain text for a terminal or a log, Markdown for an issue, CSV for a sheet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say

SHOWN = 20
"""Findings printed in full; the rest is counted (JSON has all of them)."""

TEXTS: dict[str, tuple[str, str]] = {
    "verdict": ("verdict", "结论"),
    "next": ("next", "下一步"),
    "at": ("at", "位置"),
    "related": ("related", "相关"),
    "problems": ("problems (could not be read)", "问题（无法读取）"),
    "more": ("{n} more findings: --format json lists all", "另有 {n} 条：--format json 列出全部"),
    "none": ("nothing over a threshold", "没有超过阈值的项"),
    "counts": ("counts", "计数"),
}

_MARK = {"error": "x", "warning": "!", "note": "."}


def render_text(report: Report, lang: Lang = "en") -> Iterator[str]:
    """Plain lines: verdict first, then findings in the order in which to look at them, then problems."""
    verdict = f"{say(TEXTS, 'verdict', lang)} {report.verdict.upper()}"
    yield f"{report.command}: {verdict}  {safe_text(report.run)}\n"
    if report.counts:
        listed = ", ".join(f"{name} {n:,}" for name, n in report.counts.items())
        yield f"{say(TEXTS, 'counts', lang)}: {listed}\n"
    for name, value in report.summary.items():
        yield f"{name}: {safe_text(_plain(value))}\n"
    if not report.findings:
        yield f"{say(TEXTS, 'none', lang)}\n"
    for finding in report.findings[:SHOWN]:
        yield from _finding_lines(finding, lang)
    if len(report.findings) > SHOWN:
        yield say(TEXTS, "more", lang, n=len(report.findings) - SHOWN) + "\n"
    if report.problems:
        yield f"\n{say(TEXTS, 'problems', lang)}:\n"
        for problem in report.problems:
            where = _where(problem.artifact, problem.line, problem.byte)
            yield f"  ! {safe_text(where)}  {problem.kind}: {safe_text(problem.message)}\n"
            if problem.hint:
                yield f"      {safe_text(problem.hint)}\n"
    for table in report.tables.values():
        yield "\n"
        yield from render_csv_table(table)


def _finding_lines(finding: Finding, lang: Lang) -> Iterator[str]:
    head = f"{_MARK[finding.severity]} {finding.role.upper()}"
    yield f"\n{head}  {safe_text(finding.subject)}  [{finding.rule}]\n"
    yield f"    {safe_text(finding.message)}\n"
    at = finding.location
    if at.artifact is not None:
        rank = "" if at.rank is None else f"  rank {at.rank}"
        step = "" if at.step is None else f"  step {at.step}"
        where = _where(at.artifact, at.line, at.byte)
        yield f"    {say(TEXTS, 'at', lang)}: {safe_text(where)}{rank}{step}\n"
    if finding.related:
        listed = ", ".join(f"{r.role} {safe_text(r.subject)}" for r in finding.related[:4])
        yield f"    {say(TEXTS, 'related', lang)}: {listed}\n"
    if finding.next_step:
        yield f"    {say(TEXTS, 'next', lang)}: {safe_text(finding.next_step)}\n"


def _where(artifact: str, line: int | None, byte: int | None) -> str:
    return (
        artifact + (f":{line}" if line is not None else "") + (f" @ byte {byte}" if byte is not None else "")
    )


def render_markdown(report: Report, lang: Lang = "en") -> Iterator[str]:
    """A report that can be pasted into an issue. File names and subjects are code spans, never markup."""
    yield f"# npulse {report.command}: {report.verdict.upper()}\n\n{code(report.run)}\n"
    if report.counts:
        yield "\n" + ", ".join(f"{name} {n:,}" for name, n in report.counts.items()) + "\n"
    for finding in report.findings:
        yield f"\n## {finding.severity}: {finding.role} {code(finding.subject)}\n\n"
        yield f"{_escape(finding.message)}\n\n- rule: {code(finding.rule)}\n"
        if finding.location.artifact is not None:
            where = _where(finding.location.artifact, finding.location.line, finding.location.byte)
            yield f"- {say(TEXTS, 'at', lang)}: {code(where)}\n"
        for related in finding.related:
            yield f"- {related.role}: {code(related.subject)}\n"
        if finding.next_step:
            yield f"- {say(TEXTS, 'next', lang)}: {_escape(finding.next_step)}\n"
        if finding.figures:
            yield "\n| figure | value |\n| --- | --- |\n"
            for name, value in finding.figures.items():
                yield f"| {name} | {code(str(value))} |\n"
    if report.problems:
        yield f"\n## {say(TEXTS, 'problems', lang)}\n\n"
        for problem in report.problems:
            where = _where(problem.artifact, problem.line, problem.byte)
            yield f"- {code(where)} {problem.kind}: {_escape(problem.message)}\n"
    for name, table in report.tables.items():
        yield f"\n## {name}\n\n| " + " | ".join(c.name for c in table.columns) + " |\n"
        yield "|" + " --- |" * len(table.columns) + "\n"
        for row in range(table.n_rows):
            yield "| " + " | ".join(_cell_md(c.value(row)) for c in table.columns) + " |\n"


def code(text: str) -> str:
    """A code span that no backtick inside can end."""
    safe = safe_text(text).replace("|", "\\|")
    fence = "`"
    while fence in safe:
        fence += "`"
    return f"{fence} {safe} {fence}" if len(fence) > 1 else f"`{safe}`"


def _escape(text: str) -> str:
    escaped = safe_text(text)
    for mark in "\\`*_[]<>|":
        escaped = escaped.replace(mark, "\\" + mark)
    return escaped


def _cell_md(value: Any) -> str:
    return "" if value is None else code(_plain(value))


def render_csv(report: Report) -> Iterator[str]:
    """The table where one was asked for, else one line a finding."""
    if report.tables:
        for table in report.tables.values():
            yield from render_csv_table(table)
        return
    yield _csv_line(
        ["severity", "role", "rule", "subject", "rank", "step", "artifact", "byte", "message", "next"]
    )
    for f in report.findings:
        at = f.location
        yield _csv_line(
            [
                f.severity,
                f.role,
                f.rule,
                f.subject,
                at.rank,
                at.step,
                at.artifact,
                at.byte,
                f.message,
                f.next_step,
            ]
        )


def render_csv_table(table: Table) -> Iterator[str]:
    """A table as CSV; absent cells are empty, floats keep every digit."""
    yield _csv_line([c.name for c in table.columns])
    for row in range(table.n_rows):
        yield _csv_line([c.value(row) for c in table.columns])


def _csv_line(values: list[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([_csv_cell(v) for v in values])
    return buffer.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    text = _plain(value)
    # a sheet would run a cell that begins like a formula
    if isinstance(value, str) and text[:1] in ("=", "+", "-", "@"):
        return "'" + text
    return text


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return safe_text(str(value))
