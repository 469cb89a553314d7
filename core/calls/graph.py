"""Graph-mode dumps as a sequence of operator calls: the files of one folder, in the order of their time.

The device writes one file an operator, a converter one a tensor; statistics come as one CSV an operator. All
become a `Dump`, so that whatever looks at operator calls can look at these too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.cann.container import CannTensor, read_container, tensor_file
from npulse.core.formats.cann.names import DumpName, full_name, parse_dump_name, read_mapping
from npulse.core.formats.cann.stats import StatRow, read_statistics
from npulse.core.formats.msprobe.columns import ColumnBuilder
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, Dump, DumpHeader
from npulse.core.formats.tensors import TensorFile, open_tensor
from npulse.core.progress import IsCancelled, check, never_cancelled

MAX_FILES = 200_000
_SIDES = {"input": INPUT, "output": OUTPUT}


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One execution of an operator: what its file name says, and its files."""

    name: DumpName
    files: tuple[str, ...]

    @property
    def is_exception(self) -> bool:
        return self.name.form == "exception"


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """One tensor of an operator call before its elements are read.

    file: None where nothing can be read of it; then `statistics` may have what a CSV says. dtype, shape: as
    the dump names them.
    """

    io: str
    side: int
    dtype: str | None
    shape: tuple[int, ...] | None
    file_name: str
    file: TensorFile | None
    statistics: StatRow | None = None


def graph_calls(folder: Path, root: Path, problems: list[Problem], relative: str) -> list[GraphCall]:
    """Operator calls of a dump folder in the order of time; overflow records are not among them."""
    try:
        mapping = read_mapping(folder, root, problems)
        with os.scandir(folder) as entries:
            names = sorted(entry.name for _, entry in zip(range(MAX_FILES + 1), entries, strict=False))
    except InputError as error:
        problems.append(Problem.from_error(error, relative))
        mapping, names = {}, []
    except OSError as error:
        problems.append(Problem(relative, "unreadable", f"the folder cannot be listed: {error.strerror}"))
        return []
    if len(names) > MAX_FILES:
        problems.append(Problem(relative, "limit", f"only the first {MAX_FILES:,} files were looked at"))
    groups: dict[tuple[Any, ...], list[tuple[DumpName, str]]] = {}
    for file in names[:MAX_FILES]:
        name = parse_dump_name(full_name(file, mapping))
        if name is None or name.is_overflow_record or name.suffix == "core":
            continue
        ids = (name.task_id, name.stream_id, name.context_id, name.thread_id, name.dump_number)
        key = (name.op_type, name.op_name, name.timestamp, *ids)
        groups.setdefault(key, []).append((name, file))
    calls = [
        GraphCall(members[0][0], tuple(file for _, file in sorted(members, key=_io_order)))
        for members in groups.values()
    ]
    # exceptions carry local time with other digits: behind the rest, among themselves in order
    return sorted(calls, key=lambda call: (call.is_exception, call.name.timestamp or 0, call.name.full))


def _io_order(member: tuple[DumpName, str]) -> tuple[str, int, str]:
    name, file = member
    return name.io or "", name.index or 0, file


def tensors_of(call: GraphCall, folder: Path, root: Path, problems: list[Problem]) -> Iterator[GraphTensor]:
    """The tensors of a call. What cannot be read becomes a Problem and a tensor without file."""
    for file in call.files:
        path, where = folder / file, shown_path(folder / file, root)
        name = parse_dump_name(file) or call.name
        try:
            if file.endswith(".csv"):
                yield from _of_csv(path, root, problems, file)
            elif file.endswith((".npy", ".pt")) and name.io in _SIDES:
                tensor = open_tensor(path, root=root)
                io = f"{name.io} {name.index}"
                yield GraphTensor(io, _SIDES[name.io], tensor.dtype.name, tensor.shape, file, tensor)
            elif not name.suffix:
                yield from _of_container(path, root, problems, file)
            elif name.suffix == "bin":
                problems.append(Problem(where, "unreadable", "raw bytes: nothing says of which type"))
        except InputError as error:
            problems.append(Problem.from_error(error, where))


def _of_container(path: Path, root: Path, problems: list[Problem], file: str) -> Iterator[GraphTensor]:
    dump = read_container(path, root=root)
    problems += dump.problems
    for tensor in dump.tensors:
        opened: TensorFile | None = None
        try:
            opened = tensor_file(dump, tensor)
        except InputError:
            pass  # the reader has told it
        dtype = tensor.dtype.name if tensor.dtype is not None else tensor.data_type
        shape = tensor.shape if min(tensor.shape, default=0) >= 0 else None
        yield GraphTensor(f"{tensor.io} {tensor.index}", _side(tensor), dtype, shape, file, opened)


def _side(tensor: CannTensor) -> int:
    return _SIDES.get(tensor.io, INPUT)


def _of_csv(path: Path, root: Path, problems: list[Problem], file: str) -> Iterator[GraphTensor]:
    for row in read_statistics(path, root=root, problems=problems):
        dtype = row.dtype.name if row.dtype is not None else row.data_type
        yield GraphTensor(f"{row.io} {row.index}", _SIDES[row.io], dtype, row.shape, file, None, row)


Reading = tuple[float, float] | None
"""Max and Min of a tensor as the elements tell them; None where they were not read."""


def graph_dump(
    folder: Path,
    calls: Iterable[GraphCall],
    tensors: Callable[[GraphCall], Iterable[tuple[GraphTensor, Reading]]],
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> Dump:
    """The calls as a `Dump`: names are the operators', leaves their tensors with Max and Min."""
    builder = ColumnBuilder()
    for call in calls:
        check(is_cancelled)
        builder.add_call(call.name.op_name or call.name.full, -1, -1)
        for tensor, reading in tensors(call):
            builder.add_leaf(tensor.side, tensor.io, _record(tensor, reading))
    columns, leaves = builder.finish()
    header = DumpHeader("tensor", "L2", "cann", None)
    return Dump(folder, header, columns, leaves, "unknown")


def _record(tensor: GraphTensor, reading: Reading) -> dict[str, Any]:
    record: dict[str, Any] = {"type": "cann.Tensor", "dtype": tensor.dtype, "data_name": tensor.file_name}
    if tensor.shape is not None:
        record["shape"] = list(tensor.shape)
    if reading is not None:
        record["Max"], record["Min"] = reading
    elif tensor.statistics is not None:
        record["Max"], record["Min"] = tensor.statistics.max_value, tensor.statistics.min_value
    return record
