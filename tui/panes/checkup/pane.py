"""The check-up pane: a row an area, the verdict and what to open first above it."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on

from npulse.core.analysis import AnalysisOptions
from npulse.core.checkup.criterion import ORDER
from npulse.core.checkup.table import round_of
from npulse.core.checkup.view import SUBJECT, CheckUpView
from npulse.core.plugins.protocols import OWN_AREA
from npulse.core.text import Lang

from ...actions import PANES
from ...roles import RowStyle
from ...state import user_config_file
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..base import Pane
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import heading, row_style, specs
from .jobs import check_up_run
from .summary import shown_lines

if TYPE_CHECKING:
    from npulse.core.findings import Report
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job

_PANES = frozenset(area for area, _, _ in PANES)


class CheckUpPane(TablePane[CheckUpView], inherit_bindings=False):
    """What every area says against the criteria, in the order in which they are asked."""

    BINDINGS = [*Pane.BINDINGS]
    SCOPED_CSS = False  # as in the class above; it is not inherited
    DEFAULT_CSS = """
    CheckUpPane #rows { height: 1fr; }
    CheckUpPane #side { height: 1fr; }
    """

    is_fitted = True
    subject_column = SUBJECT
    key_columns: ClassVar[tuple[str, ...]] = (SUBJECT,)
    export_name = "npulse-checkup.csv"

    def __init__(self, area: str = "checkup", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._put_at: int | None = None
        """The row that the cursor was put on; where it is another one by now the user has moved it."""

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        index = next((at for at, one in enumerate(run.rounds) if one is round_), self.round_index)
        return partial(
            check_up_run,
            run,
            index,
            options=self.options,
            criteria_path=user_config_file("criteria.toml"),
            tails_of=self.tails_of_area,
            is_whole=self._is_look,
        )

    def take_batch(self, run: Run, round_index: int, areas: Container[str]) -> None:
        """Whatever area has something new is looked at here too."""
        is_any = any(area in areas for area in (*ORDER, "rounds"))
        super().take_batch(run, round_index, (self.area,) if is_any else ())

    def in_footer_while_written(self, action_id: str) -> bool:
        if action_id == "pane.follow":
            is_written = any(map(self.shell.live.is_being_written, ORDER))
            return self.can_follow and not self.is_following and is_written
        return super().in_footer_while_written(action_id)

    def busy_text(self) -> str:
        return self.tr("checkup.reading")

    def verdict(self) -> str:
        return "" if self.shown is not None and not self.shown.is_complete else super().verdict()

    def retranslate(self) -> None:
        """What areas wrote themselves comes in the other language once they were asked again."""
        is_other = self.shown is not None and self.shown.lang != self.shell.lang
        super().retranslate()
        if is_other and self.run is not None and self.round is not None and not self.is_looking:
            self.version += 1
            self._begin_job(self.run, self.round, is_look=True)

    # ---- how it looks ----

    def take(self, made: CheckUpView | Nothing) -> None:
        """What leads may be another area with each one that was looked at: the cursor stays on it until the
        user moves it."""
        super().take(made)
        if not self._is_look and self.shown is not None and self._put_at in (None, self.row):
            self._start_at_first_finding()

    def forget(self) -> None:
        self._put_at = None
        super().forget()

    def _start_at_first_finding(self) -> None:
        """The area that is to be opened first."""
        first = self.shown.found.first if self.shown is not None else ""
        if not first or not self.go_to_subject(first):
            super()._start_at_first_finding()
        self._put_at = self.row

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        assert self.shown is not None
        return specs(self.shown, self.view.hidden, self.shell.glyphs, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def row_style(self, table: Table) -> RowStyle:
        assert self.shown is not None
        return row_style(self.shown)

    def shown_lines(self, view: CheckUpView) -> list[str]:
        return shown_lines(view, self.tr, self.shell.glyphs, bool(self.ended))

    def instead_lines(self, instead: Nothing) -> list[str]:
        return []  # there is always a table

    def can_open(self, view: CheckUpView) -> bool:
        return True

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        """The pane of the area, at the round that this row is about; of those without one (environment,
        plug-ins) what their reports say."""
        if self.shown is None:
            return
        area = self.shown.found.areas[message.row]
        if area.area not in _PANES:
            lines = [line for told in area.reports for line in self._told_lines(told.report)]
            title = "checkup.page-plugins" if area.area == OWN_AREA else "checkup.page-title"
            self.shell.show_lines(title, lines or [self.plain(area.headline)])
            return
        names = [round_.name for round_ in self.run.rounds] if self.run is not None else []
        name = round_of(area)
        index = names.index(name) if area.reports and name in names else self.round_index
        self.shell.call_later(self.shell.show_round_in, index, area.area)

    def _told_lines(self, report: Report) -> list[str]:
        from npulse.core.report import render

        text = "".join(render(report, "text", version="", lang=self.shell.lang))
        return [self.plain(line) for line in text.split("\n")]
