"""Where a result of another tool is all there is, the check-up goes by it and says whose figures they are."""

from __future__ import annotations

from pathlib import Path

from npulse.core.api import check
from npulse.core.criteria import AreaState

from ..precision.theirs.tables import row, write


def precision_of(run: Path) -> AreaState:
    return next(area for area in check(run).areas if area.area == "precision")


def test_the_check_up_says_whose_figures_they_are(tmp_path: Path) -> None:
    write(tmp_path / "compare_result_1.csv", [row("Torch.add.0.forward.output.0", Cosine="0.98765")])
    state = precision_of(tmp_path)
    assert state.state == "fail" and "figures of msprobe compare" in state.headline
    write(tmp_path / "compare_result_1.csv", [row("Torch.add.0.forward.output.0")])
    state = precision_of(tmp_path)
    assert state.state == "pass" and state.is_counted
    assert [(one.id, one.value) for one in state.criteria] == [("precision.cosine", 1.0)]
