"""All ranks of a step: a matrix of ranks by layers, and the call under the cursor on all of them."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import get_current_worker

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.msprobe.names import short_name
from npulse.core.precision.pages.matrix_cells import (
    HEAT_STEPS,
    Cells,
    cell_of_row,
    matrix_cells,
    told_rows,
)
from npulse.core.precision.role_records import ORIGIN
from npulse.core.precision.table import place_of
from npulse.core.progress import Progress
from npulse.core.text import safe_text

from ...actions import bindings_for
from ...roles import role_formatter, style_by_role, verdict_formatter
from ...screens.page import Page
from ...widgets.virtual_table import ColumnSpec, TableView, VirtualTable
from ..columns import io_formatter
from ..job_pane import PROGRESS_PAUSE_S, progress_text
from .columns import heading
from .rank_heat import RankHeat

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.precision.ranks import RankMatrix, RanksOfCall

_PAUSE_S = 0.1
Cell = tuple[int, int]
"""Place in the ranks, place in the layers."""
_N_ABSENT = 8
_EXPONENT = ("rel_l2", "rel_l2_at_least", "max_abs_error", "max_rel_error")


class RankPage(Page["int | None"]):
    """Opens at a row of the precision table. Enter dismisses with another one: what the cell is about, or
    one of the call below."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("ranks", "move")]
    DEFAULT_CSS = """
    RankPage #legend { height: 1; padding: 0 1; text-style: dim; text-wrap: nowrap; text-overflow: ellipsis; }
    RankPage #here { height: 2; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    RankPage VirtualTable { height: 1fr; }
    """

    class MatrixReady(Message):
        """The matrix of a step."""

        def __init__(self, matrix: RankMatrix, cells: Cells, told: dict[Cell, int], at: Cell | None) -> None:
            super().__init__()
            self.matrix, self.cells, self.told, self.at = matrix, cells, told, at

    class Told(Message):
        """How far the matrix is."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class CallReady(Message):
        """The call of a cell on all ranks; None where there is none."""

        def __init__(self, row: int, found: RanksOfCall | None) -> None:
            super().__init__()
            self.row, self.found = row, found

    def __init__(self, comparison: Comparison, step: int | None, row: int) -> None:
        super().__init__()
        self.comparison = comparison
        self._step, self._row = step, row
        self.matrix: RankMatrix | None = None
        self._told: dict[Cell, int] = {}
        self._call: RanksOfCall | None = None
        self._timer: Timer | None = None

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="legend", markup=False)
        yield RankHeat()
        yield Static(id="here", markup=False)
        yield VirtualTable()

    @property
    def heat(self) -> RankHeat:
        return self.query_one(RankHeat)

    @property
    def _steps(self) -> list[int | None]:
        return list(dict.fromkeys(rank.step for rank in self.comparison.ranks))

    async def begin(self) -> None:
        self.heat.focus()
        self._make(self._step)

    def retranslate(self) -> None:
        super().retranslate()
        glyphs = self.shell.glyphs
        steps = (
            "  ".join(f"{glyphs.heat[i + 1]} <{limit:g}" for i, limit in enumerate(HEAT_STEPS))
            + f"  {glyphs.heat[4]} >={HEAT_STEPS[-1]:g}"
        )
        legend = self.tr(
            "ranks.legend", origin=glyphs.error, same=glyphs.nothing, unknown=glyphs.unknown, steps=steps
        )
        self._say("#legend", legend)
        self._tell()
        self._show_call()

    def in_footer(self, action_id: str) -> bool:
        if action_id in ("ranks.next", "ranks.previous"):
            return self.matrix is not None and bool(self.matrix.origins)
        if action_id == "ranks.step":
            return len(self._steps) > 1
        return True

    # ---- what is shown ----

    @work(thread=True, exclusive=True, group="ranks", exit_on_error=False, description="ranks")
    def _make(self, step: int | None) -> None:
        from npulse.core.precision.ranks import rank_matrix

        worker = get_current_worker()
        began_s = told_s = monotonic()
        lang = self.shell.lang

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Told(progress_text(progress, told_s - began_s, lang)))

        try:
            matrix = rank_matrix(
                self.comparison, step, progress=tell, is_cancelled=lambda: worker.is_cancelled
            )
        except Cancelled:
            return
        told = told_rows(self.comparison, matrix)
        at = cell_of_row(self.comparison, matrix, self._row)
        cells = matrix_cells(matrix)
        if not worker.is_cancelled:
            self.post_message(self.MatrixReady(matrix, cells, told, at))

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        self._say("#here", message.text)

    @on(MatrixReady)
    def _take(self, message: MatrixReady) -> None:
        matrix, heat = message.matrix, self.heat
        self.matrix, self._told = matrix, message.told
        with self.app.batch_update():
            heat.labels = tuple(f"rank {n}" if n is not None else "-" for n in matrix.ranks)
            heat.cells = message.cells
            at = message.at or (matrix.origins[0] if matrix.origins else (0, 0))
            heat.rank_at, heat.layer_at = at
            if message.at is not None:
                self._told[at] = self._row
            self._tell()
        self.refresh_footer()

    @property
    def row(self) -> int:
        """The precision table's row of the cell under the cursor, -1 where it has none."""
        matrix = self.matrix
        if matrix is None or not matrix.rows.size:
            return -1
        at = self.heat.rank_at, self.heat.layer_at
        return self._told.get(at, int(matrix.rows[at]))

    def _tell(self, *, asks: bool = True) -> None:
        """Title and the words on the cell under the cursor; the call on all ranks comes a moment later."""
        matrix, heat = self.matrix, self.heat
        if matrix is None:
            self._say("#title", self.tr("ranks.reading"))
            return
        step = "" if matrix.step is None else f"  step {matrix.step}"
        n_ranks, n_layers = matrix.errors.shape
        self._say("#title", self.tr("ranks.title", ranks=n_ranks, layers=n_layers) + step)
        if not matrix.errors.size:
            self._say("#here", self.tr("ranks.nothing"))
            return
        error = matrix.errors[heat.rank_at, heat.layer_at]
        place = f"{heat.labels[heat.rank_at]}  {matrix.layers[heat.layer_at]}"
        if self.row < 0:
            self._say("#here", f"{place}\n{self.tr('ranks.no-layer')}")
            return
        rank, inner = self._place(self.row)
        name = rank.rows.pairing.name(rank.target, rank.golden, int(rank.rows.pairing.row_call[inner]))
        figure = (
            self.tr("ranks.not-compared") if np.isnan(error) else self.tr("ranks.error", error=f"{error:.2g}")
        )
        is_origin = int(rank.roles.call[int(rank.rows.pairing.row_call[inner])]) == ORIGIN
        marks = self.tr("ranks.origin") if is_origin else ""
        worst = self.tr(
            "ranks.at-origin" if is_origin else "ranks.worst",
            name=safe_text(short_name(name)),
            io=rank.rows.io(inner),
        )
        absent = () if self._call is None or self._call.operator != name else self._call.absent
        if absent:
            worst += "  " + self.tr("ranks.absent", numbers=", ".join(map(str, absent[:_N_ABSENT])))
        self._say("#here", f"{place}  {figure}  {marks}\n{worst}")
        if asks:
            self._ask_soon()

    def _ask_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE_S, self._ask_call)

    def _place(self, row: int) -> tuple[RankComparison, int]:
        return place_of(self.comparison, row)

    def _say(self, place: str, text: str) -> None:
        widget = self.query_one(place, Static)
        text = "\n".join(self.plain(line) for line in text.split("\n"))
        if widget.content != text:
            widget.update(text, layout=False)

    # ---- the call on all ranks ----

    def _ask_call(self) -> None:
        if self.row >= 0:
            self._find_call(self.row)

    @work(thread=True, exclusive=True, group="call", exit_on_error=False, description="call")
    def _find_call(self, row: int) -> None:
        from npulse.core.precision.ranks import ranks_of_call

        rank, inner = self._place(row)
        call = int(rank.rows.pairing.row_call[inner])
        name = rank.rows.pairing.name(rank.target, rank.golden, call)
        try:
            found = ranks_of_call(self.comparison, name, rank.step, near=call)
        except InputError:
            found = None
        if not get_current_worker().is_cancelled:
            self.post_message(self.CallReady(row, found))

    @on(CallReady)
    def _take_call(self, message: CallReady) -> None:
        if message.row == self.row:
            self._call = message.found
            self._show_call()
            self._tell(asks=False)

    def _show_call(self) -> None:
        if self._call is None:
            return
        table, lang, glyphs = self._call.table, self.shell.lang, self.shell.glyphs
        self.query_one(VirtualTable).view = TableView(
            table,
            (
                ColumnSpec("rank", "rank", is_frozen=True),
                ColumnSpec("io", "io", format=io_formatter(lang), max_width=20, is_frozen=True),
                ColumnSpec("role", heading("role", lang), format=role_formatter(glyphs, lang), priority=1),
                ColumnSpec("verdict", heading("verdict", lang), format=verdict_formatter(lang), priority=2),
                ColumnSpec("cosine", heading("cosine", lang), format="fixed", decimals=6, priority=3),
                *(
                    ColumnSpec(name, heading(name, lang), format="scientific", priority=4 + place)
                    for place, name in enumerate(_EXPONENT)
                    if not _is_empty(table.column(name).absent)
                ),
                ColumnSpec("norm_ratio", heading("norm_ratio", lang), priority=9),
            ),
            row_style=style_by_role(table),
        )

    # ---- keys ----

    def action_open_row(self) -> None:
        if self.row < 0:
            self.shell.notice("ranks.no-layer", severity="warning")
        else:
            self.dismiss(self.row)

    @on(VirtualTable.RowOpened)
    def _opened(self, message: VirtualTable.RowOpened) -> None:
        if self._call is not None:
            self.dismiss(int(self._call.table.column("row").values[message.row]))

    def _go(self, rank: int, layer: int) -> None:
        self.heat.rank_at, self.heat.layer_at = rank, layer
        self._tell()

    def action_next_layer(self, step: int) -> None:
        """One layer to the right or left."""
        self._go(self.heat.rank_at, self.heat.layer_at + step)

    def action_cursor_down(self) -> None:
        self._go(self.heat.rank_at + 1, self.heat.layer_at)

    def action_cursor_up(self) -> None:
        self._go(self.heat.rank_at - 1, self.heat.layer_at)

    def action_cursor_page_down(self) -> None:
        self._go(self.heat.rank_at + max(self.heat.size.height - 1, 1), self.heat.layer_at)

    def action_cursor_page_up(self) -> None:
        self._go(self.heat.rank_at - max(self.heat.size.height - 1, 1), self.heat.layer_at)

    def action_cursor_top(self) -> None:
        self._go(0, self.heat.layer_at)

    def action_cursor_bottom(self) -> None:
        self._go(len(self.heat.labels) - 1, self.heat.layer_at)

    def action_next_origin(self, step: int) -> None:
        """To the next origin, the one to look at first in front."""
        origins = self.matrix.origins if self.matrix is not None else ()
        if not origins:
            self.shell.notice("pane.no-origin")
            return
        here = (self.heat.rank_at, self.heat.layer_at)
        place = origins.index(here) + step if here in origins else 0
        self._go(*origins[place % len(origins)])

    def action_next_step(self) -> None:
        """The matrix of the next step."""
        steps = self._steps
        if len(steps) < 2 or self.matrix is None:
            self.shell.notice("ranks.one-step")
        else:
            self._make(steps[(steps.index(self.matrix.step) + 1) % len(steps)])

    def action_other_part(self) -> None:
        """From the matrix to the table, and back."""
        self.focus_next()


def _is_empty(absent: object) -> bool:
    return isinstance(absent, np.ndarray) and bool(absent.all())
