"""The memory pane: which logs are read, how the sites stand there, and what opens from a row."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType

from npulse.core.analysis import AnalysisOptions
from npulse.core.kept.keeper import settings_of
from npulse.core.memory.view import SUBJECT, MemoryView
from npulse.core.text import Lang, safe_text

from ...actions import bindings_for
from ...roles import RowStyle
from ...screens.columns import ColumnWords
from ...screens.line import LinePage
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..base import Pane
from ..capturing import commands_of
from ..columns import has_values
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs, style_by_severity
from .evidence import evidence_lines, source_lines
from .jobs import first_that_is_none, folders_in, read_round
from .pages import CodePage
from .summary import lines_without_rows, nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.memory.excerpts import Excerpt
    from npulse.core.memory.sites import Key
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Table

    from ..job_pane import Job

SOURCE_LINES = 200
"""Lines on both sides of a place on its source page."""
_FIRST_KEYS = ("memory.source", "memory.roots")
"""They stand in front of the footer: what they show is shown nowhere else."""
_PAGE_MARGIN = 4


class MemoryPane(TablePane[MemoryView], inherit_bindings=False):
    """Every code site with a fault, the nearest to a cause first; the source and a drawing beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(b for b in bindings_for("memory") if b.id in _FIRST_KEYS),
        *Pane.BINDINGS,
        *(b for b in bindings_for("memory") if b.id not in _FIRST_KEYS),
    ]
    SCOPED_CSS = False  # as in the class above; it is not inherited
    DEFAULT_CSS = """
    MemoryPane #rows { height: 1fr; }
    MemoryPane #side { height: 1fr; }
    .-wide MemoryPane #rows { width: 3fr; }
    .-wide MemoryPane #side { width: 2fr; }
    """
    is_fitted = True
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns = ("rule", "kind", "space", "subject", "kernel", "file", "line", "tool")
    export_name = "npulse-memory.csv"
    table_share = (3, 5)

    def __init__(self, area: str = "memory", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._roots: dict[
            str, tuple[Path, ...]
        ] = {}  # by run: what the user said stays while the app is open
        self._kept: Key | None = None  # the site to return to once it is there again

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        options = replace(self.options, source_roots=self._roots_of(run), tails=self.tails)
        return partial(read_round, run, round_.name, options=options)

    def kept_as(self, run: Run, round_: Round) -> object | None:
        asked = settings_of(replace(self.options, source_roots=self._roots_of(run)))
        return asked and (round_.name, asked)

    def _roots_of(self, run: Run) -> tuple[Path, ...]:
        return self._roots.get(str(run.path), self.options.source_roots)

    def busy_text(self) -> str:
        return self.tr("memory.reading")

    def verdict(self) -> str:
        """Of logs that were not read to their end only that something is wrong."""
        verdict = super().verdict()
        is_open = self.shown is not None and not self.shown.is_complete
        return "" if is_open and verdict != "fail" else verdict

    def cancelled_text(self) -> str:
        return self.tr("memory.cancelled" if self.shown is not None else "job.cancelled-here")

    def take(self, made: Any) -> None:
        """Rows change while more is read: a cursor that was moved stays on its site."""
        key = self._kept
        if key is None and self.shown is not None and self.table.cursor and self.row is not None:
            key = self.shown.key(self.row)
        super().take(made)
        view = self.shown
        if view is None:
            return
        row = None if key is None else view.row_with(key)
        if row is not None and self.table.move_to_row(row):
            self.ask_detail(row)
        if view.is_complete:
            self._kept = None

    def forget_choices(self) -> None:
        super().forget_choices()
        self._kept = None

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        return specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def column_words(self) -> ColumnWords | None:
        """Without those that only say how a place is to be shown."""
        if self.shown is None:
            return None
        names = tuple(column.name for column in self.shown.table.exported)
        return ColumnWords(names, self.heading, self.shown.meaning)

    def row_style(self, table: Table) -> RowStyle:
        return style_by_severity(table)

    def shown_lines(self, view: MemoryView) -> list[str]:
        if not self.has_rows(view):
            return lines_without_rows(view, self.tr, self.shell.glyphs, bool(self.ended))
        key, width = self.key_of("memory.roots"), self.size.width - 2
        return shown_lines(view, self.tr, self.shell.glyphs, width, key, bool(self.ended))

    def instead_lines(self, instead: Nothing) -> list[str]:
        from npulse.core.run.kinds import kinds_of

        path = self.where_text()
        return nothing_lines(path, commands_of(kinds_of("memory")), self.tr)

    def can_open(self, view: MemoryView) -> bool:
        return self.has_rows(view)

    def has_rows(self, view: MemoryView) -> bool:
        return view.table.n_rows > 0

    def in_footer(self, action_id: str) -> bool:
        view = self.shown
        if action_id in ("memory.precision", "memory.overflow"):
            return view is not None and self.has_rows(view) and has_values(view.table, "operator")
        if action_id == "memory.source":
            return view is not None and self.has_rows(view)
        return super().in_footer(action_id)

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        view = self.shown
        if view is None:
            return
        width = self.app.size.width - _PAGE_MARGIN
        lines = evidence_lines(view, message.row, self.shell.lang, width, self.shell.glyphs)
        self.shell.push_screen(CodePage("memory.page-title", lines, place=view.place(message.row)))

    def action_show_source(self) -> None:
        if self.shown is None or self.row is None:
            self._nothing("memory.source")
        else:
            self._read_source(self.shown, self.row)

    @work(thread=True, exclusive=True, group="source", exit_on_error=False, description="source")
    def _read_source(self, view: MemoryView, row: int) -> None:
        excerpts = view.read_excerpts(row, SOURCE_LINES)
        self.app.call_from_thread(self._show_source, view, row, excerpts)

    def _show_source(self, view: MemoryView, row: int, excerpts: tuple[Excerpt, ...]) -> None:
        width = self.app.size.width - _PAGE_MARGIN
        lines = [*source_lines(view, row, excerpts, self.shell.lang, width, self.shell.glyphs)][1:]
        if not lines:  # no place at all: the headline says why
            self.shell.notice(
                "memory.no-place", severity="warning", why=view.detail(row, self.shell.lang).headline
            )
            return
        page = CodePage("memory.source-title", lines, place=view.place(row), at_mark=True, n=SOURCE_LINES)
        self.shell.push_screen(page)

    def action_show_operator(self, area: str) -> None:
        """Go to the operator that is joined to the site, in another pane."""
        operator = self.shown.operator(self.row) if self.shown is not None and self.row is not None else None
        if operator is None:
            self.shell.notice("memory.no-operator", severity="warning")
        else:
            self.show_in(area, operator)

    # ---- source folders ----

    def action_ask_roots(self) -> None:
        """Ask in which folders the sources lie; the run itself is what is offered first."""
        if self.run is None:
            self._nothing("memory.roots")
            return
        known = self._roots_of(self.run)
        folder = self.run.path if self.run.path.is_dir() else self.run.path.parent
        offered = os.pathsep.join(map(str, known)) if known else str(folder)
        file = self.shown.first_file if self.shown is not None else ""
        detail = self.tr("memory.roots-detail", file=safe_text(file)) if file else ""
        self.shell.push_screen(LinePage("memory.roots-title", offered, detail), self._take_roots)

    def _take_roots(self, line: str | None) -> None:
        if line is not None and self.run is not None:
            self._look_for_folders(self.run, folders_in(line))

    @work(thread=True, exclusive=True, group="roots", exit_on_error=False, description="roots")
    def _look_for_folders(self, run: Run, folders: tuple[Path, ...]) -> None:
        self.app.call_from_thread(self._use_roots, run, folders, first_that_is_none(folders))

    def _use_roots(self, run: Run, folders: tuple[Path, ...], missing: Path | None) -> None:
        if missing is not None:
            self.shell.notice("memory.no-folder", severity="warning", path=str(missing))
            return
        self._roots[str(run.path)] = folders
        if run is self.run:
            if self.shown is not None and self.row is not None:
                self._kept = self.shown.key(self.row)
            self.start_again()
