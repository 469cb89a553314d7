"""Figures for people: what they are rounded to, and at which size the unit changes."""

from __future__ import annotations

import pytest

from npulse.core.figures import percent_text, size_text, time_text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 us"),
        (3, "0.003 us"),
        (10, "0.01 us"),
        (1_500, "1.5 us"),
        (310_420, "310.42 us"),
        (964_000, "964 us"),
        (1_150_500, "1,150.5 us"),
        (9_999_949, "9,999.95 us"),
        (-20_000, "-20 us"),
        (10_000_000, "10.00 ms"),
        (12_345_678, "12.35 ms"),
        (136_581_009, "136.58 ms"),
        (2.5e9, "2,500.00 ms"),
        (12_345_678_901, "12.35 s"),
        (1_800_000_000_000_000, "1,800,000.00 s"),
    ],
)
def test_time_text(ns: float, text: str) -> None:
    assert time_text(ns) == text


def test_percent_text() -> None:
    assert percent_text(71.0299) == "71.03 %"


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        *(
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (12 << 20, "12.0 MiB"),
        ),
        *((3 << 29, "1.50 GiB"), (1000 << 40, "1,000.0 TiB")),
    ],
)
def test_size_text(n_bytes: int, text: str) -> None:
    assert size_text(n_bytes) == text
