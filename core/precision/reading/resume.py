"""A comparison that was stopped goes on: what was measured and examined of a rank-step, in a journal.

A record names its job by number; the journal's key says which jobs those are, with the state of their files.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict

from npulse.core.cache import Cache
from npulse.core.formats.tensors import DTYPES, Dtype
from npulse.core.journal import Journal, open_journal

from ..blocks.patterns import Pattern
from ..blocks.totals import PairMetrics
from .jobs import IS_COUNT, N_FIGURES, Jobs
from .remember import examination_of
from .work import Examined, Measured

_MEASURED, _EXAMINED = 0, 1
_HAS_METRICS, _SHAPES_DIFFER = 1, 2
_HEAD = struct.Struct("<BI")  # what it is, number of the job
_FACTS = struct.Struct("<BBBB")  # flags; coarser and both stored dtypes, by their place and 1, 0 for none
_FIGURES = struct.Struct(f"<{N_FIGURES}d")

_DTYPES: tuple[Dtype, ...] = tuple(DTYPES.values())
_PLACES = {dtype.name: place for place, dtype in enumerate(_DTYPES, 1)}


class Resumed:
    """What earlier starts of the same comparison have found of a rank-step, and what this one adds."""

    def __init__(self, journal: Journal, jobs: Jobs) -> None:
        self._journal, self._jobs = journal, jobs

    @classmethod
    def begin(cls, cache: Cache | None, key: str | None, jobs: Jobs) -> Resumed | None:
        """None where nothing is kept, or another process compares the same."""
        journal = open_journal(cache, key) if cache is not None and key is not None else None
        return None if journal is None else cls(journal, jobs)

    def measured(self) -> Iterator[tuple[int, Measured]]:
        """Number of the job and result of each first read; to be asked before anything is kept."""
        for payload in self._journal.records():
            number = self._number(payload, _MEASURED)
            result = None if number is None else _measured(payload[_HEAD.size :], self._jobs.row(number))
            if number is not None and result is not None:
                yield number, result

    def examined(self) -> dict[int, Examined]:
        """The second reads by the number of the job; to be asked before anything is kept."""
        found = {}
        for payload in self._journal.records():
            number = self._number(payload, _EXAMINED)
            result = None if number is None else _examined(payload[_HEAD.size :], self._jobs.row(number))
            if number is not None and result is not None:
                found[number] = result
        return found

    def keep_measured(self, number: int, result: Measured) -> None:
        """A first read. What could not be read is tried again."""
        names = () if result.stored is None else result.stored
        codes = [_PLACES.get(name, -1) for name in names] or [0, 0]
        coarser = 0 if result.coarser is None else _PLACES.get(result.coarser.name, -1)
        if result.problems or min(coarser, *codes) < 0:
            return
        flags = _HAS_METRICS * (result.metrics is not None) | _SHAPES_DIFFER * result.shapes_differ
        figures = b"" if result.metrics is None else _FIGURES.pack(*result.metrics)
        self._journal.add(_HEAD.pack(_MEASURED, number) + _FACTS.pack(flags, coarser, *codes) + figures)

    def keep_examined(self, number: int, result: Examined) -> None:
        """A second read."""
        if result.examination is None:
            return
        pattern = result.pattern and (result.pattern.kind, dict(result.pattern.figures))
        told = json.dumps((asdict(result.examination), pattern), separators=(",", ":"))
        self._journal.add(_HEAD.pack(_EXAMINED, number) + told.encode())

    def close(self) -> None:
        """Stopped, or to go on later."""
        self._journal.close()

    def remove(self) -> None:
        """The result is there as a whole."""
        self._journal.remove()

    def _number(self, payload: bytes, what: int) -> int | None:
        if len(payload) < _HEAD.size:
            return None
        kind, number = _HEAD.unpack_from(payload)
        return number if kind == what and number < len(self._jobs) else None


def _measured(raw: bytes, row: int) -> Measured | None:
    if len(raw) not in (_FACTS.size, _FACTS.size + _FIGURES.size):
        return None
    flags, coarser, one, other = _FACTS.unpack_from(raw)
    if max(coarser, one, other) > len(_DTYPES) or bool(flags & _HAS_METRICS) != (len(raw) > _FACTS.size):
        return None
    metrics = None
    if flags & _HAS_METRICS:
        values = _FIGURES.unpack_from(raw, _FACTS.size)
        metrics = PairMetrics._make(
            int(v) if is_count else v for v, is_count in zip(values, IS_COUNT, strict=True)
        )
    return Measured(
        row,
        metrics,
        shapes_differ=bool(flags & _SHAPES_DIFFER),
        coarser=_DTYPES[coarser - 1] if coarser else None,
        stored=(_DTYPES[one - 1].name, _DTYPES[other - 1].name) if one and other else None,
    )


def _examined(raw: bytes, row: int) -> Examined | None:
    try:
        examination, pattern = json.loads(raw)
        found = None if pattern is None else Pattern(pattern[0], dict(pattern[1]))
        return Examined(row, examination_of(examination), found)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return None
