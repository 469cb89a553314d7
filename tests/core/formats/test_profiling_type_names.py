"""The operator type in a name: against plain regular expressions, and in linear time whatever the name."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.profiling.type_names import (
    collective_type,
    stem_of,
    type_in,
    without_numbers,
    without_variant,
)


@given(st.text(st.sampled_from("ax_019"), max_size=12))
def test_numbers_behind_a_name(name: str) -> None:
    assert without_numbers(name) == re.sub(r"(?:_[0-9]+)+\Z", "", name)


@given(st.text(max_size=40) | st.text(st.sampled_from("aclnhom_09@f"), max_size=60))
def test_a_name_is_never_lost(name: str) -> None:
    for told in (stem_of(name), type_in(name), collective_type(name), without_variant(name)):
        assert bool(told) == bool(name)


def test_hostile_names_take_no_time() -> None:
    names = [
        "a" + "1" * 4000 + "x",
        "_1" * 2000 + "x",
        "hcom_" + "_1" * 5000,
        "aclnn" + "_" * 4000,
        "_" + "a" * 4000,
    ]
    began = time.perf_counter()
    for name in names:
        assert all(told(name) for told in (stem_of, type_in, collective_type, without_numbers))
    assert time.perf_counter() - began < 1
