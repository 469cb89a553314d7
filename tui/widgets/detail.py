"""The detail of the row under the cursor: why, what to do, source, figures; scrolls when it has the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from npulse.core.text import Lang

from ..actions import bindings_for
from ..glyphs import glyphs_of, showable
from ..messages import tr
from .cells import cut, pad
from .wrap import wrap

if TYPE_CHECKING:
    from npulse.core.views import Detail

_FACT_GAP = 2
_BRIEF_LINES = 3
"""In fewer lines than these the name is left out: the table has it, the finding is nowhere else."""


class DetailView(Widget, can_focus=True, inherit_bindings=False):
    """Shows one `Detail`: set `detail` as a whole. The first line is reverse while it has the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [b for b in bindings_for("move") if b.id != "move.open"]
    DEFAULT_CSS = """
    DetailView { height: 1fr; padding: 0 1; overflow: hidden; }
    """
    ALLOW_SELECT = False

    detail: reactive[Detail | None] = reactive(None)
    note: reactive[str] = reactive("")
    """The user's own words on the subject."""
    top: reactive[int] = reactive(0)
    """The first line that is shown."""

    def watch_detail(self) -> None:
        self.set_reactive(DetailView.top, 0)

    def validate_top(self, top: int) -> int:
        return max(0, min(top, len(self._lines()) - self._page))

    @property
    def _page(self) -> int:
        return max(1, self.size.height)

    def render(self) -> Content:
        lines = self._lines()
        top = max(0, min(self.top, len(lines) - self._page))
        shown = lines[top : top + self._page]
        n_more = len(lines) - top - len(shown)
        if n_more and shown:
            shown[-1] = self._with_marker(shown[-1], n_more)
        text = Content("\n".join(shown))
        return text.stylize("reverse", 0, len(shown[0])) if self.has_focus and shown else text

    def _with_marker(self, line: str, n_more: int) -> str:
        """A line that tells at its right end how many lines stand below."""
        glyphs = glyphs_of(self.app)
        marker = f"  {glyphs.descending} {tr('detail.more', self._lang, n=n_more)}"
        room = max(0, self.size.width - cell_len(marker))
        return pad(cut(line, room, glyphs.ellipsis), room) + marker

    @property
    def _lang(self) -> Lang:
        lang: Lang = getattr(self.app, "lang", "en")
        return lang

    def _lines(self) -> list[str]:
        """All lines at the width of the moment."""
        detail, lang = self.detail, self._lang
        if detail is None:
            return []
        parts = [] if self.size.height < _BRIEF_LINES else [detail.name]
        parts.append(detail.headline)
        if self.note:
            parts.append(f"{tr('detail.note', lang)}: {self.note}")
        if detail.next_step:
            parts.append(f"{tr('detail.next', lang)}: {detail.next_step}")
        if detail.source is not None:
            file, line, text = detail.source
            place = file if line is None else f"{file}:{line}"
            parts.append(f"{tr('detail.source', lang)}: {place}  {text}")
        glyphs, width = glyphs_of(self.app), max(20, self.size.width)
        lines = [line for part in parts for line in wrap(showable(part, glyphs), width)]
        return lines + _columns([showable(f"{name} {value}", glyphs) for name, value in detail.facts], width)

    # ---- keys ----

    def action_cursor_down(self) -> None:
        self.top += 1

    def action_cursor_up(self) -> None:
        self.top -= 1

    def action_cursor_page_down(self) -> None:
        self.top += max(1, self._page - 1)

    def action_cursor_page_up(self) -> None:
        self.top -= max(1, self._page - 1)

    def action_cursor_top(self) -> None:
        self.top = 0

    def action_cursor_bottom(self) -> None:
        self.top = len(self._lines())

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def _columns(facts: list[str], width: int) -> list[str]:
    """Facts side by side where they fit; the long ones (statistics of a side) have a line of their own."""
    lines: list[str] = []
    short: list[str] = []
    for text in facts:
        if cell_len(text) > width // 2 - _FACT_GAP:
            lines += wrap(text, width)
        else:
            short.append(text)
    line = ""
    for text in short:
        joined = f"{line}{' ' * _FACT_GAP if line else ''}{text}"
        if cell_len(joined) > width:
            lines.append(line)
            line = text
        else:
            line = joined
    return [*lines, line] if line else lines
