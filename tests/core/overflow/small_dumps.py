"""Small dumps written by hand, and what the analysis makes of them in a form that is quick to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.report import report
from npulse.core.overflow.roles import Origin
from npulse.core.overflow.run_report import look, selections
from npulse.core.run.discover import discover

NAN, INF = float("nan"), float("inf")
MAX = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
Entries = Mapping[str, Any]
OPTIONS = AnalysisOptions(jobs=1)


def rec(high: Any, low: Any = 0.0, dtype: str = "float16", shape: Sequence[int] = (4,), **fields: Any) -> Any:
    """A tensor's record; Mean and Norm are numbers that follow from Max and Min and nothing else."""
    four = {"Max": high, "Min": low, "Mean": None, "Norm": None}
    if type(high) is type(low) is float:
        four |= {"Mean": (high + low) / 2, "Norm": max(abs(high), abs(low)) * 1.25}
    return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": list(shape), **four, **fields}


def nan(dtype: str = "float16", shape: Sequence[int] = (4,), **fields: Any) -> Any:
    return rec(NAN, NAN, dtype, shape, **fields)


def num(value: Any) -> dict[str, Any]:
    return {"type": type(value).__name__, "value": value}


def fwd(inputs: Sequence[Any], outputs: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
    return {"input_args": list(inputs), "input_kwargs": kwargs, "output": list(outputs)}


def mod(inputs: Sequence[Any], outputs: Sequence[Any], **parameters: Any) -> dict[str, Any]:
    return {**fwd(inputs, outputs), "parameters": parameters}


def bwd(grads: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
    return {"input": list(grads), "output": list(outputs)}


def group(*ranks: int) -> dict[str, Any]:
    return {"type": "torch.ProcessGroup", "group_ranks": list(ranks), "group_id": "1a2b3c4d"}


def write(
    folder: Path,
    data: Entries,
    *,
    rank: int = 0,
    step: int = 0,
    parents: Entries | None = None,
    **header: Any,
) -> Path:
    """One rank-step of a dump; `parents` becomes its construct.json."""
    place = folder / f"step{step}" / f"rank{rank}"
    place.mkdir(parents=True, exist_ok=True)
    head = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, **header}
    (place / "dump.json").write_text(json.dumps({**head, "data": data}))
    if parents is not None:
        (place / "construct.json").write_text(json.dumps(parents))
    return place


def analysed(folder: Path, options: AnalysisOptions = OPTIONS) -> Overflow:
    run = discover(folder)
    return look(run, selections(run, options)[-1], options)


def looked(folder: Path, *ranks: Entries, parents: Entries | None = None) -> Overflow:
    """The analysis of one step of a job with these ranks."""
    for rank, data in enumerate(ranks):
        write(folder, data, rank=rank, parents=parents)
    return analysed(folder)


def reported(found: Overflow) -> Report:
    return report(found)


def causes(found: Overflow) -> list[tuple[str, str]]:
    """(call, cause) of the origins of all ranks, in order."""
    return [(found.looked_through[p].name(o.call), o.cause) for p, o in found.origins()]


def begun(found: Overflow) -> list[tuple[int | None, int | None, str, str]]:
    """(step, rank, call, cause) of the origins, in order."""
    ranks = found.looked_through
    return [(ranks[p].step, ranks[p].rank, ranks[p].name(o.call), o.cause) for p, o in found.origins()]


def only(found: Overflow) -> Origin:
    ((_, origin),) = found.origins()
    return origin


def legal(found: Overflow, place: int = 0) -> dict[str, str]:
    rank = found.looked_through[place]
    return {rank.name(call): why for call, why in rank.roles.legal.items()}


def names(found: Overflow, calls: Sequence[int], place: int = 0) -> list[str]:
    return [found.looked_through[place].name(call) for call in calls]
