"""A cluster of two workers against one process, over every sample run that has several rank-steps.

    python tests/bench/cluster_against_one.py [--folder SAMPLES]

Comparison, overflow and the merged table of each run, as text; ends with 1 where one differs. SAMPLES:
folders of runs, shared/samples beside this checkout (or in $NPULSE_SHARED) unless told. The seconds are CPU
time of this process, for both.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "src"))


def main() -> int:
    parser = argparse.ArgumentParser()
    shared = Path(os.environ.get("NPULSE_SHARED") or REPO.parent / "shared")
    parser.add_argument("--folder", type=Path, default=shared / "samples")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        print(f"no samples at {folder}")
        return 0
    from distributed import LocalCluster

    from npulse.core.analysis import AnalysisOptions
    from npulse.core.scale import Cluster

    n_differing = n_compared = 0
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as started:
        there = AnalysisOptions(tables=True, cluster=Cluster.parse(started.scheduler_address))
        for run in runs_in(folder):
            began_s = time.process_time()
            serial = answers(run, AnalysisOptions(tables=True, jobs=1))
            for (what, alone), (_, other) in zip(serial, answers(run, there), strict=True):
                n_compared += 1
                if alone != other:
                    n_differing += 1
                    print(f"DIFFERS  {what}  {run}")
            print(f"{time.process_time() - began_s:6.1f} s  {run.relative_to(folder)}")
    print(f"{n_compared} answers, {n_differing} differ")
    return int(n_differing > 0 or n_compared == 0)


def runs_in(folder: Path) -> Iterator[Path]:
    """The folders of samples that hold several rank-steps of a capture."""
    from npulse.core.run.discover import discover
    from npulse.core.run.sides import captures_of

    for tool in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted(one for one in tool.iterdir() if one.is_dir()):
            if any(len(capture.artifacts) > 1 for capture in captures_of(discover(path))):
                yield path


def answers(run: Path, options: object) -> Iterator[tuple[str, str]]:
    """Each area that ranks are handed out in, and the merged table, as text."""
    from npulse.core.areas import area_of
    from npulse.core.errors import NpulseError
    from npulse.core.precision.ranks.job import job_table
    from npulse.core.report import render
    from npulse.core.run.discover import discover

    for area in ("precision", "overflow"):
        try:
            reports = area_of(area).reports_of(discover(run), options)  # type: ignore[arg-type]
            told = ["".join(render(one.report, "json", version="0")) for one in reports]
        except NpulseError as error:
            told = [str(error)]
        yield area, "\n".join(told)
    try:
        table = job_table([run], options).table  # type: ignore[arg-type]
        yield "merge", repr([(c.name, c.to_list(0, table.n_rows)) for c in table.columns])
    except NpulseError as error:
        yield "merge", str(error)


if __name__ == "__main__":
    sys.exit(main())
