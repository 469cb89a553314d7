"""The clean-up loop: fixed, new, hidden, back - and what nobody can tell."""

from __future__ import annotations

from npulse.core.memory.cleanup import RoundSites, clean_up
from npulse.core.memory.faults import Access, Fault, Frame, LogTrust
from npulse.core.memory.sites import Site, Sites

COMPLETE = LogTrust("a.log", "", tools=("msSanitizer",), checks=("memcheck",), n_clean_ends=1)


def site(
    line: int,
    kind: str = "illegal read",
    file: str = "a.cpp",
    tool: str = "msSanitizer",
    size: int | None = None,
) -> Site:
    sites = Sites(lambda frames: frames[0])
    access = Access(size_bytes=size, space="GM", kernel="k", frames=(Frame(file, line),))
    sites.add(Fault(tool, kind, "error", "", "a.log", 1, 1, (access,)))  # type: ignore[arg-type]
    return sites.snapshot()[0]


def round_of(name: str, *sites: Site, trust: LogTrust = COMPLETE, ended_early: bool = False) -> RoundSites:
    return RoundSites(name, sites, (trust,), ended_early)


def test_one_round_has_nothing_to_be_compared_with() -> None:
    assert clean_up([round_of("1", site(1))]) is None


def test_fixed_new_and_still_there() -> None:
    found = clean_up([round_of("1", site(10), site(500)), round_of("2", site(10), site(900))])
    assert found is not None and found.since == "1"
    assert found.states == ("same", "new")
    (gone,) = found.gone
    assert gone.is_fixed and gone.site.place == Frame("a.cpp", 500)
    assert not found.is_done


def test_lines_that_shift_are_the_same_fault() -> None:
    found = clean_up([round_of("1", site(10), site(50)), round_of("2", site(13), site(53))])
    assert found is not None and found.states == ("moved", "moved") and found.gone == ()


def test_the_nearest_line_is_taken_once() -> None:
    found = clean_up([round_of("1", site(10)), round_of("2", site(12), site(11))])
    assert found is not None and sorted(found.states) == ["moved", "new"]


def test_another_kind_or_file_is_not_the_same_fault() -> None:
    now = round_of("2", site(11, kind="illegal write"), site(11, file="b.cpp"))
    found = clean_up([round_of("1", site(10)), now])
    assert found is not None and found.states == ("new", "new") and len(found.gone) == 1


def test_what_an_early_end_may_have_hidden_is_not_called_new() -> None:
    early = round_of("1", site(10), ended_early=True)
    found = clean_up([early, round_of("2", site(900))])
    assert found is not None and found.states == ("was hidden",)
    cut = round_of("1", site(10), trust=LogTrust("a.log", "", tools=("msSanitizer",), gaps=("cut-off",)))
    found = clean_up([cut, round_of("2", site(900))])
    assert found is not None and found.states == ("was hidden",)


def test_not_seen_in_an_incomplete_log_is_not_fixed() -> None:
    cut = LogTrust("a.log", "", tools=("msSanitizer",), checks=("memcheck",), gaps=("records-dropped",))
    found = clean_up([round_of("1", site(10)), round_of("2", trust=cut)])
    assert found is not None and not found.is_done
    assert (found.gone[0].is_fixed, found.gone[0].why_not) == (False, "incomplete")
    found = clean_up([round_of("1", site(10)), RoundSites("2", (), (), False)])
    assert found is not None and not found.gone[0].is_fixed and not found.is_done


def test_not_seen_by_another_check_is_not_fixed() -> None:
    race = LogTrust("a.log", "", tools=("msSanitizer",), checks=("racecheck",), n_clean_ends=1)
    found = clean_up([round_of("1", site(10)), round_of("2", trust=race)])
    assert found is not None
    assert (found.gone[0].is_fixed, found.gone[0].why_not) == (False, "memcheck")


def test_a_tool_that_wrote_nothing_says_nothing() -> None:
    """A host sanitizer is silent where all is well, and where it did not run."""
    old = site(10, kind="heap-buffer-overflow", tool="AddressSanitizer")
    found = clean_up([round_of("1", old), round_of("2")])
    assert found is not None
    assert (found.gone[0].is_fixed, found.gone[0].why_not) == (False, "AddressSanitizer")


def test_complete_and_clean_is_done() -> None:
    found = clean_up([round_of("1", site(10)), round_of("2")])
    assert found is not None and found.is_done and found.gone[0].is_fixed


def test_a_fault_that_was_fixed_once_is_back() -> None:
    found = clean_up([round_of("1", site(10)), round_of("2"), round_of("3", site(10))])
    assert found is not None and found.states == ("back",) and found.since == "2"
    assert found.n_rounds == 3


LOST = LogTrust("a.log", "", tools=("msSanitizer",), checks=("memcheck",), gaps=("records-dropped",))


def test_a_round_that_lost_records_fixes_nothing_and_brings_nothing_back() -> None:
    rounds = [round_of("1", site(10)), round_of("2", trust=LOST), round_of("3", site(10))]
    found = clean_up(rounds)
    assert found is not None and found.states == ("same",) and found.gone == ()


def test_what_was_open_is_remembered_until_a_round_could_have_shown_it() -> None:
    rounds = [round_of("1", site(10)), round_of("2", trust=LOST), round_of("3")]
    found = clean_up(rounds)
    assert found is not None and found.is_done
    assert [(gone.round, gone.is_fixed) for gone in found.gone] == [("1", True)]
    still_open = clean_up(rounds[:2])
    assert still_open is not None and not still_open.is_done and not still_open.is_told


def test_not_done_while_another_check_has_not_run() -> None:
    race = LogTrust("a.log", "", tools=("msSanitizer",), checks=("racecheck",), n_clean_ends=1)
    found = clean_up([round_of("1", site(10)), round_of("2", trust=race)])
    assert found is not None and not found.is_done and not found.is_told


def test_not_done_where_nothing_ran() -> None:
    silent = LogTrust("a.log", "", tools=("msSanitizer",))
    found = clean_up([round_of("1"), round_of("2", trust=silent)])
    assert found is not None and not found.is_done


def test_another_kernel_fixes_nothing() -> None:
    other = LogTrust(
        "a.log", "", tools=("msSanitizer",), checks=("memcheck",), n_clean_ends=1, kernels=("other",)
    )
    found = clean_up([round_of("1", site(10)), round_of("2", trust=other)])
    assert found is not None and (found.gone[0].is_fixed, found.gone[0].why_not) == (False, "k")
    own = LogTrust("a.log", "", tools=("msSanitizer",), checks=("memcheck",), n_clean_ends=1, kernels=("k",))
    found = clean_up([round_of("1", site(10)), round_of("2", trust=own)])
    assert found is not None and found.gone[0].is_fixed and found.is_done


def test_far_away_or_of_another_size_is_another_fault() -> None:
    found = clean_up([round_of("1", site(20)), round_of("2", site(150))])
    assert found is not None and found.states == ("new",)
    found = clean_up([round_of("1", site(20, size=32)), round_of("2", site(22, size=8))])
    assert found is not None and found.states == ("new",)
