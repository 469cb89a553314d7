"""Elements that an archive keeps compressed (deflate), inflated as a stream: memory does not grow with them.

`torch.save` and `numpy.savez` store plain; archives that were packed again, and `numpy.savez_compressed`, do
not. There is no way into the middle of such a stream: what is asked for in order is inflated once, a step
back begins anew.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from .source import Source

MAX_RATIO = 1032
"""Deflate cannot pack tighter: 258 bytes in two bits. A directory that says so lies."""

MAX_WHOLE_BYTES = 256 << 20
"""Cap on what is inflated into memory at once; what is read in blocks has none."""

_PACKED_BLOCK_BYTES = 64 * 1024
_SKIPPED_BLOCK_BYTES = 256 * 1024


class Deflated(NamedTuple):
    """Bytes first ... + packed_bytes of a file inflate to size_bytes, which have this CRC-32."""

    first: int
    packed_bytes: int
    size_bytes: int
    crc: int


class Inflater:
    """Reads what a member inflates to. Never more than the directory says, and no other than its checksum."""

    __slots__ = ("_at", "_crc", "_is_checked", "_packed_at", "_source", "_stream", "member")

    def __init__(self, source: Source, member: Deflated) -> None:
        self._source = source
        self.member = member
        self._is_checked = False
        self._begin()

    def _begin(self) -> None:
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._at = self._crc = 0
        self._packed_at = self.member.first

    def fill(self, view: memoryview, offset: int) -> None:
        """Bytes `offset` ... + len(view) of the content. Raises TensorError: unreadable, cut-off."""
        if offset < self._at:
            self._begin()
        self._skip_to(offset)
        done = 0
        while done < len(view):
            piece = self._take(len(view) - done)
            view[done : done + len(piece)] = piece
            done += len(piece)

    def finish(self) -> None:
        """Inflate what is left, once, and hold the whole against its length and checksum. As `fill`."""
        if self._is_checked:
            return
        self._skip_to(self.member.size_bytes)
        while not self._stream.eof:
            if self._inflate(1):
                raise self._source.error(
                    "unreadable",
                    f"the compressed data inflates to more than {self.member.size_bytes:,} bytes, which the "
                    "archive's directory says",
                    byte=self._position(),
                )
        if self._crc != self.member.crc:
            raise self._source.error(
                "unreadable",
                f"the compressed data inflates to bytes with the checksum {self._crc:08x}, the archive's "
                f"directory says {self.member.crc:08x}",
                byte=self.member.first,
            )
        self._is_checked = True

    def _skip_to(self, offset: int) -> None:
        while self._at < offset:
            self._take(min(offset - self._at, _SKIPPED_BLOCK_BYTES))

    def _take(self, most: int) -> bytes:
        """The next 1 ... most bytes."""
        while not (piece := self._inflate(most)):
            if self._stream.eof:
                raise self._source.error(
                    "unreadable",
                    f"the compressed data inflates to {self._at:,} bytes, the archive's directory says "
                    f"{self.member.size_bytes:,}",
                    byte=self._position(),
                )
        self._at += len(piece)
        self._crc = zlib.crc32(piece, self._crc)
        return piece

    def _inflate(self, most: int) -> bytes:
        """At most so many bytes more; none where the stream wants more of the file, or has ended."""
        try:
            # what was taken in may have more to give, so the file is asked only where it has not
            piece = self._stream.decompress(self._stream.unconsumed_tail, most)
            if not piece and not self._stream.eof and not self._stream.unconsumed_tail:
                piece = self._stream.decompress(self._next_packed(), most)
        except zlib.error as error:
            raise self._source.error(
                "unreadable", "the compressed data is damaged", byte=self._position()
            ) from error
        return piece

    def _next_packed(self) -> bytes:
        end = self.member.first + self.member.packed_bytes
        n = min(_PACKED_BLOCK_BYTES, end - self._packed_at)
        if n == 0:
            raise self._source.error(
                "cut-off",
                f"the compressed data breaks off after {self._at:,} of {self.member.size_bytes:,} bytes",
                byte=end,
            )
        packed = self._source.read(self._packed_at, n, "the compressed data")
        self._packed_at += n
        return packed

    def _position(self) -> int:
        """About the byte of the file that is being inflated."""
        return max(self.member.first, self._packed_at - len(self._stream.unconsumed_tail))


def inflated(source: Source, member: Deflated, offset: int, n_bytes: int) -> bytearray:
    """Bytes of the content in memory, all of it checked. TensorError: too-large, else as `Inflater`."""
    if n_bytes > MAX_WHOLE_BYTES:
        raise source.error(
            "too-large",
            f"{n_bytes:,} compressed bytes that are needed at once",
            byte=member.first,
            hint="save it again without compression: torch.save and numpy.savez store plain",
        )
    content = bytearray(n_bytes)
    inflater = Inflater(source, member)
    inflater.fill(memoryview(content), offset)
    inflater.finish()
    return content
