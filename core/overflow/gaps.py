"""What lies between two captured calls where a value changed in between: operators that were not captured."""

from __future__ import annotations

from itertools import islice

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Construct, Dump

from .health import Health

MAX_BETWEEN = 8


@dataclass(frozen=True, slots=True)
class Gap:
    """after: the last captured call whose output may have gone in. between: names that were not captured."""

    after: int
    between: tuple[str, ...]


def find_gap(dump: Dump, health: Health, construct: Construct | None, call: int, row: int) -> Gap | None:
    """The gap through which a bad input came; None where it came from outside (data, an argument).

    A value came through a gap where an earlier output of as many elements was read by no captured call as
    it was: something that was not captured took it.
    """
    leaves = dump.leaves
    first = int(dump.calls.first_leaf[call])
    size = health.n_elements[row]
    sides, kinds = leaves.side[:first], leaves.kind[:first]
    made = np.flatnonzero((sides == OUTPUT) & (kinds == TENSOR) & (health.n_elements[:first] == size))
    between = _not_captured(dump, construct, call)
    if not len(made) or size < 0:
        return Gap(-1, between) if between else None
    upto = int(dump.calls.first_leaf[call + 1])
    read = np.flatnonzero(
        np.isin(leaves.side[:upto], (INPUT, KWARGS))
        & (leaves.kind[:upto] == TENSOR)
        & (health.n_elements[:upto] == size)
    )
    read_contents = {leaves.statistics[r].tobytes() for r in read.tolist()}
    for candidate in made[::-1][:64].tolist():
        maker = int(leaves.call[candidate])
        is_module = parse_name(dump.calls.names[maker]).kind == "module"
        if not is_module and leaves.statistics[candidate].tobytes() not in read_contents:
            return Gap(maker, between)
    return Gap(-1, between) if between else None


def _not_captured(dump: Dump, construct: Construct | None, call: int) -> tuple[str, ...]:
    """Calls of the hierarchy directly in front of a call that the dump does not have, nearest last."""
    if construct is None or not construct.parents:
        return ()
    entries = list(construct.parents)
    name = dump.calls.names[call]
    if name not in construct.parents:
        return ()
    place = entries.index(name)
    captured = set(dump.calls.names)
    found: list[str] = []
    for entry in islice(reversed(entries[:place]), 4 * MAX_BETWEEN):
        kind = parse_name(entry).kind
        if kind == "module":
            continue
        if entry in captured or len(found) >= MAX_BETWEEN:
            break
        found.append(entry)
    return tuple(reversed(found))
