"""The story of an archive as a pane shows it; see `AreaView`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.areas import area_of
from npulse.core.findings import Finding, Report
from npulse.core.rules import Rule
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, first_figures

from .chart import Series, series_of
from .figures import BY_ID
from .report import report, row_findings
from .rules import RULES
from .settings import Change
from .story import AREA, Story, StoryRow
from .table import STATE, SUBJECT, rounds_table
from .texts import TEXTS
from .verdicts import figure_of
from .words import (
    against_text,
    before_of,
    change_name,
    change_text,
    changes_since,
    changes_text,
    criterion_text,
    figure_text,
    from_to,
    heading_of,
    moment_text,
    ordered,
    outcome_and_ending,
    pieces_text,
    title_of,
    value_text,
)

__all__ = ["SUBJECT", "RoundsView", "rounds_view"]

MAX_FACTS = 400
LONG = 400
LONG_VALUE = 60
"""A value that is longer does not stand beside another one on a line."""
MAX_LINE = 4000


@dataclass(frozen=True, slots=True)
class RoundsView:
    """A story at one moment. Row numbers are places in `found.rows`."""

    found: Story
    report: Report
    table: Table
    lang: Lang

    @property
    def is_complete(self) -> bool:
        return self.found.is_complete

    def detail(self, row: int, lang: Lang) -> Detail:
        one = self.found.rows[row]
        step = next((f.next_step for f in self._findings(one, lang) if f.rule != f"{AREA}.better"), "")
        return Detail(
            name=one.name or self.found.root.name,
            headline=self.headline(row, lang),
            facts=tuple(self._facts(one, lang))[:MAX_FACTS],
            next_step=step,
        )

    def headline(self, row: int, lang: Lang) -> str:
        """What came of the round, and which figures are better or worse than before."""
        one = self.found.rows[row]
        text = say(TEXTS, "headline", lang, outcome=outcome_and_ending(one, lang))
        for state in ("worse", "better"):
            names = [name for name, told in one.states.items() if told == state]
            if names:
                told = ", ".join(from_to(self.found, one, name, lang) for name in names)
                text += say(TEXTS, f"head-{state}", lang, figures=told)
        unknown = [heading_of(name, lang) for name in one.of_state("unknown")]
        if unknown:
            is_doubtful = any(self._is_doubtful(one, name) for name in one.of_state("unknown"))
            why = f" ({say(TEXTS, 'unwell-card', lang)})" if is_doubtful else ""
            text += say(TEXTS, "head-unknown", lang, figures=", ".join(unknown), why=why)
        if not one.is_complete:
            text += f" {say(TEXTS, 'asking', lang)}"
        return text

    def _is_doubtful(self, row: StoryRow, name: str) -> bool:
        before = before_of(self.found, row, name)
        return row.cells[name].is_doubtful or (before is not None and before.is_doubtful)

    def _facts(self, row: StoryRow, lang: Lang) -> Iterator[tuple[str, str]]:
        """What was set otherwise, key by key; each figure; what each area says; how it was captured."""
        if against := against_text(self.found, row, lang):
            yield say(TEXTS, "head-against", lang), against
        asked = {figure_of(self.found.rows, one.id): one for one in row.criteria}
        for name in row.cells:
            needs = f", {criterion_text(asked[name], lang)}" if name in asked else ""
            yield heading_of(name, lang), self._figure(row, name, lang) + needs
        if not row.changes:
            yield say(TEXTS, "head-changes", lang), changes_text(row, lang)
        for change in ordered(row.changes):
            yield change_name(change, lang), _change_value(change, lang)
        for result in row.criteria:
            if figure_of(self.found.rows, result.id) not in row.cells:
                yield result.title[lang == "zh"], criterion_text(result, lang, is_alone=True)
        for said in row.said:
            n_told = {"E": said.n_errors, "W": said.n_warnings}
            counted = "".join(f" {letter} {n}" for letter, n in n_told.items() if n)
            first = f": {title_of(said.rule, lang)} {safe_text(said.subject, 80)}" if said.rule else ""
            yield area_of(said.area).title[lang == "zh"], f"{said.verdict.upper()}{counted}{first}"
        facts = row.facts
        if why := facts.why[lang == "zh"]:
            yield say(TEXTS, "fact-why", lang), safe_text(why, LONG)
        for warning in facts.warnings[:20]:
            yield say(TEXTS, "fact-warning", lang), safe_text(warning, LONG)
        told = (
            ("fact-note", facts.note),
            ("fact-command", " ".join(facts.command)),
            ("fact-tool", facts.tool),
            ("head-started", moment_text(facts.started_ns)),
            ("fact-ended", moment_text(facts.ended_ns)),
            ("fact-manifest", facts.manifest),
            ("fact-input", row.input.text),
            ("fact-files", f"{row.n_files:,} ({row.size_bytes / 1e6:,.1f} MB)"),
        )
        for key, text in told:
            if text:
                yield say(TEXTS, key, lang), safe_text(text, LONG)
        for key, text in facts.recorded.items():
            is_known = f"recorded-{key}" in TEXTS
            name = say(TEXTS, f"recorded-{key}", lang) if is_known else safe_text(key, 40)
            yield name, _plain_value(text, lang)

    def _figure(self, row: StoryRow, name: str, lang: Lang) -> str:
        before = before_of(self.found, row, name)
        cell, text = row.cells[name], figure_text(row, name, lang)
        if cell.why:
            text = f"{text} ({safe_text(cell.why, 60)})"
        if cell.is_doubtful:
            text = f"{text} ({say(TEXTS, 'unwell-card', lang)})"
        if before is None:
            return text
        since = say(TEXTS, "since", lang, round=safe_text(row.since[name], 60))
        return f"{text}, {since} {BY_ID[name].text(before)}"

    def _against(self, row: StoryRow, name: str, lang: Lang, arrow: str) -> str:
        """The figure of the round before, this one's with its word, and which round that was."""
        before = before_of(self.found, row, name)
        old = BY_ID[name].text(before) if before is not None else "?"
        since = say(TEXTS, "since", lang, round=safe_text(row.since[name], 60))
        return f"{heading_of(name, lang)} {old} {arrow} {figure_text(row, name, lang)}  ({since})"

    def _findings(self, row: StoryRow, lang: Lang) -> list[Finding]:
        newest = {name: one.name for one in self.found.rows for name in one.cells}
        return list(row_findings(self.found, row, newest, lang))

    def finding(self, row: int, lang: Lang) -> Finding:
        """What the report says of the round, else the round as a note."""
        one = self.found.rows[row]
        said = self._findings(one, lang)
        if said:
            return said[0]
        return Finding(
            area=AREA,
            severity="note",
            rule=f"{AREA}.better",
            role="ok",
            subject=one.name or self.found.root.name,
            message=self.headline(row, lang),
            figures={name: cell.value for name, cell in one.cells.items()},
            told=tuple(change_text(change, lang) for change in ordered(one.changes)[:40]),
        )

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return first_figures(finding.figures)

    def where(self, row: int, lang: Lang) -> list[str]:
        """The manifest, then of each figure what it is of and with what it was compared."""
        one = self.found.rows[row]
        lines = [f"{say(TEXTS, 'fact-manifest', lang)}: {safe_text(one.facts.manifest, LONG) or '-'}"]
        lines += [f"{heading_of(name, lang)}: {self._figure(one, name, lang)}" for name in one.cells]
        rules: Sequence[Rule] = RULES[:1]
        return [*lines, *(f"{rule.id}: {rule.threshold[lang == 'zh']}" for rule in rules)]

    def meaning(self, column: str, lang: Lang) -> str:
        key = "col-figure" if column.removesuffix(STATE) in BY_ID else f"col-{column}"
        return say(TEXTS, key, lang) if key in TEXTS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        """The manifest of the round."""
        manifest = self.found.rows[row].facts.manifest
        path = self.found.root / manifest if manifest else None
        return (path, None) if path is not None and path.is_file() else None

    def row_of(self, finding: Finding) -> int | None:
        names = [row.name or self.found.root.name for row in self.found.rows]
        return names.index(finding.subject) if finding.subject in names else None

    def chart_figure(self, column: str) -> str:
        """The figure to draw for a column: its own, else the one that changed last, else the first that has a
        course; "" where no figure was told twice."""
        name = column.removesuffix(STATE)
        if name in BY_ID and any(name in row.cells for row in self.found.rows):
            return name
        rows = self.found.rows
        for row in reversed(rows):
            for changed in row.of_state("worse", "better"):
                return changed
        return next((one for one in BY_ID if sum(one in row.cells for row in rows) > 1), "")

    def series(self, figure: str) -> Series:
        """A figure over the rounds, for a chart."""
        return series_of(self.found, figure)

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return None

    def compared_lines(
        self, row: int, lang: Lang, arrow: str = "->", *, is_to_baseline: bool = False
    ) -> list[str]:
        """The round against what came before it, or the baseline: its figures, then key by key what was set
        otherwise."""
        one = self.found.rows[row]
        if is_to_baseline:
            return self._to_baseline(one, lang, arrow)
        lines = [say(TEXTS, "head-figures", lang)]
        for name in one.cells:
            text = f"{heading_of(name, lang)} {self._figure(one, name, lang)}"
            lines.append(f"  {self._against(one, name, lang, arrow) if name in one.since else text}")
        lines += ["", say(TEXTS, "head-set-otherwise", lang)]
        if not one.changes:
            lines.append(f"  {changes_text(one, lang)}")
        for change in ordered(one.changes):
            lines += _change_lines(change, lang, arrow)
        return lines

    def _to_baseline(self, row: StoryRow, lang: Lang, arrow: str) -> list[str]:
        """Figures of both rounds; what was set otherwise since the baseline, where that came before."""
        base = next(one for one in self.found.rows if one.name == self.found.baseline)
        lines = [say(TEXTS, "head-figures", lang)]
        for name, state in row.against.items():
            old, new = (BY_ID[name].text(one.cells[name]) for one in (base, row))
            word = say(TEXTS, f"state-{state}", lang) if f"state-{state}" in TEXTS else ""
            lines.append(f"  {heading_of(name, lang)} {old} {arrow} {new}  {word}".rstrip())
        if not row.against:
            lines.append(f"  {say(TEXTS, 'against-nothing', lang)}")
        if self.found.rows.index(base) < self.found.rows.index(row):
            lines += ["", say(TEXTS, "head-set-otherwise", lang)]
            changes = changes_since(self.found, row, base.name)
            lines += [line for change in changes for line in _change_lines(change, lang, arrow)]
            if not changes:
                lines.append(f"  {say(TEXTS, 'no-changes', lang)}")
        return lines

    def translated(self, lang: Lang) -> RoundsView:
        return replace(self, report=report(self.found, lang), lang=lang)


def _plain_value(text: str, lang: Lang) -> str:
    """A value of the manifest: yes and no as words, counts with their thousands apart."""
    if text in ("True", "False"):
        return say(TEXTS, "yes" if text == "True" else "no", lang)
    is_count = text.isascii() and text.isdecimal() and len(text) < 19
    return f"{int(text):,}" if is_count else safe_text(text, 120)


def _change_value(change: Change, lang: Lang) -> str:
    """What became of a key: both values, or that it came or went."""
    if change.kind != "changed":
        value = change.after if change.kind == "added" else change.before
        return say(TEXTS, change.kind, lang, value=value_text(value, LONG))
    before, after = (value_text(one, LONG) for one in (change.before, change.after))
    return pieces_text(change, lang, LONG_VALUE) or f"{before} -> {after}"


def _change_lines(change: Change, lang: Lang, arrow: str) -> list[str]:
    """A key on one line; where its values are long, what differs and then each value on a line of its own."""
    text = _change_value(change, lang)
    is_long = max(len(change.before or ""), len(change.after or "")) > LONG_VALUE
    if change.kind != "changed" or not is_long:
        return [f"  {change_name(change, lang)} {text.replace(' -> ', f' {arrow} ')}"]
    pieces = pieces_text(change, lang, LONG_VALUE)
    both = (("before", change.before), ("after", change.after))
    values = [f"    {say(TEXTS, key, lang)}: {value_text(value, MAX_LINE)}" for key, value in both]
    return [f"  {change_name(change, lang)} {pieces}".rstrip(), *values]


def rounds_view(found: Story, lang: Lang) -> RoundsView:
    """All that a pane shows of a story."""
    return RoundsView(found, report(found, lang), rounds_table(found), lang)
