"""CANN dumps of compiled graphs and single operators as a `Dump`: containers, converted files, statistics.

Also kernel dumps of MindSpore, which have the same names. Tensors are compared as the framework has them:
tiles of the device (NC1HWC0, FRACTAL_NZ ...) are undone wherever the original shape is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.cann.container import read_container
from npulse.core.formats.cann.layouts import original_file
from npulse.core.formats.cann.names import (
    MAPPING_NAME,
    full_name,
    parse_dump_name,
    parse_golden_name,
    read_mapping,
)
from npulse.core.formats.cann.stats import StatRow, read_statistics
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, Dump
from npulse.core.formats.tensors import open_tensor
from npulse.core.formats.tensors.raw import open_raw, raw_layout
from npulse.core.progress import IsCancelled, check

from ..graph import MAX_FILES, GraphCall, graph_calls
from .build import CaptureBuilder, Statistics

PLAIN_FORMATS = frozenset(("ND", "NCHW", "NHWC", "NCDHW", "NDHWC", "HWCN", "DHWCN", "NCL", "CN", "NC"))
SIDES = {"input": INPUT, "output": OUTPUT}


def read_cann(path: Path, root: Path, is_cancelled: IsCancelled) -> Dump:
    """The operator dumps of a folder, or of one file, in the order of their time. InputError."""
    if path.is_dir():
        folder = path
        builder = CaptureBuilder(folder, root)
        calls = graph_calls(folder, root, builder.problems, shown_path(folder, root))
    else:
        folder = path.parent
        builder = CaptureBuilder(folder, root)
        calls = _only_call(path, root, builder.problems)
    for call in calls:
        check(is_cancelled)
        builder.call(call.name.op_name or call.name.full, call.name.op_type)
        for file in _told_once(call):
            try:
                _add_file(builder, call, folder / file, file)
            except InputError as error:
                builder.problems.append(Problem.from_error(error, shown_path(folder / file, root)))
    if not builder.n_calls and not builder.problems:
        raise InputError("holds no dump of an operator", path=path)
    has_elements = not all(file.endswith(".csv") for call in calls for file in call.files)
    task = "tensor" if has_elements else "statistics"
    return builder.dump(path, framework="cann", level="L2", task=task)


def _only_call(path: Path, root: Path, problems: list[Problem]) -> list[GraphCall]:
    mapping = read_mapping(path.parent, root, problems) if (path.parent / MAPPING_NAME).exists() else {}
    name = parse_dump_name(full_name(path.name, mapping))
    return [] if name is None or name.is_overflow_record else [GraphCall(name, (path.name,))]


def _told_once(call: GraphCall) -> list[str]:
    """The files of a call, each tensor in one of them: the container before what was converted or counted
    from it, of a tensor that was converted twice the one whose name has its original layout."""
    parsed = [(parse_dump_name(file), file) for file in call.files]
    if any(name is None or not name.suffix for name, _ in parsed):
        return [file for name, file in parsed if name is None or not name.suffix]
    best: dict[object, tuple[bool, str]] = {}
    for name, file in parsed:
        assert name is not None
        key = (name.io, name.index) if name.io else file
        is_original = bool(name.layout)
        if key not in best or is_original > best[key][0]:
            best[key] = (is_original, file)
    return [file for _, file in best.values()]


def _add_file(builder: CaptureBuilder, call: GraphCall, path: Path, file: str) -> None:
    name = parse_dump_name(file) or call.name
    if file.endswith(".csv"):
        for row in read_statistics(path, root=builder.root, problems=builder.problems):
            dtype = row.dtype.name if row.dtype is not None else row.data_type
            builder.tensor(
                SIDES[row.io],
                f"{row.io} {row.index}",
                None,
                dtype=dtype,
                # of a tensor in tiles the table has the shape in which it is stored
                shape=row.shape if row.format in PLAIN_FORMATS else None,
                statistics=statistics_of(row),
            )
    elif name.suffix in ("npy", "pt") and name.io in SIDES:
        tensor = open_tensor(path, root=builder.root)
        builder.tensor(SIDES[name.io], f"{name.io} {name.index}", tensor, name=file)
    elif not name.suffix:
        _add_container(builder, path, file)
    elif name.suffix == "bin" and name.io in SIDES:
        _add_bin(builder, path, file, name.io, name.index or 0, name.layout)


def _add_container(builder: CaptureBuilder, path: Path, file: str) -> None:
    dump = read_container(path, root=builder.root)
    builder.problems += dump.problems
    for tensor in dump.tensors:
        try:
            found = original_file(dump, tensor)
        except InputError:
            found = None  # the reader has told it
        dtype = tensor.dtype.name if tensor.dtype is not None else tensor.data_type
        shape = tensor.shape if min(tensor.shape, default=0) >= 0 else None
        io = f"{tensor.io} {tensor.index}"
        builder.tensor(SIDES[tensor.io], io, found, name=file, dtype=dtype, shape=shape)
    for number in range(dump.n_l1_buffers):  # images of on-chip memory: told, compared to nothing
        builder.tensor(OUTPUT, f"l1buffer {number}", None, dtype="L1 buffer")


def _add_bin(builder: CaptureBuilder, path: Path, file: str, io: str, index: int, layout: str) -> None:
    """Raw elements of the converter, whose name says shape, type and layout: 2_4.float16.ND."""
    said = raw_layout(layout)
    if said is None:
        builder.note("unreadable", "raw bytes: the name does not say of which type and shape", path)
        return
    builder.tensor(SIDES[io], f"{io} {index}", open_raw(path, *said, root=builder.root), name=file)


def statistics_of(row: StatRow) -> Statistics:
    """The recorded statistics under the names that all dumps use."""
    return {"Max": row.max_value, "Min": row.min_value, "Mean": row.avg_value, "Norm": row.l2norm}


def golden_files(folder: Path, root: Path, problems: list[Problem]) -> Iterator[tuple[str, int, int, str]]:
    """(operator, output, time, file) of the golden tensors in a folder: {op}.{output}.{time}.npy."""
    for name in sorted(_names(folder, root, problems)):
        found = parse_golden_name(name)
        if found is not None and parse_dump_name(name) is None:
            yield (*found, name)


def _names(folder: Path, root: Path, problems: list[Problem]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(MAX_FILES + 1), entries, strict=False)]
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror}"
        problems.append(Problem(shown_path(folder, root), "unreadable", message))
        return []
    if len(names) > MAX_FILES:
        where = shown_path(folder, root)
        problems.append(Problem(where, "limit", f"only the first {MAX_FILES:,} files were looked at"))
    return names[:MAX_FILES]
