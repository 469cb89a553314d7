"""Overflow through msprobe's own check: the task nan_check of 26.x, overflow_check of the versions before."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from npulse.core.errors import UsageError
from npulse.core.findings import Finding

from ..driver import Words
from ..request import CaptureRequest
from .dump_preflight import msprobe_version
from .overflow_statistics import OverflowStatistics


class NanCheck(OverflowStatistics):
    """The NPU itself tells which outputs hold NaN or Inf; level L1 only."""

    id = "nan-check"
    title: Words = ("msprobe's NaN check on the NPU", "msprobe 在 NPU 上的 NaN 检查")
    tasks = ("nan_check", "overflow_check")

    def settings_of(self, request: CaptureRequest) -> tuple[str, ...]:
        return (*super().settings_of(request), "overflow_nums")

    def check(self, request: CaptureRequest) -> None:
        if request.level not in (None, "L1"):
            raise UsageError(f"nan-check works at level L1 only, not {request.level}")
        super().check(request)

    def config(self, request: CaptureRequest, raw: Path) -> dict[str, Any]:
        from dataclasses import replace

        task = request.settings.get("task") or task_of(request)
        settings = {k: v for k, v in request.settings.items() if k not in ("task", "overflow_nums")}
        settings["task"] = task
        number = request.settings.get("overflow_nums", "-1" if task == "overflow_check" else "")
        if number and not re.fullmatch(r"-?\d{1,9}", number):
            raise UsageError(f"overflow_nums is a number, -1 for all, not '{number}'")
        wanted = {"overflow_nums": int(number)} if number and task == "overflow_check" else {}
        return self.made(replace(request, settings=settings), raw, **wanted)

    def keeps_tensors(self, request: CaptureRequest) -> bool:
        return False

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        from .dump_preflight import dump_preflight

        return dump_preflight(request, needs_npu=True)


def task_of(request: CaptureRequest) -> str:
    """By the version of msprobe: told, or asked of the command's Python; the newest where nobody knows."""
    version = request.settings.get("msprobe_version") or msprobe_version(request)
    first = version.partition(".")[0]
    return "overflow_check" if first.isdecimal() and int(first) <= 8 else "nan_check"
