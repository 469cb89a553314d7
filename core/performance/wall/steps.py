"""How long steps take, how much that varies, and what grew in the slowest one."""

from __future__ import annotations

from statistics import median
from typing import Literal

from npulse.core.dataclass import dataclass

from ..criteria import Criteria
from ..profile import Profile
from .record import StepWall, Wall

StepSource = Literal["timeline", "iterations", "step_trace_time", "operators"]
Part = Literal["compute", "communication", "free", "other"]
MIN_STEPS = 3
"""Fewer steps say nothing of jitter, and the first one is not set apart."""
IMPOSSIBLE_NS = 10**15
"""The writer's differences underflow now and then: nothing in a step takes eleven days."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. Parts None where not recorded; communication_ns: what is not overlapped."""

    step: str
    duration_ns: int
    compute_ns: int | None = None
    communication_ns: int | None = None
    free_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps of a profile, in order. Times int ns.

    warm_up: the first step where it is longer than the others by more than the bound; mean_ns, median_ns,
    jitter_ratio (standard deviation over mean) and slowest are of the others. grown: part that grew most in
    the slowest step, by grown_ns against the median of that part. preparing_ns, preparing_share: mean time
    from the begin of a step to its first device task. data_aug_share, refresh_share: of the iterations' time
    waiting for input, and behind the backward pass. None where not recorded.
    """

    source: StepSource
    steps: tuple[Step, ...]
    warm_up: Step | None
    mean_ns: int
    median_ns: int
    jitter_ratio: float | None
    slowest: Step
    grown: Part | None = None
    grown_ns: int = 0
    preparing_ns: int | None = None
    preparing_share: float | None = None
    data_aug_share: float | None = None
    refresh_share: float | None = None


def steps_of(profile: Profile, wall: Wall | None, criteria: Criteria | None = None) -> Steps | None:
    """Steps from the timeline, else the iterations, else step_trace_time, else the operator table.

    None if no step is recorded.
    """
    limits = criteria if criteria is not None else Criteria()
    source, steps = _found(profile, wall)
    if not steps:
        return None
    is_first_long = len(steps) > MIN_STEPS and _is_longer(steps, limits.step_jitter_percent)
    warm_up = steps[0] if is_first_long else None
    counted = steps[1:] if is_first_long else steps
    durations = [step.duration_ns for step in counted]
    mean = sum(durations) / len(durations)
    jitter = None
    if len(durations) >= MIN_STEPS and mean:
        jitter = (sum((value - mean) ** 2 for value in durations) / len(durations)) ** 0.5 / mean
    slowest = max(counted, key=lambda step: step.duration_ns)
    grown, grown_ns = _grown(slowest, counted)
    preparing = [row.preparing_ns for row in profile.steps if row.preparing_ns is not None]
    preparing_ns = sum(preparing) // len(preparing) if preparing else None
    iterations = [row for row in profile.iterations if row.duration_ns]
    return Steps(
        source=source,
        steps=tuple(steps),
        warm_up=warm_up,
        mean_ns=round(mean),
        median_ns=round(median(durations)),
        jitter_ratio=jitter,
        slowest=slowest,
        grown=grown,
        grown_ns=grown_ns,
        preparing_ns=preparing_ns,
        preparing_share=preparing_ns / mean if preparing_ns is not None and mean else None,
        data_aug_share=_share(
            [row.data_aug_bound_ns for row in iterations], [row.duration_ns for row in iterations]
        ),
        refresh_share=_share([row.refresh_ns for row in iterations], [row.duration_ns for row in iterations]),
    )


def _found(profile: Profile, wall: Wall | None) -> tuple[StepSource, list[Step]]:
    """The best steps there are and where they come from."""
    walls = {step.step: step for step in wall.steps} if wall is not None else {}
    timeline = profile.timeline
    if timeline is not None and timeline.steps:
        spans = sorted(timeline.steps, key=lambda span: span.start_ns)
        return "timeline", [
            _step(span.name, span.end_ns - span.start_ns, walls.get(span.name)) for span in spans
        ]
    if timed := [row for row in profile.iterations if row.duration_ns is not None and row.duration_ns >= 0]:
        return "iterations", [Step(row.iteration, row.duration_ns or 0) for row in timed]
    rows = [row for row in profile.steps if row.computing_ns is not None and row.free_ns is not None]
    if rows:
        steps = []
        for row in rows:
            exposed = row.communication_not_overlapped_ns or 0
            whole = (row.computing_ns or 0) + exposed + (row.free_ns or 0)
            steps.append(Step(row.step, whole, row.computing_ns, exposed, row.free_ns))
        return "step_trace_time", steps
    found = wall.steps if wall is not None and wall.source == "operators" else ()
    return "operators", [_step(step.step, step.wall_ns, step) for step in found]


def _step(name: str, duration_ns: int, wall: StepWall | None) -> Step:
    if wall is None:
        return Step(name, duration_ns)
    return Step(name, duration_ns, wall.compute_ns, wall.communication_not_overlapped_ns, wall.idle_ns)


def _is_longer(steps: list[Step], limit_percent: float) -> bool:
    """True if the first step is longer than the longest other one by more than the bound."""
    return steps[0].duration_ns > max(step.duration_ns for step in steps[1:]) * (1 + limit_percent / 100)


def _grown(slowest: Step, steps: list[Step]) -> tuple[Part | None, int]:
    """The part of the slowest step that is furthest above the median of that part."""
    if len(steps) < MIN_STEPS:
        return None, 0
    others = [step for step in steps if step is not slowest]
    best: Part | None = None
    best_ns = 0
    parts: tuple[tuple[Part, int | None, list[int | None]], ...] = (
        ("compute", slowest.compute_ns, [step.compute_ns for step in others]),
        ("communication", slowest.communication_ns, [step.communication_ns for step in others]),
        ("free", slowest.free_ns, [step.free_ns for step in others]),
    )
    for part, value, rest in parts:
        known = [one for one in rest if one is not None]
        if value is not None and known and value - round(median(known)) > best_ns:
            best, best_ns = part, value - round(median(known))
    return best, best_ns


def _share(parts: list[int | None], wholes: list[int | None]) -> float | None:
    pairs = [
        (part, whole)
        for part, whole in zip(parts, wholes, strict=True)
        if part is not None and whole and part < IMPOSSIBLE_NS
    ]
    total = sum(whole for _, whole in pairs)
    return sum(part for part, _ in pairs) / total if total else None
