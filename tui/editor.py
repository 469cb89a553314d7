"""Opening a file at a line in the user's editor, without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

MAX_COPY_BYTES = 256 << 20

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


def open_editor(app: App[Any], path: Path, line: int | None, *, as_copy: bool = False) -> bool:
    """Whether the editor ran; the app is suspended meanwhile. False where there is no editor or it failed.

    as_copy: open a copy in a folder of its own, which goes with the editor: editors leave swap, lock and
    backup files beside what they open, and beside a file of a run nothing may be left.
    """
    from textual.app import SuspendNotSupported

    first = editor_command(os.environ, path, line)
    if first is None:
        return False
    # an editor with windows returns at once, before it has read the file, and leaves nothing beside it
    is_copied = as_copy and Path(first[0]).name not in _GOTO
    try:
        with _copied(path) if is_copied else nullcontext(path) as opened:
            command = editor_command(os.environ, opened, line) or first
            with app.suspend():
                return subprocess.run(command, check=False).returncode == 0
    except (OSError, SuspendNotSupported):
        return False


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """A read-only copy in a temporary folder. OSError where it is too large to copy for a look."""
    if path.stat().st_size > MAX_COPY_BYTES:
        raise OSError(f"larger than {MAX_COPY_BYTES} bytes")
    with tempfile.TemporaryDirectory(prefix="npulse-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        copy.chmod(0o400)
        yield copy


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
