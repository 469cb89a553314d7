"""The device pane: what a round says of the cards, or what npu-smi says of this machine, again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.analysis import AnalysisOptions
from npulse.core.device.live import LiveDevices
from npulse.core.device.view import SUBJECT, DeviceView
from npulse.core.kept.keeper import settings_of
from npulse.core.text import Lang, clock_text, safe_text
from npulse.core.views import Detail

from ...actions import bindings_for
from ...crash import failure_of
from ...roles import RowStyle
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..base import Pane
from ..capturing import commands_of
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs, style_by_notes
from .jobs import poll, read_round
from .sparks import spark_lines
from .summary import lines_without_rows, nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job

POLL_PAUSE_S = 2.0
"""Between two polls there is at least this, and at least what the last one took: npu-smi costs the host."""
POLL_GROUP = "poll"
_FIRST_KEYS = ("device.poll", "device.now")
_PAGE_MARGIN = 4


class DevicePane(TablePane[DeviceView], inherit_bindings=False):
    """A row a chip; courses of its figures and its processes beside it. Polls only while it is seen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(b for b in bindings_for("device") if b.id in _FIRST_KEYS),
        *Pane.BINDINGS,
        *(b for b in bindings_for("device") if b.id not in _FIRST_KEYS),
    ]
    SCOPED_CSS = False  # as in the class above; it is not inherited
    DEFAULT_CSS = """
    DevicePane #rows { height: 1fr; }
    DevicePane #side { height: 1fr; }
    """

    is_fitted = True
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns: ClassVar[tuple[str, ...]] = (SUBJECT, "side", "artifact")
    export_name = "npulse-device.csv"

    class Polled(Message):
        """What npu-smi said, and how long it took."""

        def __init__(self, view: DeviceView, cost_s: float) -> None:
            super().__init__()
            self.view = view
            self.cost_s = cost_s

    def __init__(
        self,
        area: str = "device",
        options: AnalysisOptions | None = None,
        make_live: Callable[[], LiveDevices] = LiveDevices,
    ) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._make_live = make_live
        self._live: LiveDevices | None = None
        self._recorded: DeviceView | Nothing | None = None
        """What the round says; kept while the table shows the cards of this machine."""
        self._now: DeviceView | None = None
        self._is_now = False
        self._is_polling = False
        self._poll_timer: Timer | None = None
        self._asker: Worker[None] | None = None
        self._polled_at = ""
        self._good_s: float | None = None

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        return partial(read_round, run, round_.name, options=replace(self.options, tails=self.tails))

    def kept_as(self, run: Run, round_: Round) -> object | None:
        asked = settings_of(self.options)
        return asked and (round_.name, asked)

    def busy_text(self) -> str:
        return self.tr("device.reading")

    def verdict(self) -> str:
        """Of the round: the cards of this machine say nothing of it."""
        return "" if self._is_now else super().verdict()

    def take(self, made: Any) -> None:
        self._recorded = made
        if self._is_now:
            self.tell(busy="")
        else:
            super().take(made)

    def forget(self) -> None:
        """Another run or round: what this machine says stays."""
        self._recorded = None
        if not self._is_now:
            super().forget()

    # ---- polling ----

    def action_switch_polling(self) -> None:
        """Ask the cards of this machine again and again, or stop."""
        if self._is_polling:
            self._stop_polling()
            self.shell.notice("device.stopped")
        else:
            self._is_polling = self._is_now = True
            self._poll()
        self._show_summary()

    def action_switch_now(self) -> None:
        """The cards of this machine, or those of the round."""
        if self._is_now and self._recorded is not None:
            self._is_now = False
            self._stop_polling()
            super().take(self._recorded)
        elif not self._is_now and self._now is not None:
            self._is_now = True
            super().take(self._now)
        else:
            self.shell.notice("device.no-other", key=self.key_of("device.poll"))
        self.shell.refresh_footer()

    def _stop_polling(self) -> None:
        self._is_polling = False
        if self._poll_timer is not None:
            self._poll_timer.stop()
            self._poll_timer = None
        if self._asker is not None:
            self._asker.cancel()
        self.tell(busy="")
        if self._now is None and self._is_now:  # it never answered: what the round says stands here again
            self._is_now = False
            if self._recorded is not None:
                super().take(self._recorded)

    def on_hide(self) -> None:
        """Nobody looks: the host and the cards are left alone. It goes on when the pane is seen again."""
        if self._poll_timer is not None:
            self._poll_timer.stop()
            self._poll_timer = None
        asker, self._asker = self._asker, None
        if asker is not None:
            asker.cancel()

    def on_show(self) -> None:
        if self._is_polling and self._poll_timer is None:
            self._poll()

    def _poll(self) -> None:
        self._poll_timer = None
        if not self._is_polling or (self._asker is not None and not self._asker.is_finished):
            return
        if self._live is None:
            self._live = self._make_live()
        if self._now is None:
            self.tell(busy=self.tr("device.asking"))
        self._asker = self._ask(self._live, self.shell.lang)

    @work(thread=True, exclusive=True, group=POLL_GROUP, exit_on_error=False, description="npu-smi")
    def _ask(self, live: LiveDevices, lang: Lang) -> None:
        worker = get_current_worker()
        found, cost_s = poll(live, lang, lambda: worker.is_cancelled)
        if not worker.is_cancelled:
            self.post_message(self.Polled(found, cost_s))

    @on(Polled)
    def _take_polled(self, message: Polled) -> None:
        if not self._is_polling:
            return  # it was stopped while the answer came
        main = message.view.found.main
        if main is not None and main.snapshot.is_known:
            self._good_s = monotonic()
            self._polled_at = clock_text(main.snapshot.taken_ns) if main.snapshot.taken_ns else ""
        self._now = message.view
        if self._is_now:
            super().take(message.view)
        self._poll_timer = self.set_timer(max(POLL_PAUSE_S, message.cost_s), self._poll)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A poll that the user cancelled, or that failed for reasons of ours, ends polling."""
        if event.worker is not self._asker or not self._is_polling:
            return
        if event.state == WorkerState.CANCELLED or failure_of(event) is not None:
            self._stop_polling()
            self._show_summary()

    def live_state(self) -> str:
        """How polling stands, in words; "" while the round is shown."""
        if not self._is_now:
            return ""
        state = self.tr("device.polling" if self._is_polling else "device.polled-once")
        main = self._now.found.main if self._now is not None else None
        if main is None or main.snapshot.is_known:
            return f"{state} {self._polled_at}".rstrip()
        code = "" if main.snapshot.code is None else f" ({main.snapshot.code})"
        said = f"{state}: {self.tr(f'device.state-{main.snapshot.state}')}{code}"
        if self._good_s is not None:
            age = f"{monotonic() - self._good_s:,.0f}"
            said += ", " + self.tr("device.last-good", at=self._polled_at, age=age)
        return said

    def live_text(self) -> str:
        """What the line under the table says of polling, or of following."""
        if self._is_now:
            return self.tr("device.of-this-machine")
        return super().live_text()

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        assert self.shown is not None
        return specs(self.shown, self.view.hidden, self.shell.glyphs, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def row_style(self, table: Table) -> RowStyle:
        assert self.shown is not None
        return style_by_notes(self.shown)

    def has_rows(self, view: DeviceView) -> bool:
        return view.table.n_rows > 0

    def can_open(self, view: DeviceView) -> bool:
        return self.has_rows(view)

    def summary_lines(self) -> list[str]:
        if self._is_now and self._now is None:
            return [self.tr("device.asking")]
        return super().summary_lines()

    def shown_lines(self, view: DeviceView) -> list[str]:
        if not self.has_rows(view):
            return lines_without_rows(view, self.tr, self.shell.glyphs, self.live_state())
        return shown_lines(view, self.tr, self.shell.glyphs, self.live_state())

    def instead_lines(self, instead: Nothing) -> list[str]:
        from npulse.core.run.kinds import kinds_of

        path = self.where_text()
        commands = [c for c in commands_of(kinds_of("device")) if c.startswith("npu-smi")]
        return nothing_lines(path, commands, self.key_of("device.poll"), self.tr)

    def detail_of(self, view: DeviceView, row: int) -> Detail:
        """With the courses of its figures, where the chip was seen more than once."""

        def draw(width: int, is_ascii: bool) -> list[str]:
            return spark_lines(view, row, width, is_ascii)

        detail = view.detail(row, self.shell.lang)
        return replace(detail, draw=draw) if spark_lines(view, row, 80, True) else detail

    def in_footer(self, action_id: str) -> bool:
        if action_id == "device.poll":
            return True
        if action_id == "device.now":
            return self._now is not None and self._recorded is not None
        return super().in_footer(action_id)

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        if self.shown is not None:
            self.shell.show_lines("device.page-title", self._page_lines(self.shown, message.row))

    def _page_lines(self, view: DeviceView, row: int) -> list[str]:
        """All that is known of one chip: why, what to do, courses, processes, every figure."""
        detail = view.detail(row, self.shell.lang)
        width = self.app.size.width - _PAGE_MARGIN
        lines = [detail.name, detail.headline]
        if detail.next_step:
            lines.append(f"{self.tr('detail.next')}: {detail.next_step}")
        lines += ["", *spark_lines(view, row, width, self.shell.glyphs.is_ascii)]
        processes = view.processes(row)
        lines += ["", self.tr("device.processes-unknown" if processes is None else "device.processes")]
        if processes is not None and not processes:
            lines.append(f"  {self.tr('device.no-process')}")
        for one in processes or ():
            memory = "?" if one.memory_mb is None else f"{one.memory_mb:,}"
            lines.append(f"  {one.pid:>8}  {memory:>9} MB  {safe_text(one.name or '?', 60)}")
        lines += ["", *(f"{name}  {value}" for name, value in detail.facts if name != "process"), ""]
        return [self.plain(line) for line in (*lines, *view.where(row, self.shell.lang))]
