"""The study of an activation, in words."""

from __future__ import annotations

from typing import Any

from npulse.core.figures import number, percent_text
from npulse.core.text import Lang, columns_of, safe_text, say

from .model import Outlier, Scheme, Study
from .texts import TEXTS


def lines_of_study(study: Study, lang: Lang) -> list[str]:
    """All that is said of an activation."""
    if study.at_ends_ratio is not None:
        percent = percent_text(100 * study.at_ends_ratio)
        return [say(TEXTS, "at-ends", lang, name=safe_text(study.name), percent=percent)]
    shown = {"absmax": number(study.absmax), "needed": number(study.needed)}
    lines = [say(TEXTS, "head", lang, name=safe_text(study.name), shape=list(study.shape), **shown)]
    if study.own is not None:
        lines.append(clipped_text(study, lang))
    lines += columns_of(_rows(study, lang))
    if study.of("channel") is not None:
        lines.append(say(TEXTS, "channel-note", lang))
    n_rows = 1
    for size in study.shape[:-1]:
        n_rows *= size
    if study.n_rows_used and study.n_rows_used < n_rows:
        lines.append(say(TEXTS, "products-of", lang, n=number(study.n_rows_used), of=number(n_rows)))
    lines += _outliers("channels", study.channels, lang) + _outliers("tokens", study.tokens, lang)
    if study.n_not_finite:
        lines.append(say(TEXTS, "not-finite", lang, n=number(study.n_not_finite)))
    return lines


def clipped_text(study: Study, lang: Lang) -> str:
    """What the call's own scale clips."""
    own = study.own
    assert own is not None
    n = 1
    for size in study.shape:
        n *= size
    values = {"n": number(own.n_clipped), "of": number(n), "percent": percent_text(100 * own.clipped_ratio)}
    if study.given is None:
        return say(TEXTS, "clipped-channels", lang, **values)
    if not own.n_clipped:
        return say(TEXTS, "not-clipped", lang, given=number(study.given))
    ratio = number(study.needed / study.given)
    return say(TEXTS, "clipped", lang, given=number(study.given), ratio=ratio, **values)


def scheme_name(one: Scheme, lang: Lang) -> str:
    """A way to choose scales."""
    name = say(TEXTS, one.granularity, lang)
    return name if one.is_symmetric else say(TEXTS, "asymmetric", lang, name=name)


def message_of(study: Study, lang: Lang) -> str:
    """Why clipping matters here."""
    own, tensor = study.own, study.of("tensor")
    assert own is not None and tensor is not None
    values = {"own": number(own.rel_l2), "better": number(tensor.rel_l2)}
    return say(TEXTS, "message", lang, clipped=clipped_text(study, lang), **values)


def best_of(study: Study) -> Scheme:
    """The way that leaves the least error, of those that an int8 product can have."""
    usable = [s for s in study.schemes if s.granularity in ("tensor", "token", "smooth")]
    if all(s.product_rel_l2 is not None for s in usable):
        return min(usable, key=lambda s: s.product_rel_l2 or 0.0)
    return min((s for s in usable if s.granularity != "smooth"), key=lambda s: s.rel_l2)


def next_of(study: Study, lang: Lang) -> str:
    """What to do about a scale that clips."""
    best = best_of(study)
    error = best.rel_l2 if best.product_rel_l2 is None else best.product_rel_l2
    values = {"needed": number(study.needed), "best": scheme_name(best, lang), "error": number(error)}
    return say(TEXTS, "next", lang, **values)


def figures_of(study: Study) -> dict[str, Any]:
    """The study for programs."""
    figures: dict[str, Any] = {"absmax": study.absmax, "scale_needed": study.needed}
    if study.given is not None:
        figures["scale"] = study.given
    if study.own is not None:
        figures |= {"n_clipped": study.own.n_clipped, "clipped_ratio": study.own.clipped_ratio}
    for one in study.schemes:
        key = one.granularity if one.is_symmetric else f"{one.granularity}_asymmetric"
        figures[f"rel_l2_{key}"] = one.rel_l2
        if one.product_rel_l2 is not None:
            figures[f"product_rel_l2_{key}"] = one.product_rel_l2
    for word, places in (("channels", study.channels), ("tokens", study.tokens)):
        if places:
            figures[f"outlier_{word}"] = [one.place for one in places]
    return figures


def _rows(study: Study, lang: Lang) -> list[list[str]]:
    has_products = any(one.product_rel_l2 is not None for one in study.schemes)
    heads = ["scale", "size", "clipped", "error", "largest", *(["product"] if has_products else [])]
    rows = [["  " + say(TEXTS, "column-scale", lang), *(say(TEXTS, f"column-{h}", lang) for h in heads[1:])]]
    for one in study.schemes:
        size = number(one.scale_min)
        if one.scale_max > one.scale_min:
            size += f" - {number(one.scale_max)}"
        cells = [f"  {scheme_name(one, lang)}", size, percent_text(100 * one.clipped_ratio)]
        cells += [number(one.rel_l2), number(one.max_abs_error)]
        if has_products:
            cells.append("" if one.product_rel_l2 is None else number(one.product_rel_l2))
        rows.append(cells)
    return rows


def _outliers(key: str, found: tuple[Outlier, ...], lang: Lang) -> list[str]:
    if not found:
        return []
    places = ", ".join(
        say(TEXTS, "place", lang, place=one.place, absmax=number(one.absmax), ratio=number(one.ratio))
        for one in found
    )
    return [say(TEXTS, key, lang, places=places)]
