"""What the analysis of a long log costs: 100 MB with 100,000 records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .logs_by_hand import SEEN, START

pytestmark = pytest.mark.budget

N_RECORDS = 100_000
N_PLACES = 400
LEAST_BYTES = 100_000_000
CPU_S = 6.0
PEAK_MB = 250
FIRST_S = 1.0
"""Until the first sites are there. CPU seconds: others may use the machine."""

MEASURE = """
import json, resource, sys, time
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
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([spent, peak, first[0], report.found.n_faults, len(report.found.sites)]))
"""


def record(n: int) -> str:
    """One record of about 1 KB: an access at one of 400 places, every 1,000th a single other one."""
    line = 10_000 + n if n % 1000 == 999 else n % N_PLACES + 1
    folder = "/workspace/user/very/long/path/of/a/build/host/ops/flash_attention_score_bf16/op_kernel"
    frames = "".join(
        f"======    #{i} {folder}/{name}:{line + 40 * i}:{9 + i}\n"
        for i, name in enumerate(
            (
                "flash_attention_score_bf16.cpp",
                "flash_attention_score_s1_bn2gs1.h",
                "kernel_operator_tiling.h",
            )
            + ("flash_attention_score_entry_regbase.h", "flash_attention_var_len_score.h", "main_entry.cpp")
        )
    )
    return (
        f"====== ERROR: illegal {'read' if n % 3 else 'write'} of size {32 * (n % 7 + 1)}\n"
        f"======    at {0x12C0C0000000 + 512 * n:#x} on GM in flash_attention_score_bf16\n"
        f"======    in block aiv({n % 48}) on device {n % 8}\n"
        f"======    code in pc current {0x600 + 4 * line:#x} (serialNo:{n + 1})\n{frames}\n"
    )


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "check.log"
    start = START.replace("add_custom", "flash_attention_score_bf16")
    with path.open("w", encoding="utf-8") as file:
        file.write(start)
        for n in range(N_RECORDS):
            file.write(record(n))
        file.write(SEEN.replace("add_custom", "flash_attention_score_bf16"))
    return path


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
    assert n_sites == 2 * N_PLACES + N_RECORDS // 1000, "reads, writes, and the single ones"
    assert spent <= CPU_S and peak <= PEAK_MB and first <= FIRST_S
