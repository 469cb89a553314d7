"""The debug log of msSanitizer (`mindstudio_sanitizer_log/mssanitizer_<time>_<pid>.log`), as its bytes come.

    [time] [thread] [checker.cpp:n] DMA_MOV, 5, aiv-0, loc--1-0, 0x678, dst:(type:UB;addr:0x404), deviceId:0
    [time] [thread] [checker.cpp:n] RecordVersion:MEMORY_RECORD, serialNo:1, type:MALLOC, ..., deviceId:0

All other lines tell of the tool itself and are passed over. The tool ends every line with LF: a last line
without it is cut off and is no record, as its device may be, too.
"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ...files import shown_path
from ..log_lines import Line, LineCutter, LogNotes, bounded, decoded, log_windows
from .debug_records import DebugLog, Instruction, MemoryRecord, pair_allocations

MAX_MEMORY_RECORDS = 200_000
MAX_INSTRUCTIONS = 200_000
"""Kept, if not told which: 1 GB of log, at which the tool begins a new file, has four million."""

_HINT = "run MSSANITIZER_ENABLE_DEBUG_LOG=1 mssanitizer -t memcheck -- APP; name its mssanitizer_*.log"

_TAGS = rb"(?:\[[^\[\]]{0,200}\] ?){1,6}"
_BEGIN = re.compile(rb"\[I\] Init log at \[")
_WORD = rb"([A-Z][A-Za-z0-9_]{0,63}|Unknown [A-Za-z]{1,32}\(-?[0-9]{1,10}\))"
_INSTRUCTION = re.compile(
    _TAGS + _WORD + rb", ([0-9]{1,20})(?:, (.*))?, deviceId:(-?[0-9]{1,10})\s*", re.DOTALL
)
_PLACE = re.compile(
    r"(?P<core_type>[^,;]{0,40}?)-(?P<core>-?\d{1,9}), loc-(?:-?\d{1,10})-(?:-?\d{1,10}), "
    r"0x(?P<pc>[0-9a-fA-F]{1,16})(?:[,;] ?(?P<operands>.*))?",
    re.DOTALL,
)
_MEMORY_WORD = b"RecordVersion:MEMORY_RECORD, "
_MEMORY = re.compile(
    _TAGS + _MEMORY_WORD + rb"(?P<fields>.{1,1000}?), lineNo:(?P<line>[0-9]{1,20}), fileName:(?P<file>.*), "
    rb"deviceId:(?P<device>-?[0-9]{1,10})\s*",
    re.DOTALL,
)
_BEGUN = re.compile(_TAGS + rb"(?:" + _WORD + rb", [0-9]{1,20}(?:, |\s*$)|" + _MEMORY_WORD + rb")")
_WORDS = ("type", "memInfoSrc", "dstSpace")  # a record has all of them
_OF_BLOCKS = frozenset(("MALLOC", "FREE"))
_DIGITS = re.compile(r"-?[0-9]{1,20}|0x[0-9a-fA-F]{1,16}")
_TOP = (1 << 64) - 1

Entry = MemoryRecord | Instruction


class DebugReader:
    """Bytes in, records out, in the order of the lines. Any cut into chunks gives the same ones.

    wanted: serial numbers whose instructions and copies are asked for, None for all; what has or frees memory
    always comes. What is more than 200,000 instructions or operations on memory is only counted.
    Problems: bad-record (a line that is damaged), cut-off, too-large, encoding.
    """

    def __init__(self, artifact: str = "", wanted: Container[int] | None = None) -> None:
        self.has_begin = False
        self.n_lines = 0
        self.n_instructions = 0
        self.n_memory = 0
        self.n_left_out = 0
        self._n_given = {Instruction: 0, MemoryRecord: 0}
        self._notes = LogNotes(artifact)
        self._cutter = LineCutter(self._notes)
        self._wanted = wanted

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._notes.told()

    def feed(self, chunk: bytes) -> list[Entry]:
        """The records in the lines that end in these bytes."""
        return [entry for line in self._cutter.feed(chunk) if (entry := self._entry(line)) is not None]

    def finish(self) -> list[Entry]:
        """The log ends here; what stands behind its last line end is cut off."""
        for line in self._cutter.finish():
            self.n_lines = line.number
            self._notes.add("cut-off", "the log ends in this line", line.number, line.byte)
        return []

    def _entry(self, line: Line) -> Entry | None:
        self.n_lines = line.number
        raw = line.raw
        found = _INSTRUCTION.fullmatch(raw)
        if found is not None:
            return self._instruction(found, line)
        if _MEMORY_WORD in raw:
            memory = _MEMORY.fullmatch(raw)
            record = self._memory(memory, line) if memory else None
            if record is None:
                self._note_damaged(line)
                return None
            self.n_memory += 1
            is_asked = record.word in _OF_BLOCKS or self._is_wanted(record.serial_number)
            return record if is_asked and self._has_room(MemoryRecord, MAX_MEMORY_RECORDS) else None
        if line.number == 1 and _BEGIN.match(raw):
            self.has_begin = True
        elif _BEGUN.match(raw):
            self._note_damaged(line)
        return None

    def _note_damaged(self, line: Line) -> None:
        self._notes.add("bad-record", "parts of this record are missing or damaged", line.number, line.byte)

    def _is_wanted(self, serial_number: int) -> bool:
        return self._wanted is None or serial_number in self._wanted

    def _has_room(self, kind: type[Entry], limit: int) -> bool:
        if self._n_given[kind] == limit:
            self.n_left_out += 1
            return False
        self._n_given[kind] += 1
        return True

    def _instruction(self, found: re.Match[bytes], line: Line) -> Instruction | None:
        self.n_instructions += 1
        serial = int(found[2])
        if not self._is_wanted(serial) or not self._has_room(Instruction, MAX_INSTRUCTIONS):
            return None
        text = self._text(found[3] or b"", line)
        word = bounded(found[1].decode("ascii"))
        place = _PLACE.fullmatch(text)
        device = int(found[4])
        if place is None:  # the end of an execution, or a form that is not known
            return Instruction(
                word, serial, device, text=bounded(text), line_number=line.number, byte=line.byte
            )
        return Instruction(
            word,
            serial,
            device,
            bounded(place["core_type"]),
            int(place["core"]),
            int(place["pc"], 16),
            bounded(place["operands"] or ""),
            line.number,
            line.byte,
        )

    def _memory(self, found: re.Match[bytes], line: Line) -> MemoryRecord | None:
        """The record in a line; None if a field of it is missing or no number."""
        fields: dict[str, str] = {}
        for part in self._text(found["fields"], line).split(", "):
            name, _, value = part.partition(":")
            fields.setdefault(name, value)
        numbers = {
            name: _number(fields.get(name, ""))
            for name in ("serialNo", "coreId", "srcAddr", "dstAddr", "memSize", "moduleId")
        }
        serial, address, size = numbers["serialNo"], numbers["dstAddr"], numbers["memSize"]
        if serial is None or address is None or size is None or min(serial, address, size) < 0:
            return None
        if not all(fields.get(name) for name in _WORDS):
            return None
        module, core = numbers["moduleId"], numbers["coreId"]
        return MemoryRecord(
            bounded(fields["type"]),
            serial,
            int(found["device"]),
            address,
            size,
            bounded(fields["dstSpace"]),
            bounded(fields["memInfoSrc"]),
            numbers["srcAddr"] or 0,
            bounded(fields.get("srcSpace", "")),
            bounded(fields.get("memInfoDesc", "")),
            module if module is not None and module >= 0 else None,
            bounded(self._text(found["file"], line)),
            int(found["line"]) or None,
            core if core is not None and core >= 0 else None,
            line.number,
            line.byte,
        )

    def _text(self, raw: bytes, line: Line) -> str:
        text, is_read = decoded(raw)
        if not is_read:
            message = "the line is neither UTF-8 nor GBK; bytes of it are shown as '?'"
            self._notes.add("encoding", message, line.number, line.byte)
        return text


def _number(text: str) -> int | None:
    if not _DIGITS.fullmatch(text):
        return None
    value = int(text, 16 if text.startswith("0x") else 10)
    return value if value <= _TOP else None


def read_debug_log(
    path: Path,
    *,
    root: Path | None = None,
    wanted: Container[int] | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> DebugLog:
    """The debug log in `path`, which must lie at or below `root`.

    wanted: serial numbers of the report's faults: only the operands of these are kept, however large the log
    is. Without it the first 200,000 instructions are kept. Of memory 200,000 records are.
    Problems: bad-record, cut-off, too-large, encoding, limit (more than are kept), unreadable (a disk that
    fails). Raises InputError (no such file, outside `root`, no line of such a log in it) and Cancelled.
    Cost: linear, 100 MB in 2 to 3 s of CPU; about 500 bytes of memory for each instruction that is kept.
    """
    notes = LogNotes(shown_path(path, root))
    reader = DebugReader(notes.artifact, wanted)
    memory: list[MemoryRecord] = []
    operands: list[Instruction] = []
    for window in log_windows(path, root, notes, progress, is_cancelled):
        for entry in reader.feed(window):
            if isinstance(entry, MemoryRecord):
                memory.append(entry)
            else:
                operands.append(entry)
    reader.finish()
    if not (reader.has_begin or reader.n_instructions or reader.n_memory):
        raise InputError("no line of msSanitizer's debug log is in this file", path=path, hint=_HINT)
    if reader.n_left_out:
        notes.add("limit", f"{reader.n_left_out:,} records of the log were left out", None)
    memory.sort(key=lambda record: record.serial_number)
    operands.sort(key=lambda record: record.serial_number)
    problems = (*reader.problems, *notes.told())
    return DebugLog(
        path,
        tuple(memory),
        pair_allocations(memory),
        tuple(operands),
        reader.has_begin,
        not problems,
        reader.n_lines,
        reader.n_instructions,
        problems,
    )
