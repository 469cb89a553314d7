"""What a tool prints: kept in the round up to a bound, told line by line to whoever watches."""

from __future__ import annotations

import codecs
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from select import select

from npulse.core.text import safe_text

HEAD_BYTES = 64 << 20
"""Kept from the beginning."""
TAIL_BYTES = 256 << 10
"""Kept from the end, where more was printed."""
MAX_TOLD_LINES = 200
"""Lines told of one piece; of more only the last are told, since nobody could read them."""
MAX_LAST_PIECES = 64
_CHUNK = 1 << 16

OnLines = Callable[[Sequence[str]], None]


class Console:
    """The reading end of a tool's output; a thread drains it, so a tool never waits for disk or screen.

    What the disk refuses is counted like what is beyond the bound: the head and the tail are kept, and a line
    between them says how much is missing. n_bytes: printed in all; n_dropped_bytes: of those not kept.
    """

    def __init__(self, path: Path, on_lines: OnLines, head_bytes: int = HEAD_BYTES) -> None:
        self.path = path
        self.n_bytes = 0
        self.is_refused = False
        """Whether the disk refused to take it."""
        self._on_lines = on_lines
        self._head_bytes = head_bytes
        self._n_written = 0
        self._tail: deque[bytes] = deque()
        self._n_tail = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._source, self.write_end = os.pipe2(os.O_CLOEXEC)
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._drain, name="console", daemon=True)

    @property
    def n_dropped_bytes(self) -> int:
        return self.n_bytes - self._n_written

    def start(self) -> None:
        """Begin to read; the tool has the writing end by now."""
        os.close(self.write_end)
        self._thread.start()

    def close(self, wait_s: float = 2.0) -> None:
        """Read what is left, but not for ever: a process that stayed may hold the other end open."""
        if self._thread.ident is None:
            os.close(self.write_end)
        else:
            self._thread.join(wait_s)
            os.write(self._waker, b"!")
            self._thread.join()
            self._tell(self._decoder.decode(b"", True) + "\n" if self._line else "")
        for end in (self._source, self._wake, self._waker):
            os.close(end)
        self._write_tail()
        os.close(self._file)

    def _drain(self) -> None:
        n_left = MAX_LAST_PIECES
        while n_left:
            ready = select([self._source, self._wake], [], [])[0]
            if self._source not in ready:
                return
            n_left -= self._wake in ready  # once it is to end, whoever still prints does not keep it
            try:
                piece = os.read(self._source, _CHUNK)
            except OSError:
                return
            if not piece:
                return
            self._keep(piece)
            self._tell(self._decoder.decode(piece))

    def _keep(self, piece: bytes) -> None:
        self.n_bytes += len(piece)
        room = self._head_bytes - self._n_written
        if room > 0 and not self._n_tail:
            piece = piece[self._write(piece[:room]) :]
        if piece:
            self._tail.append(piece)
            self._n_tail += len(piece)
            while self._n_tail - len(self._tail[0]) >= TAIL_BYTES:
                self._n_tail -= len(self._tail.popleft())

    def _write(self, piece: bytes) -> int:
        """How much of it the disk took."""
        n = 0
        try:
            while n < len(piece):
                n += os.write(self._file, piece[n:])
        except OSError:
            self.is_refused = True
        self._n_written += n
        return n

    def _write_tail(self) -> None:
        tail = b"".join(self._tail)[-TAIL_BYTES:]
        n_missing = self.n_dropped_bytes - len(tail)
        if n_missing > 0:
            with suppress(OSError):
                os.write(
                    self._file, f"\n[npulse: {n_missing:,} bytes of output are left out here]\n".encode()
                )
        self._write(tail)

    def _tell(self, text: str) -> None:
        """Whole lines, without control characters; of one that rewrites itself the last state."""
        lines = (self._line + text).split("\n")
        self._line = lines.pop()[-8192:]
        if len(lines) > MAX_TOLD_LINES:
            lines = [f"... ({len(lines) - MAX_TOLD_LINES:,} lines)", *lines[-MAX_TOLD_LINES:]]
        if not lines:
            return
        with suppress(Exception):  # a watcher in trouble must not make the tool wait
            self._on_lines([safe_text(line.rstrip("\r").rpartition("\r")[2]) for line in lines])
