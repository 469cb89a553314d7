"""What `torch.save` pickled, read by a small interpreter of our own: nothing is imported or called.

A pickle is a program for a stack machine. A tensor needs about thirty of its opcodes and a dozen names;
each is known here by what it means, all others are refused, so no byte of a file can make code run.
Every opcode costs at least one byte and O(1) (or what it takes off the stack): time and memory are linear
in the length of the pickle, which the caller bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Literal

from npulse.core.dataclass import dataclass

from ...text import safe_text
from .dtypes import DTYPES, Dtype
from .layout import Shape

MAX_STEPS = 10_000_000
"""Every one may make an object of 64 bytes out of a byte; a tensor of a checkpoint takes about 35."""


class PickleProblem(Exception):
    """The pickle cannot be used. `position`: byte in the buffer; ended: the buffer was over too early."""

    def __init__(
        self,
        kind: Literal["refused", "unreadable", "too-large"],
        message: str,
        position: int,
        *,
        ended: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position
        self.ended = ended


@dataclass(frozen=True, slots=True)
class Global:
    """A name from a module, inert. `call` says what its use means; None: it cannot be called."""

    name: str
    dtype: Dtype | None = None
    call: Callable[[tuple[Any, ...]], Any] | None = None
    is_storage: bool = False


@dataclass(frozen=True, slots=True)
class Storage:
    """A run of elements that lies elsewhere in the file. dtype None: bytes, the tensor says what they are."""

    key: str
    dtype: Dtype | None
    n_elements: int
    first_element: int = 0

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as a view of a storage; offset and strides in elements of `dtype`."""

    storage: Storage
    dtype: Dtype
    offset: int
    shape: Shape
    strides: Shape


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _tensor(args: tuple[Any, ...], dtype: Dtype | None, metadata: Any) -> StoredTensor:
    storage, offset, shape, strides = args[:4]
    if not isinstance(storage, Storage) or dtype is None:
        raise ValueError("a tensor without a typed storage")
    if not (type(shape) is tuple and type(strides) is tuple and len(shape) == len(strides)):
        raise ValueError("shape and strides do not fit each other")
    if not all(map(_is_count, (offset, *shape, *strides))):
        raise ValueError("an offset, length or stride that is no count")
    if type(metadata) is dict and (metadata.get("conj") or metadata.get("neg")):
        # the stored elements are not yet conjugated or negated: they would be read as wrong values
        raise ValueError("a conjugated or negated view; save tensor.resolve_conj().resolve_neg()")
    return StoredTensor(storage, dtype, offset, shape, strides)


def _rebuild_v2(args: tuple[Any, ...]) -> StoredTensor:
    metadata = args[6] if len(args) > 6 else None
    return _tensor(args, args[0].dtype if isinstance(args[0], Storage) else None, metadata)


def _rebuild_npu(args: tuple[Any, ...]) -> StoredTensor:
    # argument 6 is the format the tensor had on the device; its elements were saved in plain order
    return _rebuild_v2(args[:6])


def _rebuild_v3(args: tuple[Any, ...]) -> StoredTensor:
    dtype = args[6].dtype if isinstance(args[6], Global) else None
    return _tensor(args, dtype, args[7] if len(args) > 7 else None)


def _first_argument(args: tuple[Any, ...]) -> Any:
    return args[0]


def _rebuild_from_type(args: tuple[Any, ...]) -> Any:
    function, _type, inner = args[:3]
    if not isinstance(function, Global) or type(inner) is not tuple:
        raise ValueError("a tensor subclass that is not a plain tensor inside")
    if function.call is None or function.call is _rebuild_from_type:  # the latter could nest without end
        raise ValueError("a tensor subclass that is not a plain tensor inside")
    return function.call(inner)


def _empty_dict(args: tuple[Any, ...]) -> dict[Any, Any]:
    if args:
        raise ValueError("a filled OrderedDict in one call")
    return {}


def _nothing(args: tuple[Any, ...]) -> None:
    return None


_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
}
_UNTYPED = ("torch.UntypedStorage", "torch.storage.UntypedStorage", "torch.storage._UntypedStorage")
_CALLS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "torch._utils._rebuild_tensor": _rebuild_v2,
    "torch._utils._rebuild_tensor_v2": _rebuild_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_v3,
    "torch._utils._rebuild_parameter": _first_argument,
    "torch._utils._rebuild_parameter_with_state": _first_argument,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch_npu.utils.storage._rebuild_npu_tensor": _rebuild_npu,
    "torch_npu.npu._format.Format": _nothing,
    "torch.Size": _first_argument,
    "torch.device": _nothing,
    "collections.OrderedDict": _empty_dict,
}


def _known_globals() -> dict[str, Global]:
    known = [Global(name, call=call) for name, call in _CALLS.items()]
    known += [Global(f"torch.{name}", DTYPES[of], is_storage=True) for name, of in _STORAGES.items()]
    known += [Global(name, is_storage=True) for name in _UNTYPED]
    known += [Global(f"torch.{name}", dtype) for name, dtype in DTYPES.items()]
    known += [Global("torch.Tensor"), Global("torch.nn.parameter.Parameter")]
    return {item.name: item for item in known}


_GLOBALS = _known_globals()


class Machine:
    """The stack machine. `stack` above the last mark is the current level, as in the pickle protocol."""

    __slots__ = ("_steps", "at", "buffer", "marks", "memo", "stack", "storages")

    known_globals = _GLOBALS
    max_steps = MAX_STEPS

    def __init__(
        self, buffer: bytes, start: int, steps: Mapping[int, Callable[[Any], Any]] | None = None
    ) -> None:
        self.buffer = buffer
        self._steps = STEPS if steps is None else steps
        self.at = start
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}

    def run(self) -> Any:
        """The pickled value; `at` is then the byte after the pickle."""
        start, left = self.at, self.max_steps
        try:
            while (opcode := self.number(1)) != _STOP:
                left -= 1
                if left < 0:
                    message = f"more than {self.max_steps:,} steps of a pickle, no tensors need as many"
                    raise PickleProblem("too-large", message, start)
                step = self._steps.get(opcode)
                if step is None:
                    raise PickleProblem("refused", f"pickle opcode 0x{opcode:02x} is not allowed", start)
                step(self)
                start = self.at
            return self.stack.pop()
        except ValueError as error:
            raise PickleProblem("unreadable", safe_text(str(error), 200), start) from error
        except (IndexError, KeyError, TypeError) as error:
            raise PickleProblem("unreadable", "a broken pickle", start) from error

    # -- reading arguments ------------------------------------------------------------------------

    def take(self, n_bytes: int) -> bytes:
        end = self.at + n_bytes
        if end > len(self.buffer):
            raise PickleProblem("unreadable", "the pickle ends early", len(self.buffer), ended=True)
        block = self.buffer[self.at : end]
        self.at = end
        return block

    def number(self, n_bytes: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(n_bytes), "little", signed=signed)

    def line(self) -> str:
        end = self.buffer.find(b"\n", self.at)
        if end < 0:
            raise PickleProblem("unreadable", "the pickle ends early", len(self.buffer), ended=True)
        text = self.buffer[self.at : end].decode()
        self.at = end + 1
        return text

    # -- the stack --------------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop_marked(self) -> list[Any]:
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def pop_tuple(self, n: int) -> None:
        if len(self.stack) < n:
            raise IndexError
        self.stack[-n:] = [tuple(self.stack[-n:])]

    def extend_list(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise TypeError
        target.extend(items)

    def update_dict(self, items: list[Any]) -> None:
        target = self.stack[-1]
        # keys of nested tuples would be hashed element by element, which can take for ever
        if type(target) is not dict or not all(type(key) in (str, int) for key in items[::2]):
            raise TypeError
        target.update(zip(items[::2], items[1::2], strict=True))

    # -- names, calls, storages -------------------------------------------------------------------

    def push_global(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise TypeError
        known = _GLOBALS.get(f"{module}.{name}")
        if known is None:
            asked = safe_text(f"{module}.{name}", 120)
            raise PickleProblem("refused", f"the pickle names {asked}, which no tensor needs", self.at)
        self.push(known)

    def push_named(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.push_global(module, name)

    def reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, Global) or function.call is None or type(args) is not tuple:
            raise PickleProblem("refused", "the pickle calls what cannot be called", self.at)
        self.push(function.call(args))

    def push_storage(self) -> None:
        """BINPERSID: ('storage', class, key, location, n_elements[, view of an older format])."""
        word, cls, key, _location, n_elements, *rest = self.stack.pop()
        if word != "storage" or not isinstance(cls, Global) or not cls.is_storage:
            raise ValueError("a reference to something that is no storage")
        if type(key) is not str or not _is_count(n_elements):
            raise ValueError("a storage without key or length")
        whole = Storage(key, cls.dtype, n_elements)
        if self.storages.setdefault(key, whole) != whole:
            raise ValueError("one storage with two types")
        if rest and rest[0] is not None:
            _view_key, first, n_viewed = rest[0]
            if not _is_count(first) or not _is_count(n_viewed) or first + n_viewed > n_elements:
                raise ValueError("a view that is larger than its storage")
            whole = Storage(key, cls.dtype, n_viewed, first)
        self.push(whole)


def _memoize(m: Machine, index: int) -> None:
    m.memo[index] = m.stack[-1]


_STOP = ord(".")
STEPS: dict[int, Callable[[Any], Any]] = {
    0x80: lambda m: m.take(1),  # PROTO
    0x95: lambda m: m.take(8),  # FRAME
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.number(1)),
    ord("M"): lambda m: m.push(m.number(2)),
    ord("J"): lambda m: m.push(m.number(4, signed=True)),
    0x8A: lambda m: m.push(m.number(m.number(1), signed=True)),
    ord("G"): lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    ord("X"): lambda m: m.push(m.take(m.number(4)).decode()),
    0x8C: lambda m: m.push(m.take(m.number(1)).decode()),
    ord("("): lambda m: m.marks.append(len(m.stack)),
    ord(")"): lambda m: m.push(()),
    ord("t"): lambda m: m.push(tuple(m.pop_marked())),
    0x85: lambda m: m.pop_tuple(1),
    0x86: lambda m: m.pop_tuple(2),
    0x87: lambda m: m.pop_tuple(3),
    ord("]"): lambda m: m.push([]),
    ord("a"): lambda m: m.extend_list([m.stack.pop()]),
    ord("e"): lambda m: m.extend_list(m.pop_marked()),
    ord("}"): lambda m: m.push({}),
    ord("s"): lambda m: m.update_dict([m.stack.pop(-2), m.stack.pop()]),
    ord("u"): lambda m: m.update_dict(m.pop_marked()),
    ord("q"): lambda m: _memoize(m, m.number(1)),
    ord("r"): lambda m: _memoize(m, m.number(4)),
    0x94: lambda m: _memoize(m, len(m.memo)),
    ord("h"): lambda m: m.push(m.memo[m.number(1)]),
    ord("j"): lambda m: m.push(m.memo[m.number(4)]),
    ord("c"): lambda m: m.push_global(m.line(), m.line()),
    0x93: lambda m: m.push_named(),
    ord("R"): lambda m: m.reduce(),
    ord("Q"): lambda m: m.push_storage(),
    ord("b"): lambda m: m.stack.pop(),  # BUILD: attributes of a container or tensor, of no use here
}


@dataclass(frozen=True, slots=True)
class Unpickled:
    """The value, the storages it refers to by key, and the byte after the pickle."""

    value: Any
    storages: dict[str, Storage]
    end: int


def unpickle(buffer: bytes, start: int = 0) -> Unpickled:
    """The pickle that begins at `start`: numbers, text, lists, dicts, StoredTensor. Raises PickleProblem."""
    machine = Machine(buffer, start)
    value = machine.run()
    return Unpickled(value, machine.storages, machine.at)
