"""Large products of matrices computed for some of their rows: the others are independent of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .compare import OutputCheck
from .given import Given, Tensor

MAX_WORK = 4e9
"""Multiplications of one product: about a second."""
OPERANDS = ("weight", "other", "mat2")


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows that were picked, evenly spread: their numbers, and the shape of the axes they are of."""

    rows: npt.NDArray[np.int64]
    lead: tuple[int, ...]

    def as_of_whole(self, outputs: Sequence[OutputCheck]) -> tuple[OutputCheck, ...]:
        """Figures of the sample with the places and the shape that they have in the whole output."""
        n_rows = math.prod(self.lead)
        return tuple(self._as_of_whole(one, n_rows) for one in outputs)

    def _as_of_whole(self, one: OutputCheck, n_rows: int) -> OutputCheck:
        if one.shape_truth is not None or not one.index:
            return one
        row, column = one.index
        place = tuple(int(i) for i in np.unravel_index(int(self.rows[row]), self.lead))
        width = one.shape[-1]
        left_out = n_rows * width - one.n_elements
        return replace(one, shape=(*self.lead, width), index=(*place, column), n_left_out=left_out)


def sampled(arguments: dict[str, Any], given: Given) -> tuple[dict[str, Any], Given, Sample | None]:
    """Arguments and call with fewer rows, where `input` times a matrix would be too much work."""
    x = arguments.get("input")
    matrix = next((arguments[name] for name in OPERANDS if arguments.get(name) is not None), None)
    made = given.outputs[0] if len(given.outputs) == 1 else None
    if not all(isinstance(one, Tensor) for one in (x, matrix, made)):
        return arguments, given, None
    assert isinstance(x, Tensor) and isinstance(matrix, Tensor) and isinstance(made, Tensor)
    lead, n = x.values.shape[:-1], made.values.shape[-1] if made.values.ndim else 0
    is_product = matrix.values.ndim == 2 and lead and made.values.shape[:-1] == lead
    work = x.values.size * n
    if not is_product or work <= MAX_WORK:
        return arguments, given, None
    n_rows = math.prod(lead)
    most = max(int(MAX_WORK / (work / n_rows)), 1)
    rows = np.unique(np.linspace(0, n_rows - 1, most).astype(np.int64))
    few = replace(x, values=x.values.reshape(n_rows, -1)[rows])
    output = replace(made, values=made.values.reshape(n_rows, n)[rows])
    return {**arguments, "input": few}, replace(given, outputs=(output,)), Sample(rows, tuple(lead))
