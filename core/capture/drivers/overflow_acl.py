"""Overflow records of the device itself: acl.json with dump_debug on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from npulse.core.errors import UsageError

from ..driver import Ended, Plan, SizeBasis, Words
from ..request import CaptureRequest, Kind
from .acl_dump import AclDump
from .dumped import Why, is_program_failure
from .graph_files import GraphFiles
from .overflow_common import FIRST_ANOMALY, MODES, Watch, mode_environment, mode_notes
from .texts_dump import words


class AclOverflow(AclDump):
    """A record and the operator's tensors for each overflow; where nothing overflows nothing is written."""

    id = "acl-overflow"
    kind: Kind = "overflow"
    title: Words = ("overflow records of the device", "设备溢出记录")
    known: ClassVar[tuple[str, ...]] = ("dump_mode", *MODES)

    def __init__(self) -> None:
        self._watch = Watch()

    def check(self, request: CaptureRequest) -> None:
        if not request.command:
            raise UsageError("overflow records need a program", hint="give its command behind --")
        if request.names or request.model or request.level:
            raise UsageError(
                "dump_debug watches every operator: no list, model or level goes with it",
                hint="--tool statistics takes a list",
            )
        if request.settings.get("product") == "950":
            raise UsageError(
                "950 writes no overflow records", hint="--tool statistics finds NaN and Inf there"
            )
        super().check(request)
        mode_environment(request)

    def config(self, request: CaptureRequest, raw: Path) -> dict[str, Any]:
        from npulse.core.config import make

        return make.acl_config(
            dump_path=str(raw),
            dump_debug=True,
            dump_step=request.step,
            dump_mode=request.settings.get("dump_mode", "all"),
            lang=request.lang,
        )

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return None  # as much as overflows

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return SizeBasis(words("size-overflows"))

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        plan = super().plan(request, round_folder)
        modes = mode_environment(request)
        notes = (*plan.notes, words("acl-overflow"), *mode_notes(request, modes))
        return replace(plan, environment={**plan.environment, **modes}, notes=notes)

    def wants_stop(self, request: CaptureRequest, raw: Path) -> str:
        if not request.stop_at_first or not self._watch.is_due():
            return ""
        return FIRST_ANOMALY if self._watch.is_anomaly(raw) else ""

    def is_fault(self, found: GraphFiles, ended: Ended) -> bool:
        return found.n_records > 0 or is_program_failure(ended)

    def why_selected_nothing(self, request: CaptureRequest) -> Why:
        """The dump was on and nothing appeared: that is how a run without overflow looks."""
        return words("no-overflow"), words("no-overflow-next")
