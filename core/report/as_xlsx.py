"""A dossier as a workbook: what it holds, criteria, findings, and the tables of every report.

Names come from files: every text is written as a text, never as a formula, link or number. Rows go to the
disk as they are written, so that a table of a million rows needs no memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from npulse.core.errors import EnvironmentLacks
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say

from .as_json import plain
from .blocks import blocks
from .dossier import Dossier
from .texts import TEXTS
from .whole_text import WHOLE_COLUMNS, whole_rows

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook

MAX_ROWS = 1_048_576
"""Of a sheet, by the format itself; the first one holds the names of the columns."""
MAX_NAME = 31
"""Characters of a sheet's name, by the format itself."""
_CRITERIA = ("id", "state", "needs", "value", "shown", "unit", "subject", "why", "next")
_NOT_IN_NAMES = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))


def check_library() -> None:
    """EnvironmentLacks, with what to install, where the library is missing."""
    try:
        import xlsxwriter.workbook  # noqa: F401
    except ImportError:
        raise EnvironmentLacks(
            "an xlsx report needs xlsxwriter", hint="pip install 'npulse[xlsx]', or -o FILE.csv"
        ) from None


def write_xlsx(dossier: Dossier, file: BinaryIO, *, version: str, lang: Lang = "en") -> None:
    """Write the workbook. EnvironmentLacks where its library is not installed."""
    with _new_book(file) as book:
        _fill(book, dossier, version, lang)


def write_tables(tables: Mapping[str, Table], file: BinaryIO) -> None:
    """A workbook with a sheet a table. EnvironmentLacks where its library is not installed."""
    used: set[str] = set()
    with _new_book(file) as book:
        bold = book.add_format({"bold": True})
        for name, table in tables.items():
            heads = [column.name for column in table.exported]
            _sheet(book, bold, _fit(name, used), heads, _rows(table))


@contextmanager
def _new_book(file: BinaryIO) -> Iterator[Workbook]:
    """A workbook that is closed at the end; an OSError where the file is full."""
    check_library()
    from xlsxwriter.exceptions import XlsxFileError
    from xlsxwriter.workbook import Workbook

    with TemporaryDirectory() as room:  # rows wait there, and the library leaves them where it fails
        book = Workbook(
            _UntilFull(file),
            {
                "constant_memory": True,
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
                "tmpdir": room,
            },
        )
        yield book
        try:
            book.close()
        except XlsxFileError as error:
            raise OSError(str(error)) from error


def _fill(book: Workbook, dossier: Dossier, version: str, lang: Lang) -> None:
    tables = list(_named_tables(dossier))
    bold = book.add_format({"bold": True})
    _sheet(book, bold, "npulse", ("what", "value"), _about(dossier, tables, version, lang))
    _sheet(book, bold, "criteria", _CRITERIA, _criteria(dossier))
    _sheet(book, bold, "findings", WHOLE_COLUMNS, whole_rows(dossier))
    for name, table in tables:
        _sheet(book, bold, name, [column.name for column in table.exported], _rows(table))


class _UntilFull:
    """A file that refuses once: what the library still writes when it clears itself away goes nowhere, else
    there would be a second error, on stderr."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._place, self._is_full = file, 0, False

    def write(self, data: bytes) -> int:
        if not self._is_full:
            try:
                self._file.write(data)
            except OSError:
                self._is_full = True
                raise
        self._place += len(data)
        return len(data)

    def seek(self, place: int) -> int:
        if not self._is_full:
            self._file.seek(place)
        self._place = place
        return place

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        if not self._is_full:
            self._file.flush()


def _named_tables(dossier: Dossier) -> Iterator[tuple[str, Table]]:
    """Each table with the name of its sheet: the table's and its round's, made fit and told apart."""
    used = {"npulse", "criteria", "findings", "history"}
    for told in dossier.reports:
        for name, table in told.report.tables.items():
            yield _fit(f"{name} {told.round}".strip(), used), table


def _fit(name: str, used: set[str]) -> str:
    """A name made fit for a sheet and told apart from those that are used; it is one of them then."""
    wanted = safe_text(name).translate(_NOT_IN_NAMES)
    fit, number = wanted[:MAX_NAME], 1
    while fit.lower() in used:
        number += 1
        fit = f"{wanted[: MAX_NAME - 1 - len(str(number))]} {number}"
    used.add(fit.lower())
    return fit


def _about(
    dossier: Dossier, tables: Sequence[tuple[str, Table]], version: str, lang: Lang
) -> Iterator[tuple[Any, ...]]:
    check_up = dossier.check_up
    yield "run", check_up.run
    yield "title", dossier.title or None
    yield "made", dossier.made or None
    yield "npulse", version
    yield "verdict", check_up.state
    yield "first", check_up.first or None
    yield "why_first", check_up.why_first or None
    for area in check_up.areas:
        yield f"{area.area}: {area.state}", area.headline
    for name, table in tables:
        n_most = MAX_ROWS - 1
        is_cut = table.n_rows > n_most
        words = say(TEXTS, "rows-cut" if is_cut else "rows", lang, n=f"{table.n_rows:,}", most=f"{n_most:,}")
        yield f"sheet {name}", words


def _criteria(dossier: Dossier) -> Iterator[tuple[Any, ...]]:
    for area in dossier.check_up.areas:
        for one in area.criteria:
            yield (
                *(one.id, one.state, one.needs, one.value, one.shown, one.unit, one.subject),
                *(one.why, one.next_step),
            )


def _rows(table: Table) -> Iterator[tuple[Any, ...]]:
    for columns in blocks(table):
        yield from zip(*columns, strict=True)


def _sheet(
    book: Workbook, bold: Format, name: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for column, head in enumerate(heads):
        sheet.write_string(0, column, safe_text(head), bold)
    for number, row in enumerate(rows, 1):
        if number >= MAX_ROWS:
            return
        for column, value in enumerate(row):
            value = plain(value)
            if value is None:
                continue
            if isinstance(value, bool):
                sheet.write_boolean(number, column, value)
            elif isinstance(value, int | float) and abs(value) < 1 << 53 and math.isfinite(value):
                sheet.write_number(number, column, value)
            else:
                sheet.write_string(number, column, safe_text(str(value)))
