"""How a raw session grows while it is written: slices, bytes a second, what its process does on the host."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.follow_slices import CPU, MEMORY, follow_samples
from npulse.core.formats.profiling.session import Session
from npulse.core.tails import Tails

from .export_copy import Export

N_CELLS = 40
"""Values of a sparkline."""
WINDOW_S = 10.0
"""Writers flush about once a second: a rate is told over several of them."""


@dataclass(frozen=True, slots=True)
class RawGrowth:
    """n_new_slices, growth_bytes_per_s: against the oldest look of the last ten seconds, None at the first.

    cpu_percent (100: one core), memory_bytes: of the process, oldest first, means over equally many samples;
    () where they are not recorded. export: how the export of a copy stands, None where there is none.
    """

    n_new_slices: int | None = None
    growth_bytes_per_s: float | None = None
    cpu_percent: tuple[float, ...] = ()
    memory_bytes: tuple[float, ...] = ()
    export: Export | None = None


@dataclass(slots=True)
class _Seen:
    """What earlier looks saw: (when, bytes, slices)."""

    looks: deque[tuple[float, int, int]] = field(default_factory=deque)


def growth_of(session: Session, tails: Tails, root: Path, now_s: float) -> RawGrowth:
    """What a look at a session tells against those before it. now_s: of a clock that only rises.

    Cost: a listing of the host's folder, and the new bytes of the two text families.
    """
    seen: _Seen = tails.kept.setdefault(("raw growth", session.folder), _Seen())
    while len(seen.looks) > 1 and now_s - seen.looks[0][0] > WINDOW_S:
        seen.looks.popleft()
    n_new = rate = None
    if seen.looks and now_s > seen.looks[0][0]:
        at_s, size_bytes, n_slices = seen.looks[0]
        n_new = session.n_slices - n_slices
        rate = (session.size_bytes - size_bytes) / (now_s - at_s)
    seen.looks.append((now_s, session.size_bytes, session.n_slices))
    host = next(
        (one for one in (session, *session.sessions) if any(p.name == "host" for p in one.parts)), None
    )
    if host is None:
        return RawGrowth(n_new, rate)
    cpu = follow_samples(host.folder, CPU, tails, root=root).values
    memory = follow_samples(host.folder, MEMORY, tails, root=root).values
    return RawGrowth(n_new, rate, cells_of(100 * cpu), cells_of(memory))


def cells_of(values: npt.NDArray[np.float64], n: int = N_CELLS) -> tuple[float, ...]:
    """Means over at most n stretches of the values, as long as each other but for one."""
    if len(values) <= n:
        return tuple(values.tolist())
    return tuple(float(part.mean()) for part in np.array_split(values, n))
