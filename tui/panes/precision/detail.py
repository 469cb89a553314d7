"""The detail of the row under the cursor: why, figures, source. Follows the cursor, never blocks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from npulse.core.text import Lang, safe_text

from ...glyphs import ascii_text, glyphs_of
from ...messages import tr
from ...widgets.wrap import wrap

if TYPE_CHECKING:
    from npulse.core.precision.detail import Detail

_FACT_GAP = 2


class DetailView(Widget):
    """Shows one `Detail`; set `detail` as a whole."""

    DEFAULT_CSS = """
    DetailView { height: 1fr; padding: 0 1; overflow: hidden; }
    """
    ALLOW_SELECT = False

    detail: reactive[Detail | None] = reactive(None)

    def render(self) -> Content:
        detail = self.detail
        if detail is None:
            return Content("")
        width = max(20, self.size.width)
        lang: Lang = getattr(self.app, "lang", "en")
        lines = [*wrap(detail.name, width), *wrap(detail.headline, width)]
        if detail.next_step:
            lines += wrap(f"{tr('precision.next', lang)}: {detail.next_step}", width)
        frame = detail.user_frame
        if frame is not None:
            lines += wrap(f"{tr('precision.source', lang)}: {frame.file}:{frame.line}  {frame.source}", width)
        lines += _columns([(name, value) for name, value in detail.facts], width)
        shown = [self._safe(line) for line in lines[: max(1, self.size.height)]]
        return Content("\n".join(shown))

    def _safe(self, line: str) -> str:
        text = safe_text(line)
        return ascii_text(text) if glyphs_of(self.app).is_ascii else text


def _columns(facts: list[tuple[str, str]], width: int) -> list[str]:
    """Facts side by side where they fit; the long ones (statistics of a side) have a line of their own."""
    lines: list[str] = []
    short: list[str] = []
    for name, value in facts:
        text = f"{name} {value}"
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
