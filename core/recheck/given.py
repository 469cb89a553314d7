"""What a dumped call was given and what it made: arguments, parameters and outputs, read within bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.tensors import open_place, place_of, problem_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import (
    INPUT,
    KWARGS,
    NONE,
    OUTPUT,
    PARAMETERS,
    TENSOR,
    CallName,
    Dump,
)
from npulse.core.formats.tensors import Dtype, TensorError, TensorFile, dtype_of, widen

from .of_tools import has_attributes, name_of, records_arguments

MAX_CALL_BYTES = 1 << 30
"""All tensors of a call together, as float64. Larger calls are refused: what is computed of them is a few
times as much."""
MAX_LEAVES = 4096
_PLAIN = frozenset(
    ("int", "float", "bool", "str", "float16", "float32", "float64", "int8", "int32", "int64", "uint8")
)
"""Types of values that an operator can be given as they stand in the dump."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dumped tensor: the values, and the dtype that counts. name: as the tool names it."""

    name: str
    values: npt.NDArray[Any]
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Lost:
    """An argument whose value the dump does not hold: a tensor without a file, a device, a dtype by
    position."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Given:
    """One call. positional, keywords, parameters: `Tensor`, `Lost`, plain values, None, or lists of them.

    outputs: in their order, None for what is no tensor; made_shapes: of every output tensor, also of those
    without a file. absent: leaf names of tensors that were not dumped. problems: files that cannot be read.
    is_whole: its arguments are all that it was told, by the operator's own names; has_attributes: it may have
    been told what was not recorded.
    """

    name: CallName
    positional: tuple[Any, ...]
    keywords: dict[str, Any]
    parameters: dict[str, Any]
    outputs: tuple[Tensor | Lost, ...]
    absent: tuple[str, ...]
    problems: tuple[Problem, ...]
    n_bytes: int
    is_whole: bool = True
    has_attributes: bool = False

    def tensors(self) -> Iterator[Tensor]:
        """All that it was given, lists opened."""
        for value in (*self.positional, *self.keywords.values(), *self.parameters.values()):
            yield from _tensors_in(value)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _tensors_in(item)


def given_of(dump: Dump, call: int, root: Path) -> Given:
    """The arguments of a call. root: the run, which files have to lie in. Cost: reads all of its tensors.

    More than MAX_CALL_BYTES (counted as float64): nothing is read, `n_bytes` says how much it would be.
    """
    rows = list(dump.leaf_range(call))[:MAX_LEAVES]
    reading = _Reading(dump, root)
    n_bytes = sum(reading.size_of(row) for row in rows)
    reading.is_refused = n_bytes > MAX_CALL_BYTES
    sides: dict[int, dict[tuple[str, ...], Any]] = {INPUT: {}, KWARGS: {}, PARAMETERS: {}, OUTPUT: {}}
    outputs: list[Tensor | Lost] = []
    for row in rows:
        side = int(dump.leaves.side[row])
        if side not in sides:
            continue
        value = reading.value(row)
        if side == OUTPUT:
            if isinstance(value, (Tensor, Lost)):
                outputs.append(value)
            continue
        sides[side][_path_of(dump, row, side)] = value
    return Given(
        name=name_of(dump, call),
        positional=tuple(_as_list(_nested(sides[INPUT]))),
        keywords=_as_dict(_nested(sides[KWARGS])),
        parameters=_as_dict(_nested(sides[PARAMETERS])),
        outputs=tuple(outputs),
        absent=tuple(reading.absent),
        problems=tuple(reading.problems),
        n_bytes=n_bytes,
        is_whole=records_arguments(dump),
        has_attributes=has_attributes(dump, call),
    )


class _Reading:
    """Leaves of a dump as values. absent: tensors without a file; problems: files that are broken."""

    def __init__(self, dump: Dump, root: Path) -> None:
        self.dump, self.root = dump, root
        self.absent: list[str] = []
        self.problems: list[Problem] = []
        self.is_refused = False
        self._files: dict[int, TensorFile | Lost] = {}

    def size_of(self, row: int) -> int:
        """Bytes of a tensor as float64, by its file; 0 for what is none."""
        file = self._file(row) if int(self.dump.leaves.kind[row]) == TENSOR else None
        return 8 * file.n_elements if isinstance(file, TensorFile) else 0

    def value(self, row: int) -> Any:
        dump = self.dump
        kind = int(dump.leaves.kind[row])
        if kind == TENSOR:
            return self._tensor(row)
        leaf = dump.leaf(row)
        return None if kind == NONE else _plain(leaf.type, leaf.value, leaf.name)

    def _file(self, row: int) -> TensorFile | Lost:
        known = self._files.get(row)
        if known is None:
            known = self._files[row] = self._opened(row)
        return known

    def _opened(self, row: int) -> TensorFile | Lost:
        leaf = self.dump.leaf(row)
        if leaf.shape is not None and 0 in leaf.shape and leaf.data_name is None:
            return Lost(leaf.name, "empty")  # the tool writes no file for them
        place = place_of(self.dump, row, self.root)
        if place is None:
            self.absent.append(leaf.name)
            return Lost(leaf.name, "tensor")
        try:
            return open_place(place)
        except TensorError as error:
            self.problems.append(problem_of(error, place))
            return Lost(leaf.name, "tensor")

    def _tensor(self, row: int) -> Tensor | Lost:
        leaf, file = self.dump.leaf(row), self._file(row)
        if isinstance(file, Lost):
            dtype = dtype_of(leaf.dtype or "")
            if file.what == "empty" and dtype is not None and leaf.shape is not None:
                return Tensor(leaf.name, np.zeros(leaf.shape), dtype)
            return file
        if self.is_refused:
            return Lost(leaf.name, "large")
        try:
            values = widen(file.array(), file.dtype)
        except TensorError as error:
            place = place_of(self.dump, row, self.root)
            assert place is not None  # it has a file
            self.problems.append(problem_of(error, place))
            return Lost(leaf.name, "tensor")
        if file.dtype.kind == "complex":
            return Lost(leaf.name, "complex")
        if file.dtype.itemsize == 8 and file.dtype.kind == "int" and values.size:
            if max(abs(int(values.max())), abs(int(values.min()))) > 2**53:
                return Lost(leaf.name, "integers beyond 2^53")
        return Tensor(leaf.name, np.asarray(values, np.float64), file.declared)


def _plain(type_: str, value: Any, name: str) -> Any:
    """A leaf that is no tensor as what the operator was given; `Lost` where the dump does not hold it."""
    if type_ == "slice":
        return slice(*value) if isinstance(value, list) and len(value) == 3 else Lost(name, type_)
    if type_ == "ellipsis":
        return Ellipsis
    if type_ == "list" and value == "[]":
        return []
    if type_ in _PLAIN or type_.endswith((".dtype", ".Size")):
        return value if value is not None else Lost(name, type_)
    return Lost(name, type_)


def _path_of(dump: Dump, row: int, side: int) -> tuple[str, ...]:
    """Where in its side a leaf stands: "input 0.1" is ("0", "1"), "parameters.weight" ("weight",)."""
    io = dump.leaves.io_names[int(dump.leaves.io[row])]
    _, _, rest = io.partition("." if side == PARAMETERS else " ")
    return (rest,) if side == PARAMETERS else tuple(rest.split("."))


def _nested(leaves: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    """Paths as containers within containers."""
    tree: dict[str, Any] = {}
    for path, value in leaves.items():
        place = tree
        for part in path[:-1]:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = place[part] = {}
            place = inner
        place[path[-1]] = value
    return tree


def _settled(value: Any) -> Any:
    """A container that is numbered from 0 is a list."""
    if not isinstance(value, dict):
        return value
    if list(value) == [str(i) for i in range(len(value))]:
        return [_settled(item) for item in value.values()]
    return {key: _settled(item) for key, item in value.items()}


def _as_list(tree: dict[str, Any]) -> Sequence[Any]:
    found = _settled(tree)
    return found if isinstance(found, list) else list(found.values())


def _as_dict(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: _settled(value) for key, value in tree.items()}
