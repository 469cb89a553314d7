"""Calls and leaves collected into columns: about 65 bytes a leaf, text stored once."""

from __future__ import annotations

import copy
import json
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from struct import Struct
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .records import NONE, OBJECT, SCALAR, STATISTICS, TENSOR, CallColumns, Dump, LeafColumns, Shape

MAX_LEAVES = 40_000_000
MAX_PATH_CHARS_IN_ALL = 64 << 20
_MAX_CODES = 2**15 - 2
_OTHER = "(other)"
_MAX_ENDINGS = 4096

_ROW = np.dtype(
    [
        ("call", "i4"),
        ("side", "i1"),
        ("kind", "i1"),
        ("io", "i4"),
        ("type", "i2"),
        ("dtype", "i2"),
        ("shape", "i4"),
        ("statistics", "f8", (len(STATISTICS),)),
        ("present", "u1"),
        ("checksum", "i4"),
        ("requires_grad", "i1"),
        ("data_name", "i4"),
        ("value", "i4"),
    ]
)
_pack_row = Struct("=ibbihhi4dBibii").pack
_FLUSH_BYTES = _ROW.itemsize << 14

# What all tensor records hold, picked out in one step; the others are asked for field by field.
_usual_fields = itemgetter("Max", "Min", "Mean", "Norm", "type", "dtype", "shape", "requires_grad")
_N_USUAL_FIELDS = 8

_NAN = float("nan")
_NO_NUMBERS = (_NAN, _NAN, _NAN, _NAN)
_ALL_PRESENT = 0b1111


class LimitError(Exception):
    """A file asks for more than the columns hold. The message says for what."""


class Texts(Sequence[str]):
    """Strings in one block of memory; each is made when it is asked for."""

    __slots__ = ("_block", "_ends")

    def __init__(self, block: bytearray, ends: npt.NDArray[np.int64]) -> None:
        self._block = block
        self._ends = ends  # n + 1 offsets

    def to_kept(self) -> tuple[Any, ...]:
        """What `from_kept` makes them of again (core/kept_records.py)."""
        return self._block, self._ends

    @classmethod
    def from_kept(cls, block: bytearray, ends: npt.NDArray[np.int64]) -> Texts:
        """The same strings again."""
        return cls(block, ends)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        n = len(self)
        if not -n <= index < n:
            raise IndexError(index)
        index %= n
        end_of = self._ends.item
        return self._block[end_of(index) : end_of(index + 1)].decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), 4096):
            ends = self._ends[start : start + 4097].tolist()
            for a, b in zip(ends, ends[1:], strict=False):
                yield self._block[a:b].decode()

    def is_same(self, other: Texts) -> bool:
        """Whether both hold the same texts in the same order."""
        return self is other or self._block == other._block and np.array_equal(self._ends, other._ends)


def are_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sequences hold the same texts in the same order; cheap for two of `Texts`."""
    if isinstance(one, Texts) and isinstance(other, Texts):
        return one.is_same(other)
    return len(one) == len(other) and all(a == b for a, b in zip(one, other, strict=True))


class FileNames(Sequence[str]):
    """Names of tensor files; nearly all are the name of their call and one of a few endings."""

    __slots__ = ("_call", "_calls", "_code", "_endings", "_others")

    def __init__(
        self,
        call: npt.NDArray[np.int32],
        code: npt.NDArray[np.int32],
        calls: Sequence[str],
        endings: list[str],
        others: Texts,
    ) -> None:
        self._call, self._code = call, code  # call -1: the name stands by itself in `others`
        self._calls, self._endings, self._others = calls, endings, others

    def to_kept(self) -> tuple[Any, ...]:
        """What `from_kept` makes them of again (core/kept_records.py)."""
        return self._call, self._code, self._calls, self._endings, self._others

    @classmethod
    def from_kept(cls, *values: Any) -> FileNames:
        """The same names again."""
        return cls(*values)

    def __len__(self) -> int:
        return len(self._call)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        call, code = int(self._call[index]), int(self._code[index])
        return self._others[code] if call < 0 else self._calls[call] + self._endings[code]

    def is_same(self, other: FileNames) -> bool:
        """Whether both hold the same names in the same order."""
        return (
            self._endings == other._endings
            and np.array_equal(self._call, other._call)
            and np.array_equal(self._code, other._code)
            and are_same(self._calls, other._calls)
            and self._others.is_same(other._others)
        )

    def with_calls(self, calls: Sequence[str]) -> FileNames:
        """The same, of calls that are named the same."""
        return FileNames(self._call, self._code, calls, self._endings, self._others)


class _FileBlock:
    def __init__(self) -> None:
        self.call, self.code = array("i"), array("i")
        self.endings: dict[str, int] = {}
        self.others = _TextBlock()

    def append(self, name: str, call: int, call_name: str) -> int:
        ending = clean_text(name[len(call_name) :]) if name.startswith(call_name) else None
        code = None if ending is None else self.endings.get(ending)
        if code is None and ending is not None and len(self.endings) < _MAX_ENDINGS:
            code = self.endings.setdefault(ending, len(self.endings))
        self.call.append(-1 if code is None else call)
        self.code.append(self.others.append(name) if code is None else code)
        return len(self.call) - 1

    def copy(self) -> _FileBlock:
        other = _FileBlock()
        other.call, other.code = self.call[:], self.code[:]
        other.endings, other.others = dict(self.endings), self.others.copy()
        return other

    def finish(self, calls: Texts) -> FileNames:
        call, code = _column(self.call, np.int32), _column(self.code, np.int32)
        return FileNames(call, code, calls, list(self.endings), self.others.finish())


class _TextBlock:
    def __init__(self) -> None:
        self.block = bytearray()
        self.ends = array("q", (0,))

    def append(self, text: str) -> int:
        self.block += clean_text(text).encode()
        self.ends.append(len(self.block))
        return len(self.ends) - 2

    def copy(self) -> _TextBlock:
        other = _TextBlock()
        other.block, other.ends = self.block[:], self.ends[:]
        return other

    def finish(self) -> Texts:
        self.block, self.ends = bytearray(self.block), self.ends[:]  # without the room to grow
        return Texts(self.block, _column(self.ends, np.int64))


class ColumnBuilder:
    """Takes calls, and leaves of the last call, one by one; `finish` gives the columns and ends it."""

    def __init__(self) -> None:
        self._names, self._files, self._name = _TextBlock(), _FileBlock(), ""
        self._byte, self._first_leaf, self._recompute = array("q"), array("q"), array("b")
        self._is_nan: dict[int, int] = {}
        # Rows are packed whole, which is quick, and now and then taken apart into columns, which are compact.
        self._rows = bytearray()
        self._columns = {name: bytearray() for name in _ROW.names or ()}
        self._n_leaves = 0
        self._ios: dict[str, int] = {}
        self._types: dict[str, int] = {}
        self._dtypes: dict[str, int] = {}
        self._shapes: dict[Shape, int] = {}
        self._checksums: dict[str, int] = {}
        self._value_codes: dict[str, int] = {}
        self._values: list[Any] = []
        self._io_chars = 0
        self.n_bad_shapes = self.n_text_statistics = self.n_lost_statistics = 0

    def add_call(self, name: str, byte: int, recompute: int) -> None:
        self._names.append(name)
        self._name = name
        self._byte.append(byte)
        self._first_leaf.append(self._n_leaves)
        self._recompute.append(recompute)

    def set_nan_flag(self, is_nan: bool | None) -> None:
        """What nan_check says of the last call; None where it does not know."""
        self._is_nan[len(self._byte) - 1] = -1 if is_nan is None else int(is_nan)

    def add_leaf(self, side: int, io: str, value: Any) -> None:
        """One leaf of the last call. `value`: its JSON value, a record or a bare value. Raises LimitError."""
        io_code = self._ios.get(io)
        if io_code is None:
            io_code = self._new_io(io)
        if self._n_leaves >= MAX_LEAVES:
            raise LimitError(f"more than {MAX_LEAVES:,} leaves")
        if type(value) is dict and ("shape" in value or _is_tensor(value)):
            self._add_tensor(side, io_code, value)
        elif value is None:
            self._add_plain(side, io_code, NONE, "None", None)
        else:
            self._add_plain(side, io_code, *_plain(value))
        self._n_leaves += 1
        if len(self._rows) >= _FLUSH_BYTES:
            self._flush()

    def types(self) -> list[str]:
        return list(self._types)

    def _new_io(self, io: str) -> int:
        self._io_chars += len(io)
        if self._io_chars > MAX_PATH_CHARS_IN_ALL:
            raise LimitError("the paths of its leaves are too long to be kept")
        return self._ios.setdefault(io, len(self._ios))

    def _add_tensor(self, side: int, io_code: int, record: dict[str, Any]) -> None:
        get = record.get
        try:
            high, low, mean, norm, kind, dtype, shape, requires_grad = _usual_fields(record)
        except KeyError:
            high, low, mean, norm = get("Max"), get("Min"), get("Mean"), get("Norm")
            kind, dtype, shape, requires_grad = get("type"), get("dtype"), get("shape"), get("requires_grad")
            checksum, file = get("md5"), get("data_name")
        else:
            is_more = len(record) > _N_USUAL_FIELDS
            checksum, file = (get("md5"), get("data_name")) if is_more else (None, None)
        present = _ALL_PRESENT
        if not type(high) is type(low) is type(mean) is type(norm) is float:
            raw = (high, low, mean, norm)
            (high, low, mean, norm), present = _numbers(raw)
            if str in map(type, raw):
                self._count_texts(raw, present)
        self._rows += _pack_row(
            len(self._byte) - 1,
            side,
            TENSOR,
            io_code,
            _code(self._types, kind),
            -1 if dtype is None else _code(self._dtypes, dtype),
            self._shape_code(shape),
            high,
            low,
            mean,
            norm,
            present,
            -1 if checksum is None else _code(self._checksums, checksum, 2**31 - 2),
            1 if requires_grad is True else 0 if requires_grad is False else -1,
            -1 if file is None else self._file_code(file),
            -1,
        )

    def _file_code(self, file: Any) -> int:
        if not isinstance(file, str) or not file:
            return -1
        return self._files.append(file, len(self._byte) - 1, self._name)

    def _count_texts(self, raw: Sequence[Any], present: int) -> None:
        for k, value in enumerate(raw):
            if type(value) is str and present >> k & 1:
                self.n_text_statistics += 1
            elif type(value) is str:
                self.n_lost_statistics += 1

    def _add_plain(self, side: int, io_code: int, kind: int, type_name: str, value: Any) -> None:
        type_code = _code(self._types, type_name)
        value_code = -1 if value is None else self._value_code(value)
        call = len(self._byte) - 1
        self._rows += _pack_row(
            call, side, kind, io_code, type_code, -1, -1, *_NO_NUMBERS, 0, -1, -1, -1, value_code
        )

    def _flush(self) -> None:
        rows = np.frombuffer(self._rows, _ROW)
        for name, column in self._columns.items():
            column += rows[name].tobytes()
        self._rows = bytearray()

    def _shape_code(self, shape: Any) -> int:
        if shape is None:
            return -1
        try:
            key = tuple(shape)
            return self._shapes[key]
        except KeyError:
            pass
        except TypeError:  # a number, or lists inside
            key = (None,)
        if _is_shape(key):
            return self._shapes.setdefault(key, len(self._shapes))
        self.n_bad_shapes += 1
        return -1

    def _value_code(self, value: Any) -> int:
        code = self._value_codes.setdefault(repr(value), len(self._values))
        if code == len(self._values):
            self._values.append(value)
        return code

    def so_far(self) -> tuple[CallColumns, LeafColumns]:
        """A copy of the columns; calls and leaves can still be added. Cost: the memory of the columns."""
        self._flush()
        other = copy.copy(self)
        other._names, other._files = self._names.copy(), self._files.copy()
        other._byte, other._first_leaf, other._recompute = (
            self._byte[:],
            self._first_leaf[:],
            self._recompute[:],
        )
        other._columns = {name: column[:] for name, column in self._columns.items()}
        other._values = list(self._values)
        return other.finish()

    def finish(self) -> tuple[CallColumns, LeafColumns]:
        self._flush()
        self._first_leaf.append(self._n_leaves)
        names = self._names.finish()
        calls = CallColumns(
            names=names,
            byte=_column(self._byte, np.int64),
            first_leaf=_column(self._first_leaf, np.int64),
            recompute=_column(self._recompute, np.int8),
            is_nan=self._nan_flags(),
        )
        columns = {name: _column(block, _ROW[name].base) for name, block in self._columns.items()}
        columns["statistics"] = columns["statistics"].reshape(-1, len(STATISTICS))
        leaves = LeafColumns(
            **columns,
            io_names=_clean_list(self._ios),
            types=_clean_list(self._types),
            dtypes=_clean_list(self._dtypes),
            shapes=list(self._shapes),
            checksums=_clean_list(self._checksums),
            data_names=self._files.finish(names),
            values=self._values,
        )
        return calls, leaves

    def _nan_flags(self) -> npt.NDArray[np.int8] | None:
        if not self._is_nan:
            return None
        flags = np.full(len(self._byte), -1, np.int8)
        flags[list(self._is_nan)] = list(self._is_nan.values())
        return flags


def sharing(dump: Dump, other: Dump) -> Dump:
    """A dump that holds the columns of the other one wherever its own are equal.

    The two sides of a comparison tell of the same calls, so most of what the second one holds is a copy.
    """

    def shared(own: Any, others: Any) -> Any:
        if isinstance(own, np.ndarray) and isinstance(others, np.ndarray) and own.dtype == others.dtype:
            is_equal = own.shape == others.shape and own.tobytes() == others.tobytes()
        elif isinstance(own, Texts):
            is_equal = are_same(own, others)
        elif isinstance(own, FileNames) and isinstance(others, FileNames):
            is_equal = own.is_same(others)
        else:
            is_equal = False
        return others if is_equal else own

    def columns(own: Any, others: Any) -> Any:
        fields = own.__dataclass_fields__
        return replace(own, **{name: shared(getattr(own, name), getattr(others, name)) for name in fields})

    calls = columns(dump.calls, other.calls)
    leaves = columns(dump.leaves, other.leaves)
    own_files = leaves.data_names if leaves.data_names is not other.leaves.data_names else None
    if calls.names is other.calls.names and isinstance(own_files, FileNames):
        leaves = replace(leaves, data_names=own_files.with_calls(calls.names))
    return replace(dump, calls=calls, leaves=leaves)


def clean_text(text: str) -> str:
    """Text that can be encoded: lone surrogates (broken UTF-8, broken escapes) become '?'."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _clean_list(texts: Iterable[str]) -> list[str]:
    return [clean_text(text) for text in texts]


def _column(items: array[Any] | bytearray, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    # no copy: the items keep the memory, and can no longer grow
    return np.frombuffer(memoryview(items).toreadonly(), dtype) if items else np.empty(0, dtype)


def _code(codes: dict[str, int], text: Any, limit: int = _MAX_CODES) -> int:
    if type(text) is not str:
        text = "" if text is None else repr(text)[:200]
    try:
        return codes[text]
    except KeyError:
        return codes.setdefault(text if len(codes) < limit else _OTHER, len(codes))


def _is_shape(key: tuple[Any, ...]) -> bool:
    """Whole sizes of a tensor that memory could hold: what follows from them must fit an int64."""
    if len(key) > 64 or not all(type(n) is int and n >= 0 for n in key):
        return False
    size: int = math.prod(n for n in key if n)
    return size < 2**63


def _is_tensor(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return "dtype" in record or isinstance(kind, str) and kind.endswith(("Tensor", "ndarray"))


def _numbers(raw: Sequence[Any]) -> tuple[tuple[float, ...], int]:
    numbers = [_number(value) for value in raw]
    present = sum(1 << k for k, number in enumerate(numbers) if number is not None)
    return tuple(_NAN if number is None else number for number in numbers), present


def _number(value: Any) -> float | None:
    """A statistic as float: bare or as text, booleans 1 and 0; None where there is none."""
    if isinstance(value, (float, int)) or isinstance(value, str) and len(value) <= 64:
        try:
            return float(value)
        except OverflowError:  # an integer beyond float's range
            return float("inf") if isinstance(value, int) and value > 0 else float("-inf")
        except ValueError:
            return None
    return None


def _plain(value: Any) -> tuple[int, str, Any]:
    """Kind, type and value of a leaf that is no tensor."""
    if not isinstance(value, dict):  # a bare value, or an empty list
        if isinstance(value, list):
            return OBJECT, "list", "[]"
        return SCALAR, type(value).__name__, _bare(value)
    kind = value.get("type", value.get("class_type", ""))
    inner = value.get("value")
    if "value" not in value:
        fields = {key: item for key, item in value.items() if key not in ("type", "class_type", "tensor")}
        return OBJECT, str(kind), _printed(fields)
    if isinstance(kind, str) and kind.endswith((".dtype", ".device")):
        return OBJECT, kind, inner if isinstance(inner, str) else _printed(inner)
    return SCALAR, str(kind), _bare(inner)


def _bare(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list) and not any(isinstance(item, (list, dict, str)) for item in value):
        return value
    return _printed(value) if isinstance(value, (list, dict)) else value


def _printed(value: Any) -> str:
    try:
        return clean_text(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "(nested too deeply)"
