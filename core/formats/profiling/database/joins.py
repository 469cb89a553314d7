"""Rows of one table found for rows of another, in arrays: no index of the file is relied on."""

from __future__ import annotations

import numpy as np

from .values import Integers


class Lookup:
    """Rows by key; of several with one key the first. Keys below 0 are none."""

    def __init__(self, keys: Integers) -> None:
        order = np.argsort(keys, kind="stable")
        sorted_keys = keys[order]
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = sorted_keys[1:] != sorted_keys[:-1]
        is_first &= sorted_keys >= 0
        self._keys = sorted_keys[is_first]
        self._rows = order[is_first]

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self, wanted: Integers) -> Integers:
        """The row with each key, -1 where there is none."""
        if not len(self._keys):
            return np.full(len(wanted), -1, np.int64)
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._rows[place], -1)


class Calls:
    """Rows that may share a key, told apart by their time: one call of a task that ran several times.

    Rows of one key do not run at once.
    """

    def __init__(self, keys: Integers, starts: Integers, ends: Integers) -> None:
        self._first = Lookup(keys)
        counts = np.zeros(len(keys), np.int64)
        rows = self._first.rows(keys)
        np.add.at(counts, rows[rows >= 0], 1)
        self._is_shared = counts > 1
        self._order = np.lexsort((starts, keys))
        self._keys, self._starts, self._ends = keys[self._order], starts[self._order], ends[self._order]

    @property
    def has_shared(self) -> bool:
        """True if some key has several rows."""
        return bool(self._is_shared.any())

    def rows(self, keys: Integers, times: Integers | None) -> tuple[Integers, int]:
        """The row of each (key, time), -1 where there is none; of how many the key alone was not enough."""
        found = self._first.rows(keys)
        if not self.has_shared:
            return found, 0
        unsure = np.flatnonzero((found >= 0) & self._is_shared[found])
        if not len(unsure):
            return found, 0
        if times is None:
            found[unsure] = -1
            return found, len(unsure)
        found[unsure] = self._by_time(keys[unsure], times[unsure])
        return found, int((found[unsure] < 0).sum())

    def _by_time(self, keys: Integers, times: Integers) -> Integers:
        """Both sorted into one line; the last row before each time is it, if it still runs then."""
        n = len(self._keys)
        all_keys = np.concatenate([self._keys, keys])
        all_times = np.concatenate([self._starts, times])
        order = np.lexsort((all_times, all_keys))  # of equal ones the rows stay before what is asked
        last = np.maximum.accumulate(np.where(order < n, order, -1))
        before = np.empty(len(order), np.int64)
        before[order] = last
        place = before[n:]
        is_it = (place >= 0) & (self._keys[place] == keys) & (self._ends[place] >= times)
        return np.where(is_it, self._order[place], -1)
