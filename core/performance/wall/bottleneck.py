"""Which of three comes first: the device idles, it waits for its peers, or it computes."""

from __future__ import annotations

from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.figures import percent_text
from npulse.core.text import safe_text

from ..advice import Words, words
from ..criteria import Criteria
from ..profile import Profile
from .record import Wall
from .texts import TEXTS

Answer = Literal["idle", "communication", "compute", "unknown"]


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Where the time goes, in one word. Shares of the wall time, 0 to 1: idle, only communication, computing.

    They make 1 together, but for gaps that a graph's capture made. why: with figures, (en, zh).
    """

    answer: Answer
    why: Words
    idle_share: float | None = None
    communication_share: float | None = None
    compute_share: float | None = None


def bottleneck_of(profile: Profile, wall: Wall | None, criteria: Criteria | None = None) -> Bottleneck:
    """Idle time or exposed communication, the larger one, if it is above its bound; else computing.

    Bounds: free_high_percent, or free_percent where the device idles longer than it computes;
    exposed_communication_percent. "unknown" where no time of the device was recorded.
    """
    limits = criteria if criteria is not None else Criteria()
    if wall is None or not wall.wall_ns:
        return Bottleneck("unknown", words(TEXTS, "bottleneck unknown", name=safe_text(profile.label, 120)))
    idle, exposed = wall.idle_share, wall.share(wall.communication_not_overlapped_ns)
    compute = wall.share(wall.compute_ns)
    values = {
        "idle": percent_text(100 * idle),
        "exposed": percent_text(100 * exposed),
        "compute": percent_text(100 * compute),
    }
    is_idle = 100 * idle >= (limits.free_percent if idle >= compute else limits.free_high_percent)
    is_exposed = 100 * exposed >= limits.exposed_communication_percent
    answer: Answer = "compute"
    if is_idle and (idle >= exposed or not is_exposed):
        answer = "idle"
    elif is_exposed:
        answer = "communication"
    return Bottleneck(answer, words(TEXTS, f"bottleneck {answer}", **values), idle, exposed, compute)
