"""One rank and step as the tool wrote it: dump, hierarchy, call stacks; what is broken is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.construct import read_construct, sharing_names
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.orphans import entries_from_files
from npulse.core.formats.msprobe.records import Construct, Dump, Stacks
from npulse.core.formats.msprobe.removed import REMOVED_FILE, read_removed, without_files
from npulse.core.formats.msprobe.stacks import read_stacks
from npulse.core.progress import IsCancelled, ProgressCallback

Relative = Callable[[Path], str]
"""How a path is named in a problem: relative to the run that holds it."""


def read_rank(path: Path, root: Path, progress: ProgressCallback, is_cancelled: IsCancelled) -> Dump:
    """The dump of a rank-step; from the names of its tensor files where the index is lost. InputError."""
    if os.path.isdir(path):
        return entries_from_files(path, root=root, is_cancelled=is_cancelled)
    has_files = os.path.isdir(path.parent / "dump_tensor_data")
    dump: Dump | None = None
    found: tuple[Problem, ...]
    try:
        dump = read_dump(path, root=root, progress=progress, is_cancelled=is_cancelled)
    except InputError as error:
        if not has_files:
            raise
        found = (Problem.from_error(error, shown_path(path, root)),)
    else:
        if dump.calls.names or dump.header.task not in ("tensor", "") or not has_files:
            return without_removed(dump, root)
        found = dump.problems
    rebuilt = entries_from_files(path.parent, root=root, known=dump, is_cancelled=is_cancelled)
    return replace(rebuilt, path=path, problems=(*found, *rebuilt.problems))


def without_removed(dump: Dump, root: Path) -> Dump:
    """The dump without the tensor files that a capture of ours removed: their records tell what is known."""
    try:
        removed = read_removed(dump.path.parent, root=root)
    except InputError as error:
        problem = Problem.from_error(error, shown_path(dump.path.parent / REMOVED_FILE, root))
        return replace(dump, problems=(*dump.problems, problem))
    return dump if removed is None else without_files(dump, removed.names)


def hierarchy_of(dump: Dump, root: Path, problems: list[Problem], relative: Relative) -> Construct | None:
    """construct.json beside a dump; None where there is none or it cannot be used (told in `problems`)."""
    if dump.hierarchy is not None:
        return dump.hierarchy
    path = dump.path.parent / "construct.json"
    if not os.path.lexists(path):
        return None
    try:
        construct = read_construct(path, root=root)
    except InputError as error:  # the analysis goes on without the hierarchy
        problems.append(Problem.from_error(error, relative(path)))
        return None
    problems += construct.problems
    return sharing_names(construct, dump.calls.names)


def stacks_of(
    dump: Dump,
    root: Path,
    problems: list[Problem],
    relative: Relative,
    only: Iterable[str] | None = None,
) -> Stacks | None:
    """stack.json beside a dump. It can be as large as the dump: read it where a source line is wanted.

    only: the names of the calls whose stacks are wanted, see `read_stacks`.
    """
    path = dump.path.parent / "stack.json"
    if not os.path.lexists(path):
        return None
    try:
        stacks = read_stacks(path, root=root, only=only)
    except InputError as error:
        problems.append(Problem.from_error(error, relative(path)))
        return None
    problems += stacks.problems
    return stacks
