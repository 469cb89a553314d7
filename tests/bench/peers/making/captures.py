"""Captures as msprobe leaves them for PyTorch: dump.json, stack.json, construct.json and .pt files,
without torch."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .randomness import Floats, bfloat16_bits

Record = dict[str, Any]
DTYPES = {"fp32": "torch.float32", "fp16": "torch.float16", "bf16": "torch.bfloat16"}
STORAGES = {"fp32": "FloatStorage", "fp16": "HalfStorage", "bf16": "BFloat16Storage"}
FRAMES = (
    "File /workspace/msprobe/core/dump/api_registry.py, line 95, in api_function, \n return api()",
    "File /workspace/user/train/model/transformer.py, line {}, in forward, \n x = x + self.mlp(self.norm(x))",
    "File /workspace/user/train/model/transformer.py, line 352, in forward, \n hidden = layer(hidden, mask)",
    "File /workspace/user/train/megatron/training/training.py, line 624, in train_step, \n forward_backward(",
    "File /workspace/user/train/pretrain_gpt.py, line 392, in <module>, \n main()",
)


class _Pickler(pickle._Pickler):  # type: ignore[misc,name-defined]  # the one in Python: opcodes by hand
    def name(self, module: str, name: str) -> None:
        self.write(f"c{module}\n{name}\n".encode())


def _pickled(storage: str, shape: tuple[int, ...], n_elements: int) -> bytes:
    """data.pkl of `torch.save` of one contiguous tensor on the CPU."""
    strides, stride = [], 1
    for n in reversed(shape):
        strides.append(stride)
        stride *= n
    out = io.BytesIO()
    p = _Pickler(out, 2)
    p.write(b"\x80\x02")
    p.name("torch._utils", "_rebuild_tensor_v2")
    p.write(b"((")
    p.save("storage")
    p.name("torch", storage)
    for value in ("0", "cpu", n_elements):
        p.save(value)
    p.write(b"tQ")  # a persistent id: the storage
    for given in (0, tuple(map(int, shape)), tuple(reversed(strides)), False):
        p.save(given)
    p.name("collections", "OrderedDict")
    p.write(b")RtR.")
    return out.getvalue()


def write_pt(path: Path, values: Floats, kind: str) -> int:
    """A file that `torch.load(weights_only=True)` reads, stored and aligned as torch does; its bytes."""
    raw = {
        "fp32": lambda: values.astype("<f4", copy=False),
        "fp16": lambda: values.astype("<f2"),
        "bf16": lambda: bfloat16_bits(values),
    }[kind]()
    parts = {
        "data.pkl": _pickled(STORAGES[kind], values.shape, values.size),
        "byteorder": b"little",
        "data/0": memoryview(np.ascontiguousarray(raw)).cast("B"),
        "version": b"3\n",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in parts.items():
            info = zipfile.ZipInfo(f"{path.stem}/{name}", (1980, 1, 1, 0, 0, 0))
            assert file.fp is not None
            pad = -(file.fp.tell() + 34 + len(info.filename)) % 64
            info.extra = struct.pack("<HH", 0x4246, pad) + b"Z" * pad
            file.writestr(info, content)
    return path.stat().st_size


def tensor_record(shape: tuple[int, ...], kind: str, numbers: list[float]) -> Record:
    statistics = dict(zip(("Max", "Min", "Mean", "Norm"), numbers, strict=True))
    return {"type": "torch.Tensor", "dtype": DTYPES[kind], "shape": list(shape), **statistics}


class Writer:
    """One rank-step of one side; records go to its files as they come."""

    def __init__(self, side: Path, task: str) -> None:
        folder = side / "step0" / "rank0"
        self.data = folder / "dump_tensor_data"
        (self.data if task == "tensor" else folder).mkdir(parents=True, exist_ok=True)
        self._files = [(folder / f"{name}.json").open("w") for name in ("dump", "stack", "construct")]
        data_dir = "dump_tensor_data" if task == "tensor" else None
        head = {"task": task, "level": "mix", "framework": "pytorch", "dump_data_dir": data_dir}
        for file, text in zip(
            self._files, (json.dumps(head, indent=1)[:-2] + ',\n "data": {', "{", "{"), strict=True
        ):
            file.write(text)
        self.n_records = self.n_bytes = 0

    def add(self, name: str, record: Record, parent: str | None) -> None:
        comma = "," if self.n_records else ""
        body = json.dumps({name: record}, indent=1)[1:-2].replace("\n", "\n ")
        frames = [FRAMES[0], FRAMES[1].format(100 + self.n_records % 400), *FRAMES[2:]]
        stack = json.dumps({str(self.n_records): [[name], frames]}, indent=1)[1:-2]
        texts = (body, stack, f"\n {json.dumps(name)}: {json.dumps(parent)}")
        for file, text in zip(self._files, texts, strict=True):
            file.write(comma + text)
        self.n_records += 1
        self.n_bytes += len(body)

    def close(self) -> None:
        for file, text in zip(self._files, ("\n }\n}", "\n}", "\n}"), strict=True):
            file.write(text)
            file.close()
