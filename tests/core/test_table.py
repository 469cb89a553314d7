"""Columns and sorting: absent is not NaN is not zero; order is stable, and what has no value comes last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.progress import Progress
from npulse.core.table import LABELS_AT_ONCE, Chained, Column, Table, label_ranks, sort_order, text_column

NAN = float("nan")


def test_values_are_pythons() -> None:
    absent = np.array([False, True])
    assert [Column("x", "float", np.array([0.5, 1], np.float32), absent=absent).value(i) for i in (0, 1)] == [
        0.5,
        None,
    ]
    assert type(Column("x", "int", np.array([1], np.int8)).value(0)) is int
    assert Column("x", "bool", np.array([True])).value(0) is True
    assert text_column("x", ["a", None, "a", ""]).to_list(0, 4) == ["a", None, "a", ""]


def test_repeated_texts_are_kept_once() -> None:
    column = text_column("x", ["a", "b", "a", None])
    assert list(column.labels or ()) == ["a", "b"]
    assert text_column("x", [None, None]).to_list(0, 2) == [None, None]
    assert text_column("x", []).to_list(0, 0) == []


@given(st.lists(st.one_of(st.none(), st.floats(), st.just(1.0))), st.integers(0, 5), st.integers(0, 9))
def test_many_values_at_once_are_the_same(values: list[float | None], start: int, size: int) -> None:
    column = Column(
        "x",
        "float",
        np.array([v if v is not None else 0.0 for v in values], np.float64),
        absent=np.array([v is None for v in values], bool),
    )
    stop = min(start + size, len(values))
    got, want = column.to_list(start, stop), [column.value(i) for i in range(start, stop)]
    assert [repr(v) for v in got] == [repr(v) for v in want]


def test_a_table_is_its_columns() -> None:
    table = Table("t", (Column("a", "int", np.arange(3)), text_column("b", ["x", "y", "z"])))
    assert (table.n_rows, Table("t", ()).n_rows) == (3, 0)
    assert table.row(1) == {"a": 1, "b": "y"}
    assert table.column("b").value(2) == "z"
    with pytest.raises(KeyError):
        table.column("c")


@pytest.mark.parametrize("descending", [False, True])
def test_absent_and_nan_come_last_both_ways(descending: bool) -> None:
    column = Column(
        "x", "float", np.array([2.0, NAN, 1.0, 9.0, 1.0, -np.inf]), absent=np.array([0, 0, 0, 1, 0, 0], bool)
    )
    want = [0, 2, 4, 5, 1, 3] if descending else [5, 2, 4, 0, 1, 3]
    assert sort_order(Table("t", (column,)), "x", descending=descending).tolist() == want


def test_texts_sort_as_texts_whatever_their_codes() -> None:
    table = Table("t", (text_column("x", ["b", None, "a", "c", "b"]),))
    assert sort_order(table, "x").tolist() == [2, 0, 4, 3, 1]
    assert sort_order(table, "x", descending=True).tolist() == [3, 0, 4, 2, 1]


def test_whole_numbers_beyond_float_are_told_apart() -> None:
    big = 2**53
    table = Table("t", (Column("x", "int", np.array([big + 1, big, big + 2])),))
    assert sort_order(table, "x").tolist() == [1, 0, 2]
    lowest = Table("t", (Column("x", "int", np.array([0, -(2**63), 5, 2**63 - 1])),))
    assert sort_order(lowest, "x", descending=True).tolist() == [3, 2, 0, 1]


values = st.lists(st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, -1.0])), max_size=40)


@given(values, st.booleans(), st.data())
def test_order_is_stable_complete_and_sorted(
    values: list[float | None], descending: bool, data: st.DataObject
) -> None:
    column = Column(
        "x",
        "float",
        np.array([NAN if v is None else v for v in values], np.float64),
        absent=np.array([v is None for v in values], bool),
    )
    within = np.array(data.draw(st.permutations(range(len(values)))), np.int64)
    order = sort_order(Table("t", (column,)), "x", descending=descending, within=within).tolist()

    def key(row: int) -> tuple[bool, float]:
        value: Any = values[row]
        if value is None or math.isnan(value):
            return True, 0.0
        return False, -value if descending else value

    assert order == sorted(within.tolist(), key=key)


ENDS = st.sampled_from(["", "\0", "a", "\ue000", "\ud800", "\U00010000", "\u4e2d"])
LABEL = st.builds(lambda n, end, more: "x" * n + end + more, st.integers(60, 66), ENDS, ENDS)


@given(st.one_of(st.lists(LABEL, max_size=12), st.lists(st.text(max_size=4), max_size=12)))
def test_labels_are_ranked_by_code_points(labels: list[str]) -> None:
    """Also those that begin with the same bytes, end in the middle of a character, or with NUL."""
    order = sorted(range(len(labels)), key=lambda place: labels[place])
    expected = [order.index(place) for place in range(len(labels))]
    assert label_ranks(labels)[: len(labels)].tolist() == expected


@given(
    st.lists(st.lists(st.text(max_size=3), max_size=3), max_size=4), st.integers(-9, 9), st.integers(-9, 9)
)
def test_chained_labels_are_cut_like_a_list(parts: list[list[str]], start: int, stop: int) -> None:
    chained = Chained(tuple(parts), tuple(np.cumsum([0, *map(len, parts)]).tolist()))
    whole = [label for part in parts for label in part]
    assert list(chained[start:stop]) == whole[start:stop]
    assert list(chained[start:stop:2]) == whole[start:stop:2] and list(chained) == whole


def test_a_sort_of_many_texts_can_be_stopped_and_says_how_far_it_is() -> None:
    labels = [f"Functional.linear.{i}.forward" for i in range(2 * LABELS_AT_ONCE + 1)]
    table = Table("t", (Column("x", "text", np.arange(len(labels)), labels),))
    told: list[Progress] = []
    order = sort_order(table, "x", descending=True, progress=told.append)
    assert order.tolist() == sorted(range(len(labels)), key=lambda i: labels[i], reverse=True)
    assert [one.done for one in told] == [0, LABELS_AT_ONCE, 2 * LABELS_AT_ONCE]
    with pytest.raises(Cancelled):
        sort_order(table, "x", is_cancelled=lambda: True)
