"""What a kernel is bound by: the pipe that is busy nearly all the time, or none (latency)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from npulse.core.dataclass import dataclass

from .cores import KINDS, PIPES, Cores

Basis = Literal["ratio", "advisor", "none"]
_ADVISOR_ONE = 0.7
_ADVISOR_SUM = 0.9


@dataclass(frozen=True, slots=True)
class Bound:
    """What the cores of one kind are bound by.

    pipe: the busiest one. ratio: its mean over the cores. n_cores: how many cores. n_busy: on how many of
    them it is above the threshold. basis: "ratio": above the threshold; "advisor": msprof-analyze's looser
    limits for vector kernels; "none": no pipe is, the kernel waits. ratios: pipe -> mean.
    """

    kind: str
    pipe: str
    ratio: float
    n_cores: int
    n_busy: int
    basis: Basis
    ratios: dict[str, float]

    @property
    def name(self) -> str:
        """In a table: 'cube', 'mte2', 'latency'."""
        return "latency" if self.basis == "none" else self.pipe


def bounds_of(cores: Cores, bound_ratio: float = 0.8) -> tuple[Bound, ...]:
    """For each kind of core that the kernel used; () where no ratio is told.

    Several pipes above the threshold: the busiest one. msprof-analyze takes vector kernels as bound when
    mte2, mte3 or vector is at 0.7, or the three together at 0.9.
    """
    found = []
    for kind in KINDS:
        rows = cores.rows(kind)
        ratios = {}
        for pipe in PIPES:
            values = cores.ratios.get(pipe)
            if values is not None and len(rows) and not np.isnan(values[rows]).all():
                ratios[pipe] = float(np.nanmean(values[rows]))
        if not ratios:
            continue
        pipe = max(ratios, key=lambda name: ratios[name])
        values = cores.ratios[pipe][rows]
        basis: Basis = "ratio" if ratios[pipe] > bound_ratio else "none"
        if basis == "none" and kind == "vector" and _is_bound_for_advisor(ratios):
            basis = "advisor"
            pipe = max(("vector", "mte2", "mte3"), key=lambda name: ratios.get(name, 0.0))
            values = cores.ratios[pipe][rows]
        n_busy = int((values > bound_ratio).sum())
        found.append(Bound(kind, pipe, ratios[pipe], len(rows), n_busy, basis, ratios))
    return tuple(found)


def _is_bound_for_advisor(ratios: dict[str, float]) -> bool:
    shares = [ratios.get(name, 0.0) for name in ("vector", "mte2", "mte3")]
    return max(shares) >= _ADVISOR_ONE or sum(shares) >= _ADVISOR_SUM - 1e-9  # 0.3 + 0.35 + 0.25 are 0.9


def busiest(cores: Cores) -> tuple[str, float] | None:
    """The largest ratio of any pipe on any core, as msOpProf takes it; None if none is told."""
    best: tuple[str, float] | None = None
    for pipe, values in cores.ratios.items():
        highest = float(np.nanmax(values))
        if best is None or highest > best[1]:
            best = pipe, highest
    return best
