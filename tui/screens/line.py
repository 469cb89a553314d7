"""One line to type, under a title that says what is asked and a line of what helps to answer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from .entry import Entry
from .page import Page


class LinePage(Page["str | None"]):
    """Enter dismisses with the line without blanks at its ends, back with None."""

    AUTO_FOCUS = "Entry"
    is_typing = True

    def __init__(self, title_id: str, line: str, detail: str = "") -> None:
        super().__init__()
        self._title_id = title_id
        self._suggested = line
        self._detail = detail

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        if self._detail:
            yield Static(self.plain(self._detail), id="detail", markup=False)
        yield Entry(self._suggested)

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr(self._title_id))

    def on_input_submitted(self) -> None:
        self.dismiss(self.query_one(Entry).value.strip())
