"""What is at hand of a site's source, and why the rest is not: words for whoever tells of a site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npulse.core.text import Lang, say

from .excerpts import Excerpt
from .faults import Fault
from .figures import place_text, shown_name
from .places import Missing, built_of, user_frame, words_of
from .pool_advice import TOOL as POOL_TOOL
from .pool_advice import no_place_text
from .sites import Site

if TYPE_CHECKING:
    from .analyse import Memory

_SHOWN_CANDIDATES = 4
_SHOWN_PLACES = 4
_OF_ROOTS = frozenset(("not-found", "ambiguous", "outside-roots", "too-large", "line-past-end"))
"""Reasons that the source folders decide, not the log."""

TEXTS: dict[str, tuple[str, str]] = {
    "no-source": ("source of {place} not shown: {reason}", "未显示 {place} 的源码：{reason}"),
    "known": ("in {file} (line unknown){called}; ", "在 {file} 中（行号未知）{called}；"),
    "called": (", called from {place}", "，调用者为 {place}"),
    "candidates": (" ({files})", "（{files}）"),
    "more": ("{files}, and {n} more", "{files}，另有 {n} 个"),
    "comma": (", ", "、"),
}


def source_of(found: Memory, site: Site) -> str:
    """'file:line code' of the first place whose line is at hand: the path as logged where that is the file,
    else the file that was found in the source folders, since it lies elsewhere than where it was built.
    """
    for excerpt in found.excerpts.get(site.key, ()):
        code = marked_code(excerpt)
        if code is not None and excerpt.hit is not None:
            where = place_text(excerpt.frame)
            if excerpt.hit.how != "exact":
                where = f"{shown_name(str(excerpt.hit.path), 400)}:{excerpt.hit.line}"
            return f"{where} {code.strip()}"
    return ""


def marked_code(excerpt: Excerpt) -> str | None:
    """The text of the line that is meant; None where it is not at hand."""
    return next((text for number, text in excerpt.lines if number == excerpt.marked), None)


def excerpt_reason(excerpt: Excerpt) -> Missing | None:
    """Why the line that is meant is not at hand; None where it is."""
    return None if marked_code(excerpt) is not None else excerpt.missing or Missing("not-found")


def missing_words(site: Site, excerpt: Excerpt, lang: Lang) -> str:
    """Why an excerpt lacks its line and what would give it; "" where it has it."""
    missing = excerpt_reason(excerpt)
    return "" if missing is None else words_of(missing, lang, built_of(site.first))


def no_line_text(fault: Fault, missing: Missing, lang: Lang) -> str:
    """Why the log names no line for a fault, and what would give one."""
    if fault.tool == POOL_TOOL:
        return no_place_text(fault, lang)
    reason = words_of(missing, lang, built_of(fault))
    known = _known_of(fault, lang) if missing.reason == "line-zero" else ""
    return known + reason


def _known_of(fault: Fault, lang: Lang) -> str:
    """Of a place without a line: its file, and the nearest line that leads to it; "" if no file is told."""
    frames = fault.access.frames
    at = user_frame(frames)
    if at is None or not frames[at].has_file or frames[at].has_line:
        return ""
    caller = next((frame for frame in frames[at + 1 :] if frame.has_line), None)
    called = "" if caller is None else say(TEXTS, "called", lang, place=shown_name(place_text(caller)))
    return say(TEXTS, "known", lang, file=shown_name(frames[at].file), called=called)


def missing_excerpt_text(found: Memory, site: Site, lang: Lang) -> str:
    """Why places of a site that the log does name are not shown in their source, each with the files that may
    be meant; "" where all are shown, or where no source folders were given (that is told once).
    """
    parts = list(_reasons(found, site, lang))
    return ("；" if lang == "zh" else "; ").join(parts)


def _reasons(found: Memory, site: Site, lang: Lang) -> Iterator[str]:
    for excerpt in found.excerpts.get(site.key, ())[:_SHOWN_PLACES]:
        missing = excerpt_reason(excerpt)
        if missing is None or missing.reason not in _OF_ROOTS:
            continue
        reason = words_of(missing, lang, built_of(site.first)) + _candidates(missing, lang)
        yield say(TEXTS, "no-source", lang, place=shown_name(place_text(excerpt.frame)), reason=reason)


def _candidates(missing: Missing, lang: Lang) -> str:
    if not missing.candidates:
        return ""
    shown = [shown_name(str(path), 400) for path in missing.candidates[:_SHOWN_CANDIDATES]]
    files = say(TEXTS, "comma", lang).join(shown)
    n_more = missing.n_candidates - len(shown)
    if n_more > 0:
        files = say(TEXTS, "more", lang, files=files, n=f"{n_more:,}")
    return say(TEXTS, "candidates", lang, files=files)
