"""Opening a file at a line in the user's editor, without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

_PLUS_LINE = frozenset(
    ("vi", "vim", "nvim", "view", "gvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "mg", "joe",
     "ne", "less", "more")
)  # fmt: skip
_GOTO = frozenset(("code", "code-insiders", "codium", "cursor", "code-server"))
_COLON_LINE = frozenset(("hx", "helix", "subl"))


def editor_command(environ: Mapping[str, str], path: Path, line: int | None) -> list[str] | None:
    """The argument list that opens `path` at `line`; None where no editor is set or installed."""
    for name in ("VISUAL", "EDITOR"):
        words = _split(environ.get(name, ""))
        if words and shutil.which(words[0], path=environ.get("PATH")):
            return [*words, *_place(words[0], path, line)]
    for name in ("vi", "nano"):
        if found := shutil.which(name, path=environ.get("PATH")):
            return [found, *_place(name, path, line)]
    return None


def open_editor(app: App[Any], path: Path, line: int | None) -> bool:
    """Whether the editor ran; the app is suspended meanwhile. False where there is no editor or it failed."""
    command = editor_command(os.environ, path, line)
    if command is None:
        return False
    from textual.app import SuspendNotSupported

    try:
        with app.suspend():
            return subprocess.run(command, check=False).returncode == 0
    except (OSError, SuspendNotSupported):
        return False


def _split(setting: str) -> list[str]:
    try:
        return shlex.split(setting)
    except ValueError:  # an unclosed quote in the variable: the same as not set
        return []


def _place(editor: str, path: Path, line: int | None) -> list[str]:
    """The file argument in the editor's own way; the path is absolute, so it can't read as an option."""
    where = str(path.absolute())
    name = Path(editor).name
    if line is None:
        return [where]
    if name in _GOTO:
        return ["-g", f"{where}:{line}"]
    if name in _COLON_LINE:
        return [f"{where}:{line}"]
    return [f"+{line}", where] if name in _PLUS_LINE else [where]
