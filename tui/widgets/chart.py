"""A picture of characters that is drawn anew for each size: a title that may be cut, then its lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from ..glyphs import glyphs_of, showable
from .cells import cut

Drawing = Callable[[int, int, bool], Sequence[str]]
"""(width, height, ASCII alone) -> lines; all but the first have at most that width."""


class Chart(Widget):
    """Set `drawing`; None takes no room."""

    DEFAULT_CSS = """
    Chart { height: 4; width: 1fr; padding: 0 1; display: none; }
    Chart.-drawn { display: block; }
    """
    ALLOW_SELECT = False

    drawing: reactive[Drawing | None] = reactive(None)

    def watch_drawing(self, drawing: Drawing | None) -> None:
        self.set_class(drawing is not None, "-drawn")

    def render(self) -> Content:
        if self.drawing is None or not self.size.width:
            return Content("")
        glyphs = glyphs_of(self.app)
        lines = self.drawing(self.size.width, self.size.height, glyphs.is_ascii)
        shown = [cut(showable(line, glyphs), self.size.width, glyphs.ellipsis) for line in lines]
        return Content("\n".join(shown))
