"""One bounded look into a file: its first and last bytes, and what a header, a key or a sheet says there.

Regular files only, opened without blocking; never more than a few KB, whatever the file's size.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import struct
import zipfile
import zlib
from typing import BinaryIO, Literal

from npulse.core.dataclass import dataclass

from ..formats.encodings import without_mark

HEAD_BYTES = 8192
TAIL_BYTES = 4096

_SHEET_BYTES = 16384
_MAX_DIRECTORY_BYTES = 1 << 20
_MAGICS = (
    b"\x7fELF",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x89PNG",
    b"\x93NUMPY",
    b"SQLite format 3\0",
    b"\x28\xb5\x2f\xfd",
)
_ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_JSON_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
_SHEET_TEXT = re.compile(rb"<t(?: [^>]*)?>([^<]{1,200})</t>")


@dataclass(frozen=True, slots=True)
class Peek:
    """First and last bytes of a file (`tail` is empty where `head` holds all), size and time."""

    head: bytes
    tail: bytes
    size_bytes: int
    modified_ns: int

    @property
    def end(self) -> bytes:
        return self.tail or self.head


def peek(path: str, *, head: int = HEAD_BYTES, tail: int = 0, follow: bool = False) -> Peek | None:
    """The file's first and last bytes; None if it is no regular file. OSError as `open` raises it.

    A link is not followed unless `follow`; a pipe or device that took the file's place does not block.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        size = status.st_size
        first = os.pread(fd, head, 0)
        last = os.pread(fd, min(tail, size - head), max(head, size - tail)) if tail and size > head else b""
        return Peek(first, last, size, status.st_mtime_ns)
    finally:
        os.close(fd)


def plain(raw: bytes) -> bytes:
    """Log bytes without colour codes, carriage returns and NULs.

    NULs are every second byte of a log in UTF-16, and the beginning of one that was emptied under its writer.
    """
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    return _ESCAPE.sub(b"", raw).replace(b"\r", b"") if b"\x1b" in raw or b"\r" in raw else raw


def is_text(head: bytes) -> bool:
    """False for what begins like a binary file: by its magic, or a tenth of NULs and more.

    A program's own output between a log's lines may hold single NULs; UTF-16 and the hole that an emptied log
    begins with hold many.
    """
    start = head[:1024]
    if start.startswith(_MAGICS):
        return False
    if b"\0" not in start or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    rest = start.lstrip(b"\0")
    if rest.count(b"\0") * 10 < len(rest) or not rest:
        return True
    return not start[:64:2].strip(b"\0") or not start[1:64:2].strip(b"\0")


def first_line(head: bytes) -> str:
    """The first line as text: UTF-16 with or without its mark, else UTF-8, else GB18030."""
    head, encoding = without_mark(head)
    if encoding.startswith("utf-16"):
        return head.decode(encoding, "replace").split("\n", 1)[0].rstrip("\r")
    line = head.split(b"\n", 1)[0].rstrip(b"\r")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("gb18030", "replace")


def columns(head: bytes) -> frozenset[str]:
    """Column names of a csv's header, lower case, without quotes, tabs and blanks around them."""
    line = first_line(head)
    separator = max(",|;\t", key=line.count)
    return frozenset(cell.strip(' \t"').lower() for cell in line.split(separator))


@dataclass(frozen=True, slots=True)
class JsonKeys:
    """Keys seen in a JSON prefix. `top`: of the object, or of the objects in the array; `inner`: deeper."""

    shape: Literal["object", "array"]
    top: frozenset[str]
    inner: frozenset[str]
    first: str


def json_keys(head: bytes) -> JsonKeys | None:
    """Keys of the beginning of a JSON text, cut or not; None if it does not begin like one."""
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text[:1] not in (b"{", b"["):
        return None
    level = 1 if text[:1] == b"{" else 2
    top: set[str] = set()
    inner: set[str] = set()
    first = ""
    depth = 0
    for token in _JSON_TOKEN.finditer(text):
        mark = text[token.start()]
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
        elif token[2]:
            key = token[1].decode("utf-8", "replace")
            first = first or key
            (top if depth == level else inner).add(key)
    return JsonKeys("object" if level == 1 else "array", frozenset(top), frozenset(inner), first)


def looks_closed(end: bytes) -> bool:
    """Whether the end of a JSON text looks like its end: closers only after the last value.

    Indented text must close in column 0. A cut behind a closing bracket of compact text looks closed: this is
    a look, not a parse.
    """
    text = end.rstrip()
    if text[-1:] not in (b"}", b"]"):
        return False
    return not text.rsplit(b"\n", 1)[-1][:1].isspace()


def workbook_texts(path: str) -> frozenset[str] | None:
    """Lower-case texts of a workbook: sheet names and the first cells. None if it can't be opened.

    A few KB of three members are unpacked, whatever they claim to hold.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        try:
            with zipfile.ZipFile(_bounded(file)) as archive:
                texts = {f"member:{name.split('/', 1)[0]}" for name in archive.namelist()[:64]}
                for member in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/workbook.xml"):
                    raw = _member(archive, member)
                    texts |= {t.decode("utf-8", "replace").lower() for t in _SHEET_TEXT.findall(raw)}
                    texts |= {
                        "sheet:" + t.decode("utf-8", "replace").lower()
                        for t in re.findall(rb'<sheet [^>]*?name="([^"]{1,64})"', raw)
                    }
                return frozenset(texts)
        except (zipfile.BadZipFile, OSError, ValueError, EOFError, RuntimeError, struct.error):
            return None  # wrong offsets end in OSError too


def _bounded(file: BinaryIO) -> BinaryIO:
    """The file, if the zip directory at its end is small; ValueError otherwise (zipfile reads it whole)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 65557))
    end = file.read(65557)
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) - at < 22:
        raise ValueError("no zip directory")
    (directory_bytes,) = struct.unpack_from("<I", end, at + 12)
    if directory_bytes > _MAX_DIRECTORY_BYTES:
        raise ValueError("zip directory too large")
    file.seek(0)
    return file


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return b""  # other methods may ask for a lot of memory before the first byte
        with archive.open(info) as member:
            return member.read(_SHEET_BYTES)
    except (KeyError, zlib.error):
        return b""
