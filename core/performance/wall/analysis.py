"""The wall time of one profile with all that is said of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.manifest import RoundRecord

from ..advice import Advice
from ..criteria import Criteria
from ..profile import Profile
from .advice import advice_of_wall
from .bottleneck import Bottleneck, bottleneck_of
from .host import Host, host_of
from .record import Wall
from .serving import Serving, serving_of
from .serving_advice import asks_tokens
from .steps import Steps, steps_of
from .wall import wall_of


@dataclass(frozen=True, slots=True)
class WallAnalysis:
    """wall: None where nothing tells of time. bottleneck: the answer that comes first. steps: None where none
    are recorded."""

    wall: Wall | None
    bottleneck: Bottleneck
    host: Host
    steps: Steps | None
    serving: Serving
    advice: tuple[Advice, ...]


def analyse_wall(
    profile: Profile,
    usable_rows: npt.NDArray[np.bool_] | None,
    criteria: Criteria,
    record: RoundRecord | None = None,
) -> WallAnalysis:
    """usable_rows: rows of the operator table that count. record: of the round's manifest."""
    wall = wall_of(profile, usable_rows)
    host = host_of(profile, wall, criteria)
    steps = steps_of(profile, wall, criteria)
    return WallAnalysis(
        wall,
        bottleneck_of(profile, wall, criteria),
        host,
        steps,
        serving_of(profile, steps, record, steps_are_tokens=asks_tokens(criteria)),
        tuple(advice_of_wall(profile, wall, criteria, record, host)),
    )
