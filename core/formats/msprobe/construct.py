"""construct.json: which module or pseudo parent ("optimizer", "clip_grad") each entry ran in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import MAX_FILE_BYTES, WINDOW_BYTES, json_members
from ..json_window import Notes
from .columns import clean_text
from .names import parse_name
from .records import Construct

MAX_MODULE_DEPTH = 256
"""Modules around an entry that are looked at: a broken file may hold chains without end."""

QUICK_BYTES = 64 << 20
"""Files up to here are read at once where nothing is to be told about them."""

MICRO_STEP_NUMBER = "megatron_micro_step_number"
"""Key of `Construct.micro_steps` under which Megatron's number of micro steps stands."""


def read_construct(
    path: Path,
    *,
    root: Path | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    window_bytes: int = WINDOW_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Construct:
    """The hierarchy of a rank-step in call-entry order; empty for level L1, which records none.

    micro_steps: of the entries that Megatron marked, and their number under MICRO_STEP_NUMBER. Problems
    (with byte) for what cannot be read. Raises InputError (not usable at all) and Cancelled.
    """
    quick = _read_at_once(path, root, max_bytes)
    if quick is not None:
        return quick
    problems: list[Problem] = []
    notes = Notes(shown_path(path, root), problems)
    parents: dict[str, str | None] = {}
    micro_steps: dict[str, int] = {}
    known: dict[str, str] = {}  # each name kept once, as child and as parent
    members = json_members(
        path,
        problems,
        root=root,
        max_bytes=max_bytes,
        window_bytes=window_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    for byte, _, raw_key, value in members:
        key = clean_text(raw_key)
        parent, micro_step = _parent_and_micro_step(value)
        if key == MICRO_STEP_NUMBER and type(value) is int:
            micro_steps[key] = value
        elif parent is not None and not isinstance(parent, str):
            notes.add("bad-record", f"{key[:200]!r} has no readable parent", byte)
        else:
            key = known.setdefault(key, key)
            parents[key] = None if parent is None else known.setdefault(parent, clean_text(parent))
            if micro_step is not None:
                micro_steps[key] = micro_step
    notes.close()
    return Construct(parents, micro_steps, tuple(problems))


def _read_at_once(path: Path, root: Path | None, max_bytes: int) -> Construct | None:
    """A file that is whole, plain and of usual size, at a quarter of the cost; None for all others.

    Whoever has something to tell about a file reads it member by member, with the bytes.
    """
    file, size_bytes = open_input(path, root)
    with file:
        if size_bytes > min(QUICK_BYTES, max_bytes):
            return None
        content = file.read(QUICK_BYTES + 1)
    if content.count(b"\\") or not content.isascii():
        return None
    try:
        members = json.loads(content)
    except (ValueError, RecursionError):
        return None
    del content
    if type(members) is not dict:
        return None
    if not all(parent is None or type(parent) is str for parent in members.values()):
        return None
    kept = {parent: parent for parent in members.values() if parent is not None}
    for name in members:
        if name in kept:
            kept[name] = name  # each name kept once, as child and as parent
    for name, parent in members.items():
        if parent is not None:
            members[name] = kept[parent]
    return Construct(members, {}, ())


class TopLevel(Mapping[str, str | None]):
    """Entries that run in nothing else, by names that somebody holds anyway."""

    __slots__ = ("_known", "_names")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._known: frozenset[str] | None = None  # made when it is asked for

    def __getitem__(self, name: str) -> None:
        if self._known is None:
            self._known = frozenset(self._names)
        if name not in self._known:
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def sharing_names(construct: Construct, names: Sequence[str]) -> Construct:
    """A hierarchy without a single parent by the names of the dump's calls, where these are its entries."""
    parents = construct.parents
    is_flat = len(parents) == len(names) and not any(parents.values())
    if is_flat and all(a == b for a, b in zip(parents, names, strict=True)):
        return replace(construct, parents=TopLevel(names))
    return construct


def ancestors(construct: Construct, entry: str) -> Iterator[str]:
    """The entries around one, innermost first. A parameters_grad entry lies in the backward of its module.

    Ends at a name that is its own ancestor (a hierarchy from a broken file may run in circles), and behind
    MAX_MODULE_DEPTH.
    """
    seen = {entry}
    parent = construct.parents.get(entry) if entry in construct.parents else _backward_of(entry)
    while parent is not None and parent not in seen and len(seen) <= MAX_MODULE_DEPTH:
        yield parent
        seen.add(parent)
        parent = construct.parents.get(parent)


def _backward_of(entry: str) -> str | None:
    name = parse_name(entry)
    if name.kind != "grad":
        return None
    return f"{name.prefix}.{name.path}.{name.cls}.backward.{name.number or 0}"


def _parent_and_micro_step(value: Any) -> tuple[Any, int | None]:
    if isinstance(value, list):
        if len(value) != 2 or type(value[1]) is not int:
            return value, None
        return value[0], value[1]
    return value, None
