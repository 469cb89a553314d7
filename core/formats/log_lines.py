"""Lines of a log as its bytes come: any cut, bounded memory, and only those lines that somebody wants.

`LineCutter`: a line ends at LF or at a lone CR (what a progress bar draws over is a line of its own); only LF
counts. UTF-8 with or without byte order mark, UTF-16 with one, and GBK wherever a line is no UTF-8.
Readers that see lines as a terminal shows them cut for themselves (`mssanitizer.lines`, `hostsan.lines` say
why) out of the same parts: limits, `Finders`, `long_line`, `last_segment`, `decoded`, `windows`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, check
from npulse.core.text import safe_text

from ..files import shown_path
from .tensors.source import open_source

WINDOW_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 16
MAX_TEXT_CHARS = 4096

SHOWN_PROBLEMS = 20
"""Of one log; more are only counted."""

_PATTERN_BYTES = 64  # no pattern looks at more


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. number: from 1; byte: where it begins in the file."""

    number: int
    byte: int
    raw: bytes


class LogNotes:
    """Problems of one log. Only the first ones are kept, the others are counted."""

    def __init__(self, artifact: str) -> None:
        self.artifact = artifact
        self._problems: list[Problem] = []
        self._n = 0

    def add(self, kind: str, message: str, line: int | None, byte: int | None = None) -> None:
        self._n += 1
        if self._n <= SHOWN_PROBLEMS:
            self._problems.append(Problem(self.artifact, kind, message, line, byte))

    def stopped(self, error: InputError, byte: int) -> None:
        """The file cannot be read from `byte` on."""
        self.add(str(getattr(error, "kind", "unreadable")), error.message, None, byte)

    def told(self) -> tuple[Problem, ...]:
        """All that were kept, and how many were not."""
        n_more = self._n - len(self._problems)
        if not n_more:
            return tuple(self._problems)
        return (*self._problems, Problem(self.artifact, "limit", f"{n_more:,} more problems in this file"))


class LineCutter:
    """Cuts bytes into lines and hands out those that hold one of `words` or fit one of `patterns`.

    wants_all: the next lines are wanted whatever they hold; may be set between two lines. Without words and
    patterns it is set from the start. A wanted line of more than 65,536 bytes is left out and noted
    (too-large). Patterns look at no more than 64 bytes and at no line end.
    """

    def __init__(
        self, notes: LogNotes, words: Sequence[bytes] = (), patterns: Sequence[re.Pattern[bytes]] = ()
    ) -> None:
        self.wants_all = not words and not patterns
        self._notes = notes
        self._words = tuple(words)
        self._patterns = tuple(patterns)
        self._keep = max([_PATTERN_BYTES, *map(len, words)])
        self._head: bytes | None = b""  # until the encoding is known
        self._decoder: codecs.IncrementalDecoder | None = None
        self._rest = b""
        self._number, self._byte = 1, 0  # of the first byte in _rest
        self._long = False  # the line in _rest is too long: only its last bytes are kept
        self._long_byte = 0
        self._long_is_wanted = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The wanted lines that end in `chunk`. The iterator has to be used up."""
        for at in range(0, len(chunk), WINDOW_BYTES):
            yield from self._take(chunk[at : at + WINDOW_BYTES], is_last=False)

    def pass_over(self, chunk: bytes) -> Iterator[Line]:
        """As `feed`, of a chunk that ends no line with a word or pattern in it: the caller knows.

        Lines and bytes are counted. Where all lines are wanted it is fed all the same.
        """
        is_plain = self._head is None and self._decoder is None and not self._long
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if self.wants_all or not is_plain or not end:
            yield from self.feed(chunk)
            return
        self._number += chunk.count(b"\n")
        self._byte += len(self._rest) + end
        self._rest = chunk[end:]
        if len(self._rest) > MAX_LINE_BYTES:
            self._begin_long()

    def finish(self) -> Iterator[Line]:
        """The line without an end that may be left, if it is wanted."""
        yield from self._take(b"", is_last=True)
        if self._long:
            self._close_long()
        elif self._rest:
            line = Line(self._number, self._byte, self._rest)
            self._byte += self._span(self._rest)
            self._rest = b""
            if self.wants_all or self._is_wanted(line.raw):
                yield line

    def _take(self, piece: bytes, *, is_last: bool) -> Iterator[Line]:
        if self._head is not None:
            self._head += piece
            if len(self._head) < 3 and not is_last:
                return
            piece, self._head = self._without_mark(self._head), None
        if self._decoder is not None:
            piece = self._decoder.decode(piece, is_last).encode("utf-8", "replace")
        if self._long:
            piece = self._skip_long(piece)
        block = self._rest + piece
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        self._rest = block[end:]
        if end:
            yield from self._wanted_in(block[:end])
        if len(self._rest) > MAX_LINE_BYTES:
            self._begin_long()

    def _without_mark(self, head: bytes) -> bytes:
        marks = (
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF8, ""),
        )
        for mark, encoding in marks:
            if head.startswith(mark):
                self._byte = len(mark)
                if encoding:
                    self._decoder = codecs.getincrementaldecoder(encoding)("replace")
                return head[len(mark) :]
        return head

    def _span(self, piece: bytes) -> int:
        """How many bytes of the file `piece` stands for."""
        if self._decoder is None:
            return len(piece)
        return len(piece.decode("utf-8", "replace").encode("utf-16-le", "replace"))

    # ---- lines that are too long ----

    def _begin_long(self) -> None:
        self._long, self._long_byte = True, self._byte
        self._long_is_wanted = self._is_wanted(self._rest)
        self._drop_all_but_last(self._rest)

    def _skip_long(self, piece: bytes) -> bytes:
        """What follows the end of the long line; of the line itself only the last bytes stay."""
        ends = [at for at in (piece.find(b"\n"), piece.find(b"\r")) if at >= 0]
        part = piece[: min(ends)] if ends else piece
        seen = self._rest + part
        self._long_is_wanted = self._long_is_wanted or self._is_wanted(seen)
        if not ends:
            self._drop_all_but_last(seen)
            return b""
        self._byte += self._span(seen)
        self._rest = b""
        self._close_long()
        return piece[min(ends) :]

    def _drop_all_but_last(self, seen: bytes) -> None:
        cut = max(len(seen) - self._keep, 0)
        while self._decoder is not None and cut and seen[cut] & 0xC0 == 0x80:
            cut -= 1  # to the first byte of a character
        self._byte += self._span(seen[:cut])
        self._rest = seen[cut:]

    def _close_long(self) -> None:
        self._long = False
        if self._long_is_wanted or self.wants_all:
            self._note_long(self._number, self._long_byte)

    def _note_long(self, number: int, byte: int) -> None:
        message = f"the line has more than {MAX_LINE_BYTES:,} bytes and was left out"
        self._notes.add("too-large", message, number, byte)

    # ---- lines in a block of whole lines ----

    def _is_wanted(self, raw: bytes) -> bool:
        return any(word in raw for word in self._words) or any(p.search(raw) for p in self._patterns)

    def _wanted_in(self, block: bytes) -> Iterator[Line]:
        number, byte, counted = self._number, self._byte, 0
        finders = Finders(block, self._words, self._patterns)
        at = 0
        while at < len(block):
            hit = at if self.wants_all else finders.first_from(at)
            if hit < 0:
                break
            begin = block.rfind(b"\n", at, hit) + 1
            begin = max(begin, block.rfind(b"\r", max(begin, at), hit) + 1, at)
            end = block.find(b"\n", hit)
            end = len(block) if end < 0 else end
            lone = block.find(b"\r", hit, end)
            end = end if lone < 0 else lone
            number += block.count(b"\n", counted, begin)
            byte += self._span(block[counted:begin])
            counted = begin
            at = end + 1
            if end - begin > MAX_LINE_BYTES:
                self._note_long(number, byte)
            elif end > begin:
                yield Line(number, byte, block[begin:end])
        self._number = number + block.count(b"\n", counted)
        self._byte = byte + self._span(block[counted:])


class Finders:
    """Where the next word or pattern of a block is. Each is looked for once, so places are asked in order."""

    __slots__ = ("_block", "_finders", "_next")

    def __init__(
        self, block: bytes, words: tuple[bytes, ...], patterns: tuple[re.Pattern[bytes], ...] = ()
    ) -> None:
        self._block = block
        self._finders: list[bytes | re.Pattern[bytes]] = [*words, *patterns]
        self._next = [-2] * len(self._finders)  # -2: not looked for yet

    def first_from(self, at: int) -> int:
        """The first place from `at` on where one of them is; -1 if there is none."""
        first = -1
        kept = 0
        for finder, place in zip(self._finders, self._next, strict=True):
            if place < at:
                place = self._find(finder, at)
                if place < 0:
                    continue  # nowhere in the rest of the block
            self._finders[kept], self._next[kept] = finder, place
            kept += 1
            if first < 0 or place < first:
                first = place
        del self._finders[kept:], self._next[kept:]
        return first

    def _find(self, finder: bytes | re.Pattern[bytes], at: int) -> int:
        if isinstance(finder, bytes):
            return self._block.find(finder, at)
        found = finder.search(self._block, at)
        return found.start() if found else -1


def long_line(block: bytes, at: int, end: int) -> int:
    """Where the first line of more than 65,536 bytes begins; `end` if there is none.

    at: the begin of a line; end: behind a line end. Lines end at LF alone. Short ones cost nothing each.
    """
    while end - at > MAX_LINE_BYTES:
        last = block.rfind(b"\n", at, at + MAX_LINE_BYTES + 1)
        if last < 0:
            return at
        at = last + 1
    return end


def last_segment(raw: bytes) -> bytes:
    """What a terminal shows of a line in the end: what stands behind its last CR but those at its end."""
    raw = raw.rstrip(b"\r")
    return raw[raw.rfind(b"\r") + 1 :]


# ---- text ----

_ANSI = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")


def decoded(raw: bytes) -> tuple[str, bool]:
    """A line as text, and whether it could be read: UTF-8, else GBK, else with '?' for its bytes."""
    try:
        return raw.decode("utf-8"), True
    except UnicodeDecodeError:
        pass
    try:
        return raw.decode("gb18030"), True
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), False


def text_of(line: Line, notes: LogNotes) -> str:
    """The line as text without colour codes; bytes in neither encoding are shown as '?' and noted."""
    text, is_read = decoded(line.raw)
    if not is_read:
        message = "the line is neither UTF-8 nor GBK; bytes of it are shown as '?'"
        notes.add("encoding", message, line.number, line.byte)
    return _ANSI.sub("", text) if "\x1b" in text else text


def bounded(text: str) -> str:
    """A text for a record: safe to show, without blanks around it, at most 4,096 characters."""
    return safe_text(text[: 2 * MAX_TEXT_CHARS].strip(), MAX_TEXT_CHARS)


_PREFIX = re.compile(
    r"\s{0,2}(?:"
    r"\((?P<process>[^()]{0,80}?pid=(?P<pid>\d{1,10}))\) ?"  # (WorkerProc pid=221633)
    r"|(?P<rank>\[(?:rank|default|Rank|RANK)[ _]?\d{1,6}\]):? ?"  # [rank0]:
    r"|(?P<slot>\[\d{1,6},\d{1,6}\]<std(?:out|err)>):? ?"  # [1,3]<stderr>:
    r"|(?P<task>\d{1,6}): (?=\S)"  # 3:
    r"|(?P<service>[\w.-]{1,64})\s{1,24}\| "  # a container's name
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
    r" \[[^\]]{1,160}\] ?"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]? "
    r")"
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a console line, told by what launchers put in front of it; name is "" if nothing tells it."""

    name: str
    pid: int | None


def split_prefix(text: str) -> tuple[Origin, str]:
    """The origin of a console line and what it wrote, with the blanks in front of it."""
    names: list[str] = []
    pid: int | None = None
    at = 0
    for _ in range(4):
        found = _PREFIX.match(text, at)
        if found is None:
            break
        at = found.end()
        if found["pid"]:
            pid = int(found["pid"])
        names += filter(None, found.group("process", "rank", "slot", "task", "service"))
    return Origin(" ".join(names), pid), text[at:]


# ---- files ----


def log_windows(
    path: Path, root: Path | None, notes: LogNotes, progress: ProgressCallback, is_cancelled: IsCancelled
) -> Iterator[bytes]:
    """The bytes of a file, 1 MB at a time, up to its size when it was opened.

    A disk that fails or a file that becomes shorter meanwhile ends it and is noted. Raises InputError (no
    such file, no regular file, a link out of `root`) and Cancelled.
    """
    with open_source(path, root if root is not None else path.parent) as source:
        yield from windows(
            lambda at, n_bytes: source.read(at, n_bytes, "the log"),
            source.size,
            WINDOW_BYTES,
            notes.stopped,
            progress,
            is_cancelled,
        )


def windows(
    read: Callable[[int, int], bytes],
    size_bytes: int,
    window_bytes: int,
    on_failure: Callable[[InputError, int], None],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Iterator[bytes]:
    """What `read(at, n_bytes)` gives, window by window, up to the size or to its first InputError.

    on_failure is told that error, and at which byte. progress: of windows that the caller is done with.
    """
    at = 0
    while at < size_bytes:
        check(is_cancelled)
        try:
            window = read(at, min(window_bytes, size_bytes - at))
        except InputError as error:
            on_failure(error, at)
            return
        at += len(window)
        yield window
        progress(Progress("read", at, size_bytes, "bytes"))


class _Told(Protocol):
    @property
    def line(self) -> int: ...


R = TypeVar("R", bound=_Told)


class LogReader(Protocol[R]):
    """Bytes in, records out as they become whole; problems as they stand."""

    @property
    def problems(self) -> tuple[Problem, ...]: ...

    def feed(self, chunk: bytes, /) -> list[R]: ...

    def finish(self) -> list[R]: ...


def read_records(
    path: Path,
    root: Path | None,
    reader: LogReader[R],
    max_records: int,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[tuple[R, ...], tuple[Problem, ...]]:
    """All that a reader makes of a file, `max_records` at most, and the problems of both.

    Cost: time grows with the bytes, memory with the records. Raises as `log_windows` does.
    """
    notes = LogNotes(shown_path(path, root))
    records: list[R] = []
    for window in log_windows(path, root, notes, progress, is_cancelled):
        records += reader.feed(window)
        if len(records) > max_records:
            break
    records += reader.finish()
    if len(records) > max_records:
        notes.add("limit", f"only the first {max_records:,} records were kept", records[max_records].line)
    return tuple(records[:max_records]), (*reader.problems, *notes.told())
