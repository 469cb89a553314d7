"""What the check-up pane does in its worker: a plain function, no widget in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.criteria import CheckUp
    from npulse.core.run.model import Run
    from npulse.core.tails import Tails

    from ..job_pane import JobTools


def check_up_run(
    run: Run,
    index: int,
    tools: JobTools,
    *,
    options: AnalysisOptions,
    criteria_path: Path,
    tails_of: Callable[[str], Tails] | None = None,
    is_whole: bool = False,
) -> None:
    """The areas one after the other, each shown as soon as it is known, as things stood at round `index`.

    criteria_path: the user's criteria file, if it is there. tails_of: of a run that is followed, what was
    read for an area so far. is_whole: only the end is shown, where an earlier one stands on the screen.
    """
    from npulse.core.checkup.check import check_up, kept_facts_of
    from npulse.core.checkup.criterion import ORDER
    from npulse.core.checkup.run_report import criteria_in_force, silences_of
    from npulse.core.checkup.view import CheckUpView, check_up_view
    from npulse.core.gate import Gate

    criteria = criteria_in_force(None, criteria_path)
    gate = Gate(date.today(), silences_of(criteria), lang=tools.lang)
    facts = kept_facts_of(run, options.cache)

    def view(found: CheckUp, asking: str) -> CheckUpView:
        return check_up_view(
            found, tools.lang, facts=facts, criteria=criteria, prepare=gate.prepare, asking=asking
        )

    def show(found: CheckUp, asking: str) -> None:
        tools.show(view(found, asking))

    tails: Mapping[str, Tails] | None = None
    if tails_of is not None:
        tails = {area: tails_of(area) for area in ORDER}
        names = [artifact.path for artifact in run.artifacts]
        for one in tails.values():
            one.begin(names, run.path)
    found = check_up(
        replace(run, rounds=run.rounds[: index + 1]),
        replace(options, lang=tools.lang),
        criteria,
        facts=facts,
        tails=tails,
        prepare=gate.prepare,
        progress=tools.progress,
        is_cancelled=tools.is_cancelled,
        on_update=None if is_whole else show,
    )
    show(found, "")
