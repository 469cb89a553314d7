"""Texts of a database: tables hold ids into STRING_IDS, and only those that are used are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..cell_texts import NONE_WORDS
from .database import Database
from .values import NOTHING, Integers

MAX_TEXT_CHARS = 1 << 16
MAX_ALL_CHARS = 1 << 28
_TEXT_BYTES = 4 * MAX_TEXT_CHARS + 4
_IDS_AT_ONCE = 500
_SCAN_ABOVE = 20_000
_NO_TEXT = NONE_WORDS - {"null", "nan"}  # a format may be NULL
_OVERHEAD = 50  # a text costs more than its characters

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of texts: codes into labels, -1 absent."""

    codes: Codes
    labels: tuple[str, ...]


class Strings:
    """Those texts of STRING_IDS that the given arrays name."""

    def __init__(self, database: Database, arrays: Iterable[Integers]) -> None:
        self._text_of: dict[int, str] = {}
        self._n_chars = 0
        self._n_long = 0
        self._is_full = False
        found = [np.unique(array) for array in arrays if len(array)]
        ids = np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
        wanted = ids[ids >= 0].tolist()
        if wanted:
            self._read(database, wanted)

    def get(self, number: int, default: str = "") -> str:
        """The text of one id."""
        return self._text_of.get(number, default)

    def coded(self, ids: Integers, *, is_shape: bool = False) -> Coded:
        """Texts of a column. Words for none are absent; an empty shape is one of a scalar."""
        values, places = np.unique(ids, return_inverse=True)
        codes = np.empty(len(values), np.int32)
        code_of: dict[str, int] = {}
        for i, number in enumerate(values.tolist()):
            text = self._text_of.get(number)
            if text is not None:
                text = text.strip()
                if is_shape and len(text) >= 2 and text[0] == text[-1] == '"':
                    text = text.replace('"', "")
                elif text.lower() in _NO_TEXT:
                    text = None
            codes[i] = -1 if text is None else code_of.setdefault(text, len(code_of))
        return Coded(codes[places.reshape(-1)], tuple(code_of))

    def _read(self, database: Database, wanted: Sequence[int]) -> None:
        if not database.has("STRING_IDS", "id", "value"):
            database.note("missing", "STRING_IDS: the table is not there, so nothing has a name")
            return
        key = database.tables["string_ids"].key
        if key == "id" and len(wanted) <= _SCAN_ABOVE:  # found by number; else each search reads the table
            for at in range(0, len(wanted), _IDS_AT_ONCE):
                self._take(database, None, ("id", wanted[at : at + _IDS_AT_ONCE]))
        else:
            self._take(database, frozenset(wanted), None)
        if self._n_long:
            message = f"STRING_IDS: {self._n_long:,} texts are longer than {MAX_TEXT_CHARS:,} characters"
            database.note("too-large", message + " and count as absent")
        if self._is_full:
            database.note("limit", f"STRING_IDS: only {MAX_ALL_CHARS:,} characters of texts are read")
        n_lost = len(wanted) - len(self._text_of) - self._n_long
        if n_lost > 0 and not self._is_full:
            message = f"STRING_IDS: {n_lost:,} of {len(wanted):,} ids that are used are not in it"
            database.note("missing", message)

    def _take(
        self, database: Database, wanted: frozenset[int] | None, only: tuple[str, Sequence[int]] | None
    ) -> None:
        for block in database.blocks("STRING_IDS", ("id", "value"), only=only, text_bytes=_TEXT_BYTES):
            for _, number, text in block:
                if not isinstance(number, int) or (wanted is not None and number not in wanted):
                    continue
                if not isinstance(text, str):
                    continue
                if len(text) > MAX_TEXT_CHARS:
                    self._n_long += 1
                    continue
                self._n_chars += len(text) + _OVERHEAD
                if self._n_chars > MAX_ALL_CHARS:
                    self._is_full = True
                    return
                self._text_of.setdefault(number, text)


def kept(ids: Integers) -> Integers:
    """Ids that can name a text; NOTHING for the others, so that no word for none is asked for."""
    return np.where((ids >= 0) & (ids != 0xFFFF_FFFF), ids, NOTHING)
