"""What the check-up itself says of an area: criteria missed or not judged, figures not to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.areas import area_title
from npulse.core.criteria import AreaState, CriterionResult
from npulse.core.findings import Finding
from npulse.core.text import Lang, say

from .texts import TEXTS

AREA = "checkup"


def own_findings(area: AreaState, lang: Lang) -> Iterator[Finding]:
    """The findings of one area, missed criteria first; of an area that does not count none."""
    title = area_title(area.area, lang)
    if area.is_counted and not area.reports:
        message = say(TEXTS, "area-unknown", lang, area=title, missing=area.missing)
        yield Finding(AREA, "warning", f"{AREA}.not-judged", "unknown", area.area, message, area.next_step)
    elif area.is_counted:
        for one in area.criteria:
            if one.state in ("fail", "unknown"):  # what is incomplete is told by the problems of its area
                yield criterion_finding(one, lang, next_step=area.next_step, has_origin=bool(area.origin))
            elif one.set_aside is not None:
                yield one.set_aside
    if area.distrusted_by:
        why = say(TEXTS, f"distrust-{area.distrusted_by}", lang)
        message = say(TEXTS, "distrusted", lang, area=title, why=why)
        yield Finding(AREA, "note", f"{AREA}.distrusted", "suspect", area.area, message)


def criterion_finding(
    one: CriterionResult, lang: Lang, *, next_step: str = "", has_origin: bool = False
) -> Finding:
    """A criterion that is missed, or that could not be judged. has_origin: its area says what caused it."""
    is_missed = one.state == "fail"
    message = say(
        TEXTS,
        "criterion-missed" if is_missed else "criterion-unknown",
        lang,
        title=one.title[lang == "zh"],
        value=one.shown,
        needs=one.needs,
        why=one.why,
    ).rstrip()
    figures: dict[str, Any] = {"value": one.value, "needs": one.needs}
    if one.subject:
        figures["of"] = one.subject
    return Finding(
        area=AREA,
        severity="error" if is_missed else "warning",
        rule=f"{AREA}.criterion" if is_missed else f"{AREA}.not-judged",
        role="unknown" if not is_missed else "inherited" if has_origin else "origin",
        subject=one.id,
        message=message,
        next_step=one.next_step or next_step,
        figures=figures,
    )
