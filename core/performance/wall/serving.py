"""Time to the first token and tokens a second, from whatever was recorded of them."""

from __future__ import annotations

from statistics import median
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.formats.manifest import RoundRecord
from npulse.core.formats.profiling.timeline import Span

from ..profile import Profile
from .steps import Steps

Basis = Literal["round", "ranges", "steps", "nothing"]
_FIRST_WORDS = ("first_token", "first token", "firsttoken", "ttft", "prefill")
_NEXT_WORDS = ("decode", "next_token", "next token")
MIN_TOKENS = 2
PREFILL_TIMES = 1.5
"""Steps are taken for tokens if there are three or more, the first for a prefill if it is longer by this."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What a user of the model sees. None where it is not recorded.

    basis: the round's own record; ranges that the script marks; the steps, each taken for a token, the first
    one for the prefill; or nothing. names: the ranges or steps that were used. token_ms: median of a decode.
    n_tokens: decodes that were seen.
    """

    basis: Basis
    first_token_ms: float | None = None
    tokens_per_s: float | None = None
    token_ms: float | None = None
    step_ms: float | None = None
    n_tokens: int = 0
    names: tuple[str, ...] = ()


def serving_of(
    profile: Profile,
    steps: Steps | None,
    record: RoundRecord | None = None,
    *,
    steps_are_tokens: bool = False,
) -> Serving:
    """First token and token rate. record: of the round's manifest; what it says of first_token_ms,
    tokens_per_s and step_ms counts before what is derived.

    steps_are_tokens: the script calls step() once a token; nothing in a profile says so.
    """
    step_ms = steps.median_ns / 1e6 if steps is not None else None
    written = record.serving if record is not None else {}
    if "first_token_ms" in written or "tokens_per_s" in written:
        rate = written.get("tokens_per_s")
        return Serving(
            "round",
            written.get("first_token_ms"),
            rate,
            1000 / rate if rate else None,
            written.get("step_ms", step_ms),
        )
    step_ms = written.get("step_ms", step_ms)
    ranges = profile.timeline.ranges if profile.timeline is not None else ()
    if (found := _of_ranges(ranges, step_ms)) is not None:
        return found
    if steps_are_tokens and steps is not None:
        return _of_steps(steps, step_ms)
    return Serving("nothing", step_ms=step_ms)


def _of_ranges(ranges: tuple[Span, ...], step_ms: float | None) -> Serving | None:
    spans = sorted((span for span in ranges if span.end_ns > span.start_ns), key=lambda span: span.start_ns)
    firsts = [span for span in spans if _has(span.name, _FIRST_WORDS)]
    nexts = [span for span in spans if _has(span.name, _NEXT_WORDS) and not _has(span.name, _FIRST_WORDS)]
    if not firsts and not nexts:
        return None
    first_ms = median(span.end_ns - span.start_ns for span in firsts) / 1e6 if firsts else None
    token_ms = rate = None
    if nexts:
        token_ms = median(span.end_ns - span.start_ns for span in nexts) / 1e6
        whole_ns = sum(span.end_ns - span.start_ns for span in nexts)
        rate = len(nexts) / (whole_ns / 1e9)
    names = tuple(dict.fromkeys(span.name for span in (*firsts[:1], *nexts[:1])))
    return Serving("ranges", first_ms, rate, token_ms, step_ms, len(nexts), names)


def _of_steps(steps: Steps, step_ms: float | None) -> Serving:
    first, rest = steps.steps[0], steps.steps[1:]
    if len(rest) < MIN_TOKENS:
        return Serving("nothing", step_ms=step_ms)
    token_ns = median(step.duration_ns for step in rest)
    is_prefill = first.duration_ns >= PREFILL_TIMES * token_ns
    decodes = rest if is_prefill else steps.steps
    whole_ns = sum(step.duration_ns for step in decodes)
    return Serving(
        "steps",
        first.duration_ns / 1e6 if is_prefill else None,
        len(decodes) / (whole_ns / 1e9) if whole_ns else None,
        median(step.duration_ns for step in decodes) / 1e6,
        step_ms,
        len(decodes),
        (first.step,) if is_prefill else (),
    )


def _has(name: str, words: tuple[str, ...]) -> bool:
    text = name.lower()
    return any(word in text for word in words)
