"""Which file `e` may open: the name comes out of stack.json, which anybody may have written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from npulse.core.formats.msprobe.records import Frame
from npulse.core.precision import explain


def rank_with(file: str) -> Any:
    frame = Frame(file, 7, "forward", "x = y")
    pairing = SimpleNamespace(row_call=[0])
    return cast(Any, SimpleNamespace(rows=SimpleNamespace(pairing=pairing), frames_of=lambda call: (frame,)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    (run / "model").mkdir(parents=True)
    (run / "model" / "net.py").write_text("x = y\n")
    (tmp_path / "secret.py").write_text("key\n")
    (tmp_path / "secret").write_text("key\n")
    return run


def test_a_file_of_the_run_is_opened_at_its_line(run: Path) -> None:
    assert explain.source_place(rank_with("model/net.py"), 0, run) == (run / "model" / "net.py", 7)


@pytest.mark.parametrize("name", ["../secret.py", "model/../../secret.py", "model", "no/such.py"])
def test_a_relative_name_does_not_leave_the_run(run: Path, name: str) -> None:
    assert explain.source_place(rank_with(name), 0, run) is None


def test_a_link_out_of_the_run_is_not_followed(run: Path) -> None:
    (run / "link.py").symlink_to(run.parent / "secret.py")
    assert explain.source_place(rank_with("link.py"), 0, run) is None


def test_an_absolute_name_counts_for_python_files_only(run: Path) -> None:
    script = run.parent / "secret.py"
    assert explain.source_place(rank_with(str(script)), 0, run) == (script, 7)
    assert explain.source_place(rank_with(str(run.parent / "secret")), 0, run) is None
