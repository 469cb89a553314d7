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
