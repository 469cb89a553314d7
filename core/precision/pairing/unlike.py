"""Calls that stand against each other by their name alone: what reads their results may speak against it.

A call that one side put where the other took one out has its name, as names count up. Where both what it is
given and what it makes are of other shapes, a name is little: a call that is the same, only with a part of
the weight or other data, is read by calls of other shapes too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION

from .keys import BACKWARD, Keys
from .links import Feeding
from .partners import Partners


def part_unlike(
    feeding: tuple[Feeding, Feeding],
    keys: tuple[Keys, Keys],
    picks: list[npt.NDArray[np.bool_]],
    found: Partners,
) -> None:
    """Take such pairs of forwards apart that their readers speak against, and backwards whose forwards are.

    Cost: a pass over the columns, and the readers of pairs of which all shapes are unlike.
    """
    a, b = keys
    pairs = np.flatnonzero(picks[0] & (found.of_target >= 0))
    partners = found.of_target[pairs]
    unlike = a.name[pairs] == b.name[partners]
    for x, y in ((a.given_shapes, b.given_shapes), (a.made_shapes, b.made_shapes)):
        unlike &= (x[pairs] != y[partners]) & (x[pairs] != 0) & (y[partners] != 0)
    for x, y in ((a.given, b.given), (a.beside, b.beside)):  # equal values speak for them
        unlike &= (x[pairs] != y[partners]) | (x[pairs] == 0)
    forwards: list[dict[int, list[int]]] | None = None
    for t, g in zip(pairs[unlike].tolist(), partners[unlike].tolist(), strict=True):
        if a.direction[t] == BACKWARD:
            forwards = forwards or [_forwards(k) for k in keys]
            ends = [of.get(int(k.base[call]), []) for of, k, call in zip(forwards, keys, (t, g), strict=True)]
            is_other = all(ends) and not any(int(found.of_target[call]) in ends[1] for call in ends[0])
        else:
            is_other = _is_read_otherwise(feeding, keys, (t, g), found)
        if is_other:
            found.of_target[t] = found.of_golden[g] = -1


def _forwards(keys: Keys) -> dict[int, list[int]]:
    of: dict[int, list[int]] = {}
    for call in np.flatnonzero(keys.direction != BACKWARD).tolist():
        of.setdefault(int(keys.base[call]), []).append(call)
    return of


def _is_read_otherwise(
    feeding: tuple[Feeding, Feeding], keys: tuple[Keys, Keys], ends: tuple[int, int], found: Partners
) -> bool:
    """Whether a reader of one result stands against a call that is given the very same shapes: it cannot be
    what reads the other result, which has another."""
    readers = [_readers(f, call) for f, call in zip(feeding, ends, strict=True)]
    for side, of in enumerate((found.of_target, found.of_golden)):
        for call in readers[side]:
            partner = int(of[call])
            if partner >= 0 and keys[side].given_shapes[call] == keys[1 - side].given_shapes[partner]:
                return True
    return False


def _readers(feeding: Feeding, call: int) -> list[int]:
    return [
        reader
        for leaf in feeding.writes(call)[:1]
        for reader in feeding.readers(leaf)
        if not feeding.dump.calls.names[reader].startswith(COMMUNICATION)
    ]
