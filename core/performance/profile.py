"""What one process recorded of one device, put together from all of its files.

Made by `loading`; analyses get this and open nothing.
"""

from __future__ import annotations

from dataclasses import field

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.formats.profiling.records import (
    ApiTotal,
    CommunicationLink,
    CommunicationTime,
    Iteration,
    ProfilerSettings,
    StepTime,
    TypeTotal,
)
from npulse.core.formats.profiling.timeline import Timeline

from .operators.gone import Gone


@dataclass(frozen=True, slots=True)
class Profile:
    """One rank's (or one device's) profile. Parts that were not found are None or ().

    name: the folder below the run, as people tell profiles apart. rank: None where nothing names it. sources:
    part ("operators", "timeline", "steps", "types", "apis", "communications", "links") -> artifact, relative
    to the run. encodings: artifact -> encoding, of texts. All rows of `operators` are of this device.
    """

    name: str
    rank: int | None = None
    device: int | None = None
    operators: OperatorTable | None = None
    timeline: Timeline | None = None
    steps: tuple[StepTime, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    types: tuple[TypeTotal, ...] = ()
    apis: tuple[ApiTotal, ...] = ()
    communications: tuple[CommunicationTime, ...] = ()
    links: tuple[CommunicationLink, ...] = ()
    settings: ProfilerSettings = ProfilerSettings()
    sources: dict[str, str] = field(default_factory=dict)
    encodings: dict[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    is_told_by_folder: bool = False
    gone: Gone | None = None

    @property
    def label(self) -> str:
        """How it is called in a message: "rank 3", "device 0", else (or where others are called so too) its
        folder."""
        if self.is_told_by_folder:
            return self.name
        if self.rank is not None:
            return f"rank {self.rank}"
        return f"device {self.device}" if self.device is not None else self.name
