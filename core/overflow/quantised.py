"""Quantised models: values at the end of the integer range, activations beyond their calibrated range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import GRAD, INPUT, KWARGS, OUTPUT, PARAMETERS, SCALAR, TENSOR

from .health import UNKNOWN
from .ranks import RankOverflow

ACTIVATION_SCALES = frozenset(("input_scale", "act_scale", "activation_scale", "x_scale", "pertoken_scale"))
"""Parameters and keywords that hold the scale of a layer's input: one for all tokens, calibrated before."""

QUANTISERS = frozenset(
    (
        "npu_quantize",
        "quantize_per_tensor",
        "quantize_per_channel",
        "fake_quantize_per_tensor_affine",
        "quantize",
    )
)
"""APIs that divide their first input by the scale given second and cut to the integer range."""

INT8_MAX = 127.0
WORTH_RATIO = 1.05


@dataclass(frozen=True, slots=True)
class Clipped:
    """A tensor of int8 or float8 with many elements at the end of its range."""

    row: int
    share: float


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A call whose float input is larger than its scale can hold. range: largest value that it can."""

    call: int
    row: int
    absmax: float
    scale: float
    range: float

    @property
    def ratio(self) -> float:
        return self.absmax / self.range


def clipped(rank: RankOverflow, least: float) -> list[Clipped]:
    """Quantised tensors of which at least that share is clipped, the worst first; only counted ones."""
    health, leaves = rank.health, rank.dump.leaves
    counts = health.counts["saturated"]
    picked = health.is_quantised & (counts != UNKNOWN) & (counts > 0) & (health.n_elements > 1)
    picked &= ~np.isin(leaves.side, (PARAMETERS, GRAD))  # weights are quantised to their own largest value
    rows = np.flatnonzero(picked)
    shares = counts[rows] / health.n_elements[rows]
    found = [Clipped(int(r), float(s)) for r, s in zip(rows, shares, strict=True) if s >= least]
    return sorted(found, key=lambda one: -one.share)


def out_of_range(rank: RankOverflow) -> list[OutOfRange]:
    """Calls that are given more than their calibrated range, the worst first."""
    return sorted(_out_of_range(rank), key=lambda one: -one.ratio)


def _out_of_range(rank: RankOverflow) -> Iterator[OutOfRange]:
    leaves, health = rank.dump.leaves, rank.health
    named = {
        code
        for code, io in enumerate(leaves.io_names)
        if io.rpartition(".")[2].split(" ")[-1] in ACTIVATION_SCALES
    }
    scaled = np.flatnonzero(
        np.isin(leaves.io, list(named)) & np.isin(leaves.side, (PARAMETERS, KWARGS, INPUT))
    )
    calls = {int(leaves.call[row]): int(row) for row in scaled}
    for call, full in enumerate(rank.dump.calls.names):
        if call in calls:
            continue
        if "quantize" in full and parse_name(full).api in QUANTISERS:
            rows = [r for r in rank.dump.leaf_range(call) if leaves.side[r] == INPUT]
            if len(rows) > 1:
                calls[call] = rows[1]
    for call, scale_row in sorted(calls.items()):
        scale = _reciprocal(rank, scale_row) if _multiplies(rank, call) else _largest_scale(rank, scale_row)
        given = [
            r
            for r in rank.dump.leaf_range(call)
            if leaves.side[r] == INPUT and leaves.kind[r] == TENSOR and r != scale_row
        ]
        if scale is None or not given or not _is_forward(rank, call):
            continue
        row = given[0]
        absmax = float(health.absmax[row])
        limit = INT8_MAX * scale
        if health.is_float[row] and health.is_known[row] and np.isfinite(absmax) and limit > 0:
            if absmax > WORTH_RATIO * limit:
                yield OutOfRange(call, row, absmax, scale, limit)


def _is_forward(rank: RankOverflow, call: int) -> bool:
    return parse_name(rank.name(call)).direction == "forward"


def _multiplies(rank: RankOverflow, call: int) -> bool:
    """npu_quantize with div_mode False (its sixth argument) is given one over the scale."""
    if parse_name(rank.name(call)).api != "npu_quantize":
        return False
    leaves = rank.dump.leaves
    words = ("input 5", "kwargs div_mode")
    rows = [r for r in rank.dump.leaf_range(call) if leaves.io_names[int(leaves.io[r])] in words]
    return any(rank.dump.leaf(row).value is False for row in rows)


def _reciprocal(rank: RankOverflow, row: int) -> float | None:
    """The largest scale where one over it is recorded, which is a tensor."""
    smallest = float(rank.health.low[row]) if rank.health.is_known[row] else 0.0
    return 1 / smallest if smallest > 0 else None


def _largest_scale(rank: RankOverflow, row: int) -> float | None:
    leaves, health = rank.dump.leaves, rank.health
    if leaves.kind[row] == SCALAR:
        value = rank.dump.leaf(row).value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and abs(value) < 2**1000 else None
    if leaves.kind[row] != TENSOR or not health.is_known[row] or leaves.side[row] == OUTPUT:
        return None
    return float(health.absmax[row])
