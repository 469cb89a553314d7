"""First token, token rate and step time: as they are, and against what the user asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.formats.manifest import RoundRecord
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from .bottleneck import Bottleneck
from .serving import Serving, serving_of
from .steps import Steps
from .texts import TEXTS

_NAME_CHARS = 60


def asks_tokens(limits: Criteria) -> bool:
    """True if a criterion is about tokens: then steps are taken for them where nothing better is recorded."""
    return bool(limits.first_token_ms or limits.tokens_per_s)


def advice_of_serving(
    profile: Profile,
    steps: Steps | None,
    bottleneck: Bottleneck,
    limits: Criteria,
    record: RoundRecord | None = None,
) -> Iterator[Advice]:
    """A note on what is recorded; an error for each criterion that is missed, a warning for one unknown."""
    serving = serving_of(profile, steps, record, steps_are_tokens=asks_tokens(limits))
    basis = _basis(serving)
    if serving.first_token_ms is not None or serving.tokens_per_s is not None:
        yield _note(profile, serving, basis)
    asked = (
        ("first_token_ms", limits.first_token_ms, serving.first_token_ms),
        ("tokens_per_s", limits.tokens_per_s, serving.tokens_per_s),
        ("step_ms", limits.step_ms, serving.step_ms),
    )
    for key, limit, value in asked:
        if not limit:
            continue
        if value is None:
            next_step = "next unknown step" if key == "step_ms" else "next unknown serving"
            yield Advice(
                "performance.criterion-unknown",
                "warning",
                profile.label,
                words(TEXTS, f"unknown {key}", limit=limit),
                words(TEXTS, next_step),
                {key: "unknown", f"limit_{key}": limit},
                role="unknown",
                profile=profile.name,
            )
        elif (value < limit) if key == "tokens_per_s" else (value > limit):
            en, zh = TEXTS[f"missed {key}"]
            next_en, next_zh = TEXTS["next missed"]
            why = bottleneck.why
            yield Advice(
                "performance.criterion-missed",
                "error",
                profile.label,
                (
                    en.format(value=value, limit=limit, basis=basis[0]),
                    zh.format(value=value, limit=limit, basis=basis[1]),
                ),
                (next_en.format(answer=why[0]), next_zh.format(answer=why[1])),
                {key: value, f"limit_{key}": limit},
                role="origin",
                profile=profile.name,
                bottleneck="" if bottleneck.answer == "unknown" else bottleneck.answer,
            )


def _note(profile: Profile, serving: Serving, basis: Words) -> Advice:
    listed: list[Words] = []
    figures: dict[str, Any] = {"basis": serving.basis}
    for key, text, value in (
        ("first_token_ms", "first token", serving.first_token_ms),
        ("tokens_per_s", "tokens per s", serving.tokens_per_s),
        ("step_ms", "step", serving.step_ms),
    ):
        if value is not None:
            listed.append(words(TEXTS, text, value=value))
            figures[key] = value
    en, zh = TEXTS["serving"]
    message = (
        en.format(figures=", ".join(text for text, _ in listed), basis=basis[0]),
        zh.format(figures="，".join(text for _, text in listed), basis=basis[1]),
    )
    return Advice(
        "performance.serving",
        "note",
        profile.label,
        message,
        figures=figures,
        role="ok",
        profile=profile.name,
    )


def _basis(serving: Serving) -> Words:
    names = ", ".join(safe_text(name, _NAME_CHARS) for name in serving.names[:3])
    return words(TEXTS, f"basis {serving.basis}", names=names)
