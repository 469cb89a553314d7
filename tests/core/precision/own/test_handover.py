"""Overwritten memory in one capture: a contiguous block of what was handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .dumps import Calls, checked, own, random, write

NORM, SPLIT, MUL = "Functional.layer_norm.3.forward", "Torch.split.1.forward", "Torch.mul.0.forward"


def seen(folder: Path, made: Any, read: Any, *between: tuple[str, list[Any], list[Any]]) -> Any:
    calls: Calls = {NORM: ([random(90)], [made])}
    calls |= {name: (given_, out) for name, given_, out in between}
    calls |= {SPLIT: ([read], [read[:2]])}
    write(folder / "step0" / "rank0", calls)
    return own(checked(folder))


@settings(max_examples=15)
@given(
    n=st.integers(64, 3000),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    dtype=st.sampled_from(("float32", "float16")),
)
def test_the_block_is_named_in_elements_and_bytes(
    tmp_path_factory: pytest.TempPathFactory, n: int, ends: tuple[float, float], dtype: str
) -> None:
    made = random(7, n, dtype=dtype)
    first, last = sorted(int(end * (n - 1)) for end in ends)
    read = made.copy()
    read[first : last + 1] = 100 + np.arange(last - first + 1) % 7
    (n_equal, head, tail) = (n - (last - first + 1), first, n - 1 - last)
    folder = tmp_path_factory.mktemp("h")
    found = seen(folder, made, read)
    if max(head, tail) < 17:  # what is left is too little to be more than chance (one of them may be 0)
        assert len(found) <= 1
        return
    (one,) = found
    assert (one.rule, one.severity, one.subject) == ("precision.overwritten", "error", SPLIT)
    assert one.related[0].subject == NORM
    assert (one.figures["first"], one.figures["last"]) == (first, last)
    assert one.figures["n_bytes"] == (last - first + 1) * made.itemsize
    assert (one.figures["equal_elements"], one.figures["equal_head"], one.figures["equal_tail"]) == (
        n_equal,
        head,
        tail,
    )


def test_what_was_handed_over_whole_or_has_nothing_to_do_with_it_is_nothing(tmp_path: Path) -> None:
    made = random(1, 4, 64)
    assert seen(tmp_path / "a", made, made) == []
    assert seen(tmp_path / "b", made, random(2, 4, 64)) == []
    masked = np.where(np.arange(256).reshape(4, 64) % 3 == 0, np.float32(0), made)
    assert seen(tmp_path / "c", made, masked) == []  # here and there: no stray write


def test_equal_elements_strewn_in_what_differs_are_no_block(tmp_path: Path) -> None:
    made = random(5, 400)
    read = made * 2
    read[::16] = made[::16]  # an activation that was not captured leaves some elements as they were
    assert seen(tmp_path, made, read) == []


def test_an_in_place_call_that_was_given_the_output_may_write_into_it(tmp_path: Path) -> None:
    made = random(1, 4, 64)
    read = made.copy()
    read[0] = 0
    assert seen(tmp_path / "a", made, read, ("Tensor.__setitem__.0.forward", [made, 0, 0.0], [])) == []
    part = made[0]
    (found,) = seen(tmp_path / "b", made, read, ("Tensor.zero_.0.forward", [part], [read[0]]))
    assert (found.severity, found.role) == ("warning", "suspect")
    assert "Tensor.zero_.0.forward" in found.message
    (other,) = seen(tmp_path / "c", made, read, (MUL, [part], [part * 2]))
    assert other.severity == "error"


def test_zeros_that_are_equal_prove_nothing(tmp_path: Path) -> None:
    made, read = np.zeros((2, 256), np.float32), np.zeros((2, 256), np.float32)
    made[0, :9], read[1] = random(1, 9), random(2, 256)
    assert seen(tmp_path, made, read) == []


def test_a_file_that_is_cut_is_a_problem_and_nothing_else(tmp_path: Path) -> None:
    made = random(1, 4, 64)
    read = made.copy()
    read[3] = 0
    seen(tmp_path, made, read)
    (place,) = (tmp_path / "step0" / "rank0" / "dump_tensor_data").glob("*split*input*")
    place.write_bytes(place.read_bytes()[:500])
    report = checked(tmp_path)
    assert own(report) == [] and report.verdict != "pass"
