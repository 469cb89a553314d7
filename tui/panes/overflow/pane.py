"""The overflow pane: what is looked through, how it stands there, and what opens from a row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType

from npulse.core.analysis import AnalysisOptions
from npulse.core.kept.keeper import settings_of
from npulse.core.overflow.view import SUBJECT, OverflowView, rank_matrix
from npulse.core.text import Lang

from ...actions import bindings_for
from ...roles import RowStyle, style_by_role_alone
from ...screens.choice import ChoicePage
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..base import Pane
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs
from .evidence import evidence_lines
from .jobs import look_through_round
from .summary import nothing_lines, shown_lines, so_far_text

if TYPE_CHECKING:
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Order, Table

    from ..job_pane import Job

UPSTREAM = "upstream>=0"
"""The filter that leaves the origins and what fed them."""

_FIRST_KEYS = ("overflow.upstream", "overflow.ranks")
"""They stand in front of the footer: what they show is shown nowhere else."""


class OverflowPane(TablePane[OverflowView], inherit_bindings=False):
    """Every tensor with its headroom; at first only the way up from the origin."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(b for b in bindings_for("overflow") if b.id in _FIRST_KEYS),
        *Pane.BINDINGS,
        *(b for b in bindings_for("overflow") if b.id not in _FIRST_KEYS),
    ]
    is_fitted = True
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns = ("rank", "step", "capture", "operator", "io")
    export_name = "npulse-overflow.csv"

    def __init__(self, area: str = "overflow", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._saturation: bool | None = None

    # ---- what is looked through ----

    def make_job(self, run: Run, round_: Round) -> Job:
        return partial(
            look_through_round,
            run,
            round_.name,
            options=replace(self.options, tails=self.tails),
            saturation=self._saturation,
        )

    def kept_as(self, run: Run, round_: Round) -> object | None:
        asked = settings_of(self.options)
        return asked and (round_.name, asked, self._saturation)

    def forget_choices(self) -> None:
        super().forget_choices()
        self._saturation = None

    def busy_text(self) -> str:
        return self.tr("overflow.reading")

    def has_rows_to_come(self, view: OverflowView) -> bool:
        return view.found.n_awaited > 0

    def more_text(self) -> str:
        if self.shown is not None and self.shown.found.n_awaited:
            return so_far_text(self.shown, self.tr)
        return self.tr("overflow.scanning")

    def cancelled_text(self) -> str:
        return self.tr("overflow.cancelled" if self.shown is not None else "job.cancelled-here")

    def take(self, made: Any) -> None:
        """Once there is an origin it with what fed it, unless the user has begun to look elsewhere."""
        before, has_trace = self.shown, getattr(made, "has_trace", False)
        is_untouched = not self.view.filter and not self.view.sort and not self.table.cursor
        leads = has_trace and not (before is not None and before.has_trace) and is_untouched
        if self._is_look and before is not None and before.table.n_rows:
            leads = False  # rows that somebody follows do not leave
        if leads:
            self.set_reactive(OverflowPane.view, replace(self.view, filter=UPSTREAM))
        elif self.view.filter == UPSTREAM and not has_trace:
            self.set_reactive(OverflowPane.view, replace(self.view, filter=""))
            self._order = None
        super().take(made)
        if leads and before is not None:
            self._start_at_first_finding()

    def action_say_saturation(self) -> None:
        """Ask what no file tells."""
        if self.shown is None:
            self._nothing("overflow.saturation")
            return
        now = {True: "on", False: "off", None: "unknown"}[self._saturation]
        choices = []
        for word in ("unknown", "on", "off"):
            text = self.tr(f"overflow.saturation-{word}")
            choices.append((self.tr("overflow.in-force", text=text) if word == now else text, word))
        self.shell.push_screen(ChoicePage("overflow.saturation-title", choices), self._take_saturation)

    def _take_saturation(self, answer: str | None) -> None:
        if answer is not None:
            self._saturation = {"on": True, "off": False}.get(answer)
            self.start_again()

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        return specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def row_style(self, table: Table) -> RowStyle:
        return style_by_role_alone(table)

    def first_order(self, view: OverflowView) -> Order | None:
        return view.upstream_rows if self.view.filter == UPSTREAM and not self.view.sort else None

    def shown_lines(self, view: OverflowView) -> list[str]:
        key = self.key_of("overflow.saturation")
        return shown_lines(view, self.tr, self.shell.glyphs, self.size.width - 2, key)

    def instead_lines(self, instead: Nothing) -> list[str]:
        return nothing_lines(self.where_text(), self.tr)

    def filter_text(self) -> str:
        if self.view.filter != UPSTREAM or self.shown is None:
            return super().filter_text()
        if self.ended:
            return ""  # why it ended needs the room
        key = self.key_of("overflow.upstream")
        return self.tr("overflow.only-upstream", key=key, n=self.shown.table.n_rows)

    def strip_caption(self) -> str:
        return self.tr("overflow.strip")

    def can_open(self, view: OverflowView) -> bool:
        return view.table.n_rows > 0

    def in_footer(self, action_id: str) -> bool:
        view = self.shown
        if action_id == "overflow.stack":
            return view is not None and view.can_have_stacks
        if action_id == "overflow.upstream":
            return view is not None and view.has_trace
        if action_id == "overflow.ranks":
            return view is not None and view.has_ranks
        if action_id == "overflow.precision":  # where no golden capture was left aside there is no pair
            return view is not None and bool(view.golden)
        return super().in_footer(action_id)

    # ---- the way up and the filter ----

    def action_switch_upstream(self) -> None:
        """The way up from the origin alone, or all rows; the cursor stays on its row."""
        if self.shown is None or not self.shown.has_trace:
            self.shell.notice("overflow.no-upstream", severity="warning")
            return
        self.change_view(filter="" if self.view.filter == UPSTREAM else UPSTREAM)

    def typed_filter(self) -> str:
        """The way up is no filter that somebody typed: what is looked for is looked for in all rows."""
        return "" if self.view.filter == UPSTREAM else super().typed_filter()

    def _close_filter(self, text: str) -> None:
        nothing_typed = not text and self.view.filter == UPSTREAM
        super()._close_filter(UPSTREAM if nothing_typed else text)

    def go_back(self) -> bool:
        if self.has_class("-filtering") and self._before_filter.filter == UPSTREAM:
            self._close_filter(UPSTREAM)
            return True
        if self.view.filter == UPSTREAM and self._job is not None and not self._job.is_finished:
            return False  # the key is meant for the job
        return super().go_back()

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        if self.shown is not None:
            lines = evidence_lines(self.shown, message.row, self.shell.lang, self.app.size.width - 4)
            self.shell.show_lines("overflow.evidence-title", [self.plain(line) for line in lines])

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
        """The ranks of the step and capture under the cursor."""
        from .pages import RanksPage

        view, row = self.shown, self.row
        rank = view.rank_at(row) if view is not None and row is not None else None
        matrix = rank_matrix(view.found, rank.step, rank.capture) if view is not None and rank else None
        if rank is None or matrix is None or len(matrix.labels) < 2:
            self.shell.notice("overflow.no-ranks", severity="warning")
            return
        self.shell.push_screen(RanksPage(matrix), partial(self._go_to_rank, rank.step, rank.capture))

    def _go_to_rank(self, step: int | None, capture: str, number: int | None) -> None:
        """The first bad call of the rank that was chosen."""
        if self.shown is not None and number is not None:
            self.show_row(self.shown.first_bad_row(step, capture, number))

    def action_show_in_precision(self) -> None:
        subject = self.subject()
        if subject is None or self.shown is None or self.row is None:
            self._nothing("overflow.precision")
            return
        table, row = self.shown.table, self.row
        cells = {name: table.column(name).value(row) for name in ("rank", "step", "io")}
        self.show_in("precision", subject, cells)
