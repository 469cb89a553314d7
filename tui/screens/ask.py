"""A question with yes and no, over the screen that it is about."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from ..actions import bindings_for
from .page import Page


class AskPage(Page[bool], ModalScreen[bool], inherit_bindings=False):
    """Dismisses with True (yes) or False (no)."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("ask")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose_body(self) -> ComposeResult:
        lines = (self.plain(line) for line in self._text.split("\n"))
        yield Static("\n".join(lines), id="question", markup=False)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)
