"""The filter language of every table: words, `column:word`, `column<number`, `-not`; all must hold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import UsageError
from .progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from .table import LABELS_AT_ONCE, Column, Order, Table

Mask = npt.NDArray[np.bool_]

_TERM = re.compile(
    r"(?P<not>-?)(?:(?P<column>[A-Za-z_][\w.]*)(?P<op><=|>=|!=|=|<|>|:))?(?P<value>.*)", re.DOTALL
)
_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. column None: a word looked for in every text column."""

    negated: bool
    column: str | None
    op: str
    value: str


def parse(text: str) -> tuple[Term, ...]:
    """Terms of a filter. UsageError for an unclosed quote."""
    try:
        words = shlex.split(text, posix=True)
    except ValueError as error:
        raise UsageError(f"filter: {error}", hint='a blank inside a word needs quotes: "two words"') from None
    terms = []
    for word in words:
        match = _TERM.fullmatch(word)
        if match is None or not match["value"]:
            raise UsageError(f"filter: nothing to look for in '{word}'")
        terms.append(Term(bool(match["not"]), match["column"], match["op"] or "", match["value"]))
    return tuple(terms)


def matching_rows(
    table: Table,
    text: str,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Order:
    """Row numbers, ascending, that satisfy every term. UsageError names an unknown column. Raises Cancelled.

    Each distinct text is looked at once, so cost is O(rows + distinct texts).
    """
    mask = np.ones(table.n_rows, np.bool_)
    terms = [(term, _columns(table, term)) for term in parse(text)]
    texts = sum(len(column.labels or ()) for _, columns in terms for column in columns)
    walk = _Walk(texts, progress, is_cancelled)
    for term, columns in terms:
        check(is_cancelled)
        found = _matches(table, term, columns, walk)
        mask &= ~found if term.negated else found
    return np.flatnonzero(mask).astype(np.int64)


class _Walk:
    """Labels looked at, some at a time: how far, and whether anybody still waits."""

    def __init__(self, total: int, progress: ProgressCallback, is_cancelled: IsCancelled) -> None:
        self._done, self._total = 0, total
        self._progress, self._is_cancelled = progress, is_cancelled

    def hits(self, labels: Sequence[str], is_hit: Callable[[str], bool]) -> list[bool]:
        found: list[bool] = []
        for start in range(0, len(labels), LABELS_AT_ONCE):
            check(self._is_cancelled)
            self._progress(Progress("filter", self._done, self._total, "texts"))
            part = labels[start : start + LABELS_AT_ONCE]
            found += map(is_hit, part)
            self._done += len(part)
        return found


def _columns(table: Table, term: Term) -> list[Column]:
    """The columns that a term is about: every one with texts where it names none."""
    if term.column is None:
        return [column for column in table.columns if column.labels is not None]
    return [_column(table, term.column)]


def _matches(table: Table, term: Term, columns: Sequence[Column], walk: _Walk) -> Mask:
    if term.column is None:
        mask = np.zeros(table.n_rows, np.bool_)
        for column in columns:
            mask |= _contains(column, term.value, walk)
        return mask
    (column,) = columns
    if column.labels is not None:
        if term.op in ("<", "<=", ">", ">="):
            raise UsageError(
                f"filter: column {column.name} holds text, which is neither below nor above '{term.value}'",
                hint=f"{column.name}:WORD for a part, {column.name}=TEXT for the whole",
            )
        looked_for = _contains if term.op == ":" else _equals
        result = looked_for(column, term.value, walk)
        if term.op == "!=":
            result = ~result
    else:
        result = _compared(column, term)
    # what is absent satisfies no condition, only the negation of one
    return result if column.absent is None else result & ~column.absent


def _compared(column: Column, term: Term) -> Mask:
    word = term.value.casefold()
    try:
        wanted = float(("false", "true").index(word)) if column.kind == "bool" else float(word)
    except ValueError:
        holds = "true or false" if column.kind == "bool" else "numbers"
        raise UsageError(f"filter: column {column.name} holds {holds}, '{term.value}' is none") from None
    op = "=" if term.op == ":" else term.op
    if np.isnan(wanted) and op in ("=", "!="):
        is_nan: Mask = np.isnan(column.values.astype(np.float64))
        return is_nan if op == "=" else ~is_nan
    with np.errstate(invalid="ignore"):
        result: Mask = _COMPARE[op](column.values, wanted)
    return result


def _column(table: Table, name: str) -> Column:
    names = [c.name for c in table.columns]
    if name in names:
        return table.column(name)
    close = [n for n in names if n.startswith(name)]
    if len(close) == 1:
        return table.column(close[0])
    raise UsageError(f"filter: no column '{name}'", hint="columns: " + ", ".join(close or names))


def _contains(column: Column, word: str, walk: _Walk) -> Mask:
    needle = word.casefold()
    return _of_labels(column, lambda label: needle in label.casefold(), walk)


def _equals(column: Column, word: str, walk: _Walk) -> Mask:
    wanted = word.casefold()
    return _of_labels(column, lambda label: label.casefold() == wanted, walk)


def _of_labels(column: Column, is_hit: Callable[[str], bool], walk: _Walk) -> Mask:
    assert column.labels is not None
    table = np.array(walk.hits(column.labels, is_hit), np.bool_)
    mask: Mask = table[column.values] if len(table) else np.zeros(len(column.values), np.bool_)
    return mask if column.absent is None else mask & ~column.absent
