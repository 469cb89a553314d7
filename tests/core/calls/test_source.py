"""Which file `e` may open: the name comes out of stack.json, which anybody may have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.calls.source import source_place
from npulse.core.formats.msprobe.records import Frame


def stack_of(file: str) -> tuple[Frame, ...]:
    return (Frame(file, 7, "forward", "x = y"),)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    (run / "model").mkdir(parents=True)
    (run / "model" / "net.py").write_text("x = y\n")
    (tmp_path / "secret.py").write_text("key\n")
    (tmp_path / "secret").write_text("key\n")
    return run


def test_a_file_of_the_run_is_opened_at_its_line(run: Path) -> None:
    assert source_place(stack_of("model/net.py"), run) == (run / "model" / "net.py", 7)


@pytest.mark.parametrize("name", ["../secret.py", "model/../../secret.py", "model", "no/such.py"])
def test_a_relative_name_does_not_leave_the_run(run: Path, name: str) -> None:
    assert source_place(stack_of(name), run) is None


def test_a_link_out_of_the_run_is_not_followed(run: Path) -> None:
    (run / "link.py").symlink_to(run.parent / "secret.py")
    assert source_place(stack_of("link.py"), run) is None


def test_an_absolute_name_counts_for_python_files_only(run: Path) -> None:
    script = run.parent / "secret.py"
    assert source_place(stack_of(str(script)), run) == (script, 7)
    assert source_place(stack_of(str(run.parent / "secret")), run) is None
