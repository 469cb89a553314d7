"""The two grammars of steps, against a reading of them that is written down here once more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.steps import (
    StepFault,
    Steps,
    as_acl,
    as_msprobe,
    n_steps,
    parse_acl,
    parse_any,
    parse_msprobe,
    union,
)

_RANGES = st.tuples(st.integers(0, 900), st.integers(0, 90)).map(lambda pair: (pair[0], pair[0] + pair[1]))
_STEPS = st.lists(_RANGES, max_size=100).map(tuple)


def numbers(steps: Steps) -> set[int]:
    return {n for first, last in steps for n in range(first, last + 1)}


@given(steps=_STEPS)
def test_what_is_written_is_read_again(steps: Steps) -> None:
    assert parse_acl(as_acl(steps)) == steps
    assert parse_msprobe(as_msprobe(steps)) == steps
    assert parse_any(as_acl(steps)) == steps
    assert parse_any(as_acl(steps).replace("|", ",")) == steps
    assert parse_any(as_msprobe(steps)) == steps


@given(steps=_STEPS)
def test_a_union_has_the_same_numbers_in_fewer_ranges(steps: Steps) -> None:
    joined = union(steps)
    assert numbers(joined) == numbers(steps)
    assert n_steps(steps) == (len(numbers(steps)) or None)
    assert all(a[1] + 1 < b[0] for a, b in zip(joined, joined[1:], strict=False))


@pytest.mark.parametrize(
    ("text", "steps"),
    [("", ()), ("0", ((0, 0),)), ("0|5-10|20", ((0, 0), (5, 10), (20, 20))), ("7-7", ((7, 7),))],
)
def test_acl(text: str, steps: Steps) -> None:
    assert parse_acl(text) == steps


@pytest.mark.parametrize(
    ("text", "key", "part", "at"),
    [
        ("10-5", "step-reversed", "10-5", 1),
        ("0|5-10|9-8", "step-reversed", "9-8", 8),
        ("0|a", "step-part", "a", 3),
        ("0,5", "step-part", "0,5", 1),
        ("1||2", "step-empty", "", 3),
        ("|", "step-empty", "", 1),
        ("-3", "step-part", "-3", 1),
        ("1-2-3", "step-part", "1-2-3", 1),
        (" 1", "step-part", " 1", 1),
        ("\uff11", "step-part", "\uff11", 1),
        ("4294967296", "step-large", "4294967296", 1),
        ("0-" + "9" * 5000, "step-large", "0-" + "9" * 5000, 1),
        ("|".join(map(str, range(101))), "step-parts", "101", 291),
    ],
)
def test_acl_faults_have_their_place(text: str, key: str, part: str, at: int) -> None:
    assert parse_acl(text) == StepFault(key, part, at)


def test_a_hundred_parts_and_32_bits_are_taken() -> None:
    assert parse_acl("|".join(["1"] * 100)) == ((1, 1),) * 100
    assert parse_acl("4294967295") == ((4294967295, 4294967295),)
    assert parse_acl("0" * 50 + "7") == ((7, 7),)


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ([0, "5-3"], StepFault("step-reversed", "5-3", 1)),
        (["x"], StepFault("step-part", "x", 0)),
        ([True], StepFault("step-item", "True", 0)),
        ([0.5], StepFault("step-item", "0.5", 0)),
        ([None], StepFault("step-item", "None", 0)),
        ([-1], StepFault("step-part", "-1", 0)),
        ([1_000_001], StepFault("step-large", "1000001", 0)),
        (["0-1000001"], StepFault("step-large", "0-1000001", 0)),
        (["0|5"], StepFault("step-part", "0|5", 0)),
    ],
)
def test_msprobe_faults(items: list[object], fault: StepFault) -> None:
    assert parse_msprobe(items) == fault


def test_msprobe() -> None:
    assert parse_msprobe([]) == ()
    assert parse_msprobe([0, "3", "5-10", 1_000_000]) == ((0, 0), (3, 3), (5, 10), (1_000_000, 1_000_000))
    assert parse_msprobe([" 4 - 6 "]) == ((4, 6),)  # int() takes blanks, and so does msprobe


def test_what_a_person_types() -> None:
    for written in ("0|5-10", "0,5-10", "0, 5-10", '[0,"5-10"]', "[0, '5-10']", [0, "5-10"]):
        assert parse_any(written) == ((0, 0), (5, 10))
    assert parse_any(3) == ((3, 3),)
    assert parse_any("") == parse_any([]) == parse_any("[]") == ()
    assert isinstance(parse_any("0;5"), StepFault)
    assert isinstance(parse_any(True), StepFault)


@given(text=st.text(alphabet="0123456789-| x\n", max_size=30) | st.text(max_size=20))
def test_acl_takes_exactly_its_grammar(text: str) -> None:
    ok = re.fullmatch(r"(\d+(-\d+)?(\|\d+(-\d+)?)*)?", text, re.ASCII) is not None
    pairs = [[int(n) for n in part.split("-")] for part in text.split("|")] if ok and text else []
    ok = ok and all(pair[0] <= pair[-1] < 2**32 for pair in pairs)
    found = parse_acl(text)
    assert isinstance(found, StepFault) != ok
    if ok:
        assert found == tuple((pair[0], pair[-1]) for pair in pairs)
    elif isinstance(found, StepFault) and found.key != "step-parts":
        assert text[found.at - 1 :].startswith(found.part)
