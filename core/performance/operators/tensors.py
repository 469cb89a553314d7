"""Shapes, data types and formats as the tool writes them: '16,5120;768,5120', 'DT_BF16;FLOAT', 'ND;NCHW'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Shape = tuple[int, ...]

_MAX_DIMS = 32
_MAX_DIGITS = 15
_MAX_TENSORS = 256

ITEM_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("BOOL", "INT8", "UINT8", "FLOAT8_E4M3FN", "FLOAT8_E5M2", "HIFLOAT8"), 1),
    **dict.fromkeys(("FLOAT16", "BF16", "INT16", "UINT16"), 2),
    **dict.fromkeys(("FLOAT", "INT32", "UINT32"), 4),
    **dict.fromkeys(("DOUBLE", "INT64", "UINT64", "COMPLEX64"), 8),
    "COMPLEX128": 16,
}
_SAME = {"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE", "BFLOAT16": "BF16", "HALF": "FLOAT16"}
NO_DTYPES = frozenset({"", "UNDEFINED", "N/A", "NULL"})


def parts_of(text: str) -> list[str]:
    """What stands between the ';', one part a tensor."""
    return [part.strip() for part in text.split(";", _MAX_TENSORS)[:_MAX_TENSORS]]


def shape_of(part: str) -> Shape | None:
    """'16,5120' -> (16, 5120), '' -> () (a scalar); None for what is no shape."""
    if not part:
        return ()
    cells = part.split(",", _MAX_DIMS)
    if len(cells) > _MAX_DIMS:
        return None
    dims = []
    for cell in cells:
        digits = cell.strip()
        if not (digits.isascii() and digits.isdigit()) or len(digits) > _MAX_DIGITS:
            return None
        dims.append(int(digits))
    return tuple(dims)


def shapes_of(text: str) -> list[Shape | None]:
    """The shape of each tensor of a cell."""
    return [shape_of(part) for part in parts_of(text)]


def dtype_of(part: str) -> str:
    """One spelling a type: 'DT_BF16' -> 'BF16', 'float32' -> 'FLOAT'."""
    name = part.upper().removeprefix("DT_")
    return _SAME.get(name, name)


def dtypes_of(text: str) -> list[str]:
    """The type of each tensor of a cell, "" where it has none."""
    names = [dtype_of(part) for part in parts_of(text)]
    return ["" if name in NO_DTYPES else name for name in names]


def format_of(part: str) -> str:
    """'FORMAT_ND' -> 'ND', 'NC1HWC0:1' -> 'NC1HWC0': the layout without its group number."""
    return part.upper().removeprefix("FORMAT_").partition(":")[0]


def first_of(parts: Sequence[str]) -> str:
    """The first part, "" where there is none."""
    return parts[0] if parts else ""


def n_elements(shape: Shape) -> int:
    """How many elements; 1 of a scalar. Exact, whatever the size."""
    n = 1
    for dim in shape:
        n *= dim
    return n
