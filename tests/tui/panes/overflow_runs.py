"""Small runs in which something overflows, each made up so that it is known where and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .captures import Array, Call, write_capture

RESIDUAL = "Tensor.__add__.19.forward"
SUSPECT = "Functional.linear.43.forward"
ORIGIN = "Tensor.__add__.20.forward"
UPSTREAM = (
    RESIDUAL,
    "Functional.layer_norm.20.forward",
    "Functional.linear.42.forward",
    "Functional.gelu.10.forward",
    SUSPECT,
    "Functional.dropout.31.forward",
    ORIGIN,
)
"""What fed the origin of `write_sum`, and the origin, in order."""
N_ROWS = 20  # tensors of `write_sum`
FRAMES = (
    "File /opt/lib/torch/nn/functional.py, line 12, in add, \n return a + b",
    "File model/layer.py, line 146, in forward, \n hidden = residual + hidden  # [red]",
)

LOG, REDUCE, MEAN = "Torch.log.0.forward", "Distributed.all_reduce.0.forward", "Torch.mean.0.forward"
BAD_RANK = 2


def sum_calls(share: float = 60608 / 65504) -> list[Call]:
    """A residual add of half precision numbers, the second of which reaches `share` of the largest one."""
    base = np.linspace(-1, 1, 32, dtype=np.float64).reshape(4, 8)
    before = (base[:, ::-1] * 8000).astype(np.float16)
    residual = (base * 8004).astype(np.float16)
    hidden = (base * 21.5).astype(np.float16)
    wide = (base[::-1] * 178.5).astype(np.float16)
    active = np.maximum(wide, np.float16(-0.17))
    large = (base * share * 65504).astype(np.float16)
    with np.errstate(all="ignore"):
        total = (residual.astype(np.float32) + large.astype(np.float32)).astype(np.float16)
        normal = (total - total.mean(axis=1, keepdims=True)).astype(np.float16) / np.float16(256)
        mean = np.array([[normal.mean(dtype=np.float32)]], np.float16)
    return [
        (RESIDUAL, [before, residual - before], [residual]),
        (UPSTREAM[1], [residual], [hidden]),
        (UPSTREAM[2], [hidden], [wide]),
        (UPSTREAM[3], [wide], [active]),
        (SUSPECT, [active], [large]),
        (UPSTREAM[5], [large], [large]),
        (ORIGIN, [residual, large], [total]),
        ("Functional.layer_norm.21.forward", [total], [normal]),
        (MEAN, [normal], [mean]),
    ]


def write_sum(run: Path, *, share: float = 60608 / 65504, **options: Any) -> Path:
    """One rank: `SUSPECT` comes close to the limit, the sum that follows passes it."""
    with np.errstate(all="ignore"):
        write_capture(run, sum_calls(share), **{"with_files": False, "stack": {ORIGIN: FRAMES}, **options})
    return run


def write_ranks(run: Path, n_ranks: int = 4, *, n_before: int = 0, **options: Any) -> Path:
    """The logarithm of a negative number on one rank, and an all-reduce that hands it to the others.

    n_before: all-reduces of healthy numbers in front of it.
    """
    for rank in range(n_ranks):
        given = np.linspace(0.5, 1 + rank / 8, 16, dtype=np.float32).reshape(4, 4)
        given[1, 2] = -1.5 if rank == BAD_RANK else 1.5
        with np.errstate(all="ignore"):
            made = np.log(given)
            total = np.full((4, 4), np.nan, np.float32)
            healthy: list[Call] = [
                (f"Distributed.all_reduce.{i}.forward", [given], [given * 4]) for i in range(n_before)
            ]
            reduce = f"Distributed.all_reduce.{n_before}.forward"
            calls: list[Call] = [
                *healthy,
                (LOG, [given], [made]),
                (reduce, [made], [total]),
                (MEAN, [total], [total[:1, :1]]),
            ]
            dump = write_capture(run, calls, rank=rank, **{"with_files": False, **options})
        _name_group(dump, range(n_ranks))
    return run


def _name_group(dump: Path, ranks: Sequence[int]) -> None:
    document = json.loads(dump.read_text())
    for name, entry in document["data"].items():
        if name.startswith("Distributed."):
            entry["input_kwargs"] = {
                "group": {"type": "torch.ProcessGroup", "group_ranks": list(ranks), "group_id": "c0de"}
            }
    dump.write_text(json.dumps(document, indent=1))


def write_saturated(run: Path, **options: Any) -> Path:
    """A product that sits at the largest half precision number where it should be infinite."""
    given = np.linspace(-200, 200, 64).reshape(8, 8).astype(np.float16)
    made: Array = np.clip(given.astype(np.float32) ** 2 * 4, -65504, 65504).astype(np.float16)
    after = (made.astype(np.float32) / 8).astype(np.float16)
    calls: list[Call] = [
        ("Torch.square.0.forward", [given], [made]),
        ("Torch.div.0.forward", [made], [after]),
    ]
    write_capture(run, calls, **options)
    return run


def write_clean(run: Path, **options: Any) -> Path:
    """Nothing is wrong."""
    return write_sum(run, share=0.01, **options)


MONITOR_HEADER = "vpp_stage,name,step,min,max,mean,norm,zeros,nans,shape,dtype"


def write_monitor(run: Path) -> Path:
    """Reduced gradients of three steps; one of them jumps at the third."""
    run.mkdir(parents=True)
    lines = [MONITOR_HEADER]
    for step, (first, second) in enumerate([(0.5, 0.25), (0.625, 0.25), (61000.0, 0.3)]):
        for name, top in (("fc1.weight", first), ("fc2.weight", second)):
            norm = top * 2
            lines.append(f'0,{name},{step},{-top},{top},0.0,{norm},0.0,0,"[4, 4]",torch.float32')
    (run / "grad_reduced_0-2.csv").write_text("\n".join(lines) + "\n")
    return run
