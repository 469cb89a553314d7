"""All that is known of one row, as lines to read: what the detail has no room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npulse.core.text import Lang

from ...messages import tr
from ...widgets.wrap import wrap

if TYPE_CHECKING:
    from npulse.core.overflow.view import OverflowView


def evidence_lines(view: OverflowView, row: int, lang: Lang, width: int) -> list[str]:
    """Why, what to do, the figures, where they come from; long sentences broken at `width` cells."""
    detail, finding = view.detail(row, lang), view.finding(row, lang)
    lines = [detail.name, *wrap(finding.message or detail.headline, width)]
    next_step = finding.next_step or detail.next_step
    if next_step:
        lines += ["", *wrap(f"{tr('detail.next', lang)}: {next_step}", width)]
    lines += ["", *(f"{name} {value}" for name, value in detail.facts)]
    return [*lines, "", *view.where(row, lang)]
