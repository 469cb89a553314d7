"""What came between two tables by type, against sums made by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.records import TypeTotal
from npulse.core.performance.operators.top import NO_COUNT, Top, top, top_of_totals
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.since import Since, since

from .operator_tables import row, table_of

Calls = list[tuple[str, int]]
calls = st.lists(st.tuples(st.sampled_from(["Add", "MatMulV2", "Cast"]), st.integers(1, 10**6)), max_size=20)


def top_of(found: Calls) -> Top:
    """Calls one after the other; times in ns."""
    rows = [row(name, f"{ns / 1000:.3f}", 2000 * place) for place, (name, ns) in enumerate(found)]
    table = table_of(rows or [row("Add", "N/A")])
    return top(table, usable(table))


@given(calls, calls)
def test_what_is_new_is_what_was_appended(before: Calls, new: Calls) -> None:
    now = top_of([*before, *new])
    found = since(top_of(before), now)
    n_of = Counter(name for name, _ in new)
    ns_of: Counter[str] = Counter()
    for name, ns in new:
        ns_of[name] += ns
    assert (dict(found.calls_of), dict(found.ns_of)) == (dict(n_of), dict(ns_of))
    assert (found.n_calls, found.total_ns) == (len(new), sum(ns for _, ns in new))
    labels = [now.label(i) for i in range(len(now))]
    assert found.calls(now).tolist() == [n_of[name] for name in labels]
    assert found.times_ns(now).tolist() == [ns_of[name] for name in labels]


def test_at_first_all_is_new_and_an_export_with_less_takes_away() -> None:
    now = top_of([("Add", 2000), ("Add", 3001)])
    assert since(None, now) == Since({"Add": 2}, {"Add": 5001})
    less = since(now, top_of([("Cast", 7)]))
    assert less == Since({"Add": -2, "Cast": 1}, {"Add": -5001, "Cast": 7})


def test_sums_without_a_number_of_calls() -> None:
    before, now = (top_of_totals([TypeTotal("Add", "AI_CORE", None, ns)]) for ns in (5, 8))
    assert now.calls.tolist() == [NO_COUNT]
    found = since(before, now)
    assert found == Since({}, {"Add": 3}) and found.calls(now).dtype == np.int64
