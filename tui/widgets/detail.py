"""The detail of the row under the cursor: why, picture, code, what to do, figures; scrolls with the keys.

Where there is little room the line of code and the picture come first: they say most in least.
"""

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
from .code import code_lines
from .wrap import wrap

if TYPE_CHECKING:
    from npulse.core.views import Detail

_FACT_GAP = 2
_BRIEF_LINES = 3
"""In fewer lines than these the name is left out: the table has it, the finding is nowhere else."""
_SHORT_LINES = 14
"""In fewer lines than these a line of code and a picture come before the words."""
_CODE_AROUND = ((32, 99), (20, 3), (_SHORT_LINES, 2), (10, 1), (0, 0))
"""Lines shown on both sides of the meant one, by the height there is at least."""

_Line = tuple[str, bool]
"""Text, and whether it is the line that is meant."""


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
            text, is_marked = shown[-1]
            shown[-1] = self._with_marker(text, n_more), is_marked
        content = Content("\n".join(text for text, _ in shown))
        at = 0
        for text, is_marked in shown:
            if is_marked:
                content = content.stylize("bold", at, at + len(text))
            at += len(text) + 1
        return content.stylize("reverse", 0, len(shown[0][0])) if self.has_focus and shown else content

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

    def _lines(self) -> list[_Line]:
        """All lines at the width of the moment."""
        detail, height = self.detail, self.size.height
        if detail is None:
            return []
        glyphs, width = glyphs_of(self.app), max(20, self.size.width)
        picture = self._picture(detail)
        is_short = _BRIEF_LINES <= height < _SHORT_LINES and bool(picture)
        name = [] if is_short or height < _BRIEF_LINES else self._wrapped(detail.name)
        note = self._wrapped(f"{tr('detail.note', self._lang)}: {self.note}") if self.note else []
        said = [*self._wrapped(detail.headline), *note]
        facts = _columns([showable(f"{name} {value}", glyphs) for name, value in detail.facts], width)
        parts = [*picture, *said] if is_short else [*name, *said, *picture]
        return [*parts, *self._next(detail), *((line, False) for line in facts)]

    def _picture(self, detail: Detail) -> list[_Line]:
        """The drawing, then the code with as many lines around the meant one as the height allows."""
        glyphs, width = glyphs_of(self.app), max(20, self.size.width)
        drawn = detail.draw(width, glyphs.is_ascii) if detail.draw is not None else ()
        around = next(lines for least, lines in _CODE_AROUND if self.size.height >= least)
        code = code_lines(detail.code, width, glyphs, around)
        if around and code and detail.source is not None and detail.source != (detail.name, None, ""):
            code = [*self._source(detail), *code]
        return [*((showable(line, glyphs), False) for line in drawn), *code]

    def _next(self, detail: Detail) -> list[_Line]:
        step = detail.next_step
        lines = self._wrapped(f"{tr('detail.next', self._lang)}: {step}") if step else []
        return lines if detail.code else [*lines, *self._source(detail)]

    def _source(self, detail: Detail) -> list[_Line]:
        if detail.source is None:
            return []
        file, line, text = detail.source
        place = file if line is None else f"{file}:{line}"
        return self._wrapped(f"{tr('detail.source', self._lang)}: {place}  {text}")

    def _wrapped(self, text: str) -> list[_Line]:
        glyphs = glyphs_of(self.app)
        return [(line, False) for line in wrap(showable(text, glyphs), max(20, self.size.width))]

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
