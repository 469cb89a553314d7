"""Every action by name: type to narrow, Enter runs it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ..actions import ACTIONS
from ..keymap import show_keys
from .page import PickPage, matching
from .rows import Row


class PalettePage(PickPage):
    """Dismisses with the id of the chosen action, or None. English, Chinese and ids all match."""

    placeholder_id = "palette.placeholder"

    def title_text(self) -> str:
        return self.tr("palette.title")

    def empty_text(self) -> str:
        return self.tr("palette.no-match")

    def make_rows(self) -> Sequence[Row]:
        searched = {a.id: f"{a.id} {a.help_en} {a.help_zh}" for a in ACTIONS}
        rows = []
        for action in ACTIONS:
            if action.palette:
                keys = show_keys(self.shell.keys.get(action.id, ()))
                text = keys + " " * max(1, 10 - cell_len(keys)) + action.help(self.shell.lang)
                rows.append(Row(text, value=action.id))
        return matching(self.typed, rows, lambda row: searched[row.value])
