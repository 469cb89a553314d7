"""What npu-smi showed: one chip at one poll, and all that stands beside the chips."""

from __future__ import annotations

from collections.abc import Mapping

from npulse.core.dataclass import dataclass

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
class SmiProcess:
    """A process on a chip. name: at most 15 characters of it, "" where npu-smi shows none (another container,
    or it ended meanwhile). chip: None in tables that count no chips. container_pid: its id in the container,
    where the table has that column and knows it. pid: None for "NA". memory_mb: None where not shown."""

    npu: int | None
    chip: int | None
    pid: int | None
    name: str
    memory_mb: int | None
    line: int
    has_container_column: bool = False
    container_pid: int | None = None


@dataclass(frozen=True, slots=True)
class SmiTable:
    """A table of `npu-smi info`; its chips are the samples with the same `poll`.

    layout: "L0", "L1-narrow", "L1", "L1'", "L2", "A3-L1", "A3-L2", "310P" or "950". listed_npus: cards of
    which it says which processes they have, or that they have none.
    """

    poll: int
    line: int
    tool_version: str
    driver_version: str
    layout: str = ""
    processes: tuple[SmiProcess, ...] = ()
    listed_npus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SmiBlock:
    """Keys and values of `npu-smi info -t TYPE`, of all blocks of a text about one chip.

    npu, chip: None where the text does not say which (`-c` leaves the ids out; `-i` alone is of a card).
    first, last: value by key as the text has it first and last; None for "NA", "-" and nothing. A key that is
    not there was not told. has_processes: whether `proc-mem` listed its processes.
    """

    npu: int | None
    chip: int | None
    first: Mapping[str, str | None]
    last: Mapping[str, str | None]
    processes: tuple[SmiProcess, ...] = ()
    has_processes: bool = False


@dataclass(frozen=True, slots=True)
class SmiIds:
    """A row of `-m`, or `-t phyid-remap`: how one chip is counted in each way. None: not shown."""

    npu: int
    chip: int | None
    logic_id: int | None = None
    physical_id: int | None = None
    name: str | None = None
    slot_id: int | None = None


@dataclass(frozen=True, slots=True)
class SmiCard:
    """An entry of `-l`."""

    npu: int
    n_chips: int | None = None
    product_name: str | None = None
    serial_number: str | None = None


@dataclass(frozen=True, slots=True)
class SmiMessage:
    """A line that is printed instead of data, or beside it. kind: see `messages.MessageKind`."""

    kind: str
    text: str
    line: int
    code: int | None = None


@dataclass(frozen=True, slots=True)
class SmiText:
    """All that a text says beside samples. table: the last one. cards, ids: of `-l` and `-m`. links: rows of
    `-t topo`, head line first, as cells. n_listed_cards: the count that `-l` begins with."""

    table: SmiTable | None = None
    n_tables: int = 0
    blocks: tuple[SmiBlock, ...] = ()
    ids: tuple[SmiIds, ...] = ()
    cards: tuple[SmiCard, ...] = ()
    n_listed_cards: int | None = None
    links: tuple[tuple[str, ...], ...] = ()
    messages: tuple[SmiMessage, ...] = ()
    tool_version: str | None = None


@dataclass(frozen=True, slots=True)
class NpuSmi:
    """All samples of a file in its order. Problems: rows that are broken, lines that are too long. told: what
    the file says beside samples."""

    samples: tuple[ChipSample, ...]
    problems: tuple[Problem, ...] = ()
    told: SmiText = SmiText()
