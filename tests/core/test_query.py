"""The filter language: what a term means, what is wrong usage, and that sorting does not care."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, UsageError
from npulse.core.progress import Progress
from npulse.core.query import Term, matching_rows, parse
from npulse.core.table import LABELS_AT_ONCE, Column, Table, sort_order, text_column

NAN = float("nan")
TABLE = Table(
    "t",
    (
        text_column(
            "operator", ["Functional.linear.0", "Torch.abs.0", "Functional.relu.0", "Torch.ABS.1", None]
        ),
        text_column("io", ["input 0", "output 0", "output 0", "kwargs mask", "input 0"]),
        Column(
            "cosine", "float", np.array([1.0, 0.5, NAN, 0.99, 0.0]), absent=np.array([0, 0, 0, 0, 1], bool)
        ),
        Column("count", "int", np.array([0, 1, 2, 3, 4])),
        Column("flag", "bool", np.array([True, False, True, False, True])),
        text_column("shape_target", ["[1]", "[2]", "[2]", "[3]", "[4]"]),
        text_column("shape_golden", ["[1]", "[2]", "[5]", "[3]", "[4]"]),
    ),
)


def rows(text: str) -> list[int]:
    return matching_rows(TABLE, text).tolist()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("linear", [0]),
        ("LINEAR", [0]),
        ("abs", [1, 3]),
        ("abs output", [1]),
        ("nothing", []),
        ("operator:abs", [1, 3]),
        ("operator=torch.abs.0", [1]),
        ("operator=abs", []),
        ("operator!=Torch.abs.0", [0, 2, 3]),
        # the row without an operator satisfies no condition on it
        ("-operator:abs", [0, 2, 4]),
        ("-operator!=Torch.abs.0", [1, 4]),
        ('io:"output 0"', [1, 2]),
        ("'io:output 0'", [1, 2]),
        ('"input 0"', [0, 4]),
        ("-abs", [0, 2, 4]),
        ("abs -output", [3]),
        ("cosine<0.99", [1]),
        ("cosine<=0.99", [1, 3]),
        ("cosine>0", [0, 1, 3]),
        ("cosine>=1", [0]),
        ("cosine=0.5", [1]),
        ("cosine:0.5", [1]),
        ("cosine!=0.5", [0, 2, 3]),
        ("cosine:nan", [2]),
        ("cosine!=nan", [0, 1, 3]),
        ("-cosine<0.99", [0, 2, 3, 4]),
        ("count>1 count<4", [2, 3]),
        ("count:3", [3]),
        ("count>1e0", [2, 3, 4]),
        ("flag:true", [0, 2, 4]),
        ("flag!=True", [1, 3]),
        # the beginning of a name that is the only one
        ("cos<0.99", [1]),
        ("oper:relu", [2]),
    ],
)
def test_terms(text: str, want: list[int]) -> None:
    assert rows(text) == want


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cosinus<1", ["cosinus", "cosine"]),
        ("shape:2", ["shape", "shape_target, shape_golden"]),
        ("cosine<high", ["cosine", "numbers", "high"]),
        ("flag:1x", ["flag", "true or false"]),
        ("operator<a", ["operator", "text"]),
        ("cosine<", ["cosine<"]),
        ("-", ["'-'"]),
        ('io:"output', ["quot"]),
    ],
)
def test_wrong_usage_names_the_word(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        rows(text)
    said = f"{caught.value.message} {caught.value.hint}"
    assert [word for word in words if word not in said] == []


def test_parse() -> None:
    assert parse("-io:x cosine<=0.5 word") == (
        Term(True, "io", ":", "x"),
        Term(False, "cosine", "<=", "0.5"),
        Term(False, None, "", "word"),
    )


@given(st.text())
def test_any_text_is_a_filter_or_wrong_usage(text: str) -> None:
    try:
        found = rows(text)
    except UsageError:
        return
    assert found == sorted(set(found)) and set(found) <= set(range(5))


# ---- filter and sort -------------------------------------------------------------------------------------

cells = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "ab", "B", None]),
        st.one_of(st.none(), st.floats(allow_nan=True, width=32), st.just(0.5)),
        st.integers(-3, 3),
    ),
    max_size=30,
)


def table_of(values: list[tuple[str | None, float | None, int]]) -> Table:
    return Table(
        "t",
        (
            text_column("name", [v[0] for v in values]),
            Column(
                "x",
                "float",
                np.array([0.0 if v[1] is None else v[1] for v in values]),
                absent=np.array([v[1] is None for v in values], bool),
            ),
            Column("n", "int", np.array([v[2] for v in values], np.int64)),
        ),
    )


filters = st.sampled_from(["", "a", "name:b", "-name:b", "x>0", "-x>0", "n<=1 x<1", "name!=a", "-b n:0"])


@given(cells, filters, st.sampled_from(["name", "x", "n"]), st.booleans())
def test_filter_behind_sort_is_sort_behind_filter(
    values: list[tuple[str | None, float | None, int]], text: str, column: str, descending: bool
) -> None:
    table = table_of(values)
    kept = matching_rows(table, text)
    inside = sort_order(table, column, descending=descending, within=kept)
    whole = sort_order(table, column, descending=descending)
    assert inside.tolist() == [row for row in whole.tolist() if row in set(kept.tolist())]


@given(cells, filters)
def test_a_negated_filter_is_the_rest(values: list[tuple[str | None, float | None, int]], text: str) -> None:
    table = table_of(values)
    if len(parse(text)) != 1:
        return
    other = text[1:] if text.startswith("-") else "-" + text
    both = [*matching_rows(table, text).tolist(), *matching_rows(table, other).tolist()]
    assert sorted(both) == list(range(table.n_rows))


def test_a_filter_over_many_texts_can_be_stopped_and_says_how_far_it_is() -> None:
    labels = [f"Functional.linear.{i}.forward" for i in range(LABELS_AT_ONCE + 5)]
    table = Table("t", (Column("x", "text", np.arange(len(labels)), labels),))
    told: list[Progress] = []
    found = matching_rows(table, "linear.2000 x:forward", progress=told.append)
    assert found.tolist() == [i for i in range(len(labels)) if "linear.2000" in labels[i]]
    assert [(one.done, one.total) for one in told] == [
        (done, 2 * len(labels)) for done in (0, LABELS_AT_ONCE, len(labels), len(labels) + LABELS_AT_ONCE)
    ]
    with pytest.raises(Cancelled):
        matching_rows(table, "linear", is_cancelled=lambda: True)
