"""Rows that go on coming: put in order, shown in one step, marked for a moment; or kept back while paused."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from ..keymap import show_keys
from ..widgets.virtual_table import ADDED, CHANGED, VirtualTable
from .base import LIVE_GROUP, ViewState
from .growth import NEW, rows_before
from .order import order_rows
from .table_keys import TableKeys

if TYPE_CHECKING:
    from npulse.core.table import Order, Table

MARK_S = 3.0
"""How long a row shows that it is new or has changed."""
MAX_MARKED_ROWS = 200_000
"""In longer tables rows are known by their number alone."""


class LiveRows(TableKeys):
    """What a look brings is shown in one step, with the cursor on the row on which it was."""

    key_columns: ClassVar[tuple[str, ...]] = ()
    """The columns by which a row is known again."""

    share_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns whose values change with every other row's, or with every look: no change of the row."""

    class Arranged(Message):
        """What a look has brought, ready to be shown in place of `before`."""

        def __init__(self, epoch: int, made: Any, before: Table, view: ViewState) -> None:
            super().__init__()
            self.epoch = epoch
            self.made = made
            self.before = before
            self.view = view
            self.order: Order | None = None
            self.trouble = ""
            self.origin: Order = np.zeros(0, np.int64)
            self.cost_s = 0.0

    def __init__(self, area: str) -> None:
        super().__init__(area)
        self._is_paused = False
        self._held: Any = None
        """What has come while paused: the last of it, since each has all."""
        self._n_held = 0
        self._epoch = 0
        """Counts the runs, rounds and choices whose rows were shown: what is of another one is dropped."""
        self._is_arranging = False
        self._next: Any = None
        """What came while rows were put in order: it is the next."""
        self._mark_timer: Timer | None = None
        self._marks: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self._marked_until_s: npt.NDArray[np.float64] = np.zeros(0)
        self._origin: Order | None = None
        self._came_s = 0.0
        self._rows_per_s = 0.0

    # ---- hooks ----

    def show_arranged(self, made: Any, order: Order | None, trouble: str) -> None:
        """Show these rows in place of those that stand there."""

    # ---- following ----

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def rows_per_s(self) -> float:
        return self._rows_per_s

    def end_following(self) -> None:
        held, self._held, self._is_paused = self._held, None, False
        self._rows_per_s = 0.0
        super().end_following()
        if held is not None:
            self.take(held)

    def action_pause(self) -> None:
        if not self.is_following:
            super().action_pause()
        elif self._is_paused:
            held, self._held, self._is_paused = self._held, None, False
            if held is not None:
                self.take(held)
            self._say_pause()
        else:
            self._pause()

    def _pause(self) -> None:
        self._is_paused, self._n_held = True, 0
        self._say_pause()

    def _say_pause(self) -> None:
        self.job_changed()
        self.shell.refresh_header()

    @on(VirtualTable.WentUp)
    def _went_up(self) -> None:
        """Who goes up wants to read: rows that come meanwhile must not get in between."""
        if self.is_following and not self._is_paused and self._mark_timer is not None:
            self._pause()

    def live_text(self) -> str:
        """What the line under the table says of following."""
        if self._is_paused:
            dot = "." if self.shell.glyphs.is_ascii else "\N{MIDDLE DOT}"
            key = show_keys(self.shell.keys.get("pane.pause", ())[:1])
            if self._held is not None and not self._n_held:
                return self.tr("live.held-figures", key=key, dot=dot)
            return self.tr("live.held", n=self._n_held, key=key, dot=dot)
        return self.tr("live.following") if self.is_following else ""

    def rows_by_rank(self) -> Mapping[int | None, int]:
        from npulse.core.watch.recorded import rows_by_rank

        table = self.shown_table()
        return {} if table is None else rows_by_rank(table)

    # ---- what a look brings ----

    def put_in_order(self, made: Any) -> None:
        """Put what a look has brought in the order of the view; what stands there stays until then."""
        before = self.shown_table()
        assert before is not None
        if self._is_arranging:
            self._next = made
            return
        self._is_arranging = True
        self._arrange_rows(self.Arranged(self._epoch, made, before, self.view), self.key_columns)

    @property
    def is_looking(self) -> bool:
        return self._is_arranging or super().is_looking

    @work(thread=True, group=LIVE_GROUP, exit_on_error=False, description="live rows")
    def _arrange_rows(self, arranged: Arranged, keys: tuple[str, ...]) -> None:
        began_s = monotonic()
        table = arranged.made.table
        is_short = max(table.n_rows, arranged.before.n_rows) <= MAX_MARKED_ROWS
        arranged.order, arranged.trouble = order_rows(table, arranged.view)
        arranged.origin = rows_before(arranged.before, table, keys if is_short else ())
        arranged.cost_s = monotonic() - began_s
        self.post_message(arranged)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.group == LIVE_GROUP and event.state == WorkerState.ERROR:
            self._is_arranging = False
            self._go_on(0.0)

    @on(Arranged)
    def _take_arranged(self, message: Arranged) -> None:
        self._is_arranging = False
        if message.epoch == self._epoch:
            self._show_or_hold(message)
        self._go_on(message.cost_s)

    def _go_on(self, cost_s: float) -> None:
        """With what came meanwhile, else with the pause before the next look."""
        made, self._next = self._next, None
        if made is not None:
            self.take(made)
        if not self._is_arranging:
            self.look_ended(max(cost_s, self._cost_s))

    def _show_or_hold(self, message: Arranged) -> None:
        now = self.view
        is_current = message.before is self.shown_table()
        if self._is_paused and is_current:
            said = self.live_text()
            self._held, self._n_held = message.made, int(np.count_nonzero(message.origin == NEW))
            self.tell(busy="")
            if self.live_text() != said:
                self.job_changed()
            return
        asked = message.view
        if not is_current or (asked.sort, asked.descending, asked.filter) != (
            now.sort,
            now.descending,
            now.filter,
        ):
            if self.shown_table() is not None:
                self.take(message.made)  # the user has chosen otherwise meanwhile
            return
        self._note_rate(message)
        self._origin = message.origin
        with self.app.batch_update():
            self.show_arranged(message.made, message.order, message.trouble)
            self._mark_rows(message.before, message.origin)
        self._origin = None

    def _note_rate(self, message: Arranged) -> None:
        now_s = monotonic()
        n_new = int(np.count_nonzero(message.origin == NEW))
        self._rows_per_s = n_new / (now_s - self._came_s) if self._came_s else 0.0
        self._came_s = now_s

    # ---- marks ----

    def _mark_rows(self, before: Table, origin: Order) -> None:
        """Mark what is new anywhere and what has changed on the screen; marks of a moment ago go along."""
        now_s, n_old = monotonic(), before.n_rows
        is_new = origin == NEW
        marks, until_s = np.zeros(len(origin), np.int8), np.zeros(len(origin))
        if len(self._marks) == n_old and n_old:
            old = np.maximum(origin, 0)
            is_marked = ~is_new & (self._marked_until_s[old] > now_s)
            marks[is_marked] = self._marks[old][is_marked]
            until_s[is_marked] = self._marked_until_s[old][is_marked]
        changed = self.table.differing(before, origin, self.share_columns)
        marks[changed] = np.maximum(marks[changed], CHANGED)
        marks[is_new] = ADDED
        until_s[changed] = until_s[is_new] = now_s + MARK_S
        self._marks, self._marked_until_s = marks, until_s
        self.table.fresh = marks if marks.any() else None
        if self._mark_timer is not None:
            self._mark_timer.stop()
            self._mark_timer = None
        if marks.any():
            left_s = float(until_s.max()) - now_s
            self._mark_timer = self.set_timer(left_s, self._unmark)

    def _unmark(self) -> None:
        """Take the marks away, all at once: nothing has come for as long."""
        self._mark_timer = None
        self._marks = np.zeros(0, np.int8)
        self._came_s = 0.0
        self.table.fresh = None
        if self._rows_per_s:
            self._rows_per_s = 0.0
            self.shell.refresh_header()

    def forget(self) -> None:
        self._epoch += 1
        self._held, self._n_held, self._next = None, 0, None

    def forget_marks(self) -> None:
        """Other rows are shown: no mark is theirs."""
        if self._mark_timer is not None:
            self._mark_timer.stop()
        self._unmark()
