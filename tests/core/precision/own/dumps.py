"""Small captures made by hand: calls with arrays in, dumps with statistics, checksums or elements out."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.findings import Finding, Report
from npulse.core.precision.alone import check_alone
from npulse.core.run.discover import discover

from ..faulty_net import tensor, write_dump

Calls = dict[str, tuple[list[Any], list[Any]]]
"""Full name of a call to its inputs and outputs: arrays, numbers, None, or lists of arrays."""


def write(folder: Path, calls: Calls, mode: str = "tensor", **parameters: Any) -> Path:
    """A rank-step. parameters: by "Module.x" with dots as double underscores: name to array."""
    data: dict[str, Any] = {}
    for name, (given, made) in calls.items():
        is_forward = ".forward" in name
        entry: dict[str, Any] = {"input_kwargs": {}} if is_forward else {}
        entry["input_args" if is_forward else "input"] = [
            _record(folder, f"{name}.input.{i}", x, mode) for i, x in enumerate(given)
        ]
        entry["output"] = [_record(folder, f"{name}.output.{i}", x, mode) for i, x in enumerate(made)]
        own = parameters.get(name.replace(".", "__"))
        if own is not None:
            entry["parameters"] = {
                key: _record(folder, f"{name}.parameters.{key}", x, mode) for key, x in own.items()
            }
        data[name] = entry
    return write_dump(folder, data, task="tensor" if mode == "tensor" else "statistics")


def _record(folder: Path, name: str, x: Any, mode: str) -> Any:
    if isinstance(x, list):
        return [_record(folder, f"{name}.{i}", part, mode) for i, part in enumerate(x)]
    if x is None or isinstance(x, dict):
        return x
    if not isinstance(x, np.ndarray):
        return {"type": type(x).__name__, "value": x}
    record = tensor(x, x.dtype.name)
    if mode == "md5":
        record["md5"] = f"{zlib.crc32(np.ascontiguousarray(x).tobytes()):08x}"
    if mode == "tensor":
        record["data_name"] = f"{name}.npy"
        place = folder / "dump_tensor_data"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / record["data_name"], x)
    return record


def checked(folder: Path) -> Report:
    run = discover(folder)
    return check_alone(run, [a for a in run.artifacts if a.kind == "msprobe.dump"])


def own(report: Report) -> list[Finding]:
    """The findings that need no golden side."""
    rules = ("collective", "replica", "overwritten", "nondeterministic", "cast")
    return [f for f in report.findings if f.rule.removeprefix("precision.") in rules]


def random(seed: int, *shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(seed).standard_normal(shape or (64,)).astype(dtype)
