"""The source files inside some folders, by base name: walked once, bounded, no link followed."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence

MAX_FILES = 200_000
MAX_ENTRIES = 1_000_000
"""Files of any kind and folders that are looked at."""

MAX_DEPTH = 32
MAX_BEGINNINGS = 2_000
"""Names of files, and of folders, that one begin of a name is compared with."""

SUFFIXES = frozenset(
    (
        *(".c", ".cc", ".cpp", ".cxx", ".c++", ".cu", ".cuh", ".cce", ".asc", ".h", ".hh", ".hpp", ".hxx"),
        *(
            ".h++",
            ".inc",
            ".inl",
            ".ipp",
            ".tcc",
            ".tpp",
            ".cppm",
            ".ixx",
            ".s",
            ".asm",
            ".py",
            ".pyi",
            ".pyx",
        ),
        *(".rs", ".f", ".f90", ".ll", ".mlir"),
    )
)
SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".idea", ".vscode", ".cache", ".tox", ".venv", ".mypy_cache", ".ruff_cache"),
        *("node_modules", "__pycache__", "site-packages", "CMakeFiles"),
    )
)


class SourceIndex:
    """Paths of source files. is_cut: there were more than are kept, so that a name need not be unique.

    A path takes about 200 bytes: 40 MB for as many as there may be.
    """

    def __init__(self, roots: Sequence[str], max_files: int = MAX_FILES) -> None:
        """Walks the roots, whose links are resolved. What cannot be read counts as cut."""
        self.is_cut = False
        self._by_name: dict[str, list[str]] = {}
        self._paths: list[str] = []  # sorted, as are the two below; for paths whose end is missing
        self._names: list[str] = []
        self._folders: list[tuple[str, str]] = []
        seen: set[str] = set()
        self._n_entries = 0
        for path in self._walk(roots):
            name = path.rpartition("/")[2]
            if os.path.splitext(name)[1].lower() not in SUFFIXES or path in seen:
                continue
            if len(seen) >= max_files:
                self.is_cut = True
                break
            seen.add(path)
            self._by_name.setdefault(name, []).append(path)
        self.n_files = len(seen)

    def named(self, name: str) -> Sequence[str]:
        """The files with this base name."""
        return self._by_name.get(name, ())

    def beginning(self, begin: str) -> Iterator[tuple[str, Sequence[str]]]:
        """(folder, files): where a name begins so, and the files behind that name, if it is a folder's.

        At most 2,000 names of files and as many of folders are tried, in the order of the alphabet.
        """
        if not self._paths:
            self._sort()
        for name in self._names[(at := bisect_left(self._names, begin)) : at + MAX_BEGINNINGS]:
            if not name.startswith(begin):
                break
            for path in self._by_name[name]:
                yield path.rpartition("/")[0], (path,)
        at = bisect_left(self._folders, (begin, ""))
        for name, folder in self._folders[at : at + MAX_BEGINNINGS]:
            if not name.startswith(begin):
                break
            first = bisect_left(self._paths, folder + "/")
            yield folder.rpartition("/")[0], self._paths[first : bisect_left(self._paths, folder + "0")]

    def _sort(self) -> None:
        self._names = sorted(self._by_name)
        self._paths = sorted(path for paths in self._by_name.values() for path in paths)
        folders: set[str] = set()
        for path in self._paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._folders = sorted((folder.rpartition("/")[2], folder) for folder in folders)

    def _walk(self, roots: Sequence[str]) -> Iterator[str]:
        """All regular files, folder by folder in the order of their names."""
        for root in roots:
            waiting = [(root, 0)]
            while waiting and self._n_entries < MAX_ENTRIES:
                folder, depth = waiting.pop()
                files, folders = self._listed(folder)
                yield from files
                if depth < MAX_DEPTH:
                    waiting.extend((name, depth + 1) for name in reversed(folders))
                elif folders:
                    self.is_cut = True
            self.is_cut |= bool(waiting)

    def _listed(self, folder: str) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._n_entries += 1
                    if self._n_entries > MAX_ENTRIES:
                        self.is_cut = True
                        break
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in SKIPPED:
                            folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(entry.path)
        except OSError:
            self.is_cut = True
        return sorted(files), sorted(folders)
