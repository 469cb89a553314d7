"""One line to type in: nothing blinks, nothing pasted can hold a control character."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import Input

from npulse.core.text import safe_text

from ..actions import bindings_for

MAX_CHARACTERS = 4000


class Entry(Input, inherit_bindings=False):
    """An input line whose keys come from the registry. Posts `Input.Changed` and `Input.Submitted`."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("entry")]

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(
            value,
            placeholder=placeholder,
            id=id,
            select_on_focus=False,
            compact=True,
            max_length=MAX_CHARACTERS,
        )
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        return safe_text(value, MAX_CHARACTERS)
