"""One call computed again, in words."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

from npulse.core.figures import number, size_text
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.text import Lang, safe_text, say

from .compare import OutputCheck
from .model import Check
from .texts import TEXTS

SHOWN_NAMES = 6
_PLACE = re.compile(r"(.*?:\d+) ")


def outcome_text(check: Check, lang: Lang) -> str:
    """What came of it, in one sentence."""
    worst = check.worst
    if check.outcome == "unknown" or worst is None:
        return why_text(check, lang)
    words = check.words[lang == "zh"]
    key: str = check.outcome
    if check.outcome == "within" and words:
        key = "within-free"
    if check.outcome == "implementation" and (words or not check.tried):
        key = "implementation-words" if words else "implementation-untried"
    values = {"beyond": beyond_text(worst, lang), "words": words, "tried": check.tried}
    return say(TEXTS, key, lang, **values, dtype=worst.dtype, inside=check.inside, detail=check.detail)


def why_text(check: Check, lang: Lang) -> str:
    """Why it cannot be told."""
    if check.why == "no-reference" and parse_name(check.call).direction == "backward":
        return say(TEXTS, "backward", lang)
    missing = tuple(name.removeprefix(f"{check.call}.") for name in check.missing)
    names = _listed(missing or tuple(p.artifact for p in check.problems))
    beyond = "" if check.worst is None else beyond_text(check.worst, lang)
    values = {"names": names, "detail": safe_text(check.detail), "size": check.detail, "beyond": beyond}
    return say(TEXTS, check.why or "missing", lang, **values)


def several_text(checks: Sequence[Check], lang: Lang) -> str:
    """Why several calls cannot be told, all for the same reason."""
    first = checks[0]
    if first.why in ("missing", "unreadable"):
        reason = say(TEXTS, f"several-{first.why}", lang)
    else:
        reason = why_text(first, lang)
    return say(TEXTS, "several", lang, n=number(len(checks)), reason=reason)


def beyond_text(one: OutputCheck, lang: Lang) -> str:
    """How many elements are beyond their bound, and the worst of them."""
    if one.shape_truth is not None:
        return say(TEXTS, "shape", lang, shape=list(one.shape), truth=list(one.shape_truth))
    head = say(
        TEXTS,
        "beyond",
        lang,
        n=number(one.n_beyond),
        of=number(one.n_elements),
        output=_short(one),
        dtype=one.dtype,
    )
    return f"{head}; {place_text(one, lang)}" if lang == "en" else f"{head}；{place_text(one, lang)}"


def place_text(one: OutputCheck, lang: Lang) -> str:
    """The worst place of an output."""
    share = say(TEXTS, "times", lang, n=number(one.max_ratio))
    if not math.isfinite(one.max_ratio):
        share = say(TEXTS, "none-allowed", lang)
    values = {"made": number(one.made), "truth": number(one.truth), "bound": number(one.bound)}
    return say(TEXTS, "place", lang, index=list(one.index), ratio=share, **values)


def figures_lines(check: Check, lang: Lang) -> list[str]:
    """A line an output, and what else there is to say of them."""
    lines = []
    for one in check.outputs:
        if one.shape_truth is not None:
            continue
        values = {"error": number(one.max_abs_error), "own": number(one.own_max_abs_error)}
        shown = {"output": _short(one), "dtype": one.dtype, "shape": list(one.shape)}
        share = number(one.max_ratio)
        key = "figures-alone" if math.isnan(one.own_max_abs_error) else "figures"
        lines.append(say(TEXTS, key, lang, **shown, **values, share=share))
        if one.n_left_out:
            of = number(one.n_elements + one.n_left_out)
            lines.append(say(TEXTS, "sampled", lang, n=number(one.n_elements), of=of))
        if one.n_unbounded:
            lines.append(say(TEXTS, "unbounded-some", lang, n=number(one.n_unbounded)))
        if one.n_saturated:
            lines.append(say(TEXTS, "saturated", lang, n=number(one.n_saturated), dtype=one.dtype))
    if check.unchecked:
        lines.append(say(TEXTS, "unchecked", lang, names=_listed(check.unchecked)))
    if check.is_estimated:
        lines.append(say(TEXTS, "estimated", lang))
    return lines


def golden_text(golden: Check | None, lang: Lang) -> str:
    """What the golden side's call that stands against it gives from its own inputs."""
    if golden is None:
        return say(TEXTS, "golden-none", lang)
    text = outcome_text(golden, lang)
    if golden.outcome == "unknown" or golden.worst is None:
        return say(TEXTS, "golden-unknown", lang, text=text)
    if golden.outcome == "within":
        return say(TEXTS, "golden-within", lang, dtype=golden.worst.dtype)
    return say(TEXTS, "golden-wrong", lang, text=text)


def next_text(check: Check, lang: Lang, run: str) -> str:
    """What to do about it; "" where there is nothing. run: the folder that a command line names."""
    if check.outcome == "within":
        return ""
    if check.outcome != "unknown":
        return say(TEXTS, f"next-{check.outcome}", lang, words=check.words[lang == "zh"])
    key = {"does-not-fit": "unsupported", "failed": "unsupported", "": "missing"}.get(check.why, check.why)
    values = {"call": safe_text(check.call), "run": safe_text(shlex.quote(run))}
    return say(TEXTS, f"next-{key}", lang, **values)


def lines_of(
    check: Check, golden: Check | None, lang: Lang, *, run: str, has_golden: bool = False
) -> tuple[str, ...]:
    """All that is said of a call: outcome first, then figures, the golden side, what to do."""
    lines = [f"{safe_text(check.call)}: {outcome_text(check, lang)}", *figures_lines(check, lang)]
    if has_golden:
        lines.append(golden_text(golden, lang))
    if check.source:
        place = _PLACE.match(check.source)  # its text may hold names that are to be hidden
        lines.append(say(TEXTS, "source", lang, line=safe_text(place[1] if place else check.source)))
    following = next_text(check, lang, run)
    return (*lines, following) if following else tuple(lines)


def size_of(n_bytes: int) -> str:
    """Bytes as `Check.detail` has them of a call that is too large."""
    return size_text(n_bytes)


def _short(one: OutputCheck) -> str:
    """The part of an output's name behind its call."""
    place = one.name.rfind(".output.")
    return safe_text(one.name[place + 1 :] if place >= 0 else one.name)


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(safe_text(name) for name in names[:SHOWN_NAMES])
    return shown + (", ..." if len(names) > SHOWN_NAMES else "")
