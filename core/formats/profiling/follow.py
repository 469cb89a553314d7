"""Files of the profilers that grow, read on from where the last look ended (`core/tails.py`).

What comes out is what the cold reader makes of the same bytes, file after file. The last line of a file that
is followed waits for its rest and is no problem. A file that begins anew is read from its start, what was
read before stays, and one problem says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ...tails import Generation, ReaderT, Tails
from .msmonitor import MonitorReader, written_at
from .msmonitor_log import MonitorLog
from .msmonitor_parts import log_of
from .operator_files import device_of
from .operator_join import joined
from .operators import OperatorReader, OperatorTable
from .timeline import Timeline
from .trace import MAX_FILE_BYTES, TraceReader
from .trace_timeline import ARGS, TimelineBuilder

MadeT = TypeVar("MadeT")
TailT = TypeVar("TailT", "OperatorTail", "MonitorTail")
RowsT = TypeVar("RowsT", contravariant=True)


class LetGo(Protocol[RowsT]):
    """Takes rows that are kept no longer: the oldest first, each once."""

    def __call__(self, rows: RowsT, /) -> object: ...


MAX_KEPT_ROWS = 1_000_000
"""Of the files of one profile. Beyond it so many of the oldest are let go that half as many are left."""
_NO_LIMIT = 1 << 62

_WHY = {
    "truncated": "the file got shorter",
    "replaced": "another file took its place",
    "rewritten": "the file was written anew",
}


@dataclass(frozen=True, slots=True)
class Followed:
    """How far the files of one profile are. n_bytes: read in all. n_starts: how often one began anew. n_gone:
    files that are no longer there, their records are. n_waiting: last lines that wait for their rest."""

    n_files: int = 0
    n_bytes: int = 0
    n_starts: int = 0
    n_gone: int = 0
    n_waiting: int = 0

    def __add__(self, other: Followed) -> Followed:
        return Followed(
            self.n_files + other.n_files,
            self.n_bytes + other.n_bytes,
            self.n_starts + other.n_starts,
            self.n_gone + other.n_gone,
            self.n_waiting + other.n_waiting,
        )


class OperatorTail:
    """An operator table as it is appended to. error: why it is none; its bytes are passed over then. let_go:
    takes rows that are kept no longer."""

    def __init__(
        self, artifact: str, device: int, columns: Collection[str] | None, let_go: LetGo[OperatorTable]
    ) -> None:
        self.table = OperatorReader(columns, max_rows=_NO_LIMIT)
        self.table.begin(artifact, device)
        self.error: InputError | None = None
        self._let_go = let_go

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def feed(self, raw: bytes) -> None:
        if self.error is None:
            try:
                self.table.feed(raw)
            except InputError as error:
                self.error = error
            self.shorten(n_over(self.n_rows))

    def shorten(self, n: int) -> None:
        """Let the first n rows go."""
        if n:
            self._let_go(self.table.let_go(n))


class MonitorTail:
    """A file of msMonitor as it is appended to; see `OperatorTail`."""

    def __init__(self, artifact: str, let_go: LetGo[MonitorLog]) -> None:
        self.log = MonitorReader(max_lines=_NO_LIMIT)
        self.log.begin(artifact)
        self._let_go = let_go

    @property
    def n_rows(self) -> int:
        return self.log.n_rows

    def feed(self, raw: bytes) -> None:
        self.log.feed(raw)
        self.shorten(n_over(self.n_rows))

    def shorten(self, n: int) -> None:
        """Let the first n records go."""
        if n:
            self._let_go(log_of([self.log.let_go(n)]))


def n_over(n_rows: int) -> int:
    """How many of so many rows are let go."""
    return n_rows - MAX_KEPT_ROWS // 2 if n_rows > MAX_KEPT_ROWS else 0


def forget(rows: object) -> None:
    """For those who want nothing of rows that are let go."""


class TraceTail:
    """A trace as it is appended to."""

    def __init__(self, artifact: str, path: Path) -> None:
        self.n_bytes = 0
        self.error: InputError | None = None
        self._path = path
        self._reader = TraceReader(ARGS, artifact=artifact, path=path)
        self._builder = TimelineBuilder(artifact)
        self._told: tuple[int, tuple[Timeline, ...]] | None = None

    def feed(self, raw: bytes) -> None:
        self.n_bytes += len(raw)
        if self.n_bytes > MAX_FILE_BYTES and self.error is None:
            message = f"the file has more than {MAX_FILE_BYTES:,} bytes, at most as many are read"
            self.error = InputError(message, path=self._path, hint="profile fewer steps")
        if self.error is None:
            try:
                for block in self._reader.feed(raw):
                    self._builder.feed(block, self._reader.names)
            except InputError as error:
                self.error = error

    def timelines(self) -> tuple[Timeline, ...]:
        """Those of all that was fed; made once for as many bytes. Raises InputError: this is no trace."""
        self.feed(b"")  # a long event that waited for its end is looked at
        if self.error is not None:
            raise self.error
        if self._told is None or self._told[0] != self.n_bytes:
            self._told = self.n_bytes, self._builder.finish(self._reader.names, self._reader.finish())
        return self._told[1]


def follow_msmonitor(
    paths: Sequence[Path],
    tails: Tails,
    *,
    root: Path | None = None,
    name: object = None,
    let_go: LetGo[MonitorLog] = forget,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[MonitorLog, Followed]:
    """Records of one process, of all files that it was seen to write, in the order of the times in their
    names. Problems as `read_msmonitor` has them.

    name: tells processes apart. let_go: takes the oldest records beyond MAX_KEPT_ROWS. Raises InputError
    where nothing was ever read, Cancelled.
    """

    def begun(path: Path) -> MonitorTail:
        return MonitorTail(shown_path(path, root), let_go)

    found, failed = _generations(
        sorted(paths, key=written_at), tails, root, begun, "msmonitor", progress, is_cancelled
    )

    def made() -> MonitorLog:
        parts = []
        for one in found:
            parts.append(one.reader.log.part(is_ended=_has_ended(one)))
            if (last := one.reader.log.last_line()) is not None:
                parts.append(last)
        log = log_of(parts)
        return replace(log, problems=(*failed, *log.problems, *restarts(found, root)))

    found = _shortened(found, tails, "msmonitor")
    n_rows = [one.reader.n_rows for one in found]
    log = _once(tails, ("msmonitor", name), found, (n_rows, failed), made)
    return log, _followed(found, [one.reader.log.has_rest for one in found])


def follow_operators(
    paths: Sequence[Path],
    tails: Tails,
    *,
    root: Path | None = None,
    columns: Collection[str] | None = None,
    name: object = None,
    let_go: LetGo[OperatorTable] = forget,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[OperatorTable | None, Followed]:
    """The rows of op_summary or kernel_details tables so far, one file after another; None while none of them
    has a header. Problems as `read_operators` has them.

    name: tells tables apart. let_go: takes the oldest rows beyond MAX_KEPT_ROWS. Raises InputError and
    Cancelled as `read_operators` does.
    """

    def begun(path: Path) -> OperatorTail:
        return OperatorTail(shown_path(path, root), device_of(path), columns, let_go)

    found, failed = _generations(paths, tails, root, begun, "operators", progress, is_cancelled)
    found = [one for one in found if one.n_bytes or not one.is_over]

    def made() -> OperatorTable | None:
        return _table_of(found, failed, root)

    found = _shortened(found, tails, "operators")
    n_rows = [one.reader.n_rows for one in found]
    table = _once(tails, ("operators", name), found, (n_rows, failed), made)
    return table, _followed(found, [one.reader.table.has_rest for one in found])


def _table_of(
    found: Sequence[Generation[OperatorTail]], failed: Sequence[Problem], root: Path | None
) -> OperatorTable | None:
    told: list[Problem] = []
    readers: list[OperatorReader] = []
    refused: list[InputError] = []
    for one in found:
        tail = one.reader
        if one.is_over and tail.error is None:
            try:
                tail.table.end()
            except InputError as error:
                tail.error = error
        if tail.error is not None:
            refused.append(tail.error)
            told.append(Problem.from_error(tail.error, shown_path(one.path, root)))
        elif tail.table.has_header:
            readers.append(tail.table)
            if tail.table.has_rest and _has_ended(one):
                message = "the last line has no end: its row may be cut and was left out"
                told.append(Problem(shown_path(one.path, root), "cut-off", message))
    if refused and not readers:
        raise refused[0]
    if not readers:
        return None
    table = joined(readers)
    n_cut = sum(problem.kind == "cut-off" for problem in told)
    return replace(
        table,
        n_dropped=table.n_dropped + n_cut,
        problems=(*failed, *table.problems, *told, *restarts(found, root)),
    )


def follow_timelines(
    path: Path,
    *,
    tails: Tails,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Timeline, ...]:
    """The timelines of a trace so far. One that is written anew is another trace: the old one is let go.

    A trace without its end is cut off, followed or not. Raises InputError and Cancelled as `read_timelines`
    does.
    """
    found = tails.read(
        path,
        root,
        lambda: TraceTail(shown_path(path, root), path),
        kind="trace",
        progress=progress,
        is_cancelled=is_cancelled,
    )
    for one in found[:-1]:
        one.reader = TraceTail(shown_path(path, root), path)
    return found[-1].reader.timelines()


def restarts(found: Sequence[Generation[ReaderT]], root: Path | None) -> tuple[Problem, ...]:
    """One problem a file that began anew, however often it did."""
    times: dict[Path, list[str]] = {}
    for one in found:
        if one.why:
            times.setdefault(one.path, []).append(one.why)
    problems = []
    for path, whys in times.items():
        often = "" if len(whys) == 1 else f" ({len(whys)} times)"
        message = (
            f"{_WHY[whys[-1]]}{often}: it was read again from its start; what was read before stays, "
            "what was written just before may be missing"
        )
        problems.append(Problem(shown_path(path, root), "missing", message))
    return tuple(problems)


def is_kept(path: Path, tails: Tails, kind: str) -> bool:
    """Whether anything is kept of a file that is gone. kind: "msmonitor" or "operators"."""
    try:
        return bool(tails.read(path, None, _no_reader, kind=kind))
    except InputError:
        return False


def _no_reader() -> OperatorTail:
    raise InputError("the file is here again")


def _shortened(found: list[Generation[TailT]], tails: Tails, kind: str) -> list[Generation[TailT]]:
    """Let the oldest rows of all files go, where they are too many together; and files that are gone and have
    none left: one a rotation, they would add up."""
    n_left = n_over(sum(one.reader.n_rows for one in found))
    emptied = set()
    for one in found:
        n = min(n_left, one.reader.n_rows)
        one.reader.shorten(n)
        n_left -= n
        if n and not one.path.exists():
            emptied.add(one.path)
    emptied -= {one.path for one in found if one.reader.n_rows}
    for path in emptied:
        tails.let_go(path, kind)
    return [one for one in found if one.path not in emptied]


def _once(
    tails: Tails,
    key: object,
    found: Sequence[Generation[ReaderT]],
    more: object,
    make: Callable[[], MadeT],
) -> MadeT:
    """What is made of generations; the same object as long as they get no more bytes. more: what else the
    result depends on."""
    state = ([(one.path, one.number, one.n_bytes, _has_ended(one)) for one in found], more)
    kept = tails.kept.get(key)
    if kept is None or kept[0] != state:
        kept = tails.kept[key] = (state, make())
    made: MadeT = kept[1]
    return made


def _generations(
    paths: Sequence[Path],
    tails: Tails,
    root: Path | None,
    begun: Callable[[Path], ReaderT],
    kind: str,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[list[Generation[ReaderT]], list[Problem]]:
    """All generations of all files; what of them cannot be read. InputError where nothing can be."""
    found: list[Generation[ReaderT]] = []
    failed: list[tuple[Path, InputError]] = []
    for path in paths:
        try:
            found += tails.read(
                path,
                root,
                lambda path=path: begun(path),  # type: ignore[misc]
                kind=kind,
                progress=progress,
                is_cancelled=is_cancelled,
            )
        except InputError as error:
            failed.append((path, error))
    if failed and not found:
        raise failed[0][1]
    return found, [Problem.from_error(error, shown_path(path, root)) for path, error in failed]


def _has_ended(one: Generation[ReaderT]) -> bool:
    """Whether nothing more is to be expected: the file began anew since, or is gone. What still comes of one
    that is gone but held open is taken all the same."""
    return one.is_over or not one.path.exists()


def _followed(found: Sequence[Generation[ReaderT]], has_rest: Sequence[bool]) -> Followed:
    paths = {one.path for one in found}
    return Followed(
        n_files=len(paths),
        n_bytes=sum(one.n_bytes for one in found),
        n_starts=sum(bool(one.why) for one in found),
        n_gone=sum(not path.exists() for path in paths),
        n_waiting=sum(rest for one, rest in zip(found, has_rest, strict=True) if not _has_ended(one)),
    )
