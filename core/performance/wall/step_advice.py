"""What the durations of steps are worth saying."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from npulse.core.figures import percent_text, time_text
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from .plain_advice import plain_advice
from .steps import Steps
from .texts import TEXTS

_NAME_CHARS = 60


def advice_of_steps(profile: Profile, steps: Steps | None, limits: Criteria) -> Iterator[Advice]:
    """Jitter, warm-up, late begin, waiting for input, work behind the backward pass."""
    if steps is None:
        return

    one = partial(plain_advice, profile)

    counted = [step for step in steps.steps if step is not steps.warm_up]
    if steps.jitter_ratio is not None and 100 * steps.jitter_ratio >= limits.step_jitter_percent:
        part = steps.grown or "other"
        yield one(
            "step-jitter",
            "warning",
            _jitter_text(steps, len(counted), limits),
            f"next jitter {part}",
            sum(max(step.duration_ns - steps.median_ns, 0) for step in counted),
            bottleneck={"compute": "compute", "communication": "communication", "free": "idle"}.get(part, ""),
            n_steps=len(counted),
            mean_us=steps.mean_ns / 1000,
            median_us=steps.median_ns / 1000,
            jitter_percent=100 * steps.jitter_ratio,
            slowest=safe_text(steps.slowest.step, _NAME_CHARS),
            slowest_us=steps.slowest.duration_ns / 1000,
        )
    if steps.warm_up is not None:
        message = words(
            TEXTS,
            "warm-up",
            step=safe_text(steps.warm_up.step, _NAME_CHARS),
            time=time_text(steps.warm_up.duration_ns),
            median=time_text(steps.median_ns),
        )
        yield one(
            "warm-up",
            "note",
            message,
            "next warm-up",
            bottleneck="",
            first_us=steps.warm_up.duration_ns / 1000,
        )
    if steps.preparing_ns is not None and steps.preparing_share is not None:
        if 100 * steps.preparing_share >= limits.free_percent:
            share = percent_text(100 * steps.preparing_share)
            message = words(TEXTS, "preparing", time=time_text(steps.preparing_ns), share=share)
            figures = {"preparing_us": steps.preparing_ns / 1000}
            cost_ns = steps.preparing_ns * len(steps.steps)
            yield one("late-begin", "note", message, "next preparing", cost_ns, bottleneck="idle", **figures)
    whole_ns = sum(step.duration_ns for step in steps.steps)
    if steps.data_aug_share is not None and 100 * steps.data_aug_share >= limits.free_percent:
        message = words(TEXTS, "input bound", share=percent_text(100 * steps.data_aug_share))
        cost_ns = int(whole_ns * steps.data_aug_share)
        yield one("input-bound", "warning", message, "next loading", cost_ns, bottleneck="idle")
    if steps.refresh_share is not None and 100 * steps.refresh_share >= limits.free_percent:
        message = words(TEXTS, "refresh", share=percent_text(100 * steps.refresh_share))
        cost_ns = int(whole_ns * steps.refresh_share)
        yield one("iteration-tail", "note", message, "next refresh", cost_ns, bottleneck="communication")


def _jitter_text(steps: Steps, n: int, limits: Criteria) -> Words:
    grown: Words = ("", "")
    if steps.grown is not None:
        en, zh = TEXTS["jitter grown"]
        part = TEXTS[f"part {steps.grown}"]
        time = time_text(steps.grown_ns)
        grown = en.format(part=part[0], time=time), zh.format(part=part[1], time=time)
    values = {
        "n": f"{n:,}",
        "mean": time_text(steps.mean_ns),
        "jitter": percent_text(100 * (steps.jitter_ratio or 0)),
        "limit": limits.step_jitter_percent,
        "step": safe_text(steps.slowest.step, _NAME_CHARS),
        "slowest": time_text(steps.slowest.duration_ns),
        "median": time_text(steps.median_ns),
    }
    en, zh = TEXTS["jitter"]
    return en.format(grown=grown[0], **values), zh.format(grown=grown[1], **values)
