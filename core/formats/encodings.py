"""In which encoding a text came: UTF-8 with or without byte order mark, UTF-16, and GBK where a line is no
UTF-8. The one place that decides it, for readers of lines and of tables.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping

MARK_BYTES = 64
"""As many first bytes as it takes to see UTF-16 without a mark."""

SHOWN: Mapping[str, str] = {
    "utf-8-sig": "utf-8 with BOM",
    "utf-16-le": "utf-16",
    "utf-16-be": "utf-16",
    "gb18030": "gb18030/gbk",
}
"""How people are told an encoding; those that are not here are called by their own name."""


def without_mark(head: bytes) -> tuple[bytes, str]:
    """What is behind the byte order mark, and the encoding: utf-8, utf-8-sig, utf-16-le or utf-16-be."""
    if head.startswith(codecs.BOM_UTF8):
        return head[len(codecs.BOM_UTF8) :], "utf-8-sig"
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return head[len(mark) :], encoding
    even, odd = head[0:MARK_BYTES:2], head[1:MARK_BYTES:2]
    if len(odd) >= 4:  # plain letters in UTF-16 without a mark: every other byte is zero
        if not any(odd) and all(even):
            return head, "utf-16-le"
        if not any(even) and all(odd):
            return head, "utf-16-be"
    return head, "utf-8"


def utf16_decoder(encoding: str) -> codecs.IncrementalDecoder | None:
    """What decodes the bytes of a text in UTF-16, piece by piece; None for the encodings of lines."""
    return codecs.getincrementaldecoder(encoding)("replace") if encoding.startswith("utf-16") else None


def line_text(line: bytes, *, is_among_gbk: bool) -> tuple[str, str]:
    """The text of one line and its encoding: "utf-8", "gb18030", or "" (neither; '?' in it).

    is_among_gbk: other lines are GBK. Two bytes a character, as it has, may be UTF-8 by chance: then GBK is
    meant.
    """
    try:
        text = line.decode("utf-8")
        if not is_among_gbk or line.isascii() or max(text) >= "\u0800":
            return text, "utf-8"
    except UnicodeDecodeError:
        pass
    try:
        return line.decode("gb18030"), "gb18030"
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace"), ""
