"""A list of any length with a cursor row, drawn line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from npulse.core.dataclass import dataclass

from ..actions import bindings_for
from ..glyphs import glyphs_of, showable

_BOLD = Style(bold=True)
_REVERSE = Style(reverse=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One line: its text, what it stands for (None: a heading), and the full text for the detail."""

    text: str
    value: Any = None
    detail: str = ""


class RowList(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows below each other; the cursor row is reverse and has a marker. Texts are made safe here."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("move")]
    DEFAULT_CSS = """
    RowList { height: 1fr; overflow: hidden; scrollbar-size: 0 0; }
    """
    ALLOW_SELECT = False

    can_open: bool = True
    """Whether Enter does something here, so that the footer offers it."""

    rows: reactive[Sequence[Row]] = reactive((), init=False)
    cursor: reactive[int] = reactive(0, init=False, repaint=False)

    class Moved(Message):
        """The cursor came to another row (None: there is none)."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    class Opened(Message):
        """Enter on a row that stands for something."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def in_footer(self, action_id: str) -> bool:
        return self.can_open

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.rows) - 1))

    def watch_rows(self, rows: Sequence[Row]) -> None:
        self._measure()
        self.cursor = self.cursor
        self._keep_visible()
        self.refresh()
        self.post_message(self.Moved(self.current))

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_lines(old)
        self.refresh_lines(new)
        self._keep_visible()
        self.post_message(self.Moved(self.current))

    def on_resize(self, event: events.Resize) -> None:
        self._measure()
        self._keep_visible()

    def render_line(self, y: int) -> Strip:
        index = round(self.scroll_offset.y) + y
        width = self.size.width
        if index >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[index]
        glyphs = glyphs_of(self.app)
        text = showable(row.text, glyphs)
        marker = glyphs.cursor if index == self.cursor else " "
        line = f"{marker} {text}"
        if cell_len(line) > width:
            line = set_cell_size(line, max(0, width - 1)) + glyphs.ellipsis
        style = self.rich_style
        if index == self.cursor:
            style += _REVERSE
        elif row.value is None:
            style += _BOLD
        return Strip([Segment(set_cell_size(line, width), style)], width)

    def _measure(self) -> None:
        # There are no scroll bars to lay out, so the screen need not be laid out and repainted for it.
        self.set_reactive(RowList.virtual_size, Size(self.size.width, len(self.rows)))

    def _keep_visible(self) -> None:
        """Scroll by half a page when the cursor has left the view: each scroll repaints all of it."""
        height = max(1, self.size.height)
        top = round(self.scroll_offset.y)
        if self.cursor < top or self.cursor >= top + height:
            top = max(0, self.cursor - height // 2)
            self.scroll_to(y=top, animate=False, immediate=True, force=True)

    def action_cursor_down(self) -> None:
        self.cursor += 1

    def action_cursor_up(self) -> None:
        self.cursor -= 1

    def action_cursor_page_down(self) -> None:
        self.cursor += max(1, self.size.height - 1)

    def action_cursor_page_up(self) -> None:
        self.cursor -= max(1, self.size.height - 1)

    def action_cursor_top(self) -> None:
        self.cursor = 0

    def action_cursor_bottom(self) -> None:
        self.cursor = len(self.rows) - 1

    def action_open_row(self) -> None:
        if self.current is not None and self.current.value is not None:
            self.post_message(self.Opened(self.current))

    def on_click(self, event: events.Click) -> None:
        self.cursor = round(self.scroll_offset.y) + event.y
        if event.chain > 1:
            self.action_open_row()
