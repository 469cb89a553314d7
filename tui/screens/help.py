"""All actions with their keys in force, by scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import BindingType

from ..actions import bindings_for
from ..keymap import describe_keys
from .page import ListPage
from .rows import Row


class HelpPage(ListPage):
    """What every key does; the last heading says where the user's own map belongs."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("help")]
    can_open = False
    has_detail = False

    def action_show_guide(self) -> None:
        self.shell.action_show_guide()

    def action_search_codes(self) -> None:
        self.shell.action_search_codes()

    def title_text(self) -> str:
        return self.tr("help.title", name=self.shell.keymap.name or "default")

    def make_rows(self) -> Sequence[Row]:
        rows: list[Row] = []
        heading = ""
        for entry in describe_keys(self.shell.lang, self.shell.keys):
            if entry.scope != heading:
                heading = entry.scope
                rows += ([Row("")] if rows else []) + [Row(heading)]
            keys = entry.keys + " " * max(1, 14 - cell_len(entry.keys))
            rows.append(Row(f"  {keys}{entry.help}", value=entry.id))
        return rows

    def take(self, row: Row) -> None:
        pass
