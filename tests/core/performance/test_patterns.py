"""The door to patterns: what holds for all of them."""

from __future__ import annotations

import re
import string
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.findings import Location
from npulse.core.formats.profiling.type_names import without_variant
from npulse.core.performance import analyse
from npulse.core.performance.advice import Advice
from npulse.core.performance.analyse import analysed
from npulse.core.performance.criteria import Criteria, Settings
from npulse.core.performance.operators.calls import calls_of, groups_of
from npulse.core.performance.operators.patterns import advice_of_patterns
from npulse.core.performance.operators.rules_patterns import RULES
from npulse.core.performance.operators.texts_patterns import TEXTS
from npulse.core.performance.operators.usable import usable
from npulse.core.performance.profile import Profile
from npulse.core.progress import Progress

from .made_tables import COLUMNS, Row, advice_from, profile_of, table_of

KINDS = (
    *("MatMulV2", "BatchMatMul", "SoftmaxV2", "Cast", "TransData", "Transpose", "Add", "Mul", "LayerNorm"),
    *("GatherV2", "NonZero", "Swish", "Slice", "hcom_allReduce_", "N/A"),
)
ROW = st.fixed_dictionaries(
    {
        "type": st.sampled_from(KINDS),
        "core": st.sampled_from(["AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "AI_CPU", "COMMUNICATION", "N/A"]),
        "us": st.one_of(st.integers(0, 60), st.just("N/A")),
        "gap": st.integers(0, 40),
        "stream": st.sampled_from(["1", "2", "N/A"]),
        "state": st.sampled_from(["dynamic", "static", "N/A"]),
        "block": st.sampled_from(["0", "13", "24", "48", "N/A"]),
        "hf32": st.sampled_from(["YES", "NO", "N/A"]),
        "dtypes": st.sampled_from(["FLOAT", "DT_BF16", "DOUBLE", "FLOAT;FLOAT", "N/A"]),
        "out_dtypes": st.sampled_from(["FLOAT", "DT_BF16", "N/A"]),
        "shapes": st.sampled_from(["8,8", "1024,128,8,128;1;1", ";", "", "x", "N/A"]),
        "out": st.sampled_from(["8,8", "1024,128,1,128", "", "N/A"]),
        "aiv_time(us)": st.sampled_from(["1", "0", "N/A"]),
        "aiv_mte2_time(us)": st.sampled_from(["1", "nan", "N/A"]),
    }
)
ROWS = st.lists(ROW, min_size=1, max_size=8).flatmap(
    lambda rows: st.integers(1, 12).map(lambda n: [dict(row) for _ in range(n) for row in rows])
)


def bare(advice: Advice) -> Advice:
    """Without the place in the file."""
    return replace(advice, location=Location())


def all_of(found: dict[str, list[Advice]]) -> list[Advice]:
    return [bare(advice) for ones in found.values() for advice in ones]


@given(ROWS, st.data())
def test_advice_does_not_depend_on_slices(rows: list[Row], data: st.DataObject) -> None:
    for i, row in enumerate(rows):
        row["name"] = f"{row['type']}_{i % 5}"
    cuts = data.draw(st.lists(st.integers(1, max(1, len(rows) - 1)), unique=True, max_size=3))
    cuts = [cut for cut in cuts if cut < len(rows)]
    assert all_of(advice_from(rows)) == all_of(advice_from(rows, cuts=cuts))


@given(ROWS)
def test_whatever_stands_there_costs_and_words_are_sane(rows: list[Row]) -> None:
    table = table_of(rows)
    used = usable(table)
    profile = profile_of(table)
    calls = calls_of(profile, table, used)
    for advice in advice_of_patterns(profile, used, Criteria()):
        assert advice.rule in {rule.id for rule in RULES}
        assert 0 <= advice.cost_ns <= max(calls.wall_ns, calls.total_ns)
        assert advice.severity in ("warning", "note")  # never above what the wall says
        for text in (*advice.message, *advice.next_step):
            assert "{" not in text and "nan" not in text.split()
        assert advice.message[0] and advice.message[1]
        for name, value in advice.figures.items():
            if name.endswith("_percent") and value is not None and name != "jitter_percent":
                assert 0 <= value <= 100.01, name


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_the_rows_does_not_matter_where_starts_say_it(rows: list[Row], random: Any) -> None:
    clock = 0.0
    for i, row in enumerate(rows):
        row["name"] = f"{row['type']}_{i % 5}"
        row["at"] = clock  # all differ
        clock += 1 + row.pop("gap") + (0 if row["us"] == "N/A" else row["us"])
    mixed = list(rows)
    random.shuffle(mixed)
    assert all_of(advice_from(rows)) == all_of(advice_from(mixed))


@pytest.mark.parametrize("column", [c for c in COLUMNS if c != "Task Duration(us)"])
def test_a_column_that_is_absent(column: str) -> None:
    """No pattern that needs it is told, and each is named as unknown."""
    rows: list[Row] = [
        *({"type": kind, "us": 25, "gap": 90} for kind in ("Exp", "Sub", "Pad") * 8),
        {"type": "TransData", "us": 200},
        {"type": "Sin", "core": "AI_CPU", "dtypes": "DOUBLE", "us": 80},
        {"type": "MatMulV2", "core": "AI_CORE", "block": 13, "us": 80, "state": "dynamic"},
        {"type": "MatMulV2", "core": "AI_CORE", "block": 24, "us": 80},
        {"type": "GatherV2", "shapes": "1024,128,8,128;1;1", "dtypes": "DT_BF16;INT64;INT64",
         "out": "1024,128,1,128", "us": 300},
        *({"type": "Cast", "us": 2, "gap": 40} for _ in range(20)),
        *({"type": "Relu", "name": "relu", "us": 30 + 60 * (i % 3 == 1)} for i in range(12)),
    ]  # fmt: skip
    rules_of = {
        "Op Name": (set(), set()),
        "OP Type": ({"fused-operator"}, set()),
        "OP State": ({"dynamic-shape"}, {"dynamic"}),
        "Task Type": ({"aicpu", "block-dim"}, {"aicpu", "block-dim"}),
        "Task Start Time(us)": ({"tiny", "fusible-sequence"}, {"tiny", "fusible"}),
        "Block Num": ({"block-dim"}, {"block-dim"}),
        "Input Shapes": ({"kv-gather", "kernel-jitter"}, {"gather", "jitter"}),
        "Output Shapes": ({"kv-gather"}, {"gather"}),
        "Input Data Types": ({"kv-gather"}, {"gather"}),
    }
    whole = advice_from(rows)
    assert {
        "aicpu",
        "dynamic-shape",
        "block-dim",
        "conversion",
        "kv-gather",
        "precision-mode",
        "tiny",
    } <= set(whole)
    assert {"fusible-sequence", "kernel-jitter"} <= set(whole) and "pattern-unknown" not in whole
    found = advice_from(rows, without=[column])
    silent, unknown = rules_of.get(column, (set(), set()))
    assert not silent & set(found)
    named = {name for advice in found.get("pattern-unknown", []) for name in advice.figures["patterns"]}
    assert named == unknown
    if column == "HF32 Eligible":
        assert found["precision-mode"][0].role == "unknown"


def test_nothing_to_say() -> None:
    assert list(advice_of_patterns(Profile("p"), None, Criteria())) == []  # type: ignore[arg-type]
    assert advice_from([{"us": "N/A"}]) == {}
    assert advice_from([{"type": "hcom_allReduce_", "core": "HCCL", "us": 5}]) == {}


def test_equals_stand_in_the_order_of_time() -> None:
    """Not in that of the file, which decides nothing."""
    rows = [{"type": kind, "at": 20 * i, "us": 2} for i, kind in enumerate(("Pad", "Exp", "Sub", "Abs"))]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        (advice,) = advice_from([rows[i] for i in order])["tiny"]
        assert [one.subject for one in advice.related] == ["Pad", "Exp", "Sub", "Abs"]


@pytest.mark.parametrize("start", [9_223_372_036_854_775_000, 9_223_372_036_854_775_807, 0])
def test_starts_at_the_end_of_64_bits(start: int) -> None:
    base = table_of([{"type": "Index", "core": "AI_CPU", "us": 50}, *({"us": 2} for _ in range(20))])
    arrays = {**base.arrays, "start_ns": np.full(base.n_rows, start, np.int64)}
    table = replace(base, arrays=arrays)
    for advice in advice_of_patterns(profile_of(table), usable(table), Criteria()):
        assert advice.cost_ns >= 0


def test_hostile_texts() -> None:
    rows: list[Row] = [
        {
            "type": "\x1b[2J" + "x" * 5000,
            "name": "\u202eevil\x07",
            "core": "AI_CPU",
            "us": 50,
            "dtypes": "\x1b]0;",
        },
        {"type": "Cast", "shapes": ",".join(["9" * 30] * 50), "dtypes": ";" * 900, "us": 50},
        {"type": "GatherV2", "shapes": ";".join(["1"] * 2000), "out": "9" * 300, "us": 50},
    ]
    for advice in all_of(advice_from(rows)):
        for text in (*advice.message, *advice.told, advice.subject, *(one.subject for one in advice.related)):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)
            assert len(text) < 3000


def test_texts_have_the_same_fields_in_both_languages_and_rules_are_whole() -> None:
    for key, pair in TEXTS.items():
        fields = [
            {
                (name or "").removesuffix("_zh")
                for _, name, _, _ in string.Formatter().parse(text)
                if name is not None
            }
            for text in pair
        ]
        assert fields[0] == fields[1], key
        assert (
            re.search("[\u4e00-\u9fff]", pair[1])
            or pair[0] == pair[1]
            or key.endswith("-next")
            or len(pair[1]) < 30
        )
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        for pair in (rule.title, rule.meaning, rule.threshold, rule.silence):
            assert pair[0] and pair[1], rule.id


def test_parts() -> None:
    assert [without_variant(name) for name in ("CastAiCore", "MatMulCommon", "AiCore", "Add")] == [
        "Cast", "MatMul", "AiCore", "Add",
    ]  # fmt: skip
    group, first = groups_of(np.array([5, -1, 5, -1, 5]), np.array([0, 0, 1, 0, 0]))
    assert (group.tolist(), first.tolist()) == ([0, 1, 2, 1, 0], [0, 1, 2])


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=60)
)
def test_groups_are_those_of_a_dictionary(keys: list[tuple[int, int, int]]) -> None:
    places: dict[tuple[int, int, int], int] = {}
    wanted = [places.setdefault(key, len(places)) for key in keys]
    group, first = groups_of(*np.array(keys, np.int64).T)
    assert group.tolist() == wanted
    assert [keys[i] for i in first.tolist()] == list(places)


@pytest.mark.budget
def test_a_million_rows() -> None:
    """A decoder of 19 kernels a layer, with everything planted in it. The goal is a second."""
    layer = (
        "RmsNorm MatMulV2 Slice Slice Mul Slice Neg Slice ConcatD Mul Add Cast TransData GatherV2 "
        "BatchMatMul SoftmaxV2 BatchMatMul Cast Add"
    ).split()
    base = table_of(
        [{"type": kind, "name": f"k{i}", "us": 12, "gap": 20} for i, kind in enumerate(layer * 20)]
    )
    n, n_base = 1_000_000, base.n_rows
    index = np.arange(n) % n_base
    rng = np.random.default_rng(1)
    arrays = {name: values[index] for name, values in base.arrays.items()}
    arrays["duration_ns"] = rng.integers(1_000, 60_000, n)
    arrays["start_ns"] = base.arrays["start_ns"][0] + np.arange(n) * 70_000
    arrays["stream"] = np.where(np.arange(n) % 1000 < 500, 2, 3)
    table = replace(base, arrays=arrays, file=np.zeros(n, np.int32), line=np.arange(n) + 2)
    used = usable(table)
    start = time.process_time()
    found = list(advice_of_patterns(profile_of(table), used, Criteria()))
    assert time.process_time() - start < 2
    assert len(found) > 4


def test_a_large_table_tells_its_parts_and_can_be_stopped_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = profile_of(table_of([{"type": kind, "us": 10} for kind in ("MatMulV2", "Cast", "MatMulV2")]))
    told: list[Progress] = []
    analysed(profile, Settings(), progress=told.append)
    assert told == []  # of a small one nobody could read it
    monkeypatch.setattr(analyse, "_LARGE_ROWS", 3)
    analysed(profile, Settings(), progress=told.append)
    assert [one.done for one in told] == list(range(told[0].total or 0))
    n_asked = 0

    def is_cancelled() -> bool:
        nonlocal n_asked
        n_asked += 1
        return n_asked == 5

    with pytest.raises(Cancelled):
        analysed(profile, Settings(), is_cancelled=is_cancelled)
    assert n_asked == 5
