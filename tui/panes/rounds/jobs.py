"""What the rounds pane does in its workers: plain functions, no widget in sight."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from time import monotonic
from typing import TYPE_CHECKING

from npulse.core.text import Lang

from ...state import user_config_file
from ..instead import Nothing

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.progress import IsCancelled
    from npulse.core.rounds.story import Story
    from npulse.core.run.model import Run

    from ..job_pane import JobTools

PAUSE_S = 0.3
"""Between two stories that are shown while figures come in."""


def read_story(
    run: Run, tools: JobTools, *, options: AnalysisOptions, baseline: str = "", is_whole: bool = False
) -> None:
    """The rounds with their facts at once, then again with the figures of each further round.

    baseline: the round that the others are compared with.
    is_whole: only the end is shown, where figures of an earlier look stand on the screen.
    """
    from npulse.core.checkup.run_report import criteria_in_force, silences_of
    from npulse.core.gate import Gate
    from npulse.core.rounds.story import story
    from npulse.core.rounds.view import rounds_view

    if not run.artifacts:
        tools.show(Nothing(tools.lang))
        return

    shown_s = -PAUSE_S

    def show(found: Story) -> None:
        nonlocal shown_s
        if (
            not is_whole and monotonic() - shown_s >= PAUSE_S
        ):  # an archive has hundreds of rounds that take no time
            tools.show(rounds_view(found, tools.lang))
            shown_s = monotonic()

    criteria = criteria_in_force(None, user_config_file("criteria.toml"))
    asked = replace(options, lang=tools.lang)
    found = story(
        run,
        asked,
        criteria=criteria,
        prepare=Gate(date.today(), silences_of(criteria), lang=tools.lang).prepare,
        baseline=baseline,
        progress=tools.progress,
        is_cancelled=tools.is_cancelled,
        on_update=show,
    )
    tools.show(rounds_view(found, tools.lang))


def compare_lines(
    run: Run, before: str, after: str, options: AnalysisOptions, lang: Lang, is_cancelled: IsCancelled
) -> list[str]:
    """What `npulse diff` prints of two rounds. InputError, Cancelled."""
    from npulse.core.diff import diff
    from npulse.core.report import render

    asked = replace(options, lang=lang, earlier=False)
    found = diff(run.path, run.path, asked, rounds=(before, after), is_cancelled=is_cancelled)
    return "".join(render(found, "text", version="", lang=lang)).split("\n")
