"""One call computed again on the CPU: within what its dtype allows, or not, on each side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from npulse.core.formats.msprobe.names import short_name

from ...screens.page import ListPage
from ...screens.rows import Row

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.recheck.report import Rechecked


class RecheckPage(ListPage):
    """Computes in a worker; what was found is a line a fact."""

    can_open = False

    class Ready(Message):
        """It has been computed."""

        def __init__(self, found: Rechecked) -> None:
            super().__init__()
            self.found = found

    def __init__(self, comparison: Comparison, rank: RankComparison, call: int) -> None:
        super().__init__()
        self._comparison, self._rank, self._call = comparison, rank, call
        self.found: Rechecked | None = None

    async def begin(self) -> None:
        self._compute()

    @work(thread=True, exclusive=True, group="recheck", exit_on_error=False, description="recheck")
    def _compute(self) -> None:
        from npulse.core.recheck.compared import recheck_compared

        worker = get_current_worker()
        found = recheck_compared(
            self._comparison, self._rank, self._call, is_cancelled=lambda: worker.is_cancelled
        )
        if not worker.is_cancelled:
            self.post_message(self.Ready(found))

    @on(Ready)
    def _take(self, message: Ready) -> None:
        self.found = message.found
        self.retranslate()

    def title_text(self) -> str:
        rank = self._rank
        name = rank.rows.pairing.name(rank.target, rank.golden, self._call)
        return self.tr("recheck.title", name=self.plain(short_name(name)))

    def empty_text(self) -> str:
        return self.tr("recheck.computing")

    def make_rows(self) -> Sequence[Row]:
        if self.found is None:
            return ()
        return [Row(line, value=line or None, detail=line) for line in self.found.lines(self.shell.lang)]

    def take(self, row: Row) -> None:
        pass
