"""Both sequences of calls side by side, with what stands between them and why: walked over and filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from textual import on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from npulse.core.precision.pages.pairing_rows import pairing_detail, pairing_rows
from npulse.core.text import safe_text

from ...keymap import show_keys
from ...screens.entry import Entry
from ...screens.page import Page
from ...widgets.detail import DetailView
from ...widgets.virtual_table import TableView, VirtualTable
from ..base import ViewState
from ..order import order_rows
from .pairing_columns import SIGNS, pairing_specs, pairing_style

if TYPE_CHECKING:
    from npulse.core.precision.by_hand import HandPair
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.precision.pages.pairing_rows import PairingRows
    from npulse.core.precision.pairing import Pairing
    from npulse.core.table import Order


@dataclass(frozen=True, slots=True)
class Left:
    """How the pairing view was left: at which row of the rank (None: none was opened), with which pairs of
    the user's (None: they are as they were)."""

    row: int | None = None
    pairs: tuple[HandPair, ...] | None = None


class PairingLines(Page["Left | None"]):
    """One rank and step; opens at a row of it. Enter dismisses with the worst row of the call there."""

    DEFAULT_CSS = """
    PairingLines #counts { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    PairingLines VirtualTable { height: 1fr; }
    PairingLines #state { height: 1; padding: 0 1; text-style: dim; }
    PairingLines Entry { display: none; }
    PairingLines.-filtering Entry { display: block; }
    PairingLines DetailView { height: 35%; max-height: 12; border-top: solid $panel; }
    PairingLines.-short DetailView { display: none; }
    """

    class RowsReady(Message):
        """The lines can be shown."""

        def __init__(self, rows: PairingRows) -> None:
            super().__init__()
            self.rows = rows

    class OrderReady(Message):
        """The lines that a filter leaves."""

        def __init__(self, rows: PairingRows, order: Order | None, trouble: str) -> None:
            super().__init__()
            self.rows, self.order, self.trouble = rows, order, trouble

    def __init__(self, comparison: Comparison, rank: RankComparison, row: int | None = None) -> None:
        super().__init__()
        self.comparison, self.rank = comparison, rank
        self._row = row
        self.rows: PairingRows | None = None
        self._filter = ""
        self._is_open_only = False
        self._order: Order | None = None
        self._trouble = ""
        self._specs_for: tuple[object, ...] = ()

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="counts", markup=False)
        yield VirtualTable()
        yield Entry(id="filter")
        yield Static(id="state", markup=False)
        detail = DetailView()
        detail.can_focus = False
        yield detail

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)

    @property
    def line(self) -> int | None:
        """The line under the cursor."""
        return None if self.rows is None else self.table.current_row

    async def begin(self) -> None:
        self.table.position_template = self.tr("table.position")
        self.watch(self.table, "position", self._show_state, init=False)
        self.make_rows()
        self.table.focus()

    def retranslate(self) -> None:
        super().retranslate()
        self.table.position_template = self.tr("table.position")
        self.query_one("#filter", Entry).placeholder = self.tr("table.filter-hint")
        self._specs_for = ()
        self._show()
        self._show_detail(self.line)

    def on_resize(self) -> None:
        self._show()

    def in_footer(self, action_id: str) -> bool:
        if action_id in ("pairing.next", "pairing.only"):
            return self.rows is not None and bool(self.rows.open.any())
        return self.rows is not None

    # ---- what is shown ----

    @work(thread=True, exclusive=True, group="pairing", exit_on_error=False, description="pairing")
    def make_rows(self) -> None:
        """The lines of the pairing of the moment."""
        self.post_message(self.RowsReady(pairing_rows(self.rank, self.pairing())))

    @on(RowsReady)
    def _take_rows(self, message: RowsReady) -> None:
        line = self.line
        is_first = self.rows is None
        self.rows, self._order = message.rows, None
        self._specs_for = ()
        self._show()
        if is_first and self._row is not None and self.rows.n_lines:
            line = self.rows.line_of_row(self._row)
        if line is not None:
            self.table.move_to_row(min(line, max(self.rows.n_lines - 1, 0)))
        self.refresh_footer()
        if self._filter or self._is_open_only:
            self._reorder()
        self._show_detail(self.line)

    def pairing(self) -> Pairing | None:
        """Another pairing than the one that was judged; None for that. Called in a worker."""
        return None

    def marks(self) -> tuple[frozenset[int], frozenset[int]]:
        """Call rows of both sides that are marked."""
        return frozenset(), frozenset()

    def _show(self) -> None:
        rows = self.rows
        self._show_title()
        if rows is None or not self.is_mounted:
            return
        wanted = (self.app.size.width, self.shell.lang, self.marks(), id(rows))
        if self._specs_for != (*wanted, id(self._order)):
            self._specs_for = (*wanted, id(self._order))
            self.table.view = TableView(
                rows.table,
                pairing_specs(rows, self.app.size.width, self.marks(), self.shell.glyphs, self.shell.lang),
                order=self._order,
                row_style=pairing_style(rows),
            )
        self._show_state()

    def _show_title(self) -> None:
        rows, pair = self.rows, self.comparison.pair
        where = "".join(
            f"  {name} {n}"
            for name, n in (("rank", self.rank.rank), ("step", self.rank.step))
            if n is not None
        )
        sides = self.tr(
            "precision.sides", target=safe_text(pair.target_name), golden=safe_text(pair.golden_name)
        )
        title = self.tr("pairing.title", sides=sides) + where
        counts = self.tr("pairing.reading") if rows is None else self._counts(rows)
        self.query_one("#title", Static).update(self.plain(title), layout=False)
        self.query_one("#counts", Static).update(self.plain(counts), layout=False)

    def _counts(self, rows: PairingRows) -> str:
        n_target, n_golden = len(self.rank.target.calls.names), len(self.rank.golden.calls.names)
        n_paired = rows.pairing.n_calls - rows.n_none
        parts = [self.tr("pairing.n-none", n=rows.n_none) if rows.n_none else self.tr("pairing.all")]
        if rows.n_doubtful:
            parts.append(self.tr("pairing.n-doubtful", n=rows.n_doubtful))
        parts.append(self.tr("pairing.n-pairs", n=n_paired))
        if rows.pairing.groups:
            parts.append(self.tr("pairing.n-groups", n=len(rows.pairing.groups)))
        if rows.n_copies:
            parts.append(self.tr("pairing.n-copies", n=rows.n_copies))
        parts.append(self.tr("pairing.counts", target=n_target, golden=n_golden))
        return (", " if self.shell.glyphs.is_ascii else " · ").join(parts)

    def _show_state(self, *_: object) -> None:
        if self.rows is None:
            return
        parts = [self.table.position, *self.state_parts()]
        if self._is_open_only:
            parts.append(self.tr("pairing.only"))
        if self._filter:
            parts.append(self.tr("table.filtered", filter=safe_text(self._filter, 60)))
        if self._trouble:
            parts.append(safe_text(self._trouble))
        parts.append(self.tr("pairing.legend", sure=SIGNS[0], likely=SIGNS[1], doubtful=SIGNS[2]))
        text = self.plain("  ".join(parts))
        state = self.query_one("#state", Static)
        if state.content != text:
            state.update(text, layout=False)

    def state_parts(self) -> list[str]:
        """What else stands in the line under the table."""
        return []

    @on(VirtualTable.RowHighlighted)
    def _highlighted(self, message: VirtualTable.RowHighlighted) -> None:
        self._show_detail(message.row)

    def _show_detail(self, line: int | None) -> None:
        rows, widget = self.rows, self.query_one(DetailView)
        if rows is None or line is None or line >= rows.n_lines or not widget.display:
            return
        widget.detail = pairing_detail(self.rank, rows, line, self.shell.lang)

    # ---- keys ----

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        row = -1 if self.rows is None else int(self.rows.row[message.row])
        if row < 0:
            self.shell.notice("pairing.no-row", severity="warning")
        else:
            self.dismiss(Left(row))

    def action_next_open(self, step: int) -> None:
        """To the next call that is doubtful or has no counterpart, or to the one before."""
        rows, line = self.rows, self.line
        if rows is None or line is None:
            return
        found = rows.next_open(line, step)
        if found is None:
            self.shell.notice("pairing.no-open" if not rows.open.any() else "pairing.no-more-open")
        elif not self.table.move_to_row(found):  # hidden by a filter
            self._filter, self._is_open_only, self._order, self._trouble = "", False, None, ""
            self._show()
            self.table.move_to_row(found)

    def action_switch_open(self) -> None:
        """Only what is doubtful or has no counterpart, or all."""
        rows = self.rows
        if rows is None or (not self._is_open_only and not rows.open.any()):
            self.shell.notice("pairing.no-open")
            return
        self._is_open_only = not self._is_open_only
        self._reorder()

    def action_filter_calls(self) -> None:
        self.add_class("-filtering")
        entry = self.query_one("#filter", Entry)
        entry.value = self._filter
        entry.focus()

    @on(Entry.Submitted, "#filter")
    def _filter_done(self, event: Entry.Submitted) -> None:
        event.stop()
        self._close_filter(event.value)

    def _close_filter(self, text: str) -> None:
        self.remove_class("-filtering")
        self.table.focus()
        if text != self._filter:
            self._filter = text
            self._reorder()

    def go_back(self) -> bool:
        """Close the filter line, or drop the filter."""
        if self.has_class("-filtering"):
            self._close_filter(self._filter)
        elif self._filter:
            self._filter = ""
            self._reorder()
        else:
            return False
        return True

    def _reorder(self) -> None:
        if self.rows is not None:
            self._find_order(self.rows, self._filter, self._is_open_only)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False, description="order")
    def _find_order(self, rows: PairingRows, text: str, is_open_only: bool) -> None:
        order, trouble = order_rows(rows.table, ViewState(filter=text))
        if is_open_only:
            order = np.flatnonzero(rows.open) if order is None else order[rows.open[order]]
        self.post_message(self.OrderReady(rows, order, trouble))

    @on(OrderReady)
    def _take_order(self, message: OrderReady) -> None:
        if message.rows is self.rows:
            self._order, self._trouble = message.order, message.trouble
            self._show()

    def key_of(self, action_id: str) -> str:
        """The first key of an action, as the footer shows it."""
        return show_keys(self.shell.keys.get(action_id, ())[:1])
