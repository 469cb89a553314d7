"""The directory of a zip archive: where each member lies, nothing unpacked.

A few hundred bytes are read and each is checked against the size of the file; the general reader of the
standard library takes five times as long, and a dump holds tens of thousands of small archives.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...text import safe_text
from .inflate import MAX_RATIO, Deflated
from .layout import Extent
from .source import Source

MAGIC = b"PK\x03\x04"
MAX_MEMBERS = 65_536
_MAX_DIRECTORY_BYTES = 8 * 1024 * 1024

_END = struct.Struct("<4s4H2LH")  # magic, disk, disk, entries here, entries, size, offset, comment length
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 1
_STORED, _DEFLATED = 0, 8
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF  # the figure stands in a 64-bit field instead


class Member(NamedTuple):
    """An entry of the directory. method 0: the bytes are stored as they are; 8: deflated."""

    name: str
    header_offset: int
    size: int
    compressed_size: int
    method: int
    flags: int
    crc: int


class Directory(NamedTuple):
    """Members by name; `offset` is where the directory begins, all members lie before it."""

    members: dict[str, Member]
    offset: int


def read_directory(source: Source) -> Directory:
    """The members of the archive. Raises TensorError: cut-off (the directory is at the end), unreadable."""
    end_at, tail, tail_at = _find_end(source)
    fields = _END.unpack_from(tail, end_at - tail_at)
    n_members, size, offset = fields[4:7]
    if n_members == _FULL16 or size == _FULL32 or offset == _FULL32:
        n_members, size, offset = _read_end64(source, end_at, (n_members, size, offset))
    if n_members > MAX_MEMBERS or size > _MAX_DIRECTORY_BYTES:
        raise source.error("too-large", f"an archive of {n_members:,} members is not one tensor", byte=end_at)
    if offset + size > end_at:
        raise source.error("unreadable", "the archive's directory is broken", byte=end_at)
    at = offset - tail_at
    table = tail[at : at + size] if at >= 0 else source.read(offset, size, "the archive's directory")
    return Directory(_read_members(source, table, n_members, offset), offset)


def _find_end(source: Source) -> tuple[int, bytes, int]:
    """Byte of the end record, and the tail of the file that it was found in with the byte of that."""
    for length in (4096, _END.size + _FULL16):  # without and with the longest possible comment
        tail_at = max(0, source.size - length)
        tail = source.read(tail_at, source.size - tail_at, "the archive's directory")
        found = tail.rfind(b"PK\x05\x06", 0, max(0, len(tail) - _END.size + 4))
        if found >= 0:
            return tail_at + found, tail, tail_at
        if tail_at == 0:
            break
    raise source.error(
        "cut-off", "the archive's directory, which stands at its end, is missing", byte=source.size
    )


def _read_end64(source: Source, end_at: int, known: tuple[int, int, int]) -> tuple[int, int, int]:
    """Number of members, size and offset of the directory, from the 64-bit end record if there is one."""
    at = end_at - _END64_LOCATOR.size
    if at < 0:
        return known
    locator = source.read(at, _END64_LOCATOR.size, "the archive's directory")
    magic, _disk, end64_at, _disks = _END64_LOCATOR.unpack(locator)
    if magic != b"PK\x06\x07":
        return known
    fields = _END64.unpack(source.read(end64_at, _END64.size, "the archive's directory"))
    if fields[0] != b"PK\x06\x06":
        raise source.error("unreadable", "the archive's directory is broken", byte=end64_at)
    return fields[7], fields[8], fields[9]


def _read_members(source: Source, table: bytes, n_members: int, offset: int) -> dict[str, Member]:
    members: dict[str, Member] = {}
    at = 0
    for _ in range(n_members):
        if at + _ENTRY.size > len(table):
            raise source.error("unreadable", "the archive's directory is broken", byte=offset + at)
        (magic, _by, _needs, flags, method, _time, _date, crc, packed, size, n_name, n_extra, n_comment,
         _disk, _internal, _external, header) = _ENTRY.unpack_from(table, at)  # fmt: skip
        name_at = at + _ENTRY.size
        extra_at = name_at + n_name
        next_at = extra_at + n_extra + n_comment
        if magic != b"PK\x01\x02" or next_at > len(table):
            raise source.error("unreadable", "the archive's directory is broken", byte=offset + at)
        if _FULL32 in (packed, size, header):
            extra = table[extra_at : extra_at + n_extra]
            size, packed, header = _sizes64(source, extra, size, packed, header, byte=offset + at)
        name = table[name_at:extra_at].decode("utf-8", "replace")
        if name in members:
            asked = safe_text(name, 100)
            raise source.error("unreadable", f"two members are named {asked}", byte=offset + at)
        members[name] = Member(name, header, size, packed, method, flags, crc)
        at = next_at
    return members


def _sizes64(
    source: Source, extra: bytes, size: int, packed: int, header: int, *, byte: int
) -> tuple[int, int, int]:
    """The three figures of an entry, those that are full taken in turn from its 64-bit extra field."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, at)
        if tag == 1:
            wide = iter(struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4))
            size = next(wide, size) if size == _FULL32 else size
            packed = next(wide, packed) if packed == _FULL32 else packed
            header = next(wide, header) if header == _FULL32 else header
            return size, packed, header
        at += 4 + length
    raise source.error("unreadable", "the archive's directory lacks a 64-bit size", byte=byte)


def locate(source: Source, directory: Directory, member: Member) -> Extent:
    """Where a member's content lies; content and header checked to be in bounds, nothing is inflated yet."""
    shown = safe_text(member.name, 100)
    _check_packing(source, member, shown)
    if member.header_offset + _LOCAL.size > directory.offset:
        raise source.error("unreadable", "the archive's directory is broken", byte=directory.offset)
    fields = _LOCAL.unpack(source.read(member.header_offset, _LOCAL.size, shown))
    start = member.header_offset + _LOCAL.size + int(fields[9]) + int(fields[10])
    if fields[0] != MAGIC:
        raise source.error("unreadable", f"no member begins where {shown} should", byte=member.header_offset)
    if start + member.compressed_size > directory.offset:
        raise source.error("unreadable", f"{shown} reaches into the directory", byte=member.header_offset)
    if member.method == _STORED:
        return Extent(start, start + member.size)
    return Extent(0, member.size, Deflated(start, member.compressed_size, member.size, member.crc))


def _check_packing(source: Source, member: Member, shown: str) -> None:
    """Raise unless the content is stored, or deflated from as many bytes as can give it."""
    if member.method not in (_STORED, _DEFLATED) or member.flags & _ENCRYPTED:
        message = f"{shown} is encrypted, or compressed in another way than deflate"
        raise source.error("unreadable", message, byte=member.header_offset)
    most = member.compressed_size * (MAX_RATIO if member.method == _DEFLATED else 1)
    if member.size > most or (member.method == _STORED and member.size != member.compressed_size):
        message = f"{shown}: {member.compressed_size:,} bytes in the archive cannot be {member.size:,} bytes"
        raise source.error("unreadable", message, byte=member.header_offset)
