"""Overflow through msprobe's statistics: NaN and Inf of every operator, with as many tensors as wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Figures

from ..driver import RAW, Ended, Plan, Recorded, Words
from ..request import CaptureRequest, Kind
from .dumped import recorded_dumps
from .msprobe import SETTINGS, Msprobe
from .overflow_common import FIRST_ANOMALY, MODES, Watch, has_anomaly, look_once, mode_environment, mode_notes
from .retro import Retro, retro_figures
from .texts_dump import words


class OverflowStatistics(Msprobe):
    """The usual one: works with every version and device, and tells Inf and NaN by Max and Min.

    With task tensor only the tensors of the first anomaly and of the `retro` operators before it are kept:
    `wants_stop` and `finish` remove the others, of this round alone.
    """

    id = "statistics"
    kind: Kind = "overflow"
    title: Words = ("NaN and Inf in msprobe's statistics", "msprobe 统计量中的 NaN 和 Inf")
    tasks = ("statistics", "tensor")

    def __init__(self) -> None:
        self._watch = Watch()
        self._retro = Retro()

    def settings_of(self, request: CaptureRequest) -> tuple[str, ...]:
        return (*SETTINGS, *MODES)

    def check(self, request: CaptureRequest) -> None:
        super().check(request)
        mode_environment(request)
        task = request.settings.get("task")
        if task is not None and task not in self.tasks:
            raise UsageError(
                f"{self.id} has no task '{task}'", hint="tasks: " + ", ".join(self.tasks) + "; see --tool"
            )
        if request.retro < 0:
            raise UsageError(f"retro is a number of operators, not {request.retro}")

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        plan = super().plan(request, round_folder)
        modes = mode_environment(request)
        notes = [*plan.notes, *mode_notes(request, modes)]
        if self.keeps_tensors(request):
            notes.append(words("retro", n=request.retro))
        return replace(plan, environment={**plan.environment, **modes}, notes=tuple(notes))

    def keeps_tensors(self, request: CaptureRequest) -> bool:
        return request.settings.get("task", self.task) == "tensor"

    def wants_stop(self, request: CaptureRequest, raw: Path) -> str:
        if not (request.stop_at_first or self.keeps_tensors(request)) or not self._watch.is_due():
            return ""
        found = self._watch.look(raw)
        if found is None:
            return ""
        if self.keeps_tensors(request):
            self._retro.thin_out(found, request.retro, raw)
        return FIRST_ANOMALY if request.stop_at_first and has_anomaly(found) else ""

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> None:
        """No second command; what a last look shows is thinned out as well."""
        raw = round_folder / RAW
        if self.keeps_tensors(request):
            found = self._watch.look(raw)
            if found is not None:
                self._retro.thin_out(found, request.retro, raw, is_last=True)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        recorded = recorded_dumps(request, round_folder, ended)
        found = look_once(round_folder / RAW)
        is_bad = found is not None and has_anomaly(found)
        return replace(recorded, is_failure=is_bad or recorded.is_failure)

    def figures(self, raw: Path) -> Figures:
        return retro_figures(raw)
