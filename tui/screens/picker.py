"""Which run to open: those opened before, or a path that is typed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from .page import PickPage, matching
from .rows import Row


class PickerPage(PickPage):
    """Dismisses with the path to open, or None."""

    has_detail = True
    placeholder_id = "picker.placeholder"

    def title_text(self) -> str:
        return self.tr("picker.title")

    def empty_text(self) -> str:
        return self.tr("picker.no-match") if self.typed else self.tr("picker.empty")

    def make_rows(self) -> Sequence[Row]:
        typed = self.typed.strip()
        recent = [self._row(run.path, run.opened_s, run.verdict) for run in self.shell.store.recent()]
        rows = matching(typed, recent, lambda row: str(row.value))
        if typed and (typed[0] in "/~." or not rows):
            path = os.path.expanduser(typed)
            rows.insert(0, Row(self.tr("picker.open-typed", path=typed), value=path))
        return rows

    def _row(self, path: str, opened_s: int, verdict: str) -> Row:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(opened_s)) if opened_s else " " * 16
        known = verdict if verdict in ("pass", "warn", "fail", "unknown", "incomplete") else "-"
        return Row(f"{when}  {known:<10}  {path}", value=path, detail=path)
