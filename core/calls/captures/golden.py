"""Golden tensors of an original graph (ONNX, TensorFlow, Caffe ...): one .npy an output, named by operator.

With the fusion rule of the compiled model they are arranged as its operators are: a fused operator's outputs
are those of the last original one in it, and its inputs are what the operators before it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import shown_path
from npulse.core.findings import Problem
from npulse.core.formats.cann.fusion_rule import CompiledOp, read_fusion_rule
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, Dump
from npulse.core.formats.tensors import TensorFile, open_tensor
from npulse.core.progress import IsCancelled, check

from .build import CaptureBuilder
from .cann import golden_files

MAX_INPUTS = 4096


@dataclass(frozen=True, slots=True)
class _Golden:
    """A golden tensor: its operator's name in a file, which output, when it was written."""

    op: str
    output: int
    time: int
    file: str


def read_golden(path: Path, root: Path, fusion_rule: Path | None, is_cancelled: IsCancelled) -> Dump:
    """The golden tensors of a folder, or one file. InputError where there are none.

    Without a fusion rule: each operator under its own name, outputs alone, in the order of their times.
    """
    folder = path if path.is_dir() else path.parent
    builder = CaptureBuilder(folder, root)
    found = [_Golden(*one) for one in golden_files(folder, root, builder.problems)]
    if folder != path:
        found = [one for one in found if one.file == path.name]
    if not found:
        raise InputError("holds no golden tensor: {operator}.{output}.{time}.npy", path=path)
    found.sort(key=lambda one: (one.time, one.op, one.output))
    ops = () if fusion_rule is None else read_fusion_rule(fusion_rule, builder.problems)
    _Arrangement(builder, found, is_cancelled).add(ops)
    times = {one.op: one.time for one in found}
    # written in one go, or copied: nothing says what ran first
    is_ordered = bool(ops) or len(set(times.values())) == len(times)
    return builder.dump(path, framework="golden", is_ordered=is_ordered)


class _Arrangement:
    """Golden tensors on their way into calls."""

    def __init__(self, builder: CaptureBuilder, found: list[_Golden], is_cancelled: IsCancelled) -> None:
        self.builder, self.is_cancelled = builder, is_cancelled
        self.found = found
        self.of = {(one.op, one.output): one for one in found}
        self.made: dict[tuple[str, int], _Golden] = {}
        self.used: set[tuple[str, int]] = set()

    def add(self, ops: tuple[CompiledOp, ...]) -> None:
        """The operators of the compiled graph as far as golden tensors are there, then what is left."""
        for op in ops:
            self._follow(op)
        for op in ops:
            check(self.is_cancelled)
            self._add_compiled(op)
        left: dict[str, list[_Golden]] = {}
        for one in self.found:
            if (one.op, one.output) not in self.used:
                left.setdefault(one.op, []).append(one)
        for name, outputs in left.items():
            check(self.is_cancelled)
            self.builder.call(name)
            for one in outputs:
                self._tensor(OUTPUT, f"output {one.output}", one)

    def _follow(self, op: CompiledOp) -> None:
        """Which golden tensor each output is; an operator that the compiler put in hands on its input."""
        for index, (origin, output) in enumerate(op.outputs):
            one = self.of.get((in_file(origin), output)) if origin else None
            if one is None and not origin and len(op.inputs) == 1:
                one = self.made.get(op.inputs[0])
            if one is not None:
                self.made[op.name, index] = one

    def _add_compiled(self, op: CompiledOp) -> None:
        outputs = [
            (index, self.of[in_file(origin), output])
            for index, (origin, output) in enumerate(op.outputs)
            if origin and (in_file(origin), output) in self.of
        ]
        if not outputs:
            return
        self.builder.call(in_file(op.name))
        for index, source in enumerate(op.inputs[:MAX_INPUTS]):
            if source in self.made:
                self._tensor(INPUT, f"input {index}", self.made[source])
        for index, one in outputs:
            self._tensor(OUTPUT, f"output {index}", one)
            self.used.add((one.op, one.output))

    def _tensor(self, side: int, io: str, one: _Golden) -> None:
        file: TensorFile | None = None
        path = self.builder.folder / one.file
        try:
            file = open_tensor(path, root=self.builder.root)
        except InputError as error:
            if side == OUTPUT:
                self.builder.problems.append(Problem.from_error(error, shown_path(path, self.builder.root)))
        self.builder.tensor(side, io, file, name=one.file)


def in_file(name: str) -> str:
    """An operator's name as it stands in file names."""
    return name.translate(_IN_FILE)


_IN_FILE = str.maketrans(dict.fromkeys(" ./\\", "_"))
