"""Dumps of msit and torchair, and MindSpore's tables of statistics, as a `Dump`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.dump_tables import DumpRow, read_dump_table
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, Construct, Dump
from npulse.core.formats.tensors import open_tensor
from npulse.core.formats.tensors.checkpoint import read_checkpoint
from npulse.core.formats.tensors.safetensors import NamedTensor
from npulse.core.progress import IsCancelled, check
from npulse.core.run.paths import natural_key

from .build import CaptureBuilder
from .golden import in_file

MAX_FILES = 200_000
MAX_DEPTH = 64
TABLE = "statistics.csv"

_TORCH_TENSOR = re.compile(r"(?P<io>input|output)(?P<index>(?:_\d{1,6})*)\.pth", re.ASCII)
_FX_TENSOR = re.compile(
    r"(?P<op>.{1,400})\.(?P<io>input|output)\.(?P<index>\d{1,6})\.(?P<time>\d{1,20})\.npy",
    re.ASCII | re.IGNORECASE,
)


def read_msit(path: Path, root: Path, is_cancelled: IsCancelled) -> Dump:
    """The modules of one token: {module path}/input_0.pth, output.pth. Their order is that of statistics.csv,
    where there is one. InputError where no tensor is there."""
    builder = CaptureBuilder(path, root)
    modules: dict[str, list[str]] = {}
    n = 0
    for folder, _, files in os.walk(path):
        check(is_cancelled)
        wanted = [name for name in files if _TORCH_TENSOR.fullmatch(name)]
        n += len(wanted)
        if n > MAX_FILES:
            builder.note("limit", f"only the first {MAX_FILES:,} files were looked at", path)
            break
        if wanted:
            relative = os.path.relpath(folder, path)
            modules[relative] = sorted(wanted, key=natural_key)
    if not modules:
        raise InputError("holds no tensor of msit: input_0.pth, output.pth", path=path)
    table = next((p for p in (path / TABLE, path.parent / TABLE) if os.path.isfile(p)), None)
    rows: tuple[DumpRow, ...] = ()
    if table is not None and table.is_relative_to(root):
        try:
            rows = read_dump_table(table, root=root, problems=builder.problems)
        except InputError as error:
            builder.problems.append(Problem.from_error(error, shown_path(table, root)))
    order = {name: n for n, name in enumerate(dict.fromkeys(row.op for row in rows))}
    names = {relative: relative.replace(os.sep, ".") for relative in modules}
    for relative in sorted(modules, key=lambda one: (order.get(names[one], len(order)), natural_key(one))):
        builder.call(names[relative], f"module {names[relative]}")
        for name in modules[relative]:
            _add_torch(builder, os.path.join(relative, name), name)
    known = set(names.values())
    dump = builder.dump(path, framework="msit", level="L0", is_ordered=known <= order.keys())
    parents = {name: _enclosing(name, known) for name in known}
    return replace(dump, hierarchy=Construct(parents, {}))


def _enclosing(name: str, known: Iterable[str]) -> str | None:
    """The nearest module around one that was captured too."""
    for _ in range(MAX_DEPTH):
        name = name.rpartition(".")[0]
        if not name:
            return None
        if name in known:
            return name
    return None


def _add_torch(builder: CaptureBuilder, relative: str, name: str) -> None:
    found = _TORCH_TENSOR.fullmatch(name)
    assert found is not None
    side = INPUT if found["io"] == "input" else OUTPUT
    index = found["index"].strip("_").replace("_", ".") or "0"
    path = builder.folder / relative
    try:
        tensors = _tensors(builder, path)
    except InputError as error:
        builder.problems.append(Problem.from_error(error, shown_path(path, builder.root)))
        return
    for tensor in tensors:
        io = f"{found['io']} {index}" + (f".{tensor.name}" if tensor.name else "")
        builder.tensor(side, io, tensor.file, name=relative, dtype=tensor.dtype, shape=tensor.shape)


def _tensors(builder: CaptureBuilder, path: Path) -> tuple[NamedTensor, ...]:
    """One tensor mostly; several where the module was given or gave a tuple."""
    return read_checkpoint(path, root=builder.root, problems=builder.problems).tensors


def read_fx(path: Path, root: Path, is_cancelled: IsCancelled) -> Dump:
    """The nodes of a traced graph: {node}.INPUT.0.{time}.npy, in the order of their times. InputError."""
    builder = CaptureBuilder(path, root)
    nodes: dict[str, list[tuple[int, str, int, str]]] = {}
    try:
        names = sorted(os.listdir(path))[:MAX_FILES]
    except OSError as error:
        raise InputError(f"the folder cannot be listed: {error.strerror}", path=path) from error
    for name in names:
        found = _FX_TENSOR.fullmatch(name)
        if found is not None:
            told = (int(found["time"]), found["io"].lower(), int(found["index"]), name)
            nodes.setdefault(found["op"], []).append(told)
    if not nodes:
        raise InputError("holds no tensor of a node: {node}.INPUT.0.{time}.npy", path=path)
    first = {node: min(told)[0] for node, told in nodes.items()}
    for node in sorted(nodes, key=lambda one: (first[one], natural_key(one))):
        check(is_cancelled)
        builder.call(node)
        for _, io, index, name in sorted(nodes[node], key=lambda told: told[1:3]):
            try:
                file = open_tensor(path / name, root=root)
            except InputError as error:
                builder.problems.append(Problem.from_error(error, shown_path(path / name, root)))
                continue
            builder.tensor(INPUT if io == "input" else OUTPUT, f"{io} {index}", file, name=name)
    is_ordered = len(set(first.values())) == len(first)
    return builder.dump(path, framework="torchair", level="L2", is_ordered=is_ordered)


def read_table(path: Path, root: Path, is_cancelled: IsCancelled) -> Dump:
    """A table of statistics of MindSpore as a dump: operators in the order of the table. InputError."""
    builder = CaptureBuilder(path.parent, root)
    last: object = None
    for row in read_dump_table(path, root=root, problems=builder.problems):
        check(is_cancelled)
        key = (row.op, row.time)
        if key != last:
            builder.call(in_file(row.op), row.op_type)
            last = key
        side = INPUT if row.io == "input" else OUTPUT
        statistics: dict[str, float | None] = dict(row.statistics)
        io = f"{row.io} {row.index}"
        builder.tensor(side, io, None, dtype=row.dtype, shape=row.shape, statistics=statistics, md5=row.md5)
    if not builder.n_calls:
        raise InputError("holds no row", path=path)
    return builder.dump(path, framework="mindspore", level="L2", task="statistics")
