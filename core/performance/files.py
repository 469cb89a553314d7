"""The other tables of a round: memory, caches, counters, host calls, recipes, as their files have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from npulse.core.findings import Finding, Location, Problem, Report
from npulse.core.formats.profiling.tables import NO_VALUE, ProfilerTable, TableColumn, read_table
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, first_figures

from .advice import AREA
from .table import SUBJECT
from .texts import TEXTS
from .view import PerformanceView

SHOWN = frozenset(
    (
        *("prof.memory", "prof.l2_cache", "prof.counters", "prof.aicpu", "prof.fusion_op"),
        *("prof.user_marks", "prof.minddata", "prof.operator_details", "prof.api_statistic"),
        *("prof.communication_statistic", "prof.task_time", "prof.step_trace", "prof.step_trace_time"),
        *("prof.op_statistic", "prof.cluster"),
    )
)
"""Kinds whose CSV files are shown as they are."""
_NAMES = ("name", "op name", "op_name", "component", "api name", "op type", "operation", "kernel_name")
_EXACT = 2**53
"""Up to here a float holds every nanosecond."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """One file as a table. The first column is `subject`: what a row is called; subject_header: its own
    header, "" where the file has no texts. n_dropped rows, n_unread cells: not readable, see `problems`."""

    artifact: Artifact
    table: Table
    subject_header: str
    encoding: str
    n_dropped: int
    n_unread: int
    problems: tuple[Problem, ...]


def file_tables(artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """The files that `read_file_table` can show, in the order of the run."""
    return tuple(a for a in artifacts if a.kind in SHOWN and a.path.suffix.lower() == ".csv")


def read_file_table(
    artifact: Artifact,
    root: Path,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> FileTable:
    """One file, its columns under their own headers, in their own units. Raises InputError, Cancelled.

    `line` is where a row stands. Times too large for a float to be exact are in nanoseconds, and their
    headings say so.
    """
    found = read_table(artifact.path, root=root, progress=progress, is_cancelled=is_cancelled)
    return FileTable(
        artifact,
        *_table_of(found, artifact.path.stem),
        encoding=found.encoding,
        n_dropped=found.n_dropped,
        n_unread=found.n_unread,
        problems=found.problems,
    )


def _table_of(found: ProfilerTable, name: str) -> tuple[Table, str]:
    columns: list[Column] = []
    names: set[str] = {SUBJECT, "line"}
    for one in found.columns:
        column = _column(one)
        free, n = column.name, 2
        while free in names:
            free, n = f"{column.name} {n}", n + 1
        names.add(free)
        columns.append(replace(column, name=free))
    texts = [column for column in columns if column.kind == "text"]
    subject = next((c for c in texts if c.name.strip().lower() in _NAMES), texts[0] if texts else None)
    header = ""
    if subject is None:
        labels = tuple(str(line) for line in found.line.tolist())
        subject = Column(SUBJECT, "text", np.arange(found.n_rows, dtype=np.int64), labels or ("",))
    else:
        columns.remove(subject)
        header, subject = subject.name, replace(subject, name=SUBJECT)
    return Table(name, (subject, *columns, Column("line", "int", found.line))), header


def _column(one: TableColumn) -> Column:
    """A column in the unit that its header says; times are nanoseconds as they come."""
    scale = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}.get(_unit(one.header), 0)
    if not one.is_time or not scale:
        return one.column()
    values = one.values[one.values != NO_VALUE]
    if len(values) and int(np.abs(values).max()) >= _EXACT:
        return one.column(f"{one.header.rpartition('(')[0] or one.header}(ns)")
    absent = one.absent
    scaled = np.where(absent, np.nan, one.values / scale)
    return Column(one.header, "float", scaled, None, absent if absent.any() else None, _unit(one.header))


def _unit(header: str) -> str:
    _, opened, rest = header.rpartition("(")
    return rest.strip().rstrip(")").strip().lower() if opened else ""


@dataclass(frozen=True, slots=True)
class FileView:
    """A file in the place of the tables of `below`, which it covers; the report stays. See `AreaView`."""

    below: PerformanceView
    file: FileTable

    @property
    def report(self) -> Report:
        return self.below.report

    @property
    def table(self) -> Table:
        return self.file.table

    @property
    def lang(self) -> Lang:
        return self.below.lang

    @property
    def is_complete(self) -> bool:
        return self.below.is_complete

    def detail(self, row: int, lang: Lang) -> Detail:
        """Every cell of the row under its own header."""
        cells = self.table.row(row)
        name = safe_text(str(cells.get(SUBJECT) or "?"))
        return Detail(name, "", tuple(self._facts(row)))

    def finding(self, row: int, lang: Lang) -> Finding:
        """The row as a note: nothing is judged here."""
        cells = self.table.row(row)
        return Finding(
            area=AREA,
            severity="note",
            rule=f"{AREA}.file-row",
            role="ok",
            subject=safe_text(str(cells.get(SUBJECT) or "?"), 200),
            message=f"{safe_text(self.file.artifact.relative, 400)}:{cells.get('line')}",
            figures={k: v for k, v in cells.items() if v is not None and k not in (SUBJECT, "line")},
            location=Location(artifact=self.file.artifact.relative, line=cells.get("line")),
        )

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return first_figures(finding.figures)

    def where(self, row: int, lang: Lang) -> list[str]:
        file = self.file
        lines = [
            f"{say(TEXTS, 'label-file', lang)}: {safe_text(file.artifact.relative)}:{self._line(row)}",
            say(TEXTS, "told-encoding", lang, list=file.encoding),
        ]
        return lines + [safe_text(problem.message, 400) for problem in file.problems]

    def meaning(self, column: str, lang: Lang) -> str:
        return ""

    def evidence(self, row: int, lang: Lang, width: int, is_ascii: bool) -> list[str]:
        """The whole row and where it stands."""
        return [*self.where(row, lang), "", *(f"{name}  {value}" for name, value in self._facts(row))]

    def place(self, row: int) -> tuple[Path, int | None] | None:
        path = self.file.artifact.path
        return (path, self._line(row)) if path.is_file() else None

    def row_of(self, finding: Finding) -> int | None:
        return None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return None

    def translated(self, lang: Lang) -> FileView:
        return replace(self, below=self.below.translated(lang))

    def _line(self, row: int) -> int | None:
        value = self.table.column("line").value(row)
        return None if value is None else int(value)

    def _facts(self, row: int) -> list[tuple[str, str]]:
        cells = self.table.row(row)
        return [
            (safe_text(name, 80), safe_text(_as_written(value), 2000))
            for name, value in cells.items()
            if value is not None and name != SUBJECT
        ]


def _as_written(value: object) -> str:
    """A cell as the file has it, not rounded."""
    return f"{value:,.15g}" if isinstance(value, float) else str(value)
