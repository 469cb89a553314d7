"""A `Performance` as a pane shows it: report, one of its tables, and what stands behind one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from npulse.core.figures import time_text
from npulse.core.findings import Finding, Location, Report
from npulse.core.table import Table, text_column
from npulse.core.text import Lang
from npulse.core.views import Detail, Strip, first_figures, rows_named

from .advice import AREA
from .detail import advice_of_row, evidence, row_detail, where_lines
from .found import Performance
from .report import report
from .table import BY_KINDS, SUBJECT, TableKind, kinds_of, performance_table
from .texts import COLUMNS
from .wall.lanes import busy_before
from .wall.record import Wall

__all__ = ["SUBJECT", "PerformanceView", "performance_view"]

RULER_CELLS = 80
_MOMENT_ROWS = 20_000
"""So many operators are put in another order within 50 ms."""


@dataclass(frozen=True, slots=True)
class PerformanceView:
    """An analysis at one moment; see `AreaView`. kind: which of `kinds` the table is. kinds: () where the
    round holds nothing that has rows (raw sessions). ruler: busy share over the wall time, None without."""

    found: Performance
    report: Report
    table: Table
    lang: Lang
    kind: TableKind
    kinds: tuple[TableKind, ...]
    ruler: Strip | None

    @property
    def is_complete(self) -> bool:
        return self.found.stage == "complete"

    def detail(self, row: int, lang: Lang) -> Detail:
        return row_detail(self.found, self.kind, self.table, row, lang)

    def finding(self, row: int, lang: Lang) -> Finding:
        """The first advice on a row, else its figures as a note."""
        cells = self.table.row(row)
        name = str(cells.get(SUBJECT) or "?")
        said = advice_of_row(self.found, self.kind, cells)
        if said and (self.kind == "kernels" or said[0].subject == name):
            return said[0].finding(lang)
        detail = self.detail(row, lang)
        return Finding(
            area=AREA,
            severity="note",
            rule=f"{AREA}.top-operators",
            role="ok",
            subject=name,
            message=detail.headline,
            figures={key: value for key, value in cells.items() if value is not None and key != SUBJECT},
            location=Location(line=cells.get("line")),
        )

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return first_figures(finding.figures)

    def where(self, row: int, lang: Lang) -> list[str]:
        return where_lines(self.found, self.kind, self.table, row, lang)

    def meaning(self, column: str, lang: Lang) -> str:
        return COLUMNS[column][1 if lang == "zh" else 0] if column in COLUMNS else ""

    def evidence(self, row: int, lang: Lang, width: int, is_ascii: bool) -> list[str]:
        """Everything about a row as lines: advice in full, pipes, its longest calls."""
        return evidence(self.found, self.kind, self.table, row, lang, width, is_ascii)

    def place(self, row: int) -> tuple[Path, int | None] | None:
        """The line of the table that a row begins with."""
        shown = self.found.shown
        if shown is None or self.kind not in BY_KINDS:
            return None
        source = shown.profile.sources.get("operators") or shown.profile.sources.get("types")
        if not source:
            return None
        path = self.found.root / source
        line = self.table.column("line").value(row)
        return (path, line or None) if path.is_file() else None

    def row_of(self, finding: Finding) -> int | None:
        if self.kind == "kernels":  # a launch is told from others of the same name by its folder
            subjects = [
                one.profile
                for one in self.found.advice
                if (one.rule, one.subject) == (finding.rule, finding.subject)
            ]
            folders = [kernel.folder for kernel in self.found.kernels]
            return next((folders.index(one) for one in subjects if one in folders), None)
        rows = rows_named(self.table, SUBJECT, {finding.subject})
        return int(rows[0]) if len(rows) else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        """The ruler of busy time, and the cell in which the row's longest call began."""
        wall = self.wall
        if self.ruler is None or wall is None or wall.start_ns is None or self.kind not in BY_KINDS:
            return None
        start = self.start_of(row)
        if start is None:
            return self.ruler, 0
        n = len(self.ruler.values)
        entry = (start - wall.start_ns) * n // max(wall.wall_ns, 1)
        return self.ruler, int(min(max(entry, 0), n - 1))

    def start_of(self, row: int) -> int | None:
        """When the longest call of a row began, ns since 1970; None where that is not recorded."""
        shown = self.found.shown
        if shown is None or shown.operators is None or shown.operators.table is None:
            return None
        table, used = shown.operators.table, shown.operators.usable
        rows = shown.operators.by(self.kind).top.rows_of(row)  # type: ignore[arg-type]
        if not len(rows) or used is None or not used.starts[rows[0]]:
            return None
        return int(table.values("start_ns")[rows[0]])

    @property
    def wall(self) -> Wall | None:
        return self.found.shown.wall.wall if self.found.shown is not None else None

    def translated(self, lang: Lang) -> PerformanceView:
        return replace(self, report=report(self.found, lang=lang), lang=lang)

    def with_kind(self, kind: TableKind) -> PerformanceView:
        """The same with another of its tables. Cost: two sorts of the operators."""
        return replace(self, kind=kind, table=performance_table(self.found, kind))

    @property
    def is_large(self) -> bool:
        """Whether another table takes more than a moment to make."""
        shown = self.found.shown
        table = shown.operators.table if shown is not None and shown.operators is not None else None
        return table is not None and table.n_rows > _MOMENT_ROWS

    def next_kind(self) -> TableKind:
        """The table after this one."""
        return self.kinds[(self.kinds.index(self.kind) + 1) % len(self.kinds)]


def performance_view(found: Performance, lang: Lang, kind: TableKind | None = None) -> PerformanceView:
    """All that a pane shows of an analysis. kind: the table that is wanted, where the round has it."""
    kinds = kinds_of(found)
    chosen: TableKind = kind if kind in kinds else kinds[0] if kinds else "type"
    table = performance_table(found, chosen) if kinds else Table(AREA, (text_column(SUBJECT, []),))
    wall = found.shown.wall.wall if found.shown is not None else None
    return PerformanceView(found, report(found, lang=lang), table, lang, chosen, kinds, ruler_of(wall))


def ruler_of(wall: Wall | None) -> Strip | None:
    """Busy share of equal parts of the wall time; None where nothing is placed in time."""
    if wall is None or wall.start_ns is None or not wall.wall_ns or not len(wall.busy):
        return None
    n = RULER_CELLS
    edges = wall.start_ns + np.array([wall.wall_ns * i // n for i in range(n + 1)], np.int64)
    widths = np.maximum(np.diff(edges), 1)
    shares = np.diff(busy_before(wall.busy, edges)) / widths
    labels = [f"+{time_text(wall.wall_ns * i // n)}" for i in range(n)]
    return Strip(tuple(labels), shares, np.ones(n, np.bool_))
