"""visualize_data.bin: blocks that msOpProf appends one by one, each a header of 12 bytes and its content.

    header   little endian: u64 size of the content with its padding, u8 type, u8 padding, u8 version, u8 0x5A
    type 1   the path of a source file in 4096 bytes, then its text (the size is that of the text)
    others   JSON in UTF-8

Kinds that are not known, and those that others read (2: trace, 14: heat map), are skipped by their size.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ...text import safe_text
from . import visualize_code as code
from . import visualize_parts as parts
from .records import SourceFile
from .visualize_parts import Parts

HEADER = struct.Struct("<QBBBB")
PATH_BYTES = 4096
MARK = 0x5A
MAX_BLOCKS = 20_000
MAX_JSON_BYTES = 32 << 20
MAX_TOTAL_JSON_BYTES = 128 << 20
MAX_CONTAINERS = 1_000_000
MAX_SOURCE_BYTES = 4 << 20
_SHOWN_PROBLEMS = 20
_MAX_DIGITS = 400

_READERS: Mapping[int, Callable[[Any, Parts], None]] = {
    3: code.take_source_lines,
    4: code.take_instructions,
    5: parts.take_basic,
    6: parts.take_compute_chart,
    7: parts.take_compute_table,
    8: parts.take_memory_map,
    9: parts.take_memory_tables,
    12: parts.take_occupancy,
    13: parts.take_roofline,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Where a block lies. start: its header. content_bytes: without padding. path: of a source file."""

    kind: int
    start: int
    content: int
    content_bytes: int
    version: int
    path: str = ""


@dataclass(slots=True)
class _Notes:
    artifact: str
    problems: list[Problem] = field(default_factory=list)
    n_more: int = 0

    def add(self, kind: str, message: str, byte: int) -> None:
        if len(self.problems) < _SHOWN_PROBLEMS or kind in ("cut-off", "limit"):
            self.problems.append(Problem(self.artifact, kind, message, byte=byte))
        else:
            self.n_more += 1

    def close(self) -> tuple[Problem, ...]:
        if self.n_more:
            message = f"{self.n_more:,} more problems in this file"
            self.problems.append(Problem(self.artifact, "limit", message))
        return tuple(self.problems)


def read_visualize(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Parts, tuple[Problem, ...]]:
    """All that the file tells of its kernel. Of several blocks of one kind the last one counts.

    A file that ends inside a block, sizes beyond its end, content that is no JSON: problems with their byte,
    and the blocks before and behind are read. Raises InputError: it cannot be opened, or does not begin with
    a block.
    """
    file, size_bytes = open_input(path, root)
    notes = _Notes(shown_path(path, root))
    found = Parts()
    with file:
        blocks = _blocks(file.fileno(), size_bytes, path, notes, is_cancelled)
        last = {block.kind: block for block in blocks}
        n_json = 0
        for block in blocks:
            check(is_cancelled)
            found.counts[block.kind] = found.counts.get(block.kind, 0) + 1
            if block.kind == 1:
                found.source_files.append(SourceFile(block.path, block.content, block.content_bytes))
            read = _READERS.get(block.kind)
            if read is None:
                continue
            if last[block.kind] is not block:
                message = f"a later block of kind {block.kind} stands for this one"
                notes.add("bad-record", message, block.start)
                continue
            if block.content_bytes > min(MAX_JSON_BYTES, MAX_TOTAL_JSON_BYTES - n_json):
                message = f"a block of {block.content_bytes:,} bytes was left out"
                notes.add("too-large", message, block.start)
                continue
            n_json += block.content_bytes
            value = _json_of(file.fileno(), block, notes)
            if not isinstance(value, dict):
                if value is not None:
                    notes.add("bad-record", f"the block of kind {block.kind} is no object", block.content)
                continue
            n_bad = found.n_bad
            read(value, found)
            if found.n_bad > n_bad:
                message = f"{found.n_bad - n_bad:,} records of kind {block.kind} are not as expected"
                notes.add("bad-record", message, block.content)
            progress(Progress("read", block.content + block.content_bytes, size_bytes, "bytes"))
        if found.n_cut:
            notes.add("limit", f"{found.n_cut:,} records behind the limit were left out", 0)
    return found, notes.close()


def read_source_file(path: Path, source: SourceFile, *, root: Path | None = None) -> list[str]:
    """The lines of a source file that visualize_data.bin keeps, of one larger than 4 MB the first ones.

    path: of visualize_data.bin. Raises InputError: it cannot be opened, or is shorter than it was.
    """
    file, size_bytes = open_input(path, root)
    with file:
        if source.start_byte + source.n_bytes > size_bytes:
            raise InputError("the file is not the one that was read before", path=path)
        raw = _read(file.fileno(), min(source.n_bytes, MAX_SOURCE_BYTES), source.start_byte)
    return raw.decode("utf-8", "replace").splitlines()


def _blocks(fd: int, size_bytes: int, path: Path, notes: _Notes, is_cancelled: IsCancelled) -> list[Block]:
    """Headers one after another. Raises InputError where the first one is none."""
    blocks: list[Block] = []
    at = 0
    while at < size_bytes:
        check(is_cancelled)
        if len(blocks) >= MAX_BLOCKS:
            notes.add("limit", f"only the first {MAX_BLOCKS:,} blocks were read", at)
            break
        head = _read(fd, HEADER.size, at)
        if len(head) < HEADER.size:
            notes.add("cut-off", "the file ends inside the header of a block", at)
            break
        size, kind, padding, version, mark = HEADER.unpack(head)
        content = at + HEADER.size + (PATH_BYTES if kind == 1 else 0)
        if mark != MARK or padding > 3 or padding > size:
            if not blocks:
                raise InputError("this is no visualize_data.bin: it does not begin with a block", path=path)
            notes.add("bad-record", "no header of a block stands here: what follows was not read", at)
            break
        if size > size_bytes - content:
            notes.add("cut-off", f"a block of {size:,} bytes goes beyond the end of the file", at)
            break
        name = ""
        if kind == 1:
            raw = _read(fd, PATH_BYTES, at + HEADER.size).split(b"\0", 1)[0]
            name = safe_text(raw.decode("utf-8", "replace"))
        blocks.append(Block(kind, at, content, size - padding, version, name))
        at = content + size
    if not blocks and not notes.problems:
        raise InputError("the file is empty", path=path, hint="msOpProf writes it at its end")
    return blocks


def _read(fd: int, n_bytes: int, at: int) -> bytes:
    try:
        pieces = []
        while n_bytes > 0:
            piece = os.pread(fd, n_bytes, at)
            if not piece:
                break
            pieces.append(piece)
            at += len(piece)
            n_bytes -= len(piece)
        return b"".join(pieces)
    except OSError:
        return b""


def _json_of(fd: int, block: Block, notes: _Notes) -> Any:
    """The content of a block; None with a problem where it is no JSON."""
    raw = _read(fd, block.content_bytes, block.content)
    if len(raw) < block.content_bytes:
        notes.add("unreadable", "the block cannot be read to its end", block.start)
        return None
    if raw.count(b"[") + raw.count(b"{") > MAX_CONTAINERS:  # each takes many times its bytes
        notes.add("too-large", f"a block with more than {MAX_CONTAINERS:,} lists was left out", block.start)
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = "bytes of the block are not UTF-8; they are shown as replacement characters"
        notes.add("encoding", message, block.content + error.start)
        text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text, parse_int=_whole, parse_constant=_no_number)
    except RecursionError:
        notes.add("too-deep", f"the block of kind {block.kind} is nested too deep", block.content)
    except ValueError as error:
        message = f"the block of kind {block.kind} is no JSON: {safe_text(str(error), 200)}"
        notes.add("bad-record", message, block.content)
    return None


def _whole(digits: str) -> int | float:
    """Whole numbers beyond any counter would cost square time."""
    return int(digits) if len(digits) <= _MAX_DIGITS else float("nan")


def _no_number(word: str) -> None:
    """NaN and Infinity are no figures of a kernel."""
