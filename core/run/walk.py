"""The walk below a run: what lies where, with almost nothing opened. `discover` makes a `Run` of it."""

from __future__ import annotations

import os
import stat
from dataclasses import field
from typing import NamedTuple

from npulse.core.dataclass import dataclass

from ..findings import Problem
from ..plugins.loaded import Recogniser
from ..progress import IsCancelled, Progress, ProgressCallback, check
from . import folders
from .folders import Folder, IndexLook
from .kinds import KINDS
from .long_texts import Allowance, look_through
from .paths import Parts, is_rank_folder, is_round_folder, is_step_folder, natural_key, shown
from .plugged import MAX_LOOKS, sniff_plugged
from .sniff import (
    LOOKED_AT_BYTES,
    Look,
    Sniffed,
    cann_kind,
    is_promised,
    kind_by_name,
    look_for,
    named_kind,
    sniff,
)
from .stamp import FRESH_NS, SKIPPED_FOLDERS

DUMP_FILES = ("stack.json", "construct.json", "dump_error_info.log", "removed_tensors.txt")
MAX_FRUITLESS_LOOKS = 5000
"""Looks into files of one suffix in one folder, none of them known: about half a second."""

_MAX_PROBLEMS_OF_KIND = 50
_MAX_LOOKS_OF_GROUP = 8
_ENTRIES_BETWEEN_CHECKS = 2048
_NOT_FOLLOWED = "link leads out of the run and was not followed"


class Todo(NamedTuple):
    """A folder to be read. `session`: the profiler session around it. `owner` counts files that are raw."""

    path: str
    parts: Parts
    session: Folder | None = None
    owner: Folder | None = None


@dataclass(frozen=True, slots=True)
class FoundDump:
    """An msprobe rank-step; index "" where it has none."""

    folder: Folder
    index: str = ""
    look: IndexLook | None = None


class FoundFile(NamedTuple):
    """A file artifact. `parts` ends in its own name."""

    parts: Parts
    found: Sniffed
    session: Folder | None


@dataclass(slots=True)
class Walk:
    """State and result of one walk. context: the names of the run's own folder that say rank or step. unfit:
    folders of files that have the name of a tool's, but not its content. plugged: what plug-ins know.
    """

    root: str
    real_root: str
    context: Parts
    max_entries: int
    max_depth: int
    progress: ProgressCallback
    is_cancelled: IsCancelled
    n_entries: int = 0
    n_unknown: int = 0
    is_full: bool = False
    todo: list[Todo] = field(default_factory=list)
    links: list[tuple[str, Todo]] = field(default_factory=list)
    visited: set[tuple[int, int]] = field(default_factory=set)
    groups: dict[tuple[str, Parts], Folder] = field(default_factory=dict)
    dumps: dict[Parts, FoundDump] = field(default_factory=dict)
    sessions: list[Folder] = field(default_factory=list)
    files: list[FoundFile] = field(default_factory=list)
    fruitless: dict[tuple[Parts, str], int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unfit: list[Parts] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)
    n_problems: dict[str, int] = field(default_factory=dict)
    plugged: Recogniser = field(default_factory=Recogniser)
    n_plugged: int = 0


def walk_all(walk: Walk) -> None:
    """Read all folders, links last: a folder is found under its own name before it is under a link's."""
    walk.todo.append(Todo(walk.root, ()))
    while not walk.is_full and (walk.todo or walk.links):
        if walk.todo:
            _read_folder(walk, walk.todo.pop())
        else:
            _follow_link(walk, *walk.links.pop())
    if walk.is_full:
        message = f"stopped after {walk.max_entries:,} entries; the rest of the folder was not looked at"
        add_problem(walk, "limit", (), message, "open a folder further down")
    for (parts, suffix), count in walk.fruitless.items():
        if count > MAX_FRUITLESS_LOOKS:
            message = f"{count - MAX_FRUITLESS_LOOKS:,} more files *{suffix} were not looked into: "
            message += f"{MAX_FRUITLESS_LOOKS:,} of them were foreign"
            add_problem(walk, "limit", parts, message, "open the folder of the tool's output itself")
    if walk.allowance.n_unread:
        message = f"{walk.allowance.n_unread:,} long text files were looked at only in part"
        add_problem(walk, "limit", (), message, "open the log itself")
    if walk.n_plugged > MAX_LOOKS:
        message = f"{walk.n_plugged - MAX_LOOKS:,} more files were not looked into for plug-ins"
        add_problem(walk, "limit", (), message, "open a folder further down")
    for kind, count in walk.n_problems.items():
        if count > _MAX_PROBLEMS_OF_KIND:
            message = f"{count - _MAX_PROBLEMS_OF_KIND:,} more of this kind"
            walk.problems.append(Problem(".", kind, message))


def add_problem(walk: Walk, kind: str, parts: Parts, message: str, hint: str | None = None) -> None:
    """Note a problem; of one kind the first 50 are kept and the others counted."""
    count = walk.n_problems[kind] = walk.n_problems.get(kind, 0) + 1
    if count <= _MAX_PROBLEMS_OF_KIND:
        walk.problems.append(Problem(shown(parts), kind, message, hint=hint))


def add_unfit(walk: Walk, folder: str, parts: Parts) -> None:
    """Note a file with the name of a tool's, but not its content. It still makes a round of its folder."""
    kind = KINDS[kind_by_name(parts[-1]) or ""]
    walk.unfit.append(parts[:-1])
    if any(one.artifact == shown(parts) for one in walk.problems) or not os.path.lexists(
        os.path.join(folder, parts[-1])
    ):
        return
    message = (
        f"has the name of a file with {kind.title}, but not its content (damaged, or of another program)"
    )
    add_problem(walk, "unreadable", parts, message, "copy or export it again; text must be UTF-8")


def _read_folder(walk: Walk, todo: Todo) -> None:
    """One folder: its entries sorted into raw files, candidates, sub-folders and links."""
    check(walk.is_cancelled)
    subfolders: list[str] = []
    files: list[str] = []
    try:
        status = os.stat(todo.path)
        if (status.st_dev, status.st_ino) in walk.visited:
            return
        walk.visited.add((status.st_dev, status.st_ino))
        with os.scandir(todo.path) as entries:
            for entry in entries:
                if not _count(walk):
                    break
                if entry.is_dir(follow_symlinks=False):
                    subfolders.append(entry.name)
                elif entry.is_symlink():
                    walk.links.append((entry.name, todo))
                elif not entry.is_file(follow_symlinks=False):
                    if entry.name in folders.INDEXES:
                        add_problem(walk, "unreadable", (*todo.parts, entry.name), "not a regular file")
                    continue  # pipes, sockets and devices are never opened
                elif todo.owner is None:
                    files.append(entry.name)
                else:
                    _count_raw(todo.owner, entry)
    except FileNotFoundError:
        return  # gone since its parent was read
    except OSError as error:
        add_problem(walk, "unreadable", todo.parts, f"folder can't be read: {error.strerror}")
    if todo.owner is None:
        todo = _enter_session(walk, todo)
        _take_dump(walk, todo, files, subfolders)
        for name in sorted(files):
            _take_file(walk, todo, name)
    _push(walk, todo, subfolders)


def _count(walk: Walk) -> bool:
    """Count one entry; False once there are too many."""
    if walk.n_entries >= walk.max_entries:
        walk.is_full = True
        return False
    walk.n_entries += 1
    if walk.n_entries % _ENTRIES_BETWEEN_CHECKS == 0:
        check(walk.is_cancelled)
        walk.progress(Progress("discover", walk.n_entries, None, "entries"))
    return True


def _count_raw(owner: Folder, entry: os.DirEntry[str]) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return
    owner.add(status.st_size, status.st_mtime_ns)
    folders.note_file(owner, entry.name)


def _enter_session(walk: Walk, todo: Todo) -> Todo:
    if todo.session is not None:
        return todo
    name = todo.parts[-1] if todo.parts else os.path.basename(todo.path)
    session = folders.session_of(name, todo.parts)
    if session is None:
        return todo
    walk.sessions.append(session)
    return todo._replace(session=session)


def _push(walk: Walk, todo: Todo, subfolders: list[str]) -> None:
    """Queue the sub-folders so that they are read in natural order."""
    if subfolders and len(todo.parts) >= walk.max_depth:
        message = f"more than {walk.max_depth} folders below each other; deeper ones were not looked at"
        add_problem(walk, "too-deep", todo.parts, message)
        return
    for name in sorted(subfolders, key=natural_key, reverse=True):
        if name not in SKIPPED_FOLDERS:
            walk.todo.append(_below(walk, todo, name))


def _below(walk: Walk, todo: Todo, name: str) -> Todo:
    path = os.path.join(todo.path, name)
    return Todo(path, (*todo.parts, name), todo.session, _owner_of(walk, todo, name))


def _owner_of(walk: Walk, todo: Todo, name: str) -> Folder | None:
    """Who counts the files of sub-folder `name`; None if they are looked at one by one."""
    if todo.owner is not None and todo.owner is not todo.session:
        return todo.owner
    if name == folders.TENSOR_FOLDER and todo.parts in walk.dumps:
        return walk.dumps[todo.parts].folder
    here = (*walk.context, *todo.parts)
    if name == "tensor_data" and here and is_rank_folder(here[-1]):
        return _group(walk, "msprobe.aclgraph", todo.parts, is_confirmed=True)
    if folders.is_opprof_raw(name, here):
        return _group(
            walk, "opprof.result", folders.group_parts("opprof.result", todo.parts), is_confirmed=True
        )
    in_session = todo.session is not None
    return todo.session if folders.is_raw(name, in_session, in_raw=todo.owner is not None) else None


def _take_dump(walk: Walk, todo: Todo, files: list[str], subfolders: list[str]) -> None:
    """Recognise an msprobe rank-step by its index or its tensor folder; its own files leave `files`."""
    n_unknown = walk.n_unknown
    for name in folders.INDEXES:
        if name in files:
            files.remove(name)
            _take_index(walk, todo, name, follow=False)
    if todo.parts not in walk.dumps and _is_rank_step(walk, todo, files, subfolders):
        if walk.n_unknown > n_unknown:
            message = "this is not the dump.json of msprobe (damaged, or written by another program)"
            add_problem(walk, "unreadable", (*todo.parts, folders.INDEXES[0]), message, "copy the file again")
        elif any(name in files for name in DUMP_FILES[:2]) and folders.TENSOR_FOLDER not in subfolders:
            message = "stack.json or construct.json of a dump lies here without its dump.json"
            add_problem(walk, "missing", todo.parts, message, "copy the whole folder again")
    if todo.parts not in walk.dumps and folders.TENSOR_FOLDER in subfolders:
        walk.dumps[todo.parts] = FoundDump(Folder("msprobe.dump", todo.parts))
    if todo.parts in walk.dumps:
        folder = walk.dumps[todo.parts].folder
        for name in DUMP_FILES:
            if name in files:
                files.remove(name)
                _add_size(folder, os.path.join(todo.path, name))
        folder.n_own = folder.n_files


def _is_rank_step(walk: Walk, todo: Todo, files: list[str], subfolders: list[str]) -> bool:
    """Whether a folder is one of msprobe even without a readable index: by its name or what lies in it."""
    here = (*walk.context, *todo.parts)
    named = bool(here) and is_rank_folder(here[-1])
    return named or folders.TENSOR_FOLDER in subfolders or any(name in files for name in DUMP_FILES[:2])


def _take_index(walk: Walk, todo: Todo, name: str, *, follow: bool) -> None:
    parts = (*todo.parts, name)
    try:
        look = folders.look_at_index(os.path.join(todo.path, name), follow=follow)
    except FileNotFoundError:
        return
    except OSError as error:
        add_problem(walk, "unreadable", parts, f"file can't be read: {error.strerror}")
        return
    known = walk.dumps.get(todo.parts)
    if look is None:
        walk.n_unknown += 1
    elif known is None or known.look is None:
        folder = known.folder if known else Folder("msprobe.dump", todo.parts)
        folder.add(look.size_bytes, look.modified_ns)
        folder.n_own += 1
        walk.dumps[todo.parts] = FoundDump(folder, name, look)
    else:  # dump.json and debug.json side by side
        completeness = folders.dump_completeness(look, 0, look.modified_ns + FRESH_NS)
        found = Sniffed("msprobe.dump", look.size_bytes, look.modified_ns, completeness)
        walk.files.append(FoundFile(parts, found, todo.session))


def _take_file(walk: Walk, todo: Todo, name: str) -> None:
    """Look at one file if its name deserves it, and keep what it is."""
    if todo.session is not None:
        folders.note_file(todo.session, name)
    look = look_for(name)
    kind = _kind_of_many(name, look, (*walk.context, *todo.parts))
    if kind is not None:
        _take_one_of_many(walk, todo, name, look, kind)
        return
    found = _looked_into(walk, todo, name, look) if look is not None else None
    if found is None and walk.plugged.readers:
        found = _looked_into_for_plugins(walk, todo, name)
    if found is None:
        walk.n_unknown += 1
        if is_promised(name, in_session=todo.session is not None):
            add_unfit(walk, todo.path, (*todo.parts, name))
    elif folders.is_grouped(found.kind):
        _join(walk, todo, found, found.kind)
    else:
        if todo.session is not None and found.kind.startswith("prof.") and not found.kind.endswith("_info"):
            todo.session.marks.add("exported")
        walk.files.append(FoundFile((*todo.parts, name), found, todo.session))


def _looked_into(walk: Walk, todo: Todo, name: str, look: Look) -> Sniffed | None:
    """What a file is; after thousands of one suffix that were foreign, only names a tool gives are opened."""
    place = (todo.parts, os.path.splitext(name)[1])
    fruitless = walk.fruitless.get(place, 0)
    if fruitless >= MAX_FRUITLESS_LOOKS and not _is_promising_file(name):
        walk.fruitless[place] = fruitless + 1
        return None
    found = _sniffed(walk, todo, name, look)
    if found is None and look == "text":
        found = _in_the_middle(walk, todo, name)
    if fruitless < MAX_FRUITLESS_LOOKS:  # beyond it the number tells how many were not opened
        walk.fruitless[place] = 0 if found is not None else fruitless + 1
    return found


def _looked_into_for_plugins(walk: Walk, todo: Todo, name: str) -> Sniffed | None:
    """What a plug-in calls a file that is nothing else."""
    if next(walk.plugged.candidates(name), None) is None:
        return None
    walk.n_plugged += 1
    if walk.n_plugged > MAX_LOOKS:
        return None
    try:
        return sniff_plugged(walk.plugged, os.path.join(todo.path, name), name)
    except OSError as error:
        add_problem(walk, "unreadable", (*todo.parts, name), f"file can't be read: {error.strerror}")
        return None


def _in_the_middle(walk: Walk, todo: Todo, name: str) -> Sniffed | None:
    """What a long text file holds that says nothing at either end."""
    path = os.path.join(todo.path, name)
    try:
        if os.lstat(path).st_size <= LOOKED_AT_BYTES:
            return None
        check(walk.is_cancelled)
        return look_through(path, walk.allowance)
    except OSError:
        return None  # told by the first look, if it was there then


def _kind_of_many(name: str, look: Look | None, parts: Parts) -> str | None:
    """The kind of a file that is one of many in a folder, by names alone; None for all other files."""
    kind = folders.unnamed_kind(name, parts) if look in (None, "cann") else None
    if kind is None and look == "cann":
        kind = cann_kind(name)
    elif look == "atb":
        kind = "atb.dump"
    elif look == "named":
        kind = named_kind(name)
    return kind if kind is not None and folders.is_grouped(kind) else None


def _take_one_of_many(walk: Walk, todo: Todo, name: str, look: Look | None, kind: str) -> None:
    """Once the content of one file agreed, the others of its folder are counted by their names."""
    group = _group(walk, kind, folders.group_parts(kind, todo.parts))
    if look is None or group.is_confirmed:
        group.is_confirmed = True
        _add_size(group, os.path.join(todo.path, name))
        return
    group.n_looks += 1
    found = _sniffed(walk, todo, name, look) if group.n_looks <= _MAX_LOOKS_OF_GROUP else None
    if found is None:
        walk.n_unknown += 1
    else:
        _join(walk, todo, found, kind)


def _sniffed(walk: Walk, todo: Todo, name: str, look: Look) -> Sniffed | None:
    try:
        return sniff(os.path.join(todo.path, name), name, look)
    except FileNotFoundError:
        return None
    except OSError as error:
        add_problem(walk, "unreadable", (*todo.parts, name), f"file can't be read: {error.strerror}")
        return None


def _join(walk: Walk, todo: Todo, found: Sniffed, kind: str) -> None:
    group = _group(walk, kind, folders.group_parts(kind, todo.parts), is_confirmed=True)
    group.add(found.size_bytes, found.modified_ns)
    group.marks.add("seen")
    if found.completeness == "cut off":
        group.completeness = "cut off"


def _group(walk: Walk, kind: str, parts: Parts, *, is_confirmed: bool = False) -> Folder:
    group = walk.groups.setdefault((kind, parts), Folder(kind, parts))
    group.is_confirmed = group.is_confirmed or is_confirmed
    return group


def _add_size(folder: Folder, path: str) -> None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return
    folder.add(status.st_size, status.st_mtime_ns)


def _follow_link(walk: Walk, name: str, above: Todo) -> None:
    """One link: followed inside the run; outside it is a problem if its name promises an artifact."""
    parts = (*above.parts, name)
    path = os.path.join(above.path, name)
    real = os.path.realpath(path)
    is_inside = real == walk.real_root or real.startswith(walk.real_root.rstrip(os.sep) + os.sep)
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return  # leads nowhere
    if not is_inside:
        promising = _is_promising_folder(name) if is_folder else _is_promising_file(name)
        if promising or above.owner is not None:
            add_problem(walk, "outside-run", parts, _NOT_FOLLOWED)
    elif is_folder:
        _push(walk, above, [name])
    elif above.owner is not None:
        above.owner.n_files += 1
    elif name in folders.INDEXES:
        _take_index(walk, above, name, follow=True)


def _is_promising_file(name: str) -> bool:
    return name in folders.INDEXES or kind_by_name(name) is not None or look_for(name) == "cann"


def _is_promising_folder(name: str) -> bool:
    return (
        is_rank_folder(name)
        or is_step_folder(name)
        or is_round_folder("", name)
        or folders.looks_like_folder_artifact(name)
    )
