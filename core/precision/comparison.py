"""What comes of comparing two captures, and how it is asked for: the records of `compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Construct, Dump, Frame, Stacks

from .own.model import OwnChecks
from .pairing import pair_auto
from .plugged import PluggedFigure
from .role_records import Roles
from .rows import Rows
from .verdict import Criteria

if TYPE_CHECKING:  # the records of a comparison that is kept are put together without what made them
    from npulse.core.cache import Cache
    from npulse.core.formats.msprobe.mapping import MappingFile
    from npulse.core.run.model import Artifact
    from npulse.core.run.sides import CapturePair
    from npulse.core.scale import Cluster
    from npulse.core.tails import Tails

    from .captured import PairCalls
    from .live import Growth
    from .mixed.dtype_map import PrecisionMap
    from .mixed.judge_by import Judged
    from .splits.group import RankGroup


@dataclass(frozen=True, slots=True)
class RankComparison:
    """One rank and step of both captures, compared. growth: what is not there yet where a side is written.

    carried: calls that only hand on what a peer was given, to (place of its rank, its call). clock: of the
    calls in which ranks meet, their order among all ranks of the step; empty where nothing differs.
    """

    rank: int | None
    step: int | None
    target: Dump
    golden: Dump
    rows: Rows
    roles: Roles
    construct: Construct | None
    stacks: Stacks | None = None
    growth: Growth | None = None
    carried: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    clock: Mapping[int, int] = field(default_factory=dict)

    def frames_of(self, call: int) -> tuple[Frame, ...]:
        """Python call stack of a call of the sequence, innermost first; () where none is at hand."""
        name = self.rows.pairing.name(self.target, self.golden, call)
        return self.stacks.frames(name) if self.stacks is not None else ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ranks and steps of a capture pair. `stage`: "ranks" while workers have n_awaited of them, "first
    read" done, or "complete" with the second.

    plugged: figures of metric plug-ins, where they were asked. own: what the target says of itself.
    judged: of each rank, what a precision map was used for. groups: ranks of which one side holds
    parts. n_not_read: pairs of tensors whose statistics alone were asked, and agree.
    """

    pair: CapturePair
    ranks: tuple[RankComparison, ...]
    criteria: Criteria
    problems: tuple[Problem, ...]
    stage: str
    plugged: tuple[PluggedFigure, ...] = ()
    own: OwnChecks = OwnChecks()
    judged: tuple[Judged, ...] = ()
    groups: tuple[RankGroup, ...] = ()
    n_awaited: int = 0
    n_not_read: int = 0

    @property
    def is_growing(self) -> bool:
        """Whether a capture still runs, so that all that is told is so far."""
        return any(rank.growth is not None for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare. jobs: worker processes (0: as many as processors). cluster: a Dask scheduler. tails:
    of a run that is followed: what earlier looks read and measured; then nothing is kept in `cache`.
    metrics: whether metric plug-ins are asked too, which reads tensors once more; never while following.
    steps: inclusive ranges of steps, () for all. precision_map: what computes in which dtype. ranks: which
    target ranks stand against which golden ones where their numbers differ ("0,1:0;2,3:1"). measured: where
    measurements are kept for the next comparison of the same captures; None keeps nothing. sample: large
    tensors are read in part, nothing is looked at closer or kept, and what agrees is unknown, no pass.
    where_needed: tensors are read of those calls alone that recorded statistics point to; not if followed.
    mappings: the files that `pair_calls` goes by; what they name and no dump has is a problem."""

    criteria: Criteria = Criteria()
    pair_calls: PairCalls = pair_auto
    mappings: tuple[MappingFile, ...] = ()
    jobs: int = 0
    cluster: Cluster | None = None
    second_read: bool = True
    cache: Cache | None = None
    rank: int | None = None
    step: int | None = None
    tails: Tails | None = None
    metrics: bool = False
    precision_map: PrecisionMap | None = None
    ranks: str | None = None
    steps: tuple[tuple[int, int], ...] = ()
    sample: bool = False
    where_needed: bool = False
    measured: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    def is_asked(self, artifact: Artifact) -> bool:
        """Whether a rank-step is to be compared."""
        step = artifact.step
        is_in = not self.steps or step is not None and any(a <= step <= b for a, b in self.steps)
        return is_in and self.rank in (None, artifact.rank) and self.step in (None, step)


AS_USUAL = Settings()
"""Nothing asked for."""
