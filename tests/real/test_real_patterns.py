"""Patterns in operator tables of real tools, against sums of a plain csv reader in exact decimals."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from npulse.core.formats.profiling.operators import read_operators
from npulse.core.performance.advice import Advice
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.patterns import advice_of_patterns
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile

pytestmark = pytest.mark.real


def advice_of(shared: Path, path: Path) -> dict[str, list[Advice]]:
    table = read_operators(path, root=shared)
    found: dict[str, list[Advice]] = {}
    for advice in advice_of_patterns(Profile("p", operators=table), usable(table), Criteria()):
        found.setdefault(advice.rule.removeprefix("performance."), []).append(advice)
    return found


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: value.strip().strip('"') for key, value in row.items()} for row in csv.DictReader(file)]


def total(rows: list[dict[str, str]]) -> float:
    return float(sum(Decimal(row["Duration(us)"]) for row in rows))


def level1(shared: Path) -> Path:
    folder = shared / "samples" / "profiling" / "real" / "pt_level1" / "rank0_ascend_pt"
    return folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"


def test_c47_operators_on_the_ai_cpu(shared: Path) -> None:
    (path,) = (shared / "cases" / "C47" / "mindstudio_profiler_output").glob("op_summary_*.csv")
    found = advice_of(shared, path)
    (advice,) = found["aicpu"]
    every = sum(Decimal(us) for row in rows_of(path) if (us := row["Task Duration(us)"]) not in ("N/A", ""))
    assert advice.figures["total_us"] == 237.4
    assert advice.figures["share_percent"] == pytest.approx(23740 / float(every), rel=1e-9)
    assert "237.4 us = 20.63 % of all operator time" in advice.message[0]
    assert (advice.figures["n_calls"], advice.figures["n_long_calls"]) == (2, 2)
    assert [one.subject for one in advice.related] == ["NonZero", "IndexPutV2"]
    assert (advice.severity, advice.cost_ns) == ("warning", 237_400)
    # conversions: 24.01 + 11.19 of 962.25 us without communication is below the limit
    assert set(found) == {"aicpu", "dynamic-shape", "precision-mode"}


def test_c45_nothing_outranks_the_gaps(shared: Path) -> None:
    """The case is host bound: no pattern may claim time, none is more than a note."""
    found = advice_of(shared, shared / "cases" / "C45" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert set(found) == {"dynamic-shape", "precision-mode"}
    for advice in (one for ones in found.values() for one in ones):
        assert (advice.severity, advice.cost_ns) == ("note", 0)


def test_level1_conversions(shared: Path) -> None:
    path = level1(shared)
    rows = [row for row in rows_of(path) if row["Accelerator Core"] != "HCCL"]
    conversions = [row for row in rows if row["Type"] in ("TransData", "Cast", "Transpose")]
    (advice,) = advice_of(shared, path)["conversion"]
    assert advice.figures["n_calls"] == len(conversions) == 66
    assert advice.figures["total_us"] == total(conversions)
    share = 100 * total(conversions) / total(rows)
    assert advice.figures["share_percent"] == pytest.approx(share, rel=1e-9) and round(share, 2) == 17.44
    vector = [row for row in rows if row["Accelerator Core"] in ("AI_VECTOR_CORE", "MIX_AIV")]
    share = 100 * total(conversions) / total(vector)
    assert advice.figures["vector_share_percent"] == pytest.approx(share, rel=1e-9)
    to_5hd = [
        row
        for row in conversions
        if row["Input Formats"] == "NCHW" and row["Output Formats"].startswith("NC1HWC0")
    ]
    first = advice.related[0]
    assert first.subject == "TransData NCHW -> NC1HWC0"
    assert (first.figures["n_calls"], first.figures["total_us"]) == (len(to_5hd), total(to_5hd))


def test_level1_round_trips(shared: Path) -> None:
    """By a plain loop over the file: the next TransData or Cast of the stream undoes it."""
    path = level1(shared)
    rows = [row for row in rows_of(path) if row["Accelerator Core"] != "HCCL"]
    undone = []
    for kind in ("TransData", "Cast"):
        for stream in {row["Stream ID"] for row in rows}:
            of_stream = [row for row in rows if row["Stream ID"] == stream]
            places = [i for i, row in enumerate(of_stream) if row["Type"] == kind]
            for i, j in zip(places, places[1:], strict=False):
                ends = []
                for row, side in (
                    (of_stream[i], "Input"),
                    (of_stream[j], "Output"),
                    (of_stream[i], "Output"),
                    (of_stream[j], "Input"),
                ):
                    layout = row[f"{side} Formats"].split(":")[0]
                    ends.append((row[f"{side} Shapes"], row[f"{side} Data Types"], layout))
                if j - i <= 5 and ends[0] == ends[1] and ends[2] == ends[3]:
                    undone.append((of_stream[i], of_stream[j]))
    (advice,) = advice_of(shared, path)["conversion-back"]
    assert advice.figures["n_pairs"] == len(undone) > 5
    unique = {id(row): row for pair in undone for row in pair}
    assert advice.figures["total_us"] == total(list(unique.values()))


def test_level1_precision_mode(shared: Path) -> None:
    path = level1(shared)
    matrix = [row for row in rows_of(path) if "MatMul" in row["Type"] or row["Type"].startswith("Conv2D")]
    (advice,) = advice_of(shared, path)["precision-mode"]
    no = [row for row in matrix if row["HF32 Eligible"] == "NO"]
    assert advice.figures["n_fp32_matrix_without_hf32"] == len(no)
    assert advice.figures["fp32_matrix_without_hf32_us"] == total(no)
    assert advice.figures["n_fp32_matrix_calls"] == len(matrix)


def test_level1_is_all_dynamic_and_its_block_dim_not_judged(shared: Path) -> None:
    found = advice_of(shared, level1(shared))
    assert found["dynamic-shape"][0].figures["n_static_calls"] == 0
    assert set(found) == {"dynamic-shape", "conversion", "conversion-back", "precision-mode"}


def test_level0_says_what_it_does_not_know(shared: Path) -> None:
    folder = shared / "samples" / "profiling" / "real" / "pt_level0" / "rank0_ascend_pt"
    found = advice_of(shared, folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert set(found) == {"conversion", "precision-mode", "pattern-unknown"}
    assert found["pattern-unknown"][0].figures["patterns"] == [
        "aicpu",
        "dynamic",
        "block-dim",
        "gather",
        "jitter",
    ]
    assert found["precision-mode"][0].role == "unknown"


def test_training_of_a_decoder(shared: Path) -> None:
    folder = shared / "samples" / "profiling" / "real" / "pt_level2_cann83" / "rank_0_ascend_pt"
    path = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    rows = rows_of(path)
    found = advice_of(shared, path)
    types = [row["Type"] for row in rows]
    pairs = [i for i in range(len(rows) - 1) if types[i : i + 2] == ["Add", "RmsNorm"]]
    (fused,) = found["fused-operator"]
    assert fused.figures["pattern"] == "add-rms-norm"  # RmsNorm, SwiGlu and attention run fused already
    assert fused.figures["n_sequences"] == len(pairs)
    assert fused.figures["total_us"] == pytest.approx(total([rows[i + j] for i in pairs for j in (0, 1)]))
    host, moving = found["fusible-sequence"]
    kinds = host.figures["operators"].split(" - ")
    assert kinds.count("Cos") == kinds.count("Sin") == 1 and "RotaryPositionEmbedding" in kinds
    n = sum(types[i : i + len(kinds)] == kinds for i in range(len(types)))
    assert host.figures["n_repeats"] == n == 10
    assert host.figures["busy_ratio"] < 0.4 < 0.8 < moving.figures["mte_ratio"]
    assert all(one.severity == "note" for ones in found.values() for one in ones)


def test_decode_of_a_large_model(shared: Path) -> None:
    folder = shared / "samples" / "profiling" / "real" / "llm_inference"
    path = folder / "qwen3-32b_dc_16tok.csv"
    rows = rows_of(path)
    found = advice_of(shared, path)
    (blocks,) = found["block-dim"]
    uneven = [
        row
        for row in rows
        if row["Accelerator Core"] == "AI_CORE" and int(row["Block Dim"]) % 24 and row["Input Shapes"]
    ]
    by_shapes: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in uneven:
        by_shapes.setdefault((row["Type"], row["Input Shapes"], row["Block Dim"]), []).append(row)
    long = [ones for ones in by_shapes.values() if max(float(row["Duration(us)"]) for row in ones) > 20]
    assert blocks.figures["n_calls"] == sum(map(len, long))
    assert blocks.figures["total_us"] == pytest.approx(sum(map(total, long)))
    idle = sum(
        Decimal(row["Duration(us)"]) * (24 - int(row["Block Dim"])) / 24 for ones in long for row in ones
    )
    assert blocks.figures["idle_core_us"] == pytest.approx(float(idle), abs=0.002)
    assert blocks.figures["is_core_number_inferred"] is True and blocks.figures["n_cores"] == 24
    (dynamic,) = found["dynamic-shape"]
    states = [row["OP State"] for row in rows if row["Accelerator Core"] != "COMMUNICATION"]
    assert dynamic.figures["n_dynamic_calls"] == states.count("dynamic") == 14
    assert dynamic.figures["n_static_calls"] == states.count("static")
    # fused kernels, stable times, no AI CPU: nothing of the kind may be told
    assert not {"fused-operator", "kernel-jitter", "aicpu", "conversion", "kv-gather"} & set(found)


def test_attention_of_old_times(shared: Path) -> None:
    """GPT of 2023 with single kernels; AI CPU casts that mostly run beside other work."""
    path = shared / "samples" / "profiling" / "real" / "old_headers" / "kernel_details_arithmetic_2023.csv"
    found = advice_of(shared, path)
    attention, add_norm = found["fused-operator"]
    assert attention.figures["operators"] == (
        "BatchMatMul - Mul - ScaledMaskedSoftmax - DropOutDoMask - AsStrided - BatchMatMul"
    )
    assert attention.figures["total_us"] == pytest.approx(45.5 + 15.14 + 91.84 + 26.34 + 12.52 + 46.0)
    assert add_norm.figures["n_sequences"] == 2
    (aicpu,) = found["aicpu"]
    assert (aicpu.severity, aicpu.figures["n_calls"]) == ("note", 5)
    assert aicpu.figures["alone_us"] < aicpu.figures["total_us"]
    assert "conversion" not in found


def test_every_sample_is_taken(shared: Path) -> None:
    """No table of any release or chip may break it; each advice has both languages and a rule."""
    n = 0
    for pattern in ("op_summary*.csv", "kernel_details*.csv"):
        for path in sorted((shared / "samples" / "profiling").rglob(pattern)):
            for ones in advice_of(shared, path).values():
                for advice in ones:
                    assert all(advice.message) and advice.cost_ns >= 0
                    n += 1
    assert n > 40
