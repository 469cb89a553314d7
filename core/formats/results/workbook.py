"""Sheets of an .xlsx, row by row in bounded memory: what claims to be huge is not believed.

A reader that makes a grid of a sheet can be made to fill the memory by one cell in its last corner; here a
row is as long as its last cell, members are unpacked piece by piece, and no entity is expanded.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ..tensors.error import TensorError
from ..tensors.source import Source, open_source
from ..tensors.zipdir import MAGIC, Directory, Member, read_directory
from ..text_lines import LineNotes
from .csv_rows import Rows

MAX_XML_BYTES = 2 << 30
"""Of one member, unpacked."""
MAX_COLUMNS = 16_384
MAX_CELL_CHARS = 32_767
MAX_TEXT_CHARS = 1 << 29
"""Of all shared texts together."""
MAX_SHEETS = 1_000

MAX_DEPTH = 64
"""Elements within each other; every one that is open is kept until it ends."""

_MOST_BLANKS = 1 << 20
"""Cells that are left out in front of others, in one piece: rows of 40 bytes may end in the last column."""
_ROOM_BYTES, _MOST_PACKED = 64 << 20, 200
"""A member may unpack to 64 MB, behind that to 200 times its packed size; sheets reach about 40."""
_PIECE_BYTES = 1 << 18
_LOCAL = struct.Struct("<4s5H3L2H")
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{0,7})", re.ASCII)


class _StopError(Exception):
    """A sheet cannot be read further: its kind of problem and why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class SheetRows:
    """Neighbouring rows of one sheet; their lines are the numbers that the spreadsheet shows."""

    sheet: str
    rows: Rows


def workbook_rows(
    path: Path,
    root: Path,
    notes: LineNotes,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[SheetRows]:
    """The rows of all sheets in their order; blank rows are left out, blank cells are "".

    Yes and no are "True" and "False"; of a formula the value that was kept, "formula" where none was.
    Noted: cut-off and unreadable (a sheet that breaks off; the others are read), limit.
    Raises InputError where it is no workbook at all, and Cancelled.
    """
    with open_source(path, root) as source:
        directory = read_directory(source)
        book = _Book(source, directory, notes, is_cancelled)
        texts = book.shared_texts()
        sheets = book.sheets()
        if not sheets:
            raise source.error("unreadable", "this is no workbook: it has no sheets", byte=0)
        for place, (name, member) in enumerate(sheets):
            progress(Progress("read", place, len(sheets), "sheets"))
            for rows in book.rows(name, member, texts):
                yield SheetRows(name, rows)


class _Book:
    def __init__(
        self, source: Source, directory: Directory, notes: LineNotes, is_cancelled: IsCancelled
    ) -> None:
        self.source = source
        self.members = directory.members
        self.end = directory.offset
        self.notes = notes
        self.is_cancelled = is_cancelled

    def sheets(self) -> list[tuple[str, Member]]:
        """Names and members of the sheets, in the order of the workbook."""
        targets: dict[str, str] = {}
        named: list[tuple[str, str]] = []

        def relation(tag: str, attributes: dict[str, str]) -> None:
            if tag == "Relationship":
                target = attributes.get("Target", "").lstrip("/")
                targets[attributes.get("Id", "")] = target if target.startswith("xl/") else "xl/" + target

        def sheet(tag: str, attributes: dict[str, str]) -> None:
            if tag == "sheet":
                key = next((v for k, v in attributes.items() if k.rpartition(":")[2] == "id"), "")
                named.append((attributes.get("name", ""), key))

        self._elements("xl/_rels/workbook.xml.rels", relation)
        self._elements("xl/workbook.xml", sheet)
        if len(named) > MAX_SHEETS:
            self.notes.add("limit", f"only the first {MAX_SHEETS:,} sheets were read", None, is_last=True)
        found = []
        for place, (name, key) in enumerate(named[:MAX_SHEETS], 1):
            target = targets.get(key, f"xl/worksheets/sheet{place}.xml")
            if target in self.members:
                found.append((name, self.members[target]))
            else:
                self.notes.add("missing", f"the sheet '{name[:64]}' is not in the workbook", None)
        return found

    def shared_texts(self) -> list[str]:
        """The texts that cells refer to by number."""
        member = self.members.get("xl/sharedStrings.xml")
        if member is None:
            return []
        texts = _SharedTexts()
        self._parse(member, texts)
        return texts.found

    def rows(self, name: str, member: Member, texts: list[str]) -> Iterator[Rows]:
        """The rows of a sheet."""
        sheet = _Sheet(texts)
        try:
            for _ in self._pieces(member, sheet):
                sheet.n_blanks = 0
                if sheet.lines:
                    yield sheet.taken()
        except _StopError as error:
            if sheet.lines:
                yield sheet.taken()
            where = f"sheet '{name[:64]}': {error}"
            self.notes.add(error.kind, where, sheet.number or None, is_last=True)
            return
        if sheet.lines:
            yield sheet.taken()

    def _elements(self, name: str, begin: Callable[[str, dict[str, str]], None]) -> None:
        if name in self.members:
            self._parse(self.members[name], _Elements(begin))

    def _parse(self, member: Member, handler: _Handler) -> None:
        try:
            for _ in self._pieces(member, handler):
                pass
        except _StopError as error:
            self.notes.add(error.kind, f"{member.name[:64]}: {error}", None, is_last=True)

    def _pieces(self, member: Member, handler: _Handler) -> Iterator[None]:
        """Hand the member to the handler, piece by piece. Raises _StopError."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        depth = 0

        def begin(tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > MAX_DEPTH:
                raise _StopError("unreadable", "its elements are nested deeper than those of any workbook")
            handler.begin(_local(tag), attributes)

        def end(tag: str) -> None:
            nonlocal depth
            depth -= 1
            handler.end(_local(tag))

        parser.StartElementHandler, parser.EndElementHandler = begin, end
        parser.CharacterDataHandler = handler.text
        parser.StartDoctypeDeclHandler = _no_doctype
        try:
            for piece in self._unpacked(member):
                check(self.is_cancelled)
                parser.Parse(piece, False)
                yield
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            is_end = error.code in (expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS], 3, 5)
            raise _StopError(
                "cut-off" if is_end else "unreadable", f"the XML breaks off in line {error.lineno}"
            ) from None
        yield

    def _unpacked(self, member: Member) -> Iterator[bytes]:
        start = self._start(member)
        if member.method not in (0, 8) or member.flags & 1:
            raise _StopError("unreadable", "it is encrypted or packed in another way")
        unpack = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == 8 else None
        most = min(MAX_XML_BYTES, _ROOM_BYTES + _MOST_PACKED * member.compressed_size)
        n_out = 0
        at, end = start, start + member.compressed_size
        while at < end:
            try:
                packed = self.source.read(at, min(_PIECE_BYTES, end - at), "a sheet")
            except TensorError as error:
                raise _StopError(error.kind, error.message) from None
            at += len(packed)
            while packed:
                if unpack is None:
                    piece, packed = packed, b""
                else:
                    try:
                        piece = unpack.decompress(packed, _PIECE_BYTES)
                    except zlib.error:
                        raise _StopError("unreadable", "the packed data is damaged") from None
                    packed = unpack.unconsumed_tail
                n_out += len(piece)
                if n_out > most:
                    raise _StopError("limit", f"only its first {most:,} bytes were read")
                yield piece

    def _start(self, member: Member) -> int:
        try:
            header = self.source.read(member.header_offset, _LOCAL.size, "a member's header")
        except TensorError as error:
            raise _StopError(error.kind, error.message) from None
        fields = _LOCAL.unpack(header)
        start = member.header_offset + _LOCAL.size + int(fields[9]) + int(fields[10])
        if fields[0] != MAGIC or start + member.compressed_size > self.end:
            raise _StopError("unreadable", "the archive's directory is broken")
        return start


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _no_doctype(*_: Any) -> None:
    raise _StopError("unreadable", "a workbook has no document type declaration")


class _Handler:
    """What looks at the elements of a member. text: characters between them."""

    def begin(self, tag: str, attributes: dict[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def text(self, data: str) -> None: ...


class _Elements(_Handler):
    """Elements with their attributes alone."""

    def __init__(self, begin: Callable[[str, dict[str, str]], None]) -> None:
        self._begin = begin
        self._n = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self._n += 1
        if self._n > 100_000:
            raise _StopError("limit", "it lists more than any workbook has")
        self._begin(tag, attributes)


class _SharedTexts(_Handler):
    def __init__(self) -> None:
        self.found: list[str] = []
        self._parts: list[str] | None = None
        self._is_open = False
        self._depth_phonetic = 0
        self._n_chars = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "si":
            self._parts = []
        elif tag == "rPh":
            self._depth_phonetic += 1
        self._is_open = tag == "t" and not self._depth_phonetic

    def end(self, tag: str) -> None:
        self._is_open = False
        if tag == "rPh":
            self._depth_phonetic -= 1
        elif tag == "si" and self._parts is not None:
            self.found.append("".join(self._parts)[:MAX_CELL_CHARS])
            self._parts = None

    def text(self, data: str) -> None:
        if self._is_open and self._parts is not None:
            self._n_chars += len(data)
            if self._n_chars > MAX_TEXT_CHARS:
                raise _StopError("limit", f"only the first {MAX_TEXT_CHARS:,} characters of texts were read")
            self._parts.append(data)


@dataclass(slots=True)
class _Sheet(_Handler):
    """The rows of a sheet as they come. number: of the row that is read, as the spreadsheet shows it.
    n_blanks: cells that were left out in front of others since it was last set to 0."""

    texts: list[str]
    number: int = 0
    n_blanks: int = 0
    lines: list[int] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    _row: list[str] = field(default_factory=list)
    _at: int = 0
    _kind: str = ""
    _has_formula: bool = False
    _parts: list[str] = field(default_factory=list)
    _n_chars: int = 0
    _is_open: bool = False

    def taken(self) -> Rows:
        """The rows that are whole; they are given once."""
        rows = Rows(self.lines, self.cells)
        self.lines, self.cells = [], []
        return rows

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "row":
            told = attributes.get("r", "")
            self.number = (
                int(told) if told.isascii() and told.isdigit() and len(told) < 9 else self.number + 1
            )
            self._row = []
        elif tag == "c":
            found = _REFERENCE.fullmatch(attributes.get("r", ""))
            self._at = len(self._row) if found is None else _column_of(found[1])
            self._kind = attributes.get("t", "n")
            self._has_formula = False
            self._parts.clear()
            self._n_chars = 0
        elif tag == "f":
            self._has_formula = True
        self._is_open = tag in ("v", "t")

    def end(self, tag: str) -> None:
        self._is_open = False
        if tag == "c":
            self._take_cell()
        elif tag == "row" and any(self._row):
            self.lines.append(self.number)
            self.cells.append(self._row)
            self._row = []

    def text(self, data: str) -> None:
        if self._is_open and self._n_chars <= MAX_CELL_CHARS:
            self._n_chars += len(data)
            self._parts.append(data)

    def _take_cell(self) -> None:
        if self._at >= MAX_COLUMNS:
            raise _StopError("limit", f"a row has more than {MAX_COLUMNS:,} columns")
        text = "".join(self._parts)[:MAX_CELL_CHARS]
        if self._kind == "s":
            known = text.isascii() and text.isdigit() and len(text) < 9 and int(text) < len(self.texts)
            text = self.texts[int(text)] if known else ""
        elif self._kind == "b":
            text = {"1": "True", "0": "False"}.get(text, text)
        elif not text and self._has_formula:
            text = "formula"
        row = self._row
        if self._at < len(row):
            row[self._at] = text
        else:
            self.n_blanks += self._at - len(row)
            if self.n_blanks > _MOST_BLANKS:
                raise _StopError("limit", "nearly all of its cells are blank")
            row.extend([""] * (self._at - len(row)))
            row.append(text)


def _column_of(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
