"""The editor's command line: the user's own editor, the line in its own way, never a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

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
