"""Tensors without index: entries rebuilt from the names of tensor files, for dumps whose dump.json is lost.

A tensor dump writes each file at once but its index only now and then: a killed run leaves hundreds of
files and an index without them. The capture of compiled graphs writes no index at all.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...errors import InputError
from ...files import real_path, shown_path
from ...findings import Problem
from ...progress import IsCancelled, check, never_cancelled
from .columns import ColumnBuilder, LimitError
from .records import DEBUG, GRAD, INPUT, KWARGS, OUTPUT, PARAMETERS, SIDES, Dump, DumpHeader

TENSOR_FOLDERS = ("dump_tensor_data", "tensor_data")
MAX_FILES = 4_000_000

_SUFFIXES = (".pt", ".npy")
_SIDE_WORDS = {
    "input": INPUT,
    "output": OUTPUT,
    "kwargs": KWARGS,
    "input_kwargs": KWARGS,
    "parameters": PARAMETERS,
}
_DIGITS = re.compile(r"(\d{1,18})")

_File = tuple[int, str, int, str]
"""Modification time, file name, side, io."""


def entries_from_files(
    folder: Path,
    *,
    root: Path | None = None,
    known: Dump | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> Dump:
    """A dump of the tensors in `folder` (a rank-step, or its tensor folder itself), read from file names.

    Leaves have a data_name and nothing else: no dtype, shape or statistics. Entries stand in the order in
    which their last file was written (by name where times are equal, as after a copy); byte is -1.
    `known`: leave out the files that this dump names. Where there are entries, `completeness` is "cut off"
    and a problem says so.
    Raises InputError: no such folder, none of its files is a tensor of a dump. Files are not opened.
    """
    tensor_folder = next((f for name in TENSOR_FOLDERS if (f := folder / name).is_dir()), folder)
    artifact = shown_path(tensor_folder, root)
    named = frozenset() if known is None else frozenset(known.leaves.data_names)
    entries, problems = _files_of_entries(tensor_folder, artifact, root, named, is_cancelled)
    if not entries and known is None:
        raise InputError("no tensor files of a dump lie here", path=tensor_folder)
    builder = ColumnBuilder()
    n_files = 0
    try:
        for entry in sorted(entries, key=lambda name: (max(entries[name])[0], _natural(name))):
            builder.add_call(entry, -1, -1)
            for _, file_name, side, io in sorted(entries[entry], key=_leaf_order):
                builder.add_leaf(side, io, {"type": "", "shape": None, "data_name": file_name})
                n_files += 1
    except LimitError as limit:
        problems.append(Problem(artifact, "limit", str(limit)))
    if n_files:
        message = f"{len(entries):,} entries were rebuilt from the names of {n_files:,} tensor files"
        hint = "order, shapes and statistics are not those of a dump.json; the run was killed or has none"
        problems.append(Problem(artifact, "missing", message, hint=hint))
    calls, leaves = builder.finish()
    suffixes = {name.rpartition(".")[2] for name in leaves.data_names}
    framework = "" if len(suffixes) != 1 else "pytorch" if suffixes == {"pt"} else "mindspore"
    path = (
        tensor_folder.parent / "dump.json" if tensor_folder.name in TENSOR_FOLDERS else folder / "dump.json"
    )
    header = DumpHeader("tensor", "", framework, None)
    return Dump(path, header, calls, leaves, "cut off" if n_files else "complete", tuple(problems))


def unnamed_files(
    tensor_folder: Path, root: Path | None, known: Dump, is_cancelled: IsCancelled = never_cancelled
) -> tuple[int, int]:
    """How many tensor files lie there that a dump does not name, and of how many calls; (0, 0) if unreadable.

    Names alone are looked at, of the first 4,000,000 files.
    """
    named = frozenset(known.leaves.data_names)
    calls: set[str] = set()
    n_files = 0
    try:
        with os.scandir(real_path(tensor_folder, root)) as listing:
            for n, item in enumerate(listing):
                if n % 1024 == 0:
                    check(is_cancelled)
                if n >= MAX_FILES:
                    break
                found = None if item.name in named else parse_file_name(item.name)
                if found is not None:
                    n_files += 1
                    calls.add(found[0])
    except (OSError, ValueError, InputError):
        return 0, 0
    return n_files, len(calls)


def parse_file_name(file_name: str) -> tuple[str, int, str] | None:
    """Entry name, side code and io that a tensor file was written for; None for other files.

    "Torch.cat.0.forward.input.0.1.pt" -> ("Torch.cat.0.forward", INPUT, "input 0.1"). The rightmost reading
    counts; without a direction (compiled graphs) the entry is "{api}.{call}".
    """
    stem, dot, suffix = file_name.rpartition(".")
    if f"{dot}{suffix}" not in _SUFFIXES:
        return None
    parts = stem.split(".")
    for ends_entry in (_has_direction, _has_call):
        for i in range(len(parts) - 1, 1, -1):
            word, after = parts[i], i + 1
            side = _SIDE_WORDS.get(word)
            if side is not None and ends_entry(parts[i - 2], parts[i - 1]):
                return ".".join(parts[:i]), side, _io(side, parts[after:])
            if word == "debug" and parts[i - 1].isdigit():
                return ".".join(parts[:after]), DEBUG, _io(DEBUG, parts[after:])
            if word == "parameters_grad" and len(parts) > after:
                after += parts[after].isdigit() and len(parts) > after + 1
                return ".".join(parts[:after]), GRAD, _io(GRAD, parts[after:])
    return None


def _has_direction(before: str, last: str) -> bool:
    directions = ("forward", "backward")
    return before.isdigit() and last in directions or before in directions and last.isdigit()


def _has_call(before: str, last: str) -> bool:
    return last.isdigit()


def _io(side: int, rest: list[str]) -> str:
    joint = "." if side == PARAMETERS else " "
    return SIDES[side] + joint + ".".join(rest) if rest else SIDES[side]


def _files_of_entries(
    folder: Path, artifact: str, root: Path | None, named: frozenset[str], is_cancelled: IsCancelled
) -> tuple[dict[str, list[_File]], list[Problem]]:
    """Tensor files of a folder by entry."""
    entries: dict[str, list[_File]] = {}
    problems: list[Problem] = []
    try:
        with os.scandir(real_path(folder, root)) as listing:
            for n, item in enumerate(listing):
                if n % 1024 == 0:
                    check(is_cancelled)
                if n >= MAX_FILES:
                    problems.append(
                        Problem(artifact, "limit", f"more than {MAX_FILES:,} files, the rest is left out")
                    )
                    break
                found = None if item.name in named else parse_file_name(item.name)
                if found is not None and not item.is_dir(follow_symlinks=False):
                    entry, side, io = found
                    time_ns = item.stat(follow_symlinks=False).st_mtime_ns
                    entries.setdefault(entry, []).append((time_ns, item.name, side, io))
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", path=folder) from error
    except ValueError as error:  # a NUL or a lone surrogate
        raise InputError("the name is not one that a folder can have", path=folder) from error
    return entries, problems


def _leaf_order(file: _File) -> tuple[int, list[tuple[int, str]]]:
    return file[2], _natural(file[3])


def _natural(text: str) -> list[tuple[int, str]]:
    """A sort key that counts: "linear.9" before "linear.10"."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (-1, part) for part in _DIGITS.split(text)
    ]
