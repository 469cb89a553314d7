"""Results of other tools as a pane shows them: one row a row of theirs, the first error first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.figures import number
from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, first_figures, rows_named

from ..texts import TEXTS as AREA_TEXTS
from ..verdict import UNKNOWN, VERDICTS
from .findings import row_finding
from .row_words import headline_of, message_of, place_words, why_of
from .run import OpenedResults, report_of_opened
from .table import Result, place_of, table_row, theirs_table
from .texts import TEXTS


@dataclass(frozen=True, slots=True)
class TheirsView:
    """The result tables of a round; see `AreaView`."""

    opened: OpenedResults
    report: Report
    table: Table
    lang: Lang

    is_complete = True

    def at(self, row: int) -> tuple[Result, int]:
        """The result of a table row, and the row in it."""
        return place_of(self.opened.results, row)

    def detail(self, row: int, lang: Lang) -> Detail:
        one, inner = self.at(row)
        theirs = one.theirs
        verdict = int(theirs.ours.verdict[inner])
        message = message_of(theirs, inner)
        facts = [
            (say(TEXTS, "fact-theirs", lang), safe_text(theirs.said(inner), 80) or "-"),
            (say(TEXTS, "fact-ours", lang), f"{VERDICTS[verdict]}: {why_of(theirs, inner, lang)}"),
        ]
        if message:
            facts.append((say(TEXTS, "fact-message", lang), message))
        for column in (*theirs.table.all_of("figure"), *theirs.table.all_of("statistic")):
            value = column.value(inner)
            shown = safe_text(value, 80) if isinstance(value, str) else number(value)
            facts.append((safe_text(column.header, 40), shown + (" %" if column.unit == "percent" else "")))
        facts.append((say(TEXTS, "fact-place", lang), place_words(theirs, inner, lang)))
        todo = "next-first" if theirs.is_bad[inner] else "next-unjudged" if verdict == UNKNOWN else ""
        return Detail(
            name=safe_text(theirs.name(inner), 1000),
            headline=headline_of(theirs, inner, lang),
            facts=tuple((name, value) for name, value in facts if value),
            next_step=say(TEXTS, todo, lang) if todo else "",
        )

    def finding(self, row: int, lang: Lang) -> Finding:
        return row_finding(*self.at(row), lang)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return first_figures(finding.figures)

    def where(self, row: int, lang: Lang) -> list[str]:
        one, inner = self.at(row)
        table = one.theirs.table
        file, tool = safe_text(table.artifact, 400), table.layout.tool
        lines = [
            say(TEXTS, "where-table", lang, file=file, place=place_words(one.theirs, inner, lang), tool=tool)
        ]
        stack = safe_text(table.text("stack", inner).replace("\n", " "), 2000)
        if stack and stack not in ("N/A", "None"):
            lines.append(stack)
        return [*lines, say(TEXTS, "where-ours", lang, theirs="theirs")]

    def meaning(self, column: str, lang: Lang) -> str:
        if column in ("theirs", "message", "cell", "verdict", "reason", "line"):
            return say(TEXTS, f"column-{column}", lang)
        key = f"figure-{column}"
        return say(AREA_TEXTS, key, lang) if key in AREA_TEXTS and column in _OURS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        one, inner = self.at(row)
        if one.theirs.table.sheet is not None:
            return None
        return one.artifact.path, int(one.theirs.table.lines[inner])

    def row_of(self, finding: Finding) -> int | None:
        at = finding.location
        for one in self.opened.results:
            if one.theirs.table.artifact == at.artifact and at.row is not None:
                return table_row(self.opened.results, one, at.row)
        rows = rows_named(self.table, "target", {finding.subject})
        return int(rows[0]) if len(rows) else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        del row
        return None

    def translated(self, lang: Lang) -> TheirsView:
        return replace(self, report=report_of_opened(self.opened, lang), lang=lang)

    @property
    def first_error(self) -> int | None:
        """The table row of the first error."""
        for one in self.opened.results:
            if one.theirs.first is not None:
                return table_row(self.opened.results, one, one.theirs.first)
        return None


_OURS = frozenset(("operator", "io", "target", "golden", "rank"))


def theirs_view(opened: OpenedResults, lang: Lang) -> TheirsView:
    """All that a pane shows of the results of a round."""
    return TheirsView(opened, report_of_opened(opened, lang), theirs_table(opened.results), lang)
