"""The analysis as one table: a row a tensor, in execution order; never a row object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.labels import LeafNames
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, TENSOR
from npulse.core.table import Column, Table, joined_text, text_column

from .analyse import Overflow
from .gradients import Gradients
from .health import BASES, HIGH, LOW, MINUS, NAN, PLUS, UNKNOWN
from .ranks import RankOverflow
from .roles import ROLES, SUSPECT
from .trace import Trace, trace

SHOWN_COUNTS = ("nan", "plus_inf", "minus_inf", "saturated", "near_limit", "subnormal")
PRESENCE = {"nan": NAN, "plus_inf": PLUS, "minus_inf": MINUS, "saturated": HIGH | LOW}
"""The flag that says that there is some, where nobody counted."""

MONITOR = "monitor"


def overflow_table(found: Overflow) -> Table:
    """All tensors of all rank-steps and graph-mode operators, then the monitor's rows."""
    parts = [Part(found, place, rank) for place, rank in enumerate(found.looked_through)]
    tail = MonitorRows(found.gradients)
    columns = [
        _numbers("rank", [p.constant(p.rank.rank) for p in parts], tail.ranks),
        _numbers("step", [p.constant(p.rank.step) for p in parts], tail.steps),
        _captures(parts, tail.n),
        joined_text("operator", [*(p.operators() for p in parts), tail.names]),
        joined_text(
            "io", [*((p.leaves.io[p.rows].astype(np.int64), p.leaves.io_names) for p in parts), tail.kinds]
        ),
        joined_text("tensor", [*((p.rows, LeafNames(p.rank.dump)) for p in parts), tail.nothing]),
        joined_text(
            "dtype",
            [*((p.leaves.dtype[p.rows].astype(np.int64), p.leaves.dtypes) for p in parts), tail.dtypes],
        ),
        joined_text("shape", [*(p.shapes() for p in parts), tail.shapes]),
        _floats("absmax", [p.known(p.health.absmax) for p in parts], tail.absmax),
        _floats("headroom_ratio", [p.headroom() for p in parts], tail.no_floats, unit="ratio"),
        _floats("max", [p.known(p.health.high) for p in parts], tail.high),
        _floats("min", [p.known(p.health.low) for p in parts], tail.low),
        *(_numbers(name, [p.counts(name) for p in parts], tail.counts(name)) for name in SHOWN_COUNTS),
        _floats("growth_ratio", [p.growth() for p in parts], tail.no_floats, unit="ratio"),
        _numbers("upstream", [p.upstream() for p in parts], tail.no_numbers),
        _first_index(found, parts, tail.n),
        joined_text(
            "basis", [*((p.health.basis[p.rows].astype(np.int64), BASES) for p in parts), tail.basis]
        ),
        _coded("role", [p.roles() for p in parts], tail.roles),
        Column(
            "flags", "int", _joined([*(p.health.flags[p.rows] for p in parts), tail.flags]), is_internal=True
        ),
    ]
    return Table("overflow", tuple(columns))


class Part:
    """The tensors of one rank-step: `rows` are its leaf rows in the order of the table."""

    def __init__(self, found: Overflow, place: int, rank: RankOverflow) -> None:
        self.found, self.place, self.rank = found, place, rank
        self.leaves, self.health = rank.dump.leaves, rank.health
        self.rows: npt.NDArray[np.int64] = np.flatnonzero(self.leaves.kind == TENSOR)
        self.trace = first_trace(found, rank)

    def constant(self, value: int | None) -> _Numbers:
        n = len(self.rows)
        return np.full(n, value if value is not None else 0, np.int64), np.full(n, value is None)

    def operators(self) -> tuple[npt.NDArray[np.int64], Sequence[str]]:
        return self.leaves.call[self.rows].astype(np.int64), self.rank.dump.calls.names

    def shapes(self) -> tuple[npt.NDArray[np.int64], list[str]]:
        texts = [str(list(shape)).replace(" ", "") for shape in self.leaves.shapes]
        return self.leaves.shape[self.rows].astype(np.int64), texts

    def known(self, values: npt.NDArray[np.float64]) -> _Floats:
        return values[self.rows], ~self.health.is_known[self.rows]

    def headroom(self) -> _Floats:
        health = self.health
        with np.errstate(all="ignore"):
            share = (health.absmax / health.largest)[self.rows]
        return share, ~(np.isfinite(share) & health.is_float[self.rows] & health.is_known[self.rows])

    def counts(self, name: str) -> _Numbers:
        values = self.health.counts[name][self.rows]
        return np.maximum(values, 0), values == UNKNOWN

    def growth(self) -> _Floats:
        """Of every output over the largest data input of its call, in a few passes."""
        leaves, health = self.leaves, self.health
        n_calls = len(self.rank.dump.calls.names)
        given = np.zeros(n_calls)
        is_input = (leaves.kind == TENSOR) & (leaves.side == 0) & health.is_float & health.is_known
        usable = is_input & np.isfinite(health.absmax)
        np.maximum.at(given, leaves.call[usable], health.absmax[usable])
        with np.errstate(all="ignore"):
            ratio = health.absmax[self.rows] / given[leaves.call[self.rows]]
        is_output = np.isin(leaves.side[self.rows], (OUTPUT, GRAD)) & health.is_float[self.rows]
        for row, value in self._exact_growth().items():
            ratio[np.searchsorted(self.rows, row)] = np.nan if value is None else value
        return ratio, ~(is_output & ~np.isnan(ratio) & health.is_known[self.rows])

    def _exact_growth(self) -> dict[int, float | None]:
        """On the way to an origin, where weights must not count as inputs."""
        return {step.row: step.growth_ratio for step in self.trace.steps if step.distance}

    def upstream(self) -> _Numbers:
        """Calls from the first origin of this rank-step; absent beside its trace."""
        values = np.zeros(len(self.rows), np.int64)
        absent = np.ones(len(self.rows), np.bool_)
        for step in self.trace.steps:
            at = int(np.searchsorted(self.rows, step.row))
            if at < len(self.rows):
                values[at], absent[at] = step.distance, False
        return values, absent

    def roles(self) -> npt.NDArray[np.int64]:
        """The walk's roles, and suspects upstream."""
        codes: npt.NDArray[np.int64] = self.rank.roles.row.astype(np.int64)
        for step in self.trace.suspects:
            codes[step.row] = SUSPECT
        silent = (self.leaves.kind == TENSOR) & ~self.health.is_known & (codes == 0)
        codes[silent] = ROLES.index("unknown")
        return codes[self.rows]


class MonitorRows:
    """The monitor's rows in the same columns; empty where there are none."""

    def __init__(self, gradients: Gradients | None) -> None:
        tables = gradients.tables if gradients is not None else ()
        self.n = sum(table.n_rows for table in tables)
        names = [name for table in tables for name in table.names]
        kinds = [kind for table in tables for kind in table.kinds]
        dtypes = [dtype for table in tables for dtype in table.dtypes]
        shapes = [shape for table in tables for shape in table.shapes]
        self.names = self._text(tables, "name", "names"), names
        self.kinds = self._text(tables, "kind", "kinds"), kinds
        self.dtypes = self._text(tables, "dtype", "dtypes"), dtypes
        self.shapes = self._text(tables, "shape", "shapes"), shapes
        self.nothing = np.full(self.n, -1, np.int64), [""]
        self.basis = np.zeros(self.n, np.int64), [MONITOR]
        empty = np.zeros(0)
        statistics = [table.statistics for table in tables]
        high = np.concatenate([s[:, 0] for s in statistics]) if statistics else empty
        low = np.concatenate([s[:, 1] for s in statistics]) if statistics else empty
        present = np.concatenate([t.present for t in tables]) if tables else np.zeros(0, np.uint8)
        known = (present & 3) == 3
        self.high, self.low = (high, ~known), (low, ~known)
        self.absmax = np.maximum(np.abs(high), np.abs(low)), ~known
        self.no_floats = np.zeros(self.n), np.ones(self.n, np.bool_)
        self.no_numbers = np.zeros(self.n, np.int64), np.ones(self.n, np.bool_)
        ranks = [np.full(t.n_rows, -1 if t.rank is None else t.rank, np.int64) for t in tables]
        rank = np.concatenate(ranks) if ranks else np.zeros(0, np.int64)
        self.ranks = np.maximum(rank, 0), rank < 0
        steps = np.concatenate([t.step for t in tables]) if tables else np.zeros(0, np.int64)
        self.steps = steps, np.zeros(self.n, np.bool_)
        nans = np.concatenate([t.nans for t in tables]) if tables else np.zeros(0, np.int64)
        self._nans = np.maximum(nans, 0), nans < 0
        bad = (nans > 0) | (known & (~np.isfinite(high) | ~np.isfinite(low)))
        self.flags = np.where((nans > 0) | (known & np.isnan(high)), NAN, np.where(bad, PLUS, 0)).astype(
            np.uint8
        )
        self.roles: npt.NDArray[np.int64] = np.where(bad, ROLES.index("inherited"), 0).astype(np.int64)
        if gradients is not None:
            starts = np.cumsum([0, *(t.n_rows for t in tables)])
            for one in gradients.bad:
                if one.cause != "reduced":
                    self.roles[int(starts[one.table]) + one.row] = ROLES.index("origin")

    def counts(self, name: str) -> _Numbers:
        return self._nans if name == "nan" else self.no_numbers

    @staticmethod
    def _text(tables: Sequence[Any], column: str, labels: str) -> npt.NDArray[np.int64]:
        parts, start = [np.zeros(0, np.int64)], 0
        for table in tables:
            codes = getattr(table, column).astype(np.int64)
            parts.append(np.where(codes >= 0, codes + start, -1))
            start += len(getattr(table, labels))
        return np.concatenate(parts)


_Numbers = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]
_Floats = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _numbers(name: str, parts: Sequence[_Numbers], tail: _Numbers) -> Column:
    values, absent = _joined([v for v, _ in (*parts, tail)]), _joined([a for _, a in (*parts, tail)])
    mask = absent.astype(np.bool_)
    return Column(name, "int", values.astype(np.int64), absent=mask if mask.any() else None)


def _floats(name: str, parts: Sequence[_Floats], tail: _Floats, unit: str = "") -> Column:
    values, absent = _joined([v for v, _ in (*parts, tail)]), _joined([a for _, a in (*parts, tail)])
    mask = absent.astype(np.bool_)
    return Column(name, "float", values.astype(np.float64), absent=mask if mask.any() else None, unit=unit)


def _coded(name: str, parts: Sequence[npt.NDArray[np.int64]], tail: npt.NDArray[np.int64]) -> Column:
    return Column(name, "text", _joined([*parts, tail]), labels=ROLES)


def _captures(parts: Sequence[Part], n_tail: int) -> Column:
    """The capture (or dump folder) of each row; absent for monitor files."""
    names = list(dict.fromkeys(part.rank.capture for part in parts)) or [""]
    codes = [np.full(len(part.rows), names.index(part.rank.capture), np.int64) for part in parts]
    absent = _joined([*(np.zeros(len(part.rows), np.bool_) for part in parts), np.ones(n_tail, np.bool_)])
    values = _joined([*codes, np.zeros(n_tail, np.int64)])
    return Column("capture", "text", values, names, absent.astype(np.bool_) if n_tail else None)


def _first_index(found: Overflow, parts: Sequence[Part], n_tail: int) -> Column:
    texts: list[str | None] = []
    for part in parts:
        own: list[str | None] = [None] * len(part.rows)
        for (place, row), places in found.places.items():
            if place == part.place and places.first:
                own[int(np.searchsorted(part.rows, row))] = str(list(places.first[0].index)).replace(" ", "")
        texts += own
    return text_column("first_index", [*texts, *([None] * n_tail)])


def first_trace(found: Overflow, rank: RankOverflow) -> Trace:
    """Upstream of the first origin of a rank-step; empty where it has none."""
    first = min(rank.roles.origins, key=lambda origin: origin.call, default=None)
    if first is None:
        return Trace((), ())
    criteria = found.settings.criteria
    return trace(rank, first, depth=int(criteria.trace_calls), near_ratio=criteria.near_ratio)
