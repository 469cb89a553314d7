"""msSanitizer: command lines by its documents, outcomes by a double that always exits with 0."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from npulse.core.capture.driver import RAW, Ended
from npulse.core.capture.drivers import driver_of
from npulse.core.capture.drivers.mssanitizer import MsSanitizer, log_name
from npulse.core.errors import UsageError

from .running import AT_WORK, WORKS_ON, ask, program, run

FAULT_OF_APP = "import sys; sys.exit(3)"


def test_it_is_the_usual_tool() -> None:
    assert driver_of("memory", None).id == "mssanitizer"


def test_the_plain_command_line(tmp_path: Path) -> None:
    request = ask("memory", tmp_path, ["./run_add", "--n", "4"])
    plan = MsSanitizer().plan(request, tmp_path / "round")
    log = f"--log-file={tmp_path}/round/raw/mssanitizer.log"
    assert plan.argv == ("mssanitizer", "-t", "memcheck", log, "--", "./run_add", "--n", "4")
    # aclnn programs want this file; the debug log would lie outside the archive
    assert plan.environment == {"MSSANITIZER_ENABLE_DEBUG_LOG": None}
    (acl,) = plan.files
    assert json.loads(acl.text) == {"dump": {"dump_scene": "lite_exception"}}
    sent = [(step.send, step.wait_s) for step in plan.stop]
    ladder = [(signal.SIGINT, 15.0), (signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)]
    assert sent == ladder


def test_every_option_stands_as_the_tool_spells_it(tmp_path: Path) -> None:
    settings = {
        "checks": "memcheck,racecheck synccheck",
        "leak_check": "yes",
        "block-id": "200",
        "cache-size": "8192",
        "full-backtrace": "yes",
    }
    request = ask(
        "memory",
        tmp_path,
        ["python3", "train.py"],
        settings=settings,
        names=("*add_custom*",),
        extra=("--demangle=no",),
    )
    plan = MsSanitizer().plan(request, tmp_path / "round")
    assert plan.argv == (
        *("mssanitizer", "-t", "memcheck", "-t", "racecheck", "-t", "synccheck"),
        *("--leak-check=yes", "--block-id=200", "--cache-size=8192", "--full-backtrace=yes"),
        *("--kernel-name=add_custom", f"--log-file={tmp_path}/round/raw/mssanitizer.log"),
        *("--demangle=no", "--", "python3", "train.py"),
    )
    assert plan.environment == {
        "PYTORCH_NO_NPU_MEMORY_CACHING": "1",
        "TRITON_ENABLE_SANITIZER": "1",
        "TRITON_ALWAYS_COMPILE": "1",
        "MSSANITIZER_ENABLE_DEBUG_LOG": None,
    }


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"checks": "memchek"}, {}),
        ({"block-id": "201"}, {}),
        ({"block-id": "-1"}, {}),
        ({"cache-size": "0"}, {}),
        ({"cache-size": "8193"}, {}),
        ({"padding": "31"}, {}),
        ({"leak-check": "on"}, {}),
        ({"log-file": "/elsewhere.log"}, {}),
        ({"check-device-heap": "yes", "check-cann-heap": "yes"}, {}),
        ({"checks": "racecheck", "leak-check": "yes"}, {}),
        ({"check-cross-npu-races": "yes"}, {}),
        ({}, {"names": ("add", "mul")}),
        ({}, {"names": ("add custom",)}),
        ({}, {"rank": "0"}),
        ({}, {"step": "3"}),
        ({}, {"level": "2"}),
        ({}, {"pid": 77}),
    ],
)
def test_what_it_does_not_have_is_refused(
    tmp_path: Path, settings: dict[str, str], more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        MsSanitizer().check(ask("memory", tmp_path, ["./op"], settings=settings, **more))


def test_no_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        MsSanitizer().check(ask("memory", tmp_path))


def test_a_log_name_is_one_that_the_tool_takes(tmp_path: Path) -> None:
    assert log_name(Path("/a/b-c_1/x.log"), Path("/cwd")) == "/a/b-c_1/x.log"
    assert log_name(Path("/家/op/diag/x.log"), Path("/家/op")) == "diag/x.log"
    assert log_name(Path("/家/diag/x.log"), Path("/other")) is None
    assert log_name(Path("/a/" + "b" * 4096), Path("/other")) is None


def test_without_a_log_name_the_console_is_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "轮 1"
    request = ask("memory", tmp_path, program(), scenario="fault")
    driver = MsSanitizer()
    plan = driver.plan(request, folder)
    assert not any(word.startswith("--log-file") for word in plan.argv)
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.is_failure, recorded.found) == ("recorded", True, {"illegal write": 1})


@pytest.mark.parametrize(
    ("scenario", "command", "outcome", "is_failure", "found", "word"),
    [
        ("clean", program(), "recorded", False, {}, ""),
        ("fault", program(), "recorded", True, {"illegal write": 1}, ""),
        ("leak", program(), "recorded", True, {"leak": 1}, ""),
        ("dropped", program(), "incomplete", False, {}, "lost records"),
        ("exhausted", program(), "incomplete", False, {}, "lost records"),
        ("not-built", program(), "incomplete", False, {}, "check"),
        ("fault", program(FAULT_OF_APP), "incomplete", True, {"illegal write": 1}, "program failed"),
        ("clean", program("import os; os.kill(os.getpid(), 11)"), "incomplete", False, {}, "signal"),
        ("old", program(), "recorded", True, {"illegal write": 1}, ""),
        ("no-kernel", program(), "unknown", False, {}, "begin and end"),
        ("no-sign", program(), "nothing", False, {}, "no line of msSanitizer"),
        ("chip", program(), "nothing", False, {}, "unsupported soc version"),
    ],
)
def test_outcomes(
    tmp_path: Path,
    scenario: str,
    command: tuple[str, ...],
    outcome: str,
    is_failure: bool,
    found: dict[str, int],
    word: str,
) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, command, scenario=scenario)
    ended = run(driver, request, folder)
    assert ended.exit_status == 0, "as the real tool does, whatever happened"
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure, dict(recorded.found)) == (outcome, is_failure, found)
    assert word in recorded.why[0]
    assert bool(recorded.why[0]) == (outcome != "recorded") == bool(recorded.next_step[1])


def test_a_refused_option_recorded_nothing(tmp_path: Path) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, program(), extra=("--new-option=1",))
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.outcome == "nothing" and "--new-option" in recorded.why[0]


def test_kernels_that_were_checked_are_counted(tmp_path: Path) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, program(), scenario="fault")
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.n_operators == 1 and recorded.warnings == ()
    assert driver.figures(folder / RAW) == {"n_reports": 1, "n_kernels_checked": 1}
    assert not (request.cwd / "mindstudio_sanitizer_log").exists()


@pytest.mark.parametrize(
    ("lines", "n_dropped"),
    [
        ("", 0),
        (
            "[mssanitizer] [warning] 120 records undetected in block 0, please use --cache-size=200 to run",
            120,
        ),
        (
            "[mssanitizer] [warning] 3 records undetected in block 0, please use --cache-size=200 to run\n"
            "[mssanitizer] [error] 4 records undetected in block 7, exceed the max record buffer size",
            7,
        ),
        (
            "[mssanitizer] WARNING: the number of '__syncthreads()' instructions exceeds 9. "
            "Some records were discarded, the detection result maybe unreliable!",
            None,
        ),
    ],
)
def test_records_that_the_tool_lost_are_counted(tmp_path: Path, lines: str, n_dropped: int | None) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    (folder / RAW).mkdir(parents=True)
    console = folder / "console.log"
    console.write_text(f"[mssanitizer] Start memcheck sanitizer on kernel k\n{lines}\n")
    recorded = driver.recorded(ask("memory", tmp_path, program()), folder, Ended(0, None, "", False, console))
    assert recorded.n_dropped == n_dropped


def test_what_the_tool_leaves_outside_is_named(tmp_path: Path) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, program(), scenario="debug-log")
    before = request.cwd / "mindstudio_sanitizer_log"
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    (said,) = recorded.warnings
    assert str(before) in said[0] and "1 file" in said[0]


def test_after_the_first_ctrl_c_the_report_is_completed_but_not_whole(tmp_path: Path) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, WORKS_ON, scenario="fault")
    ended = run(driver, request, folder, until=AT_WORK, stop=(signal.SIGINT,), stopped_by="user")
    assert ended.exit_status == 0
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure) == ("incomplete", True)
    assert "ended by hand" in recorded.why[0]


def test_a_tool_that_hangs_and_is_killed_is_incomplete(tmp_path: Path) -> None:
    driver, folder = MsSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, WORKS_ON, scenario="hang")
    stop = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    ended = run(driver, request, folder, until=AT_WORK, stop=stop, stopped_by="timeout")
    assert ended.signal == signal.SIGKILL
    recorded = driver.recorded(request, folder, ended)
    assert recorded.outcome == "incomplete" and "killed" in recorded.why[0]


# ---- preflight ----


def rules(tmp_path: Path, command: tuple[str, ...] = ("./op",), **more: Any) -> list[str]:
    return [one.rule for one in MsSanitizer().preflight(ask("memory", tmp_path, command, **more))]


def build_file(tmp_path: Path, text: str, name: str = "op_kernel/CMakeLists.txt") -> None:
    path = tmp_path / "work" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_build_files_without_the_sanitizer(tmp_path: Path) -> None:
    build_file(tmp_path, "ascendc_library(kernels STATIC add_custom.cpp)\n")
    assert rules(tmp_path) == ["capture.kernel-not-instrumented"]


def test_build_files_with_all_that_is_needed(tmp_path: Path) -> None:
    build_file(tmp_path, "npu_op_kernel_options(ascendc_kernels ALL OPTIONS -sanitizer -g)\n")
    assert rules(tmp_path) == []


def test_a_comment_is_no_option(tmp_path: Path) -> None:
    build_file(tmp_path, "# -g --cce-enable-sanitizer\nset(CC bisheng)\n")
    assert rules(tmp_path) == ["capture.kernel-not-instrumented"]


def test_no_lines_and_no_optimisation(tmp_path: Path) -> None:
    build_file(tmp_path, "CC = bisheng\nFLAGS = -O0 --cce-enable-sanitizer\n", "Makefile")
    assert rules(tmp_path) == ["capture.kernel-no-lines", "capture.kernel-unoptimised"]
    build_file(
        tmp_path, "CC = bisheng\nFLAGS = -O0 -g --sanitizer --cce-ignore-always-inline=false\n", "Makefile"
    )
    assert rules(tmp_path) == []


def test_other_build_files_say_nothing(tmp_path: Path) -> None:
    build_file(tmp_path, "CC = gcc\nFLAGS = -O0\n", "Makefile")
    assert rules(tmp_path) == []


def test_races_of_one_block_alone(tmp_path: Path) -> None:
    assert rules(tmp_path, settings={"checks": "racecheck"}) == ["capture.one-block"]
    assert rules(tmp_path, settings={"checks": "racecheck", "block-id": "3"}) == []


def test_graph_mode(tmp_path: Path) -> None:
    script = tmp_path / "work" / "train.py"
    ask("memory", tmp_path)
    script.write_text("import torch\nmodel = torch.compile(model)\n")
    assert rules(tmp_path, ("python3", "train.py")) == ["capture.graph-mode"]
    script.write_text("import torch\n# torch.compile(model)\n")
    assert rules(tmp_path, ("python3", "train.py")) == []
    assert rules(tmp_path, ("./msame", "--model", "resnet.om")) == ["capture.graph-mode"]


def test_an_object_of_the_host_is_no_kernel(tmp_path: Path) -> None:
    assert rules(tmp_path, settings={"objects": sys.executable}) == []
