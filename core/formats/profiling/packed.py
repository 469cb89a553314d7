"""Columns of an operator table in as few bytes as hold them exactly; who looks at one gets it in full width.

Codes, ids and counters with three decimals need one to four bytes instead of eight: a table of a million rows
with 46 columns takes a third of what it did. Nothing is rounded: what does not fit exactly makes its column
wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_INTEGERS = (np.int8, np.int16, np.int32, np.int64)
_SCALE = 1000.0
_THOUSANDTHS = (np.int16, np.int32)
_FIRST_ROWS = 1 << 10


@dataclass(frozen=True, slots=True)
class Packed:
    """values: integers as narrow as they may be, or float64. dtype: what the column is in full width; of
    float64 integers are thousandths, the lowest one NaN."""

    values: _Array
    dtype: type

    def whole(self) -> _Array:
        """The column in full width."""
        if self.values.dtype == self.dtype:
            return self.values
        if self.dtype is not np.float64:
            return self.values.astype(self.dtype)
        found = self.values / _SCALE
        found[self.values == np.iinfo(self.values.dtype).min] = np.nan
        return found


class PackedColumns(Mapping[str, _Array]):
    """Name -> array in full width, made anew at each look."""

    def __init__(self, columns: Mapping[str, Packed]) -> None:
        self._columns = dict(columns)

    def to_kept(self) -> tuple[Any, ...]:
        """What `from_kept` makes them of again (core/kept_records.py)."""
        return (self._columns,)

    @classmethod
    def from_kept(cls, columns: Mapping[str, Packed]) -> PackedColumns:
        """The same columns again."""
        return cls(columns)

    def __getitem__(self, name: str) -> _Array:
        return self._columns[name].whole()

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def at(self, name: str, rows: _Array | slice) -> _Array:
        """Some rows of one column, in full width: those rows alone are made wide."""
        one = self._columns[name]
        return replace(one, values=one.values[rows]).whole()

    def taken(self, rows: _Array) -> PackedColumns:
        """Some of the rows."""
        return PackedColumns(
            {name: replace(one, values=one.values[rows]) for name, one in self._columns.items()}
        )


class GrowingPacked:
    """A column that is added to, and widened when a value asks for it. absent: -1, or NaN of float64."""

    def __init__(self, dtype: type, absent: int | float) -> None:
        self._dtype = dtype
        self._absent = absent
        self._is_number = dtype is np.float64
        self._values: _Array = np.empty(0, _THOUSANDTHS[0] if self._is_number else _INTEGERS[0])
        self._n = 0

    def add(self, values: _Array | Sequence[int], at: int) -> None:
        """Values for the rows from `at` on; rows between that nobody gave are absent."""
        self.reach(at)
        stop = at + len(values)
        self._reserve(stop)
        if len(values):
            given = np.asarray(values)
            self._values[at:stop] = self._numbers(given) if self._is_number else self._integers(given)
        self._n = stop

    def reach(self, n: int) -> None:
        """Absent up to row `n`."""
        if self._n < n:
            self._reserve(n)
            absent = self._absent
            if self._is_number and self._values.dtype != np.float64:
                absent = np.iinfo(self._values.dtype).min
            self._values[self._n : n] = absent
            self._n = n

    def drop(self, n: int) -> None:
        """Without the first n rows."""
        self._values, self._n = self._values[n : self._n].copy(), max(self._n - n, 0)

    def values(self) -> _Array:
        """All that were given, as narrow as they are; not a copy."""
        return self._values[: self._n]

    def recode(self, code_of: _Array) -> None:
        """Each code as another one that is no larger; the last of `code_of` stands for absent."""
        self._values[: self._n] = code_of[self._values[: self._n]]

    def taken(self, since: int, n: int, *, is_last: bool) -> Packed:
        """The values from `since` to n; a copy, unless nothing is added any more."""
        self.reach(n)
        if not is_last:
            return Packed(self._values[since:n].copy(), self._dtype)
        self._values.resize(n, refcheck=False)
        return Packed(self._values[since:] if since else self._values, self._dtype)

    def _integers(self, values: _Array) -> _Array:
        least, most = int(values.min()), int(values.max())
        for dtype in _INTEGERS:
            limits = np.iinfo(dtype)
            if limits.min <= least and most <= limits.max:
                if limits.bits > np.iinfo(self._values.dtype).bits:
                    self._values = self._values.astype(dtype)
                break
        return values

    def _numbers(self, values: _Array) -> _Array:
        """The values as the column holds them, which may be wider now."""
        if self._values.dtype == np.float64:
            return values
        whole = np.rint(values * _SCALE)
        is_none = np.isnan(values)
        is_exact = bool(((whole / _SCALE == values) | is_none).all())
        most = float(np.fmax.reduce(np.abs(whole), initial=0))
        dtype = next((one for one in _THOUSANDTHS if most <= np.iinfo(one).max), None)
        if not is_exact or dtype is None:
            self._values = Packed(self._values, np.float64).whole()
            return values
        now = self._values.dtype
        if np.iinfo(dtype).bits > np.iinfo(now).bits:
            none = self._values == np.iinfo(now).min
            self._values = self._values.astype(dtype)
            self._values[none] = np.iinfo(dtype).min
        if is_none.any():
            whole[is_none] = np.iinfo(self._values.dtype).min
        return whole

    def _reserve(self, n: int) -> None:
        if n > len(self._values):
            self._values.resize(max(_FIRST_ROWS, n, len(self._values) * 5 // 4), refcheck=False)
