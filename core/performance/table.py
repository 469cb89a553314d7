"""What the pane and `--tables` show: operators grouped in one of four ways, ranks, kernels, changes.

Each is a `Table` with units in its names; absent is what nobody recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.formats.profiling.operators import NO_ID, NO_NS
from npulse.core.table import Column, Table, text_column

from .changes.compare import Changes
from .found import Analysed, Performance
from .kernel.advice import summary_of
from .operators.analysis import Operators
from .operators.bound import BOUNDS
from .operators.classes import BASES, CLASSES
from .operators.gone import Groups
from .operators.moved_bytes import NO_BYTES
from .operators.top import NO_COUNT, Top
from .ranks.advice import Ranks
from .since import Since

TableKind = Literal["type", "call", "count", "average", "ranks", "kernels", "changes"]
BY_KINDS: tuple[TableKind, ...] = ("type", "call", "count", "average")
SUBJECT = "subject"
"""The column that holds the subject of marks and notes."""
_Array = npt.NDArray[np.float64] | npt.NDArray[np.int64]


def kinds_of(found: Performance) -> tuple[TableKind, ...]:
    """The tables that a round has, the one to show first in front. Sums by type hold no single calls."""
    shown = found.shown
    kinds: list[TableKind] = []
    if shown is not None and shown.operators is not None:
        has_calls = shown.operators.table is not None
        kinds += [kind for kind in BY_KINDS if has_calls or kind != "call"]
    if found.kernels:
        kinds.append("kernels")
    if any(ranks.times for ranks in found.ranks):
        kinds.append("ranks")
    if found.changes is not None:
        kinds.append("changes")
    return tuple(kinds)


def performance_table(found: Performance, kind: TableKind) -> Table:
    """One of the tables that `kinds_of` names."""
    if kind == "ranks":
        return ranks_table([one for one in found.ranks if one.times])
    if kind == "kernels":
        return kernels_table(found)
    if kind == "changes":
        assert found.changes is not None
        return changes_table(found.changes)
    shown = found.shown
    assert shown is not None and shown.operators is not None
    return operators_table(shown, shown.operators, kind, found.changes, _roles(found), found.since)


def operators_table(
    shown: Analysed,
    operators: Operators,
    kind: TableKind,
    changes: Changes | None = None,
    roles: dict[str, str] | None = None,
    since: Since | None = None,
) -> Table:
    """A row a group (kind "call": a call), in order. changes: of the round before, for `change_percent`.

    since: what came with the last look of a followed run, for `new_calls` and `new_us`.
    """
    groups = operators.by(kind)  # type: ignore[arg-type]
    top = groups.top
    n = len(top)
    total = _us("total_us", top.total_ns, NO_NS)
    average, median, least, most = (
        # of a single call they are one figure, held once
        [replace(total, name=name) for name in ("average_us", "median_us", "min_us", "max_us")]
        if kind == "call" and operators.table is not None
        else [
            _floats("average_us", top.average_ns / 1000, "us"),
            _floats("median_us", top.median_ns / 1000, "us"),
            _us("min_us", top.min_ns, NO_NS),
            _us("max_us", top.max_ns, NO_NS),
        ]
    )
    subject = Column(SUBJECT, "text", top.name, _texts(top.labels), _none_of(top.name == NO_ID))
    columns = [subject]
    if kind == "call":
        columns.append(
            Column(
                "op_type", "text", np.maximum(top.op_type, 0), _texts(top.op_types), _none_of(top.op_type < 0)
            )
        )
    columns += [
        _integers("calls", top.calls, NO_COUNT),
        total,
        _floats("share_percent", top.share_percent, "percent"),
        _floats("cumulative_percent", top.cumulative_percent, "percent"),
        _floats("share_of_wall_percent", _or_nan(top.wall_percent, n), "percent"),
        average,
        median,
        least,
        most,
        Column("class", "text", groups.classes.code, CLASSES),
        Column("class_basis", "text", groups.classes.basis, BASES),
        *_bound_columns(groups, n),
        Column("core_type", "text", np.maximum(top.core, 0), _texts(top.cores), _none_of(top.core < 0)),
        _integers("block_dim", top.block_dim, NO_ID),
        *_moved_columns(groups, n),
        _change(groups, changes, kind),
        _role(top, roles or {}),
        _lines(operators, groups, n),
    ]
    if since is not None and kind != "call":
        new_calls = Column("new_calls", "int", since.calls(top))
        columns += [new_calls, Column("new_us", "float", since.times_ns(top) / 1000, unit="us")]
    return Table("performance", tuple(columns))


def ranks_table(jobs: Sequence[Ranks]) -> Table:
    """A row a rank: how its step divides."""
    times = [(ranks, one) for ranks in jobs for one in ranks.times]
    slow = {one.slow.profile.name: one for ranks in jobs for one in ranks.stragglers}
    waiting = {t.profile.name for one in slow.values() for t in one.waiting}
    gone = {one.name: one.why for ranks in jobs for one in ranks.left_out}

    def role(name: str) -> str | None:
        if name in slow:
            return "origin"
        return "unknown" if name in gone else "inherited" if name in waiting else None

    def ns(name: str, values: Sequence[int | None]) -> Column:
        return _floats(name, np.array([np.nan if v is None else v / 1000 for v in values], np.float64), "us")

    return Table(
        "ranks",
        (
            text_column(SUBJECT, [one.profile.label for _, one in times]),
            _integers("rank", np.array([-1 if t.rank is None else t.rank for _, t in times], np.int64), -1),
            ns("computing_us", [t.computing_ns for _, t in times]),
            ns("communication_not_overlapped_us", [t.exposed_ns for _, t in times]),
            ns("communication_us", [t.communication_ns for _, t in times]),
            ns("free_us", [t.free_ns for _, t in times]),
            ns("bubble_us", [t.bubble_ns for _, t in times]),
            _integers("steps", np.array([t.n_steps for _, t in times], np.int64), -1),
            text_column("role", [role(t.profile.name) for _, t in times]),
            text_column("basis", [t.basis for _, t in times]),
            text_column("folder", [t.profile.name for _, t in times]),
        ),
    )


def kernels_table(found: Performance) -> Table:
    """A row a launch of a kernel that msOpProf measured."""
    all_ = [summary_of(kernel, found.settings.criteria) for kernel in found.kernels]

    def floats(name: str, values: Sequence[float | None], unit: str) -> Column:
        return _floats(name, np.array([np.nan if v is None else v for v in values], np.float64), unit)

    return Table(
        "kernels",
        (
            text_column(SUBJECT, [one.name for one in all_]),
            text_column("op_type", [one.op_type or None for one in all_]),
            floats("total_us", [one.duration_us for one in all_], "us"),
            text_column("bound", [one.bound for one in all_]),
            text_column("roof", [one.roof for one in all_]),
            floats("roof_ratio", [one.roof_ratio for one in all_], "ratio"),
            _integers("block_dim", _or_none([one.block_dim for one in all_]), NO_ID),
            _integers("cores", np.array([one.n_cores for one in all_], np.int64), NO_ID),
            floats("frequency_mhz", [one.frequency_mhz for one in all_], "MHz"),
            floats("rated_mhz", [one.rated_mhz for one in all_], "MHz"),
            floats("cycles_spread_percent", [one.spread_percent for one in all_], "percent"),
            floats("l2_hit_percent", [one.l2_hit_percent for one in all_], "percent"),
            floats("bandwidth_gb_per_s", [one.gm_gb_per_s for one in all_], "GB/s"),
            text_column("folder", [kernel.folder for kernel in found.kernels]),
        ),
    )


def changes_table(changes: Changes) -> Table:
    """A row an operator type, the largest difference first. Times of a step."""
    rows = changes.types
    nan = float("nan")

    def floats(name: str, values: Sequence[float], unit: str) -> Column:
        return _floats(name, np.array(values, np.float64), unit)

    return Table(
        "changes",
        (
            text_column(SUBJECT, [one.name for one in rows]),
            floats("before_us", [one.time.before_ns / 1000 for one in rows], "us"),
            floats("after_us", [one.time.after_ns / 1000 for one in rows], "us"),
            floats("change_us", [one.time.delta_ns / 1000 for one in rows], "us"),
            floats(
                "change_percent",
                [nan if one.time.percent is None else one.time.percent for one in rows],
                "percent",
            ),
            floats(
                "noise_us",
                [nan if one.time.noise_ns is None else one.time.noise_ns / 1000 for one in rows],
                "us",
            ),
            text_column("change", [one.time.verdict for one in rows]),
            floats("neighbours_change_us", [one.side_ns / 1000 for one in rows], "us"),
            floats("net_change_us", [one.net_ns / 1000 for one in rows], "us"),
            floats("calls_before", [one.n_before for one in rows], ""),
            floats("calls_after", [one.n_after for one in rows], ""),
        ),
    )


def _roles(found: Performance) -> dict[str, str]:
    """Subject -> role of the first advice about it, of warnings and errors."""
    roles: dict[str, str] = {}
    for one in found.advice:
        if one.severity != "note":
            roles.setdefault(one.subject, one.role)
    return roles


def _role(top: Top, roles: Mapping[str, str]) -> Column:
    """The role of each group by its name. Cost: O(groups + names)."""
    words = tuple(dict.fromkeys(("ok", *roles.values())))
    of_name = np.zeros(max(len(top.labels), 1), np.int8)
    codes = {name: words.index(role) for name, role in roles.items()}
    if codes:
        for place, name in enumerate(top.labels):
            of_name[place] = codes.get(name, 0)
    values = np.where(top.name < 0, np.int8(0), of_name[np.maximum(top.name, 0)])
    return Column("role", "text", values, words)


def _bound_columns(groups: Groups, n: int) -> tuple[Column, ...]:
    bounds = groups.bounds
    if bounds is None:
        unknown = np.full(n, BOUNDS.index("unknown"), np.int64)
        nothing = np.full(n, np.nan)
        return (
            Column("bound", "text", unknown, BOUNDS),
            _floats("bound_ratio", nothing, "ratio"),
            _floats("utilization_percent", nothing, "percent"),
        )
    return (
        Column("bound", "text", bounds.code, BOUNDS),
        _floats("bound_ratio", bounds.highest, "ratio"),
        _floats("utilization_percent", bounds.utilization_percent, "percent"),
    )


def _moved_columns(groups: Groups, n: int) -> tuple[Column, ...]:
    moved = groups.moved
    if moved is None:
        return _integers("moved_bytes", np.full(n, -1), -1), _floats(
            "bandwidth_gb_per_s", np.full(n, np.nan), "GB/s"
        )
    return (
        _integers("moved_bytes", moved.bytes, NO_BYTES),
        _floats("bandwidth_gb_per_s", moved.gb_per_s, "GB/s"),
    )


def _change(groups: Groups, changes: Changes | None, kind: TableKind) -> Column:
    n = len(groups.top)
    if changes is None or kind == "call":
        return _floats("change_percent", np.broadcast_to(np.nan, n), "percent")
    values = np.full(n, np.nan)
    by_name = {one.name: one.time.percent for one in changes.types if one.time.verdict != "noise"}
    for group in range(n):
        percent = by_name.get(groups.top.label(group))
        if percent is not None:
            values[group] = percent
    return _floats("change_percent", values, "percent")


def _lines(operators: Operators, groups: Groups, n: int) -> Column:
    """The line of the first of the rows in its file."""
    table = operators.table
    if table is None or not n:
        return _integers("line", np.full(n, -1), -1)
    rows = np.maximum(groups.top.first_row, 0)
    lines = table.line[rows]  # 0 where rows were made out of a timeline or a database
    return _integers("line", np.where((groups.top.first_row >= 0) & (lines > 0), lines, -1), -1)


def _texts(labels: Sequence[str]) -> Sequence[str]:
    return labels if len(labels) else ("",)


def _or_none(values: Sequence[int | None]) -> npt.NDArray[np.int64]:
    return np.array([NO_ID if value is None else value for value in values], np.int64)


def _none_of(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return mask if mask.any() else None


def _or_nan(values: npt.NDArray[np.float64] | None, n: int) -> npt.NDArray[np.float64]:
    return np.full(n, np.nan) if values is None else values


def _integers(name: str, values: _Array, none: int) -> Column:
    whole = np.asarray(values, np.int64)
    return Column(name, "int", whole, None, _none_of(whole == none))


def _us(name: str, ns: npt.NDArray[np.int64], none: int) -> Column:
    return Column(name, "float", ns / 1000, None, _none_of(ns == none), "us")


def _floats(name: str, values: npt.NDArray[np.float64], unit: str) -> Column:
    return Column(name, "float", values, None, _none_of(np.isnan(values)), unit)
