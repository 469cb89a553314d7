"""Codes of strings and ids that were seen before, by their first bytes as machine words.

Nearly all names, categories and ids of a block are old ones. To compare words costs a fraction of what
cutting out bytes costs. A hash only finds the entry; the words themselves are compared, so no code is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .trace_blocks import NO_CODE, Codes
from .trace_numbers import Bytes, Flags, Integers

MAX_ENTRIES = 4096
N_STRING_WORDS = 4
N_ID_WORDS = 2

Words = npt.NDArray[np.uint64]

_FACTORS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F],
    np.uint64,
)
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)


def words_at(text: Bytes, at: Integers, n: int) -> list[Words]:
    """The first 8 * n bytes from each place, as n arrays of words."""
    windows = np.ndarray((len(text) - 7,), "<u8", text, 0, (1,))
    return [windows[at + 8 * k] for k in range(n)]


def string_words(text: Bytes, at: Integers, length: Integers) -> list[Words]:
    """Strings of at most 32 bytes as words: zeros behind their end, their length as the last word."""
    found = words_at(text, at, N_STRING_WORDS)
    for k, words in enumerate(found):
        words &= _MASKS[np.clip(length - 8 * k, 0, 8)]
    return [*found, length.astype(np.uint64)]


class Known:
    """A table of words and the codes that they stand for."""

    def __init__(self, n_words: int) -> None:
        self._hashes: Words = np.zeros(0, np.uint64)
        self._words: list[Words] = [np.zeros(0, np.uint64) for _ in range(n_words)]
        self._codes: Codes = np.zeros(0, np.int32)

    def look_up(self, words: Sequence[Words]) -> tuple[Codes, Flags]:
        """The code of each row, and whether it is known."""
        n = len(words[0])
        if not len(self._hashes):
            return np.full(n, NO_CODE, np.int32), np.zeros(n, np.bool_)
        place = np.searchsorted(self._hashes, _hash(words))
        np.minimum(place, len(self._hashes) - 1, out=place)
        is_known = self._words[0][place] == words[0]
        for mine, theirs in zip(self._words[1:], words[1:], strict=True):
            is_known &= mine[place] == theirs
        return self._codes[place], is_known

    def add(self, words: Sequence[Words], codes: Codes) -> None:
        """Learn rows that are not known yet, as many as there is room for."""
        n_free = MAX_ENTRIES - len(self._hashes)
        if n_free <= 0 or not len(codes):
            return
        hashes, rows = np.unique(_hash(words), return_index=True)
        rows = rows[~np.isin(hashes, self._hashes)][:n_free]
        codes = codes[rows]
        every = [
            np.concatenate([mine, theirs[rows]]) for mine, theirs in zip(self._words, words, strict=True)
        ]
        all_codes = np.concatenate([self._codes, codes])
        all_hashes = _hash(every)
        order = np.argsort(all_hashes)
        self._hashes, self._codes = all_hashes[order], all_codes[order]
        self._words = [part[order] for part in every]


def _hash(words: Sequence[Words]) -> Words:
    total = words[0] * _FACTORS[0]
    for part, factor in zip(words[1:], _FACTORS[1:], strict=False):
        total = (total ^ (total >> np.uint64(29))) * factor + part
    mixed: Words = total * _FACTORS[1]
    return mixed
