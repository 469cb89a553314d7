"""A capture that runs: how it stands, its log, how to stop it, and what came of it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from npulse.core.capture.session import HeldBack
from npulse.core.capture.told import result_lines

from ..actions import bindings_for
from ..capture_job import CaptureJob, JobState
from ..capture_text import finding_lines, progress_line
from ..crash import describe_error
from ..keymap import show_keys
from ..widgets.wrap import wrap
from .page import Page
from .rows import Row, RowList

REDRAW_S = 0.25
SHOWN_LINES = 500
"""Of the log; the round's console.log has all of it."""


class CaptureRunPage(Page[bool]):
    """Dismisses with True where the new round shall be opened. Leaving it ends nothing."""

    AUTO_FOCUS = "RowList"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("capture"),
        *(b for b in bindings_for("app") if b.id == "app.cancel"),
    ]
    SCOPED_CSS = False
    DEFAULT_CSS = """
    CaptureRunPage #state { height: 1; padding: 0 1; }
    CaptureRunPage #result { display: none; height: auto; max-height: 60%; padding: 0 1; }
    CaptureRunPage.-ended #result { display: block; }
    CaptureRunPage RowList { border-top: solid $panel; }
    """

    def __init__(self, job: CaptureJob) -> None:
        super().__init__()
        self.job = job
        self._shown: tuple[JobState, int] | None = None

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="state", markup=False)
        yield Static(id="result", markup=False)
        rows = RowList()
        rows.can_open = False
        yield rows

    async def begin(self) -> None:
        self.set_interval(REDRAW_S, self._look)
        self._look()

    def retranslate(self) -> None:
        super().retranslate()
        command = self.plain(self.job.what)
        self.query_one("#title", Static).update(
            self.tr("capture.running-title", kind=self.job.request.kind, command=command), layout=False
        )
        self._shown = None
        self._look()

    def _look(self) -> None:
        """Show what is new: at most four times a second, and nothing where nothing is."""
        state, second = self.job.state, int(self.job.elapsed_s())
        before = self._shown
        if before is not None and before[0] is state and before[1] == second:
            return
        self._shown = state, second
        with self.app.batch_update():
            self._say("#state", self._state_text(state))
            if before is None or before[0].n_lines != state.n_lines:
                self._show_log()
            if state.phase == "ended" and (before is None or before[0].phase != "ended"):
                self._show_end(state)
            if before is None or before[0].phase != state.phase:
                self.refresh_footer()

    def _say(self, place: str, text: str) -> None:
        widget = self.query_one(place, Static)
        if widget.content != text:
            widget.update(text, layout=place == "#result")

    def _state_text(self, state: JobState) -> str:
        separator = ", " if self.shell.glyphs.is_ascii else " · "
        line = progress_line(self.job, state, self.tr, self.shell.lang, separator)
        return self.plain(line)

    def _show_log(self) -> None:
        """The end of the log; who has gone up in it stays there."""
        listing = self.query_one(RowList)
        is_at_end = listing.cursor >= len(listing.rows) - 1
        lines = self.job.lines()[-SHOWN_LINES:]
        listing.rows = [Row(line, value=line or " ") for line in lines or (self.tr("capture.no-output"),)]
        if is_at_end:
            listing.cursor = len(listing.rows) - 1

    def _show_end(self, state: JobState) -> None:
        self.shell.clear_notifications()  # what they speak of is over
        width = max(20, self.app.size.width - 2)
        lines = [part for line in self.end_lines(state) for part in wrap(self.plain(line), width)]
        self._say("#result", "\n".join(lines))
        self.add_class("-ended")
        self.query_one(RowList).can_open = self.can_open

    def end_lines(self, state: JobState) -> list[str]:
        """What came of it, line by line; then what Enter does."""
        lines: list[str] = []
        if state.error is not None:
            message, hint = describe_error(state.error)
            lines += [f"{self.shell.glyphs.severity('error')} {message}", *([f"  {hint}"] if hint else [])]
            if isinstance(state.error, HeldBack):
                lines += finding_lines(state.error.findings, self.shell.glyphs, self.tr)
        if len(state.results) > 1:
            lines.append(self.tr("capture.attempts-made", n=len(state.results), of=state.attempts))
        if state.result is not None:
            lines += result_lines(state.result, self.job.request.kind, self.shell.lang)
            lines.append(self.tr("capture.enter-opens"))
        return lines

    @property
    def can_open(self) -> bool:
        """Whether there is a round to open."""
        return self.job.state.phase == "ended" and self.job.state.result is not None

    def in_footer(self, action_id: str) -> bool:
        return self.job.is_running if action_id == "capture.stop" else True

    # ---- keys ----

    def action_stop_capture(self) -> None:
        """The first time the ladder begins, every further time it goes one rung further."""
        if not self.job.is_running:
            self.shell.notice("capture.not-running")
            return
        n_asked = self.job.ask_stop()
        key = show_keys(self.shell.keys.get("capture.stop", ())[:1])
        self.shell.notice("capture.asked" if n_asked == 1 else "capture.asked-again", key=key, n=n_asked)
        self._look()

    def action_cancel_or_copy(self) -> None:
        """The job that is looked at here is the capture."""
        if self.job.is_running:
            self.action_stop_capture()
        else:
            self.shell.action_cancel_or_copy()

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        """Enter, wherever the cursor stands: the new round, once there is one."""
        if self.can_open:
            self.dismiss(True)
        else:
            self.shell.notice("capture.not-yet" if self.job.is_running else "capture.no-round")
