"""One comparison in a fresh process, measured from within; prints its figures as one line of JSON.

    python tests/bench/one_comparison.py FOLDER [--jobs 1] [--first-read-only] [--report]
    python tests/bench/one_comparison.py FOLDER --sum      (only np.sum of the same files)

FOLDER holds `target` and `golden`. Memory and bytes read are those of the comparison alone: what importing
takes is measured before and taken off. Bytes read by worker processes are in it, with what they import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy loads its BLAS
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first-read-only", action="store_true")
    parser.add_argument("--report", action="store_true", help="findings and table too")
    parser.add_argument("--sum", action="store_true")
    options = parser.parse_args()
    if options.sum:
        import numpy  # noqa: F401
    else:
        from npulse.core.precision import compare, report, table  # noqa: F401
    start_mb, start_bytes, start_s, start_cpu_s = memory_mb("VmRSS"), bytes_read(), time.monotonic(), cpu_s()
    counts = add_up(options.folder) if options.sum else compare_pair(options)
    print(
        json.dumps(
            {
                "wall_s": time.monotonic() - start_s,
                "cpu_s": cpu_s() - start_cpu_s,
                "start_cpu_s": start_cpu_s,
                "start_mb": start_mb,
                "peak_mb": memory_mb("VmHWM"),
                "worker_peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6,
                "bytes_read": bytes_read() - start_bytes,
                **counts,
            }
        )
    )


def compare_pair(options: argparse.Namespace) -> dict[str, int]:
    from npulse.core.precision.compare import Settings, compare_captures
    from npulse.core.precision.report import report
    from npulse.core.run.sides import pair_of

    pair = pair_of(options.folder / "target", options.folder / "golden")
    settings = Settings(jobs=options.jobs, second_read=not options.first_read_only)
    comparison = compare_captures(pair, settings)
    if options.report:
        report(comparison, tables=True)
    rows = [rank.rows for rank in comparison.ranks]
    return {
        "n_rows": sum(r.n_rows for r in rows),
        "n_measured": sum(int(r.computed["rel_l2"].sum()) for r in rows),
        "n_examined": sum(len(r.examinations) for r in rows),
        "n_problems": len(comparison.problems),
    }


def add_up(folder: Path) -> dict[str, int]:
    """np.sum of each file: the least that anyone does who looks at all elements."""
    import numpy as np

    n_files = 0
    for path in folder.rglob("*.npy"):
        values = np.load(path)
        np.sum(values.view(np.uint16) if values.dtype.kind == "V" else values)
        n_files += 1
    return {"n_files": n_files}


def cpu_s() -> float:
    """CPU time of this process and of the workers that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def memory_mb(field: str) -> float:
    """VmRSS (now) or VmHWM (the most so far) of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field + ":"))


def bytes_read() -> int:
    """What read calls have brought, from the disk or its cache; workers that have ended count too."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))


if __name__ == "__main__":
    main()
