"""Files of `torch.save` that hold more than one tensor: state dicts, optimizer states, whole checkpoints.

The pickle is read by the interpreter of `torchpickle`. A checkpoint also holds arguments, random states and
objects of classes that only its program knows: here those names mean nothing, calling them gives an empty
object, and what is set on it is kept only to look for tensors in it. Still nothing is imported or run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...files import shown_path
from ...findings import Problem
from ...text import safe_text
from .error import TensorError
from .layout import Extent, Layout, Shape, is_contiguous
from .open import TensorFile
from .safetensors import NamedTensor
from .source import Source, open_source
from .torchfile import (
    MAX_PICKLE_BYTES,
    is_torch_zip,
    layout_of,
    legacy_pickles,
    legacy_storages,
    zip_pickle,
    zip_storage,
)
from .torchpickle import STEPS, Global, Machine, PickleProblem, Storage, StoredTensor, Unpickled

MAX_CHECKPOINT_PICKLE_BYTES = 64 << 20
MAX_TENSORS = 1_000_000
MAX_VALUES = 100_000
MAX_DEPTH = 64
_MAX_TEXT = 200
_MAX_BITS = 256
_UNNAMED = ("_parameters", "_buffers", "_modules")
"""Attributes of a module that are no part of a parameter's name."""

Value = int | float | str | bool


class Opaque:
    """An object of a class that nobody asked for. state: what was set on it."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: Any = None


def _is_plain_int(value: Any) -> bool:
    """Whether it is an integer that can be written in digits, which takes long for thousands of them."""
    return type(value) is int and value.bit_length() <= _MAX_BITS


def _make_opaque(args: tuple[Any, ...]) -> Opaque:
    return Opaque()


class _CheckpointMachine(Machine):
    """As for one tensor, with names that mean nothing."""

    __slots__ = ()

    def push_global(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise TypeError
        self.push(self.known_globals.get(f"{module}.{name}") or Global("", call=_make_opaque))

    def reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, Global) or function.call is None or type(args) is not tuple:
            self.push(Opaque())
            return
        try:
            self.push(function.call(args))
        except (ValueError, IndexError, TypeError):
            self.push(Opaque())  # a tensor of a kind that cannot be read: sparse, quantised, conjugated

    def extend_list(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is list:
            self.stack[-1].extend(items)

    def update_dict(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is dict:
            pairs = zip(items[::2], items[1::2], strict=True)
            target.update((key, value) for key, value in pairs if type(key) is str or _is_plain_int(key))

    def build(self) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Opaque):
            self.stack[-1].state = state

    def new_object(self) -> None:
        self.stack.pop()
        self.stack.pop()
        self.push(Opaque())

    def make_dict(self) -> None:
        items = self.pop_marked()
        self.push({})
        self.update_dict(items)


def _pop_any(m: Machine) -> None:
    m.stack.pop()


def _bytes_of(m: Machine, n_length_bytes: int) -> None:
    m.take(m.number(n_length_bytes))  # of random states: nothing that is compared
    m.push(None)


_MORE_STEPS: dict[int, Callable[[Any], Any]] = {
    **STEPS,
    ord("b"): lambda m: m.build(),
    0x81: lambda m: m.new_object(),
    ord("0"): _pop_any,
    ord("1"): lambda m: m.pop_marked(),
    ord("2"): lambda m: m.push(m.stack[-1]),
    ord("B"): lambda m: _bytes_of(m, 4),
    ord("C"): lambda m: _bytes_of(m, 1),
    ord("T"): lambda m: _bytes_of(m, 4),
    ord("U"): lambda m: _bytes_of(m, 1),
    0x8E: lambda m: _bytes_of(m, 8),
    0x96: lambda m: _bytes_of(m, 8),
    0x8B: lambda m: m.push(m.number(m.number(4), signed=True)),
    0x8F: lambda m: m.push([]),
    0x90: lambda m: m.extend_list(m.pop_marked()),
    0x91: lambda m: m.push(m.pop_marked()),
    ord("l"): lambda m: m.push(m.pop_marked()),
    ord("d"): lambda m: m.make_dict(),
}


def _unpickle(buffer: bytes, start: int) -> Unpickled:
    machine = _CheckpointMachine(buffer, start, _MORE_STEPS)
    value = machine.run()
    return Unpickled(value, machine.storages, machine.at)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a file holds, in its order: tensors by their path ("model.layers.0.weight"), and plain values."""

    tensors: tuple[NamedTensor, ...]
    values: Mapping[str, Value]


def read_checkpoint(path: Path, *, root: Path, problems: list[Problem]) -> Checkpoint:
    """The tensors of a `torch.save` file of any content; costs its pickle, no element.

    A file of one tensor has one, named "". Problems: unreadable, cut-off (counted, with the first name),
    limit. Raises TensorError: refused, unreadable, cut-off, too-large, missing, outside-run.
    """
    with open_source(path, root) as source:
        value, place = _content(source)
        tensors: list[NamedTensor] = []
        values: dict[str, Value] = {}
        bad: dict[tuple[str, str], list[Any]] = {}
        for name, found in _walk(value):
            if not isinstance(found, StoredTensor):
                if len(values) < MAX_VALUES:
                    values[name] = found
                continue
            if len(tensors) >= MAX_TENSORS:
                problems.append(
                    Problem(shown_path(path, root), "limit", f"only {MAX_TENSORS:,} tensors were read")
                )
                break
            file = None
            try:
                file = _file(source, layout_of(source, found, place(found.storage.key)))
            except TensorError as error:
                bad.setdefault((error.kind, error.message), [0, name])[0] += 1
            tensors.append(NamedTensor(name, found.dtype.name, found.shape, file))
        for (kind, why), (n, name) in bad.items():
            message = f"{n:,} tensors: {why}, the first is {safe_text(name, 120)}"
            problems.append(Problem(shown_path(path, root), kind, message))
    return Checkpoint(tuple(tensors), values)


def _content(source: Source) -> tuple[Any, Callable[[str], Extent]]:
    """The pickled value, and a function that says where a storage lies."""
    try:
        if is_torch_zip(source):
            directory, prefix, buffer, _ = zip_pickle(source, MAX_CHECKPOINT_PICKLE_BYTES)
            value = _unpickle(buffer, 0).value
            return value, lambda key: zip_storage(source, directory, prefix, key)
        return _legacy_content(source)
    except PickleProblem as problem:
        kind = "cut-off" if problem.ended else problem.kind
        raise source.error(kind, problem.message, byte=problem.position) from problem


def _legacy_content(source: Source) -> tuple[Any, Callable[[str], Extent]]:
    n_bytes = MAX_PICKLE_BYTES
    while True:  # the pickles stand in front, nobody says how long they are
        buffer = source.read(0, min(source.size, n_bytes), "the pickles")
        try:
            content, keys = legacy_pickles(source, buffer, _unpickle)
            break
        except PickleProblem as problem:
            if not problem.ended or len(buffer) == source.size or n_bytes >= MAX_CHECKPOINT_PICKLE_BYTES:
                raise
            n_bytes *= 8
    storages: Mapping[str, Storage] = content.storages
    places = legacy_storages(source, keys, storages)

    def place(key: str) -> Extent:
        if key not in places:
            raise source.error("unreadable", "its storage is not in the file")
        return places[key]

    return content.value, place


def _file(source: Source, layout: Layout) -> TensorFile:
    assert layout.dtype is not None
    shape: Shape = layout.shape
    packed = is_contiguous(shape, layout.strides)
    dtype = layout.dtype
    return TensorFile(
        source.path,
        layout.offset,
        dtype,
        dtype,
        shape,
        layout.strides,
        packed,
        source.identity,
        deflated=layout.deflated,
    )


def _walk(value: Any) -> Iterator[tuple[str, StoredTensor | Value]]:
    """Tensors and plain values by path, in the order of the file; each container is entered once."""
    seen: set[int] = set()
    todo: list[tuple[str, Any, int]] = [("", value, 0)]
    while todo:
        name, item, depth = todo.pop()
        if isinstance(item, (StoredTensor, bool, float)) or _is_plain_int(item):
            yield name, item
        elif isinstance(item, int):
            yield name, hex(item)[:_MAX_TEXT]
        elif isinstance(item, str):
            yield name, item[:_MAX_TEXT]
        elif isinstance(item, Opaque) and item.state is not None:
            todo.append((name, item.state, depth))
            item.state = None  # once
        elif isinstance(item, (dict, list, tuple)) and depth < MAX_DEPTH and id(item) not in seen:
            seen.add(id(item))
            entries = item.items() if isinstance(item, dict) else enumerate(item)
            below = [(_joined(name, key), inner, depth + 1) for key, inner in entries]
            todo += reversed(below)


def _joined(name: str, key: str | int) -> str:
    if key in _UNNAMED:
        return name
    text = safe_text(str(key), _MAX_TEXT)
    return f"{name}.{text}" if name else text
