"""Tar as packs need it: plain files one after the other, nothing else. A small reader is a small target.

Members are ustar headers of regular files. A path that does not fit into such a header lies under
`long/NUMBER`; the manifest, in whose order the members come, knows its path.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError

BLOCK = 512
CHUNK = 1 << 20
MAX_TOTAL = 4 << 30
MAX_RATIO = 400
FREE_BYTES = 64 << 20
"""What may come out whatever the ratio: texts of one line repeated shrink to nearly nothing."""


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    size_bytes: int
    modified_s: int


class Unpacking:
    """The members of a gzip'd tar, in order, with bounds on what may come out of it.

    Each member's `chunks` must be read to their end before the next one. InputError: cut off, no gzip, no
    plain tar, more than MAX_TOTAL bytes or MAX_RATIO bytes out of one.
    """

    def __init__(self, file: io.FileIO, size_bytes: int, path: str) -> None:
        self._path = path
        self._most = min(MAX_TOTAL, max(FREE_BYTES, size_bytes * MAX_RATIO))
        self._out = 0
        self._zip = gzip.GzipFile(fileobj=file)

    def members(self) -> Iterator[Member]:
        """Until the end of the archive."""
        while True:
            head = self._read(BLOCK)
            if not head.strip(b"\0"):
                self._end()
                return
            yield self._member(head)

    def chunks(self, member: Member) -> Iterator[bytes]:
        """The content of the member that came last."""
        left = member.size_bytes
        while left:
            piece = self._read(min(CHUNK, left))
            left -= len(piece)
            yield piece
        self._read(-member.size_bytes % BLOCK)

    def _member(self, head: bytes) -> Member:
        try:
            info = tarfile.TarInfo.frombuf(head, "utf-8", "strict")
        except (tarfile.HeaderError, ValueError) as error:
            raise self.wrong("what stands in it is no tar") from error
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise self.wrong("it holds something that is no plain file")
        if info.size < 0 or info.size > self._most:
            raise self.wrong(f"it would unpack to more than {self._most:,} bytes")
        return Member(info.name, info.size, max(0, int(info.mtime)))

    def _end(self) -> None:
        """The rest, which is empty; gzip's own checksum stands behind it."""
        try:
            while piece := self._zip.read(CHUNK):
                self._out += len(piece)
                if piece.strip(b"\0") or self._out > self._most:
                    raise self.wrong("something stands behind its end")
        except (EOFError, zlib.error, OSError) as error:
            raise self.wrong("it is cut off or damaged; copy it again") from error

    def _read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        self._out += size
        if self._out > self._most:
            raise self.wrong(f"it unpacks to more than {self._most:,} bytes")
        pieces = []
        try:
            while size:
                piece = self._zip.read(size)
                if not piece:
                    raise self.wrong("it is cut off; copy it again")
                pieces.append(piece)
                size -= len(piece)
        except EOFError:
            raise self.wrong("it is cut off; copy it again") from None
        except (OSError, zlib.error) as error:
            raise self.wrong("what is compressed in it is damaged; copy it again") from error
        return b"".join(pieces)

    def wrong(self, message: str) -> InputError:
        return InputError(message, path=self._path)


class Packing:
    """Members written one after the other; the same members give the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
        self._n = 0

    def add(self, name: str, size_bytes: int, modified_s: int, content: IO[bytes]) -> None:
        """One file. `content` has exactly so many bytes."""
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = size_bytes, modified_s, 0o644
        try:
            head = info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        except ValueError:  # longer than the header has room for
            info.name = f"long/{self._n}"
            head = info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        self._n += 1
        self._zip.write(head)
        left = size_bytes
        while left:
            piece = content.read(min(CHUNK, left))
            if not piece:
                raise InputError("a file shrank while it was packed", path=name)
            self._zip.write(piece)
            left -= len(piece)
        self._zip.write(b"\0" * (-size_bytes % BLOCK))

    def end(self) -> None:
        self._zip.write(b"\0" * (2 * BLOCK))
        self._zip.close()
