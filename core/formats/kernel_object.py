"""Program counters of a kernel's object file as source lines, innermost inlined function first.

An offset is what the line table of the object counts from: `pc current` of msSanitizer as it stands, of a
runtime's log the difference to the start of the kernel. The debug data is read by llvm-symbolizer or
addr2line where they are installed, else by pyelftools; always in a process of its own, since no reader of
such data is safe from what a file can hold.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from npulse.core.dataclass import dataclass

from ..errors import EnvironmentLacks, InputError
from .symbolizers import (
    TOOLS,
    CodePlace,
    Deadline,
    ReadingFailed,
    Unreadable,
    ask_elftools,
    ask_tool,
    found_tools,
)
from .tensors.error import TensorError
from .tensors.source import Source, open_source

__all__ = ["CodePlace", "has_line_table", "is_kernel_object", "lines_at"]

MAX_OBJECT_BYTES = 1 << 28
MAX_SECTIONS = 1 << 16
ASKED_AT_ONCE = 4_096
TIMEOUT_S = 20.0

_MAX_NAMES_BYTES = 1 << 22
_RELOCATABLE, _EXECUTABLE, _SHARED = 1, 2, 3
_CODE_FLAG = 4
_NO_BYTES = 8  # section type: takes no place in the file
_HOST_MACHINES = frozenset((2, 3, 8, 20, 21, 22, 40, 50, 62, 183, 243, 258))
"""SPARC, x86, MIPS, PowerPC, S/390, Arm, Itanium, x86-64, AArch64, RISC-V, LoongArch."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    is_code: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Object:
    """What the headers of an object say."""

    is_relocatable: bool
    sections: tuple[_Section, ...]

    @property
    def has_lines(self) -> bool:
        names = (".debug_line", ".zdebug_line")
        return any(section.name in names and section.size_bytes for section in self.sections)

    @property
    def is_one_code(self) -> bool:
        """False if several sections of code all begin at 0: an offset alone does not name a place then."""
        n_code = sum(section.is_code and section.size_bytes > 0 for section in self.sections)
        return not self.is_relocatable or n_code <= 1


def is_kernel_object(first_bytes: bytes) -> bool:
    """True for the begin of an ELF object with code that is made for no known kind of host."""
    if len(first_bytes) < 20 or first_bytes[:4] != b"\x7fELF" or first_bytes[4] not in (1, 2):
        return False
    if first_bytes[5] not in (1, 2):
        return False
    kind, machine = struct.unpack_from("<HH" if first_bytes[5] == 1 else ">HH", first_bytes, 16)
    return kind in (_RELOCATABLE, _EXECUTABLE, _SHARED) and machine not in _HOST_MACHINES


def has_line_table(path: Path, root: Path) -> bool:
    """False if the object was built without -g, so that no offset has a line. Raises InputError."""
    with _opened(path, root) as source:
        return _headers(source).has_lines


def lines_at(
    path: Path,
    root: Path,
    offsets: Iterable[int],
    *,
    tools: Sequence[str] = TOOLS,
    timeout_s: float = TIMEOUT_S,
) -> dict[int, tuple[CodePlace, ...]]:
    """Source places of every offset, the innermost inlined function first; () where the object has none.

    tools: names on PATH or absolute paths of programs to ask first, in this order; () for pyelftools alone.
    Raises InputError (no file, outside of `root`, no ELF object, cut off, damaged, more than `timeout_s`
    seconds), EnvironmentLacks (nothing here can read debug data).
    """
    wanted = list(dict.fromkeys(offsets))
    found: dict[int, tuple[CodePlace, ...]] = dict.fromkeys(wanted, ())
    inside = [offset for offset in wanted if 0 <= offset < 1 << 64]
    with _opened(path, root) as source:
        headers = _headers(source)
        if not headers.has_lines or not inside:
            return found
        programs = found_tools(tools) if headers.is_one_code else []
        if headers.is_relocatable:  # it takes offsets for addresses behind all other sections
            programs = [program for program in programs if "addr2line" not in os.path.basename(program)]
        deadline = Deadline(timeout_s)
        for at in range(0, len(inside), ASKED_AT_ONCE):
            found.update(_asked(source, inside[at : at + ASKED_AT_ONCE], programs, deadline))
    return found


def _asked(
    source: Source, offsets: Sequence[int], programs: Sequence[str], deadline: Deadline
) -> dict[int, tuple[CodePlace, ...]]:
    """The first answer that names a place; that of nothing if all readers agree that there is none."""
    answer: dict[int, tuple[CodePlace, ...]] | None = None
    for program in programs:
        try:
            answer = ask_tool(program, source.fd, Path(source.path), offsets, deadline)
        except ReadingFailed:  # it may not know this machine, or this version of the debug data
            continue
        if any(answer.values()):
            return answer
    if find_spec("elftools") is None:
        if answer is not None:
            return answer
        raise EnvironmentLacks(
            "no reader of debug data is installed",
            hint="pip install 'npulse[objects]', or put llvm-symbolizer on PATH",
            path=source.path,
        )
    try:
        return ask_elftools(source.fd, Path(source.path), offsets, deadline)
    except Unreadable as error:
        raise InputError(
            f"its debug data cannot be read: {error}",
            path=source.path,
            hint="copy the object again, or build the kernel again with -g",
        ) from error


def _opened(path: Path, root: Path) -> Source:
    try:
        source = open_source(path, root)
    except TensorError as error:  # its hints speak of dumps
        raise InputError(error.message, path=path) from error
    if source.size > MAX_OBJECT_BYTES:
        source.close()
        message = f"an object of {source.size:,} bytes; up to {MAX_OBJECT_BYTES:,} are read"
        raise InputError(message, path=path)
    return source


def _headers(source: Source) -> _Object:
    """Header and section table; InputError where they are damaged or the file ends before a section does."""

    def read(offset: int, n_bytes: int, what: str) -> bytes:
        if offset + n_bytes > source.size:
            raise InputError(
                f"the file ends after {source.size:,} bytes, {what} needs {offset + n_bytes:,}",
                path=source.path,
                byte=source.size,
                hint="the copy was interrupted: copy the object again",
            )
        try:
            return source.read(offset, n_bytes, what)
        except TensorError as error:
            raise InputError(error.message, path=source.path, byte=error.byte) from error

    head = read(0, 16, "the ELF header")
    if head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise InputError("not an ELF object", path=source.path, byte=0)
    is_wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
    layout = struct.Struct(order + ("HHIQQQIHHHHHH" if is_wide else "HHIIIIIHHHHHH"))
    fields = layout.unpack(read(16, layout.size, "the ELF header"))
    kind, table_at, entry_bytes, n_sections, names_index = fields[0], fields[5], *fields[10:13]
    row = struct.Struct(order + ("IIQQQQ" if is_wide else "IIIIII"))
    if kind not in (_RELOCATABLE, _EXECUTABLE, _SHARED):
        raise InputError("an ELF file without code, such as a core file", path=source.path, byte=16)
    if n_sections == 0 or table_at == 0:
        return _Object(kind == _RELOCATABLE, ())
    if entry_bytes < row.size or n_sections > MAX_SECTIONS or names_index >= n_sections:
        raise InputError("its section table is damaged", path=source.path, byte=table_at)
    table = read(table_at, entry_bytes * n_sections, "the section table")
    rows = [row.unpack_from(table, i * entry_bytes) for i in range(n_sections)]
    for _, section_kind, _, _, at, size in rows:
        if section_kind != _NO_BYTES and at + size > source.size:
            read(at, size, "a section")
    _, _, _, _, names_at, names_bytes = rows[names_index]
    names = read(names_at, min(names_bytes, _MAX_NAMES_BYTES), "the names of sections")
    sections = tuple(
        _Section(_name_in(names, name_at), bool(flags & _CODE_FLAG), size)
        for name_at, _, flags, _, _, size in rows
    )
    return _Object(kind == _RELOCATABLE, sections)


def _name_in(names: bytes, at: int) -> str:
    return names[at : at + 64].partition(b"\0")[0].decode("ascii", "replace")
