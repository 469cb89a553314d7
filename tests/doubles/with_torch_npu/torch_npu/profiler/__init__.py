"""Plays torch_npu.profiler: the schedule as documented, a *_ascend_pt folder for each recorded turn.

NPULSE_DOUBLE: refuses (the profiler cannot be started).
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from .profiler import analyse

_numbers = count()


class ProfilerLevel:
    Level_none, Level0, Level1, Level2 = "Level_none", "Level0", "Level1", "Level2"


class AiCMetrics:
    AiCoreNone, PipeUtilization, Memory = "AiCoreNone", "ACL_AICORE_PIPE_UTILIZATION", "ACL_AICORE_MEMORY"


class ExportType:
    Text, Db = "text", "db"


class ProfilerActivity:
    CPU, NPU = "CPU", "NPU"


class _ExperimentalConfig:
    def __init__(self, **options: Any) -> None:
        if os.environ.get("NPULSE_DOUBLE") == "refuses":
            raise RuntimeError("the device is not available")
        self.options = options


def schedule(wait: int, active: int, warmup: int, repeat: int, skip_first: int) -> Callable[[int], str]:
    """torch's own: skip_first steps, then wait, warmup, active, `repeat` times."""

    def action(step: int) -> str:
        step -= skip_first
        turn, place = divmod(step, wait + warmup + active)
        if step < 0 or (repeat and turn >= repeat) or place < wait:
            return "none"
        if place < wait + warmup:
            return "warmup"
        return "save" if place == wait + warmup + active - 1 else "record"

    return action


def tensorboard_trace_handler(folder: str, *, analyse_flag: bool = True) -> Callable[[profile], None]:
    def handle(done: profile) -> None:
        stamp = time.strftime("%Y%m%d%H%M%S") + f"{next(_numbers):03d}"
        place = Path(folder) / f"{socket.gethostname()}_{os.getpid()}_{stamp}_ascend_pt"
        host = place / f"PROF_000001_{stamp}_{os.getpid():08d}ABCDEFGH" / "host"
        (host / "data").mkdir(parents=True)
        (host / "info.json").write_text(json.dumps({"pid": str(os.getpid()), "rank_id": 0}))
        (host / "start_info").write_text("{}")
        (host / "end_info").write_text("{}")
        (place / "FRAMEWORK").mkdir()
        (place / "FRAMEWORK" / "torch.op_range").write_bytes(b"\0" * 64)
        rank = int(os.environ.get("RANK", "0"))
        told = {"config": {"common_config": {"steps": done.steps}, **done.told}, "rank_id": rank}
        (place / f"profiler_info_{rank}.json").write_text(json.dumps(told))
        (place / "steps.txt").write_text(" ".join(map(str, done.steps)))
        if analyse_flag:
            analyse(str(place))

    return handle


class profile:
    def __init__(
        self, *, schedule: Callable[[int], str], on_trace_ready: Callable[[profile], None], **options: Any
    ) -> None:
        self._schedule, self._ready = schedule, on_trace_ready
        self._step = 0
        self.steps: list[int] = []
        self.told = {name: value for name, value in options.items() if isinstance(value, bool)}

    def start(self) -> None:
        self._begin_step()

    def _begin_step(self) -> None:
        if self._schedule(self._step) in ("record", "save"):
            self.steps.append(self._step)

    def step(self) -> None:
        if self._schedule(self._step) == "save":
            self._write()
        self._step += 1
        self._begin_step()

    def stop(self) -> None:
        if self.steps:
            self._write()

    def _write(self) -> None:
        self._ready(self)
        self.steps = []
