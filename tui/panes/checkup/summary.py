"""The first lines of the check-up pane: the verdict and what to look at first; why, and the first finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.areas import area_title
from npulse.core.checkup.words import origin_text
from npulse.core.text import safe_text

from .columns import pane_key

if TYPE_CHECKING:
    from npulse.core.checkup.view import CheckUpView

    from ...glyphs import Glyphs

Tr = Callable[..., str]


def shown_lines(view: CheckUpView, tr: Tr, glyphs: Glyphs, is_ended: bool) -> list[str]:
    """Two lines: verdict and the pane to open first; why that one, with its first finding.

    is_ended: nothing more will come, though not all areas were looked at.
    """
    found, lang = view.found, view.lang
    separator = ", " if glyphs.is_ascii else " · "
    counted = [area for area in found.areas if area.is_counted]
    parts = []
    if found.first:
        key = pane_key(found.first)
        title = area_title(found.first, lang)
        parts.append(tr("checkup.first", area=f"{title} ({key})" if key else title))
    elif view.is_complete:
        parts.append(tr("checkup.well" if found.state == "pass" else "checkup.nothing-recorded"))
    bad = sum(area.state == found.state for area in counted)
    if counted and found.state != "pass":
        state = tr(f"checkup.n-{found.state}", n=bad, of=len(counted))
        parts.append(state)
    if not view.is_complete:
        title = area_title(view.asking, lang)
        parts.append(tr("checkup.not-asked" if is_ended else "checkup.asking", area=title))
    verdict = found.state.upper() if view.is_complete else tr("checkup.so-far")
    return [f"{verdict}  {separator.join(parts)}", _why(view, tr, glyphs, separator)]


def _why(view: CheckUpView, tr: Tr, glyphs: Glyphs, separator: str) -> str:
    found, lang = view.found, view.lang
    first = next((area for area in found.areas if area.area == found.first), None)
    if first is None:
        aside = [area_title(area.area, lang) for area in found.areas if not area.is_counted]
        return tr("checkup.aside", areas=", ".join(aside)) if aside and view.is_complete else ""
    told = [found.why_first]
    if first.origin is not None:
        told.insert(0, safe_text(origin_text(first.origin, lang), 400))
    elif first.missing:
        told.append(f"{tr('detail.next')}: {safe_text(first.next_step, 400)}")
    return f"{glyphs.severity(first.state)} {separator.join(told)}"
