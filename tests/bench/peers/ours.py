"""npulse's side of the works that no command does alone; run as a program: python ours.py WHAT PATH.

Its last line tells, as JSON, what it measured itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

REPO = Path(__file__).resolve().parents[3]
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy loads its BLAS
sys.path[:0] = [str(REPO / "src"), str(REPO / "tests" / "bench"), str(REPO)]

Told = Mapping[str, float]


def statistics(folder: Path) -> Told:
    """Two captures read, paired, judged; findings and table made."""
    from npulse.core.precision.compare import Settings, compare_captures
    from npulse.core.precision.report import report
    from npulse.core.run.sides import pair_of

    comparison = compare_captures(pair_of(folder / "target", folder / "golden"), Settings())
    report(comparison, tables=False)
    return {"n_rows": sum(rank.rows.n_rows for rank in comparison.ranks)}


def top(folder: Path) -> Told:
    """The 20 operator types with most time."""
    from npulse.core.formats.profiling.type_sums import read_type_sums

    sums = read_type_sums(next(folder.glob("*.csv")))
    most = sorted(sums.types, key=lambda total: -total.total_ns)[:20]
    return {"n_rows": sums.n_rows, "n_types": len(most)}


def rows(folder: Path) -> Told:
    """A table opened to look at any of its rows, beside counting its lines."""
    from npulse.core.formats.profiling.row_index import index_rows

    path = next(folder.glob("*.csv"))
    ratio = median(_cpu_s(lambda: index_rows(path)) / _cpu_s(lambda: _count_lines(path)) for _ in range(5))
    index = index_rows(path)
    costs = []
    for place in range(1, 10):
        begun = time.process_time()
        shown = index.rows(index.n_rows * place // 10, 60)
        _ = [shown.column(name) for name in shown.columns]
        costs.append(time.process_time() - begun)
    return {"index_of_count": ratio, "rows_60_ms": median(costs) * 1e3}


def _count_lines(path: Path) -> int:
    with path.open("rb", buffering=0) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def appended(folder: Path) -> Told:
    """More rows of a table into its totals, which hold all before them."""
    from npulse.core.formats.profiling.type_sums import TypeSummer

    raw = next(folder.glob("*.csv")).read_bytes()
    summer = TypeSummer()
    summer.begin("table")
    summer.feed(raw)
    summer.sums()
    lines = raw.splitlines(keepends=True)
    told = {}
    for n in (100, 10_000):
        more = b"".join((lines[1:] * (n // (len(lines) - 1) + 1))[:n])
        costs = [_cpu_s(lambda: (summer.feed(more), summer.sums())) for _ in range(9)]  # noqa: B023
        told[f"rows_{n}_ms"] = median(costs) * 1e3
    return told


def dump(folder: Path) -> Told:
    """Every record of a dump.json, one after another."""
    from npulse.core.formats.msprobe.dump import iter_calls

    return {"n": sum(1 for _ in iter_calls(next(folder.rglob("dump.json"))))}


def timelines(folder: Path) -> Told:
    from npulse.core.formats.profiling.trace_timeline import read_timelines

    return {"n": sum(len(timeline.tasks) for timeline in read_timelines(folder / "trace_view.json"))}


def groups(folder: Path) -> Told:
    """Every record of a report, grouped by place of the code."""
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.memory.run_report import report_of

    return {"n": len(report_of([folder], AnalysisOptions()).report.findings)}


def kernel_compiled(folder: Path) -> Told:
    """As `kernel`, with the compiled loops, which a process loads where there is much to compare."""
    from npulse.core.precision.blocks import compiled

    if not compiled.load():
        raise SystemExit("the extra `compiled` is not installed")
    return kernel(folder)


def kernel(_: Path) -> Told:
    """The comparison of two arrays in memory, one thread, beside reading them once and whole arrays in
    float64."""
    from compare_kernel import make_pairs, read_once, whole_float64

    from npulse.core.formats.tensors import DTYPES
    from npulse.core.precision.blocks import compiled
    from npulse.core.precision.blocks.pair import compare_arrays

    compiled.LOAD_AFTER_BYTES = sys.maxsize  # loaded before, or not at all
    pairs = make_pairs(64 << 18)
    told = {}

    def ours(name: str, kind: str) -> float:
        return _cpu_s(lambda: compare_arrays(*pairs[name, kind], DTYPES[name], DTYPES[name]))

    def ratio_of(above: Callable[[], float], below: Callable[[], float]) -> float:
        return median(above() / below() for _ in range(5))

    for name in ("float32", "float16", "bfloat16"):
        ours(name, "ordinary")
    told["fp32_of_reading"] = ratio_of(
        lambda: _cpu_s(lambda: read_once(*pairs["float32", "ordinary"])), lambda: ours("float32", "ordinary")
    )
    for short, name in (("fp16", "float16"), ("bf16", "bfloat16")):
        told[f"{short}_of_float64"] = ratio_of(
            lambda: _cpu_s(lambda: whole_float64(*pairs[name, "ordinary"])),  # noqa: B023
            lambda: ours(name, "ordinary"),  # noqa: B023
        )
    for short, name, kind in (
        ("nan", "float32", "NaN 10 %"),
        ("subnormal", "float16", "subnormal 50 %"),
        ("zeros", "float32", "zeros 15 %"),
    ):
        told[f"{short}_of_ordinary"] = ratio_of(lambda: ours(name, kind), lambda: ours(name, "ordinary"))  # noqa: B023
    return told


def first_screen(_: Path) -> Told:
    """The workbench on the demo, in a terminal of its own, until its tab bar is on the line."""
    from tests.terminal.pty_screen import PtyProgram, plain_environ

    environ = plain_environ(LANG="C.UTF-8")
    with PtyProgram((sys.executable, "-m", "npulse", "demo"), environ, columns=120, rows=40) as program:
        program.read_until(rb"7 Rounds")
        return {"cpu_told_s": program.cpu_s()}


def textual_app(_: Path) -> Told:
    import textual.app

    return {"cpu_told_s": time.process_time(), "n": len(textual.app.__name__)}


def read_files(folder: Path) -> Told:
    """The tensor files read into one buffer, in two processes as the comparison has."""
    from concurrent.futures import ProcessPoolExecutor

    paths = sorted(folder.rglob("*.pt"))
    with ProcessPoolExecutor(2) as pool:
        return {"n_bytes": sum(pool.map(_read, (paths[0::2], paths[1::2])))}


def _read(paths: list[Path]) -> int:
    buffer = bytearray(4 << 20)
    n_bytes = 0
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while n := file.readinto(buffer):
                n_bytes += n
    return n_bytes


def _cpu_s(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


WHAT: dict[str, Callable[[Path], Told]] = {
    "statistics": statistics,
    "top": top,
    "rows": rows,
    "appended": appended,
    "dump": dump,
    "timelines": timelines,
    "groups": groups,
    "kernel": kernel,
    "kernel_compiled": kernel_compiled,
    "first_screen": first_screen,
    "textual_app": textual_app,
    "read_files": read_files,
}

if __name__ == "__main__":
    print(json.dumps(dict(WHAT[sys.argv[1]](Path(sys.argv[2])))))
