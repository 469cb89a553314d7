"""What the host's calls are worth saying: blocking, compiling, repeats, memory, collections, loading."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from npulse.core.figures import percent_text, time_text
from npulse.core.formats.profiling.timeline import Span
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from .host import Host
from .host_calls import (
    COMPILE_MIN_CALLS,
    MEMORY_MIN_NS,
    REPEAT_MIN_CALLS,
    SYNCHRONIZE_MIN_SHARE,
    CallSum,
)
from .plain_advice import plain_advice
from .record import Wall
from .texts import TEXTS

BLOCKING = "ASCEND_LAUNCH_BLOCKING"
_NAME_CHARS = 120


def advice_of_calls(profile: Profile, wall: Wall | None, host: Host, limits: Criteria) -> Iterator[Advice]:
    """Advice about single kinds of host calls."""
    calls = host.calls
    one = partial(plain_advice, profile, bottleneck="idle")

    blocking = profile.settings.env.get(BLOCKING, "").strip()
    share = calls.synchronize_share
    if share is not None and share > SYNCHRONIZE_MIN_SHARE and calls.synchronizes is not None:
        message = words(
            TEXTS,
            "blocking",
            n=f"{calls.synchronizes.n:,}",
            api="aclrtSynchronizeStream*",
            launches=f"{calls.n_launches:,}",
            share=percent_text(100 * share),
        )
        yield one(
            "launch-blocking",
            "warning",
            message,
            "next blocking",
            calls.synchronizes.total_ns or 0,
            n_synchronizations=calls.synchronizes.n,
            n_launches=calls.n_launches or 0,
        )
    elif blocking not in ("", "0"):
        message = words(TEXTS, "blocking env", value=safe_text(blocking, 20))
        yield one("launch-blocking", "warning", message, "next blocking")
    if calls.compiles is not None and calls.compiles.n >= COMPILE_MIN_CALLS:
        message = _timed("compile", calls.compiles, n=f"{calls.compiles.n:,}")
        compile_ns = calls.compiles.total_ns or 0
        yield one("online-compile", "warning", message, "next compile", compile_ns, n_calls=calls.compiles.n)
    if calls.repeats and wall is not None and 100 * wall.idle_share >= limits.free_percent:
        most = calls.repeats[0]
        message = _timed(
            "repeats",
            most,
            name=safe_text(most.name, _NAME_CHARS),
            n=f"{most.n:,}",
            kinds=len(calls.repeats),
            limit=REPEAT_MIN_CALLS,
        )
        yield one(
            "repeated-calls", "note", message, "next repeats", n_calls=most.n, n_kinds=len(calls.repeats)
        )
    if calls.pauses:
        message = words(
            TEXTS, "pause", total=time_text(calls.pauses_ns), longest=time_text(_length(calls.pauses[0]))
        )
        yield one(
            "garbage-collection",
            "warning",
            message,
            "next pause",
            calls.pauses_ns,
            total_us=calls.pauses_ns / 1000,
        )
    if calls.silent_gaps:
        longest = calls.silent_gaps[0][1]
        message = words(TEXTS, "silent", n=len(calls.silent_gaps), longest=time_text(longest))
        yield one("silent-host", "note", message, "next silent", sum(ns for _, ns in calls.silent_gaps))
    if calls.loadings:
        message = words(
            TEXTS,
            "loading",
            total=time_text(calls.loadings_ns),
            longest=time_text(_length(calls.loadings[0])),
            name=safe_text(calls.loadings[0].name, _NAME_CHARS),
        )
        yield one(
            "data-loading",
            "warning",
            message,
            "next loading",
            calls.loadings_ns,
            total_us=calls.loadings_ns / 1000,
        )
    memory = calls.memory
    if memory is not None and memory.total_ns is not None and memory.total_ns >= MEMORY_MIN_NS:
        message = words(
            TEXTS, "memory calls", names=memory.name, n=f"{memory.n:,}", total=time_text(memory.total_ns)
        )
        yield one(
            "memory-calls",
            "warning",
            message,
            "next memory calls",
            memory.total_ns,
            total_us=memory.total_ns / 1000,
        )


def _timed(key: str, call: CallSum, **values: object) -> Words:
    """A text with the time of the calls in brackets, where it is recorded."""
    time = (
        ("", "")
        if call.total_ns is None
        else (f" ({time_text(call.total_ns)})", f"（{time_text(call.total_ns)}）")
    )
    en, zh = TEXTS[key]
    return en.format(time=time[0], **values), zh.format(time=time[1], **values)


def _length(span: Span) -> int:
    return span.end_ns - span.start_ns
