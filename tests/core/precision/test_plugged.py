"""Metric plug-ins: a column of the table, a criterion, and what they could not say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.checkup.criteria_file import parse_criteria
from npulse.core.errors import InputError, UsageError
from npulse.core.plugins import registry
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.run_report import report_of
from npulse.core.precision.verdict import Criteria
from npulse.core.precision.view import precision_view
from npulse.core.run.sides import pair_of

from .faulty_net import api, number, tensor, write_dump

A, B, C = (f"Torch.add.{i}.forward" for i in range(3))
X = np.random.default_rng(5).standard_normal((4, 8))
GAP = """
import numpy as np


class Gap:
    name = "gap"
    unit = ""
    better = "lower"

    def measure(self, target, golden):
        assert target.dtype == golden.dtype == np.float64 and target.shape == golden.shape
        return np.abs(target - golden).max()
"""

Use = Callable[[str], Path]


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    monkeypatch.setenv("NPULSE_CONFIG_DIR", str(tmp_path / "config"))

    def used(code: str) -> Path:
        file = tmp_path / "acme.py"
        file.write_text(code)
        registry.use([file])
        return file

    yield used
    registry.use()


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    for side, shift in (("npu", 0.25), ("gpu", 0.0)):
        folder = tmp_path / "run" / side / "step0" / "rank0"
        kept: dict[str, Any] = {}

        def saved(value: Any, dtype: str = "float32", kept: dict[str, Any] = kept) -> dict[str, Any]:
            kept[f"{len(kept)}.npy"] = np.asarray(value, dtype)
            return tensor(value, dtype, data_name=f"{len(kept) - 1}.npy")

        moved = X + 1 + shift
        calls = {
            A: api([saved(X), number(1.0)], [saved(X + 1)]),
            B: api([saved(X + 1)], [saved(moved)]),
            C: api([saved(moved)], [saved(X + 1 + 3 * shift, "float16")]),
        }
        write_dump(folder, calls, task="tensor")
        (folder / "dump_tensor_data").mkdir()
        for name, value in kept.items():
            np.save(folder / "dump_tensor_data" / name, value)
    return tmp_path / "run"


def told(run: Path, **options: Any) -> AreaReport:
    return report_of([run], AnalysisOptions(jobs=1, **options))


def test_a_metric_is_a_column_of_what_was_read(use: Use, captures: Path) -> None:
    use(GAP)
    table = told(captures, tables=True).report.tables["precision"]
    rows = {table.column("target").value(row): table.column("gap").value(row) for row in range(table.n_rows)}
    assert rows == {
        f"{A}.input.0": 0.0,
        f"{A}.input.1": None,  # a scalar: no tensor was read
        f"{A}.output.0": 0.0,
        f"{B}.input.0": 0.0,
        f"{B}.output.0": pytest.approx(0.25),
        f"{C}.input.0": pytest.approx(0.25),
        f"{C}.output.0": pytest.approx(0.75, abs=0.005),
    }


def test_it_costs_nothing_where_nobody_asks_for_it(use: Use, captures: Path) -> None:
    file = use(GAP.replace("assert", "open(__file__ + '.asked', 'w'); assert"))
    found = told(captures).report
    assert "plugged" not in found.summary and not Path(f"{file}.asked").exists()
    found = told(captures, tables=True, lang="zh").report
    assert found.summary["plugged"] == {"gap": pytest.approx(0.75, abs=0.005)}
    assert Path(f"{file}.asked").exists()
    assert any("gap（插件）" in line and "6 个张量" in line for line in found.told)


def test_a_limit_is_a_criterion(use: Use, captures: Path) -> None:
    use(GAP)
    found = told(captures, criteria="gap=0.2,cosine=0,norm_ratio_low=0,norm_ratio_high=9").report
    (finding,) = [f for f in found.findings if f.severity == "error"]
    assert (finding.rule, finding.subject) == ("plugin.acme.gap", f"{C}.output.0")
    assert (finding.figures["gap"], finding.figures["limit"], finding.figures["n_tensors"]) == (
        pytest.approx(0.75, abs=0.005),
        0.2,
        3,
    )
    assert found.exit_code() == 1
    kept = told(captures, criteria="gap=0.8,cosine=0,norm_ratio_low=0,norm_ratio_high=9").report
    assert kept.exit_code() == 0


def test_what_is_not_a_number_misses_every_limit(use: Use, captures: Path) -> None:
    use(GAP.replace("return np", "return float('nan') if target.max() == golden.max() else np"))
    found = told(captures, criteria="gap=99,cosine=0,norm_ratio_low=0,norm_ratio_high=9").report
    (finding,) = [f for f in found.findings if f.severity == "error"]
    assert math.isnan(finding.figures["gap"]) and finding.subject == f"{A}.input.0"


def test_a_metric_that_fails_leaves_gaps_and_is_named(use: Use, captures: Path) -> None:
    use(GAP.replace("return np", "if target.max() == golden.max(): raise KeyError\n        return np"))
    found = told(captures, tables=True).report
    column = found.tables["precision"].column("gap")
    assert [column.value(row) is None for row in range(7)] == [True] * 4 + [False] * 3
    (problem,) = found.problems
    assert "gap of 3 pairs: raised KeyError" in problem.message and problem.line == 12
    assert found.exit_code() in (1, 4)
    use(GAP.replace("return np", "import os; os._exit(0)\n        return np"))
    (problem,) = told(captures, tables=True).report.problems
    assert "gap of 1 pair: ended its process" in problem.message and "asked no more" in problem.message


def test_a_limit_for_what_was_not_measured_is_unknown(use: Use, captures: Path) -> None:
    use(GAP.replace("return np", "raise ValueError\n        return np"))
    found = told(captures, criteria="gap=1,cosine=0,norm_ratio_low=0,norm_ratio_high=9").report
    assert found.verdict == "incomplete" and found.exit_code() == 4


def test_statistics_alone_give_no_figure(use: Use, captures: Path) -> None:
    use(GAP)
    for path in captures.rglob("*.npy"):
        path.unlink()
    found = told(captures, criteria="gap=1,cosine=0,norm_ratio_low=0,norm_ratio_high=9").report
    assert "plugged" not in found.summary and found.exit_code() == 4


def test_a_metric_gets_none_of_our_own_columns(use: Use, captures: Path) -> None:
    use(GAP.replace('"gap"', '"cosine"'))
    found = told(captures, tables=True).report
    assert [c.name for c in found.tables["precision"].columns].count("cosine") == 1
    assert "npulse's own" in found.problems[0].message


def test_the_pane_shows_it_once_all_else_is_there(use: Use, captures: Path) -> None:
    use(GAP)
    seen: list[Comparison] = []
    pair = pair_of(captures / "npu", captures / "gpu")
    done = compare_captures(pair, Settings(jobs=1, metrics=True), on_update=seen.append)
    assert [(len(one.plugged), one.stage) for one in seen] == [(0, "first read"), (0, "first read")]
    assert seen[1].ranks[0].rows.patterns == done.ranks[0].rows.patterns
    view = precision_view(done, "en")
    assert "by plug-in acme, lower is better; 6 tensors" in view.meaning("gap", "en")
    assert view.is_complete and view.table.column("gap").value(4) == pytest.approx(0.25)


def test_criteria_know_metrics_by_name_and_nothing_else(use: Use) -> None:
    with pytest.raises(UsageError, match="unknown criterion 'gap'"):
        Criteria.parse("gap=1")
    use(GAP)
    assert Criteria.parse("gap=1,cosine=0.5") == Criteria(cosine=0.5, plugged=(("gap", 1.0),))
    for text in ("gab=1", "gap=x", "gap=1,gap=2", "plugged=1"):
        with pytest.raises(UsageError):
            Criteria.parse(text)


def test_a_criteria_file_takes_a_metric_as_a_threshold(use: Use) -> None:
    text = "[precision.thresholds]\ngap = 0.5\n"
    with pytest.raises(InputError, match="no such threshold"):
        parse_criteria(text, "criteria.toml")
    use(GAP)
    assert parse_criteria(text, "criteria.toml").area_options("precision") == "gap=0.5"
    with pytest.raises(InputError, match="no such threshold"):
        parse_criteria(text.replace("gap", "plugged"), "criteria.toml")
