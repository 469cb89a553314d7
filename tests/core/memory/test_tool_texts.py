"""Compilers' messages and codes of guides as faults, and that files with nothing else are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.memory.advice import next_step, why
from npulse.core.memory.faults import Fault, Frame
from npulse.core.memory.logs import FaultLog, TextLog
from npulse.core.run.discover import discover

from .logs_by_hand import CLEAN, START


def fed(text: str) -> list[Fault]:
    log = TextLog("a.log")
    return [*log.feed(text.encode()), *log.finish()]


@pytest.mark.parametrize(("buffer", "space"), [("L0C", "L0C"), ("l0a", "L0A"), ("local.L0B", "L0B")])
def test_buffers_of_the_cube_by_their_own_names(buffer: str, space: str) -> None:
    (fault,) = fed(f"k.py:31:0: error: {buffer} overflow, requires 24 bits while 16 bits available!\n")
    assert (fault.access.space, fault.access.frames) == (space, (Frame("k.py", 31, None),))


def test_a_code_of_guides_is_a_warning_that_names_real_ones() -> None:
    first, second, third = fed(
        f"{START}E1001: size exceeds\n[E2003] UB overflow\nerror E3005: timeout\n{CLEAN}"
    )
    for fault, code in ((first, "E1001"), (second, "E2003"), (third, "E3005")):
        assert (fault.kind, fault.severity, fault.figures["code"]) == ("error code", "warning", code)
        assert "no tool prints it" in why(fault, "en") and "没有工具输出" in why(fault, "zh")
        assert "EE1001" in next_step(fault, "en") or "EP0001" in next_step(fault, "en")
    assert "size exceeds" in why(first, "en")


def test_such_a_code_in_a_traceback_keeps_the_line() -> None:
    (fault,) = fed(
        "Traceback (most recent call last):\n"
        '  File "/w/run.py", line 12, in main\n    step()\nRuntimeError: E2003: UB size is not enough\n'
    )
    assert (fault.kind, fault.figures["code"]) == ("error code", "E2003")
    assert [(frame.file, frame.line) for frame in fault.access.frames] == [("/w/run.py", 12)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("error: UB overflow, requires 250000 bytes while 196608 bytes available!", "compiler.log"),
        ("error: ub overflow, requires 2,457,600 bits while 1,572,864 bits available!", "compiler.log"),
        ("error: ub overflow, requires 3072256 bits while 1572864 bits avaliable!", "compiler.log"),
        ("error: Ub Overflow: requires 300 KiB, available 192 KiB", "compiler.log"),
        ("RuntimeError: Allocation exceed bound of memory tag:local.UB: need 2560000 bits", "compiler.log"),
        ("E0000: x: exceed bound of memory tag local.UB, (2097152 vs. 2031616 bits)", "compiler.log"),
        ("E1001: size of x exceeds", "runtime.console"),
        ("[ERROR] E2003: UB size is not enough", "runtime.console"),
        ("[E2003] UB overflow", "runtime.console"),
        ("ERROR: E3005 kernel timeout", "runtime.console"),
        ("E1001 02:38:42.269390 1 a.cc:4] first of October", None),
        ("the address 0xE1001: x", None),
        ("signed integer overflow: 1 + 1", None),
    ],
)
def test_a_log_with_nothing_else_is_found(tmp_path: Path, text: str, kind: str | None) -> None:
    (tmp_path / "out.log").write_text(f"grid BLOCK_M=128\n{text}\n")
    assert [artifact.kind for artifact in discover(tmp_path).artifacts] == ([] if kind is None else [kind])
    if kind is not None:
        log = FaultLog(tmp_path / "out.log", tmp_path)
        assert len([fault for batch in log.faults() for fault in batch]) == 1
