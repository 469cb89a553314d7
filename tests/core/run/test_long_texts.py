"""A telltale between hours of other output is found, and a run of foreign texts is not read in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.run import long_texts
from npulse.core.run.discover import discover

NOISE = "step 17 loss 2.31 lr 0.0001\n"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)\n"


def kinds(folder: Path) -> list[str]:
    return [artifact.kind for artifact in discover(folder).artifacts]


@pytest.mark.parametrize("n_before", [500, 9_360, 9_361, 9_362, 20_000])
def test_in_the_middle_at_any_place(tmp_path: Path, n_before: int) -> None:
    """Also across the border of two pieces."""
    (tmp_path / "train.log").write_text(NOISE * n_before + OOM + NOISE * 5000, encoding="utf-8")
    assert kinds(tmp_path) == ["runtime.console"]


def test_every_byte_of_a_border(tmp_path: Path) -> None:
    for shift in range(0, len(OOM), 7):
        before = "x" * (long_texts.PIECE_BYTES - shift - 1) + "\n"
        path = tmp_path / f"{shift}.log"
        path.write_text(before + OOM + NOISE * 5000, encoding="utf-8")
    assert set(kinds(tmp_path)) == {"runtime.console"}


def test_long_foreign_texts_are_no_artifacts(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(NOISE * 50_000, encoding="utf-8")
    (tmp_path / "blob.txt").write_bytes(bytes(range(256)) * 1000)
    run = discover(tmp_path)
    assert run.artifacts == () and run.n_unknown == 2 and run.problems == ()


def test_what_could_not_be_looked_through_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "MAX_RUN_BYTES", 1000)
    for n in range(3):
        (tmp_path / f"{n}.log").write_text(NOISE * 5000, encoding="utf-8")
    monkeypatch.setattr(long_texts.Allowance, "__init__", lambda self: _short(self))
    (problem,) = discover(tmp_path).problems
    assert problem.kind == "limit" and "3 long text files" in problem.message


def _short(allowance: long_texts.Allowance) -> None:
    allowance.n_bytes, allowance.n_unread = 1000, 0


def test_a_link_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.log"
    outside.write_text(NOISE * 5000 + OOM + NOISE * 5000, encoding="utf-8")
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").symlink_to(outside)
    assert kinds(run) == []


LEAK = "==7==ERROR: LeakSanitizer: detected memory leaks\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_logs_in_utf_16(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "short.log").write_text(OOM, encoding=encoding)
    (tmp_path / "long.log").write_text(NOISE * 9000 + OOM + NOISE * 9000, encoding=encoding)
    assert kinds(tmp_path) == ["runtime.console"] * 2


def test_a_log_that_was_emptied_under_its_writer(tmp_path: Path) -> None:
    """The writer goes on at its old place: what is before reads as NULs."""
    (tmp_path / "asan.log").write_bytes(b"\0" * 5000 + LEAK.encode())
    assert kinds(tmp_path) == ["sanitizer.host"]
