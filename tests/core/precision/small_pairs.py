"""Capture pairs of many small tensors, for what is asked of each pair of files and not of its elements."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.run.sides import CapturePair, pair_of

SHAPE = (8, 8)


def name_of(number: int) -> str:
    """The file of a tensor."""
    return f"Functional.linear.{number}.forward.output.0.npy"


def write_pair(
    folder: Path, n: int, differing: Collection[int] = (), *, is_linked: bool = False
) -> CapturePair:
    """n pairs of tensors, one a call; those of `differing` are 1 apart. is_linked: one file a side."""
    golden = np.random.default_rng(3).standard_normal((n, *SHAPE)).astype(np.float32)
    for side in ("target", "golden"):
        rank = folder / side / "step0" / "rank0"
        tensors = rank / "dump_tensor_data"
        tensors.mkdir(parents=True)
        data: dict[str, Any] = {}
        for number in range(n):
            values = golden[0 if is_linked else number]
            if side == "target" and number in differing:
                values = values + np.float32(1)
            first = tensors / name_of(0)
            if is_linked and number:
                os.link(first, tensors / name_of(number))
            else:
                np.save(tensors / name_of(number), values)
            record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(SHAPE)}
            record |= {
                "Max": float(values.max()),
                "Min": float(values.min()),
                "Mean": 0.5,
                "Norm": 1.0 + number,
            }
            data[f"Functional.linear.{number}.forward"] = {
                "input_args": [],
                "input_kwargs": {},
                "output": [{**record, "data_name": name_of(number)}],
            }
        head = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(tensors)}
        (rank / "dump.json").write_text(json.dumps({**head, "data": data}))
    return pair_of(folder / "target", folder / "golden")
