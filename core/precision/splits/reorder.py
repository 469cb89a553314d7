"""Tensors that do not agree, compared again in another order of heads; taken back where results differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from npulse.core.formats.msprobe.records import DEBUG, GRAD, OUTPUT

from ..reading.work import Measured, TensorJob, measure
from ..settle import settle_tensors, store_measured
from ..verdict import ERROR, Criteria
from .heads import may_be_reordered, reordered
from .model import Part
from .place import side_place

if TYPE_CHECKING:
    from ..reading.jobs import Differing
    from ..role_records import Roles
    from ..rows import Rows, TensorRows

MADE = (OUTPUT, GRAD, DEBUG)


def in_other_orders(rows: Rows, tensors: TensorRows, differing: Differing, criteria: Criteria) -> None:
    """The rows of `differing` that agree in another order are put into that order.

    Those have their split in `rows.splits` and the figures of the other order in `rows.unordered`.
    """
    equal: list[int] = []
    for place, (job, metrics) in enumerate(differing):
        row = job.row
        is_candidate = rows.verdict[row] == ERROR and row not in rows.splits and may_be_reordered(metrics)
        again = _in_order(rows, job, criteria) if is_candidate else None
        if again is None:
            continue
        rows.unordered[row] = metrics
        store_measured(rows, again[1])
        if again[1].metrics is not None and again[1].metrics.n_different:
            differing.put(place, again[0], again[1].metrics)
        else:
            equal.append(place)
    differing.drop(equal)
    if rows.unordered:
        settle_tensors(rows, tensors, criteria)


def _in_order(rows: Rows, job: TensorJob, criteria: Criteria) -> tuple[TensorJob, Measured] | None:
    target = Part(rows.target, job.target.root, rows.target_row(job.row))
    golden = Part(rows.golden, job.golden.root, rows.golden_row(job.row))
    split = reordered(target, golden)
    if split is None:
        return None
    again = TensorJob(job.row, side_place(split.target), side_place(split.golden))
    result = measure(again)
    if result.metrics is None or not result.metrics.cosine >= criteria.cosine:
        return None
    rows.splits[job.row] = split
    return again, result


def is_order_wrong(rows: Rows, roles: Roles) -> bool:
    """Whether an operator gave its output another order, and a call that got it has another result.

    Weights in another order, with all that is made of them, are another convention; an order that begins
    in an operator and changes what comes of it is that operator's fault.
    """
    starts = {
        call
        for row in rows.unordered
        if rows.side(row) in MADE and not _is_given_reordered(rows, call := int(rows.pairing.row_call[row]))
    }
    if not starts:
        return False
    return any(_is_given_reordered(rows, origin.call) for origin in roles.origins)


def _is_given_reordered(rows: Rows, call: int) -> bool:
    of_call = range(*np.searchsorted(rows.pairing.row_call, [call, call + 1]).tolist())
    return any(row in rows.unordered and rows.side(row) not in MADE for row in of_call)


def take_back(rows: Rows, tensors: TensorRows, criteria: Criteria) -> None:
    """The figures in the order in which the tensors are."""
    for row, metrics in rows.unordered.items():
        del rows.splits[row]
        store_measured(rows, Measured(row, metrics))
    rows.unordered.clear()
    settle_tensors(rows, tensors, criteria)
