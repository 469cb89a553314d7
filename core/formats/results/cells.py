"""Cells of result tables: a number, or a word that says why there is none. A word is never a number.

Writers put 'N/A', 'Nan', 'unsupported', 'shape unmatched' where a figure should be, a tab behind nan, a blank
before inf, a percent sign behind a share; spreadsheets keep numbers as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?", re.ASCII | re.IGNORECASE)
_INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
_PLAIN = frozenset("0123456789.eE+-\n")
MAX_NUMBER_CHARS = 400
"""Longer digits are no figure that a tool writes; converting them would be slow."""


def number_of(text: str) -> float | None:
    """The number that a cell shows (inf is one), None where it shows a word; NaN is a word here."""
    bare = text.strip().removesuffix("%")
    if len(bare) > MAX_NUMBER_CHARS:
        return None
    if _NUMBER.fullmatch(bare):
        return float(bare)
    found = _INFINITE.fullmatch(bare)
    return None if found is None else math.copysign(math.inf, -1 if found[1] == "-" else 1)


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a result table.

    header: as the tool wrote it. role: what it is for our eyes (see `layouts`). numbers float64, NaN where a
    cell is no number. words int32: code into `labels` of what stands there instead, -1 where it is a number
    (in columns of text every cell is a word). unit: "percent" where cells have the sign, else "".
    """

    header: str
    role: str
    numbers: npt.NDArray[np.float64]
    words: npt.NDArray[np.int32]
    labels: Sequence[str]
    unit: str = ""

    @property
    def is_number(self) -> npt.NDArray[np.bool_]:
        """True where a cell shows a number."""
        shown: npt.NDArray[np.bool_] = self.words < 0
        return shown

    def word(self, row: int) -> str:
        """The word of a cell, "" where it shows a number."""
        code = int(self.words[row])
        return self.labels[code] if code >= 0 else ""

    def value(self, row: int) -> float | str:
        """The number of a cell, else its word."""
        code = int(self.words[row])
        return self.labels[code] if code >= 0 else float(self.numbers[row])


def _plain_numbers(cells: Sequence[str]) -> npt.NDArray[np.float64] | None:
    """The values where all cells are plain numbers, else None. The characters say what float() may see."""
    if not _PLAIN.issuperset("\n".join(cells)) or max(map(len, cells), default=0) > MAX_NUMBER_CHARS:
        return None
    try:
        return np.array([float(cell) for cell in cells], np.float64)
    except ValueError:  # an empty cell, "1-2"
        return None


@dataclass(slots=True)
class ColumnCells:
    """A column while it is read. is_text: every cell is a word, whatever it looks like."""

    header: str
    role: str
    is_text: bool
    has_percent: bool = False
    _numbers: list[npt.NDArray[np.float64]] = field(default_factory=list)
    _words: list[npt.NDArray[np.int32]] = field(default_factory=list)
    _codes: dict[str, int] = field(default_factory=dict)

    def add(self, cells: Sequence[str]) -> None:
        """Take the cells of further rows. Cost: about 0.15 us a number or a word that was there before."""
        codes = self._codes
        numbers = np.full(len(cells), math.nan)
        if self.is_text:
            words = np.array([codes.setdefault(cell, len(codes)) for cell in cells], np.int32)
        else:
            words = np.array([codes.get(cell, -1) for cell in cells], np.int32)
            left = np.flatnonzero(words < 0)
            unknown = cells if len(left) == len(cells) else [cells[row] for row in left.tolist()]
            found = _plain_numbers(unknown)
            if found is not None:
                numbers[left] = found
            else:
                self._one_by_one(left.tolist(), unknown, numbers, words)
        self._numbers.append(numbers)
        self._words.append(words)

    def _one_by_one(
        self,
        rows: Sequence[int],
        cells: Sequence[str],
        numbers: npt.NDArray[np.float64],
        words: npt.NDArray[np.int32],
    ) -> None:
        for row, cell in zip(rows, cells, strict=True):
            number = number_of(cell)
            if number is None:
                words[row] = self._codes.setdefault(cell.strip(), len(self._codes))
            else:
                numbers[row] = number
                self.has_percent |= "%" in cell

    def column(self) -> ResultColumn:
        """What was read."""
        return ResultColumn(
            header=self.header,
            role=self.role,
            numbers=np.concatenate(self._numbers) if self._numbers else np.zeros(0),
            words=np.concatenate(self._words) if self._words else np.zeros(0, np.int32),
            labels=tuple(self._codes),
            unit="percent" if self.has_percent else "",
        )
