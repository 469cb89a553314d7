"""Profiles of real jobs: our figures beside those of the vendor's own tools, and why they differ."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.performance.found import Performance
from npulse.core.performance.run_report import look, report_of, selections
from npulse.core.run.discover import discover

pytestmark = pytest.mark.real


@pytest.fixture
def profiling(shared: Path) -> Path:
    return shared / "samples" / "profiling"


def analysed(path: Path, **options: Any) -> Performance:
    run = discover(path)
    asked = AnalysisOptions(**options)
    return look(run, selections(run, asked)[-1], asked)


def report(path: Path, **options: Any) -> Report:
    return report_of([path], AnalysisOptions(**options)).report


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_overlap_analysis_of_a_step_is_exact(profiling: Path) -> None:
    facts = report(profiling / "real" / "pt_level1", rank=0).summary
    recorded = facts["recorded_us"]
    assert recorded["Computing"] == 8873.756 and recorded["Free"] == 25744.05
    assert recorded["Communication(Not Overlapped)"] == 101963.203
    assert round(recorded["Communication"] - recorded["Communication(Not Overlapped)"], 3) == 4028.675
    # our own unions of the same tasks: the profiler sums floats of microseconds, we whole nanoseconds
    assert facts["computing_us"] == pytest.approx(8873.756, abs=0.05)
    assert facts["communication_not_overlapped_us"] == pytest.approx(101963.203, abs=0.05)
    assert facts["overlapped_us"] == pytest.approx(4028.675, abs=0.05)
    assert facts["idle_us"] == pytest.approx(25744.05, abs=0.05)
    assert facts["wall_us"] == pytest.approx(136581, abs=0.05)
    assert facts["first"] == "communication" and facts["sum_of_kernels_us"] > facts["busy_us"]


def test_types_are_those_of_op_statistic(profiling: Path) -> None:
    for rank in (0, 1):
        folder = profiling / "real" / "pt_level1" / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        told = rows(folder / "op_statistic.csv")
        want: dict[str, tuple[int, Decimal]] = defaultdict(lambda: (0, Decimal(0)))
        for row in told:  # a type that ran on two kinds of core has two rows
            n, total = want[row["OP Type"]]
            want[row["OP Type"]] = (n + int(row["Count"]), total + Decimal(row["Total Time(us)"]))
        found = report(profiling / "real" / "pt_level1", rank=rank, top=200).summary["types"]
        ours = {one["type"]: one for one in found if not one["type"].startswith("hcom")}
        assert set(ours) == {name for name in want if not name.startswith("hcom")}
        for name, one in ours.items():
            n, total = want[name]
            assert one["calls"] == n
            # the tool sums more digits than it writes into kernel_details: half a nanosecond a call
            assert one["total_us"] == pytest.approx(float(total), abs=0.0005 * n + 0.001)


def test_the_cluster_tables_say_what_the_ranks_say(profiling: Path) -> None:
    derived = {int(row["Index"]): row for row in rows(profiling / "derived" / "cluster_step_trace_time.csv")}
    found = analysed(profiling / "real" / "pt_level1")
    (ranks,) = found.ranks
    for times in ranks.times:
        row = derived[times.rank or 0]
        assert times.computing_ns == round(Decimal(row["Computing"]) * 1000)
        assert times.exposed_ns == round(Decimal(row["Communication(Not Overlapped)"]) * 1000)
        assert times.free_ns == round(Decimal(row["Free"]) * 1000)
    again = analysed(profiling / "derived")
    assert [(t.rank, t.computing_ns, t.exposed_ns) for r in again.ranks for t in r.times] == [
        (t.rank, t.computing_ns, t.exposed_ns) for t in ranks.times
    ]


def test_collectives_of_two_ranks_are_paired(profiling: Path) -> None:
    (ranks,) = analysed(profiling / "real" / "pt_level1").ranks
    told = json.loads((profiling / "derived" / "cluster_communication.json").read_text())
    want: dict[str, dict[int, float]] = {}
    for steps in told.values():
        for operations in steps.values():
            for name, by_rank in operations.items():
                if name.startswith("Total"):
                    continue
                want[name.partition("@")[0]] = {
                    int(rank): info["Communication Time Info"]["Elapse Time(ms)"]
                    for rank, info in by_rank.items()
                }
    assert len(ranks.paired.collectives) == len(want) == 4 and ranks.paired.n_unpaired == 0
    for one in ranks.paired.collectives:
        assert not one.is_by_order and one.is_size_equal
        assert list(one.elapse_ms) == [want[one.op][rank] for rank in (0, 1)]
    # one large wait is no habit: nobody is accused
    assert ranks.paired.slow is None and ranks.stragglers == ()


def test_free_time_of_the_cluster_recipe_takes_out_copies_that_are_not_in_it(profiling: Path) -> None:
    (summary,) = (
        row
        for row in rows(next((profiling / "derived").glob("cluster_time_summary_*.csv")))
        if row["Rank"] == "0"
    )
    facts = report(profiling / "real" / "pt_db_level2").summary
    assert facts["computing_us"] == float(summary["Computation(us)"])
    assert facts["communication_us"] == float(summary["Communication(us)"])
    assert facts["communication_not_overlapped_us"] == float(
        summary["Communication Not Overlap Computation(us)"]
    )
    assert facts["overlapped_us"] == float(summary["Communication Overlap Computation(us)"])
    copies = float(summary["Memory Not Overlap Computation Communication(us)"])
    assert facts["idle_us"] == pytest.approx(float(summary["Free(us)"]) + copies, abs=0.001)
    # two copies to the device end before the first kernel begins, so the idle time cannot hold them: the tool
    # takes them out of it all the same
    assert facts["copies_in_idle_us"] == pytest.approx(copies - 876.358 - 2.44, abs=0.001)


def test_the_longest_gaps_are_those_of_free_analysis(profiling: Path) -> None:
    want = [row for row in rows(profiling / "derived" / "free_analysis.csv") if row["Rank ID"] == "0"]
    wall = analysed(profiling / "real" / "pt_db_level2").profiles[0].wall.wall
    assert wall is not None
    # the tool writes floats of microseconds since 1970: a quarter of one is all they can tell
    ours = sorted(gap.duration_ns / 1000 for gap in wall.gaps)[-len(want) :]
    assert ours == pytest.approx(sorted(float(row["Duration(us)"]) for row in want), abs=0.3)


def test_ranks_of_pipeline_stages_are_not_compared(profiling: Path) -> None:
    found = analysed(profiling / "real" / "pt_level2_cann83")
    (ranks,) = found.ranks
    assert [one.stage for one in ranks.peers] == [0, 1]
    assert all(one.slow.profile.name.startswith("rank_0") for one in ranks.stragglers)
    (slow,) = (one for one in found.advice if one.rule == "performance.slow-rank")
    assert "rank 0 holds the other ranks of pipeline stage 0 up" in slow.message[0]
    partial = next(one for one in found.advice if one.rule == "performance.partial-table")
    assert partial.figures["held_percent"] == pytest.approx(100 * 12282.14 / 231290.1, rel=1e-3)


def test_every_sample_gives_an_answer(profiling: Path) -> None:
    """All profiles at once: nothing raises, and what is cut is no pass."""
    found = report(profiling, tables=True)
    assert found.verdict in ("warn", "incomplete") and found.counts["profiles"] > 20
    assert found.counts["kernels"] == 5 and found.counts["not_exported"] >= 1
    cut = report(profiling / "synthetic" / "op_summary" / "truncated")
    assert cut.verdict == "incomplete" and any(problem.kind == "cut-off" for problem in cut.problems)
    sliced = report(profiling / "synthetic" / "op_summary" / "sliced")
    assert sliced.problems == () and sliced.verdict == "warn"
