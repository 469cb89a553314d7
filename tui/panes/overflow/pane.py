"""The overflow pane: what is looked through, how it stands there, and what opens from a row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType

from npulse.core.analysis import AnalysisOptions
from npulse.core.overflow.view import SUBJECT, OverflowView
from npulse.core.text import Lang

from ...actions import bindings_for
from ...roles import RowStyle, style_by_role_alone
from ...screens.choice import ChoicePage
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs
from .jobs import Nothing, look_through_round
from .summary import nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job

UPSTREAM = "upstream>=0"
"""The filter that leaves the origin and what fed it."""


class OverflowPane(TablePane[OverflowView]):
    """Every tensor with its headroom; at first only the way up from the origin."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("overflow")]
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    export_name = "npulse-overflow.csv"

    def __init__(self, area: str = "overflow", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._saturation: bool | None = None

    # ---- what is looked through ----

    def make_job(self, run: Run, round_: Round) -> Job:
        return partial(
            look_through_round, run, round_.name, options=self.options, saturation=self._saturation
        )

    def forget_choices(self) -> None:
        self._saturation = None

    def busy_text(self) -> str:
        return self.tr("overflow.reading")

    def more_text(self) -> str:
        return self.tr("overflow.scanning")

    def cancelled_text(self) -> str:
        return self.tr("overflow.cancelled")

    def take(self, made: Any) -> None:
        """At first the origin with what fed it; all rows where nothing began."""
        is_first = self.shown is None
        if is_first and getattr(made, "has_trace", False) and not self.view.filter and not self.view.sort:
            self.set_reactive(OverflowPane.view, replace(self.view, filter=UPSTREAM))
        super().take(made)

    def action_say_saturation(self) -> None:
        """Ask what no file tells."""
        choices = [(self.tr(f"overflow.saturation-{word}"), value) for word, value in _MODES]
        self.shell.push_screen(ChoicePage("overflow.saturation-title", choices), self._take_saturation)

    def _take_saturation(self, answer: str | None) -> None:
        if answer is not None:
            self._saturation = {"on": True, "off": False}.get(answer)
            self.start_again()

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        return specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def row_style(self, table: Table) -> RowStyle:
        return style_by_role_alone(table)

    def shown_lines(self, view: OverflowView) -> list[str]:
        return shown_lines(view, self.tr, self.shell.glyphs, self.size.width - 2)

    def instead_lines(self, instead: Nothing) -> list[str]:
        return nothing_lines(str(self.run.path if self.run is not None else ""), self.tr)

    def strip_caption(self) -> str:
        return self.tr("overflow.strip")

    def can_open(self, view: OverflowView) -> bool:
        return view.table.n_rows > 0

    def in_footer(self, action_id: str) -> bool:
        if action_id == "overflow.stack":
            return self.shown is not None and self.shown.can_have_stacks
        if action_id == "overflow.upstream":
            return self.shown is not None and self.shown.has_trace
        if action_id == "overflow.ranks":
            return self.shown is not None and len(self.shown.found.ranks) > 1
        return super().in_footer(action_id)

    # ---- what opens from a row ----

    def action_switch_upstream(self) -> None:
        """The way up from the origin alone, or all rows; the cursor stays on its row."""
        if self.shown is None or not self.shown.has_trace:
            self.shell.notice("overflow.no-upstream", severity="warning")
            return
        self.change_view(filter="" if self.view.filter == UPSTREAM else UPSTREAM)

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        if self.shown is not None:
            lines = self.shown.where(message.row, self.shell.lang)
            self.shell.show_lines("overflow.places-title", [self.plain(line) for line in lines])

    def action_show_call_stack(self) -> None:
        if self.shown is None or self.row is None:
            self._nothing("overflow.stack")
        else:
            self._load_stack(self.shown, self.row)

    @work(thread=True, exclusive=True, group="stack", exit_on_error=False, description="stack")
    def _load_stack(self, view: OverflowView, row: int) -> None:
        self.app.call_from_thread(self._show_stack, view.stack(row))

    def _show_stack(self, lines: list[str]) -> None:
        if lines:
            self.shell.show_lines("overflow.stack-title", lines)
        else:
            self.shell.notice("overflow.no-stack", severity="warning")

    def action_show_ranks(self) -> None:
        from npulse.core.overflow.view import rank_matrix

        from .pages import RanksPage

        rank = self.shown.rank_at(self.row) if self.shown is not None and self.row is not None else None
        if self.shown is None or rank is None or len(self.shown.found.ranks) < 2:
            self.shell.notice("overflow.no-ranks", severity="warning")
            return
        matrix = rank_matrix(self.shown.found, rank.step, rank.capture)
        self.shell.push_screen(RanksPage(matrix), partial(self._go_to_rank, rank.step, rank.capture))

    def _go_to_rank(self, step: int | None, capture: str, number: int | None) -> None:
        """The first bad call of the rank that was chosen."""
        if self.shown is not None and number is not None:
            self.show_row(self.shown.first_bad_row(step, capture, number))

    def action_show_in_precision(self) -> None:
        subject = self.subject()
        if subject is None:
            self._nothing("overflow.precision")
        else:
            self.shell.call_later(self._jump, subject)

    async def _jump(self, subject: str) -> None:
        await self.shell.main.show_pane("precision")
        pane = self.shell.pane
        if isinstance(pane, TablePane):
            pane.want(subject)


_MODES = (("unknown", "unknown"), ("on", "on"), ("off", "off"))
