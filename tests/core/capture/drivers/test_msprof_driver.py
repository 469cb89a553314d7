"""msprof and msprof --dynamic: command lines by their documents, sessions made by a double."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.driver import RAW, Ended
from npulse.core.capture.drivers import driver_of, msprof
from npulse.core.capture.drivers.msprof import MsProf, form_of
from npulse.core.capture.drivers.msprof_dynamic import MsProfDynamic
from npulse.core.errors import UsageError

from .running import AT_WORK, WORKS_ON, ask, finish, program, run


def plan_of(tmp_path: Path, *command: str, **more: Any) -> tuple[str, ...]:
    return MsProf().plan(ask("performance", tmp_path, command, **more), tmp_path / "round").argv


def test_it_is_the_usual_tool() -> None:
    assert driver_of("performance", None).id == "msprof"


def test_the_program_stands_where_this_release_wants_it(tmp_path: Path) -> None:
    output = f"--output={tmp_path}/round/raw"
    assert plan_of(tmp_path, "./infer", "-n", "3") == ("msprof", output, "./infer", "-n", "3")
    old = plan_of(tmp_path, "./infer", "-n", "3", scenario="old")
    assert old == ("msprof", "--application=./infer -n 3", output)
    # without an answer of the tool, and as asked for
    alone = ask("performance", tmp_path, ["./infer"], environment={"PATH": "/nowhere"})
    assert form_of(alone)[0] == "positional"
    asked = plan_of(tmp_path, "./infer", settings={"form": "application"})
    assert asked == ("msprof", "--application=./infer", output)


@pytest.mark.parametrize(
    ("level", "options"),
    [
        (None, ()),
        ("0", ("--task-time=l0",)),
        ("1", ("--task-time=l1",)),
        ("2", ("--task-time=l1", "--ai-core=on", "--aic-metrics=PipeUtilization")),
        ("3", ("--task-time=l1", "--ai-core=on", "--aic-metrics=PipeUtilization", "--instr-profiling=on")),
        ("l2", ("--task-time=l2",)),
    ],
)
def test_levels_of_the_documents(tmp_path: Path, level: str | None, options: tuple[str, ...]) -> None:
    request = ask("performance", tmp_path, ["./infer"], level=level)
    plan = MsProf().plan(request, tmp_path / "round")
    assert plan.argv == ("msprof", f"--output={tmp_path}/round/raw", *options, "./infer")
    is_mapped = any("is no switch of msprof" in en for en, _ in plan.notes)
    assert is_mapped == (level in ("0", "1", "2", "3"))


def test_settings_stand_before_the_level(tmp_path: Path) -> None:
    settings = {"aic-metrics": "Memory", "storage-limit": "200MB", "stop-wait": "90"}
    request = ask("performance", tmp_path, ["./infer"], level="2", settings=settings, extra=("--l2=on",))
    plan = MsProf().plan(request, tmp_path / "round")
    assert plan.argv == (
        *("msprof", f"--output={tmp_path}/round/raw", "--task-time=l1", "--ai-core=on"),
        *("--aic-metrics=Memory", "--storage-limit=200MB", "--l2=on", "./infer"),
    )
    steps = [(step.send, step.wait_s) for step in plan.stop]
    assert steps == [(signal.SIGINT, 90.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)]


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"output": "/elsewhere"}, {}),
        ({"pid": "7"}, {}),
        ({"storage-limit": "199MB"}, {}),
        ({"aic-freq": "101"}, {}),
        ({"task-time": "l4"}, {}),
        ({"form": "old"}, {}),
        ({"stop-wait": "soon"}, {}),
        ({"stop-wait": "0"}, {}),
        ({"a b": "1"}, {}),
        ({}, {"level": "4"}),
        ({}, {"step": "5-10"}),
        ({}, {"rank": "0"}),
        ({}, {"pid": 77}),
        ({}, {"names": ("add",)}),
    ],
)
def test_what_it_does_not_have_is_refused(
    tmp_path: Path, settings: dict[str, str], more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        MsProf().check(ask("performance", tmp_path, ["./infer"], settings=settings, **more))


def test_arguments_with_blanks_and_an_old_release(tmp_path: Path) -> None:
    request = ask("performance", tmp_path, ["./infer", "two words"], scenario="old")
    (warned,) = MsProf().preflight(request)
    assert warned.rule == "capture.words-with-blanks"
    assert MsProf().preflight(ask("performance", tmp_path, ["./infer", "two words"])) == ()


def test_a_help_that_hangs_is_given_up_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    held = tmp_path / "held"
    os.mkfifo(held)
    tool = tools / "msprof"
    tool.write_text(f"#!/bin/sh\nexec 3> {held}\necho begun >&3\nsleep 600 &\nwait\n")
    tool.chmod(0o755)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(msprof, "HELP_TIMEOUT_S", 0.5)
    request = ask("performance", tmp_path, ["./op"], environment={"PATH": f"{tools}:{os.environ['PATH']}"})
    form, why = form_of(request)
    assert form == "positional" and "no answer" in why[0]
    while select.select([reader], [], [], 30.0)[0] and os.read(reader, 100):
        continue
    is_at_end = bool(select.select([reader], [], [], 0.0)[0])
    os.close(reader)
    assert is_at_end, "a process of the tool still holds it"


def test_a_whole_session(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program())
    ended = run(driver, request, folder)
    recorded = driver.recorded(request, folder, ended)
    assert (ended.exit_status, recorded.outcome, recorded.n_operators) == (0, "recorded", 3)
    assert (recorded.ranks, recorded.found["prof.op_summary"], recorded.warnings) == ((0,), 1, ())
    assert driver.finish(request, folder, ended) is None
    figures = driver.figures(folder / RAW)
    assert (figures["n_sessions"], figures["n_exported"], figures["n_open_slices"]) == (1, 1, 0)


def test_ctrl_c_still_exports(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, WORKS_ON)
    ended = run(driver, request, folder, until=AT_WORK, stop=(signal.SIGINT,), stopped_by="user")
    recorded = driver.recorded(request, folder, ended)
    assert (ended.exit_status, recorded.outcome, recorded.n_operators) == (0, "recorded", 3)


def test_a_killed_collection_is_raw_until_it_is_exported(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, WORKS_ON, scenario="hang")
    stop = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    ended = run(driver, request, folder, until=AT_WORK, stop=stop, stopped_by="timeout")
    (session,) = (folder / RAW).glob("PROF_*")
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.n_operators) == ("incomplete", None)
    assert session.name in recorded.why[0] and "mindstudio_profiler_output is missing" in recorded.why[0]
    assert recorded.warnings[0][0].startswith("2 slices of raw data have no .done")

    plan = driver.finish(request, folder, ended)
    assert plan is not None and plan.argv == ("msprof", "--export=on", f"--output={session}")
    healthy = replace(request, environment={**request.environment, "NPULSE_DOUBLE": "whole"})
    exported = finish(driver, healthy, folder, ended)
    assert exported is not None and exported.exit_status == 0
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.n_operators) == ("incomplete", 3), "it was cut all the same"


def test_an_export_that_was_left_out_is_made_up_for(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario="no-export")
    ended = run(driver, request, folder)
    assert ended.exit_status == 0
    assert driver.recorded(request, folder, ended).outcome == "incomplete"
    finish(driver, request, folder, ended)
    assert driver.recorded(request, folder, ended).outcome == "recorded"


def test_an_export_that_fails(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario="export-fails")
    ended = run(driver, request, folder)
    finish(driver, request, folder, ended)
    recorded = driver.recorded(request, folder, ended)
    assert recorded.outcome == "incomplete" and "msprof --export=on" in recorded.next_step[0]
    assert recorded.warnings[0][0] == "msprof failed (exit code 255): [ERROR] the data cannot be parsed"


@pytest.mark.parametrize(
    ("scenario", "status", "words"),
    [
        ("nothing", 255, ("exit code 255", "no data was collected")),
        ("unsupported", 254, ("does not support", "not supported")),
    ],
)
def test_nothing(tmp_path: Path, scenario: str, status: int, words: tuple[str, ...]) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario=scenario)
    ended = run(driver, request, folder)
    recorded = driver.recorded(request, folder, ended)
    assert (ended.exit_status, recorded.outcome) == (status, "nothing")
    assert all(word in recorded.why[0] for word in words)


def test_a_session_without_operators_is_nothing(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario="no-operators")
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.n_operators) == ("nothing", 0)


def test_a_program_that_fails_is_a_warning(tmp_path: Path) -> None:
    driver, folder = MsProf(), tmp_path / "round"
    request = ask("performance", tmp_path, program("import sys; sys.exit(9)"))
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.outcome == "recorded" and "code 9" in recorded.warnings[0][0]


def test_a_result_elsewhere_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "round"
    (folder / RAW).mkdir(parents=True)
    console = folder / "console.log"
    console.write_text("[INFO] Process profiling data complete. Data is saved in /root/app/PROF_1\n")
    request = ask("performance", tmp_path, program())
    recorded = MsProf().recorded(request, folder, Ended(0, None, "", False, console))
    assert recorded.outcome == "nothing" and "/root/app/PROF_1" in recorded.warnings[0][0]


@pytest.mark.real
def test_a_folder_that_was_never_parsed(shared: Path, tmp_path: Path) -> None:
    """Rank 0, device 0, what is missing and how to parse it; nothing is started by looking at it."""
    folder = tmp_path / "round"
    shutil.copytree(shared / "cases" / "C58", folder / RAW)
    console = folder / "console.log"
    console.write_text("")
    request = ask("performance", tmp_path, program())
    for driver in (MsProf(), MsProfDynamic(), driver_of("performance", "torch-profiler")):
        recorded = driver.recorded(request, folder, Ended(0, None, "", False, console))
        assert (recorded.outcome, recorded.ranks) == ("incomplete", (0,))
        assert "raw profiler data, not parsed" in recorded.why[0]
        assert (
            "rank 0, device 0" in recorded.why[0] and "ASCEND_PROFILER_OUTPUT is missing" in recorded.why[0]
        )
        assert "analyse(" in recorded.next_step[0]
    assert sorted(path.name for path in (folder / RAW).iterdir()) == sorted(
        path.name for path in (shared / "cases" / "C58").iterdir()
    )
    assert MsProf().finish(request, folder, Ended(0, None, "", False, console)) is None


# ---- dynamic ----


def test_dynamic_command_lines(tmp_path: Path) -> None:
    driver = MsProfDynamic()
    launched = driver.plan(ask("performance", tmp_path, ["./serve"], level="2"), tmp_path / "round")
    assert launched.argv == (
        *("msprof", "--dynamic=on", f"--output={tmp_path}/round/raw", "--task-time=l1", "--ai-core=on"),
        *("--aic-metrics=PipeUtilization", "./serve"),
    )
    attached = driver.plan(ask("performance", tmp_path, pid=4711), tmp_path / "round")
    assert attached.argv == ("msprof", "--dynamic=on", "--pid=4711", f"--output={tmp_path}/round/raw")
    assert attached.first_lines == ("start",)
    sent = [step.send for step in attached.stop]
    assert sent == ["stop", "quit", signal.SIGTERM, signal.SIGKILL]
    waiting = driver.plan(ask("performance", tmp_path, pid=4711, settings={"paused": "yes"}), tmp_path)
    assert waiting.first_lines == ()


@pytest.mark.parametrize(
    ("command", "more"),
    [(["./op"], {"pid": 9}), ([], {}), ([], {"pid": 1}), ([], {"pid": 9, "settings": {"paused": "maybe"}})],
)
def test_dynamic_refuses(tmp_path: Path, command: list[str], more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        MsProfDynamic().check(ask("performance", tmp_path, command, **more))


def test_a_target_that_was_not_started_for_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipe = subprocess.PIPE
    for environment, rules in (({}, ["capture.target-not-dynamic"]), ({"PROFILING_MODE": "dynamic"}, [])):
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, env={**os.environ, **environment}) as target:
            assert target.stdout is not None and target.stdout.readline() == b"\n", "it has its environment"
            found = MsProfDynamic().preflight(ask("performance", tmp_path, pid=target.pid))
            assert [one.rule for one in found] == rules
            target.communicate(b"")


def test_attach_record_and_leave_the_target_alone(tmp_path: Path) -> None:
    driver, folder = MsProfDynamic(), tmp_path / "round"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as target:
        request = ask("performance", tmp_path, pid=target.pid)
        on = [driver.switch(folder, False), driver.switch(folder, True)]
        assert on == [("stop",), ("start",)]
        lines = ("stop", "start", "stop", "quit")
        ended = run(driver, request, folder, until="start success", stop=lines, stopped_by="user")
        assert target.poll() is None
        target.communicate(b"\n")
        assert target.returncode == 0
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.n_operators) == ("recorded", 6)
    assert driver.figures(folder / RAW)["n_sessions"] == 2


def test_a_target_without_dynamic_profiling_records_nothing(tmp_path: Path) -> None:
    driver, folder = MsProfDynamic(), tmp_path / "round"
    request = ask("performance", tmp_path, program(), scenario="not-dynamic")
    ended = run(driver, request, folder, until="[ERROR]", stop=("stop", "quit"), stopped_by="user")
    recorded = driver.recorded(request, folder, ended)
    assert recorded.outcome == "nothing" and "never said that recording started" in recorded.why[0]
    assert "PROFILING_MODE=dynamic" in recorded.next_step[0]


def test_at_most_a_hundred_commands(tmp_path: Path) -> None:
    folder = tmp_path / "round"
    folder.mkdir()
    reply = "> dynamic profiling for pid 7 {} success\n"
    text = "".join(reply.format("start" if n % 2 == 0 else "stop") for n in range(99))
    (folder / "console.log").write_text(text)
    assert MsProfDynamic().switch(folder, False) == ("stop",)
    (folder / "console.log").write_text(text + reply.format("stop"))
    with pytest.raises(UsageError, match="100"):
        MsProfDynamic().switch(folder, True)
