"""Memory of captures of any size, and how comparing scales with worker processes.

    python tests/bench/large_captures.py [--sizes 1GB,100GB] [--jobs 1,2,4]

The tensors of a capture are links to one file, so 100 GB a side need no room on the disk; they are read all
the same. Fails where the largest size takes more memory than the smallest by a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make_captures import bytes_of, write_linked

ONE = Path(__file__).with_name("one_comparison.py")
MOST_GROWTH = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description="memory and worker processes of large captures")
    parser.add_argument("--sizes", default="1GB,100GB", help="bytes of a side, with commas")
    n = os.cpu_count() or 1
    parser.add_argument("--jobs", default=",".join(str(j) for j in (1, 2, 4, 8) if j <= n))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    jobs = [int(word) for word in options.jobs.split(",")]
    print(
        f"{n} processors; a line: bytes a side, jobs, wall s, gain, CPU s, memory of npulse and of a worker"
    )
    peaks: dict[int, list[float]] = {job: [] for job in jobs}
    for size in options.sizes.split(","):
        with tempfile.TemporaryDirectory(prefix="npulse-bench-", dir=options.folder) as folder:
            write_linked(Path(folder), bytes_of(size))
            alone = 0.0
            for job in jobs:
                words = [sys.executable, str(ONE), folder, "--jobs", str(job)]
                text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
                used = json.loads(text)
                alone = alone or used["wall_s"]
                peaks[job].append(max(used["peak_mb"], used["worker_peak_mb"]))
                print(
                    f"{size:>6} {job:>3} {used['wall_s']:>8.1f} {alone / used['wall_s']:>5.2f}x "
                    f"{used['cpu_s']:>8.1f} {used['peak_mb']:>6.0f} MB {used['worker_peak_mb']:>6.0f} MB",
                    flush=True,
                )
    grown = [job for job, found in peaks.items() if found[-1] > MOST_GROWTH * found[0]]
    print(f"memory grows with the size: jobs {grown}" if grown else "memory does not grow with the size")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
