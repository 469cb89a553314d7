"""Records as plain JSON and arrays, and back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.analysis import AreaReport
from npulse.core.findings import Finding, Location, Report
from npulse.core.formats.msprobe.columns import Texts
from npulse.core.kept_records import NotKept, from_plain, to_plain
from npulse.core.table import Table, text_column


def again(value: Any) -> Any:
    facts, arrays = to_plain(value)
    return from_plain(json.loads(json.dumps(facts)), arrays)


REPORT = Report(
    "overflow",
    "/runs/名",
    "fail",
    findings=(
        Finding("overflow", "error", "overflow.origin", "origin", "a\ud800", "m", location=Location("f", 3)),
    ),
    counts={"origin": 1},
    summary={"absmax": float("inf"), "ranks": [1, 2], "n": 2**70, "share": 0.1, "x": np.float32(1.5)},
    tables={"t": Table("t", (text_column("name", ["a", None, "b", "a"]),))},
)


def test_a_report_is_the_same_again() -> None:
    told = (
        AreaReport("round1", "a", REPORT, ("note",)),
        None,
        {"p": Path("/x"), 1: {2, 3}},
        frozenset({b"\x00"}),
    )
    found = again(told)
    table = found[0].report.tables["t"]
    assert [table.row(i) for i in range(4)] == [REPORT.tables["t"].row(i) for i in range(4)]
    assert found[0].report.findings == REPORT.findings
    assert repr(found[0].report.summary) == repr(REPORT.summary)
    assert found[1:] == told[1:] and list(found[2]) == ["p", 1]


def test_what_is_one_object_stays_one() -> None:
    shared, numbers = [1], np.arange(6).reshape(2, 3).T
    found = again({"a": shared, "b": (shared, numbers), "c": numbers})
    assert found["a"] is found["b"][0] and found["c"] is found["b"][1]
    np.testing.assert_array_equal(found["c"], numbers)


def test_a_class_that_says_how_it_is_kept() -> None:
    found = again(Texts(bytearray("abc名".encode()), np.array([0, 1, 3, 6])))
    assert list(found) == ["a", "bc", "名"]


def _holds_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


NO_RECORDS: tuple[Any, ...] = (
    *(len, lambda: 1, object(), np.array([{}]), open, Any, 1j, _holds_itself(), json.JSONDecoder()),
)


@pytest.mark.parametrize("value", NO_RECORDS, ids=range(len(NO_RECORDS)))
def test_what_is_no_record_is_refused(value: Any) -> None:
    with pytest.raises(NotKept):
        to_plain({"deep": [value]})


def _changed(facts: Any, change: Callable[[Any], Any]) -> Any:
    copy = json.loads(json.dumps(facts))
    return change(copy) or copy


def test_hostile_records_are_refused() -> None:
    facts, arrays = to_plain(REPORT)
    deep: Any = []
    for _ in range(100_000):
        deep = ["l", deep]
    hostile: list[tuple[Any, Any]] = [
        (None, arrays),
        ({}, arrays),
        (_changed(facts, lambda f: f.update(tree=deep)), arrays),
        (_changed(facts, lambda f: f.update(tree=["?"])), arrays),
        (_changed(facts, lambda f: f.update(tree=["r", 10**9])), arrays),
        (_changed(facts, lambda f: f.update(tree={"o": 0})), arrays),
        (_changed(facts, lambda f: f["tree"].pop()), arrays),
        (_changed(facts, lambda f: f["classes"].__setitem__(0, ["os", "system", []])), arrays),
        (
            _changed(facts, lambda f: f["classes"].__setitem__(0, ["npulse.core.cache", "os.system", []])),
            arrays,
        ),
        (
            _changed(facts, lambda f: f["classes"].__setitem__(0, ["npulse.core.scale", "WorkerDied", []])),
            arrays,
        ),
        (_changed(facts, lambda f: f["classes"][0][2].append("more")), arrays),
        (_changed(facts, lambda f: f["arrays"].__setitem__(0, ["<f8", [1 << 40], 0])), arrays),
        (_changed(facts, lambda f: f["arrays"].__setitem__(0, ["|O", [1], 0])), arrays),
        (_changed(facts, lambda f: f["arrays"].__setitem__(0, ["<f8", [-1], 0])), arrays),
        (_changed(facts, lambda f: f["arrays"].__setitem__(0, ["<f8", [0, 10**30], 0])), arrays),
        (facts, {"block": np.zeros(3)}),
    ]
    for plain, parts in hostile:
        with pytest.raises(NotKept):
            from_plain(plain, parts)


def test_fuzzed_records_are_refused_or_records() -> None:
    facts, arrays = to_plain(REPORT)
    text, chance = json.dumps(facts), random.Random(5)
    n_refused = 0
    for _ in range(300):
        i = chance.randrange(len(text))
        try:
            plain = json.loads(text[:i] + chance.choice('0129[]{}",rtlodsfanpby') + text[i + 1 :])
        except ValueError:
            continue
        try:
            from_plain(plain, arrays)
        except NotKept:
            n_refused += 1
    assert n_refused > 20
