"""What reading a large table costs: CPU against pandas on all columns, and memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npulse

from ...paired import median_within

pytestmark = [pytest.mark.budget, pytest.mark.alone]

N_ROWS = 200_000
MAX_RATIO = 2
"""Of CPU to pandas' C reader, each in a process of its own with its imports; about 1."""
GROWTH_MB = 50
"""200,000 rows of 7 columns take 10 MB."""

OURS = """
import json, re, resource, sys
from pathlib import Path
from npulse.core.formats.profiling.tables import read_table
def peak_kb():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
start_kb = peak_kb()
table = read_table(Path(sys.argv[1]))
reserved = table.find("Total Reserved(MB)").values.sum()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime, "growth_mb": (peak_kb() - start_kb) / 1024,
                  "rows": table.n_rows, "sum": round(reserved, 3), "problems": len(table.problems)}))
"""
PANDAS = """
import json, resource, sys
import pandas
frame = pandas.read_csv(sys.argv[1], engine="c")
reserved = frame["Total Reserved(MB)"].sum()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime, "sum": round(reserved, 3)}))
"""


def run(script: str, *words: str) -> dict[str, float]:
    command = [sys.executable, "-c", script, *words]
    env = {**os.environ, "PYTHONPATH": str(Path(npulse.__file__).parents[1])}
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=env).stdout
    found: dict[str, float] = json.loads(told)
    return found


def rows() -> Iterator[str]:
    rng = random.Random(1)
    start_ns = 1736408883573957920
    for _ in range(N_ROWS):
        start_ns += rng.randrange(1000, 20_000_000)
        yield (
            f"{rng.choice(('APP', 'PTA', 'GE', 'PTA+GE'))},{start_ns // 1000}.{start_ns % 1000:03}\t,"
            f"{rng.random() * 9000:.10f},{rng.randrange(9000)}.5,{rng.random() * 9000:.10f}"
            ",897357296,NPU:0\r\n"
        )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory_record of 200,000 rows, some 16 MB."""
    path = tmp_path_factory.mktemp("tables") / "memory_record.csv"
    with path.open("w", newline="") as file:
        file.write(
            "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,"
            "Device Type\r\n"
        )
        file.writelines(rows())
    return path


def test_a_large_table_against_pandas(path: Path) -> None:
    def ratio() -> float:
        ours, pandas = run(OURS, str(path)), run(PANDAS, str(path))
        assert (ours["rows"], ours["problems"], ours["sum"]) == (N_ROWS, 0, pandas["sum"])
        assert ours["growth_mb"] <= GROWTH_MB
        return float(ours["cpu_s"] / pandas["cpu_s"])

    holds, ratios = median_within(MAX_RATIO, ratio)
    assert holds, ratios
