"""A pane that reads nothing, for tests of the workbench around it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from npulse.core.text import safe_text
from npulse.tui.actions import PANES
from npulse.tui.panes.base import Pane
from npulse.tui.screens.rows import Row, RowList

if TYPE_CHECKING:
    from npulse.core.run.model import Run


class PlainPane(Pane):
    """Says what of its area lies in the round, kind by kind."""

    DEFAULT_CSS = "PlainPane { padding: 0 1; }"

    def compose(self) -> ComposeResult:
        rows = RowList()
        rows.can_open = False
        yield rows

    def watch_run(self, run: Run | None) -> None:
        self.retranslate()

    def watch_round_index(self, index: int) -> None:
        self.retranslate()

    def in_footer(self, action_id: str) -> bool:
        return False

    def retranslate(self) -> None:
        for rows in self.query(RowList):
            rows.rows = [Row(line, value=line) for line in self.lines()]

    def lines(self) -> list[str]:
        """What the pane says, line by line."""
        if self.shell.open_error:
            return [self.tr("pending.failed", message=safe_text(self.shell.open_error))]
        if self.run is None:
            return [self.tr("pending.opening" if self.shell.run_path else "pending.no-run")]
        name = next(
            (zh if self.shell.lang == "zh" else en for area, en, zh in PANES if area == self.area), ""
        )
        counted = Counter(artifact.kind for artifact in (self.round.artifacts if self.round else ()))
        return [
            f"<{name}>: {sum(counted.values())}",
            *(f"{n}  {kind}" for kind, n in sorted(counted.items())),
        ]
