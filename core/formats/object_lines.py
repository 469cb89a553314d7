"""Source places from an ELF object's debug data by pyelftools; the begin of a process of its own.

What a damaged object makes pyelftools do (any exception, no end, all memory) ends with that process:
`symbolizers.ask_elftools` starts it and bounds it. DWARF 2 to 5, also of objects that are not linked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from ..text import safe_text

MAX_HOPS = 8
"""From an inlined call to the declaration that has its name."""

MAX_DEPTH = 512

_SCOPES = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_CALL_SITE = ("DW_AT_call_file", "DW_AT_call_line", "DW_AT_call_column")
Row = tuple[str, int, int, str]
"""File, line, column (0: not known), function."""


def lines_in(file: BinaryIO, offsets: Sequence[int]) -> dict[int, list[Row]]:
    """Places of every offset, innermost first, [] where there are none or several sections claim it.

    Raises what pyelftools raises on damaged data: not only errors of its own.
    """
    from elftools.elf.elffile import ELFFile

    dwarf = ELFFile(file).get_dwarf_info(relocate_dwarf_sections=True)
    found: dict[int, list[Row]] = {offset: [] for offset in offsets}
    if not dwarf.has_debug_info:
        return found
    wanted = sorted(found)
    claimed: set[int] = set()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        table = _Files(unit, program)
        places: dict[int, tuple[int, int, int]] = {}
        for first, end, state in _spans(program):
            for offset in _between(wanted, first, end):
                if offset in claimed:
                    places.pop(offset, None)
                    found[offset] = []
                else:
                    claimed.add(offset)
                    places[offset] = (state.file, state.line, state.column)
        if places:
            chains = _chains(dwarf, unit, list(places))
            for offset, place in places.items():
                found[offset] = list(_unrolled(place, chains.get(offset, []), table))
    return found


def _spans(program: Any) -> Iterator[tuple[int, int, Any]]:
    """(first address, end, state) of every row of a line program."""
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and state.address > before.address:
            yield before.address, state.address, before
        before = None if state.end_sequence else state


def _between(wanted: Sequence[int], first: int, end: int) -> Sequence[int]:
    from bisect import bisect_left

    return wanted[bisect_left(wanted, first) : bisect_left(wanted, end)]


class _Files:
    """Names of a unit's files by their numbers, which count from 1 before DWARF 5 and from 0 in it."""

    def __init__(self, unit: Any, program: Any) -> None:
        header = program.header
        self._is_new = header["version"] >= 5
        self._files = header.get("file_entry") or []
        self._folders = header.get("include_directory") or []
        top = unit.get_top_DIE().attributes
        self._home = _text(top["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in top else ""

    def path(self, number: int) -> str:
        """ "" where the number is none of a file."""
        at = number if self._is_new else number - 1
        if not 0 <= at < len(self._files):
            return ""
        entry = self._files[at]
        folder_number = entry["dir_index"] if "dir_index" in entry else 0
        folder_at = folder_number if self._is_new else folder_number - 1
        folder = _text(self._folders[folder_at]) if 0 <= folder_at < len(self._folders) else ""
        return os.path.join(self._home, folder, _text(entry["name"]))


def _chains(dwarf: Any, unit: Any, offsets: Sequence[int]) -> dict[int, list[Any]]:
    """For every offset the function and the inlined calls in it that hold it, outermost first.

    All entries of the unit are read one behind the other: links between them could lead in a circle.
    """
    from elftools.dwarf.die import DIE

    found: dict[int, list[Any]] = {}
    wanted = sorted(offsets)
    at, end = unit.cu_die_offset, unit.cu_offset + unit.size
    base = 0
    around: list[Any] = []
    while at < end:
        entry = DIE(cu=unit, stream=dwarf.debug_info_sec.stream, offset=at)
        if not around and at == unit.cu_die_offset and "DW_AT_low_pc" in entry.attributes:
            base = entry.attributes["DW_AT_low_pc"].value
        at += entry.size
        if entry.is_null():
            if around:
                around.pop()
            continue
        if entry.tag in _SCOPES:
            for first, last in _ranges(dwarf, unit, entry, base):
                for offset in _between(wanted, first, last):
                    found[offset] = _from_function([*around, entry])
        if entry.has_children:
            if len(around) >= MAX_DEPTH:
                raise ValueError("entries too deep in each other")
            around.append(entry)
    return found


def _from_function(entries: Sequence[Any]) -> list[Any]:
    """The last function of a way down and the inlined calls behind it."""
    chain: list[Any] = []
    for entry in entries:
        if entry.tag == "DW_TAG_subprogram":
            chain = [entry]
        elif entry.tag == "DW_TAG_inlined_subroutine":
            chain.append(entry)
    return chain


def _ranges(dwarf: Any, unit: Any, entry: Any, base: int) -> Iterator[tuple[int, int]]:
    from elftools.dwarf.descriptions import describe_form_class
    from elftools.dwarf.ranges import BaseAddressEntry

    attributes = entry.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if describe_form_class(high.form) == "address" else low + high.value
    elif "DW_AT_ranges" in attributes:
        lists = dwarf.range_lists()
        if lists is None:
            return
        for part in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if isinstance(part, BaseAddressEntry):
                base = part.base_address
            elif part.is_absolute:
                yield part.begin_offset, part.end_offset
            else:
                yield base + part.begin_offset, base + part.end_offset


def _unrolled(place: tuple[int, int, int], chain: Sequence[Any], table: _Files) -> Iterator[Row]:
    """The place itself in the innermost function, then the place of every call that was inlined."""
    number, line, column = place
    for entry in reversed(chain):
        yield table.path(number), line, column, _name_of(entry)
        attributes = entry.attributes
        number, line, column = (attributes[name].value if name in attributes else 0 for name in _CALL_SITE)
    if not chain:
        yield table.path(number), line, column, ""


def _name_of(entry: Any) -> str:
    for _ in range(MAX_HOPS):
        attributes = entry.attributes
        if "DW_AT_name" in attributes:
            return _text(attributes["DW_AT_name"].value)
        link = next((n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in attributes), None)
        if link is None:
            return ""
        entry = entry.get_DIE_from_attribute(link)
    return ""


def _text(raw: Any) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def main() -> None:
    """Offsets as JSON come in, places as JSON go out; the object's name is the first argument."""
    offsets = [int(offset) for offset in json.load(sys.stdin)]
    from elftools.common.exceptions import DWARFError, ELFError

    answer: dict[str, Any]
    try:
        with open(sys.argv[1], "rb") as file:
            answer = {str(offset): rows for offset, rows in lines_in(file, offsets).items()}
    except (DWARFError, ELFError) as error:
        answer = {"error": safe_text(str(error), 200)}
    except Exception as error:  # the edge of this process: what damaged data made of the reader
        answer = {"error": f"it is damaged ({type(error).__name__})"}
    json.dump(answer, sys.stdout)
