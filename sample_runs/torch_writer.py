"""Write one tensor as `torch.save` does, without torch, the same bytes on every machine and every run."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ALIGNMENT_BYTES = 64
"""torch aligns storages to 64 bytes, so that a reader can map them into memory."""

_STORAGE = {
    "torch.bfloat16": ("BFloat16Storage", 2),
    "torch.float16": ("HalfStorage", 2),
    "torch.int64": ("LongStorage", 8),
}


def bfloat16_bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    """Bits of finite values as bfloat16 (uint16), rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    return np.asarray((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16, dtype="<u2")


def torch_file(raw: bytes, dtype: str, shape: Sequence[int]) -> bytes:
    """The bytes of a `.pt` file that holds one contiguous CPU tensor.

    raw: its elements, little-endian; dtype: "torch.bfloat16", "torch.float16" or "torch.int64". The archive's
    times are fixed.
    """
    storage, item_bytes = _STORAGE[dtype]
    numel = int(np.prod(shape, dtype=np.int64))
    if len(raw) != numel * item_bytes:
        raise ValueError(f"{len(raw)} bytes for {numel} elements of {dtype}")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, out, "data.pkl", _pickle(storage, shape, numel))
        _add(archive, out, "byteorder", b"little")
        _add(archive, out, "data/0", raw, ALIGNMENT_BYTES)
        _add(archive, out, "version", b"3\n")
    return out.getvalue()


def _add(archive: zipfile.ZipFile, out: io.BytesIO, name: str, content: bytes, align: int = 1) -> None:
    # The root folder is "archive", as torch names it when it writes into a buffer: file names here are so
    # long that repeating them eight times in each file would double the size of the sample.
    entry = zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # else the bytes would tell Windows from Unix
    if align > 1:
        header_bytes = 30 + len(entry.filename) + 4
        padding = -(out.tell() + header_bytes) % align
        entry.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
    archive.writestr(entry, content)
    entry.extra = b""  # the padding stands in front of the content alone, not in the directory at the end
    entry.extra = b""  # the padding stands in front of the content alone, not in the directory at the end


def _pickle(storage: str, shape: Sequence[int], numel: int) -> bytes:
    """data.pkl, protocol 2: _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    key, device = _text("0"), _text("cpu")
    persistent_id = b"(" + _text("storage") + _name("torch", storage) + key + device + _int(numel) + b"t"
    geometry = _int(0) + _ints(shape) + _ints(strides[::-1])
    hooks = _name("collections", "OrderedDict") + b")R"
    arguments = b"(" + persistent_id + b"Q" + geometry + b"\x89" + hooks + b"t"
    return b"\x80\x02" + _name("torch._utils", "_rebuild_tensor_v2") + arguments + b"R."


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _int(number: int) -> bytes:
    if number < 1 << 8:
        return b"K" + struct.pack("<B", number)
    return b"J" + struct.pack("<i", number)


def _ints(numbers: Sequence[int]) -> bytes:
    return b"(" + b"".join(_int(n) for n in numbers) + b"t"
