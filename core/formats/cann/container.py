"""The binary dump of one operator call: a protobuf message, and the bytes of all its tensors behind it.

    byte 0       length N of the message, 8 bytes
    byte 8       the message: name, time, the record of each tensor
    byte 8 + N   inputs, then outputs, then buffers and workspaces, each of exactly its `size` bytes

The oldest dumps are the message alone, with the bytes of each tensor inside its record. Only the message is
read here; elements are read from where they lie (`tensor_file`), so a dump of any size costs a few reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from ...files import shown_path
from ...findings import Problem
from ..json_window import Notes
from ..tensors.dtypes import Dtype
from ..tensors.error import TensorError
from ..tensors.layout import MAX_DIMENSIONS, row_major_strides
from ..tensors.open import TensorFile
from ..tensors.source import Source, open_source, reopen
from .enums import data_type_name, dtype_of_data_type, format_name
from .wire import Span, WireError, fields, text_of, varints

Io = Literal["input", "output"]

MAX_MESSAGE_BYTES = 8 << 20
MAX_BARE_BYTES = 16 << 20
"""Of a dump of the oldest kind, which holds its tensors inside the message."""
MAX_TENSORS = 65_536
"""Inputs, outputs, buffers and workspaces of one operator call, together."""

_LENGTH_BYTES = 8
_IMPLAUSIBLE_LENGTH = 1 << 30  # a length field beyond it is none
_NANO_MAGIC = b"\x5a\x5a\x5a\x5a"
_VERSION_TAG = b"\x0a"  # how every message begins

# Field numbers of the message and of the records in it.
_VERSION, _DUMP_TIME, _OUTPUT, _INPUT, _BUFFER, _OP_NAME, _SPACE, _DFX_MESSAGE = 1, 2, 3, 4, 5, 6, 8, 9
_DATA_TYPE, _FORMAT, _SHAPE, _DIM = 1, 2, 3, 1


@dataclass(frozen=True, slots=True)
class _Places:
    """Field numbers that differ between the records of inputs, outputs and blocks without elements."""

    data: int
    size: int
    original_shape: int = 0
    sub_format: int = 0


_PLACES = {
    _INPUT: _Places(data=4, size=5, original_shape=6, sub_format=7),
    _OUTPUT: _Places(data=5, size=6, original_shape=7, sub_format=8),
    _BUFFER: _Places(data=2, size=3),
    _SPACE: _Places(data=2, size=3),
}


@dataclass(frozen=True, slots=True)
class CannTensor:
    """One input or output as the dump records it; `index` counts each side from 0.

    data_type, format: the dump's names ("FLOAT16", "FRACTAL_NZ"). dtype: how elements are stored, None where
    they are not decoded (see `dtype_of_data_type`). sub_format: groups of a FRACTAL_Z weight. shape: as
    stored on the device, () without axes; original_shape: in the framework. A length of -1 is "not known".
    offset: of its bytes in the file. size_bytes: of those, often rounded up to 32; 0 where nothing was
    stored. is_truncated: the file ends before them.
    """

    io: Io
    index: int
    data_type: str
    dtype: Dtype | None
    format: str
    sub_format: int
    shape: tuple[int, ...]
    original_shape: tuple[int, ...]
    offset: int
    size_bytes: int
    is_truncated: bool

    @property
    def element_bytes(self) -> int | None:
        """What the elements need, without the padding; a tensor without axes has one. None: not known."""
        if self.dtype is None or min(self.shape, default=1) < 0:
            return None
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class CannDump:
    """One operator call: inputs first, then outputs, as their bytes follow in the file.

    version: "2.0"; "1.0" or the like for the oldest kind. dump_time: microseconds or milliseconds since the
    epoch, None where it was not set. op_name: as in the graph, with its slashes. dfx_message: what an
    exception dump says about the fault. file_bytes, identity: of the file as it was read. n_l1_buffers:
    images of on-chip memory behind the tensors.
    """

    path: Path
    version: str
    dump_time: int | None
    op_name: str
    dfx_message: str
    tensors: tuple[CannTensor, ...]
    file_bytes: int
    identity: tuple[int, int] = field(repr=False, compare=False)
    problems: tuple[Problem, ...] = ()
    n_l1_buffers: int = 0

    def side(self, io: Io) -> tuple[CannTensor, ...]:
        """All inputs or all outputs."""
        return tuple(tensor for tensor in self.tensors if tensor.io == io)


def read_container(path: Path, *, root: Path) -> CannDump:
    """The dump in `path`; costs the message, none of the tensors.

    Problems: cut-off (tensors, buffers or workspaces behind the end of the file; byte: that end), shape
    (a record whose shape and size disagree; byte: of its bytes). Raises TensorError with the byte:
    cut-off (ends inside the message), unreadable (no dump, damaged, or a variant that is recognised and not
    read), too-large, missing, outside-run.
    """
    with open_source(path, root) as source:
        message, first_byte = _message(source)
        try:
            parsed = _Parsed(message)
        except WireError as error:
            why = f"the record of the dump is damaged: {error}"
            raise source.error("unreadable", why, byte=first_byte + error.at) from error
        if parsed.is_empty:
            raise source.error("unreadable", "not a dump of CANN: it names no operator and no tensor", byte=0)
        problems: list[Problem] = []
        tensors, end = _placed(parsed, source.size, has_bytes_inside=first_byte == 0)
        notes = Notes(shown_path(path, root), problems)
        for tensor in tensors:
            _note_faults(notes, tensor, source.size)
        if end > source.size and not any(tensor.is_truncated for tensor in tensors):
            why = f"the file ends after {source.size:,} bytes, its buffers and workspaces at {end:,}"
            notes.add("cut-off", why, source.size)
        notes.close()
        return CannDump(
            path=path,
            version=parsed.version,
            dump_time=parsed.dump_time or None,
            op_name=parsed.op_name,
            dfx_message=parsed.dfx_message,
            tensors=tensors,
            file_bytes=source.size,
            identity=source.identity,
            problems=tuple(problems),
            n_l1_buffers=len(parsed.records[_BUFFER]),
        )


def tensor_file(dump: CannDump, tensor: CannTensor) -> TensorFile | None:
    """The elements of one tensor, in stored order and stored shape; nothing of them is read yet.

    A tensor without axes has shape (1,). None where its data type is not decoded (HIFLOAT8, INT4, STRING
    ...; `tensor.data_type` names it, `raw_bytes` shows it) and where the dump stored nothing of it.
    Raises TensorError: cut-off (byte: the end of the file), shape.
    """
    if tensor.dtype is None or (tensor.size_bytes == 0 and tensor.element_bytes != 0):
        return None
    fault = _shape_fault(tensor)
    if fault is not None:
        raise TensorError("shape", fault, path=dump.path, byte=tensor.offset)
    if tensor.element_bytes is not None and tensor.offset + tensor.element_bytes > dump.file_bytes:
        message = _cut_off(tensor, dump.file_bytes)
        raise TensorError("cut-off", message, path=dump.path, byte=dump.file_bytes)
    shape = tensor.shape or (1,)
    return TensorFile(
        path=dump.path,
        offset=tensor.offset,
        dtype=tensor.dtype,
        declared=tensor.dtype,
        shape=shape,
        strides=row_major_strides(shape),
        is_contiguous=True,
        identity=dump.identity,
    )


def raw_bytes(dump: CannDump, tensor: CannTensor, most: int) -> bytes:
    """The first bytes of a tensor as stored, at most `most`, and as many as the file still has.

    Raises TensorError: unreadable (replaced meanwhile), missing, cut-off (shortened meanwhile).
    """
    n_bytes = max(0, min(most, tensor.size_bytes, dump.file_bytes - tensor.offset))
    with reopen(dump.path, dump.identity) as source:
        return source.read(tensor.offset, n_bytes, "the tensor") if n_bytes else b""


def _message(source: Source) -> tuple[bytes, int]:
    """The message and its first byte: 8 behind a length, 0 of the oldest kind."""
    if source.size <= _LENGTH_BYTES:
        message = f"the file ends after {source.size} bytes, before the record of the dump"
        raise source.error("cut-off", message, byte=source.size)
    head = source.read(0, min(source.size, 12), "the header")
    length = int.from_bytes(head[:_LENGTH_BYTES], "little")
    if _NANO_MAGIC in (head[:4], head[8:12]):
        raise _unsupported(source, "a dump of the Nano form")
    if length <= source.size - _LENGTH_BYTES:
        if head[8:9] == b"{":
            raise _unsupported(source, "a dump with a JSON header")
        if length > MAX_MESSAGE_BYTES:
            message = f"the record of the dump has {length:,} bytes, at most {MAX_MESSAGE_BYTES:,} are read"
            raise source.error("too-large", message, byte=0)
        return source.read(_LENGTH_BYTES, length, "the record of the dump"), _LENGTH_BYTES
    if length < _IMPLAUSIBLE_LENGTH:
        source.need(_LENGTH_BYTES, length, "the record of the dump")  # raises cut-off
    if head[:1] != _VERSION_TAG:
        raise source.error("unreadable", "not a dump of CANN: no length of a record at its start", byte=0)
    if source.size > MAX_BARE_BYTES:
        message = f"a dump of the oldest kind, at most {MAX_BARE_BYTES:,} bytes of it are read"
        raise source.error("too-large", message, byte=0)
    return source.read(0, source.size, "the dump"), 0


def _unsupported(source: Source, what: str) -> TensorError:
    hint = "convert it with msaccucmp.py convert -d FILE -out DIR, and open the folder of the result"
    return source.error("unreadable", f"{what}: recognised, not supported", byte=_LENGTH_BYTES, hint=hint)


@dataclass(slots=True)
class _Record:
    """What the message says of one tensor or block."""

    data_type: int = 0
    format: int = 0
    sub_format: int = 0
    size: int = 0
    data: Span = (0, 0)
    shape: tuple[int, ...] = ()
    original_shape: tuple[int, ...] = ()


class _Parsed:
    """The message, taken apart. Raises WireError."""

    def __init__(self, message: bytes) -> None:
        self.version = self.op_name = self.dfx_message = ""
        self.dump_time = 0
        self.records: dict[int, list[_Record]] = {_INPUT: [], _OUTPUT: [], _BUFFER: [], _SPACE: []}
        self.n_bytes = len(message)
        n_records = 0
        for number, content in fields(message, (0, self.n_bytes)):
            if isinstance(content, int):
                if number == _DUMP_TIME:
                    self.dump_time = content
            elif number in _PLACES:
                n_records += 1
                if n_records > MAX_TENSORS:
                    raise WireError(f"more than {MAX_TENSORS:,} tensors", content[0])
                self.records[number].append(_record(message, content, _PLACES[number]))
            elif number == _VERSION:
                self.version = text_of(message, content)
            elif number == _OP_NAME:
                self.op_name = text_of(message, content)
            elif number == _DFX_MESSAGE:
                self.dfx_message = text_of(message, content)

    @property
    def is_empty(self) -> bool:
        return not (self.version or self.op_name or self.records[_INPUT] or self.records[_OUTPUT])


def _record(message: bytes, span: Span, places: _Places) -> _Record:
    """A tensor's record, or a block's: one without data type, format and shape."""
    record = _Record()
    for number, content in fields(message, span):
        if isinstance(content, int):
            if number == places.size:
                record.size = content
            elif number == places.sub_format:
                record.sub_format = content
            elif places.original_shape and number == _DATA_TYPE:
                record.data_type = content
            elif places.original_shape and number == _FORMAT:
                record.format = content
        elif number == places.data:
            record.data = content
        elif places.original_shape and number == _SHAPE:
            record.shape = tuple(_lengths(message, content))
        elif number == places.original_shape:
            record.original_shape = tuple(_lengths(message, content))
    return record


def _lengths(message: bytes, span: Span) -> Iterator[int]:
    """The axes of a Shape, packed or one by one; -1 is written as the largest number."""
    n_axes = 0
    for number, content in fields(message, span):
        if number != _DIM:
            continue
        for length in (content,) if isinstance(content, int) else varints(message, content):
            n_axes += 1
            if n_axes > MAX_DIMENSIONS:
                raise WireError(f"a tensor of more than {MAX_DIMENSIONS} dimensions", span[0])
            yield length if length < 1 << 63 else length - (1 << 64)


def _placed(parsed: _Parsed, file_bytes: int, has_bytes_inside: bool) -> tuple[tuple[CannTensor, ...], int]:
    """The tensors, each with where its bytes lie; and the byte behind the last block."""
    tensors = []
    at = parsed.n_bytes + _LENGTH_BYTES
    sides: tuple[tuple[Io, int], ...] = (("input", _INPUT), ("output", _OUTPUT))
    for io, number in sides:
        for index, record in enumerate(parsed.records[number]):
            offset, size = at, record.size
            if has_bytes_inside:
                offset, size = record.data[0], record.data[1] - record.data[0]
            data_type = data_type_name(record.data_type)
            tensors.append(
                CannTensor(
                    io=io,
                    index=index,
                    data_type=data_type,
                    dtype=dtype_of_data_type(data_type),
                    format=format_name(record.format),
                    sub_format=record.sub_format,
                    shape=record.shape,
                    original_shape=record.original_shape,
                    offset=offset,
                    size_bytes=size,
                    is_truncated=offset + size > file_bytes,
                )
            )
            at += record.size
    blocks = (*parsed.records[_BUFFER], *parsed.records[_SPACE])
    return tuple(tensors), 0 if has_bytes_inside else at + sum(block.size for block in blocks)


def _note_faults(notes: Notes, tensor: CannTensor, file_bytes: int) -> None:
    if tensor.is_truncated:
        notes.add("cut-off", _cut_off(tensor, file_bytes), file_bytes)
    fault = _shape_fault(tensor) if tensor.size_bytes else None
    if fault is not None:
        notes.add("shape", fault, tensor.offset)


def _cut_off(tensor: CannTensor, file_bytes: int) -> str:
    end = tensor.offset + tensor.size_bytes
    return f"{tensor.io} {tensor.index}: the file ends after {file_bytes:,} bytes, the tensor ends at {end:,}"


def _shape_fault(tensor: CannTensor) -> str | None:
    """Why elements of the recorded shape cannot be in the tensor's bytes; None if they can."""
    if tensor.dtype is None:
        return None
    name = f"{tensor.io} {tensor.index}"
    if tensor.element_bytes is None:
        return f"{name}: shape {list(tensor.shape)} has a length that was not known"
    if math.prod(length for length in tensor.shape if length) * tensor.dtype.itemsize >= 1 << 62:
        return f"{name}: shape {list(tensor.shape)} is larger than any memory"
    if tensor.element_bytes > tensor.size_bytes:
        return (
            f"{name}: {tensor.data_type} of shape {list(tensor.shape)} needs {tensor.element_bytes:,} bytes, "
            f"the dump stored {tensor.size_bytes:,}"
        )
    return None
