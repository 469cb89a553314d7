"""One log through every reader at once, window by window: its faults in one form, and how far to trust it.

A console capture can hold the lines of several tools. A reader whose tool wrote nothing costs the search for
its words. Nothing is kept of a log but what is open in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from npulse.core.findings import Problem
from npulse.core.formats.hostsan.reader import Reader as HostReader
from npulse.core.formats.log_lines import LogNotes, log_windows
from npulse.core.formats.memory_texts import MemoryTextReader
from npulse.core.formats.memscope import MemscopeTable, read_memscope
from npulse.core.formats.memscope_console import MemscopeConsoleReader, MemscopeNote
from npulse.core.formats.mssanitizer.reader import Reader as SanitizerReader
from npulse.core.formats.plog.reader import PlogReader
from npulse.core.formats.plog.records import PythonError
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)

from .again import Repeats, in_order, whole
from .faults import Fault, LogSummary, LogTrust, Tool
from .report_lines import ReportLines
from .tools import hostsan, memscope, msdebug, mssanitizer, overlaps, plog
from .tools.parts import distinct

TABLE = "memscope.dump"
"""The one kind of artifact that is a table, not lines."""

MAX_NOTICES = 100
MAX_SUMMARIES = 1000

_SANITIZER_KINDS = ("sanitizer.mssanitizer",)
_SESSION_KINDS = ("msdebug.transcript",)
_GAPS_OF_PROBLEMS = {
    "too-large": "skipped-lines",
    "unreadable": "unreadable",
    "cut-off": "cut-off",
    "limit": "limit",
}
"""Problems after which something of the log is missing. "limit" of a reader only says that problems were
counted, not shown; those of the file are given as `lost`."""

_OF_ITS_END = frozenset(("cut-off", "unfinished-kernel"))
"""Gaps that only say that more may come, as long as a log grows."""

_LOGS_TO = re.compile(r"logging to file: (\S.*)")

_RANKS = {tool: rank for rank, tool in enumerate(get_args(Tool))}


def _rank(tool: str) -> tuple[int, str]:
    """Tools stand in one order, whichever of them is read first."""
    return _RANKS.get(tool, len(_RANKS)), tool


class TextLog:
    """Faults of a log as its bytes come. Any cut into chunks gives the same faults.

    artifact: how faults and problems name the log; kind: of `run.kinds`, "" if not known - an msSanitizer
    log without a line of the tool is not clean. The order is that in which faults are complete.
    """

    def __init__(self, artifact: str, kind: str = "") -> None:
        self._artifact = artifact
        self._kind = kind
        self._sanitizer = SanitizerReader(artifact)
        self._host = HostReader(artifact)
        self._plog = PlogReader(artifact)
        self._texts = MemoryTextReader(artifact)
        self._memscope = MemscopeConsoleReader(artifact)
        self._session = msdebug.Session(artifact, is_one=kind in _SESSION_KINDS)
        self._of_sanitizer = mssanitizer.Faults(artifact)
        self._lines = ReportLines()
        self._tools: dict[str, None] = {}
        self._sums: list[LogSummary] = []  # of msMemScope
        self._lost: dict[str, None] = {}
        self._is_finished = False

    def feed(self, chunk: bytes) -> list[Fault]:
        """The next bytes; the faults that are complete with them. ValueError after `finish`."""
        return list(whole(self.take(chunk)))

    def take(self, chunk: bytes) -> list[Fault | Repeats]:
        """As `feed`; faults that repeat others but for their numbers are given as these, in lists."""
        found = self._of_sanitizer.of(self._sanitizer.take(chunk))
        others = [hostsan.fault_of(record, self._artifact) for record in self._host.feed(chunk)]
        records, texts, notes = [], [], []
        for piece, may_hold_others in self._lines.split(chunk):
            if may_hold_others:
                records += self._plog.feed(piece)
                texts += self._texts.feed(piece)
                notes += self._memscope.feed(piece)
            else:
                records += self._plog.pass_over(piece)
                texts += self._texts.pass_over(piece)
                notes += self._memscope.pass_over(piece)
        others += overlaps.settled(records, texts, self._artifact)
        others += self._from_memscope(notes)
        others += self._session.feed(chunk)
        return self._in_order(found, others)

    def finish(self) -> list[Fault]:
        """The log ends here: what is still open, whole or cut. A second call gives nothing."""
        if self._is_finished:
            return []
        self._is_finished = True
        found = self._of_sanitizer.of(self._sanitizer.finish())
        others = [hostsan.fault_of(record, self._artifact) for record in self._host.finish()]
        others += overlaps.settled(self._plog.finish(), self._texts.finish(), self._artifact)
        others += self._from_memscope(self._memscope.finish())
        others += self._session.finish()
        return list(whole(self._in_order(found, others)))

    def pending(self) -> list[Fault]:
        """What is whole and only waits for the end of the log, which goes on as if nobody had asked."""
        found = self._of_sanitizer.of(self._sanitizer.unfinished())
        others = [hostsan.fault_of(record, self._artifact) for record in self._host.pending]
        told = [one for one in self._plog.pending() if not isinstance(one, PythonError)]  # no error as yet
        others += overlaps.settled(told, (), self._artifact)
        others += self._session.pending()
        ended = [fault for fault in (*whole(found), *others) if not fault.is_cut]
        return sorted(ended, key=lambda fault: fault.byte)

    def lose(self, gap: str) -> None:
        """Note that bytes of the log are missing, for the reason given: "unreadable", "cut-off"."""
        self._lost[gap] = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far. What several readers say of one line is told once."""
        told: dict[tuple[str, int | None, str], Problem] = {}
        readers = (self._sanitizer, self._host, self._plog, self._texts, self._memscope, self._session)
        for reader in readers:
            for problem in reader.problems:
                text = problem.message if problem.line is None else ""
                told.setdefault((problem.kind, problem.line, text), problem)
        return tuple(told.values())

    @property
    def trust(self) -> LogTrust:
        """What the tools say of the log and of themselves so far; "in progress" until it is finished, and
        what is open then is not cut off."""
        state, host = self._sanitizer.state, self._host.state
        if not self._is_finished:
            state = replace(state, gaps=tuple(gap for gap in state.gaps if gap not in _OF_ITS_END))
        parts = (mssanitizer.trust_of(state), hostsan.trust_of(host))
        gaps = distinct(*(part.gaps for part in parts), self._gaps_of_problems(), self._lost)
        if "skipped-lines" in gaps:  # the same lines in another reader's word
            gaps = tuple(gap for gap in gaps if gap != "too-large")
        if self._kind in _SANITIZER_KINDS and not state.is_recognised:
            gaps = distinct(gaps, ("no-markers",))
        summaries = [one for part in parts for one in part.summaries]
        notices = [one for part in parts for one in part.notices]
        tools = sorted(distinct(*(part.tools for part in parts), self._tools), key=_rank)
        return LogTrust(
            artifact=self._artifact,
            kind=self._kind,
            tools=tuple(tools),
            checks=parts[0].checks,
            gaps=gaps,
            summaries=tuple(sorted((*summaries, *self._sums), key=lambda one: one.line)),
            notices=tuple(sorted(notices)[:MAX_NOTICES]),
            n_clean_ends=sum(part.n_clean_ends for part in parts),
            kernels=parts[0].kernels,
            unfinished=parts[0].unfinished,
            n_lines=state.n_lines,
            n_bytes=state.n_bytes,
            is_aborting=host.is_aborting,
        )

    def _gaps_of_problems(self) -> tuple[str, ...]:
        """Lines that a reader needed and could not keep."""
        problems = (*self._plog.problems, *self._texts.problems, *self._memscope.problems)
        return distinct(
            _GAPS_OF_PROBLEMS[one.kind]
            for one in (*problems, *self._session.problems)
            if one.kind in _GAPS_OF_PROBLEMS and one.kind != "limit"
        )

    # ---- records to faults ----

    def _from_memscope(self, notes: Iterable[MemscopeNote]) -> list[Fault]:
        found: list[Fault] = []
        for note in notes:
            self._tools[memscope.TOOL] = None
            total = memscope.summary_of(note)
            if total is not None and len(self._sums) < MAX_SUMMARIES:
                self._sums.append(total)
            fault = memscope.fault_of(note, self._artifact)
            if fault is not None:
                found.append(fault)
        return found

    def _in_order(self, found: list[Fault | Repeats], others: list[Fault]) -> list[Fault | Repeats]:
        """All faults of one step by their place; msSanitizer's alone are left as they come."""
        if self._session.has_begun:
            self._tools["msDebug"] = None
        if not others:
            return found
        self._tools |= dict.fromkeys(plog.tools_of(others))
        return in_order((*found, *others))


class FaultLog:
    """One file: its faults in lists as they are complete, and what is known of it so far.

    kind: of `run.kinds`; "memscope.dump" is read as a table, all else as lines. artifact: how faults and
    problems name the file, its own name if not given. is_growing: of a table, that its last row may be half
    written. Nothing is opened before `faults` is gone through.
    """

    def __init__(
        self,
        path: Path,
        root: Path | None = None,
        kind: str = "",
        artifact: str = "",
        *,
        is_growing: bool = False,
    ) -> None:
        self._path = path
        self._is_growing = is_growing
        self._root = root
        self._kind = kind
        self._artifact = artifact or path.name
        self._notes = LogNotes(self._artifact)
        self._log = TextLog(self._artifact, kind)
        self._table: MemscopeTable | None = None
        self._n_bytes = 0

    @property
    def n_bytes(self) -> int:
        """Bytes read so far; of a table that is read all of them at once."""
        return self._n_bytes

    @property
    def trust(self) -> LogTrust:
        """How far the file can be trusted, as far as it was read."""
        if self._kind == TABLE:
            trust = _trust_of_table(self._table, self._artifact, self._n_bytes)
            is_open = self._is_growing and self._table is not None
            return replace(trust, gaps=("in progress", *trust.gaps)) if is_open else trust
        return self._log.trust

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        if self._table is not None:
            return self._table.problems
        return (*self._log.problems, *self._notes.told())

    def faults(
        self,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Iterator[list[Fault]]:
        """As `batches`, each fault as an object of its own."""
        for batch in self.batches(progress, is_cancelled):
            yield list(whole(batch))

    def batches(
        self,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Iterator[Sequence[Fault | Repeats]]:
        """Lists of faults, of lines one (it may be empty) for each window of 1 MB; to be gone through once.

        Raises InputError (no such file, no regular file, a link out of `root`) and Cancelled. Cost: lines
        take time with their bytes and no memory; a table takes memory with its rows.
        """
        return (self._of_table if self._kind == TABLE else self._of_lines)(progress, is_cancelled)

    def _of_lines(
        self, progress: ProgressCallback, is_cancelled: IsCancelled
    ) -> Iterator[Sequence[Fault | Repeats]]:
        for window in log_windows(self._path, self._root, self._notes, progress, is_cancelled):
            self._n_bytes += len(window)
            yield self._log.take(window)
        for problem in self._notes.told():
            self._log.lose(_GAPS_OF_PROBLEMS.get(problem.kind, "unreadable"))
        yield self._log.finish()

    def _of_table(self, progress: ProgressCallback, is_cancelled: IsCancelled) -> Iterator[Sequence[Fault]]:
        def count(told: Progress) -> None:
            self._n_bytes = told.done
            progress(told)

        self._table = read_memscope(
            self._path,
            root=self._root,
            is_growing=self._is_growing,
            progress=count,
            is_cancelled=is_cancelled,
        )
        for batch in memscope.EventFaults(self._table, self._artifact, self._root, is_cancelled):
            check(is_cancelled)
            yield batch


def beside_their_logs(trusts: Sequence[LogTrust]) -> tuple[LogTrust, ...]:
    """The same, where a console is no longer blamed for what its tool wrote into a log that is here as well.

    With --log-file msSanitizer writes begin and end of its checks into that file alone; its other lines go to
    standard output. Without the file at hand the console stays as it is: nobody can tell.
    """
    marked = {os.path.basename(one.artifact) for one in trusts if one.tools and "no-markers" not in one.gaps}
    found = []
    for one in trusts:
        names = {
            os.path.basename(named[1].strip()) for _, text in one.notices if (named := _LOGS_TO.search(text))
        }
        if "no-markers" in one.gaps and names and names <= marked:
            one = replace(one, gaps=tuple(gap for gap in one.gaps if gap != "no-markers"))
        found.append(one)
    return tuple(found)


def _trust_of_table(table: MemscopeTable | None, artifact: str, n_bytes: int) -> LogTrust:
    if table is None:
        return LogTrust(artifact, TABLE, gaps=("in progress",))
    # a row that was left out may be the release of a block that looks held
    missing = {**_GAPS_OF_PROBLEMS, "bad-record": "skipped-lines"}
    gaps = distinct(missing[one.kind] for one in table.problems if one.kind in missing)
    last = int(table.line[-1]) if len(table.line) else 0
    tools = (memscope.TOOL,) if table.kind is not None else ()
    return LogTrust(artifact, TABLE, tools=tools, gaps=gaps, n_lines=last, n_bytes=n_bytes)
