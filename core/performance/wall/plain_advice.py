"""Advice about a profile as a whole: no place in a file, nothing related."""

from __future__ import annotations

from npulse.core.findings import Severity

from ..advice import Advice, Words, words
from ..profile import Profile
from .texts import TEXTS


def plain_advice(
    profile: Profile,
    rule: str,
    severity: Severity,
    message: Words,
    next_step: str,
    cost_ns: int = 0,
    *,
    bottleneck: str,
    **figures: float | int | str,
) -> Advice:
    """rule: without the area. next_step: key of a text. bottleneck: as `Advice` has it."""
    return Advice(
        rule=f"performance.{rule}",
        severity=severity,
        subject=profile.label,
        message=message,
        next_step=words(TEXTS, next_step),
        figures=figures,
        cost_ns=cost_ns,
        profile=profile.name,
        bottleneck=bottleneck,
    )
