"""The ranks of a job as one table: a row a rank and tensor; and of each figure one with a column a rank.

Works on the precision table of compared captures, and on the table of results that another tool computed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import places_of
from npulse.core.errors import InputError
from npulse.core.formats.results.cells import number_of
from npulse.core.table import Column, Table, taken, text_column

DEFAULT_FIGURES = (
    "cosine",
    "rel_l2",
    "rel_l2_at_least",
    "max_abs_error",
    "max_rel_error",
    "norm_ratio",
)
"""Figures of ours that are laid out by rank where none are named; those that no row has are left out."""

NAME, RANK, STEP, VERDICT = "name", "rank", "step", "verdict"
_SEVERITY = {"pass": 0, "unknown": 1, "warning": 2, "error": 3}
Rows = npt.NDArray[np.int64]


def selected(table: Table, apis: Sequence[str]) -> Table:
    """The rows of some calls: an API as 'Distributed.all_reduce' (all its calls), or a glob over call names.

    InputError where nothing is selected.
    """
    if not apis:
        return table
    operators = table.column("operator")
    codes, places = np.unique(operators.values, return_inverse=True)
    labels = operators.labels or ("",)
    is_wanted = np.array([_is_selected(str(labels[int(code)]), apis) for code in codes], np.bool_)
    rows = np.flatnonzero(is_wanted[places.reshape(-1)]) if len(codes) else np.zeros(0, np.int64)
    if not len(rows):
        raise InputError(f"no call is selected by {', '.join(apis)[:200]}")
    return taken(table, rows)


def _is_selected(name: str, apis: Sequence[str]) -> bool:
    return any(name == api or name.startswith(api + ".") or fnmatch.fnmatchcase(name, api) for api in apis)


def ranks_of(table: Table) -> list[str]:
    """The heads of the columns of ranks, in order: 'rank0' ...; a file's name where it tells no rank."""
    return [head for head, _ in _by_rank(table)]


def _by_rank(table: Table) -> list[tuple[str, Rows]]:
    """(head, rows) of each rank, numbers first; rows that tell no rank by the file that they are of."""
    by_name = {column.name: column for column in table.columns}
    rank, artifact = by_name.get(RANK), by_name.get("artifact")
    n = table.n_rows
    unknown = np.ones(n, np.bool_) if rank is None else _absent(rank)
    heads: list[tuple[str, Rows]] = []
    if rank is not None:
        for number in np.unique(rank.values[~unknown]).tolist():
            heads.append((f"rank{number}", np.flatnonzero((rank.values == number) & ~unknown)))
    if artifact is not None and unknown.any():
        for code in np.unique(artifact.values[unknown]).tolist():
            name = str((artifact.labels or ("?",))[code])
            heads.append((name, np.flatnonzero((artifact.values == code) & unknown)))
    elif unknown.any():
        heads.append(("rank?", np.flatnonzero(unknown)))
    return heads


def _absent(column: Column) -> npt.NDArray[np.bool_]:
    return np.zeros(len(column.values), np.bool_) if column.absent is None else column.absent


def figures_of(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that are figures: those that are named, else ours by default, else all numbers of theirs.

    InputError for a name that no column has.
    """
    numbers = {c.name: c for c in table.exported if c.kind in ("int", "float") or c.name == VERDICT}
    known = {**numbers, **{c.name: c for c in table.exported if _holds_numbers(c)}}
    if names:
        for name in names:
            if name not in known:
                raise InputError(f"no figure '{name[:80]}'", hint="there is " + ", ".join(list(known)[:40]))
        return tuple(dict.fromkeys(names))
    ours = [name for name in DEFAULT_FIGURES if name in known]
    others = [name for name in known if name not in (RANK, STEP, "line", "call", VERDICT)]
    wanted = [VERDICT, *(ours or others)]
    return tuple(name for name in wanted if not _absent(known[name]).all())


def _holds_numbers(column: Column) -> bool:
    """Whether a column of texts shows numbers, and words where there is none."""
    if column.kind != "text" or column.name in _NAMES:
        return False
    labels = column.labels or ()
    return len(labels) > 0 and any(number_of(str(labels[i])) is not None for i in range(min(len(labels), 64)))


_NAMES = frozenset(("operator", "io", "target", "golden", "type", "message", "cell", "theirs", "sheet"))


def by_rank(table: Table, figure: str) -> Table:
    """One figure: a row a tensor and step in execution order, a column a rank, and the rank that is worst.

    The worst cosine is the smallest, the worst norm ratio the one farthest from 1, any other figure's the
    largest; NaN is worse than any number. Tensors of which no rank has the figure are left out.
    Cost: O(rows).
    """
    column, names = table.column(figure), table.column("target")
    steps = next((c for c in table.columns if c.name == STEP), None)
    parts = _by_rank(table)
    has = ~_absent(column) & ~_absent(names)
    labels = names.labels or ("",)
    keys: list[list[tuple[int, str]]] = []
    for _, rows in parts:
        kept = rows[has[rows]]
        numbers = np.zeros(len(kept), np.int64) if steps is None else steps.values[kept]
        texts = [labels[int(code)] for code in names.values[kept]]
        keys.append(list(zip(numbers.tolist(), texts, strict=True)))
    order: list[tuple[int, str]] = []
    for step in sorted({key[0] for of_rank in keys for key in of_rank}):
        of_step = places_of([[name for at, name in of_rank if at == step] for of_rank in keys])
        order += [(step, name) for name in of_step]
    place = {key: row for row, key in enumerate(order)}
    numbers, is_number = _numbers(column)
    values = np.full((len(order), len(parts)), np.nan)
    known, counted = np.zeros(values.shape, np.bool_), np.zeros(values.shape, np.bool_)
    codes = np.zeros(values.shape, np.int64)
    for at, ((_, rows), of_rank) in enumerate(zip(parts, keys, strict=True)):
        where, kept = np.array([place[key] for key in of_rank], np.int64), rows[has[rows]]
        values[where, at], known[where, at] = numbers[kept], True
        counted[where, at] = is_number[kept]
        if column.labels is not None:
            codes[where, at] = column.values[kept]
    worst = _worst(figure, values, counted)
    heads = [head for head, _ in parts]
    step_values = np.array([step for step, _ in order], np.int64)
    cells = [
        _cells(column, head, values[:, at], codes[:, at], ~known[:, at]) for at, head in enumerate(heads)
    ]
    return Table(
        figure,
        (
            *([] if steps is None else [Column(STEP, "int", step_values)]),
            text_column(NAME, [name for _, name in order]),
            *cells,
            text_column("worst", [None if at < 0 else heads[at] for at in worst.tolist()]),
        ),
    )


def _numbers(column: Column) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """What each cell counts as, and whether it does: a word that is no 'nan' says nothing of a size."""
    if column.labels is None:
        return column.values.astype(np.float64), np.ones(len(column.values), np.bool_)
    if column.name == VERDICT:
        severity = np.array([_SEVERITY.get(str(label), 1) for label in column.labels], np.float64)
        return severity[column.values], np.ones(len(column.values), np.bool_)
    found = [number_of(str(label)) for label in column.labels]
    is_nan = [_is_nan(str(label).strip().lower()) for label in column.labels]
    numbers = np.array([np.nan if value is None else value for value in found])
    counts = np.array([value is not None or nan for value, nan in zip(found, is_nan, strict=True)], np.bool_)
    return numbers[column.values], counts[column.values]


def _is_nan(word: str) -> bool:
    """Whether a cell shows NaN, or stands for a tensor of the target that holds some."""
    return word == "nan" or word.startswith("npu:nan ")


def _cells(
    column: Column,
    head: str,
    values: npt.NDArray[np.float64],
    codes: Rows,
    absent: npt.NDArray[np.bool_],
) -> Column:
    if column.labels is not None:
        return Column(head, "text", codes, column.labels, absent, column.unit)
    if column.kind == "int":
        return Column(head, "int", np.where(absent, 0, values).astype(np.int64), absent=absent)
    return Column(head, "float", values, absent=absent, unit=column.unit)


def _worst(figure: str, values: npt.NDArray[np.float64], known: npt.NDArray[np.bool_]) -> Rows:
    """The place of the rank that is worst in each row; -1 where all that have the figure are alike."""
    if not values.size:
        return np.full(len(values), -1, np.int64)
    badness = values
    if figure.lower() in ("cosine", "cosinesimilarity"):
        badness = -values
    elif figure == "norm_ratio":
        badness = np.abs(values - 1)
    badness = np.where(np.isnan(badness), np.inf, badness)  # what is no number is worst of all
    top = np.where(known, badness, -np.inf).max(axis=1)
    least = np.where(known, badness, np.inf).min(axis=1)
    found = np.argmax(np.where(known, badness, -np.inf), axis=1)
    return np.where((known.sum(axis=1) > 1) & (top > least), found, -1)


def merged(table: Table, figures: Sequence[str]) -> dict[str, Table]:
    """The long table as "ranks", then each figure by rank under its own name."""
    return {"ranks": table, **{figure: by_rank(table, figure) for figure in figures}}
