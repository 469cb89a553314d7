"""A table of N rows and 12 columns below a title that names the visible rows. Usage: table_app.py [N]"""

from __future__ import annotations

import sys

import numpy as np
from demo_base import DemoApp
from textual.app import ComposeResult
from textual.widgets import Static

from npulse.core.table import Column, Table
from npulse.tui.widgets.virtual_table import ColumnSpec, TableView, VirtualTable

N_NAMES = 512
SPECIAL = ("layers.0.注意力.qkv", "layers.1.\x1b]52;c;cHduZWQ=\x07evil", "layers.2.\x1b[2J[bold]x[/]")


def name_of(number: int) -> str:
    return SPECIAL[number] if number < len(SPECIAL) else f"layers.{number}.self_attn.qkv_proj"


def demo_table(n_rows: int) -> Table:
    """Seeded columns; arrays are filled in place so that building them costs no more than they do."""
    rng = np.random.default_rng(7)
    rows = np.arange(n_rows, dtype=np.int64)
    names = [name_of(i) for i in range(N_NAMES)]
    columns = [
        Column("row", "int", rows),
        Column("name", "text", (rows % N_NAMES).astype(np.int16), names),
        Column("verdict", "text", (rows % 7 == 0).astype(np.int8), ["ok", "E origin"]),
    ]
    for i in range(9):
        values = np.empty(n_rows, np.float64)
        rng.random(out=values)
        values[i::97] = np.nan
        columns.append(Column(f"figure{i}", "float", values))
    return Table("demo", tuple(columns))


def demo_view(table: Table) -> TableView:
    verdict = table.column("verdict").values
    return TableView(
        table,
        (
            ColumnSpec("row", "#"),
            ColumnSpec("name", "operator call", max_width=32, is_frozen=True),
            *(ColumnSpec(f"figure{i}", f"f{i}", format="fixed", decimals=3) for i in range(9)),
            ColumnSpec(
                "verdict",
                style=lambda row: "virtual-table--error" if verdict[row] else None,
            ),
        ),
    )


class TableApp(DemoApp):
    CSS = "Static { height: 1; }"

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self.table_view = demo_view(demo_table(n_rows))

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield VirtualTable(self.table_view)

    def on_mount(self) -> None:
        table = self.query_one(VirtualTable)
        table.focus()
        self.watch(table, "position", self.show_position)

    def show_position(self, position: str) -> None:
        self.query_one("#title", Static).update(position)


if __name__ == "__main__":
    TableApp(int(sys.argv[1]) if len(sys.argv) > 1 else 1000).start()
