"""One of some named things, chosen while typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .page import PickPage, matching
from .rows import Row


class ChoicePage(PickPage):
    """One of some named things; Enter dismisses with its value, which is never None: that is no choice."""

    placeholder_id = "choice.placeholder"

    def __init__(self, title_id: str, choices: Sequence[tuple[str, Any]]) -> None:
        super().__init__()
        self._title_id = title_id
        self._choices = tuple(choices)

    def title_text(self) -> str:
        return self.tr(self._title_id)

    def empty_text(self) -> str:
        return self.tr("choice.none")

    def make_rows(self) -> Sequence[Row]:
        rows = [Row(name, value=value) for name, value in self._choices]
        return matching(self.typed, rows, lambda row: row.text)
