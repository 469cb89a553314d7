"""Where to write what a pane shows."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from .entry import Entry
from .page import Page


class ExportPage(Page["str | None"]):
    """A path to write to; Enter dismisses with it. The suffix decides the format."""

    AUTO_FOCUS = "Entry"
    is_typing = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self._suggested = name

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Entry(self._suggested)

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("export.title"))

    def on_input_submitted(self) -> None:
        self.dismiss(self.query_one(Entry).value.strip() or None)
