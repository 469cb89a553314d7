"""What takes the time: operators put together by type, or one by one, in order.

All durations are those that `usable` lets through; a row that it sets aside is in no figure here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import NO_ID, NO_NS, OperatorTable
from npulse.core.formats.profiling.records import TypeTotal

from .keys import keys_of
from .usable import Usable

By = Literal["type", "call", "count", "average"]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
NO_COUNT = -1


@dataclass(frozen=True, slots=True)
class Top:
    """A row a group, the one that takes the most first (by "count", "average": the most of that).

    by: "type" (also "count" and "average", only the order differs): a group is an operator type, or the stem
    of a name where the table has no types. "call": a group is one row of the table.
    name: codes into labels. op_type: codes into op_types, the same but where a group is one row.
    calls: NO_COUNT where a total does not say. total_ns, min_ns, max_ns: NO_NS absent. average_ns, median_ns:
    NaN absent. core: codes into cores, what most of the time ran on; NO_ID absent.
    block_dim, least_block_dim: most and fewest cores that a call was split over, NO_ID absent.
    first_row: the first of its rows in the table, NO_ID for totals. order: rows of the table, group after
    group, the longest first; offsets (one more than groups): where each group begins in it.
    all_ns: sum of all usable durations, also of groups that are not here. wall_ns: None where nobody knows.
    n_left_out: totals that do not say a time.
    """

    by: By
    name: Codes
    labels: Sequence[str]
    op_type: Codes
    op_types: Sequence[str]
    calls: Integers
    total_ns: Integers
    min_ns: Integers
    average_ns: Floats
    median_ns: Floats
    max_ns: Integers
    core: Codes
    cores: Sequence[str]
    block_dim: Integers
    least_block_dim: Integers
    first_row: Integers
    order: Integers
    offsets: Integers
    all_ns: int
    wall_ns: int | None = None
    has_types: bool = True
    n_left_out: int = 0

    def __len__(self) -> int:
        return len(self.total_ns)

    def label(self, group: int) -> str:
        """The name of a group."""
        return self.labels[int(self.name[group])]

    def type_of(self, group: int) -> str:
        """The operator type of a group, or the stem of its name where the table says none."""
        return self.op_types[int(self.op_type[group])]

    def core_type(self, group: int) -> str:
        """What most of its time ran on, "" where the table does not say."""
        code = int(self.core[group])
        return self.cores[code] if code != NO_ID else ""

    def rows_of(self, group: int) -> Integers:
        """Its rows of the table, the longest first; none for totals."""
        return self.order[int(self.offsets[group]) : int(self.offsets[group + 1])]

    @property
    def n_calls(self) -> int:
        """Calls of all groups together that say a number."""
        return int(self.calls[self.calls != NO_COUNT].sum())

    @property
    def share_percent(self) -> Floats:
        """Of the sum of all usable durations (kernel time), percent; NaN where that is 0."""
        return _share(self.total_ns, self.all_ns)

    @property
    def cumulative_percent(self) -> Floats:
        """The share of a group and all before it."""
        return _share(np.cumsum(self.total_ns), self.all_ns)

    @property
    def wall_percent(self) -> Floats | None:
        """Of the wall time, None where that is not known. Tasks on several streams can be above 100."""
        return None if not self.wall_ns else _share(self.total_ns, self.wall_ns)

    def group_of(self, n_rows: int) -> Integers:
        """For each row of the table its group, NO_ID for rows that are set aside."""
        groups = np.full(n_rows, NO_ID, np.int64)
        groups[self.order] = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return groups

    def head(self, n: int) -> Top:
        """The first n groups; `all_ns` is still that of all."""
        part = slice(0, max(n, 0))
        offsets = self.offsets[: max(n, 0) + 1]
        return Top(
            by=self.by,
            name=self.name[part],
            labels=self.labels,
            op_type=self.op_type[part],
            op_types=self.op_types,
            calls=self.calls[part],
            total_ns=self.total_ns[part],
            min_ns=self.min_ns[part],
            average_ns=self.average_ns[part],
            median_ns=self.median_ns[part],
            max_ns=self.max_ns[part],
            core=self.core[part],
            cores=self.cores,
            block_dim=self.block_dim[part],
            least_block_dim=self.least_block_dim[part],
            first_row=self.first_row[part],
            order=self.order[: int(offsets[-1])] if len(offsets) else self.order[:0],
            offsets=offsets,
            all_ns=self.all_ns,
            wall_ns=self.wall_ns,
            has_types=self.has_types,
            n_left_out=self.n_left_out,
        )


def top(table: OperatorTable, usable: Usable, by: By = "type", wall_ns: int | None = None) -> Top:
    """The groups of a table in order. wall_ns: from the first start to the last end, for `wall_percent`.

    Ties are in order of total, calls and name, so the order of the rows does not matter ("call": the first
    row first). Cost: two sorts; a million rows take about 0.3 s.
    """
    rows = np.flatnonzero(usable.rows)
    durations: Integers = table.values("duration_ns")[rows]
    by_length = np.argsort(-durations, kind="stable")
    rows, durations = rows[by_length], durations[by_length]
    if by == "call":
        return _calls(table, usable, rows, durations, wall_ns)
    keys = keys_of(table)
    found = _narrow(keys.codes[rows])
    by_group = np.argsort(found, kind="stable")
    rows, durations, found = rows[by_group], durations[by_group], found[by_group]
    begins = np.flatnonzero(np.concatenate(([len(found) > 0], found[1:] != found[:-1]))[: len(found)])
    ends = np.concatenate((begins[1:], [len(rows)])).astype(np.int64)[: len(begins)]
    calls = ends - begins
    totals = np.add.reduceat(durations, begins) if len(begins) else np.zeros(0, np.int64)
    names = keys.codes[rows[begins]]
    middles = begins + calls // 2
    lower = begins + (calls - 1) // 2
    medians = (durations[middles] + durations[lower]) / 2
    averages = totals / np.maximum(calls, 1)
    ranks = _ranks(names, keys.labels)
    first = {"type": totals, "count": calls, "average": averages}[by]
    order = np.lexsort((ranks, -calls, -totals, -first))
    begins_in_order, calls = begins[order], calls[order]
    offsets = np.concatenate(([0], np.cumsum(calls)))
    places = np.repeat(begins_in_order - offsets[:-1], calls) + np.arange(len(rows))
    least, most = _least_most(_blocks(table, rows), begins)
    first_rows = np.minimum.reduceat(rows, begins) if len(begins) else np.zeros(0, np.int64)
    core, cores = _core_of(table, rows, durations, begins)
    return Top(
        by=by,
        name=names[order],
        labels=keys.labels,
        op_type=names[order],
        op_types=keys.labels,
        calls=calls,
        total_ns=totals[order],
        min_ns=durations[ends - 1][order],
        average_ns=averages[order],
        median_ns=medians[order],
        max_ns=durations[begins][order],
        core=core[order],
        cores=cores,
        block_dim=most[order],
        least_block_dim=least[order],
        first_row=first_rows[order],
        order=rows[places],
        offsets=offsets,
        all_ns=usable.total_ns,
        wall_ns=wall_ns,
        has_types=keys.has_types,
    )


def top_of_totals(types: Sequence[TypeTotal], by: By = "type", wall_ns: int | None = None) -> Top:
    """The same of totals that a tool wrote (op_statistic), where the calls themselves are not there.

    Rows of one type on several kinds of core become one group. No medians, no rows.
    """
    labels: dict[str, int] = {}
    cores: dict[str, int] = {}
    groups: list[list[TypeTotal]] = []
    n_left_out = 0
    for total in types:
        if total.total_ns is None or not 0 <= total.total_ns < 2**62 // max(len(types), 1):
            n_left_out += 1
            continue
        cores.setdefault(total.core_type, len(cores))
        place = labels.setdefault(total.op_type, len(labels))
        if place == len(groups):
            groups.append([])
        groups[place].append(total)
    n = len(groups)
    totals = np.array([sum(t.total_ns or 0 for t in group) for group in groups], np.int64)
    calls = np.array([_sum_or([t.count for t in group], NO_COUNT) for group in groups], np.int64)
    averages = np.where(calls > 0, totals / np.maximum(calls, 1), np.nan)
    for i, group in enumerate(groups):
        if calls[i] == NO_COUNT and len(group) == 1 and group[0].average_ns is not None:
            averages[i] = group[0].average_ns
    lows = np.array([_least([t.min_ns for t in group]) for group in groups], np.int64)
    highs = np.array([_most([t.max_ns for t in group]) for group in groups], np.int64)
    main = [max(group, key=lambda t: t.total_ns or 0).core_type for group in groups]
    names = np.arange(n, dtype=np.int32)
    first = {"type": totals, "call": totals, "count": calls, "average": np.nan_to_num(averages, nan=-1)}[by]
    order = np.lexsort((_ranks(names, list(labels)), -calls, -totals, -first))
    none = np.full(n, NO_ID, np.int64)
    return Top(
        by="type" if by == "call" else by,
        name=names[order],
        labels=list(labels),
        op_type=names[order],
        op_types=list(labels),
        calls=calls[order],
        total_ns=totals[order],
        min_ns=lows[order],
        average_ns=averages[order],
        median_ns=np.full(n, np.nan),
        max_ns=highs[order],
        core=np.array([cores[core] if core else NO_ID for core in main], np.int32)[order],
        cores=list(cores),
        block_dim=none,
        least_block_dim=none,
        first_row=none,
        order=np.zeros(0, np.int64),
        offsets=np.zeros(n + 1, np.int64),
        all_ns=int(totals.sum()),
        wall_ns=wall_ns,
        n_left_out=n_left_out,
    )


def _calls(
    table: OperatorTable, usable: Usable, rows: Integers, durations: Integers, wall_ns: int | None
) -> Top:
    """Every row as a group of its own, named as it is."""
    names = table.values("name")[rows]
    labels: Sequence[str] = table.texts("name")
    keys = keys_of(table)
    if (names == NO_ID).any():
        names = np.where(names == NO_ID, keys.codes[rows] + len(labels), names).astype(np.int32)
        labels = [*labels, *keys.labels]
    blocks = _blocks(table, rows)
    average = durations.astype(np.float64)
    return Top(
        by="call",
        name=names,
        labels=labels,
        op_type=keys.codes[rows],
        op_types=keys.labels,
        calls=np.broadcast_to(np.int64(1), len(rows)),
        total_ns=durations,
        min_ns=durations,
        average_ns=average,
        median_ns=average,
        max_ns=durations,
        core=table.values("core_type")[rows],
        cores=table.texts("core_type"),
        block_dim=blocks,
        least_block_dim=blocks,
        first_row=rows,
        order=rows,
        offsets=np.arange(len(rows) + 1, dtype=np.int64),
        all_ns=usable.total_ns,
        wall_ns=wall_ns,
        has_types=keys.has_types,
    )


def _share(values: Integers, whole: int) -> Floats:
    """Percent of a whole, NaN where there is none."""
    if whole <= 0:
        return np.full(len(values), np.nan)
    return values / whole * 100


def _narrow(codes: Codes) -> npt.NDArray[np.int32] | npt.NDArray[np.uint16]:
    """Codes in 16 bits where they fit: those are sorted without comparing."""
    return codes.astype(np.uint16) if len(codes) and codes.max() < 2**16 else codes


def _ranks(names: Codes, labels: Sequence[str]) -> Integers:
    """Place of each name in the order of the alphabet."""
    ranks = np.zeros(len(names), np.int64)
    ranks[sorted(range(len(names)), key=lambda i: labels[int(names[i])])] = np.arange(len(names))
    return ranks


def _blocks(table: OperatorTable, rows: Integers) -> Integers:
    """Cores that calls were split over; the 0 of communication and of the short form says nothing."""
    blocks: Integers = table.values("block_dim")[rows]
    return np.where(blocks > 0, blocks, NO_ID)


def _least_most(values: Integers, begins: Integers) -> tuple[Integers, Integers]:
    """Least and most of each group, absent ones left aside."""
    if not len(begins):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    most = np.maximum.reduceat(values, begins)
    least = np.minimum.reduceat(np.where(values == NO_ID, np.iinfo(np.int64).max, values), begins)
    return np.where(most == NO_ID, NO_ID, least), most


def _core_of(
    table: OperatorTable, rows: Integers, durations: Integers, begins: Integers
) -> tuple[Codes, Sequence[str]]:
    """Of each group the core type that has most of the time."""
    texts = table.texts("core_type")
    n = len(begins)
    best = np.full(n, NO_ID, np.int32)
    if not n or not texts:
        return best, texts
    codes = table.values("core_type")[rows]
    most = np.full(n, -1, np.int64)
    for code in np.unique(codes[codes != NO_ID]).tolist():
        mine = codes == code
        time = np.add.reduceat(np.where(mine, durations, 0), begins)
        is_there = np.logical_or.reduceat(mine, begins)
        is_more = is_there & (time > most)
        best[is_more], most[is_more] = code, time[is_more]
    return best, texts


def _sum_or(values: list[int | None], none: int) -> int:
    known = [value for value in values if value is not None and 0 <= value < 2**52]
    return sum(known) if len(known) == len(values) else none


def _least(values: list[int | None]) -> int:
    return min((value for value in values if value is not None and abs(value) < 2**62), default=NO_NS)


def _most(values: list[int | None]) -> int:
    return max((value for value in values if value is not None and abs(value) < 2**62), default=NO_NS)
