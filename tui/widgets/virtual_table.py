"""A table of any length: only the visible rows are ever turned into text."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from npulse.core.table import Order, Table

from ..actions import bindings_for
from ..glyphs import Glyphs, glyphs_of
from .cells import column_texts
from .table_lines import PREFIX_CELLS, Line, format_page, header_runs
from .table_view import ColumnFormat, ColumnSpec, Layout, TableView, arrange, format_columns

__all__ = ["ColumnSpec", "TableView", "VirtualTable"]

CHANGED, ADDED = 1, 2
"""What a row can be marked as in `VirtualTable.fresh`; 0 for no mark."""
_WHEEL_ROWS = 3
_OWN_ACTIONS = ("table.left", "table.right")


class VirtualTable(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows of a `TableView` below a fixed header, with a cursor row and a current column.

    Set `view` (as a whole) and `marked`; read `cursor`, `current_row`, `current_column` and
    `position`. The cursor stays on its table row when the view is replaced.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in bindings_for("move", "table")
        if (binding.id or "").startswith("move.") or binding.id in _OWN_ACTIONS
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "virtual-table--header",
        "virtual-table--current-heading",
        "virtual-table--cursor",
        "virtual-table--cursor-blurred",
        "virtual-table--error",
        "virtual-table--warning",
        "virtual-table--ok",
        "virtual-table--muted",
        "virtual-table--strong",
        "virtual-table--hit",
        "virtual-table--fresh",
        "virtual-table--fresh-mark",
    }
    DEFAULT_CSS = """
    VirtualTable {
        overflow: hidden;
        scrollbar-size: 0 0;
        & > .virtual-table--header { text-style: bold; }
        & > .virtual-table--current-heading { text-style: bold underline; }
        & > .virtual-table--cursor { text-style: reverse; }
        & > .virtual-table--cursor-blurred { text-style: bold; }
        & > .virtual-table--error { color: $text-error; }
        & > .virtual-table--warning { color: $text-warning; }
        & > .virtual-table--ok { color: $text-success; }
        & > .virtual-table--muted { text-style: dim; }
        & > .virtual-table--strong { text-style: bold; }
        & > .virtual-table--hit { text-style: bold underline; }
        & > .virtual-table--fresh { text-style: bold; }
        & > .virtual-table--fresh-mark { text-style: bold; color: $text-success; }
    }
    """
    ALLOW_SELECT = False

    view: reactive[TableView] = reactive(TableView.empty(), repaint=False, init=False)
    cursor: reactive[int] = reactive(0, repaint=False, init=False)
    """Position of the cursor in the view."""
    column: reactive[int] = reactive(0, repaint=False, init=False)
    """Position of the current column in display order."""
    marked: reactive[frozenset[int]] = reactive(frozenset())
    """Table rows (not positions in the view) that show the mark."""
    fresh: reactive[npt.NDArray[np.int8] | None] = reactive(None, always_update=True, init=False)
    """For each table row whether it is ADDED, has CHANGED, or neither (0), of late; None: none of them."""
    position: reactive[str] = reactive("", repaint=False)
    """Which rows are on the screen, "1,204-1,242 of 1,000,000"; made by `position_template`."""
    can_open: bool = True
    """Whether Enter does something here, so that the footer offers it."""
    position_template: str = "{first:,}-{last:,} of {total}"

    @dataclass
    class RowHighlighted(Message):
        """The cursor came to another table row, or the same row shows other values."""

        table: VirtualTable
        row: int

        @property
        def control(self) -> VirtualTable:
            return self.table

    @dataclass
    class RowOpened(Message):
        """The user wants to see what is behind a table row."""

        table: VirtualTable
        row: int

        @property
        def control(self) -> VirtualTable:
            return self.table

    @dataclass
    class WentUp(Message):
        """The user moved upwards, or tried to."""

        table: VirtualTable

        @property
        def control(self) -> VirtualTable:
            return self.table

    @dataclass
    class HeaderSelected(Message):
        """A column heading was clicked."""

        table: VirtualTable
        column: str

        @property
        def control(self) -> VirtualTable:
            return self.table

    def __init__(
        self,
        view: TableView | None = None,
        *,
        glyphs: Glyphs | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._formats: tuple[ColumnFormat, ...] = ()
        self._layout = Layout((), (), 0, 1)
        self._arranged_for = -1  # cells of width
        self._first = 0  # position of the first column that scrolls
        self._page: list[Line] = []
        self._page_top = -1
        if view is not None:
            self.set_reactive(VirtualTable.view, view)

    # ---- what others ask ----

    @property
    def glyphs(self) -> Glyphs:
        return self._glyphs or glyphs_of(self.app)

    @property
    def current_row(self) -> int | None:
        """The table row under the cursor; None in an empty view."""
        return self.view.row_at(self.cursor)

    @property
    def current_column(self) -> str | None:
        """The name of the current column; None in a view without columns."""
        columns = self._layout.columns
        return columns[self.column].spec.name if self.column < len(columns) else None

    def in_footer(self, action_id: str) -> bool:
        return self.can_open and self.view.n_rows > 0

    def move_to_row(self, row: int) -> bool:
        """Put the cursor on a table row; False where the view does not hold it."""
        found = self.view.find(row)
        if found is None:
            return False
        self.cursor = found
        return True

    def move_to_column(self, name: str) -> bool:
        """Make a column the current one and show it; False where the view does not hold it."""
        for place, column in enumerate(self._layout.columns):
            if column.spec.name == name:
                self.column = place
                return True
        return False

    # ---- geometry ----

    @property
    def page_rows(self) -> int:
        """Rows below the header, at least 1."""
        return max(1, self.size.height - 1)

    @property
    def top(self) -> int:
        """View position of the first visible row."""
        return self.scroll_offset.y

    @property
    def max_scroll_y(self) -> int:
        # Not taken from virtual_size: changing that lays out the whole screen again.
        return max(0, self.view.n_rows - self.page_rows)

    @property
    def allow_vertical_scroll(self) -> bool:
        return True

    def _room(self) -> int:
        return max(0, self.size.width - PREFIX_CELLS)

    # ---- state changes ----

    def on_mount(self) -> None:
        self._take_view(None)

    def on_resize(self) -> None:
        self._arrange_anew()
        self._show_cursor()
        self._update_position()

    def on_focus(self) -> None:
        self._refresh_row(self.cursor)

    def on_blur(self) -> None:
        self._refresh_row(self.cursor)

    def watch_view(self, old: TableView, new: TableView) -> None:
        if self.is_mounted:  # else on_mount takes it
            self._take_view(old)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.view.n_rows - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        self._show_cursor()
        self._refresh_row(old)
        self._refresh_row(new)
        self._announce()

    def validate_column(self, column: int) -> int:
        return max(0, min(column, len(self._layout.columns) - 1))

    def watch_column(self, old: int, new: int) -> None:
        before = self._first
        self._show_column()
        if self._first != before:
            self._forget_page()
            self.refresh()
        else:
            self.refresh(Region(0, 0, self.size.width, 1))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._update_position()

    def _take_view(self, old: TableView | None) -> None:
        """Use a new view: keep the cursor on its table row and on its line of the screen."""
        view = self.view
        row_before = None if old is None else view.row_from(old.row_at(self.cursor))
        offset = self.cursor - self.top
        at_first = view.origin is not None and self.cursor == 0
        self.set_reactive(VirtualTable.fresh, None)
        current = self.current_column
        same_table = old is not None and old.table is view.table and old.columns == view.columns
        if not same_table:
            grows = old is not None and old.table is not view.table and old.table.name == view.table.name
            self._formats = format_columns(view, self.glyphs, self._formats if grows else ())
        self._arrange()
        found = view.find(row_before)
        place = self.validate_cursor(self.cursor if found is None else found)
        self.set_reactive(VirtualTable.cursor, place)
        if at_first:  # rows that come before the first one are to be seen, as long as both find room
            offset = min(place, self.page_rows - 1)
        self.scroll_y = place - offset
        if self.size.height:  # a table that is not on the screen keeps the line of its cursor
            self._show_cursor()
        if not same_table and current is not None:
            self.move_to_column(current)
        self._update_position()
        self.refresh()
        is_known = view.origin is not None and row_before is not None
        if (not same_table and not is_known) or self.current_row != row_before:
            self._announce()

    def _announce(self) -> None:
        row = self.current_row
        if row is not None:
            self.post_message(self.RowHighlighted(self, row))

    def _update_position(self) -> None:
        n_rows, top = self.view.n_rows, self.top
        total = f">{n_rows:,}" if self.view.is_partial else f"{n_rows:,}"
        last = min(top + self.page_rows, n_rows)
        self.position = self.position_template.format(first=min(top + 1, n_rows), last=last, total=total)

    def _arrange_anew(self) -> None:
        """Fit the columns to a new width; a first paint can come before the resize event."""
        if self._arranged_for != self.size.width:
            self._arrange()

    def _arrange(self) -> None:
        self._arranged_for = self.size.width
        self._layout = arrange(self._formats, self._room())
        self._forget_page()
        self.set_reactive(VirtualTable.column, self.validate_column(self.column))
        self._first = max(self._first, self._layout.n_frozen)
        self._show_column()

    def _show_cursor(self) -> None:
        """Scroll so that the cursor row is visible; half a page at a time, since a scroll repaints all."""
        if not self.top <= self.cursor < self.top + self.page_rows:
            self.scroll_y = self.cursor - self.page_rows // 2

    def _show_column(self) -> None:
        layout, column = self._layout, self.column
        self._first = min(self._first, max(len(layout.columns) - 1, layout.n_frozen))
        if column < layout.n_frozen:
            return
        self._first = min(self._first, column)
        while self._first < column:
            drawn = dict(layout.visible(self._first, self._room()))
            if drawn.get(column) == layout.widths[column]:
                return
            self._first += 1

    # ---- actions ----

    def action_cursor_down(self) -> None:
        """Down one row."""
        self.cursor += 1

    def action_cursor_up(self) -> None:
        """Up one row."""
        self.cursor -= 1
        self.post_message(self.WentUp(self))

    def action_cursor_page_down(self) -> None:
        """Down one page; the cursor keeps its line of the screen."""
        self._turn_page(self.page_rows)

    def action_cursor_page_up(self) -> None:
        """Up one page; the cursor keeps its line of the screen."""
        self._turn_page(-self.page_rows)
        self.post_message(self.WentUp(self))

    def action_cursor_top(self) -> None:
        """To the first row."""
        self.cursor = 0
        self.post_message(self.WentUp(self))

    def action_cursor_bottom(self) -> None:
        """To the last row."""
        self.cursor = self.view.n_rows - 1

    def action_column_left(self) -> None:
        """To the column at the left; the others scroll where it was not visible."""
        self.column -= 1

    def action_column_right(self) -> None:
        """To the column at the right; the others scroll where it was not visible."""
        self.column += 1

    def action_open_row(self) -> None:
        """Open the row under the cursor."""
        row = self.current_row
        if row is not None:
            self.post_message(self.RowOpened(self, row))

    def _turn_page(self, rows: int) -> None:
        target = self.validate_cursor(self.cursor + rows)
        self.scroll_y = self.top + rows
        self.cursor = target

    # Names of the scroll actions that containers have; theirs would animate.
    action_page_down = action_cursor_page_down
    action_page_up = action_cursor_page_up
    action_scroll_home = action_cursor_top
    action_scroll_end = action_cursor_bottom
    action_top = action_cursor_top
    action_bottom = action_cursor_bottom

    # ---- mouse ----

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if offset.y == 0:
            self._click_header(offset.x)
            return
        position = self.top + offset.y - 1
        if position < self.view.n_rows:
            self.cursor = position
            if event.chain == 2:
                self.action_open_row()

    def _click_header(self, x: int) -> None:
        left = PREFIX_CELLS
        for place, width in self._layout.visible(self._first, self._room()):
            if left <= x < left + width:
                self.column = place
                self.post_message(self.HeaderSelected(self, self._layout.columns[place].spec.name))
                return
            left += width + self._layout.gap

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._wheel(_WHEEL_ROWS)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._wheel(-_WHEEL_ROWS)
        self.post_message(self.WentUp(self))

    def _wheel(self, rows: int) -> None:
        self.scroll_y = self.top + rows
        self.cursor = max(self.top, min(self.cursor, self.top + self.page_rows - 1))

    # ---- what came of late ----

    def differing(self, before: Table, origin: Order, without: Container[str] = ()) -> npt.NDArray[np.int64]:
        """The table rows on the screen that show something else than they did in the table before.

        without: columns that do not count.
        """
        rows = self.view.rows(self.top, self.top + self.page_rows)
        rows = rows[origin[rows] >= 0]
        old = origin[rows]
        differs = np.zeros(len(rows), np.bool_)
        known = {column.name: column for column in before.columns}
        for place, _ in self._layout.visible(self._first, self._room()):
            shown = self._layout.columns[place]
            earlier = known.get(shown.spec.name)
            if earlier is not None and shown.spec.name not in without and earlier.kind == shown.column.kind:
                now = column_texts(shown.column, rows, shown.write, self.glyphs)
                then = column_texts(earlier, old, shown.write, self.glyphs)
                differs |= np.array([a != b for a, b in zip(now, then, strict=True)], np.bool_)
        return rows[differs]

    # ---- drawing ----

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._forget_page()

    def _forget_page(self) -> None:
        self._page_top = -1

    def _refresh_row(self, position: int) -> None:
        line = position - self.top + 1
        if 0 < line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.visual_style.rich_style
        self._arrange_anew()
        if y == 0:
            return self._header(width, base)
        position = self.top + y - 1
        if position >= self.view.n_rows:
            return Strip.blank(width, base)
        if self._page_top != self.top or y > len(self._page):
            rows = self.view.rows(self.top, self.top + self.page_rows)
            self._page = format_page(self.view, self._layout, rows, self._first, self._room(), self.glyphs)
            self._page_top = self.top
        return self._row(self._page[y - 1], position == self.cursor, width, base)

    def _header(self, width: int, base: Style) -> Strip:
        view = self.view
        order = self.glyphs.descending if view.is_descending else self.glyphs.ascending
        runs = header_runs(
            self._layout,
            self._first,
            self._room(),
            self.glyphs,
            current=self.column,
            sorted_by=view.sorted_by,
            order=order,
        )
        style = base + self._component("virtual-table--header")
        current = style + self._component("virtual-table--current-heading")
        segments = [Segment(text, current if is_current else style) for text, is_current in runs]
        return Strip(segments).adjust_cell_length(width, style).simplify()

    def _row(self, line: Line, is_cursor: bool, width: int, base: Style) -> Strip:
        glyphs = self.glyphs
        style = base + self._component(line.style)
        over = Style.null()
        if is_cursor:
            over = self._component(f"virtual-table--cursor{'' if self.has_focus else '-blurred'}")
        marks = glyphs.mark if line.row in self.marked else ""
        runs = list(line.runs)
        segments = [Segment(glyphs.cursor if is_cursor else " ", style + over)]
        if self.fresh is not None and self.fresh[line.row] and runs:
            style += self._component("virtual-table--fresh")
            marks += glyphs.added if self.fresh[line.row] == ADDED else glyphs.changed
            segments.append(Segment(marks, style + self._component("virtual-table--fresh-mark") + over))
            if len(marks) > 1:  # beside the user's own mark in place of the first blank
                runs[0] = runs[0][0][1:], runs[0][1]
        else:
            segments.append(Segment(marks or " ", style + over))
        segments += [Segment(text, style + self._component(name) + over) for text, name in runs]
        return Strip(segments).adjust_cell_length(width, style + over).simplify()

    def _component(self, name: str | None) -> Style:
        if name is None:
            return Style.null()
        return self.get_component_rich_style(name, partial=True, default=Style.null())
