"""What the whole command costs over a large operator table: CPU and memory, and how both grow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import npulse

from ...bench.operator_tables import write_table

pytestmark = [pytest.mark.budget, pytest.mark.alone]

SMALL, LARGE = 12_000, 120_000
PEAK_MB = 220
"""About 170, of which some 70 are work space that grows no further: a million rows take below 500."""
CPU_S = 4.0  # about 1.3
GROWTH = 12

COMMAND = """
import contextlib, io, json, re, resource, sys
from pathlib import Path
from npulse.tui.cli.main import run
with contextlib.redirect_stdout(io.StringIO()) as told:
    code = run(["performance", sys.argv[1], "--no-cache"])
usage = resource.getrusage(resource.RUSAGE_SELF)
peak_kb = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps({"code": code, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_kb": peak_kb,
                  "n": len(told.getvalue())}))
"""


def cost(path: Path) -> dict[str, float]:
    """One run, a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(Path(npulse.__file__).parents[1])}
    words = [sys.executable, "-c", COMMAND, str(path)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def holds(start: dict[str, float], small: dict[str, float], large: dict[str, float]) -> bool:
    own = [max(one["cpu_s"] - start["cpu_s"], 0.05) for one in (small, large)]
    return large["cpu_s"] <= CPU_S and own[1] <= GROWTH * own[0]


def test_cost_is_linear_and_memory_bounded(tmp_path: Path) -> None:
    """The cheapest of up to five runs of each size: a disturbed start makes the small one too small."""
    paths = [tmp_path / f"op_summary_{20260801120000 + n_rows}.csv" for n_rows in (2, SMALL, LARGE)]
    for path, n_rows in zip(paths, (2, SMALL, LARGE), strict=True):
        write_table(path, n_rows)
    found = [cost(path) for path in paths]
    for _ in range(4):
        if holds(*found):
            break
        found = [
            min(one, cost(path), key=lambda run: run["cpu_s"]) for one, path in zip(found, paths, strict=True)
        ]
    start, small, large = found
    assert all(one["code"] == 0 and one["n"] > 500 for one in found)
    assert large["cpu_s"] <= CPU_S
    own = [max(one["cpu_s"] - start["cpu_s"], 0.05) for one in (small, large)]
    assert own[1] <= GROWTH * own[0]
    assert large["peak_kb"] <= PEAK_MB * 1024
