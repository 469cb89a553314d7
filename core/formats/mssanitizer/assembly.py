"""Which line belongs to which record, where several processes or devices write one log line by line.

Lines with different prefixes belong to different streams. Within a stream several records can be open: a
line goes to the one that it fits as the next, the last one first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .bodies import Body, Line
from .draft import Draft
from .heads import Head
from .records import Record, SummaryKind
from .store import Notes, Store

MAX_OPEN = 64
MAX_STREAMS = 1024
LONG_AGO_LINES = 200
"""A record that lacks a line and was given none for so long is over: it was torn, not interrupted."""


class Assembly:
    """The open records of a log; whole ones are handed to `emit`."""

    def __init__(self, store: Store, notes: Notes, emit: Callable[[Record], None]) -> None:
        self.n_open = 0
        self._store = store
        self._notes = notes
        self._emit = emit
        self._open: dict[str, list[Draft]] = {}  # stream to its records, the last touched one last
        self._n_marked: dict[str, int] = {}  # lines of a report by stream
        self._takes_streams = True
        self._n_headless = 0
        self._first_headless: tuple[int, int] | None = None

    def count(self, stream: str) -> str:
        """Count a line with a prefix; its stream, or "" if there are too many different ones."""
        n = self._n_marked.get(stream, 0)
        if n == 0:
            if self._takes_streams and len(self._n_marked) >= MAX_STREAMS:
                names = [name for name, n in self._n_marked.items() if n > 1 or name in self._open]
                self._n_marked = {name: self._n_marked[name] for name in names}
                self._takes_streams = len(names) < MAX_STREAMS // 2
            if not self._takes_streams:
                return ""
        self._n_marked[stream] = n + 1
        return stream

    @property
    def streams(self) -> tuple[str, ...]:
        """The prefixes with which more than one line began."""
        return tuple(name for name, n in self._n_marked.items() if n > 1)

    def is_proven(self, stream: str) -> bool:
        """Whether more than one line began with this prefix."""
        return self._n_marked.get(stream, 0) > 1

    # ---- lines ----

    def head(self, head: Head, stream: str, end_byte: int) -> None:
        """A record begins. What is open in its stream either was whole or goes on between its lines."""
        store = self._store
        for draft in [*self._open.get(stream, ())]:
            is_torn = store.line - draft.touched_line > LONG_AGO_LINES
            if is_torn or (draft.is_past and draft.has_all):
                self._close(draft)
            draft.is_past = True
        if self.n_open >= MAX_OPEN:
            self._close(min(self._drafts(), key=lambda draft: draft.touched_line))
        self._open.setdefault(stream, []).append(Draft(head, stream, store.line, store.byte, end_byte))
        self.n_open += 1

    def body(self, body: Body, text: bytes, stream: str, end_byte: int) -> bool:
        """A line behind the equals signs that is no head. False if it fits into no record."""
        drafts = self._open.get(stream, ())
        draft: Draft | None
        if len(drafts) == 1:  # as nearly always
            draft = drafts[0] if drafts[0].distance(body) else None
        else:
            draft = self._best(body, drafts)
        if draft is None:
            draft = self._adopted(body, stream)
        store = self._store
        if draft is None:
            self._without_place(body, text, stream, end_byte)
            return False
        if body.line == Line.LEAK:
            if draft.has_begun:
                following = draft.next_leak(store.line, store.byte)
                self._close(draft)
                draft = following
                self._open.setdefault(draft.stream, []).append(draft)
                self.n_open += 1
            else:
                draft.begin_leak(store.line, store.byte)
        draft.add(body, store.line, end_byte, store)
        self._touched(draft)
        return True

    def blank(self, stream: str) -> None:
        """An empty line: the end of most records."""
        drafts = [draft for draft in self._open.get(stream, ()) if not draft.is_list]
        for draft in reversed(drafts):
            if draft.has_all:
                self._close(draft)
                return
        if drafts:
            drafts[-1].is_past = True

    def tool_line(self, stream: str) -> None:
        """A line of the tool about the run: what is whole ends here."""
        for draft in [*self._open.get(stream, ())]:
            if draft.is_past or (draft.has_all and not draft.is_list):
                self._close(draft)
            draft.is_past = True

    def summary(self, kind: SummaryKind, count: int | None, stream: str, end_byte: int) -> None:
        """A SUMMARY: the end of a list of leaks or waiting pipes."""
        for draft in reversed([*self._open.get(stream, ())]):
            if draft.head.kind == kind and draft.is_list:
                if kind == "lock-up":
                    draft.close_pipes(count, end_byte)
                self._close(draft)
                return

    def finish(self) -> tuple[int, int] | None:
        """End of the log. The place of the first record that it cuts, or None."""
        cut: list[Draft] = []
        for draft in sorted(self._drafts(), key=lambda draft: draft.line):
            is_cut = self._is_cut(draft)
            if is_cut or draft.is_list:
                cut.append(draft)
            self._close(draft, is_cut=is_cut)
        if self._first_headless is not None:
            line, byte = self._first_headless
            message = f"{self._n_headless:,} lines of a record, but none is open there; they were left out"
            self._notes.add("bad-record", message, line, byte)
            self._first_headless = None
        return (cut[0].line, cut[0].byte) if cut else None

    def unfinished(self) -> list[Record]:
        """The open records as they are now; nothing changes."""
        drafts = sorted(self._drafts(), key=lambda draft: draft.line)
        scratch = self._store.scratch()
        return [draft.build(scratch, is_cut=self._is_cut(draft)) for draft in drafts]

    @property
    def is_cut(self) -> bool:
        """Whether a record is open that can still go on."""
        return any(draft.is_list or self._is_cut(draft) for draft in self._drafts())

    # ---- which record ----

    @staticmethod
    def _is_cut(draft: Draft) -> bool:
        return not draft.is_past and not draft.is_whole

    def _drafts(self) -> Iterator[Draft]:
        for drafts in self._open.values():
            yield from drafts

    @staticmethod
    def _best(body: Body, drafts: list[Draft] | tuple[Draft, ...]) -> Draft | None:
        best, least = None, 0
        for draft in reversed(drafts):
            distance = draft.distance(body)
            if distance and (best is None or distance < least):
                best, least = draft, distance
        return best

    def _adopted(self, body: Body, stream: str) -> Draft | None:
        """The record for a line whose stream has none: program text in front of one line is no prefix."""
        if stream == "":
            others = [name for name in self._open if name and self._n_marked.get(name, 0) <= 1]
        else:
            others = [""] if "" in self._open and self._n_marked.get(stream, 0) <= 1 else []
        draft = self._best(body, [draft for name in others for draft in self._open[name]])
        if draft is not None and stream == "":
            self._remove(draft)
            draft.stream = ""
            self._open.setdefault("", []).append(draft)
            self.n_open += 1
        return draft

    def _without_place(self, body: Body, text: bytes, stream: str, end_byte: int) -> None:
        if body.line == Line.BLANK:
            return
        drafts = self._open.get(stream)
        if drafts:
            drafts[-1].add_extra(body, text, self._store.line, end_byte, self._store)
        elif body.line not in (Line.UNKNOWN, Line.INSTRUCTION):
            self._n_headless += 1
            if self._first_headless is None:
                self._first_headless = (self._store.line, self._store.byte)

    def _touched(self, draft: Draft) -> None:
        draft.is_past = False
        drafts = self._open[draft.stream]
        if len(drafts) == 1:
            return
        newer = [other for other in drafts if other.line > draft.line]
        for other in newer:
            other.is_mixed = True
        draft.is_mixed |= bool(newer)
        drafts.remove(draft)
        drafts.append(draft)

    def _remove(self, draft: Draft) -> None:
        drafts = self._open[draft.stream]
        drafts.remove(draft)
        if not drafts:
            del self._open[draft.stream]
        self.n_open -= 1

    def _close(self, draft: Draft, *, is_cut: bool = False) -> None:
        self._remove(draft)
        with self._store.at(draft.line, draft.byte):
            record = draft.build(self._store, is_cut=is_cut)
            if record.is_partial:
                message = "lines of this record are missing or damaged"
                self._notes.add("bad-record", message, draft.line, draft.byte)
            self._emit(record)
