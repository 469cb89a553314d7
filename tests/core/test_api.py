"""`import npulse`: a comparison in code says what the command says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import npulse
from npulse.core import api
from npulse.core.errors import InputError

from ..tui.panes.captures import NAMES, ORIGIN, chain, write_capture, write_pair


def test_compare_by_run_and_by_two_paths(tmp_path: Path) -> None:
    run = write_pair(tmp_path / "run")
    one, two = npulse.compare(run), npulse.compare(run / "npu", run / "cpu")
    assert one.verdict == two.verdict == "fail"
    assert one.findings[0].subject == two.findings[0].subject == ORIGIN
    assert one.problems == ()
    good = npulse.compare(run / "cpu", run / "cpu")
    assert (good.verdict, good.max_error) == ("pass", 0.0)


def test_max_error_is_the_largest_relative_l2(tmp_path: Path) -> None:
    report = npulse.compare(write_pair(tmp_path / "run"))
    outputs = [{name: o[0].astype(np.float64) for name, _, o in chain(bad=bad)} for bad in (ORIGIN, None)]
    errors = [np.linalg.norm(outputs[0][n] - outputs[1][n]) / np.linalg.norm(outputs[1][n]) for n in NAMES]
    assert report.max_error == pytest.approx(max(errors), rel=1e-6)


def test_frame_has_the_contracts_columns_and_absent_values(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = npulse.compare(write_pair(tmp_path / "run")).to_frame()
    assert len(frame) == 2 * len(NAMES)
    assert {"target", "golden", "cosine", "role", "verdict", "reason"} <= set(frame.columns)
    assert "state" not in frame.columns, "that is the pane's"
    assert list(frame.loc[frame.role == "origin", "operator"]) == [ORIGIN]
    assert frame.loc[frame.verdict == "pass", "pattern"].isna().all()


def test_round_and_pair_are_chosen_by_name(tmp_path: Path) -> None:
    write_capture(tmp_path / "golden", chain())
    write_capture(tmp_path / "round1/target", chain(bad=ORIGIN))
    write_capture(tmp_path / "round2/target", chain())
    run = api.open_run(tmp_path)
    assert [pair.round for pair in api.pairs_in(run)] == ["round1", "round2"]
    assert npulse.compare(tmp_path).verdict == "pass"
    assert npulse.compare(tmp_path, round_name="round1").verdict == "fail"
    assert npulse.compare(tmp_path, pair_name="round1/target").verdict == "fail"
    with pytest.raises(InputError, match="no pair 'x'"):
        npulse.compare(tmp_path, pair_name="x")


def test_one_capture_is_no_pair(tmp_path: Path) -> None:
    write_capture(tmp_path / "one", chain())
    with pytest.raises(InputError) as caught:
        npulse.compare(tmp_path / "one")
    assert "golden" in str(caught.value.hint)
