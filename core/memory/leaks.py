"""Leaks of a log: summed as its records tell them, and checked against the totals that the tool prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .faults import LEAKS, Fault, LogTrust
from .sites import Site


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
    found: Total
    n_told: int | None
    told_bytes: int | None
    line: int | None

    @property
    def matches(self) -> bool | None:
        """None where there is nothing to compare with."""
        if self.told_bytes is None and self.n_told is None:
            return None
        same_bytes = self.told_bytes in (None, self.found.size_bytes)
        return same_bytes and self.n_told in (None, self.found.n)


class LeakTotals:
    """Adds up leaks by log and kind while they are read."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str], Total] = {}

    def add(self, fault: Fault) -> None:
        if fault.is_leak:
            key = fault.artifact, fault.kind
            before = self._totals.get(key, Total())
            size = before.size_bytes + (fault.size_bytes or 0)
            self._totals[key] = Total(before.n + (fault.n_objects or 1), size)

    def checks(self, trusts: Iterable[LogTrust]) -> tuple[LeakCheck, ...]:
        """One for each kind that a log has records or a SUMMARY of, in the order of the logs."""
        found = []
        for trust in trusts:
            for kind in sorted(LEAKS):
                total = self._totals.get((trust.artifact, kind))
                told = [one for one in trust.summaries if one.what == kind]
                if total is None and not told:
                    continue
                counts = [one.count for one in told]
                sizes = [one.size_bytes for one in told]
                n_told = sum(n for n in counts if n is not None) if told and None not in counts else None
                size = sum(n for n in sizes if n is not None) if told and None not in sizes else None
                line = told[0].line if told else None
                found.append(LeakCheck(trust.artifact, kind, total or Total(), n_told, size, line))
        return tuple(found)


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
