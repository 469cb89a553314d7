"""All that is said of several ranks of one job, as advice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from npulse.core.dataclass import dataclass
from npulse.core.findings import Location, Related
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from ..wall.record import Wall
from .collectives import Paired, RankCommunication, pair_collectives
from .links import rates, retransmissions, slow_links, small_packets
from .peers import Peers, peers_of
from .recorded import Unrecorded, unrecorded
from .stragglers import FEW, Spread, Straggler, spread_of, straggler_of
from .texts import TEXTS
from .times import RankTimes, times_of

_TIMES = re.compile(r"(?<!\d)\d{14,17}(?!\d)")

SHOWN_LINKS = 5
_SPREAD_NAMES = {"computing": "computing", "exposed": "communication_not_overlapped", "free": "idle"}
"""Parts of a rank's time as their figures are called."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of one job side by side. job: their folder.

    times: of every rank that has some. left_out: ranks without real work. stragglers: one a group of peers
    at most, the costliest first. paired: their collectives. older: earlier sessions of ranks that have
    a newer one; they are in no comparison.
    """

    job: str
    times: tuple[RankTimes, ...]
    left_out: tuple[Unrecorded, ...]
    peers: tuple[Peers, ...]
    stragglers: tuple[Straggler, ...]
    spreads: tuple[Spread, ...]
    paired: Paired
    profiles: tuple[Profile, ...]
    older: tuple[Profile, ...] = ()


def ranks_of(
    job: str,
    profiles: Sequence[Profile],
    walls: Mapping[str, Wall],
    criteria: Criteria,
    raw: Sequence[tuple[str, str, int | None]] = (),
) -> Ranks:
    """Compare the ranks of a job, the newest session of each. raw: (label, folder, rank) of those that were
    never exported."""
    profiles, older = _newest(profiles)
    times = times_of(profiles, walls)
    left_out = unrecorded(times, raw)
    gone = {one.name for one in left_out}
    compared = [one for one in times if one.profile.name not in gone]
    peers = peers_of([one.profile for one in compared]) if compared else ()
    found = [straggler_of(group, compared, criteria.slow_rank_percent) for group in peers]
    stragglers = sorted((one for one in found if one is not None), key=lambda one: -one.excess_ns)
    paired = pair_collectives(
        [
            RankCommunication(profile.name, profile.rank, profile.communications)
            for profile in profiles
            if profile.communications and profile.name not in gone
        ]
    )
    return Ranks(
        job,
        times,
        left_out,
        peers,
        tuple(stragglers),
        tuple(spread_of(group, compared) for group in peers),
        paired,
        tuple(profiles),
        tuple(older),
    )


def _newest(profiles: Sequence[Profile]) -> tuple[list[Profile], list[Profile]]:
    """The newest session of every rank, and the others; both in the given order."""
    newest: dict[int | None, Profile] = {}
    for one in sorted(profiles, key=_time_of):
        newest[one.rank] = one
    kept = {one.name for one in newest.values()}
    return [one for one in profiles if one.name in kept], [one for one in profiles if one.name not in kept]


def _time_of(profile: Profile) -> tuple[str, str]:
    """When the session was, by the time of day that profilers write into its folder's name."""
    return max(_TIMES.findall(profile.name), default=""), profile.name


def advice_of_ranks(ranks: Ranks, criteria: Criteria) -> Iterator[Advice]:
    """Ranks without work first, then who holds the others up, then links."""
    yield from map(_left_out, ranks.left_out)
    yield from map(_older, ranks.older)
    yield from (_slow(ranks, one) for one in ranks.stragglers)
    yield from _late(ranks)
    told = {one.peers for one in ranks.stragglers}
    for spread in ranks.spreads:
        if spread.peers not in told:
            yield from _spread(ranks, spread, criteria)
    yield from _links(ranks, criteria)
    yield from _transfers(ranks)


def _left_out(one: Unrecorded) -> Advice:
    key = "next-not exported" if one.why == "not exported" else "next-no work"
    name = safe_text(one.name)
    figures: dict[str, object] = {"why": one.why}
    if one.computing_ns is not None:
        figures |= {"computing_us": one.computing_ns / 1000}
    if one.median_computing_ns is not None:
        figures |= {"median_computing_us": one.median_computing_ns / 1000}
    return Advice(
        rule="performance.rank-without-work",
        severity="warning",
        role="unknown",
        subject=one.name,
        message=words(
            TEXTS,
            one.why,
            label=_label(one.label),
            name=name,
            own=_us(one.computing_ns),
            typical=_us(one.median_computing_ns),
        ),
        next_step=words(TEXTS, key, name=name),
        figures=figures,
        profile=one.name,
        location=Location(rank=one.rank),
    )


def _older(one: Profile) -> Advice:
    name = safe_text(one.name)
    return Advice(
        rule="performance.older-session",
        severity="note",
        role="unknown",
        subject=one.name,
        message=words(TEXTS, "older-session", label=_label(one.label), name=name),
        next_step=words(TEXTS, "next-older-session"),
        figures={},
        profile=one.name,
        location=Location(rank=one.rank),
    )


def _slow(ranks: Ranks, one: Straggler) -> Advice:
    slow, label = one.slow, _label(one.slow.profile.label)
    is_few = sum(t.profile.name in one.peers.names for t in ranks.times) <= FEW
    if one.exposed_ns is None:
        least = words(TEXTS, "no-waiting")
    else:
        key = "least-waiting" if one.is_least_waiting else "not-least-waiting"
        least = words(TEXTS, key, exposed=_us(one.exposed_ns))
    victims = words(TEXTS, "victims-none")
    if one.waiting and one.most_waiting is not None:
        victims = words(
            TEXTS,
            "victims",
            n=len(one.waiting),
            most=_label(one.most_waiting.profile.label),
            most_us=_us(one.most_waiting.exposed_ns),
        )
    own_ns = slow.computing_ns if one.cause == "computing" else slow.own_ns
    typical_word = words(TEXTS, "word-least" if is_few else "word-median")
    message = _both(
        f"slow-{one.cause}",
        label=(label, label),
        others=words(TEXTS, "others" if one.peers.stage is None else "others-stage", stage=one.peers.stage),
        own=_us(own_ns),
        typical=_us(one.typical_ns),
        typical_word=typical_word,
        excess=one.excess_percent,
        least=least,
        victims=victims,
    )
    figures: dict[str, object] = {
        "rank": slow.rank,
        "cause": one.cause,
        "computing_us": _plain_us(slow.computing_ns),
        "idle_us": _plain_us(slow.free_ns),
        "median_computing_us" if one.cause == "computing" and not is_few else "typical_us": one.typical_ns
        / 1000,
        "excess_percent": one.excess_percent,
        "communication_not_overlapped_us": _plain_us(one.exposed_ns),
        "is_lowest_communication": one.is_least_waiting,
        "most_communication_rank": one.most_waiting.rank if one.most_waiting is not None else None,
        "waiting_ranks": [t.rank for t in one.waiting],
        "n_ranks": len(one.peers.names),
        "n_steps": slow.n_steps,
        "basis": slow.basis,
        "peers": one.peers.basis,
    }
    return Advice(
        rule="performance.slow-rank",
        severity="warning",
        subject=slow.profile.label,
        message=message,
        next_step=words(TEXTS, f"next-slow-{one.cause}", label=label, rank=slow.rank),
        figures={name: value for name, value in figures.items() if value is not None},
        cost_ns=one.excess_ns,
        profile=slow.profile.name,
        related=tuple(
            Related(
                "inherited",
                t.profile.label,
                {"communication_not_overlapped_us": _plain_us(t.exposed_ns), "rank": t.rank},
            )
            for t in one.waiting
        ),
        location=Location(artifact=slow.profile.sources.get("steps"), rank=slow.rank),
        bottleneck="communication",
    )


def _late(ranks: Ranks) -> Iterator[Advice]:
    slow = ranks.paired.slow
    if slow is None or any(one.slow.profile.name == slow[0] for one in ranks.stragglers):
        return
    name, n = slow
    profile = next(one for one in ranks.profiles if one.name == name)
    worst = max((one for one in ranks.paired.collectives if one.late == name), key=lambda one: one.wait_ms)
    n_all = sum(ranks.paired.votes.values())
    label = _label(profile.label)
    yield Advice(
        rule="performance.late-rank",
        severity="warning",
        subject=profile.label,
        message=words(
            TEXTS, "late", label=label, n=n, all=n_all, wait=worst.wait_ms, op=safe_text(worst.op, 80)
        ),
        next_step=words(TEXTS, "next-late", label=label, rank=profile.rank),
        figures={
            "rank": profile.rank,
            "n_late_collectives": n,
            "n_collectives": n_all,
            "worst_wait_ms": worst.wait_ms,
            "worst_collective": worst.op,
        },
        cost_ns=round(sum(one.wait_ms for one in ranks.paired.collectives if one.late == name) * 1e6),
        profile=name,
        location=Location(artifact=profile.sources.get("communications"), rank=profile.rank),
        bottleneck="communication",
    )


def _spread(ranks: Ranks, spread: Spread, criteria: Criteria) -> Iterator[Advice]:
    labels = [one.profile.label for one in ranks.times if one.profile.name in spread.peers.names]
    parts = {
        "computing": spread.computing_percent,
        "exposed": spread.exposed_percent,
        "free": spread.free_percent,
    }
    part, percent = max(parts.items(), key=lambda item: item[1] or 0.0)
    if percent is None or percent <= criteria.slow_rank_percent:
        return
    basis = words(TEXTS, f"basis-{spread.peers.basis}", stage=spread.peers.stage)
    yield Advice(
        rule="performance.rank-spread",
        severity="note",
        subject=", ".join(labels[:4]),
        message=_both("spread", part=words(TEXTS, f"part-{part}"), percent=percent, basis=basis),
        next_step=words(TEXTS, "next-spread"),
        figures={
            f"{_SPREAD_NAMES[name]}_spread_percent": value
            for name, value in parts.items()
            if value is not None
        },
        bottleneck="communication",
    )


def _links(ranks: Ranks, criteria: Criteria) -> Iterator[Advice]:
    groups = {name: members for one in ranks.profiles for name, members in one.settings.groups.items()}
    found = rates((link for one in ranks.profiles for link in one.links), groups)
    for slow in slow_links(found, criteria.slow_link_percent)[:SHOWN_LINKS]:
        link = slow.link
        yield Advice(
            rule="performance.slow-link",
            severity="warning",
            subject=f"{link.source}-{link.target} {link.transport}",
            message=words(
                TEXTS,
                "slow-link",
                source=link.source,
                target=link.target,
                transport=safe_text(link.transport),
                rate=link.gb_per_s,
                usual=slow.usual_gb_per_s,
                percent=slow.percent,
                n=slow.n_of_kind - 1,
                lost=slow.lost_ms,
            ),
            next_step=words(TEXTS, "next-slow-link", source=link.source),
            figures={
                "source_rank": link.source,
                "target_rank": link.target,
                "transport": link.transport,
                "bandwidth_gb_per_s": link.gb_per_s,
                "usual_gb_per_s": slow.usual_gb_per_s,
                "size_mb": link.size_mb,
                "time_ms": link.time_ms,
                "lost_ms": slow.lost_ms,
            },
            cost_ns=max(0, round(slow.lost_ms * 1e6)),
            bottleneck="communication",
        )


def _transfers(ranks: Ranks) -> Iterator[Advice]:
    for packets in small_packets(op for one in ranks.profiles for op in one.communications):
        yield Advice(
            rule="performance.small-packets",
            severity="warning",
            subject=packets.transport,
            message=words(
                TEXTS,
                "small-packets",
                percent=100 * packets.ratio,
                transport=safe_text(packets.transport),
                n=packets.n,
                limit=packets.limit_mb,
                time=packets.time_ms,
            ),
            next_step=words(TEXTS, "next-small-packets"),
            figures={
                "transport": packets.transport,
                "small_ratio": packets.ratio,
                "n_small_transfers": packets.n,
                "limit_mb": packets.limit_mb,
                "small_time_ms": packets.time_ms,
            },
            cost_ns=round(packets.time_ms * 1e6),
            bottleneck="communication",
        )
    for one in retransmissions({p.name: p.communications for p in ranks.profiles}):
        op = safe_text(one.op, 80)
        yield Advice(
            rule="performance.rdma-retransmission",
            severity="warning",
            subject=one.op,
            message=words(
                TEXTS, "retransmission", op=op, least=one.least_elapse_ms, most=one.most_transit_ms
            ),
            next_step=words(TEXTS, "next-retransmission"),
            figures={"least_elapse_ms": one.least_elapse_ms, "most_transit_ms": one.most_transit_ms},
            cost_ns=round(one.least_elapse_ms * 1e6),
            bottleneck="communication",
        )
    uneven = [one for one in ranks.paired.collectives if not one.is_size_equal]
    if uneven:
        yield Advice(
            rule="performance.collective-sizes",
            severity="warning",
            subject=uneven[0].op,
            message=words(TEXTS, "sizes", op=safe_text(uneven[0].op, 80), n=len(uneven)),
            next_step=words(TEXTS, "next-sizes"),
            figures={"n_uneven_collectives": len(uneven)},
            bottleneck="communication",
        )


def _label(text: str) -> str:
    return safe_text(text, 80)


def _us(ns: int | None) -> str:
    return "?" if ns is None else f"{ns / 1000:,.1f}"


def _plain_us(ns: int | None) -> float | None:
    return None if ns is None else ns / 1000


def _both(key: str, **values: object) -> Words:
    """A text whose values may themselves be in two languages."""
    filled = []
    for place, text in enumerate(TEXTS[key]):
        own = {name: v[place] if isinstance(v, tuple) else v for name, v in values.items()}
        filled.append(text.format(**own))
    return filled[0], filled[1]
