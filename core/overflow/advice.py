"""What to do next about an origin."""

from __future__ import annotations

import math

from npulse.core.figures import amount
from npulse.core.text import Lang, say

from .explain import age_of, joined, legal_names, wider_dtypes
from .explained import Explained
from .health import NAN
from .texts import TEXTS

_DOMAINS = ("log-negative", "root-negative", "arc-outside", "zero-division")


def next_step(this: Explained, lang: Lang) -> str:
    """One step that the evidence at hand asks for; nothing that has been done already."""
    cause = this.origin.cause
    if cause == "operator":
        return _of_operator(this, lang)
    key = f"next-{cause}" if f"next-{cause}" in TEXTS else "next-unknown"
    if cause == "parameter" and age_of(this) == "parameter-first":
        key = "next-parameter-first"
    if cause == "collective" and this.diagnosis.kind != "collective-sum":
        key = "next-collective-odd"
    legal = legal_names(this)
    scale = this.diagnosis.input_scale
    n = 1 / scale if scale else 2.0 ** math.ceil(math.log2(max(len(this.spread.given), 2)))
    return say(TEXTS, key, lang, buffer=legal, legal=legal, n=n)


def _of_operator(this: Explained, lang: Lang) -> str:
    rank, name = this.rank, this.rank.name(this.origin.call)
    dtypes = joined(wider_dtypes(this)[:2] or [say(TEXTS, "wider", lang)], lang)
    if this.is_doubtful:
        return say(TEXTS, "next-saturated-off", lang)
    if this.diagnosis.kind in _DOMAINS:
        feeder = next((rank.name(s.call) for s in reversed(this.trace.steps) if s.distance == 1), "")
        return say(TEXTS, "next-domain" if feeder else "next-domain-alone", lang, feeder=feeder)
    if this.is_saturated:
        largest = amount(float(rank.health.largest[this.row]))
        return say(TEXTS, "next-saturated", lang, dtypes=dtypes, largest=largest)
    if this.trace.suspects:
        return say(TEXTS, "next-suspect", lang, suspect=rank.name(this.trace.suspects[0].call), dtypes=dtypes)
    is_only_nan = bool(this.flags & NAN) and not this.diagnosis.holds_in
    text = say(TEXTS, "next-nan" if is_only_nan else "next-operator", lang, call=name, dtypes=dtypes)
    return text if this.places is not None else text + say(TEXTS, "next-elements", lang, call=name)
