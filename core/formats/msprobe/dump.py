"""dump.json and debug.json: what one rank did in one step, in columns, from a stream of entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import shown_path
from ...findings import Completeness, Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import MAX_FILE_BYTES, WINDOW_BYTES, json_members
from ..json_window import Notes
from .columns import ColumnBuilder, LimitError
from .flatten import TooDeepError, body_of, leaves, unread_sides
from .records import Dump, DumpHeader

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
    problems: list[Problem] = []
    notes = Notes(shown_path(path, root), problems)
    header: dict[str, Any] = {}
    builder = ColumnBuilder()
    members = json_members(
        path,
        problems,
        inner="data",
        root=root,
        max_bytes=max_bytes,
        window_bytes=window_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    for byte, in_data, name, entry in members:
        if in_data:
            try:
                _add_entry(builder, notes, byte, name, entry)
            except LimitError as limit:
                notes.add("limit", f"reading stopped at {name[:200]!r}: {limit}", byte, is_last=True)
                break
        elif name in _HEADER_KEYS:
            header[name] = entry
            if name == "data" and entry != {}:
                notes.add("bad-record", "data is not an object", byte)
    if "data" not in header and not problems:
        message = "this is not a dump of msprobe: it has no data"
        raise InputError(message, path=path, hint="name a dump.json or debug.json")
    if builder.n_bad_shapes:
        notes.add("shape", f"{builder.n_bad_shapes:,} shapes are no lists of sizes and were left out", None)
    if builder.n_text_statistics:
        found = f"{builder.n_text_statistics:,} statistics are text ('nan'), which was read as numbers"
        notes.add("encoding", found, None)
    if builder.n_lost_statistics:
        lost = f"{builder.n_lost_statistics:,} statistics are text that is no number and were left out"
        notes.add("encoding", lost, None)
    notes.close()
    calls, leaf_columns = builder.finish()
    return Dump(
        path=path,
        header=_header(header, builder.types()),
        calls=calls,
        leaves=leaf_columns,
        completeness=_completeness(problems),
        problems=tuple(problems),
    )


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
