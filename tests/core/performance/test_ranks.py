"""Ranks of one job: who is slow by logic, who recorded nothing, whose work may be compared at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npulse.core.formats.profiling.records import (
    CommunicationLink,
    CommunicationTime,
    LinkUse,
    ProfilerSettings,
    StepTime,
)
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.profile import Profile
from npulse.core.performance.ranks.advice import Ranks, advice_of_ranks, ranks_of
from npulse.core.performance.ranks.collectives import RankCommunication, late_rank, pair_collectives
from npulse.core.performance.ranks.links import rates, retransmissions, slow_links, small_packets
from npulse.core.performance.ranks.peers import peers_of

US = 1000


def profile(
    rank: int, computing_us: float, exposed_us: float, free_us: float = 2000, steps: int = 2
) -> Profile:
    rows = tuple(
        StepTime(
            str(10 + step),
            rank,
            computing_ns=round(computing_us * US),
            communication_not_overlapped_ns=round(exposed_us * US),
            overlapped_ns=0,
            communication_ns=round(exposed_us * US),
            free_ns=round(free_us * US),
        )
        for step in range(steps)
    )
    return Profile(f"rank{rank}", rank=rank, steps=rows)


def compared(*profiles: Profile, criteria: Criteria | None = None) -> Ranks:
    return ranks_of(".", profiles, {}, criteria or Criteria())


def test_the_slow_rank_has_the_most_work_and_waits_the_least() -> None:
    ranks = compared(profile(0, 80_000, 45_000), profile(1, 105_000, 20_000), profile(2, 80_200, 44_800),
                     profile(3, 80_100, 46_000))  # fmt: skip
    (found,) = ranks.stragglers
    assert found.slow.rank == 1 and found.cause == "computing"
    assert found.typical_ns == 80_150 * US  # the median of four: (80_100 + 80_200) / 2
    assert found.excess_ns == (105_000 - 80_150) * US
    assert found.is_least_waiting and [one.rank for one in found.waiting] == [0, 2, 3]
    assert found.most_waiting is not None and found.most_waiting.rank == 3
    (advice,) = [one for one in advice_of_ranks(ranks, Criteria()) if one.rule == "performance.slow-rank"]
    assert advice.figures["rank"] == 1 and advice.figures["most_communication_rank"] == 3
    assert advice.figures["excess_percent"] == pytest.approx(100 * 24_850 / 80_150, rel=1e-9)
    assert "rank 1" in advice.message[0] and "rank 3" in advice.message[0] and "受害者" in advice.message[1]


def test_of_two_ranks_the_faster_one_is_the_measure() -> None:
    (found,) = compared(profile(0, 100, 50), profile(1, 120, 30)).stragglers
    assert found.slow.rank == 1 and found.typical_ns == 100 * US and found.excess_percent == pytest.approx(20)


def test_a_rank_that_idles_for_its_host_is_slow_too() -> None:
    (found,) = compared(profile(0, 100, 60, 5), profile(1, 100, 61, 5), profile(2, 101, 5, 60)).stragglers
    assert found.slow.rank == 2 and found.cause == "host"


def test_idling_ranks_that_nobody_waits_for_are_not_accused() -> None:
    ranks = compared(profile(0, 100, 10, 5), profile(1, 100, 10, 60))
    assert ranks.stragglers == ()
    assert [one.rule for one in advice_of_ranks(ranks, Criteria())] == ["performance.rank-spread"]


def test_small_differences_are_no_finding() -> None:
    ranks = compared(profile(0, 100, 50), profile(1, 103, 48), profile(2, 101, 50))
    assert ranks.stragglers == () and list(advice_of_ranks(ranks, Criteria())) == []
    assert (
        len(
            compared(
                profile(0, 100, 50), profile(1, 103, 48), criteria=Criteria(slow_rank_percent=2)
            ).stragglers
        )
        == 1
    )


def test_ranks_without_work_are_named_and_left_out() -> None:
    ranks = ranks_of(
        ".",
        [profile(0, 100_000, 50), profile(1, 100, 90_000), profile(2, 101_000, 50)],
        {},
        Criteria(),
        raw=[("rank 3", "rank3_ascend_pt", 3)],
    )
    assert [(one.rank, one.why) for one in ranks.left_out] == [(3, "not exported"), (1, "no computing")]
    assert all(1 not in [t.rank for t in found.waiting] for found in ranks.stragglers)
    found = list(advice_of_ranks(ranks, Criteria()))
    assert [one.rule for one in found[:2]] == ["performance.rank-without-work"] * 2
    assert "rank3_ascend_pt" in found[0].next_step[0]


def test_only_common_steps_are_compared() -> None:
    long = profile(1, 100, 50)
    long = replace(long, steps=(*long.steps, replace(long.steps[0], step="99", computing_ns=10**9)))
    assert compared(profile(0, 100, 50), long).stragglers == ()


def test_pipeline_stages_are_no_peers() -> None:
    settings = ProfilerSettings(parallel={"pipeline_model_parallel_size": 2, "world_size": 4})
    times = (231, 230, 400, 401)
    profiles = [replace(profile(rank, us * 1000, 100), settings=settings) for rank, us in enumerate(times)]
    assert [(one.stage, one.names) for one in peers_of(profiles)] == [
        (0, ("rank0", "rank1")),
        (1, ("rank2", "rank3")),
    ]
    assert compared(*profiles).stragglers == ()
    without = [replace(one, settings=ProfilerSettings()) for one in profiles]
    assert [one.basis for one in peers_of(without)] == ["all ranks"]


def test_counters_below_zero_are_no_time() -> None:
    broken = profile(1, 100, 50)
    broken = replace(broken, steps=tuple(replace(s, computing_ns=18 * 10**18) for s in broken.steps))
    assert [(one.rank, one.why) for one in compared(profile(0, 100, 50), broken).left_out] == [
        (1, "no times")
    ]


def operation(
    name: str, elapse: float, size: float = 64.0, start: int = 0, group: str = "g"
) -> CommunicationTime:
    links = (LinkUse("HCCS", size, elapse, None),)
    return CommunicationTime("1", name, group, is_p2p=False, start_ns=start, elapse_ms=elapse, links=links)


def test_the_rank_that_is_shortest_in_a_collective_came_last() -> None:
    ranks = [
        RankCommunication(
            f"r{rank}",
            rank,
            tuple(operation(f"hcom_allReduce__586_{i}_1", t, start=i) for i, t in enumerate(times)),
        )
        for rank, times in enumerate([(80.0, 2.3, 30.0, 9.0), (2.0, 2.3, 1.0, 2.0), (79.0, 2.31, 29.0, 9.0)])
    ]
    paired = pair_collectives(ranks)
    assert [one.late for one in paired.collectives] == ["r1", None, "r1", "r1"]
    assert paired.collectives[0].wait_ms == 78.0 and paired.n_unpaired == 0
    assert paired.slow == ("r1", 3)


def test_collectives_whose_names_differ_are_paired_by_order_and_size() -> None:
    first = (
        operation("hcom_allReduce__111_0_1", 9.0, 64),
        operation("hcom_allReduce__111_1_1", 5.0, 8, start=1),
    )
    second = (
        operation("hcom_allReduce__222_0_1", 1.0, 64, group="h"),
        operation("hcom_allReduce__222_1_1", 5.0, 8, start=1, group="h"),
    )
    paired = pair_collectives([RankCommunication("r0", 0, first), RankCommunication("r1", 1, second)])
    assert [(one.elapse_ms, one.is_by_order) for one in paired.collectives] == [
        ((9.0, 1.0), True),
        ((5.0, 5.0), True),
    ]


def test_sums_and_point_to_point_are_no_collectives() -> None:
    total = replace(operation("Total Op Info", 9.0), name="Total Op Info")
    send = replace(operation("hcom_send__1_2_3", 9.0), is_p2p=None)
    assert (
        pair_collectives(
            [RankCommunication("a", 0, (total, send)), RankCommunication("b", 1, (total, send))]
        ).collectives
        == ()
    )


@pytest.mark.parametrize(
    ("elapses", "late"),
    [
        ((10.0,), None),
        ((10.0, 9.8), None),
        ((10.0, 2.0), 1),
        ((10.0, 10.1, 9.9, 10.05, 1.0), 4),
        ((10.0, 11.0, 9.0, 12.0, 8.0), None),  # (9-8)/(12-8) = 0.25 < 0.823
        ((0.0, 0.0), None),
        ((*[10.0 + i / 100 for i in range(120)], 1.0), 120),
    ],
)
def test_late_rank(elapses: tuple[float, ...], late: int | None) -> None:
    assert late_rank(elapses) == late


def link(
    source: int, target: int, size: float, time: float, op: str = "allreduce-total", group: str = "g"
) -> CommunicationLink:
    return CommunicationLink("1", op, group, source, target, "HCCS", size, time, None)


def test_a_link_below_the_others_of_its_kind_is_slow() -> None:
    links = [link(0, 1, 180, 10), link(0, 2, 176, 10), link(0, 3, 90, 10), link(0, 0, 900, 1)]
    (slow,) = slow_links(rates(links), 80)
    assert (slow.link.source, slow.link.target) == (0, 3)
    assert slow.usual_gb_per_s == pytest.approx(17.8) and slow.percent == pytest.approx(100 * 9 / 17.8)
    assert slow.lost_ms == pytest.approx(10 - 90 / 17.8)


def test_sums_of_an_operation_stand_for_its_parts_and_groups_give_ranks() -> None:
    links = [
        link(0, 1, 100, 10),
        link(0, 1, 60, 6, op="allreduce-top1"),
        link(0, 1, 40, 4, op="Total Op Info"),
    ]
    (rate,) = rates(links, {"g": (4, 6)})
    assert (rate.source, rate.target, rate.size_mb) == (4, 6, 100)


def test_small_packets_and_retransmission() -> None:
    use = LinkUse("SDMA", 40, 4, 10, None, ((8.0, 3, 3.0), (32.0, 1, 1.0)))
    (small,) = small_packets([CommunicationTime("1", "a", "g", links=(use,))])
    assert small.ratio == 0.75 and small.n == 3 and small.time_ms == 3.0
    assert small_packets([CommunicationTime("1", "Total Op Info", "g", links=(use,))]) == ()
    slow = CommunicationTime("1", "a", "g", elapse_ms=4200, links=(LinkUse("RDMA", 1, 4100, 1),))
    assert [one.op for one in retransmissions({"r0": [slow], "r1": [slow]})] == ["a"]
    assert retransmissions({"r0": [slow], "r1": [replace(slow, elapse_ms=100)]}) == ()
