"""A `Comparison` as a pane shows it: report, table, strips, and what stands behind one row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.calls.source import source_place
from npulse.core.dataclass import dataclass
from npulse.core.figures import number
from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, say
from npulse.core.views import Detail, Strip, rows_named, shown_figure

from .by_hand import HandPair
from .comparison import Comparison, RankComparison
from .detail import detail, has_elements, where_lines
from .explain import row_finding
from .layers import LayersOfRanks, layer_strip
from .report import report
from .rows import COUNTS, FIGURES
from .table import place_of, precision_table, table_row
from .texts import TEXTS

SUBJECT = "operator"
"""The column that holds the subject of marks and notes."""

_MAIN = (
    "argument", "target", "golden", "reason", "pattern", "cosine", "norm_ratio", "rel_l2", "rel_l2_at_least",
    "max_abs_error", "n_different", "n_elements", "shape_target", "shape_golden",
    "dtype_target", "max", "min",
)  # fmt: skip
_N_MAIN = 8
_SAYS_NOTHING_AT_ZERO = (COUNTS - {"n_different"}) | {"zero_reference_max_abs"}


@dataclass(frozen=True, slots=True)
class PrecisionView:
    """A comparison at one moment; see `AreaView`. root: the run, for source files.

    pair_index, n_pairs: which of the pairs of this round it is. by_hand: what the user said of its calls.
    """

    comparison: Comparison
    report: Report
    table: Table
    strips: tuple[tuple[Strip, npt.NDArray[np.int64]], ...]
    lang: Lang
    root: Path
    pair_index: int = 0
    n_pairs: int = 1
    by_hand: tuple[HandPair, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self.comparison.stage == "complete"

    def at(self, row: int) -> tuple[RankComparison, int]:
        """The rank of a table row, and the row in it."""
        return place_of(self.comparison, row)

    def detail(self, row: int, lang: Lang) -> Detail:
        return detail(*self.at(row), lang)

    def finding(self, row: int, lang: Lang) -> Finding:
        return row_finding(self.comparison, *self.at(row), lang)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return main_figures(finding)

    def where(self, row: int, lang: Lang) -> list[str]:
        rank, inner = self.at(row)
        lines = where_lines(self.comparison, rank, inner, lang)
        figures = [(name, rank.rows.figure(name, inner)) for name in FIGURES]
        shown = [(n, number(v)) for n, v in figures if v or (v == 0 and n not in _SAYS_NOTHING_AT_ZERO)]
        if not shown:
            return lines
        named, told = max(len(name) for name, _ in shown), max(len(text) for _, text in shown)
        meant = [f"{name:<{named}}  {text:>{told}}  {self.meaning(name, lang)}" for name, text in shown]
        return [*lines, "", *meant]

    def meaning(self, column: str, lang: Lang) -> str:
        for figure in self.comparison.plugged:
            if figure.metric.name == column:
                words = {"n": figure.n_computed, "plugin": figure.metric.rule.split(".")[1]}
                better = "higher" if figure.metric.is_higher_better else "lower"
                return say(TEXTS, f"plugged-{better}", lang, **words)
        key = f"figure-{column}"
        return say(TEXTS, key, lang, **asdict(self.comparison.criteria)) if key in TEXTS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        rank, inner = self.at(row)
        return source_place(rank.frames_of(int(rank.rows.pairing.row_call[inner])), self.root)

    def row_of(self, finding: Finding) -> int | None:
        at = finding.location
        for rank in self.comparison.ranks:
            if (rank.rank, rank.step) == (at.rank, at.step) and at.row is not None:
                return table_row(self.comparison, rank, at.row)
        rows = rows_named(self.table, SUBJECT, {finding.subject})
        return int(rows[0]) if len(rows) else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        rank, inner = self.at(row)
        for other, (strip, entry_of_row) in zip(self.comparison.ranks, self.strips, strict=True):
            if other is rank:
                return strip, int(entry_of_row[inner])
        return None

    def row_of_layer(self, label: str) -> int | None:
        """The first row of a layer, by its label in the strips; None where no rank has it."""
        start = 0
        for rank, (strip, entry_of_row) in zip(self.comparison.ranks, self.strips, strict=True):
            if label in strip.labels:
                rows = np.flatnonzero(entry_of_row == strip.labels.index(label))
                if len(rows):
                    return start + int(rows[0])
            start += rank.rows.n_rows
        return None

    def translated(self, lang: Lang) -> PrecisionView:
        return replace(self, report=report(self.comparison, lang=lang), lang=lang)

    @property
    def can_have_elements(self) -> bool:
        """Whether there is a row whose elements can be looked at."""
        return any(_has_files(rank) for rank in self.comparison.ranks)

    @property
    def can_have_stacks(self) -> bool:
        """Whether the Python call stacks of a rank were recorded."""
        return any(
            rank.stacks is not None or os.path.lexists(rank.target.path.parent / "stack.json")
            for rank in self.comparison.ranks
        )

    def has_elements(self, row: int) -> bool:
        return has_elements(*self.at(row))


def precision_view(
    comparison: Comparison,
    lang: Lang,
    *,
    root: Path | None = None,
    pair_index: int = 0,
    n_pairs: int = 1,
    by_hand: tuple[HandPair, ...] = (),
) -> PrecisionView:
    """All that a pane shows of a comparison. To be called by whoever compares, between two reads."""
    still = _still(comparison)
    strips, known = [], LayersOfRanks()
    for rank in still.ranks:
        layers = layer_strip(still, rank, known.of(rank))
        strips.append((Strip(layers.labels, layers.errors, layers.known), layers.layer_of_row))
    return PrecisionView(
        still,
        report(still, lang=lang),
        precision_table(still),
        tuple(strips),
        lang,
        root or comparison.pair.target_root,
        pair_index,
        n_pairs,
        by_hand,
    )


def _still(comparison: Comparison) -> Comparison:
    """The comparison with its own places and patterns: the second read goes on adding to the first's."""
    ranks = tuple(
        replace(
            rank,
            rows=replace(
                rank.rows, patterns=dict(rank.rows.patterns), examinations=dict(rank.rows.examinations)
            ),
        )
        for rank in comparison.ranks
    )
    return replace(comparison, ranks=ranks)


def _has_files(rank: RankComparison) -> bool:
    pairing = rank.rows.pairing
    both = (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
    target = rank.target.leaves.data_name[pairing.target_leaf[both]]
    golden = rank.golden.leaves.data_name[pairing.golden_leaf[both]]
    return bool(((target >= 0) & (golden >= 0)).any())


# ---- a finding in few words ----


def main_figures(finding: Finding) -> list[tuple[str, str]]:
    """At most eight figures of a finding of this area, the telling ones first, rounded."""
    figures = finding.figures
    names = [name for name in _MAIN if figures.get(name) is not None]
    return [(name, shown_figure(figures[name])) for name in names[:_N_MAIN]]


def what_failed(finding: Finding, lang: Lang) -> str:
    """The figure by which a finding failed, in a few words: 'norm ratio 1.2', not a cosine that is good."""
    figures = finding.figures
    if "argument" in figures:
        return f"{figures['argument']}: {figures.get('target')} / {figures.get('golden')}"
    reason = str(figures.get("reason", ""))
    if reason == "shape":
        sides = f"{figures.get('shape_target')} / {figures.get('shape_golden')}"
        return f"{say(TEXTS, 'reason-shape', lang)}: {sides}"
    if reason == "not-equal" and "n_different" in figures:
        n, of = figures["n_different"], figures.get("n_elements", "?")
        return say(TEXTS, "failed-integers", lang, n=shown_figure(n), of=shown_figure(of))
    ratio, size = figures.get("norm_ratio"), figures.get("group_size")
    if isinstance(ratio, float) and size and abs(ratio / size - 1) <= 0.01:
        return say(TEXTS, "failed-group", lang, n=size)
    if figures.get("pattern") == "constant factor" and "factor" in figures:
        return say(TEXTS, "failed-factor", lang, factor=shown_figure(figures["factor"]))
    name = _FAILED_BY.get(reason)
    if name in figures:
        return f"{say(TEXTS, 'label-' + str(name), lang)} {shown_figure(figures[str(name)])}"
    key = f"reason-{reason}"
    return say(TEXTS, key, lang) if key in TEXTS else reason


_FAILED_BY = {
    "cosine": "cosine",
    "norm-ratio": "norm_ratio",
    "above-rounding": "rel_l2",
    "error-threshold": "rel_l2",
    "statistics-bound": "rel_l2_at_least",
}
