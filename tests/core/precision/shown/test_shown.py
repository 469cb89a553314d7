"""What is asked of a comparison: names of metrics, a limit of the error, layers, outputs, one operator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Report
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.layers import layers_of_rank
from npulse.core.precision.run_report import report_of
from npulse.core.precision.shown.names import measures, with_limit
from npulse.core.precision.verdict import Criteria
from npulse.core.run.sides import pair_of

from .. import faulty_net as fn
from ..faulty_net import Fault, api, tensor, write_dump

BROKEN = "Functional.relu.1.forward"


# ---- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("cosine_similarity", ("cosine",)),
        ("CosineSimilarity", ("cosine",)),
        ("max_abs_error", ("max_abs_error",)),
        ("relative_error", ("rel_l2",)),
        ("veRL", ("cosine", "rel_l1", "rel_l2", "max_rel_error")),
        ("max_abs_error, cosine", ("max_abs_error", "cosine")),
    ],
)
def test_names_of_documents_and_tools(name: str, figures: tuple[str, ...]) -> None:
    assert measures([name]).figures == figures


def test_a_name_that_no_figure_has() -> None:
    with pytest.raises(UsageError, match="unknown metric 'vibes'"):
        measures(["cosine", "vibes"])
    with pytest.raises(UsageError) as told:
        measures(["n_different"])
    assert "column of --tables" in (told.value.hint or "")


def test_a_limit_never_makes_a_threshold_looser() -> None:
    assert with_limit(Criteria(), (), 1e-5).limits == (("rel_l2", 1e-5),)
    assert with_limit(Criteria(), ("max_abs_error", "cosine"), 1e-3) == Criteria(
        cosine=0.999, limits=(("max_abs_error", 1e-3),)
    )
    assert with_limit(Criteria(), ("cosine", "norm_ratio"), 0.5) == Criteria()
    for wrong in (float("nan"), float("inf"), -1.0):
        with pytest.raises(UsageError):
            with_limit(Criteria(), (), wrong)


# ---- a comparison ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("shown")
    for side, golden in (("target", False), ("golden", True)):
        for rank in range(2):
            fault = Fault("output", BROKEN) if rank else Fault()
            net = fn.run_alone(fault, golden=golden, rank=rank)
            net.write(folder / side / "step0" / f"rank{rank}", "mix", "tensor")
    return folder / "target", folder / "golden"


def asked(folders: tuple[Path, Path], **options: Any) -> Report:
    return report_of(folders, replace(AnalysisOptions(jobs=1, tables=True), **options)).report


def rows(report: Report, table: str) -> list[dict[str, Any]]:
    found = report.tables[table]
    return [found.row(place) for place in range(found.n_rows)]


def test_nothing_asked_for_is_the_same_report(folders: tuple[Path, Path]) -> None:
    assert list(asked(folders).tables) == ["precision"] and "metrics" not in asked(folders).summary


def test_a_layers_figures_are_the_worst_of_its_rows(folders: tuple[Path, Path]) -> None:
    """Recomputed from the elements of the files, with other formulas than the product's."""
    report = asked(folders, metrics=("veRL",))
    (layer,) = [
        row for row in rows(report, "layers") if row["rank"] == 1 and row["layer"] == "layer 1 forward"
    ]
    errors, cosines, l1s = [], [], []
    comparison = compare_captures(pair_of(*folders), Settings(jobs=1))
    of_call, labels = layers_of_rank(comparison.ranks[1])
    names = {
        row["target"]
        for row in rows(report, "precision")
        if row["rank"] == 1 and labels[of_call[row["call"]]] == "layer 1 forward"
    }
    for name in sorted(filter(None, names)):
        files = [side / "step0" / "rank1" / "dump_tensor_data" / f"{name}.npy" for side in folders]
        if not all(path.exists() for path in files):
            continue
        t, g = (np.load(path).astype(np.float64).ravel() for path in files)
        if np.linalg.norm(g) == 0:
            continue
        errors.append(np.sqrt(((t - g) ** 2).sum() / (g**2).sum()))
        cosines.append((t / np.linalg.norm(t)) @ (g / np.linalg.norm(g)))
        l1s.append(np.abs(t - g).sum() / np.abs(g).sum())
    assert layer["rel_l2"] == pytest.approx(max(errors), rel=1e-5)
    assert layer["cosine"] == pytest.approx(min(cosines), abs=1e-6)
    assert layer["rel_l1"] == pytest.approx(max(l1s), rel=1e-5)
    assert (layer["role"], layer["verdict"]) == ("origin", "error")
    told = "\n".join(report.told)
    assert "no tool has a metric of this name" in told and "above rel_l2 1e-05" in told
    assert report.summary["metrics"]["rel_l2"]["rank"] == 1


def test_a_limit_finds_what_the_thresholds_let_pass(tmp_path: Path) -> None:
    """An error of 1e-3 is a warning in float32; with the documents' limit it is where the origin lies."""
    x, y = (np.random.default_rng(i).standard_normal(256) for i in range(2))
    for side, factor in (("target", 1.001), ("golden", 1.0)):
        one = api([tensor(x)], [tensor(y * factor)])
        two = api([tensor(y * factor)], [tensor(x * factor)])
        data = {"Torch.sin.0.forward": one, "Torch.cos.0.forward": two}
        write_dump(tmp_path / side / "step0" / "rank0", data)
    sides = tmp_path / "target", tmp_path / "golden"
    assert asked(sides).verdict == "warn"
    report = asked(sides, error_threshold=1e-5)
    assert [(f.rule, f.subject) for f in report.findings if f.severity == "error"] == [
        ("precision.operator", "Torch.sin.0.forward")
    ]
    assert {row["reason"] for row in rows(report, "precision") if row["verdict"] == "error"} == {
        "error-threshold"
    }
    assert any("judged by rel_l2 <= 1e-05" in line and "3 rows beyond" in line for line in report.told)
    assert asked(sides, error_threshold=1e-2).verdict == "warn"


def test_the_outputs_of_the_net_alone(folders: tuple[Path, Path]) -> None:
    report = asked(folders, compare_mode="network")
    told = rows(report, "asked")
    assert [row["rank"] for row in told] == [0, 1] and {row["io"] for row in told} == {"output 0"}
    assert [row["verdict"] for row in told] == ["pass", "error"]
    assert report.verdict == "fail" and {f.rule for f in report.findings} == {"precision.asked"}
    assert {f.location.rank for f in report.findings} == {1}


def test_one_operator_alone_and_by_rank(folders: tuple[Path, Path]) -> None:
    report = asked(folders, operator=BROKEN, by_rank=True)
    assert {row["operator"] for row in rows(report, "asked")} == {BROKEN}
    assert [f.subject for f in report.findings] == [BROKEN] and report.findings[0].role == "origin"
    made = [row for row in rows(report, "ranks") if row["io"] == "output 0"]
    assert [(row["rank"], row["verdict"]) for row in made] == [(0, "pass"), (1, "error")]
    assert rows(asked(folders, operator=f"*{BROKEN[:-2]}*", by_rank=True), "ranks") == rows(report, "ranks")
    with pytest.raises(InputError, match="calls fit '\\*relu\\*'") as failure:
        asked(folders, operator="*relu*", by_rank=True)
    assert BROKEN in str(failure.value.hint)
    clean = asked(folders, operator="Functional.relu.0.forward")
    assert (clean.verdict, clean.findings) == ("pass", ())
    several = asked(folders, operator="*l*")
    assert {row["operator"] for row in rows(several, "asked")} > {BROKEN}
    asked_for = [f for f in several.findings if f.rule == "precision.asked"]
    assert asked_for and all(f.next_step.startswith("Leave --operator out") for f in asked_for)


def test_layers_narrow_the_figures_and_not_the_origin(folders: tuple[Path, Path]) -> None:
    report = asked(folders, layers=("Functional.relu.0.forward",), metrics=("cosine",))
    assert report.summary["metrics"]["cosine"]["worst"] == 1.0
    assert report.findings[0].subject == BROKEN
    assert any("figures are of" in line for line in report.told)


@pytest.mark.parametrize(
    "options",
    [
        {"compare_mode": "sideways"},
        {"compare_mode": "single"},
        {"by_rank": True},
        {"operator": "x", "compare_mode": "network"},
    ],
)
def test_what_cannot_be_meant(folders: tuple[Path, Path], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        asked(folders, **options)


def test_what_is_not_there(folders: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="selected by"):
        asked(folders, layers=("*no_such*",))
    with pytest.raises(InputError, match=r"step 3-4|step 7"):
        asked(folders, steps=((3, 4), (7, 7)))


# ---- fastRL: a sample ------------------------------------------------------------------------------------

N_BLOCKS, BLOCK = 12, 1 << 17
READ = (0, 2, 3, 5, 6, 8, 9, 11)
"""Which of twelve blocks a sample of eight holds: evenly spread, both ends among them."""


def sampled(tmp_path: Path, block: int | None) -> Report:
    """One float16 tensor; an element of a block is wrong by its own size."""
    golden = np.random.default_rng(3).standard_normal(N_BLOCKS * BLOCK).astype(np.float16)
    target = golden.copy()
    if block is not None:
        target[block * BLOCK + 5 : block * BLOCK + 50_000] *= -1
    for side, values in (("target", target), ("golden", golden)):
        record = tensor(values[:4], "float16", data_name="Torch.sin.0.forward.output.0.npy")
        record |= {"shape": [len(values)], "Max": None, "Min": None, "Mean": None, "Norm": None}
        folder = tmp_path / side / "step0" / "rank0"
        write_dump(folder, {"Torch.sin.0.forward": api([], [record])}, task="tensor")
        (folder / "dump_tensor_data").mkdir()
        np.save(folder / "dump_tensor_data" / record["data_name"], values)
    return asked((tmp_path / "target", tmp_path / "golden"), metrics=("fastRL",))


def test_a_sample_that_agrees_is_no_pass(tmp_path: Path) -> None:
    report = sampled(tmp_path, next(block for block in range(N_BLOCKS) if block not in READ))
    (row,) = rows(report, "precision")
    assert (row["verdict"], row["reason"]) == ("unknown", "sampled")
    assert (row["n_elements"], row["n_compared"]) == (N_BLOCKS * BLOCK, len(READ) * BLOCK)
    assert report.verdict == "unknown" and report.exit_code() == 4
    told = "\n".join(report.told)
    assert (
        "1 of 1 tensors were read in part" in told and "(66.7 %)" in told and "no tool has a metric" in told
    )


def test_figures_of_a_sample_are_those_of_its_elements(tmp_path: Path) -> None:
    report = sampled(tmp_path, READ[3])
    (row,) = rows(report, "precision")
    t, g = (
        np.load(tmp_path / side / "step0/rank0/dump_tensor_data/Torch.sin.0.forward.output.0.npy")
        .astype(np.float64)
        .reshape(N_BLOCKS, BLOCK)[list(READ)]
        .ravel()
        for side in ("target", "golden")
    )
    assert row["rel_l2"] == pytest.approx(np.sqrt(((t - g) ** 2).sum() / (g**2).sum()), rel=1e-4)
    assert row["verdict"] == "error" and report.verdict == "fail"


def test_small_tensors_are_read_whole(folders: tuple[Path, Path]) -> None:
    report = asked(folders, metrics=("fastRL",))
    assert report.findings[0].subject == BROKEN
    assert not [row for row in rows(report, "precision") if row["reason"] == "sampled"]
    assert any("small enough to be read whole" in line for line in report.told)
    assert not any("0 ulp" in line for line in report.told)
