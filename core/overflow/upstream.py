"""The upstream table of an origin as aligned lines: for text reports, the clipboard and the evidence page."""

from __future__ import annotations

import numpy as np

from npulse.core.figures import amount, number
from npulse.core.text import Lang, columns_of, say

from .explained import Explained
from .figures import dtype_name, percent, shown_count
from .texts import TEXTS
from .trace import Step


def upstream_lines(this: Explained, lang: Lang) -> list[str]:
    """The trace as aligned lines for text reports and the clipboard."""
    rank, health = this.rank, this.rank.health
    rows = [
        (
            say(TEXTS, "up-title", lang),
            "dtype",
            "absmax",
            say(TEXTS, "up-of-max", lang),
            "nan",
            "inf",
            "sub",
            say(TEXTS, "up-grown", lang),
            say(TEXTS, "up-seen", lang),
        )
    ]
    for step in this.trace.steps:
        share = health.headroom(step.row)
        known = bool(health.is_known[step.row])
        rows.append(
            (
                rank.name(step.call),
                dtype_name(rank, step.row),
                amount(float(health.absmax[step.row])) if known else "?",
                percent(share) if share is not None else "-",
                shown_count(rank, step.row, "nan"),
                shown_count(rank, step.row, "inf"),
                shown_count(rank, step.row, "subnormal"),
                _grown(step),
                seen_word(this, step, lang),
            )
        )
    return columns_of(rows, left=(0, 1, 8))


def _grown(step: Step) -> str:
    if step.growth_ratio is None:
        return "-"
    return f"x{number(step.growth_ratio)}" if np.isfinite(step.growth_ratio) else "inf"


def seen_word(this: Explained, step: Step, lang: Lang) -> str:
    """What a step is: suspect, origin, hands on, other input; by order where only that links it."""
    words = []
    if step.distance == 0:
        words.append("up-origin")
    elif any(step.call == suspect.call for suspect in this.trace.suspects):
        words.append("up-suspect")
    elif step.is_pass_through:
        words.append("up-pass")
    if step.is_side:
        words.append("up-side")
    if step.link in ("order", "forward"):
        words.append(f"up-{step.link}")
    return ", ".join(say(TEXTS, word, lang) for word in words) or "."
