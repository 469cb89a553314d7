"""Cells as arrays: the digits by arrays say what the text says, and what is no value is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.cells import (
    NO_ID,
    NO_NS,
    NO_START,
    Bytes,
    Places,
    ids_of,
    ns_of,
    numbers_of,
    unquoted,
)


def placed(cells: Sequence[str]) -> tuple[Bytes, Places, Places]:
    """Cells behind one another, with a separator behind each."""
    raw = [cell.encode() for cell in cells]
    ends = np.cumsum([len(cell) + 1 for cell in raw]).astype(np.int64) - 1
    starts = ends - np.array([len(cell) for cell in raw], np.int64)
    return np.frombuffer(b"".join(cell + b"," for cell in raw), np.uint8), starts, ends


@pytest.mark.parametrize(
    ("cell", "ns"),
    [
        ("1774497535428633.256\t", 1774497535428633256),
        ("1774497535428633.256", 1774497535428633256),
        ('"1736413971558972.912\t"', 1736413971558972912),
        (" 1736413971558972.912 ", 1736413971558972912),
        ("1695115378713661", 1695115378713661000),
        ("1695115378715400.2", 1695115378715400200),
        ("496.8508", 496851),
        ("2.000000", 2000),
        ("0.0005", 1),
        ("0.00049", 0),
        ("1e3", 1_000_000),
        ("1.6951153787136e+15", 1695115378713600000),
        ("0", 0),
        ("9007199254740993.001", 9007199254740993001),
        ("9223372036854775.807", 2**63 - 1),
        ("1234567890.123456789", 1234567890123),
    ],
)
def test_times_are_exact(cell: str, ns: int) -> None:
    for none in (NO_START, NO_NS):
        values, bad = ns_of(*placed([cell]), none)
        assert (values.tolist(), bad.places) == ([ns], [])


@pytest.mark.parametrize(
    "cell", ["", "N/A", "n/a", "NA", "None", "-", "nan", "null", " ", "\t", '""', "N/A\t"]
)
def test_words_for_none(cell: str) -> None:
    assert ids_of(*placed([cell]))[0].tolist() == [NO_ID]
    assert ns_of(*placed([cell]), NO_NS)[0].tolist() == [NO_NS]
    assert math.isnan(numbers_of(*placed([cell]))[0][0])
    assert not any(
        read(*placed([cell]))[1].places for read in (ids_of, numbers_of, lambda *p: ns_of(*p, NO_NS))
    )


@pytest.mark.parametrize(
    "cell",
    ["abc", "1.2.3", "1_000", "0x49", "inf", "1e999", "--1", "１２", "1,5", "9" * 400, "N/B", "1 2", "+"],
)
def test_what_is_no_number(cell: str) -> None:
    for read, absent in ((ids_of, NO_ID), (lambda *p: ns_of(*p, NO_NS), NO_NS)):
        values, bad = read(*placed(["1", cell, "2"]))
        assert (bad.places, int(values[1])) == ([1], absent)
    values, bad = numbers_of(*placed(["1", cell, "2"]))
    assert (bad.places, math.isnan(values[1])) == ([1], True)


@pytest.mark.parametrize(
    ("cell", "value"),
    [("7", 7), ("7.0", 7), ("7.", 7), ("4294967295", NO_ID), ("9223372036854775807", 2**63 - 1)],
)
def test_ids(cell: str, value: int) -> None:
    values, bad = ids_of(*placed([cell]))
    assert (values.tolist(), bad.places) == ([value], [])


@pytest.mark.parametrize("cell", ["-1", "7.5", "9223372036854775808", "1e3"])
def test_what_is_no_id(cell: str) -> None:
    values, bad = ids_of(*placed([cell]))
    assert (values.tolist(), bad.places) == ([NO_ID], [0])


def test_a_start_before_1970_and_a_negative_duration() -> None:
    assert ns_of(*placed(["-0.001", "-5", "-1e1"]), NO_NS)[0].tolist() == [-1, -5000, -10000]
    values, bad = ns_of(*placed(["-0.001", "-5", "-1e1"]), NO_START)
    assert (values.tolist(), bad.places) == ([NO_START] * 3, [0, 1, 2])


DECIMALS = st.decimals(min_value=-(10**16), max_value=10**16, allow_nan=False, allow_infinity=False)
PLAIN = st.from_regex(r"-?[0-9]{1,16}(\.[0-9]{0,9})?\t?", fullmatch=True)
WRITTEN = st.one_of(
    PLAIN, DECIMALS.filter(lambda d: len(str(d)) <= 60).map(str), st.sampled_from(["N/A", "", "0.0"])
)


@given(st.lists(WRITTEN, min_size=1, max_size=40))
def test_the_digits_say_what_the_text_says(cells: list[str]) -> None:
    numbers, bad = numbers_of(*placed(cells))
    ns, _ = ns_of(*placed(cells), NO_NS)
    assert bad.places == []
    for cell, number, time in zip(cells, numbers.tolist(), ns.tolist(), strict=True):
        text = cell.strip()
        if text in ("N/A", ""):
            assert math.isnan(number) and time == NO_NS
            continue
        assert number == float(text)
        exact = (Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_UP)
        assert time == (int(exact) if abs(exact) < 2**63 else NO_NS)


@given(st.lists(st.text(max_size=12).filter(lambda text: "," not in text), min_size=1, max_size=20))
def test_any_text(cells: list[str]) -> None:
    """Cells beside it make no difference to one: alone it gives the same."""
    for read in (ids_of, numbers_of, lambda *p: ns_of(*p, NO_START)):
        together, bad = read(*placed(cells))
        alone = [read(*placed([cell])) for cell in cells]
        assert bad.places == [i for i, (_, one) in enumerate(alone) if one.places]
        assert np.array_equal(together, np.concatenate([values for values, _ in alone]), equal_nan=True)


@pytest.mark.parametrize(
    ("cell", "text"),
    [("a", "a"), (' a"b ', 'a"b'), ('"""1,2;3"""', '"1,2;3"'), ('"a ""b"""', 'a "b"'), ('""', ""), ('"', "")],
)
def test_quotes(cell: str, text: str) -> None:
    assert unquoted(cell) == text
