"""Rows written in blocks are the bytes that writing cell by cell gives, and fast enough for a long run."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

import numpy as np
import pytest

from npulse.core.report.as_text import render_csv_table
from npulse.core.report.blocks import BLOCK_ROWS, json_rows
from npulse.core.table import Column, Table, text_column
from npulse.core.text import safe_text

from .samples import table

N_BUDGET_ROWS = 50_000


def csv_by_cell(of: Table) -> str:
    """The standard library's writer, a row at a time, over single values."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = [column for column in of.columns if not column.is_internal]
    writer.writerow([column.name for column in columns])
    for row in range(of.n_rows):
        cells: list[Any] = []
        for column in columns:
            value = column.value(row)
            if isinstance(value, str):
                value = safe_text(value)
                value = "'" + value if value[:1] in ("=", "+", "-", "@") else value
            cells.append(value)
        writer.writerow(cells)
    return buffer.getvalue()


def json_by_cell(of: Table) -> list[Any]:
    """Each row as an object, floats that JSON does not know as their names."""

    def plain(value: Any) -> Any:
        return str(value) if isinstance(value, float) and not np.isfinite(value) else value

    columns = [column for column in of.columns if not column.is_internal]
    return [{c.name: plain(c.value(row)) for c in columns} for row in range(of.n_rows)]


def with_internal(of: Table) -> Table:
    codes = np.zeros(of.n_rows, np.int64)
    return Table(of.name, (*of.columns, Column("state", "text", codes, ("pass ok",), is_internal=True)))


@pytest.mark.parametrize("n_rows", [0, 1, 5, BLOCK_ROWS - 1, BLOCK_ROWS, 2 * BLOCK_ROWS + 7])
def test_csv_bytes(n_rows: int) -> None:
    wanted = with_internal(table(n_rows))
    assert "".join(render_csv_table(wanted)) == csv_by_cell(wanted)


def test_csv_cells_that_need_quotes() -> None:
    texts = ["a,b", 'say "x"', "'", "", " a ", "a;b", "=1,2", '"', None]
    wanted = Table("t", (text_column("te,xt", texts), Column("n", "int", np.arange(len(texts)))))
    text = "".join(render_csv_table(wanted))
    assert text == csv_by_cell(wanted)
    assert [row[0] for row in csv.reader(io.StringIO(text))][1:4] == ["a,b", 'say "x"', "'"]


@pytest.mark.parametrize("n_rows", [0, 1, 5, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_json_rows(n_rows: int) -> None:
    wanted = with_internal(table(n_rows))
    lines = [line for block in json_rows(wanted) for line in block]
    assert [json.loads(line) for line in lines] == json_by_cell(wanted)
    by_dumps = [json.dumps(row, ensure_ascii=False) for row in json_by_cell(wanted)]
    pairs = zip(lines, by_dumps, strict=True)
    assert all(line == dumped for line, dumped in pairs if dumped.isascii()), "the same bytes"


def test_a_column_name_may_hold_what_a_template_means() -> None:
    wanted = Table("t", (Column('100 % "s"', "int", np.arange(2)),))
    (lines,) = json_rows(wanted, '"kind": "50 %s", ')
    assert [json.loads(line) for line in lines] == [{"kind": "50 %s", '100 % "s"': i} for i in (0, 1)]


def long_table(n_rows: int) -> Table:
    """31 columns as a comparison has them: names, words, counts and figures of which some are absent."""
    rng = np.random.default_rng(3)
    names = text_column("target", [f"Module.layers.{i}.mlp.Linear.forward.0.output.0" for i in range(n_rows)])
    words = ("torch.bfloat16", "torch.float32", "[16,40]", "pass", "ok")
    return Table(
        "precision",
        (
            names,
            *(Column(f"word{i}", "text", rng.integers(0, 5, n_rows), words) for i in range(8)),
            *(Column(f"n_{i}", "int", rng.integers(0, 1 << 20, n_rows)) for i in range(8)),
            *(
                Column(f"figure{i}", "float", rng.standard_normal(n_rows), absent=rng.random(n_rows) < 0.3)
                for i in range(14)
            ),
        ),
    )


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_budget(kind: str) -> None:
    """200,000 rows in 3 s of a processor: a quarter of that here, measured in the process's own time."""
    wanted = long_table(N_BUDGET_ROWS)
    began_s = time.process_time()
    if kind == "csv":
        n_lines = sum(text.count("\n") for text in render_csv_table(wanted)) - 1
    else:
        n_lines = sum(map(len, json_rows(wanted)))
    assert n_lines == N_BUDGET_ROWS and len(wanted.columns) == 31
    assert time.process_time() - began_s < 3.0 * N_BUDGET_ROWS / 200_000
