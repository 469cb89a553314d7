"""Stack frames and SUMMARY lines: function, file, line, column, module and build id out of one line of text.

    #0 0x55d0 in Row<float, 16>::Store(int, float) /src/attn.cpp:36:19     with line table; gcc: no column
    #1 0x55d0 in operator new[](unsigned long) (/src/attn+0x10bbed) (BuildId: 0123456789)
    #2 0x7f95  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)                   no symbols; one blank long ago
    #3 0x7f95 in start_thread asan_interceptors.cpp.o                      no line
    #4 Add(int) /src/race.cpp:10:9 (race+0xd4514)                          ThreadSanitizer: no pc
    #5 <null> <null> (libstdc++.so.6+0xd44a2)

The module is taken off the end, then line and column; where the function ends is told by its parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .records import Frame, Summary, bounded

MAX_CACHED_BYTES = 1 << 23
ENTRY_BYTES = 300  # about what a frame takes beside its text

_FRAME = re.compile(r"\s{1,12}#(\d{1,6}) {1,3}(?:(0x[0-9a-fA-F]{1,16})(?=\s|$) ?)?(in )?(.*)", re.DOTALL)
_BUILD_ID = re.compile(r" ?\(BuildId: ([0-9a-fA-F]{1,128})\)$")
_MODULE = re.compile(r"(.+)\+(0x[0-9a-fA-F]{1,16})$", re.DOTALL)
_LINE = re.compile(r"(.*?)((?::(?:\d{1,10}|\?)){1,2})$", re.DOTALL)
_SOURCE = re.compile(
    r"\.(?:c|cc|cpp|cxx|c\+\+|cu|cce|asc|h|hh|hpp|hxx|inc|inl|ipp|tcc|s|S|asm|rs|f90|py|pyx)(?:\.o)?$"
)
_NAMELESS = ("<null>", "<unknown>", "??")
_SUMMARY = re.compile(r"SUMMARY: (\w{1,60}Sanitizer): (.*)", re.DOTALL)
_LEAKED = re.compile(r"(\d{1,20}) byte\(s\) leaked in (\d{1,20}) allocation\(s\)\.?\s*$")


class Frames:
    """Reads frames; lines that were read before, and names in new ones, give the same objects again."""

    def __init__(self) -> None:
        self._frames: dict[str, Frame] = {}
        self._names: dict[str, str] = {}
        self._n_bytes = 0

    def frame(self, text: str) -> Frame | None:
        """The frame in one line; None if it is none."""
        known = self._frames.get(text)
        if known is not None:
            return known
        found = _FRAME.match(text)
        if found is None:
            return None
        index, pc, has_name, body = found.groups()
        address = None if pc is None else int(pc, 16)
        frame = _frame_of(int(index), address, has_name, body, self.name)
        self._remember(len(text))
        self._frames[text] = frame
        return frame

    def name(self, text: str) -> str:
        """The text, bounded; equal ones are one object."""
        text = bounded(text)
        known = self._names.get(text)
        if known is None:
            self._remember(len(text))
            known = self._names[text] = text
        return known

    def _remember(self, n_chars: int) -> None:
        self._n_bytes += n_chars + ENTRY_BYTES
        if self._n_bytes > MAX_CACHED_BYTES:
            self._frames.clear()
            self._names.clear()
            self._n_bytes = n_chars + ENTRY_BYTES


def _frame_of(
    index: int, pc: int | None, has_name: str | None, body: str, name: Callable[[str], str] = bounded
) -> Frame:
    """A frame; body: "<function> <file>:<line>:<column> (<module>+<offset>) (BuildId: <id>)", or parts."""
    body, module, offset, build_id = _without_module(body.rstrip())
    body = body.strip()
    function, file, line, column = _named(body) if body else (None, None, None, None)
    if function is not None and not has_name and pc is not None:
        # without "in " there is no function: what is left is a place
        function, file = None, function if file is None else f"{function} {file}"
    return Frame(
        index,
        pc,
        None if function is None else name(function),
        None if file is None else name(file),
        line,
        column,
        None if module is None else name(module),
        offset,
        None if build_id is None else name(build_id),
    )


def place_of(text: str) -> Frame | None:
    """Where a SUMMARY points: "<file>:<line> in <function>" or "(<module>+<offset>) in <function>"."""
    text = text.strip()
    if not text:
        return None
    before, found, function = text.partition(" in ") if text.startswith("(") else _around_in(text)
    body, module, offset, build_id = _without_module(before if found else text.removesuffix(" in"))
    file, line, column = numbers_of(body.strip())
    return Frame(
        index=0,
        function=bounded(function.strip()) or None,
        file=bounded(file) or None,
        line=line,
        column=column,
        module=None if module is None else bounded(module),
        module_offset=offset,
        build_id=build_id,
    )


def _around_in(text: str) -> tuple[str, str, str]:
    """Split at the first " in " that has a place with a line before it: names of files can hold one, too."""
    at = text.find(" in ")
    while at >= 0:
        if _LINE.fullmatch(text[:at][-64:]) or text[:at].endswith(">"):
            return text[:at], " in ", text[at + 4 :]
        at = text.find(" in ", at + 1)
        if at > 8192:
            break
    return text, "", ""


def summary_of(text: str, line: int, byte: int, kind: str | None = None) -> Summary | None:
    """The SUMMARY in a line; None if there is none. kind: of the report that it ends; it can hold blanks."""
    found = _SUMMARY.search(text)
    if found is None:
        return None
    tool, rest = found.groups()
    shown = bounded(found.group().rstrip())
    leaked = _LEAKED.match(rest)
    if leaked:
        n_bytes, n_blocks = map(int, leaked.groups())
        return Summary(line, byte, tool, shown, leaked_bytes=n_bytes, n_allocations=n_blocks)
    if kind is not None and rest.startswith(kind) and rest[len(kind) : len(kind) + 1] in ("", " ", ":"):
        word, place = kind, rest[len(kind) :]
    else:
        word, _, place = rest.partition(" ")
        if word == "data" and place.startswith("race"):
            word, place = "data race", place[4:]
    place = "" if word.endswith(":") or place.startswith(":") else place
    return Summary(line, byte, tool, shown, bounded(word.rstrip(":")), place=place_of(place[:8192]))


def _without_module(body: str) -> tuple[str, str | None, int | None, str | None]:
    """The text before the module, and the module: name, offset, build id."""
    build_id = None
    if body.endswith(")"):
        found = _BUILD_ID.search(body, max(len(body) - 144, 0))
        if found:
            build_id, body = found.group(1), body[: found.start()].rstrip()
    if not body.endswith(")"):
        return body, None, None, build_id
    start = _opening(body)
    inside = body[start + 1 : -1]
    if start < 0 or (start > 0 and not body[start - 1].isspace()):
        return body, None, None, build_id
    if inside == "<unknown module>":
        return body[:start], inside, None, build_id
    found = _MODULE.match(inside)
    if found is None:
        return body, None, None, build_id
    return body[:start], found.group(1), int(found.group(2), 16), build_id


def _opening(text: str) -> int:
    """Where the parenthesis opens that the last character closes; -1 if it does not."""
    start = text.rfind("(")
    if start >= 0 and text.find(")", start) == len(text) - 1:
        return start
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] == ")":
            depth += 1
        elif text[at] == "(":
            depth -= 1
            if depth == 0:
                return at
    return -1


def numbers_of(text: str) -> tuple[str, int | None, int | None]:
    """ "<file>:<line>:<column>" taken apart. A '?' is no number; 0 is kept."""
    found = _LINE.fullmatch(text[-64:])
    if found is None:
        return text, None, None
    _, line, *column = found.group(2).split(":")
    file = text[: len(text) - len(found.group(2))]
    return file, _number(line), _number(column[0]) if column else None


def _number(text: str) -> int | None:
    return None if text == "?" else int(text)


def _named(body: str) -> tuple[str | None, str | None, int | None, int | None]:
    """(function, file, line, column) of "<function> <file>:<line>:<column>"; both names can hold blanks."""
    head, line, column = numbers_of(body)
    has_line = len(head) < len(body)
    at, counted, n_open = head.find(" /"), 0, 0
    while at >= 0:  # an absolute path, behind a function whose parentheses are closed
        n_open += head.count("(", counted, at) - head.count(")", counted, at)
        if n_open == 0:
            return head[:at].strip() or None, head[at + 1 :], line, column
        counted, at = at, head.find(" /", at + 1)
    function, blank, file = head.rpartition(" ")
    is_file = has_line or file in _NAMELESS or _SOURCE.search(file) is not None
    if blank and is_file and function.count("(") == function.count(")"):
        return function.strip() or None, file, line, column
    if has_line and not blank:
        return None, head, line, column
    return body, None, None, None
