"""Which rows were asked for: those of some layers, of one operator, or the outputs of the net."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import OUTPUT

from ..comparison import Comparison, RankComparison
from ..report import last_output

Mask = npt.NDArray[np.bool_]
"""One entry a row of a rank: whether it was asked for."""


def rows_of_layers(comparison: Comparison, patterns: Sequence[str]) -> list[Mask]:
    """Rows of the calls that one of the globs selects; of all calls where there is none.

    A glob without a star selects the call, module path or API of exactly that name; upper and lower case are
    not the same. InputError where nothing is selected on any rank.
    """
    if not patterns:
        return [np.ones(rank.rows.n_rows, np.bool_) for rank in comparison.ranks]
    found = [_of_calls(rank, [_matches(n, patterns) for n in _names(rank)]) for rank in comparison.ranks]
    if not any(mask.any() for mask in found):
        raise InputError(
            f"no call is selected by {', '.join(patterns)[:200]}",
            path=comparison.pair.target_root,
            hint="globs as '*conv*' select by a call's name, its module's path or its API",
        )
    return found


def rows_of_operator(comparison: Comparison, operator: str) -> list[Mask]:
    """Rows of the calls of that name, else of all with that module path or API; InputError for none."""
    exact = [_of_calls(rank, [n == operator for n in _names(rank)]) for rank in comparison.ranks]
    if any(mask.any() for mask in exact):
        return exact
    return rows_of_layers(comparison, [operator])


def call_of_operator(comparison: Comparison, operator: str) -> str:
    """The full name of the only call that `rows_of_operator` selects; InputError where there are several."""
    found: dict[str, None] = {}
    for rank in comparison.ranks:
        names = _names(rank)
        if operator in names:
            return operator
        found.update(dict.fromkeys(name for name in names if _matches(name, (operator,))))
    if len(found) > 1:
        hint = f"name one: {', '.join(list(found)[:8])}"
        raise InputError(f"{len(found)} calls fit '{operator}'; --by-rank shows one", hint=hint)
    return next(iter(found), operator)


def rows_of_outputs(comparison: Comparison) -> list[Mask]:
    """What the net gives: outputs of the outermost module's forward, without modules the last forward output.

    Of several outermost modules, as where the net itself was not captured, of the last one.
    """
    found = []
    for rank in comparison.ranks:
        names = _names(rank)
        last = max((call for call, name in enumerate(names) if _is_outermost(rank, name)), default=-1)
        outer = [call == last for call in range(len(names))]
        mask = _of_calls(rank, outer) & (rank.rows.sides() == OUTPUT)
        if not mask.any() and (row := last_output(rank)) >= 0:
            mask[row] = True
        found.append(mask)
    return found


def _is_outermost(rank: RankComparison, name: str) -> bool:
    parents = rank.construct.parents if rank.construct is not None else {}
    parsed = parse_name(name)
    is_forward = parsed.kind == "module" and parsed.direction == "forward"
    return is_forward and name in parents and parents[name] is None


def _names(rank: RankComparison) -> Sequence[str]:
    return rank.rows.pairing.names(rank.target, rank.golden)


def _of_calls(rank: RankComparison, picked: Sequence[bool]) -> Mask:
    calls = np.array(picked, np.bool_) if picked else np.zeros(0, np.bool_)
    mask: Mask = calls[rank.rows.pairing.row_call] if len(calls) else np.zeros(rank.rows.n_rows, np.bool_)
    return mask


def _matches(name: str, patterns: Sequence[str]) -> bool:
    parsed = parse_name(name)
    readings = tuple(filter(None, (name, parsed.path, parsed.api)))
    return any(fnmatch.fnmatchcase(reading, pattern) for pattern in patterns for reading in readings)
