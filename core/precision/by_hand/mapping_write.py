"""How the calls of a comparison stand against each other, as a mapping file that msprobe and npulse read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from npulse.core.errors import InputError
from npulse.core.files import refuse_inside, write_whole
from npulse.core.formats.msprobe.mapping import MAX_MEMBERS, ApiEntry
from npulse.core.formats.msprobe.mapping_write import api_lines, group_line, renamed_lines
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, OUTPUT, TENSOR, Dump

from ..pairing import Pairing

Paired = tuple[Pairing, Dump, Dump]
_HEAD = "# Target (left, ms) and golden side (right, pt), as npulse paired them.\n"


def write_mapping(path: Path, paired: Sequence[Paired], runs: Iterable[Path]) -> None:
    """Write the pairs of all ranks and steps; as the kind in the file's name, "cell" or "api", else as data.

    InputError: the file exists, or lies in a run that was looked at.
    """
    refuse_inside(path, runs)
    name = path.name.lower()
    kind = "cell" if "cell" in name else "api" if "api" in name else "data"
    try:
        # equal names may say it all: an empty mapping, since a file without any is no mapping
        write_whole([_HEAD, *(list(lines_of(paired, kind)) or ["{}\n"])], path, force=False)
    except FileExistsError:
        raise InputError(
            "a mapping is not written over a file", path=path, hint="choose a new name"
        ) from None


def lines_of(paired: Sequence[Paired], kind: str) -> Iterator[str]:
    """The entries of a "data", "cell" or "api" mapping: what equal names do not say already.

    Groups, and calls that stand alone though the other side has their name, are comments of a data mapping.
    Copies of a forward have no entry: they stand against what the first one stands against.
    """
    if kind == "cell":
        yield from renamed_lines(pair for one in paired for pair in _modules(*one))
    elif kind == "api":
        yield from api_lines({entry.target: entry for one in paired for entry in _apis(*one)}.values())
    else:
        yield from dict.fromkeys(line for one in paired for line in _comments(*one))
        yield from renamed_lines(pair for one in paired for pair in _leaves(*one))


def _pairs(pairing: Pairing) -> list[int]:
    """Steps of one call against one, without those whose call has a step before."""
    seen: tuple[set[int], set[int]] = (set(), set())
    groups = {group.call for group in pairing.groups}
    found = []
    for step, (t, g) in enumerate(
        zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)
    ):
        if t >= 0 and g >= 0 and step not in groups and t not in seen[0] and g not in seen[1]:
            found.append(step)
        seen[0].add(t)
        seen[1].add(g)
    return found


def _comments(pairing: Pairing, target: Dump, golden: Dump) -> Iterator[str]:
    dumps = (target, golden)
    names = [set(dump.calls.names) for dump in dumps]
    for group in pairing.groups:
        if max(len(group.target_calls), len(group.golden_calls)) <= MAX_MEMBERS:
            sides = zip(dumps, (group.target_calls, group.golden_calls), strict=True)
            yield group_line(*([dump.calls.names[call] for call in calls] for dump, calls in sides))
    for t, g in zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True):
        if g < 0 and (name := target.calls.names[t]) in names[1]:
            yield group_line([name], [])
        elif t < 0 and (name := golden.calls.names[g]) in names[0]:
            yield group_line([], [name])


def _leaves(pairing: Pairing, target: Dump, golden: Dump) -> Iterator[tuple[str, str]]:
    """Tensors that are compared under two names."""
    meant = np.zeros(pairing.n_calls, np.bool_)
    meant[[*_pairs(pairing), *(group.call for group in pairing.groups)]] = True
    both = (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0) & meant[pairing.row_call]
    for row in np.flatnonzero(both).tolist():
        t, g = int(pairing.target_leaf[row]), int(pairing.golden_leaf[row])
        one, other = target.leaf_name(t), golden.leaf_name(g)
        if int(target.leaves.kind[t]) == TENSOR and one != other:
            yield one, other


def _modules(pairing: Pairing, target: Dump, golden: Dump) -> Iterator[tuple[str, str]]:
    for step in _pairs(pairing):
        one = parse_name(target.calls.names[int(pairing.target_call[step])])
        other = parse_name(golden.calls.names[int(pairing.golden_call[step])])
        if one.path and other.path and (one.path, one.cls) != (other.path, other.cls):
            yield f"{one.path}.{one.cls}", f"{other.path}.{other.cls}"


def _apis(pairing: Pairing, target: Dump, golden: Dump) -> Iterator[ApiEntry]:
    """APIs that have another name, with the positions of the tensors that are compared."""
    first = np.searchsorted(pairing.row_call, np.arange(pairing.n_calls + 1))
    for step in _pairs(pairing):
        one = parse_name(target.calls.names[int(pairing.target_call[step])])
        other = parse_name(golden.calls.names[int(pairing.golden_call[step])])
        names = [f"{name.prefix}.{name.api}" for name in (one, other)]
        is_forward = one.kind == other.kind == "api" and one.direction == other.direction == "forward"
        if not is_forward or names[0] == names[1]:
            continue
        lists: dict[str, tuple[tuple[str, str], ...]] = {}
        for key, side in (("args", INPUT), ("outputs", OUTPUT)):
            places = []
            for row in range(int(first[step]), int(first[step + 1])):
                t, g = int(pairing.target_leaf[row]), int(pairing.golden_leaf[row])
                if t >= 0 and g >= 0 and target.leaves.side[t] == golden.leaves.side[g] == side:
                    places.append((_place(target, t), _place(golden, g)))
            if places and all(a.isdigit() and b.isdigit() for a, b in places):
                lists[key] = tuple(places)
        yield ApiEntry(names[0], names[1], 0, lists)


def _place(dump: Dump, leaf: int) -> str:
    return dump.leaf_name(leaf).rpartition(".")[2]
