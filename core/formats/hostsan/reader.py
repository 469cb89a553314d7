"""Logs of host sanitizers, as they grow or as a file: AddressSanitizer, LeakSanitizer, MemorySanitizer,
UndefinedBehaviorSanitizer, and what HWAddressSanitizer and ThreadSanitizer have in common with them.

    reader = Reader("asan.log")
    while chunk := more_bytes():
        for record in reader.feed(chunk): ...
    for record in reader.finish(): ...

The bytes may be cut anywhere. Console captures are fine: program output, colours, CR LF, launcher prefixes.
"""

from __future__ import annotations

import io
from pathlib import Path

from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ...files import open_input, shown_path
from ..log_lines import WINDOW_BYTES, LogNotes, windows
from ..tensors.error import TensorError
from .assembly import TOKENS, Assembler
from .facts import Mark
from .lines import MAX_LINE_BYTES, Cutter
from .records import Log, LogState, Record

MAX_RECORDS = 100_000


class Reader:
    """Bytes in, records out: each as soon as it is whole. Records of interleaved reports come as they end.

    artifact: how problems name the log. line, byte: of the first byte that will be fed, for a log whose
    beginning was read before. What is held is bounded: the reports that are open, and one unfinished line.
    """

    def __init__(self, artifact: str = "", *, line: int = 1, byte: int = 0) -> None:
        self._cutter = Cutter(TOKENS, line=line, byte=byte)
        self._assembler = Assembler(artifact)
        self._is_finished = False
        self._is_utf16 = False

    def feed(self, chunk: bytes) -> list[Record]:
        """The next bytes of the log; the records that they complete."""
        if self._is_finished:
            raise ValueError("the log was finished")
        cutter, assembler = self._cutter, self._assembler
        cutter.push(chunk)
        while True:
            if not assembler.is_open:
                cutter.seek()
            raw = cutter.next()
            if cutter.lost:
                self._note_lost()
            if raw is None:
                break
            assembler.line(raw, Mark(cutter.number, cutter.byte, cutter.end_byte))
        if cutter.is_utf16 and not self._is_utf16:
            self._is_utf16 = True
            assembler.facts.utf16()
        return self._drain()

    def finish(self) -> list[Record]:
        """The log ends here: what is still open, cut or whole. A second call gives nothing."""
        if self._is_finished:
            return []
        cutter = self._cutter
        raw = cutter.rest()
        self._note_lost()
        self._assembler.finish(raw, Mark(cutter.number, cutter.byte, cutter.end_byte))
        self._is_finished = True
        return self._drain()

    @property
    def pending(self) -> list[Record]:
        """Reports that may still go on, as far as they came (is_cut where something must follow), for a log
        that is watched: they come again, from `feed` or `finish`, when they are over."""
        return self._assembler.pending()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far, with line and byte: cut-off, too-large, encoding, limit."""
        return self._assembler.facts.problems

    @property
    def state(self) -> LogState:
        """The facts of the log so far."""
        cutter = self._cutter
        return self._assembler.facts.state(
            n_lines=cutter.n_lines, n_bytes=cutter.n_bytes, is_finished=self._is_finished
        )

    def _note_lost(self) -> None:
        self._assembler.facts.lost(self._cutter.lost, MAX_LINE_BYTES)
        self._cutter.lost.clear()

    def _drain(self) -> list[Record]:
        out, self._assembler.out = self._assembler.out, []
        return out


def read_log(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Log:
    """All records of a log as it was when it was opened, in the order in which they begin.

    At most 100,000 are kept (limit). Raises InputError where the file cannot be opened, is no regular one or
    lies outside `root`; Cancelled.
    """
    file, size_bytes = open_input(path, root)
    notes = LogNotes(shown_path(path, root))
    reader = Reader(notes.artifact)
    records: list[Record] = []
    n_records = 0

    def keep(more: list[Record]) -> None:
        nonlocal n_records
        n_records += len(more)
        records.extend(more[: MAX_RECORDS - len(records)])

    with file:
        for chunk in windows(
            lambda at, n_bytes: _read(file, n_bytes, path),
            size_bytes,
            WINDOW_BYTES,
            notes.stopped,
            progress,
            is_cancelled,
        ):
            keep(reader.feed(chunk))
    keep(reader.finish())
    if n_records > len(records):
        notes.add("limit", f"only {len(records):,} of {n_records:,} records are kept", None)
    records.sort(key=lambda record: record.span.byte)
    return Log(path, size_bytes, tuple(records), reader.state, (*reader.problems, *notes.told()))


def _read(file: io.FileIO, n_bytes: int, path: Path) -> bytes:
    """The next bytes. Of a file that became shorter meanwhile what is left of it is given first."""
    try:
        block = file.read(n_bytes)
    except OSError as error:
        raise TensorError("unreadable", f"reading failed: {error.strerror}", path=path) from error
    if not block:
        raise TensorError("cut-off", "the file became shorter while it was read", path=path)
    return block
