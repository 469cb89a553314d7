"""How much of the communication runs beside computing, and which collectives the device waits for."""

from __future__ import annotations

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.type_names import collective_type

from .device_work import COMMUNICATION
from .lanes import busy_before
from .record import Wall

MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class Exposed:
    """One collective, or all of one kind (n of them). exposed_ns: of total_ns without a kernel beside it."""

    name: str
    n: int
    total_ns: int
    exposed_ns: int
    start_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Communication against computing. Shares 0 to 1.

    overlap_share: of the communication that runs beside kernels. exposed_share: of the wall time that is only
    communication. collectives: the most exposed ones; kinds: by kind (hcom_allReduce_). Those that run beside
    each other are counted one by one there. () where single collectives are not recorded.
    """

    communication_ns: int
    overlapped_ns: int
    exposed_ns: int
    overlap_share: float
    exposed_share: float
    collectives: tuple[Exposed, ...] = ()
    kinds: tuple[Exposed, ...] = ()


def overlap_of(wall: Wall | None) -> Overlap | None:
    """Overlap of communication and computing; None where no communication is recorded."""
    if wall is None or not wall.communication_ns:
        return None
    collectives, kinds = _collectives(wall)
    return Overlap(
        wall.communication_ns,
        wall.overlapped_ns,
        wall.communication_not_overlapped_ns,
        wall.overlapped_ns / wall.communication_ns,
        wall.share(wall.communication_not_overlapped_ns),
        collectives,
        kinds,
    )


def _collectives(wall: Wall) -> tuple[tuple[Exposed, ...], tuple[Exposed, ...]]:
    work = wall.work
    if work is None:
        return (), ()
    rows = np.flatnonzero(work.role == COMMUNICATION)
    starts, ends = work.start_ns[rows], work.end_ns[rows]
    beside = busy_before(wall.compute, ends) - busy_before(wall.compute, starts)
    durations = work.duration_ns[rows]
    exposed = durations - beside
    order = np.lexsort((starts, -exposed))[:MAX_LISTED]
    single = tuple(
        Exposed(work.label(int(rows[i])), 1, int(durations[i]), int(exposed[i]), int(starts[i]))
        for i in order
    )
    sums: dict[str, list[int]] = {}
    kind_of = {
        int(code): collective_type(work.names[code]) for code in np.unique(work.name[rows]) if code >= 0
    }
    for code, kind in kind_of.items():
        own = work.name[rows] == code
        total = sums.setdefault(kind, [0, 0, 0])
        total[0] += int(own.sum())
        total[1] += int(durations[own].sum())
        total[2] += int(exposed[own].sum())
    kinds = sorted((Exposed(kind, *total) for kind, total in sums.items()), key=lambda one: -one.exposed_ns)
    return single, tuple(kinds[:MAX_LISTED])
