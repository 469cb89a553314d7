"""Ratios taken in pairs, one right behind the other: what else the machine does slows both alike."""

from __future__ import annotations

from collections.abc import Callable

N_PAIRS = 5


def median_within(bound: float, ratio: Callable[[], float]) -> tuple[bool, list[float]]:
    """Whether the median of five ratios is at most `bound`, and those that were taken: none more once
    three of them lie on one side, which settles it."""
    taken: list[float] = []
    while True:
        taken.append(ratio())
        within = sum(one <= bound for one in taken)
        if within > N_PAIRS // 2 or len(taken) - within > N_PAIRS // 2:
            return within > N_PAIRS // 2, taken
