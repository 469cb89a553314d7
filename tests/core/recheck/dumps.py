"""Dumps of a few calls with their tensors, as msprobe writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import dtype_of
from npulse.core.recheck.rounding import round_to


class Of(NamedTuple):
    """Values that are stored in a dtype. has_file: whether the tensor was dumped."""

    values: Any
    dtype: str
    has_file: bool = True


def rounded(values: npt.ArrayLike, dtype: str) -> npt.NDArray[np.float64]:
    """The values as the dtype holds them."""
    known = dtype_of(dtype)
    assert known is not None
    return round_to(np.asarray(values, np.float64), known)


def write(folder: Path, calls: dict[str, dict[str, Any]], **header: Any) -> Path:
    """A dump of one rank. A call: args, kwargs, parameters, out, of `Of` and plain values; of a backward call
    grads and out."""
    place = folder / "step0" / "rank0"
    (place / "dump_tensor_data").mkdir(parents=True, exist_ok=True)
    data = {}
    for name, sides in calls.items():
        if "grads" in sides:
            data[name] = {
                "input": [_leaf(place, f"{name}.input.{i}", v) for i, v in enumerate(sides["grads"])],
                "output": [_leaf(place, f"{name}.output.{i}", v) for i, v in enumerate(sides["out"])],
            }
            continue
        args = [_leaf(place, f"{name}.input.{i}", v) for i, v in enumerate(sides.get("args", ()))]
        named = {k: _leaf(place, f"{name}.kwargs.{k}", v) for k, v in sides.get("kwargs", {}).items()}
        entry: dict[str, Any] = {"input_args": args, "input_kwargs": named}
        if "parameters" in sides:
            held = sides["parameters"].items()
            entry["parameters"] = {k: _leaf(place, f"{name}.parameters.{k}", v) for k, v in held}
        entry["output"] = [_leaf(place, f"{name}.output.{i}", v) for i, v in enumerate(sides["out"])]
        data[name] = entry
    whole = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": None, **header}
    (place / "dump.json").write_text(json.dumps({**whole, "data": data}))
    return folder


def _leaf(place: Path, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_leaf(place, f"{name}.{i}", item) for i, item in enumerate(value)]
    if value is None:
        return None
    if not isinstance(value, Of):
        return {"type": type(value).__name__, "value": value}
    array = np.asarray(value.values)
    record = {"type": "torch.Tensor", "dtype": f"torch.{value.dtype}", "shape": list(array.shape)}
    record |= {key: None for key in ("Max", "Min", "Mean", "Norm")}
    if value.has_file:
        stored = "float32" if value.dtype == "bfloat16" else value.dtype
        np.save(place / "dump_tensor_data" / f"{name}.npy", array.astype(stored))
        record["data_name"] = f"{name}.npy"
    return record
