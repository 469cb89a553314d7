"""Files of safetensors: a length, a JSON header that names every tensor with its place, then their bytes.

Only the header is read. A place outside of the file, of the wrong length, or in another tensor's bytes makes
that tensor unreadable, not the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import read_input, shown_path
from ...findings import Problem
from ...text import safe_text
from .dtypes import Dtype, dtype_of
from .layout import MAX_DIMENSIONS, Shape, row_major_strides
from .open import TensorFile
from .source import Source, open_source

MAX_HEADER_BYTES = 32 << 20
MAX_INDEX_BYTES = 32 << 20
MAX_SHARDS = 4096
_LENGTH_BYTES = 8
_METADATA = "__metadata__"

_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"},
    **{"F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "C64": "complex64"},
    **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """One tensor of a file that holds several. file: None where its elements cannot be read; dtype, shape: as
    the file says, None where it does not."""

    name: str
    dtype: str | None
    shape: Shape | None
    file: TensorFile | None


def read_safetensors(path: Path, *, root: Path, problems: list[Problem]) -> tuple[NamedTensor, ...]:
    """The tensors of a file in the order of their bytes; costs its header.

    Problems: shape, cut-off, bad-record (counted, with the first name). Raises TensorError: cut-off,
    unreadable, too-large, missing, outside-run.
    """
    with open_source(path, root) as source:
        header, first_byte = _header(source)
        found: list[tuple[int, NamedTensor]] = []
        bad: dict[tuple[str, str], list[Any]] = {}
        for name, record in header.items():
            if name == _METADATA:
                continue
            start, end, tensor, fault = _tensor(source, name, record, first_byte)
            if fault is not None:
                bad.setdefault(fault, [0, name])[0] += 1
            found.append((start, tensor))
            if fault is None and end > source.size:
                bad.setdefault(("cut-off", "the file ends before it"), [0, name])[0] += 1
        found.sort(key=lambda item: item[0])
        tensors = tuple(_without_overlaps(found, bad))
        where = shown_path(path, root)
        for (kind, why), (n, name) in bad.items():
            problems.append(
                Problem(where, kind, f"{n:,} tensors: {why}, the first is {safe_text(name, 120)}")
            )
    return tensors


def read_index(path: Path, *, root: Path) -> dict[str, tuple[str, ...]]:
    """The files of a sharded checkpoint, model.safetensors.index.json (or that of .bin), in their order, each
    with the names of the tensors that lie in it.

    Only names of files beside the index are taken. Raises InputError.
    """
    try:
        value = json.loads(read_input(path, MAX_INDEX_BYTES, "an index of shards", root=root))
    except (ValueError, RecursionError) as error:
        raise InputError("is no JSON that can be read", path=path) from error
    places = value.get("weight_map") if isinstance(value, dict) else None
    if not isinstance(places, dict):
        raise InputError("is no index of shards: it has no weight_map", path=path)
    shards: dict[str, list[str]] = {}
    for tensor, file in places.items():
        if isinstance(file, str):
            shards.setdefault(file, []).append(tensor)
    names = sorted(shards)
    if len(names) > MAX_SHARDS:
        raise InputError(f"names {len(names):,} files, at most {MAX_SHARDS:,} are read", path=path)
    for name in names:
        if not name or "/" in name or "\\" in name or "\0" in name or name in (".", ".."):
            raise InputError(f"names a file outside of its folder: {safe_text(name, 80)}", path=path)
    return {name: tuple(shards[name]) for name in names}


class _TwiceError(ValueError):
    """A name stands twice in the header: which of the two is meant cannot be known."""


def _header(source: Source) -> tuple[dict[str, Any], int]:
    """The header and the byte behind it."""
    if source.size < _LENGTH_BYTES:
        raise source.error("cut-off", f"the file ends after {source.size} bytes", byte=source.size)
    length = int.from_bytes(source.read(0, _LENGTH_BYTES, "the length of the header"), "little")
    if length > MAX_HEADER_BYTES:
        message = f"a header of {length:,} bytes, at most {MAX_HEADER_BYTES:,} are read"
        raise source.error("too-large", message, byte=0)
    text = source.read(_LENGTH_BYTES, length, "the header")
    try:
        header = json.loads(text, object_pairs_hook=_unique)
    except _TwiceError as error:
        raise source.error("unreadable", str(error), byte=_LENGTH_BYTES) from error
    except (ValueError, RecursionError) as error:
        raise source.error(
            "unreadable", "the header is no JSON that can be read", byte=_LENGTH_BYTES
        ) from error
    if not isinstance(header, dict):
        raise source.error("unreadable", "the header is no JSON object", byte=_LENGTH_BYTES)
    return header, _LENGTH_BYTES + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError("a name stands twice in the header")
    return found


_Fault = tuple[str, str]


def _tensor(
    source: Source, name: str, record: Any, first_byte: int
) -> tuple[int, int, NamedTensor, _Fault | None]:
    """First byte, byte behind it, the tensor, and why it cannot be read."""
    known = record if isinstance(record, dict) else {}
    said, shape, offsets = (
        known.get("dtype"),
        _lengths(known.get("shape")),
        _lengths(known.get("data_offsets")),
    )
    dtype = dtype_of(_DTYPES[said]) if isinstance(said, str) and said in _DTYPES else None
    shown = dtype.name if dtype is not None else safe_text(said, 40) if isinstance(said, str) else None
    unread = NamedTensor(name, shown, shape, None)
    if shape is None or offsets is None or len(offsets) != 2 or not isinstance(said, str):
        return source.size, source.size, unread, ("bad-record", "no type, shape or place")
    start, end = first_byte + offsets[0], first_byte + offsets[1]
    if dtype is None:
        return start, end, unread, None  # a format that is not decoded (F4, F6 ...)
    if len(shape) > MAX_DIMENSIONS or math.prod(n for n in shape if n) * dtype.itemsize >= 1 << 62:
        return start, end, unread, ("shape", "larger than any memory")
    if end - start != math.prod(shape) * dtype.itemsize:
        return start, end, unread, ("shape", "its place has not the length that its shape needs")
    if end > source.size:
        return start, end, unread, None
    return start, end, NamedTensor(name, shown, shape, _file(source, dtype, shape, start)), None


def _file(source: Source, dtype: Dtype, shape: Shape, offset: int) -> TensorFile:
    return TensorFile(
        source.path, offset, dtype, dtype, shape, row_major_strides(shape), True, source.identity
    )


def _lengths(value: Any) -> Shape | None:
    if not isinstance(value, list) or len(value) > 64:
        return None
    return tuple(value) if all(type(n) is int and 0 <= n < 1 << 62 for n in value) else None


def _without_overlaps(
    found: list[tuple[int, NamedTensor]], bad: dict[_Fault, list[Any]]
) -> Iterator[NamedTensor]:
    """The tensors in the order of their bytes; one that begins in another's is unreadable."""
    end = 0
    for start, tensor in found:
        size = 0 if tensor.file is None else tensor.file.size_bytes
        if size and start < end:
            bad.setdefault(("bad-record", "its bytes are those of another one too"), [0, tensor.name])[0] += 1
            yield NamedTensor(tensor.name, tensor.dtype, tensor.shape, None)
            continue
        end = max(end, start + size)
        yield tensor
