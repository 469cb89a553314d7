"""Which plug-ins there are: installed packages by their metadata, files that were added, files of a flag.

Nothing is imported to know that. A folder that was opened, and the current one, are never looked into: what
lies there is data. `use` says what a command line wants; `NPULSE_NO_PLUGINS=1` switches all of them off.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from ..errors import InputError, UsageError
from . import added
from .protocols import GROUPS, PluginKind

Origin = Literal["package", "added", "file"]
State = Literal["ok", "changed", "missing", "unreadable", "bad-name", "same-name"]
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MAX_FILE_BYTES = 1 << 20
OFF_VARIABLE = "NPULSE_NO_PLUGINS"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in as far as it is known without running it.

    kinds: of an entry point its group's, of an added file what it held when it was added, of a file of a flag
    () for "to be seen". source: name and version of the package, or the path of the file. value: what the
    entry point names, "" for files. code: the file as it was read when it was found to be "ok". state: only
    "ok" is ever run; "changed": not the file that was added; "same-name": an earlier one has the name.
    """

    name: str
    origin: Origin
    source: str
    kinds: tuple[PluginKind, ...] = ()
    version: str = ""
    value: str = ""
    path: Path | None = None
    code: bytes = b""
    state: State = "ok"


@dataclass(slots=True)
class _Wanted:
    """What this process was told to use; `found` is kept until somebody says otherwise."""

    files: tuple[Path, ...] = ()
    is_off: bool = False
    found: tuple[Plugin, ...] | None = None
    generation: int = 0


_wanted = _Wanted()


def use(files: Sequence[str | os.PathLike[str]] = (), *, off: bool = False) -> None:
    """What this process uses from now on: these files beside what is installed and added, or nothing at all.

    InputError for a file that cannot be read, UsageError for one whose name is no plug-in's.
    """
    paths = tuple(Path(file) for file in files)
    for path in paths:
        read_code(path)
        name_of(path)
    _wanted.files, _wanted.is_off, _wanted.found = paths, off, None
    _wanted.generation += 1


def generation() -> int:
    """A number that changes with `use`: what was learnt of plug-ins before is void."""
    return _wanted.generation


def is_off() -> bool:
    """Whether all plug-ins are switched off."""
    return _wanted.is_off or os.environ.get(OFF_VARIABLE, "") not in ("", "0")


def plugins() -> tuple[Plugin, ...]:
    """All that there are, those of a flag first, also those that are not run; () where they are off.

    Cost: a few ms the first time (one look at the folders of sys.path), then nothing.
    """
    if is_off():
        return ()
    if _wanted.found is None:
        _wanted.found = once_each((*map(file_plugin, _wanted.files), *added_plugins(), *installed_plugins()))
    return _wanted.found


def name_of(path: Path) -> str:
    """The name of a file of a flag: its own, without the suffix. UsageError where that is none."""
    name = path.stem.lower()
    check_name(name)
    return name


def check_name(name: str) -> None:
    """UsageError for a name that rules and columns could not carry."""
    if not NAME.fullmatch(name):
        hint = "lower case letters, digits, - and _; at most 40, a letter or digit first"
        raise UsageError(f"'{name}' is no name for a plug-in", hint=hint)


def read_code(path: Path) -> bytes:
    """The text of a plug-in's file; InputError where it cannot be read or is no file to run."""
    from ..files import read_input

    return read_input(path, MAX_FILE_BYTES, "a plug-in")


def file_plugin(path: Path, name: str | None = None) -> Plugin:
    """A file that the user named on the command line."""
    where = Path(os.path.abspath(path))
    return Plugin(name or name_of(path), "file", str(path), path=where, code=read_code(path))


def added_plugins() -> tuple[Plugin, ...]:
    """The files that were added for good; one that is not what was added is not run."""
    found = []
    for entry in added.entries():
        plugin = Plugin(entry.name, "added", entry.source, entry.kinds, path=entry.path)
        try:
            code = read_code(entry.path)
        except InputError:
            found.append(replace(plugin, state="missing"))
            continue
        is_same = hashlib.sha256(code).hexdigest() == entry.sha256
        found.append(replace(plugin, code=code) if is_same else replace(plugin, state="changed"))
    return tuple(found)


def searched_path() -> list[str]:
    """sys.path without the current folder, however it got there: what lies in it is no installed package."""
    here = os.path.realpath(os.curdir)
    return [entry for entry in sys.path if entry and os.path.realpath(entry) != here]


def installed_plugins() -> tuple[Plugin, ...]:
    """The entry points of installed packages. Nothing is imported: metadata that names a group is read."""
    found: list[Plugin] = []
    for folder in dict.fromkeys(searched_path()):
        for place in _places_with_entry_points(folder):
            found += _entry_points_of(place)
    return tuple(sorted(found, key=lambda plugin: plugin.name))


def _places_with_entry_points(folder: str) -> list[str]:
    """The metadata folders that name one of the groups: one scan, one small read a package."""
    try:
        with os.scandir(folder) as entries:
            names = [e.path for e in entries if e.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []
    found = []
    for place in sorted(names):
        try:
            with open(os.path.join(place, "entry_points.txt"), "rb") as file:
                text = file.read(MAX_FILE_BYTES)
        except OSError:
            continue
        if any(f"[{group}]".encode() in text.replace(b" ", b"") for group in GROUPS):
            found.append(place)
    return found


def _entry_points_of(place: str) -> list[Plugin]:
    from importlib.metadata import PathDistribution

    distribution = PathDistribution(Path(place))
    try:
        package = str(distribution.metadata["Name"] or Path(place).name)
        version = str(distribution.metadata["Version"] or "")
        points = [point for point in distribution.entry_points if point.group in GROUPS]
    except Exception as error:  # metadata of others: whatever is wrong with it, it is told and left alone
        source = f"{place}: {type(error).__name__}"
        return [Plugin(Path(place).name, "package", source, state="unreadable")]
    found = []
    for point in points:
        state: State = "ok" if NAME.fullmatch(point.name) else "bad-name"
        kinds = (GROUPS[point.group],)
        found.append(Plugin(point.name, "package", package, kinds, version, point.value, state=state))
    return found


def once_each(found: Sequence[Plugin]) -> tuple[Plugin, ...]:
    """A name belongs to the first that has it; of one package a name may stand in each of its groups."""
    seen: dict[str, Plugin] = {}
    result = []
    for plugin in found:
        first = seen.setdefault(plugin.name, plugin)
        is_own = first is plugin or (first.origin, first.source) == (plugin.origin, plugin.source) == (
            "package",
            first.source,
        )
        result.append(plugin if is_own or plugin.state != "ok" else replace(plugin, state="same-name"))
    return tuple(result)
