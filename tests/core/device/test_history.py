"""History of polls: bounded, peaks kept, counters, and what is a leak and what is not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.device.criteria import Criteria
from npulse.core.device.history import History, Series, growth_of
from npulse.core.device.snapshot import ChipState, Snapshot

MINUTE = 60 * 10**9
LIMITS = Criteria()


def series(values: list[float], step_ns: int | None = MINUTE) -> Series:
    return tuple((None if step_ns is None else at * step_ns, value) for at, value in enumerate(values))


def poll(at: int, **figures: float) -> Snapshot:
    return Snapshot("ok", chips=(ChipState(0, 0, health="OK", **figures),), taken_ns=at * MINUTE)  # type: ignore[arg-type]


def test_a_steady_leak_has_its_slope() -> None:
    found = growth_of(series([3400 + 12.5 * n for n in range(60)]), LIMITS)
    assert found is not None
    assert found.mb_per_hour == pytest.approx(750) and found.hours == pytest.approx(59 / 60)
    assert (found.from_mb, found.to_mb, found.n_samples) == (3400, 3400 + 12.5 * 59, 60)


def test_an_outlier_does_not_move_the_slope() -> None:
    values = [3400 + 10.0 * n for n in range(60)]
    values[30] += 8
    found = growth_of(series(values), LIMITS)
    assert found is not None and found.mb_per_hour == pytest.approx(600, rel=0.01)


def test_without_times_it_grows_by_samples() -> None:
    found = growth_of(series([3400 + 10.0 * n for n in range(60)], None), LIMITS)
    assert found is not None and found.mb_per_hour is None and found.hours is None
    assert found.mb_per_sample == pytest.approx(10)


LOADING = [3400.0] * 5 + [3400 + 9000.0 * n for n in range(1, 7)] + [57400.0] * 49


@pytest.mark.parametrize(
    "values",
    [
        LOADING,  # a job that loads and then stays
        [57000.0] * 60,
        [3400 + 200.0 * (n % 10) for n in range(60)],  # up and down
        [57000 - 10.0 * n for n in range(60)],
        [3400 + 1.0 * n for n in range(60)],  # below leak_mb
        [3400 + 500.0 * n for n in range(5)],  # too few
        [3400.0 + (2000 if n > 40 else 0) for n in range(60)],  # one step
    ],
)
def test_what_is_no_leak(values: list[float]) -> None:
    assert growth_of(series(values), LIMITS) is None


def test_minutes_are_needed_where_times_are_known() -> None:
    grows = [3400 + 100.0 * n for n in range(20)]
    assert growth_of(series(grows, 10**9), LIMITS) is None, "20 s: a job that loads"
    assert growth_of(series(grows, MINUTE), LIMITS) is not None


def test_a_leak_behind_the_loading_is_found() -> None:
    found = growth_of(series([*LOADING[:20], *(57400 + 20.0 * n for n in range(1, 41))]), LIMITS)
    assert found is not None and found.from_mb >= 57400 and found.mb_per_hour == pytest.approx(1200, rel=0.05)


def test_a_clock_that_was_set_back_gives_no_slope() -> None:
    grows = list(series([3400 + 100.0 * n for n in range(20)]))
    grows[10] = (0, grows[10][1])
    assert growth_of(tuple(grows), LIMITS) is None


@given(
    slope=st.floats(5, 500),
    n=st.integers(20, 200),
    noise=st.floats(0, 0.2),
    seed=st.integers(0, 9),
)
def test_the_slope_of_a_line_with_noise(slope: float, n: int, noise: float, seed: int) -> None:
    made = random.Random(seed)
    # noise that never makes memory fall: it stays a line that only grows
    values = [1000 + slope * (at + noise * made.random()) for at in range(n)]
    found = growth_of(series(values), LIMITS)
    assert found is not None and found.mb_per_hour == pytest.approx(60 * slope, rel=0.05)


@given(st.lists(st.floats(0, 1e6), max_size=80))
def test_whatever_comes_growth_is_growth(values: list[float]) -> None:
    found = growth_of(series(values), LIMITS)
    assert found is None or (found.to_mb - found.from_mb >= LIMITS.leak_mb and (found.mb_per_hour or 0) > 0)


def test_samples_are_bounded_and_still_span_the_whole_time() -> None:
    history = History(max_samples=32)
    for at in range(1000):
        history.add(poll(at, temperature_c=90.0 if at == 401 else 50.0, power_w=float(at)))
    kept = history.series((0, 0), "power_w")
    assert len(kept) <= 33 and kept[0] == (0, 0.0) and kept[-1] == (999 * MINUTE, 999.0)
    assert [value for _, value in kept] == sorted(value for _, value in kept)
    peak = history.peak((0, 0), "temperature_c")
    assert peak is not None and (peak.value, peak.time_ns, peak.n_samples) == (90, 401 * MINUTE, 1)
    assert history.n_samples == 1000 and history.keys == ((0, 0),)


def test_the_lowest_frequency_under_load_is_kept() -> None:
    history = History()
    polls = [(800, 0, 46), (1800, 90, 60), (1200, 95, 88), (1500, 95, 86), (800, 0, 70)]
    for at, (now, load, temp) in enumerate(polls):
        history.add(poll(at, frequency_mhz=now, rated_mhz=1800, ai_core_percent=load, temperature_c=temp))
    slow = history.slow((0, 0))
    assert slow is not None
    assert (slow.frequency_mhz, slow.rated_mhz, slow.n_slow, slow.n_loaded) == (1200, 1800, 2, 3)
    assert (slow.time_ns, slow.temperature_c) == (2 * MINUTE, 88), "of the same poll"


def test_two_calls_of_one_poll_are_one_sample() -> None:
    history = History()
    for at in (0, 1, 1, 1):  # the last two polls say the same, in the same minute
        history.add(poll(at, temperature_c=50.0, power_w=90.0))
        history.add(poll(at, temperature_c=50.0, frequency_mhz=800.0))
    assert history.n_samples == 4
    assert len(history.series((0, 0), "frequency_mhz")) == len(history.series((0, 0), "power_w")) == 4


def test_counters_and_healths_over_time() -> None:
    history = History()
    for at, (count, health) in enumerate([("0", "OK"), ("0", "Warning"), ("2", "Warning"), ("2", "OK")]):
        values = {"HBM Double Bit Error Count": count, "Temperature(C)": str(50 + at)}
        history.add(Snapshot("ok", chips=(ChipState(0, 0, health=health, values=values),), taken_ns=at))
    assert history.moved((0, 0)) == {"HBM Double Bit Error Count": (0, 2)}
    assert history.healths((0, 0)) == ((0, "OK"), (1, "Warning"), (3, "OK"))
