"""Files written without torch: what the pickle asks for, where the bytes lie, how values were rounded."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from npulse.sample_runs.torch_writer import bfloat16_bits, torch_file


class Strict(pickle.Unpickler):
    """Answers with the arguments of the rebuild call; refuses every name that such a file does not need."""

    allowed = {
        ("torch._utils", "_rebuild_tensor_v2"): lambda *arguments: arguments,
        ("torch", "BFloat16Storage"): lambda: "BFloat16Storage",
        ("torch", "HalfStorage"): lambda: "HalfStorage",
        ("torch", "LongStorage"): lambda: "LongStorage",
        ("collections", "OrderedDict"): OrderedDict,
    }

    def find_class(self, module: str, name: str) -> Any:
        return self.allowed[module, name]

    def persistent_load(self, pid: Any) -> Any:
        return pid


def arguments_of(content: bytes) -> tuple[Any, ...]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        found = Strict(io.BytesIO(archive.read("archive/data.pkl"))).load()
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (-2.0, 0xC000),
        (1.0 + 2.0**-8, 0x3F80),  # a tie: down to the even neighbour
        (1.0 + 3 * 2.0**-8, 0x3F82),  # a tie: up to the even neighbour
        (1.0 + 2.0**-8 + 2.0**-20, 0x3F81),
        (0.0, 0x0000),
    ],
)
def test_bfloat16_rounds_to_nearest_even(value: float, bits: int) -> None:
    assert bfloat16_bits(np.array([value])).tolist() == [bits]


@pytest.mark.parametrize(
    ("shape", "strides"), [((16, 40), (40, 1)), ((2, 3, 300), (900, 300, 1)), ((7,), (1,)), ((), ())]
)
def test_the_pickle_rebuilds_one_contiguous_tensor(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    numel = int(np.prod(shape))
    storage, offset, size, stride, requires_grad, hooks = arguments_of(
        torch_file(bytes(2 * numel), "torch.bfloat16", shape)
    )
    kind, cls, key, device, count = storage
    assert (kind, cls(), key, device, count) == ("storage", "BFloat16Storage", "0", "cpu", numel)
    assert (offset, size, stride, requires_grad) == (0, shape, strides, False)
    assert hooks == OrderedDict()


@pytest.mark.parametrize(
    ("dtype", "item_bytes", "storage"),
    [
        ("torch.bfloat16", 2, "BFloat16Storage"),
        ("torch.float16", 2, "HalfStorage"),
        ("torch.int64", 8, "LongStorage"),
    ],
)
def test_the_storage_is_that_of_the_dtype(dtype: str, item_bytes: int, storage: str) -> None:
    _, cls, _, _, count = arguments_of(torch_file(bytes(3 * item_bytes), dtype, (3,)))[0]
    assert (cls(), count) == (storage, 3)


def test_elements_lie_uncompressed_on_a_64_byte_border() -> None:
    raw = np.arange(-8, 8, dtype="<i8").tobytes()
    content = torch_file(raw, "torch.int64", (16,))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = archive.getinfo("archive/data/0")
        assert archive.read("archive/byteorder") == b"little"
        assert archive.read("archive/version") == b"3\n"
    assert member.compress_type == zipfile.ZIP_STORED
    name_bytes, extra_bytes = struct.unpack_from("<HH", content, member.header_offset + 26)
    start = member.header_offset + 30 + name_bytes + extra_bytes
    assert start % 64 == 0
    assert content[start : start + len(raw)] == raw


def test_bytes_that_do_not_fit_the_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="6 bytes for 4 elements"):
        torch_file(bytes(6), "torch.bfloat16", (2, 2))
