"""A comparison by layers, and the rows that were asked for, as tables with the figures that lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.table import Column, Table, text_column

from ..comparison import Comparison, RankComparison
from ..layers import layers_of_rank
from ..role_records import ORIGIN, ROLES
from ..rows import COUNTS
from ..verdict import ERROR, PASS, UNKNOWN, VERDICTS, WARNING
from .picked import Mask

_BY_SEVERITY = {PASS: 0, UNKNOWN: 1, WARNING: 2, ERROR: 3}


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst value of a figure among some rows. n: rows that have the figure. is_bound: it is the least
    error that statistics prove, the error itself may be larger."""

    value: float
    rank: RankComparison
    row: int
    n: int
    is_bound: bool = False


def worst_of(parts: Sequence[tuple[RankComparison, npt.NDArray[np.int64]]], figure: str) -> Worst | None:
    """The worst value of a figure, None where no row has it; of statistics alone a bound is for rel_l2."""
    best: tuple[float, RankComparison, int, float] | None = None
    n, is_bound = 0, False
    for name in (figure, "rel_l2_at_least") if figure == "rel_l2" else (figure,):
        for rank, rows in parts:
            values = rank.rows.figures[name][rows]
            has = rank.rows.computed[name][rows] & ~np.isnan(values)
            n += int(has.sum())
            if not has.any():
                continue
            badness = np.where(has, _badness(figure, values), -np.inf)
            at = int(np.argmax(badness))
            if best is None or badness[at] > best[0]:
                best = float(badness[at]), rank, int(rows[at]), float(values[at])
        if best is not None:
            break
        is_bound = True
    return None if best is None else Worst(best[3], best[1], best[2], n, is_bound)


def _badness(figure: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if figure == "cosine":
        return -values
    return np.abs(values - 1) if figure == "norm_ratio" else values


def layer_table(comparison: Comparison, masks: Sequence[Mask], figures: Sequence[str]) -> Table:
    """A row a rank, step and layer in execution order: the worst of each figure among the layer's rows.

    Columns: rank, step, layer, tensors (rows that were compared), the figures, verdict (the worst), role
    (origin where one lies in it), operator (of the worst row). A layer of which nothing was asked for is left
    out. Without layers in the names each call is one.
    """
    told: list[dict[str, Any]] = []
    for rank, mask in zip(comparison.ranks, masks, strict=True):
        of_call, labels = layers_of_rank(rank)
        layer = of_call[rank.rows.pairing.row_call] if labels else np.zeros(0, np.int64)
        order = np.argsort(layer, kind="stable")
        bounds = np.searchsorted(layer[order], np.arange(len(labels) + 1))
        for entry, label in enumerate(labels):
            rows = order[bounds[entry] : bounds[entry + 1]]
            rows = np.sort(rows[mask[rows]])
            if len(rows):
                told.append(_layer(rank, label, rows, figures))
    return _table(
        "layers", told, ("rank", "step", "layer", "tensors", *figures, "verdict", "role", "operator")
    )


def _layer(
    rank: RankComparison, label: str, rows: npt.NDArray[np.int64], figures: Sequence[str]
) -> dict[str, Any]:
    verdicts = rank.rows.verdict[rows]
    severity = np.array([_BY_SEVERITY[int(code)] for code in verdicts])
    at = int(rows[int(np.argmax(severity))])
    found: dict[str, Any] = {
        "rank": rank.rank,
        "step": rank.step,
        "layer": label,
        "tensors": int((rank.rows.basis[rows] != 0).sum()),
        "verdict": VERDICTS[int(rank.rows.verdict[at])],
        "role": "origin" if (rank.roles.row[rows] == ORIGIN).any() else ROLES[int(rank.roles.row[at])],
        "operator": _operator(rank, at),
    }
    for figure in figures:
        worst = worst_of([(rank, rows)], figure)
        found[figure] = None if worst is None or worst.is_bound else worst.value
    return found


def row_table(comparison: Comparison, masks: Sequence[Mask], figures: Sequence[str]) -> Table:
    """The rows that were asked for: rank, step, operator, io, the figures, verdict, role."""
    told = []
    for rank, mask in zip(comparison.ranks, masks, strict=True):
        for row in np.flatnonzero(mask).tolist():
            one: dict[str, Any] = {
                "rank": rank.rank,
                "step": rank.step,
                "operator": _operator(rank, row),
                "io": rank.rows.io(row),
                "verdict": VERDICTS[int(rank.rows.verdict[row])],
                "role": ROLES[int(rank.roles.row[row])],
            }
            one.update({figure: rank.rows.figure(figure, row) for figure in figures})
            told.append(one)
    return _table("asked", told, ("rank", "step", "operator", "io", *figures, "verdict", "role"))


def _operator(rank: RankComparison, row: int) -> str:
    return rank.rows.pairing.name(rank.target, rank.golden, int(rank.rows.pairing.row_call[row]))


_TEXT = frozenset(("layer", "operator", "io", "verdict", "role"))


def _table(name: str, told: Sequence[dict[str, Any]], names: Sequence[str]) -> Table:
    return Table(name, tuple(_column(column, [row[column] for row in told]) for column in names))


def _column(name: str, values: Sequence[Any]) -> Column:
    if name in _TEXT:
        return text_column(name, values)
    absent = np.array([value is None for value in values], np.bool_)
    is_int = name in ("rank", "step", "tensors") or name in COUNTS
    numbers = np.array([0 if v is None else v for v in values], np.int64 if is_int else np.float64)
    return Column(name, "int" if is_int else "float", numbers, absent=absent if absent.any() else None)


def aligned(table: Table, *, most: int, first: int = 0) -> list[str]:
    """The table as lines in columns, set in: its head, then at most `most` rows from `first` on."""
    from npulse.core.figures import number

    columns = [c for c in table.exported if c.absent is None or not c.absent.all()]
    stop = min(table.n_rows, first + most)
    cells = [[c.name, *(_cell(value, number) for value in c.to_list(first, stop))] for c in columns]
    widths = [max(map(len, column)) for column in cells]
    lines = []
    for row in zip(*cells, strict=True):
        parts = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip(row, widths, columns, strict=True)
        ]
        lines.append("  " + "  ".join(parts).rstrip())
    return lines


def _cell(value: Any, number: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else number(value)
