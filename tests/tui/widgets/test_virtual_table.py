"""The table under keys and mouse, without a terminal: state and drawn lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from npulse.core.table import Column, Table, sort_order, text_column
from npulse.tui.glyphs import ASCII, UNICODE, Glyphs
from npulse.tui.widgets.virtual_table import ColumnSpec, TableView, VirtualTable


class Harness(App[None]):
    def __init__(self, view: TableView, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.first_view, self.glyphs = view, glyphs
        self.seen: list[Message] = []

    def compose(self) -> ComposeResult:
        yield VirtualTable(self.first_view)

    def on_mount(self) -> None:
        self.table.focus()

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)

    def on_virtual_table_row_highlighted(self, message: Message) -> None:
        self.seen.append(message)

    on_virtual_table_row_opened = on_virtual_table_row_highlighted
    on_virtual_table_header_selected = on_virtual_table_row_highlighted

    def lines(self) -> list[str]:
        return [self.table.render_line(y).text for y in range(self.table.size.height)]


Scenario = Callable[[Harness, "Pilot[None]"], Awaitable[None]]


def play(
    view: TableView, scenario: Scenario, *, size: tuple[int, int] = (60, 11), glyphs: Glyphs = UNICODE
) -> None:
    async def run() -> None:
        app = Harness(view, glyphs)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(app, pilot)

    asyncio.run(run())


def numbers(n_rows: int) -> Table:
    values = (np.arange(n_rows) * 37 % max(n_rows, 1)).astype(np.float64)
    return Table("t", (Column("row", "int", np.arange(n_rows)), Column("x", "float", values)))


def view_of(n_rows: int, **more: object) -> TableView:
    specs = (ColumnSpec("row", "#"), ColumnSpec("x", format="fixed", decimals=1))
    return TableView(numbers(n_rows), specs, **more)  # type: ignore[arg-type]


# ---- moving ----


def test_header_stays_and_only_visible_rows_are_drawn() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        lines = app.lines()
        assert lines[0].split() == ["#", "x"]
        assert [line.split()[-2] for line in lines[1:]] == [str(i) for i in range(10)]
        await pilot.press("pagedown")
        assert app.lines()[0] == lines[0]
        assert [line.split()[-2] for line in app.lines()[1:]] == [str(i) for i in range(10, 20)]
        assert app.table.position == "11-20 of 1,000"

    play(view_of(1000), scenario)


def test_cursor_moves_by_row_and_scrolls_half_a_page() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        for _ in range(9):
            table.action_cursor_down()
        assert (table.cursor, table.top) == (9, 0)
        table.action_cursor_down()
        assert (table.cursor, table.top) == (10, 5)
        for _ in range(6):
            table.action_cursor_up()
        assert table.cursor == 4 and table.top <= 4 < table.top + 10

    play(view_of(100), scenario)


def test_page_keys_keep_the_line_of_the_screen() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        await pilot.press("down", "down", "down", "pagedown")
        assert (table.cursor, table.top) == (13, 10)
        await pilot.press("pageup")
        assert (table.cursor, table.top) == (3, 0)
        await pilot.press("end")
        assert (table.cursor, table.top, table.position) == (34, 25, "26-35 of 35")
        await pilot.press("pagedown")
        assert (table.cursor, table.top) == (34, 25)
        await pilot.press("home")
        assert (table.cursor, table.top) == (0, 0)
        await pilot.press("up")
        assert table.cursor == 0

    play(view_of(35), scenario)


def test_cursor_row_has_a_marker_and_is_reversed() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        assert [line[0] for line in app.lines()[1:4]] == [" ", UNICODE.cursor, " "]
        reversed_lines = [
            all(
                segment.style is not None and bool(segment.style.reverse)
                for segment in app.table.render_line(y)
            )
            for y in range(1, 4)
        ]
        assert reversed_lines == [False, True, False]

    play(view_of(20), scenario)


def test_resize_keeps_the_cursor_visible() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        for _ in range(9):
            app.table.action_cursor_down()
        await pilot.resize_terminal(60, 5)
        assert app.table.top <= 9 < app.table.top + app.table.page_rows
        assert app.table.page_rows == 4

    play(view_of(50), scenario)


# ---- new views ----


def test_cursor_stays_on_its_row_and_line_after_a_sort() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        table.move_to_row(57)
        await pilot.press("down", "up")
        line = table.cursor - table.top
        order = sort_order(table.view.table, "x", descending=True)
        table.view = TableView(table.view.table, table.view.columns, order, version=1)
        assert table.current_row == 57
        assert order[table.cursor] == 57
        assert table.cursor - table.top == line
        assert app.lines()[1 + line].split()[1] == "57"

    play(view_of(100), scenario)


def test_filtered_away_row_gives_the_cursor_to_a_neighbour() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        table.move_to_row(9)
        await pilot.pause()
        app.seen.clear()
        table.view = TableView(table.view.table, table.view.columns, np.array([2, 4, 6]))
        await pilot.pause()
        assert (table.cursor, table.current_row) == (2, 6)
        assert app.seen == [VirtualTable.RowHighlighted(table, 6)]
        assert table.position == "1-3 of 3"
        assert not table.move_to_row(9)
        assert app.lines()[4].strip() == ""

    play(view_of(10), scenario)


def test_view_given_before_or_right_after_the_table_is_mounted() -> None:
    async def run() -> None:
        app = Harness(TableView.empty())
        async with app.run_test(size=(60, 11)) as pilot:
            early = VirtualTable()
            early.view = view_of(5)
            mounting = app.mount(early)
            late = VirtualTable()
            also_mounting = app.mount(late)
            late.view = view_of(7)
            await mounting
            await also_mounting
            await pilot.pause()
            assert (early.current_row, early.current_column, early.position[-1]) == (0, "row", "5")
            assert (late.current_row, late.current_column, late.position[-1]) == (0, "row", "7")
            rows = [m.row for m in app.seen if isinstance(m, VirtualTable.RowHighlighted)]
            assert rows == [0, 0]

    asyncio.run(run())


def test_growing_table_keeps_place_and_says_that_it_grows() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        await pilot.press("end")
        assert (table.cursor, table.top) == (19, 10)
        table.view = view_of(1000, is_partial=True)
        assert (table.cursor, table.top, table.position) == (19, 10, "11-20 of >1,000")

    play(view_of(20), scenario)


def test_empty_views() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        await pilot.press("down", "pagedown", "end", "enter", "left", "right")
        assert table.current_row is None and table.cursor == 0
        assert app.seen == []
        assert all(cell_len(line) == 60 for line in app.lines())
        assert table.position == "0-0 of 0"
        table.view = view_of(3)
        assert table.current_row == 0
        table.view = TableView.empty()
        assert table.current_row is None and table.current_column is None

    play(TableView.empty(), scenario)


# ---- messages ----


def test_messages_name_table_rows_not_places_in_the_view() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause()
        assert app.seen == [
            VirtualTable.RowHighlighted(table, 7),
            VirtualTable.RowHighlighted(table, 3),
            VirtualTable.RowOpened(table, 3),
        ]

    play(view_of(10, order=np.array([7, 3, 5])), scenario)


def test_mouse() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        await pilot.click(VirtualTable, offset=(10, 4))
        assert table.current_row == 3
        app.seen.clear()
        x = app.lines()[0].index("x")
        await pilot.click(VirtualTable, offset=(x, 0))
        await pilot.pause()
        assert app.seen == [VirtualTable.HeaderSelected(table, "x")]
        assert table.current_column == "x"
        await pilot.click(VirtualTable, offset=(10, 2), times=2)
        await pilot.pause()
        assert VirtualTable.RowOpened(table, 1) in app.seen

    play(view_of(10), scenario)


def test_every_binding_has_an_id() -> None:
    keys = {key for binding in VirtualTable.BINDINGS for key in binding.key.split(",")}  # type: ignore[union-attr]
    assert {"up", "down", "pageup", "pagedown", "home", "end", "left", "right", "enter"} <= keys
    merged = VirtualTable(view_of(1))._bindings.key_to_bindings
    assert all(binding.id for bindings in merged.values() for binding in bindings)


# ---- columns ----


def wide_view() -> TableView:
    names = ("name", *(f"c{i}" for i in range(8)))
    table = Table(
        "t",
        (
            text_column("name", [f"layers.{i}" for i in range(5)]),
            *(Column(name, "int", np.full(5, 1_111_111 * (i + 1))) for i, name in enumerate(names[1:])),
        ),
    )
    return TableView(table, tuple(ColumnSpec(name, is_frozen=name == "name") for name in names))


def test_scrolling_columns_keeps_the_name_and_never_cuts_a_number() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        whole = {str(1_111_111 * (i + 1)) for i in range(8)}
        shown_first = app.lines()[1].split()
        assert shown_first[1:3] == ["layers.0", "1111111"]
        assert app.lines()[0][1] == UNICODE.more_right
        visited = set()
        for _ in range(8):
            await pilot.press("right")
            line = app.lines()[2].split()
            assert line[0] == "layers.1"
            assert set(line[1:]) <= whole
            visited |= set(line[1:])
            assert table.current_column is not None
            assert str(table.view.table.column(table.current_column).value(1)) in line
        assert visited == whole
        assert table.current_column == "c7"
        assert app.lines()[0][:2] == UNICODE.more_left + " "
        await pilot.press("right")
        assert table.current_column == "c7"
        for _ in range(8):
            await pilot.press("left")
        assert table.current_column == "name"
        assert table.move_to_column("c5") and table.current_column == "c5"
        assert "6666666" in app.lines()[1]
        assert not table.move_to_column("no such column")

    play(wide_view(), scenario, size=(40, 8))


def test_sorted_column_is_marked_in_the_header() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        table = app.table
        assert UNICODE.ascending + "#" in app.lines()[0].replace(" ", "")
        table.view = view_of(5, sorted_by="x", is_descending=True)
        assert UNICODE.descending + "x" in app.lines()[0].replace(" ", "")

    play(view_of(5, sorted_by="row"), scenario)


def test_only_differing_cells_become_runs_of_their_own() -> None:
    def style(row: int) -> str | None:
        return "virtual-table--error" if row == 1 else None

    table = numbers(5)
    view = TableView(table, (ColumnSpec("row", "#"), ColumnSpec("x", style=style)))

    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        assert len(list(app.table.render_line(1))) == 1
        runs = list(app.table.render_line(2))
        assert len(runs) == 3
        assert runs[1].text == "2.0000"  # 37 % 5
        assert runs[1].style is not None and runs[0].style is not None
        assert runs[1].style.color != runs[0].style.color

    play(view, scenario)


def test_row_style_and_marks() -> None:
    view = view_of(5, row_style=lambda row: "virtual-table--warning" if row == 2 else None)

    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        colours = [next(iter(app.table.render_line(y))).style.color for y in (2, 3)]  # type: ignore[union-attr]
        assert colours[0] != colours[1]
        app.table.marked = frozenset((3,))
        await pilot.pause()
        assert [line[1] for line in app.lines()[1:6]] == [" ", " ", " ", UNICODE.mark, " "]

    play(view, scenario)


# ---- hostile and missing contents ----


def hostile_view() -> TableView:
    names = ["注意力" * 20, "a\x1b]52;c;AAAA\x07b", "[bold]x[/bold]", "👩\u200d🚀\ufe0f́", "x\u202ey\x9b2J"]
    floats = Column("x", "float", np.array([np.nan, np.inf, -np.inf, 1e300, 5e-324]))
    absent = Column("a", "float", np.zeros(5), absent=np.array([True, False, True, True, True]))
    table = Table("t", (text_column("name", names), floats, absent))
    return TableView(table, tuple(ColumnSpec(c.name, max_width=24) for c in table.columns))


def test_hostile_names_cannot_act_and_lines_stay_aligned() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        lines = app.lines()
        assert all(cell_len(line) == 60 for line in lines)
        assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for line in lines for c in line)
        assert "a␛]52;c;AAAA�b" in lines[2] and "[bold]x[/bold]" in lines[3]
        assert [line.split()[-2:] for line in lines[1:6]] == [
            ["nan", "-"],
            ["inf", "0.0000"],
            ["-inf", "-"],
            ["1.0e+300", "-"],
            ["4.9e-324", "-"],
        ]
        assert {cell_len(line.rstrip()) for line in lines[1:6]} == {cell_len(lines[2].rstrip())}

    play(hostile_view(), scenario)


def test_ascii_terminals_get_ascii_only() -> None:
    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        lines = app.lines()
        assert all(line.isascii() and len(line) == 60 for line in lines)
        assert lines[1].startswith("> ") and r"\u6ce8\u610f" in lines[1] and "~" in lines[1]
        assert "a^[]52;c;AAAA?b" in lines[2]

    play(hostile_view(), scenario, glyphs=ASCII)


# ---- cost ----


class CountingNames(Sequence[str]):
    """A million names, none of them kept."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.asked += 1
        return f"operator {index}"


def test_names_are_read_for_visible_rows_only() -> None:
    names = CountingNames()
    table = Table("t", (Column("name", "text", np.arange(1_000_000, dtype=np.int32), names),))

    async def scenario(app: Harness, pilot: Pilot[None]) -> None:
        app.lines()
        before = names.asked
        assert before < 1000, "a sample for the width and the first page"
        await pilot.press("down")
        app.lines()
        assert names.asked == before, "moving inside the page formats nothing"
        await pilot.press("pagedown")
        app.lines()
        assert names.asked == before + 10
        app.table.view = TableView(table, app.table.view.columns, np.arange(1_000_000)[::-1].copy())
        app.lines()
        assert names.asked == before + 20, "sorting reads the page, not the table"

    play(TableView(table, (ColumnSpec("name"),)), scenario)
