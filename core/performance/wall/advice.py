"""All that is said of wall, busy and idle time of one profile, as advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from npulse.core.figures import percent_text, time_text
from npulse.core.findings import Location, Related
from npulse.core.formats.manifest import RoundRecord
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from .blocks import Blocks, blocks_of
from .bottleneck import Bottleneck, bottleneck_of
from .device_work import KERNEL
from .frequency import frequency_of
from .host import Host, host_of
from .host_advice import advice_of_calls
from .overlap import overlap_of
from .record import Wall
from .serving_advice import advice_of_serving
from .source_advice import advice_of_source
from .step_advice import advice_of_steps
from .steps import steps_of
from .tail import tail_of
from .texts import TEXTS

NAME_CHARS = 120
MAX_TOLD = 10
MIN_PARALLEL_SHARE = 0.01
MIN_TOP_SHARE = 0.1


def advice_of_wall(
    profile: Profile,
    wall: Wall | None,
    criteria: Criteria | None = None,
    record: RoundRecord | None = None,
    host: Host | None = None,
) -> Iterator[Advice]:
    """Everything about wall, busy and idle time. record: of the round's manifest (see `serving_of`).

    host: as `host_of` has it, where that is known already.
    """
    limits = criteria if criteria is not None else Criteria()
    host = host if host is not None else host_of(profile, wall, limits)
    bottleneck = bottleneck_of(profile, wall, limits)
    if wall is not None and wall.wall_ns:
        yield from _idle(profile, wall, host, bottleneck, limits)
        yield from _communication(profile, wall, limits)
        yield from _frequency(profile, wall, limits)
    yield from advice_of_calls(profile, wall, host, limits)
    steps = steps_of(profile, wall, limits)
    yield from advice_of_steps(profile, steps, limits)
    yield from advice_of_serving(profile, steps, bottleneck, limits, record)
    if wall is not None:
        yield from advice_of_source(profile, wall)


def _idle(
    profile: Profile, wall: Wall, host: Host, bottleneck: Bottleneck, limits: Criteria
) -> Iterator[Advice]:
    idle = 100 * wall.idle_share
    if idle < limits.free_percent:
        return
    blocks = blocks_of(wall)
    empty = ("", "")
    parts: dict[str, Words] = {
        "blocks": _blocks_text(blocks) if blocks is not None else empty,
        "gap": _gap_text(wall) if wall.gaps else empty,
        "causes": _causes_text(host) if host.by_host_ns is not None else empty,
        "top": _top_text(wall) or empty,
    }
    message = _joined("idle", host.reason, wall, parts)
    figures: dict[str, Any] = {
        "wall_us": wall.wall_ns / 1000,
        "busy_us": wall.busy_ns / 1000,
        "idle_us": wall.true_idle_ns / 1000,
        "idle_percent": idle,
        "n_gaps": wall.n_gaps,
        "host_bound": host.verdict,
        "wall_source": wall.source,
    }
    if host.by_host_ns is not None:
        figures["idle_by_host_us"] = host.by_host_ns / 1000
    if wall.wait_ns is not None:
        figures["recorded_wait_us"] = wall.wait_ns / 1000
    if blocks is not None:
        figures |= {
            "block_us": blocks.block_ns / 1000,
            "block_idle_us": blocks.idle_ns / 1000,
            "block_idle_percent": 100 * blocks.idle_share,
        }
    if host.latency is not None:
        figures |= {
            "latency_median_us": host.latency.median_ns / 1000,
            "latency_p90_us": host.latency.p90_ns / 1000,
            "queue": host.latency.queue,
        }
    if host.average_kernel_ns is not None and host.small_share is not None:
        figures |= {
            "kernel_average_us": host.average_kernel_ns / 1000,
            "kernels_below_10us_percent": 100 * host.small_share,
        }
    if host.launches_per_s is not None:
        figures["launches_per_s"] = host.launches_per_s
    yield Advice(
        rule="performance.idle",
        severity="warning" if idle >= limits.free_high_percent or bottleneck.answer == "idle" else "note",
        subject=profile.label,
        message=message,
        next_step=words(TEXTS, _next_idle(host)),
        figures=figures,
        cost_ns=wall.true_idle_ns,
        profile=profile.name,
        location=Location(wall.artifact or None, profile.rank),
        told=_gap_lines(wall, host),
        bottleneck="idle",
    )


def _joined(key: str, reason: Words, wall: Wall, parts: Mapping[str, Words]) -> Words:
    """A text whose fields are texts of both languages themselves."""
    figures = {
        "wall": time_text(wall.wall_ns),
        "busy": time_text(wall.busy_ns),
        "free": time_text(wall.true_idle_ns),
    }
    en, zh = TEXTS[key]
    return (
        en.format(reason=reason[0], **figures, **{name: text[0] for name, text in parts.items()}),
        zh.format(reason=reason[1], **figures, **{name: text[1] for name, text in parts.items()}),
    )


def _blocks_text(blocks: Blocks) -> Words:
    return words(
        TEXTS,
        "idle blocks",
        n_kernels=blocks.n_kernels,
        n=f"{blocks.n:,}",
        block=time_text(blocks.block_ns),
        free=time_text(blocks.idle_ns),
        share=percent_text(100 * blocks.idle_share),
    )


def _gap_text(wall: Wall) -> Words:
    gap = next((gap for gap in wall.gaps if not gap.is_artefact), None)
    if gap is None or not gap.before:
        return "", ""
    before, after = safe_text(gap.before, NAME_CHARS), safe_text(gap.after, NAME_CHARS)
    return words(TEXTS, "idle gap", gap=time_text(gap.duration_ns), before=before, after=after)


def _causes_text(host: Host) -> Words:
    listed = [
        (words(TEXTS, f"cause {one.cause}"), time_text(one.total_ns))
        for one in host.causes
        if one.cause != "artefact"
    ]
    en = ", ".join(f"{text[0]} {time}" for text, time in listed)
    zh = "，".join(f"{text[1]} {time}" for text, time in listed)
    text = TEXTS["idle causes"]
    return text[0].format(causes=en), text[1].format(causes=zh)


def _top_text(wall: Wall) -> Words | None:
    """The operator that takes most of the busy time, and how little that is of the whole."""
    top = top_of(wall)
    if top is None or not wall.busy_ns:
        return None
    name, total_ns = top
    if 2 * total_ns > wall.wall_ns or total_ns < MIN_TOP_SHARE * wall.busy_ns:
        return None  # it is worth a look itself, or nobody would begin with it
    return words(
        TEXTS,
        "idle top",
        top=safe_text(name, NAME_CHARS),
        busy_share=percent_text(100 * total_ns / wall.busy_ns),
        wall_share=percent_text(100 * total_ns / wall.wall_ns),
    )


def top_of(wall: Wall) -> tuple[str, int] | None:
    """The type of kernel (its name, where types are not recorded) with the most time, and that time in ns."""
    work = wall.work
    if work is None:
        return None
    rows = np.flatnonzero(work.role == KERNEL)
    codes, names = (work.op_type, work.op_types) if len(work.op_type) else (work.name, work.names)
    own = codes[rows]
    rows, own = rows[own >= 0], own[own >= 0]
    if not len(rows):
        return None
    sums = np.zeros(len(names), np.int64)
    np.add.at(sums, own, work.duration_ns[rows])
    best = int(np.argmax(sums))
    return str(names[best]), int(sums[best])


def _next_idle(host: Host) -> str:
    if host.by_host_ns is None:
        return "next idle host" if host.verdict == "yes" else "next idle unknown"
    if host.verdict == "no":
        return "next idle device"
    by_cause = {one.cause: one.total_ns for one in host.causes}
    long_ns = by_cause.get("long launch", 0)
    if long_ns and long_ns >= max(by_cause.get("framework", 0), by_cause.get("between launches", 0)):
        return "next idle launch"
    return "next idle host"


def _gap_lines(wall: Wall, host: Host) -> tuple[str, ...]:
    """The longest gaps as lines: length, cause where it is known, before and after."""
    causes = {one.gap.start_ns: one.cause for one in host.gaps if one.cause != "unknown"}
    return tuple(
        f"{gap.duration_ns / 1000:>14,.3f} us  {causes.get(gap.start_ns, ''):<16}  "
        f"{safe_text(gap.before, NAME_CHARS)} -> {safe_text(gap.after, NAME_CHARS)}"
        for gap in wall.gaps[:MAX_TOLD]
    )


def _communication(profile: Profile, wall: Wall, limits: Criteria) -> Iterator[Advice]:
    overlap = overlap_of(wall)
    if overlap is not None and 100 * overlap.exposed_share >= limits.exposed_communication_percent:
        most: Words = ("", "")
        if overlap.collectives and overlap.collectives[0].exposed_ns:
            one = overlap.collectives[0]
            most = words(
                TEXTS,
                "exposed most",
                name=safe_text(one.name, NAME_CHARS),
                exposed=time_text(one.exposed_ns),
                total=time_text(one.total_ns),
            )
        figures = {
            "total": time_text(overlap.communication_ns),
            "exposed": time_text(overlap.exposed_ns),
            "share": percent_text(100 * overlap.exposed_share),
            "overlap": percent_text(100 * overlap.overlap_share),
        }
        en, zh = TEXTS["exposed"]
        yield Advice(
            rule="performance.exposed-communication",
            severity="warning",
            subject=profile.label,
            message=(en.format(most=most[0], **figures), zh.format(most=most[1], **figures)),
            next_step=words(TEXTS, "next exposed"),
            figures={
                "communication_us": overlap.communication_ns / 1000,
                "communication_not_overlapped_us": overlap.exposed_ns / 1000,
                "overlapped_us": overlap.overlapped_ns / 1000,
                "communication_not_overlapped_percent": 100 * overlap.exposed_share,
                "overlapped_percent": 100 * overlap.overlap_share,
            },
            cost_ns=overlap.exposed_ns,
            profile=profile.name,
            related=tuple(
                Related(
                    "suspect",
                    safe_text(one.name, NAME_CHARS),
                    {"communication_not_overlapped_us": one.exposed_ns / 1000},
                )
                for one in overlap.collectives[:5]
                if one.exposed_ns
            ),
            location=Location(wall.artifact or None, profile.rank),
            bottleneck="communication",
        )
    yield from _tail(profile, wall, limits)


def _tail(profile: Profile, wall: Wall, limits: Criteria) -> Iterator[Advice]:
    tail = tail_of(wall)
    if tail is None or tail.is_single or not tail.steps_ns:
        return
    if tail.parallel_ns < MIN_PARALLEL_SHARE * wall.wall_ns:
        return  # all of it is in series: there is no tail to speak of
    share = 100 * tail.tails_ns / tail.steps_ns
    if share < limits.serial_tail_percent:
        return
    names: Words = ("", "")
    if tail.tail.names:
        name, name_ns = tail.tail.names[0]
        names = words(TEXTS, "tail names", name=safe_text(name, NAME_CHARS), time=time_text(name_ns))
    longest = words(
        TEXTS, "tail longest", longest=time_text(tail.longest.duration_ns), n=f"{tail.longest.n_calls:,}"
    )
    figures = {
        "tail": time_text(tail.tails_ns // tail.n_steps),
        "share": percent_text(share),
        "n": f"{tail.tail.n_calls:,}",
    }
    en, zh = TEXTS["tail"]
    yield Advice(
        rule="performance.serial-tail",
        severity="warning",
        subject=profile.label,
        message=(
            en.format(names=names[0], longest=longest[0], **figures),
            zh.format(names=names[1], longest=longest[1], **figures),
        ),
        next_step=words(TEXTS, "next tail"),
        figures={
            "tail_us": tail.tails_ns / 1000,
            "tail_percent": share,
            "n_tail_calls": tail.tail.n_calls,
            "longest_us": tail.longest.duration_ns / 1000,
            "communication_behind_us": tail.communication_ns / 1000,
        },
        cost_ns=tail.tails_busy_ns,
        profile=profile.name,
        location=Location(wall.artifact or None, profile.rank),
        bottleneck="communication" if 2 * tail.tails_communication_ns > tail.tails_busy_ns else "compute",
    )


def _frequency(profile: Profile, wall: Wall, limits: Criteria) -> Iterator[Advice]:
    clock = frequency_of(profile, wall, limits)
    if clock is None or not clock.n_low:
        return
    name, _, name_ns = clock.kernels[0]
    source = words(TEXTS, f"rated {clock.rated_source}")
    figures = {
        "n": f"{clock.n_low:,}",
        "all": f"{clock.n_kernels:,}",
        "limit": limits.frequency_drop_percent,
        "rated": clock.rated_mhz,
        "share": percent_text(100 * clock.low_share),
        "low": clock.low_mhz,
        "name": safe_text(name, NAME_CHARS),
        "time": time_text(name_ns),
    }
    en, zh = TEXTS["frequency"]
    yield Advice(
        rule="performance.low-frequency",
        severity="warning",
        subject=profile.label,
        message=(en.format(source=source[0], **figures), zh.format(source=source[1], **figures)),
        next_step=words(TEXTS, "next frequency"),
        figures={
            "rated_mhz": clock.rated_mhz,
            "low_mhz": clock.low_mhz,
            "low_kernel_time_percent": 100 * clock.low_share,
            "n_low_kernels": clock.n_low,
        },
        cost_ns=clock.lost_ns,
        profile=profile.name,
        related=tuple(
            Related("inherited", safe_text(one, NAME_CHARS), {"duration_us": ns / 1000, "n_calls": n})
            for one, n, ns in clock.kernels[:5]
        ),
        location=Location(wall.artifact or None, profile.rank),
        bottleneck="compute",
    )
