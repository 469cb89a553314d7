"""`npulse merge`: what is written where, and what is refused before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.tui.cli.main import run

from ..panes.captures import ORIGIN, chain, write_capture

Capture = pytest.CaptureFixture[str]


def test_two_ranks(tmp_path: Path, capsys: Capture) -> None:
    for rank in (0, 1):
        for side in ("npu", "cpu"):
            bad = ORIGIN if (side, rank) == ("npu", 1) else None
            write_capture(tmp_path / "run" / side, chain(bad=bad), rank=rank)
    out = tmp_path / "out"
    assert run(["merge", str(tmp_path / "run"), "-o", str(out), "--metric", "cosine", "--no-cache"]) == 0
    said = capsys.readouterr().out
    assert "2 ranks (rank0, rank1)" in said and "cosine: the ranks are apart" in said
    assert sorted(path.name for path in out.iterdir()) == ["cosine.csv", "ranks.csv"]
    assert run(["merge", str(tmp_path / "run"), "-o", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert run(["merge", str(tmp_path / "run"), "-o", str(tmp_path / "run" / "npu" / "x")]) == 2
    assert "not written into the run" in capsys.readouterr().err


def test_the_configuration_of_merge_result_chooses_calls_and_figures(tmp_path: Path, capsys: Capture) -> None:
    for rank in (0, 1):
        for side in ("npu", "cpu"):
            write_capture(tmp_path / "run" / side, chain(), rank=rank)
    config, out = tmp_path / "config.yaml", tmp_path / "out"
    config.write_text("api: [Functional.nothing]\ncompare_index: [cosine]\n")
    asked = ["merge", str(tmp_path / "run"), "-o", str(out), "--no-cache", "--config", str(config)]
    assert run(asked) != 0 and "no call is selected by Functional.nothing" in capsys.readouterr().err
    config.write_text(f"api: [{ORIGIN.rsplit('.', 2)[0]}]\ncompare_index: [cosine]\n")
    assert run(asked) == 0
    names = (out / "cosine.csv").read_text().splitlines()[1:]
    assert names and all(ORIGIN.rsplit(".", 2)[0] in name for name in names)
    assert sorted(path.name for path in out.iterdir()) == ["cosine.csv", "ranks.csv"]
