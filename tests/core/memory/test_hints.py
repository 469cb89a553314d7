"""Arithmetic on figures of faults, against sets of bytes, fractions and searches that know nothing of it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.memory.faults import Access, Block, Frame
from npulse.core.memory.hints import (
    CAPACITIES,
    BufferNeed,
    alignment,
    alignments,
    buffer_need,
    function_of,
    lifetime,
    on_chip,
    reach,
)

KIB = 1024

# ---- alignment ----


def test_four_bytes_behind_a_boundary() -> None:
    found = alignment(Access(size_bytes=32, space="UB", address=0x404))
    assert found is not None
    assert (found.behind_bytes, found.ahead_bytes, found.size_over_bytes) == (4, 28, 0)
    assert not found.is_aligned


@given(st.integers(0, 1 << 48), st.none() | st.integers(1, 5000), st.sampled_from([32, 512]))
def test_alignment_finds_the_boundaries_around(address: int, size: int | None, boundary: int) -> None:
    found = alignment(Access(size_bytes=size, address=address), boundary)
    below = next(n for n in range(address, address - boundary, -1) if n % boundary == 0)
    above = next(n for n in range(address, address + boundary) if n % boundary == 0)
    is_whole = size is None or size in range(0, 5001, boundary)
    if address == below and is_whole:
        assert found is None
        return
    assert found is not None
    assert (found.behind_bytes, found.ahead_bytes) == (address - below, above - address)
    assert found.is_aligned == (address == below)
    assert (found.size_over_bytes == 0) == (is_whole and size is not None)


def test_alignment_is_told_only_where_figures_show_it() -> None:
    assert alignment(Access(size_bytes=21)) is None
    assert alignments(Access(size_bytes=4, space="GM", address=0x1004)) == ()  # one number, on its own size
    assert [a.boundary_bytes for a in alignments(Access(size_bytes=4, space="UB", address=0x1001))] == [32]
    assert alignments(Access(size_bytes=1024, space="GM", address=0x1000)) == ()
    wide = alignments(Access(size_bytes=1024, space="GM", address=0x1020))
    assert [(a.boundary_bytes, a.behind_bytes) for a in wide] == [(512, 32)]
    both = alignments(Access(size_bytes=1000, space="GM", address=0x1004))
    assert [a.boundary_bytes for a in both] == [32, 512]
    assert alignments(Access(size_bytes=1024, space="UB", address=0x1020)) == ()


# ---- on-chip buffers ----


def test_beyond_the_buffer_of_some_chips_only() -> None:
    found = on_chip(Access(size_bytes=256, space="UB", address=192 * KIB - 64))
    assert [(f.capacity_bytes, f.past_bytes, f.gap_bytes, f.is_beyond) for f in found] == [
        (196608, 192, None, True),
        (262144, 0, None, False),
    ]
    assert "910B" in found[0].chips and "310P" in found[1].chips


def test_beyond_the_buffer_of_every_chip() -> None:
    (only,) = on_chip(Access(size_bytes=32, space="L0A", address=65536 + 128))
    assert (only.gap_bytes, only.past_bytes, only.is_beyond) == (128, 160, True)
    assert [f.is_beyond for f in on_chip(Access(size_bytes=32, space="L1", address=1 << 20))] == [True, True]


def test_no_size_is_not_a_fit_and_gm_has_no_capacity() -> None:
    first, second = on_chip(Access(space="UB", address=200 * KIB))
    assert (first.gap_bytes, first.is_beyond) == (8 * KIB, True)
    assert (second.past_bytes, second.is_beyond) == (None, False)
    assert on_chip(Access(space="GM", address=1)) == () == on_chip(Access(space="UB"))


def test_each_chip_has_one_size_of_each_buffer() -> None:
    for sizes in CAPACITIES.values():
        chips = [chip for _, names in sizes for chip in names]
        assert sorted(chips) == sorted({"910A", "910B", "A3", "310P", "950"})
        assert [size for size, _ in sizes] == sorted(size for size, _ in sizes)


# ---- a buffer at compile time ----


def test_a_block_of_38400_that_needs_half_as_much_again() -> None:
    need = buffer_need(2457600, 1572864, 38400)
    assert need is not None
    assert (need.required_bytes, need.available_bytes, need.ratio) == (307_200, 196_608, 1.5625)
    assert (need.fitting, need.fitting_multiple, need.fitting_power) == (24_576, 24_576, 16_384)
    assert need.excess_bytes == 110_592


@given(st.integers(1, 1 << 40), st.integers(1, 1 << 40), st.integers(1, 1 << 20))
def test_the_largest_block_that_fits(required: int, available: int, block: int) -> None:
    need = buffer_need(required, available, block)
    assert need is not None
    if required <= available:
        assert need.fitting is None  # nothing is too large: the message tells of no excess
        return
    a_unit = Fraction(required, block)
    fitting = need.fitting or 0
    assert fitting * a_unit <= available < (fitting + 1) * a_unit
    powers = [1 << n for n in range(21) if 1 << n <= fitting]
    assert need.fitting_power == (powers[-1] if powers else None)
    multiple = need.fitting_multiple
    assert multiple is None if fitting < 32 else multiple is not None and fitting - 32 < multiple <= fitting
    assert multiple is None or multiple in range(32, 1 << 20, 32)


def test_bits_that_are_no_whole_bytes_and_figures_that_are_missing() -> None:
    need = buffer_need(8001, 7999)
    assert need == BufferNeed(8001, 7999)
    assert (need.required_bytes, need.available_bytes, need.fitting) == (1001, 999, None)
    assert buffer_need(None, 100) is None
    alone = buffer_need(3000, None, 64)
    assert alone is not None and (alone.ratio, alone.available_bytes, alone.fitting) == (None, None, None)
    zero = buffer_need(3000, 0, 64)
    assert zero is not None and (zero.ratio, zero.fitting, zero.fitting_power) == (None, None, None)


# ---- an access against its block ----


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 300))
def test_reach_counts_bytes_as_sets_do(n: int, address: int, size: int) -> None:
    start = 100
    block, touched = set(range(start, start + n)), set(range(address, address + size))
    found = reach(Block(size_bytes=n, start=start), Access(address=address, size_bytes=size))
    assert found is not None
    assert found.inside_bytes == len(block & touched)
    assert found.before_bytes == len([b for b in touched if b < start])
    assert found.past_bytes == len([b for b in touched if b >= start + n])
    side = "before" if address < start else "inside" if address in block else "after"
    assert found.side == side
    last = max(touched) + 1
    assert found.end_bytes == (last - (start + n) if last > start + n else None)
    assert found.is_straddling == (bool(block & touched) and not touched <= block)
    between = [b for b in range(min(touched), start)] if last <= start else list(range(start + n, address))
    assert found.gap_bytes == len(set(between) - touched)


@pytest.mark.parametrize(
    ("side", "distance", "address"),
    [("before", 16, 84), ("inside", 16, 116), ("after", 16, 156), ("after", 0, 140)],
)
def test_a_told_distance_says_the_same_as_addresses(side: str, distance: int, address: int) -> None:
    told = reach(Block(40, side=side, distance_bytes=distance), Access(size_bytes=8))  # type: ignore[arg-type]
    counted = reach(Block(40, start=100), Access(size_bytes=8, address=address))
    assert told == counted is not None


def test_elements_where_the_size_suggests_them() -> None:
    found = reach(Block(40, start=100), Access(size_bytes=4, address=140))
    assert found is not None and (found.element, found.n_elements) == (10, 10)
    odd = reach(Block(40, start=100), Access(size_bytes=4, address=142))
    assert odd is not None and odd.element is None
    before = reach(Block(40, start=100), Access(size_bytes=4, address=96))
    assert before is not None and before.element == -1


def test_where_nothing_is_told_nothing_is_reckoned() -> None:
    assert reach(None, Access(address=1, size_bytes=4)) is None
    assert reach(Block(40), Access(address=1, size_bytes=4)) is None
    assert reach(Block(start=100), Access(address=1, size_bytes=4)) is None
    sizeless = reach(Block(40, start=100), Access(address=200))
    assert sizeless is not None
    assert (sizeless.side, sizeless.gap_bytes, sizeless.past_bytes) == ("after", 60, None)


# ---- lifetimes ----


def test_who_made_and_who_freed_a_block() -> None:
    new = Frame(function="operator new[](unsigned long)")
    free = Frame("../sysdeps/x.c", 1, function="__interceptor_free.part.0")
    runtime = Frame("/src/libsanitizer/asan/a.cpp", 1, function="Helper")
    mine = Frame("a.cpp", 3, function="Row::Make(int)")
    block = Block(
        8, allocated=(new, mine), freed=(free, runtime, mine), allocating_thread="T0", freeing_thread="T1"
    )
    found = lifetime(block)
    assert found is not None
    assert (found.allocated_in, found.freed_in) == ("Row::Make(int)", "Row::Make(int)")
    assert (found.is_same_function, found.is_other_thread) == (True, True)
    assert lifetime(Block(8, allocated=(new, mine))) is None  # it was never freed
    assert lifetime(Block(8, allocated=(new,), freed=(free,))) is None
    assert function_of([new, free]) == ""
    freely = Frame("a.cpp", 1, function="free_all(int)")
    assert function_of([free, freely]) == "free_all(int)"
