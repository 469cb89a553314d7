"""dump.json and debug.json: what one rank did in one step, in columns, from a stream of entries."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Completeness, Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import MAX_FILE_BYTES, WINDOW_BYTES, Member, json_members
from ..json_window import Notes
from .columns import ColumnBuilder, LimitError
from .flatten import TooDeepError, body_of, leaves, unread_sides
from .records import CallColumns, Dump, DumpHeader, LeafColumns

_HEADER_KEYS = ("task", "level", "framework", "dump_data_dir", "data")
_LOSSES = {"bad-record", "too-deep", "too-large", "limit", "unreadable"}


def read_dump(
    path: Path,
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    window_bytes: int = WINDOW_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Dump:
    """The dump in `path` (dump.json or debug.json of any version), entries in file order.

    Header fields that are missing are "" (dump_data_dir None); the framework is then told from the types of
    the records. completeness: "complete", "cut off" where the file ends early, "unknown" where something
    inside it could not be read (`problems` say what, with the byte; all else is kept).
    Raises InputError (not usable at all; `root`: a link leads out of it) and Cancelled.
    Cost: linear, about 100 bytes of memory a leaf.
    """
    parse = _Parse(path, root)
    parse.take(
        json_members(
            path,
            parse.problems,
            inner="data",
            root=root,
            max_bytes=max_bytes,
            window_bytes=window_bytes,
            progress=progress,
            is_cancelled=is_cancelled,
        )
    )
    return parse.dump(parse.builder.finish)


class _Parse:
    """Members of a file on their way into columns."""

    def __init__(self, path: Path, root: Path | None) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.header: dict[str, Any] = {}
        self.builder = ColumnBuilder()
        self.last: tuple[int, str, Any] | None = None  # the last entry: its byte, name and body
        self.n_calls = 0
        self.is_stopped = False
        self._notes = Notes(shown_path(path, root), self.problems)

    def take(self, members: Iterable[Member]) -> None:
        """Header fields and entries, in file order."""
        for byte, in_data, name, entry in members:
            if in_data:
                try:
                    _add_entry(self.builder, self._notes, byte, name, entry)
                except LimitError as limit:
                    message = f"reading stopped at {name[:200]!r}: {limit}"
                    self._notes.add("limit", message, byte, is_last=True)
                    self.is_stopped = True
                    break
                self.last = byte, name, entry
                self.n_calls += 1
            elif name in _HEADER_KEYS:
                self.header[name] = entry
                if name == "data" and entry != {}:
                    self._notes.add("bad-record", "data is not an object", byte)

    def dump(self, columns: Callable[[], tuple[CallColumns, LeafColumns]]) -> Dump:
        """What was taken. InputError where it is no dump."""
        problems, builder = self.problems, self.builder
        if "data" not in self.header and not problems:
            message = "this is not a dump of msprobe: it has no data"
            raise InputError(message, path=self.path, hint="name a dump.json or debug.json")
        told = list(problems)
        notes = self._notes.copy(told)
        if builder.n_bad_shapes:
            bad = f"{builder.n_bad_shapes:,} shapes are no lists of sizes and were left out"
            notes.add("shape", bad, None)
        if builder.n_text_statistics:
            found = f"{builder.n_text_statistics:,} statistics are text ('nan'), which was read as numbers"
            notes.add("encoding", found, None)
        if builder.n_lost_statistics:
            lost = f"{builder.n_lost_statistics:,} statistics are text that is no number and were left out"
            notes.add("encoding", lost, None)
        notes.close()
        types = builder.types()
        calls, leaf_columns = columns()
        return Dump(
            path=self.path,
            header=_header(self.header, types),
            calls=calls,
            leaves=leaf_columns,
            completeness=_completeness(told),
            problems=tuple(told),
        )


class GrowingDump:
    """A dump.json that the tool writes anew again and again, each time with more entries at its end.

    What stands before the last entry is parsed once, as long as not a byte of it changes. A file that is cut
    or short at the moment of a look costs nothing of what was parsed.
    """

    def __init__(self, path: Path, root: Path | None = None) -> None:
        self._path, self._root = path, root
        self._parse: _Parse | None = None
        self._crc = 0  # of all bytes before the last entry

    def read(
        self,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Dump:
        """The file as it is now; as `read_dump`, and raises as it does."""
        dump = self._read_on(progress, is_cancelled)
        if dump is not None:
            return dump
        parse = _Parse(self._path, self._root)
        parse.take(self._members(parse, 0, progress, is_cancelled))
        dump = parse.dump(parse.builder.so_far)
        if dump.completeness == "complete" or self._parse is None or parse.n_calls > self._parse.n_calls:
            self._keep(parse)
        return dump

    def _read_on(self, progress: ProgressCallback, is_cancelled: IsCancelled) -> Dump | None:
        """With what stands behind the last entry; None where the file is not what it was up to there."""
        parse = self._parse
        if parse is None or parse.last is None or self._crc_up_to(parse.last[0]) != self._crc:
            return None
        byte, name, body = parse.last
        del parse.problems[:]
        members = self._members(parse, byte, progress, is_cancelled)
        first = next(members, None)
        if first is None or first[:3] != (byte, True, name) or repr(first[3]) != repr(body):
            return None
        parse.take(members)
        if any(problem.kind != "cut-off" for problem in parse.problems):
            self._parse = None  # where it goes on can be told by the whole file alone
            return None
        self._keep(parse)
        return parse.dump(parse.builder.so_far)

    def _keep(self, parse: _Parse) -> None:
        is_clean = not parse.is_stopped and all(one.kind == "cut-off" for one in parse.problems)
        crc = self._crc_up_to(parse.last[0]) if is_clean and parse.last is not None else None
        self._parse, self._crc = (None, 0) if crc is None else (parse, crc)

    def _members(
        self, parse: _Parse, start: int, progress: ProgressCallback, is_cancelled: IsCancelled
    ) -> Iterator[Member]:
        return json_members(
            self._path,
            parse.problems,
            inner="data",
            root=self._root,
            start=start,
            n_before=parse.n_calls - 1 if start else 0,
            progress=progress,
            is_cancelled=is_cancelled,
        )

    def _crc_up_to(self, n_bytes: int) -> int | None:
        """The checksum of the first bytes; None where there are not so many."""
        file, size_bytes = open_input(self._path, self._root)
        with file:
            crc, left = 0, n_bytes
            while size_bytes >= n_bytes and left:
                raw = file.read(min(WINDOW_BYTES, left))
                if not raw:
                    break
                crc, left = zlib.crc32(raw, crc), left - len(raw)
        return None if left else crc


def empty_dump(path: Path) -> Dump:
    """A dump of which nothing is known yet."""
    calls, leaf_columns = ColumnBuilder().finish()
    return Dump(path, DumpHeader("", "", "", None), calls, leaf_columns, "in progress")


def iter_calls(
    path: Path,
    problems: list[Problem] | None = None,
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    window_bytes: int = WINDOW_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Iterator[tuple[int, str, Any]]:
    """Byte offset of the key, entry name and parsed body of each entry, one at a time and let go.

    What cannot be read is appended to `problems`. Raises as `read_dump` does, at the first entry.
    Memory: a window of the file, or the longest entry.
    """
    members = json_members(
        path,
        [] if problems is None else problems,
        inner="data",
        root=root,
        max_bytes=max_bytes,
        window_bytes=window_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    for byte, in_data, name, entry in members:
        if in_data:
            yield byte, name, entry


def _add_entry(builder: ColumnBuilder, notes: Notes, byte: int, name: str, entry: Any) -> None:
    body = body_of(name, entry)
    recompute = entry.get("is_recompute") if isinstance(entry, dict) else None
    builder.add_call(name, byte, int(recompute) if isinstance(recompute, bool) else -1)
    if isinstance(entry, dict) and "is_nan" in entry:
        flag = entry["is_nan"]
        builder.set_nan_flag(bool(flag) if isinstance(flag, (bool, int)) else None)
    add_leaf = builder.add_leaf
    try:
        for side, io, value in leaves(body, entry):
            add_leaf(side, io, value)
    except TooDeepError:
        notes.add("too-deep", f"{name[:200]!r} is nested too deeply, its other leaves are left out", byte)
    for key in unread_sides(body, entry):
        notes.add("bad-record", f"{name[:200]!r} holds {key[:200]!r}, which is not read", byte)
    if entry is not None and body != "debug" and not isinstance(entry, dict):
        notes.add("bad-record", f"{name[:200]!r} is not an object", byte)


def _header(header: dict[str, Any], types: list[str]) -> DumpHeader:
    def text(key: str) -> str:
        value = header.get(key)
        return value if isinstance(value, str) else ""

    framework = text("framework")
    if not framework and any(name.startswith("torch.") for name in types):
        framework = "pytorch"
    elif not framework and any(name.startswith("mindspore.") for name in types):
        framework = "mindspore"
    return DumpHeader(text("task"), text("level"), framework, text("dump_data_dir") or None)


def _completeness(problems: list[Problem]) -> Completeness:
    kinds = {problem.kind for problem in problems}
    if "cut-off" in kinds:
        return "cut off"
    return "unknown" if kinds & _LOSSES else "complete"
