"""Writes figures, verdicts and reasons into `Rows`: values, tensors, statistics - each row exactly once."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from npulse.core.formats.msprobe.records import OUTPUT, TENSOR

from .reading.work import Examined, Measured
from .rows import BY_STATISTICS, BY_TENSOR, BY_VALUE, FIGURES, Rows, TensorRows, scalar_rows, statistics_rows
from .statistics import judge_statistics
from .verdict import ERROR, PASS, REASON, UNKNOWN, WARNING, Criteria, judge_tensors

_DEVICE = re.compile(r"(cpu|npu|cuda|gpu|meta|ascend)(:\w+)?", re.IGNORECASE)


SPELLING = 2.0**-22
"""Relative difference of two numbers that are one float32, written out as a double on one side."""


def settle_values(rows: Rows, criteria: Criteria) -> None:
    """Scalars by equality; leaves and calls of one side alone; leaves of unlike kind."""
    pairing = rows.pairing
    t, g = pairing.target_leaf, pairing.golden_leaf
    alone = (t < 0) | (g < 0)
    rows.verdict[alone] = UNKNOWN
    rows.reason[alone] = REASON["one-side"]
    one_call = (pairing.target_call < 0) | (pairing.golden_call < 0)
    rows.reason[alone & one_call[pairing.row_call]] = REASON["call-one-side"]
    both = np.flatnonzero(~alone)
    unlike = rows.target.leaves.kind[t[both]] != rows.golden.leaves.kind[g[both]]
    rows.verdict[both[unlike]] = UNKNOWN
    rows.reason[both[unlike]] = REASON["one-side"]
    lt, lg = rows.target.leaves, rows.golden.leaves
    for row in scalar_rows(rows).tolist():
        one = lt.values[int(lt.value[t[row]])] if lt.value[t[row]] >= 0 else None
        other = lg.values[int(lg.value[g[row]])] if lg.value[g[row]] >= 0 else None
        rows.basis[row] = BY_VALUE
        if equal_values(one, other):
            rows.verdict[row], rows.reason[row] = PASS, REASON["equal"]
        elif _distance(one, other) <= SPELLING:
            rows.verdict[row], rows.reason[row] = PASS, REASON["rounding"]
        elif int(lt.side[t[row]]) != OUTPUT:
            rows.verdict[row], rows.reason[row] = WARNING, REASON["scalar-alone"]
        elif _distance(one, other) <= min(criteria.norm_ratio_high - 1, 1 - criteria.norm_ratio_low):
            rows.verdict[row], rows.reason[row] = WARNING, REASON["above-rounding"]
        else:
            rows.verdict[row], rows.reason[row] = ERROR, REASON["scalar"]


def equal_values(one: Any, other: Any) -> bool:
    """Equality of two recorded scalars: NaN equals NaN, and any device name equals any other."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other or bool(_DEVICE.fullmatch(one) and _DEVICE.fullmatch(other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return bool(one == other)


def _distance(target: Any, golden: Any) -> float:
    """Relative difference of two recorded floats (also of one and an integer); infinite for anything else."""
    numbers = (target, golden)
    if not any(isinstance(x, float) for x in numbers) or not all(type(x) in (int, float) for x in numbers):
        return math.inf
    try:
        one, other = float(target), float(golden)
    except OverflowError:
        return math.inf
    if not (math.isfinite(one) and math.isfinite(other)) or other == 0:
        return math.inf
    return abs(one - other) / abs(other)


def store_measured(rows: Rows, result: Measured) -> None:
    """Keep the figures of one measured pair, or why there are none."""
    row, metrics = result.row, result.metrics
    if result.shapes_differ:
        rows.verdict[row], rows.reason[row] = ERROR, REASON["shape"]
        return
    if metrics is None:
        is_changed = any(problem.kind == "changed" for problem in result.problems)
        rows.verdict[row] = UNKNOWN
        rows.reason[row] = REASON["changed" if is_changed else "unreadable"]
        return
    rows.basis[row] = BY_TENSOR
    if result.stored is not None:
        rows.stored_dtypes[row] = result.stored
    n = max(metrics.n_compared, 1)
    nonzero = max(metrics.n_compared - metrics.n_golden_zero, 1)
    figures: dict[str, float] = {
        "ratio_below_1e3": metrics.n_below_1e3 / n,
        "ratio_below_5e3": metrics.n_below_5e3 / n,
        "ratio_below_1e3_nonzero": metrics.n_below_1e3_nonzero / nonzero,
        "ratio_below_5e3_nonzero": metrics.n_below_5e3_nonzero / nonzero,
        "absmax_target": max(abs(metrics.max_target), abs(metrics.min_target)),
        "absmax_golden": max(abs(metrics.max_golden), abs(metrics.min_golden)),
    }
    for name in FIGURES:
        value = figures.get(name, getattr(metrics, name, None))
        rows.put(name, row, value)


def settle_tensors(rows: Rows, tensors: TensorRows, criteria: Criteria) -> None:
    """Judge all rows whose elements were measured."""
    measured = rows.basis[tensors.index] == BY_TENSOR
    index = tensors.index[measured]
    f = rows.figures
    judged = judge_tensors(
        criteria=criteria,
        is_exact=tensors.is_exact[measured],
        unit_roundoff=tensors.unit_roundoff[measured],
        smallest=tensors.smallest[measured],
        cosine=f["cosine"][index],
        norm_ratio=f["norm_ratio"][index],
        rel_l2=f["rel_l2"][index],
        max_abs_error=f["max_abs_error"][index],
        n_different=f["n_different"][index],
        nonfinite_differing=f["nonfinite_differing"][index],
        limited={name: f[name][index] for name, _ in criteria.limits},
    )
    rows.verdict[index] = judged.verdict
    rows.reason[index] = judged.reason


def settle_statistics(rows: Rows, tensors: TensorRows, criteria: Criteria) -> None:
    """Judge what is left: shapes, empty tensors, and rows known by statistics or checksum only."""
    pending = rows.reason[tensors.index] == REASON["pending"]
    shape = pending & ~tensors.shape_equal
    rows.verdict[tensors.index[shape]] = ERROR
    rows.reason[tensors.index[shape]] = REASON["shape"]
    if rows.golden.header.framework == "golden":
        # the fusion rule names the maker of an input, not what was cut or reshaped on the way
        given = tensors.index[shape & (rows.target.leaves.side[tensors.target] != OUTPUT)]
        rows.verdict[given] = UNKNOWN
    empty = pending & tensors.shape_equal & tensors.shape_known & (tensors.n_elements == 0)
    rows.verdict[tensors.index[empty]] = PASS
    rows.reason[tensors.index[empty]] = REASON["empty"]
    untold = pending & ~tensors.shape_known
    rows.reason[tensors.index[untold]] = REASON["not-recorded"]
    if rows.target.absent or rows.golden.absent:
        rows.reason[tensors.index[untold]] = REASON["absent"]  # all others of a checkpoint have a shape
    pick = pending & tensors.shape_equal & tensors.shape_known & ~(tensors.n_elements == 0)
    index = tensors.index[pick]
    result = judge_statistics(statistics_rows(rows, tensors, pick), criteria)
    rows.basis[index] = BY_STATISTICS
    rows.verdict[index] = result.judgement.verdict
    rows.reason[index] = result.judgement.reason
    for row, split in rows.splits.items():
        if split.is_sum and rows.reason[row] == REASON["not-recorded"]:
            rows.reason[row] = REASON["partial-sum"]
    for name, values in (
        ("norm_ratio", result.norm_ratio),
        ("rel_l2_at_least", result.rel_l2_at_least),
        ("n_elements", tensors.n_elements[pick]),
    ):
        known = ~np.isnan(values)
        rows.put(name, index[known], values[known])
    _statistics_extremes(rows, index)


def _statistics_extremes(rows: Rows, index: Any) -> None:
    """absmax of both sides from Max and Min, where both were recorded."""
    for name, leaves, at in (
        ("absmax_target", rows.target.leaves, rows.pairing.target_leaf[index]),
        ("absmax_golden", rows.golden.leaves, rows.pairing.golden_leaf[index]),
    ):
        known = (leaves.present[at] & 3 == 3) & (leaves.kind[at] == TENSOR)
        rows.put(name, index[known], np.abs(leaves.statistics[at[known], :2]).max(axis=1, initial=0))
    judged = set(index.tolist())
    for row, split in rows.splits.items():
        for name, side in (("absmax_target", split.target), ("absmax_golden", split.golden)):
            if row in judged and side.has[:2].all():
                rows.put(name, row, np.abs(side.statistics[:2]).max())
            elif row in judged:
                rows.computed[name][row] = False


def store_examination(rows: Rows, result: Examined) -> None:
    """Keep the figures of a second read."""
    if result.examination is None:
        return
    rows.put("ulp_max", result.row, result.examination.ulp_max)
    rows.put("passes_at", result.row, result.examination.passes_at)
    rows.examinations[result.row] = result.examination
    if result.pattern is not None:
        rows.patterns[result.row] = result.pattern
