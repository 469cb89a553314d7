"""Groups of ranks that stand against each other where the two jobs have unlike numbers of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.errors import UsageError
from npulse.core.formats.msprobe.records import Dump
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair

from ..pairing import Ints
from ..rows import Rows


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks of one step that hold the same tensors in unlike numbers of parts; one side has a single one.

    Or both have as many (`is_even`), and one side has in parts what each rank of the other has whole.
    why: "numbers" (so many of one side for each of the other, in the order of their numbers) or "map".
    """

    target: tuple[Artifact, ...]
    golden: tuple[Artifact, ...]
    why: str = "numbers"

    @property
    def is_even(self) -> bool:
        return len(self.target) == len(self.golden) > 1

    @property
    def ranks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Rank numbers of target and golden side; 0 where a process has none."""
        return (
            tuple(artifact.rank or 0 for artifact in self.target),
            tuple(artifact.rank or 0 for artifact in self.golden),
        )


@dataclass(frozen=True, slots=True)
class Members:
    """A group whose dumps have been read. rows: of each target rank against the first golden one.

    many: the dumps of the side that has the parts, in the order of their ranks; one: the other side's.
    """

    group: RankGroup
    rows: tuple[Rows, ...]
    is_target_many: bool
    many: tuple[Dump, ...]
    many_roots: tuple[Path, ...]
    one: Dump
    one_root: Path

    def leaf_of_one(self, rows: Rows, row: int) -> int:
        """The leaf of a row on the side that is whole."""
        return rows.golden_row(row) if self.is_target_many else rows.target_row(row)


def groups_of(pair: CapturePair, ranks: str | None = None) -> list[RankGroup]:
    """Groups by numbers, for each step in which the two sides have unlike numbers of ranks.

    ranks: what the user says instead, "0,1:0;2,3:1" (target ranks : golden ranks). Whether the ranks hold
    parts at all is for the shapes to say. UsageError for a map that cannot be meant.
    """
    found: list[RankGroup] = []
    for target_step, golden_step in _steps(pair):
        sides = (
            _ranked(pair.target, pair.unmatched, "target", target_step),
            _ranked(pair.golden, pair.unmatched, "golden", golden_step),
        )
        if ranks is not None:
            found += _mapped(ranks, *sides)
        else:
            found += _nested(*sides)
    return found


def _steps(pair: CapturePair) -> list[tuple[int | None, int | None]]:
    return list(dict.fromkeys((t.step, g.step) for t, g in zip(pair.target, pair.golden, strict=True)))


def _ranked(
    matched: Sequence[Artifact], unmatched: Sequence[Artifact], side: str, step: int | None
) -> list[Artifact]:
    members = [a for a in (*matched, *unmatched) if a.step == step and a.side in (side, "", None)]
    return sorted({a.path: a for a in members}.values(), key=lambda a: a.rank if a.rank is not None else -1)


def _nested(target: list[Artifact], golden: list[Artifact]) -> list[RankGroup]:
    many, few = max(len(target), len(golden)), min(len(target), len(golden))
    if few == 0 or many == few or many % few:
        return []
    n = many // few
    if len(target) > len(golden):
        return [RankGroup(tuple(target[i * n : (i + 1) * n]), (g,)) for i, g in enumerate(golden)]
    return [RankGroup((t,), tuple(golden[i * n : (i + 1) * n])) for i, t in enumerate(target)]


def _mapped(text: str, target: list[Artifact], golden: list[Artifact]) -> list[RankGroup]:
    by_rank = [{a.rank or 0: a for a in side} for side in (target, golden)]
    found: list[RankGroup] = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        sides = entry.split(":")
        try:
            numbers = [[int(word) for word in side.split(",")] for side in sides]
            if len(numbers) != 2 or min(map(len, numbers)) != 1 and len(numbers[0]) != len(numbers[1]):
                raise ValueError
            members = [tuple(known[n] for n in side) for known, side in zip(by_rank, numbers, strict=True)]
        except ValueError as error:
            raise UsageError(
                f"'{entry}' is no group of ranks", hint="write --ranks '0,1:0;2,3:1' (target : golden)"
            ) from error
        except KeyError as error:
            raise UsageError(
                f"there is no rank {error.args[0]}", hint="--ranks names ranks of both captures"
            ) from error
        found.append(RankGroup(members[0], members[1], "map"))
    return found


def same_leaves(one: Dump, other: Dump) -> Ints:
    """For every leaf of `one` the leaf of `other` with the same call name and place in it, -1 for none.

    Ranks run the same program, so their dumps are mostly alike row by row, which is looked at first.
    """
    if one is other or _is_alike(one, other):
        return np.arange(len(one.leaves.call), dtype=np.int64)
    calls = {name: call for call, name in enumerate(other.calls.names)}
    found = np.full(len(one.leaves.call), -1, np.int64)
    names_one, names_other = one.leaves.io_names, other.leaves.io_names
    for call, name in enumerate(one.calls.names):
        there = calls.get(name)
        if there is None:
            continue
        by_io = {names_other[int(other.leaves.io[leaf])]: leaf for leaf in other.leaf_range(there)}
        for leaf in one.leaf_range(call):
            found[leaf] = by_io.get(names_one[int(one.leaves.io[leaf])], -1)
    return found


def _is_alike(one: Dump, other: Dump) -> bool:
    return (
        list(one.calls.names) == list(other.calls.names)
        and np.array_equal(one.calls.first_leaf, other.calls.first_leaf)
        and list(one.leaves.io_names) == list(other.leaves.io_names)
        and np.array_equal(one.leaves.io, other.leaves.io)
    )
