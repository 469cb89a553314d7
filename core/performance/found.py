"""What the performance area found in a round: records, put together by `analyse`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.opprof.records import KernelProfile
from npulse.core.formats.profiling.follow import Followed
from npulse.core.formats.profiling.session import Session
from npulse.core.run.model import Artifact

from .advice import Advice
from .changes.compare import Changes
from .cluster import ToolTables
from .criteria import Settings
from .operators.analysis import Operators
from .profile import Profile
from .ranks.advice import Ranks
from .raw_growth import RawGrowth
from .since import Since
from .wall.analysis import WallAnalysis

if TYPE_CHECKING:
    from npulse.core.device.warning import Unwell

Stage = Literal["reading", "tables", "complete"]


@dataclass(frozen=True, slots=True)
class Analysed:
    """One profile and what its analyses say. operators: None where it has neither rows nor sums of types."""

    profile: Profile
    operators: Operators | None
    wall: WallAnalysis

    @property
    def advice(self) -> tuple[Advice, ...]:
        return (*self.wall.advice, *(self.operators.advice if self.operators is not None else ()))


@dataclass(frozen=True, slots=True)
class SoFar:
    """Of how much the figures of an unfinished read are: n_rows rows, n_bytes of size_bytes bytes.

    n_aside: rows without a usable duration. is_first: the first rows alone. is_whole: all rows, of which only
    type and duration were read.
    """

    n_rows: int
    n_bytes: int
    size_bytes: int
    n_aside: int = 0
    is_first: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Performance:
    """A round. stage: "complete" once everything was read. profiles: by rank. main: place of the one whose
    table comes first. ranks: a job each. raw: sessions that nobody exported; growth: of a followed run how
    they grow, by their folders. tool_tables: what the vendor's
    cluster analysis found. changes: against the round before, of the main profile. advice: in the order in
    which to look at it. so_far: of how much the figures are, as long as the stage is "reading". followed: how
    far the files are that are read on, None where the run is not followed; since: what came to the main
    profile with the last look that found something new, None before the second look. cards: those that were
    not well while they were measured.
    """

    root: Path
    round: str
    settings: Settings
    artifacts: tuple[Artifact, ...]
    stage: Stage = "reading"
    profiles: tuple[Analysed, ...] = ()
    main: int = 0
    kernels: tuple[KernelProfile, ...] = ()
    ranks: tuple[Ranks, ...] = ()
    raw: tuple[Session, ...] = ()
    growth: Mapping[Path, RawGrowth] = field(default_factory=dict)
    tool_tables: tuple[ToolTables, ...] = ()
    changes: Changes | None = None
    advice: tuple[Advice, ...] = ()
    problems: tuple[Problem, ...] = ()
    so_far: SoFar | None = None
    followed: Followed | None = None
    since: Since | None = None
    cards: tuple[Unwell, ...] = ()

    @property
    def shown(self) -> Analysed | None:
        """The profile whose table comes first; None where there is none."""
        return self.profiles[self.main] if self.profiles else None

    def ranks_with(self, profile: Profile) -> Ranks | None:
        """The job that a profile is of."""
        return next((job for job in self.ranks if any(profile is one for one in job.profiles)), None)


OnUpdate = Callable[[Performance], None]
