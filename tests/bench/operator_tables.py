"""Operator tables of any size: the Top list and the whole analysis, beside pandas (polars where it is there).

    python tests/bench/operator_tables.py [--rows 10000 100000 1000000] [--rounds 3]

Each run is a process of its own, in turn. CPU, wall time and peak memory hold the start of the interpreter.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "src")]

from tests.core.formats.test_profiling_operators_budget import HEADER, TYPES  # noqa: E402

END = """
import resource, json, re
from pathlib import Path
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([usage.ru_utime + usage.ru_stime, peak / 1024]))
"""
WAYS = {
    "npulse, sums by type": """
from npulse.core.formats.profiling.type_sums import read_type_sums
read_type_sums(Path(sys.argv[1]))
""",
    "npulse performance": """
from npulse.core.analysis import AnalysisOptions
from npulse.core.performance.run_report import report_of
report_of([Path(sys.argv[1])], AnalysisOptions())
""",
    "pandas, two columns": """
import pandas
frame = pandas.read_csv(sys.argv[1], usecols=["OP Type", "Task Duration(us)"])
frame.groupby("OP Type")["Task Duration(us)"].sum().nlargest(20)
""",
    "pandas, all columns": """
import pandas
frame = pandas.read_csv(sys.argv[1])
frame.groupby("OP Type")["Task Duration(us)"].sum().nlargest(20)
""",
    "polars, scan": """
import polars as pl
frame = pl.scan_csv(sys.argv[1], infer_schema_length=10000, null_values=["N/A"])
frame.group_by("OP Type").agg(pl.col("Task Duration(us)").sum()).collect()
""",
}


def write_table(path: Path, n_rows: int) -> None:
    """About 340 bytes a row, 46 columns, seeded."""
    rng = random.Random(1)
    start_ns = 1785556800000000000
    with path.open("w") as file:
        file.write(HEADER + "\n")
        for task in range(n_rows):
            op_type, duration_ns = rng.choice(TYPES), rng.randrange(1000, 900_000)
            start_ns += duration_ns + rng.randrange(200_000)
            pmu = ",".join(f"{rng.random() * duration_ns / 1000:.3f},{rng.random():.3f}" for _ in range(12))
            file.write(
                f"0,4294967295,{task % 65536},2,aclnn{op_type}_{op_type}AiCore,{op_type},dynamic,AI_CORE,"
                f"{start_ns // 1000}.{start_ns % 1000:03}\t,{duration_ns / 1000:.3f},0.250000,24,0,NO,"
                f'"""4096,{len(op_type)};1,4096""",DT_BF16;DT_BF16,ND;ND,"""4096,4096""",DT_BF16,ND,N/A,'
                f"{pmu},0.000\n"
            )


def run(script: str, path: Path) -> tuple[float, float, float]:
    """CPU s, wall s, peak MB."""
    began_s = time.perf_counter()
    env = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    command = [sys.executable, "-c", "import sys\nfrom pathlib import Path" + script + END, str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
    cpu_s, peak_mb = json.loads(told.splitlines()[-1])
    return cpu_s, time.perf_counter() - began_s, peak_mb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ways = {
        name: script
        for name, script in WAYS.items()
        if not name.startswith("polars") or importlib.util.find_spec("polars")
    }
    print(f"{'rows':>10}  {'':24}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}")
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "op_summary_20260801120500.csv"
            write_table(path, n_rows)
            rounds = [[run(script, path) for script in ways.values()] for _ in range(options.rounds)]
        for i, name in enumerate(ways):
            cpu_s, wall_s, peak_mb = (median(one[i][k] for one in rounds) for k in range(3))
            print(f"{n_rows:10,}  {name:24}{cpu_s:8.2f}{wall_s:8.2f}{peak_mb:9.0f}", flush=True)


if __name__ == "__main__":
    main()
