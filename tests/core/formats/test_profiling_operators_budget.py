"""What reading operator tables costs: CPU against pandas on the same columns, memory, the first page."""

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

N_ROWS = 100_000
MAX_RATIO = 1.0
"""Of CPU to pandas' C reader with only these columns, each in a process of its own; about 0.8."""
GROWTH_FEW_MB = 25
GROWTH_ALL_MB = 75  # 100,000 rows of 46 columns take 37 MB
FIRST_PAGE_CPU_S = 0.3

PIPES = ("mac", "scalar", "mte1", "mte2", "fixpipe")
HEADER = ",".join(
    (
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us)",
        "Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes",
        "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID",
        "aicore_time(us),aic_total_cycles",
        *(f"aic_{pipe}_time(us),aic_{pipe}_ratio" for pipe in PIPES),
        "aic_icache_miss_rate,aiv_time(us),aiv_total_cycles",
        *(f"aiv_{pipe}_time(us),aiv_{pipe}_ratio" for pipe in ("vec", "scalar", "mte2", "mte3")),
        "aiv_icache_miss_rate,cube_utilization(%)",
    )
)
TYPES = ("MatMulV2", "Add", "Cast", "Mul", "RmsNorm", "Slice", "SwiGlu", "FlashAttentionScore", "Transpose")

OURS = """
import json, re, resource, sys, time
from pathlib import Path
import numpy as np
import npulse.core.formats.profiling.operators as operators
def peak_kb():  # of this program alone: ru_maxrss would begin with what the process before exec had
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
start_kb = peak_kb()
began_s = time.process_time()
columns = json.loads(sys.argv[2])
if sys.argv[3] == "first":
    table = operators.first_rows(Path(sys.argv[1]), 60)
else:
    table = operators.read_operators(Path(sys.argv[1]), columns=columns)
sums = {}
if columns:
    ns = table.values("duration_ns")
    is_there = ~table.is_absent("duration_ns")
    totals = np.bincount(table.values("op_type")[is_there], ns[is_there])
    sums = {table.texts("op_type")[i]: int(totals[i]) for i in np.argsort(-totals)[:20].tolist()}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime, "read_cpu_s": time.process_time() - began_s,
                  "growth_mb": (peak_kb() - start_kb) / 1024, "rows": table.n_rows, "sums": sums}))
"""
PANDAS = """
import json, resource, sys
import pandas
names = ["Op Name", "OP Type", "Task Type", "Task Duration(us)"]
frame = pandas.read_csv(sys.argv[1], usecols=names, engine="c")
sums = frame.groupby("OP Type")["Task Duration(us)"].sum().nlargest(20)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime,
                  "sums": {name: round(us * 1000) for name, us in sums.items()}}))
"""
FEW = ["name", "op_type", "core_type", "duration_ns"]


def run(script: str, *words: str) -> dict[str, object]:
    command = [sys.executable, "-c", script, *words]
    env = {**os.environ, "PYTHONPATH": str(Path(npulse.__file__).parents[1])}
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=env).stdout
    found: dict[str, object] = json.loads(told)
    return found


def rows() -> Iterator[str]:
    rng = random.Random(1)
    start_ns = 1785556800000000000
    for task in range(N_ROWS):
        op_type = rng.choice(TYPES)
        duration_ns = rng.randrange(1000, 900_000)
        start_ns += duration_ns + rng.randrange(200_000)
        is_cube = op_type.startswith("M")
        pmu = ",".join(
            f"{rng.random() * duration_ns / 1000:.3f},{rng.random():.3f}" if is_cube else "0.0,0.0"
            for _ in range(12)
        )
        yield (
            f"0,4294967295,{task % 65536},2,aclnn{op_type}_{op_type}AiCore,{op_type},dynamic,AI_CORE,"
            f"{start_ns // 1000}.{start_ns % 1000:03}\t,{duration_ns / 1000:.3f},0.250000,24,0,NO,"
            f'"""4096,{len(op_type)};1,4096""",DT_BF16;DT_BF16,ND;ND,"""4096,4096""",DT_BF16,ND,N/A,'
            f"{pmu},0.000\n"
        )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 100,000 rows, some 34 MB."""
    path = tmp_path_factory.mktemp("operators") / "op_summary_20260801120500.csv"
    with path.open("w") as file:
        file.write(HEADER + "\n")
        file.writelines(rows())
    return path


def test_the_columns_of_a_top_list_against_pandas(path: Path) -> None:
    def ratio() -> float:
        ours = run(OURS, str(path), json.dumps(FEW), "all")
        pandas = run(PANDAS, str(path))
        assert ours["rows"] == N_ROWS
        assert ours["sums"] == pandas["sums"]
        assert float(str(ours["growth_mb"])) <= GROWTH_FEW_MB
        return float(str(ours["cpu_s"])) / float(str(pandas["cpu_s"]))

    holds, ratios = median_within(MAX_RATIO, ratio)
    assert holds, ratios


def test_all_columns_stay_small(path: Path) -> None:
    ours = run(OURS, str(path), "null", "all")
    assert (ours["rows"], float(str(ours["growth_mb"])) <= GROWTH_ALL_MB) == (N_ROWS, True)


def test_the_first_page_does_not_wait_for_the_file(path: Path) -> None:
    first = run(OURS, str(path), "null", "first")
    assert first["rows"] == 60
    assert float(str(first["read_cpu_s"])) <= FIRST_PAGE_CPU_S
