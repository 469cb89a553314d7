"""Long text files that say nothing at either end: what a tool wrote may stand between hours of output.

Read in pieces until the first telltale, and only so many bytes of a run: discovery must not read it in full.
"""

from __future__ import annotations

import os
import stat

from npulse.core.dataclass import dataclass

from . import signatures
from .peek import is_text, plain
from .sniff import Sniffed

PIECE_BYTES = 1 << 18
OVERLAP_BYTES = 4096
MAX_FILE_BYTES = 32 << 20
MAX_RUN_BYTES = 128 << 20
"""Half a second, when none of it is anything."""

KINDS = frozenset(
    ("sanitizer.mssanitizer", "sanitizer.host", "runtime.plog", "runtime.console", "compiler.log")
) | {"memscope.leaks", "msdebug.transcript"}
"""What can lie between lines of other programs."""


@dataclass(slots=True)
class Allowance:
    """Bytes of a run that may still be read this way, and how many files went short of it."""

    n_bytes: int = MAX_RUN_BYTES
    n_unread: int = 0


def look_through(path: str, allowance: Allowance) -> Sniffed | None:
    """The kind of the first telltale in a text file; None if there is none as far as may be read.

    OSError as reading raises it. A link, pipe or device is not read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        end = min(status.st_size, MAX_FILE_BYTES)
        if end > allowance.n_bytes:
            allowance.n_unread += 1
            return None
        at, kept = 0, b""
        while at < end:
            piece = os.pread(fd, min(PIECE_BYTES, end - at), at)
            if not piece or (not at and not is_text(piece)):
                return None
            allowance.n_bytes -= len(piece)
            at += len(piece)
            kind = _kind_in(plain(kept + piece))
            if kind is not None:
                return Sniffed(kind, status.st_size, status.st_mtime_ns)
            kept = piece[-OVERLAP_BYTES:]
        if status.st_size > MAX_FILE_BYTES:
            allowance.n_unread += 1
        return None
    finally:
        os.close(fd)


def _kind_in(text: bytes) -> str | None:
    for kind, word, fits in signatures.TEXT_LINES:
        if kind in KINDS and word in text and fits(text):
            return kind
    return None
