"""Records of npulse as plain JSON and arrays, and back: what a result is kept as between two openings.

No pickle: a stored record names a dataclass of npulse and the values of its fields, and is put together
without running any code of it. What is no record (a function, an open file, an object of a plug-in) cannot be
kept, and then nothing of the whole is. Objects that occur twice are one object again.

A class that is no dataclass says how it is kept by `to_kept(self) -> tuple` and a class method
`from_kept(*values)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from math import prod
from pathlib import Path, PosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_VALUES = 2_000_000
"""Of a result that is kept: more would take longer to put together than they took to compute."""

_ROOT = "npulse."
_BLOCK = "block"
_ALIGNED = 16
_DTYPE = re.compile(r"[<>|=][?biufcSUMm]\d{1,6}(?:\[\w{1,8}\])?", re.ASCII)
_PLAIN = (str, bool, int, float, type(None))


class NotKept(Exception):
    """A value that has no place among what is kept. The message names it."""


def to_plain(value: Any) -> tuple[Any, dict[str, Array]]:
    """(what JSON can hold, one block of bytes by name) of a record. NotKept where a part of it is none."""
    writer = _Writer()
    try:
        tree = writer.plain(value)
    except RecursionError:
        raise NotKept("too deep") from None
    places, start = [], 0
    for array in writer.arrays:
        start = -(-start // _ALIGNED) * _ALIGNED
        places.append((array.dtype.str, array.shape, start))
        start += array.nbytes
    block = np.zeros(start, np.uint8)
    for array, (_, _, at) in zip(writer.arrays, places, strict=True):
        if array.nbytes:
            block[at : at + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return {"classes": writer.classes, "arrays": places, "tree": tree}, {_BLOCK: block}


def from_plain(facts: Any, arrays: Mapping[str, Array]) -> Any:
    """The record again. NotKept for what `to_plain` did not make, with the classes as they are now."""
    try:
        block = arrays[_BLOCK]
        if block.dtype != np.uint8 or block.ndim != 1:
            raise ValueError("no block of bytes")
        parts = [_part_of(block, *place) for place in facts["arrays"]]
        reader = _Reader([_class_of(*named) for named in facts["classes"]], parts)
        return reader.value(facts["tree"])
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ImportError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise NotKept(f"no record: {type(error).__name__}") from None


def _part_of(block: Array, dtype_text: str, shape: list[int], start: int) -> Array:
    if not _DTYPE.fullmatch(dtype_text):
        raise ValueError("no dtype that is kept")
    dtype = np.dtype(dtype_text)
    size = dtype.itemsize * prod(shape)
    if dtype.hasobject or min(shape, default=0) < 0 or start < 0 or start + size > len(block):
        raise ValueError("more than there is")
    return block[start : start + size].view(dtype).reshape(shape) if size else np.empty(shape, dtype)


class _Writer:
    """Lists are tagged by what stands first in them; all else stands for itself."""

    def __init__(self) -> None:
        self.classes: list[tuple[str, str, list[str]]] = []
        self.arrays: list[Array] = []
        self._class_numbers: dict[type, int] = {}
        self._numbers: dict[int, int] = {}
        self._begun: set[int] = set()
        self._held: list[Any] = []
        """Objects whose `id` is a key above: they may not be freed meanwhile."""
        self._n_values = 0

    def plain(self, value: Any) -> Any:
        kind = type(value)
        self._n_values += 1
        if self._n_values > MAX_VALUES:
            raise NotKept(f"more than {MAX_VALUES:,} values")
        if kind in _PLAIN:
            return value
        known = self._numbers.get(id(value))
        if known is not None:
            return ["r", known]
        if kind is tuple and not value:
            return ["t"]
        if id(value) in self._begun:
            raise NotKept(f"{kind.__name__} holds itself")
        self._begun.add(id(value))
        self._held.append(value)
        found = self._tagged(kind, value)
        # numbered when it is whole, in the order in which the reader has put them together
        self._numbers[id(value)] = len(self._numbers)
        return found

    def _tagged(self, kind: type, value: Any) -> list[Any]:
        if kind is tuple:
            return ["t", *map(self.plain, value)]
        if kind is list:
            return ["l", *map(self.plain, value)]
        if kind is dict:
            return ["d", *(self.plain(part) for pair in value.items() for part in pair)]
        if kind is set or kind is frozenset:
            return ["s" if kind is set else "f", *map(self.plain, value)]
        if kind is np.ndarray:
            if not _DTYPE.fullmatch(value.dtype.str):
                raise NotKept(f"an array of {value.dtype}")
            self.arrays.append(value)
            return ["a", len(self.arrays) - 1]
        if isinstance(value, np.generic):
            self.arrays.append(np.array(value))
            return ["n", len(self.arrays) - 1]
        if kind is type and issubclass(value, np.generic):
            return ["c", np.dtype(value).str]
        if kind is PosixPath:
            return ["p", str(value)]
        if kind is bytes or kind is bytearray:
            self.arrays.append(np.frombuffer(value, np.uint8))
            return ["b" if kind is bytes else "y", len(self.arrays) - 1]
        return self._record(kind, value)

    def _record(self, kind: type, value: Any) -> list[Any]:
        number = self._class_numbers.get(kind)
        if number is None:
            if not kind.__module__.startswith(_ROOT) or "<" in kind.__qualname__:
                raise NotKept(f"{kind.__module__}.{kind.__qualname__}")
            number = self._class_numbers[kind] = len(self.classes)
            self.classes.append((kind.__module__, kind.__qualname__, _names_of(kind)))
        names = self.classes[number][2]
        if hasattr(kind, "to_kept"):
            return ["o", number, *map(self.plain, value.to_kept())]
        if issubclass(kind, tuple):
            return ["o", number, *map(self.plain, value)]
        return ["o", number, *(self.plain(getattr(value, name)) for name in names)]


class _Reader:
    def __init__(self, makers: list[Callable[..., Any]], arrays: list[Array]) -> None:
        self._makers = makers
        self._arrays = arrays
        self._known: list[Any] = []

    def value(self, tree: Any) -> Any:
        if type(tree) is not list:
            if type(tree) not in _PLAIN:
                raise ValueError("an object of JSON")
            return tree
        tag = tree[0]
        if tag == "r":
            return self._known[tree[1]]
        if tag == "t" and len(tree) == 1:
            return ()
        made = self._made(tag, tree)
        self._known.append(made)
        return made

    def _made(self, tag: str, tree: list[Any]) -> Any:
        value = self.value
        if tag == "o":
            make = self._makers[tree[1]]
            return make(*[value(part) for part in tree[2:]])
        if tag == "a":
            return self._arrays[tree[1]]
        if tag == "c":
            if not _DTYPE.fullmatch(tree[1]):
                raise ValueError("no dtype that is kept")
            return np.dtype(tree[1]).type
        if tag == "p":
            return Path(tree[1])
        if tag in ("n", "b", "y"):
            array = self._arrays[tree[1]]
            if tag == "n":
                return array.reshape(())[()]
            return array.tobytes() if tag == "b" else bytearray(array.tobytes())
        parts = [value(part) for part in tree[1:]]
        if tag == "t":
            return tuple(parts)
        if tag == "l":
            return parts
        if tag == "d":
            return dict(zip(parts[::2], parts[1::2], strict=True))
        if tag == "s":
            return set(parts)
        if tag == "f":
            return frozenset(parts)
        raise ValueError(f"unknown tag {tag!r}")


def _names_of(kind: type) -> list[str]:
    """The fields of a record in order; () where it says itself how it is kept. NotKept for other classes."""
    if hasattr(kind, "to_kept"):
        return []
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    raise NotKept(f"{kind.__module__}.{kind.__qualname__}")


def _class_of(module: str, name: str, names: list[str]) -> Callable[..., Any]:
    """What puts a record of that class together. ValueError where it is none, or has other fields by now."""
    if not module.startswith(_ROOT) or not all(part.isidentifier() for part in module.split(".")):
        raise ValueError("no module of npulse")
    kind: Any = import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if not isinstance(kind, type) or kind.__module__ != module or _names_of(kind) != names:
        raise ValueError("another class by now")
    if hasattr(kind, "to_kept"):
        from_kept: Callable[..., Any] = kind.from_kept  # type: ignore[attr-defined]
        return from_kept
    return _maker(kind, names)


def _maker(kind: type, names: list[str]) -> Callable[..., Any]:
    if issubclass(kind, tuple):
        return kind
    put = object.__setattr__
    n = len(names)

    def make(*values: Any) -> Any:
        if len(values) != n:
            raise ValueError("another number of fields")
        made = object.__new__(kind)
        for name, value in zip(names, values, strict=True):
            put(made, name, value)
        return made

    return make
