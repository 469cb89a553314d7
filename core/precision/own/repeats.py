"""The same call on the same input twice in one capture: what comes out has to be the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from npulse.core.calls.apis import COMMUNICATION, DROPOUT_POSITIONS, SHAPE_ONLY, UNINITIALISED, is_random
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import (
    INPUT,
    KWARGS,
    OBJECT,
    OUTPUT,
    PARAMETERS,
    SCALAR,
    TENSOR,
    Dump,
)
from npulse.core.progress import IsCancelled, check

from .content import OTHER, by_elements, compared
from .model import Captured, Seen
from .switches import switch_for

GIVEN = frozenset((INPUT, KWARGS, PARAMETERS))
MAX_PAIRS = 2_000
"""Repeated calls whose elements are read in one rank-step; the rest is said to be left out."""

_LEFT_OUT = SHAPE_ONLY | UNINITIALISED
_DROPOUT = frozenset(("kwargs dropout_p", "kwargs p", "kwargs dropout", "kwargs attention_dropout"))
_KEEP = frozenset(("kwargs keep_prob",))


def check_repeats(
    one: Captured, problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[Seen], int, bool]:
    """Calls that were given the same as an earlier one and made something else, one finding for each kind of
    operator; how many repeated calls there are; whether all were looked at.

    Random operators and collectives are left out, and calls of which an input is not identified. Where the
    elements are there, they are asked before anything is said. Cancelled.
    """
    unlike: dict[str, list[tuple[int, int, str]]] = {}
    n = n_read = 0
    for first, again in _repeated(one.dump):
        check(is_cancelled)
        n += 1
        how = _outputs_differ(one, first, again, problems, is_cancelled)
        if how is None:
            continue
        n_read += 1
        if n_read > MAX_PAIRS:
            return [_seen(one, pairs) for pairs in unlike.values()], n, False
        if how == "elements" and not _inputs_are_equal(one, first, again, problems, is_cancelled):
            continue
        unlike.setdefault(_kind(one.dump.calls.names[first]), []).append((first, again, how))
    return [_seen(one, pairs) for pairs in unlike.values()], n, True


def _kind(name: str) -> str:
    """A call's name without its number: what is one operator called again."""
    parts = name.rsplit(".", 3)
    if name.startswith(("Module.", "Cell.")):
        return name.rpartition(".")[0]
    return ".".join((parts[0], parts[1], parts[3])) if len(parts) == 4 else name


def _repeated(dump: Dump) -> Iterator[tuple[int, int]]:
    """(first call, a later one that was given the same)."""
    earlier: dict[Hashable, int] = {}
    for call in _given_again(dump):
        name = dump.calls.names[call]
        parts = name.rsplit(".", 3)
        is_module = name.startswith(("Module.", "Cell."))
        if not is_module and (len(parts) != 4 or parts[0] in COMMUNICATION or parts[1] in _LEFT_OUT):
            continue
        if not is_module and is_random(f"{parts[0]}.{parts[1]}"):
            continue
        if is_module and "dropout" in name.lower():
            continue
        signature = _signature(dump, call)
        if signature is None:
            continue
        first = earlier.setdefault((_kind(name), signature), call)
        if first != call:
            yield first, call


def _given_again(dump: Dump) -> list[int]:
    """Calls whose first tensor has the shape and extremes of another call's: no others can be repeated."""
    leaves = dump.leaves
    rows = np.flatnonzero((leaves.kind == TENSOR) & np.isin(leaves.side, (INPUT, KWARGS)))
    rows = rows[np.unique(leaves.call[rows], return_index=True)[1]]
    if not len(rows):
        return []
    keys = np.nan_to_num(
        np.column_stack([leaves.statistics[rows, :2], leaves.shape[rows], leaves.checksum[rows]])
    )
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    calls: list[int] = leaves.call[rows][counts[which.reshape(-1)] > 1].tolist()
    return calls


def _signature(dump: Dump, call: int) -> Hashable | None:
    """What a call was given; None where that is not known well enough, or it draws random numbers."""
    leaves = dump.leaves
    found: list[Hashable] = []
    has_tensor = False
    name = dump.calls.names[call]
    is_module = name.startswith(("Module.", "Cell."))
    place, nothing = DROPOUT_POSITIONS.get(
        name.rsplit(".", 3)[-3] if name.count(".") >= 3 else "", ("", None)
    )
    # a module that holds others may have been given other weights in between: those are recorded with them
    if is_module and PARAMETERS not in leaves.side[dump.leaf_range(call).start : dump.leaf_range(call).stop]:
        return None
    for row in dump.leaf_range(call):
        if leaves.side[row] not in GIVEN:
            continue
        io = leaves.io_names[int(leaves.io[row])]
        kind = int(leaves.kind[row])
        if kind == TENSOR:
            content = _content(dump, row)
            if content is None:
                return None
            has_tensor = True
            found.append((io, int(leaves.shape[row]), int(leaves.dtype[row]), content))
            continue
        value = leaves.values[int(leaves.value[row])] if leaves.value[row] >= 0 else None
        if kind == SCALAR and (io in _DROPOUT and value != 0 or io in _KEEP and value != 1):
            return None
        if kind == SCALAR and io == place and value != nothing:
            return None
        if kind == OBJECT and not value:  # an argument whose value the tool does not keep
            return None
        found.append((io, kind, repr(value)))
    return tuple(found) if has_tensor else None


def _content(dump: Dump, row: int) -> Hashable | None:
    """Checksum or statistics of a tensor; None where they do not identify it."""
    leaves = dump.leaves
    if leaves.checksum[row] >= 0:
        return "sum", int(leaves.checksum[row])
    four, present = leaves.statistics[row], int(leaves.present[row])
    is_constant = present & 3 == 3 and four[0] == four[1]
    if not is_constant and present != 0b1111 or not np.isfinite(four[:2]).all():
        return None
    return bytes(four.tobytes())


def _made(dump: Dump, call: int) -> list[int]:
    leaves = dump.leaves
    return [r for r in dump.leaf_range(call) if leaves.side[r] == OUTPUT and leaves.kind[r] == TENSOR]


def _outputs_differ(
    one: Captured, first: int, again: int, problems: list[Problem], is_cancelled: IsCancelled
) -> str | None:
    """By what two calls are known to have made something else; None where they are not."""
    made = _made(one.dump, first), _made(one.dump, again)
    if len(made[0]) != len(made[1]):
        return None
    for a, b in zip(*made, strict=True):
        leaves = one.dump.leaves
        if leaves.shape[a] != leaves.shape[b] or leaves.dtype[a] != leaves.dtype[b]:
            return None
        said, how = compared(one, a, one, b, problems, is_cancelled)
        if said == OTHER:
            return how.basis
    return None


def _inputs_are_equal(
    one: Captured, first: int, again: int, problems: list[Problem], is_cancelled: IsCancelled
) -> bool:
    """By elements: statistics may be equal where the order is not."""
    leaves = one.dump.leaves
    for a, b in zip(one.dump.leaf_range(first), one.dump.leaf_range(again), strict=False):
        if leaves.side[a] not in GIVEN or leaves.kind[a] != TENSOR:
            continue
        places = one.place(a), one.place(b)
        if places[0] is None or places[1] is None:
            continue
        found = by_elements(places[0], places[1], problems, is_cancelled)
        if found is None or found.n_different:
            return False
    return True


def _seen(one: Captured, pairs: Sequence[tuple[int, int, str]]) -> Seen:
    first, again, basis = pairs[0]
    names = one.dump.calls.names
    switch = switch_for(one.name(first))
    return Seen(
        rule="nondeterministic",
        severity="warning",
        role="suspect",
        subject=names[again],
        text=f"repeat-{basis}",
        next_step=switch,
        where=one,
        call=again,
        values={"first": names[first], "n": len(pairs)},
        figures={"first_call": names[first], "n_calls": len(pairs), "basis": basis, "switch": switch},
        related=tuple(("suspect", names[call]) for _, call, _ in pairs[1:20]),
        calls=((one, again),),
    )
