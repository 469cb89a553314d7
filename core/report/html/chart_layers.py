"""Rows of charts by rank and by layer, and one order of layers for all ranks and rounds."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import layers_of_calls
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


def places_of(orders: Iterable[Sequence[str]]) -> dict[str, int]:
    """One order of the layers of several ranks, as label -> place.

    Numbered layers by their numbers where ranks hold different ones (stages of a pipeline); a call that is an
    entry of its own stands behind the one that it follows in its rank.
    """
    known: list[str] = []
    for order in orders:
        behind: dict[str | None, list[str]] = {}
        has = set(known)
        before: str | None = None
        for label in dict.fromkeys(order):
            if label in has:
                before = label
            else:
                behind.setdefault(before, []).append(label)
        if not behind:
            continue
        known = [*behind.get(None, ()), *(one for label in known for one in (label, *behind.get(label, ())))]
        if has and any(map(_LAYER.fullmatch, known)):
            known.sort(key=_by_number)
    return {label: place for place, label in enumerate(known)}


_LAYER = re.compile(r"layer (\d+) (\w+)")


def _by_number(label: str) -> tuple[bool, int]:
    """Forward upwards, backward downwards; what has no number stands before its direction's layers."""
    found = _LAYER.fullmatch(label)
    is_backward = label.endswith("backward")
    if found is None:
        return is_backward, -sys.maxsize
    return is_backward, -int(found[1]) if is_backward else int(found[1])


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
