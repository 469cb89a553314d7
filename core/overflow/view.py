"""An `Overflow` as a pane shows it: report, table, strips, rank matrix, and what stands behind one row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.source import frames_of, source_place, stack_lines
from npulse.core.figures import number
from npulse.core.findings import Finding, Report
from npulse.core.formats.msprobe.names import short_name
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, rows_named, shown_figure

from .analyse import Overflow
from .detail import row_detail, row_finding, where_lines
from .explain import AREA
from .figures import percent
from .growth import layer_growth
from .ranks import RankOverflow
from .report import report
from .roles import BENIGN
from .spread import Followers, followers_of
from .table import overflow_table
from .texts import TEXTS

SUBJECT = "operator"
"""The column that holds the subject of marks and notes."""

_MAIN = (
    "kind", "why", "absmax", "headroom_ratio", "nan_count", "inf_count", "saturated_count", "first_index",
    "rows", "dtype", "shape", "suspect", "status", "task_id", "stream_id", "growth_ratio", "range_ratio",
    "module", "max", "min",
)  # fmt: skip
_N_MAIN = 8


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
        return row_detail(self.found, self.followers, *at, lang)

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
            cells = self.table.row(row)
            return [f"{name}: {shown_figure(value)}" for name, value in cells.items() if value is not None]
        return where_lines(self.found, self.followers, *at, lang)

    def meaning(self, column: str, lang: Lang) -> str:
        key = f"figure-{column}"
        return (
            say(TEXTS, key, lang, near_ratio=self.found.settings.criteria.near_ratio) if key in TEXTS else ""
        )

    def place(self, row: int) -> tuple[Path, int | None] | None:
        rank = self.rank_at(row)
        if rank is None:
            return None
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
        absent = self.table.column("upstream").absent
        return self.table.n_rows > 0 and (absent is None or not bool(absent.all()))

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

    def _monitor_detail(self, row: int) -> Detail:
        cells = self.table.row(row)
        shown = [
            (n, shown_figure(v)) for n, v in cells.items() if v is not None and n not in ("flags", "operator")
        ]
        return Detail(str(cells["operator"]), "", tuple(shown))

    def _monitor_finding(self, row: int) -> Finding:
        cells = self.table.row(row)
        subject = str(cells["operator"])
        match = next((f for f in self.report.findings if f.subject == subject), None)
        figures: dict[str, Any] = {n: v for n, v in cells.items() if v is not None and n != "flags"}
        return match or Finding(AREA, "note", "", "ok", subject, "", figures=figures)


def overflow_view(found: Overflow, lang: Lang, *, golden: str = "") -> OverflowView:
    """All that a pane shows of an analysis. To be called by whoever analyses, not by the pane."""
    strips = []
    for rank in found.looked_through:
        growth = layer_growth(rank)
        strips.append((Strip(growth.labels, growth.shares, growth.known), growth.entry_of_call))
    rows = tuple(np.flatnonzero(rank.dump.leaves.kind == TENSOR) for rank in found.looked_through)
    return OverflowView(
        found,
        report(found, lang=lang, golden=golden),
        overflow_table(found),
        rows,
        tuple(strips),
        followers_of(found),
        lang,
        golden,
    )


def in_few_words(finding: Finding, lang: Lang) -> str:
    """What came out and what fed it, for one line: 'Inf, fed by linear.43 at 92.5 % of float16'."""
    figures = finding.figures
    kind = str(figures.get("kind", ""))
    suspect, share = figures.get("suspect"), figures.get("suspect_headroom_ratio")
    if finding.role != "origin" or not kind:
        return finding.message
    if isinstance(suspect, str) and isinstance(share, float):
        values = {"kind": kind, "suspect": short_name(suspect), "share": percent(share)}
        return say(TEXTS, "few-suspect", lang, dtype=figures.get("dtype"), **values)
    key = f"few-{figures.get('cause')}"
    if key in TEXTS:
        return say(TEXTS, key, lang, kind=kind)
    return f"{kind}: {finding.message}"


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
    for i, rank in enumerate(ranks):
        origins = rank.roles.origin_calls()
        for call in rank.roles.cause_of:
            # a meeting's own result shows in the column behind it
            column = int(np.searchsorted(times, rank.time_of(call), side="right")) if times else 0
            at = rank.clock.get(call)
            column = int(np.searchsorted(times, at, side="right")) if at is not None else column
            states[i, column] = max(states[i, column], HAS_ORIGIN if call in origins else HAS_INHERITED)
    labels = tuple(
        f"rank {rank.rank}" if rank.rank is not None else rank.artifact.path.name for rank in ranks
    )
    return RankMatrix(states, labels, tuple(names[time] for time in times))
