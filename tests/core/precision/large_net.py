"""A comparison of any size made of columns, no file read: a million calls, dozens of ranks.

Ranks share what they were given (names, records) and each has its own figures, or one of a few sets of them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from npulse.core.formats.msprobe.records import (
    INPUT,
    OUTPUT,
    CallColumns,
    Dump,
    DumpHeader,
    LeafColumns,
)
from npulse.core.precision.compare import Comparison, RankComparison
from npulse.core.precision.pairing import Pairing
from npulse.core.precision.role_records import INHERITED, ORIGIN, Origin, Roles
from npulse.core.precision.rows import BY_STATISTICS, new_rows
from npulse.core.precision.verdict import ERROR, PASS, REASON, Criteria
from npulse.core.run.sides import CapturePair

N_LEAVES = 2  # of a call: input 0, output 0


def names_of(n_calls: int, n_layers: int) -> list[str]:
    """Names of calls in execution order, in as many layers (0: APIs, each call an entry of its own)."""
    if not n_layers:
        return [f"Functional.linear.{call}.forward" for call in range(n_calls)]
    per_layer = max(n_calls // n_layers, 1)
    return [
        f"Module.layers.{min(call // per_layer, n_layers - 1)}.mlp.Linear.forward.{call % per_layer}"
        for call in range(n_calls)
    ]


def dump_of(path: Path, names: list[str]) -> Dump:
    """A dump of these calls, each with one float tensor in and one out."""
    n_calls, n = len(names), len(names) * N_LEAVES
    none = np.full(n, -1, np.int32)
    zero = np.zeros(n, np.int32)
    leaves = LeafColumns(
        call=np.repeat(np.arange(n_calls, dtype=np.int32), N_LEAVES),
        side=np.tile(np.array([INPUT, OUTPUT], np.int8), n_calls),
        kind=np.zeros(n, np.int8),
        io=np.tile(np.array([0, 1], np.int32), n_calls),
        type=np.zeros(n, np.int16),
        dtype=np.zeros(n, np.int16),
        shape=zero,
        statistics=np.broadcast_to(np.array([[1.0, -1.0, 0.0, 8.0]]), (n, 4)),
        present=np.full(n, 15, np.uint8),
        checksum=none,
        requires_grad=np.zeros(n, np.int8),
        data_name=none,
        value=none,
        io_names=("input 0", "output 0"),
        types=("torch.Tensor",),
        dtypes=("torch.float32",),
        shapes=((4, 16),),
        checksums=(),
        data_names=(),
        values=(),
    )
    first_leaf = np.arange(0, n + 1, N_LEAVES, dtype=np.int64)
    byte = np.arange(n_calls, dtype=np.int64) * 300
    calls = CallColumns(names, byte, first_leaf, np.full(n_calls, -1, np.int8))
    return Dump(path, DumpHeader("statistics", "mix", "pytorch", None), calls, leaves, "complete")


def rank_of(dumps: tuple[Dump, Dump], rank: int, bad: int | None) -> RankComparison:
    """A rank that is wrong from the output of the call `bad` on; None: nowhere."""
    n_calls = len(dumps[0].calls.names)
    calls = np.arange(n_calls, dtype=np.int64)
    leaves = np.arange(n_calls * N_LEAVES, dtype=np.int64)
    rows = new_rows(Pairing(calls, calls, np.repeat(calls, N_LEAVES), leaves, leaves), *dumps)
    rng = np.random.default_rng(rank)
    first = len(leaves) if bad is None else bad * N_LEAVES + 1
    rel_l2 = rng.random(len(leaves)) * 1e-4
    rel_l2[first:] = 0.02 + rng.random(len(leaves) - first)
    rows.basis[:] = BY_STATISTICS
    rows.put("rel_l2", leaves, rel_l2)
    rows.put("cosine", leaves, 1 - rel_l2 / 2)
    rows.verdict[:], rows.reason[:] = PASS, REASON["rounding"]
    rows.verdict[first:], rows.reason[first:] = ERROR, REASON["cosine"]
    roles = Roles(np.zeros(len(leaves), np.int8), np.zeros(n_calls, np.int8))
    if bad is not None:
        roles.row[first:], roles.call[bad:] = INHERITED, INHERITED
        roles.row[first], roles.call[bad] = ORIGIN, ORIGIN
        roles.origins.append(Origin(bad, "operator", first, first))
        roles.explained_by.update(dict.fromkeys(range(bad + 1, min(n_calls, bad + 1000)), bad))
    return RankComparison(rank, 0, *dumps, rows, roles, None)


def large_comparison(n_ranks: int, n_calls: int, n_layers: int, n_sets: int | None = None) -> Comparison:
    """n_sets: of figures; ranks beyond them have those of an earlier one. Rank i is wrong from the call
    n_calls // 2 + i on where i is odd."""
    names = names_of(n_calls, n_layers)
    dumps = dump_of(Path("npu/dump.json"), names), dump_of(Path("gpu/dump.json"), names)
    made = [
        rank_of(dumps, rank, min(n_calls // 2 + rank, n_calls - 1) if rank % 2 else None)
        for rank in range(min(n_ranks, n_sets or n_ranks))
    ]
    ranks = [replace(made[rank % len(made)], rank=rank) for rank in range(n_ranks)]
    return Comparison(CAPTURES, tuple(ranks), Criteria(), (), "complete")


CAPTURES = CapturePair("", (), (), target_root=Path("npu"), golden_root=Path("gpu"))
