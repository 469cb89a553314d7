"""The header of a .npy file: type, shape and order, read without evaluating it."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from ...text import safe_text
from .dtypes import Dtype, dtype_of
from .error import TensorErrorKind
from .layout import Layout, Shape, check_shape, row_major_strides
from .source import Source

MAGIC = b"\x93NUMPY"
_MAX_HEADER_BYTES = 64 * 1024

# The header is a dictionary literal with three known keys; one item of it:
_ITEM = re.compile(
    r"""\s*(?P<quote>['"])(?P<key>\w{1,32})(?P=quote)\s*:\s*
    (?: '(?P<single>[^'\\]{0,64})' | "(?P<double>[^"\\]{0,64})"
      | (?P<flag>True|False) | \((?P<tuple>[\d\s,L]*)\) )
    \s*(?:,\s*)?""",
    re.VERBOSE,
)
_TYPE = re.compile(r"([<>|=]?)([A-Za-z?])(\d{0,4})")
_HINT = "write the array again with numpy.save"


class _HeaderProblem(Exception):
    """What is wrong with a header, in the words of a TensorError."""

    def __init__(self, kind: TensorErrorKind, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.kind: TensorErrorKind = kind
        self.message = message
        self.hint = hint


def read_npy(source: Source) -> Layout:
    """Layout of the array in a .npy file (versions 1 to 3). A few hundred bytes are read, no element."""
    header, offset = _read_header(source)
    try:
        dtype, itemsize, is_fortran, shape = _describe(header)
    except _HeaderProblem as problem:
        raise source.error(problem.kind, problem.message, hint=problem.hint) from None
    check_shape(source, shape, itemsize)
    size_bytes = math.prod(shape) * itemsize
    source.need(offset, size_bytes, f"an array of shape {list(shape)}")
    _refuse_second_array(source, offset + size_bytes)
    strides = row_major_strides(shape[::-1])[::-1] if is_fortran else row_major_strides(shape)
    return Layout(offset, dtype, itemsize, shape, strides)


def _read_header(source: Source) -> tuple[str, int]:
    """Text of the header, and the byte after it where the elements begin."""
    start = source.read(0, 10, "the .npy header")
    version = start[6]
    if version not in (1, 2, 3):
        raise source.error("unreadable", f"unknown .npy version {version}", byte=6, hint=_HINT)
    n_length_bytes = 2 if version == 1 else 4
    length = int.from_bytes(source.read(8, n_length_bytes, "the .npy header"), "little")
    if length > _MAX_HEADER_BYTES:
        raise source.error("too-large", f"a header of {length:,} bytes", byte=8, hint=_HINT)
    at = 8 + n_length_bytes
    return source.read(at, length, "the .npy header").decode("latin-1"), at + length


@lru_cache(maxsize=1024)
def _describe(header: str) -> tuple[Dtype | None, int, bool, Shape]:
    """Format and size of the elements, order and shape. Thousands of arrays share few headers.

    Nothing but the three known keys may stand in the dictionary.
    """
    body = header.strip()
    items: dict[str, re.Match[str]] = {}
    at = 1
    while body.startswith("{") and (item := _ITEM.match(body, at)):
        items[item["key"]] = item
        at = item.end()
    if body[at:].strip() == "}" and items.keys() == {"descr", "fortran_order", "shape"}:
        kind = items["descr"]["single"] or items["descr"]["double"]
        order, shape = items["fortran_order"]["flag"], items["shape"]["tuple"]
        if kind is not None and order is not None and shape is not None:
            return *_element_type(kind), order == "True", _parse_shape(shape)
    hint = "arrays with named fields are not tensors" if "[" in body else _HINT
    message = f"not the header of a plain array: {safe_text(body, 80)}"
    raise _HeaderProblem("unreadable", message, hint)


def _parse_shape(text: str) -> Shape:
    lengths = [part.strip().rstrip("L") for part in text.split(",")]
    if lengths[-1] == "":  # the comma after a single length, or an empty tuple
        lengths.pop()
    if not all(n.isdigit() and len(n) <= 19 for n in lengths):
        raise _HeaderProblem("unreadable", f"not a shape: ({safe_text(text, 80)})", _HINT)
    return tuple(int(n) for n in lengths)


def _element_type(text: str) -> tuple[Dtype | None, int]:
    """Format and size of the elements; None for raw bytes, as numpy writes bfloat16 and float8."""
    found = _TYPE.fullmatch(text)
    order, kind, size = found.groups() if found else ("", "", "")
    if kind == "O":
        raise _HeaderProblem("refused", "the array holds pickled objects, not numbers", None)
    if kind == "V" or (kind == "f" and size == "1"):
        if size in ("1", "2"):
            return None, int(size)
    elif (dtype := dtype_of(f"<{kind}{size}")) is not None:
        if order == ">" and dtype.itemsize > 1:
            hint = "write it again little-endian: array.astype(array.dtype.newbyteorder('<'))"
            raise _HeaderProblem("unreadable", f"the elements are big-endian ({text})", hint)
        return dtype, dtype.itemsize
    message = f"elements of type {safe_text(text, 40)!r} are not numbers of a known format"
    raise _HeaderProblem("unreadable", message, None)


def _refuse_second_array(source: Source, end: int) -> None:
    """numpy.save can append to an open file: which of the arrays is meant cannot be known."""
    if source.size - end >= len(MAGIC) and source.read(end, len(MAGIC), "the next array") == MAGIC:
        raise source.error("unreadable", "the file holds more than one array", byte=end, hint=_HINT)
