"""Numbers written a column at a time have the very texts that Python writes one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from npulse.core.report.numerals import float_texts

RNG = np.random.default_rng(7)
N = 5000
POWERS = 2.0 ** np.arange(-130, 131)
TENS = np.array([float(f"1e{exponent}") for exponent in range(-45, 46)])
MOST = 1.7976931348623157e308

CASES: dict[str, npt.NDArray[np.floating]] = {
    "any bits": RNG.integers(0, 1 << 64, N, dtype=np.uint64).view(np.float64),
    "any bits of a single": RNG.integers(0, 1 << 32, N, dtype=np.uint32).view(np.float32),
    "every half": np.arange(1 << 16, dtype=np.uint16).view(np.float16),
    "all magnitudes": 10 ** RNG.uniform(-40, 40, N) * RNG.choice([-1, 1], N),
    "figures": 10 ** RNG.uniform(-9, 6, N),
    "few digits": np.array([float(f"{10**x:.{int(n)}g}") for x, n in RNG.uniform((-8, 1), (18, 18), (N, 2))]),
    "integers": RNG.integers(-(1 << 20), 1 << 20, N).astype(np.float64),
    "integers beyond 2 ** 53": RNG.integers(1 << 52, 1 << 62, N).astype(np.float64),
    "halves of halves": RNG.integers(0, 1 << 53, N) / 2.0 ** RNG.integers(0, 60, N),
    "powers of two": np.concatenate([POWERS, np.nextafter(POWERS, np.inf), np.nextafter(POWERS, 0)]),
    "powers of ten": np.concatenate([TENS, np.nextafter(TENS, np.inf), np.nextafter(TENS, 0)]),
    "no ordinary numbers": np.repeat([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, MOST], 20),
    "a few": np.array([0.1, 1e22, -0.0]),
    "none": np.zeros(0),
}


@pytest.mark.parametrize("name", CASES)
def test_texts_of_floats(name: str) -> None:
    with np.errstate(invalid="ignore"):
        values = CASES[name].astype(np.float64).tolist()
    assert float_texts(CASES[name]) == list(map(repr, values))
