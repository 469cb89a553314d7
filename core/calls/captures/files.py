"""Plain tensor files and checkpoints as a `Dump`: one entry a tensor, in no order of execution."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.orphans import parse_file_name
from npulse.core.formats.msprobe.records import OUTPUT, PARAMETERS, Dump
from npulse.core.formats.tensors import TensorError, dtype_of, open_tensor
from npulse.core.formats.tensors.checkpoint import read_checkpoint
from npulse.core.formats.tensors.npz import read_npz
from npulse.core.formats.tensors.raw import named_layout, open_raw
from npulse.core.formats.tensors.safetensors import NamedTensor, read_index, read_safetensors
from npulse.core.progress import IsCancelled, check
from npulse.core.run.paths import natural_key
from npulse.core.run.sides import Declared
from npulse.core.run.tensor_names import is_checkpoint_name, is_tensor_file

from .build import CaptureBuilder

MAX_FILES = 200_000
MAX_DEPTH = 16
INDEX = ".safetensors.index.json"

_WRAPPED = re.compile(r"(?:(?:module|_orig_mod)\.)+")
"""What data-parallel and compiled wrappers put in front of every parameter's name."""
_SHARD = re.compile(r"(?:.*-)?\d{4,6}-of-\d{4,6}\.\w+", re.ASCII)


def read_parameters(path: Path, root: Path, declared: Declared, is_cancelled: IsCancelled) -> Dump:
    """The parameters of a checkpoint: one file, or all files of a folder (shards). InputError.

    Of a shard that cannot be read the parameters stand there without elements, as far as an index names them.
    """
    builder = CaptureBuilder(path if path.is_dir() else path.parent, root)
    index = read_index(path, root=root) if path.name.endswith(INDEX) else None
    if path.is_dir():
        files, index = _shards(builder, path)
    else:
        files = [path] if index is None else [builder.folder / name for name in index]
    absent: dict[str, str] = {}
    is_one = index is not None or len(files) == 1 or all(_SHARD.fullmatch(file.name) for file in files)
    for file in files:
        check(is_cancelled)
        prefix = "" if is_one else f"{file.name.partition('.')[0]}:"
        try:
            tensors, values = _contents(builder, file, declared)
        except InputError as error:
            if len(files) == 1:
                raise
            builder.problems.append(Problem.from_error(error, shown_path(file, root)))
            for name in (index or {}).get(file.name, ()):
                absent[_WRAPPED.sub("", name, count=1)] = file.name
            continue
        for tensor in tensors:
            builder.call(prefix + _WRAPPED.sub("", tensor.name, count=1) if tensor.name else "tensor")
            _add(builder, PARAMETERS, "parameters", file.name, tensor)
        for name, value in values.items():
            builder.call(prefix + name)
            builder.value(PARAMETERS, "parameters", value)
    if not builder.n_calls and not builder.problems:
        raise InputError("holds no tensor", path=path)
    for name in absent:
        builder.call(name)
        builder.tensor(PARAMETERS, "parameters", None)
    return replace(builder.dump(path, framework="checkpoint", is_ordered=False), absent=absent)


def read_files(path: Path, root: Path, declared: Declared, is_cancelled: IsCancelled) -> Dump:
    """The tensors of a file, or of all files in a folder and below it, by their names. InputError.

    Names as msprobe gives them are taken apart into calls and their arguments; of a file alone what it is
    called says nothing.
    """
    is_folder = path.is_dir()
    builder = CaptureBuilder(path if is_folder else path.parent, root)
    files = _files(builder, path, is_cancelled) if is_folder else iter((path.name,))
    entries: dict[str, list[tuple[int, str, str, NamedTensor]]] = {}
    for name in files:
        check(is_cancelled)
        try:
            tensors, _ = _contents(builder, builder.folder / name, declared)
        except InputError as error:
            if not is_folder:
                raise
            builder.problems.append(Problem.from_error(error, shown_path(builder.folder / name, root)))
            continue
        if not is_folder and path.suffix.lower() != ".npz" and any(tensor.name for tensor in tensors):
            return read_parameters(path, root, declared, is_cancelled)
        stem = name.rpartition(".")[0] if is_folder else ""
        found = parse_file_name(os.path.basename(name)) if is_folder else None
        for tensor in tensors:
            if found is not None and not tensor.name:
                entry, side, io = found
            else:
                entry, side, io = ".".join(filter(None, (stem, tensor.name))) or "tensor", OUTPUT, "output 0"
            entries.setdefault(entry, []).append((side, io, name, tensor))
    if not entries and not builder.problems:
        raise InputError("holds no tensor file", path=path, hint="tensors are .npy, .npz, .pt, .bin ...")
    for entry in sorted(entries, key=natural_key):
        builder.call(entry)
        for side, io, name, tensor in sorted(entries[entry], key=lambda one: (one[0], natural_key(one[1]))):
            _add(builder, side, io, name, tensor)
    return builder.dump(path, framework="files", is_ordered=False)


def _add(builder: CaptureBuilder, side: int, io: str, name: str, tensor: NamedTensor) -> None:
    builder.tensor(side, io, tensor.file, name=name, dtype=tensor.dtype, shape=tensor.shape)


def _contents(
    builder: CaptureBuilder, path: Path, declared: Declared
) -> tuple[tuple[NamedTensor, ...], dict[str, int | float | str | bool]]:
    """The tensors of one file of any form, and plain values beside them. InputError."""
    root, suffix = builder.root, path.suffix.lower()
    if suffix == ".safetensors":
        return read_safetensors(path, root=root, problems=builder.problems), {}
    if suffix == ".npz":
        return read_npz(path, root=root, problems=builder.problems), {}
    if suffix == ".npy":
        file = open_tensor(path, root=root, declared=declared.dtype)
        return (NamedTensor("", file.declared.name, file.shape, file),), {}
    if suffix == ".bin" and not is_checkpoint_name(path.name):
        return (_raw(path, root, declared),), {}
    found = read_checkpoint(path, root=root, problems=builder.problems)
    if not found.tensors:
        raise InputError("holds no tensor", path=path)
    return found.tensors, dict(found.values)


def _raw(path: Path, root: Path, declared: Declared) -> NamedTensor:
    """Raw elements: as the user says, else as the file's name does."""
    said = dtype_of(declared.dtype) if declared.dtype is not None else None
    if declared.dtype is not None and said is None:
        raise InputError(f"--dtype {declared.dtype[:40]}: no such type", hint="float16, bfloat16, int64 ...")
    named = named_layout(path.name)
    dtype = said or (named[0] if named is not None else None)
    if dtype is None:
        raise TensorError(
            "unreadable",
            "raw bytes, and nothing says of which type",
            path=path,
            hint="say it: --dtype float16 --shape 16,10240",
        )
    shape = declared.shape if declared.shape is not None else named[1] if named is not None else None
    file = open_raw(path, dtype, shape, root=root)
    return NamedTensor("", dtype.name, file.shape, file)


def _shards(builder: CaptureBuilder, folder: Path) -> tuple[list[Path], dict[str, tuple[str, ...]] | None]:
    """The files of a checkpoint in its folder: those that an index names (and what it says), else all."""
    names = sorted(_listed(builder, folder, ""), key=natural_key)
    index = [name for name in names if name.endswith(".index.json")]
    if len(index) == 1:
        told = read_index(folder / index[0], root=builder.root)
        return [folder / name for name in told], told
    known = [name for name in names if is_checkpoint_name(name)]
    return [folder / name for name in known or names if is_tensor_file(name)], None


def _files(builder: CaptureBuilder, folder: Path, is_cancelled: IsCancelled) -> Iterator[str]:
    """Tensor files below a folder in natural order, relative to it; links are not followed."""
    todo = [("", 0)]
    n = 0
    while todo:
        below, depth = todo.pop(0)
        check(is_cancelled)
        for name in sorted(_listed(builder, folder, below), key=natural_key):
            relative = os.path.join(below, name)
            if os.path.isdir(folder / relative) and not os.path.islink(folder / relative):
                if depth < MAX_DEPTH:
                    todo.append((relative, depth + 1))
            elif is_tensor_file(name):
                n += 1
                if n > MAX_FILES:
                    builder.note("limit", f"only the first {MAX_FILES:,} files were looked at", folder)
                    return
                yield relative


def _listed(builder: CaptureBuilder, folder: Path, below: str) -> list[str]:
    try:
        return os.listdir(folder / below)
    except OSError as error:
        builder.note("unreadable", f"the folder cannot be listed: {error.strerror}", folder / below)
        return []
