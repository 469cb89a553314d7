"""The three causes of memory that ran out, from figures of messages as they are seen in the field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.memory.shortage import Shortage, shortage

GIB = 1 << 30
FIELDS = (
    *("tried_bytes", "total_bytes", "free_bytes", "allocated_bytes", "active_bytes"),
    *("reserved_bytes", "cached_bytes", "allowed_bytes", "in_use_bytes"),
)


def gib(**told: float) -> Shortage:
    return Shortage(**{f"{name}_bytes": round(n * GIB) for name, n in told.items()})


def answers(found: Shortage) -> tuple[bool | None, bool | None, bool | None]:
    return found.is_too_large, found.is_fragmented, found.is_held_by_others


def test_memory_in_pieces() -> None:
    found = gib(tried=5.03, total=60.96, allocated=49.47, active=49.48, free=1.32, reserved=57.55)
    assert answers(found) == (False, True, False)
    assert found.unused_bytes == round(57.55 * GIB) - round(49.47 * GIB)
    assert not found.is_awaited


def test_a_model_that_is_too_large() -> None:
    found = gib(tried=8, total=32, allocated=26, active=26, free=1, reserved=30)
    assert answers(found) == (True, False, False)
    assert (found.needed_bytes, found.limit_bytes) == (34 * GIB, 32 * GIB)


def test_a_model_that_is_too_large_beside_what_the_driver_keeps() -> None:
    found = gib(tried=2, total=60.97, allocated=58, active=58, free=1.2, reserved=58.5)
    assert answers(found) == (False, False, False) and found.is_too_large_beside is True
    assert found.reachable_bytes == pytest.approx(59.7 * GIB, abs=4)  # 58.5 reserved and 1.2 free
    fits = gib(tried=1.6, total=60.97, allocated=58, active=58, free=1.2, reserved=58.5)
    assert fits.is_too_large_beside is False and fits.would_fit_joined is True
    others = gib(tried=2, total=64, allocated=10, active=10, free=1, reserved=10.5)
    assert others.is_too_large_beside is False and others.is_held_by_others is True
    assert gib(tried=2, allocated=58, free=1.2, reserved=58.5).is_too_large_beside is None  # no total


def test_a_limit_counts_as_the_device() -> None:
    found = gib(tried=4, total=32, allocated=6, active=6, free=24, allowed=8, reserved=6.5)
    assert found.is_too_large is True and found.limit_bytes == 8 * GIB
    assert found.available_bytes == round(1.5 * GIB)  # 8 allowed less 6.5 reserved, though 24 are free
    pieces = gib(tried=1, total=32, allocated=6, free=24, allowed=8, reserved=7.5)
    assert (pieces.is_too_large, pieces.is_fragmented) == (False, True)


def test_somebody_else_holds_the_device() -> None:
    found = gib(tried=2, total=64, allocated=10, active=10, free=1, reserved=10.5)
    assert answers(found) == (False, False, True)
    assert found.others_bytes == round(52.5 * GIB)
    told = gib(tried=2, total=79.14, free=1.25, in_use=77.5, allocated=70, cached=5)
    assert answers(told) == (False, True, False)


def test_several_causes_at_once() -> None:
    assert answers(gib(tried=20, total=32, allocated=13, free=1, reserved=14)) == (True, False, True)
    assert answers(gib(tried=2, total=64, allocated=10, free=1, reserved=14)) == (False, True, True)


def test_neither_alone_but_both_together() -> None:
    found = gib(tried=3, total=64, allocated=58, free=2, reserved=60)
    assert found.is_fragmented is False and found.would_fit_joined is True
    assert gib(tried=5, total=64, allocated=58, free=2, reserved=60).would_fit_joined is False


def test_enough_was_free() -> None:
    found = gib(tried=1, total=64, allocated=10, free=20, reserved=44)
    assert found.is_enough_free is True and found.is_fragmented is False


def test_a_stream_that_has_not_ended() -> None:
    assert gib(tried=3, total=64, allocated=50, active=53, free=1, reserved=54).is_awaited


def test_what_a_stream_holds_is_no_piece() -> None:
    found = gib(tried=4, total=60.97, allocated=40.1, active=57.1, free=1.2, reserved=58.6)
    assert answers(found) == (False, False, False)
    assert found.is_awaited and found.would_fit_joined is False
    assert found.idle_bytes == pytest.approx(1.5 * GIB, abs=4)  # 58.6 less 57.1
    # 2 idle and 2 free are enough for 3, whatever a stream has besides
    both = gib(tried=3, total=64, allocated=50, active=56, free=2, reserved=58)
    assert (both.is_awaited, both.is_fragmented, both.would_fit_joined) == (False, False, True)


def test_nobody_is_to_blame_where_enough_is_free() -> None:
    found = gib(tried=2 / 1024, total=60.97, allocated=20.1, active=20.1, free=30.2, reserved=21)
    assert found.others_bytes == pytest.approx(9.77 * GIB, abs=4)
    assert answers(found) == (False, False, False) and found.is_enough_free is True
    short = gib(tried=31, total=60.97, allocated=20.1, active=20.1, free=30.2, reserved=21)
    assert short.is_held_by_others is True


def test_what_the_message_does_not_tell_stays_unknown() -> None:
    assert answers(gib(tried=0.2, total=60.96, free=0.09)) == (None, None, None)
    assert answers(Shortage()) == (None, None, None)
    assert gib(tried=70, total=60.96, free=0.09).is_too_large is True  # alone
    assert answers(gib(tried=2, allocated=6.5)) == (None, None, None)


@given(st.fixed_dictionaries({name: st.none() | st.integers(0, 1 << 40) for name in FIELDS}))
def test_every_answer_follows_from_its_figures(told: dict[str, int | None]) -> None:
    found = Shortage(**told)
    for n in (found.needed_bytes, found.unused_bytes, found.available_bytes, found.others_bytes):
        assert n is None or n >= 0
    if found.is_too_large:
        assert (told["tried_bytes"] or 0) + (told["allocated_bytes"] or 0) > (found.limit_bytes or 0)
    if found.is_fragmented:
        assert found.available_bytes is not None and told["tried_bytes"] is not None
        assert found.available_bytes < told["tried_bytes"] <= (found.unused_bytes or 0)
        assert not found.would_fit_joined
    causes = (found.is_awaited, found.is_fragmented, found.would_fit_joined, found.is_enough_free)
    assert sum(map(bool, causes)) <= 1  # each excludes the others
    if told["tried_bytes"] is None:
        assert found.is_fragmented is None and found.is_enough_free is None
    if told["total_bytes"] is None or told["free_bytes"] is None:
        assert found.is_held_by_others is None


@pytest.mark.parametrize("odd", ["5 GiB", 1.5, True, -1, None])
def test_figures_that_are_no_counts_are_left_out(odd: object) -> None:
    assert shortage({"tried_bytes": odd, "total_bytes": 5, "kernel_name": "x"}) == Shortage(total_bytes=5)
