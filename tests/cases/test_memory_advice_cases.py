"""Small inputs from the field about memory: what is told of them, against values known to be right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from npulse.core.memory.advice import next_step, why
from npulse.core.memory.faults import Fault
from npulse.core.memory.hints import buffer_need
from npulse.core.memory.logs import FaultLog


def expected(case: Path) -> dict[str, Any]:
    """The checkable values of expect.md."""
    block = re.search(r"```json\n(.*?)```", (case / "expect.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    values: dict[str, Any] = json.loads(block[1])
    return values


def faults_of(path: Path) -> list[Fault]:
    batches = FaultLog(path).faults()
    return [fault for batch in batches for fault in batch]


def test_c40_bits_become_bytes_and_a_block_that_fits(shared: Path) -> None:
    case = shared / "cases" / "C40"
    want = expected(case)
    (fault,) = faults_of(case / "compile.log")
    figures = fault.figures
    need = buffer_need(figures["required_bits"], figures["available_bits"], figures["block_size"])
    assert need is not None and need.available_bytes is not None
    assert need.required_bytes == want["requires_bytes"]
    assert need.available_bytes == want["available_bytes"]
    assert need.available_bytes / 1024 == want["available_kib"]
    assert need.ratio == want["ratio"]
    assert need.fitting == want["block_size_that_fits_if_linear"]
    assert f"{want['requires_bytes']:,} bytes" in why(fault, "en") and "192 KiB" in why(fault, "zh")
    assert f"{want['block_size_that_fits_if_linear']:,}" in next_step(fault, "en")


def test_c38_the_kernel_is_told_and_the_python_line_is_not_trusted(shared: Path) -> None:
    case = shared / "cases" / "C38"
    root = expected(case)["root"]
    faults = faults_of(case / "serve.log")
    (exception,) = [fault for fault in faults if fault.kind == "aicore exception"]
    said = why(exception, "en")
    ids = f"device {root['device_id']}, stream {root['stream_id']}, task {root['task_id']}"
    for part in (root["kernel"], root["reason"], root["pc_offset"], root["ret_code"], ids):
        assert part in said
    late = [fault for fault in faults if fault.kind == "python error" and fault.figures["is_asynchronous"]]
    for fault in late:
        assert "ASCEND_LAUNCH_BLOCKING=1" in next_step(fault, "en")


def test_c35_misaligned_figures_and_c37_leaks(shared: Path) -> None:
    by_kind = {fault.kind: fault for fault in faults_of(shared / "cases" / "C35" / "memcheck.log")}
    odd = why(by_kind["misaligned access"], "en")
    assert "0xa is 10 bytes behind a boundary of 32 bytes" in odd and "21 bytes, is no multiple" in odd
    assert "block of" not in why(by_kind["illegal free"], "en")
    leaks = [f for f in faults_of(shared / "cases" / "C37" / "leak.log") if f.kind == "leak"]
    sizes = [fault.size_bytes or 0 for fault in leaks]
    assert sorted(sizes) == [320, 768, 4096]
    assert all(f"{size:,} bytes" in why(fault, "en") for size, fault in zip(sizes, leaks, strict=True))


def test_c33_and_c42_races_and_waiting_pipes(shared: Path) -> None:
    races = faults_of(shared / "cases" / "C33" / "racecheck.log")
    raw = next(fault for fault in races if fault.hazard == "RAW")
    assert "(RAW)" in why(raw, "en") and "cross-core" in next_step(raw, "en")
    waw = next(fault for fault in races if fault.hazard == "WAW")
    assert "SetFlag" in next_step(waw, "en")
    case = shared / "cases" / "C42"
    locked = [f for f in faults_of(case / "synccheck.log") if f.kind == "lock-up"]
    for n, fault in zip(expected(case)["pipes"], locked, strict=True):
        assert f"{n} pipe" in why(fault, "en")
    assert "PIPE_MTE2 WAIT_FLAG" in why(locked[0], "en")
