"""The picture of a block and an access: never too wide, the mark on its side, labels that are right."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.memory.drawing import MIN_WIDTH, draw
from npulse.core.memory.faults import Access, Block
from npulse.core.memory.hints import reach

HUGE = 1 << 64


def test_behind_the_end() -> None:
    block = Block(4096, side="after", distance_bytes=1000)
    first, second = draw(block, Access("write", 200), 40, is_ascii=False)
    assert re.fullmatch(r"\|=+ 4096 B =+\|·+W+", first) and len(first) == 40
    assert second.strip() == "+1000 B"


@pytest.mark.parametrize("width", [20, 40, 100])
def test_it_is_drawn_to_scale(width: int) -> None:
    (bar, *_) = draw(Block(1000, start=0), Access("read", 500, address=250), width, is_ascii=True)
    inner = bar[1:-1]
    assert abs(inner.index("R") / len(inner) - 0.25) <= 1 / len(inner)
    assert abs(inner.count("R") / len(inner) - 0.5) <= 2 / len(inner)


def test_a_distance_that_is_long_breaks_the_scale() -> None:
    first, second = draw(Block(40, side="after", distance_bytes=5000), Access("write", 4), 40, is_ascii=True)
    assert first.endswith("|.~.W" + first[first.index("W") + 1 :]) and "W" in first
    assert second.strip() == "+5000 B"
    near = draw(Block(4096, side="after", distance_bytes=1), Access("write", 1), 40, is_ascii=True)[0]
    assert near.endswith("|.W")  # one byte between is seen, however small its share


def test_over_both_ends_and_in_front() -> None:
    over = draw(Block(8, start=100), Access("write", 16, address=104), 30, is_ascii=True)
    assert re.match(r"\|[= 8B]+W+\|(W+|W~W+)$", over[0]) and "4+12 B" in "".join(over)
    both = draw(Block(8, start=100), Access("write", 20, address=96), 30, is_ascii=True)
    assert re.match(r"W+\|W+\|W+$", both[0]) and "4+8+8 B" in "".join(both)
    front = draw(Block(40, side="before", distance_bytes=16), Access("read", 4), 30, is_ascii=True)
    assert re.match(r"R+\.+\|", front[0]) and front[1].strip() == "-16 B"


def test_buffers_on_the_chip_have_their_sizes() -> None:
    inside = draw(None, Access("write", 32, "UB", 0x404), 60, is_ascii=True)
    assert "UB 192 KiB" in inside[0] and "@1028 B" in "".join(inside)
    assert len([line for line in inside if "|" in line]) == 1
    beyond = draw(None, Access("write", 32, "UB", 256 * 1024), 60, is_ascii=True)
    bars = [line for line in beyond if "|" in line]
    assert ["192 KiB" in bars[0], "256 KiB" in bars[1]] == [True, True]
    some = draw(None, Access("write", 32, "UB", 200 * 1024), 60, is_ascii=True)
    assert len([line for line in some if "|" in line]) == 1 and "+8192 B" in "".join(some)


def test_nothing_to_draw() -> None:
    assert draw(None, Access("read", 4, "GM", 0x1000), 60, is_ascii=True) == ()
    assert draw(Block(40), Access("read", 4, "GM", 0x1000), 60, is_ascii=True) == ()
    assert draw(Block(40, side="after"), Access("read", 4), 60, is_ascii=True) == ()
    assert draw(None, Access("read", 4, "UB"), 60, is_ascii=True) == ()
    assert draw(Block(40, start=0), Access("read", 4, address=0), MIN_WIDTH - 1, is_ascii=True) == ()


def test_a_block_of_unknown_size_is_broken() -> None:
    (bar, *labels) = draw(Block(side="after", distance_bytes=10), Access("write", 4), 40, is_ascii=True)
    inner = bar.split("|")[1]
    assert "~" in inner and " ? B " in inner and "W" not in inner
    assert re.search(r"\|\.+W+$", bar) and "+10 B" in "".join(labels)


counts = st.none() | st.integers(-(1 << 65), HUGE) | st.integers(0, 5000)
blocks = st.none() | st.builds(
    Block,
    size_bytes=counts,
    start=counts,
    side=st.sampled_from([None, "before", "inside", "after"]),
    distance_bytes=counts,
)
accesses = st.builds(
    Access,
    word=st.sampled_from(["read", "write", ""]),
    size_bytes=counts,
    space=st.sampled_from(["GM", "UB", "L1", "L0A", "heap", "\x1b[2J"]),
    address=counts,
)


@given(blocks, accesses, st.integers(-3, 120), st.booleans())
def test_it_never_raises_and_is_never_too_wide(
    block: Block | None, access: Access, width: int, is_ascii: bool
) -> None:
    lines = draw(block, access, width, is_ascii=is_ascii)
    for line in lines:
        assert len(line) <= width and line.isprintable() and (line.isascii() or not is_ascii)
        assert set(line) <= set("|=~WRX.\N{MIDDLE DOT} 0123456789+-@?BUL0AC1KMGTPEi")
    bars = [line for line in lines if "|" in line]
    for bar in bars:
        assert bar.count("|") == 2 and len(bar) == width


@given(
    st.integers(1, 1 << 40),
    st.integers(-(1 << 40), 1 << 41) | st.integers(-100, 5000),
    st.integers(1, 1 << 41) | st.integers(1, 64),
    st.integers(MIN_WIDTH, 120),
    st.sampled_from(["read", "write"]),
)
def test_the_mark_stands_on_its_sides(
    n: int, offset: int, size: int, width: int, word: Literal["read", "write"]
) -> None:
    start = 1 << 50
    block, access = Block(n, start=start), Access(word, size, address=start + offset)
    found = reach(block, access)
    assert found is not None
    bar = draw(block, access, width, is_ascii=True)[0]
    front, inner, behind = bar.split("|")
    mark = "R" if word == "read" else "W"
    assert (mark in front) == bool(found.before_bytes)
    assert (mark in inner) == bool(found.inside_bytes)
    assert (mark in behind) == bool(found.past_bytes)
    assert len(inner) >= 1
    if found.gap_bytes:
        assert "." in front + behind or "~" in front + behind
