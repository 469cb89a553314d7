"""Leaks: sums, the check against the tool's total, and blocks that every call leaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npulse.core.memory.analyse import in_order
from npulse.core.memory.faults import Access, Fault, Frame, LogSummary, LogTrust
from npulse.core.memory.leaks import LeakTotals, Repeat, Total, largest, repeat_of
from npulse.core.memory.sites import Site, Sites


def leak(
    size: int,
    line: int = 15,
    n: int = 1,
    kind: str = "leak",
    artifact: str = "a.log",
    at: int = 1,
    address: int | None = None,
) -> Fault:
    """at: its line in the log."""
    access = Access(address=address, frames=(Frame("run.cpp", line),))
    return Fault(
        "msSanitizer", kind, "error", "", artifact, at, 1, (access,), size_bytes=size, n_objects=n
    )  # fmt: skip


def told(what: str, n: int, size: int, line: int) -> LogSummary:
    return LogSummary(what, n, size, line, "msSanitizer")


def sites_of(*leaks: Fault) -> tuple[Site, ...]:
    sites = Sites(lambda frames: frames[0] if frames else None)
    for one in leaks:
        sites.add(one)
    return sites.snapshot()


def test_records_are_checked_against_the_total() -> None:
    totals = LeakTotals()
    for one in (leak(320), leak(4096), leak(768), leak(640, kind="unused memory")):
        totals.add(one)
    summaries = (
        told("leak", 3, 5184, 9),
        told("unused memory", 2, 700, 12),
    )
    leaks, unused = totals.checks([LogTrust("a.log", "", summaries=summaries)])
    assert (leaks.found, leaks.matches, leaks.parts[0].line) == (Total(3, 5184), True, 9)
    assert (unused.found, unused.matches, unused.n_told, unused.told_bytes) == (Total(1, 640), False, 2, 700)


def test_each_total_is_compared_with_the_records_above_it() -> None:
    """Two runs in one log: sums that fit together do not make up for parts that do not."""
    good, bad = LeakTotals(), LeakTotals()
    for totals, lines in ((good, (1, 5, 7)), (bad, (1, 2, 7))):
        for at in lines:
            totals.add(leak(100, at=at))
    summaries = (told("leak", 1, 100, 3), told("leak", 2, 200, 9))
    trusts = [LogTrust("a.log", "", summaries=summaries)]
    (check,) = good.checks(trusts)
    assert check.matches is True and (check.n_told, check.told_bytes) == (3, 300)
    (check,) = bad.checks(trusts)
    assert check.matches is False and check.wrong is not None
    assert (check.wrong.line, check.wrong.found, check.wrong.n_told) == (3, Total(2, 200), 1)


def test_mixed_processes_are_compared_as_a_whole() -> None:
    totals = LeakTotals()
    for origin, at in (("[rank0]", 1), ("[rank1]", 2), ("[rank0]", 3)):
        totals.add(replace(leak(100, at=at), origin=origin))
    summaries = (told("leak", 2, 200, 4), told("leak", 1, 100, 5))
    (check,) = totals.checks([LogTrust("a.log", "", summaries=summaries)])
    assert check.matches is True


def test_a_total_without_records_is_a_mismatch_and_no_total_says_nothing() -> None:
    (check,) = LeakTotals().checks([LogTrust("a.log", "", summaries=(told("leak", 2, 64, 1),))])
    assert check.found == Total() and check.matches is False
    totals = LeakTotals()
    totals.add(leak(64))
    (check,) = totals.checks([LogTrust("a.log", "")])
    assert check.matches is None


def test_each_log_is_checked_by_itself() -> None:
    totals = LeakTotals()
    totals.add(leak(64))
    totals.add(leak(8, artifact="b.log"))
    trusts = [
        LogTrust("a.log", "", summaries=(told("leak", 1, 64, 1),)),
        LogTrust("b.log", "", summaries=(told("leak", 1, 64, 1),)),
    ]
    assert [check.matches for check in totals.checks(trusts)] == [True, False]


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        ([4096] * 5, Repeat(4096, 5)),
        ([4096] * 3 + [64, 80], Repeat(4096, 3)),
        ([4096, 4096], None),
        ([4096] * 3 + [64, 80, 90], None),
        ([1, 2, 3, 4], None),
    ],
)
def test_one_size_again_and_again_is_a_workspace(sizes: list[int], want: Repeat | None) -> None:
    (site,) = sites_of(*(leak(size, address=4096 * n) for n, size in enumerate(sizes)))
    assert repeat_of(site, 3) == want


def test_the_same_block_of_several_runs_and_ranks_is_no_workspace() -> None:
    (runs,) = sites_of(*(leak(4096, address=0x1000) for _ in range(5)))
    assert runs.n == 5 and repeat_of(runs, 3) is None
    (ranks,) = sites_of(*(leak(4096, address=0x1000 * n, artifact=f"rank{n}.log") for n in range(5)))
    assert repeat_of(ranks, 3) is None


def test_blocks_of_an_unknown_place_are_no_workspace() -> None:
    access = Access(frames=(Frame("<unknown>"),))
    blocks = [replace(leak(4096), accesses=(replace(access, address=n),)) for n in range(5)]
    (site,) = sites_of(*blocks)
    assert site.n == 5 and repeat_of(site, 3) is None


def test_a_record_of_many_blocks_does_not_tell_their_size() -> None:
    """Host sanitizers sum blocks of one stack: 5 blocks of 500 bytes may have any sizes."""
    (site,) = sites_of(leak(500, n=5), leak(500, n=5))
    assert (site.n_objects, site.total_bytes) == (10, 1000)
    assert repeat_of(site, 3) is None


def test_the_largest_site() -> None:
    sites = sites_of(leak(100, 1), leak(60, 2), leak(60, 2), leak(900, 3, kind="unused memory"))
    found = largest(sites)
    assert found is not None and found.total_bytes == 120


def test_rounded_totals_may_differ_a_little() -> None:
    """msMemScope prints megabytes; msSanitizer bytes."""
    for tool, want in (("msMemScope", True), ("msSanitizer", False)):
        totals = LeakTotals()
        for _ in range(3):
            access = Access()
            totals.add(Fault(tool, "leak", "error", "", "a.log", 1, 1, (access,), size_bytes=1_048_000))  # type: ignore[arg-type]
        (check,) = totals.checks(
            [LogTrust("a.log", "", summaries=(LogSummary("leak", 3, 3_145_728, 1, tool),))]
        )
        assert check.matches is want


def test_what_hangs_on_another_leak_comes_behind_it_however_large() -> None:
    indirect = replace(leak(4000, line=40, at=1), figures={"reach": "indirect"})
    small, large = (
        replace(leak(n, line=line, at=line), figures={"reach": "direct"})
        for n, line in ((128, 22), (256, 30))
    )
    order = in_order(sites_of(indirect, small, large))
    assert [site.total_bytes for site in order] == [256, 128, 4000]
