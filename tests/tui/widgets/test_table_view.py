"""Views are orders of rows; layouts never draw past the screen and never cut a number."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.table import Column, Table, sort_order, text_column
from npulse.tui.glyphs import ASCII, UNICODE
from npulse.tui.widgets.table_view import ColumnSpec, TableView, arrange, format_columns


def table_of(n_rows: int) -> Table:
    return Table("t", (Column("n", "int", np.arange(n_rows, dtype=np.int64)),))


@given(st.integers(0, 30).flatmap(lambda n: st.tuples(st.just(n), st.permutations(range(n)))))
def test_find_inverts_row_at(case: tuple[int, list[int]]) -> None:
    n_rows, order = case
    kept = np.array(order[: n_rows // 2 + 1], dtype=np.int64)
    view = TableView(table_of(n_rows), (), kept)
    for row in range(n_rows):
        place = view.find(row)
        assert (place is not None) == (row in kept.tolist())
        assert place is None or view.row_at(place) == row
    assert view.row_at(len(kept)) is None and view.row_at(-1) is None


@given(st.integers(0, 20), st.integers(-5, 30), st.integers(-5, 30), st.booleans())
def test_rows_are_clipped_to_the_view(n_rows: int, start: int, stop: int, has_order: bool) -> None:
    order = np.arange(n_rows, dtype=np.int64)[::-1] if has_order else None
    whole = list(range(n_rows))[::-1] if has_order else list(range(n_rows))
    view = TableView(table_of(n_rows), (), order)
    assert view.rows(start, stop).tolist() == whole[max(start, 0) : max(stop, 0)]


def test_natural_order_and_sorted_order() -> None:
    table = Table("t", (Column("x", "float", np.array([0.99, 0.2, 0.95])),))
    assert TableView(table, ()).rows(0, 3).tolist() == [0, 1, 2]
    assert TableView(table, (), sort_order(table, "x")).rows(0, 3).tolist() == [1, 2, 0]


# ---- widths ----


def view_of(table: Table, *specs: ColumnSpec) -> TableView:
    return TableView(table, specs)


def test_width_is_that_of_the_longest_cell_or_heading() -> None:
    n_rows = 100_000
    values = np.ones(n_rows)
    values[54_321] = -123456.5  # in no sample, but an extreme
    table = Table(
        "t",
        (
            Column("x", "float", values),
            text_column("name", ["注意力"] * n_rows),
            Column("long_heading", "int", np.arange(n_rows)),
        ),
    )
    view = view_of(
        table,
        ColumnSpec("x", format="fixed", decimals=2),
        ColumnSpec("name", "n"),
        ColumnSpec("long_heading"),
    )
    assert [c.width for c in format_columns(view, UNICODE)] == [10, 6, 12]
    assert [c.align for c in format_columns(view, UNICODE)] == ["right", "left", "right"]
    assert format_columns(view, ASCII)[1].width == 18  # three times \uXXXX


def test_limits_of_width() -> None:
    table = Table("t", (text_column("name", ["x" * 100]), text_column("b", ["y"])))
    view = view_of(table, ColumnSpec("name", max_width=20), ColumnSpec("b", min_width=5))
    assert [c.width for c in format_columns(view, UNICODE)] == [20, 5]


def test_growing_table_does_not_narrow_its_columns() -> None:
    wide = format_columns(view_of(Table("t", (text_column("a", ["xxxxxx"]),)), ColumnSpec("a")), UNICODE)
    view = view_of(Table("t", (text_column("a", ["x"]),)), ColumnSpec("a"))
    assert [c.width for c in format_columns(view, UNICODE, wide)] == [6]
    assert [c.width for c in format_columns(view, UNICODE)] == [1]


def test_words_that_no_row_has_are_not_asked_for() -> None:
    """A column of words where every cell, or the table, is empty: the words' formatter knows no ""."""
    words = {"pass": "ok", "error": "E"}
    for texts in ([None, None], []):
        view = view_of(
            Table("t", (text_column("v", texts),)), ColumnSpec("v", "v", format=lambda w: words[str(w)])
        )
        (column,) = format_columns(view, UNICODE)
        assert column.width == 1


def test_decimals_are_one_number_for_the_column() -> None:
    table = Table("t", (Column("x", "float", np.array([1.0, 0.25, 123.456])),))
    write = format_columns(view_of(table, ColumnSpec("x")), UNICODE)[0].write
    assert [write(v) for v in (1.0, 0.25, 123.456)] == ["1.0000", "0.2500", "123.4560"]
    small = Table("t", (Column("x", "float", np.array([1.0, 2.5e-7])),))
    write = format_columns(view_of(small, ColumnSpec("x")), UNICODE)[0].write
    assert [write(v) for v in (1.0, 2.5e-7)] == ["1.0e+0", "2.5e-7"]


# ---- what fits ----

specs = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=12
)


@given(specs, st.integers(0, 150), st.integers(0, 12))
def test_nothing_is_drawn_past_the_edge(
    columns: list[tuple[int, int, bool, bool]], room: int, first: int
) -> None:
    table = Table(
        "t",
        tuple(
            text_column(f"c{i}", ["x" * width])
            if is_text
            else Column(f"c{i}", "int", np.array([10 ** min(width - 1, 17)]))
            for i, (width, _, is_text, _) in enumerate(columns)
        ),
    )
    view = view_of(
        table,
        *(
            ColumnSpec(f"c{i}", "h", priority=priority, is_frozen=is_frozen)
            for i, (_, priority, _, is_frozen) in enumerate(columns)
        ),
    )
    layout = arrange(format_columns(view, UNICODE), room)
    assert sorted(c.spec.name for c in layout.columns) == sorted(f"c{i}" for i in range(len(columns)))
    assert all(c.spec.is_frozen for c in layout.columns[: layout.n_frozen])
    assert not any(c.spec.is_frozen for c in layout.columns[layout.n_frozen :])
    drawn = layout.visible(first, room)
    scrolling = drawn[layout.n_frozen :]
    if scrolling:
        assert sum(width for _, width in drawn) + layout.gap * (len(drawn) - 1) <= room
    for place, width in scrolling[1:]:
        if layout.columns[place].align == "right":
            assert width == layout.widths[place], "a number was cut"


def test_important_columns_come_first_where_not_all_fit() -> None:
    table = Table("t", tuple(text_column(name, ["x" * 10]) for name in "abcd"))
    formats = format_columns(
        view_of(
            table,
            ColumnSpec("a", is_frozen=True),
            ColumnSpec("b", priority=2),
            ColumnSpec("c", priority=0),
            ColumnSpec("d", priority=1),
        ),
        UNICODE,
    )

    def names(room: int) -> str:
        layout = arrange(formats, room)
        return "".join(c.spec.name for c in layout.columns)

    assert names(100) == "abcd"
    assert names(43) == "abcd"  # 4 x 10 + 3 gaps
    assert names(42) == "acdb"
    assert names(30) == "acbd"


def test_frozen_columns_take_at_most_half_of_a_narrow_screen() -> None:
    table = Table("t", (text_column("name", ["x" * 40]), text_column("b", ["y" * 30])))
    formats = format_columns(view_of(table, ColumnSpec("name", is_frozen=True), ColumnSpec("b")), UNICODE)
    layout = arrange(formats, 60)
    assert layout.widths == (29, 30)
    assert layout.visible(0, 60) == [(0, 29), (1, 30)]
