"""Thresholds of the overflow area and what else a caller may set."""

from __future__ import annotations

from dataclasses import field

from npulse.core.analysis import criteria_from
from npulse.core.cache import Cache
from npulse.core.dataclass import dataclass
from npulse.core.scale import Cluster
from npulse.core.tails import Tails


@dataclass(frozen=True, slots=True)
class Criteria:
    """near_ratio: share of the dtype's largest value from which a tensor is close to the limit.

    clipped_ratio: share of int8 or float8 elements at the end of the range from which clipping is a finding.
    gradient_growth_ratio: growth of a gradient's norm from one step to the next that is a finding.
    trace_calls: how many calls upstream are followed.
    """

    near_ratio: float = 0.5
    clipped_ratio: float = 0.01
    gradient_growth_ratio: float = 10.0
    trace_calls: float = 12

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Read 'near_ratio=0.8,trace_calls=30'. UsageError names the word that is not known."""
        return criteria_from(cls, text)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look. read_tensors: False judges by statistics alone. jobs: worker processes, 0 all processors.

    saturation: what the user says of the device where no file tells it (None: not said). tails: of a run that
    is followed: what earlier looks read.
    """

    criteria: Criteria = field(default_factory=Criteria)
    jobs: int = 0
    cluster: Cluster | None = None
    rank: int | None = None
    step: int | None = None
    cache: Cache | None = None
    read_tensors: bool = True
    saturation: bool | None = None
    tails: Tails | None = None
