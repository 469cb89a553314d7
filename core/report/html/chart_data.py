"""What the charts of a page show, taken from the tables of reports: small, bounded, nothing judged anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.analysis import AreaReport
from npulse.core.findings import Report
from npulse.core.table import Table

from .chart_layers import Ints, absent, by_rank, layers_of, places_of

MAX_LAYERS = 160
MAX_RANKS = 64
MAX_BARS = 15
MAX_CHAIN = 24
MAX_ROUNDS = 60

Floats = npt.NDArray[np.float64]
Score = tuple[int, float]
"""How bad a state is, then the figure: the largest is worst."""

WORST_FIRST = ("error", "warning", "unknown", "pass")
"""Verdicts of rows; a cell has the worst one of its rows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One layer of one rank. value: None where nothing is known. state: a word of WORST_FIRST, or of an
    overflow: nonfinite, saturated, near, ok, unknown. subject: the row that is worst."""

    value: float | None
    state: str
    subject: str


@dataclass(frozen=True, slots=True)
class Heat:
    """Layers in execution order by ranks; one that some ranks lack stands behind what runs before it there.

    cells: (layer, rank) -> what is there; both are places.

    left_out: (layers, ranks) that did not fit; those that are kept are the worst ones.
    """

    layers: tuple[str, ...]
    ranks: tuple[str, ...]
    cells: Mapping[tuple[int, int], Cell]
    left_out: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: (place on the x axis, value) in order; label: what it is of."""

    label: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Curves over the same places. names: of the places."""

    names: tuple[str, ...]
    lines: tuple[Line, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """An operator type: its time, its share and the share of all up to it, in percent (None: not known)."""

    name: str
    total_us: float
    share_percent: float | None
    cumulative_percent: float | None
    kind: str


@dataclass(frozen=True, slots=True)
class Link:
    """A tensor on the way to an origin. distance: calls from it. share: of its dtype's range (None: not known
    or not finite). bad: what is in it ("Inf", "NaN", "saturated" or "")."""

    name: str
    dtype: str
    distance: int
    absmax: float | None
    share: float | None
    bad: str


def precision_heat(table: Table) -> Heat:
    """The worst relative L2 error of each layer and rank (of a lower bound where only statistics exist)."""
    error = np.fmax(_numbers(table, "rel_l2"), _numbers(table, "rel_l2_at_least"))
    states = _codes(table, "verdict", WORST_FIRST)
    # NaN, another shape, another scalar: an error that no figure measures is not a small one
    error[(states == WORST_FIRST.index("error")) & ~(error > 0)] = np.inf
    heat = _heat(table, error, states, WORST_FIRST, names="target")
    cells = {
        place: cell if cell.value is None or cell.value < _ENDLESS else replace(cell, value=None)
        for place, cell in heat.cells.items()
    }
    return replace(heat, cells=cells)


_ENDLESS = 1e300

OVERFLOW_STATES = ("nonfinite", "saturated", "near", "unknown", "ok")


def overflow_heat(table: Table, near_ratio: float | None) -> Heat:
    """The largest share of its range of each layer and rank; whether something bad is in it.

    near_ratio: the share that the area takes for close to the limit; None where its report does not tell.
    """
    share = _numbers(table, "headroom_ratio")
    states = np.full(table.n_rows, OVERFLOW_STATES.index("ok"))
    states[np.isnan(share)] = OVERFLOW_STATES.index("unknown")
    near = _numbers(table, "near_limit")
    is_near = near > 0 if near_ratio is None else (near > 0) | (share >= near_ratio)
    states[is_near] = OVERFLOW_STATES.index("near")
    states[_numbers(table, "saturated") > 0] = OVERFLOW_STATES.index("saturated")
    bad = [_numbers(table, name) > 0 for name in ("nan", "plus_inf", "minus_inf")]
    absmax = table.column("absmax")  # NaN or Inf where a capture has no counts of them
    bad.append(~absent(absmax) & ~np.isfinite(absmax.values.astype(np.float64)))
    states[np.any(bad, axis=0)] = OVERFLOW_STATES.index("nonfinite")
    return _heat(table, share, states, OVERFLOW_STATES, names="tensor")


def cosine_curve(rounds: Sequence[tuple[str, Table]]) -> Curve:
    """The lowest cosine of an output of each layer in execution order, a line a round (of all its ranks)."""
    shown = rounds[-MAX_ROUNDS:]
    layers = [[(rows, *layers_of(table, rows)) for _, rows in by_rank(table)] for _, table in shown]
    names = places_of(own for one in layers for *_, own in one)
    made: list[tuple[str, dict[int, float]]] = []
    for (label, table), ranks in zip(shown, layers, strict=True):
        cosine = _numbers(table, "cosine")
        io = table.column("io")
        outputs = np.array([word.startswith("output") for word in io.labels or ()] or [False])[io.values]
        found: dict[int, float] = {}
        for rows, layer, labels in ranks:
            places = np.array([names[one] for one in labels] or [0])
            usable = outputs[rows] & (np.abs(cosine[rows]) < _ENDLESS)
            for place, value in zip(places[layer[usable]], cosine[rows][usable], strict=True):
                found[int(place)] = min(found.get(int(place), np.inf), float(value))
        if found:
            made.append((label, found))
    if not made:
        return Curve((), ())
    kept, left_out = _worst_places(
        {place: (0, 1 - min(found.get(place, 1.0) for _, found in made)) for place in names.values()},
        MAX_LAYERS,
    )
    at = {place: new for new, place in enumerate(kept)}
    all_labels = list(names)
    lines = tuple(
        Line(label, tuple((at[p], value) for p, value in sorted(found.items()) if p in at))
        for label, found in made
    )
    return Curve(tuple(all_labels[place] for place in kept), lines, left_out)


def last_outputs(told: Sequence[AreaReport]) -> Curve | None:
    """The cosine of the last output over the rounds; None where fewer than two rounds have it."""
    shown = told[-MAX_ROUNDS:]
    values = [one.report.summary.get("last_output_cosine") for one in shown]
    points = tuple(
        (place, float(value))
        for place, value in enumerate(values)
        if isinstance(value, int | float) and abs(value) < _ENDLESS
    )
    if len(points) < 2:
        return None
    names = tuple(one.round or one.name for one in shown)
    return Curve(names, (Line("last_output_cosine", points),), len(told) - len(shown))


def rounds_curves(story: Report) -> dict[str, Curve]:
    """Of each figure that is not the same in all rounds: its value over the rounds."""
    rounds: Sequence[Any] = story.summary.get("rounds") or ()
    shown = rounds[-MAX_ROUNDS:]
    names = tuple(str(one.get("round", "")) for one in shown)
    found: dict[str, list[tuple[int, float]]] = {}
    for place, one in enumerate(shown):
        for name, figure in (one.get("figures") or {}).items():
            value = figure.get("value")
            if isinstance(value, int | float) and abs(value) < _ENDLESS:
                found.setdefault(name, []).append((place, float(value)))
    return {
        name: Curve(names, (Line(name, tuple(points)),), len(rounds) - len(shown))
        for name, points in found.items()
        if len({value for _, value in points}) > 1
    }


def operator_bars(table: Table) -> tuple[tuple[Bar, ...], int]:
    """The operator types that take most, the largest first; how many more there are."""
    rows = range(min(table.n_rows, MAX_BARS))
    bars = tuple(
        Bar(
            str(cells["subject"]),
            _finite(cells["total_us"]) or 0.0,
            _finite(cells["share_percent"]),
            _finite(cells["cumulative_percent"]),
            str(cells.get("class") or ""),
        )
        for cells in map(table.row, rows)
    )
    return bars, table.n_rows - len(bars)


def headroom_chain(table: Table) -> tuple[tuple[Link, ...], int]:
    """The first origin's upstream, the farthest call first; how many links were left out."""
    column = table.column("upstream")
    rows = np.flatnonzero(~absent(column))
    distance = column.values[rows].astype(np.int64)
    rows = rows[np.argsort(-distance, kind="stable")]
    shown = rows[-MAX_CHAIN:]
    links = tuple(_link(table.row(int(row))) for row in shown)
    return links, len(rows) - len(shown)


def _link(cells: Mapping[str, Any]) -> Link:
    words = {"nan": "NaN", "plus_inf": "Inf", "minus_inf": "-Inf", "saturated": "saturated"}
    bad = [word for name, word in words.items() if (cells[name] or 0) > 0]
    absmax = cells["absmax"]
    if not bad and absmax is not None and not np.isfinite(absmax):
        bad = ["NaN" if np.isnan(absmax) else "Inf"]
    return Link(
        str(cells["tensor"] or cells["operator"] or "?"),
        str(cells["dtype"] or "?"),
        int(cells["upstream"]),
        absmax,
        _finite(cells["headroom_ratio"]),
        ", ".join(bad),
    )


def _finite(value: Any) -> float | None:
    """A figure that can be drawn: not below 0, not endless."""
    return float(value) if value is not None and 0 <= value < _ENDLESS else None


# ---- columns ----


def _heat(table: Table, values: Floats, states: Ints, words: Sequence[str], *, names: str) -> Heat:
    ranked = [(rank, rows, *layers_of(table, rows)) for rank, rows in by_rank(table)]
    labels = places_of(own for *_, own in ranked)
    ranks: list[str] = []
    found: dict[tuple[int, int], Cell] = {}
    score: dict[tuple[int, int], Score] = {}
    subjects = table.column(names)
    finite = np.where(np.isnan(values), -1.0, np.clip(values, 0.0, _ENDLESS))
    for place, (rank, rows, layer, own) in enumerate(ranked):
        ranks.append(rank)
        layer = np.array([labels[one] for one in own] or [0])[layer]
        order = np.lexsort((finite[rows], -states[rows], layer))  # the worst one of each layer comes last
        highest = np.full(len(labels), -1.0)
        np.maximum.at(highest, layer, finite[rows])
        for end in np.flatnonzero(np.diff(layer[order], append=-1)):
            at = int(order[end])
            row, entry = int(rows[at]), int(layer[at])
            most = float(highest[entry])
            value = None if most < 0 else most if most < _ENDLESS else float("inf")
            found[entry, place] = Cell(value, words[int(states[row])], str(subjects.value(row) or ""))
            score[entry, place] = len(words) - int(states[row]), float(highest[entry])
    nothing = (0, 0.0)
    worst_of_layer = dict.fromkeys(labels.values(), nothing)
    worst_of_rank = dict.fromkeys(range(len(ranks)), nothing)
    for (layer_place, rank_place), worst in score.items():
        worst_of_layer[layer_place] = max(worst_of_layer[layer_place], worst)
        worst_of_rank[rank_place] = max(worst_of_rank[rank_place], worst)
    kept_layers, out_layers = _worst_places(worst_of_layer, MAX_LAYERS)
    kept_ranks, out_ranks = _worst_places(worst_of_rank, MAX_RANKS)
    new_layer = {place: i for i, place in enumerate(kept_layers)}
    new_rank = {place: i for i, place in enumerate(kept_ranks)}
    all_labels = list(labels)
    return Heat(
        tuple(all_labels[place] for place in kept_layers),
        tuple(ranks[place] for place in kept_ranks),
        {
            (new_layer[a], new_rank[b]): cell
            for (a, b), cell in found.items()
            if a in new_layer and b in new_rank
        },
        (out_layers, out_ranks),
    )


def _worst_places(score: Mapping[int, Score], n_most: int) -> tuple[list[int], int]:
    """The places with the highest score, in their own order; how many were left out."""
    kept = sorted(sorted(score, key=lambda place: (*(-one for one in score[place]), place))[:n_most])
    return kept, len(score) - len(kept)


def _numbers(table: Table, name: str) -> Floats:
    """A column as floats; NaN where it is absent, or where the table has no such column."""
    try:
        column = table.column(name)
    except KeyError:
        return np.full(table.n_rows, np.nan)
    return np.where(absent(column), np.nan, column.values.astype(np.float64))


def _codes(table: Table, name: str, words: Sequence[str]) -> Ints:
    column = table.column(name)
    unknown = words.index("unknown")
    by_label = [words.index(label) if label in words else unknown for label in column.labels or ()]
    codes = np.array(by_label or [unknown])[column.values]
    return np.where(absent(column), unknown, codes).astype(np.int64)
