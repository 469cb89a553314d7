"""Making the timelines of a trace: CPU and peak memory, beside json.load and the bare reader, in turn.

    python tests/bench/read_timeline.py [--mb 100] [--rounds 3] [--names-last] [--trace FILE]

Each run is a process of its own. json.load is left out above 400 MB: it takes six times the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO))
MAX_JSON_BYTES = 400 << 20

from tests.core.formats.trace_files import write_timeline  # noqa: E402

RUN = """
import json, resource, sys, time
from pathlib import Path
from npulse.core.formats.profiling.trace import read_trace
from npulse.core.formats.profiling.trace_timeline import ARGS, read_timelines
how, path = sys.argv[1], Path(sys.argv[2])
began = time.process_time()
if how == "json.load":
    with path.open("rb") as file:
        n = len(json.load(file))
elif how == "read_trace":
    trace = read_trace(path, args=ARGS)
    n = sum(len(block.events.name) for block in trace)
else:
    n = sum(len(timeline.tasks) for timeline in read_timelines(path))
cpu_s = time.process_time() - began
peak_kb = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(json.dumps([n, cpu_s, peak_kb / 1024]))
"""


def run(how: str, path: Path) -> tuple[int, float, float]:
    command = [sys.executable, "-c", RUN, how, str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPO / "src").stdout
    n, cpu_s, peak_mb = json.loads(told)
    return n, cpu_s, peak_mb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--names-last", action="store_true", help="names of lanes behind their events")
    parser.add_argument("--trace", type=Path, help="a trace that is there, in place of a made one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.trace or Path(folder) / "trace_view.json"
        if options.trace is None:
            write_timeline(path, options.mb * 1_000_000 // 1580, names_last=options.names_last)
        n_bytes = path.stat().st_size
        ways = ["read_trace", "read_timelines", *(["json.load"] if n_bytes <= MAX_JSON_BYTES else [])]
        rounds = [[run(how, path) for how in ways] for _ in range(options.rounds)]
    print(f"{n_bytes / 1e6:,.0f} MB")
    print(f"{'':16}{'CPU s':>8}{'peak MB':>10}{'rows':>12}")
    for i, how in enumerate(ways):
        cpu_s, peak_mb = (median(one[i][k] for one in rounds) for k in (1, 2))
        print(f"{how:16}{cpu_s:8.2f}{peak_mb:10.0f}{rounds[0][i][0]:12,}")


if __name__ == "__main__":
    main()
