"""Rows of charts by rank and by layer, and one order of layers for all ranks and rounds."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import layers_of_calls
from npulse.core.calls.layers import places_of as places_of
from npulse.core.report.mask import hide_word
from npulse.core.table import Column, Table

Ints = npt.NDArray[np.int64]


def by_rank(table: Table) -> list[tuple[str, Ints]]:
    """(label, rows) of each rank and step, in order; the step is named where there are several."""
    rank, step = table.column("rank"), table.column("step")
    keys = np.stack([np.where(absent(one), -1, one.values.astype(np.int64)) for one in (rank, step)], axis=1)
    if not len(keys):
        return []
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    has_steps = len(np.unique(unique[:, 1])) > 1
    made = []
    for place, (rank_number, step_number) in enumerate(unique.tolist()):
        label = f"rank {rank_number}" if rank_number >= 0 else "rank ?"
        if has_steps:
            label += f" step {step_number}" if step_number >= 0 else " step ?"
        made.append((label, np.flatnonzero(inverse.reshape(-1) == place)))
    return made


def layers_of(table: Table, rows: Ints) -> tuple[Ints, list[str]]:
    """Layer of each of the rows, and the labels in execution order."""
    operator = table.column("operator")
    codes, places = np.unique(operator.values[rows], return_inverse=True)
    names = [_with_lists(str((operator.labels or ("?",))[int(code)])) for code in codes]
    # unique sorts by code; calls are wanted in the order in which they ran
    first = np.full(len(codes), len(rows))
    np.minimum.at(first, places.reshape(-1), np.arange(len(rows)))
    order = np.argsort(first, kind="stable")
    index, labels = _layers_of(tuple(names[i] for i in order))
    layer_of_code = np.zeros(len(codes), np.int64)
    layer_of_code[order] = index
    return layer_of_code[places.reshape(-1)], labels


@lru_cache(maxsize=4)
def _layers_of(names: tuple[str, ...]) -> tuple[Ints, list[str]]:
    """Ranks of one job have the same calls, as a rule."""
    return layers_of_calls(names, None)


_LISTS = {hide_word(word): word for word in ("layers", "layer", "h", "blocks", "block", "stages")}
"""What a masked name has in place of the words by which layers are known."""
_HIDDEN = re.compile(r"\bx[0-9a-f]{8}\b")


def _with_lists(name: str) -> str:
    return _HIDDEN.sub(lambda match: _LISTS.get(match[0], match[0]), name)


def absent(column: Column) -> npt.NDArray[np.bool_]:
    """Rows without a value."""
    return column.absent if column.absent is not None else np.zeros(len(column.values), np.bool_)
