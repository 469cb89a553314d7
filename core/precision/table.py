"""The comparison as one table: the columns that contract.md names, lazily named, never a row object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.labels import LeafNames
from npulse.core.formats.msprobe.records import Dump
from npulse.core.table import Column, Table, joined_text
from npulse.core.text import Lang

from .comparison import Comparison, RankComparison
from .pairing.told import pairing_columns
from .plugged import PluggedFigure
from .role_records import ROLES
from .rows import BASES, COUNTS, FIGURES
from .verdict import REASONS, VERDICTS

STATES = tuple(f"{verdict} {role}" for verdict in VERDICTS for role in ROLES)
"""Verdict and role in one word pair: what a narrow screen shows of a row."""


def precision_table(comparison: Comparison, lang: Lang = "en") -> Table:
    """All rows of all ranks and steps, in execution order; row i of the table is row i of the pane."""
    del lang  # words in the table are the contract's, not the language's
    ranks = comparison.ranks
    columns = [
        _per_rank("rank", ranks, lambda r: r.rank),
        _per_rank("step", ranks, lambda r: r.step),
        Column("call", "int", _joined([r.rows.pairing.row_call for r in ranks])),
        _text("operator", ranks, _operator_names),
        _text("io", ranks, _io_names),
        _leaf_names("target", ranks, lambda r: r.target, lambda r: r.rows.pairing.target_leaf),
        _leaf_names("golden", ranks, lambda r: r.golden, lambda r: r.rows.pairing.golden_leaf),
        *_declared(ranks),
        *(_figure(name, ranks) for name in FIGURES),
        *pairing_columns(ranks),
        *(_plugged(figure) for figure in comparison.plugged),
        _text("max_abs_error_index", ranks, _error_places),
        _text("pattern", ranks, _patterns),
        _text("layout", ranks, _layouts),
        _coded("basis", [r.rows.basis for r in ranks], BASES),
        Column("state", "text", _joined([_state(r) for r in ranks]), labels=STATES, is_internal=True),
        _coded("role", [r.roles.row for r in ranks], ROLES),
        _coded("verdict", [r.rows.verdict for r in ranks], VERDICTS),
        _coded("reason", [r.rows.reason for r in ranks], REASONS),
    ]
    return Table("precision", tuple(columns))


def place_of(comparison: Comparison, row: int) -> tuple[RankComparison, int]:
    """The rank and the row within it that a table row stands for."""
    for rank in comparison.ranks:
        if row < rank.rows.n_rows:
            return rank, row
        row -= rank.rows.n_rows
    raise IndexError(row)


def table_row(comparison: Comparison, rank: RankComparison, row: int) -> int:
    """The table row of a rank's row."""
    start = 0
    for other in comparison.ranks:
        if other is rank:
            return start + row
        start += other.rows.n_rows
    raise ValueError("not a rank of this comparison")


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _per_rank(
    name: str, ranks: Sequence[RankComparison], value: Callable[[RankComparison], int | None]
) -> Column:
    values = [np.full(r.rows.n_rows, value(r) if value(r) is not None else 0, np.int64) for r in ranks]
    absent = [np.full(r.rows.n_rows, value(r) is None, np.bool_) for r in ranks]
    mask = _joined(absent).astype(np.bool_)
    return Column(name, "int", _joined(values), absent=mask if mask.any() else None)


def _coded(name: str, codes: Sequence[npt.NDArray[Any]], words: tuple[str, ...]) -> Column:
    return Column(name, "text", _joined(codes), labels=words)


def _state(rank: RankComparison) -> npt.NDArray[np.int64]:
    state: npt.NDArray[np.int64] = rank.rows.verdict.astype(np.int64) * len(ROLES) + rank.roles.row
    return state


def _figure(name: str, ranks: Sequence[RankComparison]) -> Column:
    values = _joined([r.rows.figures[name] for r in ranks])
    absent = ~_joined([r.rows.computed[name] for r in ranks]).astype(np.bool_)
    if name in COUNTS:
        return Column(name, "int", np.nan_to_num(values).astype(np.int64), absent=absent)
    return Column(name, "float", values, absent=absent)


def _plugged(figure: PluggedFigure) -> Column:
    absent = ~_joined(figure.computed).astype(np.bool_)
    return Column(figure.metric.name, "float", _joined(figure.values), absent=absent, unit=figure.metric.unit)


def _leaf_names(
    name: str,
    ranks: Sequence[RankComparison],
    dump: Callable[[RankComparison], Dump],
    leaf: Callable[[RankComparison], npt.NDArray[np.int64]],
) -> Column:
    return joined_text(name, [(leaf(r), LeafNames(dump(r))) for r in ranks])


Codes = tuple[npt.NDArray[np.int64], Sequence[str]]


def _text(name: str, ranks: Sequence[RankComparison], of_rank: Callable[[RankComparison], Codes]) -> Column:
    """A text column from codes and labels per rank; code -1 is absent."""
    return joined_text(name, [of_rank(rank) for rank in ranks])


def _operator_names(rank: RankComparison) -> Codes:
    pairing = rank.rows.pairing
    names = pairing.names(rank.target, rank.golden)
    return pairing.row_call, names


def _io_names(rank: RankComparison) -> Codes:
    t, g = rank.rows.pairing.target_leaf, rank.rows.pairing.golden_leaf
    of_target, of_golden = rank.target.leaves, rank.golden.leaves
    codes = np.zeros(len(t), np.int64)
    codes[t >= 0] = of_target.io[t[t >= 0]]
    codes[t < 0] = of_golden.io[g[t < 0]] + len(of_target.io_names)
    return codes, [*of_target.io_names, *of_golden.io_names]


def _declared(ranks: Sequence[RankComparison]) -> Iterator[Column]:
    for name, codes in (("dtype", _dtype_codes), ("shape", _shape_codes)):
        for side in ("target", "golden"):
            yield _text(f"{name}_{side}", ranks, partial(codes, side=side))


def _dtype_codes(rank: RankComparison, side: str) -> Codes:
    dump, leaf = _side(rank, side)
    return _codes_of(dump.leaves.dtype, leaf), dump.leaves.dtypes


def _shape_codes(rank: RankComparison, side: str) -> Codes:
    dump, leaf = _side(rank, side)
    return _codes_of(dump.leaves.shape, leaf), [str(list(s)).replace(" ", "") for s in dump.leaves.shapes]


def _codes_of(codes: npt.NDArray[Any], leaf: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The code of each leaf, -1 where a side has none."""
    found = np.full(len(leaf), -1, np.int64)
    found[leaf >= 0] = codes[leaf[leaf >= 0]]
    return found


def _side(rank: RankComparison, side: str) -> tuple[Dump, npt.NDArray[np.int64]]:
    if side == "target":
        return rank.target, rank.rows.pairing.target_leaf
    return rank.golden, rank.rows.pairing.golden_leaf


def _error_places(rank: RankComparison) -> Codes:
    words: dict[str, int] = {}
    codes = np.full(rank.rows.n_rows, -1, np.int64)
    for row, seen in rank.rows.examinations.items():
        place = str(list(seen.max_abs_error_index)).replace(" ", "")
        codes[row] = words.setdefault(place, len(words))
    return codes, list(words) or [""]


def _layouts(rank: RankComparison) -> Codes:
    """How a tensor is laid out over ranks of which the other side has another number."""
    words: dict[str, int] = {}
    codes = np.full(rank.rows.n_rows, -1, np.int64)
    for row, split in rank.rows.splits.items():
        codes[row] = words.setdefault(split.layout, len(words))
    return codes, list(words) or [""]


def _patterns(rank: RankComparison) -> Codes:
    words: dict[str, int] = {}
    codes = np.full(rank.rows.n_rows, -1, np.int64)
    for row, pattern in rank.rows.patterns.items():
        codes[row] = words.setdefault(pattern.kind, len(words))
    return codes, list(words) or [""]
