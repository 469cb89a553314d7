"""Small captures as msprobe writes them, made from arrays: the tests' own runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Call = tuple[str, Sequence[Array], Sequence[Array]]
"""Full name, inputs, outputs."""

NAMES = (
    "Module.model.layers.0.norm.RMSNorm.forward.0",
    "Module.model.layers.0.mlp.Linear.forward.0",
    "Module.model.layers.1.norm.RMSNorm.forward.0",
    "Module.model.layers.1.mlp.Linear.forward.0",
    "Module.model.layers.2.norm.RMSNorm.forward.0",
    "Module.model.layers.2.mlp.Linear.forward.0",
    "Module.lm_head.Linear.forward.0",
)
ORIGIN = NAMES[3]
MODULES = ("Module.model.layers.1.Block.forward.0", "Module.model.Decoder.forward.0")


def chain(names: Sequence[str] = NAMES, *, bad: str | None = None, seed: int = 5) -> list[Call]:
    """Calls that each take the output of the one before; the output of `bad` loses all but its first row."""
    rng = np.random.default_rng(seed)
    value = rng.standard_normal((8, 16)).astype(np.float32)
    calls: list[Call] = []
    for name in names:
        weight = rng.standard_normal((16, 16)).astype(np.float32) / 4
        given, value = value, value @ weight
        if name == bad:
            value = value * np.array([[1.0]] + [[0.25]] * 7, np.float32)
        calls.append((name, [given], [value]))
    return calls


def write_capture(
    folder: Path,
    calls: Iterable[Call],
    *,
    rank: int = 0,
    step: int = 0,
    with_files: bool = True,
    stack: Mapping[str, Sequence[str]] | None = None,
    parents: Mapping[str, str | None] | None = None,
) -> Path:
    """One rank of one step; returns its dump.json."""
    place = folder / f"step{step}" / f"rank{rank}"
    (place / "dump_tensor_data").mkdir(parents=True)
    entries = {
        name: {
            "input_args": [_leaf(place, f"{name}.input.{i}", a, with_files) for i, a in enumerate(inputs)],
            "input_kwargs": {},
            "output": [_leaf(place, f"{name}.output.{i}", a, with_files) for i, a in enumerate(outputs)],
        }
        for name, inputs, outputs in calls
    }
    header = {"task": "tensor" if with_files else "statistics", "level": "L0", "framework": "pytorch"}
    data_dir = str(place / "dump_tensor_data") if with_files else None
    dump = place / "dump.json"
    dump.write_text(json.dumps({**header, "dump_data_dir": data_dir, "data": entries}, indent=1))
    if stack:
        lines = {str(n): [[name], list(frames)] for n, (name, frames) in enumerate(stack.items())}
        (place / "stack.json").write_text(json.dumps(lines))
    if parents:
        (place / "construct.json").write_text(json.dumps(parents))
    return dump


def write_pair(run: Path, *, bad: str | None = ORIGIN, names: Sequence[str] = NAMES, **options: Any) -> Path:
    """A run folder with npu and cpu; `bad` names the call that goes wrong on the npu."""
    write_capture(run / "npu", chain(names, bad=bad), **options)
    write_capture(run / "cpu", chain(names), **options)
    return run


def _leaf(place: Path, name: str, array: Array, with_files: bool) -> dict[str, Any]:
    leaf = {
        "type": "torch.Tensor",
        "dtype": f"torch.{array.dtype}",
        "shape": list(array.shape),
        "Max": float(array.max()),
        "Min": float(array.min()),
        "Mean": float(array.mean(dtype=np.float64)),
        "Norm": float(np.linalg.norm(array.astype(np.float64))),
        "requires_grad": False,
    }
    if with_files:
        leaf["data_name"] = f"{name}.npy"
        np.save(place / "dump_tensor_data" / leaf["data_name"], array)
    return leaf
