"""What the performance pane does in its worker: plain functions, no widget in sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..instead import Nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from npulse.core.analysis import AnalysisOptions
    from npulse.core.performance.files import FileTable
    from npulse.core.performance.found import Performance
    from npulse.core.performance.table import TableKind
    from npulse.core.progress import IsCancelled
    from npulse.core.run.model import Artifact, Run

    from ..job_pane import JobTools


def read_round(
    run: Run,
    round_name: str,
    tools: JobTools,
    *,
    options: AnalysisOptions,
    kind: Callable[[], TableKind | None] = lambda: None,
    against: str | None = None,
) -> None:
    """Analyse the profiles of the round; tables are shown before the timelines are read.

    kind: the table to show, asked when one is made. against: another round to compare with, in place of the
    one before.
    """
    from dataclasses import replace

    from npulse.core.performance.run_report import look, selections
    from npulse.core.performance.view import performance_view

    asked = replace(options, lang=tools.lang, round_name=round_name)
    chosen = selections(run, asked)
    if not chosen:
        tools.show(Nothing(tools.lang))
        return
    selection = chosen[-1]
    if against is not None:
        others = [one for one in selections(run, replace(asked, round_name=None)) if one.round == against]
        selection = replace(selection, earlier=tuple((one.round, one.artifacts) for one in others))

    def show(found: Performance) -> None:
        tools.show(performance_view(found, tools.lang, kind()))

    show(
        look(
            run,
            selection,
            asked,
            progress=tools.progress,
            is_cancelled=tools.is_cancelled,
            on_update=show,
        )
    )


def read_file(run: Run, artifact: Artifact, *, is_cancelled: IsCancelled) -> FileTable:
    """One of the round's other tables. Raises InputError, Cancelled."""
    from npulse.core.performance.files import read_file_table

    root = run.path if run.path.is_dir() else run.path.parent
    return read_file_table(artifact, root, is_cancelled=is_cancelled)
