"""What a pane shows of a comparison: rows found again, the figure that failed, words for every column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core import api
from npulse.core.findings import Finding
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.rows import FIGURES
from npulse.core.precision.view import PrecisionView, main_figures, precision_view, what_failed
from npulse.core.run.discover import discover
from npulse.core.run.sides import capture_pairs
from npulse.core.views import AreaView
from npulse.sample_runs import sample_path


@pytest.fixture(scope="module")
def views() -> list[PrecisionView]:
    """The bundled run's first round, after the first read and when complete."""
    pair = next(p for p in capture_pairs(discover(sample_path("w8a8"))) if p.round == "round1")
    made: list[PrecisionView] = []

    def take(comparison: Comparison) -> None:
        made.append(precision_view(comparison, "en"))

    take(compare_captures(pair, Settings(jobs=1), on_update=take))
    return made


def test_it_is_an_area_view_and_its_rows_are_found_again(views: list[PrecisionView]) -> None:
    view: AreaView = views[-1]
    assert view.is_complete and not views[0].is_complete
    origin = view.report.findings[0]
    row = view.row_of(origin)
    assert row is not None and view.table.column("role").value(row) == "origin"
    assert view.table.column("operator").value(row) == origin.subject == view.finding(row, "en").subject
    detail = view.detail(row, "en")
    assert detail.name.startswith(origin.subject) and detail.next_step == origin.next_step
    assert detail.source is not None and f"{detail.source[0]}:{detail.source[1]}" in origin.message
    strip = view.strip(row)
    assert strip is not None and strip[0].labels[strip[1]] == "layer 25 forward"
    same = view.strip(row + 1)
    assert same is not None and same[0] is strip[0], "one strip a rank: the pane draws it once"


def test_a_view_stays_as_it_was_when_the_second_read_goes_on(views: list[PrecisionView]) -> None:
    early, late = views[0].comparison.ranks[0].rows, views[-1].comparison.ranks[0].rows
    assert len(late.patterns) > len(early.patterns) == 0
    assert len(late.examinations) > len(early.examinations) == 0


def test_translated_keeps_all_but_the_words(views: list[PrecisionView]) -> None:
    zh = views[-1].translated("zh")
    assert zh.table is views[-1].table and zh.lang == "zh"
    assert [f.subject for f in zh.report.findings] == [f.subject for f in views[-1].report.findings]
    assert zh.report.findings[0].message != views[-1].report.findings[0].message


def test_every_column_says_what_it_means(views: list[PrecisionView]) -> None:
    view = views[-1]
    for name in {*FIGURES, *(column.name for column in view.table.columns)}:
        en, zh = view.meaning(name, "en"), view.meaning(name, "zh")
        assert en.isascii() and en and zh and en != name and "{" not in en + zh, name
    assert "0.99" in view.meaning("cosine", "en") and "1.01" in view.meaning("norm_ratio", "zh")
    assert view.meaning("no such column", "en") == ""


def test_where_names_places_then_figures(views: list[PrecisionView]) -> None:
    view = views[-1]
    row = view.row_of(view.report.findings[0])
    assert row is not None
    lines = view.where(row, "en")
    text = "\n".join(lines)
    blank = lines.index("")
    assert "None" not in text and "basis: none" not in text
    assert [line.split(":")[0] for line in lines[:5]] == ["target", "target", "golden", "golden", "source"]
    figures = {line.split()[0]: line.split()[1] for line in lines[blank + 1 :]}
    assert float(figures["cosine"]) == pytest.approx(view.table.column("cosine").value(row), rel=1e-3)
    assert "nan_target" not in figures, "nothing to say"
    assert view.where(row, "zh")[0].startswith("目标: ")


# ---- a finding in few words ----


def finding(**figures: object) -> Finding:
    return Finding("precision", "error", "precision.operator", "origin", "x", "m", figures=figures)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"reason": "cosine", "cosine": 0.5, "norm_ratio": 1.0}, "cosine 0.5"),
        ({"reason": "norm-ratio", "cosine": 1.0, "norm_ratio": 1.2}, "norm ratio 1.2"),
        (
            {"reason": "shape", "shape_target": [2, 3], "shape_golden": [3, 2]},
            "shape differs: [2, 3] / [3, 2]",
        ),
        ({"reason": "nonfinite", "cosine": 1.0}, "NaN/Inf at other positions"),
        ({"reason": "not-equal", "n_different": 12, "n_elements": 4096}, "12 of 4,096 integers differ"),
        (
            {"reason": "norm-ratio", "norm_ratio": 4.0, "group_size": 4, "cosine": 1.0},
            "constant factor 4 = group size: reduced twice",
        ),
        (
            {"reason": "norm-ratio", "norm_ratio": 0.5, "pattern": "constant factor", "factor": 0.5},
            "constant factor 0.5",
        ),
        ({"argument": "eps", "target": 1e-5, "golden": 1e-6, "reason": "cosine"}, "eps: 1e-05 / 1e-06"),
        ({"reason": "statistics-bound", "rel_l2_at_least": 0.25}, "rel.L2 >= 0.25"),
        ({"reason": "checksum"}, "checksum differs"),
        ({}, ""),
    ],
)  # fmt: skip
def test_what_failed_names_the_figure_that_failed(figures: dict[str, object], said: str) -> None:
    assert what_failed(finding(**figures), "en") == said


def test_main_figures_are_few_and_rounded(views: list[PrecisionView]) -> None:
    origin = views[-1].report.findings[0]
    figures = dict(main_figures(origin))
    assert 4 <= len(figures) <= 8 < len(origin.figures)
    assert figures["rel_l2"] == f"{origin.figures['rel_l2']:.4g}"
    assert list(figures)[:2] == ["reason", "pattern"]


def test_the_strip_shows_a_layer_that_only_nan_spoils(tmp_path: Path) -> None:
    import json

    for side, value in (("npu", np.nan), ("cpu", 1.0)):
        place = tmp_path / side / "step0" / "rank0"
        (place / "dump_tensor_data").mkdir(parents=True)
        entries = {}
        for layer in range(2):
            name = f"Module.layers.{layer}.fc.Linear.forward.0"
            array = np.arange(1, 9, dtype=np.float32)
            array[3] = value if layer else 1.0
            leaf = {
                "type": "torch.Tensor",
                "dtype": "torch.float32",
                "shape": [8],
                "data_name": f"{name}.output.0.npy",
            }
            np.save(place / "dump_tensor_data" / f"{name}.output.0.npy", array)
            entries[name] = {"input_args": [], "input_kwargs": {}, "output": [leaf]}
        header = {"task": "tensor", "level": "L0", "dump_data_dir": str(place / "dump_tensor_data")}
        (place / "dump.json").write_text(json.dumps({**header, "data": entries}))
    view = precision_view(api.compare(tmp_path).comparison, "en")
    strip = view.strip(1)
    assert strip is not None and strip[0].values.tolist() == [0.0, 1.0]
