"""How the error of each layer, and of each operator that was an origin, went over the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from npulse.core.calls.layers import places_of
from npulse.core.errors import InputError
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Run
from npulse.core.run.sides import CapturePair, capture_pairs
from npulse.core.table import Column, Table, text_column

from ..compare import Comparison, RankComparison, Settings, compare_captures
from ..layers import layer_strip, row_errors
from ..report import ordered_origins
from ..table import table_row
from ..verdict import ERROR, PASS, UNKNOWN, WARNING

STATES = ("better", "worse", "same", "unknown", "first")
"""The newest round against the last one before it that tells the same: `unknown` where the newest does not,
`first` where none before does."""
BETTER, WORSE, SAME, NOT_KNOWN, FIRST_ONE = range(5)
FACTOR = 2.0
"""Of two rounds over the threshold an error has to change by as much to be better or worse: less is what two
runs of the same program differ by. Our own choice."""
MAX_OPERATORS = 50
ROUND = "round_"
"""Columns are named by their place from 1: names of rounds may be anything."""

_SEVERITY = {PASS: 0, UNKNOWN: 1, WARNING: 2, ERROR: 3}
_RANK_OF = np.array([_SEVERITY[code] for code in range(len(_SEVERITY))])


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of one round: relative L2 error, 0 to 1 (NaN: not comparable), and the worst verdict."""

    error: float
    verdict: int

    @property
    def is_known(self) -> bool:
        return self.verdict != UNKNOWN and not np.isnan(self.error)

    @property
    def is_over(self) -> bool:
        return self.verdict in (ERROR, WARNING)


@dataclass(frozen=True, slots=True)
class Trend:
    """rounds: names in order. table: a row an operator or layer (`subject`, `kind`, `state`, the error of
    each round as `round_1` ...). over: (rows, rounds), where the error is over its threshold. refused:
    rounds that could not be compared, with the reason. n_operators: of all origins; MAX_OPERATORS have a row.
    """

    rounds: tuple[str, ...]
    table: Table
    over: npt.NDArray[np.bool_]
    refused: tuple[tuple[str, str], ...] = ()
    n_operators: int = 0


@dataclass(frozen=True, slots=True)
class _Round:
    name: str
    layers: dict[str, Measure]
    calls: dict[int, int]
    errors: npt.NDArray[np.float64]
    verdicts: npt.NDArray[np.int8]
    origins: tuple[str, ...]


def trend(
    run: Run,
    settings_of: Callable[[CapturePair], Settings] = lambda pair: Settings(),
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: Callable[[Trend], None] | None = None,
) -> Trend:
    """Every round with a pair of captures compared, its first pair, all ranks and steps together: the worst.

    settings_of: how each pair is to be compared. Tensors are read once each. A round that cannot be compared
    is told of and left out. Cancelled on request.
    """
    first: dict[str, int] = {}
    pairs = capture_pairs(run)
    for place, pair in enumerate(pairs):
        first.setdefault(pair.round, place)
    ids: dict[str, int] = {}
    rounds: list[_Round] = []
    refused: list[tuple[str, str]] = []
    for done, (name, place) in enumerate(first.items()):
        check(is_cancelled)
        progress(Progress("compare", done, len(first), "rounds"))
        asked = replace(settings_of(pairs[place]), second_read=False, metrics=False, tails=None)
        try:
            comparison = compare_captures(pairs[place], asked, is_cancelled=is_cancelled)
        except InputError as error:
            refused.append((name, error.message))
            continue
        rounds.append(_measured(name, comparison, ids))
        if on_update is not None:
            on_update(_trend(rounds, refused, ids))
    return _trend(rounds, refused, ids)


def _measured(name: str, comparison: Comparison, ids: dict[str, int]) -> _Round:
    layers: dict[str, Measure] = {}
    calls: dict[int, int] = {}
    errors: list[float] = []
    verdicts: list[int] = []
    for rank in comparison.ranks:
        strip = layer_strip(comparison, rank)
        worst = rank.rows.verdict[strip.rows - table_row(comparison, rank, 0)] if rank.rows.n_rows else ()
        for label, error, known, verdict in zip(strip.labels, strip.errors, strip.known, worst, strict=False):
            measure = Measure(float(error) if known else np.nan, int(verdict) if known else UNKNOWN)
            layers[label] = _worse(layers.get(label), measure)
        for call, measure in _of_calls(rank):
            place = calls.setdefault(ids.setdefault(call, len(ids)), len(errors))
            if place == len(errors):
                errors.append(measure.error)
                verdicts.append(measure.verdict)
            else:
                worse = _worse(Measure(errors[place], verdicts[place]), measure)
                errors[place], verdicts[place] = worse.error, worse.verdict
    origins = tuple(
        dict.fromkeys(
            rank.rows.pairing.name(rank.target, rank.golden, origin.call)
            for rank, origin in ordered_origins(comparison)
        )
    )
    return _Round(name, layers, calls, np.array(errors), np.array(verdicts, np.int8), origins)


def _of_calls(rank: RankComparison) -> list[tuple[str, Measure]]:
    """The worst of each call that has rows."""
    rows, pairing = rank.rows, rank.rows.pairing
    error = np.where(rows.verdict == UNKNOWN, np.nan, row_errors(rows))
    worst = np.full(pairing.n_calls, np.nan)
    np.fmax.at(worst, pairing.row_call, error)
    order = np.argsort(_RANK_OF[rows.verdict], kind="stable")
    verdict = np.full(pairing.n_calls, UNKNOWN, np.int8)
    verdict[pairing.row_call[order]] = rows.verdict[order]  # the last write wins: the most severe
    return [
        (pairing.name(rank.target, rank.golden, call), Measure(float(worst[call]), int(verdict[call])))
        for call in np.unique(pairing.row_call).tolist()
    ]


def _worse(one: Measure | None, other: Measure) -> Measure:
    if one is None:
        return other
    verdict = max(one.verdict, other.verdict, key=_SEVERITY.__getitem__)
    return Measure(float(np.fmax(one.error, other.error)), verdict)


def _trend(rounds: Sequence[_Round], refused: Sequence[tuple[str, str]], ids: dict[str, int]) -> Trend:
    origins = list(dict.fromkeys(name for one in reversed(rounds) for name in one.origins))
    layers = list(places_of(tuple(one.layers) for one in rounds))
    lines = [
        *(("operator", name, [_of_call(one, ids[name]) for one in rounds]) for name in origins[:MAX_OPERATORS]
          if name in ids),
        *(("layer", label, [one.layers.get(label) for one in rounds]) for label in layers),
    ]  # fmt: skip
    figures = [
        [np.nan if m is None or not m.is_known else m.error for m in measures] for *_, measures in lines
    ]
    values = np.array(figures, np.float64).reshape(len(lines), len(rounds))
    over = np.array([[m is not None and m.is_over for m in ms] for *_, ms in lines], np.bool_)
    table = Table(
        "trend",
        (
            text_column("subject", [name for _, name, _ in lines]),
            text_column("kind", [kind for kind, _, _ in lines]),
            Column("state", "text", np.array([state_of(ms) for *_, ms in lines], np.int8), STATES),
            *(
                Column(f"{ROUND}{i + 1}", "float", values[:, i], absent=np.isnan(values[:, i]))
                for i in range(len(rounds))
            ),
        ),
    )
    names = tuple(one.name for one in rounds)
    return Trend(names, table, over.reshape(values.shape), tuple(refused), len(origins))


def _of_call(one: _Round, call: int) -> Measure | None:
    place = one.calls.get(call)
    return None if place is None else Measure(float(one.errors[place]), int(one.verdicts[place]))


def state_of(measures: Sequence[Measure | None]) -> int:
    """Code of STATES; measures: of the rounds in order, None where a round does not have it."""
    if not measures or measures[-1] is None or not measures[-1].is_known:
        return NOT_KNOWN
    new = measures[-1]
    before = next((m for m in reversed(measures[:-1]) if m is not None and m.is_known), None)
    if before is None:
        return FIRST_ONE
    if before.is_over != new.is_over:
        return BETTER if before.is_over else WORSE
    if not new.is_over or max(before.error, new.error) < FACTOR * min(before.error, new.error):
        return SAME
    if before.error == new.error:
        return SAME
    return BETTER if new.error < before.error else WORSE
