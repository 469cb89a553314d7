"""How large a difference between two rounds must be before it is one."""

from __future__ import annotations

import math
from typing import Literal

from npulse.core.dataclass import dataclass

from .side import NoiseBasis

Verdict = Literal["better", "worse", "noise", "unknown"]
LEAST_OF_STEPS = 0.01
"""With repeated steps: what lies below 1 % of the time before is no change, whatever the steps say."""
LEAST_OF_CALLS = 0.02
"""Without repeated steps nobody saw how steps differ: below 2 % nothing is claimed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A time before and after (int ns, of a step), how large the noise is and what rests on what.

    noise_ns: a smaller difference is none; None where nothing tells it.
    """

    before_ns: int
    after_ns: int
    noise_ns: int | None
    basis: NoiseBasis

    @property
    def delta_ns(self) -> int:
        return self.after_ns - self.before_ns

    @property
    def percent(self) -> float | None:
        return 100 * self.delta_ns / self.before_ns if self.before_ns else None

    @property
    def verdict(self) -> Verdict:
        if self.noise_ns is None:
            return "unknown"
        if abs(self.delta_ns) <= self.noise_ns:
            return "noise"
        return "better" if self.delta_ns < 0 else "worse"


def difference(
    before_ns: float,
    after_ns: float,
    step_spreads: tuple[float, float],
    call_spreads: tuple[float, float],
    sigmas: float,
) -> Difference:
    """spreads: deviations of the means of both rounds, NaN where they are not known.

    Steps tell the noise where both rounds have enough of them, else the calls of one type and shape, else
    nothing.
    """
    basis: NoiseBasis = "unknown"
    noise: int | None = None
    for name, spreads, least in (
        ("steps", step_spreads, LEAST_OF_STEPS),
        ("calls", call_spreads, LEAST_OF_CALLS),
    ):
        together = math.hypot(*spreads)
        if not math.isnan(together):
            basis = "steps" if name == "steps" else "calls"
            noise = math.ceil(max(sigmas * together, least * max(before_ns, after_ns)))
            break
    return Difference(round(before_ns), round(after_ns), noise, basis)
