"""What the figures rest on, where that is not the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npulse.core.figures import time_text
from npulse.core.findings import Location
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..profile import Profile
from .record import Wall
from .recorded import Difference, differences_of
from .texts import TEXTS

_NAME_CHARS = 120
_MAX_LISTED = 5
DIFFERENCE_SHARE = 0.01


def advice_of_source(profile: Profile, wall: Wall) -> Iterator[Advice]:
    """Tasks set aside, rows without a time, unknown task types, a source that is cut or but a part, sums that
    differ."""

    def note(rule: str, message: Words, next_step: Words = ("", ""), **figures: float | int | str) -> Advice:
        return Advice(
            rule=f"performance.{rule}",
            severity="note",
            subject=profile.label,
            message=message,
            next_step=next_step,
            figures=figures,
            role="benign",
            profile=profile.name,
            location=Location(wall.artifact or None, profile.rank),
        )

    if wall.n_set_aside:
        first = wall.set_aside[0]
        message = words(
            TEXTS,
            "set aside",
            n=f"{wall.n_set_aside:,}",
            name=safe_text(first.name, _NAME_CHARS),
            start=f"{first.start_ns} ns",
        )
        named = ", ".join(safe_text(one.name, _NAME_CHARS) for one in wall.set_aside[:_MAX_LISTED])
        next_step = words(TEXTS, "next set aside")
        yield note("impossible-times", message, next_step, n_tasks=wall.n_set_aside, names=named)
    if wall.n_unplaced:
        message = words(TEXTS, "unplaced", n=f"{wall.n_unplaced:,}")
        yield note("unplaced-rows", message, n_rows=wall.n_unplaced)
    if wall.assumed_kinds:
        kinds = ", ".join(safe_text(kind, _NAME_CHARS) for kind in wall.assumed_kinds[:_MAX_LISTED])
        yield note(
            "unknown-task-types", words(TEXTS, "assumed", kinds=kinds), n_task_types=len(wall.assumed_kinds)
        )
    if wall.held_share is not None:
        message = words(
            TEXTS,
            "partial",
            artifact=safe_text(profile.sources.get("operators", "operators"), _NAME_CHARS),
            percent=f"{100 * wall.held_share:.1f}",
            source=safe_text(wall.artifact, _NAME_CHARS),
        )
        yield replace(
            note("partial-table", message, words(TEXTS, "next partial"), held_percent=100 * wall.held_share),
            severity="warning",
            role="unknown",
        )
    if wall.is_cut:
        message = words(TEXTS, "cut", artifact=safe_text(wall.artifact, _NAME_CHARS))
        yield note("unfinished-times", message, words(TEXTS, "next cut"))
    large = [one for one in differences_of(wall) if abs(one.difference_ns) > DIFFERENCE_SHARE * wall.wall_ns]
    if large:
        texts = [_difference_text(one, wall) for one in large]
        en, zh = TEXTS["recorded"]
        message = (
            en.format(differences="; ".join(text for text, _ in texts)),
            zh.format(differences="；".join(text for _, text in texts)),
        )
        figures = {f"{_slug(one.lane)}_recorded_us": one.recorded_ns / 1000 for one in large}
        yield note("recorded-times-differ", message, ("", ""), **figures)


def _slug(lane: str) -> str:
    """A lane as the key of a figure: Communication(Not Overlapped) -> communication_not_overlapped."""
    return "_".join(lane.lower().replace("(", " ").replace(")", " ").split())


def _difference_text(one: Difference, wall: Wall) -> Words:
    values = {
        "lane": one.lane,
        "ours": time_text(one.ours_ns),
        "recorded": time_text(one.recorded_ns),
        "source": safe_text(wall.recorded_source, _NAME_CHARS),
    }
    en, zh = TEXTS["difference"]
    return en.format(why=one.why[0], **values), zh.format(why=one.why[1], **values)
