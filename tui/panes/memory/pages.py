"""A page of lines to read, some of them code: `n` and `N` walk the places, `e` opens the editor there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType

from ...actions import bindings_for
from ...screens.page import ListPage
from ...screens.rows import Row, RowList

Place = tuple[Path, "int | None"]


@dataclass(frozen=True, slots=True)
class PageLine:
    """is_strong: drawn bold. is_marked: a line of code that is meant. place: what the editor opens there."""

    text: str
    is_strong: bool = False
    is_marked: bool = False
    place: Place | None = None


class CodePage(ListPage):
    """Lines; with `at_mark` the cursor begins on the first line that is meant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in bindings_for("pane")
        if binding.id in ("pane.edit", "pane.next", "pane.previous")
    ]
    can_open = False

    def __init__(
        self,
        title_id: str,
        lines: Sequence[PageLine],
        *,
        place: Place | None = None,
        at_mark: bool = False,
        **values: Any,
    ) -> None:
        super().__init__()
        self._title_id, self._values = title_id, values
        self._lines = tuple(lines)
        self._place = place
        self._at_mark = at_mark

    def title_text(self) -> str:
        return self.plain(self.tr(self._title_id, **self._values))

    def make_rows(self) -> Sequence[Row]:
        """A row without a value is bold."""
        return [Row(line.text, None if line.is_strong else line, line.text) for line in self._lines]

    def take(self, row: Row) -> None:
        pass

    async def begin(self) -> None:
        if self._at_mark:  # once the height is known, so that lines stand on both sides of it
            self.call_after_refresh(self._go, 1, -1)

    def in_footer(self, action_id: str) -> bool:
        n_marked = sum(line.is_marked for line in self._lines)
        return n_marked > 1 if action_id == "pane.next" else True

    def action_next_finding(self, step: int) -> None:
        """To the next place, or the one before."""
        self._go(step, self.query_one(RowList).cursor)

    def _go(self, step: int, here: int) -> None:
        marked = [at for at, line in enumerate(self._lines) if line.is_marked]
        if not marked:
            return
        behind = [at for at in marked if (at > here if step > 0 else at < here)]
        first, last = (behind or marked)[0], (behind or marked)[-1]
        self.query_one(RowList).cursor = first if step > 0 else last

    def action_edit(self) -> None:
        """At the line under the cursor, else at the place that the page is about."""
        cursor = self.query_one(RowList).cursor
        place = self._lines[cursor].place if cursor < len(self._lines) else None
        place = place or self._place
        if place is None:
            self.shell.notice_nothing("pane.edit")
        else:
            self.shell.edit(*place)
