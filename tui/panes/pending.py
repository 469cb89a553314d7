"""The pane of an area that can't be read yet: says what it will read and what of that lies in this run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from npulse.core.text import safe_text

from ..actions import PANES
from ..screens.rows import Row, RowList
from ..widgets.wrap import wrap
from .base import Pane
from .capturing import commands_of

if TYPE_CHECKING:
    from npulse.core.run.kinds import Kind
    from npulse.core.run.model import Run


_MARGIN = 6  # padding of the pane, marker of the list


class PendingPane(Pane):
    """Recognised artifacts of the area, counted, and the commands that write what it will read."""

    DEFAULT_CSS = "PendingPane { padding: 0 1; }"

    def compose(self) -> ComposeResult:
        rows = RowList()
        rows.can_open = False
        yield rows

    def on_resize(self) -> None:
        self.retranslate()

    def watch_run(self, run: Run | None) -> None:
        self.retranslate()

    def watch_round_index(self, index: int) -> None:
        self.retranslate()

    def in_footer(self, action_id: str) -> bool:
        return False

    def retranslate(self) -> None:
        for rows in self.query(RowList):
            width = max(20, self.size.width - _MARGIN)
            wrapped = [part for line in self.lines() for part in wrap(line, width) or [""]]
            rows.rows = [Row(line, value=line or None) for line in wrapped]

    def lines(self) -> list[str]:
        """What the pane says, line by line."""
        zh = self.shell.lang == "zh"
        name = next((zh_name if zh else en for area, en, zh_name in PANES if area == self.area), self.area)
        lines = [self.tr("pending.title", name=name), "", self.tr(f"pending.{self.area}")]
        return lines + ["", *self._found_lines()]

    def _found_lines(self) -> list[str]:
        if self.shell.open_error:
            return [self.tr("pending.failed", message=safe_text(self.shell.open_error))]
        if self.run is None:
            waiting = "pending.opening" if self.shell.run_path else "pending.no-run"
            return [self.tr(waiting)]
        round_ = self.round
        kinds = self._kinds()
        found = Counter(a.kind for a in (round_.artifacts if round_ else ()) if a.kind in kinds)
        if not found:
            path = safe_text(str(self.run.path))
            lines = [self.tr("pending.nothing", n_entries=self.run.n_entries, path=path), ""]
            lines.append(self.tr("pending.capture"))
            return lines + [f"  {command}" for command in commands_of(kinds.values())]
        lines = [self.tr("pending.found", n=sum(found.values()))]
        for name, count in sorted(found.items()):
            lines.append(f"  {count:>7,}  {name}  {self._state_of(kinds[name])}")
        lines += ["", self.tr("pending.captured-by")]
        return lines + [f"  {command}" for command in commands_of(kinds[name] for name in sorted(found))]

    def _state_of(self, kind: Kind) -> str:
        """What the kind is, and whether it is only recognised."""
        title = kind.title_zh if self.shell.lang == "zh" else kind.title
        return title if kind.is_read else f"{title} ({self.tr('pending.not-read')})"

    def _kinds(self) -> dict[str, Kind]:
        """The kinds of artifact this pane looks at; the check-up and the rounds look at all."""
        from npulse.core.run.kinds import KINDS

        everything = self.area in ("checkup", "rounds")
        return {name: kind for name, kind in KINDS.items() if everything or self.area in kind.areas}
