"""Results of msOpProf: the file of a real card, and results in the form of the vendor's documentation."""

from __future__ import annotations

import csv
import json
import math
import statistics
import struct
from pathlib import Path
from typing import Any

import pytest

from npulse.core.formats.opprof.kernels import read_kernels
from npulse.core.formats.opprof.records import KernelProfile
from npulse.core.performance.kernel.advice import advice_of_kernel, summary_of
from npulse.core.performance.kernel.cores import cores_of

BIN = ("samples", "profiling", "real", "opprof", "visualize_data.bin")
SYNTHETIC = ("samples", "profiling", "synthetic")


@pytest.fixture(scope="module")
def kernel(shared: Path) -> KernelProfile:
    (found,) = read_kernels(shared.joinpath(*BIN), root=shared)
    return found


@pytest.fixture(scope="module")
def plain(shared: Path) -> dict[int, Any]:
    """Kind -> JSON, by a few lines of its own."""
    raw = shared.joinpath(*BIN).read_bytes()
    found: dict[int, Any] = {}
    while raw:
        size, kind, padding = struct.unpack("<QBB", raw[:10])
        found[kind] = json.loads(raw[12 : 12 + size - padding])
        raw = raw[12 + size :]
    return found


def test_all_blocks_are_read(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    assert kernel.problems == () and kernel.parts == dict.fromkeys(plain, 1)
    assert set(plain) == {5, 6, 7, 8, 9, 12}


def test_the_basics_are_those_of_the_file(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    basic = plain[5]
    assert kernel.duration_us == basic["duration"] == 300.0660095214844
    assert (kernel.name, kernel.soc, kernel.op_type) == (basic["name"], "Ascend910B4", "mix")
    assert (kernel.block_dim, kernel.mix_block_dim, kernel.device, kernel.pid) == (2, 4, 0, 1112422)
    rows = [list(map(float, row["value"])) for row in basic["mix_block_detail"]["row"]]
    told = [[t.duration_us for t in kernel.block_times if t.block_id == block] for block in (0, 1)]
    assert told == [row[1:] for row in rows]
    assert [t.core for t in kernel.block_times[:3]] == ["cube0", "vector0", "vector1"]


def test_cycles_are_the_same_in_every_block_of_the_file(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    cores = cores_of(kernel)
    by_core = {(int(b), n): c for b, n, c in zip(cores.blocks, cores.names, cores.cycles, strict=True)}
    for item in plain[8]["core_memory_map"]:
        for key, name in (("Cube", "cube0"), ("Vector", "vector0"), ("Vector1", "vector1")):
            assert by_core[int(item["core_no"]), name] == item[key]["total_cycles"]
    for item in plain[12]["op_detail"]:
        for detail in item["core_detail"]:
            name = f"{detail['subcore_type']}{detail['subcore_id']}"
            assert by_core[item["core_id"], name] == int(detail["cycles"])
    # cycles over the clock of a 910B4 (1,650 MHz) are the times of the first block
    for time, cycles in zip(cores.time_us, cores.cycles, strict=True):
        assert cycles / 1650 == pytest.approx(time, rel=1e-6)


def test_every_row_of_every_table_is_there(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    n_rows = sum(len(t["row"]) for b in plain[9]["table_per_block"] for t in b["table_detail"])
    assert len(kernel.figures) == n_rows
    assert len(kernel.computes) == len(plain[6]["subblock_detail"]) + len(plain[7]["subblock_detail"])
    assert len(kernel.paths) == sum(len(m["memory_unit"]) for m in plain[8]["core_memory_map"])
    scalar = [p.active_percent for p in kernel.pipes if (p.core, p.pipe) == ("cube0", "scalar")]
    tables = [
        t for b in plain[9]["table_per_block"] for t in b["table_detail"] if t["table_name"] == "Pipe Cube"
    ]
    assert scalar == [float(row["value"][3]) for t in tables for row in t["row"] if row["name"] == "Scalar"]


def test_the_tools_words_stay_its_own(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    told = [text for item in plain[8]["core_memory_map"] for text in item["advice"]]
    told += [text for item in plain[9]["table_per_block"] for text in item["advice"]]
    told += [
        "core1 vector1 took more time than other core.",
        "core0 vector1 cache hit rate lower than other core.",
    ]
    assert [said.text for said in kernel.advice] == told


def test_what_is_computed_agrees_with_the_tool(kernel: KernelProfile, plain: dict[int, Any]) -> None:
    """Where the tool says compute use or bandwidth is low, so do we, on the same cores."""
    found = list(advice_of_kernel(kernel))
    use = [
        (a.figures["busy_percent"], a.figures["n_cores_below"])
        for a in found
        if a.rule.endswith("kernel-use")
    ]
    blocks = plain[8]["core_memory_map"]
    cube = statistics.mean(block["Cube"]["ratio"] for block in blocks)
    vector = statistics.mean(block[key]["ratio"] for block in blocks for key in ("Vector", "Vector1"))
    assert use == [(pytest.approx(cube), 2), (pytest.approx(vector), 4)]
    slow = {a.figures["pipe"]: a.figures["speed_ratio"] for a in found if a.rule.endswith("kernel-pipe-slow")}
    share = {
        b["block_id"]: {
            r["name"]: float(r["value"][3])
            for t in b["table_detail"]
            if t["table_name"] == "Pipe Cube"
            for r in t["row"]
        }
        for b in plain[9]["table_per_block"]
    }
    peak = {b["core_no"]: {m["memory_path"]: m["peak_ratio"] for m in b["memory_unit"]} for b in blocks}
    for pipe, row, path in (("mte2", "MTE2", 2), ("fixpipe", "FIXP", 10)):
        expected = statistics.mean(float(peak[b][path]) / share[b][row] for b in ("0", "1"))
        assert slow.pop(pipe) == pytest.approx(expected)
    assert slow == {}, "pipes that are hardly ever busy are not spoken of"


def test_what_this_kernel_suffers_from(kernel: KernelProfile) -> None:
    found = {a.rule.removeprefix("performance.kernel-"): a for a in advice_of_kernel(kernel)}
    assert {"bound", "uneven", "tail", "few-cores", "tool"} <= set(found)
    uneven = found["uneven"]
    vector = [219790, 408574, 220004, 409526]
    assert (
        uneven.figures["mean_cycles"] == statistics.mean(vector) and uneven.figures["worst_cycles"] == 409526
    )
    z = (409526 - statistics.mean(vector)) / statistics.pstdev(vector)
    assert uneven.figures["score"] == pytest.approx(1 / (1 + math.exp(-z)))
    assert uneven.figures["cores_off"] == ["core1 vector1", "core0 vector1"]
    times = [133.206055, 247.620605, 133.335754, 248.197571]
    assert found["tail"].figures["tail_us"] == pytest.approx(248.197571 - statistics.median(times))
    summary = summary_of(kernel)
    assert summary.bound == "scalar" and summary.n_cores == 6
    assert summary.spread_percent == pytest.approx((409526 - 219790) / statistics.mean(vector) * 100)
    assert summary.pipes["cube.scalar"] == pytest.approx(0.9650841, abs=1e-6)
    hits, misses = 66845 + 71104, 6976 + 2692
    assert summary.l2_hit_percent == pytest.approx(hits / (hits + misses) * 100)


# ---- the form of the documentation ----


def rows_of(shared: Path, kernel: KernelProfile, name: str) -> list[dict[str, str]]:
    with (shared / kernel.sources[name]).open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_cell_of_every_table(shared: Path) -> None:
    kernels = {k.folder: k for k in read_kernels(shared.joinpath(*SYNTHETIC), root=shared)}
    assert len(kernels) == 4 and all(k.problems == () for k in kernels.values())
    n_cells = 0
    for kernel in kernels.values():
        for table in kernel.tables.values():
            rows = rows_of(shared, kernel, table.name)
            assert len(rows) == table.n_rows
            for metric in table.metrics.values():
                for row, value in zip(rows, metric.values.tolist(), strict=True):
                    n_cells += 1
                    told = row[metric.header]
                    assert math.isnan(value) if told == "NA" else value == float(told)
            assert [row.get("sub_block_id", "") for row in rows] == list(table.cores)
            assert len(table.metrics) == len(
                [n for n in rows[0] if n and n not in ("block_id", "sub_block_id")]
            )
    assert n_cells > 1000


def test_the_layouts(shared: Path) -> None:
    flat, many, simulator, unsplit = read_kernels(shared.joinpath(*SYNTHETIC), root=shared)
    assert (flat.name, flat.op_type, flat.duration_us, flat.soc) == (
        "add_custom_0",
        "vector",
        9.38,
        "Ascend910B4",
    )
    assert (many.name, many.index, many.device) == ("matmul_leakyrelu_custom_0_mix_aic", 0, 0)
    assert (many.block_dim, many.mix_block_dim, many.frequency_mhz, many.rated_mhz) == (2, 4, 800, 1650)
    assert (
        simulator.layout == "simulator" and simulator.lines is not None and simulator.instructions is not None
    )
    assert simulator.lines.cycles.sum() == 62388.5 + 29890.5 + 23936
    assert simulator.instructions.cycles.sum() == 12486 + 4037 + 2210 + 980 + 333
    assert simulator.instructions.addresses[0] == 301875152
    assert unsplit.op_type == "AiCore" and unsplit.mix_block_dim is None
    (core,) = cores_of(unsplit).kinds
    assert core == "aicore" and cores_of(unsplit).ratios["vector"][0] == 0.194749


def test_what_they_suffer_from(shared: Path) -> None:
    flat, many, simulator, unsplit = read_kernels(shared.joinpath(*SYNTHETIC), root=shared)

    def found(kernel: KernelProfile) -> dict[str, Any]:
        return {a.rule.removeprefix("performance.kernel-"): a for a in advice_of_kernel(kernel)}

    rows = rows_of(shared, flat, "PipeUtilization")
    vector = found(flat)
    assert "frequency" not in vector and "uneven" not in vector, "4 % apart is no imbalance"
    assert vector["few-cores"].figures["used_percent"] == 20
    assert vector["bound"].figures["bound"] == "mte2" and vector["bound"].figures["basis"] == "advisor"
    mte2 = statistics.mean(float(row["aiv_mte2_ratio"]) for row in rows)
    assert summary_of(flat).pipes["vector.mte2"] == pytest.approx(mte2)
    assert summary_of(flat).gm_gb_per_s == pytest.approx(8 * (12.125 + 5.5) * 1024 / 9.38 / 1000)
    mixed = found(many)
    assert mixed["frequency"].figures["drop_percent"] == pytest.approx((1 - 800 / 1650) * 100)
    assert mixed["outside"].figures["longest_core_us"] == 27033 / 800, (
        "cycles at the clock that it really had"
    )
    assert "not-judged" in mixed and "L2Cache" in mixed["not-judged"].message[0]
    assert found(simulator)["hot-line"].figures["share_percent"] == pytest.approx(
        62388.5 / (62388.5 + 29890.5 + 23936) * 100
    )
    assert found(unsplit)["l2"].figures["l2_hit_percent"] == 57.142857
