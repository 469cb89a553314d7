"""Timelines in Chrome's trace format, streamed: gigabytes, cut off, or still being written.

Arrays of events (trace_view.json, msprof_*.json, slices, timelines of MindSpore) and objects with
"traceEvents" (operator simulator, GPU traces). Events come as blocks of columns; memory does not grow with
the file. What is in a trace is told, not judged: times that make no sense are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ..json_window import Notes
from .trace_blocks import TraceBlock, TraceNames, TraceState
from .trace_elements import MAX_EVENT_BYTES
from .trace_envelope import Envelope
from .trace_fields import Columns
from .trace_scan import Scan, scan
from .trace_tables import MAX_LABEL_CHARS
from .trace_values import parse_at_start

MAX_FILE_BYTES = 32 << 30
BLOCK_BYTES = 1 << 20

_FIRST_STEP_BYTES = 16 << 10
# What broken elements may cost in all, in bytes looked at in vain.
_PATIENCE_BYTES = 256 << 20
_BAD_ELEMENT_BYTES = 128  # of one whose end is known
_HINT = "name a timeline, e.g. trace_view.json or msprof_20260801120500.json"
# Quotes in strings are escaped, so this can only stand before an object.
_NEXT_EVENT = re.compile(rb',\s*(?=\{\s*"(?:ph|name|pid|tid|ts|args|cat|id|bp|dur|cname)")')
_MAX_NEXT_BYTES = 256
_SEPARATOR = re.compile(rb"[ \t\r\n]*(?:,[ \t\r\n]*)?")
_BLANK = b" \t\r\n"


def read_trace(
    path: Path,
    *,
    root: Path | None = None,
    args: Sequence[str] = (),
    max_bytes: int = MAX_FILE_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> TraceFile:
    """The blocks of a timeline, in file order: iterate over the result; `names` and `state` grow meanwhile.

    args: arguments of events to keep as columns, e.g. ("Task Type", "connection_id"); all others are passed
    over unread, and what is broken in them is not noticed.
    Problems, with their byte: cut-off, bad-record, too-deep, too-large, encoding, limit, unreadable.
    Raises InputError (no such file, outside `root`, larger than `max_bytes`, UTF-16, no JSON array and no
    object with traceEvents) and Cancelled while it is iterated over.
    Cost: about 0.6 of json.load's CPU time, 1 s a 100 MB. Memory: some 45 MB, and the tables of names.
    """
    return TraceFile(path, root, args, max_bytes, progress, is_cancelled)


class TraceFile(Iterator[TraceBlock]):
    """A timeline that is being read. After the last block `state` says whether the file was whole."""

    def __init__(
        self,
        path: Path,
        root: Path | None,
        args: Sequence[str],
        max_bytes: int,
        progress: ProgressCallback,
        is_cancelled: IsCancelled,
    ) -> None:
        self._reader = TraceReader(args, artifact=shown_path(path, root), path=path)
        self._ended: TraceState | None = None
        self._blocks = self._read(path, root, max_bytes, progress, is_cancelled)

    def __next__(self) -> TraceBlock:
        return next(self._blocks)

    @property
    def names(self) -> TraceNames:
        return self._reader.names

    @property
    def state(self) -> TraceState:
        return self._ended or self._reader.state

    def _read(
        self,
        path: Path,
        root: Path | None,
        max_bytes: int,
        progress: ProgressCallback,
        is_cancelled: IsCancelled,
    ) -> Iterator[TraceBlock]:
        file, size_bytes = open_input(path, root)
        with file:
            if size_bytes > max_bytes:
                message = f"the file has {size_bytes:,} bytes, at most {max_bytes:,} are read"
                raise InputError(message, path=path, hint="profile fewer steps")
            n_read = 0
            while True:
                check(is_cancelled)
                try:
                    raw = file.read(BLOCK_BYTES) or b""
                except OSError as error:
                    self._reader.note("unreadable", f"reading failed: {error.strerror}", n_read)
                    raw = b""
                yield from self._reader.feed(raw)
                if not raw or n_read >= max_bytes:  # one that grows while it is read ends somewhere too
                    break
                n_read += len(raw)
                progress(Progress("read", n_read, max(size_bytes, n_read), "bytes"))
        self._ended = self._reader.finish()


class TraceReader:
    """Reads a timeline from pieces of any length: `feed` what is new, take the blocks that are whole.

    A file that still grows: feed its bytes from `state.n_bytes` on, whenever there are more. `finish` says
    how it stands; it ends nothing, more may be fed afterwards. A file that was replaced needs a new reader.
    """

    def __init__(
        self, args: Sequence[str] = (), *, artifact: str = "trace", path: Path | None = None
    ) -> None:
        self._columns = Columns(args)
        self._problems: list[Problem] = []
        self._notes = Notes(artifact, self._problems)
        self._artifact = artifact
        self._path = path
        self._envelope = Envelope(path, self.note)
        self._buffer = b""
        self._at = 0  # in the buffer: what is before was used
        self._byte = 0  # of the buffer's begin
        self._step = 2 * BLOCK_BYTES
        self._patience = _PATIENCE_BYTES
        self._n_dropped = self._n_told = 0
        self._needs_comma = False
        self._is_lost = False  # looking for the next event behind a broken one
        self._is_stopped = False
        self._seems_closed = False  # the text ends like a trace does, though that place was not understood
        self._wanted = 0  # so much must be at hand before an element without an end is looked at again
        self._is_encoding_told = self._is_limit_told = self._is_length_told = False

    @property
    def names(self) -> TraceNames:
        return self._columns.names.snapshot()

    @property
    def state(self) -> TraceState:
        """What was read so far; nothing is said about an end that is missing."""
        return self._state(())

    def note(self, kind: str, message: str, byte: int) -> None:
        """A problem of the file, told with the others. Only the first ones are kept."""
        self._tell(kind, message, byte)

    def _tell(self, kind: str, message: str, byte: int, *, is_last: bool = False) -> None:
        self._n_told += 1
        self._notes.add(kind, message, byte, is_last=is_last)

    def feed(self, data: bytes) -> Iterator[TraceBlock]:
        """The blocks that are whole now. Iterate to the end before feeding more.

        A long element that waits for its end is looked at again when much more is there, or at feed(b"").

        Raises InputError where the begin of the file is no trace.
        """
        for start in range(0, max(len(data), 1), BLOCK_BYTES):
            yield from self._feed(data[start : start + BLOCK_BYTES])

    def finish(self) -> TraceState:
        """The state if nothing more comes: a trace that is not closed is cut off."""
        more: list[Problem] = []
        n = self._n_bytes
        if not self._is_closed and not self._is_stopped:
            told = self._state(()).n_events
            if not n:
                message = "the file is empty"
            elif self._buffer[self._at :].strip(_BLANK + b",") or self._is_lost:
                message = f"the file ends inside an event; {told:,} whole ones before it were read"
            else:
                message = f"the file ends before its list of events is closed; {told:,} events were read"
            hint = "the run was killed or is still writing: read again later, or copy the file again"
            more.append(Problem(self._artifact, "cut-off", message, byte=n, hint=hint))
        elif self._envelope.is_closed and not self._envelope.has_events:
            raise InputError("this object has no traceEvents", path=self._path, hint=_HINT)
        return self._state(tuple(more))

    # ---- pieces ----

    @property
    def _n_bytes(self) -> int:
        return self._byte + len(self._buffer)

    @property
    def _is_closed(self) -> bool:
        return self._envelope.is_closed or (self._is_lost and self._seems_closed)

    def _feed(self, piece: bytes) -> Iterator[TraceBlock]:
        self._buffer = self._buffer[self._at :] + piece
        self._byte += self._at
        self._at = 0
        if len(self._buffer) < self._wanted and len(piece) == BLOCK_BYTES:
            return
        self._wanted = 0
        is_on = True
        while is_on and not self._is_stopped:
            if not self._envelope.is_in_events:
                self._at, is_on = self._envelope.step(self._buffer, self._at, self._byte)
                self._needs_comma = False
            elif self._is_lost:
                is_on = self._find_next()
            else:
                base = self._at
                window = self._buffer[base : base + self._step]
                found = scan(window)
                if len(found.ends):
                    yield self._take(window, found, base)
                is_on = self._go_on(found, base)
        if self._is_stopped:
            self._at = len(self._buffer)

    def _go_on(self, found: Scan, base: int) -> bool:
        """What comes behind the whole elements of a window; False where more must be known first."""
        if found.bad_at >= 0:
            return self._pass_over()
        if found.array_end >= 0:
            end = base + found.array_end
            self._look_between(self._at, end, is_end=True)
            self._at = end + 1
            self._envelope.close_events()
            return True
        if base + self._step < len(self._buffer):
            self._step = min(self._step * 4, 2 * BLOCK_BYTES if len(found.ends) else 2 * MAX_EVENT_BYTES)
            return True
        tail = self._buffer[self._at :]
        if not tail.strip(_BLANK):
            self._at = len(self._buffer)
            return False
        is_open = found.open_start >= 0
        holds_more = is_open and _NEXT_EVENT.search(self._buffer, base + found.open_start + 1)
        if len(tail) > MAX_EVENT_BYTES or holds_more:
            return self._pass_over()
        self._wanted = 2 * len(tail) if len(tail) > _FIRST_STEP_BYTES else 0
        return False

    def _take(self, window: bytes, found: Scan, base: int) -> TraceBlock:
        """The whole elements of a window as a block."""
        starts, ends, text = found.starts, found.ends, found.text
        self._look_between(self._at, base + int(starts[0]), is_end=False)
        self._needs_comma = True
        length = starts[1:] - ends[:-1] - 1
        is_blank = (text[ends[:-1] + 2] == 32) | (text[ends[:-1] + 2] == 10)
        is_usual = (text[ends[:-1] + 1] == 44) & ((length == 1) | ((length == 2) & is_blank))
        for i in np.flatnonzero(~is_usual).tolist():
            self._look_between(base + int(ends[i]) + 1, base + int(starts[i + 1]), is_end=False)
        self._at = base + int(ends[-1]) + 1
        block, bad = self._columns.block(window, found, self._byte + base, self._byte + self._at)
        for element in bad:
            self._n_dropped += element.is_dropped
            self._tell(element.kind, element.message, self._byte + base + int(starts[element.at]))
        self._spend(_BAD_ELEMENT_BYTES * len(bad), self._byte + self._at)
        self._tell_of_labels(self._byte + base)
        return block

    def _look_between(self, start: int, end: int, *, is_end: bool) -> None:
        """Between two elements stands a comma and nothing else."""
        between = self._buffer[start:end]
        rest = between.strip(_BLANK)
        if rest == (b"," if self._needs_comma else b"") or (is_end and rest in (b"", b",")):
            return
        byte = self._byte + start
        if rest.strip(_BLANK + b","):
            self._n_dropped += 1
            self._tell("bad-record", "something that is no event stands here", byte)
        else:
            message = "a comma is expected" if not rest else "commas without an event"
            self._tell("bad-record", message, byte)

    def _tell_of_labels(self, byte: int) -> None:
        labels, ids = self._columns.labels, self._columns.ids
        if labels.has_bad_bytes and not self._is_encoding_told:
            self._is_encoding_told = True
            self._tell("encoding", "a name near here is not UTF-8; bytes of it are shown as '?'", byte)
        if labels.has_long and not self._is_length_told:
            self._is_length_told = True
            message = f"a name near here has more than {MAX_LABEL_CHARS:,} characters and was shortened"
            self._tell("too-large", message, byte)
        if (labels.is_full or ids.is_full) and not self._is_limit_told:
            self._is_limit_told = True
            message = "too many different names: new ones from here on are left out, their events are kept"
            self._tell("limit", message, byte)

    # ---- what does not go well ----

    def _pass_over(self) -> bool:
        """Note an element that cannot be read and look for the next one; False where it may only be cut."""
        separator = _SEPARATOR.match(self._buffer, self._at)
        start = self._at if separator is None else separator.end()
        kind, message, n_seen = self._verdict(start)
        if not kind:
            self._wanted = 2 * (len(self._buffer) - self._at)
            return False
        self._tell(kind, message, self._byte + start + n_seen)
        self._n_dropped += 1
        self._at = start + 1
        self._is_lost = True
        self._spend(_FIRST_STEP_BYTES + n_seen, self._byte + start)
        return True

    def _spend(self, n_bytes: int, byte: int) -> None:
        """Count what broken elements cost, and stop where it is too much."""
        self._patience -= n_bytes
        if self._patience <= 0 and not self._is_stopped:
            self._is_stopped = True
            message = "too much of this trace is broken: nothing from here on was read"
            self._tell("limit", message, byte, is_last=True)

    def _verdict(self, start: int) -> tuple[str, str, int]:
        """Why the element there cannot be read, by the parser; "" where it may only want its end.

        Also how many bytes of it were looked at.
        """
        n = 4 << 10
        while True:
            n = min(n * 4, MAX_EVENT_BYTES + 1)
            raw = self._buffer[start : start + n]
            text = raw.decode("utf-8", "surrogateescape")
            is_all = start + n >= len(self._buffer)
            try:
                _, end = parse_at_start(text)
                return "bad-record", "what stands behind here is no JSON", _n_bytes(text[:end])
            except RecursionError:
                return "too-deep", "nested too deeply to be read", 0
            except JSONDecodeError as error:
                is_open = error.msg.startswith("Unterminated string") or error.pos >= len(text) - 16
                if not is_open:
                    return "bad-record", f"an event cannot be read: {error.msg}", _n_bytes(text[: error.pos])
            except ValueError:
                return "bad-record", "a number cannot be read", 0
            if len(raw) > MAX_EVENT_BYTES:
                return "too-large", f"an event of more than {MAX_EVENT_BYTES:,} bytes was left out", 0
            if is_all:
                return "", "", 0

    def _find_next(self) -> bool:
        """Move to where an event begins behind a broken one; False where none is in sight."""
        found = _NEXT_EVENT.search(self._buffer, self._at)
        if found is None:
            self._seems_closed = self._buffer.rstrip(_BLANK).endswith((b"]", b"]}"))
            self._at = max(self._at, len(self._buffer) - _MAX_NEXT_BYTES)
            return False
        self._at = found.end()
        self._is_lost = self._needs_comma = False
        self._step = _FIRST_STEP_BYTES
        return True

    def _state(self, more: tuple[Problem, ...]) -> TraceState:
        tally = self._columns.tally
        if (n_more := self._n_told - len(self._problems)) > 0:
            more = (Problem(self._artifact, "limit", f"{n_more:,} more problems in this file"), *more)
        return TraceState(
            n_by_phase=dict(tally.n_by_phase),
            n_bytes=self._n_bytes,
            n_whole_bytes=self._byte + self._at,
            is_cut=not self._is_closed,
            n_dropped=self._n_dropped,
            n_at_zero=tally.n_at_zero,
            n_without_time=tally.n_without_time,
            n_rounded=tally.n_rounded,
            n_bad_values=tally.n_bad_values,
            is_time_text=tally.is_time_text,
            first_ns=tally.first_ns,
            last_ns=tally.last_ns,
            settings=dict(self._envelope.settings),
            problems=(*self._problems, *more),
        )


def read_event(path: Path, byte: int, *, root: Path | None = None) -> dict[str, Any]:
    """One event of a trace with all of its arguments (call stack, shapes), from where `Events.byte` says.

    Floats come as text with all digits (`NumberText`). Raises InputError: no event begins there, it is longer
    than 4 MB, or the file cannot be read.
    """
    file, _ = open_input(path, root)
    n = 16 << 10
    with file:
        while True:
            try:
                raw = os.pread(file.fileno(), n, byte)
            except (OSError, OverflowError, ValueError) as error:
                raise InputError(f"reading failed: {error}", path=path, byte=byte) from error
            try:
                value, _ = parse_at_start(raw.decode("utf-8", "replace"))
            except (ValueError, RecursionError) as error:
                if len(raw) < n or n >= MAX_EVENT_BYTES:
                    raise InputError("no event can be read here", path=path, byte=byte) from error
                n *= 4
                continue
            if not isinstance(value, dict):
                raise InputError("no event can be read here", path=path, byte=byte)
            return value


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
