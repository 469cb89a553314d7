"""The performance pane: which tables it shows, how they stand there, and what opens from a row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import BindingType

from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.view import SUBJECT, PerformanceView
from npulse.core.text import Lang

from ...actions import bindings_for
from ...roles import RowStyle, style_by_role_alone
from ...screens.choice import ChoicePage
from ...screens.rows import Row
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ...widgets.wrap import wrap
from ..base import Pane
from ..capturing import commands_of
from ..instead import Nothing
from ..memory.pages import CodePage, PageLine
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs
from .jobs import read_round
from .summary import lines_without_rows, nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.performance.table import TableKind
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job

_FIRST_KEYS = ("performance.table", "performance.timeline")
"""They stand in front of the footer: what they show is shown nowhere else."""
_PAGE_MARGIN = 4


class PerformancePane(TablePane[PerformanceView], inherit_bindings=False):
    """Operators by total time, the longest first; ranks, kernels and changes are tables beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(b for b in bindings_for("performance") if b.id in _FIRST_KEYS),
        *Pane.BINDINGS,
        *(b for b in bindings_for("performance") if b.id not in _FIRST_KEYS),
    ]
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    export_name = "npulse-performance.csv"

    def __init__(self, area: str = "performance", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._kind: TableKind | None = None
        self._rank: int | None = None
        self._against: str | None = None
        self._width = 0

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        from dataclasses import replace

        options = replace(self.options, rank=self._rank)
        return partial(read_round, run, round_.name, options=options, kind=self._kind, against=self._against)

    def busy_text(self) -> str:
        return self.tr("performance.reading")

    def verdict(self) -> str:
        """Nothing stands before the timelines are read too."""
        return "" if self.shown is not None and not self.shown.is_complete else super().verdict()

    def forget_choices(self) -> None:
        super().forget_choices()
        self._rank = self._against = None

    def take(self, made: Any) -> None:
        """A table that was chosen while more was read stays chosen."""
        if isinstance(made, PerformanceView) and self._kind in made.kinds and made.kind != self._kind:
            made = made.with_kind(self._kind)
        super().take(made)

    # ---- how it looks ----

    def on_resize(self) -> None:
        if self._width != self.table_width():
            self.show_rows()

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        self._width = self.table_width()
        kind = self.shown.kind if self.shown is not None else "type"
        return specs(table, kind, self.view.hidden, self.shell.glyphs, self.shell.lang, self._width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang, self.shown.kind if self.shown is not None else "type")

    def row_style(self, table: Table) -> RowStyle:
        if any(column.name == "role" for column in table.columns):
            return style_by_role_alone(table)
        return lambda row: None

    def shown_lines(self, view: PerformanceView) -> list[str]:
        if not self.has_rows(view):
            return lines_without_rows(view, self.tr, self.shell.glyphs)
        return shown_lines(view, self.tr, self.shell.glyphs, bool(self.ended))

    def instead_lines(self, instead: Nothing) -> list[str]:
        from npulse.core.run.kinds import kinds_of

        path = str(self.run.path if self.run is not None else "")
        return nothing_lines(path, commands_of(kinds_of("performance")), self.tr)

    def filter_text(self) -> str:
        """Which of the tables it is, then the filter."""
        parts = [super().filter_text()]
        if self.shown is not None and len(self.shown.kinds) > 1:
            parts.insert(0, self.tr(f"performance.table-{self.shown.kind}"))
        return "  ".join(filter(None, parts))

    def strip_caption(self) -> str:
        return self.tr("performance.ruler")

    def can_open(self, view: PerformanceView) -> bool:
        return self.has_rows(view)

    def has_rows(self, view: PerformanceView) -> bool:
        return view.table.n_rows > 0

    def in_footer(self, action_id: str) -> bool:
        view = self.shown
        if action_id == "performance.table":
            return view is not None and len(view.kinds) > 1
        if action_id == "performance.timeline":
            return view is not None and view.ruler is not None
        if action_id == "performance.rank":
            return view is not None and (len(view.found.profiles) > 1 or self._rank is not None)
        return super().in_footer(action_id)

    # ---- what opens ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        view = self.shown
        if view is None:
            return
        width = self.app.size.width - _PAGE_MARGIN
        texts = view.evidence(message.row, self.shell.lang, width, self.shell.glyphs.is_ascii)
        name = str(view.table.column(SUBJECT).value(message.row) or "?")
        lines = [PageLine(name, is_strong=True)]
        lines += [PageLine(line) for text in texts for line in wrap(text, width)]
        self.shell.push_screen(CodePage("performance.page-title", lines, place=view.place(message.row)))

    def action_next_table(self) -> None:
        """Types, single calls, by count, by average; kernels, ranks and changes where there are some."""
        view = self.shown
        if view is None or len(view.kinds) < 2:
            self._nothing("performance.table")
            return
        self._kind = view.next_kind()
        self.change_view(sort=None, descending=False, filter="")
        self._order = None
        self.shown = view.with_kind(self._kind)
        self.table.can_open = self.can_open(self.shown)
        self.show_rows()
        self.table.move_to_row(0)
        self.ask_detail(self.table.current_row)

    def action_choose_rank(self) -> None:
        """Whose table is shown: one rank, or the one that npulse thinks of first."""
        view = self.shown
        ranks = sorted({a.rank for a in self.round.artifacts if a.rank is not None}) if self.round else []
        if view is None or not ranks:
            self._nothing("performance.rank")
            return
        choices: list[tuple[str, int]] = [(self.tr("performance.rank-any"), -1)]
        choices += [(f"rank {rank}", rank) for rank in ranks]
        self.shell.push_screen(ChoicePage("performance.rank-title", choices), self._take_rank)

    def _take_rank(self, chosen: Row | int | None) -> None:
        if chosen is None:
            return
        rank = chosen.value if isinstance(chosen, Row) else chosen
        self._rank = None if rank is None or rank < 0 else int(rank)
        self.start_again()

    def action_compare(self) -> None:
        """Against another round than the one before."""
        names = [one.name for one in self.run.rounds] if self.run is not None else []
        here = self.round.name if self.round is not None else ""
        others = [name for name in names if name != here]
        if not others:
            self.shell.notice("performance.no-other-round", severity="warning")
            return
        self.shell.push_screen(
            ChoicePage("performance.compare-title", [(name, name) for name in others]), self._take_round
        )

    def _take_round(self, chosen: Row | str | None) -> None:
        if chosen is None:
            return
        self._against = str(chosen.value if isinstance(chosen, Row) else chosen)
        self._kind = "changes"
        self.start_again()

    def action_show_timeline(self) -> None:
        """Streams as rows over time."""
        view = self.shown
        if view is None or view.wall is None or view.ruler is None:
            self._nothing("performance.timeline")
            return
        from .timeline import TimelinePage

        at = view.start_of(self.row) if self.row is not None else None
        self.shell.push_screen(TimelinePage(view, at))
