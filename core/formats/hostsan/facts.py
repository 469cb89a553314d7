"""The facts of a log as a whole, gathered while its lines come in, and the problems with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from npulse.core.findings import Problem

from ..log_lines import SHOWN_PROBLEMS as SHOWN_PROBLEMS
from ..log_lines import LogNotes
from .drafts import Draft
from .headers import INCOMPLETE
from .records import LogState, Note, Record, Summary, Suppression, bounded

MAX_ENTRIES = 1000


class Mark(NamedTuple):
    """A line: its number, its first byte, and the byte behind it."""

    line: int
    byte: int
    end_byte: int


class Facts:
    """What `LogState` is made of. Lists keep their first entries only, so that no log can fill the memory."""

    def __init__(self, artifact: str) -> None:
        self._log_notes = LogNotes(artifact)
        self._is_unread = False
        self._tools: dict[str, None] = {}
        self._pids: dict[int, None] = {}
        self._prefixes: dict[str, None] = {}
        self._aborting: dict[int, None] = {}
        self._incomplete: dict[str, None] = {}
        self._summaries: list[Summary] = []
        self._n_summaries = 0
        self._suppressions: list[Suppression] = []
        self._notes: list[Note] = []
        self._n_records = 0
        self._n_cut = 0

    def saw(self, tool: str, pid: int | None, prefix: str) -> None:
        """A report of a tool, of a process, behind a prefix."""
        _keep(self._tools, tool)
        if pid is not None:
            _keep(self._pids, pid)
        if prefix:
            self.behind(prefix)

    def behind(self, prefix: str) -> None:
        """There are reports behind a prefix."""
        _keep(self._prefixes, bounded(prefix))

    def aborting(self, pid: int | None) -> None:
        if pid is not None:
            _keep(self._pids, pid)
            _keep(self._aborting, pid)

    def summary(self, summary: Summary) -> None:
        _keep(self._tools, summary.tool)
        self._n_summaries += 1
        if len(self._summaries) < MAX_ENTRIES:
            self._summaries.append(summary)

    def suppression(self, suppression: Suppression) -> None:
        if len(self._suppressions) < MAX_ENTRIES:
            self._suppressions.append(suppression)

    def note(self, word: str, text: str, at: Mark, pid: int | None = None) -> None:
        """What a runtime says of itself."""
        if pid is not None:
            _keep(self._pids, pid)
        if word in INCOMPLETE:
            self._incomplete[word] = None
        if len(self._notes) < MAX_ENTRIES:
            self._notes.append(Note(at.line, at.byte, word, bounded(text.strip()), pid))

    def count(self, record: Record) -> None:
        self._n_records += 1
        self._n_cut += record.is_cut

    # ---- what could not be read ----

    def cut(self, draft: Draft, missing: str) -> None:
        self._incomplete["cut-off"] = None
        message = f"the report that begins in line {draft.line:,} ends before {missing}"
        self._log_notes.add("cut-off", message, draft.last_line, draft.end_byte)

    def headless(self, summary: Summary, at: Mark) -> None:
        """A SUMMARY without its report, as where a log begins in the middle of one.

        Of leaks the total shows what is missing; one line of undefined behaviour is over before its SUMMARY
        where a program wrote much between them.
        """
        is_late = summary.tool == "UndefinedBehaviorSanitizer" and summary.tool in self._tools
        if summary.leaked_bytes is not None or is_late:
            return
        self._incomplete["lost-begin"] = None
        message = "the report that this line sums up is not in the log, or its beginning is damaged"
        self._log_notes.add("bad-record", message, at.line, at.byte)

    def lost(self, lines: Iterable[tuple[int, int]], max_bytes: int) -> None:
        for line, byte in lines:
            self._incomplete["too-large"] = None
            message = f"the line has more than {max_bytes:,} bytes and was left out"
            self._log_notes.add("too-large", message, line, byte)

    def unread(self, at: Mark) -> None:
        """A line of a report is in no known encoding; told once."""
        if not self._is_unread:
            self._is_unread = True
            message = "a line is neither UTF-8 nor GBK; bytes of it are shown as '?'"
            self._log_notes.add("encoding", message, at.line, at.byte)

    def utf16(self) -> None:
        self._incomplete["encoding"] = None
        self._log_notes.add(
            "encoding", "the text is UTF-16, in which no tool writes its log; it was not read", 1, 0
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that are kept, and how many are not."""
        return self._log_notes.told()

    def state(self, *, n_lines: int, n_bytes: int, is_finished: bool) -> LogState:
        incomplete = tuple(self._incomplete)
        return LogState(
            tools=tuple(self._tools),
            pids=tuple(self._pids),
            prefixes=tuple(self._prefixes),
            n_lines=n_lines,
            n_bytes=n_bytes,
            n_records=self._n_records,
            n_truncated=self._n_cut,
            summaries=tuple(self._summaries),
            n_summaries=self._n_summaries,
            aborting_pids=tuple(self._aborting),
            suppressions=tuple(self._suppressions),
            notes=tuple(self._notes),
            incomplete=incomplete if is_finished else ("in progress", *incomplete),
        )


def _keep(entries: dict[str, None] | dict[int, None], entry: str | int) -> None:
    if len(entries) < MAX_ENTRIES:
        entries[entry] = None  # type: ignore[index]
