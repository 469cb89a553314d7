"""msMemScope: its command line; what it wrote is put there by hand."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from npulse.core.capture.driver import RAW, Ended
from npulse.core.capture.drivers.msmemscope import MsMemScope
from npulse.core.errors import UsageError

from .running import ask

HEADER = (
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),"
    "Call Stack(C)\n"
)
LEAK = (
    "====== ERROR: Detected memory leaks on device 0 ======\n"
    "Direct PTA leak of 2.000000 Mb(s) at 0x12c0c0013000 in kernel_3 at step 2.\n"
    "====== SUMMARY: 2.000000 Mb(s) leaked in 1 allocation(s) ======\n"
)


def ended(folder: Path, text: str = "", **more: object) -> Ended:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RAW).mkdir(exist_ok=True)
    console = folder / "console.log"
    console.write_text(text)
    is_killed = bool(more.get("is_killed"))
    return Ended(None if is_killed else 0, signal.SIGKILL if is_killed else None, "", is_killed, console)


def write_dump(folder: Path) -> None:
    place = folder / RAW / "msmemscope_77_20260801120000_ascend" / "device_0" / "dump"
    place.mkdir(parents=True)
    row = "0,SYSTEM,ACL_INIT,N/A,1,77,77,N/A,N/A,,,\n"
    (place / "memscope_dump_20260801120000.csv").write_text(HEADER + row)


def test_command_lines(tmp_path: Path) -> None:
    output = f"--output={tmp_path}/round/raw"
    request = ask("memory", tmp_path, ["python3", "train.py"], settings={"events": "alloc,free"})
    argv = MsMemScope().plan(request, tmp_path / "round").argv
    assert argv == (
        *("msmemscope", "--analysis=leaks", "--events=alloc,free", output, "--", "python3", "train.py"),
    )
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy(shutil.which("true") or "", tools / "msleaks")
    request = ask("memory", tmp_path, ["./op"], environment={"PATH": str(tools)})
    argv = MsMemScope().plan(request, tmp_path / "round").argv
    assert argv == ("msleaks", "--analysis=leaks", output, "--", "./op")


@pytest.mark.parametrize("settings", [{"steps": "1"}, {"output": "/elsewhere"}, {"level": "0 --x"}])
def test_what_it_does_not_take_is_refused(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        MsMemScope().check(ask("memory", tmp_path, ["./op"], settings=settings))


def test_outcomes(tmp_path: Path) -> None:
    driver, request = MsMemScope(), ask("memory", tmp_path, ["./op"])
    empty = driver.recorded(request, tmp_path / "a", ended(tmp_path / "a"))
    assert empty.outcome == "nothing" and empty.next_step[1]
    end = ended(tmp_path / "b", LEAK)
    write_dump(tmp_path / "b")
    leaky = driver.recorded(request, tmp_path / "b", end)
    assert (leaky.outcome, leaky.is_failure) == ("recorded", True)
    assert leaky.found == {"memscope.dump": 1, "leak": 1}
    end = ended(tmp_path / "c", is_killed=True)
    write_dump(tmp_path / "c")
    killed = driver.recorded(request, tmp_path / "c", end)
    assert (killed.outcome, killed.is_failure) == ("incomplete", False)
    assert os.listdir(tmp_path / "c") == ["raw", "console.log"] or len(os.listdir(tmp_path / "c")) == 2
