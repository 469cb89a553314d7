"""Call stacks of single rows of an msMemScope table, read again where they stand.

A table of millions of rows is kept without them (`MemscopeTable`); they are wanted of the few rows that show
something.
"""

from __future__ import annotations

from pathlib import Path

from .memscope import MAX_ROW_BYTES, MemscopeEvent, MemscopeReader, MemscopeTable
from .tensors.source import Source, open_source

_HEADER_BYTES = 1 << 16
_KEPT = 4096
_ATTRIBUTES_END = b'}",'


class StackReader:
    """Reads `(python, c)` stacks, each with a frame a line, the innermost first; "" where none was taken.

    To be used in a `with`; opened when the first row is asked for. Raises InputError: the file is gone,
    became shorter, or leads out of `root`. Cost: a small read a row, and parsing of stacks that are new.
    """

    def __init__(self, table: MemscopeTable, root: Path | None = None) -> None:
        self._table = table
        self._root = root if root is not None else table.path.parent
        self._source: Source | None = None
        self._reader: MemscopeReader | None = None
        self._has_stacks = True
        self._has_attributes_first = False
        self._known: dict[bytes, tuple[str, str]] = {}  # what stands behind the attributes -> the stacks

    def __enter__(self) -> StackReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._source is not None:
            self._source.close()

    def of(self, row: int) -> tuple[str, str]:
        """The stacks of one row of a dump. The file is no longer the same: none."""
        if not self._has_stacks:
            return "", ""
        raw = self._raw(row)
        if raw.endswith(b",,"):  # nobody asked the tool for stacks: both cells are empty
            return "", ""
        begin = b"%d," % int(self._table.number[row])
        end = raw[raw.find(_ATTRIBUTES_END) :] if raw.startswith(begin) else b""
        known = self._known.get(end)
        if known is not None:
            return known
        event = self._event(raw)
        if event is None or not self._is_row(event, row):
            return "", ""
        stacks = event.python_stack, event.c_stack
        if self._has_attributes_first and end.startswith(_ATTRIBUTES_END) and len(self._known) < _KEPT:
            self._known[end] = stacks
        return stacks

    def _raw(self, row: int) -> bytes:
        """The bytes of a row without its end; what was left out behind it comes with it."""
        source = self._opened()
        start = int(self._table.byte[row])
        end = int(self._table.byte[row + 1]) if row + 1 < len(self._table.byte) else source.size
        return source.read(start, min(max(end - start, 1), MAX_ROW_BYTES), "a row").rstrip(b"\r\n")

    def _opened(self) -> Source:
        if self._source is None:
            self._source = open_source(self._table.path, self._root)
        return self._source

    def _event(self, raw: bytes) -> MemscopeEvent | None:
        if self._reader is None:
            self._reader = MemscopeReader()
            self._reader.feed(self._header())
        rows = self._reader.feed(raw + b"\n")
        if len(rows) != 1:  # more than a row, or a quote that stays open: begin anew with the next
            self._reader = None
        event = rows[0] if rows else None
        return event if isinstance(event, MemscopeEvent) else None

    def _header(self) -> bytes:
        first = int(self._table.byte[0])
        at = max(0, first - _HEADER_BYTES)
        header = self._opened().read(at, first - at, "the header")
        names = header.lower()
        self._has_stacks = b"stack" in names
        self._has_attributes_first = -1 < names.rfind(b"attr") < names.find(b"stack")
        return header

    def _is_row(self, event: MemscopeEvent, row: int) -> bool:
        told = (event.number, event.address, event.time_ns)
        columns = (self._table.number, self._table.address, self._table.time_ns)
        return all(
            int(column[row]) == (-1 if value is None or not 0 <= value < 1 << 63 else value)
            for value, column in zip(told, columns, strict=True)
        )
