"""Records of an msprobe dump: operator calls and the leaves (tensors, scalars) of their sides.

A dump of 200 MB holds half a million leaves, so a dump is kept in columns (`CallColumns`, `LeafColumns`);
`Leaf` and `OperatorCall` objects are made for the few that somebody looks at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Completeness, Problem
from ..tensors.located import Located

Shape = tuple[int, ...]
Direction = Literal["forward", "backward", "grad", "debug", "other"]
CallKind = Literal["api", "module", "grad", "debug", "other"]

SIDES = ("input", "kwargs", "parameters", "output", "grad", "debug")
"""Side codes of `LeafColumns.side`. `grad` is the body of a parameters_grad entry."""

KINDS = ("tensor", "scalar", "none", "object")
"""Kind codes of `LeafColumns.kind`. object: a record without comparable value (dtype, device, group...)."""

STATISTICS = ("Max", "Min", "Mean", "Norm")
"""Columns of `LeafColumns.statistics`."""

INPUT, KWARGS, PARAMETERS, OUTPUT, GRAD, DEBUG = range(6)
TENSOR, SCALAR, NONE, OBJECT = range(4)


@dataclass(frozen=True, slots=True)
class DumpHeader:
    """Top-level fields. `framework` is sniffed from record types where the file does not say it."""

    task: str
    level: str
    framework: str
    dump_data_dir: str | None


@dataclass(frozen=True, slots=True)
class CallName:
    """An entry name taken apart from the right (model paths contain digits, dots and 'forward').

    `Functional.linear.3.forward` -> kind api, prefix Functional, api "linear", number 3.
    `Module.layers.1.fc1.Linear.forward.0` -> kind module, path "layers.1.fc1", cls "Linear", number 0.
    Unknown shapes: kind other, api = the whole name.
    """

    full: str
    kind: CallKind
    direction: Direction
    prefix: str
    api: str
    number: int | None
    path: str = ""
    cls: str = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor or value of one side of a call. Statistics are None where the file has null or none.

    io: "input 0", "input 0.1", "kwargs mask", "parameters.weight", "output 0", "grad weight", "debug a.0".
    name: the full leaf name as the tool writes it, e.g. "Functional.linear.0.forward.input.0".
    value: for scalars the value (str, int, float, bool, list), for objects the printed record.
    """

    name: str
    side: str
    io: str
    kind: str
    type: str
    dtype: str | None
    shape: Shape | None
    max: float | None
    min: float | None
    mean: float | None
    norm: float | None
    checksum: str | None
    data_name: str | None
    requires_grad: bool | None
    value: Any = None


@dataclass(frozen=True, slots=True)
class CallColumns:
    """One row an operator call, in the order of the file (execution order, see formats docs).

    first_leaf has n+1 entries: leaves of call i are first_leaf[i]:first_leaf[i + 1].
    byte: offset of the entry's key in the file. recompute: 1 yes, 0 no, -1 not recorded. is_nan: what the
    nan_check task found, 1 yes, 0 no, -1 null (not known); None where no entry has it.
    """

    names: Sequence[str]
    byte: npt.NDArray[np.int64]
    first_leaf: npt.NDArray[np.int64]
    recompute: npt.NDArray[np.int8]
    is_nan: npt.NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True)
class LeafColumns:
    """One row a leaf. Text is stored once in tables, rows hold codes.

    call int32; side, kind int8 (codes above); io -> io_names; dtype -> dtypes (-1: none);
    shape -> shapes (-1: none); type -> types.
    statistics: float64 (n, 4), NaN where absent; present: uint8 bit k set where statistic k is a number
    (a bare NaN in the file is present and NaN); booleans of bool tensors are 1.0 / 0.0.
    checksum: index into checksums or -1. requires_grad: 1, 0, -1 not recorded.
    data_name: index into data_names or -1. value: index into values or -1.
    """

    call: npt.NDArray[np.int32]
    side: npt.NDArray[np.int8]
    kind: npt.NDArray[np.int8]
    io: npt.NDArray[np.int32]
    type: npt.NDArray[np.int16]
    dtype: npt.NDArray[np.int16]
    shape: npt.NDArray[np.int32]
    statistics: npt.NDArray[np.float64]
    present: npt.NDArray[np.uint8]
    checksum: npt.NDArray[np.int32]
    requires_grad: npt.NDArray[np.int8]
    data_name: npt.NDArray[np.int32]
    value: npt.NDArray[np.int32]
    io_names: Sequence[str]
    types: Sequence[str]
    dtypes: Sequence[str]
    shapes: Sequence[Shape]
    checksums: Sequence[str]
    data_names: Sequence[str]
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Dump:
    """One rank-step: what dump.json (or debug.json) holds. Tensors lie in `tensor_dir`, opened on demand.

    Captures of other tools come in the same form. tensor_folder: where their files lie; located: where in a
    file each leaf's tensor is (None: a file holds one tensor, and says itself what it is). is_ordered: calls
    stand in the order of execution; parameters and files without a time have none. hierarchy: which call
    encloses which, where the capture itself says it (None: construct.json may). operators: what each call
    runs where its name does not say it, "MatMulV2" or "module PATH". absent: calls whose file cannot be read,
    with its name: it should hold them, and nothing else is known of them.
    """

    path: Path
    header: DumpHeader
    calls: CallColumns
    leaves: LeafColumns
    completeness: Completeness
    problems: tuple[Problem, ...] = ()
    tensor_folder: Path | None = None
    located: Located | None = None
    is_ordered: bool = True
    hierarchy: Construct | None = None
    operators: tuple[str, ...] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)

    def moved(self, move: Callable[[Path], Path]) -> Dump:
        """The same dump where another host names its folder otherwise."""
        return replace(
            self,
            path=move(self.path),
            tensor_folder=None if self.tensor_folder is None else move(self.tensor_folder),
            located=None if self.located is None else self.located.moved(move),
        )

    @property
    def tensor_dir(self) -> Path:
        """Always a sibling folder (the header's dump_data_dir may be stale or relative): `dump_tensor_data`,
        or `tensor_data` where only that is there, as captures of compiled graphs name it.
        """
        if self.tensor_folder is not None:
            return self.tensor_folder
        usual, other = self.path.parent / "dump_tensor_data", self.path.parent / "tensor_data"
        return other if os.path.isdir(other) and not os.path.isdir(usual) else usual

    def leaf_range(self, call: int) -> range:
        return range(int(self.calls.first_leaf[call]), int(self.calls.first_leaf[call + 1]))

    def leaf_name(self, row: int) -> str:
        """Full leaf name of a row, as the tool names it: its file without suffix where there is one.

        Keywords without a file are named as inputs ("E.input.dim"), with one "E.kwargs.mask".
        """
        leaves = self.leaves
        name = self.calls.names[int(leaves.call[row])]
        file = int(leaves.data_name[row])
        if file >= 0 and self.located is None:
            stem = leaves.data_names[file].rpartition(".")[0]
            if stem.startswith(name):  # a file with a shortened name says nothing
                return stem
        io = leaves.io_names[int(leaves.io[row])]
        side = int(leaves.side[row])
        if side == PARAMETERS:
            return f"{name}.{io}" if "." in io else name
        _, _, rest = io.partition(" ")
        if side in (GRAD, DEBUG):
            return f"{name}.{rest}" if rest else name
        word = "output" if side == OUTPUT else "input"
        return f"{name}.{word}.{rest}" if rest else f"{name}.{word}"

    def leaf(self, row: int) -> Leaf:
        """The record of one row."""
        t = self.leaves
        present = int(t.present[row])
        stats = [float(t.statistics[row, k]) if present >> k & 1 else None for k in range(4)]

        def pick(codes: npt.NDArray[Any], table: Sequence[Any]) -> Any:
            code = int(codes[row])
            return None if code < 0 else table[code]

        grad = int(t.requires_grad[row])
        return Leaf(
            name=self.leaf_name(row),
            side=SIDES[int(t.side[row])],
            io=t.io_names[int(t.io[row])],
            kind=KINDS[int(t.kind[row])],
            type=t.types[int(t.type[row])],
            dtype=pick(t.dtype, t.dtypes),
            shape=pick(t.shape, t.shapes),
            max=stats[0],
            min=stats[1],
            mean=stats[2],
            norm=stats[3],
            checksum=pick(t.checksum, t.checksums),
            data_name=pick(t.data_name, t.data_names),
            requires_grad=None if grad < 0 else bool(grad),
            value=pick(t.value, t.values),
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a Python call stack, innermost first in a stack. line is None where the text has none."""

    file: str
    line: int | None
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class Stacks:
    """stack.json: entry name -> frames; a backward call without frames has those of its forward."""

    groups: tuple[tuple[Frame, ...], ...]
    of_entry: dict[str, int]
    problems: tuple[Problem, ...] = ()

    def frames(self, entry: str) -> tuple[Frame, ...]:
        index = self.of_entry.get(entry)
        if index is None and "backward" in entry:
            index = self.of_entry.get("forward".join(entry.rsplit("backward", 1)))
        return () if index is None else self.groups[index]


@dataclass(frozen=True, slots=True)
class Construct:
    """construct.json: child entry -> parent entry (None at top level), in call-entry order."""

    parents: Mapping[str, str | None]
    micro_steps: dict[str, int]
    problems: tuple[Problem, ...] = ()
