"""One chip at one poll, as npu-smi showed it."""

from __future__ import annotations

from dataclasses import dataclass

from ...findings import Problem


@dataclass(frozen=True, slots=True)
class ChipSample:
    """What one poll says of one chip. None: not shown, "NA" or "-"; nothing becomes 0.

    poll: which table or round of rows, from 0. line: from 1, the first one that tells of it; byte: where that
    line begins. time_ns: nanoseconds since 1970 by the clock of the text, read as UTC; None where no line in
    front of it and no prefix says a time. npu, chip: ids as npu-smi counts them; physical_id, device:
    the chip's number on the host, where the layout has one. name: "910B3", "Ascend910". health: "OK",
    "Warning", "Alarm", "Critical", "UNKNOWN". memory_percent: of HBM where there is some, else of DDR.
    npu_percent: of the whole chip, where shown instead of the AI cores' share or beside it.
    """

    poll: int
    line: int
    byte: int
    npu: int
    chip: int | None
    time_ns: int | None = None
    name: str | None = None
    health: str | None = None
    bus_id: str | None = None
    physical_id: int | None = None
    device: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    ai_core_percent: float | None = None
    ai_cpu_percent: float | None = None
    control_cpu_percent: float | None = None
    ai_cube_percent: float | None = None
    npu_percent: float | None = None
    memory_percent: float | None = None
    memory_bandwidth_percent: float | None = None
    memory_used_mb: float | None = None
    memory_total_mb: float | None = None
    hbm_used_mb: float | None = None
    hbm_total_mb: float | None = None
    hugepages_used: float | None = None
    hugepages_total: float | None = None


@dataclass(frozen=True, slots=True)
class NpuSmi:
    """All samples of a file in its order. Problems: rows that are broken, lines that are too long."""

    samples: tuple[ChipSample, ...]
    problems: tuple[Problem, ...] = ()
