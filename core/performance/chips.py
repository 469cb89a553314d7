"""What is known of a chip by its name: cores, and how fast its memories are at most.

Peaks are those that the vendor's operator profiler reckons with; None where no tool of the vendor says one.
Cores of a profile's own device (`ProfilerSettings`) count before these.
"""

from __future__ import annotations

import re
from typing import Literal

from npulse.core.dataclass import dataclass

Family = Literal["310", "310P", "310B", "910A", "A2", "A3", "950"]


@dataclass(frozen=True, slots=True)
class Chip:
    """cube_cores, vector_cores: of one device; on chips that are not split the AI cores, and 0. Peaks in
    GB/s: memory of the device (GM) and L2 cache."""

    name: str
    family: Family
    cube_cores: int | None = None
    vector_cores: int | None = None
    memory_gb_per_s: float | None = None
    l2_gb_per_s: float | None = None


_B1 = Chip("910B1", "A2", 24, 48, 1800, 8000)
_B2 = Chip("910B2", "A2", 24, 48, 1750, 7780)
_B3 = Chip("910B3", "A2", 20, 40, 1750, 7780)
_B4 = Chip("910B4", "A2", 20, 40, 800, 4000)

_CHIPS: tuple[tuple[re.Pattern[str], Chip], ...] = tuple(
    (re.compile(pattern), chip)
    for pattern, chip in (
        (r"910b1", _B1),
        (r"910b2c?", _B2),
        (r"910b3", _B3),
        (r"910b4(-?1)?", _B4),
        (r"910b", Chip("910B", "A2")),
        (r"910(_?93[0-9a-z]{0,6}|c)", Chip("910C", "A3")),
        (r"910(a|pro[ab]|prem[ab]|)", Chip("910A", "910A", None, 0)),
        (r"310p3?", Chip("310P", "310P", 8, 0)),
        (r"310p[0-9a-z]{1,4}", Chip("310P", "310P", None, 0)),
        (r"310b[0-9]{0,2}", Chip("310B", "310B")),
        (r"310", Chip("310", "310", None, 0)),
        (r"950[a-z0-9_]{0,12}", Chip("950", "950")),
    )
)
_MAX_NAME = 64


def chip_of(name: str) -> Chip | None:
    """The chip of a name as tools write it: "Ascend910B4", "ascend 910b3", "910_9391", "Ascend310P3"; None if
    it is not known."""
    if not name or len(name) > _MAX_NAME:
        return None
    key = "".join(name.lower().split()).removeprefix("ascend").lstrip("-_")
    return next((chip for pattern, chip in _CHIPS if pattern.fullmatch(key)), None)
