"""All actions with their keys in force, by scope."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ..keymap import describe_keys
from .page import ListPage
from .rows import Row


class HelpPage(ListPage):
    """What every key does; the last heading says where the user's own map belongs."""

    can_open = False
    has_detail = False

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
