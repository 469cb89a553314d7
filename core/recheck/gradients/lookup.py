"""Gradients of rows that were looked up by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from npulse.core.formats.tensors import dtype_of

from ..number import Number, check_size
from ..registry import gradient
from .common import Gradients


@gradient("embedding", accumulates=True)
def embedding(
    g: Number,
    input: Number,
    weight: Number,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Gradients:
    """Each row of the table gets the sum of the gradients of where it went, in whichever order.

    Implementations add in the gradient's own dtype, or in float32.
    """
    if sparse:
        raise NotImplementedError("a sparse gradient")
    n_rows, width = weight.shape
    check_size(n_rows, width)
    index = input.indices().reshape(-1)
    if index.size and (index.min() < 0 or index.max() >= n_rows):
        raise IndexError(f"an index outside of 0 ... {n_rows - 1}")
    terms = g.reshape(-1, width)
    counts = np.bincount(index, minlength=n_rows)
    if scale_grad_by_freq:
        terms = terms / terms.exactly(counts[index, None].astype(np.float64))
    kept = index != (-1 if padding_idx is None else int(padding_idx) % n_rows)

    def added(a: Any) -> Any:
        whole = np.zeros((n_rows, width), np.float64)
        np.add.at(whole, index[kept], np.broadcast_to(a, terms.shape)[kept])
        return whole

    made = terms.exactly(added(terms.value))
    if made.inside.is_plain:
        return {"weight": made}
    dtype = dtype_of(g.dtype)
    roundoff = max(made.inside.roundoff, 0.0 if dtype is None else dtype.unit_roundoff)
    n = np.maximum(counts - 1, 0)[:, None] * roundoff
    with np.errstate(divide="ignore"):
        grown = np.where(n < 0.5, n / (1.0 - n), np.inf)
    error = added(terms.error) + np.where(grown > 0, grown * added(abs(terms.value)), 0.0)
    return {"weight": Number(made.value, made.inside, error)}
