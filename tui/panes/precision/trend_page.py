"""The trend: how wrong each layer and each origin was in every round of the archive."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static
from textual.worker import get_current_worker

from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.pages.texts import TEXTS
from npulse.core.precision.pages.trend import BETTER, ROUND, STATES, WORSE
from npulse.core.progress import Progress
from npulse.core.text import safe_text, say
from npulse.core.views import Detail, shown_figure

from ...chrome import cut_middle
from ...screens.page import Page
from ...widgets.detail import DetailView
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from ..job_pane import PROGRESS_PAUSE_S, progress_text

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Settings
    from npulse.core.precision.pages.trend import Trend
    from npulse.core.run.model import Run
    from npulse.core.run.sides import CapturePair

LOWEST_DECADE = -4
"""The lowest bar is an error of 1e-4 or less, the highest one of 0.5 or more: half a decade a step."""
_STYLES = {BETTER: "virtual-table--ok", WORSE: "virtual-table--error"}
_MOST_BARS = 24
_SUBJECT_CELLS = (28, 44)


class TrendPage(Page["tuple[str, str] | None"]):
    """Compares every round in a worker; leaving ends that. Enter dismisses with kind and subject of a row."""

    DEFAULT_CSS = """
    TrendPage #caption { height: 1; padding: 0 1; text-style: dim; }
    TrendPage VirtualTable { height: 1fr; }
    TrendPage DetailView { height: 35%; max-height: 10; border-top: solid $panel; }
    TrendPage.-short DetailView { display: none; }
    """

    class TrendReady(Message):
        """The rounds so far, or all of them."""

        def __init__(self, trend: Trend, is_whole: bool) -> None:
            super().__init__()
            self.trend, self.is_whole = trend, is_whole

    class Told(Message):
        """How far it is."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, run: Run, settings_of: Callable[[CapturePair], Settings]) -> None:
        super().__init__()
        self._run, self._settings_of = run, settings_of
        self.trend: Trend | None = None
        self.is_whole = False
        self._told = ""

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="caption", markup=False)
        yield VirtualTable()
        detail = DetailView()
        detail.can_focus = False
        yield detail

    async def begin(self) -> None:
        self.query_one(VirtualTable).focus()
        self._read()

    @work(thread=True, exclusive=True, group="trend", exit_on_error=False, description="trend")
    def _read(self) -> None:
        from npulse.core.precision.pages.trend import trend

        worker, began_s, told_s = get_current_worker(), monotonic(), 0.0
        lang = self.shell.lang

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Told(progress_text(progress, told_s - began_s, lang)))

        def show(found: Trend) -> None:
            self.post_message(self.TrendReady(found, False))

        found = trend(
            self._run,
            self._settings_of,
            progress=tell,
            is_cancelled=lambda: worker.is_cancelled,
            on_update=show,
        )
        self.post_message(self.TrendReady(found, True))

    @on(TrendReady)
    def _take(self, message: TrendReady) -> None:
        self.trend, self.is_whole = message.trend, message.is_whole
        self._show()
        if self.is_whole:
            for name, why in message.trend.refused[:1]:
                self.shell.notice("trend.refused", severity="warning", round=name or "-", message=why)

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        self._told = message.text
        self._show_title()

    def retranslate(self) -> None:
        super().retranslate()
        self._show()

    def on_resize(self) -> None:
        self._show()

    # ---- what is shown ----

    def _show_title(self) -> None:
        trend = self.trend
        title = self.tr("trend.title")
        if trend is not None:
            n = {name: self._n_in(name) for name in ("better", "worse")}
            title += "  " + self.tr("trend.counts", rounds=len(trend.rounds), **n)
        if not self.is_whole:
            title += "  " + (self._told or self.tr("trend.reading"))
        self._say("#title", title)
        levels = self.shell.glyphs.levels
        self._say("#caption", self.tr("trend.caption", low=levels[0], high=levels[-1]))

    def _say(self, place: str, text: str) -> None:
        widget, text = self.query_one(place, Static), self.plain(text)
        if widget.content != text:
            widget.update(text, layout=False)

    def _n_in(self, state: str) -> int:
        assert self.trend is not None
        return int((self.trend.table.column("state").values == STATES.index(state)).sum())

    def _show(self) -> None:
        trend, lang, glyphs = self.trend, self.shell.lang, self.shell.glyphs
        self._show_title()
        if trend is None:
            return
        least, most = _SUBJECT_CELLS
        cells = most if self.app.size.width >= 110 else least
        bars = [self.bars(row) for row in range(trend.table.n_rows)]
        states = trend.table.column("state")
        specs = [
            ColumnSpec(
                "subject",
                self.tr("trend.subject"),
                format=lambda value: cut_middle(safe_text(short_name(str(value))), cells, glyphs),
                min_width=least,
                max_width=cells,
                is_frozen=True,
            ),
            ColumnSpec("state", self.tr("trend.state"), format=lambda v: say(TEXTS, f"trend-{v}", lang)),
            ColumnSpec(
                "kind",
                self.tr("trend.course"),
                min_width=max(map(len, bars), default=1),
                max_width=_MOST_BARS,
                priority=1,
                instead=bars.__getitem__,
            ),
        ]
        for place in reversed(range(len(trend.rounds))):
            specs.append(
                ColumnSpec(
                    f"{ROUND}{place + 1}",
                    self.plain(trend.rounds[place] or str(place + 1))[:12],
                    format="scientific",
                    priority=2 + len(trend.rounds) - place,
                )
            )
        self.query_one(VirtualTable).view = TableView(
            trend.table, tuple(specs), row_style=lambda row: _STYLES.get(int(states.values[row]))
        )
        self.refresh_footer()
        self._show_detail(self.query_one(VirtualTable).current_row)

    def bars(self, row: int) -> str:
        """One cell a round, the newest `_MOST_BARS`; a blank where it is not known."""
        assert self.trend is not None
        levels = self.shell.glyphs.levels
        names = [f"{ROUND}{place + 1}" for place in range(len(self.trend.rounds))]
        columns = [self.trend.table.column(name) for name in names[-_MOST_BARS:]]
        text = ""
        for column in columns:
            value = float(column.values[row])
            if np.isnan(value):
                text += " "
                continue
            step = 2 * (np.log10(value) - LOWEST_DECADE) if value > 0 else 0.0
            text += levels[int(min(max(step, 0), len(levels) - 1))]
        return text

    @on(VirtualTable.RowHighlighted)
    def _highlighted(self, message: VirtualTable.RowHighlighted) -> None:
        self._show_detail(message.row)

    def _show_detail(self, row: int | None) -> None:
        trend, widget = self.trend, self.query_one(DetailView)
        if trend is None or row is None or row >= trend.table.n_rows:
            return
        lang, told = self.shell.lang, trend.table.row(row)
        known = [
            (name or str(i + 1), told[f"{ROUND}{i + 1}"]) for i, name in enumerate(trend.rounds)
        ]  # fmt: skip
        facts: list[tuple[str, Any]] = []
        for i, (name, value) in enumerate(known):
            word = self.tr("trend.over") if trend.over[row, i] else ""
            facts.append((name, "-" if value is None else f"{shown_figure(value)} {word}".strip()))
        headline = say(TEXTS, f"trend-{told['state']}-why", lang)
        widget.detail = Detail(str(told["subject"]), headline, tuple(facts))

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        if self.trend is not None:
            told = self.trend.table.row(message.row)
            self.dismiss((str(told["kind"]), str(told["subject"])))
