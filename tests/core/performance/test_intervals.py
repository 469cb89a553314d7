"""Sets of intervals against counting nanosecond by nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.performance.intervals import (
    EMPTY,
    Intervals,
    gaps,
    n_overlapping,
    overlap,
    union,
    within,
    without,
)

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)
BASE_NS = 1_736_408_883_688_177_930  # so large that a float64 would round it


def made(spans: list[tuple[int, int]], base_ns: int = BASE_NS) -> Intervals:
    return union([start + base_ns for start, _ in spans], [length for _, length in spans])


def covered(spans: list[tuple[int, int]]) -> set[int]:
    return {t for start, length in spans for t in range(start, start + length)}


def points(found: Intervals) -> set[int]:
    """Every nanosecond of a set; its intervals must be in order and apart."""
    starts, ends = found.starts_ns.tolist(), found.ends_ns.tolist()
    assert all(a < b for a, b in zip(starts, ends, strict=True))
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    assert found.starts_ns.dtype == found.ends_ns.dtype == np.int64
    return {t - BASE_NS for a, b in zip(starts, ends, strict=True) for t in range(a, b)}


@given(SPANS)
def test_union(spans: list[tuple[int, int]]) -> None:
    found = made(spans)
    assert points(found) == covered(spans) and found.total_ns == len(covered(spans))
    assert found.span_ns == (max(covered(spans)) + 1 - min(covered(spans)) if covered(spans) else 0)


@given(SPANS, SPANS)
def test_two_sets(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    assert points(overlap(made(left), made(right))) == covered(left) & covered(right)
    assert points(without(made(left), made(right))) == covered(left) - covered(right)


@given(SPANS, st.integers(-3, 30), st.integers(0, 30))
def test_gaps(spans: list[tuple[int, int]], start: int, length: int) -> None:
    window = set(range(start, start + length))
    assert points(gaps(made(spans), BASE_NS + start, BASE_NS + start + length)) == window - covered(spans)
    busy = covered(spans)
    inside = set(range(min(busy), max(busy) + 1)) if busy else set()
    assert points(gaps(made(spans))) == inside - busy


@given(SPANS, st.integers(-3, 60), st.integers(-5, 30))
def test_a_window(spans: list[tuple[int, int]], start: int, length: int) -> None:
    window = set(range(start, start + length))
    assert points(within(made(spans), BASE_NS + start, BASE_NS + start + length)) == covered(spans) & window


@given(SPANS)
def test_overlaps_are_counted(spans: list[tuple[int, int]]) -> None:
    ordered = sorted((span for span in spans if span[1]), key=lambda span: span[0])
    naive = sum(any(start < a + n for a, n in ordered[:i]) for i, (start, _) in enumerate(ordered))
    assert n_overlapping([s for s, _ in spans], [n for _, n in spans]) == naive


def test_nothing() -> None:
    assert (EMPTY.total_ns, EMPTY.span_ns, len(EMPTY)) == (0, 0, 0)
    assert len(union([], [])) == len(union([5], [0])) == len(overlap(EMPTY, EMPTY)) == 0
    assert gaps(EMPTY, 3, 10).total_ns == 7 and len(gaps(EMPTY)) == 0


def test_what_cannot_be_added_is_refused() -> None:
    for starts, durations in (([1], [-1]), ([2**63 - 2], [5]), ([1.5], [1]), ([1, 2], [1]), ([[1]], [[1]])):
        with pytest.raises(ValueError):
            union(starts, durations)
    with pytest.raises(ValueError):
        gaps(EMPTY, 5, 4)
