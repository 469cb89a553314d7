"""Protobuf's wire format, read by position: a bounded decoder for messages from hostile files."""

from __future__ import annotations

from collections.abc import Iterator

Span = tuple[int, int]
"""First byte of a field's content, and the byte behind its last one."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT_BYTES = 10
_UINT64 = (1 << 64) - 1


class WireError(Exception):
    """The bytes are no message. at: index of the byte where that was noticed."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def fields(message: bytes, span: Span) -> Iterator[tuple[int, int | Span]]:
    """Field number and content of each field in `span`, in file order, known or not.

    Content: an unsigned 64-bit number, or the span of a string, bytes, packed list or message. Nothing is
    copied. Raises WireError.
    """
    at, end = span
    while at < end:
        start = at
        tag, at = varint(message, at, end)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise WireError("a field without a number", start)
        if wire_type == _VARINT:
            value, at = varint(message, at, end)
            yield number, value
            continue
        if wire_type == _BYTES:
            length, at = varint(message, at, end)
        elif wire_type in _FIXED_BYTES:
            length = _FIXED_BYTES[wire_type]
        else:
            raise WireError(f"a field of unknown kind {wire_type}", start)
        if length > end - at:
            raise WireError(f"a field of {length:,} bytes, {end - at:,} are left", start)
        content = (at, at + length)
        yield number, content if wire_type == _BYTES else int.from_bytes(message[at : at + length], "little")
        at += length


def varint(message: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at index `at`, and the index behind it. Raises WireError beyond `end` or 10 bytes."""
    value = 0
    for i in range(at, min(end, at + _MAX_VARINT_BYTES)):
        byte = message[i]
        value |= (byte & 0x7F) << 7 * (i - at)
        if byte < 0x80:
            return value & _UINT64, i + 1
    raise WireError("a number without an end", at)


def varints(message: bytes, span: Span) -> Iterator[int]:
    """The numbers of a packed list. Raises WireError."""
    at, end = span
    while at < end:
        value, at = varint(message, at, end)
        yield value


def text_of(message: bytes, span: Span) -> str:
    """A string; what is no UTF-8 in it becomes the replacement character."""
    return message[span[0] : span[1]].decode("utf-8", "replace")
