"""Host sanitizers for real: programs built by gcc, run as the driver plans it, read by the memory area."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.driver import RAW, Ended
from npulse.core.capture.drivers.asan import AddressSanitizer, holds_sanitizer
from npulse.core.capture.request import CaptureRequest
from npulse.core.errors import UsageError
from npulse.core.memory.logs import FaultLog

from .running import AT_WORK, ask, program, run

SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
    char *block = malloc(10);
    const char *what = argc > 1 ? argv[1] : "";
    block[0] = 1;
    if (!strcmp(what, "overflow")) block[10] = 2; /* line 13 */
    if (!strcmp(what, "leak")) { char *lost = malloc(33); lost[0] = 1; lost = 0; free(block); return 0; }
    if (!strcmp(what, "crash")) *(volatile int *)8 = 1; /* line 15 */
    if (!strcmp(what, "two")) { fork(); block[10] = 3; wait(0); }
    if (!strcmp(what, "shift")) block[1] = 1 << (argc + 40); /* line 17 */
    if (!strcmp(what, "status")) { free(block); return 3; }
    if (!strcmp(what, "wait")) { puts("at work"); fflush(stdout); pause(); }
    free(block);
    return 0;
}
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program with and without a sanitizer."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found")
    folder = tmp_path_factory.mktemp("asan")
    source = folder / "attn.c"
    source.write_text(SOURCE)
    built = {}
    kinds = {"asan": "address", "lsan": "leak", "ubsan": "undefined", "plain": ""}
    for name, kind in kinds.items():
        flags = [f"-fsanitize={kind}"] if kind else []
        target = folder / name
        words = ["gcc", "-g", "-O0", *flags, str(source), "-o", str(target)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"gcc builds nothing with {' '.join(flags)}")
        built[name] = target
    return built


def lines_of(log: Path) -> list[tuple[str, int | None]]:
    """(kind, line of the innermost frame of attn.c) of every fault in a log."""
    reader = FaultLog(log)
    faults = [fault for batch in reader.faults() for fault in batch]
    found = []
    for fault in faults:
        frames = fault.access.frames or (fault.block.allocated if fault.block is not None else ())
        own = [frame.line for frame in frames if frame.file.endswith("attn.c")]
        found.append((fault.kind, own[0] if own else None))
    return found


def test_plan_keeps_what_the_user_has_and_sets_what_the_round_needs(tmp_path: Path) -> None:
    environment = {
        "ASAN_OPTIONS": "suppressions='my list':log_path=/elsewhere:detect_leaks=0 exitcode=7",
        "UBSAN_OPTIONS": "silence_unsigned_overflow=1",
    }
    request = ask("memory", tmp_path, ["./op"], environment=environment, settings={"halt-on-error": "0"})
    plan = AddressSanitizer().plan(request, tmp_path / "round")
    log = f"{tmp_path}/round/raw/asan.log"
    assert plan.argv == ("./op",)
    assert plan.environment == {
        "ASAN_OPTIONS": (
            "detect_leaks=0:halt_on_error=0:symbolize=1:print_summary=1:suppressions='my list'"
            f":log_path={log}:exitcode=7:atexit=1"
        ),
        "LSAN_OPTIONS": f"print_suppressions=1:log_path={log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:print_summary=1:silence_unsigned_overflow=1:log_path={log}",
    }
    assert any("recover" in en for en, _ in plan.notes)


@given(
    st.dictionaries(
        st.sampled_from(["detect_leaks", "log_path", "exitcode", "suppressions", "verbosity", "x_1"]),
        st.from_regex(r"[A-Za-z0-9/._-]{0,12}", fullmatch=True) | st.just("'a b:c'"),
    ),
    st.sampled_from([":", ",", " ", "::"]),
)
def test_options_of_the_user_are_all_kept(given_options: dict[str, str], between: str) -> None:
    text = between.join(f"{name}={value}" for name, value in given_options.items())
    request = CaptureRequest("memory", ("./op",), Path("/"), Path("/"), environment={"ASAN_OPTIONS": text})
    joined = AddressSanitizer().plan(request, Path("/r")).environment["ASAN_OPTIONS"]
    assert joined is not None
    own = {"log_path": "/r/raw/asan.log", "atexit": "1"}
    usual = {"detect_leaks": "1", "halt_on_error": "1", "symbolize": "1", "print_summary": "1"}
    expected = {**usual, **given_options, **own}
    assert sorted(joined.replace("'a b:c'", "QUOTED").split(":")) == sorted(
        f"{name}={value}".replace("'a b:c'", "QUOTED") for name, value in expected.items()
    )


def test_a_path_that_the_options_cannot_hold_is_refused(tmp_path: Path) -> None:
    request = ask("memory", tmp_path, ["./op"])
    with pytest.raises(UsageError, match="colon"):
        AddressSanitizer().plan(request, tmp_path / "12:30")


@pytest.mark.parametrize(
    ("settings", "more"),
    [({"detect-leaks": "yes"}, {}), ({"shadow": "1"}, {}), ({}, {"rank": "0"}), ({}, {"pid": 7})],
)
def test_what_it_does_not_have_is_refused(
    tmp_path: Path, settings: dict[str, str], more: dict[str, Any]
) -> None:
    request = ask("memory", tmp_path, ["./op"], settings=settings, **more)
    with pytest.raises(UsageError):
        AddressSanitizer().check(request)


def test_an_overflow_is_recorded_with_its_line(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "overflow"])
    ended = run(driver, request, folder)
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure) == ("recorded", True)
    assert recorded.found == {"heap-buffer-overflow": 1}
    (log,) = (folder / RAW).iterdir()
    assert lines_of(log) == [("heap-buffer-overflow", 13)]
    assert driver.figures(folder / RAW) == {"n_reports": 1, "n_processes": 1}


def test_leaks_are_recorded_with_the_line_that_allocated(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "leak"])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.is_failure, recorded.found) == ("recorded", True, {"leak": 1})
    (log,) = (folder / RAW).iterdir()
    (leak,) = [fault for batch in FaultLog(log).faults() for fault in batch]
    assert leak.size_bytes == 33


def test_leaks_of_a_program_built_for_leaks_alone(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["lsan"]), "leak"])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.is_failure, recorded.found) == ("recorded", True, {"leak": 1})


def test_undefined_behaviour_is_recorded_with_its_line(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["ubsan"]), "shift"])
    ended = run(driver, request, folder)
    assert ended.exit_status == 0, "the program goes on"
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure) == ("recorded", True)
    (log,) = (folder / RAW).iterdir()
    ((kind, line),) = lines_of(log)
    assert "shift" in kind and line == 17


def test_a_crash_is_recorded_with_its_line(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "crash"])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.is_failure) == ("recorded", True)
    (log,) = (folder / RAW).iterdir()
    assert [line for _, line in lines_of(log)] == [15]


def test_two_processes_write_two_logs(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "two"])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.found == {"heap-buffer-overflow": 2} and recorded.n_files == 2


def test_a_clean_run_shows_that_the_sanitizer_was_there(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"])])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.is_failure, recorded.found) == ("recorded", False, {})
    assert (recorded.n_files, recorded.why[0], recorded.warnings) == (1, "", ())
    assert driver.figures(folder / RAW) == {"n_reports": 0, "n_processes": 1}


def test_a_clean_run_without_a_sign_is_told_so(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["lsan"])])
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert (recorded.outcome, recorded.n_files) == ("recorded", 0)
    assert "no other sign" in recorded.warnings[0][0]


def test_a_program_without_a_sanitizer_recorded_nothing(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["plain"]), "overflow"])
    (warned,) = driver.preflight(request)
    assert (warned.rule, warned.severity) == ("capture.host-not-instrumented", "warning")
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.outcome == "nothing" and "-fsanitize=address" in recorded.next_step[0]


def test_a_program_ended_from_outside_is_not_clean(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "wait"])
    ended = run(driver, request, folder, until=AT_WORK, stop=(signal.SIGINT,), stopped_by="user")
    assert ended.signal == signal.SIGINT
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure) == ("incomplete", False)


def test_a_status_of_the_program_itself_is_no_finding(tmp_path: Path, programs: dict[str, Path]) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, [str(programs["asan"]), "status"])
    ended = run(driver, request, folder)
    assert ended.exit_status == 3
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.is_failure) == ("recorded", False)


def test_of_a_script_nobody_can_tell(tmp_path: Path) -> None:
    driver, folder = AddressSanitizer(), tmp_path / "round"
    request = ask("memory", tmp_path, program())
    assert driver.preflight(request) == ()
    plan = driver.plan(request, folder)
    assert any("LD_PRELOAD" in en for en, _ in plan.notes)
    recorded = driver.recorded(request, folder, run(driver, request, folder))
    assert recorded.outcome == "nothing" and "not known" in recorded.why[0]


def test_a_runtime_that_did_not_start_is_told(tmp_path: Path) -> None:
    raw = tmp_path / "round" / RAW
    raw.mkdir(parents=True)
    console = tmp_path / "round" / "console.log"
    console.write_text("==77==ASan runtime does not come first in initial library list; preload it\n")
    request = ask("memory", tmp_path, program())
    recorded = AddressSanitizer().recorded(request, tmp_path / "round", Ended(1, None, "", False, console))
    assert recorded.outcome == "nothing" and recorded.next_step[0]


def test_the_search_of_a_program_crosses_its_windows(tmp_path: Path) -> None:
    name = b"__asan_init"
    for before in range((1 << 20) - 16, (1 << 20) + 4):
        path = tmp_path / "program"
        path.write_bytes(b"\x7fELF" + b"\0" * before + name + b"\0" * 100)
        assert holds_sanitizer(path) is True, before
    (tmp_path / "none").write_bytes(b"\x7fELF" + os.urandom(8) * 100)
    assert holds_sanitizer(tmp_path / "none") is False
    (tmp_path / "script").write_bytes(b"#!/bin/sh\n__asan_init\n")
    assert holds_sanitizer(tmp_path / "script") is None
    assert holds_sanitizer(tmp_path / "gone") is None
