"""Rows of a CSV that a tool wrote: quoted cells over several lines, with or without byte order mark.

Rows that cannot be used are told with their line and left out; a last line without an end may be cut, so it
is left out too.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..text_lines import LineNotes, line_blocks

MAX_BYTES = 4 << 30
MAX_RECORD_LINES = 1024
MAX_RECORD_CHARS = 1 << 17
"""Of one row: a call stack is long, a quote that nobody closed would swallow the file."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Neighbouring rows, each with its line in the file (from 1, the first one of the row)."""

    lines: list[int]
    cells: list[list[str]]


def csv_rows(
    path: Path,
    notes: LineNotes,
    *,
    separator_of: Callable[[str], str],
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[Rows]:
    """The rows of a file in blocks, blank lines left out. Raises as `line_blocks` does.

    separator_of: what separates the cells, by the first row of the file.
    """
    separator = ""
    held: list[str] = []
    held_first = 0
    blocks = line_blocks(
        path, notes, root=root, max_bytes=MAX_BYTES, progress=progress, is_cancelled=is_cancelled
    )
    for block in blocks:
        if block.is_unfinished:
            if block.lines[0].strip() or held:
                message = "the last line has no end: its row may be cut and was left out"
                notes.add("cut-off", message, held_first if held else block.first, is_last=True)
            held = []
            break
        lines, first = block.lines, block.first
        if held:
            lines, first = [*held, *lines], held_first
        records, held, held_first = _records(lines, first, notes)
        found = Rows([], [])
        if not separator and records:
            separator = separator_of(next((text for _, text in records if text.strip()), ""))
        for (line, _), cells in zip(records, _taken_apart(records, separator), strict=True):
            if cells is None:
                notes.add("bad-record", "the row cannot be taken apart and was left out", line)
            elif any(cell.strip() for cell in cells):
                found.lines.append(line)
                found.cells.append(cells)
        yield found
    if held:
        notes.add("cut-off", "a quote is not closed up to the end of the file", held_first, is_last=True)


def _records(lines: list[str], first: int, notes: LineNotes) -> tuple[list[tuple[int, str]], list[str], int]:
    """Whole rows with their first lines; then the lines of a row that is not closed yet, and its number."""
    records: list[tuple[int, str]] = []
    at = 0
    while at < len(lines):
        if lines[at].count('"') % 2 == 0:
            if lines[at]:
                records.append((first + at, lines[at]))
            at += 1
            continue
        end, n_chars, is_open = at + 1, len(lines[at]), True
        while end < len(lines) and end - at < MAX_RECORD_LINES and n_chars < MAX_RECORD_CHARS:
            n_chars += len(lines[end])
            is_open = lines[end].count('"') % 2 == 0
            end += 1
            if not is_open:
                break
        if not is_open:
            records.append((first + at, "\n".join(lines[at:end])))
            at = end
        elif end == len(lines) and end - at < MAX_RECORD_LINES and n_chars < MAX_RECORD_CHARS:
            return records, lines[at:], first + at
        else:
            notes.add("bad-record", "a quote is not closed: the row was left out", first + at)
            at += 1
    return records, [], 0


def _taken_apart(records: list[tuple[int, str]], separator: str) -> list[list[str] | None]:
    """The cells of each row, None where it cannot be taken apart; all rows at once where they are whole."""
    try:
        rows: list[list[str] | None] = list(
            csv.reader([record for _, record in records], delimiter=separator or ",")
        )
    except csv.Error:
        rows = []
    if len(rows) == len(records) and not any("\0" in record for _, record in records):
        return rows
    return [_cells(record, separator) for _, record in records]


def _cells(record: str, separator: str) -> list[str] | None:
    if '"' not in record and "\r" not in record and "\0" not in record:
        return record.split(separator)
    if "\0" in record:
        return None
    try:
        rows = list(csv.reader([record], delimiter=separator))
    except csv.Error:  # a bare carriage return outside of quotes
        return None
    return rows[0] if len(rows) == 1 else None
