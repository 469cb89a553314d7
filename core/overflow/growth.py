"""How magnitudes grow: over the layers of a model, and block by block along its residual stream."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import layers_of_calls
from npulse.core.formats.msprobe.names import layer_of, parse_name
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, TENSOR

from .health import MINUS, NAN, PLUS
from .ranks import RankOverflow
from .roles import BENIGN

_BLOCK = re.compile(r"\.\d+\.[^.]+\.forward\.0$")
LEAST_BLOCKS = 4
STEADY_RATIO = 1.3
"""Growth of each block from which on a stream that goes on like this is worth a word."""


@dataclass(frozen=True, slots=True)
class LayerGrowth:
    """One entry a layer (or a call, where no layers can be told), in execution order.

    shares: log(absmax) over log(largest), 0 to 1; 1 where something is not finite. entry_of_call: entry of
    each call.
    """

    labels: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]
    entry_of_call: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResidualGrowth:
    """The stream behind each block. ratio: growth a block, from block `first` (the first that grew) on.

    absmax: of their outputs, that of the block in front of them first. blocks_left: blocks until the
    dtype's largest value at this rate, None where it is not reached.
    """

    first: int
    last: int
    ratio: float
    absmax: tuple[float, ...]
    dtype: str
    blocks_left: float | None
    name: str
    row: int


def layer_growth(rank: RankOverflow) -> LayerGrowth:
    """The largest magnitude in each layer of a rank-step, legal infinities left out."""
    entry, labels = layers_of_calls(rank.dump.calls.names, rank.construct)
    leaves, health = rank.dump.leaves, rank.health
    counted = (leaves.kind == TENSOR) & np.isin(leaves.side, (OUTPUT, GRAD)) & health.is_float
    counted &= health.is_known & (rank.roles.row != BENIGN)
    shares = np.zeros(len(labels))
    known = np.zeros(len(labels), np.bool_)
    bad = health.flags & (NAN | PLUS | MINUS) != 0
    with np.errstate(all="ignore"):
        share = np.log1p(health.absmax) / np.log1p(health.largest)
    share = np.where(bad, 1.0, np.clip(np.nan_to_num(share), 0.0, 1.0))
    of_row = entry[leaves.call] if len(labels) else np.zeros(0, np.int64)
    np.maximum.at(shares, of_row[counted], share[counted])
    known[of_row[counted]] = True
    return LayerGrowth(tuple(labels), shares, known, entry)


def residual_growth(rank: RankOverflow) -> ResidualGrowth | None:
    """The longest steady growth of the block outputs of the forward pass; None where there is none."""
    runs = [run for blocks in _block_outputs(rank).values() for run in _steady_runs(rank, blocks)]
    if not runs:
        return None
    run = max(runs, key=len)
    values = [float(rank.health.absmax[row]) for _, row in run]
    ratio = (values[-1] / values[0]) ** (1 / (len(run) - 1))
    last, row = run[-1]
    largest = float(rank.health.largest[row])
    left = float(np.log(largest / values[-1]) / np.log(ratio)) if values[-1] < largest else 0.0
    leaves = rank.dump.leaves
    return ResidualGrowth(
        run[1][0],  # the first one that grew
        last,
        float(ratio),
        tuple(values),
        leaves.dtypes[int(leaves.dtype[row])] if leaves.dtype[row] >= 0 else "",
        left if left < 1000 else None,
        rank.name(int(leaves.call[row])),
        row,
    )


def _steady_runs(rank: RankOverflow, blocks: dict[int, int]) -> list[list[tuple[int, int]]]:
    """Runs of (block number, row) in which each block's output is larger than the one before it."""
    runs: list[list[tuple[int, int]]] = []
    run: list[tuple[int, int]] = []
    for number in sorted(blocks):
        row = blocks[number]
        now = float(rank.health.absmax[row])
        if run and run[-1][0] + 1 == number and np.isfinite(now):
            if now > float(rank.health.absmax[run[-1][1]]) * STEADY_RATIO > 0:
                run.append((number, row))
                continue
        runs.append(run)
        run = [(number, row)]
    runs.append(run)
    return [run for run in runs if len(run) > LEAST_BLOCKS]


def _block_outputs(rank: RankOverflow) -> dict[str, dict[int, int]]:
    """For each layer list of the model: block number to the row of its first output, forward entries."""
    leaves, health = rank.dump.leaves, rank.health
    found: dict[str, dict[int, int]] = {}
    for call, full in enumerate(rank.dump.calls.names):
        if not full.endswith(".forward.0") or not _BLOCK.search(full):
            continue  # a quick look: most entries are no element of a list of layers
        name = parse_name(full)
        layers, _, number = name.path.rpartition(".")
        if name.direction != "forward" or name.number != 0 or str(layer_of(name)) != number:
            continue
        rows = [
            r
            for r in rank.dump.leaf_range(call)
            if leaves.side[r] == OUTPUT and leaves.kind[r] == TENSOR and health.is_float[r]
        ]
        if rows and health.is_known[rows[0]]:
            found.setdefault(layers, {}).setdefault(int(number), rows[0])
    return found
