"""The elements of one row: the worst hundred, where they lie, how the errors are spread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static
from textual.worker import get_current_worker

from npulse.core.text import safe_text

from ...chrome import cut_middle
from ...screens.page import Page
from ...widgets.bars import Bars, histogram_labels
from ...widgets.heatmap import Heatmap
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.precision.detail import ElementView

_COLUMNS = (
    ColumnSpec("index", "index", max_width=24, is_frozen=True),
    ColumnSpec("target", "target", format="significant", decimals=7, priority=1),
    ColumnSpec("golden", "golden", format="significant", decimals=7, priority=2),
    ColumnSpec("abs_error", "|t-g|", format="scientific", decimals=2, priority=3),
    ColumnSpec("rel_error", "|t-g|/|g|", format="scientific", decimals=2, priority=4),
    ColumnSpec("ulps", "ulps", format="significant", decimals=4, priority=5),
    ColumnSpec("flat_index", "flat", priority=6),
)
_BINS = 12
_MIN_NAME = 16  # cells


class ElementsPage(Page[None]):
    """Reads both tensors in a worker; leaving the page cancels it."""

    DEFAULT_CSS = """
    ElementsPage #figures { height: 2fr; }
    ElementsPage #map-side { width: 1fr; padding: 0 1; }
    ElementsPage #histogram-side { width: 1fr; padding: 0 1; }
    ElementsPage VirtualTable { height: 3fr; }
    ElementsPage .caption { height: 1; text-style: dim; }
    .-short ElementsPage #figures { display: none; }
    ElementsPage.-short #figures { display: none; }
    """

    class ElementsReady(Message):
        """The elements can be shown."""

        def __init__(self, view: ElementView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, comparison: Comparison, rank: RankComparison, row: int) -> None:
        super().__init__()
        self._comparison = comparison
        self._rank = rank
        self._row = row
        self._view: ElementView | None = None

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        rows = VirtualTable()
        rows.can_open = False
        yield rows
        with Horizontal(id="figures"):
            with Vertical(id="map-side"):
                yield Static(classes="caption", id="map-caption", markup=False)
                yield Heatmap()
            with Vertical(id="histogram-side"):
                yield Static(classes="caption", id="histogram-caption", markup=False)
                yield Bars()

    async def begin(self) -> None:
        self._read()

    @work(thread=True, exclusive=True, group="elements", exit_on_error=False)
    def _read(self) -> None:
        from npulse.core.precision.detail import element_view

        worker = get_current_worker()
        view = element_view(self._comparison, self._rank, self._row, is_cancelled=lambda: worker.is_cancelled)
        if not worker.is_cancelled:
            self.post_message(self.ElementsReady(view))

    @on(ElementsReady)
    def _take(self, message: ElementsReady) -> None:
        self._view = message.view
        self.retranslate()
        self.query_one(VirtualTable).focus()

    def retranslate(self) -> None:
        super().retranslate()
        self._show_title()
        view = self._view
        if view is None:
            return
        self.query_one(VirtualTable).view = TableView(view.worst, _COLUMNS)
        self._show_map(view)
        self._show_histogram(view)

    def on_resize(self) -> None:
        self._show_title()

    def _show_title(self) -> None:
        view = self._view
        if view is None:
            make = partial(self.tr, "elements.reading")
        else:
            shape = "x".join(map(str, view.target.shape)) or "0-d"
            dtypes = f"{view.target.declared.name} / {view.golden.declared.name}"
            make = partial(self.tr, "elements.title", n=view.worst.n_rows, shape=shape, dtypes=dtypes)
        room = self.size.width - 2 - cell_len(make(name=""))
        leaf = self._rank.rows.target_row(self._row)
        name = cut_middle(
            safe_text(self._rank.target.leaf_name(leaf)), max(room, _MIN_NAME), self.shell.glyphs
        )
        self.query_one("#title", Static).update(self.plain(make(name=name)), layout=False)

    def _show_map(self, view: ElementView) -> None:
        cells = np.where(view.map.is_nonfinite, np.nan, view.map.errors)
        self.query_one(Heatmap).values = cells
        rows, columns = int(view.map.row_edges[-1]), int(view.map.column_edges[-1])
        caption = self.tr("elements.map", rows=rows, columns=columns)
        self.query_one("#map-caption", Static).update(self.plain(caption))

    def _show_histogram(self, view: ElementView) -> None:
        found = view.histograms
        edges, counts = found.relative.edges, found.relative.counts
        step = max(1, -(-len(counts) // _BINS))
        starts = np.arange(0, len(counts), step)
        joined = np.add.reduceat(counts, starts) if len(counts) else counts
        kept = [float(e) for e in (*edges[starts], edges[-1])] if len(counts) else []
        bars = self.query_one(Bars)
        bars.labels = (self.tr("elements.equal"), *histogram_labels([10.0**e for e in kept]))
        bars.figures = (float(found.n_equal), *(float(n) for n in joined))
        caption = self.tr("elements.histogram", zero=found.n_zero_reference, bad=found.n_nonfinite_differing)
        self.query_one("#histogram-caption", Static).update(self.plain(caption))
