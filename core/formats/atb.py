"""Tensor files of ATB (.bin): lines of text that say what the tensor is, then its bytes.

    $Version=1.0
    $Object.Count=1
    $Object.Length=96
    format=2
    dtype=1
    dims=6,8
    $Object.data=0,96
    $End=1
    <96 bytes>

Numbers of types and layouts are those of the compiler, other than in dumps of CANN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..text import safe_text
from .tensors.dtypes import Dtype, dtype_of
from .tensors.layout import MAX_DIMENSIONS, Shape, row_major_strides
from .tensors.open import TensorFile
from .tensors.source import Source, open_source

MAX_HEADER_BYTES = 64 << 10
_END = b"$End=1\n"
_ALIAS = re.compile(
    r"(?P<op>[\w-]{1,80})_(?P<io>intensor|outtensor|intertensor)(?P<index>\d{1,6})\w*\.bin", re.ASCII
)

DTYPES: Mapping[int, str] = {
    **{0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32"},
    **{
        9: "int64",
        10: "uint64",
        11: "float64",
        12: "bool",
        16: "complex64",
        17: "complex128",
        27: "bfloat16",
    },
    **{35: "float8_e5m2", 36: "float8_e4m3fn", 37: "float8_e8m0fnu"},
}
"""Types that are decoded, by the compiler's number."""
_OTHERS = {13: "STRING", 29: "INT4", 30: "UINT1", 33: "COMPLEX32", 34: "HIFLOAT8"}


@dataclass(frozen=True, slots=True)
class AtbTensor:
    """What a file says. dtype: its name, of one that is not decoded too. alias: the (operator id, "intensor"
    or "outtensor", index) whose file holds the elements, of one execution; None: this one does. file: where
    the elements lie, None for an alias, for statistics alone and for types that are not decoded. statistics:
    Max, Min, Mean, Norm of an older form.
    """

    dtype: str
    format: int | None
    shape: Shape
    file: TensorFile | None
    alias: tuple[str, str, int] | None = None
    statistics: Mapping[str, float] | None = None


def read_atb(path: Path, *, root: Path) -> AtbTensor:
    """The tensor of a file; costs its header. A second header behind the data (a rerun into one folder) is
    not read. Raises TensorError: cut-off, unreadable, shape, too-large, missing, outside-run.
    """
    with open_source(path, root) as source:
        lines, end = _header(source)
        shape = _numbers(lines.get("dims", ""))
        number = _number(lines.get("dtype", lines.get("type", "")))
        if number is None or shape is None or len(shape) > MAX_DIMENSIONS:
            raise source.error("unreadable", "the header names no type or no shape", byte=0)
        dtype = dtype_of(DTYPES[number]) if number in DTYPES else None
        name = dtype.name if dtype is not None else _OTHERS.get(number, f"type {number}")
        layout = _number(lines.get("format", ""))
        alias = _ALIAS.fullmatch(lines.get("data", ""))
        if alias is not None:
            place = (alias["op"], alias["io"], int(alias["index"]))
            return AtbTensor(name, layout, shape, None, alias=place)
        statistics = {label: v for label, key in _STATISTICS if (v := _float(lines.get(key))) is not None}
        if statistics and source.size == end:
            return AtbTensor(name, layout, shape, None, statistics=statistics)
        if "data" in lines:
            raise source.error("unreadable", f"names no tensor file: {safe_text(lines['data'], 80)}", byte=0)
        if dtype is None:
            return AtbTensor(name, layout, shape, None)
        return AtbTensor(name, layout, shape, _file(source, dtype, shape, end, lines.get("$Object.data")))


_STATISTICS = (("Max", "max"), ("Min", "min"), ("Mean", "mean"), ("Norm", "l2norm"))


def _header(source: Source) -> tuple[dict[str, str], int]:
    """The lines as key and value, and the byte behind the header."""
    text = source.read(0, min(source.size, MAX_HEADER_BYTES), "the header")
    found = text.find(_END)
    if found < 0 or found and text[found - 1 : found] != b"\n":
        if len(text) < MAX_HEADER_BYTES and (not text or text.lstrip()[:1] in (b"$", b"f", b"d")):
            raise source.error("cut-off", "the file ends inside its header", byte=source.size)
        raise source.error("unreadable", "no tensor of ATB: its header has no end", byte=0)
    lines: dict[str, str] = {}
    for line in text[:found].decode("utf-8", "replace").split("\n"):
        key, sign, value = line.strip().partition("=")
        if sign:
            lines.setdefault(key.strip(), value.strip())
    return lines, found + len(_END)


def _file(source: Source, dtype: Dtype, shape: Shape, end: int, place: str | None) -> TensorFile:
    if math.prod(n for n in shape if n) * dtype.itemsize >= 1 << 62:
        raise source.error("too-large", "the shape in the file is larger than any memory")
    n_bytes = math.prod(shape) * dtype.itemsize
    offset = end
    if place is not None:  # simple writers leave it out
        said = _numbers(place)
        if said is None or len(said) != 2 or said[1] < n_bytes:
            message = (
                f"{dtype.name} of shape {list(shape)} needs {n_bytes:,} bytes, the header says {place[:40]}"
            )
            raise source.error("shape", message, byte=0)
        offset += said[0]
    source.need(offset, n_bytes, "the tensor")
    return TensorFile(
        path=source.path,
        offset=offset,
        dtype=dtype,
        declared=dtype,
        shape=shape,
        strides=row_major_strides(shape),
        is_contiguous=True,
        identity=source.identity,
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _numbers(text: str) -> Shape | None:
    """Whole numbers with commas between them; () for none."""
    if not text.strip():
        return ()
    found = [_number(part.strip()) for part in text.split(",")]
    return None if None in found else tuple(n for n in found if n is not None)


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text[:64])
    except ValueError:
        return None
