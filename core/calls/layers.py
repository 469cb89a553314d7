"""Which layer of the model each call belongs to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.names import layer_of, parse_name, without_number
from npulse.core.formats.msprobe.records import Construct

_MAX_DEPTH = 64


def layers_of_calls(
    names: Sequence[str], construct: Construct | None
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Layer index per call, and labels, in execution order.

    Calls without a layer of their own go with the one before them. Where no call has a layer each call is an
    entry of its own.
    """
    found = _layers(names, construct)
    if all(n is None for _, n in found):
        return np.arange(len(names), dtype=np.int64), list(names)
    index = np.zeros(len(names), np.int64)
    labels: list[str] = []
    current: tuple[str, int | None] | None = None
    for call, (direction, layer) in enumerate(found):
        before = current[1] if current is not None and current[0] == direction else None
        key = (direction, layer if layer is not None else before)
        if key != current:
            current = key
            labels.append(direction if key[1] is None else f"layer {key[1]} {direction}")
        index[call] = len(labels) - 1
    return index, labels


def _layers(names: Sequence[str], construct: Construct | None) -> list[tuple[str, int | None]]:
    """Direction and layer of each call; worked out once an entry, and once a module around entries."""
    of_entry: dict[tuple[str, str], tuple[str, int | None]] = {}
    around: dict[str, int | None] = {}
    parents = construct.parents if construct else {}
    found: list[tuple[str, int | None]] = []
    for name in names:
        entry = without_number(name)
        own = of_entry.get(entry)
        if own is None:
            direction = parse_name(name).direction
            own = of_entry[entry] = ("backward" if direction == "grad" else direction, layer_of(name))
        if own[1] is None and (parent := parents.get(name)) is not None:
            if parent not in around:
                around[parent] = layer_number(parent, construct)
            own = own[0], around[parent]
        found.append(own)
    return found


def layer_number(name: str, construct: Construct | None) -> int | None:
    """The number of the layer that an entry lies in, by its own name or that of a module around it."""
    found = layer_of(name)
    parents = construct.parents if construct else {}
    parent = parents.get(name)
    for _ in range(_MAX_DEPTH):
        if found is not None or parent is None:
            break
        found = layer_of(parent)
        parent = parents.get(parent)
    return found


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
