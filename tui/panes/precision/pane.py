"""The precision pane: compares in a worker, shows rows, detail and strip; computes nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Finding, Problem, Report
from npulse.core.text import safe_text

from ...actions import bindings_for
from ...screens.entry import Entry
from ...widgets.strip import LayerStrip
from ...widgets.virtual_table import TableView, VirtualTable
from ..base import Pane, PaneStatus
from .columns import HIDDEN_AT_FIRST, heading, row_style, specs
from .detail import DetailView

if TYPE_CHECKING:
    from npulse.core.precision.compare import Comparison, RankComparison, Settings
    from npulse.core.precision.detail import Detail
    from npulse.core.precision.layers import LayerStrip as StripData
    from npulse.core.progress import Progress
    from npulse.core.run.model import Run
    from npulse.core.run.sides import CapturePair
    from npulse.core.table import Order, Table

FILTER_PAUSE_S = 0.12
DETAIL_PAUSE_S = 0.1
PROGRESS_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class Shown:
    """What a comparison gives the pane, made in the worker and taken over as a whole."""

    version: int
    comparison: Comparison
    report: Report
    table: Table
    strips: tuple[tuple[StripData, Any], ...]


class PrecisionPane(Pane):
    """Rows of both captures side by side, the origin first."""

    BINDINGS = bindings_for("precision")
    DEFAULT_CSS = """
    PrecisionPane { layout: vertical; }
    PrecisionPane #summary { height: auto; max-height: 3; padding: 0 1; }
    PrecisionPane #body { height: 1fr; layout: vertical; }
    PrecisionPane #rows { height: 3fr; }
    PrecisionPane VirtualTable { height: 1fr; }
    PrecisionPane #state { height: 1; padding: 0 1; text-style: dim; }
    PrecisionPane LayerStrip { padding: 0 1; }
    PrecisionPane Entry { display: none; }
    PrecisionPane.-filtering Entry { display: block; }
    PrecisionPane #side { height: 2fr; min-height: 5; border-top: solid $panel; }
    .-wide PrecisionPane #body { layout: horizontal; }
    .-wide PrecisionPane #rows { height: 1fr; width: 2fr; }
    .-wide PrecisionPane #side { height: 1fr; width: 1fr; border-top: none; border-left: solid $panel; }
    .-short PrecisionPane #side { display: none; }
    .-short PrecisionPane LayerStrip { display: none; }
    """

    class Ready(Message):
        """A comparison can be shown: after the first read, and again when it is complete."""

        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    class NothingToCompare(Message):
        """No capture pair: a report of one capture alone, or the reason why there is nothing."""

        def __init__(self, version: int, report: Report | None, reason: str) -> None:
            super().__init__()
            self.version = version
            self.report = report
            self.reason = reason

    class OrderReady(Message):
        """The rows of a view in display order; `trouble` says why a filter could not be used."""

        def __init__(self, version: int, view: object, order: Order | None, trouble: str) -> None:
            super().__init__()
            self.version = version
            self.view = view
            self.order = order
            self.trouble = trouble

    class DetailReady(Message):
        """The detail of a row."""

        def __init__(self, version: int, row: int, detail: Detail) -> None:
            super().__init__()
            self.version = version
            self.row = row
            self.detail = detail

    class Told(Message):
        """How far the comparison is."""

        def __init__(self, version: int, progress: Progress) -> None:
            super().__init__()
            self.version = version
            self.progress = progress

    def __init__(self, area: str = "precision", settings: Settings | None = None) -> None:
        super().__init__(area)
        self.settings = settings
        self.shown: Shown | None = None
        self.alone: Report | None = None
        self._version = 0
        self._order: Order | None = None
        self._trouble = ""
        self._reason = ""
        self._started: tuple[object, int] | None = None
        self._began_s = 0.0
        self._filter_timer: Timer | None = None
        self._detail_timer: Timer | None = None
        self.set_reactive(Pane.view, self.view.__class__(hidden=HIDDEN_AT_FIRST))

    def compose(self) -> ComposeResult:
        yield Static(id="summary", markup=False)
        with Container(id="body"):
            with Vertical(id="rows"):
                yield VirtualTable()
                yield Entry(id="filter")
                yield Static(id="state", markup=False)
                yield LayerStrip()
            with Vertical(id="side"):
                yield DetailView()

    def on_mount(self) -> None:
        self.watch(self.table, "position", self._show_state, init=False)
        self._show_summary()

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)

    def focus_target(self) -> Widget:
        return self.table

    # ---- comparing ----

    def watch_run(self, run: Run | None) -> None:
        self._begin()

    def watch_round_index(self, index: int) -> None:
        self._begin()

    def _begin(self) -> None:
        key = (self.run, self.round_index)
        if self._started is not None and self._started[0] is key[0] and self._started[1] == key[1]:
            return
        self._started = key
        self._version += 1
        self.shown, self.alone, self._order, self._reason = None, None, None, ""
        if self.is_mounted:
            self.table.view = TableView.empty()
            self.query_one(DetailView).detail = None
            self._show_summary()
        if self.run is not None and self.round is not None:
            self._began_s = monotonic()
            self._tell(busy=self.tr("precision.reading"))
            self._compare(self._version, self.run, self.round.name)

    @work(thread=True, exclusive=True, group="compare", exit_on_error=False)
    def _compare(self, version: int, run: Run, round_name: str) -> None:
        from npulse.core.precision.compare import Settings, compare_captures
        from npulse.core.run.sides import capture_pairs

        worker = get_current_worker()
        pair = next((p for p in capture_pairs(run) if p.round == round_name), None)
        if pair is None:
            self._check_alone(version, run, round_name)
            return
        last = 0.0

        def tell(progress: Progress) -> None:
            nonlocal last
            if monotonic() - last >= PROGRESS_PAUSE_S:
                last = monotonic()
                self.post_message(self.Told(version, progress))

        def show(comparison: Comparison) -> None:
            if not worker.is_cancelled:
                self.post_message(self.Ready(self._shown(version, comparison, pair)))

        show(
            compare_captures(
                pair,
                self.settings or Settings(),
                progress=tell,
                is_cancelled=lambda: worker.is_cancelled,
                on_update=show,
            )
        )

    def _shown(self, version: int, comparison: Comparison, pair: CapturePair) -> Shown:
        from npulse.core.precision.report import report
        from npulse.core.precision.table import precision_table
        from npulse.core.precision.layers import layer_strip

        del pair
        lang = self.shell.lang
        strips = tuple(layer_strip(comparison, rank) for rank in comparison.ranks)
        return Shown(version, comparison, report(comparison, lang=lang), precision_table(comparison), strips)

    def _check_alone(self, version: int, run: Run, round_name: str) -> None:
        from npulse.core.precision.alone import check_alone

        artifacts = next((r.artifacts for r in run.rounds if r.name == round_name), ())
        dumps = [a for a in artifacts if a.kind == "msprobe.dump"]
        report = check_alone(run, dumps, lang=self.shell.lang) if dumps else None
        self.post_message(self.NothingToCompare(version, report, ""))

    @on(Ready)
    def _take(self, message: Ready) -> None:
        shown = message.shown
        if shown.version != self._version:
            return
        is_first = self.shown is None
        self.shown = shown
        done = shown.comparison.stage == "complete"
        self._tell(busy="" if done else self.tr("precision.closer"))
        with self.app.batch_update():
            self._show_view_rows()
            self._show_summary()
            self._show_marks()
        if self.view.sort or self.view.filter:
            self._reorder()
        if is_first:
            self.action_origin_quietly()
        else:
            self._ask_detail(self.table.current_row)

    @on(NothingToCompare)
    def _take_nothing(self, message: NothingToCompare) -> None:
        if message.version == self._version:
            self.alone, self._reason = message.report, message.reason
            self._tell(busy="")
            self._show_summary()

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        if message.version != self._version:
            return
        p = message.progress
        elapsed = max(monotonic() - self._began_s, 0.001)
        total = "" if p.total is None else f"/{p.total:,}"
        self._tell(busy=f"{p.stage} {p.done:,}{total} {p.unit} {p.done / elapsed:,.0f}/s")

    def _tell(self, *, busy: str) -> None:
        report = self.report()
        self.post_message(
            PaneStatus(self.area, self._problems(), busy, report.verdict if report is not None and not busy else "")
        )

    def _problems(self) -> tuple[Problem, ...]:
        report = self.report()
        return report.problems if report is not None else ()

    # ---- showing ----

    def watch_view(self, old: Any, new: Any) -> None:
        if not self.is_mounted:
            return
        if (old.sort, old.descending, old.filter) != (new.sort, new.descending, new.filter):
            self._reorder()
        else:
            self._show_view_rows()
        self._show_marks()

    def _show_view_rows(self) -> None:
        if self.shown is None:
            return
        table = self.shown.table
        self.table.view = TableView(
            table,
            specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang),
            order=self._order,
            row_style=row_style(table),
            sorted_by=self.view.sort or "",
            is_descending=self.view.descending,
            version=self._version,
        )
        self._show_state()

    def _show_marks(self) -> None:
        if self.shown is None:
            return
        marks = {subject for subject, _ in self.view.marks}
        self.table.marked = self._rows_named(marks) if marks else frozenset()

    def _rows_named(self, subjects: set[str]) -> frozenset[int]:
        import numpy as np

        assert self.shown is not None
        column = self.shown.table.column("operator")
        codes = [code for code, label in enumerate(column.labels or ()) if label in subjects]
        return frozenset(np.flatnonzero(np.isin(column.values, codes)).tolist())

    def _show_summary(self) -> None:
        self.query_one("#summary", Static).update("\n".join(self._plain(line) for line in self.summary_lines()))
        has_rows = self.shown is not None
        for selector in ("#body",):
            self.query_one(selector).display = has_rows

    def summary_lines(self) -> list[str]:
        """The answer first: how many findings, which is the origin, what to do next."""
        report = self.report()
        if report is None:
            return self._empty_lines()
        counts = report.counts
        if self.shown is None:
            lines = [self.tr("precision.alone", n=counts.get("origin", 0), calls=counts.get("calls", 0))]
            return lines + [f"{f.subject}: {f.message}" for f in report.findings[:12]] + self._candidates()
        pair = self.shown.comparison.pair
        line = self.tr(
            "precision.counts",
            verdict=report.verdict.upper(),
            compared=counts.get("compared", 0),
            origin=counts.get("origin", 0),
            inherited=counts.get("inherited", 0),
            unmatched=counts.get("unmatched", 0),
            unknown=counts.get("unknown", 0),
        )
        sides = self.tr("precision.sides", target=pair.target_name, golden=pair.golden_name)
        lines = [f"{line}   {sides}"]
        first = report.findings[0] if report.findings else None
        if first is None:
            lines.append(self.tr("precision.nothing"))
        else:
            shape = self.shell.glyphs.severity("origin" if first.role == "origin" else first.severity)
            lines.append(f"{shape} {first.subject}  {first.message}")
        return lines

    def _empty_lines(self) -> list[str]:
        if self.shell.open_error:
            return [self.tr("pending.failed", message=safe_text(self.shell.open_error))]
        if self.run is None:
            return [self.tr("pending.opening" if self.shell.run_path else "pending.no-run")]
        if self._started is not None and not self._reason and self._is_comparing():
            return [self.tr("precision.reading")]
        return [self.tr("precision.no-pair", path=safe_text(str(self.run.path))), *self._candidates()]

    def _is_comparing(self) -> bool:
        return any(w.group == "compare" and not w.is_finished for w in self.workers)

    def _candidates(self) -> list[str]:
        """What a user can do where no pair was found."""
        return [self.tr("precision.how-pair"), self.tr("precision.how-capture")]

    def _plain(self, line: str) -> str:
        from ...glyphs import ascii_shapes, ascii_text

        text = safe_text(line)
        return ascii_text(ascii_shapes(text)) if self.shell.glyphs.is_ascii else text

    def _show_state(self, *_: object) -> None:
        parts = [self.table.position] if self.shown is not None else []
        if self.view.filter:
            parts.append(self.tr("precision.filtered", filter=safe_text(self.view.filter, 60)))
        if self.view.sort:
            arrow = self.shell.glyphs.descending if self.view.descending else self.shell.glyphs.ascending
            parts.append(f"{arrow} {heading(self.view.sort, self.shell.lang)}")
        if self._trouble:
            parts.append(safe_text(self._trouble))
        self.query_one("#state", Static).update(self._plain("  ".join(parts)))

    def retranslate(self) -> None:
        self.table.position_template = self.tr("table.position")
        if self.shown is not None:
            from npulse.core.precision.report import report

            comparison = self.shown.comparison
            self.shown = Shown(
                self.shown.version,
                comparison,
                report(comparison, lang=self.shell.lang),
                self.shown.table,
                self.shown.strips,
            )
            self._show_view_rows()
            self._ask_detail(self.table.current_row)
        self.query_one("#filter", Entry).placeholder = self.tr("precision.filter-hint")
        self._show_summary()

    # ---- order ----

    def _reorder(self) -> None:
        if self.shown is not None:
            self._order_rows(self._version, self.shown.table, self.view)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _order_rows(self, version: int, table: Table, view: Any) -> None:
        from npulse.core.query import matching_rows
        from npulse.core.table import sort_order

        worker = get_current_worker()
        order, trouble = None, ""
        try:
            order = matching_rows(table, view.filter) if view.filter.strip() else None
        except UsageError as error:
            trouble = error.message
        if view.sort:
            order = sort_order(table, view.sort, descending=view.descending, within=order)
        if not worker.is_cancelled:
            self.post_message(self.OrderReady(version, view, order, trouble))

    @on(OrderReady)
    def _take_order(self, message: OrderReady) -> None:
        if message.version != self._version or message.view is not self.view:
            return
        self._order, self._trouble = message.order, message.trouble
        self._show_view_rows()

    # ---- detail and strip ----

    @on(VirtualTable.RowHighlighted)
    def _row_highlighted(self, message: VirtualTable.RowHighlighted) -> None:
        self._ask_detail(message.row)

    def _ask_detail(self, row: int | None) -> None:
        if self._detail_timer is not None:
            self._detail_timer.stop()
        if row is not None:
            self._detail_timer = self.set_timer(DETAIL_PAUSE_S, lambda: self._start_detail(row))

    def _start_detail(self, row: int) -> None:
        if self.shown is not None:
            self._make_detail(self._version, self.shown, row)
            self._show_strip(row)

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _make_detail(self, version: int, shown: Shown, row: int) -> None:
        from npulse.core.precision.table import place_of
        from npulse.core.precision.detail import detail

        rank, inner = place_of(shown.comparison, row)
        made = detail(shown.comparison, rank, inner, self.shell.lang)
        if not get_current_worker().is_cancelled:
            self.post_message(self.DetailReady(version, row, made))

    @on(DetailReady)
    def _take_detail(self, message: DetailReady) -> None:
        if message.version == self._version:
            self.query_one(DetailView).detail = message.detail

    def _show_strip(self, row: int) -> None:
        placed = self._rank_at(row)
        if placed is None or self.shown is None:
            return
        index, _, inner = placed
        data, layer = self.shown.strips[index]
        strip = self.query_one(LayerStrip)
        with self.app.batch_update():
            if getattr(strip, "shown_strip", None) is not data:
                strip.absent = ~data.known
                strip.high = 1.0
                strip.values = data.errors
                strip.shown_strip = data  # type: ignore[attr-defined]
            strip.cursor = int(layer[inner])
            strip.label = self._plain(data.labels[int(layer[inner])])[:24].ljust(12)

    def _rank_at(self, row: int) -> tuple[int, RankComparison, int] | None:
        from npulse.core.precision.table import place_of

        if self.shown is None:
            return None
        try:
            rank, inner = place_of(self.shown.comparison, row)
        except IndexError:
            return None
        return self.shown.comparison.ranks.index(rank), rank, inner

    # ---- findings ----

    def report(self) -> Report | None:
        return self.shown.report if self.shown is not None else self.alone

    def finding(self) -> Finding | None:
        row = self.table.current_row
        placed = self._rank_at(row) if row is not None else None
        if placed is None or self.shown is None:
            return super().finding()
        from npulse.core.precision.explain import row_finding

        _, rank, inner = placed
        return row_finding(self.shown.comparison, rank, inner, self.shell.lang)

    def subject(self) -> str | None:
        row = self.table.current_row
        if row is None or self.shown is None:
            return None
        return str(self.shown.table.column("operator").value(row))

    def action_origin_quietly(self) -> None:
        """Start at the first finding; without one, at the top."""
        report = self.report()
        if report is not None and report.findings and report.findings[0].severity == "error":
            self._finding_index = 0
            self.go_to(report.findings[0])
        else:
            self._ask_detail(self.table.current_row)

    def go_to(self, finding: Finding) -> bool:
        row = self._row_of(finding)
        if row is None:
            return False
        if not self.table.move_to_row(row):
            if not (self.view.filter or self.view.sort):
                return False
            self._order = None
            self.change_view(filter="", sort=None, descending=False)
            self._show_view_rows()
            self.table.move_to_row(row)
        self._ask_detail(row)
        return True

    def _row_of(self, finding: Finding) -> int | None:
        if self.shown is None:
            return None
        from npulse.core.precision.table import table_row

        at = finding.location
        for rank in self.shown.comparison.ranks:
            if (rank.rank, rank.step) == (at.rank, at.step) and at.row is not None:
                return table_row(self.shown.comparison, rank, at.row)
        rows = self._rows_named({finding.subject})
        return min(rows) if rows else None

    def go_to_subject(self, subject: str) -> bool:
        rows = self._rows_named({subject}) if self.shown is not None else frozenset()
        return bool(rows) and self.table.move_to_row(min(rows))

    def place(self) -> tuple[Path, int | None] | None:
        row = self.table.current_row
        placed = self._rank_at(row) if row is not None else None
        if placed is None or self.run is None:
            return None
        from npulse.core.precision.explain import source_place

        return source_place(placed[1], placed[2], self.run.path)

    def where_lines(self) -> list[str]:
        row = self.table.current_row
        placed = self._rank_at(row) if row is not None else None
        if placed is None or self.shown is None:
            return super().where_lines()
        from npulse.core.precision.explain import where_lines

        return [self._plain(line) for line in where_lines(self.shown.comparison, placed[1], placed[2])]

    # ---- keys ----

    def action_filter(self) -> None:
        if self.shown is None:
            self._nothing("pane.filter")
            return
        self.add_class("-filtering")
        entry = self.query_one("#filter", Entry)
        entry.value = self.view.filter
        entry.focus()

    @on(Entry.Changed, "#filter")
    def _filter_changed(self, event: Entry.Changed) -> None:
        event.stop()
        if self._filter_timer is not None:
            self._filter_timer.stop()
        text = event.value
        self._filter_timer = self.set_timer(FILTER_PAUSE_S, lambda: self.change_view(filter=text))

    @on(Entry.Submitted, "#filter")
    def _filter_done(self, event: Entry.Submitted) -> None:
        event.stop()
        self.change_view(filter=event.value)
        self._close_filter()

    def _close_filter(self) -> None:
        self.table.focus()
        self.remove_class("-filtering")

    def go_back(self) -> bool:
        if self.has_class("-filtering"):
            self._close_filter()
            return True
        if self.view.filter:
            self.change_view(filter="")
            return True
        return False

    def action_sort_column(self) -> None:
        name = self.table.current_column
        if name is None:
            self._nothing("table.sort")
        else:
            self.change_view(sort=None if self.view.sort == name else name, descending=False)

    def action_reverse_sort(self) -> None:
        name = self.view.sort or self.table.current_column
        if name is None:
            self._nothing("table.reverse")
        else:
            self.change_view(sort=name, descending=not self.view.descending)

    def action_choose_columns(self) -> None:
        from .pages import ColumnsPage

        if self.shown is None:
            self._nothing("table.columns")
            return
        names = tuple(c.name for c in self.shown.table.columns)
        self.shell.push_screen(ColumnsPage(names, self.view.hidden), self._take_hidden)

    def _take_hidden(self, hidden: frozenset[str] | None) -> None:
        if hidden is not None:
            self.change_view(hidden=hidden)

    def action_find_column(self) -> None:
        from .pages import FindColumnPage

        if self.shown is None:
            self._nothing("table.find-column")
            return
        names = tuple(c.name for c in self.shown.table.columns)
        self.shell.push_screen(FindColumnPage(names), self._show_column)

    def _show_column(self, name: str | None) -> None:
        if name is None:
            return
        if name in self.view.hidden:
            self.change_view(hidden=self.view.hidden - {name})
        if not self.table.move_to_column(name):
            self.shell.notice("precision.column-empty", name=name)

    @on(VirtualTable.HeaderSelected)
    def _header_selected(self, message: VirtualTable.HeaderSelected) -> None:
        self.change_view(sort=message.column, descending=not self.view.descending)

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        from npulse.core.precision.detail import has_elements

        from .elements import ElementsPage

        placed = self._rank_at(message.row)
        if placed is None or self.shown is None:
            return
        if not has_elements(placed[1], placed[2]):
            self.shell.notice("precision.no-elements", severity="warning")
            return
        self.shell.push_screen(ElementsPage(self.shown.comparison, placed[1], placed[2]))

    def action_show_stack(self) -> None:
        row = self.table.current_row
        placed = self._rank_at(row) if row is not None else None
        if placed is None:
            self._nothing("precision.stack")
            return
        self._load_stack(placed[1], placed[2])

    @work(thread=True, exclusive=True, group="stack", exit_on_error=False)
    def _load_stack(self, rank: RankComparison, row: int) -> None:
        from npulse.core.precision.explain import stack_lines

        lines = stack_lines(rank, row)
        self.app.call_from_thread(self._show_stack, lines)

    def _show_stack(self, lines: list[str]) -> None:
        if lines:
            self.shell.show_lines("precision.stack-title", [self._plain(line) for line in lines])
        else:
            self.shell.notice("precision.no-stack", severity="warning")

    def action_show_modules(self) -> None:
        from .pages import ModulesPage

        row = self.table.current_row
        placed = self._rank_at(row) if row is not None else None
        if placed is None or self.shown is None:
            self._nothing("precision.modules")
            return
        self.shell.push_screen(ModulesPage(self.shown.comparison, placed[1]), self._go_to_row)

    def _go_to_row(self, row: int | None) -> None:
        if row is not None and self.table.move_to_row(row):
            self._ask_detail(row)

    def action_export(self) -> None:
        from .pages import ExportPage

        if self.shown is None:
            self._nothing("pane.export")
            return
        self.shell.push_screen(ExportPage(), self._export)

    def _export(self, path: str | None) -> None:
        if path and self.shown is not None and self.run is not None:
            self._write_export(self.shown, self.run.path, Path(path))

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def _write_export(self, shown: Shown, run: Path, path: Path) -> None:
        import npulse
        from npulse.core.precision.report import report
        from npulse.core.report import format_of, render, write_report

        full = report(shown.comparison, lang=self.shell.lang, tables=True)
        try:
            name = format_of(str(path), "text")
            pieces = render(full, name, version=str(npulse.__version__), lang=self.shell.lang)
            size = write_report(pieces, path, runs=[run])
        except (InputError, UsageError) as error:
            self.app.call_from_thread(self.shell.show_failure, error)
            return
        self.app.call_from_thread(self.shell.notice, "precision.exported", path=str(path), n=size)
