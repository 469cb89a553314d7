"""What making timelines out of a trace costs: CPU against the json module, how it grows, memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from ...paired import median_within
from .trace_files import write_timeline

pytestmark = [pytest.mark.budget, pytest.mark.alone]

ROOT = Path(__file__).resolve().parents[3]
SMALL, LARGE = 1_000, 10_000  # operators: 1.6 and 16 MB
MOST_GROWTH = 12  # times the CPU of a tenth of the trace
MOST_OF_JSON = 1.2
"""Of the CPU time of json.load; 0.9 here, 0.7 at 100 MB: that grows dearer with the file, this does not."""
MOST_MB = 12
"""Memory on top of a program that has read a small one, for 90,000 events; about 4."""

_READ = """
import json, re, sys, time
from pathlib import Path
from npulse.core.formats.profiling.trace_timeline import read_timelines
def peak_kb():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
how, paths = sys.argv[1], sys.argv[2:]
if how == "ours":
    read_timelines(Path(paths[0]))  # what the reader takes whatever the size
start_kb, cpu_s, n = peak_kb(), [], 0
for path in paths:
    began = time.process_time()
    if how == "json":
        with open(path, "rb") as file:
            n = len(json.load(file))
    else:
        (timeline,) = read_timelines(Path(path))
        n = len(timeline.tasks)
        parts = (timeline.launches, timeline.framework, timeline.recorded["Computing"][0])
        assert [len(part) for part in parts] == [n] * 3 and not timeline.problems
    cpu_s.append(time.process_time() - began)
print(json.dumps([n, cpu_s, (peak_kb() - start_kb) / 1024]))
"""


def run(how: str, *paths: Path) -> tuple[int, list[float], float]:
    command = [sys.executable, "-c", _READ, how, *map(str, paths)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT / "src", timeout=120)
    n, cpu_s, growth_mb = json.loads(told.stdout)
    return n, cpu_s, growth_mb


@pytest.fixture(scope="module", params=[False, True], ids=["names first", "names last"])
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("timelines")
    small, large = folder / "small.json", folder / "large.json"
    for path, n_operators in ((small, SMALL), (large, LARGE)):
        write_timeline(path, n_operators, names_last=request.param)
    return small, large


def test_cost_grows_with_the_file_and_stays_near_the_parser(paths: tuple[Path, Path]) -> None:
    small, large = paths
    growth = []

    def against_json() -> float:
        n, (small_s, large_s), growth_mb = run("ours", small, large)
        assert n == LARGE and growth_mb <= MOST_MB
        growth.append(large_s / small_s)
        return large_s / run("json", large)[1][0]

    holds, ratios = median_within(MOST_OF_JSON, against_json)
    assert holds, ratios
    assert median(growth) <= MOST_GROWTH, growth
