"""Pairs by mapping files: what they name goes before names, and those before all other evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.errors import UsageError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.mapping import (
    ApiEntry,
    MappingFile,
    Renamed,
    read_mapping,
)
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import CallName, Dump

from ..pairing import EVIDENCE, NOTHING_BESIDE, Beside, Pairing, pair_auto, pair_by_name
from .apply import with_hand_pairs
from .record import HandPair

MAPPING = 1 << EVIDENCE.index("mapping")
Way = Callable[[Dump, Dump, Beside], Pairing]
_MODULES = ("Module", "Cell")


@dataclass(frozen=True, slots=True)
class PairedByMapping:
    """What `Settings.pair_calls` takes: another way to pair, and then what mapping files say."""

    first: Way
    files: tuple[MappingFile, ...]

    def __call__(self, target: Dump, golden: Dump, beside: Beside = NOTHING_BESIDE) -> Pairing:
        return with_mappings(self.first(target, golden, beside), target, golden, self.files)


def way_to_pair(way: str, paths: Sequence[Path]) -> tuple[Way, tuple[MappingFile, ...]]:
    """How calls are paired ("auto" or "name") under the mapping files, and those as read.

    UsageError for another word; InputError for a file that is no mapping.
    """
    ways: dict[str, Way] = {"auto": pair_auto, "name": pair_by_name}
    if way not in ways:
        raise UsageError(f"--pairing {way[:40]}: no such way", hint="auto, name")
    files = tuple(read_mapping(path) for path in paths)
    return (PairedByMapping(ways[way], files) if files else ways[way]), files


def with_mappings(pairing: Pairing, target: Dump, golden: Dump, files: Sequence[MappingFile]) -> Pairing:
    """The pairing with the mappings in force, a later file before an earlier one. Cost: O(calls + leaves)."""
    leaves = _mapped_leaves(target, golden, files)
    pairs = _renamed(target, golden, files)
    pairs += _of_leaves(target, golden, leaves)
    pairs += [HandPair(group.target, group.golden) for file in files for group in file.groups]
    pairing = with_hand_pairs(pairing, target, golden, pairs, evidence=MAPPING)
    return _with_leaves(pairing, leaves) if leaves else pairing


def mapping_problems(files: Sequence[MappingFile], dumps: Sequence[tuple[Dump, Dump]]) -> list[Problem]:
    """What is wrong in the files, and what they name that no rank and step has, with the line."""
    found = [problem for file in files for problem in file.problems]
    if not any((f.data, f.cells, f.apis, f.groups) for f in files) or not dumps:
        return found
    calls = [{name for pair in dumps for name in pair[side].calls.names} for side in (0, 1)]
    kinds = [{parse_name(name) for name in names} for names in calls]
    modules = [{_module(name) for name in names if name.path} for names in kinds]
    apis = [{f"{n.prefix}.{n.api}" for n in names if n.kind == "api"} for names in kinds]
    leaves = [_leaf_names(dumps, side) if any(f.data for f in files) else set() for side in (0, 1)]
    for file in files:
        named: list[tuple[tuple[str, ...], tuple[str, ...], int, list[set[str]]]] = [
            *(((e.target,), (e.golden,), e.line, leaves) for e in file.data),
            *(((e.target,), (e.golden,), e.line, modules) for e in file.cells),
            *(((e.target,), (e.golden,), e.line, apis) for e in file.apis),
            *((e.target, e.golden, e.line, calls) for e in file.groups),
        ]
        for target, golden, line, known in named:
            for side, names, of in ((0, target, "target"), (1, golden, "golden side")):
                for name in names:
                    is_part = known is modules and any(name in module for module in modules[side])
                    if name not in known[side] and not is_part:
                        message = f"{name[:200]}: the {of} has nothing of that name"
                        found.append(Problem(str(file.path), "missing", message, line=line))
    return found


def _leaf_names(dumps: Sequence[tuple[Dump, Dump]], side: int) -> set[str]:
    return {pair[side].leaf_name(row) for pair in dumps for row in range(len(pair[side].leaves.call))}


def _mapped_leaves(target: Dump, golden: Dump, files: Sequence[MappingFile]) -> dict[int, int]:
    """Leaf row of the target to leaf row of the golden side, of what the files say of single leaves."""
    wanted = {entry.target: entry.golden for file in files for entry in file.data}
    apis = {entry.target: entry for file in files for entry in file.apis if entry.lists}
    if not wanted and not apis:
        return {}
    of_golden = {golden.leaf_name(row): row for row in range(len(golden.leaves.call))}
    found: dict[int, int] = {}
    for row in range(len(target.leaves.call)):
        name = target.leaf_name(row)
        other = wanted.get(name)
        if other is None and apis:
            other = _renamed_leaf(target, row, name, apis)
        if other is not None and other in of_golden:
            found[row] = of_golden[other]
    return found


def _renamed_leaf(target: Dump, row: int, leaf: str, apis: dict[str, ApiEntry]) -> str | None:
    """What an API mapping makes of a leaf's name: another API, and another position of an argument."""
    full = target.calls.names[int(target.leaves.call[row])]
    name = parse_name(full)
    entry = apis.get(f"{name.prefix}.{name.api}")
    if entry is None or name.kind != "api":
        return None
    side, _, place = leaf.removeprefix(full + ".").partition(".")
    key = "outputs" if side == "output" else "parameters" if side == "parameters" else "args"
    other = dict(entry.lists.get(key, ())).get(place)
    return None if other is None else f"{_with_api(name, entry)}.{side}.{other}"


def _with_api(name: CallName, entry: ApiEntry) -> str:
    return f"{entry.golden}.{name.number}.{name.direction}"


def _renamed(target: Dump, golden: Dump, files: Sequence[MappingFile]) -> list[HandPair]:
    """Calls of modules and APIs that a file gives another name on the golden side, by their numbers."""
    cells = [entry for file in files for entry in file.cells]
    apis = {entry.target: entry for file in files for entry in file.apis}
    if not cells and not apis:
        return []
    whole = {entry.target: entry.golden for entry in cells}
    has = set(golden.calls.names)
    found: list[HandPair] = []
    for full in target.calls.names:
        name = parse_name(full)
        others: Iterable[str] = ()
        if name.path and cells:
            others = _with_module(name, full, whole, cells)
        elif name.kind == "api" and (entry := apis.get(f"{name.prefix}.{name.api}")) is not None:
            others = (_with_api(name, entry),)
        other = next((one for one in others if one in has), None)
        if other is not None:
            found.append(HandPair((full,), (other,)))
    return found


def _module(name: CallName) -> str:
    return f"{name.path}.{name.cls}"


def _with_module(name: CallName, full: str, whole: dict[str, str], cells: Sequence[Renamed]) -> Iterable[str]:
    """As msprobe replaces: the whole path and class, else each part that an entry names, once."""
    before = _module(name)
    after = whole.get(before)
    if after is None:
        after = before
        for entry in cells:
            after = after.replace(entry.target, entry.golden, 1)
    if after == before:
        return ()
    rest = full.removeprefix(f"{name.prefix}.{before}")
    return [f"{prefix}.{after}{rest}" for prefix in dict.fromkeys((name.prefix, *_MODULES))]


def _of_leaves(target: Dump, golden: Dump, leaves: dict[int, int]) -> list[HandPair]:
    """Calls of which a file pairs leaves: each with the one that most of its leaves stand against."""
    votes: dict[int, Counter[int]] = {}
    for t, g in leaves.items():
        votes.setdefault(int(target.leaves.call[t]), Counter())[int(golden.leaves.call[g])] += 1
    chosen = ((t, count.most_common(1)[0][0]) for t, count in votes.items())
    return [HandPair((target.calls.names[t],), (golden.calls.names[g],)) for t, g in chosen]


def _with_leaves(pairing: Pairing, leaves: dict[int, int]) -> Pairing:
    """Single leaves as the files say; what stood against them before stands alone."""
    target, golden = pairing.target_leaf.copy(), pairing.golden_leaf.copy()
    taken = np.array(sorted(set(leaves.values())), np.int64)
    golden[np.isin(golden, taken)] = -1
    named = np.array(list(leaves), np.int64)
    for row in np.flatnonzero(np.isin(target, named)).tolist():
        golden[row] = leaves[int(target[row])]
    keep = (target >= 0) | (golden >= 0)
    return replace(
        pairing, row_call=pairing.row_call[keep], target_leaf=target[keep], golden_leaf=golden[keep]
    )
