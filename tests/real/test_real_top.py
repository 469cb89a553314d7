"""What takes the time in tables of real tools: sums by csv and Decimal, and the tool's own totals."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.profiling.operators import OperatorTable, read_operators
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.bound import BOUNDS, group_bounds
from npulse.core.performance.operators.classes import classes_of
from npulse.core.performance.operators.moved_bytes import NO_BYTES, moved_of
from npulse.core.performance.operators.shares import sums_by_core
from npulse.core.performance.operators.top import Top, top
from npulse.core.performance.operators.top_advice import advice_of_top, tops_of
from npulse.core.performance.operators.usable import Usable, usable
from npulse.core.performance.profile import Profile

pytestmark = pytest.mark.real

PATTERNS = ("op_summary*.csv", "kernel_details*.csv", "qwen3*.csv")
RANKS = ("pt_level1/rank0_ascend_pt", "pt_level1/rank1_ascend_pt")
NAMES = {
    "type": ("Type", "OP Type"),
    "duration": ("Duration(us)", "Task Duration(us)"),
    "core": ("Accelerator Core", "Task Type"),
}


def files_of(shared: Path) -> list[Path]:
    folder = shared / "samples" / "profiling"
    return sorted(path for pattern in PATTERNS for path in folder.rglob(pattern))


def rows_of(path: Path) -> list[dict[str, str]]:
    """Whole rows by the standard library, under the names of this test."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    lines = list(csv.reader(text[: text.rindex("\n") + 1].splitlines(keepends=True)))
    header = [cell.strip() for cell in lines[0]]
    place = {key: header.index(next(n for n in names if n in header)) for key, names in NAMES.items()}
    return [
        {key: line[at].strip() for key, at in place.items()} for line in lines[1:] if len(line) == len(header)
    ]


def read(path: Path, shared: Path) -> tuple[OperatorTable, Usable, Top]:
    table = read_operators(path, root=shared)
    used = usable(table)
    return table, used, top(table, used)


def by_name(found: Top) -> dict[str, tuple[int, int]]:
    """Type -> (ns, calls)."""
    return {found.label(i): (int(found.total_ns[i]), int(found.calls[i])) for i in range(len(found))}


def test_totals_of_every_sample(shared: Path) -> None:
    n_typed = 0
    for path in files_of(shared):
        table, used, found = read(path, shared)
        assert used.n_set_aside == {} and used.n_stray_starts == 0, path
        expected: dict[str, list[Decimal]] = defaultdict(list)
        cores: dict[str, Decimal] = defaultdict(Decimal)
        for row in rows_of(path):
            expected[row["type"]].append(Decimal(row["duration"]) * 1000)
            cores["" if row["core"] == "N/A" else row["core"]] += Decimal(row["duration"]) * 1000
        # four decimals in the oldest files: each row is rounded to whole nanoseconds
        slack = len(table.line)
        assert abs(used.total_ns - sum((sum(v, Decimal(0)) for v in expected.values()), Decimal(0))) <= slack
        assert found.share_percent.sum() == pytest.approx(100)
        parts = sums_by_core(table, used)
        assert parts.keys() == cores.keys()
        assert all(abs(parts[core].total_ns - total) <= slack for core, total in cores.items())
        if "N/A" in expected:
            assert not found.has_types
            continue
        n_typed += 1
        groups = by_name(found)
        assert groups.keys() == expected.keys()
        for name, values in expected.items():
            assert groups[name][1] == len(values) and abs(groups[name][0] - sum(values, Decimal(0))) <= slack
    assert n_typed >= 20


@pytest.mark.parametrize("rank", RANKS)
def test_totals_are_those_of_the_tool(shared: Path, rank: str) -> None:
    folder = shared / "samples" / "profiling" / "real" / rank / "ASCEND_PROFILER_OUTPUT"
    table, used, found = read(folder / "kernel_details.csv", shared)
    groups = by_name(found)
    totals: dict[str, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    with (folder / "op_statistic.csv").open(newline="", encoding="utf-8") as file:
        statistic = list(csv.DictReader(file))
    for row in statistic:
        totals[row["OP Type"]][0] += Decimal(row["Total Time(us)"]) * 1000
        totals[row["OP Type"]][1] += Decimal(row["Count"])
    for name, (ns, calls) in totals.items():
        # the tool sums durations with more digits than it writes: a digit may differ
        assert groups[name][1] == calls and abs(groups[name][0] - ns) <= 20
    assert set(groups) - set(totals) == {"hcom_allReduce_"}
    # without communication the shares are those of the tool as well
    own = used.total_ns - groups["hcom_allReduce_"][0]
    for row in statistic:
        if sum(other["OP Type"] == row["OP Type"] for other in statistic) == 1:
            assert 100 * groups[row["OP Type"]][0] / own == pytest.approx(float(row["Ratio(%)"]), abs=0.0006)


def test_the_advisors_own_figures(shared: Path) -> None:
    folder = shared / "samples" / "profiling"
    advisor = json.loads((folder / "derived" / "advisor_agent.json").read_text(encoding="utf-8"))
    told = {
        row[0].strip().removeprefix("-- "): float(row[1])
        for row in advisor["message"]["Overall Summary"]["data"]
    }
    table, used, found = read(
        folder / "real" / RANKS[0] / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", shared
    )
    ms: dict[str, float] = defaultdict(float)
    for name, (ns, _) in by_name(found).items():
        kind = "Conv" if name.startswith("Conv") else "Matmul" if name.startswith("MatMul") else ""
        ms[kind] += ns / 1e6
    move = by_name(found)["TensorMove"][0] / 1e6
    assert move == pytest.approx(told["SDMA(Tensor Move)"], abs=0.0006)
    # it counts the format conversions of framework calls as theirs: never less than the kernels alone
    assert ms["Conv"] <= told["Conv"] and ms["Matmul"] <= told["Matmul"]
    communication = by_name(found)["hcom_allReduce_"][0] / 1e6
    assert used.total_ns / 1e6 - communication == pytest.approx(told["Computing Time"], abs=0.001)


def test_classes_and_bounds_of_a_training_step(shared: Path) -> None:
    folder = shared / "samples" / "profiling" / "real" / RANKS[0] / "ASCEND_PROFILER_OUTPUT"
    table, used, found = read(folder / "kernel_details.csv", shared)
    bounds = group_bounds(table, used, found)
    classes = classes_of(found, bounds.ratios)
    label = {found.label(i): i for i in range(len(found))}
    expected = {
        "hcom_allReduce_": ("communication", "unknown"),
        "ForeachAddList": ("vector", "mte2"),
        "TransData": ("move", "none"),
        "MatMulV2": ("cube", "mte2"),
        "Conv2DBackpropInput": ("cube", "mte1"),
        "TensorMove": ("move", "none"),
    }
    for name, (class_, bound) in expected.items():
        assert (classes.label(label[name]), bounds.label(label[name])) == (class_, bound), name
    # one ratio by hand: MatMulV2, MTE2 weighted by time
    with (folder / "kernel_details.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Type"] == "MatMulV2"]
    weight = sum(float(row["Duration(us)"]) for row in rows)
    mte2 = sum(float(row["Duration(us)"]) * float(row["aic_mte2_ratio"]) for row in rows) / weight
    used_cube = sum(float(row["Duration(us)"]) * float(row["cube_utilization(%)"]) for row in rows) / weight
    group = label["MatMulV2"]
    assert bounds.ratios[group, 4] == pytest.approx(mte2)
    assert bounds.utilization_percent[group] == pytest.approx(used_cube)
    moved = moved_of(table, used, found)
    assert 0 < moved.gb_per_s[group] < 1800 and moved.bytes[label["hcom_allReduce_"]] == NO_BYTES


def test_every_chip_and_every_metric_set(shared: Path) -> None:
    """Bounds where PipeUtilization was recorded, unknown for all other sets; all is said without an error."""
    folder = shared / "samples" / "profiling" / "synthetic" / "op_summary"
    for path in sorted(folder.rglob("op_summary*.csv")):
        table, used, found = read(path, shared)
        bounds = group_bounds(table, used, found)
        others = {
            "ArithmeticUtilization",
            "Memory",
            "MemoryL0",
            "MemoryUB",
            "ResourceConflictRatio",
            "L2Cache",
        }
        labels = {BOUNDS[code] for code in bounds.code}
        if any(path.parent.name.endswith(f"_{one}") for one in others):
            assert labels == {"unknown"} and np.isnan(bounds.ratios).all(), path
        else:
            assert labels - {"unknown"}, path
        profile = Profile("p", operators=table)
        rules = {one.rule for one in advice_of_top(profile, used, tops_of(profile, used), Criteria())}
        assert "performance.top-operators" in rules
