"""The lines around the panes: header, tabs, footer, and the message for a terminal that is too small."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from npulse.core.dataclass import dataclass
from npulse.core.text import safe_text

from .glyphs import Glyphs, ascii_text, glyphs_of


@dataclass(frozen=True, slots=True)
class HeaderState:
    """What the first line says. `facts` are short texts, most useful first; they stand right of the path."""

    path: str = ""
    facts: tuple[str, ...] = ()
    alert: str = ""
    corner: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """One pane in the tab line."""

    area: str
    key: str
    name: str


class HeaderLine(Widget):
    """Product, path (cut in the middle), round, work in progress, number of problems, language."""

    DEFAULT_CSS = "HeaderLine { height: 1; }"
    ALLOW_SELECT = False
    state: reactive[HeaderState] = reactive(HeaderState())

    def render(self) -> Content:
        width = self.size.width
        glyphs = glyphs_of(self.app)
        alert, corner = self.state.alert, self.state.corner
        right_cells = cell_len(alert) + cell_len(corner) + 2
        middle = ""
        room = width - len(" npulse  ") - right_cells - 2
        separator = " . " if glyphs.is_ascii else " · "
        for fact in self.state.facts:
            longer = middle + (separator if middle else "") + fact
            if cell_len(longer) > room - min(20, cell_len(self.state.path)) - 2:
                break
            middle = longer
        path = cut_middle(safe_text(self.state.path), max(0, room - cell_len(middle) - 2), glyphs)
        left = f"{path}  {middle}" if middle else path
        gap = " " * max(1, width - len(" npulse  ") - cell_len(left) - right_cells)
        return Content.assemble(
            (" npulse  ", "bold"), left, gap, (alert, "bold reverse" if alert else ""), f"  {corner}"
        )


class TabBar(Widget):
    """The seven panes with their keys; the active one is reverse."""

    DEFAULT_CSS = "TabBar { height: 1; }"
    ALLOW_SELECT = False
    tabs: reactive[tuple[Tab, ...]] = reactive(())
    active: reactive[str] = reactive("")

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, area: str) -> None:
            super().__init__()
            self.area = area

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        for text, area in self._labels():
            parts.append((text, "bold reverse" if area == self.active else ""))
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[str, str]]:
        """(text, area) side by side: full names, then names without gaps, then keys with one name."""
        full = [(f"{tab.key} {tab.name}", tab.area) for tab in self.tabs]
        for gap in ("  ", " "):
            if sum(cell_len(text) + len(gap) for text, _ in full) - len(gap) <= self.size.width:
                return _spaced(full, gap)
        short = [(text if area == self.active else text.split(" ")[0], area) for text, area in full]
        return _spaced(short, " ")

    def on_click(self, event: events.Click) -> None:
        x = 0
        for text, area in self._labels():
            x += cell_len(text)
            if event.x < x:
                if area:
                    self.post_message(self.Chosen(area))
                return


class FooterLine(Widget):
    """Keys and words of what can be done now; as many as fit, the last ones always."""

    DEFAULT_CSS = "FooterLine { height: 1; }"
    ALLOW_SELECT = False
    items: reactive[tuple[tuple[str, str], ...]] = reactive(())
    n_always: int = 2

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        for key, word in fitting_items(self.items, self.size.width, self.n_always):
            parts += [(f" {key}", "bold"), (f" {word} ", "")]
        return Content.assemble(*parts)


class TooSmall(Widget):
    """Shown instead of everything else below 40 x 10."""

    DEFAULT_CSS = "TooSmall { display: none; height: 1fr; width: 1fr; }"
    text: reactive[str] = reactive("")

    def render(self) -> Content:
        return Content(self.text)


def fitting_items(
    items: tuple[tuple[str, str], ...], width: int, n_always: int
) -> tuple[tuple[str, str], ...]:
    """The items that fit in `width` cells: the last `n_always` first of all, then from the left."""
    split = max(0, len(items) - n_always)
    always = items[split:]
    room = width - sum(_item_width(item) for item in always)
    kept = []
    for item in items[:split]:
        room -= _item_width(item)
        if room < 0:
            break
        kept.append(item)
    return (*kept, *always)


def cut_middle(text: str, width: int, glyphs: Glyphs) -> str:
    """Safe text in at most `width` cells, its middle left out: both ends of a path say something."""
    if glyphs.is_ascii:
        text = ascii_text(text)
    if cell_len(text) <= width:
        return text
    room = width - 1
    if room < 2:
        return text and set_cell_size(glyphs.ellipsis, max(0, width))
    head = set_cell_size(text, room // 3).rstrip()
    tail = ""
    for character in reversed(text):
        if cell_len(head) + cell_len(character + tail) > room:
            break
        tail = character + tail
    return head + glyphs.ellipsis + tail


def _item_width(item: tuple[str, str]) -> int:
    return cell_len(item[0]) + cell_len(item[1]) + 3


def _spaced(labels: list[tuple[str, str]], gap: str) -> list[tuple[str, str]]:
    spaced: list[tuple[str, str]] = []
    for label in labels:
        if spaced:
            spaced.append((gap, ""))
        spaced.append(label)
    return spaced
