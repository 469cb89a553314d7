"""What was really recorded of each rank of a run: a rank that is silent or far behind shows here first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from npulse.core.run.model import Artifact
from npulse.core.table import Table


@dataclass(frozen=True, slots=True)
class Recorded:
    """The artifacts of one rank together. rank: None for those that name none.

    written_ns: when the newest of them was written, since the epoch. kinds: how many of each, most first.
    """

    rank: int | None
    n_artifacts: int
    size_bytes: int
    written_ns: int
    n_in_progress: int
    kinds: Mapping[str, int]


def recorded_by_rank(artifacts: Iterable[Artifact]) -> tuple[Recorded, ...]:
    """What there is of each rank, by rank number; artifacts without one last. Cost: one pass."""
    by_rank: defaultdict[int | None, list[Artifact]] = defaultdict(list)
    for artifact in artifacts:
        by_rank[artifact.rank].append(artifact)
    ranks = sorted(by_rank, key=lambda rank: (rank is None, rank or 0))
    return tuple(_of_one(rank, by_rank[rank]) for rank in ranks)


def rows_by_rank(table: Table) -> dict[int | None, int]:
    """Rows of a table by the rank that they name; {} where it has no column "rank"."""
    if all(column.name != "rank" for column in table.columns):
        return {}
    column = table.column("rank")
    absent = np.zeros(table.n_rows, np.bool_) if column.absent is None else column.absent
    ranks, counts = np.unique(column.values[~absent], return_counts=True)
    found: dict[int | None, int] = dict(zip(ranks.tolist(), counts.tolist(), strict=True))
    if n_absent := int(absent.sum()):
        found[None] = n_absent
    return found


def _of_one(rank: int | None, artifacts: list[Artifact]) -> Recorded:
    kinds: defaultdict[str, int] = defaultdict(int)
    for artifact in artifacts:
        kinds[artifact.kind] += 1
    return Recorded(
        rank,
        len(artifacts),
        sum(artifact.size_bytes for artifact in artifacts),
        max(artifact.modified_ns for artifact in artifacts),
        sum(artifact.completeness == "in progress" for artifact in artifacts),
        dict(sorted(kinds.items(), key=lambda one: (-one[1], one[0]))),
    )
