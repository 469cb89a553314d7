"""Results of work that was stopped, kept as they come: an append-only file in the user's cache folder.

What was written before a stop, a kill or a full disk is there when the same work is begun again. Each record
has a checksum; the first one that is torn ends what is believed, and writing goes on in its place. One
process writes a journal at a time, others do without.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import struct
import time
import zlib
from collections.abc import Iterator

from .cache import JOURNAL_SUFFIX, Cache

MAX_BYTES = 256 << 20
"""A journal that has grown so far takes nothing more: what comes behind is computed again after a stop."""

MAX_RECORD_BYTES = 1 << 20
_FLUSH_BYTES = 64 << 10
_FLUSH_S = 0.25

_MAGIC = b"npulse journal 1\n"
_HEAD_BYTES = len(_MAGIC) + 32
_RECORD = struct.Struct("<II")  # bytes of the payload, its crc32
_READ_BYTES = 1 << 20


class Journal:
    """One open journal: `records` first, then `add`; `trouble` says why nothing more is kept, "" if it is."""

    def __init__(self, cache: Cache, path: str, fd: int, size_bytes: int) -> None:
        self._cache, self._path, self._fd = cache, path, fd
        self._size_bytes = size_bytes  # of what is whole
        self._pending = bytearray()
        self._flushed_s = time.monotonic()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def records(self) -> Iterator[bytes]:
        """The payloads that are whole, in the order in which they were added; a torn end is cut off."""
        at = _HEAD_BYTES
        held, held_at = b"", at
        while True:
            head, held, held_at = self._taken(at, _RECORD.size, held, held_at)
            if len(head) < _RECORD.size:
                break
            n_bytes, crc = _RECORD.unpack(head)
            if n_bytes > MAX_RECORD_BYTES:
                break
            payload, held, held_at = self._taken(at + _RECORD.size, n_bytes, held, held_at)
            if len(payload) < n_bytes or zlib.crc32(payload) != crc:
                break
            at += _RECORD.size + n_bytes
            yield payload
        self._size_bytes = at
        if self._fd >= 0:
            try:
                os.ftruncate(self._fd, at)
            except OSError as error:
                self._give_up(error)

    def add(self, payload: bytes) -> None:
        """Keep one more record. The system has it within a moment, the disk when the system likes."""
        if self._fd < 0 or len(payload) > MAX_RECORD_BYTES:
            return
        self._pending += _RECORD.pack(len(payload), zlib.crc32(payload)) + payload
        now_s = time.monotonic()
        if len(self._pending) >= _FLUSH_BYTES or now_s - self._flushed_s >= _FLUSH_S:
            self._flushed_s = now_s
            self._flush()

    def close(self) -> None:
        """Write what is pending; the file stays for the next time."""
        self._flush()
        self._let_go()

    def remove(self) -> None:
        """The work is done and kept as a whole."""
        self._pending.clear()
        if self._fd >= 0:
            try:
                os.unlink(self._path)
            except OSError:
                pass
        self._let_go()

    def _taken(self, at: int, n_bytes: int, held: bytes, held_at: int) -> tuple[bytes, bytes, int]:
        """n_bytes of the file from `at`, and what is held of it now."""
        if held_at <= at and at + n_bytes <= held_at + len(held):
            return held[at - held_at : at - held_at + n_bytes], held, held_at
        try:
            held = os.pread(self._fd, max(_READ_BYTES, n_bytes), at) if self._fd >= 0 else b""
        except OSError:
            held = b""
        return held[:n_bytes], held, at

    def _flush(self) -> None:
        if self._fd < 0 or not self._pending:
            return
        if self._size_bytes + len(self._pending) > min(MAX_BYTES, self._cache.max_bytes):
            self._pending.clear()
            self._let_go()
            return
        try:
            done = 0
            while done < len(self._pending):
                done += os.pwrite(self._fd, self._pending[done:], self._size_bytes + done)
            self._size_bytes += done
            self._pending.clear()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._cache.note_trouble(error)
        self._pending.clear()
        self._let_go()

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_journal(cache: Cache, key: str) -> Journal | None:
    """The journal of a key, new or as it was left; None where none can be kept or another process has it."""
    path = cache.path_of(key, JOURNAL_SUFFIX)
    if not cache.make_folder():
        return None
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        cache.note_trouble(error)
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            os.close(fd)
            return None
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        head = _MAGIC + hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        if os.pread(fd, _HEAD_BYTES, 0) != head:
            os.ftruncate(fd, 0)
            if os.pwrite(fd, head, 0) != len(head):
                raise OSError(28, os.strerror(28))
    except OSError as error:
        os.close(fd)
        if not isinstance(error, BlockingIOError):
            cache.note_trouble(error)
        return None
    return Journal(cache, os.fspath(path), fd, _HEAD_BYTES)
