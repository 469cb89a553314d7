"""An `Overflow` as a pane shows it: report, table, strips, rank matrix, and what stands behind one row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.source import frames_of, source_line, source_place, stack_lines
from npulse.core.figures import number
from npulse.core.findings import Finding, Location, Report
from npulse.core.formats.msprobe.monitor import MonitorTable
from npulse.core.formats.msprobe.names import parse_name, short_name
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, rows_named, shown_figure

from .analyse import Overflow
from .detail import origin_at, row_detail, row_finding, where_lines
from .explain import AREA, message_of
from .explained import explained
from .figures import percent
from .growth import layer_growth
from .ranks import RankOverflow
from .report import report
from .roles import BENIGN
from .spread import Followers, followers_of
from .table import overflow_table
from .texts import TEXTS
from .trace import Trace

SUBJECT = "operator"
"""The column that holds the subject of marks and notes."""

_MAIN = (
    "kind", "why", "absmax", "headroom_ratio", "nan_count", "inf_count", "saturated_count", "first_index",
    "rows", "dtype", "shape", "suspect", "status", "task_id", "stream_id", "growth_ratio", "range_ratio",
    "module", "max", "min",
)  # fmt: skip
_N_MAIN = 8
_SHORT_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


@dataclass(frozen=True, slots=True)
class OverflowView:
    """An analysis at one moment; see `AreaView`. golden: captures that were left aside, as text."""

    found: Overflow
    report: Report
    table: Table
    rows: tuple[npt.NDArray[np.int64], ...]
    strips: tuple[tuple[Strip, npt.NDArray[np.int64]], ...]
    followers: Followers
    lang: Lang
    golden: str = ""
    _details: dict[tuple[int, Lang], Detail] = field(default_factory=dict, repr=False, compare=False)
    """Details of origins: to follow one through all ranks takes its time."""

    @property
    def is_complete(self) -> bool:
        return self.found.stage == "complete"

    def at(self, row: int) -> tuple[int, int] | None:
        """Place of the rank-step and leaf row of a table row; None for a row of the monitor."""
        for place, rows in enumerate(self.rows):
            if row < len(rows):
                return place, int(rows[row])
            row -= len(rows)
        return None

    def detail(self, row: int, lang: Lang) -> Detail:
        at = self.at(row)
        if at is None:
            return self._monitor_detail(row)
        if (row, lang) not in self._details:
            detail = row_detail(self.found, self.followers, *at, lang)
            rank = self.found.looked_through[at[0]]
            call = int(rank.dump.leaves.call[at[1]])
            if rank.roles.origin_of(call) is None:
                return detail
            self._details[row, lang] = replace(detail, headline=self._said_once(detail, at[0], call, lang))
        return self._details[row, lang]

    def finding(self, row: int, lang: Lang) -> Finding:
        at = self.at(row)
        if at is None:
            return self._monitor_finding(row)
        return row_finding(self.found, self.followers, *at, lang)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        names = [name for name in _MAIN if finding.figures.get(name) is not None]
        return [(name, _shown(name, finding.figures[name])) for name in names[:_N_MAIN]]

    def where(self, row: int, lang: Lang) -> list[str]:
        at = self.at(row)
        if at is None:
            at_file = self._monitor_location(row)
            first = f"{say(TEXTS, 'label-artifact', lang)}: {at_file.artifact}:{at_file.line}"
            return [first, *(f"{name}: {text}" for name, text in self._monitor_facts(row))]
        return where_lines(self.found, self.followers, *at, lang)

    def meaning(self, column: str, lang: Lang) -> str:
        key = f"figure-{column}"
        return (
            say(TEXTS, key, lang, near_ratio=self.found.settings.criteria.near_ratio) if key in TEXTS else ""
        )

    def place(self, row: int) -> tuple[Path, int | None] | None:
        rank = self.rank_at(row)
        if rank is None:
            table, inner = self._monitor_row(row)
            return table.path, int(table.line[inner])
        return source_place(frames_of(rank.stacks, self.operator(row)), self.found.root)

    def row_of(self, finding: Finding) -> int | None:
        at = finding.location
        start = 0
        for rank, rows in zip(self.found.looked_through, self.rows, strict=True):
            inner = int(np.searchsorted(rows, at.row)) if at.row is not None else len(rows)
            is_here = (rank.rank, rank.step) == (at.rank, at.step)
            if is_here and inner < len(rows) and rows[inner] == at.row:
                call = int(rank.dump.leaves.call[int(rows[inner])])
                if finding.subject in (rank.name(call), rank.dump.leaf_name(int(rows[inner]))):
                    return start + inner
            start += len(rows)
        for artifact, table in self._monitored():
            if artifact == at.artifact and at.line is not None:
                lines = np.flatnonzero(table.line == at.line)
                if len(lines):
                    return start + int(lines[0])
            start += table.n_rows
        found = rows_named(self.table, SUBJECT, {finding.subject})
        return int(found[0]) if len(found) else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        at = self.at(row)
        if at is None:
            return None
        place, leaf = at
        strip, entry_of_call = self.strips[place]
        call = int(self.found.looked_through[place].dump.leaves.call[leaf])
        return strip, int(entry_of_call[call])

    def translated(self, lang: Lang) -> OverflowView:
        return replace(self, report=report(self.found, lang=lang, golden=self.golden), lang=lang)

    # ---- what this pane alone shows ----

    def rank_at(self, row: int) -> RankOverflow | None:
        at = self.at(row)
        return None if at is None else self.found.looked_through[at[0]]

    def operator(self, row: int) -> str:
        return str(self.table.column(SUBJECT).value(row))

    def stack(self, row: int) -> list[str]:
        """The Python call stack of a row's call, innermost first; reads stack.json if need be."""
        rank = self.rank_at(row)
        return [] if rank is None else stack_lines(None, rank.dump.path.parent, self.operator(row))

    @property
    def has_trace(self) -> bool:
        """Whether some row lies upstream of an origin."""
        return len(self.upstream_rows) > 0

    @property
    def upstream_rows(self) -> npt.NDArray[np.int64]:
        """The origins and the rows that fed them, in the order of the table."""
        column = self.table.column("upstream")
        if column.absent is None:
            return np.arange(self.table.n_rows, dtype=np.int64)
        return np.flatnonzero(~column.absent).astype(np.int64)

    @property
    def has_ranks(self) -> bool:
        """Whether there are ranks of one step that can be set against each other."""
        return len({(rank.step, rank.capture) for rank in self.found.ranks}) < len(self.found.ranks)

    @property
    def can_have_stacks(self) -> bool:
        return any(
            rank.stacks is not None or os.path.lexists(rank.dump.path.parent / "stack.json")
            for rank in self.found.ranks
        )

    def first_bad_row(self, step: int | None, capture: str, number: int) -> int | None:
        """The table row in which the `number`th rank of a capture and step first has something bad."""
        start, seen = 0, 0
        for rank, rows in zip(self.found.looked_through, self.rows, strict=True):
            if (rank.step, rank.capture) == (step, capture):
                if seen == number:
                    bad = np.flatnonzero((rank.health.flags[rows] != 0) & (rank.roles.row[rows] != BENIGN))
                    return start + int(bad[0]) if len(bad) else start
                seen += 1
            start += len(rows)
        return None

    def _said_once(self, detail: Detail, place: int, call: int, lang: Lang) -> str:
        """The headline of an origin without what source line and next step say once more."""
        rank = self.found.looked_through[place]
        origin = origin_at(self.found, place, call)
        if origin is None:
            return detail.headline
        headline = detail.headline
        this = explained(self.found, place, origin, self.followers)
        if this.trace.suspects and rank.name(this.trace.suspects[0].call) in detail.next_step:
            headline = message_of(self.found, replace(this, trace=Trace(this.trace.steps, ())), lang)
        line = source_line(frames_of(rank.stacks, rank.name(call)))
        return headline.removesuffix(say(TEXTS, "source-line", lang, line=line))

    def _monitored(self) -> list[tuple[str, MonitorTable]]:
        """The monitor's files as the table has them behind all dumps: (file, its rows)."""
        gradients = self.found.gradients
        if gradients is None:
            return []
        return [(a.relative, t) for a, t in zip(gradients.artifacts, gradients.tables, strict=True)]

    def _monitor_row(self, row: int) -> tuple[MonitorTable, int]:
        row -= sum(len(rows) for rows in self.rows)
        for _, table in self._monitored():
            if row < table.n_rows:
                return table, row
            row -= table.n_rows
        raise IndexError(row)

    def _monitor_location(self, row: int) -> Location:
        table, inner = self._monitor_row(row)
        artifact = next((name for name, other in self._monitored() if other is table), None)
        return Location(artifact, table.rank, int(table.step[inner]), None, int(table.line[inner]))

    def _monitor_facts(self, row: int) -> list[tuple[str, str]]:
        cells = {name: value for name, value in self.table.row(row).items() if value is not None}
        left_out = ("flags", "role", SUBJECT)
        return [(name, _shown(name, value)) for name, value in cells.items() if name not in left_out]

    def _monitor_detail(self, row: int) -> Detail:
        finding = self._monitor_finding(row)
        facts = tuple(self._monitor_facts(row))
        return Detail(self.operator(row), finding.message, facts, finding.next_step)

    def _monitor_finding(self, row: int) -> Finding:
        """The finding that stands at this line of the monitor's file, else the row as a note."""
        at = self._monitor_location(row)
        for finding in self.report.findings:
            if (finding.location.artifact, finding.location.line) == (at.artifact, at.line):
                return finding
        cells = self.table.row(row)
        figures = {n: v for n, v in cells.items() if v is not None and n not in ("flags", "role", SUBJECT)}
        return Finding(AREA, "note", "", cells["role"], self.operator(row), "", figures=figures, location=at)


def overflow_view(found: Overflow, lang: Lang, *, golden: str = "") -> OverflowView:
    """All that a pane shows of an analysis. To be called by whoever analyses, not by the pane."""
    strips = []
    for rank in found.looked_through:
        growth = layer_growth(rank)
        labels = tuple(map(short_name, growth.labels))
        strips.append((Strip(labels, growth.shares, growth.known), growth.entry_of_call))
    rows = tuple(np.flatnonzero(rank.dump.leaves.kind == TENSOR) for rank in found.looked_through)
    view = OverflowView(
        found,
        report(found, lang=lang, golden=golden),
        overflow_table(found),
        rows,
        tuple(strips),
        followers_of(found),
        lang,
        golden,
    )
    first = view.row_of(view.report.findings[0]) if view.report.findings else None
    if first is not None:
        view.detail(first, lang)  # it is looked at first
    return view


def short_dtype(name: object) -> str:
    """A dtype in four letters where it has them: fp16."""
    word = str(name).rpartition(".")[2].lower()
    return _SHORT_DTYPES.get(word, word)


def in_few_words(finding: Finding, lang: Lang) -> str:
    """What came out and what fed it, for one line: 'Inf, fed by linear.43 at 92.5 % of fp16'.

    "" where there are no few words for it.
    """
    figures = finding.figures
    kind = str(figures.get("kind", ""))
    suspect, share = figures.get("suspect"), figures.get("suspect_headroom_ratio")
    if finding.role != "origin" or not kind:
        return ""
    key = f"few-{figures.get('cause')}"
    if key in TEXTS:
        return say(TEXTS, key, lang, kind=kind)
    if isinstance(suspect, str) and isinstance(share, float):
        values = {"kind": kind, "suspect": _shortest_name(suspect), "share": percent(share)}
        return say(TEXTS, "few-suspect", lang, dtype=short_dtype(figures.get("dtype")), **values)
    return ""


def _shortest_name(full: str) -> str:
    """The short name without the group of its API: the number tells calls apart."""
    parsed = parse_name(full)
    name = short_name(full)
    return name.removeprefix(f"{parsed.prefix}.") if parsed.kind == "api" else name


def _shown(name: str, value: Any) -> str:
    if name.endswith("headroom_ratio") and isinstance(value, float):
        return percent(value)
    return safe_text(number(value) if isinstance(value, float) else shown_figure(value))


# ---- rank matrix ----


@dataclass(frozen=True, slots=True)
class RankMatrix:
    """How bad each rank is at each meeting of the ranks, in order of time.

    states: (ranks, columns) codes of STATES. labels: of the rows; meetings: names of the columns' calls, the
    last column is what follows the last meeting.
    """

    states: npt.NDArray[np.int8]
    labels: tuple[str, ...]
    meetings: tuple[str, ...]


STATES = ("clean", "inherited", "origin", "unknown")
CLEAN, HAS_INHERITED, HAS_ORIGIN, NOT_CAPTURED = range(4)


def rank_matrix(found: Overflow, step: int | None, capture: str) -> RankMatrix:
    """Ranks of one capture and step against the meetings in which they exchanged tensors."""
    ranks = [rank for rank in found.ranks if (rank.step, rank.capture) == (step, capture)]
    times = sorted({time for rank in ranks for time in rank.clock.values()})
    names: dict[int, str] = {}
    for rank in ranks:
        for call, time in rank.clock.items():
            names.setdefault(time, rank.name(call))
    states = np.zeros((len(ranks), len(times) + 1), np.int8)
    for row, rank in zip(states, ranks, strict=True):
        calls = np.fromiter(rank.roles.cause_of, np.int64)
        origins = np.fromiter(rank.roles.origin_calls(), np.int64)
        meetings = np.fromiter(rank.clock, np.int64)
        clock = np.concatenate([[0], np.fromiter(rank.clock.values(), np.int64)])
        # a meeting's own result shows in the column behind it
        met = clock[np.searchsorted(meetings, calls, side="right")]
        columns = np.where(met > 0, np.searchsorted(times, met, side="right"), 0)
        np.maximum.at(row, columns, np.where(np.isin(calls, origins), HAS_ORIGIN, HAS_INHERITED))
        if rank.dump.completeness == "cut off" or not rank.dump.calls.names:
            known = 1 + int(np.searchsorted(times, clock[-1], side="right")) if rank.dump.calls.names else 0
            row[known:] = NOT_CAPTURED
    labels = tuple(
        f"rank {rank.rank}" if rank.rank is not None else rank.artifact.path.name for rank in ranks
    )
    return RankMatrix(states, labels, tuple(names[time] for time in times))
