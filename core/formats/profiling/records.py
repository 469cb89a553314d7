"""What profilers tell beside operators: steps, sums, communication, settings. One form for tables, JSON and
databases; what a file does not say is None, never zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Generic, TypeVar

from npulse.core.dataclass import dataclass

from ...findings import Problem

RecordT = TypeVar("RecordT")
_RANK = re.compile(r"\d{1,9}", re.ASCII)
MAX_SET_CHARS = 1 << 20


@dataclass(frozen=True, slots=True)
class StepTime:
    """One row of step_trace_time: how a step of one device divides. Times int nanoseconds.

    step: as written, "" where the script counts none. device: None where the table does not say.
    exclude_receive_ns: communication that is neither overlapped nor a receive.
    """

    step: str
    device: int | None
    computing_ns: int | None = None
    communication_not_overlapped_ns: int | None = None
    overlapped_ns: int | None = None
    communication_ns: int | None = None
    free_ns: int | None = None
    stage_ns: int | None = None
    bubble_ns: int | None = None
    exclude_receive_ns: int | None = None
    preparing_ns: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterStep:
    """One row of cluster_step_trace_time, of a table or a database: a step of one rank, or the largest times
    of the ranks of a stage.

    kind: "rank" or "stage", as written. index: as written: the rank, or "(0, 1)". rank: of a rank's row.
    ranks: of a stage's row, () where the index is no list of ranks. dp, pp, tp: places in the parallel groups
    where the table has them.
    """

    kind: str
    index: str
    rank: int | None
    ranks: tuple[int, ...]
    time: StepTime
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """One row of step_trace (graph mode): times of an iteration. Starts are since 1970, int nanoseconds.

    reduces: (start, duration) of each gradient reduction.
    """

    iteration: str
    model: int | None
    device: int | None = None
    forward_start_ns: int | None = None
    backward_end_ns: int | None = None
    end_ns: int | None = None
    duration_ns: int | None = None
    forward_to_backward_ns: int | None = None
    refresh_ns: int | None = None
    data_aug_bound_ns: int | None = None
    reduces: tuple[tuple[int | None, int | None], ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TypeTotal:
    """One row of op_statistic or communication_statistic: the calls of an operator type.

    share_percent: Ratio(%) as the tool wrote it. others: columns that are not the tool's own, by header.
    """

    op_type: str
    core_type: str
    count: int | None
    total_ns: int | None
    min_ns: int | None = None
    average_ns: int | None = None
    max_ns: int | None = None
    share_percent: float | None = None
    device: int | None = None
    line: int | None = None
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiTotal:
    """Calls of one host API together (api_statistic). level: acl, model, node, communication, runtime."""

    level: str
    name: str
    count: int | None
    total_ns: int | None
    average_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LinkUse:
    """What an operation moved over one kind of link (HCCS, RDMA, PCIE, SDMA, SIO).

    packets: (MB of a packet, how many, ms together).
    """

    transport: str
    size_mb: float | None
    time_ms: float | None
    bandwidth_gb_per_s: float | None
    large_packet_ratio: float | None = None
    packets: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CommunicationTime:
    """One communication operation of one rank (communication.json, cluster_communication.json).

    name: without the group. is_p2p: None where the file does not part them. rank: where the file says it.
    """

    step: str
    name: str
    group: str
    is_p2p: bool | None = None
    rank: int | None = None
    start_ns: int | None = None
    elapse_ms: float | None = None
    transit_ms: float | None = None
    wait_ms: float | None = None
    synchronization_ms: float | None = None
    idle_ms: float | None = None
    links: tuple[LinkUse, ...] = ()

    @property
    def is_total(self) -> bool:
        """The tool's own sum over all operations of the step, not one of them."""
        return self.name == "Total Op Info"


@dataclass(frozen=True, slots=True)
class CommunicationLink:
    """What an operation moved from one rank to another (communication_matrix.json). op: e.g.
    "allreduce-top1", "-total" has all of them. source, target: ranks as the file counts them."""

    step: str
    op: str
    group: str
    source: int
    target: int
    transport: str
    size_mb: float | None
    time_ms: float | None
    bandwidth_gb_per_s: float | None
    is_p2p: bool | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class ProfilerSettings:
    """How a profile was taken, on what: profiler_info, profiler_metadata, sample.json, info.json, META_DATA.

    level: as written ("Level1", "l0", ...). chip: model of the NPU. frequency_mhz: rated, of the AI cores.
    groups: name of a communicator -> its ranks. group_labels: the same name -> what the framework calls that
    group ("tp", "dp_cp"). env: environment variables that were recorded.
    expected_active: steps that the schedule should have recorded. is_finalised: the profiler came to its end.
    """

    framework: str = ""
    level: str = ""
    metrics: str = ""
    chip: str = ""
    rank: int | None = None
    world_size: int | None = None
    devices: tuple[int, ...] = ()
    ai_core_num: int | None = None
    aiv_num: int | None = None
    frequency_mhz: float | None = None
    with_stack: bool | None = None
    record_shapes: bool | None = None
    expected_active: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    parallel: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    group_labels: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    is_finalised: bool | None = None


@dataclass(frozen=True, slots=True)
class Read(Generic[RecordT]):
    """Records of one file, and what could not be read of it. encoding: of a text, "" elsewhere."""

    records: tuple[RecordT, ...]
    problems: tuple[Problem, ...] = ()
    n_dropped: int = 0
    encoding: str = ""
    headers: tuple[str, ...] = ()


def ranks_of(text: str) -> tuple[int, ...] | None:
    """A set of ranks as "(0,1)", "(0, 1)", "0,1" or "3"; None if it is none ("p2p"), or too long."""
    text = text.strip()
    inner = text[1:-1] if text[:1] in ("(", "[", "{") and text[-1:] in (")", "]", "}") else text
    parts = [part.strip() for part in inner[:MAX_SET_CHARS].rstrip(", ").split(",")]
    if len(inner) > MAX_SET_CHARS or not all(map(_RANK.fullmatch, parts)):
        return None
    return tuple(map(int, parts))
