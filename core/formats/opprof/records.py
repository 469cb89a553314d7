"""What msOpProf tells of one kernel. Files say it in several forms; here each thing has one.

What a file does not say is None, NaN or (), never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Layout = Literal["board", "simulator", "collecting"]

NO_BLOCK = -1
TABLES = (
    *("PipeUtilization", "ArithmeticUtilization", "L2Cache", "Memory", "MemoryL0", "MemoryUB"),
    "ResourceConflictRatio",
)
"""The tables of metrics, the one to look a column up in first at the front."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One column. header: as the tool wrote it. unit: "us", "GB/s", "KB", "%" or "". values: NaN absent.

    is_estimate: the tool itself calls it one.
    """

    name: str
    header: str
    unit: str
    values: Floats
    is_estimate: bool = False


@dataclass(frozen=True, slots=True)
class BlockTable:
    """One table of metrics, one row a core.

    block_ids int64 (n rows): NO_BLOCK where the chip has no such column. cores: "cube0", "vector0",
    "vector1", "" where there is no such column. metrics: name in lower case without its unit -> column.
    lines: of the rows in the file.
    """

    name: str
    block_ids: Integers
    cores: tuple[str, ...]
    metrics: Mapping[str, Metric]
    lines: Integers

    @property
    def n_rows(self) -> int:
        return len(self.block_ids)

    def values(self, name: str) -> Floats | None:
        """The column of that name, None where the table has none."""
        found = self.metrics.get(name)
        return None if found is None else found.values


@dataclass(frozen=True, slots=True)
class BlockTime:
    """How long one core worked on its block (basic block of visualize_data.bin)."""

    block_id: int
    core: str
    duration_us: float


@dataclass(frozen=True, slots=True)
class CoreLoad:
    """What one core did (occupancy). kind: "cube" or "vector". moved_bytes: main memory, both ways."""

    core: int
    kind: str
    subcore: int
    cycles: int | None = None
    moved_bytes: int | None = None
    l2_hit_percent: float | None = None
    simt_instructions: int | None = None


@dataclass(frozen=True, slots=True)
class UnitUse:
    """How long a compute unit of one core was busy. core: "cube0", "vector0", "vector1"."""

    block_id: int
    core: str
    busy_cycles: int | None
    total_cycles: int | None
    busy_percent: float | None


@dataclass(frozen=True, slots=True)
class PipeUse:
    """One pipe of one core. pipe: "mte1", "mte2", "mte3", "fixpipe", "scalar"."""

    block_id: int
    core: str
    pipe: str
    instructions: int | None
    cycles: int | None
    wait_cycles: int | None
    active_percent: float | None


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """What one block moved over one way. number: as the tool counts the ways. peak_percent: of its peak."""

    block_id: int
    number: int
    name: str
    requests: int | None
    gb_per_s: float | None
    peak_percent: float | None


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Hits of one cache in one block. name: "L2 Cache Read", "L2 Cache Total", "iCache Total", as told."""

    block_id: int
    name: str
    hit: int | None
    miss: int | None
    hit_percent: float | None


@dataclass(frozen=True, slots=True)
class ComputeUse:
    """One row of the compute load. unit: "us", "instr", "byte", "%", "ops". origin: of a share."""

    block_id: int
    core: str
    name: str
    unit: str
    value: float | None
    origin: float | None = None


@dataclass(frozen=True, slots=True)
class BlockFigure:
    """One row of a memory table, as the tool has it. values: header -> number."""

    block_id: int
    table: str
    name: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One point under one roof. x: operations a byte; y: 10**12 operations a second.

    tb_per_s: peak of the memory or pipe `name`. peak_tops: peak of the units `unit`. told_ratio: what the
    tool calls achieved over attainable, None where it says NA.
    """

    group: str
    name: str
    unit: str
    x: float
    y: float
    tb_per_s: float
    peak_tops: float
    told_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class ToolAdvice:
    """A sentence of msOpProf, as it wrote it. part: "basic", "compute", "memory", "occupancy", "roofline"."""

    part: str
    block: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A kernel source that visualize_data.bin keeps: where in it (`visualize.read_source_file`)."""

    path: str
    start_byte: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of the kernel's source by core. All arrays have one element a row.

    cores, sources: labels that core_codes and source_codes point into; a source is "path:line". cycles,
    running_us: NaN absent. running_us counts time once, cycles add up.
    """

    cores: Sequence[str]
    sources: Sequence[str]
    core_codes: Codes
    source_codes: Codes
    calls: Integers
    cycles: Floats
    running_us: Floats

    @property
    def n_rows(self) -> int:
        return len(self.core_codes)


@dataclass(frozen=True, slots=True)
class Instructions:
    """Instructions of a kernel by core, as `SourceLines`. addresses int64: -1 absent."""

    cores: Sequence[str]
    names: Sequence[str]
    pipes: Sequence[str]
    details: Sequence[str]
    core_codes: Codes
    name_codes: Codes
    pipe_codes: Codes
    detail_codes: Codes
    addresses: Integers
    calls: Integers
    cycles: Floats
    running_us: Floats

    @property
    def n_rows(self) -> int:
        return len(self.core_codes)


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """One launch of one kernel. Everything that its files say, nothing that they don't.

    folder: relative to the run. index: which launch, None where the folder does not say. op_type: "cube",
    "vector", "mix", "AiCore" (chips whose cores are not split). frequency_mhz: while it ran. tables: name in
    `TABLES` -> table. figures: rows of the memory tables; pipes and caches are made of them. source_files:
    those that visualize_data.bin keeps. parts: kind of its blocks -> how many. n_replays: raw files
    of a collection. missing: files that a whole result has and this one has not. passed_over: older files of
    the same kind. sources: kind of file -> artifact.
    """

    name: str
    folder: str
    layout: Layout
    index: int | None = None
    op_type: str = ""
    duration_us: float | None = None
    block_dim: int | None = None
    mix_block_dim: int | None = None
    device: int | None = None
    pid: int | None = None
    frequency_mhz: float | None = None
    rated_mhz: float | None = None
    soc: str = ""
    tables: Mapping[str, BlockTable] = field(default_factory=dict)
    block_times: tuple[BlockTime, ...] = ()
    units: tuple[UnitUse, ...] = ()
    pipes: tuple[PipeUse, ...] = ()
    paths: tuple[MemoryPath, ...] = ()
    caches: tuple[CacheUse, ...] = ()
    computes: tuple[ComputeUse, ...] = ()
    figures: tuple[BlockFigure, ...] = ()
    loads: tuple[CoreLoad, ...] = ()
    roofline: tuple[RooflinePoint, ...] = ()
    lines: SourceLines | None = None
    instructions: Instructions | None = None
    advice: tuple[ToolAdvice, ...] = ()
    source_files: tuple[SourceFile, ...] = ()
    parts: Mapping[int, int] = field(default_factory=dict)
    n_replays: int = 0
    missing: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def is_finished(self) -> bool:
        """False while the tool has not yet made its tables."""
        return self.layout != "collecting"

    def find(self, name: str, *tables: str) -> tuple[BlockTable, Floats] | None:
        """The first of these tables (all of them by default) that has a column, and the column."""
        for table_name in tables or TABLES:
            table = self.tables.get(table_name)
            values = None if table is None else table.values(name)
            if table is not None and values is not None:
                return table, values
        return None
