"""Cost of grouping the faults of a long msSanitizer log, and how it grows; beside a regex on each line.

    python tests/bench/group_faults.py [--records 10000,100000,400000]

CPU s and peak MB of `npulse.memory` in a fresh process, the wall seconds until the first sites are there, and
the CPU seconds of a loop that matches one expression against each line and keeps nothing. The log has about
1 KB a record (six frames), 400 places, and a single other place every 1,000 records.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "core" / "memory"))

from long_logs import write_log  # noqa: E402

OURS = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from npulse.core.api import memory
first = []
begun, started = time.process_time(), time.monotonic()
report = memory(Path(sys.argv[2]), on_update=lambda found: first.append(time.monotonic() - started))
spent = time.process_time() - begun
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps([spent, peak, first[0] if first else time.monotonic() - started, len(report.found.sites)]))
"""
THEIRS = r"""
import json, re, sys, time
line = re.compile(
    r"======\s+(?:(ERROR|WARNING): (.*)|at (0x[0-9a-f]+) on (\S+)|#(\d+) (.*):(\d+):(\d+)|(.*))"
)
begun, n = time.process_time(), 0
with open(sys.argv[2], encoding="utf-8") as file:
    for text in file:
        found = line.match(text)
        n += found is not None and found[1] is not None
print(json.dumps([time.process_time() - begun, n]))
"""


def measured(program: str, path: Path) -> list[float]:
    command = [sys.executable, "-c", program, str(REPO / "src"), str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: list[float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="grouping the faults of a long log")
    parser.add_argument("--records", default="10000,100000,400000")
    options = parser.parse_args()
    print("records      MB   CPU s  MB/CPU s  peak MB  first s   sites  regex CPU s  of regex")
    for n in map(int, options.records.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "check.log"
            write_log(path, n)
            spent, peak, first, n_sites = min(measured(OURS, path) for _ in range(3))
            (theirs, _) = min(measured(THEIRS, path) for _ in range(3))
            mb = path.stat().st_size / 1e6
        print(
            f"{n:7d} {mb:7.0f} {spent:7.2f} {mb / spent:9.0f} {peak:8.0f} {first:8.2f} {n_sites:7.0f}"
            f" {theirs:12.2f} {spent / theirs:9.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
