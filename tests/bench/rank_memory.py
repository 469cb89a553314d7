"""Memory of looking at many ranks with two worker processes: it follows the workers, not the ranks.

    python tests/bench/rank_memory.py [--calls 1000] [--ranks 16,64,256]

Ranks are links to one capture of statistics (four leaves a call). For each area and number of ranks: the
peaks of the caller and of the largest worker, the rows that the caller keeps, and the processor time that it
takes to put together and judge what workers send (its start included).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE)]

N_JOBS = 2
PEAKS = "NPULSE_BENCH_PEAKS"
"""Names the folder in which each worker leaves its peak."""


def peak_mb() -> float:
    """The most this process has had in memory."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def note_peak() -> None:
    (Path(os.environ[PEAKS]) / str(os.getpid())).write_text(str(peak_mb()))


def compare_and_note(job: Any) -> Any:
    from npulse.core.precision.many.work import compare_rank

    done = compare_rank(job)
    note_peak()
    return done


def look_through_and_note(job: Any) -> Any:
    from npulse.core.overflow.hand_out import look_through_rank

    done = look_through_rank(job)
    note_peak()
    return done


def write(folder: Path, n_ranks: int, n_calls: int) -> None:
    """`n_ranks` ranks on both sides, all of one content."""
    from make_captures import SIDES, write_statistics

    write_statistics(folder, n_calls)
    for side in SIDES:
        first = next((folder / side).rglob("dump.json")).parent
        for rank in range(1, n_ranks):
            other = first.with_name(f"rank{rank}")
            other.mkdir()
            for file in first.iterdir():
                os.link(file, other / file.name)


def compare(folder: Path) -> int:
    """Rows of the comparison of all ranks."""
    from npulse.core.precision.compare import Settings, compare_captures
    from npulse.core.precision.many import hand_out
    from npulse.core.run.sides import pair_of

    hand_out.SMALL_BYTES = 0
    hand_out.compare_rank = compare_and_note
    done = compare_captures(pair_of(folder / "target", folder / "golden"), Settings(jobs=N_JOBS))
    return sum(rank.rows.n_rows for rank in done.ranks)


def look_through(folder: Path) -> int:
    """Leaves of all ranks of the target."""
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.overflow import hand_out
    from npulse.core.overflow.run_report import look, selections
    from npulse.core.run.discover import discover

    hand_out.SMALL_BYTES = 0
    hand_out.look_through_rank = look_through_and_note
    run, options = discover(folder / "target"), AnalysisOptions(jobs=N_JOBS)
    found = look(run, selections(run, options)[-1], options)
    return sum(len(rank.dump.leaves.kind) for rank in found.ranks)


AREAS = {"precision": compare, "overflow": look_through}


def measured(area: str, folder: Path) -> dict[str, float]:
    """caller_mb, worker_mb (of the largest), n_workers, rows, caller_cpu_s; in a process of its own."""
    with tempfile.TemporaryDirectory() as peaks:
        command = [sys.executable, __file__, "--measure", area, str(folder)]
        told = subprocess.run(
            command, env={**os.environ, PEAKS: peaks}, stdout=subprocess.PIPE, check=True, text=True
        )
        workers = [float(file.read_text()) for file in Path(peaks).iterdir()]
    own: dict[str, float] = json.loads(told.stdout)
    return {**own, "worker_mb": max(workers), "n_workers": len(workers)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--ranks", default="16,64,256")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        area, folder = options.measure
        rows = AREAS[area](Path(folder))
        print(json.dumps({"caller_mb": peak_mb(), "rows": rows, "caller_cpu_s": time.process_time()}))
        return
    print("area       ranks        rows   caller     worker   caller's CPU")
    for n_ranks in map(int, options.ranks.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n_ranks, options.calls)
            for area in AREAS:
                one = measured(area, Path(folder))
                peaks = f"{one['caller_mb']:6.0f} MB  {one['worker_mb']:6.0f} MB"
                print(f"{area:9}  {n_ranks:5}  {one['rows']:10,}  {peaks}  {one['caller_cpu_s']:6.1f} s")


if __name__ == "__main__":
    main()
