"""What tables that are read line by line share: header, limit, and an end that may be cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.line_tables import LimitError, NoHeaderError, fill
from npulse.core.formats.text_lines import LineNotes, line_blocks

N_ROWS = 3


class Rows:
    """The first line is "head", at most three rows follow."""

    def __init__(self, notes: LineNotes) -> None:
        self.notes = notes
        self.has_header = False
        self.kept: list[str] = []

    def add_lines(self, first: int, lines: list[str]) -> None:
        for number, line in enumerate(lines, first):
            if not self.has_header:
                if line != "head":
                    raise NoHeaderError("no head", number)
                self.has_header = True
            elif len(self.kept) == N_ROWS:
                raise LimitError("at most 3 rows", number)
            else:
                self.kept.append(line)

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        self.notes.add(kind, message, line, is_last=is_last)


def filled(tmp_path: Path, text: str) -> tuple[list[str], list[tuple[str, int | None]]]:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    notes = LineNotes("table.csv")
    rows = Rows(notes)
    fill(rows, line_blocks(path, notes, max_bytes=1 << 20), notes, path, "name a table")
    return rows.kept, [(problem.kind, problem.line) for problem in notes.close()]


@pytest.mark.parametrize(
    ("text", "kept", "problems"),
    [
        ("head\na\nb\n", ["a", "b"], []),
        ("head\na\nb", ["a"], [("cut-off", 3)]),
        ("head", [], [("cut-off", 1)]),
        ("head\na\nb\nc\nd\n", ["a", "b", "c"], [("limit", 5)]),
    ],
)
def test_rows_and_what_is_told(
    tmp_path: Path, text: str, kept: list[str], problems: list[tuple[str, int | None]]
) -> None:
    assert filled(tmp_path, text) == (kept, problems)


@pytest.mark.parametrize(("text", "message"), [("x\ny\n", "no head"), ("", "the file is empty")])
def test_no_table_at_all(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        filled(tmp_path, text)
