"""The block of kernels that repeats (a decoder layer, a decode step): how long it takes, how much is idle."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass

from .device_work import KERNEL
from .lanes import busy_before
from .record import Wall

MAX_KERNELS = 100_000
MAX_PERIOD = 512
MIN_BLOCKS = 3


@dataclass(frozen=True, slots=True)
class Blocks:
    """A run of n blocks of n_kernels kernels each, with the same names but for numbers at their ends.

    block_ns, idle_ns: medians, from the start of a block to the start of the next one. first: name of the
    kernel that a block begins with. covered: share of all kernels that are in the run, 0 to 1.
    """

    n: int
    n_kernels: int
    block_ns: int
    idle_ns: int
    first: str
    covered: float

    @property
    def idle_share(self) -> float:
        return self.idle_ns / self.block_ns if self.block_ns else 0.0


def blocks_of(wall: Wall | None) -> Blocks | None:
    """The longest run of a repeated block among the first kernels; None if none covers half of them.

    Cost: at most MAX_PERIOD passes over MAX_KERNELS codes, 0.1 s.
    """
    if wall is None or wall.work is None:
        return None
    work = wall.work
    rows = np.flatnonzero(work.role == KERNEL)[:MAX_KERNELS]
    if len(rows) < 2 * MIN_BLOCKS:
        return None
    used = np.unique(work.name[rows])
    bare: dict[str, int] = {}
    code_of = np.full(len(work.names) + 1, -1, np.int64)
    for code in used:
        if code >= 0:
            code_of[code] = bare.setdefault(work.names[code].rstrip("0123456789_"), len(bare))
    codes = code_of[work.name[rows]]
    start, period, length = _best(codes)
    n = (length + period) // period if period else 0
    if n < MIN_BLOCKS or n * period * 2 < len(rows):
        return None
    firsts = work.start_ns[rows[start : start + n * period : period]]
    walls = np.diff(firsts)
    idles = walls - np.diff(busy_before(wall.busy, firsts))
    return Blocks(
        n,
        period,
        int(np.percentile(walls, 50, method="nearest")),
        int(np.percentile(idles, 50, method="nearest")),
        work.label(int(rows[start])),
        n * period / len(rows),
    )


def _best(codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[int, int, int]:
    """(start, period, matches in a row) of the run that covers most; the shorter period of equal ones."""
    best = (0, 0, 0)
    n = len(codes)
    for period in range(1, min(MAX_PERIOD, n // MIN_BLOCKS) + 1):
        same = codes[period:] == codes[:-period]
        breaks = np.flatnonzero(np.concatenate(([True], ~same, [True])))
        lengths = np.diff(breaks) - 1
        i = int(np.argmax(lengths))
        length = int(lengths[i])
        if length + period >= MIN_BLOCKS * period and length + period > best[2] + best[1]:
            best = (int(breaks[i]), period, length)
        if length == n - period:
            break  # all of it: a longer period says no more
    return best
