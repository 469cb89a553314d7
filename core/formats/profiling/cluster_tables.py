"""What msprof-analyze tells of a cluster in tables: steps of all ranks, and the results of its recipes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npulse.core.dataclass import dataclass

from ...findings import Problem
from ...text import safe_text
from .records import ClusterStep, Read, ranks_of
from .steps import STEP_TIMES, step_time_of
from .table_records import Rows, Spelled, integers, read_rows, records_of, texts, times


@dataclass(frozen=True, slots=True)
class FreeTime:
    """One row of free_analysis: a gap on the device. Idle times: of the framework and of CANN in it."""

    rank: int | None
    start_ns: int | None
    end_ns: int | None
    duration_ns: int | None
    pytorch_idle_ns: int | None
    cann_idle_ns: int | None
    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class CommunicationBottleneck:
    """One row of communication_bottleneck. slow_rank, fast_rank: None where the tool found none."""

    op: str
    start_ns: int | None
    end_ns: int | None
    duration_ns: int | None
    slow_rank: int | None
    fast_rank: int | None
    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class ClusterTime:
    """One row of cluster_time_summary: how a step of a rank divides."""

    rank: int | None
    step: str
    step_ns: int | None
    computing_ns: int | None
    communication_not_overlapped_ns: int | None
    overlapped_ns: int | None
    communication_ns: int | None
    free_ns: int | None
    wait_ns: int | None
    transmit_ns: int | None
    memory_ns: int | None
    memory_not_overlapped_ns: int | None
    line: int


@dataclass(frozen=True, slots=True)
class SlowRank:
    """One row of slow_rank: how many communications this rank held up, by the tool's count."""

    rank: int
    n_affected: int | None
    line: int


_STEPS: dict[str, Spelled] = {
    "step": texts("Step"),
    "kind": texts("Type"),
    "index": texts("Index"),
    **STEP_TIMES,
    "dp": integers("DP Index"),
    "pp": integers("PP Index"),
    "tp": integers("TP Index"),
}
_FREE: dict[str, Spelled] = {
    "rank": integers("Rank ID", "Rank"),
    "start_ns": times("Start Time"),
    "end_ns": times("End Time"),
    "duration_ns": times("Duration"),
    "pytorch_idle_ns": times("Pytorch Idle Time"),
    "cann_idle_ns": times("Cann Idle Time"),
    "reason": texts("Reason"),
}
_BOTTLENECKS: dict[str, Spelled] = {
    "start_ns": times("Start Time"),
    "end_ns": times("End Time"),
    "duration_ns": times("Duration"),
    "op": texts("Communication Op"),
    "slow_rank": integers("Slow Rank ID"),
    "fast_rank": integers("Fast Rank ID"),
    "reason": texts("Reason"),
}
_TIMES: dict[str, Spelled] = {
    "step_ns": times("Step Time"),
    "computing_ns": times("Computation"),
    "communication_not_overlapped_ns": times("Communication Not Overlap Computation"),
    "overlapped_ns": times("Communication Overlap Computation"),
    "communication_ns": times("Communication"),
    "free_ns": times("Free"),
    "wait_ns": times("Communication Wait Stage Time"),
    "transmit_ns": times("Communication Transmit Stage Time"),
    "memory_ns": times("Memory"),
    "memory_not_overlapped_ns": times("Memory Not Overlap Computation Communication"),
}
_SUMMARY: dict[str, Spelled] = {"rank": integers("Rank", "Rank ID"), "step": texts("Step"), **_TIMES}
_SLOW: dict[str, Spelled] = {
    "rank": integers("rankId", "Rank"),
    "n_affected": integers("slowAffectCount"),
}


def read_cluster_steps(path: Path, *, root: Path | None = None) -> Read[ClusterStep]:
    """The rows of cluster_step_trace_time.csv (microseconds, whatever its documentation says).

    Problems: as `read_table`, and times that no step can have. Raises InputError.
    """
    needed = ("kind", "index", "computing_ns")
    rows = read_rows(path, _STEPS, root=root, needed=needed, hint="name a cluster_step_trace_time.csv")

    def make(rows: Rows) -> ClusterStep | None:
        kind, index = rows.text("kind"), rows.text("index")
        if not index:
            return None
        ranks = ranks_of(index) or ()
        is_rank = kind.lower() == "rank"
        return ClusterStep(
            kind=kind,
            index=index,
            rank=ranks[0] if is_rank and len(ranks) == 1 else None,
            ranks=() if is_rank else ranks,
            time=step_time_of(rows),
            dp=rows.integer("dp"),
            pp=rows.integer("pp"),
            tp=rows.integer("tp"),
        )

    found = records_of(rows, make)
    nobody = [one for one in found.records if one.kind.lower() == "rank" and one.rank is None]
    if not nobody:
        return found
    message = (
        f"rows of ranks without a rank in Index: {len(nobody):,}, which are of nobody; the first has"
        f" '{safe_text(nobody[0].index, 40)}'"
    )
    problem = Problem(rows.table.artifact, "bad-record", message, line=nobody[0].time.line)
    return replace(found, problems=(*found.problems, problem))


def read_free_times(path: Path, *, root: Path | None = None) -> Read[FreeTime]:
    """The rows of free_analysis.csv. Raises InputError."""
    needed = ("duration_ns", "reason", "pytorch_idle_ns")
    rows = read_rows(path, _FREE, root=root, needed=needed, hint="name a free_analysis.csv")

    def make(rows: Rows) -> FreeTime:
        return FreeTime(
            rank=rows.integer("rank"),
            start_ns=rows.integer("start_ns"),
            end_ns=rows.integer("end_ns"),
            duration_ns=rows.duration("duration_ns"),
            pytorch_idle_ns=rows.duration("pytorch_idle_ns"),
            cann_idle_ns=rows.duration("cann_idle_ns"),
            reason=rows.text("reason"),
            line=rows.line,
        )

    return records_of(rows, make)


def read_communication_bottlenecks(path: Path, *, root: Path | None = None) -> Read[CommunicationBottleneck]:
    """The rows of communication_bottleneck.csv; its ranks are written as 0.0. Raises InputError."""
    hint = "name a communication_bottleneck.csv"
    rows = read_rows(path, _BOTTLENECKS, root=root, needed=("op", "slow_rank"), hint=hint)

    def make(rows: Rows) -> CommunicationBottleneck | None:
        if not (op := rows.text("op")):
            return None
        return CommunicationBottleneck(
            op=op,
            start_ns=rows.integer("start_ns"),
            end_ns=rows.integer("end_ns"),
            duration_ns=rows.duration("duration_ns"),
            slow_rank=rows.integer("slow_rank"),
            fast_rank=rows.integer("fast_rank"),
            reason=rows.text("reason"),
            line=rows.line,
        )

    return records_of(rows, make)


def read_cluster_times(path: Path, *, root: Path | None = None) -> Read[ClusterTime]:
    """The rows of cluster_time_summary_*.csv. Raises InputError."""
    needed = ("rank", "step", "computing_ns")
    rows = read_rows(path, _SUMMARY, root=root, needed=needed, hint="name a cluster_time_summary_*.csv")

    def make(rows: Rows) -> ClusterTime:
        found = {name: rows.duration(name) for name in _TIMES}
        return ClusterTime(rank=rows.integer("rank"), step=rows.text("step"), **found, line=rows.line)

    return records_of(rows, make)


def read_slow_ranks(path: Path, *, root: Path | None = None) -> Read[SlowRank]:
    """The rows of slow_rank's table (rank_stats.csv). Raises InputError."""
    rows = read_rows(path, _SLOW, root=root, needed=("rank", "n_affected"), hint="name a rank_stats.csv")

    def make(rows: Rows) -> SlowRank | None:
        rank = rows.integer("rank")
        return None if rank is None else SlowRank(rank, rows.integer("n_affected"), rows.line)

    return records_of(rows, make)
