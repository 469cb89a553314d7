"""The rounds pane: what is read, how the rounds stand there, and what opens from a row."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.worker import get_current_worker

from npulse.core.analysis import AnalysisOptions
from npulse.core.kept.keeper import settings_of
from npulse.core.rounds.chart import chart
from npulse.core.rounds.view import SUBJECT, RoundsView
from npulse.core.text import Lang

from ...actions import bindings_for
from ...roles import RowStyle
from ...state import user_config_file
from ...widgets.chart import Chart
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..base import Pane, ViewState
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs, style_by_outcome
from .jobs import compare_lines, read_story
from .summary import nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job


class RoundsPane(TablePane[RoundsView], inherit_bindings=False):
    """A row a round in time order: what came of it, what was set otherwise, what each figure says of that."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("rounds"), *Pane.BINDINGS]
    SCOPED_CSS = False  # as in the class above; it is not inherited
    DEFAULT_CSS = """
    RoundsPane #rows { height: 4fr; }
    RoundsPane #side { height: 3fr; }
    .-wide RoundsPane #side { height: 1fr; }
    .-wide RoundsPane #rows { height: 1fr; }
    .-wide RoundsPane Chart { height: 9; }
    .-short RoundsPane Chart { display: none; }
    """

    is_fitted = True
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns: ClassVar[tuple[str, ...]] = (SUBJECT,)
    export_name = "npulse-rounds.csv"

    def __init__(self, area: str = "rounds", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._round_name: str | None = None
        """The round that the cursor was last sent to: a new one draws it, the same one again does not."""
        self._is_same_story = False
        """Whether the job that begins changes no figure: only its end is shown then."""

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        is_whole, self._is_same_story = self._is_look or self._is_same_story, False
        baseline = self._kept_baseline(run)
        return partial(read_story, run, options=self.options, baseline=baseline, is_whole=is_whole)

    def kept_as(self, run: Run, round_: Round) -> object | None:
        """Judged by the user's criteria as they are, with silences that end at a day."""
        asked, own = settings_of(self.options), user_config_file("criteria.toml")
        try:
            criteria = own.read_text("utf-8") if own.exists() else ""
        except (OSError, ValueError):
            return None  # the job says what is wrong with it
        return asked and (asked, self.view.baseline, str(own), criteria, date.today())

    def _kept_baseline(self, run: Run) -> str:
        """The one that is kept, which another terminal may have changed; "" where that round is gone."""
        kept = self.shell.store.baseline(self.shell.run_path or str(run.path))
        if kept not in [one.name for one in run.rounds]:
            kept = ""
        if kept != self.view.baseline:
            self._undo = [replace(view, baseline=kept) for view in self._undo]
            self.set_reactive(Pane.view, replace(self.view, baseline=kept))
        return kept

    def take_batch(self, run: Run, round_index: int, areas: Container[str]) -> None:
        """Another pane follows: a round that is new belongs to the story all the same."""
        known = {row.name for row in self.shown.found.rows} if self.shown is not None else set()
        if self._started is None or self.is_following or known.issuperset(one.name for one in run.rounds):
            super().take_batch(run, round_index, areas)
        else:
            self.set_reactive(Pane.round_index, round_index)
            self._started = self._started[0], round_index
            self.run = run

    def watch_round_index(self, index: int) -> None:
        """All rounds are shown: another one of them is no other content, only another row."""
        if self.shown is None or self._started is None:
            super().watch_round_index(index)
            return
        self._started = self.run, index
        self._to_round(index)

    def _to_round(self, index: int) -> bool:
        rows = self.shown.found.rows if self.shown is not None else ()
        row = next((place for place, one in enumerate(rows) if one.index == index), None)
        if row is not None:
            self._round_name = rows[row].name
        return self.show_row(row)

    def take(self, made: RoundsView | Nothing) -> None:
        """The workbench may have gone on to a new round since the rows before these were made."""
        super().take(made)
        if self.round is not None and self.round.name != self._round_name:
            self._to_round(self.round_index)

    def busy_text(self) -> str:
        return self.tr("rounds.reading")

    def verdict(self) -> str:
        return "" if self.shown is not None and not self.shown.is_complete else super().verdict()

    # ---- how it looks ----

    def _start_at_first_finding(self) -> None:
        """The round that the other panes show is the one that is looked at."""
        if not self._to_round(self.round_index):
            super()._start_at_first_finding()

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        assert self.shown is not None
        return specs(self.shown, self.view.hidden, self.shell.glyphs, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def row_style(self, table: Table) -> RowStyle:
        assert self.shown is not None
        return style_by_outcome(self.shown)

    def shown_lines(self, view: RoundsView) -> list[str]:
        return shown_lines(view, self.tr, self.shell.glyphs, bool(self.ended), self.key_of("app.problems"))

    def instead_lines(self, instead: Nothing) -> list[str]:
        return nothing_lines(str(self.run.path if self.run is not None else ""), self.tr)

    def can_open(self, view: RoundsView) -> bool:
        return view.table.n_rows > 0

    def in_footer(self, action_id: str) -> bool:
        if action_id in ("pane.compare", "rounds.baseline"):
            return self.shown is not None and len(self.shown.found.rows) > 1
        return super().in_footer(action_id)

    # ---- chart ----

    def below_rows(self) -> ComposeResult:
        yield from super().below_rows()
        yield Chart()

    def on_mount(self) -> None:
        self.watch(self.table, "column", self._show_chart, init=False)
        self.watch(self.table, "cursor", self._show_chart, init=False)

    def show_rows(self) -> None:
        super().show_rows()
        self._show_chart()

    def _show_chart(self, *_: object) -> None:
        """The figure under the column cursor over all rounds; on another column the one that changed last."""
        view, lang, at = self.shown, self.shell.lang, self.row
        figure = view.chart_figure(self.table.current_column or "") if view is not None else ""
        series = view.series(figure) if view is not None and figure else None
        if series is None or len(series.values) < 2:
            self.query_one(Chart).drawing = None
            return

        def draw(width: int, height: int, is_ascii: bool) -> list[str]:
            return chart(series, lang, width, height, at=at, is_ascii=is_ascii)

        self.query_one(Chart).drawing = draw

    # ---- baseline ----

    def action_switch_baseline(self) -> None:
        rows = self.shown.found.rows if self.shown is not None else ()
        if self.row is None or len(rows) < 2:
            self.shell.notice("rounds.no-baseline")
            return
        name = rows[self.row].name
        self.change_view(baseline="" if self.view.baseline == name else name)

    def _show_view(self, view: ViewState) -> None:
        """The baseline is kept at once, also when it is undone."""
        is_other = view.baseline != self.view.baseline
        super()._show_view(view)
        if is_other and self.shell.run_path is not None:
            self.shell.store.set_baseline(self.shell.run_path, view.baseline)
            if view.baseline:
                self.shell.notice("rounds.baseline-is", round=view.baseline)
            else:
                self.shell.notice("rounds.baseline-none")
            self._is_same_story = True
            self.ask_again()

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        """The round in the pane of the area that it was captured for."""
        if self.shown is not None:
            row = self.shown.found.rows[message.row]
            self.shell.call_later(self.shell.show_round_in, row.index, row.area)

    def action_compare(self) -> None:
        """The round under the cursor against the baseline, else the one before it, in every area."""
        rows = self.shown.found.rows if self.shown is not None else ()
        baseline = self.shown.found.baseline if self.shown is not None else ""
        if self.run is None or self.row is None or not (self.row or baseline not in ("", rows[0].name)):
            self.shell.notice("rounds.no-earlier" if rows else "run.none")
            return
        assert self.shown is not None
        before, after = rows[self.row - 1].name, rows[self.row].name
        if baseline not in ("", after):
            before = baseline
        self.shell.notice("rounds.comparing", before=before, after=after)
        glyphs = self.shell.glyphs
        arrow = "->" if glyphs.is_ascii else glyphs.arrow
        is_to_baseline = before == baseline
        own = self.shown.compared_lines(self.row, self.shell.lang, arrow, is_to_baseline=is_to_baseline)
        self._compare(self.run, before, after, own, self.shell.lang)

    @work(thread=True, exclusive=True, group="compare", exit_on_error=False, description="compare")
    def _compare(self, run: Run, before: str, after: str, own: list[str], lang: Lang) -> None:
        worker = get_current_worker()
        lines = compare_lines(run, before, after, self.options, lang, lambda: worker.is_cancelled)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_compared, [*lines[:1], "", *own, "", *lines[1:]])

    def _show_compared(self, lines: list[str]) -> None:
        self.shell.clear_notifications()  # the one that said that it was under way
        self.shell.show_lines("rounds.compared", [self.plain(line) for line in lines])
