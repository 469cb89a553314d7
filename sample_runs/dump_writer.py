"""Write a model's calls as msprobe 26.x dumps them: level L0, task statistics with a tensor_list."""

from __future__ import annotations

import inspect
import json
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .torch_writer import bfloat16_bits, torch_file
from .w8a8.model import model as net

Record = dict[str, Any]


@dataclass
class DumpHook:
    """Sees every module call of a model and writes one rank's folder.

    tensor_list: fragments of the names of leaves whose tensors are written; of all others the statistics
    stand in dump.json, which `finish` writes together with stack.json and construct.json.
    """

    folder: Path
    tensor_list: Sequence[str]
    entries: dict[str, Record] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    stacks: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    n_tensor_files: int = 0

    def enter(self, module: net.Module) -> None:
        name = entry_name(module)
        self.parents[name] = self.running[-1] if self.running else None
        self.stacks.setdefault(tuple(model_frames()), []).append(name)
        self.running.append(name)

    def leave(self, module: net.Module, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        name = self.running.pop()
        self.entries[name] = {
            "input_args": [self.leaf(f"{name}.input.{i}", value) for i, value in enumerate(inputs)],
            "input_kwargs": {},
            "output": [self.leaf(f"{name}.output.{i}", value) for i, value in enumerate(outputs)],
            "parameters": {},
        }

    def leaf(self, leaf_name: str, value: npt.NDArray[Any]) -> Record:
        """Record of one tensor; its file is written where the tensor_list asks for it."""
        if value.dtype == np.int64:
            dtype, raw = "torch.int64", np.ascontiguousarray(value, "<i8").tobytes()
            statistics: list[float | int | None] = [int(value.max()), int(value.min()), None, None]
        else:
            dtype, raw = "torch.bfloat16", bfloat16_bits(value).tobytes()
            statistics = bf16_statistics(value)
        record: Record = {"type": "torch.Tensor", "dtype": dtype, "shape": list(value.shape)}
        record.update(zip(("Max", "Min", "Mean", "Norm"), statistics, strict=True))
        record["requires_grad"] = False
        if any(fragment in leaf_name for fragment in self.tensor_list):
            record["data_name"] = f"{leaf_name}.pt"
            write(self.folder / "dump_tensor_data" / record["data_name"], torch_file(raw, dtype, value.shape))
            self.n_tensor_files += 1
        return record

    def finish(self, dump_data_dir: str) -> None:
        header: Record = {"task": "statistics", "level": "L0", "framework": "pytorch"}
        dump = {**header, "dump_data_dir": dump_data_dir, "data": self.entries}
        stacks = {str(n): [names, list(frames)] for n, (frames, names) in enumerate(self.stacks.items())}
        for file, content in (("dump", dump), ("stack", stacks), ("construct", self.parents)):
            write(self.folder / f"{file}.json", json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """Without blanks: two thirds of the size of the tool's own indented form."""
    return json.dumps(content, separators=(",", ":")).encode()


def entry_name(module: net.Module) -> str:
    return f"Module.{module.path}.{type(module).__name__}.forward.0"


def model_frames() -> Iterator[str]:
    """Frames of the running call inside the model file, innermost first, as msprobe words them."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "forward" and code.co_filename == net.__file__:
            source = linecache.getline(code.co_filename, frame.f_lineno).strip()
            yield f"File model/model.py, line {frame.f_lineno}, in {code.co_name}, \n {source}"
        frame = frame.f_back


def bf16_statistics(value: net.Array) -> list[float | int | None]:
    """Max, Min, Mean, Norm in the tensor's own precision, as msprobe takes them."""
    flat = value.reshape(-1)
    mean, square = net.total(flat) / flat.size, net.total(flat * flat)
    return [float(flat.max()), float(flat.min()), *map(float, net.bf16(np.array([mean, np.sqrt(square)])))]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
