"""Leaks of a log: summed as its records tell them, and checked against the totals that the tool prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from npulse.core.dataclass import dataclass

from .faults import LEAKS, Fault, LogSummary, LogTrust
from .sites import Site

ROUNDED_BY = 0.01
_ROUNDING = frozenset(("msMemScope",))
"""Tools that print megabytes with few digits, in the records as in the total."""


@dataclass(frozen=True, slots=True)
class Total:
    """Blocks and bytes of one kind ("leak", "unused memory")."""

    n: int = 0
    size_bytes: int = 0


MAX_ROWS = 200_000
"""Leaks of a log whose lines are kept, so that each total can be compared with the records above it."""


@dataclass(frozen=True, slots=True)
class Part:
    """The records above one SUMMARY line, and what it says; n_told, told_bytes: None where it does not."""

    found: Total
    n_told: int | None
    told_bytes: int | None
    line: int
    tool: str = ""

    @property
    def matches(self) -> bool:
        if self.n_told not in (None, self.found.n):
            return False
        if self.told_bytes is None:
            return True
        allowed = self.told_bytes * ROUNDED_BY if self.tool in _ROUNDING else 0
        return abs(self.told_bytes - self.found.size_bytes) <= allowed


@dataclass(frozen=True, slots=True)
class LeakCheck:
    """What the records of one log add up to, beside its SUMMARY lines.

    parts: one for each SUMMARY; one for all of them where several processes are mixed, () without any.
    """

    artifact: str
    kind: str
    tool: str
    found: Total
    parts: tuple[Part, ...] = ()

    @property
    def wrong(self) -> Part | None:
        """The first SUMMARY that says something else than the records above it."""
        return next((part for part in self.parts if not part.matches), None)

    @property
    def matches(self) -> bool | None:
        """None where there is nothing to compare with."""
        return self.wrong is None if self.parts else None

    @property
    def n_told(self) -> int | None:
        """All SUMMARY lines together; None where one of them gives no number."""
        return _sum([part.n_told for part in self.parts])

    @property
    def told_bytes(self) -> int | None:
        return _sum([part.told_bytes for part in self.parts])


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None


Row = tuple[int, int, int]
"""(line, blocks, bytes)"""


class _Log:
    """The leaks of one kind, tool and log."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.total = Total()
        self.origins: set[str] = set()
        self.is_short = False

    def add(self, fault: Fault) -> None:
        n, size = fault.n_objects or 1, fault.size_bytes or 0
        self.total = Total(self.total.n + n, self.total.size_bytes + size)
        if len(self.origins) < 2:
            self.origins.add(fault.origin)
        if len(self.rows) < MAX_ROWS:
            self.rows.append((fault.line, n, size))
        else:
            self.is_short = True

    def take(self, other: _Log) -> None:
        self.total = Total(self.total.n + other.total.n, self.total.size_bytes + other.total.size_bytes)
        self.origins |= other.origins
        n_room = MAX_ROWS - len(self.rows)
        self.rows += other.rows[:n_room]
        self.is_short |= other.is_short or len(other.rows) > n_room


class LeakTotals:
    """Adds up leaks by log and kind while they are read."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str, str], _Log] = {}

    def add(self, fault: Fault) -> None:
        if fault.is_leak:
            key = fault.artifact, fault.kind, fault.tool
            self._logs.setdefault(key, _Log()).add(fault)

    def take(self, other: LeakTotals, artifact: str) -> None:
        """All of one log, by the name that it has now."""
        for (_, kind, tool), log in other._logs.items():
            self._logs.setdefault((artifact, kind, tool), _Log()).take(log)

    def checks(self, trusts: Iterable[LogTrust]) -> tuple[LeakCheck, ...]:
        """One for each kind and tool of which a log has records or a SUMMARY, in the order of the logs."""
        found = []
        for trust in trusts:
            told = [one for one in trust.summaries if one.what in LEAKS]
            own = {key[1:]: log for key, log in self._logs.items() if key[0] == trust.artifact}
            for kind, tool in sorted({*own, *((one.what, one.tool) for one in told)}):
                sums = [one for one in told if (one.what, one.tool) == (kind, tool)]
                log = own.get((kind, tool)) or _Log()
                found.append(LeakCheck(trust.artifact, kind, tool, log.total, _parts(log, sums)))
        return tuple(found)


def _parts(log: _Log, sums: Sequence[LogSummary]) -> tuple[Part, ...]:
    if not sums:
        return ()
    if len(sums) == 1 or log.is_short or len(log.origins) > 1:
        n, size = _sum([one.count for one in sums]), _sum([one.size_bytes for one in sums])
        return (Part(log.total, n, size, sums[0].line, sums[0].tool),)
    rows = sorted(log.rows)
    parts, at = [], 0
    for place, one in enumerate(sorted(sums, key=lambda one: one.line)):
        end = at
        is_last = place == len(sums) - 1
        while end < len(rows) and (is_last or rows[end][0] < one.line):
            end += 1
        own = rows[at:end]
        total = Total(sum(row[1] for row in own), sum(row[2] for row in own))
        parts.append(Part(total, one.count, one.size_bytes, one.line, one.tool))
        at = end
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Blocks of one size that one place leaks again and again: a workspace that every call takes anew."""

    size_bytes: int
    n: int


def repeat_of(site: Site, at_least: float) -> Repeat | None:
    """The most frequent size of a leak site, if one log has it again and again and little else.

    Of an unknown place nobody can say that it is one place; runs of the same program and ranks of one job
    each leak the same block once.
    """
    if not site.first.is_leak or site.in_one_log is None or not (site.is_place_known or site.pcs):
        return None
    size, n, n_blocks = site.in_one_log
    return Repeat(size, n) if n >= at_least and 2 * n > n_blocks else None


def largest(sites: Sequence[Site]) -> Site | None:
    """The site that leaks most bytes."""
    leaking = [site for site in sites if site.first.kind == "leak"]
    return max(leaking, key=lambda site: site.total_bytes, default=None)
