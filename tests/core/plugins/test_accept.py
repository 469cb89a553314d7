"""What plug-ins declare and answer is taken over only where it fits; nothing that they say can raise here."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.findings import Finding
from npulse.core.plugins.accept import MAX_FINDINGS, MAX_TEXT, figure_of, findings_of, items_of, rows_of

GOOD: dict[str, Any] = {
    "kind": "reader",
    "class": "Acme",
    "line": 3,
    "kind_id": "acme.trace",
    "title": "Acme",
    "area": "memory",
    "patterns": ["*.acme"],
    "magic": "4143",
    "signature": "",
}
METRIC: dict[str, Any] = {"kind": "metric", "class": "M", "name": "gap", "unit": "ratio", "better": "lower"}


def complaints(**changed: Any) -> list[str]:
    items, told = items_of([{**GOOD, **changed}], "acme")
    assert bool(items) != bool(told)
    return [one.message for one in told]


def test_a_good_declaration_is_taken_as_it_stands() -> None:
    (reader, metric), told = items_of([GOOD, METRIC], "acme")
    assert told == []
    assert (reader.name, reader.area, reader.magic, reader.title) == (
        "acme.trace",
        "memory",
        b"AC",
        ("Acme", "Acme"),
    )
    assert (metric.name, metric.unit, metric.is_higher_better, metric.index) == ("gap", "ratio", False, 1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind_id": "acme"}, "with a dot"),
        ({"kind_id": None}, "with a dot"),
        ({"area": "plugin"}, "area has to be one of"),
        ({"patterns": "*.acme"}, "patterns has to be a list"),
        ({"patterns": []}, "patterns has to be a list"),
        ({"patterns": ["a/b"]}, "patterns has to be a list"),
        ({"patterns": ["*"] * 21}, "patterns has to be a list"),
        ({"patterns": ["*?"], "magic": ""}, "every name fits"),
        ({"magic": None}, "magic has to be bytes"),
        ({"magic": "00" * 65}, "magic has to be bytes"),
        ({"title": 3}, "title has to be"),
        ({"title": ["a"]}, "title has to be"),
        ({"signature": "missing a required argument: 'x'"}, "called as read(path): missing"),
    ],
)
def test_each_wrong_declaration_is_named(changed: dict[str, Any], said: str) -> None:
    (told,) = complaints(**changed)
    assert told.startswith("Acme: ") and said in told


def test_a_module_without_any_is_no_plugin() -> None:
    items, (told,) = items_of([], "acme")
    assert items == [] and "no plug-in" in told.message


def test_a_finding_is_ours_whatever_it_claims() -> None:
    raw = {
        "area": "device",
        "message": "bad\x1b[31m\nline",
        "subject": "s\u202e",
        "figures": {"x_us": math.nan, "names": ["a\x07"]},
        "location": {"artifact": "a.json", "line": 3},
        "related": [{"role": "suspect", "subject": "up"}],
        "rule": "one",
        "severity": "error",
    }
    (found,), wrong = findings_of([raw], "acme", "memory")
    assert wrong == []
    assert (found.area, found.rule, found.severity, found.role) == (
        "memory",
        "plugin.acme.one",
        "error",
        "unknown",
    )
    assert "\x1b" not in found.message and "\n" not in found.message and "\u202e" not in found.subject
    assert math.isnan(found.figures["x_us"]) and found.figures["names"] == ["a\N{REPLACEMENT CHARACTER}"]
    assert found.location.line == 3 and found.related[0].role == "suspect"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("text", "has to be a dict"),
        ({}, "message"),
        ({"message": " "}, "message is missing"),
        ({"message": "m", "severity": "fatal"}, "severity"),
        ({"message": "m", "role": "king"}, "role"),
        ({"message": "m", "rule": "a.b"}, "rule"),
        ({"message": "m", "figures": [1]}, "figures"),
        ({"message": "m", "figures": {"a": {"b": 1}}}, "figures"),
        ({"message": "m", "figures": {"a": 1 << 64}}, "64 bits"),
        ({"message": "m", "location": {"line": "3"}}, "line of location"),
        ({"message": "m", "location": {"row": True}}, "row of location"),
        ({"message": "m", "location": {"byte": -1}}, "byte of location"),
        ({"message": "m", "related": [{"role": "x"}]}, "related"),
    ],
)
def test_a_finding_that_does_not_fit_is_left_out_and_told(raw: Any, why: str) -> None:
    found, (told,) = findings_of([raw, {"message": "fine"}], "acme", "plugin")
    assert [f.message for f in found] == ["fine"]
    assert told.startswith("1 of its findings left out") and why in told


def test_too_many_findings_are_cut_and_told() -> None:
    found, (told,) = findings_of([{"message": "x" * 9999}] * (MAX_FINDINGS + 1), "acme", "plugin")
    assert len(found) == MAX_FINDINGS and "more than 1,000 findings" in told
    assert len(found[0].message) <= MAX_TEXT


def test_rows_hold_plain_values_alone() -> None:
    answer = {
        "rows": [{"a": 1}, {"a": {"b": 1}}, 3],
        "problems": ["p", {"message": "q", "line": 4}],
        "is_cut": True,
    }
    rows, problems = rows_of(answer, "x.acme")
    assert rows == [{"a": 1}]
    assert [(p.kind, p.line) for p in problems] == [
        ("bad-record", None),
        ("limit", None),
        ("bad-record", None),
        ("bad-record", 4),
    ]


@pytest.mark.parametrize("value", ["1", None, True, [1.0], {}])
def test_a_figure_is_a_number(value: Any) -> None:
    with pytest.raises(ValueError, match="has to return a number"):
        figure_of(value)


def test_a_number_too_large_is_infinite_and_nan_is_nan() -> None:
    assert figure_of(10**400) == math.inf and figure_of(-(10**400)) == -math.inf
    assert math.isnan(figure_of(math.nan)) and figure_of(3) == 3.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*GOOD, "name", "unit", "better", "method_line"])
FINDING_KEYS = st.sampled_from(
    ["severity", "role", "rule", "message", "subject", "next", "figures", "location", "related"]
)


@given(st.lists(st.dictionaries(KEYS, JSON), max_size=3))
def test_no_declaration_can_raise(told: list[dict[str, Any]]) -> None:
    items, wrong = items_of(told, "acme")
    assert len(items) <= len(told) and (items or wrong)


@given(JSON | st.lists(st.dictionaries(FINDING_KEYS, JSON), max_size=3))
def test_no_answer_can_raise_and_what_is_taken_is_json(answer: Any) -> None:
    found, _ = findings_of(answer, "acme", "plugin")
    assert all(isinstance(one, Finding) for one in found)
    for one in found:
        json.dumps(one.figures)
        assert one.message.isprintable() or "\N{REPLACEMENT CHARACTER}" in one.message or one.message
    rows_of({"rows": answer, "problems": answer, "is_cut": answer}, "x")
