"""Codes, exit statuses, pitfalls and rules: a list that narrows while one types, in either language."""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.guide import Entry, search
from npulse.core.guide.lines import entry_lines

from ..widgets.cells import pad
from ..widgets.wrap import wrap
from .page import PickPage
from .rows import Row

_CODE_CELLS = 14


class CodesPage(PickPage):
    """The text of the entry under the cursor stands below the list; Enter shows all of it."""

    has_detail = True
    placeholder_id = "codes.placeholder"

    def title_text(self) -> str:
        return self.tr("codes.title", n=len(search(self.typed)))

    def empty_text(self) -> str:
        return self.tr("codes.empty")

    def make_rows(self) -> Sequence[Row]:
        return [self._row(entry) for entry in search(self.typed)]

    def _row(self, entry: Entry) -> Row:
        title = entry.title[self.shell.lang == "zh"]
        text = f"{pad(entry.code, _CODE_CELLS)} {title}"
        return Row(text, value=entry, detail="\n".join(entry_lines(entry, self.shell.lang)))

    def take(self, row: Row) -> None:
        lines = [
            part for line in row.detail.split("\n") for part in wrap(line.strip(), self.app.size.width - 4)
        ]
        self.shell.show_lines("codes.entry", lines)
