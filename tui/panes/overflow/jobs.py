"""What the overflow pane does in its worker: plain functions, no widget in sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..instead import Nothing

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.overflow.analyse import Overflow
    from npulse.core.run.model import Run

    from ..job_pane import JobTools


def look_through_round(
    run: Run, round_name: str, tools: JobTools, *, options: AnalysisOptions, saturation: bool | None
) -> None:
    """Look through the round; shown when the statistics are judged, and when the tensors are read."""
    from dataclasses import replace

    from npulse.core.overflow.run_report import look, selections
    from npulse.core.overflow.view import overflow_view

    asked = replace(options, lang=tools.lang, round_name=round_name)
    chosen = selections(run, asked)
    if not chosen:
        tools.show(Nothing(tools.lang))
        return
    golden = ", ".join(chosen[-1].golden)

    def show(found: Overflow) -> None:
        tools.show(overflow_view(found, tools.lang, golden=golden))

    show(
        look(
            run,
            chosen[-1],
            asked,
            saturation=saturation,
            progress=tools.progress,
            is_cancelled=tools.is_cancelled,
            on_update=show,
        )
    )
