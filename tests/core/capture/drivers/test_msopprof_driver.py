"""msOpProf: command lines by its documents; 0 although nothing was profiled; two Ctrl-C."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.driver import RAW
from npulse.core.capture.drivers.msopprof import MsOpProf
from npulse.core.errors import UsageError

from .running import AT_WORK, DOUBLES, WORKS_ON, ask, program, run


def plan_of(tmp_path: Path, *command: str, **more: Any) -> tuple[str, ...]:
    return MsOpProf().plan(ask("performance", tmp_path, command, **more), tmp_path / "round").argv


def test_command_lines(tmp_path: Path) -> None:
    output = f"--output={tmp_path}/round/raw"
    assert plan_of(tmp_path, "./run_add") == ("msopprof", output, "./run_add")
    settings = {"launch-count": "5", "warm-up": "0", "replay-mode": "application", "kill": "on"}
    argv = plan_of(tmp_path, "./run_add", settings=settings, names=("add", "abs*"), level="2")
    assert argv == (
        *("msopprof", output, "--launch-count=5", "--warm-up=0", "--replay-mode=application", "--kill=on"),
        *("--kernel-name=add|abs*", "--aic-metrics=Default", "./run_add"),
    )
    simulated = {"soc-version": "Ascend910B3", "timeout": "60"}
    argv = plan_of(tmp_path, "./run_add", settings=simulated, level="3", names=("add",))
    assert argv == (
        *("msopprof", "simulator", "--soc-version=Ascend910B3", output),
        *("--timeout=60", "--kernel-name=add", "./run_add"),
    )


@pytest.mark.parametrize(
    ("level", "metrics"), [("0", "BasicInfo"), ("2", "Default"), ("3", "TimelineDetail")]
)
def test_levels_of_the_documents(tmp_path: Path, level: str, metrics: str) -> None:
    output = f"--output={tmp_path}/round/raw"
    argv = plan_of(tmp_path, "./run_add", level=level)
    assert argv == ("msopprof", output, f"--aic-metrics={metrics}", "./run_add")


def test_the_old_name_where_only_that_is_there(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    os.symlink(DOUBLES / "msprof", tools / "msprof")
    argv = plan_of(tmp_path, "./run_add", environment={"PATH": str(tools)})
    assert argv == ("msprof", "op", f"--output={tmp_path}/round/raw", "./run_add")


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"launch-count": "0"}, {}),
        ({"launch-count": "5001"}, {}),
        ({"launch-skip-before-match": "1001"}, {}),
        ({"warm-up": "501"}, {}),
        ({"replay-mode": "range"}, {}),
        ({"replay-mode": "kernels"}, {}),
        ({"aic-metrics": "PMSampling"}, {}),
        ({"aic-metrics": "Memory", "soc-version": "Ascend910B3"}, {}),
        ({"soc-version": "910B3"}, {}),
        ({"timeout": "60"}, {}),
        ({"timeout": "2881", "soc-version": "Ascend910B3"}, {}),
        ({"core-id": "0,1"}, {}),
        ({"output": "/elsewhere"}, {}),
        ({}, {"level": "1"}),
        ({}, {"level": "l1"}),
        ({}, {"names": ("add custom",)}),
        ({}, {"step": "3"}),
        ({}, {"pid": 77}),
    ],
)
def test_what_it_does_not_have_is_refused(
    tmp_path: Path, settings: dict[str, str], more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        MsOpProf().check(ask("performance", tmp_path, ["./op"], settings=settings, **more))


@pytest.mark.parametrize(
    ("scenario", "settings", "outcome", "n_kernels"),
    [
        ("one", {}, "recorded", 1),
        ("several", {}, "recorded", 3),
        ("one", {"soc-version": "Ascend910B3"}, "recorded", 1),
        ("raw", {}, "incomplete", 0),
        ("nothing", {}, "nothing", 0),
    ],
)
def test_outcomes(
    tmp_path: Path, scenario: str, settings: dict[str, str], outcome: str, n_kernels: int
) -> None:
    driver, folder = MsOpProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario=scenario, settings=settings)
    ended = run(driver, request, folder)
    assert ended.exit_status == 0, "as the real tool does, also where nothing was profiled"
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.n_operators) == (outcome, n_kernels)
    assert bool(recorded.why[0]) == bool(recorded.next_step[1]) == (outcome != "recorded")
    if scenario == "nothing":
        assert "No kernel matches" in recorded.why[0]


def test_refused_arguments(tmp_path: Path) -> None:
    driver, folder = MsOpProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), extra=("--colour=on",))
    ended = run(driver, request, folder)
    recorded = driver.recorded(request, folder, ended)
    assert (ended.exit_status, recorded.outcome) == (255, "nothing")
    assert "--colour" in recorded.why[0]


def test_the_first_ctrl_c_still_writes_and_the_second_quits(tmp_path: Path) -> None:
    driver = MsOpProf()
    request = ask("performance", tmp_path, WORKS_ON)
    once = run(driver, request, tmp_path / "a", until=AT_WORK, stop=(signal.SIGINT,), stopped_by="user")
    assert driver.recorded(request, tmp_path / "a", once).outcome == "recorded"
    # ended before anything was written as tables
    stop = (signal.SIGKILL,)
    killed = run(driver, request, tmp_path / "b", until=AT_WORK, stop=stop, stopped_by="timeout")
    recorded = driver.recorded(request, tmp_path / "b", killed)
    assert (recorded.outcome, recorded.n_operators) == ("incomplete", 0)
    assert driver.figures(tmp_path / "b" / RAW) == {"n_kernels": 1, "n_replays": 1, "kernels": ["add_custom"]}


def test_preflight(tmp_path: Path) -> None:
    request = ask("performance", tmp_path, ["./op"], settings={"soc-version": "Ascend910B3"})
    (request.cwd / "Makefile").write_text("CC = bisheng\nFLAGS = -O0\n")
    rules = [one.rule for one in MsOpProf().preflight(request)]
    assert rules == ["capture.kernel-unoptimised", "capture.no-simulator"]
