"""What came since the look before: of each operator type how many calls, and how much time.

Exact: whole calls, int nanoseconds. A look that finds nothing new changes nothing, so that what came last
stays to be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .operators.top import NO_COUNT, Top


@dataclass(frozen=True, slots=True)
class Since:
    """calls_of, ns_of: operator type -> what came; types without anything new are not among them. Below zero
    where a table has less than it had (another export)."""

    calls_of: Mapping[str, int] = field(default_factory=dict)
    ns_of: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_calls(self) -> int:
        return sum(self.calls_of.values())

    @property
    def total_ns(self) -> int:
        return sum(self.ns_of.values())

    def calls(self, top: Top) -> npt.NDArray[np.int64]:
        """For each group of a table by type."""
        return np.array([self.calls_of.get(top.label(i), 0) for i in range(len(top))], np.int64)

    def times_ns(self, top: Top) -> npt.NDArray[np.int64]:
        return np.array([self.ns_of.get(top.label(i), 0) for i in range(len(top))], np.int64)


def since(before: Top | None, now: Top) -> Since:
    """What a table by type has that the one of the look before had not. before: None where there was none:
    then all of it is new."""
    calls, times = _sums(now)
    if before is not None:
        for name, n in _sums(before)[0].items():
            calls[name] = calls.get(name, 0) - n
        for name, ns in _sums(before)[1].items():
            times[name] = times.get(name, 0) - ns
    return Since({name: n for name, n in calls.items() if n}, {name: ns for name, ns in times.items() if ns})


def _sums(top: Top) -> tuple[dict[str, int], dict[str, int]]:
    """Calls and time by type; calls that a tool does not tell are none."""
    names = [top.label(i) for i in range(len(top))]
    calls = [0 if n == NO_COUNT else n for n in top.calls.tolist()]
    return dict(zip(names, calls, strict=True)), dict(zip(names, top.total_ns.tolist(), strict=True))
