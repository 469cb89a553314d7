"""Choose which columns a table shows, or go to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from npulse.core.text import Lang

from ..widgets.cells import pad
from .page import ListPage, PickPage, matching
from .rows import Row, RowList


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """The columns of a table by name, with what to call them and what they say, in a language."""

    names: tuple[str, ...]
    heading: Callable[[str, Lang], str]
    meaning: Callable[[str, Lang], str]

    def text(self, name: str, lang: Lang, width: int) -> str:
        """Heading, then what the column says; the name that a filter takes where that is another one."""
        heading, meaning = self.heading(name, lang), self.meaning(name, lang)
        named = name if heading == name else f"{heading}  ({name})"
        return f"{pad(named, width)}  {meaning}" if meaning else named


_NAME_CELLS = 26


class ColumnsPage(ListPage):
    """Enter shows or hides a column; leaving the page keeps the choice. Dismisses with the hidden names."""

    def __init__(self, words: ColumnWords, hidden: frozenset[str]) -> None:
        super().__init__()
        self._words = words
        self._hidden = set(hidden)

    def title_text(self) -> str:
        return self.tr("columns.title")

    def make_rows(self) -> Sequence[Row]:
        return [self._row(name) for name in self._words.names]

    def _row(self, name: str) -> Row:
        text = self._words.text(name, self.shell.lang, _NAME_CELLS)
        full = self._words.text(name, self.shell.lang, 0)
        return Row(f"[{' ' if name in self._hidden else 'x'}] {text}", value=name, detail=full)

    def take(self, row: Row) -> None:
        self._hidden ^= {row.value}
        listing = self.query_one(RowList)
        cursor = listing.cursor
        listing.rows = self.make_rows()
        listing.cursor = cursor

    def dismiss(self, result: Any = None) -> Any:
        return super().dismiss(frozenset(self._hidden))


class FindColumnPage(PickPage):
    """Type to narrow; Enter dismisses with the column's name."""

    placeholder_id = "find-column.placeholder"

    def __init__(self, words: ColumnWords) -> None:
        super().__init__()
        self._words = words

    def title_text(self) -> str:
        return self.tr("find-column.title")

    def empty_text(self) -> str:
        return self.tr("find-column.none")

    def make_rows(self) -> Sequence[Row]:
        words, lang = self._words, self.shell.lang
        rows = [Row(words.text(name, lang, _NAME_CELLS), value=name) for name in words.names]
        return matching(self.typed, rows, lambda row: f"{words.heading(row.value, lang)} {row.value}")
