"""Rows of two looks at the same thing find each other: against a walk row by row."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.table import Column, Table, text_column
from npulse.tui.panes.growth import NEW, rows_before

ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(-2, 2), st.integers(0, 9)))


def table(rows: list[tuple[str | None, int, int]]) -> Table:
    ranks = np.array([rank for _, rank, _ in rows], np.int64)
    return Table(
        "t",
        (
            text_column("operator", [name for name, _, _ in rows]),
            Column("rank", "int", ranks, absent=ranks == 2),
            Column("calls", "int", np.array([n for _, _, n in rows], np.int64)),
        ),
    )


def by_hand(before: list[tuple[str | None, int, int]], after: list[tuple[str | None, int, int]]) -> list[int]:
    seen: Counter[tuple[str | None, int]] = Counter()
    places = {}
    for row, (name, rank, _) in enumerate(before):
        places[name, rank, seen[name, rank]] = row
        seen[name, rank] += 1
    seen.clear()
    found = []
    for name, rank, _ in after:
        found.append(places.get((name, rank, seen[name, rank]), NEW))
        seen[name, rank] += 1
    return found


@given(ROWS, ROWS)
def test_rows_find_the_row_that_they_were(
    before: list[tuple[str | None, int, int]], after: list[tuple[str | None, int, int]]
) -> None:
    found = rows_before(table(before), table(after), ("operator", "rank", "no-such-column"))
    assert found.tolist() == by_hand(before, after)


def test_without_a_key_rows_keep_their_number() -> None:
    rows: list[tuple[str | None, int, int]] = [("a", 0, 0)] * 3
    assert rows_before(table(rows[:2]), table(rows), ()).tolist() == [0, 1, NEW]
    assert rows_before(table(rows), table(rows[:1]), ("other",)).tolist() == [0]


@pytest.mark.budget
def test_a_hundred_thousand_rows_find_theirs_in_a_quarter_of_a_second() -> None:
    n = 100_000
    names = text_column("operator", [f"layers.{i % 900}.mul.{i % 7}" for i in range(n + 500)])
    ranks = np.arange(n + 500, dtype=np.int64) % 8

    def of(n_rows: int) -> Table:
        column = Column("operator", "text", names.values[:n_rows], labels=names.labels)
        return Table("t", (column, Column("rank", "int", ranks[:n_rows])))

    began = time.process_time()
    found = rows_before(of(n), of(n + 500), ("operator", "rank"))
    assert time.process_time() - began <= 0.25
    assert found.tolist() == [*range(n), *[NEW] * 500]
