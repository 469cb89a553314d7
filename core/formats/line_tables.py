"""Tables that are read line by line: what their readers share of headers, limits and a file's end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from ..errors import InputError
from .text_lines import Block, LineNotes


class LimitError(Exception):
    """The table is larger than what is read; `line` is the first one that was not."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class NoHeaderError(Exception):
    """The first line that is not blank, `line`, is not the header of such a table."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class LineRows(Protocol):
    """Rows as a format makes them of lines. Raises LimitError and NoHeaderError."""

    @property
    def has_header(self) -> bool: ...

    def add_lines(self, first: int, lines: list[str]) -> None: ...

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None: ...


def fill(
    rows: LineRows,
    blocks: Iterable[Block],
    notes: LineNotes,
    path: Path,
    hint: str,
    *,
    is_growing: bool = False,
) -> bool:
    """All blocks into the rows. A last line without an end is left out, a limit ends it: both are told.

    is_growing: more blocks may come, so that a header may still. Returns whether they are of use. Raises
    InputError (no header of such a table, an empty file).
    """
    try:
        for block in blocks:
            if not block.is_unfinished:
                rows.add_lines(block.first, block.lines)
            elif not rows.has_header:  # all there is; a header has its names or it has not
                rows.add_lines(block.first, block.lines)
                notes.add("cut-off", "the file ends in its header", block.first, is_last=True)
            else:
                message = "the last line has no end: its row may be cut and was left out"
                rows.drop("cut-off", message, block.first, is_last=True)
    except LimitError as limit:
        notes.add("limit", f"reading stopped here: {limit}", limit.line, is_last=True)
        return False
    except NoHeaderError as error:
        raise InputError(str(error), path=path, line=error.line, hint=hint) from error
    if not (rows.has_header or is_growing):
        raise InputError("the file is empty", path=path, hint=hint)
    return True
