"""What the device pane does in its workers: plain functions, no widget in sight."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from npulse.core.text import Lang

from ..instead import Nothing

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.device.live import LiveDevices
    from npulse.core.device.view import DeviceView
    from npulse.core.progress import IsCancelled
    from npulse.core.run.model import Run

    from ..job_pane import JobTools


def read_round(run: Run, round_name: str, tools: JobTools, *, options: AnalysisOptions) -> None:
    """What the files and the manifest of a round say of cards."""
    from npulse.core.device.run_report import look, selections
    from npulse.core.device.view import device_view

    asked = replace(options, lang=tools.lang, round_name=round_name)
    chosen = selections(run, asked)
    if not chosen:
        tools.show(Nothing(tools.lang))
        return
    found = look(run, chosen[-1], asked, progress=tools.progress, is_cancelled=tools.is_cancelled)
    tools.show(device_view(found, tools.lang))


def poll(live: LiveDevices, lang: Lang, is_cancelled: IsCancelled) -> tuple[DeviceView, float]:
    """The cards of this machine now, with the history of all polls, and how long it took (s). Cancelled."""
    from npulse.core.device.view import device_view

    began_s = monotonic()
    found = device_view(live.look(is_cancelled=is_cancelled), lang)
    return found, monotonic() - began_s
