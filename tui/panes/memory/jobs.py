"""What the memory pane does in its worker: plain functions, no widget in sight."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..instead import Nothing

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.memory.analyse import Memory
    from npulse.core.run.model import Run

    from ..job_pane import JobTools


def read_round(run: Run, round_name: str, tools: JobTools, *, options: AnalysisOptions) -> None:
    """Read the logs of the round; the sites so far are shown while it goes on."""
    from dataclasses import replace

    from npulse.core.memory.run_report import look, selections
    from npulse.core.memory.view import memory_view

    asked = replace(options, lang=tools.lang, round_name=round_name)
    chosen = selections(run, asked)
    if not chosen:
        tools.show(Nothing(tools.lang))
        return

    def show(found: Memory) -> None:
        tools.show(memory_view(found, tools.lang))

    show(
        look(
            run,
            chosen[-1],
            asked,
            progress=tools.progress,
            is_cancelled=tools.is_cancelled,
            on_update=show,
        )
    )


def folders_in(text: str) -> tuple[Path, ...]:
    """The folders that a line names, parted by ":" as in PATH; "~" is the home."""
    names = (part.strip() for part in text.split(os.pathsep))
    return tuple(dict.fromkeys(Path(name).expanduser() for name in names if name))


def first_that_is_none(folders: tuple[Path, ...]) -> Path | None:
    """The first that is no folder; None where all are. Cost: looks at the disk."""
    return next((folder for folder in folders if not os.path.isdir(folder)), None)
