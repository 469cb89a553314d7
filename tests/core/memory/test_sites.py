"""Grouping of faults: what is one site, what is counted, what is never lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.memory import sites as sites_module
from npulse.core.memory.faults import Access, Block, Cores, Fault, Frame
from npulse.core.memory.sites import Site, Sites, Span, merge_ranges, site_key


def first_with_file(frames: tuple[Frame, ...]) -> Frame | None:
    return next((frame for frame in frames if frame.has_file), None)


def fault(
    line: int = 1,
    *,
    kind: str = "illegal write",
    frames: tuple[Frame, ...] = (Frame("a.cpp", 7),),
    **of_access: object,
) -> Fault:
    access = Access(word="write", space="GM", kernel="k", frames=frames)
    access = replace(access, **of_access)  # type: ignore[arg-type]
    return Fault("msSanitizer", kind, "error", f"head {line}", "a.log", line, line * 10, (access,))


def group(*faults: Fault) -> tuple[Site, ...]:
    sites = Sites(first_with_file)
    for one in faults:
        sites.add(one)
    return sites.snapshot()


def test_one_line_of_code_is_one_site_with_all_that_its_faults_say() -> None:
    (site,) = group(
        fault(1, address=0x40, size_bytes=4, cores=(Cores("aiv", ((0, 0),)),), serial_number=9, device=0),
        fault(2, address=0x20, size_bytes=4, cores=(Cores("aiv", ((1, 3),)),), serial_number=4, device=1),
        fault(3, address=0x80, size_bytes=8, cores=(Cores("aic", ((5, 5),)),), serial_number=30),
    )
    assert (site.n, site.first.line, site.earliest.line) == (3, 1, 2)
    assert site.address == Span(0x20, 0x80) and site.serial == Span(4, 30)
    assert site.sizes == ((4, 2), (8, 1)) and site.size_bytes is None
    assert [str(cores) for cores in site.cores] == ["aiv(0-3)", "aic(5)"]
    assert site.devices == (0, 1) and site.lines == Span(1, 3)
    assert site.place == Frame("a.cpp", 7) and site.is_place_known


@pytest.mark.parametrize(
    "other",
    [
        fault(2, kind="illegal read"),
        fault(2, frames=(Frame("a.cpp", 8),)),
        fault(2, frames=(Frame("b.cpp", 7),)),
        fault(2, kernel="other"),
        fault(2, space="UB"),
        fault(2, word="read"),
    ],
)
def test_another_kind_place_kernel_or_memory_is_another_site(other: Fault) -> None:
    assert [site.n for site in group(fault(1), other, fault(3))] == [2, 1]


def test_the_way_to_the_line_does_not_matter() -> None:
    """The same line called from two places is one thing to mend."""
    inner = Frame("a.cpp", 7)
    assert len(group(fault(frames=(inner, Frame("b.cpp", 1))), fault(frames=(inner, Frame("b.cpp", 2))))) == 1


def test_without_a_line_the_program_counter_is_the_place() -> None:
    line_zero = (Frame("a.cpp", 0),)
    found = group(
        fault(1, frames=line_zero, pc=0x10),
        fault(2, frames=line_zero, pc=0x10),
        fault(3, frames=line_zero, pc=0x20),
    )
    assert [site.n for site in found] == [2, 1]
    assert not found[0].is_place_known


def test_unknown_places_are_one_only_if_all_else_is_the_same() -> None:
    unknown = (Frame("<unknown>"),)
    found = group(
        fault(1, frames=unknown, size_bytes=4),
        fault(2, frames=unknown, size_bytes=4),
        fault(3, frames=unknown, size_bytes=8),
        fault(4, frames=unknown, size_bytes=4, kernel="other"),
        fault(5, frames=(), size_bytes=4, kind="illegal read"),
    )
    assert [site.n for site in found] == [2, 1, 1, 1]


def test_faults_that_are_only_a_text_are_told_apart_by_it() -> None:
    a, b = (
        Fault("msSanitizer", "other", "warning", text, "a.log", n, n, (Access(),))
        for n, text in enumerate(("one", "two"))
    )
    assert len(group(a, b, a)) == 2


def test_both_sides_of_a_race_are_its_place() -> None:
    def race(first: int, second: int) -> Fault:
        sides = tuple(Access("write", None, "UB", frames=(Frame("a.cpp", n),)) for n in (first, second))
        return Fault("msSanitizer", "race", "error", "", "a.log", 1, 1, sides, hazard="WAW")

    assert [site.n for site in group(race(1, 2), race(1, 3), race(1, 2))] == [2, 1]


def test_a_group_word_keeps_apart_what_is_else_the_same() -> None:
    sites = Sites(first_with_file)
    sites.add(fault(1))
    sites.add(fault(2), "follows")
    assert [(site.n, site.group) for site in sites.snapshot()] == [(1, ""), (1, "follows")]


def test_distances_to_the_block() -> None:
    block = Block(64, side="after", distance_bytes=4)
    near, far = replace(fault(1), block=block), replace(fault(2), block=replace(block, distance_bytes=28))
    assert group(near, far)[0].distance == Span(4, 28)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=200))
def test_nothing_is_lost_and_the_rare_one_is_there(made: list[tuple[int, int, int]]) -> None:
    """Against a plain dict: every fault is in the site of its own line and kernel."""
    faults = [
        fault(n, frames=(Frame("a.cpp", line + 1),), kernel=f"k{kernel}", serial_number=serial)
        for n, (line, kernel, serial) in enumerate(made)
    ]
    want: dict[tuple[int, int], list[int]] = {}
    for line, kernel, serial in made:
        want.setdefault((line, kernel), []).append(serial)
    found = group(*faults)
    assert [site.n for site in found] == [len(serials) for serials in want.values()]
    assert [site.serial for site in found] == [Span(min(s), max(s)) for s in want.values()]
    assert sum(site.n for site in found) == len(faults)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=30))
def test_ranges_hold_the_same_numbers(pairs: list[tuple[int, int]]) -> None:
    ranges = [(first, first + length) for first, length in pairs]
    merged = merge_ranges(ranges)
    numbers = {n for first, last in ranges for n in range(first, last + 1)}
    assert {n for first, last in merged for n in range(first, last + 1)} == numbers
    assert all(a[1] + 1 < b[0] for a, b in zip(merged, merged[1:], strict=False))


def test_a_million_sites_are_counted_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites_module, "MAX_SITES", 3)
    sites = Sites(first_with_file)
    for n in range(10):
        sites.add(fault(n, frames=(Frame("a.cpp", n + 1),)))
    sites.add(fault(99, frames=(Frame("a.cpp", 1),)))
    assert len(sites.snapshot()) == 3 and sites.n_left_out == 7 and sites.n_faults == 11
    assert sites.snapshot()[0].n == 2


def test_members_are_bounded() -> None:
    many = sites_module.MAX_MEMBERS + 5
    (site,) = group(*(fault(n) for n in range(many)))
    assert site.n == many and len(site.members) == sites_module.MAX_MEMBERS


def test_a_lock_up_is_where_the_first_pipe_began_to_wait() -> None:
    pipes = tuple(Access(frames=(Frame("a.cpp", 10 + n),), serial_number=n) for n in (9, 7, 8))
    hang = Fault("msSanitizer", "lock-up", "error", "", "a.log", 1, 1, pipes)
    (site,) = group(hang)
    assert site.place == Frame("a.cpp", 17)


def test_leaks_of_one_place_are_summed_whatever_their_size() -> None:
    def leak(size: int, reach: str) -> Fault:
        access = Access(frames=(Frame("run.cpp", 15),))
        figures = {"reach": reach}
        return Fault(
            "LeakSanitizer", "leak", "error", "", "a.log", 1, 1, (access,), size_bytes=size, n_objects=2,
            figures=figures,
        )  # fmt: skip

    direct, indirect = group(leak(16, "direct"), leak(64, "direct"), leak(8, "indirect"))
    assert (direct.total_bytes, direct.n_objects) == (80, 4)
    assert direct.sizes == () and indirect.total_bytes == 8, "two blocks of 16 bytes may have any sizes"


def test_keys_are_equal_for_equal_faults_and_hashable() -> None:
    one, other = fault(1, pc=4), fault(2, pc=4)
    places = (Frame("a.cpp", 7),)
    assert site_key(one, places) == site_key(other, places)
    assert len({site_key(one, places), site_key(other, places, "follows")}) == 2


@pytest.mark.parametrize("name", ["from_pipe", "to_pipe", "register", "required_bits"])
def test_figures_that_tell_faults_apart(name: str) -> None:
    """Flags between other pipes at the same unknown place are other flags."""
    unknown = (Frame("<unknown>"),)
    made = [replace(fault(n, frames=unknown), figures={name: word}) for n, word in enumerate("aab")]
    assert [site.n for site in group(*made)] == [2, 1]
    at_a_line = [replace(fault(n), figures={name: word}) for n, word in enumerate("aab")]
    assert [site.n for site in group(*at_a_line)] == [2, 1]


def test_set_and_wait_of_one_line_are_two() -> None:
    assert len(group(fault(1, instruction="set_flag"), fault(2, instruction="wait_flag"))) == 2


def test_line_zero_without_a_program_counter_is_no_place() -> None:
    zero = (Frame("a.cpp", 0),)
    assert len(group(fault(1, frames=zero, size_bytes=8), fault(2, frames=zero, size_bytes=16))) == 2
    assert len(group(fault(1, frames=zero, size_bytes=8), fault(2, frames=zero, size_bytes=8))) == 1
    assert len(group(fault(1, frames=zero), fault(2, frames=(Frame("b.cpp", 0),)))) == 2
