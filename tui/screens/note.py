"""A note on one subject."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from .entry import Entry
from .page import Page


class NotePage(Page[str | None]):
    """Dismisses with the note (Enter), or None (back). Changed text is not thrown away unasked."""

    AUTO_FOCUS = "Entry"
    is_typing = True

    def __init__(self, subject: str, note: str) -> None:
        super().__init__()
        self._subject = subject
        self._note = note

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(self.plain(self._subject), id="detail", markup=False)
        yield Entry(self._note)

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("note.title"))
        self.query_one(Entry).placeholder = self.tr("note.placeholder")

    def question(self) -> str | None:
        changed = self.query_one(Entry).value != self._note
        return self.tr("note.unsaved") if changed else None

    def on_input_submitted(self) -> None:
        self.dismiss(self.query_one(Entry).value)
