"""Leaks of a log: summed as its records tell them, and checked against the totals that the tool prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class LeakCheck:
    """What the records of one log add up to, and what its SUMMARY lines say; told is None without any.

    n_told: None where the lines give no count.
    """

    artifact: str
    kind: str
    tool: str
    found: Total
    n_told: int | None
    told_bytes: int | None
    line: int | None

    @property
    def matches(self) -> bool | None:
        """None where there is nothing to compare with."""
        if self.told_bytes is None and self.n_told is None:
            return None
        if self.n_told not in (None, self.found.n):
            return False
        if self.told_bytes is None:
            return True
        allowed = self.told_bytes * ROUNDED_BY if self.tool in _ROUNDING else 0
        return abs(self.told_bytes - self.found.size_bytes) <= allowed


class LeakTotals:
    """Adds up leaks by log and kind while they are read."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str, str], Total] = {}

    def add(self, fault: Fault) -> None:
        if fault.is_leak:
            key = fault.artifact, fault.kind, fault.tool
            before = self._totals.get(key, Total())
            size = before.size_bytes + (fault.size_bytes or 0)
            self._totals[key] = Total(before.n + (fault.n_objects or 1), size)

    def checks(self, trusts: Iterable[LogTrust]) -> tuple[LeakCheck, ...]:
        """One for each kind and tool of which a log has records or a SUMMARY, in the order of the logs."""
        found = []
        for trust in trusts:
            told = [one for one in trust.summaries if one.what in LEAKS]
            own = {key[1:]: total for key, total in self._totals.items() if key[0] == trust.artifact}
            for kind, tool in sorted({*own, *((one.what, one.tool) for one in told)}):
                sums = [one for one in told if (one.what, one.tool) == (kind, tool)]
                found.append(_check(trust.artifact, kind, tool, own.get((kind, tool), Total()), sums))
        return tuple(found)


def _check(artifact: str, kind: str, tool: str, total: Total, sums: Sequence[LogSummary]) -> LeakCheck:
    """A total that one of several lines does not give is not known."""
    counts = [one.count for one in sums if one.count is not None]
    sizes = [one.size_bytes for one in sums if one.size_bytes is not None]
    n_told = sum(counts) if sums and len(counts) == len(sums) else None
    told_bytes = sum(sizes) if sums and len(sizes) == len(sums) else None
    return LeakCheck(artifact, kind, tool, total, n_told, told_bytes, sums[0].line if sums else None)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Blocks of one size that one place leaks again and again: a workspace that every call takes anew."""

    size_bytes: int
    n: int


def repeat_of(site: Site, at_least: float) -> Repeat | None:
    """The most frequent size of a leak site, if it is repeated and most of its blocks have it."""
    if not site.first.is_leak or not site.sizes:
        return None
    size, n = site.sizes[0]
    if n < at_least or 2 * n <= site.n_objects:
        return None
    return Repeat(size, n)


def largest(sites: Sequence[Site]) -> Site | None:
    """The site that leaks most bytes."""
    leaking = [site for site in sites if site.first.kind == "leak"]
    return max(leaking, key=lambda site: site.total_bytes, default=None)
