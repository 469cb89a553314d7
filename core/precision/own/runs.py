"""Two runs of one program against each other: the first operator that is not deterministic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import CARRIERS, COMPARISONS, FILLERS, UNINITIALISED, plain_api
from npulse.core.errors import InputError
from npulse.core.formats.manifest.record import read_record
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, CallName
from npulse.core.run.sides import CapturePair

from ..role_records import INHERITED
from ..rows import BY_STATISTICS, BY_VALUE
from ..verdict import PASS, REASON, UNKNOWN
from .model import Captured, Seen
from .switches import switch_for

if TYPE_CHECKING:
    from ..comparison import RankComparison

TELLING_CALLS = 2
"""So many operators that round as each device likes are bit for bit equal only if the same kernels ran."""

EXACT = frozenset(
    (
        "add", "sub", "mul", "div", "neg", "abs", "relu", "threshold", "sign", "max", "min", "maximum",
        "minimum", "argmax", "argmin", "topk", "sort", "embedding", "arange", "ones", "zeros", "floor",
        "ceil", "round", "not", "and", "or", "index_select", "take_along_dim", "one_hot", "where", "repeat",
        "item", "copy",
    )
)  # fmt: skip
"""Operators that IEEE 754 or plain copying make equal on any device: they prove nothing."""

MANIFEST = "round.toml"


def check_runs(rank: RankComparison, where: Captured, *, is_same_program: bool) -> Seen | None:
    """The first call whose inputs are equal and whose output is not, where all before it is equal.

    None where nothing of the kind is there, where a call of one side alone stands before it, or where too
    little before it is equal to call it two runs of one program and no manifest says so.
    """
    if not (rank.target.is_ordered and rank.golden.is_ordered):
        return None
    rows, pairing = rank.rows, rank.rows.pairing
    equal, is_open = _equal(rank), rows.verdict == UNKNOWN
    made = np.isin(rows.sides(), (OUTPUT, GRAD))

    def calls_with(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.bincount(pairing.row_call[mask], minlength=pairing.n_calls) > 0
        return found

    has_tensors = calls_with(~made & (rows.basis > 0) & (rows.basis != BY_VALUE))
    is_given_other, is_made_other = calls_with(~made & ~equal), calls_with(made & ~equal & ~is_open)
    starts_here = ~is_given_other & is_made_other & has_tensors
    other = is_made_other | calls_with(~made & ~equal & ~is_open)
    other |= (pairing.target_call < 0) | (pairing.golden_call < 0)
    found = [call for call in np.flatnonzero(starts_here).tolist() if _can_begin(rank, call)]
    if not found or other[: found[0]].any() or rank.roles.call[found[0]] == INHERITED:
        return None  # a collective gives what a peer brought to it
    whole = np.flatnonzero(calls_with(made)[: found[0]] & ~calls_with(made & ~equal)[: found[0]])
    if not is_same_program and sum(_is_telling(_name(rank, call)) for call in whole.tolist()) < TELLING_CALLS:
        return None
    return _seen(rank, where, found, is_same_program=is_same_program)


def _name(rank: RankComparison, call: int) -> CallName:
    return parse_name(rank.rows.pairing.name(rank.target, rank.golden, call))


def _can_begin(rank: RankComparison, call: int) -> bool:
    name = _name(rank, call)
    return name.kind in ("api", "module") and name.api not in UNINITIALISED


def _equal(rank: RankComparison) -> npt.NDArray[np.bool_]:
    """Rows that are the same bit for bit, as far as was recorded."""
    rows = rank.rows
    equal = (rows.verdict == PASS) & np.isin(rows.reason, (REASON["equal"], REASON["empty"]))
    told = np.flatnonzero((rows.basis == BY_STATISTICS) & (rows.reason == REASON["statistics-agree"]))
    t, g = rank.target.leaves, rank.golden.leaves
    a, b = rows.pairing.target_leaf[told], rows.pairing.golden_leaf[told]
    full = (t.present[a] == 0b1111) & (g.present[b] == 0b1111)
    same = np.asarray((t.statistics[a] == g.statistics[b]).all(axis=1))
    equal[told[full & same]] = True
    # integers of which nothing but equal extremes is known
    unclear = np.flatnonzero(rows.reason == REASON["content-unknown"])
    a, b = rows.pairing.target_leaf[unclear], rows.pairing.golden_leaf[unclear]
    equal[unclear[np.asarray((t.statistics[a, :2] == g.statistics[b, :2]).all(axis=1))]] = True
    found: npt.NDArray[np.bool_] = equal
    return found


def _is_telling(name: CallName) -> bool:
    if name.kind != "api":
        return False
    word = plain_api(name.api)
    return word not in EXACT and word not in CARRIERS and word not in FILLERS and word not in COMPARISONS


def _seen(rank: RankComparison, where: Captured, found: list[int], *, is_same_program: bool) -> Seen:
    pairing = rank.rows.pairing
    names = [pairing.name(rank.target, rank.golden, call) for call in found[:21]]
    bases = {int(basis) for basis in rank.rows.basis[np.isin(pairing.row_call, found)].tolist()}
    has_sums = bool((rank.target.leaves.checksum >= 0).any())
    basis = "elements" if 1 in bases else "checksum" if has_sums else "statistics"
    switch = switch_for(parse_name(names[0]))
    return Seen(
        rule="nondeterministic",
        severity="warning" if is_same_program else "note",
        role="suspect",
        subject=names[0],
        text="rounds-same-program" if is_same_program else "rounds",
        next_step=switch,
        where=where,
        call=int(pairing.target_call[found[0]]),
        values={"n": len(found)},
        figures={
            "n_calls": len(found),
            "basis": basis,
            "switch": switch,
            "is_same_program": is_same_program,
        },
        related=tuple(("suspect", name) for name in names[1:]),
    )


def is_same_program(pair: CapturePair) -> bool:
    """Whether the manifests of both rounds name the same command, started in the same folder."""
    commands = []
    for artifacts, root in ((pair.target, pair.target_root), (pair.golden, pair.golden_root)):
        path = _manifest_above(artifacts[0].path, root) if artifacts else None
        if path is None:
            return False
        try:
            record = read_record(path, root=root)
        except InputError:  # told where the rounds are read
            return False
        commands.append((record.command, record.cwd))
    return bool(commands[0][0]) and commands[0] == commands[1]


def _manifest_above(path: Path, root: Path) -> Path | None:
    """The manifest of the round that a file lies in, not above what was opened."""
    for folder in path.parents:
        if not folder.is_relative_to(root):
            return None
        if (folder / MANIFEST).is_file():
            return folder / MANIFEST
    return None
