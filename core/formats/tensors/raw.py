"""Raw elements without any header: what they are has to be said, by the user or by the file's name."""

from __future__ import annotations

import math
import re
from pathlib import Path

from ...text import safe_text
from .dtypes import Dtype, dtype_of
from .layout import Shape, check_shape, row_major_strides
from .open import TensorFile
from .source import open_source

_SHAPE = re.compile(r"\d{1,18}(?:[_x,]\d{1,18})*", re.ASCII)


def open_raw(path: Path, dtype: Dtype, shape: Shape | None, *, root: Path) -> TensorFile:
    """The elements of a file that holds nothing else, in row-major order; nothing of them is read.

    shape None: one axis, as long as the file. Bytes behind the tensor are padding where they are less than
    32, as the device pads. Raises TensorError: shape, cut-off, missing, unreadable, outside-run, too-large.
    """
    with open_source(path, root) as source:
        if shape is None:
            if source.size % dtype.itemsize:
                message = f"{source.size:,} bytes are no whole number of {dtype.name} elements"
                raise source.error("shape", message, hint="say the type that they have: --dtype")
            shape = (source.size // dtype.itemsize,)
        check_shape(source, shape, dtype.itemsize)
        n_bytes = math.prod(shape) * dtype.itemsize
        source.need(0, n_bytes, f"a tensor of shape {list(shape)} in {dtype.name}")
        if source.size - n_bytes >= 32:
            message = f"{dtype.name} of shape {list(shape)} has {n_bytes:,} bytes, the file {source.size:,}"
            raise source.error("shape", message, hint="say the type and shape that it has: --dtype, --shape")
        return TensorFile(
            path=path,
            offset=0,
            dtype=dtype,
            declared=dtype,
            shape=shape,
            strides=row_major_strides(shape),
            is_contiguous=True,
            identity=source.identity,
        )


def parse_shape(text: str) -> Shape | None:
    """ "16,10240", "16x10240" or "16_10240"; None for anything else."""
    found = _SHAPE.fullmatch(text.strip().strip("[]()").replace(" ", ""))
    return tuple(int(n) for n in re.split(r"[_x,]", found[0])) if found else None


def raw_layout(text: str) -> tuple[Dtype, Shape] | None:
    """Type and shape out of the dotted parts of a file's name ("2_4.float16.ND"); None where it lacks one."""
    parts = text.split(".")
    dtype = next((d for part in parts if (d := dtype_of(part)) is not None), None)
    shape = next((s for part in parts if (s := parse_shape(part)) is not None), None)
    return None if dtype is None or shape is None else (dtype, shape)


def named_layout(name: str) -> tuple[Dtype, Shape] | None:
    """As `raw_layout`, of any file's name: "x_16x10240_float16.bin", "x.16_10240.float16.ND.bin"."""
    found = raw_layout(name)
    if found is not None:
        return found
    words = re.split(r"[._-]", safe_text(name, 300))
    dtype = next((d for word in words if (d := dtype_of(word)) is not None), None)
    shape = next((s for word in words if "x" in word and (s := parse_shape(word)) is not None), None)
    return None if dtype is None or shape is None else (dtype, shape)
