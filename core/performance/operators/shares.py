"""How the time is spread: over few operators or over many, over kinds of core, over classes of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import NO_ID, OperatorTable
from npulse.core.formats.profiling.records import TypeTotal

from .classes import CLASSES, Classes
from .top import NO_COUNT, Top
from .usable import Usable, exact_sum

Reading = Literal["concentrated", "between", "scattered", "unknown"]
N_FIRST = 20
_MOST = 0.8


Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the first 20 have of all usable time.

    types_percent, calls_percent: of the first 20 operator types, and of the 20 longest calls (None where only
    totals are there). n_types, n_calls: how many there are. n_for_most: with how many types 80 % are reached.
    """

    reading: Reading
    types_percent: float
    calls_percent: float | None
    n_types: int
    n_calls: int | None
    n_for_most: int


@dataclass(frozen=True, slots=True)
class Part:
    """Time and calls of a part; share of the sum of all usable durations. n: None where it is not known."""

    total_ns: int
    n: int | None
    percent: float


def spread_of(
    types: Top,
    call_ns: Integers | None = None,
    *,
    concentrated_percent: float = 80,
    scattered_percent: float = 50,
) -> Spread:
    """How concentrated the time is, judged by the first 20 types. A table with few types is always
    concentrated: then there is little to choose from.

    call_ns: durations of single calls, at least the longest 20; None where only totals are there.
    """
    if not len(types) or types.all_ns <= 0:
        return Spread("unknown", 0.0, None, len(types), None, 0)
    ordered = np.sort(types.total_ns)[::-1]
    first = 100 * int(ordered[:N_FIRST].sum()) / types.all_ns
    calls_first = None
    if call_ns is not None:
        calls_first = 100 * int(longest_of(call_ns).sum()) / types.all_ns
    n_for_most = int(np.searchsorted(np.cumsum(ordered), _MOST * types.all_ns)) + 1
    reading: Reading = "between"
    if first >= concentrated_percent:
        reading = "concentrated"
    elif first <= scattered_percent:
        reading = "scattered"
    n_calls = None if (types.calls == NO_COUNT).any() else types.n_calls
    return Spread(reading, first, calls_first, len(types), n_calls, min(n_for_most, len(types)))


def longest_of(call_ns: Integers) -> Integers:
    """The 20 longest durations, in no order. Cost: linear."""
    if len(call_ns) <= N_FIRST:
        return call_ns
    return np.partition(call_ns, len(call_ns) - N_FIRST)[-N_FIRST:]


def sums_by_core(table: OperatorTable, usable: Usable) -> dict[str, Part]:
    """Core type as written ("" where the table says none) -> time of its calls, the most first."""
    codes = table.values("core_type")[usable.rows]
    durations = table.values("duration_ns")[usable.rows]
    texts = table.texts("core_type")
    parts = {}
    for code in np.unique(codes).tolist():
        mine = codes == code
        total = exact_sum(durations[mine])
        name = texts[code] if code != NO_ID else ""
        parts[name] = Part(total, int(np.count_nonzero(mine)), _percent(total, usable.total_ns))
    return _most_first(parts)


def sums_by_core_of_totals(types: tuple[TypeTotal, ...]) -> dict[str, Part]:
    """The same of totals that a tool wrote."""
    times: dict[str, int] = {}
    counts: dict[str, int | None] = {}
    for one in types:
        if one.total_ns is None or one.total_ns < 0:
            continue
        times[one.core_type] = times.get(one.core_type, 0) + one.total_ns
        known = counts.get(one.core_type, 0)
        counts[one.core_type] = None if known is None or one.count is None else known + one.count
    whole = sum(times.values())
    return _most_first({name: Part(ns, counts[name], _percent(ns, whole)) for name, ns in times.items()})


def sums_by_class(types: Top, classes: Classes) -> dict[str, Part]:
    """Class -> time of its groups, the most first."""
    parts = {}
    for code in np.unique(classes.code).tolist():
        mine = classes.code == code
        total = int(types.total_ns[mine].sum())
        counts = types.calls[mine]
        n = None if (counts == NO_COUNT).any() else int(counts.sum())
        parts[str(CLASSES[code])] = Part(total, n, _percent(total, types.all_ns))
    return _most_first(parts)


def _most_first(parts: Mapping[str, Part]) -> dict[str, Part]:
    return dict(sorted(parts.items(), key=lambda item: (-item[1].total_ns, item[0])))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole > 0 else 0.0
