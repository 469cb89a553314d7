"""Text, Markdown and CSV: inert whatever the names hold, nothing lost that a sheet needs."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.report import render
from npulse.core.table import Column, Table, text_column

from .samples import FORMULAS, HOSTILE, report, table


def rendered(name: str, /, **options: Any) -> str:
    return "".join(render(report(**options), name, version="0"))


def is_control(character: str) -> bool:
    code = ord(character)
    return character != "\n" and (code < 32 or 0x7F <= code < 0xA0) or character in "\u202e\u2028\u2029\ufeff"


@pytest.mark.parametrize("name", ["text", "md", "csv"])
@pytest.mark.parametrize("tables", [False, True])
def test_nothing_that_a_terminal_obeys(name: str, tables: bool) -> None:
    text = rendered(name, name=HOSTILE, tables=tables)
    assert not [c for c in text if is_control(c)]
    text.encode("utf-8")


@given(st.text())
def test_any_name_stays_on_its_line(name: str) -> None:
    lines = rendered("text", name="x").count("\n")
    text = rendered("text", name=name)
    assert text.count("\n") == lines
    assert not [c for c in text if is_control(c)]


def test_text_says_what_it_has_to() -> None:
    text = rendered("text")
    for word in (
        "FAIL",
        "plain",
        "message of plain",
        "next of plain",
        "precision.operator",
        "40211",
        "65536",
        "hint plain",
    ):
        assert word in text
    assert text.index("FAIL") < text.index("message of plain") < text.index("cut in plain")


def test_text_counts_what_it_leaves_out() -> None:
    many = replace(report(), findings=report().findings[:1] * 50)
    text = "".join(render(many, "text", version="0"))
    assert text.count("message of plain") < 50
    assert f"{50 - text.count('message of plain')} more" in text


# ---- Markdown --------------------------------------------------------------------------------------------


def markdown_row(line: str) -> int:
    """Cells of a table line: bars that no backslash escapes."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_table_lines_keep_their_columns() -> None:
    lines = rendered("md", name=HOSTILE, tables=True, n_rows=10).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| target"))
    body = lines[start:]
    assert {markdown_row(line) for line in body} == {4}
    assert len(body) == 2 + 10


def test_a_code_span_is_not_ended_from_inside() -> None:
    for line in rendered("md", name="x` *bold* ``` y").splitlines():
        fences = re.findall(r"`+", line)
        if fences and not line.startswith("|"):
            assert fences.count(fences[0]) % 2 == 0
            longest = max(fences, key=len)
            assert fences.count(longest) >= 2


def test_markup_in_messages_is_escaped() -> None:
    text = rendered("md", name="<script>[a](b)*c*_d_")
    free = re.sub(r"(`+).*?\1", "", text)
    assert not re.search(r"(?<!\\)[<\[*]", free.replace("- ", "").replace("#", ""))


def test_headings_come_from_us_alone() -> None:
    headings = [
        line for line in rendered("md", name="a\n# mine\n## too").splitlines() if line.startswith("#")
    ]
    assert not [line for line in headings if re.match(r"#+ (mine|too)", line)]


# ---- CSV -------------------------------------------------------------------------------------------------


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), strict=True))


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_is_a_formula(formula: str) -> None:
    cells = Table("t", (text_column("name", [formula, "plain"]),))
    found = read_csv("".join(render(replace(report(formula), tables={"t": cells}), "csv", version="0")))
    assert found[0] == ["name"] and found[2] == ["plain"]
    findings = read_csv("".join(render(report(formula), "csv", version="0")))
    for cell in (found[1][0], findings[1][findings[0].index("subject")]):
        assert cell[:1] not in ("=", "+", "-", "@")
        assert formula.strip() in cell


def test_absent_is_empty_and_floats_come_back() -> None:
    found = read_csv(rendered("csv", tables=True, n_rows=5))
    assert found[0] == ["target", "cosine", "n_rows", "flag"]
    assert [row[1] for row in found[1:]] == ["0.1", "nan", "inf", "-inf", ""]
    assert [row[2] for row in found[1:]] == ["0", "1", "", "3", "4"]
    assert found[3][0] == ""


@given(st.lists(st.floats(width=64), min_size=1, max_size=5))
def test_floats_keep_every_digit(values: list[float]) -> None:
    cells = Table("t", (Column("x", "float", np.array(values)), Column("i", "int", np.arange(len(values)))))
    found = read_csv("".join(render(replace(report(), tables={"t": cells}), "csv", version="0")))
    for row, want in zip(found[1:], values, strict=True):
        got = float(row[0])
        assert math.isnan(got) if math.isnan(want) else got == want


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_any_text_stays_in_its_cell(texts: list[str]) -> None:
    cells = Table("t", (text_column("a", texts), text_column("b", ["end"] * len(texts))))
    found = read_csv("".join(render(replace(report(), tables={"t": cells}), "csv", version="0")))
    assert [len(row) for row in found] == [2] * (len(texts) + 1)
    assert [row[1] for row in found[1:]] == ["end"] * len(texts)


def test_findings_are_lines_where_no_table_was_asked_for() -> None:
    found = read_csv(rendered("csv"))
    assert found[0][:4] == ["severity", "role", "rule", "subject"]
    assert [row[:4] for row in found[1:]] == [
        ["error", "origin", "precision.operator", "plain"],
        ["note", "unknown", "precision.unknown", "plain"],
    ]


def test_tables_come_in_pieces() -> None:
    """The first piece is there before the last row was looked at."""
    for name in ("json", "jsonl", "md", "csv", "text"):
        pieces = list(render(replace(report(), tables={"t": table(50_000)}), name, version="0"))
        assert max(map(len, pieces)) < sum(map(len, pieces)) / 5
