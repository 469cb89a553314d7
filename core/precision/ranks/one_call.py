"""One operator call on all ranks, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from npulse.core.errors import InputError
from npulse.core.table import Column, Table, text_column

from ..comparison import Comparison, RankComparison
from ..role_records import ROLES
from ..rows import BASES, COUNTS
from ..table import table_row
from ..verdict import REASONS, VERDICTS

SHOWN = (
    "cosine",
    "rel_l2",
    "rel_l2_at_least",
    "max_abs_error",
    "max_rel_error",
    "norm_ratio",
    "nan_target",
    "inf_target",
    "absmax_target",
    "absmax_golden",
)
"""Figures that are told side by side; all others stand in the precision table."""


@dataclass(frozen=True, slots=True)
class RanksOfCall:
    """A call on the ranks of one step.

    table: a row a leaf and rank (the leaf first, so that ranks stand below each other): `io`, `rank`, `role`,
    `verdict`, `reason`, `basis`, the figures of `SHOWN`, and `row`, its place in the precision table
    (internal). absent: ranks that do not make this call; nothing is said of them.
    """

    operator: str
    step: int | None
    table: Table
    absent: tuple[int | None, ...]


def ranks_of_call(
    comparison: Comparison, operator: str, step: int | None = None, near: int | None = None
) -> RanksOfCall:
    """A call by its full name (that of the target where both sides have one) on all ranks of a step.

    Without `step` the first one in which any rank has it. near: where it stands in one of the ranks; those
    that make the same calls need not be searched. InputError where none has it. Cost: O(calls).
    """
    calls = [
        (rank, call)
        for rank in comparison.ranks
        if step is None or rank.step == step
        for call in [_call_named(rank, operator, near)]
        if call is not None
    ]
    if step is None and calls:
        step = calls[0][0].step
        calls = [(rank, call) for rank, call in calls if rank.step == step]
    if not calls:
        alike = _near(comparison, operator)
        hint = f"there is {', '.join(alike)}" if alike else "npulse precision --tables lists them"
        raise InputError(f"no rank has a call '{operator}'", hint=hint)
    entries: list[tuple[str, int, RankComparison, int]] = []
    for rank, call in calls:
        rows = rank.rows
        for row in range(*np.searchsorted(rows.pairing.row_call, [call, call + 1]).tolist()):
            entries.append((rows.io(row), -1 if rank.rank is None else rank.rank, rank, row))
    order = {io: place for place, io in enumerate(dict.fromkeys(entry[0] for entry in entries))}
    entries.sort(key=lambda entry: (order[entry[0]], entry[1]))
    has = {id(rank) for rank, _ in calls}
    absent = tuple(rank.rank for rank in comparison.ranks if rank.step == step and id(rank) not in has)
    return RanksOfCall(operator, step, _table(comparison, entries), absent)


def _call_named(rank: RankComparison, operator: str, near: int | None) -> int | None:
    pairing, dumps = rank.rows.pairing, (rank.target, rank.golden)
    if near is not None and near < pairing.n_calls and pairing.name(*dumps, near) == operator:
        return near
    return pairing.call_named(*dumps, operator)


def _near(comparison: Comparison, operator: str) -> list[str]:
    """Names that hold what was asked for, in execution order; at most eight."""
    found: dict[str, None] = {}
    for rank in comparison.ranks:
        for name in rank.rows.pairing.names(rank.target, rank.golden):
            if operator.lower() in name.lower():
                found.setdefault(name)
                if len(found) >= 8:
                    return list(found)
    return list(found)


def _table(comparison: Comparison, entries: Sequence[tuple[str, int, RankComparison, int]]) -> Table:
    rows = [(rank, row) for _, _, rank, row in entries]
    no_rank = np.array([number < 0 for _, number, _, _ in entries], np.bool_)
    return Table(
        "ranks",
        (
            text_column("io", [io for io, _, _, _ in entries]),
            Column(
                "rank",
                "int",
                np.array([number for _, number, _, _ in entries], np.int64),
                absent=no_rank if no_rank.any() else None,
            ),
            text_column("role", [ROLES[int(rank.roles.row[row])] for rank, row in rows]),
            text_column("verdict", [VERDICTS[int(rank.rows.verdict[row])] for rank, row in rows]),
            text_column("reason", [REASONS[int(rank.rows.reason[row])] for rank, row in rows]),
            text_column("basis", [BASES[int(rank.rows.basis[row])] for rank, row in rows]),
            *(_figure(name, rows) for name in SHOWN),
            Column(
                "row",
                "int",
                np.array([table_row(comparison, rank, row) for rank, row in rows], np.int64),
                is_internal=True,
            ),
        ),
    )


def _figure(name: str, rows: Sequence[tuple[RankComparison, int]]) -> Column:
    values: list[Any] = [rank.rows.figure(name, row) for rank, row in rows]
    absent = np.array([value is None for value in values], np.bool_)
    kind = np.int64 if name in COUNTS else np.float64
    numbers = np.array([0 if value is None else value for value in values], kind)
    return Column(name, "int" if name in COUNTS else "float", numbers, absent=absent)
