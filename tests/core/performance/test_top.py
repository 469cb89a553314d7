"""Which durations count and what takes the time, against sums of Decimal."""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from decimal import Decimal
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.formats.profiling.operators import NO_ID, NO_NS, OperatorReader, OperatorTable
from npulse.core.formats.profiling.records import TypeTotal
from npulse.core.formats.profiling.type_names import stem_of, type_in
from npulse.core.performance.operators.keys import combined
from npulse.core.performance.operators.shares import (
    spread_of,
    sums_by_core,
    sums_by_core_of_totals,
)
from npulse.core.performance.operators.top import NO_COUNT, By, Top, top, top_of_totals
from npulse.core.performance.operators.usable import exact_sum, usable

from .operator_tables import BASE_US, csv_text, row, table_of

HASH = "0a4e" * 8


def names_of(found: Top) -> list[str]:
    return [found.label(group) for group in range(len(found))]


def reasons_of(table: OperatorTable, **more: Any) -> list[tuple[int, str, int | None]]:
    return [(one.line, one.reason, one.value_ns) for one in usable(table, **more).set_aside(table)]


# ---- usable ----


def test_absent_is_set_aside_and_zero_is_not() -> None:
    table = table_of([row("Add", us, i) for i, us in enumerate(["1.5", "N/A", "", "0", "-2.25", "nan"])])
    used = usable(table)
    assert used.rows.tolist() == [True, False, False, True, False, False]
    assert used.n == 2 and used.total_ns == 1500
    assert reasons_of(table) == [
        (3, "absent", None),
        (4, "absent", None),
        (6, "negative", -2250),
        (7, "absent", None),
    ]
    assert used.n_set_aside == {"absent": 3, "negative": 1}


def test_an_unsigned_number_below_zero_is_too_long() -> None:
    table = table_of([row("Add", "10", 0), row("Mul", "1844674407370955.1", 20), row("Add", "10", 40)])
    assert reasons_of(table) == [(3, "too long", 1844674407370955100)]
    assert usable(table).total_ns == 20_000


def test_a_task_cannot_outlast_all_others_while_its_stream_goes_on() -> None:
    rows = [row("Add", "10", 20 * i) for i in range(50)]
    rows[20]["us"] = "4000000"  # 4 s in a profile of a millisecond
    table = table_of(rows)
    assert reasons_of(table) == [(22, "too long", 4_000_000_000)]
    # the same on a stream of its own, at the end of its stream, or of a collective: nothing speaks against it
    for change in ({"stream": 9}, {"stream": "N/A"}):
        rows[20] |= change
        assert reasons_of(table_of(rows)) == []
    rows[20] = row("Add", "10", 400)
    rows[49]["us"] = "4000000"
    assert reasons_of(table_of(rows)) == []
    # but more than an hour after everything else is too much for any task
    rows[49]["us"] = "3700000000"
    assert [found[1] for found in reasons_of(table_of(rows))] == ["too long"]


def test_a_task_with_its_parts_on_one_stream_is_not_too_long() -> None:
    rows = [row("SuperKernel", "1000", 0), *(row("MatMul", "9.5", 10 * i + 1) for i in range(99))]
    assert reasons_of(table_of(rows)) == []


def test_two_impossible_tasks_do_not_hide_each_other() -> None:
    rows = [row("Add", "10", 20 * i) for i in range(50)]
    rows[10]["us"] = rows[20]["us"] = "90000000"
    assert [line for line, _, _ in reasons_of(table_of(rows))] == [12, 22]


def test_the_wall_time_is_a_limit_where_it_is_known() -> None:
    table = table_of([row("Add", "10", 0), row("Add", "500", 20)])
    assert reasons_of(table) == []
    assert reasons_of(table, wall_ns=100_000) == [(3, "too long", 500_000)]
    assert usable(table, wall_ns=100_000).total_ns == 10_000


def test_starts_outside_the_profile_count_for_no_time_axis() -> None:
    rows = [row("Add", "10", 20 * i) for i in range(6)]
    rows[2]["start"] = "0"
    rows[3]["start"] = f"{BASE_US - 2 * 86_400_000_000}.000"
    rows[4]["start"] = "N/A"
    used = usable(table_of(rows))
    assert used.rows.all() and used.total_ns == 60_000
    assert used.starts.tolist() == [True, True, False, False, False, True]
    assert used.n_stray_starts == 3
    # starts that are counted from 0 are fine
    table = table_of([{**row("Add", "10"), "start": str(20 * i)} for i in range(5)])
    assert usable(table).starts.all()


def test_rows_of_files_that_overlap_count_once() -> None:
    rows = [row("Add", "10", 20 * i, task=i) for i in range(6)]
    table = table_of(rows[:4], rows[2:])
    used = usable(table)
    assert used.n_set_aside == {"repeated": 2} and used.total_ns == 60_000
    assert [(one.file, one.line) for one in used.set_aside(table)] == [
        ("op_summary_slice_1.csv", 2),
        ("op_summary_slice_1.csv", 3),
    ]
    # another duration, name or task is another task
    for change in ({"us": "11"}, {"name": "other"}, {"task": 77}):
        assert usable(table_of(rows[:4], [rows[3] | change, *rows[4:]])).n_set_aside == {}


def test_rows_that_stand_twice_in_a_file_count_and_are_told() -> None:
    rows = [row("Add", "10", 0, task=1), row("Add", "10", 0, task=1), row("Add", "10", 20, task=2)]
    used = usable(table_of(rows))
    assert used.n_twice == 1 and used.total_ns == 30_000 and used.n_set_aside == {}


def test_sums_that_64_bits_would_not_hold() -> None:
    values = np.full(1000, 2**62, np.int64)
    assert exact_sum(values) == 1000 * 2**62
    assert exact_sum(np.array([-5, 3], np.int64)) == -2
    rows = [{**row("Add", f"{10**12}"), "start": "N/A"} for _ in range(6000)]
    used = usable(table_of(rows))
    assert used.total_ns < 2**62 and used.n_set_aside == {"too long": 6000}


def test_narrowed_to_some_rows() -> None:
    table = table_of([row("Add", us, 20 * i) for i, us in enumerate(["10", "N/A", "30", "40"])])
    part = usable(table).narrowed(table, np.array([True, False, True, False]))
    assert part.total_ns == 40_000 and part.n == 2 and part.n_set_aside == {}
    found = top(table, part)
    assert found.all_ns == 40_000 and found.calls.tolist() == [2]


# ---- names ----


@pytest.mark.parametrize(
    ("name", "stem", "op_type"),
    [
        (f"MatmulLeakyreluCustom_{HASH}_2_mix_aic", "MatmulLeakyreluCustom_mix_aic", None),
        (f"AddCustom_{HASH}", "AddCustom", "AddCustom"),
        (f"AddCustom_{HASH}_0_1", "AddCustom", "AddCustom"),
        (f"AddCustom_{HASH.upper()}", f"AddCustom_{HASH.upper()}", None),
        ("hcom_allReduce__445_0", "hcom_allReduce_", "hcom_allReduce_"),
        ("hcom_broadcast__483_1_1", "hcom_broadcast_", "hcom_broadcast_"),
        ("trans_TransData_23", "trans_TransData", "TransData"),
        ("aclnnMm_MatMulCommon_MatMulV2", "aclnnMm_MatMulCommon_MatMulV2", "MatMulV2"),
        ("Conv2D1", "Conv2D1", "Conv2D1"),
        ("", "", ""),
    ],
)
def test_names_without_what_differs_from_call_to_call(name: str, stem: str, op_type: str | None) -> None:
    assert stem_of(name) == stem
    assert op_type is None or type_in(name) == op_type


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 10**6), st.integers(-1, 1)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_rows_with_the_same_codes_are_one_group(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([one[i] for one in rows], np.int32) for i in range(3)]
    group, first = combined(*columns)
    assert len(first) == len(set(rows))
    for i, one in enumerate(rows):
        assert rows[first[group[i]]] == one and first[group[i]] == rows.index(one)


# ---- top ----


def test_groups_of_a_table() -> None:
    rows = [
        row("MatMul", "10.001", 0, blocks=24),
        row("Add", "3", 20, core="AI_VECTOR_CORE", blocks=0),
        row("MatMul", "20", 40, blocks=20),
        row("Cast", "3", 60, core="AI_CPU"),
        row("MatMul", "N/A", 80),
        row("Cast", "1", 100, core="AI_VECTOR_CORE"),
        row("MatMul", "40", 120, blocks=24),
    ]
    table = table_of(rows)
    found = top(table, usable(table), wall_ns=200_000)
    assert names_of(found) == ["MatMul", "Cast", "Add"]
    assert found.calls.tolist() == [3, 2, 1]
    assert found.total_ns.tolist() == [70_001, 4_000, 3_000] and found.all_ns == 77_001
    assert found.min_ns.tolist() == [10_001, 1_000, 3_000]
    assert found.max_ns.tolist() == [40_000, 3_000, 3_000]
    assert found.median_ns.tolist() == [20_000, 2_000, 3_000]
    assert found.average_ns[0] == 70_001 / 3
    assert [found.core_type(group) for group in range(3)] == ["AI_CORE", "AI_CPU", "AI_VECTOR_CORE"]
    assert found.block_dim.tolist() == [24, NO_ID, NO_ID] and found.least_block_dim[0] == 20
    assert found.first_row.tolist() == [0, 3, 1]
    assert found.rows_of(0).tolist() == [6, 2, 0] and found.rows_of(1).tolist() == [3, 5]
    assert found.group_of(table.n_rows).tolist() == [0, 2, 0, 1, NO_ID, 1, 0]
    assert found.share_percent[0] == 100 * 70_001 / 77_001
    assert found.wall_percent is not None and found.wall_percent[0] == pytest.approx(35.0005)
    assert found.cumulative_percent.tolist()[-1] == 100
    assert top(table, usable(table)).wall_percent is None
    head = found.head(2)
    assert names_of(head) == ["MatMul", "Cast"] and head.all_ns == 77_001
    assert head.rows_of(1).tolist() == [3, 5] and head.n_calls == 5


def test_orders_by_count_average_and_single_calls() -> None:
    rows = [
        row("A", "1", 0),
        row("A", "1", 10),
        row("A", "1", 20),
        row("B", "9", 30),
        row("C", "4", 50),
        row("C", "4", 60),
    ]
    table = table_of(rows)
    used = usable(table)
    orders: dict[By, list[str]] = {
        "type": ["B", "C", "A"],
        "count": ["A", "C", "B"],
        "average": ["B", "C", "A"],
    }
    for by, order in orders.items():
        assert names_of(top(table, used, by)) == order
    calls = top(table, used, "call")
    assert calls.total_ns.tolist() == [9000, 4000, 4000, 1000, 1000, 1000]
    assert calls.first_row.tolist() == [3, 4, 5, 0, 1, 2]  # ties in the order of the table
    assert [calls.type_of(group) for group in range(6)] == ["B", "C", "C", "A", "A", "A"]
    assert calls.label(0) == "aclnnB_B_B" and calls.rows_of(1).tolist() == [4]


def test_without_types_names_are_the_groups() -> None:
    rows = [
        {**row("N/A", "5", 0), "name": "trans_TransData_1", "core": "N/A"},
        {**row("N/A", "6", 10), "name": "trans_TransData_2", "core": "N/A"},
        {**row("N/A", "7", 20), "name": "hcom_allReduce__1_1", "core": "N/A"},
        {**row("N/A", "1", 40), "name": "N/A", "core": "N/A"},
    ]
    table = table_of(rows)
    found = top(table, usable(table))
    assert names_of(found) == ["trans_TransData", "hcom_allReduce_", ""] and not found.has_types
    assert found.core_type(0) == "" and found.calls.tolist() == [2, 1, 1]
    assert top(table, usable(table), "call").label(3) == ""
    # a name that is a type in other rows is that type
    mixed = table_of([row("Add", "1", 0), {**row("N/A", "2", 10), "name": "Add"}])
    assert names_of(top(mixed, usable(mixed))) == ["Add"]


def test_a_table_without_a_usable_row() -> None:
    table = table_of([row("Add", "N/A", 0)])
    used = usable(table)
    for by in ("type", "call", "count", "average"):
        found = top(table, used, by)
        assert len(found) == 0 and found.all_ns == 0 and found.n_calls == 0
        assert found.group_of(1).tolist() == [NO_ID] and len(found.share_percent) == 0
    assert spread_of(top(table, used)).reading == "unknown"
    nothing = table_of([row("Add", "0", 0)])
    assert np.isnan(top(nothing, usable(nothing)).share_percent).all()


# ---- against a plain reading ----

DURATIONS = st.one_of(
    st.decimals(0, 10**6, places=3), st.sampled_from(["N/A", "", "-1", "1.8e16", "0"]), st.integers(0, 30)
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["Add", "MatMulV2", "Cast", "N/A"]), DURATIONS, st.sampled_from(["AI_CORE", "AI_CPU"])
    ),
    min_size=1,
    max_size=40,
)


def plain(raw: bytes) -> dict[str, list[Decimal]]:
    """Durations by type (by name without one), by csv and Decimal."""
    found: dict[str, list[Decimal]] = defaultdict(list)
    for cells in csv.DictReader(io.StringIO(raw.decode())):
        text = cells["Task Duration(us)"]
        if text in ("N/A", "") or Decimal(text) < 0 or Decimal(text) > 10**12:
            continue
        key = cells["OP Type"] if cells["OP Type"] != "N/A" else cells["Op Name"]
        found[key].append(Decimal(text) * 1000)
    return found


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_sums_counts_and_medians(cells: list[tuple[str, Any, str]]) -> None:
    rows = [row(op_type, us, i * 10**6, core=core) for i, (op_type, us, core) in enumerate(cells)]
    for one in rows:
        if one["type"] == "N/A":
            one["name"] = "kernel"
    table = table_of(rows)
    used = usable(table)
    expected = plain(csv_text(rows))
    found = top(table, used)
    assert dict(zip(names_of(found), found.total_ns.tolist(), strict=True)) == {
        name: sum(values) for name, values in expected.items()
    }
    for group, name in enumerate(names_of(found)):
        values = expected[name]
        assert found.calls[group] == len(values)
        assert (found.min_ns[group], found.max_ns[group]) == (min(values), max(values))
        assert found.median_ns[group] == float(median(values))
        assert sorted(table.values("duration_ns")[found.rows_of(group)].tolist()) == sorted(values)
    assert used.total_ns == sum(sum(values) for values in expected.values()) == found.all_ns
    if found.all_ns:
        assert found.share_percent.sum() == pytest.approx(100)
        assert found.cumulative_percent[-1] == pytest.approx(100)
        assert sum(part.percent for part in sums_by_core(table, used).values()) == pytest.approx(100)
    assert (np.diff(found.total_ns) <= 0).all()


@given(ROWS, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_rows_makes_no_difference(
    cells: list[tuple[str, Any, str]], shuffle: random.Random
) -> None:
    rows = [row(op_type, us, i * 10**6, core=core) for i, (op_type, us, core) in enumerate(cells)]
    mixed = rows.copy()
    shuffle.shuffle(mixed)
    one, other = table_of(rows), table_of(mixed)
    for by in ("type", "count", "average"):
        a, b = top(one, usable(one), by), top(other, usable(other), by)
        assert names_of(a) == names_of(b)
        assert a.total_ns.tolist() == b.total_ns.tolist() and a.median_ns.tolist() == b.median_ns.tolist()
        cores = [[x.core_type(i) for i in range(len(x)) if x.total_ns[i]] for x in (a, b)]
        assert len(cores[0]) == len(cores[1])


@given(st.lists(st.sampled_from(["N/A", "", "-", "nan", "5"]), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_absent_never_counts_as_zero(values: list[str]) -> None:
    table = table_of([row("Add", us, 10 * i) for i, us in enumerate(values)])
    found = top(table, usable(table))
    n = values.count("5")
    assert found.calls.tolist() == ([n] if n else [])
    if n:
        assert found.min_ns[0] == found.average_ns[0] == found.median_ns[0] == 5000


@given(st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_whatever_a_reader_gives(noise: bytes) -> None:
    reader = OperatorReader()
    reader.begin("op_summary.csv")
    reader.feed(csv_text([row("Add", "1", 0), row("Mul", "2", 10)]) + noise + b"\n")
    table = reader.finish()
    used = usable(table)
    for by in ("type", "call"):
        found = top(table, used, by)
        assert int(found.total_ns.sum()) == used.total_ns


# ---- totals ----


def test_totals_of_a_tool() -> None:
    totals = [
        TypeTotal("MatMul", "AI_CORE", 3, 70_000, 10_000, 23_333, 40_000),
        TypeTotal("Cast", "AI_CPU", 1, 3_000, 3_000, 3_000, 3_000),
        TypeTotal("Cast", "AI_VECTOR_CORE", 2, 4_000, 1_000, 2_000, 3_000),
        TypeTotal("Lost", "AI_CORE", 2, None),
        TypeTotal("Bare", "AI_CORE", None, 500, average_ns=250),
    ]
    found = top_of_totals(totals, wall_ns=100_000)
    assert names_of(found) == ["MatMul", "Cast", "Bare"] and found.n_left_out == 1
    assert found.total_ns.tolist() == [70_000, 7_000, 500] and found.all_ns == 77_500
    assert found.calls.tolist() == [3, 3, NO_COUNT] and found.n_calls == 6
    assert found.min_ns.tolist() == [10_000, 1_000, NO_NS]
    assert found.average_ns[1] == 7000 / 3 and found.average_ns[2] == 250
    assert found.core_type(1) == "AI_VECTOR_CORE" and np.isnan(found.median_ns).all()
    assert found.rows_of(0).tolist() == [] and found.first_row.tolist() == [NO_ID] * 3
    assert names_of(top_of_totals(totals, "count")) == ["MatMul", "Cast", "Bare"]
    cores = sums_by_core_of_totals(tuple(totals))
    assert {name: part.total_ns for name, part in cores.items()} == {
        "AI_CORE": 70_500,
        "AI_VECTOR_CORE": 4_000,
        "AI_CPU": 3_000,
    }
    assert cores["AI_CORE"].n is None and cores["AI_CPU"].n == 1
    assert len(top_of_totals(())) == 0


def test_totals_agree_with_the_rows_they_are_of() -> None:
    rows = [row("A", "1.5", 0), row("B", "4", 10), row("A", "2", 20)]
    table = table_of(rows)
    from_rows = top(table, usable(table))
    from_totals = top_of_totals(
        [
            TypeTotal("A", "AI_CORE", 2, 3_500, 1_500, 1_750, 2_000),
            TypeTotal("B", "AI_CORE", 1, 4_000, 4_000, 4_000, 4_000),
        ]
    )
    assert names_of(from_rows) == names_of(from_totals)
    for name in ("total_ns", "calls", "min_ns", "max_ns", "average_ns", "share_percent"):
        assert getattr(from_rows, name).tolist() == getattr(from_totals, name).tolist()


# ---- spread ----


def spread_rows(times: list[int]) -> list[dict[str, object]]:
    return [row(f"Type{i}", str(us), 10**4 * i) for i, us in enumerate(times)]


def test_concentrated_scattered_and_between() -> None:
    few, many, some = [900, *[1] * 99], [10] * 100, [20] * 30 + [1] * 70
    for times, reading, percent in (
        (few, "concentrated", 100 * 919 / 999),
        (many, "scattered", 20),
        (some, "between", 100 * 400 / 670),
    ):
        table = table_of(spread_rows(times))
        used = usable(table)
        spread = spread_of(top(table, used), top(table, used, "call").total_ns)
        assert spread.reading == reading
        assert spread.types_percent == pytest.approx(percent) == pytest.approx(spread.calls_percent)
        assert (spread.n_types, spread.n_calls) == (100, 100)
    assert spread_of(top(table, used), concentrated_percent=55).reading == "concentrated"


def test_many_calls_of_one_type_are_concentrated_by_type_only() -> None:
    table = table_of([row("Add", "1", 10 * i) for i in range(1000)])
    used = usable(table)
    spread = spread_of(top(table, used), top(table, used, "call").total_ns)
    assert (spread.types_percent, spread.calls_percent, spread.n_for_most) == (100, 2, 1)


@pytest.mark.budget
def test_a_million_rows() -> None:
    from time import process_time

    n = 1_000_000
    small = table_of([row("A", "1", 0)])
    rng = np.random.default_rng(1)
    durations = rng.integers(1000, 10**6, n)
    table = OperatorTable(
        files=("f.csv",),
        file=np.zeros(n, np.int32),
        line=np.arange(2, n + 2),
        columns=small.columns,
        arrays={
            "name": rng.integers(0, 3000, n).astype(np.int32),
            "op_type": rng.integers(0, 200, n).astype(np.int32),
            "core_type": np.zeros(n, np.int32),
            "start_ns": BASE_US * 1000 + np.cumsum(durations),
            "duration_ns": durations,
            "stream": np.zeros(n, np.int64),
        },
        labels={
            "name": [f"n{i}" for i in range(3000)],
            "op_type": [f"T{i}" for i in range(200)],
            "core_type": ["AI_CORE"],
        },
    )
    began = process_time()
    used = usable(table)
    found = top(table, used)
    took = process_time() - began
    assert found.all_ns == int(durations.sum()) and len(found) == 200
    assert took < 1.5  # 0.3 s here
