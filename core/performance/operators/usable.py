"""Which durations of an operator table can be used, and which rows are set aside, for what reason.

Nothing is left out in silence: a row that does not count has a reason and a line. An absent duration is not
zero; a zero is a duration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import NO_ID, NO_NS, NO_START, OperatorTable

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Reason = Literal["absent", "negative", "too long", "repeated"]

REASONS: tuple[Reason, ...] = ("absent", "negative", "too long", "repeated")
"""absent: N/A or empty. too long: it cannot have lasted as long as that (`_too_long`). repeated: the same
task stands in two files, since they overlap; the first one counts."""

MAX_DURATION_NS = 10**15
"""1e12 us: what is longer came from an unsigned number below zero."""
_LAST_TASK_NS = 3600 * 10**9
"""How long a task may go on after the last start: a collective that waits ends by a time-out before that."""
_APART_NS = 24 * 3600 * 10**9
"""Starts that lie so far from all others are not times of this profile."""
_MAX_TOTAL_NS = 2**62


@dataclass(frozen=True, slots=True)
class SetAside:
    """A row whose duration is not used. value_ns: what it says, None where it says nothing.

    line: in its file, None where the row was made out of a timeline or a database.
    """

    row: int
    name: str
    file: str
    line: int | None
    reason: Reason
    value_ns: int | None


@dataclass(frozen=True, slots=True)
class Usable:
    """Arrays as long as the table.

    rows bool: the duration counts. starts bool: so does the start, for what is measured on the time axis; it
    is False for rows without a start and for starts at 0 or far away from all others. reason int8: 0 where
    the duration counts, else 1 + place in REASONS. total_ns: sum of all durations that count. n_twice: rows
    that say once more what a row of the same file says; they count, as in the tools' own sums.
    """

    rows: Flags
    starts: Flags
    reason: npt.NDArray[np.int8]
    total_ns: int
    n_twice: int = 0

    @property
    def n(self) -> int:
        """How many durations count."""
        return int(np.count_nonzero(self.rows))

    @property
    def n_set_aside(self) -> dict[Reason, int]:
        """How many rows are set aside for each reason; only reasons that there are."""
        counts = np.bincount(self.reason, minlength=len(REASONS) + 1)[1:].tolist()
        return {reason: n for reason, n in zip(REASONS, counts, strict=True) if n}

    @property
    def n_stray_starts(self) -> int:
        """Rows whose duration counts and whose start does not."""
        return int(np.count_nonzero(self.rows & ~self.starts))

    def set_aside(
        self, table: OperatorTable, limit: int | None = None, reasons: Collection[Reason] = REASONS
    ) -> Iterator[SetAside]:
        """The rows that do not count for one of the reasons, in the order of the table."""
        codes = [1 + REASONS.index(reason) for reason in reasons]
        durations = table.values("duration_ns")
        for row in np.flatnonzero(np.isin(self.reason, codes))[:limit].tolist():
            value = int(durations[row])
            yield SetAside(
                row,
                table.text("name", row) or table.text("op_type", row),
                table.files[int(table.file[row])] if table.files else "",
                line_of(table, row),
                REASONS[int(self.reason[row]) - 1],
                None if value == NO_NS else value,
            )

    def narrowed(self, table: OperatorTable, rows: Flags) -> Usable:
        """The same for some of the rows (a step, a stream): others count no more and have no reason."""
        kept = self.rows & rows
        return replace(
            self,
            rows=kept,
            starts=self.starts & rows,
            reason=np.where(rows, self.reason, 0).astype(np.int8),
            total_ns=exact_sum(table.values("duration_ns")[kept]),
        )


def line_of(table: OperatorTable, row: int) -> int | None:
    """The line of a row in its file; None where it stands in none."""
    line = int(table.line[row])
    return line if line > 0 else None


def usable(table: OperatorTable, *, wall_ns: int | None = None) -> Usable:
    """Which rows count. wall_ns: how long the whole profile took, where it is known from elsewhere.

    Cost: linear; rows are sorted only where two have the same start.
    """
    durations: Integers = table.values("duration_ns")
    starts: Integers = table.values("start_ns")
    reason = np.zeros(table.n_rows, np.int8)

    def set_aside(why: Reason, rows: Flags) -> None:
        reason[rows & (reason == 0)] = 1 + REASONS.index(why)

    is_near = _near_starts(starts)
    repeated, twice = _repeated(table, starts, durations)
    set_aside("repeated", repeated)
    set_aside("absent", durations == NO_NS)
    set_aside("negative", durations < 0)
    set_aside("too long", durations > MAX_DURATION_NS)
    if wall_ns is not None and wall_ns > 0:
        set_aside("too long", durations > wall_ns)
    set_aside("too long", _too_long(table, starts, durations, is_near & (reason == 0)))
    total = exact_sum(durations[reason == 0])
    if total >= _MAX_TOTAL_NS:  # a century and a half: sums of 64 bits would not hold it
        set_aside("too long", durations > _MAX_TOTAL_NS // max(table.n_rows, 1))
        total = exact_sum(durations[reason == 0])
    rows = reason == 0
    return Usable(rows, rows & is_near, reason, total, int(np.count_nonzero(twice & rows)))


def exact_sum(values: Integers) -> int:
    """The sum of int64 values, whatever its size."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFF_FFFF).sum())


def _near_starts(starts: Integers) -> Flags:
    """True where a start is one of this profile: there, not 0, and not a day away from all the others."""
    is_near: Flags = starts != NO_START
    there = starts[is_near]
    if not len(there):
        return is_near
    if int(there.min()) == 0:
        others = there[there > 0]
        if len(others) and int(others.min()) > int(others.max()) - int(others.min()):
            is_near &= starts != 0
            there = others
    if int(there.max()) - int(there.min()) > _APART_NS:
        ordered = np.sort(there)
        cuts = np.flatnonzero(np.diff(ordered) > _APART_NS) + 1
        if len(cuts):
            begins = np.concatenate(([0], cuts))
            lengths = np.diff(np.concatenate((begins, [len(ordered)])))
            best = int(np.argmax(lengths))
            first = ordered[begins[best]]
            last = ordered[begins[best] + lengths[best] - 1]
            is_near &= (starts >= first) & (starts <= last)
    return is_near


def _too_long(table: OperatorTable, starts: Integers, durations: Integers, is_judged: Flags) -> Flags:
    """True where a task cannot have lasted as long as its row says.

    Either it would go on for an hour after everything else has begun; or it lasts more than twice as long as
    all that the profile holds while a later task of its stream begins before its end. The last task of a
    stream may be long: nothing speaks against it.
    """
    found = np.zeros(len(starts), np.bool_)
    judged = np.flatnonzero(is_judged)
    if len(judged) < 2:
        return found
    at, lasts = starts[judged], durations[judged]
    first, last = int(at.min()), int(at.max())
    suspects = lasts > 2 * (last - first)
    if not suspects.any():
        return found
    streams = _lines_of(table)[judged]
    order = np.lexsort((at, streams))
    follows = np.full(len(judged), -1, np.int64)
    is_same = (streams[order][1:] == streams[order][:-1]) & (streams[order][1:] != NO_ID)
    follows[order[:-1]] = np.where(is_same, at[order][1:], -1)
    is_in_the_way = (follows >= 0) & (follows < at + lasts)
    fine = ~(is_in_the_way & suspects) & (lasts <= last - first + _LAST_TASK_NS)
    end = max(last, int((at[fine] + lasts[fine]).max()) if fine.any() else last)
    bad = (is_in_the_way & (lasts > 2 * (end - first))) | (at + lasts > last + _LAST_TASK_NS)
    found[judged[suspects & bad]] = True
    return found


def _lines_of(table: OperatorTable) -> Integers:
    """On which line a task runs after the one before it, NO_ID where nobody can tell.

    Whole communication operations have no stream and lie over all others; a table without streams is taken
    as one line but for them.
    """
    if "stream" in table.arrays:
        streams: Integers = table.values("stream")
        return streams
    codes = table.values("name")
    apart = [
        code for code, name in enumerate(table.texts("name")) if name.lower().startswith(("hcom", "hccl"))
    ]
    return np.where(np.isin(codes, apart), NO_ID, 0)


def _repeated(table: OperatorTable, starts: Integers, durations: Integers) -> tuple[Flags, Flags]:
    """True for rows that say again what an earlier row of another file said, and what one of the same file
    said: the same start, duration, name, stream and task."""
    found, twice = np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.bool_)
    if "start_ns" not in table.arrays or len(starts) < 2:
        return found, twice
    steps = np.diff(starts)
    if (steps > 0).all():
        return found, twice
    order = np.argsort(starts, kind="stable")
    is_same = np.diff(starts[order]) == 0
    shared = np.concatenate(([False], is_same)) | np.concatenate((is_same, [False]))
    rows = order[shared]
    rows = rows[starts[rows] != NO_START]
    if not len(rows):
        return found, twice
    keys = [starts[rows], durations[rows]]
    keys += [
        table.values(name)[rows]
        for name in ("device", "stream", "task", "batch", "context", "name", "op_type")
        if name in table.arrays
    ]
    order = np.lexsort((rows, *keys))
    rows, keys = rows[order], [key[order] for key in keys]
    is_equal = np.ones(len(rows) - 1, np.bool_)
    for key in keys:
        is_equal &= key[1:] == key[:-1]
    begins = np.flatnonzero(np.concatenate(([True], ~is_equal)))
    firsts = np.repeat(rows[begins], np.diff(np.concatenate((begins, [len(rows)]))))
    is_other_file = table.file[rows] != table.file[firsts]
    found[rows[is_other_file]] = True
    twice[rows[(rows != firsts) & ~is_other_file]] = True
    return found, twice
