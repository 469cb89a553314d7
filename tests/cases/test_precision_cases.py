"""Small inputs from the field, each with an expect.md: the right values, and what must not be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import PrecisionReport, compare
from npulse.core.precision.alone import check_alone
from npulse.core.precision.run_report import report_of
from npulse.core.run.discover import discover

from .values import expected


def rows(report: PrecisionReport) -> dict[str, dict[str, Any]]:
    """Table rows of the first rank by leaf name."""
    table = report.report.tables["precision"]
    found = [table.row(i) for i in range(table.n_rows)]
    return {row["target"] or row["golden"]: row for row in found if row["rank"] in (None, 0)}


def run(case: Path) -> PrecisionReport:
    return compare(case / "target", case / "golden", tables=True)


def roles_of(report: PrecisionReport, *, operator: str) -> set[str]:
    return {row["role"] for row in rows(report).values() if operator in row["operator"]}


def test_c01_first_differing_module_inside_a_layer(shared: Path) -> None:
    case = shared / "cases" / "C01"
    want, report = expected(case), run(case)
    found, tolerance = rows(report), want["cosine_tolerance"]
    origins = [f for f in report.findings if f.role == "origin"]
    assert [f.subject for f in origins] == [want["first_diff_op"]]
    assert report.findings[0] is origins[0]
    for i in range(3):
        row = found[f"{want['first_diff_op']}.input.{i}"]
        assert (row["n_different"], row["verdict"], row["reason"]) == (0, "pass", "equal")
    assert origins[0].figures["cosine"] == pytest.approx(
        want["layer0_core_attention_output_cosine"], abs=tolerance
    )
    layer0 = "Module.module.decoder.layers.0.self_attention.linear_proj.RowParallelLinear.forward.0"
    assert found[f"{layer0}.output.0"]["cosine"] == pytest.approx(
        want["layer0_linear_proj_output_cosine"], abs=tolerance
    )
    assert found[f"{layer0}.parameters.weight"]["n_different"] == 0
    assert roles_of(report, operator=layer0) <= {"inherited", "ok"}
    assert found[f"{layer0}.output.0"]["role"] == "inherited"
    layer1 = "Module.module.decoder.layers.1."
    assert found[f"{layer1}input_layernorm.RMSNorm.forward.0.input.0"]["cosine"] == pytest.approx(
        want["layer1_input_cosine"], abs=tolerance
    )
    core1 = f"{layer1}self_attention.core_attention.DotProductAttention.forward.0.output.0"
    assert found[core1]["cosine"] == pytest.approx(want["layer1_core_attention_output_cosine"], abs=tolerance)
    # everything that differs in layer 1 is inherited; equal weights are ok
    assert {r["role"] for n, r in found.items() if layer1 in n and r["verdict"] == "error"} == {"inherited"}
    assert "origin" not in roles_of(report, operator=layer1)


def test_c05_double_all_reduce_is_seen_in_spite_of_cosine_1(shared: Path) -> None:
    case = shared / "cases" / "C05"
    want, report = expected(case), run(case)
    found, first = rows(report), report.findings[0]
    assert (first.role, first.rule, first.subject) == ("origin", "precision.unmatched", want["extra_op"])
    assert first.figures["side"] == "target"
    assert first.figures["group_size"] == want["group_size"]
    assert first.figures["ranks"] == [0, 1, 2, 3]
    assert (first.figures["pattern"], first.figures["factor"]) == ("constant factor", want["scale_factor"])
    assert "4" in first.message and "factor" in first.message
    assert first.related[0].subject == "Tensor.__add__.0.forward"
    add = found["Tensor.__add__.0.forward.input.1"]
    assert add["cosine"] == pytest.approx(want["add_input1_cosine"], abs=1e-12)
    assert add["norm_ratio"] == pytest.approx(want["add_input1_norm_ratio"], rel=1e-6)
    assert add["verdict"] == "error"  # not passed because the cosine is above 0.99
    output = found["Tensor.__add__.0.forward.output.0"]
    assert output["cosine"] == pytest.approx(want["add_output_cosine"], abs=1e-6)
    norm = found["NPU.npu_rms_norm.0.forward.output.0"]
    assert norm["cosine"] == pytest.approx(want["rms_norm_output_cosine"], abs=1e-6)
    assert norm["role"] == "inherited"
    assert all("rms_norm" not in f.subject for f in report.findings if f.severity == "error")


def test_c07_bfloat16_in_a_float32_file_is_judged_as_bfloat16(shared: Path) -> None:
    case = shared / "cases" / "C07"
    want, report = expected(case), run(case)
    found = rows(report)
    for i in range(2):
        assert found[f"{want['op']}.input.{i}"]["n_different"] == 0
    row = found[f"{want['op']}.output.0"]
    assert row["dtype_target"] == want["declared_dtype_target"]
    assert row["cosine"] == pytest.approx(want["cosine"], abs=1e-6)
    assert row["max_rel_error"] == pytest.approx(want["max_rel_err"], abs=1e-6)
    assert row["ratio_below_1e3"] == want["one_thousandth_ratio"]
    assert row["ratio_below_5e3"] == want["five_thousandths_ratio"]
    assert row["ulp_max"] == pytest.approx(want["max_error_in_bf16_ulp"], abs=0.01)
    assert (row["verdict"], row["reason"], row["pattern"]) == ("pass", "rounding", "rounding")
    assert report.verdict == "pass" and not report.findings and not report.problems
    told = " ".join(report.report.told)
    assert "within rounding of bfloat16 (0.4998 ulp at most)" in told  # says why it passes
    assert "another dtype than dump.json declares" in told  # notes the file, and judges as declared
    from npulse.core.precision.explain import row_figures

    figures = row_figures(report.comparison.ranks[0], 2)
    assert (figures["file_dtype_target"], figures["dtype_target"]) == ("float32", "torch.bfloat16")


def test_c11_differing_input_data_is_no_fault_of_an_operator(shared: Path) -> None:
    case = shared / "cases" / "C11"
    want, report = expected(case), run(case)
    first = report.findings[0]
    assert (first.rule, first.role, first.subject) == (
        "precision.input-data",
        "origin",
        want["first_difference"],
    )
    assert first.figures["n_different"] == want["different_ids"]
    assert first.figures["n_elements"] == want["total_ids"]
    assert first.figures["first_index"] == want["first_index"]
    assert first.figures["last_index"] == want["last_index"]
    assert (first.figures["max_equal"], first.figures["min_equal"]) == (want["max_equal"], want["min_equal"])
    assert "statistics alone" in first.message
    weight = rows(report)[
        "Module.embedding.word_embeddings.VocabParallelEmbedding.forward.0.parameters.weight"
    ]
    assert weight["verdict"] == "pass"
    assert [f.subject for f in report.findings if f.role == "origin"] == [want["first_difference"]]


def test_c12_memory_overwritten_between_two_operators(shared: Path) -> None:
    case = shared / "cases" / "C12"
    want, report = expected(case), run(case)
    first = report.findings[0]
    assert (first.rule, first.subject) == ("precision.overwritten", want["op"])
    assert want["producer"] in first.message
    assert first.related[0].subject == want["producer"]
    assert first.figures["n_different"] == want["different_elements"]
    assert first.figures["pattern"] == "contiguous block"
    assert (first.figures["first"], first.figures["last"]) == (want["first"], want["last"])
    assert first.figures["n_bytes"] == want["bytes"]
    assert first.figures["n_elements"] - first.figures["n_different"] == want["equal_tail"]
    assert first.figures["consumer_input_differs_from_producer_output"]
    assert first.figures["producer_output_equals_golden"] is want["producer_output_equals_golden"]
    assert first.figures["contiguous"] is want["contiguous"]
    assert (first.figures["equal_head"], first.figures["equal_tail"]) == (0, want["equal_tail"])
    assert first.figures["cause"] == want["pattern"] and "memory was overwritten" in first.message
    assert [f.rule for f in report.findings if f.role == "origin"] == ["precision.overwritten"]


def test_c12_without_the_golden_run(shared: Path) -> None:
    """The asynchronous run alone: its own producer says what the consumer should have read."""
    case = shared / "cases" / "C12"
    want, found = expected(case), discover(case / "target")
    first = check_alone(found, found.artifacts).findings[0]
    assert (first.rule, first.severity, first.subject) == ("precision.overwritten", "error", want["op"])
    assert (first.related[0].role, first.related[0].subject) == ("ok", want["producer"])
    for key in ("different_elements", "first", "last", "contiguous", "equal_tail"):
        assert first.figures[key] == want[key], key
    assert first.figures["n_bytes"] == want["bytes"] and first.figures["cause"] == want["pattern"]
    assert first.figures["consumer_input_differs_from_producer_output"] is True
    synchronous = discover(case / "golden")
    rules = [f.rule for f in check_alone(synchronous, synchronous.artifacts).findings]
    assert rules == ["precision.unknown"]


def test_c13_zeros_in_the_reference_fail_nothing(shared: Path) -> None:
    case = shared / "cases" / "C13"
    want, report = expected(case), run(case)
    row = rows(report)["Functional.softplus.0.forward.output.0"]
    assert row["cosine"] == pytest.approx(want["cosine"], abs=1e-7)
    assert row["max_abs_error"] == pytest.approx(want["max_abs_err"], abs=1e-6)
    assert row["zero_reference"] == want["zeros_in_golden"]
    assert row["max_rel_error"] == pytest.approx(want["max_rel_err_excluding_zero_golden"], abs=1e-6)
    assert row["ratio_below_1e3"] == pytest.approx(want["share_rel_below_1e-3_all"])
    assert row["ratio_below_1e3_nonzero"] == want["share_rel_below_1e-3_nonzero"]
    assert (row["verdict"], row["pattern"]) == ("pass", "rounding")
    assert report.verdict == "pass" and not report.findings
    told = " ".join(report.report.told)
    assert "within rounding of float16" in told and "137 elements differ where golden is 0" in told


def test_c16_permuted_weights_are_found_by_their_checksum(shared: Path) -> None:
    case = shared / "cases" / "C16"
    want, report = expected(case), run(case)
    first = report.findings[0]
    assert (first.rule, first.role, first.subject) == (
        "precision.parameter",
        "origin",
        want["first_difference"],
    )
    assert first.figures["statistics_equal"] is want["weight_statistics_equal"]
    assert first.figures["checksum_target"] == want["weight_checksums"]["target"]
    assert first.figures["checksum_golden"] == want["weight_checksums"]["golden"]
    found = rows(report)
    call = "Module.decoder.layers.0.self_attention.linear_qkv.ColumnParallelLinear.forward.0"
    assert found[f"{call}.input.0"]["verdict"] == "pass"
    assert roles_of(report, operator="core_attention") == {"inherited"}
    # what code between two captured modules made is no data that the runs were given
    both = [case / "target", case / "golden"]
    asked = report_of(both, AnalysisOptions(inputs=True)).report
    assert [f.subject for f in asked.findings] == [want["first_difference"]]
    assert (asked.counts["inputs"], asked.counts["parameters"]) == (1, 1)
    assert (asked.verdict, asked.exit_code()) == (report.verdict, 1), "one answer to one question"
    assert [f.subject for f in report.findings if f.role == "origin"] == [want["first_difference"]]
