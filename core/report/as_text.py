"""A report for people: plain text for a terminal or a log, Markdown for an issue, CSV for a sheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from npulse.core.figures import number
from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say

from .blocks import blocks, csv_blocks, csv_text

SHOWN = 20
"""Findings printed in full; the rest is counted (JSON has all of them)."""

TEXTS: dict[str, tuple[str, str]] = {
    "verdict": ("verdict", "结论"),
    "next": ("next", "下一步"),
    "source": ("source", "源码"),
    "at": ("at", "位置"),
    "related": ("related", "相关"),
    "problems": ("problems (could not be read)", "问题（无法读取）"),
    "more": ("{n} more findings: --format json lists all", "另有 {n} 条：--format json 列出全部"),
    "none": ("nothing over a threshold", "没有超过阈值的项"),
    "nothing-compared": ("nothing could be compared", "没有任何可比较的内容"),
    "nothing-checked": ("nothing could be checked", "没有任何可检查的内容"),
    "some-compared": ("not all could be compared", "未能全部比较"),
    "some-checked": ("not all could be checked", "未能全部检查"),
    "see": (", see problems", "，见下方问题"),
    "rule": ("rule", "规则"),
    "figure": ("figure", "指标"),
    "value": ("value", "值"),
    "origin": ("origin", "源头"),
    "inherited": ("inherited", "继承"),
    "suspect": ("suspect", "可疑"),
    "benign": ("benign", "无害"),
    "unmatched": ("unmatched", "未配对"),
    "unknown": ("unknown", "未知"),
    "ok": ("ok", "正常"),
    "error": ("error", "错误"),
    "warning": ("warning", "警告"),
    "note": ("note", "提示"),
    "is-pass": ("PASS", "PASS（通过）"),
    "is-warn": ("WARN", "WARN（有警告）"),
    "is-fail": ("FAIL", "FAIL（不通过）"),
    "is-unknown": ("UNKNOWN", "UNKNOWN（无法判断）"),
    "is-incomplete": ("INCOMPLETE", "INCOMPLETE（不完整）"),
}

_MARK = {"error": "x", "warning": "!", "note": "."}


def verdict_line(report: Report, lang: Lang = "en") -> str:
    """'precision: verdict FAIL  RUN: TARGET against GOLDEN' with its line end."""
    verdict = f"{say(TEXTS, 'verdict', lang)} {say(TEXTS, 'is-' + report.verdict, lang)}"
    return f"{report.command}: {verdict}  {safe_text(report.title)}\n"


def _told(report: Report) -> Iterator[str]:
    """Counts and summary for people: the area's own lines, else the names as they are."""
    if report.told:
        yield from map(safe_text, report.told)
        return
    if report.counts:
        yield ", ".join(f"{name} {n:,}" for name, n in report.counts.items())
    for name, value in report.summary.items():
        yield f"{name}: {_rounded(value)}"


def _nothing(report: Report, lang: Lang) -> str:
    """What it means that there is no finding: agreement, or that nothing could be said."""
    if report.verdict in ("pass", "warn"):
        return say(TEXTS, "none", lang)
    how = "checked" if report.golden is None else "compared"
    is_some = report.counts[how] > 0 if how in report.counts else any(report.counts.values())
    text = say(TEXTS, f"{'some' if is_some else 'nothing'}-{how}", lang)
    return text + (say(TEXTS, "see", lang) if report.problems else "")


def render_text(report: Report, lang: Lang = "en") -> Iterator[str]:
    """Plain lines: verdict first, then findings in the order in which to look at them, then problems."""
    yield verdict_line(report, lang)
    yield from (f"{line}\n" for line in _told(report))
    if not report.findings:
        yield f"{_nothing(report, lang)}\n"
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
    head = f"{_MARK[finding.severity]} {say(TEXTS, finding.role, lang).upper()}"
    yield f"\n{head}  {safe_text(finding.subject)}  [{finding.rule}]\n"
    yield f"    {safe_text(finding.message)}\n"
    yield from (f"      {safe_text(line)}\n" for line in finding.told)
    at = finding.location
    if at.artifact is not None:
        rank = "" if at.rank is None else f"  rank {at.rank}"
        step = "" if at.step is None else f"  step {at.step}"
        where = _where(at.artifact, at.line, at.byte)
        yield f"    {say(TEXTS, 'at', lang)}: {safe_text(where)}{rank}{step}\n"
    if finding.related:
        listed = ", ".join(f"{say(TEXTS, r.role, lang)} {safe_text(r.subject)}" for r in finding.related[:4])
        yield f"    {say(TEXTS, 'related', lang)}: {listed}\n"
    if finding.source and finding.source not in finding.message:
        yield f"    {say(TEXTS, 'source', lang)}: {safe_text(finding.source)}\n"
    if finding.next_step:
        yield f"    {say(TEXTS, 'next', lang)}: {safe_text(finding.next_step)}\n"


def _where(artifact: str, line: int | None, byte: int | None) -> str:
    return (
        artifact + (f":{line}" if line is not None else "") + (f" @ byte {byte}" if byte is not None else "")
    )


def render_markdown(report: Report, lang: Lang = "en", *, level: int = 1, of: str = "") -> Iterator[str]:
    """A report that can be pasted into an issue. File names and subjects are code spans, never markup.

    level: of its heading, where it is a part of a longer text. of: the round that it is about.
    """
    verdict = say(TEXTS, "is-" + report.verdict, lang)
    below = "#" * (level + 1)
    about = f" \N{MIDDLE DOT} {code(of)}" if of else ""
    yield f"{'#' * level} npulse {report.command}: {verdict}{about}\n\n{code(report.title)}\n\n"
    yield from _told_markdown(report)
    if not report.findings:
        yield f"- {_nothing(report, lang)}\n"
    for finding in report.findings:
        severity, role = say(TEXTS, finding.severity, lang), say(TEXTS, finding.role, lang)
        yield f"\n{below} {severity}: {role} {code(finding.subject)}\n\n"
        yield f"{escaped(finding.message)}\n\n- {say(TEXTS, 'rule', lang)}: {code(finding.rule)}\n"
        if finding.told:
            yield "".join(f"\n    {safe_text(line)}" for line in ("", *finding.told)) + "\n\n"
        if finding.location.artifact is not None:
            where = _where(finding.location.artifact, finding.location.line, finding.location.byte)
            yield f"- {say(TEXTS, 'at', lang)}: {code(where)}\n"
        if finding.source and finding.source not in finding.message:
            yield f"- {say(TEXTS, 'source', lang)}: {code(finding.source)}\n"
        for related in finding.related:
            yield f"- {say(TEXTS, related.role, lang)}: {code(related.subject)}\n"
        if finding.next_step:
            yield f"- {say(TEXTS, 'next', lang)}: {escaped(finding.next_step)}\n"
        if finding.figures:
            yield f"\n| {say(TEXTS, 'figure', lang)} | {say(TEXTS, 'value', lang)} |\n| --- | --- |\n"
            for name, value in finding.figures.items():
                yield f"| {name} | {code(_rounded(value))} |\n"
    if report.problems:
        yield f"\n{below} {say(TEXTS, 'problems', lang)}\n\n"
        for problem in report.problems:
            where = _where(problem.artifact, problem.line, problem.byte)
            yield f"- {code(where)} {problem.kind}: {escaped(problem.message)}\n"
    for name, table in report.tables.items():
        yield f"\n{below} {name}\n\n| " + " | ".join(c.name for c in table.exported) + " |\n"
        yield "|" + " --- |" * len(table.exported) + "\n"
        for columns in blocks(table):
            for row in zip(*columns, strict=True):
                yield "| " + " | ".join(map(_cell_md, row)) + " |\n"


def _told_markdown(report: Report) -> Iterator[str]:
    """Lines as a list; those that are set in stand in columns and keep them, as a block."""
    is_block = False
    for line in _told(report):
        is_set_in = line.startswith("  ")
        if is_set_in and not is_block:
            yield "\n"
        elif is_block and not is_set_in:
            yield "\n"
        is_block = is_set_in
        if is_set_in:
            yield f"    {line}\n"
        elif line:
            yield f"- {escaped(line)}\n"
    if is_block:
        yield "\n"


def code(text: str) -> str:
    """A code span that no backtick inside can end."""
    safe = safe_text(text).replace("|", "\\|")
    fence = "`"
    while fence in safe:
        fence += "`"
    return f"{fence} {safe} {fence}" if len(fence) > 1 else f"`{safe}`"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    safe = safe_text(text)
    for mark in "\\`*_[]<>|":
        safe = safe.replace(mark, "\\" + mark)
    return safe


def _cell_md(value: Any) -> str:
    return "" if value is None else code(_plain(value))


def render_csv(report: Report) -> Iterator[str]:
    """The table where one was asked for, else one line a finding."""
    if report.tables:
        for table in report.tables.values():
            yield from render_csv_table(table)
        return
    yield csv_line(list(FINDING_COLUMNS))
    for finding in report.findings:
        yield csv_line(finding_cells(finding))


FINDING_COLUMNS = (
    *("severity", "role", "rule", "subject", "rank", "step"),
    *("artifact", "byte", "message", "next"),
)


def finding_cells(finding: Finding) -> list[Any]:
    """The values of FINDING_COLUMNS; None where one is not known."""
    at = finding.location
    return [
        *(finding.severity, finding.role, finding.rule, finding.subject, at.rank, at.step),
        *(at.artifact, at.byte, finding.message, finding.next_step),
    ]


def render_csv_table(table: Table) -> Iterator[str]:
    """A table as CSV; absent cells are empty, floats keep every digit."""
    yield csv_line([c.name for c in table.exported])
    yield from csv_blocks(table)


def csv_line(values: list[Any]) -> str:
    """One line of a sheet; texts that begin like a formula stay texts."""
    buffer = io.StringIO()
    cells = [csv_text(v) if isinstance(v, str) else v for v in values]
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, float) else safe_text(str(value))


def _rounded(value: Any) -> str:
    """A figure as people read it: rounded; places in a tensor as they are."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(number(v) if isinstance(v, float) else safe_text(str(v)) for v in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return safe_text(str(value))
