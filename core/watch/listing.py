"""The regular files below a folder with size and times: bounded, link-safe, listed again in parts.

It goes where `core/run/discover.py` goes: into links only where they stay inside the run, not into folders
like .git, and no deeper. Files are never opened. Cost: 3 us a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from npulse.core.run.discover import MAX_DEPTH, MAX_ENTRIES
from npulse.core.run.folders import INDEXES
from npulse.core.run.stamp import SKIPPED_FOLDERS

from .changes import Change, FileState, diff

Dirty = Mapping[str, AbstractSet[str] | None]
"""Folders to be looked at again: some names in each, or None for all of it."""


@dataclass(slots=True)
class FolderState:
    """One folder. subfolders: name to inode. links: name to what the link says. n_others: entries that are
    only counted.
    """

    identity: tuple[int, int]
    files: dict[str, FileState] = field(default_factory=dict)
    subfolders: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    n_others: int = 0

    def has_other_names(self, old: FolderState | None) -> bool:
        """Whether entries that are no files came or went."""
        mine = self.subfolders.keys(), self.links, self.n_others
        return old is None or mine != (old.subfolders.keys(), old.links, old.n_others)


def _status(path: str, is_opening: bool) -> os.stat_result:
    if not is_opening:
        return os.stat(path, follow_symlinks=False)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def state_of(status: os.stat_result) -> FileState:
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _ignore(folder: str) -> None:
    """Nobody wants to know."""


class Listing:
    """All files below `root`, as they were when last looked at.

    only: the one file of the folder that counts (a run that is a single file). enter: called with a folder
    before it is read, so that nothing is missed between the reading and a watch that is set there; leave:
    with one that is gone.
    """

    def __init__(
        self,
        root: str,
        only: str = "",
        *,
        enter: Callable[[str], None] = _ignore,
        leave: Callable[[str], None] = _ignore,
        max_entries: int = MAX_ENTRIES,
        max_depth: int = MAX_DEPTH,
    ) -> None:
        self.root = root
        self.folders: dict[str, FolderState] = {}
        self.has_other_folders = False
        """Set where a look found folders, links or the like changed, which are no changes of files."""
        self._only = only
        self._is_opening = False
        self._enter = enter
        self._leave = leave
        self._max_entries = max_entries
        self._max_depth = max_depth
        self._n_entries = 0
        self._identities: set[tuple[int, int]] = set()
        self._indexes: dict[str, FileState] = {}

    @property
    def n_files(self) -> int:
        return sum(len(folder.files) for folder in self.folders.values())

    def files(self) -> dict[str, FileState]:
        """Every file by its path."""
        found = dict(self._indexes)
        for path, folder in self.folders.items():
            found.update((os.path.join(path, name), state) for name, state in folder.files.items())
        return found

    def moved_to_device(self, device: int) -> None:
        """The file system was mounted again and has another number: its files are the same."""
        old = self.folders[self.root].identity[0] if self.root in self.folders else device
        if old == device:
            return
        for folder in self.folders.values():
            for name, state in folder.files.items():
                if state.device == old:
                    folder.files[name] = state._replace(device=device)
        for path, state in self._indexes.items():
            if state.device == old:
                self._indexes[path] = state._replace(device=device)

    def list_all(self) -> tuple[Change, ...]:
        """Look at everything. A folder that cannot be read is one without files."""
        was: dict[str, FileState] = {}
        now: dict[str, FileState] = {}
        self._list_all(was, now)
        return diff(was, now)

    def list_again(self, dirty: Dirty, is_opening: bool = False) -> tuple[Change, ...]:
        """Look at some folders, or names in them. Folders that were not listed are left to their parents.

        is_opening: open the files for their sizes. On network file systems only that asks the server; a size
        without it may be a minute old.
        """
        self._is_opening = is_opening
        was: dict[str, FileState] = dict(self._indexes)
        now: dict[str, FileState] = {}
        todo: list[str] = []
        for path in sorted(dirty):
            names, folder = dirty[path], self.folders.get(path)
            if folder is None or (names is not None and self._stat(path, folder, names, was, now)):
                continue
            below = self._read_again(path, folder, was, now)
            if below is None:  # links changed, which is rare
                self._list_all(was, now)
                return diff(was, now)
            todo.extend(below)
        for path in self._walk(todo):  # behind all that went, or a moved folder would still be listed
            _collect(path, {}, self.folders[path].files, was, now)
        self._look_at_indexes()
        now.update(self._indexes)
        return diff(was, now)

    def _list_all(self, was: dict[str, FileState], now: dict[str, FileState]) -> None:
        """Look at everything; what differs is added to differences that are known already."""
        before, old_indexes = self.folders, self._indexes
        self.folders, self._indexes = {}, {}
        self._n_entries, self._identities = 0, set()
        self._walk([self.root])
        self._look_at_indexes()
        for path in before.keys() - self.folders.keys():
            self._leave(path)
            self.has_other_folders = True
        old: dict[str, FileState] = dict(old_indexes)
        new: dict[str, FileState] = dict(self._indexes)
        for path in before.keys() | self.folders.keys():
            a, b = before.get(path), self.folders.get(path)
            if b is not None and b.has_other_names(a):
                self.has_other_folders = True
            _collect(path, a.files if a else {}, b.files if b else {}, old, new)
        for path, state in old.items():
            if path not in now:  # else it is what it was in between
                was.setdefault(path, state)
            elif path not in new:
                del now[path]
        now.update(new)

    def _stat(
        self,
        path: str,
        folder: FolderState,
        names: Iterable[str],
        was: dict[str, FileState],
        now: dict[str, FileState],
    ) -> bool:
        """Look at single names; False if one is not a regular file: then the folder has to be read."""
        fresh: dict[str, FileState | None] = {}
        for name in names:
            if self._only and name != self._only:
                continue
            if name in folder.subfolders or name in folder.links:
                return False
            try:
                status = _status(os.path.join(path, name), self._is_opening)
            except (FileNotFoundError, NotADirectoryError):
                if folder.n_others and name not in folder.files:
                    return False  # it may have been one of those
                fresh[name] = None
                continue
            except OSError:
                return False
            if not stat.S_ISREG(status.st_mode):
                return False
            fresh[name] = state_of(status)
        for name, state in fresh.items():
            old, full = folder.files.get(name), os.path.join(path, name)
            if old == state:
                continue
            if old is not None:
                was[full] = old
            if state is None:
                del folder.files[name]
                self._n_entries -= 1
            elif old is not None or self._n_entries < self._max_entries:
                self._n_entries += old is None
                folder.files[name] = now[full] = state
        return True

    def _read_again(
        self, path: str, folder: FolderState, was: dict[str, FileState], now: dict[str, FileState]
    ) -> list[str] | None:
        """Read one folder and drop what is gone below it; returns the folders in it that are not listed yet.
        None if links changed: then everything has to be listed.
        """
        self._forget(path, folder)
        new = self._read(path) or FolderState(folder.identity)
        _collect(path, folder.files, new.files, was, now)
        if new.has_other_names(folder) or path not in self.folders:
            self.has_other_folders = True
        if folder.links != new.links:
            return None
        for name, inode in folder.subfolders.items():
            if new.subfolders.get(name) != inode:
                self._drop_below(os.path.join(path, name), was)
        if path not in self.folders:
            self._leave(path)
        full = (os.path.join(path, name) for name in new.subfolders)
        return [one for one in full if one not in self.folders and self._depth(one) <= self._max_depth]

    def _forget(self, path: str, folder: FolderState) -> None:
        self.folders.pop(path, None)
        self._identities.discard(folder.identity)
        self._n_entries -= len(folder.files) + len(folder.subfolders) + len(folder.links)

    def _drop_below(self, path: str, was: dict[str, FileState]) -> None:
        """A folder is gone with everything below it."""
        prefix = path + os.sep
        for gone in [one for one in self.folders if one == path or one.startswith(prefix)]:
            folder = self.folders[gone]
            self._forget(gone, folder)
            self._leave(gone)
            was.update((os.path.join(gone, name), state) for name, state in folder.files.items())

    def _walk(self, todo: list[str]) -> list[str]:
        """Read folders and all below them, links last; returns those that were read."""
        found: list[str] = []
        links: list[str] = []
        while todo or links:
            if todo:
                path = todo.pop()
                folder = self._read(path)
                if folder is None:
                    continue
                found.append(path)
                if not self._only and self._depth(path) < self._max_depth:
                    todo.extend(os.path.join(path, name) for name in folder.subfolders)
                    links.extend(os.path.join(path, name) for name in folder.links)
            else:
                path = links.pop()
                if self._leads_to_folder(path):
                    todo.append(path)
        return found

    def _depth(self, path: str) -> int:
        return path.count(os.sep) - self.root.rstrip(os.sep).count(os.sep)

    def _leads_to_folder(self, path: str) -> bool:
        """Whether a link leads to a folder inside the run that is not listed under a name of its own."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return False
        return (
            stat.S_ISDIR(status.st_mode)
            and (status.st_dev, status.st_ino) not in self._identities
            and self._is_inside(path)
        )

    def _is_inside(self, path: str) -> bool:
        real, real_root = os.path.realpath(path), os.path.realpath(self.root)
        return real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep)

    def _read(self, path: str) -> FolderState | None:
        """One folder as it is now; None if it cannot be read or is listed already."""
        self._enter(path)
        try:
            status = os.stat(path)
            identity = status.st_dev, status.st_ino
            if identity in self._identities:
                return None
            folder = FolderState(identity)
            with os.scandir(path) as entries:
                for entry in entries:
                    if self._n_entries >= self._max_entries:
                        break
                    is_counted = self._take(folder, entry)
                    folder.n_others += not (is_counted or self._only)
                    self._n_entries += is_counted
        except OSError:
            return None
        self._identities.add(identity)
        self.folders[path] = folder
        return folder

    def _take(self, folder: FolderState, entry: os.DirEntry[str]) -> bool:
        """Put one entry where it belongs; False for what does not count."""
        name = entry.name
        if self._only and name != self._only:
            return False
        if entry.is_dir(follow_symlinks=False):
            if name in SKIPPED_FOLDERS or self._only:
                return False
            folder.subfolders[name] = entry.inode()
        elif entry.is_symlink():
            try:
                folder.links[name] = os.readlink(entry.path)
            except OSError:
                return False
        elif entry.is_file(follow_symlinks=False):
            try:
                folder.files[name] = state_of(entry.stat(follow_symlinks=False))
            except OSError:
                return False  # gone since
        else:
            return False
        return True

    def _look_at_indexes(self) -> None:
        """Links to the index of a dump are read as the index: the only links to files that count."""
        self._indexes = {}
        for path, folder in self.folders.items():
            for name in folder.links:
                full = os.path.join(path, name)
                if name in INDEXES or name == self._only:
                    try:
                        status = os.stat(full)
                    except (OSError, ValueError):
                        continue
                    if stat.S_ISREG(status.st_mode) and (self._only or self._is_inside(full)):
                        self._indexes[full] = state_of(status)


def _collect(
    path: str,
    old: Mapping[str, FileState],
    new: Mapping[str, FileState],
    was: dict[str, FileState],
    now: dict[str, FileState],
) -> None:
    """Add to both sides what differs in one folder."""
    if old == new:
        return
    for name, state in old.items():
        if new.get(name) != state:
            was[os.path.join(path, name)] = state
    for name, state in new.items():
        if old.get(name) != state:
            now[os.path.join(path, name)] = state
