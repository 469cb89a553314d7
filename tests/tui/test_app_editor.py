"""The editor's command line: the user's own editor, the line in its own way, never a shell."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from npulse.tui import editor
from npulse.tui.editor import editor_command


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name in ("vim", "nano", "emacs", "code", "hx", "unknown-editor", "vi"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "line", "expected"),
    [
        ("vim", 12, ["vim", "+12", "/run/a.json"]),
        ("nano -l", 3, ["nano", "-l", "+3", "/run/a.json"]),
        ("emacs -nw", 3, ["emacs", "-nw", "+3", "/run/a.json"]),
        ("code --wait", 7, ["code", "--wait", "-g", "/run/a.json:7"]),
        ("hx", 7, ["hx", "/run/a.json:7"]),
        ("unknown-editor", 7, ["unknown-editor", "/run/a.json"]),
        ("vim", None, ["vim", "/run/a.json"]),
        ("'vim' \"-c\" 'set nu; !rm'", 1, ["vim", "-c", "set nu; !rm", "+1", "/run/a.json"]),
    ],
)
def test_line_in_the_editors_own_way(
    programs: Path, setting: str, line: int | None, expected: list[str]
) -> None:
    environ = {"EDITOR": setting, "PATH": str(programs)}
    assert editor_command(environ, Path("/run/a.json"), line) == expected


def test_visual_comes_before_editor_and_a_missing_one_is_passed_over(programs: Path) -> None:
    environ = {"VISUAL": "nano", "EDITOR": "vim", "PATH": str(programs)}
    assert editor_command(environ, Path("/a"), None) == ["nano", "/a"]
    assert editor_command({**environ, "VISUAL": "not-there"}, Path("/a"), None) == ["vim", "/a"]


def test_without_a_setting_vi_is_taken(programs: Path) -> None:
    assert editor_command({"PATH": str(programs)}, Path("/a"), 2) == [str(programs / "vi"), "+2", "/a"]


@pytest.mark.parametrize("setting", ["", "'unclosed", "not-there"])
def test_no_editor_is_none(tmp_path: Path, setting: str) -> None:
    assert editor_command({"EDITOR": setting, "PATH": str(tmp_path)}, Path("/a"), 2) is None


def test_a_path_never_reads_as_an_option(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(programs)
    command = editor_command({"EDITOR": "vim", "PATH": str(programs)}, Path("-c!sh"), None)
    assert command == ["vim", str(programs / "-c!sh")]


def test_a_file_of_the_run_is_opened_as_a_copy_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that leaves a swap file beside what it opens, as vi does."""
    run = tmp_path / "run"
    run.mkdir()
    source = run / "model.py"
    source.write_text("x = 1\n")
    seen = tmp_path / "seen.txt"
    script = tmp_path / "untidy"
    script.write_text(f'#!/bin/sh\ncp "$1" "{seen}"\necho "$1" >> "{seen}"\ntouch "$1.swp"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))

    class Suspended:
        def suspend(self) -> AbstractContextManager[None]:
            return nullcontext()

    assert editor.open_editor(cast(Any, Suspended()), source, 1, as_copy=True)
    content, opened = seen.read_text().splitlines()
    assert content == "x = 1" and Path(opened).name == "model.py"
    assert [p.name for p in run.iterdir()] == ["model.py"] and source.read_text() == "x = 1\n"
    assert not Path(opened).parent.exists()
