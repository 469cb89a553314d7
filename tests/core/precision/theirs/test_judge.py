"""Our criteria on the figures of every tool's table: what follows from them, and what does not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.results.table import read_result
from npulse.core.precision.theirs.judge import OurReading, read_figures
from npulse.core.precision.theirs.words import shape_of, split_name, verdicts_of
from npulse.core.precision.verdict import REASONS, VERDICTS, Criteria
from npulse.core.run.discover import discover

from .tables import row, write

CANN = ("Index", "NPUDump", "DataType", "GroundTruth", "TensorIndex", "Shape", "CosineSimilarity",
        "RelativeEuclideanDistance", "StandardDeviation", "CompareFailReason")  # fmt: skip


def reading(path: Path) -> OurReading:
    return read_figures(read_result(path), Criteria())


def said(found: OurReading) -> list[tuple[str, str]]:
    return [(VERDICTS[v], REASONS[r]) for v, r in zip(found.verdict, found.reason, strict=True)]


def cann(folder: Path, *cells: tuple[str, str, str]) -> list[tuple[str, str]]:
    """Verdicts of rows of msaccucmp with (cosine, relative distance, standard deviation)."""
    rows = [
        dict(zip(CANN, ("1", "a", "float16", "a", "a:output:0", "[4]", *three, ""), strict=True))
        for three in cells
    ]
    return said(reading(write(folder / "result_20260801120000.csv", rows, CANN)))


def test_cosine_and_distance_tell_the_norm_ratio_together(tmp_path: Path) -> None:
    assert cann(
        tmp_path,
        ("1.000000", "0.200000", "NaN"),  # a factor of 1.2 or 0.8: outside in either case
        ("1.000000", "0.000100", "NaN"),
        ("0.995000", "0.099900", "NaN"),  # as far as the angle alone makes it: norms agree
        ("0.900000", "0.440000", "NaN"),
        ("NaN", "NaN", "NaN"),
        ("nan", "inf", "(nan;nan),(0.1;1.0)"),
        ("nan", "nan", "(nan;nan),(nan;nan)"),
    ) == [
        ("error", "norm-ratio"),
        ("pass", "rounding"),
        ("warning", "above-rounding"),
        ("error", "cosine"),
        ("unknown", "not-recorded"),
        ("error", "nonfinite"),
        ("unknown", "positions-unknown"),
    ]


@given(st.floats(-3, 3), st.floats(0.5, 2.0), st.integers(0, 2**32))
def test_no_true_pair_is_called_otherwise_than_its_figures_are(
    tmp_path_factory: pytest.TempPathFactory, turn: float, factor: float, seed: int
) -> None:
    """Independent: figures by numpy of two vectors; the reading must agree with cosine and norm ratio."""
    rng = np.random.default_rng(seed)
    golden = rng.standard_normal(16)
    target = factor * (golden + 10.0**turn * 1e-2 * rng.standard_normal(16))
    norms = np.linalg.norm(target), np.linalg.norm(golden)
    cosine, ratio = float(target @ golden) / (norms[0] * norms[1]), norms[0] / norms[1]
    distance = float(np.linalg.norm(target - golden)) / norms[1]
    is_bad = cosine < 0.99 or not 0.99 <= ratio <= 1.01
    ((verdict, _),) = cann(tmp_path_factory.mktemp("t"), (repr(cosine), repr(distance), "NaN"))
    if is_bad:
        assert verdict != "pass"
    else:
        assert verdict in ("pass", "warning", "unknown")


@pytest.mark.parametrize(
    ("cells", "want"),
    [
        ({"Cosine": "1.0", "NPU l2norm": "N/A", "MaxRelativeErr": "0.0004"}, ("pass", "within-criteria")),
        ({"Cosine": "1.0", "NPU l2norm": "N/A", "MaxRelativeErr": "N/A"}, ("unknown", "norm-unknown")),
    ],
)
def test_a_cosine_alone_is_no_pass(tmp_path: Path, cells: dict[str, str], want: tuple[str, str]) -> None:
    absent = {name: "N/A" for name in ("NPU max", "NPU min", "NPU mean", "EucDist")}
    one = row("Torch.a.0.forward.output.0") | absent | {"MaxAbsErr": "0.1"} | cells
    assert said(reading(write(tmp_path / "compare_result_1.csv", [one]))) == [want]


def test_scalars_are_compared_by_value(tmp_path: Path) -> None:
    word = {"NPU Dtype": "<class 'str'>", "Bench Dtype": "<class 'str'>"}
    number = {"NPU Dtype": "<class 'int'>", "Bench Dtype": "<class 'int'>"}
    rows = [
        row("T.a.0.forward.input.1") | number | {"NPU max": "1", "Bench max": "1.0"},
        row("T.a.1.forward.input.1") | number | {"NPU max": "1", "Bench max": "2"},
        row("T.a.2.forward.input.1") | word | {"NPU max": "sum", "Bench max": "sum"},
        row("T.a.3.forward.input.1") | word | {"NPU max": "sum", "Bench max": "mean"},
    ]
    found = said(reading(write(tmp_path / "compare_result_1.csv", rows)))
    assert found == [("pass", "equal"), ("error", "scalar")] * 2


def test_atb_workbooks_of_both_modes(tmp_path: Path) -> None:
    names = ("Data Name", "Device and PID", "Execution Count", "Data Type", "Data Shape")
    common = [f"{side} {name}" for name in names for side in ("Target", "Golden")]
    tail = [f"{side} {name}" for side in ("Target", "Golden") for name in ("Max", "Min", "Mean", "Norm")]
    same = ["0_Add/output.0"] * 2 + ["0_1"] * 2 + ["0"] * 2 + ["float16"] * 2 + ["4"] * 2
    figures = [2.0, -1.0, 0.5, 3.0]
    modes = {
        "tensor": (["Cosine", "Euc Distance", "Max Absolute Err", "Max Relative Err"], [1.0, 0.0, 0.0, 0.0]),
        "stats": (["Max Diff", "Relative Err of Max(%)"], [0.0, "0.0%"]),
    }
    for mode, (headers, cells) in modes.items():
        path = tmp_path / f"atb_{mode}_compare_result_20260801120000.xlsx"
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, [*common, *headers, *tail])
            sheet.write_row(1, 0, [*same, *cells, *figures, *figures])
            sheet.write_row(2, 0, [*same, "N/A", *cells[1:], *(2 * x for x in figures), *figures])
        found = reading(path)
        assert said(found)[0] == ("pass", "equal" if mode == "tensor" else "statistics-agree")
        assert said(found)[1] == ("error", "norm-ratio") or mode == "tensor"
        assert found.norm_ratio[1] == 2.0


def test_verdicts_of_logits_and_of_msits_debug_compare(tmp_path: Path) -> None:
    header = ("file_name", "key", "token_id", "cosine_similarity", "passed", "cmp_fail_reason")
    rows = [{"file_name": "a", "token_id": "0", "passed": word} for word in ("True", "False", "")]
    table = read_result(write(tmp_path / "logits_cmp_res_1.csv", rows, header))
    assert [VERDICTS[v] for v in verdicts_of(table)] == ["pass", "error", "unknown"]
    header = (*CANN, "IsPrecisionError")
    rows = [
        {"CosineSimilarity": cosine, "IsPrecisionError": word}
        for cosine, word in (("1.0", "NO"), ("0.5", "YES"), ("NaN", "NO"))
    ]
    table = read_result(write(tmp_path / "result_1.csv", rows, header))
    assert [VERDICTS[v] for v in verdicts_of(table)] == ["pass", "error", "unknown"]


MSIT_STATISTICS = (
    "token_id", "data_id", "golden_data_path", "golden_op_type", "golden_dtype", "golden_shape",
    "golden_max_value", "golden_min_value", "golden_mean_value", "my_data_path", "my_op_type", "my_dtype",
    "my_shape", "my_max_value", "my_min_value", "my_mean_value",
    "max_stat_absolute_error", "max_stat_relative_error", "min_stat_absolute_error",
    "min_stat_relative_error",
    "mean_stat_absolute_error", "mean_stat_relative_error", "l2norm_stat_absolute_error",
    "l2norm_stat_relative_error",
    "cmp_fail_reason",
)  # fmt: skip


def _statistics(array: np.ndarray, names: str) -> dict[str, str]:
    """Max, min and mean of one side, in columns of these names."""
    return {
        names.format(one): repr(float(value))
        for one, value in (("max", array.max()), ("min", array.min()), ("mean", array.mean()))
    }


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_msits_report_of_statistics_is_judged_by_what_both_sides_hold(tmp_path: Path, factor: float) -> None:
    golden = np.random.default_rng(3).standard_normal(64)
    mine = golden * factor
    cells = {
        "token_id": "0", "data_id": "1", "golden_data_path": "a.pth",
        "my_data_path": "A/after/outtensor0.bin",
        "golden_dtype": "torch.float32", "my_dtype": "torch.float16",
        "golden_shape": "[64]", "my_shape": "[64]",
        **_statistics(golden, "golden_{}_value"), **_statistics(mine, "my_{}_value"),
        "max_stat_absolute_error": repr(float(abs(mine.max() - golden.max()))),
    }  # fmt: skip
    path = write(tmp_path / "statstics_cmp_report_20260801120000.csv", [cells], MSIT_STATISTICS)
    (artifact,) = discover(tmp_path).artifacts
    assert artifact.kind == "msit.compare_result"
    found = reading(path)
    # without the norms a difference of the extremes is no proof of an error, and never a pass
    assert said(found) == [("pass", "statistics-agree") if factor == 1.0 else ("unknown", "norm-unknown")]


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_comparison_of_mindspore_is_read_with_its_names_of_types(tmp_path: Path, factor: float) -> None:
    golden = np.random.default_rng(4).standard_normal((4, 8)).astype(np.float32)
    mine = golden * np.float32(factor)
    name = "Cell.network.dense.Dense.forward.0.output.0"
    header = (
        "NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape", "Bench Tensor Shape",
        "Max diff", "Min diff", "Mean diff", "L2norm diff", "MaxRelativeErr", "MinRelativeErr",
        "MeanRelativeErr", "NormRelativeErr", "NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max",
        "Bench min", "Bench mean", "Bench l2norm", "Accuracy Reached or Not", "Err_message",
    )  # fmt: skip
    cells = {
        "NPU Name": name, "Bench Name": name, "NPU Dtype": "Float16", "Bench Dtype": "Float32",
        "NPU Tensor Shape": "(4, 8)", "Bench Tensor Shape": "(4, 8)",
        **_statistics(mine, "NPU {}"), **_statistics(golden, "Bench {}"),
        "NPU l2norm": repr(float(np.sqrt((mine.astype(np.float64) ** 2).sum()))),
        "Bench l2norm": repr(float(np.sqrt((golden.astype(np.float64) ** 2).sum()))),
    }  # fmt: skip
    found = reading(write(tmp_path / "compare_result_0_1_20260801120000.csv", [cells], header))
    assert said(found) == [("pass", "statistics-agree") if factor == 1.0 else ("error", "norm-ratio")]
    assert found.norm_ratio[0] == pytest.approx(factor)


def test_shapes_and_names() -> None:
    assert [shape_of(text) for text in ("[4, 4]", "[]", "torch.Size([2, 3])", "(2,)", "36x128", "[200]")] == [
        (4, 4), (), (2, 3), (2,), (36, 128), (200,),
    ]  # fmt: skip
    assert [shape_of(text) for text in ("N/A", "", "[a]", "4 4", "[" * 500)] == [None] * 5
    assert split_name("Module.fc1.Linear.forward.0.input.0") == ("Module.fc1.Linear.forward.0", "input.0")
    assert split_name("conv1/Conv2D", "conv1/Conv2D:output:0") == ("conv1/Conv2D", "output.0")
    assert split_name("0_A/1_B/input.0") == ("0_A/1_B", "input.0")
    assert split_name("x.0.debug") == ("x.0.debug", "")


def test_every_figure_is_finite_or_absent(tmp_path: Path) -> None:
    found = reading(write(tmp_path / "compare_result_1.csv", [row("T.a.0.forward.output.0")]))
    for name in ("cosine", "norm_ratio", "rel_l2", "max_abs_error"):
        assert math.isfinite(getattr(found, name)[0])
