"""Some lines of a source file, ready to show: bounded, decoded, without control characters.

UTF-8 with or without byte order mark, UTF-16 with one, and GBK wherever a file is no UTF-8; LF and CRLF.
"""

from __future__ import annotations

import codecs
import os
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass

from ..errors import InputError
from ..text import safe_text
from .tensors.error import TensorError
from .tensors.source import open_source

MAX_FILE_BYTES = 1 << 24
MAX_LINE_CHARS = 2_000
MAX_LINES = 2_000
TAB_CELLS = 4

_MAX_LINE_BYTES = 4 * MAX_LINE_CHARS
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_BINARY_HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class SourceText:
    """Lines of a file. lines: (number from 1, text), tabs as blanks up to the next fourth column.

    n_lines: of the whole file. encoding: "utf-8", "utf-16-le", "utf-16-be", "gb18030", or "" where none fits
    and bytes are shown as a replacement character. cut_lines: numbers of those that are longer than shown.
    """

    path: Path
    lines: tuple[tuple[int, str], ...]
    n_lines: int
    encoding: str
    cut_lines: tuple[int, ...] = ()
    _raw: tuple[bytes, ...] = field(default=(), repr=False)

    def index_at(self, line: int, column: int) -> int | None:
        """Where a compiler's column (from 1, in bytes) stands in the shown text, from 0; None if outside."""
        if not self.lines or not 0 <= line - self.lines[0][0] < len(self.lines) or column < 1:
            return None
        at = line - self.lines[0][0]
        raw = self._raw[at]
        if self.encoding.startswith("utf-16"):  # compilers count the bytes that they convert to
            raw = raw.decode(self.encoding, "replace").encode("utf-8", "replace")
            before = raw[: column - 1].decode("utf-8", "ignore")
        else:
            before = raw[: column - 1].decode(self.encoding or "utf-8", "ignore")
        index = len(before.expandtabs(TAB_CELLS))
        return index if column <= len(raw) and index < len(self.lines[at][1]) else None


def read_lines(path: Path, root: Path, first: int, last: int) -> SourceText:
    """Lines `first` to `last` (from 1, inclusive), as far as the file has them and at most 2,000.

    Costs one read of the file, which may have 16 MB. Raises InputError: no file, outside of `root`, no
    regular file, too large, no text.
    """
    content = _content(path, root)
    encoding, content = _encoding_of(content)
    if encoding.startswith("utf-16"):
        line_end = "\n".encode(encoding)
        raws = _split_pairs(content, line_end)
    else:
        if b"\0" in content[:_BINARY_HEAD_BYTES]:
            raise InputError("not a text", path=path, hint="name the folder with the sources themselves")
        raws = content.split(b"\n")
    if raws and not raws[-1]:
        raws.pop()
    first = max(1, first)
    last = min(last, len(raws), first + MAX_LINES - 1)
    wanted = raws[first - 1 : last] if last >= first else []
    shown = [_shown(raw, encoding) for raw in wanted]
    return SourceText(
        path,
        tuple((first + i, text) for i, (text, _) in enumerate(shown)),
        len(raws),
        encoding,
        tuple(first + i for i, (_, is_cut) in enumerate(shown) if is_cut),
        tuple(raw[:_MAX_LINE_BYTES] for raw in wanted),
    )


def _content(path: Path, root: Path) -> bytes:
    try:
        with open_source(path, root) as source:
            if source.size > MAX_FILE_BYTES:
                message = f"a source file of {source.size:,} bytes; up to {MAX_FILE_BYTES:,} are read"
                raise InputError(message, path=path, hint="open it in an editor")
            return source.read(0, source.size, "its text")
    except TensorError as error:  # its hints speak of dumps
        is_outside = error.kind == "outside-run"
        message = "the path leads out of the source folder" if is_outside else error.message
        hint = "name the folder that holds it with --source-root" if is_outside else None
        raise InputError(message, path=os.fspath(path), hint=hint) from error


def _encoding_of(content: bytes) -> tuple[str, bytes]:
    """The encoding of a whole file ("" if none fits), and its bytes behind the byte order mark."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            content = content[len(mark) :]
            return (encoding if encoding != "utf-8" or _fits(content, encoding) else ""), content
    return next((encoding for encoding in ("utf-8", "gb18030") if _fits(content, encoding)), ""), content


def _fits(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _split_pairs(content: bytes, line_end: bytes) -> list[bytes]:
    """Lines of a text with two bytes a character: an end counts only where a character begins."""
    lines, start, at = [], 0, content.find(line_end)
    while at >= 0:
        if at % 2 == 0:
            lines.append(content[start:at])
            start = at + 2
        at = content.find(line_end, at + 2 if at % 2 == 0 else at + 1)
    return [*lines, content[start:]]


def _shown(raw: bytes, encoding: str) -> tuple[str, bool]:
    """One line as it is shown, and whether it is longer than that."""
    text = raw[: _MAX_LINE_BYTES + 4].decode(encoding or "utf-8", "replace").removesuffix("\r")
    is_cut = len(raw) > _MAX_LINE_BYTES + 4 or len(text) > MAX_LINE_CHARS
    text = text[: MAX_LINE_CHARS + 1].expandtabs(TAB_CELLS)
    return safe_text(text, MAX_LINE_CHARS), is_cut
