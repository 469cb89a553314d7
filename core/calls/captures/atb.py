"""Dumps of ATB as a `Dump`: one execution, its operations in order, those inside one before it.

{execution}/{id}_{Op}[/{id}_{Op} ...]/before/intensor{N}.bin, after/outtensor{N}.bin, op_param.json
{execution}/statistic.csv
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.files import read_input, shown_path
from npulse.core.findings import Problem
from npulse.core.formats.atb import AtbTensor, read_atb
from npulse.core.formats.dump_tables import DumpRow, read_dump_table
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, Construct, Dump
from npulse.core.formats.tensors.layout import row_major_strides
from npulse.core.progress import IsCancelled, check
from npulse.core.run.paths import natural_key

from .build import CaptureBuilder

MAX_OPS = 200_000
MAX_DEPTH = 16
MAX_PARAM_BYTES = 4 << 20
MAX_PARAMS = 1000
TABLE = "statistic.csv"

_OP_FOLDER = re.compile(r"(?P<id>\d{1,9})_(?P<op>.{1,200})", re.ASCII)
_TENSOR = re.compile(r"(?P<io>in|out|inter)tensor(?P<index>\d{1,6})(?:_[\w.-]*)?\.bin", re.ASCII)
_SIDES = {"in": (INPUT, "input"), "out": (OUTPUT, "output")}
_FOLDERS = ("before", "after")

_Key = tuple[str, str, int]
"""Operator id ("0", "0_1"), "input" or "output", index."""


@dataclass(frozen=True, slots=True)
class _Op:
    """An operation: its path below the execution ("0_A/1_B"), id ("0_1"), parent's path or None."""

    name: str
    id: str
    parent: str | None


def read_atb_dump(path: Path, root: Path, is_cancelled: IsCancelled) -> Dump:
    """One execution of a device and process. InputError where it holds no tensor and no table."""
    builder = CaptureBuilder(path, root)
    rows = _table(builder, path / TABLE)
    ops = list(_ops(builder, path, is_cancelled))
    folders = {op.id: op.name for op in ops}
    for op in ops:
        check(is_cancelled)
        builder.call(op.name, _operator(op.name))
        _add_params(builder, path / op.name)
        _add_tensors(builder, op, folders, rows)
    parents: dict[str, str | None] = {op.name: op.parent for op in ops}
    if not ops:
        _add_rows(builder, rows, parents)
    if not builder.n_calls:
        if builder.problems:
            raise InputError(builder.problems[0].message, path=path)
        raise InputError("holds no dump of ATB", path=path)
    task = "tensor" if ops else "statistics"
    dump = builder.dump(path, framework="atb", level="L0", task=task)
    return replace(dump, hierarchy=Construct(parents, {}))


def _table(builder: CaptureBuilder, path: Path) -> dict[_Key, DumpRow]:
    if not os.path.lexists(path):
        return {}
    try:
        rows = read_dump_table(path, root=builder.root, problems=builder.problems)
    except InputError as error:
        builder.problems.append(Problem.from_error(error, shown_path(path, builder.root)))
        return {}
    return {(row.op_id or row.op, row.io, _index(row.index)): row for row in rows}


def _index(text: str) -> int:
    """ "2_value" is the third tensor, which the operation calls value."""
    digits = text.partition("_")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else -1


def _ops(builder: CaptureBuilder, path: Path, is_cancelled: IsCancelled) -> Iterator[_Op]:
    """Operations below a folder, what is inside of one before it."""
    n = 0

    def below(folder: str, id_: str, depth: int) -> Iterator[_Op]:
        nonlocal n
        check(is_cancelled)
        for name in sorted(_subfolders(builder, path / folder), key=natural_key):
            found = _OP_FOLDER.fullmatch(name)
            if found is None or depth > MAX_DEPTH:
                continue
            n += 1
            if n > MAX_OPS:
                return
            inner, own = os.path.join(folder, name), f"{id_}_{found['id']}" if id_ else found["id"]
            yield from below(inner, own, depth + 1)
            yield _Op(inner, own, folder or None)

    yield from below("", "", 1)
    if n > MAX_OPS:
        builder.note("limit", f"only the first {MAX_OPS:,} operations were looked at", path)


def _subfolders(builder: CaptureBuilder, folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [e.name for e in entries if e.is_dir(follow_symlinks=False) and e.name not in _FOLDERS]
    except OSError as error:
        builder.note("unreadable", f"the folder cannot be listed: {error.strerror}", folder)
        return []


def _add_tensors(
    builder: CaptureBuilder, op: _Op, folders: dict[str, str], rows: dict[_Key, DumpRow]
) -> None:
    for part in _FOLDERS:
        folder = os.path.join(op.name, part)
        for name in sorted(_files(builder.folder / folder), key=natural_key):
            found = _TENSOR.fullmatch(name)
            if found is None or found["io"] not in _SIDES:
                continue
            side, io = _SIDES[found["io"]]
            index = int(found["index"])
            row = rows.get((op.id, io, index))
            statistics: dict[str, float | None] = dict(row.statistics) if row is not None else {}
            relative = os.path.join(folder, name)
            try:
                tensor, place = _resolved(builder, relative, folders)
            except InputError as error:
                where = shown_path(builder.folder / relative, builder.root)
                builder.problems.append(Problem.from_error(error, where))
                builder.tensor(
                    side,
                    f"{io} {index}",
                    None,
                    dtype=row.dtype if row else None,
                    shape=row.shape if row else None,
                    statistics=statistics,
                )
                continue
            statistics = statistics or dict(tensor.statistics or {})
            builder.tensor(
                side,
                f"{io} {index}",
                tensor.file,
                name=place,
                dtype=tensor.dtype,
                shape=tensor.shape,
                statistics=statistics,
            )


def _resolved(builder: CaptureBuilder, relative: str, folders: dict[str, str]) -> tuple[AtbTensor, str]:
    """The tensor of a file, and the file that holds its elements: another one where the first names it."""
    first = tensor = read_atb(builder.folder / relative, root=builder.root)
    seen = {relative}
    while tensor.alias is not None:
        relative = _file_of(builder, tensor.alias, folders)
        if relative in seen or len(seen) > MAX_DEPTH:
            raise InputError("names a file that names this one again", path=builder.folder / relative)
        seen.add(relative)
        tensor = read_atb(builder.folder / relative, root=builder.root)
    if tensor is first or tensor.file is None:
        return tensor, relative
    shape = first.shape
    if tensor.dtype != first.dtype or _size(shape) != _size(tensor.shape):
        message = (
            f"is {first.dtype} {list(shape)}, the file that it names {tensor.dtype} {list(tensor.shape)}"
        )
        raise InputError(message, path=builder.folder / relative)
    file = replace(tensor.file, shape=shape, strides=row_major_strides(shape))
    return replace(tensor, shape=shape, file=file), relative


def _file_of(builder: CaptureBuilder, alias: tuple[str, str, int], folders: dict[str, str]) -> str:
    """The file of this execution that an alias means."""
    id_, io, index = alias
    if id_ in folders:
        folder = os.path.join(folders[id_], "before" if io == "intensor" else "after")
        for name in _files(builder.folder / folder):
            found = _TENSOR.fullmatch(name)
            if found and f"{found['io']}tensor" == io and int(found["index"]) == index:
                return os.path.join(folder, name)
    raise InputError(f"names {id_}_{io}{index}.bin, which is not in this dump", path=builder.folder)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _files(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _add_params(builder: CaptureBuilder, folder: Path) -> None:
    """What the operation was told, as scalar arguments."""
    path = folder / "op_param.json"
    if not os.path.lexists(path):
        return
    try:
        text = read_input(path, MAX_PARAM_BYTES, "parameters of an operation", root=builder.root)
        value = json.loads(text)
    except InputError as error:
        builder.problems.append(Problem.from_error(error, shown_path(path, builder.root)))
        return
    except (ValueError, RecursionError):
        builder.note("bad-record", "is no JSON that can be read", path)
        return
    for n, (key, item) in enumerate(_flat("", value, 0)):
        if n >= MAX_PARAMS:
            break
        builder.value(KWARGS, f"kwargs {key}", item)


def _flat(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (dict, list)) and depth < 8:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, item in items:
            yield from _flat(f"{key}.{name}" if key else str(name), item, depth + 1)
    elif isinstance(value, (str, int, float)):
        yield key, value[:200] if isinstance(value, str) else value


def _add_rows(builder: CaptureBuilder, rows: dict[_Key, DumpRow], parents: dict[str, str | None]) -> None:
    """A dump of statistics alone: operations as the table has them, what is inside of one before it."""
    ops: dict[str, list[DumpRow]] = {}
    for (id_, _, _), row in rows.items():
        ops.setdefault(id_, []).append(row)
    for id_ in sorted(ops, key=lambda one: (*natural_key(one.replace("_", " ")), (9, 0, ""))):
        members = ops[id_]
        name = _path_of(id_, members[0].op)
        builder.call(name, members[0].op_type or _operator(name))
        parents[name] = name.rpartition("/")[0] or None
        for row in members:
            side = INPUT if row.io == "input" else OUTPUT
            io = f"{row.io} {_index(row.index)}"
            builder.tensor(side, io, None, dtype=row.dtype, shape=row.shape, statistics=dict(row.statistics))


def _operator(name: str) -> str:
    """ "0_Layer/1_RmsNorm" runs RmsNorm."""
    return name.rpartition("/")[2].partition("_")[2]


def _path_of(id_: str, op: str) -> str:
    """ "0_1" and "A/B" are the operation 0_A/1_B."""
    ids, names = id_.split("_"), op.split("/")
    if len(ids) != len(names):
        return f"{id_}_{op}"
    return "/".join(f"{number}_{name}" for number, name in zip(ids, names, strict=True))
