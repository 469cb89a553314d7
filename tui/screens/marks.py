"""Marked subjects of this run with their notes; Enter goes to one."""

from __future__ import annotations

from collections.abc import Sequence

from ..keymap import show_keys
from .page import ListPage
from .rows import Row


class MarksPage(ListPage):
    """Dismisses with the chosen subject."""

    def title_text(self) -> str:
        return self.tr("marks.title", n=len(self.shell.marks()))

    def empty_text(self) -> str:
        keys = self.shell.keys
        return self.tr("marks.empty", mark=show_keys(keys["pane.mark"]), note=show_keys(keys["pane.note"]))

    def make_rows(self) -> Sequence[Row]:
        rows = []
        for subject, note in self.shell.marks().items():
            text = f"{subject}  {note}" if note else subject
            rows.append(Row(text, value=subject, detail=f"{subject}\n{note}" if note else subject))
        return rows
