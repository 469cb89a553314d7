"""CANN dumps in bytes, by an encoder of its own: nothing of the reader is used to make what it reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

OPDEBUG_NAME = "Opdebug.Node_OpDebug.19.3.1749633330001100"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def blob(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def shape_message(axes: Sequence[int], packed: bool = True) -> bytes:
    if packed:
        return blob(1, b"".join(map(varint, axes))) if axes else b""
    return b"".join(number(1, axis) for axis in axes)


@dataclass(frozen=True)
class Tensor:
    """One tensor to write. data_type, format: numbers of the dump's own enumerations."""

    data: bytes
    data_type: int = 1
    format: int = 2
    shape: tuple[int, ...] = ()
    original_shape: tuple[int, ...] = ()
    sub_format: int = 0
    size: int | None = None  # said in the record, if it is not that of the data


def record(tensor: Tensor, is_output: bool, *, packed: bool = True, inside: bool = False) -> bytes:
    data, size, original, sub = (5, 6, 7, 8) if is_output else (4, 5, 6, 7)
    return b"".join(
        (
            number(1, tensor.data_type) if tensor.data_type else b"",
            number(2, tensor.format) if tensor.format else b"",
            blob(3, shape_message(tensor.shape, packed)),
            blob(data, tensor.data) if inside else b"",
            number(size, len(tensor.data) if tensor.size is None else tensor.size),
            blob(original, shape_message(tensor.original_shape, packed)),
            number(sub, tensor.sub_format) if tensor.sub_format else b"",
            number(9, 0x12C0C0013000),  # an address, not read
        )
    )


def message(
    inputs: Sequence[Tensor] = (),
    outputs: Sequence[Tensor] = (),
    *,
    packed: bool = True,
    inside: bool = False,
    version: str = "2.0",
    extra: bytes = b"",
) -> bytes:
    return b"".join(
        (
            blob(1, version),
            number(2, 1749633330000123),
            # outputs have the smaller number and are written first, their bytes come last
            *(blob(3, record(tensor, True, packed=packed, inside=inside)) for tensor in outputs),
            *(blob(4, record(tensor, False, packed=packed, inside=inside)) for tensor in inputs),
            blob(6, "layer1/fc/MatMul"),
            extra,
        )
    )


def container(inputs: Sequence[Tensor] = (), outputs: Sequence[Tensor] = (), **options: object) -> bytes:
    """A whole dump file."""
    head = message(inputs, outputs, **options)  # type: ignore[arg-type]
    data = b"".join(tensor.data for tensor in (*inputs, *outputs))
    return struct.pack("<Q", len(head)) + head + data


def opdebug(payload: bytes) -> bytes:
    """A dump whose one output is an overflow record."""
    return container(outputs=[Tensor(payload, data_type=4, shape=(len(payload),))], version="2.0")


def legacy_payload(
    ai_core: Sequence[int] = (1, 3, 17, 0, 0x12C0C0100000, 0x12C0C0200040),
    *,
    kernel_block_status: tuple[int, int, int] = (0xA0B, 1, 288),
    dha_status: int = 0,
    l2_status: int = 0,
) -> bytes:
    payload = bytearray(2048)
    struct.pack_into("<6Q", payload, 256, *ai_core)
    struct.pack_into("<Q", payload, 512, dha_status)
    struct.pack_into("<Q", payload, 768, l2_status)
    struct.pack_into("<3Q", payload, 1024, *kernel_block_status)
    return bytes(payload)


def magic_payload(
    words: Sequence[int], *, version: int = 0, acc_type: int = 1, valid: int = 1, data_len: int | None = None
) -> bytes:
    length = 8 * len(words) if data_len is None else data_len
    head = struct.pack("<6I", 0x5A5A5A5A, version, valid, acc_type, 0, length)
    return (head + struct.pack(f"<{len(words)}Q", *words)).ljust(2048, b"\0")


@contextmanager
def file_of(content: bytes, name: str = "Add.add.1.2.1749633330000123") -> Iterator[Path]:
    """A file that may be made many times in one test, as a property needs it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path
