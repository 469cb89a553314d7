"""A window of text that moves over a file: bounded memory, and the byte of every character in it."""

from __future__ import annotations

import codecs
import io
import re

from ..findings import Problem
from ..progress import IsCancelled, Progress, ProgressCallback, check

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_SHOWN_PROBLEMS = 20


class Window:
    """Text of a file from some place on. What is before `at` is let go when more is read.

    Bytes that are no UTF-8 become lone surrogates, so that every character knows its bytes; they are noted
    once. `ended` is set when a read found the end of the file.
    """

    def __init__(
        self,
        file: io.FileIO,
        size_bytes: int,
        notes: Notes,
        chunk_bytes: int,
        progress: ProgressCallback,
        is_cancelled: IsCancelled,
        byte: int = 0,
    ) -> None:
        """byte: where the file stands."""
        self.text = ""
        self.at = 0
        self.ended = False
        self.read_bytes = byte
        self.notes = notes
        self._file = file
        self._size_bytes = size_bytes
        self._chunk_bytes = chunk_bytes
        self._progress = progress
        self._is_cancelled = is_cancelled
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._mark, self._mark_byte = 0, byte  # an index into text, and the byte that it stands for
        self._is_not_utf8 = False

    def extend(self, most_chars: int) -> bool:
        """Read on, at most about `most_chars`; False where the end of the file was known before.

        Doubles what is held, so that looking again at an unfinished member costs linear time in all.
        """
        if self.ended:
            return False
        check(self._is_cancelled)
        wanted = max(self._chunk_bytes, min(len(self.text) - self.at, most_chars))
        try:
            raw = self._file.read(wanted) or b""
        except OSError as error:
            self.notes.add("unreadable", f"reading failed: {error.strerror}", self.read_bytes)
            raw = b""
        self.ended = not raw
        self.read_bytes += len(raw)
        self.byte_at(self.at)
        more = self._decoder.decode(raw, self.ended)
        if not more.isascii():
            self._look_for_bad_bytes(more)
        self.text = self.text[self.at :] + more
        self.at = self._mark = 0
        self._progress(Progress("read", self.read_bytes, max(self._size_bytes, self.read_bytes), "bytes"))
        return True

    def byte_at(self, index: int) -> int:
        """The byte offset of `text[index]`; no earlier index may be asked for later."""
        if index > self._mark and self.text.isascii():  # nearly always: asked for each member
            self._mark_byte += index - self._mark
        else:
            self._mark_byte = self.byte_near(index)
        self._mark = index
        return self._mark_byte

    def byte_near(self, index: int) -> int:
        """The byte offset of `text[index]`, or of the last place told by `byte_at` if index is before it."""
        if self.text.isascii():
            return self._mark_byte + max(index - self._mark, 0)
        return self._mark_byte + len(self.text[self._mark : index].encode("utf-8", "surrogateescape"))

    def _look_for_bad_bytes(self, more: str) -> None:
        bad = _NOT_UTF8.search(more)
        if bad and not self._is_not_utf8:
            before = self.text[self.at :] + more[: bad.start()]
            byte = self._mark_byte + len(before.encode("utf-8", "surrogateescape"))
            self.notes.add(
                "encoding", "this byte and maybe later ones are not UTF-8; they are shown as '?'", byte
            )
            self._is_not_utf8 = True


class Notes:
    """Problems of one file. Only the first of them are kept, and those that are the last word on it."""

    def __init__(self, artifact: str, problems: list[Problem]) -> None:
        self.artifact = artifact
        self.problems = problems
        self._n = 0

    def add(self, kind: str, message: str, byte: int | None, *, is_last: bool = False) -> None:
        self._n += 1
        if is_last or self._n <= _SHOWN_PROBLEMS:
            self.problems.append(Problem(self.artifact, kind, message, byte=byte))

    def copy(self, problems: list[Problem]) -> Notes:
        """The same, going on in another list that holds what was noted so far."""
        other = Notes(self.artifact, problems)
        other._n = self._n
        return other

    def close(self) -> None:
        """Say how many were not kept."""
        if self._n > _SHOWN_PROBLEMS:
            message = f"{self._n - _SHOWN_PROBLEMS:,} more problems in this file"
            self.problems.append(Problem(self.artifact, "limit", message))
