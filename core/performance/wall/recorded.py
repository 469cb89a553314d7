"""The tool's own sums beside ours, and why they differ."""

from __future__ import annotations

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text

from ..advice import Words, words
from .record import Wall
from .texts import TEXTS

ROUNDING_NS_A_TASK = 1000
"""The vendor sums floats of microseconds of whole nanoseconds: far less than this a task."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One lane of the vendor's overlap analysis (or column of step_trace_time), in ns, here and there."""

    lane: str
    ours_ns: int
    recorded_ns: int
    why: Words

    @property
    def difference_ns(self) -> int:
        return self.ours_ns - self.recorded_ns


def differences_of(wall: Wall) -> tuple[Difference, ...]:
    """Every recorded sum that is not exactly ours. Of sums of steps there is none: they are the source."""
    if wall.source == "steps":
        return ()
    ours = {
        "Computing": wall.compute_ns,
        "Communication": wall.communication_ns,
        "Communication(Not Overlapped)": wall.communication_not_overlapped_ns,
        "Free": wall.idle_ns,
    }
    return tuple(
        Difference(lane, ours[lane], recorded, _why(wall, ours[lane] - recorded))
        for lane, recorded in wall.recorded.items()
        if lane in ours and ours[lane] != recorded
    )


def _why(wall: Wall, difference_ns: int) -> Words:
    n_tasks = len(wall.work) if wall.work is not None else 1
    if abs(difference_ns) <= min(n_tasks * ROUNDING_NS_A_TASK, wall.wall_ns // 1000):
        return words(TEXTS, "why rounding")
    if wall.is_cut:
        return words(TEXTS, "why cut")
    if wall.n_unplaced:
        return words(TEXTS, "why rows", n=f"{wall.n_unplaced:,}")
    outside = wall.wall_ns - sum(step.wall_ns for step in wall.steps) if wall.steps else 0
    if wall.n_set_aside or outside > 0:
        return words(TEXTS, "why window", time=time_text(max(outside, 0)))
    return words(TEXTS, "why unknown")
