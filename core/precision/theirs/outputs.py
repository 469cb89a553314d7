"""Outputs of two runners of polygraphy, compared here: the file holds tensors and no figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.results.documents import table_of
from npulse.core.formats.results.layouts import OUTPUTS
from npulse.core.formats.results.polygraphy import Output, RunResults
from npulse.core.formats.results.table import ResultTable

_GOLDEN = ("onnxrt", "onnxruntime", "ort", "cpu", "pytorch", "torch", "tf-", "golden", "reference")
"""Beginnings of runners that are the reference of others."""

Array = npt.NDArray[Any]


def outputs_tables(files: Sequence[RunResults]) -> list[ResultTable]:
    """A table for each runner against the golden one; of a single runner its outputs without counterparts.

    The golden runner is the one whose name says so, else the last.
    """
    runners = list(dict.fromkeys(output.runner for file in files for output in file.outputs))
    if not runners:
        return []
    golden = next((name for name in reversed(runners) if name.lower().startswith(_GOLDEN)), runners[-1])
    of_golden = {
        (output.iteration, output.name): output
        for file in files
        for output in file.outputs
        if output.runner == golden
    }
    found = []
    for runner in runners:
        if runner == golden and len(runners) > 1:
            continue
        file = next(file for file in files if runner in file.runners)
        mine = [output for output in file.outputs if output.runner == runner]
        pairs = of_golden if len(runners) > 1 else {}
        found.append(table_of(OUTPUTS, list(_rows(mine, pairs)), file.artifact, file.problems))
    return found


def _rows(mine: Sequence[Output], golden: dict[tuple[int, str], Output]) -> Iterator[dict[str, Any]]:
    for output in mine:
        other = golden.get((output.iteration, output.name))
        row: dict[str, Any] = {
            "Output": f"{output.runner}/{output.name}",
            "Golden Output": "" if other is None else f"{other.runner}/{other.name}",
            "Iteration": output.iteration,
        }
        for side, found in (("Target", output), ("Golden", other)):
            array = None if found is None else found.array
            row |= {f"{side} {name}": value for name, value in _statistics(array).items()}
        if other is not None and output.array is not None and other.array is not None:
            row |= _compared(output.array, other.array)
        yield row


def _statistics(array: Array | None) -> dict[str, Any]:
    if array is None:
        return {"Data Type": "", "Data Shape": ""}
    shown: dict[str, Any] = {"Data Type": str(array.dtype), "Data Shape": str(list(array.shape))}
    if not array.size:
        return shown
    values = array.astype(np.float64)
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(values.reshape(-1)))
        low, high, mean = float(values.min()), float(values.max()), float(values.mean())
        return shown | {"Max": high, "Min": low, "Mean": mean, "Norm": norm}


def _compared(target: Array, golden: Array) -> dict[str, Any]:
    """Figures over all elements; NaN and Inf at equal places are left out; at others the error is Inf."""
    if target.shape != golden.shape or not target.size:
        return {}
    t, g = target.astype(np.float64).reshape(-1), golden.astype(np.float64).reshape(-1)
    odd = ~np.isfinite(t) | ~np.isfinite(g)
    if not np.array_equal(t[odd], g[odd], equal_nan=True):
        return {"MaxAbsoluteError": np.inf}
    t, g = t[~odd], g[~odd]
    if not t.size:
        return {"MaxAbsoluteError": 0.0}
    with np.errstate(all="ignore"):
        error, norms = np.abs(t - g), (float(np.linalg.norm(t)), float(np.linalg.norm(g)))
        found = {"MaxAbsoluteError": float(error.max())}
        if norms[0] and norms[1]:
            found["CosineSimilarity"] = min(1.0, float(t @ g) / (norms[0] * norms[1]))
        if norms[1]:
            found["RelativeEuclideanDistance"] = float(np.linalg.norm(t - g)) / norms[1]
        return found
