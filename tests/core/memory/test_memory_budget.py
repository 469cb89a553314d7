"""What the analysis of a long log costs: 100 MB with 100,000 records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .long_logs import N_PLACES, RARE_EVERY, write_log

pytestmark = pytest.mark.budget

N_RECORDS = 100_000
LEAST_BYTES = 100_000_000
CPU_S = 6.0
PEAK_MB = 250
FIRST_S = 1.0
"""Until the first sites are there. CPU seconds: others may use the machine."""

MEASURE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from npulse.core.api import memory
first = []
def note(found):
    if found.sites and not first:
        first.append(time.process_time() - begun)
begun = time.process_time()
report = memory(Path(sys.argv[2]), on_update=note)
spent = time.process_time() - begun
status = Path("/proc/self/status").read_text()  # getrusage would count what the tests' process had
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps([spent, peak, first[0], report.found.n_faults, len(report.found.sites)]))
"""


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "check.log"
    write_log(path, N_RECORDS)
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_long_log_within_time_and_memory(long_log: Path) -> None:
    assert long_log.stat().st_size >= LEAST_BYTES
    source = Path(__file__).resolve().parents[3] / "src"
    best: list[float] = []
    for _ in range(3):
        command = [sys.executable, "-c", MEASURE, str(source), str(long_log)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        taken = json.loads(done.stdout)
        best = min(best, taken) if best else taken
        if best[0] <= CPU_S and best[2] <= FIRST_S:
            break
    spent, peak, first, n_faults, n_sites = best
    assert n_faults == N_RECORDS
    assert n_sites == 2 * N_PLACES + N_RECORDS // RARE_EVERY, "reads, writes, and the single ones"
    assert spent <= CPU_S and peak <= PEAK_MB and first <= FIRST_S
