"""The performance pane: which tables it shows, how they stand there, and what opens from a row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.analysis import AnalysisOptions
from npulse.core.kept.keeper import settings_of
from npulse.core.performance.files import FileTable, FileView, file_tables
from npulse.core.performance.table import BY_KINDS
from npulse.core.performance.view import SUBJECT, PerformanceView
from npulse.core.text import Lang, safe_text
from npulse.core.views import rows_named

from ...actions import bindings_for
from ...crash import failure_of
from ...keymap import show_keys
from ...roles import RowStyle, style_by_role_alone
from ...screens.choice import ChoicePage
from ...screens.rows import Row
from ...widgets.strip import LayerStrip
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ...widgets.wrap import wrap
from ..base import Pane
from ..capturing import commands_of
from ..instead import Nothing
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, file_heading, file_specs, heading, specs
from .jobs import read_file, read_round
from .summary import lines_without_rows, nothing_lines, shown_lines

if TYPE_CHECKING:
    from npulse.core.performance.table import TableKind
    from npulse.core.run.model import Artifact, Round, Run
    from npulse.core.table import Table
    from npulse.core.views import Strip

    from ..job_pane import Job

_FIRST_KEYS = ("performance.table", "performance.timeline", "performance.rank", "performance.files")
"""They stand in front of the footer: what they show is shown nowhere else."""
_PAGE_MARGIN = 4
_MAIN_KINDS = ("prof.kernel_details", "prof.op_summary", "opprof.result")
"""What an empty pane tells how to make: all others are for questions that come later."""


class PerformancePane(TablePane["PerformanceView | FileView"], inherit_bindings=False):
    """Operators by total time, the longest first; ranks, kernels and changes are tables beside it.

    A file of the round can stand in their place: `shown` is then a `FileView`, `main` what it covers.
    """

    DEFAULT_CSS = """
    PerformancePane.-has-rows #summary { height: 3; }
    .-short PerformancePane.-has-rows #summary { height: 2; }
    """

    class FileReady(Message):
        """A file of the round has been read."""

        def __init__(self, version: int, file: FileTable) -> None:
            super().__init__()
            self.version = version
            self.file = file

    class TableReady(Message):
        """Another of the tables has been made."""

        def __init__(self, version: int, view: PerformanceView) -> None:
            super().__init__()
            self.version = version
            self.view = view

    BINDINGS: ClassVar[list[BindingType]] = [
        *(b for b in bindings_for("performance") if b.id in _FIRST_KEYS),
        *Pane.BINDINGS,
        *(b for b in bindings_for("performance") if b.id not in _FIRST_KEYS),
    ]
    is_fitted = True
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns = (SUBJECT, "op_type", "core_type", "rank", "folder")
    share_columns = frozenset(
        ("share_percent", "cumulative_percent", "share_of_wall_percent", "new_calls", "new_us")
    )
    export_name = "npulse-performance.csv"

    def __init__(self, area: str = "performance", options: AnalysisOptions | None = None) -> None:
        super().__init__(area)
        self.options = options or AnalysisOptions()
        self._kind: TableKind | None = None
        self._rank: int | None = None
        self._against: str | None = None
        self._row_below: int | None = None

    @property
    def main(self) -> PerformanceView | None:
        """The view of the profile, also while a file covers it; None while there is none."""
        return self.shown.below if isinstance(self.shown, FileView) else self.shown

    # ---- what is read ----

    def make_job(self, run: Run, round_: Round) -> Job:
        options = replace(self.options, rank=self._rank, tails=self.tails)
        return partial(
            read_round,
            run,
            round_.name,
            options=options,
            kind=lambda: self._kind,
            against=self._against,
        )

    def kept_as(self, run: Run, round_: Round) -> object | None:
        asked = settings_of(replace(self.options, rank=self._rank))
        return asked and (round_.name, asked, self._kind, self._against)

    def busy_text(self) -> str:
        return self.tr("performance.reading")

    def verdict(self) -> str:
        """Nothing stands before the timelines are read too."""
        return "" if self.shown is not None and not self.shown.is_complete else super().verdict()

    def forget_choices(self) -> None:
        super().forget_choices()
        self._rank = self._against = None

    def take(self, made: Any) -> None:
        """A table that was chosen while more was read stays chosen, and so does a file."""
        if isinstance(made, PerformanceView) and self._kind in made.kinds and made.kind != self._kind:
            made = made.with_kind(self._kind)
        if isinstance(made, PerformanceView) and isinstance(self.shown, FileView):
            made = replace(self.shown, below=made)
        was_partial = self.main is not None and not self.main.is_complete
        super().take(made)
        if was_partial and self.shown is self.main and self.table.current_row == 0 and not self.view.sort:
            self._start_at_first_finding()  # it was not known when the first rows came
        if was_partial:
            self.shell.refresh_footer()  # timeline and ranks may be there by now

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        if isinstance(self.shown, FileView):
            return file_specs(self.shown, self.view.hidden, self.shell.glyphs, self.fitted_width)
        kind = self.shown.kind if self.shown is not None else "type"
        return specs(table, kind, self.view.hidden, self.shell.glyphs, self.shell.lang, self.fitted_width)

    def heading(self, name: str, lang: Lang) -> str:
        if isinstance(self.shown, FileView):
            return file_heading(self.shown, name)
        return heading(name, lang, self.shown.kind if self.shown is not None else "type")

    def row_style(self, table: Table) -> RowStyle:
        if any(column.name == "role" for column in table.columns):
            return style_by_role_alone(table)
        return lambda row: None

    def shown_lines(self, view: PerformanceView | FileView) -> list[str]:
        main = view.below if isinstance(view, FileView) else view
        if not self.has_rows(main):
            keys = self.shell.keys.get("app.problems", ())
            return lines_without_rows(main, self.tr, self.shell.glyphs, show_keys(keys[:1]) or "!")
        is_short = self.screen.has_class("-short")
        return shown_lines(main, self.tr, self.shell.glyphs, bool(self.ended), is_short)

    def instead_lines(self, instead: Nothing) -> list[str]:
        from npulse.core.run.kinds import kinds_of

        path = self.where_text()
        return nothing_lines(
            path, commands_of([kind for kind in kinds_of("performance") if kind.id in _MAIN_KINDS]), self.tr
        )

    def filter_text(self) -> str:
        """Which of the tables it is, then the filter."""
        parts = [super().filter_text()]
        view = self.shown
        if isinstance(view, FileView):
            name = safe_text(view.file.artifact.path.name, 60)
            parts.insert(0, self.tr("performance.table-file", name=name, encoding=view.file.encoding))
            if view.file.n_dropped:
                parts.append(self.tr("performance.file-dropped", n=view.file.n_dropped))
            if view.file.n_unread:
                parts.append(self.tr("performance.file-unread", n=view.file.n_unread))
        elif view is not None and (len(view.kinds) > 1 or view.kind != "type"):
            parts.insert(0, self.tr(f"performance.table-{view.kind}"))
            if view.kind == "changes" and view.found.changes is not None:
                before = safe_text(view.found.changes.before, 40)
                parts.insert(1, self.tr("performance.against", round=before))
        return "  ".join(filter(None, parts))

    def strip_caption(self) -> str:
        return self.tr("performance.ruler")

    def can_open(self, view: PerformanceView | FileView) -> bool:
        return self.has_rows(view)

    def has_rows(self, view: PerformanceView | FileView) -> bool:
        return view.table.n_rows > 0 or isinstance(view, FileView)

    def in_footer(self, action_id: str) -> bool:
        view = self.main
        if action_id == "performance.table":
            return view is not None and (len(view.kinds) > 1 or view is not self.shown)
        if action_id == "performance.timeline":
            return view is not None and view.ruler is not None and view is self.shown
        if action_id == "performance.rank":
            return view is not None and (len(view.found.profiles) > 1 or self._rank is not None)
        if action_id == "performance.files":
            return view is not None and self.round is not None and bool(file_tables(self.round.artifacts))
        if self.shown is not None and not self.has_rows(self.shown):
            return False  # all others work on a row
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
        from ..memory.pages import CodePage, PageLine  # with all that reads logs of memory faults

        lines = [PageLine(name, is_strong=True)]
        lines += [PageLine(line) for text in texts for line in wrap(text, width)]
        self.shell.push_screen(CodePage("performance.page-title", lines, place=view.place(message.row)))

    def action_next_table(self) -> None:
        """Types, single calls, by count, by average; kernels, ranks and changes where there are some."""
        view = self.shown
        if isinstance(view, FileView):
            self._leave_file()
        elif view is None or len(view.kinds) < 2:
            keys = show_keys(self.shell.keys.get("performance.files", ())[:1])
            has_files = bool(keys) and self.in_footer("performance.files")
            words = "performance.one-table-files" if has_files else "performance.one-table"
            self.shell.notice(words, severity="warning", key=keys)
        else:
            self._kind = view.next_kind()
            if view.is_large:
                self.tell(busy=self.tr("performance.ordering"))
                self._make_table(self.version, view, self._kind)
            else:
                self._replace_rows(view.with_kind(self._kind), 0)

    @work(thread=True, exclusive=True, group="kind", exit_on_error=False, description="table")
    def _make_table(self, version: int, view: PerformanceView, kind: TableKind) -> None:
        made = view.with_kind(kind)
        if not get_current_worker().is_cancelled:
            self.post_message(self.TableReady(version, made))

    @on(TableReady)
    def _table_ready(self, message: TableReady) -> None:
        made, main = message.view, self.main
        if message.version != self.version or main is None or main is not self.shown:
            return
        if made.found is not main.found and main.kind != made.kind:  # more was read by now
            self._make_table(self.version, main, made.kind)
            return
        if made.found is main.found:
            self._replace_rows(made.translated(self.shell.lang) if made.lang != self.shell.lang else made, 0)
        self.tell(busy="" if main.is_complete else self.more_text())

    def _replace_rows(self, view: PerformanceView | FileView, row: int) -> None:
        """Other rows: what was sorted and filtered was so for those that leave."""
        self.forget_marks()
        with self.app.batch_update():
            self.set_reactive(
                PerformancePane.view, replace(self.view, sort=None, descending=False, filter="")
            )
            self._undo = []
            self._order, self._trouble = None, ""
            self.shown = view
            self.table.can_open = self.can_open(view)
            self.show_rows()
            self._show_marks()
            self.table.move_to_row(row)
            self.job_changed()
        self.ask_detail(self.table.current_row)

    def _show_strip(self, found: tuple[Strip, int] | None) -> None:
        """Not every table has the ruler; where one has, the style sheet says again whether it is shown."""
        widget = self.query_one(LayerStrip)
        if found is not None and widget.styles.clear_rule("display"):
            widget.refresh(layout=True)
        super()._show_strip(found)

    # ---- the other tables ----

    def action_choose_file(self) -> None:
        """The round's other tables, as their files have them."""
        found = file_tables(self.round.artifacts) if self.round is not None else ()
        if not found or self.main is None:
            self.shell.notice("performance.no-files", severity="warning")
            return
        choices = [(artifact.relative, artifact) for artifact in found]
        self.shell.push_screen(ChoicePage("performance.files-title", choices), self._take_file)

    def _take_file(self, chosen: Row | Artifact | None) -> None:
        artifact = chosen.value if isinstance(chosen, Row) else chosen
        if artifact is None or self.run is None:
            return
        self.tell(busy=self.tr("performance.reading-file", name=safe_text(artifact.path.name, 60)))
        self._read_file(self.version, artifact, self.run)

    @work(thread=True, exclusive=True, group="file", exit_on_error=False, description="file")
    def _read_file(self, version: int, artifact: Artifact, run: Run) -> None:
        worker = get_current_worker()
        file = read_file(run, artifact, is_cancelled=lambda: worker.is_cancelled)
        if not worker.is_cancelled:
            self.post_message(self.FileReady(version, file))

    @on(FileReady)
    def _file_ready(self, message: FileReady) -> None:
        if message.version != self.version or self.main is None:
            return
        if self.main is self.shown:
            self._row_below = self.row
        self._replace_rows(FileView(self.main, message.file), 0)
        self.tell(busy="" if self.main.is_complete else self.more_text())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A file that cannot be read is told of; what stands there stays."""
        if event.worker.group != "file":
            super().on_worker_state_changed(event)
            return
        error = failure_of(event)
        if error is not None:
            self.shell.show_failure(error)
        if error is not None or event.state == WorkerState.CANCELLED:
            self.tell(busy="" if self.main is None or self.main.is_complete else self.more_text())

    def _leave_file(self) -> None:
        """Back from a file to the table before, to the row before."""
        if self.main is not None:
            self._replace_rows(self.main, self._row_below or 0)

    def go_back(self) -> bool:
        if super().go_back():
            return True
        if isinstance(self.shown, FileView):
            self._leave_file()
            return True
        return False

    def action_choose_rank(self) -> None:
        """Whose table is shown: one rank, or the one that npulse thinks of first."""
        view = self.main
        known = [a.rank for a in self.round.artifacts] if self.round is not None else []
        known += [one.profile.rank for one in view.found.profiles] if view is not None else []
        ranks = sorted({rank for rank in known if rank is not None})
        if view is None or not ranks:
            self.shell.notice("performance.no-ranks", severity="warning")
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
        if isinstance(self.shown, FileView):
            self._leave_file()
        self.start_again()

    def action_show_timeline(self) -> None:
        """Streams as rows over time, at the longest call of the row under the cursor."""
        view = self.main
        if view is None or view.wall is None or view.ruler is None:
            self.shell.notice("performance.no-timeline", severity="warning")
            return
        from .timeline import TimelinePage

        self.shell.push_screen(TimelinePage(view, self._moment(view)))

    def _moment(self, view: PerformanceView) -> int | None:
        """When the longest call of the row under the cursor began; None where the row has no calls."""
        row = self.row
        if row is None or view is not self.shown:
            return None
        if view.kind == "changes":  # a row is an operator type there too, at another place
            name = str(view.table.column(SUBJECT).value(row))
            view = view.with_kind("type")
            row = next(iter(rows_named(view.table, SUBJECT, {name}).tolist()), None)
        return view.start_of(row) if row is not None and view.kind in BY_KINDS else None
