"""A report of msSanitizer, or a console capture that holds one, read as its bytes come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ...files import shown_path
from ..log_lines import WINDOW_BYTES, Finders, long_line, windows
from ..tensors.source import open_source
from .again import Again, Shapes
from .assembly import Assembly
from .draft import Draft
from .heads import SEVERITY, Head, is_of_another, parse_summary
from .ledger import Ledger, ToolLine
from .lines import (
    INTERRUPTED,
    MARKS,
    MAX_LINE_BYTES,
    MAX_PREFIX_BYTES,
    NEEDLES,
    bounded_tail,
    pieces,
    split_line,
    stream_of,
    visible,
)
from .plain import Memo, Plain
from .records import LogState, Record, Summary
from .store import Notes, Store

MAX_RECORDS = 1_000_000

_MAX_PREFIXES = 4096
_HINT = "name the log of a run: mssanitizer -t memcheck --log-file=FILE -- APP"


@dataclass(frozen=True, slots=True)
class Report:
    """One log: records in the order in which they begin, facts of the whole, and what could not be read."""

    path: Path
    records: tuple[Record, ...]
    state: LogState
    problems: tuple[Problem, ...] = ()


class Reader:
    """Records of a log as they end. Any cut into chunks gives the same records.

    `problems` name `artifact`, with line (from 1) and byte (from 0). Of a line without an end as yet at most
    65,537 bytes are kept; of lines of other programs nothing is.
    """

    def __init__(self, artifact: str = "") -> None:
        self.n_bytes = 0
        self._tail = b""
        self._tail_byte = 0
        self._n_ended = 0  # lines
        self._is_finished = False
        self._ready: list[Record | Again] = []
        self._notes = Notes(artifact)
        self._store = Store(self._notes)
        self._ledger = Ledger()
        self._memo = Memo(self._store)
        self._plain = Plain(self._memo, self._store, self._ledger)
        self._shapes = Shapes(self._memo.body)
        self._assembly = Assembly(self._store, self._notes, self._emit)
        self._streams: dict[bytes, str] = {}  # prefixes as written, and without times
        self._has_bare_times = False

    # ---- what callers use ----

    def feed(self, chunk: bytes) -> list[Record]:
        """Take the next bytes; the records that ended in them, in the order in which they ended."""
        return [one.record() if isinstance(one, Again) else one for one in self.take(chunk)]

    def take(self, chunk: bytes) -> list[Record | Again]:
        """As `feed`; those that repeat another one but for their numbers are given as these."""
        if self._is_finished:
            raise ValueError("the log was finished")
        self.n_bytes += len(chunk)
        buffer = self._tail + chunk if self._tail else chunk
        end = buffer.rfind(b"\n") + 1
        if end:
            self._scan(buffer, end)
            self._tail_byte = self.n_bytes - (len(buffer) - end)
            buffer = buffer[end:]
        self._tail = bounded_tail(buffer)
        ready, self._ready = self._ready, []
        return ready

    def finish(self) -> list[Record]:
        """End of the log: what was open is whole, or marked as cut. Nothing can be fed after."""
        if self._is_finished:
            return []
        self._is_finished = True
        self._store.line, self._store.byte = self._n_ended + 1, self._tail_byte
        cut = self._assembly.finish()
        if cut is not None:
            self._notes.add("cut-off", "the log ends in this record", *cut)
        elif self._is_cut_line():
            cut = self._store.line, self._store.byte
            self._notes.add("cut-off", "the log ends in this line", *cut)
        if cut is not None:
            self._ledger.gaps["cut-off"] = None
        if visible(self._tail) is None:
            self._skip_line()
        records = [
            one for one in self._ready if isinstance(one, Record)
        ]  # all: no line is left to repeat one
        self._ready = []
        return records

    def unfinished(self) -> list[Record]:
        """The records that have not ended, as far as they are there; reading goes on as if nobody asked."""
        return self._assembly.unfinished()

    def leave_out(self, n_records: int, kept: int) -> None:
        """Say in problems and state that the caller keeps only the first ones."""
        self._ledger.gaps["limit"] = None
        message = f"{n_records:,} records behind the first {kept:,} were left out"
        self._notes.add("limit", message, None, None)

    def stop_early(self, error: InputError) -> None:
        """Say in problems and state that the rest of the log cannot be read."""
        self._ledger.gaps["unreadable"] = None
        self._notes.add("unreadable", error.message, None, self.n_bytes)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._notes.close()

    @property
    def state(self) -> LogState:
        """Facts of the log so far. A record that is open counts as cut off."""
        n_lines = self._n_ended + bool(self._tail)
        state = self._ledger.state(n_lines, self.n_bytes, self._assembly.streams)
        if "cut-off" in state.gaps or not (self._assembly.is_cut or self._is_cut_line()):
            return state
        return replace(state, gaps=(*state.gaps, "cut-off"))

    # ---- lines ----

    def _scan(self, buffer: bytes, end: int) -> None:
        """Read the lines in `buffer` up to `end`, which is behind a line end."""
        store, assembly = self._store, self._assembly
        marks = Finders(buffer, NEEDLES)
        shift = self.n_bytes - len(buffer)
        at, byte = 0, self._tail_byte
        while at < end:
            if not assembly.n_open:
                following = _line_of_next(marks, buffer, at, end)
                if following > at:
                    self._pass_over(buffer, at, following)
                    at, byte = following, shift + following
                    continue
                repeated, following, line = self._shapes.read(buffer, at, end, self._n_ended + 1, shift)
                if repeated:
                    self._ledger.add_again(repeated)
                    self._ready += repeated
                    self._n_ended = line - 1
                    at, byte = following, shift + following
                    continue
                store.line, store.byte = self._n_ended + 1, byte
                plain = self._read_plain(buffer, at, end)
                if plain is not None:
                    record, following = plain
                    self._emit(record)
                    self._shapes.note(record, buffer, at, following)
                    self._n_ended += buffer.count(b"\n", at, following)
                    at, byte = following, shift + following
                    continue
            following = buffer.index(b"\n", at) + 1
            self._n_ended += 1
            store.line, store.byte = self._n_ended, byte
            self._take(buffer[at : following - 1], shift + following)
            at, byte = following, shift + following

    def _read_plain(self, buffer: bytes, at: int, end: int) -> tuple[Record, int] | None:
        if buffer.startswith(b"======", at):
            return self._plain.read(buffer, at, end)
        mark = buffer.find(b"======", at, at + MAX_PREFIX_BYTES)
        prefix = buffer[at:mark] if mark > at else b""
        stream = self._streams.get(prefix, "")
        # before a prefix is known from other lines, it may be program text in front of this one
        if not stream or not self._assembly.is_proven(stream):
            return None
        return self._plain.read_prefixed(buffer, at, end, prefix, stream)

    def _pass_over(self, buffer: bytes, at: int, end: int) -> None:
        """Count lines that say nothing, and look for such that are too long to know that."""
        start = at
        while (start := long_line(buffer, start, end)) < end:
            last = buffer.index(b"\n", start)
            if visible(buffer[start:last]) is None:
                self._store.line = self._n_ended + 1 + buffer.count(b"\n", at, start)
                self._store.byte = self.n_bytes - len(buffer) + start if start else self._tail_byte
                self._skip_line()
            start = last + 1
        self._n_ended += buffer.count(b"\n", at, end)

    def _skip_line(self) -> None:
        self._ledger.n_skipped_lines += 1
        message = f"a line of more than {MAX_LINE_BYTES:,} bytes was left out"
        self._notes.add("too-large", message, self._store.line, self._store.byte)

    def _take(self, raw: bytes, end_byte: int) -> None:
        """Read one line, at the place where the store is."""
        line = raw
        if b"\r" in raw or b"\x1b" in raw or len(raw) > MAX_LINE_BYTES:
            shown = visible(raw)
            if shown is None:
                self._skip_line()
                return
            line = shown
        prefix, text, n_marks = split_line(line)
        if not n_marks:
            self._take_foreign(line)
            return
        stream = self._stream(prefix) if prefix else ""
        if n_marks < 0:
            self._take_tool_line(text, stream, end_byte)
            return
        body = self._memo.only_body(text)
        if body is not None:
            if self._assembly.body(body, text, stream, end_byte):
                self._ledger.add_style(body.style)
            return
        for piece in pieces(text):
            self._take_piece(piece, n_marks, stream, end_byte)

    def _take_piece(self, text: bytes, n_marks: int, stream: str, end_byte: int) -> None:
        """A line of a report without its equals signs."""
        if not text or is_of_another(text):
            return
        severity = SEVERITY.match(text)
        if severity is None:
            body = self._memo.body(text)
            if self._assembly.body(body, text, stream, end_byte):
                self._ledger.add_style(body.style)
        elif severity[1] == b"SUMMARY":
            kind, count, size_bytes = parse_summary(text[severity.end() :])
            store = self._store
            summary = Summary(kind, count, size_bytes, store.text(text), store.line, store.byte)
            self._ledger.add_summary(summary)
            self._assembly.summary(kind, count, stream, end_byte)
        else:
            head = self._memo.head(b"=" * n_marks + b" " + text)
            if head is not None:
                self._ledger.add_style(head.style)
                self._assembly.head(head, stream, end_byte)

    def _take_tool_line(self, text: bytes, stream: str, end_byte: int) -> None:
        store = self._store
        self._assembly.tool_line(stream)
        line = self._memo.tool_line(text)
        if isinstance(line, Head):
            draft = Draft(line, stream, store.line, store.byte, end_byte)
            self._emit(draft.build(store, is_cut=False))
        elif line.event:
            self._ledger.add_run(line)
        else:
            self._ledger.add_notice(line, text, store)

    def _take_foreign(self, line: bytes) -> None:
        """A line of another program, or an empty one behind its prefix."""
        if INTERRUPTED in line:
            self._ledger.add_notice(ToolLine(kind="interrupted"), line.strip(), self._store)
        elif not line.strip():
            self._assembly.blank("")
        elif self._assembly.n_open and len(line) <= MAX_PREFIX_BYTES:
            key = stream_of(line)
            if key in self._streams:
                self._assembly.blank(self._streams[key])
            elif not key and self._has_bare_times:
                self._assembly.blank("")

    def _stream(self, prefix: bytes) -> str:
        """The stream that a prefix names; one without end is program text in front of a line."""
        if len(prefix) > MAX_PREFIX_BYTES:
            return ""
        found = self._streams.get(prefix)
        if found is None:
            if len(self._streams) >= _MAX_PREFIXES:
                self._streams.clear()
            key = stream_of(prefix)
            self._has_bare_times |= not key and bool(prefix.strip())
            found = self._store.text(key)
            self._streams[prefix] = found
            if key:
                self._streams[key] = found
        return self._assembly.count(found) if found else ""

    def _is_cut_line(self) -> bool:
        """Whether the log ends in a line of a report, or in what may become one."""
        line = (visible(self._tail) or b"").strip()
        return bool(line) and (bool(split_line(line)[2]) or any(mark.startswith(line) for mark in MARKS))

    def _emit(self, record: Record) -> None:
        self._ledger.add_record(record)
        self._ready.append(record)


def _line_of_next(marks: Finders, buffer: bytes, at: int, end: int) -> int:
    """The begin of the next line of a report, seen from the line at `at`; `end` if there is none before."""
    if buffer.startswith(b"======", at):
        return at
    nearest = marks.first_from(at)
    return max(buffer.rfind(b"\n", at, nearest) + 1, at) if 0 <= nearest < end else end


def read_report(
    path: Path,
    *,
    root: Path,
    max_records: int = MAX_RECORDS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """The whole log in `path`, which must lie at or below `root`.

    Problems: cut-off (the log ends in a record), too-large (lines left out), bad-record (lines missing),
    encoding, limit (what is behind `max_records`, or too large to keep), unreadable (the rest of the file).
    Raises InputError (no such file, outside `root`, nothing of msSanitizer in it) and Cancelled.
    Cost: linear; 100 MB with 147,000 records take 2 to 2.5 s of CPU, three times as much where lines of
    several processes alternate; about 550 bytes of memory a record.
    """
    reader = Reader(shown_path(path, root))
    records: list[Record] = []
    n_left_out = 0

    def keep(found: list[Record]) -> int:
        n_room = max_records - len(records)
        records.extend(found[:n_room])
        return max(len(found) - n_room, 0)

    with open_source(path, root) as source:
        if source.size == 0:
            raise InputError("the file is empty", path=path, hint=_HINT)
        for chunk in windows(
            lambda at, n_bytes: source.read(at, n_bytes, "the log"),
            source.size,
            WINDOW_BYTES,
            lambda error, at: reader.stop_early(error),
            progress,
            is_cancelled,
        ):
            n_left_out += keep(reader.feed(chunk))
    n_left_out += keep(reader.finish())
    if n_left_out:
        reader.leave_out(n_left_out, max_records)
    state = reader.state
    if not state.is_recognised:
        raise InputError("no line of msSanitizer is in this file", path=path, hint=_HINT)
    records.sort(key=lambda record: record.byte)
    return Report(path, tuple(records), state, reader.problems)
