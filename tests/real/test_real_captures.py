"""Captures of CANN and ATB compared: elements as the vendor's tool restores them, and its figures."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from npulse.core.calls.captures import read_capture
from npulse.core.formats.msprobe.records import Dump
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.precision.compare import Comparison, compare_captures
from npulse.core.precision.role_records import ROLES
from npulse.core.precision.rows import BASES
from npulse.core.precision.verdict import VERDICTS
from npulse.core.progress import ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.sides import Declared, pair_of

GRAPH = "samples/cann/dump_path/20250611171530"
GOLDEN = "samples/cann/compare/golden"


def _dump(folder: Path, kind: str) -> Dump:
    artifact = next(a for a in discover(folder).artifacts if a.kind == kind)
    return read_capture(artifact, folder, Declared(), ignore_progress, never_cancelled)


def _elements(dump: Dump) -> dict[str, np.ndarray]:
    """Every tensor of a dump as values, by file name and argument."""
    assert dump.located is not None
    found = {}
    for row in range(len(dump.leaves.call)):
        file = dump.located.file(row)
        if file is not None:
            name = dump.leaves.data_names[int(dump.leaves.data_name[row])]
            found[f"{name}.{dump.leaf(row).io.replace(' ', '.')}"] = widen(file.array(), file.dtype)
    return found


@pytest.mark.parametrize("folder", [GRAPH, "samples/cann/dump_path/20250611171600"])
def test_elements_are_those_of_the_vendors_converter(shared: Path, folder: str) -> None:
    found = _elements(_dump(shared / folder, "cann.dump"))
    expected = shared / "samples/cann/expected"
    assert len(found) > 3
    for name, values in found.items():
        restored = [expected / f"{name}.{layout}.npy" for layout in ("NCHW", "ND")]
        path = next((path for path in restored if path.exists()), expected / f"{name}.npy")
        assert np.array_equal(values, np.load(path).reshape(values.shape), equal_nan=True), name


def test_figures_are_those_of_the_vendors_compare(shared: Path) -> None:
    comparison = compare_captures(pair_of(shared / GRAPH, shared / GOLDEN))
    (rank,) = comparison.ranks
    ours = {rank.target.leaf_name(rank.rows.target_row(row)): row for row in range(rank.rows.n_rows)}
    with open(
        shared / "samples/cann/compare/result_20250611180100.csv", encoding="utf-8", newline=""
    ) as file:
        theirs = [row for row in csv.DictReader(file) if row["CosineSimilarity"] not in ("NaN", "nan")]
    assert len(theirs) == 3  # the fourth holds Inf, of which the vendor computes nothing
    names = {
        "CosineSimilarity": "cosine",
        "MaxAbsoluteError": "max_abs_error",
        "RelativeEuclideanDistance": "rel_l2",
        "MaxRelativeError": "max_rel_error",
        "MeanRelativeError": "mean_rel_error",
    }
    for told in theirs:
        row = ours[told["TensorIndex"].replace("/", "_").replace(":", ".")]
        for column, figure in names.items():
            value = rank.rows.figure(figure, row)
            assert value == pytest.approx(float(told[column]), abs=6e-7, rel=2e-7), (
                told["TensorIndex"],
                column,
            )


def test_a_dump_and_what_the_vendor_converted_it_to_are_equal(shared: Path) -> None:
    comparison = compare_captures(pair_of(shared / GRAPH, shared / "samples/cann/expected"))
    (rank,) = comparison.ranks
    compared = rank.rows.verdict[rank.rows.basis == BASES.index("tensor")]
    assert len(compared) == 20
    assert {VERDICTS[code] for code in compared.tolist()} == {"pass"}
    assert comparison.problems == ()


def test_golden_outputs_alone_are_no_proof_of_an_origin(shared: Path) -> None:
    (rank,) = compare_captures(pair_of(shared / GRAPH, shared / GOLDEN)).ranks
    assert rank.roles.origins == []
    assert _roles(rank, "error") == {
        "layer1_ln_LayerNorm.output.0": "unknown",
        "layer1_scale_div.output.0": "unknown",
    }


def test_with_the_fusion_rule_inputs_are_compared_too(shared: Path) -> None:
    rule = Declared(fusion_rule=shared / "samples/cann/compare/fusion_rule.json")
    comparison: Comparison = compare_captures(pair_of(shared / GRAPH, shared / GOLDEN, declared=rule))
    (rank,) = comparison.ranks
    inputs = {
        rank.golden.leaf_name(rank.rows.golden_row(row)): rank.golden.leaf(
            rank.rows.golden_row(row)
        ).data_name
        for row in range(rank.rows.n_rows)
        if rank.rows.golden_row(row) >= 0 and rank.rows.io(row).startswith("input")
    }
    # each input is the output of the operator that the rule names in front of it
    assert inputs == {
        "layer1_fc_MatMul.input.0": "conv1_Conv2D.0.1749633330000123.npy",
        "layer1_ln_LayerNorm.input.0": "layer1_fc_MatMul.0.1749633330000456.npy",
        "layer1_scale_div.input.0": "layer1_ln_LayerNorm.0.1749633330000789.npy",
    }


def _roles(rank: object, verdict: str) -> dict[str, str]:
    rows, roles = rank.rows, rank.roles  # type: ignore[attr-defined]
    return {
        rank.target.leaf_name(rows.target_row(row)): ROLES[int(roles.row[row])]  # type: ignore[attr-defined]
        for row in range(rows.n_rows)
        if VERDICTS[int(rows.verdict[row])] == verdict
    }
