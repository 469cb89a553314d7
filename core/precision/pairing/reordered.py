"""Look-alike calls that one side makes in another order under the same names: told by who reads them."""

from __future__ import annotations

from collections.abc import Iterable

from npulse.core.formats.msprobe.records import Dump

from .links import Feeding

MOST_REORDERED = 4096
"""Calls whose readers are looked at."""


def are_reordered(target: Dump, golden: Dump, calls: Iterable[int]) -> bool:
    """Whether calls that were given what others of the same name were are those others.

    calls: rows of calls that have equal names on both sides, and inputs of another call of the other side.
    Where their results go to the same places all the same a wrong weight was loaded, and the names are right.
    """
    sides = (Feeding(target), Feeding(golden))
    for call in calls:
        readers = [_readers(feeding, call) for feeding in sides]
        if all(readers) and readers[0] != readers[1]:
            return True
    return False


def _readers(feeding: Feeding, call: int) -> set[tuple[int, str]]:
    """Which inputs of which calls hold what a call makes first."""
    leaves = feeding.dump.leaves
    made = feeding.writes(call)[:1]
    rows = [row for leaf in made for row in feeding.read_by(leaf)]
    return {(int(leaves.call[row]), leaves.io_names[int(leaves.io[row])]) for row in rows}
