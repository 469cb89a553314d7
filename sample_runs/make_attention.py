"""The overflow part of the sample run: one attention head in float16, captured apart, in three rounds.

Its score products come close to what float16 can hold, which is sound. In round 1 they are then multiplied by
sqrt(width) where 1 / sqrt(width) was meant: the product exceeds 65504 and becomes Inf, softmax makes NaN of
it, and everything after that is NaN. From round 2 on the query is scaled, by the right factor, before the
product.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .dump_writer import Record, json_bytes, write
from .torch_writer import torch_file
from .w8a8.model import attention
from .w8a8.model import model as net

Array = npt.NDArray[np.float64]

SOURCE = Path(attention.__file__)
SEED = 2
N_TOKENS, HIDDEN, WIDTH = 16, 64, 64

SCORE_SHARE = 0.9
"""The largest product of a query with a key, as a share of float16's largest value: sound, and near
the end. Queries and keys are given the length that makes it so; checkpoints that were trained in bfloat16
reach it as well."""

SCALES = {"round1": WIDTH**0.5, "round2": WIDTH**-0.5, "round3": WIDTH**-0.5}
"""Round 1 multiplies by the square root where it should divide by it."""

TENSOR_LIST = ("__mul__.",)
"""Calls whose tensors are kept: the scale."""

FRAMES = ("forward", "project", "finish")


def make_weights(seed: int = SEED) -> tuple[Array, dict[str, Array]]:
    """The block's input [tokens, hidden] and its weights, in float16."""
    random = np.random.RandomState(seed + 2000)

    def uniform(*shape: int) -> Array:
        return np.asarray(random.uniform(-(3.0**0.5), 3.0**0.5, shape))

    x = attention.fp16(uniform(N_TOKENS, HIDDEN))
    weights = {
        name: uniform(WIDTH, HIDDEN) / HIDDEN**0.5 for name in ("q_proj", "k_proj", "v_proj", "o_proj")
    }
    products = attention.matmul(net.product(x, weights["q_proj"]), net.product(x, weights["k_proj"]).T)
    length = float(np.sqrt(SCORE_SHARE * 65504.0 / np.abs(products).max()))
    weights["q_proj"], weights["k_proj"] = weights["q_proj"] * length, weights["k_proj"] * length
    return x, {name: attention.fp16(weight) for name, weight in weights.items()}


@dataclass
class ApiHook:
    """The operators that the block calls, each recorded as msprobe 26.x does at level L1."""

    folder: Path
    entries: dict[str, Record] = field(default_factory=dict)
    stacks: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    n_tensor_files: int = 0

    def linear(self, x: Array, weight: Array) -> Array:
        return self.call("Functional.linear", (x, weight), attention.fp16(attention.matmul(x, weight.T)))

    def mul(self, x: Array, factor: float) -> Array:
        return self.call("Tensor.__mul__", (x, factor), attention.fp16(x * factor))

    def matmul(self, x: Array, y: Array) -> Array:
        return self.call("Torch.matmul", (x, y), attention.fp16(attention.matmul(x, y)))

    def softmax(self, x: Array) -> Array:
        return self.call("Functional.softmax", (x,), attention.fp16(attention.softmax(x)), {"dim": -1})

    def add(self, x: Array, y: Array) -> Array:
        return self.call("Tensor.__add__", (x, y), attention.fp16(x + y))

    def call(
        self, api: str, given: tuple[Any, ...], made: Array, named: dict[str, int] | None = None
    ) -> Array:
        number = self.counts.get(api, 0)
        self.counts[api] = number + 1
        name = f"{api}.{number}.forward"
        self.stacks.setdefault(tuple(frames()), []).append(name)
        self.entries[name] = {
            "input_args": [self.leaf(f"{name}.input.{i}", value) for i, value in enumerate(given)],
            "input_kwargs": {key: {"type": "int", "value": value} for key, value in (named or {}).items()},
            "output": [self.leaf(f"{name}.output.0", made)],
        }
        return made

    def leaf(self, leaf_name: str, value: Array | float) -> Record:
        if isinstance(value, float):
            return {"type": "float", "value": value}
        record: Record = {"type": "torch.Tensor", "dtype": "torch.float16", "shape": list(value.shape)}
        record.update(zip(("Max", "Min", "Mean", "Norm"), statistics(value), strict=True))
        record["requires_grad"] = False
        if any(fragment in leaf_name for fragment in TENSOR_LIST):
            record["data_name"] = f"{leaf_name}.pt"
            raw = np.ascontiguousarray(canonical(value), "<f2").tobytes()
            file = torch_file(raw, "torch.float16", value.shape)
            write(self.folder / "dump_tensor_data" / record["data_name"], file)
            self.n_tensor_files += 1
        return record

    def finish(self, dump_data_dir: str) -> None:
        header: Record = {"task": "statistics", "level": "L1", "framework": "pytorch"}
        dump = {**header, "dump_data_dir": dump_data_dir, "data": self.entries}
        stacks = {str(n): [names, list(lines)] for n, (lines, names) in enumerate(self.stacks.items())}
        for file, content in (("dump", dump), ("stack", stacks), ("construct", {})):
            write(self.folder / f"{file}.json", json_bytes(content))


def frames() -> Iterator[str]:
    """Frames of the running call inside the block's file, innermost first, as msprobe words them."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name in FRAMES and code.co_filename == attention.__file__:
            source = linecache.getline(code.co_filename, frame.f_lineno).strip()
            yield f"File model/{SOURCE.name}, line {frame.f_lineno}, in {code.co_name}, \n {source}"
        frame = frame.f_back


def canonical(value: Array) -> npt.NDArray[np.float16]:
    """In float16, with one bit pattern for every NaN: machines differ in its sign."""
    half = value.astype(np.float16)
    half[np.isnan(value)] = np.float16("nan")
    return np.asarray(half.view("<u2") & np.where(np.isnan(value), 0x7FFF, 0xFFFF).astype("<u2")).view("<f2")


def statistics(value: Array) -> list[float]:
    """Max, Min, Mean, Norm as torch takes them: one NaN makes NaN of all, an Inf reaches mean and norm."""
    flat = value.reshape(-1)
    if np.isnan(flat).any():
        return [float("nan")] * 4
    with np.errstate(invalid="ignore", over="ignore"):
        mean, square = net.total(flat) / flat.size, net.total(flat * flat)
        summary = attention.fp16(np.array([mean, np.sqrt(square)]))
    return [
        float(flat.max()),
        float(flat.min()),
        *(float("nan") if np.isnan(x) else float(x) for x in summary),
    ]


def make_round(folder: Path, name: str) -> ApiHook:
    """Write the capture of one round below its folder."""
    x, weights = make_weights()
    hook = ApiHook(folder / name / "overflow" / "step0" / "rank0")
    block = attention.ScaledAfter if name == "round1" else attention.ScaledBefore
    block(hook, weights, SCALES[name]).forward(x)
    hook.finish(f"{name}/overflow/step0/rank0/dump_tensor_data")
    return hook
